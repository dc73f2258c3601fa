//! The rows of `editors/helix/languages.toml`: every language that this project and Helix both know, with Helix's own
//! servers, which stand in its program, and postil behind them. `POSTIL_UPDATE=1 cargo test --test e2e
//! helix::languages` writes them anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::harness::Workspace;
use crate::peers;

const BEGIN: &str = "# The rows below are made by a command: see docs/editors/helix.md.\n";
const END: &str = "\n# Threads in colour";

pub(super) fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("editors/helix/languages.toml")
}

/// What stands in Helix's program as its languages.toml.
fn built_in(name: &str) -> toml::Table {
    let launcher = std::fs::read_to_string(peers::find(name).expect(name)).expect("a launcher");
    // It ends in `exec PROGRAM "$@"`, or in `exec LOADER --library-path FOLDER PROGRAM "$@"`.
    let program = launcher.trim_end().trim_end_matches(" \"$@\"");
    let program = program.rsplit(' ').next().expect("a program").to_owned();
    let bytes = std::fs::read(program).expect("Helix's program");
    let find = |from: usize, what: &[u8]| {
        let at = bytes[from..].windows(what.len()).position(|w| w == what);
        from + at.expect("it stands there")
    };
    let start = find(0, b"use-grammars = { except");
    // It ends where what follows is no TOML any more: the last row that can be read.
    let rest = &bytes[start..];
    let text_end = rest
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(rest.len());
    let text = String::from_utf8_lossy(&rest[..text_end]);
    let mut end = text.len();
    loop {
        match text[..end].parse::<toml::Table>() {
            Ok(table) => return table,
            Err(_) => end = text[..end].rfind("\n").expect("TOML"),
        }
    }
}

/// The row of our table that a row of Helix's is about.
fn ours(row: &toml::Value) -> bool {
    let text = |key: &str| row.get(key).and_then(toml::Value::as_str);
    // What a patch and a commit's message show are others' threads: nobody asks there.
    let counts = |row: &postil_grammars::Language| {
        row.name != postil_grammars::UNKNOWN.name && row.name != "diff"
    };
    let by_name = [text("name"), text("language-id")]
        .into_iter()
        .flatten()
        .any(|name| postil_grammars::by_name(name).is_some_and(counts));
    let known = |path: &str| postil_grammars::detect(path, None, "").is_some_and(counts);
    let types = row.get("file-types").and_then(toml::Value::as_array);
    by_name
        || types.into_iter().flatten().any(|entry| {
            entry
                .as_str()
                .is_some_and(|extension| known(&format!("a.{extension}")))
        })
}

/// A server of a row as TOML: its name, or what else is said of it.
fn server(value: &toml::Value) -> String {
    match value {
        toml::Value::Table(table) => {
            let fields: Vec<String> = table.iter().map(|(k, v)| format!("{k} = {v}")).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        name => name.to_string(),
    }
}

fn rows(built_in: &toml::Table) -> String {
    let mut rows = BTreeMap::new();
    for row in built_in["language"].as_array().expect("rows") {
        let name = row["name"].as_str().expect("a name");
        if ours(row) {
            let own = row.get("language-servers").and_then(toml::Value::as_array);
            let mut servers: Vec<String> = own.into_iter().flatten().map(server).collect();
            servers.push(String::from("\"postil\""));
            rows.insert(
                name.to_owned(),
                format!(
                    "\n[[language]]\nname = \"{name}\"\nlanguage-servers = [{}]\n",
                    servers.join(", ")
                ),
            );
        }
    }
    rows.into_values().collect()
}

#[test]
fn the_rows_are_those_of_both_tables() {
    if !peers::have(&["hx"]) {
        return;
    }
    let text = std::fs::read_to_string(file()).expect("languages.toml");
    let (head, rest) = text.split_once(BEGIN).expect("where the rows begin");
    let at = rest.find(END).expect("where the rows end");
    let made = rows(&built_in("hx"));
    if std::env::var_os("POSTIL_UPDATE").is_some() {
        std::fs::write(file(), format!("{head}{BEGIN}{made}{}", &rest[at..])).expect("written");
        return;
    }
    assert!(made.matches("[[language]]").count() > 100, "{made}");
    assert!(
        made == rest[..at],
        "editors/helix/languages.toml is not what the tables say: POSTIL_UPDATE=1 cargo test --test e2e helix::languages"
    );
}

/// Helix itself reads the file, and has its own servers beside ours.
#[test]
fn helix_has_its_own_servers_and_postil() {
    for program in ["hx", "hx-new"] {
        if !peers::have(&[program]) {
            continue;
        }
        let workspace = Workspace::new();
        let config = super::config(&workspace);
        std::fs::copy(file(), config.join("languages.toml")).expect("languages.toml");
        for (language, servers) in [
            ("rust", &["rust-analyzer", "postil"][..]),
            ("python", &["ruff", "pylsp", "postil"]),
            ("toml", &["taplo", "postil"]),
            ("make", &["postil"]),
            ("typescript", &["typescript-language-server", "postil"]),
        ] {
            let output = workspace
                .command(peers::find(program).expect(program))
                .args(["--health", language])
                .output()
                .expect("Helix runs");
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            for server in servers {
                assert!(
                    said.contains(&format!(" {server}")) || said.contains(&format!("{server}:")),
                    "{program} {language}: {said}"
                );
            }
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(errors.is_empty(), "{errors}");
        }
    }
}
