//! The lists of `editors/zed/extension.toml`, held against each other and against the table of languages. What the
//! extension does is tested in its own workspace, which `.ci/run` builds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use postil_grammars::{LANGUAGES, UNKNOWN, detect};

/// Rows for which neither Zed nor an extension of it has a language, as far as was found; and those that only stand in
/// others (`jsx` is part of Zed's JavaScript). Their files are plain text to Zed, and postil tells by their names.
const NOT_IN_ZED: &[&str] = &[
    "abap",
    "apache",
    "apl",
    "autoit",
    "basic",
    "batch",
    "coffeescript",
    "coq",
    "csh",
    "eiffel",
    "fennel",
    "forth",
    "fortran-fixed",
    "gas",
    "gnuplot",
    "jsx",
    "linker-script",
    "lisp",
    "m4",
    "markdown-inline",
    "mathematica",
    "mercury",
    "modula",
    "module-definition",
    "mysql",
    "notebook",
    "php-code",
    "po",
    "postscript",
    "razor",
    "sass",
    "sed",
    "smalltalk",
    "sparql",
    "stylus",
    "troff",
    "vb",
    "vim",
    "yacc",
    "zone",
];

fn manifest() -> toml::Table {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("editors/zed/extension.toml");
    let text = std::fs::read_to_string(file).expect("extension.toml");
    text.parse().expect("TOML")
}

fn text(value: &toml::Value) -> &str {
    value.as_str().expect("a string")
}

/// The languages in the order of the file, and what postil is told for each.
fn lists(manifest: &toml::Table) -> (Vec<&str>, BTreeMap<&str, &str>) {
    let server = &manifest["language_servers"]["postil"];
    let languages = server["languages"].as_array().expect("a list");
    let ids = server["language_ids"].as_table().expect("a table");
    let ids = ids.iter().map(|(name, id)| (name.as_str(), text(id)));
    (languages.iter().map(text).collect(), ids.collect())
}

#[test]
fn every_language_is_read_under_the_id_that_zed_sends() {
    let manifest = manifest();
    let (languages, ids) = lists(&manifest);
    let names: BTreeSet<&str> = languages.iter().copied().collect();
    assert_eq!(
        names.len(),
        languages.len(),
        "a language stands there twice"
    );
    // What is in no language that Zed knows is told apart by its name and first lines.
    let named: BTreeSet<&str> = ids.keys().copied().chain(["Plain Text"]).collect();
    assert_eq!(names, named, "each language has an id");
    let mut rows = BTreeSet::new();
    for (name, id) in &ids {
        let row = detect("", Some(id), "").map_or(UNKNOWN.name, |row| row.name);
        assert_ne!(row, UNKNOWN.name, "{name}: postil knows no {id}");
        rows.insert(row);
    }
    let missing: BTreeSet<&str> = LANGUAGES
        .iter()
        .map(|row| row.name)
        // In patches and in tables nobody asks, whether Zed has a language for them or not.
        .filter(|name| !rows.contains(name) && !["diff", "csv"].contains(name))
        .collect();
    let listed: BTreeSet<&str> = NOT_IN_ZED.iter().copied().collect();
    assert_eq!(
        missing, listed,
        "a row is in Zed by now, or one that postil learned has to be looked for there"
    );
}

#[test]
fn the_extension_has_the_version_of_the_program() {
    let manifest = manifest();
    assert_eq!(
        manifest["version"].as_str(),
        Some(env!("CARGO_PKG_VERSION"))
    );
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("editors/zed/Cargo.toml");
    let text = std::fs::read_to_string(file).expect("Cargo.toml");
    let package: toml::Table = text.parse().expect("TOML");
    assert_eq!(
        package["package"]["version"].as_str(),
        Some(env!("CARGO_PKG_VERSION"))
    );
}
