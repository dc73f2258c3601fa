//! The reader: any bytes as a file of any language.

use std::collections::HashSet;

use postil_grammars::Language;

use crate::comments::Syntax;
use crate::input::Input;
use crate::threads::{self, Role, Status, Thread};

/// The first byte chooses the language; the rest is the file.
pub fn check(data: &[u8]) {
    let mut input = Input(data);
    let language = input.language();
    let text = String::from_utf8_lossy(input.0);
    let syntax = Syntax::parse(&text, language);
    let found = threads::find("src/file", &text, &syntax);
    hold(&text, language, &found);
    for near in threads::near_misses(&text, &syntax) {
        assert!(text.get(near.range).is_some_and(|near| !near.is_empty()));
    }
    assert!(syntax.first_code(&text) <= text.len());
    for comment in syntax.comments_in(&text, 0..text.len()) {
        assert!(
            text.get(comment.range.clone()).is_some(),
            "half a character"
        );
        assert!(comment.open + comment.close <= comment.range.len());
    }
    syntax.symbols(&text);
}

/// What is true of the threads of any text.
pub(crate) fn hold(text: &str, language: Option<&Language>, found: &[Thread]) {
    // The lines of a cell meet in the cell; in the file there may be lines of JSON between them.
    let cells = language.is_some_and(|language| language.name == "notebook");
    assert!(found.is_empty() || threads::may_hold(text.as_bytes()));
    let mut ids = HashSet::new();
    let mut marker = 0;
    for thread in found {
        assert!(ids.insert(&thread.id), "two threads have one id");
        assert_eq!(
            thread.malformed,
            thread.messages.first().map(|first| first.role) == Some(Role::Agent)
        );
        let last = thread.messages.last();
        let asks = last.is_some_and(|m| m.role == Role::Author && !m.text.is_empty());
        assert_eq!(thread.status == Status::Pending, asks);
        let mut line = None;
        for message in &thread.messages {
            let word = text.get(message.marker.clone()).unwrap_or_default();
            assert!(word.starts_with(message.role.word()) && word.ends_with(':'));
            assert!(
                text.get(message.range.clone()).is_some(),
                "half a character"
            );
            assert!(message.marker.start >= marker, "out of order");
            assert!(message.line <= message.last_line);
            assert!(
                cells || line.is_none_or(|above| message.line <= above + 1),
                "a hole"
            );
            marker = message.marker.end;
            line = Some(message.last_line);
        }
    }
}
