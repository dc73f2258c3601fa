use proptest::prelude::*;
use tree_sitter::{InputEdit, Point, Tree};

use super::*;
use crate::{LANGUAGES, UNKNOWN};

fn parse(text: &str, old: Option<&Tree>) -> Tree {
    let mut parser = Parser::new();
    parser.set_language(&language()).unwrap();
    parser.parse(text, old).unwrap()
}

/// Every piece with its text.
fn read(comment: &str) -> Vec<(Part, &str)> {
    pieces(comment)
        .into_iter()
        .map(|piece| (piece.part, &comment[piece.range]))
        .collect()
}

// -- the corpus, in the form that the tree-sitter program reads ----------------------------------------

struct Case {
    name: String,
    input: String,
    tree: String,
}

/// `====`, name, `====`, input, `----`, tree.
fn cases(file: &str) -> Vec<Case> {
    let is = |line: &str, sign: char| line.len() > 2 && line.chars().all(|c| c == sign);
    let lines: Vec<&str> = file.lines().collect();
    let heads: Vec<usize> = (0..lines.len())
        .filter(|at| is(lines[*at], '=') && lines.get(at + 2).is_some_and(|line| is(line, '=')))
        .collect();
    let ends = heads.iter().copied().skip(1).chain([lines.len()]);
    heads
        .iter()
        .zip(ends)
        .map(|(head, end)| {
            let rule = (head + 3..end)
                .find(|at| is(lines[*at], '-'))
                .unwrap_or_else(|| panic!("no tree for {}", lines[head + 1]));
            Case {
                name: lines[head + 1].to_owned(),
                input: lines[head + 3..rule].join("\n"),
                tree: lines[rule + 1..end].join(" "),
            }
        })
        .collect()
}

/// One blank between two words, none inside of brackets; names of fields left out.
fn normal(tree: &str) -> String {
    let spaced = tree.replace('(', " ( ").replace(')', " ) ");
    let words = spaced.split_whitespace().filter(|w| !w.ends_with(':'));
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_corpus() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tree-sitter-postil/test/corpus"
    );
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut count = 0;
    for file in files {
        for case in cases(&std::fs::read_to_string(file).unwrap()) {
            let tree = parse(&case.input, None).root_node().to_sexp();
            assert_eq!(
                normal(&tree),
                normal(&case.tree),
                "{}:\n{}",
                case.name,
                case.input
            );
            // The same with other line ends.
            for end in ["\r\n", "\r"] {
                let tree = parse(&case.input.replace('\n', end), None);
                let tree = normal(&tree.root_node().to_sexp());
                assert_eq!(tree, normal(&case.tree), "{} with {end:?}", case.name);
            }
            count += 1;
        }
    }
    assert!(count > 30, "only {count} cases were found");
}

#[test]
fn the_queries_fit_the_grammar() {
    for query in [
        include_str!("../tree-sitter-postil/queries/highlights.scm"),
        include_str!("../tree-sitter-postil/queries/injections.scm"),
    ] {
        tree_sitter::Query::new(&language(), query).unwrap();
    }
}

/// What the editors read is what stands here, and fits the grammars that are bundled.
#[test]
fn the_queries_of_the_editors() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &str| {
        std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    for query in ["highlights.scm", "injections.scm"] {
        let own = read(&format!("grammars/tree-sitter-postil/queries/{query}"));
        for editor in ["neovim", "helix/runtime"] {
            let copy = read(&format!("editors/{editor}/queries/postil/{query}"));
            assert_eq!(copy, own, "{editor}: copy {query} again");
        }
    }
    let mut checked = 0;
    for entry in std::fs::read_dir(root.join("editors/neovim/queries")).unwrap() {
        let folder = entry.unwrap().file_name().into_string().unwrap();
        let name = match &*folder {
            "c_sharp" => "csharp",
            "php" => "php-code",
            "proto" => "protobuf",
            "hcl" => "terraform",
            same => same,
        };
        let row = LANGUAGES.iter().find(|row| row.name == name);
        let Some(grammar) = row.and_then(|row| row.grammar) else {
            continue;
        };
        let query = read(&format!("editors/neovim/queries/{folder}/injections.scm"));
        assert!(query.starts_with("; extends\n"), "{folder}");
        if let Err(error) = tree_sitter::Query::new(&grammar(), &query) {
            panic!("{folder}: {error}");
        }
        checked += 1;
    }
    assert!(checked > 15, "only {checked} queries were checked");
    let comments = read("editors/helix/runtime/queries/comment/injections.scm");
    // The root of the grammar `comment` has the name that ours has.
    tree_sitter::Query::new(&language(), &comments).unwrap();
}

#[test]
fn pieces_are_in_order_and_cut_at_mentions() {
    use Part::*;
    assert_eq!(
        read("// AUTHOR(jane): is `a` in @b.rs?\n//   or c.rs:3\n// AGENT: no\n// AUTHOR:"),
        [
            (Author, "AUTHOR"),
            (Name, "jane"),
            (Text, "is "),
            (Code, "`a`"),
            (Text, " in "),
            (File, "@b.rs"),
            (Text, "?"),
            (Text, "or "),
            (Place, "c.rs:3"),
            (Agent, "AGENT"),
            (Text, "no"),
            (Author, "AUTHOR"),
        ]
    );
    assert_eq!(
        read("/* AUTHOR: why? **/"),
        [(Author, "AUTHOR"), (Text, "why?")]
    );
    assert_eq!(read("// Author: why?"), []);
    assert_eq!(read(""), []);
}

#[test]
fn a_zero_byte_is_no_error() {
    let text = "// AUTHOR: a\0b `c\0` \0\n// plain \0 AUTHOR: x";
    assert!(!parse(text, None).root_node().has_error());
    assert_eq!(
        read(text),
        [(Part::Author, "AUTHOR"), (Part::Text, "a\0b `c\0` \0")]
    );
}

/// What looks like the beginning of something at every byte costs no more than other text: twice of it about
/// twice as much, counted in bytes that the parser looks at.
#[test]
fn what_is_almost_something_is_looked_at_once() {
    let reads = |text: &str| {
        let mut parser = Parser::new();
        parser.set_language(&language()).unwrap();
        let mut count = 0;
        let mut read = |at: usize, _: Point| {
            count += 1;
            // One byte at a time: each call is a byte that the lexer looks at.
            text.as_bytes()
                .get(at..(at + 1).min(text.len()))
                .unwrap_or_default()
        };
        let tree = parser.parse_with_options(&mut read, None, None).unwrap();
        assert!(!tree.root_node().has_error());
        count
    };
    for piece in [
        "*",
        "*/ ",
        "`",
        "` ``",
        "AUTHOR(",
        "\n * AUTHOR(",
        "\n *",
        "a.b:",
        "@a/",
        "https://(",
        "(",
        "-",
        "\n",
        "a-",
        "a.",
        ".",
        "/",
        "./",
        "~",
        "a@",
        "@-",
        "@",
        "::",
        "]",
        "--",
    ] {
        for start in ["/* AUTHOR: ", "// AUTHOR: ", "<!-- AUTHOR: ", "# ", ""] {
            let text = |times: usize| format!("{start}{}", piece.repeat(times));
            let (one, two) = (reads(&text(150)), reads(&text(300)));
            assert!(two < one * 5 / 2, "{start}{piece}…: {one}, {two}");
        }
    }
}

/// What the table says of delimiters, the scanner of the grammar knows too: one that is new there is put
/// into `DELIMITERS` of `tree-sitter-postil/src/scanner.c`.
#[test]
fn every_delimiter_of_the_table_is_known() {
    for row in LANGUAGES.iter().chain([&UNKNOWN]) {
        let lines = row.line.iter().map(|line| (line.open, ""));
        let blocks = row.block.iter().map(|block| (block.open, block.close));
        let reply = (row.reply.open, row.reply.close);
        for (open, close) in lines.chain(blocks).chain([reply]) {
            let comment = format!("{open} AUTHOR: why {close}");
            assert_eq!(
                read(&comment),
                [(Part::Author, "AUTHOR"), (Part::Text, "why")],
                "{}: {comment}",
                row.name
            );
            // `; #`: below the first line a leader is one piece.
            if close.is_empty() && !open.trim().contains(' ') {
                let below = format!("{open} AUTHOR: a\n{open}   b\n{open} AGENT: c");
                let text: Vec<_> = read(&below).into_iter().map(|piece| piece.1).collect();
                assert_eq!(text, ["AUTHOR", "a", "b", "AGENT", "c"], "{below}");
            }
        }
    }
}

/// Comments of all kinds of lines.
fn comment() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("AUTHOR: "),
        Just("AGENT(x): "),
        Just("AUTHOR("),
        Just("\n"),
        Just("\r\n"),
        Just("// "),
        Just(" * "),
        Just("/* "),
        Just("*/"),
        Just("# "),
        Just("   "),
        Just("\t"),
        Just("`"),
        Just("@a/b.c"),
        Just("a.b:3"),
        Just("why? 𝄞 ü"),
        Just("\0"),
    ];
    let known = prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat());
    prop_oneof![4 => known, 1 => any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_read_without_an_error(text in comment()) {
        let tree = parse(&text, None);
        prop_assert!(!tree.root_node().has_error(), "{}", tree.root_node().to_sexp());
        let mut end = 0;
        for piece in pieces(&text) {
            prop_assert!(piece.range.start >= end && piece.range.end > piece.range.start);
            end = piece.range.end;
            let part = &text[piece.range];
            prop_assert!(!part.contains(['\n', '\r']), "{part:?}");
        }
        if !text.contains("AUTHOR") && !text.contains("AGENT") {
            prop_assert_eq!(pieces(&text), vec![]);
        }
    }

    /// An editor reparses what changed: it must see what reading anew sees.
    #[test]
    fn a_changed_text_is_read_as_a_new_one(
        before in comment(),
        put in comment(),
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
    ) {
        let places: Vec<usize> = before.char_indices().map(|(at, _)| at).chain([before.len()]).collect();
        let (a, b) = (*from.get(&places), *to.get(&places));
        let (start, end) = (a.min(b), a.max(b));
        let after = format!("{}{put}{}", &before[..start], &before[end..]);
        let point = |text: &str, at: usize| {
            let row = text[..at].matches('\n').count();
            Point::new(row, at - text[..at].rfind('\n').map_or(0, |end| end + 1))
        };
        let mut tree = parse(&before, None);
        tree.edit(&InputEdit {
            start_byte: start,
            old_end_byte: end,
            new_end_byte: start + put.len(),
            start_position: point(&before, start),
            old_end_position: point(&before, end),
            new_end_position: point(&after, start + put.len()),
        });
        let again = parse(&after, Some(&tree));
        prop_assert_eq!(again.root_node().to_sexp(), parse(&after, None).root_node().to_sexp());
    }
}
