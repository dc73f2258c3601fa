//! Turns of many threads: what is asked, told and begun once, and not for each of them.

use super::*;
use crate::model::{Model, Step};

/// So many threads, none typed here, each of other words, in `b.py` and `c.py`.
fn threads(workspace: &Workspace, each: usize) {
    for file in ["b.py", "c.py"] {
        let threads =
            (1..=each).map(|at| format!("# AUTHOR: where is f{at} of {file} defined?\n\n"));
        workspace.write(file, threads.collect::<String>() + "def f():\n    pass\n");
    }
}

fn pending(workspace: &Workspace) -> Value {
    let list = postil(workspace, &["threads", "--json"]).ok().json();
    list["summary"]["pending"].clone()
}

#[test]
fn no_turn_is_begun_for_a_reader_who_has_gone() {
    for json in [&[][..], &["--json"]] {
        let workspace = Workspace::new();
        threads(&workspace, 3);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = workspace.postil();
        command.args(["reply", "--all", "--model", "offline"]);
        let output = command.args(json).stdin(Stdio::null()).stdout(writer);
        let output = output.output().expect("postil runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(!said.contains("not begun"), "{said}");
        assert_eq!(pending(&workspace), 5, "{said}");
    }
}

#[test]
fn a_batch_asks_once_for_all_of_it() {
    // Trust and edits; trust alone; neither; nothing said.
    for (keys, edits, allowed) in [
        ("1\n1\n", 1, true),
        ("1\n2\n", 1, false),
        ("2\n", 0, false),
        ("\n", 0, false),
    ] {
        let workspace = Workspace::new();
        threads(&workspace, 3);
        workspace.write(
            "a.py",
            "# AUTHOR: rename load to load_data\ndef load():\n    pass\n",
        );
        let Some(seen) = workspace.on_a_terminal("reply --all --model offline", None, keys) else {
            return;
        };
        assert_eq!(seen.matches("Trust this workspace").count(), 1, "{seen}");
        assert_eq!(seen.matches("1 Allow edits").count(), edits, "{seen}");
        assert_eq!(pending(&workspace), 0, "{seen}");
        let renamed = workspace.read("a.py").contains("def load_data()");
        assert_eq!(renamed, allowed, "{keys:?}: {seen}");
    }
    // What was typed here needs no leave; `--yes` is no word about the folder.
    for (args, keys, trusts) in [("", "1\n2\n", true), ("--yes", "2\n", false)] {
        let workspace = Workspace::new();
        threads(&workspace, 1);
        workspace.write("a.py", "def load():\n    pass\n");
        postil(&workspace, &["new", "a.py:1", "rename load to load_data"]).ok();
        let args = format!("reply --all --model offline {args}");
        let seen = workspace
            .on_a_terminal(&args, None, keys)
            .unwrap_or_default();
        assert_eq!(seen.matches("Trust this workspace").count(), 1, "{seen}");
        assert_eq!(pending(&workspace), 0, "{seen}");
        let renamed = workspace.read("a.py").contains("def load_data()");
        assert_eq!(renamed, trusts, "{args}: {seen}");
    }
}

#[test]
fn a_model_that_there_is_not_is_told_once() {
    let workspace = Workspace::new();
    threads(&workspace, 2);
    let all = &["reply", "--all", "--model"];
    postil(&workspace, &[&all[..], &["nope"]].concat())
        .refused("the model `nope` is of no provider");
    let key = &["anthropic/claude-sonnet-5-5"];
    postil(&workspace, &[&all[..], key].concat()).refused("set ANTHROPIC_API_KEY");
    assert_eq!(pending(&workspace), 4);
    assert!(workspace.runs().is_empty());
}

#[test]
fn where_nobody_answers_one_the_others_are_not_begun() {
    let workspace = Workspace::new();
    threads(&workspace, 2);
    let refused = || Step::error(401, "authentication_error", "invalid x-api-key");
    let model = Model::start((0..8).map(|_| refused()).collect());
    let mut command = workspace.postil();
    command.args(["reply", "--all"]).envs(model.env());
    let told = ran(command.stdin(Stdio::null()).output().expect("postil runs"));
    assert_eq!(told.code, 1, "{told:?}");
    assert_eq!(workspace.runs().len(), 1, "{told:?}");
    let first = workspace.runs()[0]["thread_id"].clone();
    // Why is told once; what is left is named.
    assert_eq!(told.err.matches("was refused by").count(), 1, "{told:?}");
    assert!(!told.out.contains("was refused by"), "{told:?}");
    let left = told.err.lines().find(|line| line.contains("not begun"));
    let left = left.unwrap_or_else(|| panic!("{told:?}"));
    for id in ids(&workspace) {
        assert_eq!(left.contains(&format!("{id} in ")), first != id, "{told:?}");
    }
}

#[test]
fn a_thread_that_cannot_be_begun_is_named() {
    let workspace = Workspace::new();
    threads(&workspace, 1);
    let id = ids(&workspace).remove(0);
    let store = store(&workspace);
    store.begin(&id, "b.py", "m").expect("begun");
    let told = postil(&workspace, &["reply", "--all", "--model", "offline"]);
    let says = format!("postil: {id} in b.py: ");
    assert!(told.err.contains(&says), "{told:?}");
    assert_eq!((told.code, pending(&workspace)), (1, json!(1)), "{told:?}");
    let one = &["reply", &id[..4], "--model", "offline", "--json"];
    let told = postil(&workspace, one);
    assert_eq!(told.code, 1, "{told:?}");
    assert_eq!(told.json()["thread_id"], id.as_str(), "{told:?}");
}

#[test]
fn a_file_whose_name_is_no_utf8_is_answered_by_its_name() {
    use std::os::unix::ffi::OsStrExt as _;
    let workspace = Workspace::new();
    let name = std::ffi::OsStr::from_bytes(b"bad\xff.py");
    std::fs::write(workspace.root().join(name), "# AUTHOR: why?\n").expect("written");
    let mut command = workspace.postil();
    command.args(["reply", "--model", "offline", "--all"]);
    let told = ran(command.arg(name).output().expect("postil runs"));
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(pending(&workspace), json!(0), "{told:?}");
}
