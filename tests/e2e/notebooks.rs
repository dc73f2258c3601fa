//! Threads in the cells of a notebook: told in the lines of the file, written back as JSON.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{Editor, Options, Workspace};

const FILE: &str = "lab/a.ipynb";
/// As Jupyter writes it; the outputs and the metadata hold what looks like threads.
const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "metadata": {"note": "# AUTHOR: not one"},
   "source": [
    "# Title\n",
    "\n",
    "<!-- AUTHOR: is this the title? -->"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 1,
   "metadata": {},
   "outputs": [{"name": "stdout", "output_type": "stream", "text": ["# AUTHOR: not one\n"]}],
   "source": [
    "import json  # AUTHOR: why é?\n",
    "x = '# AUTHOR: not one'"
   ]
  },
  {"cell_type": "code", "outputs": [], "source": "%%bash\nls # AUTHOR: which ones?"}
 ],
 "metadata": {"kernelspec": {"language": "python", "name": "python3"}},
 "nbformat": 4, "nbformat_minor": 5
}
"##;

fn postil(workspace: &Workspace, args: &[&str]) -> (i32, Value) {
    let output = workspace
        .postil()
        .args(args)
        .arg("--json")
        .stdin(Stdio::null())
        .output()
        .expect("postil runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let value = serde_json::from_str(&text).unwrap_or_else(|_| json!({"out": text, "err": errors}));
    (output.status.code().expect("a status"), value)
}

#[track_caller]
fn done(workspace: &Workspace, args: &[&str]) -> Value {
    let (code, value) = postil(workspace, args);
    assert_eq!(code, 0, "{args:?}: {value}");
    value
}

fn repository(line_end: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.git(&["init", "-q"]);
    workspace.write(FILE, NOTEBOOK.replace('\n', line_end));
    workspace.write("other.txt", "one\n");
    workspace.git(&["-c", "core.autocrlf=false", "add", "."]);
    workspace.git(&["commit", "-qm", "first"]);
    workspace
}

fn ids(workspace: &Workspace) -> Vec<String> {
    let list = done(workspace, &["threads"]);
    let threads = list["threads"].as_array().expect("a list").iter();
    threads
        .map(|thread| thread["id"].as_str().expect("an id").to_owned())
        .collect()
}

#[test]
fn every_verb_writes_in_the_cell_and_nowhere_else() {
    for line_end in ["\n", "\r\n"] {
        let workspace = repository(line_end);
        let text = |text: &str| text.replace('\n', line_end);
        let list = done(&workspace, &["threads"]);
        let lines: Vec<&Value> = list["threads"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|thread| &thread["start_line"])
            .collect();
        assert_eq!(lines, [9, 18, 22]);
        assert_eq!(list["threads"][1]["thread"][0]["text"], "why é?");

        let mut expected = text(NOTEBOOK);
        let mut change = |old: &str, new: &str| {
            assert!(expected.contains(&text(old)), "{old}");
            expected = expected.replace(&text(old), &text(new));
            assert_eq!(workspace.read(FILE), expected);
        };
        let ids = ids(&workspace);
        done(&workspace, &["respond", &ids[1], "For \"x\".\n\n\\ é"]);
        change(
            "    \"import json  # AUTHOR: why é?\\n\",\n",
            "    \"# AUTHOR: why é?\\n\",\n    \"# AGENT: For \\\"x\\\".\\n\",\n    \"#\\n\",\n    \"#   \\\\ é\\n\",\n    \"# AUTHOR:\\n\",\n    \"import json\\n\",\n",
        );
        done(&workspace, &["say", &ids[1], "and y?"]);
        change("\"# AUTHOR:\\n\"", "\"# AUTHOR: and y?\\n\"");
        done(&workspace, &["respond", &ids[0], "Yes."]);
        change(
            "    \"<!-- AUTHOR: is this the title? -->\"\n",
            "    \"<!-- AUTHOR: is this the title? -->\\n\",\n    \"<!-- AGENT: Yes. -->\\n\",\n    \"<!-- AUTHOR: -->\"\n",
        );
        done(&workspace, &["respond", &ids[2], "All."]);
        change(
            "\"%%bash\\nls # AUTHOR: which ones?\"",
            "\"%%bash\\n# AUTHOR: which ones?\\n# AGENT: All.\\n# AUTHOR:\\nls\"",
        );
        done(&workspace, &["new", "lab/a.ipynb:26", "a string?"]);
        change(
            "    \"x = '# AUTHOR: not one'\"\n",
            "    \"# AUTHOR: a string?\\n\",\n    \"x = '# AUTHOR: not one'\"\n",
        );
        done(&workspace, &["dismiss", &ids[0]]);
        change(
            ",\n    \"\\n\",\n    \"<!-- AUTHOR: is this the title? -->\\n\",\n    \"<!-- AGENT: Yes. -->\\n\",\n    \"<!-- AUTHOR: -->\"",
            "",
        );

        workspace.write("other.txt", "two\n");
        workspace.git(&["add", "other.txt"]);
        let cleared = done(&workspace, &["clear", FILE]);
        assert_eq!(cleared["committed"], true, "{cleared}");
        let now = workspace.read(FILE);
        let parsed: Value = serde_json::from_str(&now).expect("JSON");
        assert_eq!(
            parsed["cells"][1]["source"],
            json!(["import json\n", "x = '# AUTHOR: not one'"])
        );
        assert_eq!(parsed["cells"][2]["source"], "%%bash\nls");
        assert_eq!(
            now,
            text(NOTEBOOK)
                .replace("\"import json  # AUTHOR: why é?\\n\"", "\"import json\\n\"")
                .replace(" # AUTHOR: which ones?", "")
                .replace(
                    &text(",\n    \"\\n\",\n    \"<!-- AUTHOR: is this the title? -->\""),
                    ""
                )
        );
        assert_eq!(
            workspace.git(&["show", "--name-only", "--format=%s"]),
            "Clear review threads from a.ipynb\n\nlab/a.ipynb\n"
        );
        assert_eq!(workspace.git(&["status", "--porcelain"]), "M  other.txt\n");
        assert_eq!(done(&workspace, &["threads"])["summary"]["total"], 0);
    }
}

#[test]
fn action_words_in_cells_are_carried_out() {
    let workspace = repository("\n");
    let id = ids(&workspace)[1].clone();
    done(&workspace, &["respond", &id, "So."]);
    done(&workspace, &["say", &id, "done"]);
    done(&workspace, &["process"]);
    let list = done(&workspace, &["threads"]);
    assert_eq!(list["summary"]["total"], 2);
    assert!(workspace.read(FILE).contains("    \"import json\\n\",\n"));
}

#[test]
fn a_broken_notebook_is_told_beside_the_others() {
    let workspace = repository("\n");
    let broken = format!("<<<<<<< HEAD\n{NOTEBOOK}");
    workspace.write("broken.ipynb", &broken);
    for args in [&["threads"][..], &["threads", "broken.ipynb"]] {
        let list = done(&workspace, args);
        let told = &list["threads"][0];
        assert_eq!(told["parse_error"], true, "{list}");
        assert_eq!(told["file"], "broken.ipynb");
        assert_eq!(told["raw_content"], broken.as_str());
    }
    assert_eq!(done(&workspace, &["threads"])["summary"]["total"], 3);
    let (code, _) = postil(&workspace, &["new", "broken.ipynb:9", "why?"]);
    assert_eq!(code, 1);
    assert_eq!(workspace.read("broken.ipynb"), broken);
}

#[test]
fn an_editor_that_shows_the_json_edits_the_json() {
    let workspace = Workspace::new();
    workspace.write(FILE, NOTEBOOK);
    let mut editor = Editor::start(&workspace);
    editor.open_text(FILE, "json", NOTEBOOK);
    let shown = editor.wait_codes(FILE, &["pending", "pending", "pending"]);
    let ranges: Vec<Value> = shown.iter().map(|d| d["range"].clone()).collect();
    let range = |line: u32, from: u32, to: u32| json!({"start": {"line": line, "character": from}, "end": {"line": line, "character": to}});
    assert_eq!(
        ranges,
        [range(8, 18, 36), range(17, 28, 34), range(21, 71, 82)],
        "{ranges:?}"
    );
    editor
        .take_action(FILE, 17, "Resolve (remove thread)")
        .expect("resolved");
    let expected = NOTEBOOK.replace("json  # AUTHOR: why é?", "json");
    assert_eq!(
        editor.wait_text(FILE, |text| !text.contains("why")),
        expected
    );
    let argument = json!({"uri": editor.uri(FILE), "position": {"line": 18, "character": 3}, "text": "drop x?"});
    editor.command("postil.newThread", argument).expect("begun");
    assert_eq!(
        editor.wait_text(FILE, |text| text.contains("drop")),
        expected.replace("    \"x = ", "    \"# AUTHOR: drop x?\\n\",\n    \"x = ")
    );
}

/// What an editor has not saved in a notebook that it shows as cells is not written over on disk.
#[test]
fn what_an_editor_has_unsaved_in_the_cells_is_written_by_it_or_not_at_all() {
    let workspace = Workspace::new();
    workspace.write(FILE, NOTEBOOK);
    let options = json!({"threads": true, "notebooks": true});
    let mut editor = Editor::start_with(
        &workspace,
        Options {
            initialization_options: options,
            ..Options::default()
        },
    );
    let told = editor.wait_message("postil/threads", |m| m["uri"] == editor.uri(FILE));
    let threads = told["threads"].as_array().expect("a list");
    let why = threads
        .iter()
        .find(|t| t["messages"][0]["text"] == "why é?");
    let id = why.expect("that thread")["id"].clone();
    let named = json!({"uri": editor.uri(FILE), "thread_id": id});
    let after = NOTEBOOK.replace("json  # AUTHOR: why é?", "json");

    let refused = json!({"refused": "its cells could not be saved; save it first"});
    editor.state().written = vec![refused];
    let error = editor.command("postil.dismissThread", named.clone());
    let error = error.expect_err("refused").to_string();
    assert!(
        error.contains("could not be saved; save it first"),
        "{error}"
    );
    assert_eq!(workspace.read(FILE), NOTEBOOK);

    editor.state().written = vec![json!({"changed": true}), json!({"written": true})];
    let resolved = editor.command("postil.dismissThread", named.clone());
    resolved.expect("resolved by the editor");
    // It would have saved it.
    assert_eq!(workspace.read(FILE), NOTEBOOK);
    let asked: Vec<Value> = (editor.state().received.iter())
        .filter(|m| m["method"] == "postil/write")
        .map(|m| m["params"].clone())
        .collect();
    let wanted = json!({"uri": editor.uri(FILE), "before": NOTEBOOK, "after": after});
    assert_eq!(asked, vec![wanted; 3]);

    let resolved = editor.command("postil.dismissThread", named);
    resolved.expect("resolved on the disk");
    assert_eq!(workspace.read(FILE), after);
}

/// The cells of a notebook that an editor shows as such are documents of a scheme of their own: they are
/// no files, nothing is said of them, and nothing breaks.
#[test]
fn cells_that_are_sent_one_by_one_are_passed_over() {
    let workspace = Workspace::new();
    workspace.write("a.py", "# AUTHOR: why?\n");
    let mut editor = Editor::start(&workspace);
    let uri = editor.uri(FILE).replace("file:", "vscode-notebook-cell:") + "#W0sZmlsZQ%3D%3D";
    editor.notify("textDocument/didOpen", json!({"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": "# AUTHOR: why?\n"}}));
    editor.open("a.py");
    editor.wait_codes("a.py", &["pending"]);
    let lenses = editor.request(
        "textDocument/codeAction",
        json!({"textDocument": {"uri": uri}, "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "context": {"diagnostics": []}}),
    );
    assert!(
        lenses
            .as_ref()
            .is_ok_and(|answer| answer.as_array().is_none_or(Vec::is_empty)),
        "{lenses:?}"
    );
}
