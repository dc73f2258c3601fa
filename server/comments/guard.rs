//! Texts that a grammar must not see, because its scanner would read or write where it must not: those
//! that nest so deep that its state does not fit the fixed buffer that tree-sitter gives it (1024 bytes),
//! and characters that it looks up beyond a table's end. Or because it would read code as a comment, and see no
//! error, or a comment as text. Such a text is read by its delimiters.

use postil_grammars::Language;

use super::scan::line_length;

/// Whether `text` may be given to the grammar of `language`.
pub(super) fn fits(text: &str, language: &Language) -> bool {
    match language.name {
        "python" => python(text.as_bytes()),
        "yaml" => yaml(text),
        "ruby" => ruby(text),
        "html" => html(text),
        "bash" => bash(text),
        "dart" => stand_apart(text, "//", "/*"),
        // With any number of `=` before the second bracket.
        "lua" => stand_apart(text, "--", "--["),
        "c" | "cpp" | "glsl" => whole_strings(text),
        "markdown-inline" => plain_comments(text),
        _ => true,
    }
}

/// Whether what stands inside a comment counts for [`fits`].
pub(super) fn heeds_comments(language: &Language) -> bool {
    matches!(language.name, "bash" | "dart" | "lua")
}

/// Whether how long a name is counts for [`fits`].
pub(super) fn heeds_names(language: &Language) -> bool {
    language.name == "ruby"
}

/// A column for a level. A run of so many blanks holds one of the bytes that are looked at.
fn python(bytes: &[u8]) -> bool {
    const MOST: usize = 380;
    (MOST - 1..bytes.len()).step_by(MOST).all(|at| {
        let (before, here) = bytes.split_at(at);
        let behind = blanks(&here[..here.len().min(MOST)]);
        if behind == 0 {
            return true;
        }
        let back = before.iter().rev().take(MOST);
        let back = back.take_while(|b| is_blank(b)).count();
        // A longer one was met before.
        let begins_line = back < MOST
            && before
                .get(..at - back)
                .is_none_or(|above| above.last().is_none_or(|b| *b == b'\n'));
        !begins_line || back + behind < MOST
    })
}

/// What stands behind `{1` and `{1..2` is given to C's `isdigit`, which is defined for 256 characters.
fn bash(text: &str) -> bool {
    let digits =
        |rest: &str| rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let is_known = |rest: &str| rest.chars().next().is_none_or(|c| c <= '\u{ff}');
    memchr::memchr_iter(b'{', text.as_bytes()).all(|at| {
        let rest = &text[at + 1..];
        let first = &rest[digits(rest)..];
        is_known(first)
            && first
                .strip_prefix("..")
                .is_none_or(|rest| is_known(&rest[digits(rest)..]))
    })
}

/// Whether nowhere a block comment comes next to an empty line comment: these grammars let it stand between the line
/// comment's leader and the rest of its line, which then is the line behind the block.
fn stand_apart(text: &str, line: &str, block: &str) -> bool {
    memchr::memmem::find_iter(text.as_bytes(), block)
        .all(|at| !text[..at].trim_end().ends_with(line))
}

/// Whether no string of a directive holds `/*`: the grammar would begin a comment there, as in `#define ALL "/*"`.
fn whole_strings(text: &str) -> bool {
    let mut goes_on = false;
    lines(text).all(|line| {
        let is_directive = goes_on || line.trim_ascii_start().starts_with(b"#");
        goes_on = is_directive && line.trim_ascii_end().ends_with(b"\\");
        !is_directive || !opens_in_string(line)
    })
}

fn opens_in_string(mut line: &[u8]) -> bool {
    let mut inside = false;
    loop {
        line = match line {
            [b'/', b'*', ..] => return inside,
            [b'/', b'/', ..] if !inside => return false,
            [b'\'', b'"', b'\'', rest @ ..] if !inside => rest,
            [b'\\', _, rest @ ..] => rest,
            [b'"', rest @ ..] => {
                inside = !inside;
                rest
            }
            [_, rest @ ..] => rest,
            [] => return false,
        };
    }
}

/// Whether no comment in a paragraph holds two dashes. CommonMark allows them since 0.31 (§6.6, HTML comment), which the
/// grammar does not know.
fn plain_comments(mut text: &str) -> bool {
    while let Some((inside, behind)) = text
        .split_once("<!--")
        .and_then(|(_, rest)| rest.split_once("-->"))
    {
        if inside.contains("--") || inside.ends_with('-') {
            return false;
        }
        text = behind;
    }
    true
}

fn lines(text: &str) -> impl Iterator<Item = &[u8]> {
    text.as_bytes().split(|b| *b == b'\n')
}

fn blanks(line: &[u8]) -> usize {
    line.iter().take_while(|b| is_blank(b)).count()
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0c)
}

/// Four bytes for a level; a level begins at an indicator, or was begun above by indentation. Rows are
/// counted in sixteen bits.
fn yaml(text: &str) -> bool {
    let mut rows = 0;
    lines(text).all(|line| {
        rows += 1;
        let start = blanks(line);
        let indicators = line[start..]
            .windows(2)
            .filter(|pair| matches!(pair[0], b'-' | b'?' | b':') && pair[1].is_ascii_whitespace())
            .count();
        start + indicators < 240 && rows < 32_000
    })
}

/// The words of the heredocs that are open, and four bytes for each. Which are open is not known
/// before parsing: all are counted.
fn ruby(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut total = 0;
    memchr::memmem::find_iter(bytes, b"<<").all(|at| {
        let rest = &bytes[at + 2..];
        let rest = rest
            .strip_prefix(b"~")
            .or(rest.strip_prefix(b"-"))
            .unwrap_or(rest);
        let word = match rest.first() {
            Some(quote @ (b'"' | b'\'' | b'`')) => rest[1..]
                .iter()
                .take(1024)
                .position(|b| b == quote)
                .unwrap_or(1024),
            Some(b) if b.is_ascii_alphabetic() || *b == b'_' || *b >= 0x80 => {
                let line = &rest[..line_length(rest).min(1024)];
                line.iter()
                    .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_' || **b >= 0x80)
                    .count()
            }
            // `a << b`
            _ => return true,
        };
        total += 4 + word;
        word < 200 && total < 900
    })
}

/// The names of the elements that are open, and two bytes for each. All of them are read and written anew at each token:
/// with many open the time grows with the square of the text.
fn html(text: &str) -> bool {
    const DEEPEST: usize = 128;
    const MOST: usize = 1000;
    // The grammar's own: what has no end, and what ends a paragraph.
    const VOID: &str = " area base basefont bgsound br col command embed frame hr image img input isindex keygen link menuitem meta nextid param source track wbr ";
    const ENDS_PARAGRAPH: &str = " address article aside blockquote details div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section ";
    let is_one_of =
        |list: &str, name: &str| list.split(' ').any(|one| one.eq_ignore_ascii_case(name));
    let ends = |open: &str, name: &str| {
        let pairs = [
            ("li", "li"),
            ("dt dd", "dt dd"),
            ("p", ENDS_PARAGRAPH),
            ("rb rt rp", "rb rt rp"),
            ("optgroup", "optgroup"),
            ("tr", "tr"),
            ("td th", "td th tr"),
        ];
        let mut pairs = pairs.into_iter();
        pairs.any(|(these, those)| is_one_of(these, open) && is_one_of(those, name))
            || open.eq_ignore_ascii_case("colgroup") && !name.eq_ignore_ascii_case("col")
    };
    // It takes this for the end of the text, and a comment that it stands in for none.
    if text.contains('\0') {
        return false;
    }
    let mut open: Vec<&str> = Vec::new();
    let mut comments_end = true;
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once('<') {
        rest = behind;
        if let Some(comment) = rest.strip_prefix("!--").filter(|_| comments_end) {
            match comment.split_once("-->") {
                Some((_, behind)) => rest = behind,
                None => comments_end = false,
            }
            continue;
        }
        rest = rest.trim_start();
        let tag = rest.strip_prefix('/').map_or(rest, str::trim_start);
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | ':');
        let (name, behind) = tag.split_at(tag.find(|c| !is_name(c)).unwrap_or(tag.len()));
        if name.is_empty() {
            continue;
        }
        if tag.len() < rest.len() {
            let at = open.iter().rposition(|one| one.eq_ignore_ascii_case(name));
            open.truncate(at.unwrap_or(open.len()));
        } else if !is_one_of(VOID, name) {
            while open.pop_if(|one| ends(one, name)).is_some() {}
            let (end, behind) = behind_attributes(behind);
            rest = behind;
            if end == "/>" {
                continue;
            }
            open.push(name);
            if end == ">" && is_one_of("script style", name) {
                rest = behind_raw(rest, name);
            }
        }
        let held: usize = open.iter().map(|name| name.len() + 2).sum();
        if open.len() > DEEPEST || held > MOST {
            return false;
        }
    }
    true
}

/// What ends a start tag, nothing where the next one begins first, and the text behind it.
fn behind_attributes(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let length = loop {
        match bytes.get(at) {
            None | Some(b'<') => break 0,
            Some(b'>') => break 1,
            Some(b'/') if bytes.get(at + 1) == Some(&b'>') => break 2,
            Some(b'=') => {
                let is_blank = |at: &usize| bytes[*at].is_ascii_whitespace();
                let value = (at + 1..bytes.len()).find(|at| !is_blank(at));
                at = value.unwrap_or(bytes.len());
                at += match bytes.get(at) {
                    // One that does not end is none.
                    Some(quote @ (b'"' | b'\'')) => {
                        memchr::memchr(*quote, &bytes[at + 1..]).map_or(1, |end| end + 2)
                    }
                    _ => {
                        let ends = |b: &u8| b.is_ascii_whitespace() || b"<>\"'=".contains(b);
                        let rest = &bytes[at..];
                        rest.iter().position(ends).unwrap_or(rest.len())
                    }
                };
            }
            Some(_) => at += 1,
        }
    };
    (&text[at..at + length], &text[at + length..])
}

/// From the end tag of a script or a style on, whose text has no tags.
fn behind_raw<'t>(text: &'t str, name: &str) -> &'t str {
    let is_end = |at: &usize| {
        let end = text.as_bytes().get(at + 2..at + 2 + name.len());
        end.is_some_and(|end| end.eq_ignore_ascii_case(name.as_bytes()))
    };
    let mut ends = memchr::memmem::find_iter(text.as_bytes(), b"</");
    ends.find(is_end).map_or("", |at| &text[at..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_line_is_overlooked(runs in prop::collection::vec((prop::bool::ANY, prop_oneof![0usize..5, 375usize..385, 700usize..900]), 0..12)) {
            let mut text = String::new();
            for (begins_line, length) in runs {
                text.push_str(if begins_line { "x\n" } else { "x" });
                text.push_str(&" ".repeat(length));
            }
            prop_assert_eq!(python(text.as_bytes()), lines(&text).all(|line| blanks(line) < 380));
        }
    }

    #[test]
    fn only_a_page_with_many_open_elements_is_kept_from_its_grammar() {
        let long = "<script>".to_owned() + &"if (a<b) c();".repeat(300) + "</SCRIPT>";
        for page in [
            "<li>a".repeat(300),
            "<p>a<div>b</div>".repeat(300),
            "<dt>a<dd>b".repeat(300),
            "<tr><td>a<td>b".repeat(300),
            "<br><img src=a><x-y/><x a = \"b > c\" d=e/f />".repeat(300),
            "<div><b>a</b>".repeat(100) + &"</div>".repeat(100),
            "<!-- <b> -->".repeat(300),
            long.repeat(2),
        ] {
            assert!(html(&page), "{}", &page[..40]);
        }
        for page in [
            "<b>".repeat(129),
            "<B a='>'>c</i>".repeat(129),
            "< b>".repeat(129),
            "<a href=/x/>".repeat(129),
            "<b a=\"/>\">".repeat(129),
            "<b a=\"</b>\">".repeat(129),
            "<!-- ".to_owned() + &"<b>".repeat(129),
            "<script ".to_owned() + &"<b>".repeat(129),
            "<p><li>".repeat(129),
            format!("<{}>", "a".repeat(999)),
        ] {
            assert!(!html(&page), "{}", &page[..40]);
        }
    }
}
