//! `postil clear`, and its like in an editor, on real repositories: what is committed, what is refused and put back.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{Editor, Options, Workspace};

mod ends; // what becomes of a commit when something else ends or moves
mod together;
mod trusted; // hooks and signatures that are left out // several at once, and other programs that lock the index

const CLEAN: &str = "one\ntwo\n";
const ASKED: &str = "# AUTHOR: why?\none\n2\n";
const CLEARED: &str = "one\n2\n";

/// A trusted repository whose `a.py` is committed as [`CLEAN`] and stands on disk as [`ASKED`].
struct Repository {
    workspace: Workspace,
}

struct Cleared {
    code: Option<i32>,
    json: Value,
}

impl Cleared {
    #[track_caller]
    fn ok(self) -> Value {
        assert_eq!(self.code, Some(0), "{}", self.json);
        self.json
    }

    /// git's own words are in what is said.
    #[track_caller]
    fn refused(&self, words: &str) {
        assert_eq!(self.code, Some(1), "{}", self.json);
        let said = self.json["error"].as_str().unwrap_or_default();
        assert!(said.contains(words), "{words:?} in {}", self.json);
    }
}

impl Repository {
    fn new() -> Self {
        let it = Self::empty();
        it.workspace.write("a.py", CLEAN);
        it.workspace.write("b.py", "b\n");
        it.git(&["add", "."]);
        it.git(&["commit", "-qm", "First"]);
        it.workspace.write("a.py", ASKED);
        it
    }

    fn empty() -> Self {
        let workspace = Workspace::new();
        workspace.git(&["init", "-q", "-b", "main"]);
        Self { workspace }
    }

    /// Hooks and settings of a repository are trusted as they are now.
    fn trust(&self) {
        let out = self.workspace.postil().args(["trust", "--yes"]).output();
        assert!(out.expect("postil runs").status.success());
    }

    fn git(&self, args: &[&str]) -> String {
        self.workspace.git(args)
    }

    fn read(&self) -> String {
        self.workspace.read("a.py")
    }

    fn clear(&self) -> Cleared {
        self.clear_file(self.workspace.root(), OsStr::new("a.py"), &[])
    }

    fn clear_file(&self, folder: &Path, file: &OsStr, more: &[&str]) -> Cleared {
        self.trust();
        let mut command = self.workspace.postil();
        command.current_dir(folder).args(["clear", "--json"]);
        let out = command
            .args(more)
            .arg("--")
            .arg(file)
            .output()
            .expect("postil runs");
        Cleared {
            code: out.status.code(),
            json: serde_json::from_slice(&out.stdout)
                .unwrap_or_else(|error| panic!("{error}: {out:?}")),
        }
    }

    fn script(&self, path: &str, text: &str) -> PathBuf {
        let path = self.workspace.write(path, format!("#!/bin/sh\n{text}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
            .expect("executable");
        path
    }

    fn hook(&self, name: &str, text: &str) {
        self.script(&format!(".git/hooks/{name}"), text);
    }

    /// The index, entry by entry, and the commit that it stands on.
    fn state(&self) -> String {
        let head = self
            .workspace
            .command("git")
            .args(["rev-parse", "--verify", "-q", "HEAD"])
            .output();
        let head = String::from_utf8(head.expect("git runs").stdout).expect("a hash");
        format!("{head}{}", self.git(&["ls-files", "--stage", "-v"]))
    }

    /// Clears `a.py`; nothing changes, and git's words come back.
    #[track_caller]
    fn refuses(&self, words: &str) {
        let (file, state) = (self.read(), self.state());
        let index = std::fs::read(self.workspace.path(".git/index")).ok();
        let cleared = self.clear();
        cleared.refused(words);
        assert_eq!(self.read(), file);
        assert_eq!(self.state(), state);
        if !state.contains("a.py") {
            assert_eq!(std::fs::read(self.workspace.path(".git/index")).ok(), index);
        }
        let left = std::fs::read_dir(self.workspace.root())
            .expect("read")
            .flatten();
        let mut left = left.map(|entry| entry.file_name().to_string_lossy().into_owned());
        assert!(left.all(|name| !name.starts_with(".postil-")));
    }

    fn committed(&self) -> String {
        self.git(&["show", "--format=%s", "--name-only", "HEAD"])
    }
}

// -- what is committed ----------------------------------------------------------------------------

#[test]
fn other_staged_files_stay_staged() {
    let it = Repository::new();
    it.workspace.write("b.py", "changed\n");
    it.workspace.write("new.py", "new\n");
    it.git(&["add", "b.py", "new.py"]);
    let done = it.clear().ok();
    assert_eq!(done["other_staged_files"], json!(["b.py", "new.py"]));
    assert_eq!(it.committed(), "Clear review threads from a.py\n\na.py\n");
    assert_eq!(it.git(&["status", "--porcelain"]), "M  b.py\nA  new.py\n");
    let short = done["commit_hash"].as_str().expect("a hash").to_owned();
    assert!(it.git(&["rev-parse", "HEAD"]).starts_with(&short));
}

#[test]
fn a_partly_staged_file_is_committed_as_it_stands() {
    let it = Repository::new();
    it.workspace.write("a.py", "one\nstaged\n");
    it.git(&["add", "a.py"]);
    it.workspace
        .write("a.py", "# AUTHOR: why?\none\nstaged\nnot staged\n");
    let done = it.clear().ok();
    assert!(
        done["note"]
            .as_str()
            .is_some_and(|note| note.contains("partly staged")),
        "{done}"
    );
    assert_eq!(it.git(&["show", "HEAD:a.py"]), "one\nstaged\nnot staged\n");
    assert_eq!(it.git(&["status", "--porcelain"]), "");
}

#[test]
fn the_first_commit_of_a_repository() {
    let it = Repository::empty();
    it.workspace.write("a.py", ASKED);
    it.workspace.write("b.py", "b\n");
    it.git(&["add", "b.py"]);
    assert_eq!(it.clear().ok()["other_staged_files"], json!(["b.py"]));
    assert_eq!(it.committed(), "Clear review threads from a.py\n\na.py\n");
    assert_eq!(it.git(&["status", "--porcelain"]), "A  b.py\n");
}

#[test]
fn on_a_detached_head_and_in_the_middle_of_a_rebase() {
    let it = Repository::new();
    it.git(&["checkout", "-q", "--detach"]);
    it.clear().ok();
    assert_eq!(
        it.git(&["log", "--format=%s"]),
        "Clear review threads from a.py\nFirst\n"
    );
    assert_eq!(it.git(&["log", "--format=%s", "main"]), "First\n");

    it.git(&[
        "-c",
        "sequence.editor=sed -i s/pick/edit/",
        "rebase",
        "-qi",
        "HEAD~1",
    ]);
    it.workspace.write("a.py", ASKED.replace('2', "3"));
    it.clear().ok();
    it.git(&["rebase", "--continue"]);
    assert_eq!(it.git(&["show", "HEAD:a.py"]), CLEARED.replace('2', "3"));
}

#[test]
fn in_a_sub_directory_and_a_linked_worktree() {
    let it = Repository::new();
    it.workspace.write("deep/er/c.py", ASKED);
    let deep = it.workspace.path("deep/er");
    it.clear_file(&deep, OsStr::new("c.py"), &["-m", "Of its own"])
        .ok();
    assert_eq!(it.committed(), "Of its own\n\ndeep/er/c.py\n");

    let linked = it.workspace.path("../linked");
    it.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "odd/näme@x",
        &linked.to_string_lossy(),
    ]);
    std::fs::write(linked.join("a.py"), ASKED).expect("written");
    it.clear_file(&linked, OsStr::new("a.py"), &[]).ok();
    assert_eq!(it.git(&["show", "odd/näme@x:a.py"]), CLEARED);
    assert_eq!(it.git(&["show", "main:a.py"]), CLEAN);
}

#[test]
fn in_a_submodule_the_submodule_commits() {
    let it = Repository::new();
    let other = Repository::new();
    let from = other.workspace.root().to_string_lossy().into_owned();
    it.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        &from,
        "sub",
    ]);
    it.git(&["commit", "-qm", "Sub"]);
    it.workspace.write("sub/a.py", ASKED);
    it.clear_file(it.workspace.root(), OsStr::new("sub/a.py"), &[])
        .ok();
    assert_eq!(
        it.git(&["-C", "sub", "log", "--format=%s"]),
        "Clear review threads from a.py\nFirst\n"
    );
    assert_eq!(it.git(&["log", "--format=%s"]), "Sub\nFirst\n");
}

#[test]
fn a_file_outside_the_sparse_cone() {
    let it = Repository::new();
    it.workspace.write("in/c.py", "c\n");
    it.workspace.write("out/d.py", CLEAN);
    it.git(&["add", "in", "out"]);
    it.git(&["commit", "-qm", "Second"]);
    it.git(&["sparse-checkout", "set", "in"]);
    assert!(!it.workspace.path("out/d.py").exists());
    // Tracked, and made again by hand.
    it.workspace.write("out/d.py", ASKED);
    it.clear_file(it.workspace.root(), OsStr::new("out/d.py"), &[])
        .ok();
    assert_eq!(
        it.committed(),
        "Clear review threads from d.py\n\nout/d.py\n"
    );
    // Not tracked: git does not take it in.
    it.workspace.write("out/new.py", ASKED);
    let refused = it.clear_file(it.workspace.root(), OsStr::new("out/new.py"), &[]);
    refused.refused("sparse-checkout");
    assert_eq!(it.workspace.read("out/new.py"), ASKED);
}

#[test]
fn a_file_whose_name_changed_its_case() {
    let it = Repository::new();
    it.git(&["mv", "a.py", "A.py"]);
    it.clear_file(it.workspace.root(), OsStr::new("A.py"), &[])
        .ok();
    assert_eq!(it.committed(), "Clear review threads from A.py\n\nA.py\n");
    // The old name's removal is another file's change: it stays staged.
    assert_eq!(it.git(&["status", "--porcelain"]), "D  a.py\n");
}

#[test]
fn a_file_that_git_does_not_track_yet_or_no_longer() {
    let it = Repository::new();
    it.workspace.write("new.py", ASKED);
    it.clear_file(it.workspace.root(), OsStr::new("new.py"), &[])
        .ok();
    assert_eq!(
        it.committed(),
        "Clear review threads from new.py\n\nnew.py\n"
    );
    it.git(&["rm", "-q", "--cached", "a.py"]);
    it.clear().ok();
    assert_eq!(it.git(&["show", "HEAD:a.py"]), CLEARED);
    assert_eq!(it.git(&["status", "--porcelain"]), "");
}

#[test]
fn nothing_but_threads_is_nothing_to_commit() {
    let it = Repository::new();
    it.workspace
        .write("a.py", format!("# AUTHOR: why?\n{CLEAN}"));
    it.workspace.write("b.py", "changed\n");
    it.git(&["add", "b.py"]);
    let done = it.clear().ok();
    assert_eq!(
        (&done["success"], &done["committed"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(done["other_staged_files"], json!(["b.py"]));
    assert_eq!(it.read(), CLEAN);
    assert_eq!(it.git(&["log", "--format=%s"]), "First\n");
}

#[test]
fn a_file_that_git_was_told_not_to_look_at() {
    let it = Repository::new();
    it.git(&["update-index", "--assume-unchanged", "a.py"]);
    it.clear().ok();
    assert_eq!(it.git(&["show", "HEAD:a.py"]), CLEARED);
}

#[test]
fn line_ends_and_filters_of_git() {
    let it = Repository::new();
    it.git(&["config", "core.autocrlf", "true"]);
    it.workspace.write("a.py", ASKED.replace('\n', "\r\n"));
    it.clear().ok();
    assert_eq!(it.read(), CLEARED.replace('\n', "\r\n"));
    assert_eq!(it.git(&["show", "HEAD:a.py"]), CLEARED);

    // As LFS does it: what is committed is not what stands on disk.
    it.git(&["config", "filter.up.clean", "tr a-z A-Z"]);
    it.git(&["config", "filter.up.smudge", "tr A-Z a-z"]);
    it.workspace.write(".gitattributes", "c.py filter=up\n");
    it.workspace.write("c.py", ASKED);
    it.clear_file(it.workspace.root(), OsStr::new("c.py"), &[])
        .ok();
    assert_eq!(it.git(&["show", "HEAD:c.py"]), CLEARED.to_uppercase());
    assert_eq!(it.workspace.read("c.py"), CLEARED);
    it.workspace
        .write("c.py", format!("# AUTHOR: and?\n{CLEARED}"));
    let done = it
        .clear_file(it.workspace.root(), OsStr::new("c.py"), &[])
        .ok();
    assert_eq!(done["committed"], false);
}

#[test]
fn a_long_message_and_odd_names() {
    let it = Repository::new();
    let long = format!("Subject\n\n{}", "much to say \n# no comment\n".repeat(4000));
    it.clear_file(it.workspace.root(), OsStr::new("a.py"), &["-m", &long])
        .ok();
    let kept = it.git(&["log", "-1", "--format=%B"]);
    assert!(
        kept.len() > 80_000 && kept.contains("# no comment"),
        "{}",
        kept.len()
    );

    for name in [
        "-n.py",
        "a b.py",
        "*.py",
        ":(top)x.py",
        "line\nend.py",
        "caf\u{e9}.py",
        "\"quoted\".py",
        "\\back.py",
    ] {
        it.workspace.write(name, ASKED);
        it.clear_file(it.workspace.root(), OsStr::new(name), &[])
            .ok();
        assert_eq!(
            it.git(&["show", "--format=", "--name-only", "-z", "HEAD"]),
            format!("{name}\0")
        );
    }
    let name = OsString::from(OsStr::from_bytes(b"caf\xe9.py"));
    std::fs::write(it.workspace.root().join(&name), ASKED).expect("written");
    it.clear_file(it.workspace.root(), &name, &[]).ok();
    assert_eq!(
        std::fs::read_to_string(it.workspace.root().join(&name)).expect("read"),
        CLEARED
    );
    assert_eq!(
        it.git(&["show", "--format=", "--name-only", "HEAD"]),
        "\"caf\\351.py\"\n"
    );
    assert_eq!(it.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_hook_may_change_the_file_that_it_lets_through() {
    let it = Repository::new();
    it.hook("pre-commit", "sed -i s/one/ONE/ a.py && git add a.py");
    it.clear().ok();
    assert_eq!(it.git(&["show", "HEAD:a.py"]), "ONE\n2\n");
    assert_eq!(it.read(), "ONE\n2\n");
}

// -- what is refused ------------------------------------------------------------------------------

#[test]
fn hooks_that_refuse() {
    let it = Repository::new();
    it.workspace.write("b.py", "changed\n");
    it.git(&["add", "b.py"]);
    it.hook("pre-commit", "echo 'not on a Friday' >&2; exit 1");
    it.refuses("not on a Friday");
    it.hook("pre-commit", "exit 0");
    it.hook("commit-msg", "echo 'no ticket in the message'; exit 3");
    it.refuses("no ticket in the message");
    it.hook("commit-msg", "exit 0");
    it.hook("prepare-commit-msg", "exit 1");
    it.refuses("");
    it.script(
        "hooks of mine/pre-commit",
        "echo 'from elsewhere' >&2; exit 1",
    );
    it.git(&["config", "core.hooksPath", "hooks of mine"]);
    it.refuses("from elsewhere");
}

#[test]
fn a_refusal_leaves_a_partly_staged_and_a_new_file_as_they_were() {
    let it = Repository::new();
    it.hook("pre-commit", "exit 1");
    it.workspace.write("a.py", "one\nstaged\n");
    it.git(&["add", "a.py"]);
    it.workspace
        .write("a.py", "# AUTHOR: why?\none\nstaged\nnot staged\n");
    it.refuses("");
    it.git(&["rm", "-q", "--cached", "-f", "a.py"]);
    it.refuses("");
}

#[test]
fn a_hook_that_changes_the_file_and_refuses_leaves_its_change() {
    let it = Repository::new();
    it.hook(
        "pre-commit",
        "sed -i s/2/TWO/ a.py; echo 'formatted a.py' >&2; exit 1",
    );
    let cleared = it.clear();
    cleared.refused("formatted a.py");
    cleared.refused("the threads are back");
    assert_eq!(it.read(), ASKED.replace('2', "TWO"));
    assert_eq!(it.git(&["log", "--format=%s"]), "First\n");
}

#[test]
fn a_signature_that_cannot_be_made() {
    let it = Repository::new();
    let program = it.script(".git/no-gpg", "echo 'the card is not in' >&2; exit 2");
    it.git(&["config", "commit.gpgSign", "true"]);
    it.git(&["config", "gpg.program", &program.to_string_lossy()]);
    it.refuses("the card is not in");
}

#[test]
fn git_in_the_middle_of_something() {
    let it = Repository::new();
    it.workspace.write(".git/index.lock", "");
    it.refuses("index.lock");
    std::fs::remove_file(it.workspace.path(".git/index.lock")).expect("removed");

    it.workspace.write("a.py", CLEAN);
    for (branch, text) in [("x", "x\n"), ("main", "m\n")] {
        it.git(&[
            "checkout",
            "-q",
            "-B",
            branch,
            if branch == "main" { "main" } else { "HEAD" },
        ]);
        it.workspace.write("b.py", text);
        it.git(&["commit", "-qam", branch]);
    }
    for doing in ["merge", "cherry-pick"] {
        let out = it
            .workspace
            .command("git")
            .args([doing, "x"])
            .output()
            .expect("git runs");
        assert!(!out.status.success(), "{doing}");
        it.workspace.write("a.py", ASKED);
        it.refuses(&format!("partial commit during a {doing}"));
        it.workspace.write("a.py", CLEAN);
        it.git(&[doing, "--abort"]);
    }
}

#[test]
fn what_git_would_not_take_in() {
    let it = Repository::new();
    it.git(&["update-index", "--skip-worktree", "a.py"]);
    it.refuses("");
    it.git(&["update-index", "--no-skip-worktree", "a.py"]);

    it.git(&["config", "filter.bad.clean", "exit 1"]);
    it.git(&["config", "filter.bad.required", "true"]);
    it.workspace
        .write(".git/info/attributes", "a.py filter=bad\n");
    it.refuses("clean filter 'bad' failed");
    it.workspace.write(".git/info/attributes", "");

    it.git(&["config", "core.autocrlf", "true"]);
    it.git(&["config", "core.safecrlf", "true"]);
    it.refuses("LF would be replaced by CRLF");
    it.git(&["config", "core.autocrlf", "false"]);

    it.git(&["rm", "-q", "--cached", "a.py"]);
    it.workspace.write(".git/info/exclude", "a.py\n");
    it.refuses("ignored");
}

#[test]
fn no_name_no_commit_and_no_repository_no_change() {
    let it = Repository::new();
    it.workspace
        .write("../home/.gitconfig", "[user]\n\tuseConfigOnly = true\n");
    it.refuses("tell me who you are");

    let none = Workspace::new();
    none.write("a.py", ASKED);
    let out = none
        .postil()
        .args(["clear", "a.py"])
        .output()
        .expect("postil runs");
    assert_eq!(out.status.code(), Some(1));
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("not in a git repository"), "{said}");
    assert_eq!(none.read("a.py"), ASKED);
}

// -- in an editor ---------------------------------------------------------------------------------

fn editor(it: &Repository) -> Editor {
    let editor = Editor::start_with(
        &it.workspace,
        Options {
            initialization_options: json!({"trusted": true}),
            ..Options::default()
        },
    );
    editor.open("a.py");
    editor.wait_codes("a.py", &["pending"]);
    editor
}

fn clear_in(editor: &mut Editor) {
    editor
        .take_action("a.py", 0, "Clear threads and commit file")
        .expect("cleared");
    editor.wait_text("a.py", |text| text == CLEARED);
}

#[track_caller]
fn said(editor: &Editor, words: &str) -> String {
    let message = editor.wait_saying("window/showMessage", words);
    message["message"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_hook_that_refuses_after_the_save_brings_the_threads_back() {
    let it = Repository::new();
    it.hook("pre-commit", "echo 'not on a Friday' >&2; exit 1");
    let state = it.state();
    let mut editor = editor(&it);
    clear_in(&mut editor);
    editor.save("a.py");
    let words = said(&editor, "not on a Friday");
    assert!(words.contains("back in the editor"), "{words}");
    assert_eq!(editor.text("a.py"), ASKED);
    assert_eq!(it.state(), state);
    editor.wait_codes("a.py", &["pending"]);
    // Nothing waits any more: the next save is a save.
    editor.save("a.py");
    std::fs::remove_file(it.workspace.path(".git/hooks/pre-commit")).expect("removed");
    clear_in(&mut editor);
    editor.save("a.py");
    said(&editor, "committed a.py as");
    assert_eq!(it.git(&["show", "HEAD:a.py"]), CLEARED);
}

#[test]
fn threads_come_back_beside_what_the_author_typed_meanwhile() {
    let it = Repository::new();
    // The hook waits until the author has typed.
    it.hook(
        "pre-commit",
        "while ! test -e typed && test -d .git; do sleep 0.01; done; echo refused >&2; exit 1",
    );
    let mut editor = editor(&it);
    clear_in(&mut editor);
    editor.save("a.py");
    editor.replace("a.py", "2\n", "2\nthree\n");
    it.workspace.write("typed", "");
    said(&editor, "back in the editor");
    assert_eq!(editor.text("a.py"), format!("{ASKED}three\n"));
}

#[test]
fn what_cannot_be_put_back_is_said() {
    let it = Repository::new();
    it.hook(
        "pre-commit",
        "while ! test -e typed && test -d .git; do sleep 0.01; done; echo refused >&2; exit 1",
    );
    it.workspace.write("a.py", "one # AUTHOR: why?\n2\n");
    let mut editor = editor(&it);
    clear_in(&mut editor);
    editor.save("a.py");
    editor.replace("a.py", "one\n", "eins\n");
    it.workspace.write("typed", "");
    let words = said(&editor, "refused");
    assert!(words.contains("changed since at line 1"), "{words}");
    assert_eq!(editor.text("a.py"), "eins\n2\n");
}

#[test]
fn a_clear_that_the_author_took_back_is_not_committed() {
    let it = Repository::new();
    let mut editor = editor(&it);
    clear_in(&mut editor);
    editor.replace("a.py", "one\n", "# AUTHOR: why?\none\n");
    editor.save("a.py");
    said(&editor, "back in it");
    assert_eq!(it.git(&["log", "--format=%s"]), "First\n");
    // Closed without a save: what is saved later is not what was waited for.
    clear_in(&mut editor);
    editor.close("a.py");
    let document = json!({"uri": editor.uri("a.py")});
    editor.notify("textDocument/didSave", json!({"textDocument": document}));
    editor
        .command("postil.nothing", json!({}))
        .expect_err("no such command");
    assert_eq!(it.git(&["log", "--format=%s"]), "First\n");
}

#[test]
fn what_one_file_refuses_keeps_no_other_from_what_it_says() {
    let it = Repository::new();
    for file in ["a.py", "b.py"] {
        it.workspace.write(file, "# AUTHOR: commit\nx\n");
    }
    it.workspace.write("c.py", "# AUTHOR: done\ny\n");
    it.git(&["add", "."]);
    it.git(&["commit", "-qm", "Asked"]);
    it.hook(
        "pre-commit",
        "git diff --cached --name-only | grep -q b.py && { echo 'no b here' >&2; exit 1; }; exit 0",
    );
    it.trust();
    let output = it.workspace.postil().args(["process", "--json"]).output();
    let output = output.expect("postil runs");
    assert_eq!(output.status.code(), Some(1));
    let done: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let facts: Vec<_> = done.as_array().expect("a list").iter().collect();
    let of = |file: &str| facts.iter().find(|done| done["file"] == file).expect(file);
    assert_eq!(of("a.py")["committed"], true, "{done}");
    assert_eq!(of("c.py")["success"], true, "{done}");
    assert_eq!(of("b.py")["success"], false, "{done}");
    let why = of("b.py")["note"].as_str().unwrap_or_default();
    assert!(why.contains("no b here"), "{done}");
    assert_eq!(it.workspace.read("a.py"), "x\n");
    assert_eq!(it.workspace.read("b.py"), "# AUTHOR: commit\nx\n");
    assert_eq!(it.workspace.read("c.py"), "y\n");
}
