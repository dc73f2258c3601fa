//! Patterns of a shell in the words of a command: what they may stand for.

/// Alternatives of braces in one word; more are not told apart.
const MOST: usize = 64;
/// Bytes of a word in which braces are looked for; no path is longer.
const LONGEST: usize = 4096;

/// A piece of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Any characters, or none.
    Any,
    /// One of some characters.
    One,
    Char(char),
}

pub(super) fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?', '['])
}

/// Of a word without braces.
pub(super) fn pieces(word: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut rest = word.chars();
    while let Some(c) = rest.next() {
        found.push(match c {
            '*' => Piece::Any,
            '?' => Piece::One,
            '[' => match behind_bracket(rest.as_str()) {
                Some(behind) => {
                    rest = behind.chars();
                    Piece::One
                }
                None => Piece::Char('['),
            },
            c => Piece::Char(c),
        });
    }
    found
}

/// What comes behind the `]` that ends a set of characters. One that comes first is a character of it, and `[:alpha:]`
/// has an end of its own.
fn behind_bracket(text: &str) -> Option<&str> {
    let text = text.strip_prefix(['!', '^']).unwrap_or(text);
    let mut at = usize::from(text.starts_with(']'));
    loop {
        let rest = text.get(at..)?;
        let classes = [("[:", ":]"), ("[.", ".]"), ("[=", "=]")];
        let class = classes.iter().find(|(begin, _)| rest.starts_with(begin));
        let end = class.and_then(|(_, end)| rest.get(2..)?.find(end));
        at += match (end, rest.chars().next()?) {
            (Some(end), _) => end + 4,
            (None, ']') => return text.get(at + 1..),
            (None, c) => c.len_utf8(),
        };
    }
}

/// Whether a word without braces may stand for this name. What begins with a dot is meant by no star.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let (pattern, name) = (pieces(pattern), name.chars().collect::<Vec<char>>());
    let (mut at, mut of) = (0, 0);
    // Behind the newest star, and where in the name it was met.
    let mut star = None;
    while let Some(c) = name.get(at) {
        match pattern.get(of) {
            Some(Piece::Any) => {
                of += 1;
                star = Some((of, at));
            }
            Some(Piece::One) => (at, of) = (at + 1, of + 1),
            Some(Piece::Char(known)) if known == c => (at, of) = (at + 1, of + 1),
            _ => match &mut star {
                Some((behind, met)) => {
                    *met += 1;
                    (at, of) = (*met, *behind);
                }
                None => return false,
            },
        }
    }
    let rest = pattern.get(of..).unwrap_or_default();
    rest.iter().all(|piece| *piece == Piece::Any)
}

/// Whether a rule's pattern, in which `*` alone is special, and a text of these pieces can mean the same.
pub(super) fn meets(rule: &str, text: impl Iterator<Item = Piece>) -> bool {
    let rule: Vec<char> = rule.chars().collect();
    // How far in the rule it may be.
    let close = |places: &mut Vec<bool>, through: bool| {
        for at in 0..rule.len() {
            let goes_on = through || rule.get(at) == Some(&'*');
            if goes_on
                && places.get(at) == Some(&true)
                && let Some(next) = places.get_mut(at + 1)
            {
                *next = true;
            }
        }
    };
    let mut places = vec![false; rule.len() + 1];
    if let Some(first) = places.first_mut() {
        *first = true;
    }
    close(&mut places, false);
    for piece in text {
        if piece == Piece::Any {
            close(&mut places, true);
        } else {
            let mut next = vec![false; rule.len() + 1];
            for (at, known) in rule.iter().enumerate() {
                let stays = *known == '*';
                let fits = piece == Piece::One || piece == Piece::Char(*known);
                if places.get(at) == Some(&true)
                    && (stays || fits)
                    && let Some(place) = next.get_mut(if stays { at } else { at + 1 })
                {
                    *place = true;
                }
            }
            close(&mut next, false);
            places = next;
        }
        let ends = rule.last() == Some(&'*') && places.last() == Some(&true);
        if ends || !places.contains(&true) {
            return ends;
        }
    }
    places.last() == Some(&true)
}

/// `a{b,c}` as bash reads it: each alternative. `None`: there are too many.
pub(super) fn braces(word: &str) -> Option<Vec<String>> {
    if !word.contains('{') {
        return Some(vec![word.to_owned()]);
    }
    if word.len() > LONGEST {
        return None;
    }
    let (mut done, mut todo) = (Vec::new(), vec![word.to_owned()]);
    while let Some(word) = todo.pop() {
        match split(&word) {
            Some(alternatives) => todo.extend(alternatives),
            None => done.push(word),
        }
        if todo.len() + done.len() > MOST {
            return None;
        }
    }
    done.sort();
    Some(done)
}

/// By its first braces that have alternatives.
fn split(word: &str) -> Option<Vec<String>> {
    for (begin, _) in word.match_indices('{') {
        let (mut depth, mut commas, mut end) = (0_usize, vec![begin], None);
        for (at, c) in word.char_indices().skip_while(|(at, _)| *at < begin) {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                ',' if depth == 1 => commas.push(at),
                _ => {}
            }
            if depth == 0 {
                end = Some(at);
                break;
            }
        }
        let Some(end) = end else {
            continue;
        };
        let (before, behind) = (word.get(..begin)?, word.get(end + 1..)?);
        if commas.len() == 1 {
            // A sequence: which names it gives is not told.
            if word.get(begin..end)?.contains("..") {
                return Some(vec![format!("{before}*{behind}")]);
            }
            continue;
        }
        let ends = commas.iter().skip(1).copied().chain([end]);
        let parts = commas.iter().zip(ends);
        let parts = parts.filter_map(|(from, to)| word.get(from + 1..to));
        return Some(parts.map(|p| format!("{before}{p}{behind}")).collect());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_as_a_shell_has_it() {
        for (pattern, name, expected) in [
            ("x.s?", "x.sh", true),
            ("x.s?", "x.s", false),
            ("*", "x", true),
            ("*", ".git", false),
            (".*", ".git", true),
            ("[a-z]*", "proj", true),
            ("[!a]]", "a]", true),
            ("[]]x", "]x", true),
            ("x[[:digit:]].sh", "x1.sh", true),
            ("[![:space:].]b", "ab", true),
            ("a[", "a[", true),
            ("*a*b", "xaxxab", true),
            ("*a*b", "xaxxa", false),
            ("", "", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn braces_are_alternatives() {
        let of = |word| braces(word).unwrap();
        assert_eq!(of("a{b,c{d,}}e"), ["abe", "acde", "ace"]);
        assert_eq!(of("{}"), ["{}"]);
        assert_eq!(of("{a}{b,c}"), ["{a}b", "{a}c"]);
        assert_eq!(of("{1..3}"), ["*"]);
        assert_eq!(of("{a"), ["{a"]);
        assert_eq!(braces(&"{a,b}".repeat(9)), None);
    }

    #[test]
    fn a_rule_meets_what_a_pattern_may_stand_for() {
        let meets = |rule, text| meets(rule, pieces(text).into_iter());
        for (rule, text, expected) in [
            ("git push*", "git p?sh r main", true),
            ("git push*", "git *", true),
            ("git push*", "git add *", false),
            ("git push", "git pus[a-z]", true),
            ("rm *", "ls *", false),
            ("*--force*", "git push x*", true),
            ("git push origin main", "git p*", true),
        ] {
            assert_eq!(meets(rule, text), expected, "{rule} {text}");
        }
    }
}
