//! What templates have of their own: comments, and code between delimiters.

use crate::{End, Insert, Template};

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
