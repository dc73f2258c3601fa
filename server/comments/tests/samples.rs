//! Every language's sample in `tests/fixtures/languages`: an `AUTHOR: yes` stands in a comment, directly
//! behind its leader (or somewhere inside it, where `inside` stands in the line), an `AUTHOR: no` does not.
//! A line with the word `grammar` is read rightly by the language's grammar only, not by its delimiters.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::LazyLock;

use postil_grammars::LANGUAGES;

use super::*;

pub(crate) fn samples() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/languages");
    let mut samples: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                std::fs::read_to_string(entry.path()).unwrap(),
            )
        })
        .collect();
    samples.sort();
    samples
}

/// The row of the same language, read by its delimiters.
pub(crate) fn without_grammar(language: &Language) -> &'static Language {
    static ROWS: LazyLock<Vec<Language>> = LazyLock::new(|| {
        let bare = |language: &Language| Language {
            grammar: None,
            ..*language
        };
        LANGUAGES.iter().map(bare).collect()
    });
    ROWS.iter().find(|row| row.name == language.name).unwrap()
}

/// What is wrong with the reading of `text`.
fn faults(name: &str, text: &str, syntax: &Syntax) -> Vec<String> {
    let grammar = syntax.tree.is_some();
    let mut faults = Vec::new();
    let mut marks = 0;
    for (at, _) in text.match_indices("AUTHOR: ") {
        let line = text[..at].matches('\n').count() + 1;
        let row = text[at..].lines().next().unwrap_or("");
        if !grammar && row.contains("grammar") {
            continue;
        }
        let found = syntax.comment_at(text, at);
        let mut fault =
            |what: &str| faults.push(format!("{name}:{line}: {what}: {row} ({found:?})"));
        marks += 1;
        if text[at..].starts_with("AUTHOR: no") {
            if found.is_some() {
                fault("no comment, but read as one");
            }
            continue;
        }
        let Some(comment) = &found else {
            fault("a comment, but not read as one");
            continue;
        };
        let end = comment.range.end - comment.close;
        if !row.contains("inside")
            && !text[comment.range.start + comment.open..at]
                .trim()
                .is_empty()
        {
            fault("something between leader and marker");
        }
        if !comment.block && text[comment.range.clone()].contains(['\n', '\r']) {
            fault("a line comment over a line's end");
        }
        if comment.close > 0 && text[end..comment.range.end].trim().is_empty() {
            fault("no closing delimiter");
        }
        let around = syntax.comments_in(text, at..at + 1);
        if around != [comment.clone()] {
            fault(&format!("asked for the range: {around:?}"));
        }
    }
    if marks == 0 {
        faults.push(format!("{name}: no marks"));
    }
    let all: Vec<_> = syntax.comments_in(text, 0..text.len());
    for pair in all.windows(2) {
        if pair[0].range.end > pair[1].range.start {
            faults.push(format!("{name}: overlapping comments {pair:?}"));
        }
    }
    for comment in &all {
        let at = comment.range.start;
        if syntax.comment_at(text, at).as_ref() != Some(comment) {
            faults.push(format!(
                "{name}: {comment:?} is not found at its start: {:?}",
                syntax.comment_at(text, at)
            ));
        }
    }
    faults
}

#[test]
fn comments_are_found_and_strings_are_not() {
    let mut wrong = Vec::new();
    for (name, text) in samples() {
        let language =
            detect(&name, None, &text).unwrap_or_else(|| panic!("{name} is in no language"));
        wrong.extend(faults(&name, &text, &Syntax::parse(&text, Some(language))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A text that is too broken or too large for its grammar is read by its row's delimiters. They cannot
/// tell the text between JSX's tags from code.
#[test]
fn without_their_grammar_too() {
    let mut wrong = Vec::new();
    for (name, text) in samples() {
        let language = detect(&name, None, &text).unwrap();
        if language.grammar.is_some() && !matches!(language.name, "jsx" | "tsx") {
            let syntax = Syntax::parse(&text, Some(without_grammar(language)));
            wrong.extend(faults(&name, &text, &syntax));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where a grammar sees an error the delimiters read, and the sample would test them twice: what a grammar cannot
/// read stands in a sample of its own, `broken-…`.
#[test]
fn samples_are_code_of_their_language() {
    for (name, text) in samples() {
        let language = detect(&name, None, &text).unwrap();
        if language.grammar.is_some() && !language.mends {
            let syntax = Syntax::parse(&text, Some(language));
            assert_eq!(syntax.tree.is_none(), name.starts_with("broken-"), "{name}");
        }
    }
}

#[test]
fn an_empty_line_comment_ends_with_its_line() {
    let mut wrong = Vec::new();
    for (name, text) in samples() {
        let language = detect(&name, None, &text).unwrap();
        for line in language.line {
            for block in language.block {
                let (line, open, close) = (line.open, block.open, block.close);
                let text = format!(
                    "{}\n{line}\n{open} AUTHOR: yes {close}\n{line} AUTHOR: yes\n",
                    text.trim_end()
                );
                wrong.extend(faults(&name, &text, &Syntax::parse(&text, Some(language))));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_language_has_a_sample() {
    let seen: BTreeSet<_> = samples()
        .iter()
        .filter_map(|(name, text)| Some(detect(name, None, text)?.name))
        .collect();
    let missing: Vec<_> = LANGUAGES
        .iter()
        .map(|l| l.name)
        .filter(|n| !matches!(*n, "markdown-inline" | "php-code") && !seen.contains(n))
        .collect();
    assert!(missing.is_empty(), "no sample of {missing:?}");
}
