//! What editors call languages: a file is read in the same way under the id that an editor gives it and, without an
//! editor, by its name. Of each editor's own list every name and id is tried.

use std::collections::BTreeSet;
use std::path::Path;

use postil_grammars::detect;
use serde_json::Value;

use crate::peers;

/// Names that are told apart, as `name id`, by why. Whoever mends one takes it out here.
type Known = &'static [(&'static str, &'static str)];

/// What is not the same: `name id: by its name / by its id`.
fn differences(names: impl Iterator<Item = (String, String)>) -> BTreeSet<String> {
    names
        .filter_map(|(name, id)| {
            let row = |path: &str, id: Option<&str>| detect(path, id, "").map(|row| row.name);
            let by_id = row("", Some(&id)).and_then(|_| row(&name, Some(&id)));
            // `.bashrc` is a name for some editors and an extension for others.
            let as_extension = name.strip_prefix('.').map(|_| format!("a{name}"));
            let by_name = row(&name, None).or(as_extension.and_then(|path| row(&path, None)));
            (by_id != by_name).then(|| {
                let shown = |row: Option<&'static str>| row.unwrap_or("unknown");
                format!("{name} {id}: {} / {}", shown(by_name), shown(by_id))
            })
        })
        .collect()
}

fn check(editor: &str, found: &BTreeSet<String>, known: Known) {
    let listed: BTreeSet<String> = known
        .iter()
        .flat_map(|(_, names)| names.lines())
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    let new: Vec<_> = found.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(found).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "{editor} names languages otherwise: {new:#?}\nand these are the same by now: {gone:#?}"
    );
}

/// The plain rows of a table of Neovim's `filetype.lua`: those that need no look into the file.
fn rows(source: &str, table: &str) -> Vec<(String, String)> {
    let begin = format!("-- BEGIN {table}\n");
    let end = format!("-- END {table}\n");
    let rows = source
        .split_once(&begin)
        .and_then(|(_, rest)| rest.split_once(&end));
    let row = |line: &str| {
        let (name, id) = line.trim().strip_suffix("',")?.split_once(" = '")?;
        let name = name.trim_start_matches("['").trim_end_matches("']");
        Some((name.to_owned(), id.to_owned()))
    };
    rows.map_or("", |(rows, _)| rows)
        .lines()
        .filter_map(row)
        .collect()
}

#[test]
fn files_are_named_as_neovim_names_them() {
    if !peers::have(&["nvim"]) {
        return;
    }
    let file = peers::bin().join("../nvim/root/usr/share/nvim/runtime/lua/vim/filetype.lua");
    let source = std::fs::read_to_string(file).expect("Neovim's list");
    let extensions = rows(&source, "EXTENSION");
    let names = rows(&source, "FILENAME");
    assert!(
        extensions.len() > 800 && names.len() > 300,
        "the list is read"
    );
    let extensions = extensions
        .into_iter()
        .map(|(name, id)| (format!("a.{name}"), id));
    check("Neovim", &differences(extensions.chain(names)), NEOVIM);
}

const NEOVIM: Known = &[
    (
        "comments are allowed in some files of this name only; an editor says so by its id",
        "
        .vsconfig jsonc: json / jsonc
        ",
    ),
    (
        "told by the folder that the file lies in",
        "
        /.aptitude/config aptconf: unknown / conf
        /.cargo/config toml: unknown / toml
        /.cargo/credentials toml: unknown / toml
        /.gnupg/options gpg: unknown / conf
        /.libao libao: unknown / conf
        /.mplayer/config mplayerconf: unknown / conf
        /boot/grub/menu.lst grub: unknown / conf
        /etc/blkid.tab xml: unknown / xml
        /etc/blkid.tab.old xml: unknown / xml
        /etc/conf.modules modconf: unknown / conf
        /etc/default/cdrdao cdrdaoconf: unknown / conf
        /etc/defaults/cdrdao cdrdaoconf: unknown / conf
        /etc/modules modconf: unknown / conf
        ",
    ),
    (
        "two languages have the ending; without an editor the other one is meant",
        "
        .indent.pro indent: prolog / unknown
        a.INF inform: ini / unknown
        a.L lisp: yacc / lisp
        a.as atlas: actionscript / unknown
        a.bb bitbake: clojure / bash
        a.comp mason: glsl / unknown
        a.fsh fsh: glsl / unknown
        a.gp gp: gnuplot / unknown
        a.ii initng: cpp / unknown
        a.inf inform: ini / unknown
        a.ll lifelines: yacc / unknown
        a.master master: jsp / unknown
        a.pac plm: javascript / unknown
        a.theme php: ini / php
        a.tpl smarty: go-template / unknown
        a.tpp tpp: cpp / unknown
        cm3.cfg m3quake: ini / unknown
        texdoc.cnf conf: ini / conf
        texmf.cnf texmf: ini / unknown
        ",
    ),
    (
        "not by the ending alone: others have it that are no such text",
        "
        a.afm postscr: unknown / postscript
        a.lib cobol: unknown / cobol
        a.pdb prolog: unknown / prolog
        ",
    ),
];

#[test]
fn files_are_named_as_vs_code_names_them() {
    if !peers::have(&["code-server"]) {
        return;
    }
    let folder = peers::bin().join("../code-server/node_modules/code-server/lib/vscode/extensions");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).expect("VS Code's extensions") {
        let manifest = entry.expect("an entry").path().join("package.json");
        names.extend(contributed(&manifest));
    }
    assert!(names.len() > 400, "the lists are read");
    check("VS Code", &differences(names.into_iter()), VS_CODE);
}

/// The names of files and ids of languages that an extension tells VS Code of.
fn contributed(manifest: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(manifest).unwrap_or_default();
    let manifest: Value = serde_json::from_str(&text).unwrap_or_default();
    let languages = manifest["contributes"]["languages"].as_array();
    let of = |language: &Value| -> Vec<(String, String)> {
        let id = language["id"].as_str().unwrap_or_default().to_owned();
        let list = |key: &str| language[key].as_array().cloned().unwrap_or_default();
        let extensions = list("extensions").into_iter();
        let extensions = extensions.filter_map(|e| Some(e.as_str()?.to_owned()));
        let names = list("filenames").into_iter();
        let names = names.filter_map(|name| Some(name.as_str()?.to_owned()));
        extensions
            .chain(names)
            .map(|name| (name, id.clone()))
            .collect()
    };
    languages.into_iter().flatten().flat_map(of).collect()
}

const VS_CODE: Known = &[
    (
        "comments are allowed in some files of this name only; an editor says so by its id",
        "
        argv.json jsonc: json / jsonc
        extensions.json jsonc: json / jsonc
        keybindings.json jsonc: json / jsonc
        launch.json jsonc: json / jsonc
        mcp.json jsonc: json / jsonc
        profiles.json jsonc: json / jsonc
        settings.json jsonc: json / jsonc
        tasks.json jsonc: json / jsonc
        ",
    ),
    (
        "two languages have the ending; without an editor the other one is meant",
        "
        .bas vb: basic / vb
        .cpy python: cobol / python
        .h cpp: c / cpp
        .h.in cpp: c / cpp
        .m objective-c: matlab / objective-c
        .mdoc html: troff / html
        .mod xml: modula / xml
        .vsh hlsl: v / glsl
        SKILL.md skill: markdown / unknown
        user-dirs.dirs dotenv: bash / dotenv
        ",
    ),
    (
        "not by the ending alone: others have it, or nothing in such a file is a comment",
        "
        .csproj.user xml: unknown / xml
        .css.map json: unknown / json
        .js.map json: unknown / json
        .litcoffee markdown: unknown / markdown
        .pod perl: unknown / perl
        .pubxml.user xml: unknown / xml
        .ron markdown: unknown / markdown
        .ts.map json: unknown / json
        .vbproj.user xml: unknown / xml
        .vcxproj.filters xml: unknown / xml
        ",
    ),
];
