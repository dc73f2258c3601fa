//! Names as tree-sitter sees them, over all files of the workspace: what answers where no child server
//! can be had.

use std::collections::BTreeSet;
use std::ops::Range;

use tokio_util::sync::CancellationToken;

use crate::comments::{Language, Symbol, detect, in_pieces};
use crate::files::{FileError, Tree};
use crate::present::{collapsed, cut};
use crate::threads;
use crate::turn::source::Source;

use super::moves::Moves;

/// One file that holds the name.
pub(super) struct Held {
    pub source: Source,
    /// Where the name is declared.
    pub declared: Vec<Symbol>,
    /// Every place where it stands as an identifier, the declarations included.
    pub places: Vec<Range<usize>>,
}

impl Held {
    /// `file:line` of each place.
    pub fn lines(&self, moves: &Moves) -> impl Iterator<Item = String> {
        self.places
            .iter()
            .map(|place| self.line(moves, place.start))
    }

    /// `file:line` of each place where it is declared.
    pub fn declarations(&self, moves: &Moves) -> impl Iterator<Item = String> {
        self.declared
            .iter()
            .map(|symbol| self.line(moves, symbol.name_range.start))
    }

    /// `file:line` of a byte.
    pub fn line(&self, moves: &Moves, at: usize) -> String {
        moves.place(&self.source.file, self.source.line_of(at))
    }
}

/// Languages whose files use each other's names, under one word.
fn family(language: &str) -> &str {
    match language {
        "typescript" | "tsx" | "jsx" | "javascript" | "vue" | "svelte" => "javascript",
        "cpp" | "c++" | "objc" | "objective-c" | "cuda" => "c",
        "kotlin" | "scala" | "groovy" => "java",
        other => other,
    }
}

/// What [`search`] found.
#[derive(Default)]
pub(super) struct Names {
    pub held: Vec<Held>,
    /// Files of these languages that are too large to be read for names, relative to the root; one that is open may
    /// be named twice.
    pub unread: Vec<String>,
}

/// Files of the language of `like` (of any, where that is `None`) that hold `name` as an identifier, in
/// the order of their paths. Reads the whole workspace: not for the async threads.
///
/// # Errors
/// In words for a person.
pub(super) fn search(
    tree: &Tree,
    name: &str,
    like: Option<&str>,
    cancel: &CancellationToken,
) -> Result<Names, String> {
    let mut found = Names::default();
    let alike = |language: Option<&'static Language>| {
        like.is_none_or(|like| language.map(|l| family(l.name)) == Some(family(like)))
    };
    let (sources, skipped) = holding(tree, name, cancel)?;
    for skipped in skipped {
        if let FileError::TooLarge(file, _) = skipped
            && detect(&file, None, "").is_some_and(|l| l.grammar.is_some() && alike(Some(l)))
        {
            found.unread.push(file);
        }
    }
    for source in sources {
        if cancel.is_cancelled() {
            return Err(String::from("cancelled"));
        }
        let language = source.syntax.language();
        if !alike(language) {
            continue;
        }
        if in_pieces(source.text.len(), language) {
            found.unread.push(source.file);
            continue;
        }
        let places = source.syntax.identifiers(&source.text, name);
        if places.is_empty() {
            continue;
        }
        let declared = source
            .syntax
            .symbols(&source.text)
            .into_iter()
            .filter(|s| s.declares(name))
            .collect();
        found.held.push(Held {
            source,
            declared,
            places,
        });
    }
    Ok(found)
}

/// The files whose text holds `word`, unsaved text first; and what could not be looked at.
pub(super) fn holding(
    tree: &Tree,
    word: &str,
    cancel: &CancellationToken,
) -> Result<(Vec<Source>, Vec<FileError>), String> {
    let finder = memchr::memmem::Finder::new(word.as_bytes());
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().min(8));
    let scan = tree.scan(".", threads, |bytes| {
        !cancel.is_cancelled() && finder.find(bytes).is_some()
    });
    let scan = scan.map_err(|e| e.to_string())?;
    // What was read then is any part of the files: no answer, and nothing to rename by.
    if let Some(error) = scan.skipped.iter().find(|error| error.is_exhausted()) {
        return Err(format!("The files cannot be read now: {error}."));
    }
    let mut paths: BTreeSet<_> = scan.hits.into_iter().map(|hit| hit.path).collect();
    paths.extend(
        tree.buffers
            .paths()
            .into_iter()
            .filter_map(|path| tree.resolve(&path).ok()),
    );
    let word = word.to_owned();
    let sources = paths
        .into_iter()
        .filter_map(|path| Source::read(tree, &path).ok())
        .filter(|source| source.text.contains(&word))
        .collect();
    Ok((sources, scan.skipped))
}

/// A to-do note of a comment.
pub(super) struct Todo {
    file: String,
    /// 0-based.
    line: usize,
    text: String,
}

impl Todo {
    /// `file:line text`
    pub fn told(&self, moves: &Moves) -> String {
        format!("{} {}", moves.place(&self.file, self.line), self.text)
    }
}

/// To-do notes in comments, at most `limit` of them, and how many there are.
pub(super) fn todos(
    tree: &Tree,
    limit: usize,
    cancel: &CancellationToken,
) -> Result<(Vec<Todo>, usize), String> {
    const WORDS: &[&str] = &["TODO", "FIXME", "XXX"];
    let mut files: std::collections::BTreeMap<String, Source> = Default::default();
    for word in WORDS {
        for source in holding(tree, word, cancel)?.0 {
            files.entry(source.file.clone()).or_insert(source);
        }
    }
    let (mut shown, mut count) = (Vec::new(), 0);
    for source in files.values() {
        // A thread that speaks of to-dos is none.
        let threads = threads::find(&source.file, &source.text, &source.syntax);
        let of_thread = |bytes: &Range<usize>| {
            let mut messages = threads.iter().flat_map(|thread| &thread.messages);
            messages
                .any(|message| message.marker.start < bytes.end && bytes.start < message.range.end)
        };
        for comment in source
            .syntax
            .comments_in(&source.text, 0..source.text.len())
        {
            let first = source.line_of(comment.range.start);
            let lines = source.slice(comment.range.clone()).split('\n');
            let mut at = comment.range.start;
            for (line, text) in (first..).zip(lines) {
                let bytes = at..at + text.len();
                at = bytes.end + 1;
                if let Some(note) = note(text, WORDS).filter(|_| !of_thread(&bytes)) {
                    count += 1;
                    if shown.len() < limit {
                        shown.push(Todo {
                            file: source.file.clone(),
                            line,
                            text: cut(&collapsed(note), 100),
                        });
                    }
                }
            }
        }
    }
    Ok((shown, count))
}

/// The to-do note of a comment's line, from its word on.
fn note<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    words.iter().find_map(|word| {
        text.match_indices(word).find_map(|(at, _)| {
            let before = text.get(..at)?.chars().next_back();
            let after = text.get(at + word.len()..)?.chars().next();
            let alone = !before.is_some_and(is_word) && !after.is_some_and(is_word);
            alone
                .then(|| text.get(at..))
                .flatten()
                .map(|note| note.trim_end_matches("*/").trim_end_matches("-->").trim())
        })
    })
}

/// The name that a line of code declares where the grammar lists no symbol for it (a local variable):
/// `let mut x`, `x = …`, `int x = …`. Bytes in the line.
pub(super) fn declared_on(line: &str) -> Option<Range<usize>> {
    const WORDS: &[&str] = &[
        "let",
        "mut",
        "const",
        "var",
        "val",
        "static",
        "pub",
        "export",
        "local",
        "def",
        "fn",
        "func",
        "function",
        "class",
        "struct",
        "type",
        "final",
        "auto",
        "my",
        "our",
        "async",
        "unsafe",
        "private",
        "public",
        "protected",
        "readonly",
        "declare",
    ];
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mut names: Vec<Range<usize>> = Vec::new();
    let mut chars = line.char_indices().peekable();
    let mut introduced = false;
    while let Some((at, c)) = chars.next() {
        if is_part(c) {
            let mut end = at + c.len_utf8();
            while let Some((next, c)) = chars.next_if(|(_, c)| is_part(*c)) {
                end = next + c.len_utf8();
            }
            let word = line.get(at..end)?;
            if WORDS.contains(&word) {
                introduced = true;
            } else if !c.is_ascii_digit() {
                names.push(at..end);
                // `let x`, `fn x`: what comes first is the name.
                if introduced {
                    break;
                }
            }
        } else if matches!(c, '=' | '(' | '{' | ';')
            || (c == ':' && chars.peek().is_none_or(|(_, c)| *c != ':'))
        {
            break;
        } else if c == ':' {
            // `::` joins a path.
            chars.next();
        }
    }
    names.pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_what_it_declares() {
        for (line, name) in [
            ("    let mut data = load();", Some("data")),
            ("let x: Foo = 3;", Some("x")),
            ("data = load()", Some("data")),
            ("int count = 0;", Some("count")),
            ("std::string name = f();", Some("name")),
            ("x: int = 3", Some("x")),
            ("pub async fn load_data() {}", Some("load_data")),
            ("", None),
            ("}", None),
        ] {
            assert_eq!(declared_on(line).and_then(|r| line.get(r)), name, "{line}");
        }
    }

    #[test]
    fn a_note_is_a_word_of_its_own() {
        let words = ["TODO", "FIXME"];
        assert_eq!(note("// TODO: later", &words), Some("TODO: later"));
        assert_eq!(note("/* FIXME(me) now */", &words), Some("FIXME(me) now"));
        assert_eq!(note("// MASTODONTODOS", &words), None);
    }
}
