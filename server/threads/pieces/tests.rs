//! What the pieces tell is what the whole text tells, whatever changes.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;
use crate::comments::detect;
use crate::comments::tests::samples::{samples, without_grammar};
use crate::comments::tests::unasked;
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

/// Types it; what it changed.
fn type_into(document: &mut Document, range: Range<usize>, new: &str, version: i32) -> Vec<Splice> {
    let typed = Typed::Incremental {
        range: document.range(&range, Encoding::Utf8),
        text: new.into(),
    };
    document
        .apply(&[typed], Encoding::Utf8, version)
        .expect("it fits")
}

/// Where, how many bytes go, and what comes.
type Keys = Vec<(Index, usize, Vec<&'static str>)>;

fn keys() -> impl Strategy<Value = Vec<Keys>> {
    let new = prop::collection::vec(select(TYPED), 0..4);
    prop::collection::vec(
        prop::collection::vec((any::<Index>(), 0usize..200, new), 1..4),
        1..8,
    )
}

fn burst(document: &mut Document, keys: &Keys, version: usize) -> Vec<Splice> {
    let mut splices = Vec::new();
    for (at, gone, new) in keys {
        let start = document.boundary(at.index(document.len() + 1));
        let range = start..document.boundary(start + gone).max(start);
        splices.extend(type_into(document, range, &new.concat(), version as i32));
    }
    splices
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

/// Those that a tree tells of.
static OF_TREES: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let mut all = samples();
    all.retain(|(name, text)| {
        Pieces::of_tree(text, &Syntax::parse(text, detect(name, None, text))).is_some()
    });
    all
});

#[test]
fn most_languages_are_read_in_pieces() {
    assert!(SAMPLES.len() > 100, "{}", SAMPLES.len());
    assert!(OF_TREES.len() > 30, "{}", OF_TREES.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn pieces_tell_what_the_whole_tells(sample in any::<Index>(), repeated in 1usize..6, changes in keys()) {
        let (name, sample) = sample.get(&SAMPLES);
        let text = format!("{sample}\n").repeat(repeated);
        let language = detect(name, None, &text).map(without_grammar);
        let mut document = Document::new(&text, 0);
        let Some(mut pieces) = Pieces::read(&document, language) else { return Ok(()) };
        prop_assert_eq!(told(name, &pieces, &document), whole(name, &text, language), "{}", name);
        for (version, keys) in changes.iter().enumerate() {
            let splices = burst(&mut document, keys, version);
            if !pieces.update(&splices, &document) {
                return Ok(());
            }
            let text = document.text();
            prop_assert_eq!(told(name, &pieces, &document), whole(name, text, language), "{}: {:?}", name, text);
        }
    }

    #[test]
    fn pieces_of_a_tree_tell_what_the_whole_tells(sample in any::<Index>(), repeated in 1usize..4, changes in keys()) {
        let (name, sample) = sample.get(&OF_TREES);
        let text = format!("{sample}\n\n").repeat(repeated);
        let language = detect(name, None, &text);
        let mut document = Document::new(&text, 0);
        let mut syntax = Syntax::parse(&text, language);
        let mut pieces = Pieces::of_tree(&text, &syntax);
        for (version, keys) in changes.iter().enumerate() {
            let before = document.text().to_owned();
            let splices = burst(&mut document, keys, version);
            let text = document.text();
            let touched = syntax.update(Some(&before), &splices, text);
            let kept = pieces.as_mut().is_some_and(|pieces| pieces.follow(touched, text, &syntax));
            if !kept {
                pieces = Pieces::of_tree(text, &syntax);
            }
            if let Some(pieces) = &pieces {
                let unasked = unasked(&syntax);
                let whole = (find(name, text, &unasked), near_misses(text, &unasked));
                prop_assert_eq!(told(name, pieces, &document), whole, "{}: {:?}", name, text);
            }
        }
    }
}

/// How many pieces of `pieces` were not there before.
fn anew(pieces: &Pieces, before: &[Arc<Piece>]) -> usize {
    let same = |piece: &&Arc<Piece>| before.iter().any(|known| Arc::ptr_eq(known, piece));
    pieces.pieces.iter().filter(|piece| !same(piece)).count()
}

#[test]
fn a_key_has_few_pieces_read_anew() {
    let line = "x = 1  # nothing of interest stands here\n";
    let text = format!("{}# AUTHOR: why?\n{}", line.repeat(1000), line.repeat(1000));
    let at = line.len() * 1000 + 10;
    let language = detect("a.py", None, &text);

    let mut document = Document::new(&text, 0);
    let mut pieces = Pieces::read(&document, language).expect("pieces");
    let before = pieces.pieces.clone();
    let splices = type_into(&mut document, at..at, "x", 1);
    assert!(pieces.update(&splices, &document));
    // The piece itself, and those that may look back at it.
    assert!(anew(&pieces, &before) <= 2 + BACK / PIECE);
    assert!(pieces.pieces.len() > 500);

    let mut document = Document::new(&text, 0);
    let mut syntax = Syntax::parse(&text, language);
    let mut pieces = Pieces::of_tree(&text, &syntax).expect("pieces");
    for place in [at, line.len() * 500 + 1, line.len() * 1500] {
        let before = pieces.pieces.clone();
        let earlier = document.text().to_owned();
        let splices = type_into(&mut document, place..place, "x", 1);
        let text = document.text();
        let touched = syntax.update(Some(&earlier), &splices, text);
        assert!(pieces.follow(touched, text, &syntax));
        assert!(anew(&pieces, &before) <= 2, "at {place}");
    }
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
            let splices = type_into(document, at..at + gone, new, version);
            assert!(pieces.update(&splices, document));
        };
    put(0, 0, "/*\n", &mut pieces, &mut document);
    assert_eq!(
        told("a.c", &pieces, &document),
        whole("a.c", document.text(), language)
    );
    put(0, 3, "", &mut pieces, &mut document);
    assert_eq!(pieces.threads("a.c", &document).len(), 200);
}

/// What ends a header may stand far behind its beginning: in a comment, by the language, or nowhere.
#[test]
fn a_documentation_string_that_is_open_where_a_piece_ends_goes_on() {
    let line = "x = 1 and much more of it, so that a piece is full of it here\n";
    let text = format!("\"\"\"\"{line}||| AUTHOR:\"\"\"\n{line}");
    let language = detect("a.idr", None, &text).map(without_grammar);
    let mut document = Document::new(&text, 0);
    let mut pieces = Pieces::read(&document, language).expect("pieces");
    let expected = whole("a.idr", &text, language);
    assert_eq!(told("a.idr", &pieces, &document), expected);
    // Closed, opened and closed again, far from where it begins.
    let text = format!("\"\"\"\"{}||| AUTHOR: Jane Doe\n{line}", line.repeat(20));
    let language = detect("a.idr", None, &text).map(without_grammar);
    document = Document::new(&text, 0);
    pieces = Pieces::read(&document, language).expect("pieces");
    for (version, new) in ["||| \"\"\"\n", "", "x\n", "||| \"\"\"\n"]
        .into_iter()
        .enumerate()
    {
        let at = 4 + line.len() * 19;
        let splices = type_into(&mut document, at..at, new, version as i32);
        assert!(pieces.update(&splices, &document));
        let expected = whole("a.idr", document.text(), language);
        assert_eq!(told("a.idr", &pieces, &document), expected, "{new}");
    }
}
