//! Formats of settings whose comments begin with `#`.

use crate::*;

const WORD_START: &[Line] = &[at("#", Place::WordStart)];
const LINE_START: &[Line] = &[at("#", Place::LineStart)];
const SINGLE: Quote = raw("'", "'");

pub(crate) const ROWS: &[Language] = &[
    Language {
        name: "ini",
        extensions: &[
            "ini",
            "cfg",
            "cnf",
            "inf",
            "desktop",
            "service",
            "socket",
            "timer",
            "mount",
            "target",
            "url",
            "prefs",
            "theme",
            "container",
            "lektorproject",
            "network",
            "path",
            "swap",
            "slice",
            "nmconnection",
        ],
        file_names: &[
            ".editorconfig",
            ".npmrc",
            ".pylintrc",
            ".flake8",
            ".coveragerc",
            ".pypirc",
            "setup.cfg",
            "tox.ini",
            ".hgrc",
            ".gitreview",
            "pylintrc",
            ".buckconfig",
        ],
        ids: &["ini", "editorconfig", "systemd-conf", "systemd-unit"],
        line: &[at("#", Place::LineStart), at(";", Place::LineStart)],
        strings: &[],
        ..HASH_LIKE
    },
    Language {
        name: "git-config",
        extensions: &["gitconfig"],
        file_names: &[".gitconfig", ".gitmodules"],
        ids: &["git-config", "gitconfig"],
        line: &[line("#"), line(";")],
        strings: &[short("\"")],
        ..HASH_LIKE
    },
    Language {
        name: "properties",
        extensions: &["properties"],
        file_names: &["gradle.properties"],
        ids: &["properties", "java-properties", "jproperties"],
        line: &[at("#", Place::LineStart), at("!", Place::LineStart)],
        strings: &[],
        ..HASH_LIKE
    },
    Language {
        name: "gitignore",
        extensions: &[
            "gitignore",
            "dockerignore",
            "npmignore",
            "ignore",
            "gitattributes",
        ],
        file_names: &[
            ".gitignore",
            ".ignore",
            ".dockerignore",
            ".npmignore",
            ".eslintignore",
            ".prettierignore",
            ".helmignore",
            ".gitattributes",
            ".rgignore",
            ".fdignore",
            ".vscodeignore",
            ".stylelintignore",
            ".mailmap",
            "CODEOWNERS",
            ".git-blame-ignore-revs",
            ".cvsignore",
            ".bzrignore",
            ".babelignore",
            ".nodemonignore",
            ".vercelignore",
            ".markdownlintignore",
            ".coffeelintignore",
        ],
        ids: &["ignore", "gitignore", "gitattributes", "codeowners"],
        // A `#` behind the first column is part of a pattern.
        line: &[at("#", Place::FirstColumn)],
        strings: &[],
        ..HASH_LIKE
    },
    Language {
        name: "dotenv",
        extensions: &["env"],
        file_names: &[".env", ".env*", ".flaskenv"],
        ids: &["dotenv", "env"],
        line: &[at("#", Place::AfterBlank)],
        strings: &[
            Quote {
                place: Place::ValueStart,
                ..long("\"")
            },
            Quote {
                place: Place::ValueStart,
                ..SINGLE
            },
        ],
        ..HASH_LIKE
    },
    Language {
        name: "nginx",
        extensions: &["nginx", "nginxconf"],
        file_names: &["nginx.conf", "nginx.conf*"],
        ids: &["nginx"],
        line: WORD_START,
        strings: &[long("\""), long("'")],
        ..HASH_LIKE
    },
    Language {
        name: "apache",
        extensions: &["htaccess", "apacheconf"],
        file_names: &[".htaccess", "httpd.conf", "apache2.conf"],
        ids: &["apacheconf", "apache"],
        line: LINE_START,
        strings: &[],
        ..HASH_LIKE
    },
    Language {
        name: "conf",
        extensions: &["conf", "rules", "sources", "repo"],
        file_names: &[
            "sshd_config",
            "ssh_config",
            "crontab",
            "fstab",
            "hosts",
            ".gdbinit",
            ".inputrc",
            ".tmux.conf",
            ".screenrc",
            "Caddyfile",
            "Procfile",
            "requirements*",
            "ssh-config",
            "sshd-config",
        ],
        ids: &[
            "conf",
            "config",
            "ssh_config",
            "tmux",
            "pip-requirements",
            "crontab",
            "caddyfile",
        ],
        line: LINE_START,
        strings: &[],
        ..HASH_LIKE
    },
    Language {
        name: "po",
        extensions: &["po", "pot"],
        ids: &["po", "gettext"],
        line: LINE_START,
        strings: &[short("\"")],
        ..HASH_LIKE
    },
];
