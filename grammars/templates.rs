//! What templates have of their own: comments, and code between delimiters.

use std::sync::{Mutex, PoisonError};

use crate::{End, Insert, Language, Rule, Template};

const fn code(open: &'static str, close: &'static str, language: &'static str) -> Insert {
    Insert {
        open,
        close,
        language,
        end: End::First,
    }
}

/// An expression, or text that is no markup.
const fn text(open: &'static str, close: &'static str) -> Insert {
    code(open, close, "")
}

const fn php(open: &'static str) -> Insert {
    Insert {
        end: End::InCode,
        ..code(open, "?>", "php-code")
    }
}

const fn braces(open: &'static str) -> Insert {
    Insert {
        end: End::Brace,
        ..code(open, "}", "csharp")
    }
}

/// A template of something else than markup (`site.conf.j2`, `app.js.erb`): the row of what it makes, with the
/// template's own comments and code in it. Rows are made once for each pair.
pub(crate) fn of_host(
    template: &'static Language,
    name: &str,
    by_name: impl Fn(&str) -> Option<&'static Language>,
) -> Option<&'static Language> {
    static MADE: Mutex<Vec<(&str, &Language)>> = Mutex::new(Vec::new());
    let rule = Rule::Template(template.template()?);
    let (stem, ending) = name.rsplit_once('.')?;
    if stem.is_empty()
        || !template
            .extensions
            .iter()
            .any(|e| e.eq_ignore_ascii_case(ending))
    {
        return None;
    }
    let host = by_name(stem)?;
    let is_markup = host.block.iter().any(|block| block.open == "<!--");
    if is_markup || host.template().is_some() {
        return None;
    }
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let known = made
        .iter()
        .find(|(of, row)| *of == template.name && row.name == host.name);
    if let Some((_, row)) = known {
        return Some(row);
    }
    let rules: Vec<Rule> = std::iter::once(rule)
        .chain(host.rules.iter().copied())
        .collect();
    let row: &Language = Box::leak(Box::new(Language {
        rules: rules.leak(),
        // A grammar knows nothing of the template.
        grammar: None,
        comments: &[],
        symbols: &[],
        ..*host
    }));
    made.push((template.name, row));
    Some(row)
}

pub(crate) static PHP: Template = Template {
    starts: &["<?"],
    comments: &[],
    code: &[php("<?php"), php("<?=")],
};

pub(crate) static BLADE: Template = Template {
    starts: &["{", "<?", "@"],
    comments: &[("{{--", "--}}")],
    code: &[
        text("@verbatim", "@endverbatim"),
        text("@php(", ""),
        code("@php", "@endphp", "php-code"),
        text("{!!", "!!}"),
        text("{{", "}}"),
        php("<?php"),
        php("<?="),
    ],
};

pub(crate) static JINJA: Template = Template {
    starts: &["{"],
    comments: &[("{#~", "~#}"), ("{%~ comment ~%}", "{%~ endcomment ~%}")],
    code: &[
        text("{%~ raw ~%}", "{%~ endraw ~%}"),
        text("{%~ verbatim ~%}", "{%~ endverbatim ~%}"),
        text("{%", "%}"),
        text("{{", "}}"),
    ],
};

pub(crate) static LIQUID: Template = Template {
    starts: &["{"],
    comments: &[("{%~ comment ~%}", "{%~ endcomment ~%}"), ("{%~ #", "~%}")],
    code: &[
        text("{%~ raw ~%}", "{%~ endraw ~%}"),
        text("{%", "%}"),
        text("{{", "}}"),
    ],
};

pub(crate) static HANDLEBARS: Template = Template {
    starts: &["{"],
    comments: &[("{{~!--", "--~}}"), ("{{~!", "~}}")],
    code: &[text("{{{{", "}}}}"), text("{{", "}}")],
};

pub(crate) static GO: Template = Template {
    starts: &["{"],
    comments: &[("{{~ /*", "*/ ~}}")],
    code: &[text("{{", "}}")],
};

/// Delimiters `<% … %>` around code of a language.
const fn percent(language: &'static str) -> [Insert; 2] {
    [text("<%%", ""), code("<%", "%>", language)]
}

const PERCENT_COMMENTS: &[(&str, &str)] = &[("<%--", "--%>"), ("<%#~", "~%>")];

pub(crate) static ERB: Template = Template {
    starts: &["<%"],
    comments: PERCENT_COMMENTS,
    code: &percent("ruby"),
};

pub(crate) static EJS: Template = Template {
    starts: &["<%"],
    comments: PERCENT_COMMENTS,
    code: &percent("javascript"),
};

pub(crate) static EEX: Template = Template {
    starts: &["<%"],
    comments: &[("<%!--", "--%>"), ("<%#~", "~%>")],
    code: &percent("elixir"),
};

/// Java's comments and strings are those of C# and Groovy too.
pub(crate) static JSP: Template = Template {
    starts: &["<%"],
    comments: &[("<%--", "--%>")],
    code: &percent("java"),
};

pub(crate) static RAZOR: Template = Template {
    starts: &["@"],
    comments: &[("@*", "*@")],
    code: &[
        text("@@", ""),
        braces("@code {"),
        braces("@functions {"),
        braces("@{"),
    ],
};
