//! What the pieces tell is what the whole text tells, whatever changes.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;
use crate::comments::detect;
use crate::comments::tests::samples::{samples, without_grammar};
use crate::text::{Change as Typed, Encoding};
use crate::threads::{find, near_misses};

/// What is typed into a text.
const TYPED: &[&str] = &[
    "a",
    " ",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "// AUTHOR: why?\n",
    "# AUTHOR: why?\n",
    "# AGENT: Because.\n",
    "    # AUTHOR(jane): and\n",
    "#   more of it\n",
    "-- AUTHOR: why?\n",
    "/* AUTHOR: why? */",
    "AUTHOR: Jane Doe\n",
    "# author: what is this?\n",
    "# Copyright (c) 2020\n",
    "/*",
    "*/",
    "\"\"\"",
    "'''",
    "\"",
    "'",
    "`",
    "<<EOT\n",
    "EOT\n",
    "{-",
    "-}",
    "(*",
    "*)",
    "<!--",
    "-->",
    "#\n",
    "é",
    "𝄞",
    "\\",
    "x = 1\n",
];

fn whole(
    path: &str,
    text: &str,
    language: Option<&'static Language>,
) -> (Vec<Thread>, Vec<NearMiss>) {
    let syntax = Syntax::parse(text, language);
    (find(path, text, &syntax), near_misses(text, &syntax))
}

fn told(path: &str, pieces: &Pieces, document: &Document) -> (Vec<Thread>, Vec<NearMiss>) {
    (pieces.threads(path, document), pieces.near_misses())
}

/// The samples that can be read in pieces: those without code of other languages.
static SAMPLES: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let mut all = samples();
    all.retain(|(name, text)| {
        let language = detect(name, None, text).map(without_grammar);
        let plain = language.is_none_or(|language| language.name != "notebook");
        plain && Pieces::read(&Document::new(text, 0), language).is_some()
    });
    all
});

#[test]
fn most_languages_are_read_in_pieces() {
    assert!(SAMPLES.len() > 100, "{}", SAMPLES.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn pieces_tell_what_the_whole_tells(
        sample in any::<Index>(),
        repeated in 1usize..6,
        changes in prop::collection::vec(prop::collection::vec((any::<Index>(), 0usize..200, prop::collection::vec(select(TYPED), 0..4)), 1..4), 1..8),
    ) {
        let (name, sample) = sample.get(&SAMPLES);
        let text = format!("{sample}\n").repeat(repeated);
        let language = detect(name, None, &text).map(without_grammar);
        let mut document = Document::new(&text, 0);
        let Some(mut pieces) = Pieces::read(&document, language) else { return Ok(()) };
        prop_assert_eq!(told(name, &pieces, &document), whole(name, &text, language), "{}", name);
        for (version, burst) in changes.iter().enumerate() {
            let mut splices = Vec::new();
            for (at, gone, new) in burst {
                let start = document.boundary(at.index(document.len() + 1));
                let range = start..document.boundary(start + gone).max(start);
                let range = document.range(&range, Encoding::Utf8);
                let typed = Typed::Incremental { range, text: new.concat() };
                splices.extend(document.apply(&[typed], Encoding::Utf8, version as i32).expect("it fits"));
            }
            if !pieces.update(&splices, &document) {
                return Ok(());
            }
            let text = document.text();
            prop_assert_eq!(told(name, &pieces, &document), whole(name, &text, language), "{}: {:?}", name, text);
        }
    }
}

#[test]
fn a_key_has_few_pieces_read_anew() {
    let line = "x = 1  # nothing of interest stands here\n";
    let text = format!("{}# AUTHOR: why?\n{}", line.repeat(1000), line.repeat(1000));
    let mut document = Document::new(&text, 0);
    let mut pieces = Pieces::read(&document, detect("a.py", None, &text)).expect("pieces");
    let before = pieces.pieces.clone();
    let range = document.range(
        &(line.len() * 1000 + 10..line.len() * 1000 + 10),
        Encoding::Utf8,
    );
    let typed = Typed::Incremental {
        range,
        text: "x".into(),
    };
    let splices = document
        .apply(&[typed], Encoding::Utf8, 1)
        .expect("it fits");
    assert!(pieces.update(&splices, &document));
    let same = |piece: &&Arc<Piece>| before.iter().any(|known| Arc::ptr_eq(known, piece));
    let anew = pieces.pieces.iter().filter(|piece| !same(piece)).count();
    // The piece itself, and those that may look back at it.
    assert!(
        anew <= 2 + BACK / PIECE,
        "{anew} of {}",
        pieces.pieces.len()
    );
    assert!(pieces.pieces.len() > 500);
}

#[test]
fn a_comment_that_is_never_closed_reaches_to_the_end_of_the_text() {
    let text = "int a;\n// AUTHOR: why?\nint b;\n".repeat(200);
    let language = detect("a.c", None, &text).map(without_grammar);
    let mut document = Document::new(&text, 0);
    let mut pieces = Pieces::read(&document, language).expect("pieces");
    assert_eq!(pieces.threads("a.c", &document).len(), 200);
    let mut version = 0;
    let mut put =
        |at: usize, gone: usize, new: &str, pieces: &mut Pieces, document: &mut Document| {
            version += 1;
            let range = document.range(&(at..at + gone), Encoding::Utf8);
            let typed = Typed::Incremental {
                range,
                text: new.into(),
            };
            let splices = document
                .apply(&[typed], Encoding::Utf8, version)
                .expect("it fits");
            assert!(pieces.update(&splices, document));
        };
    put(0, 0, "/*\n", &mut pieces, &mut document);
    assert_eq!(
        told("a.c", &pieces, &document),
        whole("a.c", &document.text(), language)
    );
    put(0, 3, "", &mut pieces, &mut document);
    assert_eq!(pieces.threads("a.c", &document).len(), 200);
}
