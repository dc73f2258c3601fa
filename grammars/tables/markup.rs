//! Markup and templates.

use crate::*;

const XML_BLOCK: &[Block] = &[block("<!--", "-->")];
const WEB: Language = Language {
    block: XML_BLOCK,
    rules: &[Rule::Scripts, Rule::Tags],
    reply: between("<!--", "-->"),
    ..BASE
};

pub(crate) const ROWS: &[Language] = &[
    Language {
        name: "xml",
        extensions: &[
            "xml",
            "svg",
            "xsd",
            "xsl",
            "xslt",
            "rss",
            "atom",
            "plist",
            "xaml",
            "csproj",
            "vbproj",
            "fsproj",
            "vcxproj",
            "props",
            "targets",
            "resx",
            "wsdl",
            "kml",
            "gpx",
            "xib",
            "storyboard",
            "nuspec",
            "iml",
            "fxml",
            "ui",
            "qrc",
            "dtd",
            "rng",
            "config",
            "launch",
            "urdf",
            "adml",
            "admx",
            "ant",
            "axml",
            "dita",
            "ditamap",
            "glade",
            "natvis",
            "nproj",
            "osm",
            "proj",
            "rdf",
            "scxml",
            "slnx",
            "sublime-snippet",
            "vstemplate",
            "wixproj",
            "wsf",
            "wxi",
            "wxl",
            "wxs",
            "x3d",
            "xacro",
            "xlf",
            "xliff",
            "xmi",
            "xproj",
            "xspec",
            "xul",
            "zcml",
            "psc1",
            "tpm",
            "cdxml",
            "mpd",
            "wpl",
            "xpr",
            "xpfm",
            "spfm",
            "bxml",
            "xcu",
            "xlb",
            "xlc",
            "xba",
            "axaml",
            "bpmn",
            "cpt",
            "csl",
            "ent",
            "dtml",
            "isml",
            "jmx",
            "menu",
            "mxml",
            "opml",
            "owl",
            "pt",
            "publishsettings",
            "pubxml",
            "rbxlx",
            "rbxmx",
            "shproj",
            "tld",
            "tmx",
            "xbl",
            "xpdl",
            "xoml",
        ],
        file_names: &["pom.xml", "fglrxrc", "fonts.conf"],
        ids: &["xml", "xsl", "svg", "dtd", "rng", "xsd", "xslt", "ant"],
        rules: &[Rule::Tags],
        ..WEB
    },
    Language {
        name: "vue",
        extensions: &["vue"],
        ids: &["vue"],
        ..WEB
    },
    Language {
        name: "svelte",
        extensions: &["svelte"],
        ids: &["svelte"],
        block: &[block("<!--", "-->"), block("{/*", "*/}")],
        ..WEB
    },
    Language {
        name: "astro",
        extensions: &["astro"],
        ids: &["astro"],
        block: &[block("<!--", "-->"), block("{/*", "*/}")],
        rules: &[Rule::FrontMatter("typescript"), Rule::Scripts, Rule::Tags],
        ..WEB
    },
    Language {
        name: "mdx",
        extensions: &["mdx"],
        ids: &["mdx"],
        block: &[block("{/*", "*/}"), block("<!--", "-->")],
        rules: &[Rule::FrontMatter("yaml"), Rule::Fences],
        reply: between("{/*", "*/}"),
        ..BASE
    },
    Language {
        name: "handlebars",
        extensions: &["hbs", "handlebars", "mustache", "hjs"],
        ids: &["handlebars", "mustache", "glimmer"],
        block: &[
            block("{{!--", "--}}"),
            block("{{!", "}}"),
            block("<!--", "-->"),
        ],
        reply: between("{{!--", "--}}"),
        rules: &[
            Rule::Template(&templates::HANDLEBARS),
            Rule::Scripts,
            Rule::Tags,
        ],
        ..WEB
    },
    Language {
        name: "jinja",
        extensions: &[
            "j2",
            "jinja",
            "jinja2",
            "njk",
            "twig",
            "tera",
            "peb",
            "html.j2",
            "html.twig",
        ],
        ids: &[
            "jinja",
            "jinja-html",
            "django-html",
            "twig",
            "nunjucks",
            "htmldjango",
        ],
        block: &[block("{#", "#}"), block("<!--", "-->")],
        reply: between("{#", "#}"),
        rules: &[Rule::Template(&templates::JINJA), Rule::Scripts, Rule::Tags],
        ..WEB
    },
    Language {
        name: "liquid",
        extensions: &["liquid"],
        ids: &["liquid"],
        block: &[
            block("{% comment %}", "{% endcomment %}"),
            block("{%- comment -%}", "{%- endcomment -%}"),
            block("<!--", "-->"),
        ],
        rules: &[
            Rule::Template(&templates::LIQUID),
            Rule::Scripts,
            Rule::Tags,
        ],
        ..WEB
    },
    Language {
        name: "erb",
        extensions: &["erb", "html.erb", "rhtml"],
        ids: &["erb", "eruby"],
        block: &[
            block("<%#", "%>"),
            block("<%--", "--%>"),
            block("<!--", "-->"),
        ],
        reply: between("<%#", "%>"),
        rules: &[Rule::Template(&templates::ERB), Rule::Scripts, Rule::Tags],
        ..WEB
    },
    Language {
        name: "ejs",
        extensions: &["ejs"],
        ids: &["ejs"],
        block: &[
            block("<%#", "%>"),
            block("<%--", "--%>"),
            block("<!--", "-->"),
        ],
        reply: between("<%#", "%>"),
        rules: &[Rule::Template(&templates::EJS), Rule::Scripts, Rule::Tags],
        ..WEB
    },
    Language {
        name: "eex",
        extensions: &["eex", "heex", "leex"],
        ids: &["eex", "heex", "html-eex", "phoenix-heex", "eelixir"],
        block: &[
            block("<%!--", "--%>"),
            block("<%#", "%>"),
            block("<!--", "-->"),
        ],
        reply: between("<%!--", "--%>"),
        rules: &[Rule::Template(&templates::EEX), Rule::Scripts, Rule::Tags],
        ..WEB
    },
    Language {
        name: "jsp",
        extensions: &["jsp", "jspx", "tag", "gsp", "aspx", "ascx", "master"],
        ids: &["jsp", "aspx", "gsp"],
        block: &[block("<%--", "--%>"), block("<!--", "-->")],
        reply: between("<%--", "--%>"),
        rules: &[Rule::Template(&templates::JSP), Rule::Scripts, Rule::Tags],
        ..WEB
    },
    Language {
        name: "razor",
        extensions: &["cshtml", "razor"],
        ids: &["razor", "aspnetcorerazor"],
        block: &[block("@*", "*@"), block("<!--", "-->")],
        reply: between("@*", "*@"),
        rules: &[Rule::Template(&templates::RAZOR), Rule::Scripts, Rule::Tags],
        ..WEB
    },
    Language {
        name: "blade",
        extensions: &["blade.php"],
        ids: &["blade"],
        block: &[block("{{--", "--}}"), block("<!--", "-->")],
        rules: &[Rule::Template(&templates::BLADE), Rule::Scripts, Rule::Tags],
        reply: between("{{--", "--}}"),
        ..WEB
    },
    Language {
        name: "go-template",
        extensions: &["gotmpl", "gohtml", "tmpl", "tpl"],
        ids: &["gotmpl", "gohtmltmpl", "helm", "template"],
        block: &[
            block("{{- /*", "*/ -}}"),
            block("{{/*", "*/}}"),
            block("<!--", "-->"),
        ],
        reply: between("{{/*", "*/}}"),
        rules: &[Rule::Template(&templates::GO), Rule::Scripts, Rule::Tags],
        ..WEB
    },
    // Jupyter: the comments are those of its cells, each in a language of its own.
    Language {
        name: "notebook",
        extensions: &["ipynb"],
        ids: &["jupyter-notebook", "jupyter", "ipynb", "notebook"],
        ..BASE
    },
    Language {
        name: "pug",
        extensions: &["pug", "jade"],
        ids: &["pug", "jade"],
        rules: &[Rule::IndentedComment("//-"), Rule::IndentedComment("//")],
        line: &[at("//-", Place::LineStart), at("//", Place::LineStart)],
        reply: to_line_end("//-"),
        indentation: true,
        ..BASE
    },
    Language {
        name: "haml",
        extensions: &["haml"],
        ids: &["haml"],
        rules: &[Rule::IndentedComment("-#"), Rule::IndentedComment("/")],
        line: &[at("-#", Place::LineStart), at("/", Place::LineStart)],
        reply: to_line_end("-#"),
        indentation: true,
        ..BASE
    },
    Language {
        name: "slim",
        extensions: &["slim"],
        ids: &["slim"],
        rules: &[Rule::IndentedComment("/!"), Rule::IndentedComment("/")],
        line: &[at("/!", Place::LineStart), at("/", Place::LineStart)],
        reply: to_line_end("/"),
        indentation: true,
        ..BASE
    },
    Language {
        name: "restructuredtext",
        extensions: &["rst", "rest"],
        ids: &["restructuredtext", "rst"],
        rules: &[Rule::IndentedComment("..")],
        reply: to_line_end(".."),
        indentation: true,
        ..BASE
    },
    Language {
        name: "asciidoc",
        extensions: &["adoc", "asciidoc", "asc"],
        ids: &["asciidoc"],
        line: &[at("//", Place::FirstColumn)],
        strings: &[
            Quote {
                place: Place::FirstColumn,
                ..raw("----", "\n----")
            },
            Quote {
                place: Place::FirstColumn,
                ..raw("....", "\n....")
            },
        ],
        reply: to_line_end("//"),
        ..BASE
    },
    Language {
        name: "typst",
        extensions: &["typ"],
        ids: &["typst"],
        block: &[nesting("/*", "*/")],
        strings: &[raw("```", "```"), raw("`", "`"), short("\"")],
        rules: &[Rule::BackslashChar],
        ..C_LIKE
    },
    Language {
        name: "org",
        extensions: &["org", "org_archive"],
        ids: &["org"],
        line: &[at("# ", Place::LineStart)],
        strings: &[raw("#+begin_", "#+end_")],
        reply: to_line_end("#"),
        ..BASE
    },
];
