//! Threads in colour, set up as editors/helix/README.md says: `hx --grammar build` makes the grammar.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::Terminal;
use crate::harness::Workspace;
use crate::peers;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn compile(sources: &Path, options: &[&str], to: &Path) {
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-I", "."])
        .args(options)
        .args(["parser.c", "scanner.c", "-o"])
        .arg(to)
        .current_dir(sources)
        .status();
    assert!(status.expect("a C compiler").success(), "{sources:?}");
}

/// The sources of a grammar that this project is built with; Debian's Helix comes without any.
fn sources_of(package: &str) -> PathBuf {
    // Of other platforms not every package need be here.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(["--filter-platform", &platform])
        .current_dir(repository())
        .output()
        .expect("cargo runs");
    let known: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = known["packages"].as_array().expect("packages");
    let manifest = packages
        .iter()
        .find(|found| found["name"] == package)
        .and_then(|found| found["manifest_path"].as_str());
    Path::new(manifest.expect("a dependency")).with_file_name("src")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// The colour that the terminal was told last before `word`.
fn colour<'a>(screen: &'a str, word: &str) -> &'a str {
    let at = screen.find(word).expect("on the screen");
    let before = &screen[..at];
    let start = before.rfind("\u{1b}[38;").expect("a colour");
    let rest = &before[start..];
    &rest[..rest.find('m').expect("the end of a colour")]
}

#[test]
fn the_grammar_colours_threads_in_helix() {
    if !peers::have(&["hx", "tmux"]) {
        return;
    }
    let workspace = Workspace::new();
    let config = workspace
        .data()
        .parent()
        .expect("a folder")
        .with_file_name("config")
        .join("helix");
    let editors = repository().join("editors/helix");
    let grammars = config.join("runtime/grammars");
    std::fs::create_dir_all(&grammars).expect("a folder");
    copy(
        &editors.join("runtime/queries"),
        &config.join("runtime/queries"),
    );
    let rows = std::fs::read_to_string(editors.join("languages.toml")).expect("languages.toml");
    let path = repository().join("grammars/tree-sitter-postil");
    std::fs::write(
        config.join("languages.toml"),
        format!("use-grammars = {{ only = [\"postil\"] }}\n{rows}\n[[grammar]]\nname = \"postil\"\nsource = {{ path = {path:?} }}\n"),
    )
    .expect("languages.toml");
    std::fs::write(config.join("config.toml"), "editor.true-color = true\n").expect("config.toml");

    let hx = |arguments: [&str; 2]| {
        let output = workspace
            .command(peers::bin().join("hx"))
            .args(arguments)
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}{errors}");
        said
    };
    hx(["--grammar", "build"]);
    let health = hx(["--health", "postil"]);
    for part in ["parser", "Highlight"] {
        let line = health.lines().find(|line| line.contains(part));
        assert!(line.is_some_and(|line| line.contains('✓')), "{health}");
    }

    // A language with comments, of which Helix has the queries.
    compile(
        &sources_of("tree-sitter-html"),
        &[],
        &grammars.join("html.so"),
    );
    // Between that language and ours stands Helix's grammar of comments. Of it no more counts than that its root
    // is a `source`, as ours is.
    compile(
        &path.join("src"),
        &["-Dtree_sitter_postil=tree_sitter_comment"],
        &grammars.join("comment.so"),
    );
    std::fs::write(
        config.join("runtime/queries/comment/highlights.scm"),
        "(link) @markup.link.url\n",
    )
    .expect("a query");
    workspace.write(
        "a.html",
        "<!-- AUTHOR(jane): said `code` more -->\n<p>AUTHOR: no</p>\n<!-- plain -->\n",
    );

    let terminal = Terminal::open(
        &workspace,
        &[("COLORTERM", "truecolor".as_ref())],
        "hx a.html",
    );
    terminal.wait("the file", |s| s.contains("plain -->"));
    let coloured = || terminal.tmux(&["capture-pane", "-e", "-p", "-t", "t"]);
    // Colours come when the text was parsed: a moment after the text.
    terminal.wait("the colours", |_| {
        let screen = coloured();
        colour(&screen, "AUTHOR") != colour(&screen, "plain")
    });
    let screen = coloured();
    assert_eq!(colour(&screen, "said"), colour(&screen, "plain"));
    assert_ne!(colour(&screen, "`code`"), colour(&screen, "plain"));
    assert_ne!(colour(&screen, "AUTHOR"), colour(&screen, "no"));
    terminal.text(":qa!");
    terminal.key("Enter");
}
