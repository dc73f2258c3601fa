//! Commits that meet each other, or another program that writes into the repository.

use std::ffi::OsStr;

use serde_json::json;

use super::ends::SLOW;
use super::{ASKED, CLEAN, CLEARED, Repository, editor, said};
use crate::harness::wait_until;

/// *Save All* behind several *Clear threads and commit file*.
#[test]
fn files_that_are_saved_together_are_all_committed() {
    let it = Repository::new();
    let files = ["a.py", "c.py", "d.py", "e.py"];
    for file in files {
        it.workspace.write(file, ASKED);
    }
    // As long as the first one's runs, the others would find the index locked.
    it.hook("pre-commit", SLOW);
    let mut editor = editor(&it);
    for file in files {
        if file != "a.py" {
            editor.open(file);
        }
        editor
            .take_action(file, 0, "Clear threads and commit file")
            .expect("cleared");
        editor.wait_text(file, |text| text == CLEARED);
    }
    for file in files {
        editor.save(file);
    }
    wait_until("a commit is begun", || it.workspace.path("begun").exists());
    it.workspace.write("go", "");
    for file in files {
        said(&editor, &format!("committed {file} as"));
        assert_eq!(it.git(&["show", &format!("HEAD:{file}")]), CLEARED);
    }
    assert_eq!(it.git(&["rev-list", "--count", "HEAD"]), "5\n");
}

#[test]
fn the_commit_that_is_told_is_the_one_that_was_made() {
    let it = Repository::new();
    it.hook(
        "post-commit",
        "test -e once && exit; touch once; echo more >> b.py; git commit -qm Hook b.py",
    );
    let done = it.clear().ok();
    assert_eq!(it.git(&["log", "-1", "--format=%s"]), "Hook\n");
    let told = done["commit_hash"].as_str().expect("a hash");
    let subject = it.git(&["log", "-1", "--format=%s", told]);
    assert_eq!(subject, "Clear review threads from a.py\n");

    // As a pattern, the name would fit that of the hook's file.
    let it = Repository::new();
    it.hook(
        "post-commit",
        "test -e once && exit; touch once; echo more >> b.py; git commit -qm Hook b.py",
    );
    it.workspace.write("[ab].py", ASKED);
    let root = it.workspace.root();
    let done = it.clear_file(root, OsStr::new("[ab].py"), &[]).ok();
    assert_eq!(it.git(&["log", "-1", "--format=%s"]), "Hook\n");
    let told = done["commit_hash"].as_str().expect("a hash");
    let subject = it.git(&["log", "-1", "--format=%s", told]);
    assert_eq!(subject, "Clear review threads from [ab].py\n");
}

#[test]
fn a_lock_that_another_program_holds_for_a_moment_is_waited_for() {
    let it = Repository::new();
    it.trust();
    for file in ["a.py", "new.py"] {
        it.workspace.write(file, ASKED);
        let lock = it.workspace.write(".git/index.lock", "");
        let mut clear = it.workspace.postil();
        let clear = clear.args(["clear", file]).spawn().expect("postil runs");
        wait_until("the threads leave the file", || {
            it.workspace.read(file) == CLEARED
        });
        std::fs::remove_file(lock).expect("removed");
        let out = clear.wait_with_output().expect("postil ends");
        assert!(out.status.success(), "{file}: {out:?}");
        assert_eq!(it.git(&["show", &format!("HEAD:{file}")]), CLEARED);
    }
}

#[test]
fn threads_that_are_closed_together_are_all_in_the_notes() {
    let it = Repository::new();
    it.workspace.configure("[workflow]\nshare = \"notes\"\n");
    let file = |at: usize| match at {
        0 => String::from("a.py"),
        at => format!("{at}.py"),
    };
    for at in 0..6 {
        let text = format!("# AUTHOR: question {at}\n{CLEAN}");
        it.workspace.write(&file(at), text);
    }
    it.trust();
    let mut editor = editor(&it);
    let list = editor.command("postil.listThreads", json!({}));
    let list = list.expect("a list");
    let threads = list["threads"].as_array().expect("threads");
    assert_eq!(threads.len(), 6, "{list}");
    let asked: Vec<i64> = threads
        .iter()
        .map(|thread| {
            let argument = json!({"thread_id": thread["id"]});
            let call = json!({"command": "postil.dismissThread", "arguments": [argument]});
            editor.ask("workspace/executeCommand", call)
        })
        .collect();
    for id in asked {
        editor.answer(id).expect("resolved");
    }
    let note = it.git(&["notes", "--ref=postil", "show"]);
    for at in 0..6 {
        assert!(note.contains(&format!("question {at}")), "{at}: {note}");
    }
}

/// A failure of git's is no secret: what was said is in no note then.
#[test]
fn a_note_that_cannot_be_written_is_told() {
    let it = Repository::new();
    it.workspace.configure("[workflow]\nshare = \"notes\"\n");
    it.trust();
    // A ref of this name leaves no room for one below it.
    it.git(&["update-ref", "refs/notes", "HEAD"]);
    let out = it.workspace.postil().args(["clear", "a.py"]).output();
    let out = out.expect("postil runs");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    assert!(
        said.contains("could not be written as a git note"),
        "{said}"
    );
    assert_ne!(it.read(), CLEAN);
}

/// Between our first look at the index and our `git add`, by a git on PATH that stages it before ours does its work.
#[test]
fn what_another_program_stages_meanwhile_stays_staged_when_a_commit_is_refused() {
    let it = Repository::new();
    it.hook("pre-commit", "echo 'not on a Friday' >&2; exit 1");
    it.workspace.write("new.py", ASKED);
    it.workspace.write("other.py", "mine\n");
    it.trust();
    let path = std::env::var("PATH").expect("a PATH");
    let script = format!(
        "PATH='{path}'\nfor word; do\n  if test \"$word\" = add; then git add -- other.py; fi\ndone\nexec git \"$@\""
    );
    let git = it.script("../bin of mine/git", &script);
    // Without `..`: what is below the workspace by its name is not run.
    let git = git.canonicalize().expect("it is there");
    let first = git.parent().expect("a folder").display();
    let out = it
        .workspace
        .postil()
        .args(["clear", "new.py"])
        .env("PATH", format!("{first}:{path}"))
        .output()
        .expect("postil runs");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("not on a Friday"), "{said}");
    let staged = it.git(&["diff", "--cached", "--name-only"]);
    assert_eq!(staged, "other.py\n");
    assert_eq!(it.workspace.read("new.py"), ASKED);
}
