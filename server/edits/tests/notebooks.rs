//! Every write in notebooks whose cells are the samples of all languages: it reads back, it is JSON, and
//! every byte outside the sources is as it was.

use proptest::prelude::*;
use proptest::sample::Index;

use super::languages::{ANSWER, File, Sample, faults, samples};
use super::*;
use crate::comments::Notebook;

/// How a notebook is laid out.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Blanks of one level; `None`: all on one line.
    indent: Option<&'static str>,
    line_end: &'static str,
    /// A source is one string.
    joined: bool,
    ascii: bool,
}

fn quoted(text: &str, ascii: bool) -> String {
    let plain = serde_json::to_string(text).unwrap();
    if !ascii {
        return plain;
    }
    let escape = |c: char| match c {
        c if c.is_ascii() => c.to_string(),
        c => c
            .encode_utf16(&mut [0; 2])
            .iter()
            .map(|unit| format!("\\u{unit:04x}"))
            .collect(),
    };
    plain.chars().map(escape).collect()
}

/// A notebook of three cells: Markdown, `sample`, nothing.
fn notebook(sample: &Sample, layout: Layout) -> Sample {
    let Layout {
        indent,
        line_end,
        joined,
        ascii,
    } = layout;
    let new_line = |depth: usize| match indent {
        Some(indent) => format!("{line_end}{}", indent.repeat(depth)),
        None => String::new(),
    };
    let source = |text: &str| {
        if joined {
            return quoted(text, ascii);
        }
        let lines: Vec<_> = text
            .split_inclusive('\n')
            .map(|line| quoted(line, ascii))
            .collect();
        if lines.is_empty() {
            return "[]".to_owned();
        }
        let between = format!(",{}", new_line(4));
        format!("[{}{}{}]", new_line(4), lines.join(&between), new_line(3))
    };
    let cell = |kind: &str, text: &str| {
        let output = "\"outputs\":[{\"text\":\"# AUTHOR: no\\n\"}]";
        format!(
            "{{{}\"cell_type\": \"{kind}\",{}{output},{}\"source\": {}{}}}",
            new_line(3),
            new_line(3),
            new_line(3),
            source(text),
            new_line(2),
        )
    };
    let cells = [
        cell("markdown", "a\n\n<!-- AUTHOR: why a é? -->\n\nb"),
        cell("code", &sample.text),
        cell("code", ""),
    ];
    let language = sample.language.map_or("none", |language| language.name);
    let text = format!(
        "{{{}\"cells\": [{}{}{}],{}\"metadata\": {{\"language_info\": {{\"name\": \"{language}\"}}}}{}}}{}",
        new_line(1),
        new_line(2),
        cells.join(&format!(",{}", new_line(2))),
        new_line(1),
        new_line(1),
        new_line(0),
        line_end,
    );
    let name = "a.ipynb".to_owned();
    Sample {
        language: detect(&name, None, &text),
        name,
        text,
    }
}

fn layouts() -> impl Strategy<Value = Layout> {
    (
        prop::sample::select(&[Some(" "), Some("\t"), Some("  "), None][..]),
        prop::sample::select(&["\n", "\r\n"][..]),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(indent, line_end, joined, ascii)| Layout {
            indent,
            line_end,
            joined,
            ascii,
        })
}

/// The text without the sources of its cells.
fn around(text: &str) -> String {
    let book = Notebook::parse(text).unwrap_or_else(|_| panic!("no JSON: {text}"));
    let mut rest = text.to_owned();
    for cell in book.cells.iter().rev() {
        rest.replace_range(cell.value.clone(), "");
    }
    rest
}

/// Both are JSON to a parser that is not ours, and the same but for the sources.
fn check(before: &str, written: &Written) -> Result<String, TestCaseError> {
    let after = apply_edits(before, &written.edits);
    let parsed = serde_json::from_str::<serde_json::Value>(&after);
    prop_assert!(parsed.is_ok(), "{:?}: {}", parsed, after);
    prop_assert_eq!(around(before), around(&after));
    // What our own reader makes of a source, the other one does too.
    let book = Notebook::parse(&after).map_err(|_| TestCaseError::fail("malformed"))?;
    for (cell, theirs) in book
        .cells
        .iter()
        .zip(parsed.unwrap()["cells"].as_array().unwrap())
    {
        let source = match &theirs["source"] {
            serde_json::Value::String(text) => text.clone(),
            list => list
                .as_array()
                .unwrap()
                .iter()
                .map(|line| line.as_str().unwrap())
                .collect(),
        };
        prop_assert_eq!(cell.text(&after), source);
    }
    Ok(after)
}

#[test]
fn a_thread_is_told_in_lines_of_the_notebook() {
    let path = "tests/fixtures/languages/notebook.ipynb";
    let text = std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
        .unwrap();
    let syntax = Syntax::parse(&text, detect(path, None, &text));
    let lines: Vec<&str> = text.lines().collect();
    let threads = find(path, &text, &syntax);
    assert_eq!(threads.len(), 9);
    for message in threads.iter().flat_map(|thread| &thread.messages) {
        let marker = &text[message.marker.clone()];
        assert!(marker.ends_with(':') && lines[message.line].contains(marker));
        assert!(
            lines[message.last_line].contains(text[message.range.clone()].lines().last().unwrap())
        );
    }
    let long = threads.iter().find(|t| t.messages.len() == 3).unwrap();
    assert_eq!(long.messages[0].text, "yes, \"quoted\" \\n é\nand more");
    assert_eq!(long.messages[0].last_line, long.messages[0].line + 1);
    // Both stand on the one line that holds their cell.
    let lines = |at: usize| threads[at].first_line();
    assert_eq!(lines(5), lines(6));
}

#[test]
fn a_magic_stays_on_its_first_line() {
    let text =
        r#"{"cells": [{"cell_type": "code", "source": ["%%bash\n", "ls"]}], "metadata": {}}"#;
    let syntax = Syntax::parse(text, detect("a.ipynb", None, text));
    let source = Source {
        path: "a.ipynb",
        text,
        syntax: &syntax,
    };
    let (written, cursor) = new_thread(source, 0, "why?", Style::default()).unwrap();
    let after = apply_edits(text, &written.edits);
    assert!(
        after.contains(r#"["%%bash\n", "ls"]"#)
            || after.contains(r##"["%%bash\n", "# AUTHOR: why?\n", "ls"]"##),
        "{after}"
    );
    assert!(
        after[..cursor].ends_with("AUTHOR: why?"),
        "{after} {cursor}"
    );
}

#[test]
fn a_malformed_notebook_is_left_alone() {
    let text = r##"{"cells": [{"cell_type": "code", "source": ["# AUTHOR: why?"]}"##;
    let syntax = Syntax::parse(text, detect("a.ipynb", None, text));
    assert!(syntax.is_malformed(text));
    let source = Source {
        path: "a.ipynb",
        text,
        syntax: &syntax,
    };
    assert!(find("a.ipynb", text, &syntax).is_empty());
    assert_eq!(clear(source), Err(Refused::NoThreads));
    assert_eq!(
        new_thread(source, 0, "x", Style::default()),
        Err(Refused::Unreadable)
    );
}

#[test]
fn a_tool_may_change_the_code_of_a_cell_and_not_its_threads() {
    let text = r##"{"cells": [{"cell_type": "code", "source": ["# AUTHOR: why?\n", "x = 1"]}]}"##;
    let syntax = Syntax::parse(text, detect("a.ipynb", None, text));
    let source = Source {
        path: "a.ipynb",
        text,
        syntax: &syntax,
    };
    let touches = |old: &str, new: &str| {
        let start = text.find(old).unwrap();
        let edit = Edit {
            range: start..start + old.len(),
            text: new.to_owned(),
        };
        touches_threads(source, &[edit])
    };
    assert!(!touches("x = 1", "x = 2"));
    assert!(!touches("{\"cells", "{\"metadata\": {}, \"cells"));
    assert!(touches("why", "how"));
    assert!(touches("x = 1", "# AGENT: x"));
    assert!(touches("]}]}", "]}]"));
    assert!(touches("\"code\"", "\"raw\""));
}

#[test]
fn answers_read_back_in_cells_of_every_language() {
    let layout = Layout {
        indent: Some(" "),
        line_end: "\n",
        joined: false,
        ascii: false,
    };
    let mut faulty = Vec::new();
    for sample in samples().iter().filter(|s| s.name != "notebook.ipynb") {
        let book = notebook(sample, layout);
        let file = File::new(&book, book.text.clone());
        let threads = file.threads();
        assert!(!threads.is_empty(), "{}", sample.name);
        for at in [0, threads.len() / 2, threads.len() - 1] {
            if let Some(fault) = faults(&file, at, Role::Agent, ANSWER, Style::default()) {
                faulty.push(format!("{}: {at}: {fault}", sample.name));
            }
        }
    }
    assert!(faulty.is_empty(), "{}", faulty.join("\n"));
}

proptest! {
    #[test]
    fn any_text_reads_back_in_a_cell(
        sample in any::<Index>(),
        layout in layouts(),
        thread in any::<Index>(),
        agent: bool,
        keep_indentation: bool,
        line in any::<Index>(),
        text in "(AUTHOR: |\\*/|-->|--|\\]\\]|\\\\|\\\\n|\\\\u00e9|\n|\n\n|\r\n|  |\t|# |\"|'|x|é|😀|\u{2028}|\u{1b}|\u{0}|&#047;|\",|\\]|\\PC){1,24}",
    ) {
        let mut samples = samples();
        samples.retain(|sample| sample.name != "notebook.ipynb");
        let book = notebook(sample.get(&samples), layout);
        let file = File::new(&book, book.text.clone());
        let threads = file.threads();
        let role = if agent { Role::Agent } else { Role::Author };
        let style = Style { keep_indentation };
        let at = thread.index(threads.len());
        prop_assert_eq!(faults(&file, at, role, &text, style), None);
        if let Ok(written) = respond(file.source(), &threads[at].id, role, None, &text, style) {
            check(&file.text, &written)?;
        }
        check(&file.text, &dismiss(file.source(), &threads[at].id).unwrap())?;
        let cleared = check(&file.text, &clear(file.source()).unwrap())?;
        let cleared = File::new(&book, cleared);
        prop_assert!(cleared.threads().is_empty());
        let line = line.index(file.text.lines().count());
        if let Ok((written, cursor)) = new_thread(file.source(), line, &text, style) {
            let after = check(&file.text, &written)?;
            prop_assert!(after.is_char_boundary(cursor));
            prop_assert_eq!(File::new(&book, after).threads().len(), threads.len() + 1);
        }
    }
}
