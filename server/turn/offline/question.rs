//! What the built-in answers understand. Pure.

/// The thing that is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// `this`, `it`, nothing: what the thread stands at.
    This,
    Named(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Rename { from: Subject, to: String },
    WhereUsed(Subject),
    WhereDefined(Subject),
    WhatIs(Subject),
    WhoWrote,
    Todos,
    Other,
}

/// Words that stand beside a name and are none.
const FILLER: &[&str] = &[
    "this",
    "that",
    "it",
    "the",
    "a",
    "an",
    "here",
    "above",
    "below",
    "function",
    "functions",
    "fn",
    "func",
    "method",
    "struct",
    "class",
    "type",
    "enum",
    "trait",
    "interface",
    "module",
    "variable",
    "field",
    "constant",
    "const",
    "symbol",
    "name",
    "please",
    "all",
    "is",
    "are",
    "being",
    "currently",
    "exactly",
    "actually",
    "usages",
    "uses",
    "references",
    "calls",
    "to",
    "of",
    "in",
    "code",
    "project",
];

pub(super) fn parse(text: &str) -> Question {
    // A request is a line; what stands below it explains.
    let words: Vec<&str> = text.split_whitespace().collect();
    let lower: Vec<String> = words.iter().map(|w| bare(w).to_lowercase()).collect();
    let has = |word: &str| lower.iter().any(|w| w == word);
    let at = |word: &str| lower.iter().position(|w| w == word);
    let starts =
        |start: &[&str]| lower.len() >= start.len() && lower.iter().zip(start).all(|(w, s)| w == s);

    if let Some(question) = rename(&words, &lower) {
        return question;
    }
    if (has("todo") || has("todos") || has("fixmes") || has("to-dos")) && lower.len() <= 8 {
        let asks = ["list", "show", "what", "which", "find", "any"]
            .iter()
            .any(|w| has(w));
        if asks || lower.len() <= 2 {
            return Question::Todos;
        }
    }
    let used = |w: &str| {
        matches!(
            w,
            "used"
                | "called"
                | "referenced"
                | "use"
                | "uses"
                | "usages"
                | "references"
                | "usage"
                | "calls"
        )
    };
    let defined = |w: &str| {
        matches!(
            w,
            "defined" | "declared" | "implemented" | "definition" | "declaration"
        )
    };
    if has("where")
        || starts(&["who", "calls"])
        || starts(&["who", "uses"])
        || lower
            .first()
            .is_some_and(|w| used(w) || w == "find" || w == "list")
    {
        let verb = lower.iter().position(|w| used(w) || defined(w));
        if let Some(verb) = verb
            && let Some(subject) = subject(&words, |i, w| {
                i != verb
                    && !matches!(
                        w,
                        "where" | "who" | "find" | "list" | "does" | "do" | "come" | "from" | "by"
                    )
            })
        {
            return if lower.get(verb).is_some_and(|w| defined(w)) {
                Question::WhereDefined(subject)
            } else {
                Question::WhereUsed(subject)
            };
        }
    }
    if (starts(&["who", "wrote"])
        || starts(&["who", "changed"])
        || starts(&["who", "made"])
        || starts(&["who", "added"]))
        && lower.len() <= 8
    {
        return Question::WhoWrote;
    }
    // `why`, `why is this here`: what the history says. A longer question wants a model.
    if starts(&["why"]) && lower.len() <= 5 {
        return Question::WhoWrote;
    }
    let what = starts(&["what", "is"])
        || starts(&["what's"])
        || starts(&["whats"])
        || starts(&["what", "are"])
        || starts(&["what", "does"]);
    if what
        && at("for").is_none()
        && let Some(subject) = subject(&words, |_, w| {
            !matches!(w, "what" | "what's" | "whats" | "does" | "do" | "mean")
        })
    {
        return Question::WhatIs(subject);
    }
    Question::Other
}

/// `rename X to Y`, wherever it stands in the sentence.
fn rename(words: &[&str], lower: &[String]) -> Option<Question> {
    let verb = lower.iter().position(|w| w == "rename" || w == "renamed")?;
    let before = lower.get(..verb).unwrap_or_default();
    if before.iter().any(|w| {
        matches!(
            w.as_str(),
            "not" | "don't" | "dont" | "never" | "why" | "who" | "when" | "without"
        )
    }) {
        return None;
    }
    let to = verb
        + 1
        + lower
            .get(verb + 1..)?
            .iter()
            .position(|w| matches!(w.as_str(), "to" | "into" | "as" | "->" | "→" | "=>"))?;
    let target = words.get(to + 1).map(|w| bare(w))?;
    // More words make a sentence of it: `rename this to something better`.
    let rest = lower.get(to + 2..).unwrap_or_default();
    let goes_on = rest.iter().any(|w| !w.is_empty())
        && !ends_sentence(words.get(to + 1)?)
        && !quoted(words.get(to + 1)?);
    let polite = rest.iter().all(|w| {
        matches!(
            w.as_str(),
            "" | "please" | "everywhere" | "here" | "instead" | "thanks" | "then" | "now"
        )
    });
    if !is_name(target) || (goes_on && !polite) {
        return None;
    }
    let from = subject(words.get(verb + 1..to)?, |_, _| true)?;
    Some(Question::Rename {
        from,
        to: target.to_owned(),
    })
}

/// The one name among `words`, or `This` where there is none; `None` where there are several.
fn subject(words: &[&str], counts: impl Fn(usize, &str) -> bool) -> Option<Subject> {
    let mut names = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let text = bare(word);
        if quoted(word) && is_name(text) {
            return Some(Subject::Named(last_part(text)));
        }
        let lower = text.to_lowercase();
        if counts(at, &lower) && !text.is_empty() && !FILLER.contains(&lower.as_str()) {
            names.push(text);
        }
    }
    match names.as_slice() {
        [] => Some(Subject::This),
        [name] if is_name(name) => Some(Subject::Named(last_part(name))),
        _ => None,
    }
}

fn quoted(word: &str) -> bool {
    let word =
        word.trim_matches(|c: char| matches!(c, '(' | ')' | '.' | ',' | '?' | '!' | ':' | ';'));
    word.len() > 2
        && ['`', '\'', '"']
            .iter()
            .any(|q| word.starts_with(*q) && word.ends_with(*q))
}

fn ends_sentence(word: &str) -> bool {
    word.ends_with(['?', '.', '!', ',', ';', ':'])
}

/// A word without what a sentence puts around it.
fn bare(word: &str) -> &str {
    let word = word.trim_matches(|c: char| {
        matches!(
            c,
            '`' | '\'' | '"' | '?' | '.' | '!' | ',' | ';' | ':' | '(' | ')' | '*'
        )
    });
    word.trim_end_matches("()")
}

/// An identifier, or several joined by `::` or `.`.
fn is_name(text: &str) -> bool {
    let part = |part: &str| {
        let mut chars = part.chars();
        chars
            .next()
            .is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$')
            && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '$')
    };
    !text.is_empty() && text.split("::").flat_map(|t| t.split('.')).all(part)
}

fn last_part(name: &str) -> String {
    name.rsplit(['.', ':']).next().unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Subject {
        Subject::Named(name.to_owned())
    }

    #[test]
    fn questions_are_understood_as_people_put_them() {
        use Question::*;
        let to = |from: Subject, to: &str| Rename {
            from,
            to: to.to_owned(),
        };
        let cases: &[(&str, Question)] = &[
            ("rename load to load_data", to(named("load"), "load_data")),
            (
                "Rename `load` to `load_data`.",
                to(named("load"), "load_data"),
            ),
            ("rename this to load_data?", to(Subject::This, "load_data")),
            (
                "should we rename this to load_data?",
                to(Subject::This, "load_data"),
            ),
            (
                "should we rename this function to load_data? It is async.",
                to(Subject::This, "load_data"),
            ),
            (
                "please rename the function load() to fetch please",
                to(named("load"), "fetch"),
            ),
            ("can this be renamed to größe?", to(Subject::This, "größe")),
            ("rename Foo::bar to baz", to(named("bar"), "baz")),
            ("rename x -> y", to(named("x"), "y")),
            ("rename this to something better", Other),
            ("don't rename this to x", Other),
            ("rename a b c to d", Other),
            ("rename this to 3d", Other),
            ("rename", Other),
            ("where is load used?", WhereUsed(named("load"))),
            ("where is this used", WhereUsed(Subject::This)),
            (
                "Where is `load_data` called?",
                WhereUsed(named("load_data")),
            ),
            ("who calls load?", WhereUsed(named("load"))),
            ("where is Config defined?", WhereDefined(named("Config"))),
            ("where is this defined?", WhereDefined(Subject::This)),
            ("what is load?", WhatIs(named("load"))),
            ("what is this?", WhatIs(Subject::This)),
            ("what does `parse` do?", WhatIs(named("parse"))),
            ("what is the best way to test this", Other),
            ("who wrote this?", WhoWrote),
            ("why?", WhoWrote),
            ("why is this here?", WhoWrote),
            (
                "why does the parser fail on an empty list of arguments?",
                Other,
            ),
            ("list todos", Todos),
            ("TODOs?", Todos),
            ("add a test for this", Other),
            ("", Other),
            ("?", Other),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text), *expected, "{text}");
        }
    }
}
