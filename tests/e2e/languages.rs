//! What is written into a file is a comment to the program that reads it.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::Workspace;

fn postil(workspace: &Workspace, args: &[&str]) -> (Value, String) {
    let mut command = workspace.postil();
    command.args(args).arg("--json").stdin(Stdio::null());
    let output = command.output().expect("postil runs");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        output.status.success(),
        error.is_empty(),
        "{args:?}: {output:?}"
    );
    (
        serde_json::from_slice(&output.stdout).unwrap_or_default(),
        error,
    )
}

fn answer(workspace: &Workspace, file: &str, text: &str) {
    let (list, _) = postil(workspace, &["threads", file]);
    let id = list["threads"][0]["id"].as_str().expect("an id").to_owned();
    let (_, error) = postil(workspace, &["respond", &id, text]);
    assert!(error.is_empty(), "{error}");
    let (list, _) = postil(workspace, &["threads", file]);
    assert_eq!(list["threads"][0]["thread"][1]["text"], text, "{file}");
}

/// `;` parts statements to this assembler, and a preprocessor reads lines that begin with `#`.
#[test]
fn what_is_written_into_assembly_is_assembled() {
    let workspace = Workspace::new();
    let code = ".text\n.globl f\nf:\n  nop\n  nop\n";
    for (file, asked) in [
        ("a.s", None),
        ("a.S", None),
        ("b.s", Some("  nop # AUTHOR: why?\n")),
        ("b.S", Some("# AUTHOR: why?\n  nop\n")),
    ] {
        workspace.write(file, format!("{code}{}", asked.unwrap_or_default()));
        if asked.is_none() {
            let (_, error) = postil(&workspace, &["new", &format!("{file}:4"), "why a nop?"]);
            assert!(error.is_empty(), "{file}: {error}");
        }
        answer(
            &workspace,
            file,
            "So.\ndefine nop no such thing; so\n1 \"b\"",
        );
        let mut assembler = Command::new("cc");
        assembler.args(["-c", "-o", "a.o", file]);
        let assembled = assembler.current_dir(workspace.root()).output();
        let assembled = assembled.expect("a C compiler, as the build needs one");
        let text = workspace.read(file);
        assert!(assembled.status.success(), "{text}{assembled:?}");
    }
}

#[test]
fn a_module_file_of_go_has_the_comments_of_go() {
    let workspace = Workspace::new();
    workspace.write("go.mod", "module a // AUTHOR: why this name?\n\ngo 1.24\n");
    let (list, _) = postil(&workspace, &["threads"]);
    assert_eq!(list["summary"]["total"], 1, "{list}");
    postil(&workspace, &["new", "go.mod:3", "why 1.24?"]);
    assert_eq!(
        workspace.read("go.mod"),
        "module a // AUTHOR: why this name?\n\n// AUTHOR: why 1.24?\ngo 1.24\n"
    );
}

#[test]
fn a_long_thread_at_the_top_leaves_a_file_in_its_language() {
    let workspace = Workspace::new();
    for (file, text) in [
        (
            "a.sql",
            "CREATE TABLE t (\n a text\n) ENGINE=InnoDB;\nINSERT INTO t VALUES ('it\\'s');\n-- AUTHOR: why?\n",
        ),
        (
            "a.pp",
            "unit Foo;\n\ninterface\n\n// AUTHOR: why?\nimplementation\n",
        ),
        ("script", "x = 1\n# vim: ft=ruby\ny = 2 # AUTHOR: why?\n"),
    ] {
        workspace.write(file, text);
        let (_, error) = postil(&workspace, &["new", &format!("{file}:1"), "why so?"]);
        assert!(error.is_empty(), "{file}: {error}");
        answer(&workspace, file, "So.\nAnd so.\nAnd more.\nThat is all.");
        let (list, _) = postil(&workspace, &["threads", file]);
        let text = workspace.read(file);
        assert_eq!(list["summary"]["total"], 2, "{text}{list}");
    }
}

#[test]
fn comments_are_read_by_the_rules_of_the_language_that_a_file_is_in() {
    let workspace = Workspace::new();
    for (file, text) in [
        ("a.inc", "; a\nextern printf\nmain: ; AUTHOR: why?\n"),
        (
            "a.sql",
            "/* Adds `age`. */\nSELECT data #>> '{a}' FROM t; -- AUTHOR: why?\n",
        ),
        ("a.s", "  nop; nop # AUTHOR: why?\n"),
        ("b.s", "  mov a, b ; AUTHOR: why?\n"),
        (
            "a.ts",
            "#!/usr/bin/env node\nlet a = <T>(b: T): T => b; // AUTHOR: why?\n",
        ),
    ] {
        workspace.write(file, text);
        let (list, _) = postil(&workspace, &["threads", file]);
        assert_eq!(list["summary"]["total"], 1, "{text}{list}");
    }
}

#[test]
fn a_file_whose_comments_are_not_known_is_left_as_it_is() {
    let workspace = Workspace::new();
    workspace.write("a.xyz", "b = 1\n");
    let (_, error) = postil(&workspace, &["new", "a.xyz:1", "why?"]);
    assert!(error.contains("this kind of file is not known"), "{error}");
    assert_eq!(workspace.read("a.xyz"), "b = 1\n");
}

/// An answer is a comment to docutils, and no directive that reads a file.
#[test]
fn an_answer_in_restructuredtext_includes_nothing() {
    let workspace = Workspace::new();
    workspace.write("a.rst", ".. AUTHOR: why?\n\nText.\n");
    answer(
        &workspace,
        "a.rst",
        "So:\ninclude:: s.txt\n_home: https://x",
    );
    let text = workspace.read("a.rst");
    assert!(
        text.contains("..   include:&#058; s.txt\n..   &#095;home: https://x\n"),
        "{text}"
    );
}

fn run(workspace: &Workspace, program: &str, args: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(args).current_dir(workspace.root());
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {args:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a `define` holds and what is a recipe's is expanded by make before the shell sees a comment.
#[test]
fn make_runs_nothing_of_an_answer() {
    let workspace = Workspace::new();
    for (text, keeps) in [
        (
            "define rec\n\t# AUTHOR: why?\n\techo hi\nendef\nall:\n\t$(rec)\n",
            false,
        ),
        (
            "define A =\n# AUTHOR: why?\nX := 1\nendef\n$(eval $(A))\nall:\n\techo hi\n",
            false,
        ),
        ("all:\n\t# AUTHOR: why?\n\techo hi\n", false),
        ("all:\n\t# AUTHOR: why?\n\techo hi\n", true),
        ("all:\n\techo hi # AUTHOR: why?\n", true),
    ] {
        let setting = if keeps {
            "[threads]\nindentation = \"keep\"\n"
        } else {
            ""
        };
        workspace.configure(setting);
        workspace.write("Makefile", text);
        answer(
            &workspace,
            "Makefile",
            "use $(shell touch PWNED) or $(error no)\nand $(shell touch PWNED)",
        );
        let said = run(&workspace, "make", &["-s"]);
        let text = workspace.read("Makefile");
        assert_eq!(said, "hi\n", "{text}");
        assert!(!workspace.root().join("PWNED").exists(), "{text}");
    }
    // Elsewhere a comment is make's own.
    workspace.write("Makefile", "define A\nendef\n# AUTHOR: why?\nall:\n");
    answer(&workspace, "Makefile", "use $(CC)");
    let text = workspace.read("Makefile");
    assert!(text.contains("# AGENT: use $(CC)\n"), "{text}");
}

/// A backquote ends a substitution between backquotes in its comments, too.
#[test]
fn the_shell_runs_nothing_of_an_answer() {
    let workspace = Workspace::new();
    for text in [
        "x=`\n# AUTHOR: why?\necho hi\n`\necho \"$x\"\n",
        "x=\"`\necho hi # AUTHOR: why?\n`\"\necho \"$x\"\n",
    ] {
        workspace.write("a.sh", text);
        answer(
            &workspace,
            "a.sh",
            "use `touch PWNED` here\nor `touch PWNED`",
        );
        let said = run(&workspace, "bash", &["a.sh"]);
        let text = workspace.read("a.sh");
        assert_eq!(said, "hi\n", "{text}");
        assert!(!workspace.root().join("PWNED").exists(), "{text}");
    }
    workspace.write("a.sh", "# AUTHOR: why?\nls\n");
    answer(&workspace, "a.sh", "use `ls`");
    assert!(workspace.read("a.sh").contains("# AGENT: use `ls`\n"));
}

#[test]
fn an_answer_opens_no_comment_of_the_preprocessor() {
    let workspace = Workspace::new();
    let said = "see src/*.h and\nsrc/*.c";
    for (file, text) in [
        (
            "a.S",
            "\t.text\n# AUTHOR: why?\n\t.globl f\nf:\n\tnop\n/* end */\n",
        ),
        (
            "a.F90",
            "program a\n! AUTHOR: why?\nprint *, 1\nend program\n",
        ),
        (
            "a.F",
            "      program a\nC AUTHOR: why?\n      print *, 1\n      end\n",
        ),
        (
            "b.f90",
            "#ifdef A\n#endif\nprogram a\n! AUTHOR: why?\nend program\n",
        ),
        (
            "a.hs",
            "{-# LANGUAGE CPP #-}\nmodule A where\n-- AUTHOR: why?\na = 1\n",
        ),
        (
            "b.hs",
            "{-# LANGUAGE CPP #-}\nmodule A where\n{- AUTHOR: why? -}\na = 1\n",
        ),
    ] {
        workspace.write(file, text);
        answer(&workspace, file, said);
        let text = workspace.read(file);
        assert!(text.contains("src/&#042;.h and"), "{text}");
        assert!(text.contains("src/&#042;.c"), "{text}");
    }
    run(&workspace, "cc", &["-c", "-o", "a.o", "a.S"]);
    let object = std::fs::read(workspace.path("a.o")).expect("an object");
    let symbols = String::from_utf8_lossy(&object);
    assert!(symbols.contains("\0f\0"), "what follows is code");
    for (file, text) in [
        ("c.hs", "module A where\n-- AUTHOR: why?\na = 1\n"),
        ("c.f90", "program a\n! AUTHOR: why?\nend program\n"),
    ] {
        workspace.write(file, text);
        answer(&workspace, file, said);
        let text = workspace.read(file);
        assert!(text.contains("src/*.c"), "{text}");
    }
}

/// Behind both a script would go on to the end of the page.
#[test]
fn an_answer_in_a_script_leaves_the_page_as_it_is() {
    let workspace = Workspace::new();
    for (file, text) in [
        (
            "a.html",
            "<script>\n// AUTHOR: why?\nlet a;\n</script>\n<p>x</p>\n",
        ),
        (
            "a.vue",
            "<script>\n/* AUTHOR: why? */\nlet a;\n</script>\n<p>x</p>\n",
        ),
    ] {
        workspace.write(file, text);
        answer(&workspace, file, "use <!-- <script> and <!--");
        let text = workspace.read(file);
        assert!(text.contains("use <!-&#045; <script> and <!-&#045;"));
    }
}

/// An empty line would begin a paragraph.
#[test]
fn two_threads_in_a_paragraph_of_tex_leave_it_whole() {
    let workspace = Workspace::new();
    let text = "a\n% AUTHOR: one\nb % AUTHOR: two\nc\n";
    workspace.write("a.tex", text);
    let (list, _) = postil(&workspace, &["threads", "a.tex"]);
    let ids = [0, 1].map(|at| {
        let id = list["threads"][at]["id"].as_str();
        id.expect("an id").to_owned()
    });
    for id in &ids {
        let (_, error) = postil(&workspace, &["respond", id, "So."]);
        assert!(error.is_empty(), "{error}");
    }
    assert_eq!(
        workspace.read("a.tex"),
        "a\n% AUTHOR: one\n% AGENT: So.\n% AUTHOR:\n%\n% AUTHOR: two\n% AGENT: So.\n% AUTHOR:\nb\nc\n"
    );
    let (list, _) = postil(&workspace, &["threads", "a.tex"]);
    assert_eq!(list["summary"]["total"], 2, "{list}");
    postil(&workspace, &["dismiss", &ids[0]]);
    assert_eq!(
        workspace.read("a.tex"),
        "a\n% AUTHOR: two\n% AGENT: So.\n% AUTHOR:\nb\nc\n"
    );
    workspace.write("a.tex", "a\n% AUTHOR: one\nb\n");
    postil(&workspace, &["new", "a.tex:3", "two"]);
    let text = workspace.read("a.tex");
    assert_eq!(text, "a\n% AUTHOR: one\n%\n% AUTHOR: two\nb\n");
}

/// In the page an empty line would end the markup that the comment stands in.
#[test]
fn an_answer_of_several_paragraphs_is_written_into_markup_in_markdown() {
    let workspace = Workspace::new();
    let text = "<div>\n<!--\nAUTHOR: why?\n-->\n<p>x</p>\n</div>\n";
    workspace.write("a.md", text);
    for _ in 0..2 {
        let (list, _) = postil(&workspace, &["threads", "a.md"]);
        let id = list["threads"][0]["id"].as_str().expect("an id").to_owned();
        let (_, error) = postil(&workspace, &["respond", &id, "So.\n\nTwo."]);
        assert!(error.is_empty(), "{error}");
        assert_eq!(
            workspace.read("a.md"),
            "<div>\n<!--\nAUTHOR: why?\nAGENT: So.\n  Two.\nAUTHOR:\n-->\n<p>x</p>\n</div>\n"
        );
    }
}

#[test]
fn an_answer_in_documentation_has_no_tags() {
    let workspace = Workspace::new();
    for (file, said, expected) in [
        ("A.java", "So.\n@deprecated", "&#064;deprecated"),
        ("a.ts", "So.\nuse @deprecated", "use &#064;deprecated"),
        ("a.js", "So.\n@type {string}", "&#064;type {string}"),
        (
            "a.php",
            "So.\n@ORM\\Entity a@b.c",
            "&#064;ORM\\Entity a@b.c",
        ),
    ] {
        let head = if file.ends_with("php") { "<?php\n" } else { "" };
        workspace.write(
            file,
            format!("{head}/**\n * AUTHOR: why?\n */\nclass A {{}}\n"),
        );
        answer(&workspace, file, said);
        let text = workspace.read(file);
        assert!(text.contains(&format!(" *   {expected}\n")), "{text}");
    }
    workspace.write("A.java", "// AUTHOR: why?\nclass A {}\n");
    answer(&workspace, "A.java", "So.\n@deprecated");
    assert!(workspace.read("A.java").contains("//   @deprecated\n"));
}

#[test]
fn an_answer_is_in_the_characters_that_a_program_says_it_is_in() {
    let workspace = Workspace::new();
    for (coding, is_escaped) in [
        ("# coding: ascii\n", true),
        ("#!/usr/bin/python3\n# -*- coding: euc_jp -*-\n", true),
        ("# coding: utf-8\n", false),
        ("x = 0\n\n# coding: ascii\n", false),
        ("", false),
    ] {
        workspace.write("a.py", format!("{coding}# AUTHOR: why?\nprint(1)\n"));
        answer(&workspace, "a.py", "Größe — so 😀");
        let text = workspace.read("a.py");
        assert_eq!(text.is_ascii(), is_escaped, "{text}");
        assert_eq!(run(&workspace, "python3", &["a.py"]), "1\n", "{text}");
    }
}

#[test]
fn what_a_tool_wants_first_stays_first() {
    let workspace = Workspace::new();
    for (file, text) in [
        (
            "Package.swift",
            "// swift-tools-version:5.5\nimport PackageDescription\n",
        ),
        (
            "a.sql",
            "--liquibase formatted sql\nCREATE TABLE a (b int);\n",
        ),
    ] {
        workspace.write(file, text);
        postil(&workspace, &["new", &format!("{file}:1"), "why?"]);
        let (first, rest) = text.split_once('\n').expect("two lines");
        let after = workspace.read(file);
        assert!(after.starts_with(first), "{after}");
        assert!(after.contains("AUTHOR: why?\n"), "{after}");
        assert!(after.ends_with(rest), "{after}");
    }
}

fn ids(workspace: &Workspace, file: &str) -> Vec<String> {
    let (list, _) = postil(workspace, &["threads", file]);
    let threads = list["threads"].as_array().expect("threads");
    let ids = threads.iter().filter_map(|thread| thread["id"].as_str());
    ids.map(str::to_owned).collect()
}

/// Of what documents a declaration gofmt makes lists and code, so that one thread becomes several.
#[test]
fn no_answer_documents_a_declaration_of_go() {
    let workspace = Workspace::new();
    let code = "package a\n\n// F does it.\nfunc F() {\n\tg()\n}\n\nvar a = 1\nvar b = 2\n";
    let asked = code.replace("F() {", "F() { // AUTHOR: why F?");
    let asked = asked.replace("package", "// AUTHOR: why a?\npackage");
    workspace.write("a.go", asked.replace("b = 2", "b = 2 // AUTHOR: why 2?"));
    let known = ids(&workspace, "a.go");
    for id in &known {
        let (_, error) = postil(&workspace, &["respond", id, "So:\n- one"]);
        assert!(error.is_empty(), "{error}");
    }
    let said =
        |asked: &str| format!("// AUTHOR: {asked}\n// AGENT: So:\n//   - one\n// AUTHOR:\n\n");
    let answered = [
        ("package", "why a?"),
        ("// F", "why F?"),
        ("var b", "why 2?"),
    ];
    let expected = answered
        .iter()
        .fold(code.to_owned(), |text, &(code, asked)| {
            text.replacen(code, &format!("{}{code}", said(asked)), 1)
        });
    assert_eq!(workspace.read("a.go"), expected);
    for id in &known {
        postil(&workspace, &["dismiss", id]);
    }
    assert_eq!(workspace.read("a.go"), code);
    postil(&workspace, &["new", "a.go:4", "why?\nHow?"]);
    let asked = "// AUTHOR: why?\n//   How?\n\n";
    assert_eq!(
        workspace.read("a.go"),
        code.replace("// F", &format!("{asked}// F"))
    );
}

/// In C a backslash at a comment's end has the next line be part of it.
#[test]
fn what_is_commented_out_by_a_backslash_is_not_run() {
    let workspace = Workspace::new();
    let code = "#include <stdio.h>\nint main(void) {\n  // AUTHOR: is it C:\\tmp\\\n  puts(\"no\");\n  puts(\"hi\"); // AUTHOR: or D:\\tmp\\\n  puts(\"no\");\n  return 0;\n}\n";
    workspace.write("a.c", code);
    let runs = || {
        run(&workspace, "cc", &["-w", "-o", "a", "a.c"]);
        let program = workspace.root().join("a");
        run(&workspace, program.to_str().expect("UTF-8"), &[])
    };
    let known = ids(&workspace, "a.c");
    assert_eq!(known.len(), 2);
    for id in &known {
        let (_, error) = postil(&workspace, &["respond", id, "Yes.\nIt is."]);
        assert!(error.is_empty(), "{error}");
        assert_eq!(runs(), "hi\n", "{}", workspace.read("a.c"));
    }
    assert_eq!(ids(&workspace, "a.c"), known);
    for id in &known {
        let (_, error) = postil(&workspace, &["dismiss", id]);
        assert!(error.is_empty(), "{error}");
        assert_eq!(runs(), "hi\n", "{}", workspace.read("a.c"));
    }
    assert_eq!(ids(&workspace, "a.c"), Vec::<String>::new());
}

/// An empty line ends a chain of calls, a comment does not.
#[test]
fn two_threads_in_a_chain_of_ruby_leave_it_whole() {
    let workspace = Workspace::new();
    let code = "puts [2, 1]\n  .sort\n  .first\n";
    workspace.write(
        "a.rb",
        "puts [2, 1]\n  # AUTHOR: one?\n  .sort # AUTHOR: two?\n  .first\n",
    );
    let known = ids(&workspace, "a.rb");
    let is_whole = || assert!(!workspace.read("a.rb").contains("\n\n"));
    for id in &known {
        postil(&workspace, &["respond", id, "Yes."]);
        is_whole();
    }
    assert_eq!(ids(&workspace, "a.rb"), known);
    for id in &known {
        postil(&workspace, &["dismiss", id]);
        is_whole();
    }
    assert_eq!(workspace.read("a.rb"), code);
}
