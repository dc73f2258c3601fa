//! The answers that need no model, by what tree-sitter sees: no child server runs here.

use postil::tools::Plan;
use postil::turn::Outcome;

use super::bench::Bench;

fn text(outcome: Outcome) -> String {
    match outcome {
        Outcome::Answer(text) => text,
        other => panic!("{other:?}"),
    }
}

const USES: &str =
    "use crate::net::load;\n\nfn main() {\n    // load it\n    println!(\"load {}\", load());\n}\n";

fn asked(question: &str) -> [(&'static str, String); 2] {
    let net = format!(
        "// AUTHOR: {question}\npub fn load() -> u32 {{\n    7\n}}\n\n// TODO: load more\nfn other() {{}}\n"
    );
    [("src/net.rs", net), ("src/main.rs", USES.to_owned())]
}

async fn answer(question: &str) -> (String, Bench) {
    let files = asked(question);
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    let bench = Bench::with(&files);
    (text(bench.offline().await), bench)
}

#[tokio::test]
async fn a_name_declared_once_is_renamed_everywhere() {
    for question in [
        "should we rename this to load_data?",
        "rename load to load_data",
        "rename `load` to `load_data`.",
    ] {
        let (said, bench) = answer(question).await;
        assert!(
            said.starts_with("Renamed `load` to `load_data`: 3 places in 2 files, by tree-sitter."),
            "{said}"
        );
        let main = bench.workspace.read("src/main.rs");
        assert_eq!(
            main,
            "use crate::net::load_data;\n\nfn main() {\n    // load it\n    println!(\"load {}\", load_data());\n}\n"
        );
        let net = bench.workspace.read("src/net.rs");
        assert!(
            net.starts_with(&format!("// AUTHOR: {question}\npub fn load_data() -> u32")),
            "{net}"
        );
        let heard = bench.heard();
        for words in [
            "offline: identifiers load",
            "not trusted: language servers may start when you trust it, in the editor or by `postil trust`",
        ] {
            assert!(heard.contains(words), "{heard}");
        }
    }
}

#[tokio::test]
async fn what_cannot_be_renamed_is_said_and_left_alone() {
    let twice = "// AUTHOR: rename load to load_data\nfn load() {}\nmod a { pub fn load() {} }\n";
    let taken = "// AUTHOR: rename load to other\nfn load() {}\nfn other() {}\n";
    let unknown = "// AUTHOR: rename nothing to something\nfn load() {}\n";
    let none = "fn load() {}\n// AUTHOR: rename this to that_one\n";
    for (code, words) in [
        (twice, "exactly once"),
        (taken, "stands already at src/a.rs:5"),
        (unknown, "no `nothing`"),
        (none, "no symbol"),
    ] {
        let bench = Bench::with(&[("src/a.rs", code)]);
        let said = text(bench.offline().await);
        assert!(said.contains(words), "{said}");
        assert_eq!(bench.workspace.read("src/a.rs"), code);
    }
    for (plan, trusted, words) in [(true, true, "read-only"), (false, false, "not trusted")] {
        let code = "// AUTHOR: rename load to x\nfn load() {}\n";
        let mut bench = Bench::with(&[("src/a.rs", code)]);
        bench.cx.plan = Plan::of_author(plan);
        bench.cx.trusted = trusted;
        let said = text(bench.offline().await);
        assert!(said.contains(words), "{said}");
        assert_eq!(bench.workspace.read("src/a.rs"), code);
    }
}

/// Of several names that stand there none is guessed.
#[tokio::test]
async fn an_import_of_several_names_is_asked_about_by_name() {
    let group =
        "use crate::shell::{\n    generate, // the first\n    Shell,\n};\nfn f() { generate(); }\n";
    for (question, group, expected) in [
        (
            "where is this used?",
            group,
            "Several names stand directly below this thread: `generate`, `Shell`. Name the one you mean.",
        ),
        (
            "rename this to x",
            group,
            "Several names stand directly below this thread: `generate`, `Shell`. Name the one you mean.",
        ),
        (
            "where is generate used?",
            group,
            "`generate` is used at 2 places: src/a.rs:5, src/a.rs:8, by tree-sitter.",
        ),
        (
            "where is this used?",
            "use crate::shell::{generate};\nfn f() { generate(); }\n",
            "`generate` is used at 2 places: src/a.rs:4, src/a.rs:5, by tree-sitter.",
        ),
    ] {
        let code = format!("// AUTHOR: {question}\n{group}");
        let bench = Bench::with(&[("src/a.rs", &code)]);
        assert_eq!(text(bench.offline().await), expected, "{code}");
        assert_eq!(bench.workspace.read("src/a.rs"), code);
    }
}

#[tokio::test]
async fn where_and_what_are_answered_from_names() {
    let (said, _) = answer("where is load used?").await;
    assert_eq!(
        said,
        "`load` is used at 2 places: src/main.rs:1, src/main.rs:5, by tree-sitter."
    );
    let (said, _) = answer("where is this defined?").await;
    assert_eq!(
        said, "`load` is defined at src/net.rs:4, by tree-sitter.",
        "what stays in the code is short"
    );
    let (said, _) = answer("what is `load`?").await;
    assert!(
        said.starts_with("`load` is a function at src/net.rs:4: `pub fn load() -> u32`"),
        "{said}"
    );
    let (said, _) = answer("where is absent_name used?").await;
    assert!(said.contains("no `absent_name`"), "{said}");
}

#[tokio::test]
async fn notes_help_and_history() {
    let (said, _) = answer("list todos").await;
    assert_eq!(
        said,
        "Found 1 to-do note in the comments:\nsrc/net.rs:9 TODO: load more"
    );
    // Asked once more, it does not find its own answer.
    let again = format!(
        "// AUTHOR: list todos\n// AGENT: {}\n// AUTHOR: list todos\n// TODO: load more\nfn a() {{}}\n",
        "Found 1 to-do note in the comments:\n//   src/net.rs:4 TODO: load more"
    );
    let bench = Bench::with(&[("src/net.rs", &again)]);
    let said = text(bench.offline().await);
    assert!(said.starts_with("Found 1 to-do note in"), "{said}");
    let (said, _) = answer("please make this faster").await;
    assert!(
        said.contains("rename X to Y")
            && said.contains("ANTHROPIC_API_KEY")
            && !said.contains('\n'),
        "{said}"
    );
    let (said, bench) = answer("who wrote this?").await;
    assert!(
        said.contains("Nobody can be named for src/net.rs:4"),
        "{said}"
    );
    bench.workspace.git(&["init", "-q"]);
    bench.workspace.git(&["add", "."]);
    bench.workspace.git(&["commit", "-qm", "Load from the net"]);
    let said = text(bench.offline().await);
    assert!(
        said.starts_with("src/net.rs:4 was last changed by A Person on 20")
            && said.contains("\"Load from the net\""),
        "{said}"
    );
    // Behind code it stands in the line that is asked about, and in no commit.
    let bench = Bench::with(&[("src/a.rs", "fn a() {}\nfn b() {}\n")]);
    bench.workspace.git(&["init", "-q"]);
    bench.workspace.git(&["add", "."]);
    bench.workspace.git(&["commit", "-qm", "Two of them"]);
    let asked = "fn a() {}\nfn b() {} // AUTHOR: who wrote this?\n";
    bench.workspace.write("src/a.rs", asked);
    let said = text(bench.offline().await);
    assert!(
        // Where the line stands once the answer is above it.
        said.starts_with("src/a.rs:5 was last changed by A Person on 20"),
        "{said}"
    );
    let why = bench
        .workspace
        .postil()
        .args(["why", "src/a.rs:2"])
        .output()
        .expect("postil runs");
    let why =
        String::from_utf8_lossy(&why.stdout).into_owned() + &String::from_utf8_lossy(&why.stderr);
    assert!(why.contains("Two of them"), "{why}");
}

#[tokio::test]
async fn each_step_is_a_round() {
    let files = asked("where is load used?");
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    let (bench, store) = Bench::with(&files).with_store();
    let said = text(bench.offline().await);
    let mut rounds = store.rounds_back(&bench.cx.run, None, 100).expect("rounds");
    rounds.reverse();
    let roles: Vec<&str> = rounds.iter().filter_map(|r| r.role.as_deref()).collect();
    assert_eq!(roles, ["user", "tool", "tool", "assistant"]);
    assert_eq!(
        (&rounds[1].metadata["tool"], &rounds[1].metadata["is_error"]),
        (&"lsp".into(), &true.into())
    );
    assert_eq!(rounds[2].metadata["tool"], "identifiers");
    assert!(rounds[2].content.contains("src/main.rs:5"));
    assert_eq!(rounds[3].content, said);
}

/// What was not looked at is no place where a name does not stand.
#[tokio::test]
async fn files_that_are_too_large_for_names_are_told_of() {
    let large = format!("fn far() {{}}\n{}", "// filler\n".repeat(300));
    let files = [
        ("src/a.rs", "// AUTHOR: what is far?\nfn load() {}\n"),
        ("src/large.rs", &large),
        ("src/large.csv", &large),
    ];
    let bench = Bench::with(&files);
    bench.cx.tree.set_max_size(1000);
    assert_eq!(
        text(bench.offline().await),
        "There is no `far` in this workspace. Too large to be read for names: src/large.rs."
    );
    // Open, it is read by its delimiters alone.
    let bench = Bench::with(&files);
    let path = bench.workspace.path("src/large.rs");
    let text_of = format!("fn far() {{}}\n{}", "// filler\n".repeat(440_000));
    bench
        .cx
        .tree
        .buffers
        .open(path, "file:///large.rs", "rust", 1, &text_of);
    assert_eq!(
        text(bench.offline().await),
        "There is no `far` in this workspace. Too large to be read for names: src/large.rs."
    );
}

/// The name stands beside the thread as a use: that counts, and where it is declared does not.
#[tokio::test]
async fn a_use_beside_the_thread_counts() {
    let code = "def load(path):\n    return path\n\n\ndef one():\n    return load(1)\n\n\n# AUTHOR: where is `load` used?\ndef two():\n    return load(2)\n";
    let Some(bench) = Bench::with(&[("src/a.py", code)]).with_server("python", "pylsp") else {
        return;
    };
    assert_eq!(
        text(bench.offline().await),
        "`load` is used at 2 places: src/a.py:6, src/a.py:13, by the language server `pylsp`."
    );
    // What no tree has as a declaration.
    let code = "limit = 3\n\n\n# AUTHOR: where is `limit` used?\ndef two():\n    return limit\n";
    bench.workspace.write("src/a.py", code);
    assert_eq!(
        text(bench.offline().await),
        "`limit` is used once, at src/a.py:8, by the language server `pylsp`."
    );
}

#[tokio::test]
async fn cancelled_before_it_began_nothing_is_renamed() {
    let bench = Bench::with(&[(
        "src/a.rs",
        "// AUTHOR: rename load to load_data\nfn load() {}\n",
    )]);
    bench.cx.cancel.cancel();
    assert_eq!(bench.offline().await, Outcome::Cancelled);
    assert!(bench.workspace.read("src/a.rs").contains("fn load()"));
}

/// The same through real child servers.
#[tokio::test(flavor = "multi_thread")]
async fn rust_analyzer_renames_and_finds() {
    let cargo = "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let main = "mod net;\n\nfn main() {\n    let load = 1;\n    println!(\"{} {}\", load, net::load());\n}\n";
    let net =
        |question: &str| format!("// AUTHOR: {question}\npub fn load() -> u32 {{\n    7\n}}\n");
    let question = "should we rename this to load_data?";
    let text_of_net = net(question);
    let files = [
        ("src/net.rs", text_of_net.as_str()),
        ("src/main.rs", main),
        ("Cargo.toml", cargo),
    ];
    let Some(bench) = Bench::with(&files).with_server("rust", "rust-analyzer") else {
        return;
    };
    let said = text(bench.offline().await);
    assert_eq!(
        said,
        "Renamed `load` to `load_data`: 2 places in 2 files, by the language server `rust-analyzer`."
    );
    let renamed = bench.workspace.read("src/main.rs");
    assert_eq!(
        renamed,
        main.replace("net::load()", "net::load_data()"),
        "the local variable stays"
    );
    assert!(
        bench
            .workspace
            .read("src/net.rs")
            .contains("pub fn load_data()")
    );

    bench.workspace.write(
        "src/net.rs",
        net("where is this used?").replace("load()", "load_data()"),
    );
    let said = text(bench.offline().await);
    assert_eq!(
        said,
        "`load_data` is used once, at src/main.rs:5, by the language server `rust-analyzer`."
    );
    bench.workspace.write(
        "src/net.rs",
        net("what is this?").replace("load()", "load_data()"),
    );
    let said = text(bench.offline().await);
    assert!(
        said.contains("pub fn load_data() -> u32")
            && said.ends_with("(by the language server `rust-analyzer`)"),
        "{said}"
    );
    bench.cx.children.shutdown().await;
}

/// pylsp sends one edit for a whole file.
#[tokio::test(flavor = "multi_thread")]
async fn places_are_counted_and_not_the_edits_of_a_server() {
    let file =
        "# AUTHOR: rename load to load_data\ndef load():\n    return 7\n\nprint(load(), load())\n";
    let Some(bench) = Bench::with(&[("a.py", file)]).with_server("python", "pylsp") else {
        return;
    };
    let said = text(bench.offline().await);
    assert_eq!(
        said,
        "Renamed `load` to `load_data`: 3 places in 1 file, by the language server `pylsp`."
    );
    bench.cx.children.shutdown().await;
}

const BUFFERS: &str = "pub struct Buffer {}\n\nimpl Default for Buffer {\n    fn default() -> Buffer {\n        Buffer::new()\n    }\n}\n\nimpl Buffer {\n    // AUTHOR: rename `Buffer` to Buf\n    pub fn new() -> Buffer {\n        Buffer {}\n    }\n}\n";

#[tokio::test]
async fn an_impl_declares_no_name() {
    let bench = Bench::with(&[("src/lib.rs", BUFFERS)]);
    let said = text(bench.offline().await);
    assert!(
        said.starts_with("Renamed `Buffer` to `Buf`: 7 places in 1 file"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_name_beside_the_thread_is_meant() {
    let cargo = "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let lib = format!("{BUFFERS}\npub trait Sealed {{\n    type Buffer: 'static;\n}}\n");
    let files = [("src/lib.rs", lib.as_str()), ("Cargo.toml", cargo)];
    let Some(bench) = Bench::with(&files).with_server("rust", "rust-analyzer") else {
        return;
    };
    let said = text(bench.offline().await);
    assert_eq!(
        said,
        "Renamed `Buffer` to `Buf`: 7 places in 1 file, by the language server `rust-analyzer`."
    );
    let renamed = bench.workspace.read("src/lib.rs");
    assert!(
        renamed.contains("pub struct Buf {}") && renamed.contains("type Buffer: 'static"),
        "{renamed}"
    );
    bench.cx.children.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pylsp_renames_a_local_name() {
    let code = "def total(items):\n    # AUTHOR: rename this to result\n    total = 0\n    for item in items:\n        total += item\n    return total\n\n\nprint(total([1]))\n";
    let Some(bench) = Bench::with(&[("sums.py", code)]).with_server("python", "pylsp") else {
        return;
    };
    let said = text(bench.offline().await);
    assert!(said.ends_with("by the language server `pylsp`."), "{said}");
    let renamed = bench.workspace.read("sums.py");
    assert!(
        renamed.contains("    result = 0")
            && renamed.contains("return result")
            && renamed.contains("print(total([1]))"),
        "{renamed}"
    );
    bench.cx.children.shutdown().await;
}
