//! The packaged extension in the real VS Code (code-server in headless Chromium), driven as a person would:
//! editors/vscode/test/browser/cases.mjs has what is done there, this makes the project.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::harness::Workspace;
use crate::peers;

fn extension() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("editors/vscode")
}

/// The Node that came with code-server.
fn node() -> PathBuf {
    let modules = peers::bin().join("../code-server/node_modules");
    let found = std::fs::read_dir(modules)
        .into_iter()
        .flatten()
        .flatten()
        .find(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .starts_with("node-linux")
        });
    found.map_or_else(|| "node".into(), |entry| entry.path().join("bin/node"))
}

/// Whether the editor is there, and what the extension is built with.
fn ready() -> bool {
    peers::have(&["code-server"]) && peers::have_built("editors/vscode/node_modules")
}

/// The extension, packaged from the sources as they are.
fn packaged() -> PathBuf {
    static PACKAGED: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    PACKAGED
        .get_or_init(|| {
            let made = Command::new(node())
                .arg(extension().join("scripts/package.mjs"))
                .output()
                .expect("node runs");
            let said = String::from_utf8_lossy(&made.stderr);
            assert!(made.status.success(), "the extension is packaged: {said}");
            extension().join("dist/postil.vsix")
        })
        .clone()
}

/// Runs a case; of one that fails there are pictures in target/vscode.
fn run(case: &str, workspace: &Workspace) -> Result<(), String> {
    let out = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/vscode");
    let binary = Path::new(env!("CARGO_BIN_EXE_postil"));
    let old = std::env::var_os("PATH").unwrap_or_default();
    let path = binary
        .parent()
        .map(Path::to_owned)
        .into_iter()
        .chain(std::env::split_paths(&old));
    let done = workspace
        .command(node())
        .arg(extension().join("test/browser/cases.mjs"))
        .arg(case)
        .arg(workspace.root())
        .arg(packaged())
        .arg(&out)
        .env("PATH", std::env::join_paths(path).expect("a PATH"))
        .env("POSTIL_BINARY", binary)
        .env("POSTIL_PEERS_DIR", peers::bin().join(".."))
        .output()
        .expect("node runs");
    let said = String::from_utf8_lossy(&done.stdout);
    let errors = String::from_utf8_lossy(&done.stderr);
    if done.status.success() {
        Ok(())
    } else {
        Err(format!("{case}: {said}{errors}"))
    }
}

const NOTES: &str = "fn load() {}\n\nfn lod() {}\n\n// AUTHOR: why?\n// AGENT: Because of `lod`.\n// AUTHOR:\nfn x() { lod(); }\n// TODO: something\n";

/// `case` in a project with `files`, committed.
fn case(name: &str, files: &[(&str, &str)]) {
    if !ready() {
        return;
    }
    // An editor, its extension host and a browser each: one after the other is sooner done.
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = ALONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let workspace = Workspace::new();
    for (file, text) in files {
        workspace.write(file, text);
    }
    workspace.git(&["init", "-q"]);
    workspace.git(&["add", "-A"]);
    workspace.git(&["commit", "-q", "-m", "Begin"]);
    if let Err(why) = run(name, &workspace) {
        panic!("{why}");
    }
}

#[test]
fn a_thread_is_asked_answered_resolved_and_undone_in_the_margin() {
    case("main", &[("notes.rs", NOTES)]);
}

#[test]
fn a_text_that_ends_its_own_code_loads_and_links_nothing_in_the_margin() {
    let said = [
        "Which?",
        "```",
        "code",
        "```~",
        "![x](https://evil.example/p.png)",
        "[Show details](command:postil.choose?%5B%5D)",
        "the end",
        "```",
        "(a) tokio",
        "(b) ![i](https://evil.example/q.png) [No](https://evil.example)",
    ];
    let text = format!(
        "// AUTHOR: why?\n// AGENT: {}\n// AUTHOR:\nfn x() {{}}\n",
        said.join("\n//   ")
    );
    case("texts", &[("notes.rs", &text)]);
}

#[test]
fn ones_own_words_are_edited_and_taken_back_in_the_margin() {
    case("edit", &[("notes.rs", NOTES)]);
}

#[test]
fn an_unsent_reply_stays_at_its_thread_in_a_file_that_is_opened_again() {
    let text = "use a;\nuse z;\n// AUTHOR: why?\nfn a() {}\n// AUTHOR: why?\nfn b() {}\n";
    case("reopened", &[("dup.rs", text)]);
}

const LOAD: &str = "use std::path::Path;\n\npub fn load(name: &str) -> String {\n    std::fs::read_to_string(name).unwrap()\n}\n";
const MAIN: &str = "fn main() {\n    println!(\"{}\", load(\"notes\"));\n}\n";

#[test]
fn a_run_is_read_while_it_goes_on_and_reviewed_file_by_file() {
    case("run", &[("load.rs", LOAD), ("main.rs", MAIN)]);
}

#[test]
fn a_conversation_is_there_again_in_a_window_that_is_loaded_anew() {
    case("reload", &[("load.rs", LOAD), ("main.rs", MAIN)]);
}

#[test]
fn a_turn_is_begun_cancelled_and_answered_by_lens_bulb_and_button() {
    case("turn", &[("load.rs", LOAD), ("notes.rs", NOTES)]);
}

#[test]
fn a_turn_that_paused_goes_on_from_where_the_thread_stands() {
    case("paused", &[("load.rs", LOAD)]);
}

#[test]
fn what_an_agent_wants_to_change_is_accepted_and_rejected_before_it_is_made() {
    case("review", &[("load.rs", LOAD), ("main.rs", MAIN)]);
}

#[test]
fn a_turn_whose_file_is_deleted_meanwhile_leads_to_its_conversation() {
    case("gone", &[("load.rs", LOAD), ("main.rs", MAIN)]);
}

#[test]
fn an_agent_that_answers_takes_the_keyboard_from_nobody() {
    case("keys", &[("load.rs", LOAD), ("main.rs", MAIN)]);
}

#[test]
fn who_presses_a_message_and_comes_back_by_a_key_loses_no_key() {
    case("back", &[("a.rs", "// AUTHOR: why\nfn a() {}\n")]);
}

#[test]
fn an_unsent_reply_whose_box_goes_is_handed_back() {
    let text = "// AUTHOR: why\nfn a() {}\n";
    case(
        "drafts",
        &[
            ("a.rs", text),
            ("c.rs", "fn c() {}\n"),
            ("d.rs", text),
            ("all.code-workspace", r#"{"folders": [{"path": "."}]}"#),
        ],
    );
}

#[test]
fn a_review_that_was_open_is_shut_in_a_window_that_is_loaded_anew() {
    case("overview", &[("load.rs", LOAD), ("main.rs", MAIN)]);
}

#[test]
fn what_the_palette_and_the_settings_do_is_done_at_once() {
    let todos = "// AUTHOR: list todos\nfn a() {}\n\nfn b() {} // TODO: something\n";
    case("palette", &[("a.rs", todos), ("notes.rs", NOTES)]);
}

#[test]
fn a_folder_that_is_not_trusted_is_only_read() {
    let text = "// AUTHOR: why?\n// AGENT: So.\n// AUTHOR:\nfn load() {}\n";
    case("trust", &[("load.rs", text)]);
}

#[test]
fn trust_that_is_given_while_the_server_starts_holds() {
    let text = "# AUTHOR: rename load to load_rows\ndef load(): pass\nload()\n";
    case("late", &[("a.py", text)]);
}

#[test]
fn two_windows_on_one_folder_show_the_same() {
    case("windows", &[("notes.rs", NOTES)]);
}

#[test]
fn a_server_that_is_missing_old_or_broken_is_told_of_once() {
    case("faults", &[("notes.rs", NOTES)]);
}

#[test]
fn a_server_that_is_slow_stopped_or_wrongly_set_is_told_of_once() {
    case("slow", &[("notes.rs", NOTES)]);
}

#[test]
fn a_file_that_is_none_too_large_outside_moved_or_gone_is_told_of_and_loses_nothing() {
    case("files", &[("notes.rs", NOTES)]);
}

#[test]
fn a_workspace_of_several_roots_has_one_server_and_all_threads() {
    let folders = r#"{"folders": [{"path": "one"}, {"path": "two"}, {"uri": "tmp:/nowhere"}]}"#;
    let todos = "// AUTHOR: list todos\nfn b() {}\n// TODO: something\n";
    let files = [
        ("all.code-workspace", folders),
        ("one/notes.rs", todos),
        ("two/notes.rs", todos),
    ];
    case("roots", &files);
}

#[test]
fn a_turn_whose_folder_leaves_the_workspace_is_told_to_have_been_cut_off() {
    let folders = r#"{"folders": [{"path": "one"}, {"path": "two"}]}"#;
    let files = [
        ("all.code-workspace", folders),
        ("one/other.rs", "fn a() {}\n"),
        ("two/notes.rs", "// AUTHOR: what is it?\nfn b() {}\n"),
    ];
    case("left", &files);
}

fn notebook(cells: &[serde_json::Value]) -> String {
    let metadata = serde_json::json!({"language_info": {"name": "python"}});
    serde_json::json!({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4})
        .to_string()
}

fn code_cell(source: &[&str]) -> serde_json::Value {
    serde_json::json!({"cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": null})
}

#[test]
fn a_thread_in_a_notebook_is_answered_in_its_cell() {
    let notes = serde_json::json!({"cell_type": "markdown", "metadata": {}, "source": ["# Notes"]});
    let code = code_cell(&["# AUTHOR: list todos\n", "x = 1  # TODO: something"]);
    case("notebook", &[("a.ipynb", &notebook(&[notes, code]))]);
}

#[test]
fn what_is_written_into_a_notebook_that_is_not_saved_is_kept_and_so_is_what_was_typed() {
    let cells = [
        code_cell(&["# AUTHOR: why one?\n", "x = 1"]),
        code_cell(&["y = 2"]),
        code_cell(&["# AUTHOR: and this?\n", "k = 3"]),
    ];
    case("unsaved", &[("a.ipynb", &notebook(&cells))]);
}

#[test]
fn the_first_minutes_lead_from_no_program_to_one_that_came_along() {
    case("start", &[("notes.rs", NOTES)]);
}

#[test]
fn a_web_window_says_why_it_cannot() {
    case("web", &[("notes.rs", NOTES)]);
}

/// editors/vscode/test/host: what needs no eyes.
#[test]
fn the_extension_keeps_its_word_inside_the_extension_host() {
    case("host", &[("notes.rs", NOTES)]);
}

#[test]
fn markers_are_coloured_in_the_languages_that_come_with_the_editor() {
    if !peers::have(&["code-server"]) {
        return;
    }
    let looked = Command::new(node())
        .arg(extension().join("test/grammars.mjs"))
        .arg(peers::bin().join(".."))
        .output()
        .expect("node runs");
    let said = String::from_utf8_lossy(&looked.stderr);
    assert!(looked.status.success(), "{said}");
}

#[test]
fn the_settings_are_those_of_the_server() {
    if !peers::have(&["code-server"]) {
        return;
    }
    let checked = Command::new(node())
        .arg(extension().join("scripts/settings.mjs"))
        .args([env!("CARGO_BIN_EXE_postil"), "--check"])
        .output()
        .expect("node runs");
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{said}");
}

/// Prints the names in a package, of which all that it ends with tells: the list of what is in it.
const IN_PACKAGE: &str = r#"
const zip = require("node:fs").readFileSync(process.argv[1]);
const end = zip.lastIndexOf("PK\x05\x06", undefined, "latin1");
let at = zip.readUInt32LE(end + 16);
for (let left = zip.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [name, extra, said] = [28, 30, 32].map((part) => zip.readUInt16LE(at + part));
    console.log(zip.toString("utf8", at + 46, at + 46 + name));
    at += 46 + name + extra + said;
}
"#;

#[test]
fn two_that_are_packaged_at_the_same_time_do_not_disturb_each_other() {
    if !ready() {
        return;
    }
    let package = || {
        Command::new(node())
            .arg(extension().join("scripts/package.mjs"))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("node starts")
    };
    let both = [package(), package()];
    let pids = both.each_ref().map(std::process::Child::id);
    for made in both {
        let made = made.wait_with_output().expect("node ends");
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{said}");
    }
    let dist = extension().join("dist");
    let packaged = Command::new(node())
        .args(["-e", IN_PACKAGE])
        .arg(dist.join("postil.vsix"))
        .output()
        .expect("node runs");
    let packaged = String::from_utf8_lossy(&packaged.stdout);
    let wanted = [
        "dist/extension.js",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "LICENSE-THIRD-PARTY",
    ];
    for name in wanted {
        let name = format!("extension/{name}");
        assert!(
            packaged.lines().any(|one| one == name),
            "{name}: {packaged}"
        );
    }
    // Of these two; another may be made at this moment.
    let left = std::fs::read_dir(dist).expect("a folder").flatten();
    for name in left.map(|entry| entry.file_name()) {
        let name = name.to_string_lossy();
        assert!(
            !pids.iter().any(|pid| name.starts_with(&format!("{pid}-"))),
            "{name}"
        );
    }
}
