//! What must not stand in a comment, by its language and its place: it would end the comment, or be read or run all the same.

use super::Source;
use super::form::name;
use crate::comments::Language;
use crate::threads::escape::Hazards;

/// Pages with scripts in them.
const PAGES: &[&str] = &[
    "html",
    "vue",
    "svelte",
    "astro",
    "php",
    "markdown",
    "erb",
    "ejs",
    "jsp",
    "eex",
    "handlebars",
    "jinja",
    "liquid",
    "razor",
    "blade",
];

/// Where the comment is to stand.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub at: usize,
    /// The blanks that stand before it.
    pub indent: &'a str,
}

/// What a line of a comment with these delimiters must not hold.
pub(super) fn of(source: Source, place: Place, open: &str, close: &str, block: bool) -> Hazards {
    let language = source.syntax.language();
    let name = name(source);
    let mut hazards = Hazards::default();
    let sequences = &mut hazards.sequences;
    if block {
        // `*/}` of JSX ends at its first two characters.
        let known = language.and_then(|language| {
            language.block.iter().find(|block| {
                open.trim_start_matches('{')
                    .starts_with(block.open.trim_start_matches('{'))
            })
        });
        for close in [
            close.trim_end_matches('}'),
            close,
            known.map_or("", |block| block.close),
        ] {
            sequences.push(close.to_ascii_lowercase());
        }
        if let Some(block) = known.filter(|block| block.nests) {
            sequences.push(block.open.to_ascii_lowercase());
        }
        if open.contains("/*") {
            sequences.push("*/".into());
        }
        if open.starts_with("<!--") {
            sequences.extend(["-->", "--!>"].map(String::from));
            if !matches!(
                name,
                "html" | "markdown" | "vue" | "svelte" | "astro" | "php"
            ) {
                // XML allows no two hyphens in a comment.
                sequences.push("--".into());
            }
        }
        hazards.paired_quotes = open.starts_with("(*");
    } else {
        hazards.endings = vec!["\\", "??/"];
        match name {
            "batch" | "bat" => {
                hazards.endings.push("^");
                // What `cmd` takes for the argument of a batch file is read in comments, too, and may be an error.
                sequences.push("%~".into());
            }
            "vb" | "vbnet" | "vba" | "basic" | "visualbasic" => hazards.endings.push(" _"),
            _ => {}
        }
    }
    let sequences = &mut hazards.sequences;
    if name == "php" || source.text.contains("<?php") {
        sequences.push("?>".into());
    }
    if PAGES.contains(&name) {
        sequences.extend(["</script", "</style", "%>", "?>"].map(String::from));
        if !open.starts_with("<!--") {
            // With a `<script` behind it a script goes on beyond its end.
            sequences.push("<!--".into());
        }
    }
    if matches!(name, "java" | "groovy" | "scala") {
        // Read before anything else (The Java Language Specification 3.3), so that it can end a comment or be an error.
        sequences.push("\\u".into());
    }
    if is_preprocessed(source, name) && !open.starts_with("/*") && open != "//" {
        sequences.push("/*".into());
    }
    if name == "makefile" && is_expanded(source.text, place) {
        sequences.push("$".into());
    }
    if !block && source.syntax.is_in_backquotes(source.text, place.at) {
        sequences.push("`".into());
    }
    sequences.extend(inserts(source, open));
    sequences.retain(|sequence| !sequence.is_empty());
    hazards.brackets = match name {
        // Counted in the comments of a body, too.
        "tcl" => Some(['{', '}']),
        "m4" => Some(['[', ']']),
        _ => None,
    };
    hazards.ascii = name == "python" && is_ascii(source.text);
    hazards
}

/// Whether a text goes through the preprocessor of C before its own comments are read.
fn is_preprocessed(source: Source, name: &str) -> bool {
    let Source { path, text, .. } = source;
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let by_name = match name {
        "gas" => matches!(ending, "S" | "sx"),
        "fortran" | "fortran-fixed" => ending.starts_with('F') || ending == "fpp",
        "haskell" => text.lines().any(|line| {
            let pragma = line.split_once("LANGUAGE").map(|(_, names)| names);
            pragma.is_some_and(|names| names.contains("CPP"))
        }),
        _ => return false,
    };
    by_name || text.lines().any(is_preprocessors)
}

/// Whether a line is one of the preprocessor's.
fn is_preprocessors(line: &str) -> bool {
    let Some(rest) = line.strip_prefix('#') else {
        return false;
    };
    let rest = rest.trim_start();
    let word = rest.split(|c: char| !c.is_ascii_lowercase()).next();
    matches!(
        word,
        Some("if" | "ifdef" | "ifndef" | "define" | "undef" | "include")
    )
}

/// Whether make expands what it takes for a comment elsewhere: the body of a `define`, and the lines of a recipe, which
/// are the shell's.
fn is_expanded(text: &str, place: Place) -> bool {
    let above = text.get(..place.at).unwrap_or_default();
    let mut open = 0_usize;
    for line in above.lines() {
        let mut words = line.split_ascii_whitespace();
        let mut word = words.next();
        while let Some("override" | "export" | "private") = word {
            word = words.next();
        }
        match word {
            Some("define") => open += 1,
            // Behind a tab it is a line of the body.
            Some("endef") if !line.starts_with('\t') => open = open.saturating_sub(1),
            _ => {}
        }
    }
    open > 0 || place.indent.contains('\t')
}

/// Whether a program in Python says that it is in an encoding in which other characters are errors, or others.
fn is_ascii(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().take(2).map(str::trim_start);
    let comments = first.take_while(|line| line.is_empty() || line.starts_with('#'));
    let named = comments
        .flat_map(|line| line.split("coding").skip(1))
        .find_map(|rest| {
            let rest = rest.strip_prefix([':', '='])?.trim_start();
            let name = rest.split(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c));
            let name = name.take(1).collect::<String>().to_ascii_lowercase();
            (!name.is_empty()).then(|| name.replace('_', "-"))
        });
    named.is_some_and(|name| {
        let is_latin = [
            "latin-1",
            "latin1",
            "iso-8859-1",
            "iso8859-1",
            "iso-latin-1",
        ];
        // Each byte is a character there, so that none is an error in a comment.
        !name.starts_with("utf") && !is_latin.contains(&name.as_str())
    })
}

/// What begins code of a template, which is run in the comments of the text around it, too.
fn inserts(source: Source, open: &str) -> Vec<String> {
    let language = source.syntax.language();
    let template = language.and_then(Language::template);
    let Some(template) = template else {
        // Helm's charts are templates of YAML that nothing in their name tells. `${{` is a workflow's.
        let is_chart = language.is_some_and(|language| language.name == "yaml")
            && source.text.replace("${{", "").contains("{{");
        return if is_chart {
            vec!["{{".into()]
        } else {
            Vec::new()
        };
    };
    // Up to where blanks and marks may follow.
    let begins = |delimiter: &'static str| delimiter.split([' ', '~']).next().unwrap_or_default();
    let comments = template.comments.iter().map(|(own, _)| begins(own));
    let is_code = language.is_some_and(|language| language.name == "php") && open != "<!--";
    if is_code || comments.clone().any(|own| open.starts_with(own)) {
        return Vec::new();
    }
    let code = template.code.iter().map(|insert| begins(insert.open));
    let mut all: Vec<String> = code
        .chain(comments)
        // Behind `@` stands any expression or directive.
        .map(|opener| if opener.starts_with('@') { "@" } else { opener })
        .map(str::to_ascii_lowercase)
        .collect();
    all.sort();
    all.dedup();
    all
}
