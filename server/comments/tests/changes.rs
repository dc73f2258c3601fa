//! Any text, any change: nothing panics, and what is updated equals what is parsed afresh.

use std::sync::LazyLock;

use postil_grammars::LANGUAGES;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::samples::{samples, without_grammar};
use super::*;

static SAMPLES: LazyLock<Vec<(String, String)>> = LazyLock::new(samples);

/// What texts are made of that a parser may stumble over.
const PIECES: &[&str] = &[
    "\"",
    "'",
    "`",
    "/*",
    "*/",
    "//",
    "#",
    "--",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "    ",
    "\t",
    "\\",
    "${",
    "#{",
    "{",
    "}",
    "(",
    ")",
    "[[",
    "]]",
    "--[[",
    "<<EOT\n",
    "<<~X\n",
    "EOT\n",
    "X\n",
    "$$",
    "$a$",
    " AS ",
    "<script>",
    "</script>",
    "<style lang=\"scss\">",
    "</style>",
    "<!--",
    "-->",
    "<?php",
    "?>",
    "---\n",
    "=begin\n",
    "=end\n",
    "=pod\n",
    "=cut\n",
    "__END__\n",
    "```\n",
    "~~~\n",
    "r#\"",
    "\"#",
    "R\"x(",
    ")x\"",
    "\"\"\"",
    "'''",
    "%{\n",
    "%}\n",
    "key: |\n",
    "  text",
    "- ",
    "AUTHOR: x",
    "é",
    "𝄞",
    "\u{feff}",
    "\0",
    "q{",
    "s/",
    "~r/",
    "?;",
    "#|",
    "|#",
    "{-",
    "-}",
    "(*",
    "*)",
    "\\begin{verbatim}",
    "\\end{verbatim}",
    ".. ",
    "<a b=\"",
    ">",
    "@\"",
    "a",
    "REM ",
    "%w[",
    "/",
];

/// What is typed in comments.
const IN_COMMENTS: &[&str] = &[
    "a", " ", "a b", "é", "*", "/", "*/", "/*", "-", "-->", "--", "\n", "\r\n", "\\", "[", "]]",
    "!", "#", "\t", "=end", "\u{2028}", "{", "}",
];

/// What is typed in names: letters, and what makes a word of the language of them.
const IN_NAMES: &[&str] = &[
    "a", "b_c", "1", "", "f", "if", "s", "None", "null", "return", "r", "__END__", "é", "end", "u",
    "8", "self", "async",
];

/// What is typed letter by letter.
const STATEMENTS: &[&str] = &[
    "total = fold(x, \"many\")\n",
    "f([1, {}, 'a'])\n",
    "/* what */\n",
    "# what\n",
    "// what?\n",
    "-- what\n",
    "\"\"\"\nwhat\n\"\"\"\n",
    "if (a) { b(); }\n",
    "#if A\n#endif\n",
    "let a = `b`;\n",
    "x = <<EOT\nwhat\nEOT\n",
    "} {\n",
];

fn text() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(
        prop_oneof![6 => select(PIECES).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)],
        0..60,
    );
    let sample = any::<Index>().prop_map(|i| i.get(&SAMPLES).1.clone());
    (pieces, sample, any::<Index>(), any::<bool>()).prop_map(|(pieces, sample, at, mixed)| {
        let pieces = pieces.concat();
        if !mixed {
            return pieces;
        }
        let at = boundary(&sample, at.index(sample.len() + 1));
        format!("{}{pieces}{}", &sample[..at], &sample[at..])
    })
}

fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn change(text: &mut String, range: Range<usize>, new: &str) -> Splice {
    let splice = Splice::of(text, range.clone(), new);
    text.replace_range(range, new);
    splice
}

/// Whether a grammar sees an error in the text or in a part of it: how tree-sitter recovers from one
/// depends on what it knew before.
fn is_broken(text: &str, syntax: &Syntax) -> bool {
    let broken = |syntax: &Syntax| {
        let tree = syntax.tree.as_ref();
        tree.is_some_and(|tree| tree.root_node().has_error()) || !syntax.excerpts.are_sound()
    };
    broken(syntax)
        || syntax
            .parts(text, &(0..text.len()))
            .into_iter()
            .any(|part| {
                let inner = part.text(text).unwrap();
                is_broken(&inner, &Syntax::parse(&inner, Some(part.language)))
            })
}

/// A change: where, how much is taken away, what is put there.
fn changes() -> impl Strategy<Value = Vec<(Index, Index, Vec<&'static str>)>> {
    prop::collection::vec(
        (
            any::<Index>(),
            any::<Index>(),
            prop::collection::vec(select(PIECES), 0..3),
        ),
        1..6,
    )
}

fn apply(text: &mut String, (at, length, pieces): &(Index, Index, Vec<&str>)) -> Splice {
    let start = boundary(text, at.index(text.len() + 1));
    let most = (text.len() - start).min(12);
    let end = boundary(text, start + length.index(most + 1)).max(start);
    change(text, start..end, &pieces.concat())
}

/// Whether an updated structure has the comments of one that is made afresh, which is returned; `None` where the text
/// is broken.
fn finds_what_is_there(
    name: &str,
    text: &str,
    language: Option<&'static Language>,
    syntax: &Syntax,
) -> Result<Option<Syntax>, TestCaseError> {
    let fresh = Syntax::parse(text, language);
    if is_broken(text, &fresh) || is_broken(text, syntax) {
        return Ok(None);
    }
    let all = 0..text.len();
    prop_assert_eq!(
        syntax.comments_in(text, all.clone()),
        fresh.comments_in(text, all),
        "{}: {:?}",
        name,
        text
    );
    Ok(Some(fresh))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_text_and_no_offset_panics(text in text(), row in any::<Index>(), offsets in prop::collection::vec(0usize..4000, 8)) {
        let row = row.index(LANGUAGES.len() + 1);
        let syntax = Syntax::parse(&text, LANGUAGES.get(row));
        let all = syntax.comments_in(&text, 0..text.len());
        for comment in &all {
            prop_assert!(text.get(comment.range.clone()).is_some(), "{comment:?}");
            prop_assert!(comment.open + comment.close <= comment.range.len(), "{comment:?}");
            prop_assert!(comment.block || !text[comment.range.clone()].contains(['\n', '\r']), "{comment:?}");
        }
        for pair in offsets.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            syntax.comment_at(&text, a);
            syntax.comments_in(&text, a.min(b)..a.max(b));
            syntax.leader_at(&text, a);
            syntax.indentation_counts(&text, a);
            syntax.enclosing(&text, a);
        }
        syntax.symbols(&text);
        syntax.identifiers(&text, "a");
        prop_assert!(syntax.first_code(&text) <= text.len());
        detect(&text, Some(&text), &text);
        detect("", None, &text);
    }

    #[test]
    fn an_update_finds_what_a_fresh_parse_finds(sample in any::<Index>(), changes in changes(), by_table in any::<bool>(), repeated in 1usize..5, asked in any::<u8>()) {
        let (name, sample) = sample.get(&SAMPLES);
        let mut text = sample.repeat(repeated);
        let mut language = detect(name, None, &text);
        if by_table {
            language = language.map(without_grammar);
        }
        let mut syntax = Syntax::parse(&text, language);
        for (step, change) in changes.iter().enumerate() {
            // Whether anything was asked between two changes makes no difference.
            if asked & (1 << step) != 0 {
                for comment in syntax.comments_in(&text, 0..text.len()) {
                    syntax.comment_at(&text, comment.range.start);
                    syntax.comment_at(&text, comment.range.end - 1);
                }
            }
            let before = text.clone();
            let splice = apply(&mut text, change);
            syntax.update(Some(&before), &[splice], &text);
            let fresh = Syntax::parse(&text, language);
            if is_broken(&text, &fresh) || is_broken(&text, &syntax) {
                continue;
            }
            let comments = fresh.comments_in(&text, 0..text.len());
            prop_assert_eq!(&syntax.comments_in(&text, 0..text.len()), &comments, "{}: {:?}", name, text);
            for Range { start, end } in comments.into_iter().map(|comment| comment.range) {
                for at in [start.saturating_sub(1), start, end - 1, end] {
                    prop_assert_eq!(syntax.comment_at(&text, at), fresh.comment_at(&text, at), "{} at {}: {:?}", name, at, text);
                }
            }
        }
    }

    /// A text that is cut off, and whole again.
    #[test]
    fn a_text_that_is_cut_off(sample in any::<Index>(), at in any::<Index>(), by_table in any::<bool>()) {
        let (name, sample) = sample.get(&SAMPLES);
        let mut text = sample.clone();
        let mut language = detect(name, None, &text);
        if by_table {
            language = language.map(without_grammar);
        }
        let at = boundary(&text, at.index(text.len() + 1));
        let mut syntax = Syntax::parse(&text, language);
        let whole = syntax.comments_in(&text, 0..text.len());
        let rest = text.split_off(at);
        text.push_str(&rest);
        for new in ["", &rest] {
            let end = text.len();
            let before = text.clone();
            let splice = change(&mut text, at..end, new);
            syntax.update(Some(&before), &[splice], &text);
            let found = syntax.comments_in(&text, 0..text.len());
            let fresh = Syntax::parse(&text, language);
            if is_broken(&text, &fresh) || is_broken(&text, &syntax) {
                continue;
            }
            prop_assert_eq!(&found, &fresh.comments_in(&text, 0..text.len()), "{}: {:?}", name, text);
            if !new.is_empty() {
                prop_assert_eq!(&found, &whole, "{}", name);
            }
        }
    }

    /// Typing in and about a comment, where an update need not parse.
    #[test]
    fn typing_in_a_comment(sample in any::<Index>(), places in prop::collection::vec((any::<Index>(), any::<Index>(), select(IN_COMMENTS), 0usize..3), 1..6)) {
        let (name, sample) = sample.get(&SAMPLES);
        let mut text = sample.clone();
        let language = detect(name, None, &text);
        let mut syntax = Syntax::parse(&text, language);
        for (which, at, new, gone) in places {
            let all = Syntax::parse(&text, language).comments_in(&text, 0..text.len());
            let Some(comment) = all.get(which.index(all.len().max(1))) else { break };
            let start = boundary(&text, comment.range.start + at.index(comment.range.len() + 1));
            let end = boundary(&text, (start + gone).min(text.len())).max(start);
            let before = text.clone();
            let splice = change(&mut text, start..end, new);
            syntax.update(Some(&before), &[splice], &text);
            finds_what_is_there(name, &text, language, &syntax)?;
        }
    }

    /// Typing in and about a name, where an update need not parse either.
    #[test]
    fn typing_in_a_name(sample in any::<Index>(), places in prop::collection::vec((any::<Index>(), 0usize..8, select(IN_NAMES), 0usize..3), 1..8)) {
        let (name, sample) = sample.get(&SAMPLES);
        let mut text = sample.clone();
        let language = detect(name, None, &text);
        let mut syntax = Syntax::parse(&text, language);
        for (which, at, new, gone) in places {
            let names: Vec<usize> = text
                .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                .filter(|word| !word.is_empty())
                .map(|word| word.as_ptr() as usize - text.as_ptr() as usize)
                .collect();
            let Some(start) = names.get(which.index(names.len().max(1))) else { break };
            let start = boundary(&text, (start + at).min(text.len()));
            let end = boundary(&text, (start + gone).min(text.len())).max(start);
            let before = text.clone();
            let splice = change(&mut text, start..end, new);
            syntax.update(Some(&before), &[splice], &text);
            if let Some(fresh) = finds_what_is_there(name, &text, language, &syntax)? {
                prop_assert_eq!(syntax.symbols(&text), fresh.symbols(&text), "{}: {:?}", name, text);
            }
        }
    }

    /// What is open while it is being written, and closed in the end, here and there by turns.
    #[test]
    fn a_statement_is_written(sample in any::<Index>(), places in prop::collection::vec((any::<Index>(), select(STATEMENTS)), 1..5), turns in prop::collection::vec(any::<Index>(), 0..80), asked in any::<u8>(), later in any::<u8>()) {
        let (name, sample) = sample.get(&SAMPLES);
        let mut text = format!("{sample}\n").repeat(3);
        let language = detect(name, None, &text);
        let mut syntax = Syntax::parse(&text, language);
        let mut places: Vec<(usize, &str)> = places
            .into_iter()
            .map(|(at, statement)| (text[..boundary(&text, at.index(text.len()))].rfind('\n').map_or(0, |end| end + 1), statement))
            .collect();
        let (mut before, mut splices) = (text.clone(), Vec::new());
        for (step, turn) in turns.iter().enumerate() {
            let which = turn.index(places.len());
            let (at, statement) = places[which];
            let Some(letter) = statement.chars().next() else { continue };
            if splices.is_empty() && asked & (1 << (step % 8)) != 0 {
                syntax.symbols(&text);
            }
            splices.push(change(&mut text, at..at, &letter.to_string()));
            for (place, _) in &mut places {
                *place += if *place >= at { letter.len_utf8() } else { 0 };
            }
            places[which] = (at + letter.len_utf8(), &statement[letter.len_utf8()..]);
            // Some come before somebody looks.
            if later & (1 << (step % 8)) != 0 {
                continue;
            }
            syntax.update(Some(&before), &splices, &text);
            splices.clear();
            before.clone_from(&text);
            finds_what_is_there(name, &text, language, &syntax)?;
        }
    }

    #[test]
    fn several_changes_at_once(sample in any::<Index>(), changes in changes(), by_table in any::<bool>()) {
        let (name, sample) = sample.get(&SAMPLES);
        let mut text = sample.repeat(4);
        let mut language = detect(name, None, &text);
        if by_table {
            language = language.map(without_grammar);
        }
        let mut syntax = Syntax::parse(&text, language);
        syntax.comments_in(&text, 0..text.len());
        let before = text.clone();
        let splices: Vec<_> = changes.iter().map(|change| apply(&mut text, change)).collect();
        syntax.update(Some(&before), &splices, &text);
        finds_what_is_there(name, &text, language, &syntax)?;
    }
}

/// What random changes found: an update must not take these for typing that changes nothing else.
#[test]
fn what_is_typed_in_a_comment_can_matter_outside_of_it() {
    // What the sample is to have first, and what is typed then: behind what, in place of what.
    let cases = [
        // The block that is not closed any more is read as operators, without an error.
        (
            ("kotlin.kt", "/* outer", "/* o/*uter"),
            ("read() = path // ", "", "*/"),
        ),
        (
            ("pascal.pas", "WriteLn('", "WriteLn('<<EOT\n"),
            ("{ ", "", "\0"),
        ),
        (
            ("dart.dart", "no'; // A", "no'; // /*A"),
            ("~/ 2; // ", "", "*/"),
        ),
        // Text between tags, which is no comment where it is whole.
        (
            ("embedded.vue", "<p>// AUT", "<p>// AU{-"),
            ("<p>// ", "AU{", ""),
        ),
    ];
    for ((name, old, new), (before, gone, typed)) in cases {
        let (_, sample) = SAMPLES.iter().find(|(known, _)| known == name).unwrap();
        let mut text = sample.replacen(old, new, 1);
        assert_ne!(&text, sample, "{name}");
        let language = detect(name, None, &text);
        let mut syntax = Syntax::parse(&text, language);
        // Code in other code is read when it is asked for.
        syntax.comments_in(&text, 0..text.len());
        let at = text.find(&format!("{before}{gone}")).unwrap() + before.len();
        let before = text.clone();
        let splice = change(&mut text, at..at + gone.len(), typed);
        syntax.update(Some(&before), &[splice], &text);
        let fresh = Syntax::parse(&text, language);
        let all = 0..text.len();
        assert_eq!(
            syntax.comments_in(&text, all.clone()),
            fresh.comments_in(&text, all),
            "{name}"
        );
    }
}

/// That it ends is the test: nesting that would overrun a scanner's buffer, or take more than its budget.
#[test]
fn deep_nesting_ends() {
    for piece in [
        "(",
        "[",
        "{",
        "/*",
        "<div>",
        "\"${",
        "> ",
        "- ",
        "AS $a$ AS $b$ ",
        "a: ",
        "#{",
        "(*",
        "`${",
        "<<EOT\n",
        "<a \"",
        "q{ ",
    ] {
        let text = piece.repeat(2_000);
        for language in LANGUAGES {
            let syntax = Syntax::parse(&text, Some(language));
            syntax.comment_at(&text, text.len() / 2);
            syntax.comments_in(&text, 0..text.len());
        }
    }
}

#[test]
fn deep_indentation_is_left_to_the_scanner() {
    for (language, line) in [("python", "if a:"), ("yaml", "a:"), ("markdown", "- a")] {
        let mut text: String = (0..600)
            .map(|depth| format!("{}{line}\n", " ".repeat(depth)))
            .collect();
        let end = text.len() + 2;
        text.push_str(if language == "markdown" {
            "\n<!-- AUTHOR: yes -->\n"
        } else {
            "# AUTHOR: yes\n"
        });
        let syntax = Syntax::parse(&text, postil_grammars::by_name(language));
        assert!(syntax.comment_at(&text, end).is_some(), "{language}");
    }
    let page = "<font size=2>a".repeat(20_000) + "<!-- AUTHOR: yes -->\n";
    let syntax = Syntax::parse(&page, postil_grammars::by_name("html"));
    assert!(syntax.comment_at(&page, page.len() - 8).is_some());
    let word = "A".repeat(300);
    let heredocs = format!("f(<<~{word})\n{word}\n# AUTHOR: yes\n");
    let syntax = Syntax::parse(&heredocs, postil_grammars::by_name("ruby"));
    assert!(syntax.comment_at(&heredocs, heredocs.len() - 5).is_some());
}
