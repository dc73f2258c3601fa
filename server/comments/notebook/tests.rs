use super::*;
use crate::text::{Edit, apply_edits};

fn notebook(cells: &str) -> String {
    format!("{{\"cells\": [{cells}], \"metadata\": {{}}, \"nbformat\": 4}}")
}

fn code(source: &str) -> String {
    notebook(&format!(
        "{{\"cell_type\": \"code\", \"source\": {source}}}"
    ))
}

/// The source after `edit` of the first cell's, as it is written.
fn written(source: &str, range: Range<usize>, text: &str) -> String {
    let before = code(source);
    let book = Notebook::parse(&before).unwrap();
    let edit = Edit {
        range,
        text: text.to_owned(),
    };
    let cell = &book.cells[0];
    let expected = apply_edits(cell.text(&before), std::slice::from_ref(&edit));
    let after = apply_edits(&before, &book.outward(&before, cell, &[edit]));
    let book = Notebook::parse(&after).unwrap_or_else(|_| panic!("{after}"));
    assert_eq!(book.cells[0].text(&after), expected, "{after}");
    book.cells[0].written(&after).to_owned()
}

#[test]
fn a_source_is_read_as_it_was_meant() {
    for (source, text) in [
        (r#"["a\n", "b"]"#, "a\nb"),
        (r#""a\nb""#, "a\nb"),
        ("[]", ""),
        (r#""""#, ""),
        (
            r#"["\u00e9\ud83d\ude00\/\"\\\t\b\f\r\n"]"#,
            "é😀/\"\\\t\u{8}\u{c}\r\n",
        ),
        (r#""\ud83d \udc00 \u12""#, "\u{fffd} \u{fffd} u12"),
    ] {
        let text_of = code(source);
        let book = Notebook::parse(&text_of).unwrap();
        let cell = &book.cells[0];
        assert_eq!(cell.text(&text_of), text);
        // Each place leads there and back.
        for (at, char) in text.char_indices() {
            let outer = cell.outer(&text_of, at);
            assert!(cell.holds(outer), "{source} {at}");
            assert_eq!(cell.inner(&text_of, outer), at, "{source} {char:?}");
        }
    }
}

#[test]
fn what_is_no_json_is_malformed() {
    let sound = code(r#"["a"]"#);
    assert!(Notebook::parse(&sound).is_ok());
    for broken in [
        String::new(),
        sound[..sound.len() - 1].to_owned(),
        format!("{sound} x"),
        sound.replace("[\"a\"]", "[\"a\",]"),
        sound.replace("[\"a\"]", "[\"a\" \"b\"]"),
        sound.replace("[\"a\"]", "[1]"),
        sound.replace("[\"a\"]", "[\"a\n\"]"),
        sound.replace("[\"a\"]", "[\"a]"),
        sound.replace("4}", "x}"),
        sound.replace(": 4}", " 4}"),
        format!("<<<<<<< HEAD\n{sound}"),
    ] {
        assert_eq!(Notebook::parse(&broken).err(), Some(Malformed), "{broken}");
    }
    for other in [
        "1",
        "[]",
        "{}",
        "{\"cells\": 1}",
        "{\"cells\": [1, {}]}",
        "null",
        "NaN",
    ] {
        assert!(Notebook::parse(other).unwrap().cells.is_empty(), "{other}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(Notebook::parse(&deep).is_ok());
    assert!(Notebook::parse(&deep[1..]).is_err());
}

#[test]
fn a_cell_is_in_its_kernels_language() {
    let language = |cell: &str, metadata: &str| {
        let text = format!("{{\"cells\": [{cell}], \"metadata\": {metadata}}}");
        let book = Notebook::parse(&text).unwrap();
        let found = book.cells[0].syntax(&text).language();
        found.map_or("", |language| language.name)
    };
    let code = r#"{"cell_type": "code", "source": "x"}"#;
    for (metadata, name) in [
        ("{}", "python"),
        (r#"{"kernelspec": {"language": "R"}}"#, "r"),
        (
            r#"{"language_info": {"name": "julia"}, "kernelspec": {"language": "x"}}"#,
            "julia",
        ),
        (
            r#"{"language_info": {"name": "C++17", "file_extension": ".cpp"}}"#,
            "cpp",
        ),
        (
            r#"{"language_info": {"name": "?", "file_extension": ".rs"}}"#,
            "rust",
        ),
        (r#"{"language_info": {"name": "brand new"}}"#, ""),
    ] {
        assert_eq!(language(code, metadata), name, "{metadata}");
    }
    for (source, name) in [
        ("%%bash\\nx", "bash"),
        ("\\n%%script perl -w\\nx", "perl"),
        ("%%html --isolated\\nx", "html"),
        ("%%writefile -a a.toml\\nx", "toml"),
        ("%%time\\nx", "python"),
        ("%% a section\\nx", "python"),
        ("%bash\\nx", "python"),
    ] {
        let cell = format!(r#"{{"cell_type": "code", "source": "{source}"}}"#);
        assert_eq!(language(&cell, "{}"), name, "{source}");
    }
    let cell = r#"{"cell_type": "raw", "metadata": {"format": "text/latex"}, "source": "x"}"#;
    assert_eq!(language(cell, "{}"), "latex");
    // nbformat 3.
    let old = r#"{"worksheets": [{"cells": [{"cell_type": "code", "input": ["a"], "language": "python"}]}]}"#;
    assert_eq!(Notebook::parse(old).unwrap().cells[0].text(old), "a");
}

#[test]
fn a_list_keeps_its_lines_and_its_layout() {
    let list = "[\n  \"a\\n\",\n  \"b\"\n ]";
    for (range, text, expected) in [
        // Above, between, below.
        (0..0, "x\n", "[\n  \"x\\n\",\n  \"a\\n\",\n  \"b\"\n ]"),
        (
            2..2,
            "x\ny\n",
            "[\n  \"a\\n\",\n  \"x\\n\",\n  \"y\\n\",\n  \"b\"\n ]",
        ),
        (
            3..3,
            "\nx\ny",
            "[\n  \"a\\n\",\n  \"b\\n\",\n  \"x\\n\",\n  \"y\"\n ]",
        ),
        (3..3, "\n", "[\n  \"a\\n\",\n  \"b\\n\"\n ]"),
        // Whole lines go.
        (0..2, "", "[\n  \"b\"\n ]"),
        (1..3, "", "[\n  \"a\"\n ]"),
        (2..3, "", "[\n  \"a\\n\"\n ]"),
        (0..3, "", "[]"),
        // Parts of lines.
        (2..3, "c", "[\n  \"a\\n\",\n  \"c\"\n ]"),
        (0..3, "c\n", "[\n  \"c\\n\"\n ]"),
        (1..2, "", "[\n  \"ab\"\n ]"),
    ] {
        assert_eq!(
            written(list, range.clone(), text),
            expected,
            "{range:?} {text:?}"
        );
    }
    for (source, range, text, expected) in [
        ("[\"a\"]", 1..1, "\nb", "[\"a\\n\", \"b\"]"),
        ("[\n\"a\"\n]", 1..1, "\nb", "[\n\"a\\n\",\n\"b\"\n]"),
        ("[\"a\\n\",\"b\"]", 2..2, "c\n", "[\"a\\n\",\"c\\n\",\"b\"]"),
        (
            "[\"a\\n\",\r\n\t\"b\"]",
            3..3,
            "\nc",
            "[\"a\\n\",\r\n\t\"b\\n\",\r\n\t\"c\"]",
        ),
        ("[\"a\\n\"]", 2..2, "b\n", "[\"a\\n\", \"b\\n\"]"),
        (
            "[\"a\\nb\\n\", \"c\"]",
            2..2,
            "x\n",
            "[\"a\\nx\\n\", \"b\\n\", \"c\"]",
        ),
        ("[]", 0..0, "a\nb", "[\"a\\n\", \"b\"]"),
        ("\"\"", 0..0, "a\nb", "\"a\\nb\""),
        (
            "\"a\\nb\"",
            1..1,
            "\"\\\t\u{1}é",
            "\"a\\\"\\\\\\t\\u0001é\\nb\"",
        ),
        // Letters are escaped where the notebook escapes them.
        (
            "\"\\u00e8\"",
            2..2,
            "é😀",
            "\"\\u00e8\\u00e9\\ud83d\\ude00\"",
        ),
        ("\"è\\u00e8\"", 4..4, "é", "\"è\\u00e8é\""),
    ] {
        assert_eq!(written(source, range, text), expected, "{source}");
    }
}

#[test]
fn an_empty_cell_is_filled_as_others_are() {
    let text = notebook(
        "{\"cell_type\": \"code\", \"source\": [\r\n   \"a\\n\",\r\n   \"b\"\r\n  ]}, {\"cell_type\": \"code\", \"source\": []}",
    );
    let book = Notebook::parse(&text).unwrap();
    let edit = Edit {
        range: 0..0,
        text: "x\ny".to_owned(),
    };
    let edits = book.outward(&text, &book.cells[1], &[edit]);
    assert_eq!(edits[0].text, "[\r\n   \"x\\n\",\r\n   \"y\"\r\n  ]");
}
