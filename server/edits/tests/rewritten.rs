//! What rewriting the author's own words leaves.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;

use super::languages::{File, Sample, samples, variant};
use super::*;

fn rewritten(path: &str, text: &str, at: usize, said: &str) -> Result<String, Refused> {
    let thread = threads(path, text).swap_remove(0);
    let was = thread.messages[at].laid_out().into_owned();
    write(path, text, |source| {
        let (was, text) = (was.as_str(), said);
        rewrite(source, &thread.id, Rewrite { at, was, text })
    })
    .map(|written| apply_edits(text, &written.edits))
}

#[test]
fn only_the_words_change() {
    for (path, before, at, said, after) in [
        (
            "a.rs",
            "fn a() {}\n    // AUTHOR(ada):  why?  \n// AGENT: so\n// AUTHOR:\nfn b() {}\n",
            0,
            "  how? ",
            "fn a() {}\n    // AUTHOR(ada):  how?  \n// AGENT: so\n// AUTHOR:\nfn b() {}\n",
        ),
        (
            "a.rs",
            "// AUTHOR: a\r\n// AGENT: b\r\n// AUTHOR: c",
            2,
            "c\n\nd",
            "// AUTHOR: a\r\n// AGENT: b\r\n// AUTHOR: c\r\n//\r\n//   d",
        ),
        (
            "a.py",
            "# AUTHOR: a\n#      b\n#   c\nx = 1\n",
            0,
            "a\nB",
            "# AUTHOR: a\n#   B\nx = 1\n",
        ),
        (
            "a.py",
            "# AUTHOR: a\n#   b\nx = 1\n",
            0,
            "a",
            "# AUTHOR: a\nx = 1\n",
        ),
        (
            "a.c",
            "/* AUTHOR: a\n     b */\nint x;\n",
            0,
            "*/ a",
            "/* AUTHOR: *&#047; a */\nint x;\n",
        ),
        (
            "A.java",
            "// AUTHOR: a\nclass A {}\n",
            0,
            r"C:\users, \d",
            "// AUTHOR: C:&#092;users, \\d\nclass A {}\n",
        ),
        (
            "a.html.j2",
            "<!-- AUTHOR: a -->\n",
            0,
            "{% end %} {{ x }} { }",
            "<!-- AUTHOR: {&#037; end %} {&#0123; x }} { } -->\n",
        ),
        (
            "a.html.j2",
            "{# AUTHOR: a #}\n",
            0,
            "{% end %} #}",
            "{# AUTHOR: {% end %} &#035;&#0125; #}\n",
        ),
        (
            "a.yml.j2",
            "# AUTHOR: a\n",
            0,
            "{{ x }}",
            "# AUTHOR: {&#0123; x }}\n",
        ),
        (
            "chart.yaml",
            "# AUTHOR: a\nx: {{ .Values.x }}\n",
            0,
            "{{ x }}",
            "# AUTHOR: {&#0123; x }}\nx: {{ .Values.x }}\n",
        ),
        (
            "ci.yaml",
            "# AUTHOR: a\nx: ${{ x }}\n",
            0,
            "${{ x }}",
            "# AUTHOR: ${{ x }}\nx: ${{ x }}\n",
        ),
        (
            "a.html.erb",
            "<!-- AUTHOR: a -->\n",
            0,
            "<%= y %>",
            "<!-- AUTHOR: <&#037;= y %&#062; -->\n",
        ),
        (
            "a.cshtml",
            "<!-- AUTHOR: a -->\n",
            0,
            "@codex why @Model.x?",
            "<!-- AUTHOR: &#064;codex why &#064;Model.x? -->\n",
        ),
        (
            "a.php",
            "<!-- AUTHOR: a -->\n<?php x();\n",
            0,
            "<?php y(); ?>",
            "<!-- AUTHOR: <&#063;php y(); ?&#062; -->\n<?php x();\n",
        ),
        (
            "a.c",
            "/*\n * AUTHOR: a\n * text\n */\nint x;\n",
            0,
            "a\nAGENT: b",
            "/*\n * AUTHOR: a\n *   AGENT&#058; b\n * text\n */\nint x;\n",
        ),
        (
            "a.rs",
            "foo(); // AUTHOR: why?\nbar();\n",
            0,
            "how?",
            "foo(); // AUTHOR: how?\nbar();\n",
        ),
        (
            "a.rs",
            "f(a, /* AUTHOR: why 2? */ 2);\n",
            0,
            "why not 3?",
            "f(a, /* AUTHOR: why not 3? */ 2);\n",
        ),
        (
            "a.html",
            "<!-- AUTHOR: a -->\n",
            0,
            "b",
            "<!-- AUTHOR: b -->\n",
        ),
    ] {
        assert_eq!(
            rewritten(path, before, at, said).as_deref(),
            Ok(after),
            "{before}"
        );
    }
}

#[test]
fn the_last_words_are_taken_back() {
    for (before, at, after) in [
        (
            "// AUTHOR: a\n// AGENT: b\n// AUTHOR: c\n//   d\nx();\n",
            2,
            "// AUTHOR: a\n// AGENT: b\n// AUTHOR:\nx();\n",
        ),
        (
            "// AUTHOR: a\n// AUTHOR: b\nx();\n",
            1,
            "// AUTHOR: a\nx();\n",
        ),
        (
            "// AUTHOR: a\n// AGENT: b\n// AUTHOR: c\n// AUTHOR:\nx();\n",
            2,
            "// AUTHOR: a\n// AGENT: b\n// AUTHOR:\nx();\n",
        ),
    ] {
        assert_eq!(rewritten("a.rs", before, at, " \n").as_deref(), Ok(after));
    }
    let said = "// AUTHOR: a\n// AGENT: b\n// AUTHOR:\nx();\n";
    assert_eq!(rewritten("a.rs", said, 0, ""), Err(Refused::Empty));
    assert_eq!(
        rewritten("a.rs", "// AUTHOR: a\nx();\n", 0, ""),
        Err(Refused::Empty)
    );
}

#[test]
fn what_is_not_the_authors_or_is_no_longer_there_stays() {
    let text = "// AUTHOR: a\n// AGENT: b\n// AUTHOR:\nx();\n";
    let id = threads("a.rs", text)[0].id.clone();
    let try_it = |id: &str, at, was| {
        write("a.rs", text, |source| {
            rewrite(source, id, Rewrite { at, was, text: "c" })
        })
    };
    assert_eq!(try_it(&id, 1, "b"), Err(Refused::Changed));
    assert_eq!(try_it(&id, 0, "A"), Err(Refused::Changed));
    assert_eq!(try_it(&id, 9, "a"), Err(Refused::Changed));
    assert_eq!(try_it("ffffffff", 0, "a"), Err(Refused::Gone));
    assert_eq!(
        rewritten("a.rs", text, 0, " a ").as_deref(),
        Ok(text),
        "the same words"
    );
}

static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(samples);

fn words() -> impl Strategy<Value = String> {
    let hard = prop::sample::select(vec![
        "*/",
        "-->",
        "AUTHOR: x",
        "AGENT:",
        "\\",
        "]]",
        "#}",
        "=end",
        "",
        "so be it",
        "\u{202e}",
        "done",
        "'",
        "\"\"\"",
    ]);
    let line = prop_oneof![hard.prop_map(str::to_owned), "\\PC{1,12}"];
    prop::collection::vec(line, 1..4).prop_map(|lines| lines.join("\n"))
}

/// Plain words fit wherever words stood; each message of each sample.
#[test]
fn plain_words_fit_in_every_language() {
    for sample in SAMPLES.iter() {
        let file = File::new(sample, sample.text.clone());
        for thread in find(&sample.name, &file.text, &file.syntax) {
            for (at, message) in thread.messages.iter().enumerate() {
                if message.role == Role::Agent || message.text.is_empty() {
                    continue;
                }
                let was = message.text.as_str();
                let text = "What of it then";
                let written = rewrite(file.source(), &thread.id, Rewrite { at, was, text });
                assert!(written.is_ok(), "{}: {written:?} for {was:?}", sample.name);
            }
        }
    }
}

proptest! {
    #[test]
    fn words_read_back_and_all_else_stays(which: Index, message: Index, kind in 0..6usize, said in words()) {
        let sample = which.get(&SAMPLES);
        let notebook = sample.name.ends_with(".ipynb");
        let file = File::new(sample, if notebook { sample.text.clone() } else { variant(&sample.text, kind) });
        let all = find(&sample.name, &file.text, &file.syntax);
        let own: Vec<(usize, usize)> = all
            .iter()
            .enumerate()
            .flat_map(|(i, thread)| (0..thread.messages.len()).map(move |at| (i, at)))
            .filter(|(i, at)| all[*i].messages[*at].role == Role::Author && !all[*i].messages[*at].text.is_empty())
            .collect();
        prop_assume!(!own.is_empty());
        let (index, at) = *message.get(&own);
        let thread = &all[index];
        let was = &thread.messages[at];
        let Ok(written) = rewrite(file.source(), &thread.id, Rewrite { at, was: &was.text, text: &said }) else {
            return Ok(());
        };
        let after = apply_edits(&file.text, &written.edits);
        let syntax = Syntax::parse(&after, sample.language);
        let now = find(&sample.name, &after, &syntax);
        prop_assert_eq!(now.len(), all.len());
        let expected = super::super::words(&super::super::said(&said));
        for (i, (before, after)) in all.iter().zip(&now).enumerate() {
            // Words that are taken back may take their line with them.
            if i == index && expected.is_empty() {
                continue;
            }
            let texts = |thread: &Thread| thread.messages.iter().map(|m| m.text.clone()).collect::<Vec<_>>();
            let mut told = texts(before);
            if i == index {
                told[at].clone_from(&expected);
            }
            prop_assert_eq!(texts(after), told);
        }
        if !expected.is_empty() && !notebook {
            prop_assert!(after.starts_with(&file.text[..was.marker.end]));
            // A closing delimiter on the last line stays there, above the lines that are added.
            let behind = &file.text[was.range.end..];
            let below = behind.find(['\n', '\r']).map_or("", |end| &behind[end..]);
            prop_assert!(after.ends_with(below.trim_start_matches(['\n', '\r'])));
        }
    }
}
