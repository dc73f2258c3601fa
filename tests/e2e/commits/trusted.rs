//! Hooks and signatures that are not to run: a commit does not pass them by without a word.

use serde_json::{Value, json};

use super::{ASKED, CLEAN, CLEARED, Repository};
use crate::harness::Workspace;

const NO: &str = "echo 'a secret is in it' >&2; exit 1";

impl Repository {
    /// `postil clear a.py` with the trust that there is.
    fn clear_as_it_is(&self) -> (Option<i32>, Value) {
        self.told(&["clear", "a.py", "--json"])
    }

    fn told(&self, args: &[&str]) -> (Option<i32>, Value) {
        let out = self.workspace.postil().args(args).output();
        let out = out.expect("postil runs");
        let json = serde_json::from_slice(&out.stdout);
        (out.status.code(), json.expect("JSON"))
    }

    #[track_caller]
    fn is_refused_for(&self, what: &str) {
        let (code, json) = self.clear_as_it_is();
        assert_eq!(code, Some(1), "{json}");
        let said = json["error"].as_str().unwrap_or_default();
        assert!(
            said.contains(what) && said.contains("postil trust"),
            "{said}"
        );
        assert_eq!(self.read(), ASKED);
        assert_eq!(self.git(&["log", "--format=%s"]), "First\n");
    }
}

#[test]
fn hooks_that_are_left_out_are_named() {
    let it = Repository::new();
    it.hook("pre-commit", NO);
    it.git(&["config", "commit.gpgSign", "true"]);
    let (code, json) = it.clear_as_it_is();
    assert_eq!(code, Some(0), "{json}");
    let note = json["note"].as_str().unwrap_or_default();
    assert!(
        note.contains("the hook `pre-commit`") && note.contains("the signature"),
        "{note}"
    );
    assert_eq!(it.git(&["show", "HEAD:a.py"]), CLEARED);
}

#[test]
fn a_hook_that_is_new_since_the_folder_was_trusted_is_not_passed_by() {
    let it = Repository::new();
    it.trust();
    it.hook("pre-commit", NO);
    it.is_refused_for("`.git/hooks/pre-commit` is new");
    let doctor = it.workspace.postil().arg("doctor").output();
    let doctor = doctor.expect("postil runs");
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert_eq!(doctor.status.code(), Some(1), "{said}");
    assert!(
        said.contains("not trusted any more: `.git/hooks/pre-commit` is new"),
        "{said}"
    );
    it.trust();
    it.hook("pre-commit", "exit 1");
    it.is_refused_for("`.git/hooks/pre-commit` is another");
    it.trust();
    it.hook("pre-commit", "exit 0");
    it.trust();
    assert_eq!(it.clear_as_it_is().0, Some(0));
}

/// A folder of hooks that git tracks: a pull brings what runs.
#[test]
fn hooks_that_git_is_told_to_look_for_elsewhere_are_part_of_what_is_trusted() {
    let it = Repository::new();
    it.git(&["config", "core.hooksPath", ".githooks"]);
    it.trust();
    it.script(".githooks/pre-commit", NO);
    it.is_refused_for("`.githooks/pre-commit` is new");
    it.trust();
    it.git(&["config", "core.hooksPath", ".others"]);
    it.is_refused_for("core.hookspath` is another");
    it.trust();
    it.git(&["config", "gpg.program", "./sign"]);
    it.is_refused_for("gpg.program` is new");
}

/// One that libgit2 does not open.
#[test]
fn a_folder_of_hooks_is_part_of_what_is_trusted_in_a_sha256_repository_too() {
    let workspace = Workspace::new();
    workspace.git(&["init", "-q", "-b", "main", "--object-format=sha256"]);
    workspace.write("a.py", CLEAN);
    let it = Repository { workspace };
    it.git(&["add", "."]);
    it.git(&["commit", "-qm", "First"]);
    it.workspace.write("a.py", ASKED);
    it.git(&["config", "core.hooksPath", "./.githooks"]);
    it.trust();
    it.script(".githooks/pre-commit", NO);
    it.is_refused_for("`.githooks/pre-commit` is new");
    it.trust();
    it.git(&["config", "gpg.program", "./sign"]);
    it.is_refused_for("gpg.program` is new");
    it.trust();
    let (code, json) = it.clear_as_it_is();
    assert_eq!(code, Some(1), "{json}");
    assert!(json.to_string().contains("a secret is in it"), "{json}");
}

/// A pull or an agent may put one there.
#[test]
fn trust_in_a_folder_is_none_in_a_repository_below_it() {
    let it = Repository::new();
    it.git(&["init", "-q", "-b", "main", "v"]);
    it.workspace.write("v/a.py", ASKED);
    it.trust();
    it.script("v/.git/hooks/pre-commit", NO);
    let (code, json) = it.told(&["clear", "v/a.py", "--json"]);
    assert_eq!(code, Some(0), "{json}");
    let note = json["note"].as_str().unwrap_or_default();
    assert!(
        note.contains("the hook `pre-commit`") && note.contains("`postil trust v`"),
        "{note}"
    );

    it.told(&["trust", "v", "--yes", "--json"]);
    let asked = format!("{ASKED}3\n");
    it.workspace.write("v/a.py", &asked);
    let (code, json) = it.told(&["clear", "v/a.py", "--json"]);
    assert_eq!(code, Some(1), "{json}");
    assert!(json.to_string().contains("a secret is in it"), "{json}");
    it.script("v/.git/hooks/post-commit", NO);
    let (_, json) = it.told(&["clear", "v/a.py", "--json"]);
    let said = json["error"].as_str().unwrap_or_default();
    assert!(
        said.contains("`.git/hooks/post-commit` is new") && said.contains("`postil trust v`"),
        "{said}"
    );
    assert_eq!(it.workspace.read("v/a.py"), asked);
}

/// As git-crypt and LFS do it: without the filter, what is to be secret would be committed as it is read.
#[test]
fn a_file_that_needs_a_filter_is_not_committed_without_it() {
    let it = Repository::new();
    it.workspace.write(".gitattributes", "*.py filter=sec\n");
    it.git(&["config", "filter.sec.clean", "sed s/^/ENC:/"]);
    it.git(&["config", "filter.sec.required", "true"]);
    let index = std::fs::metadata(it.workspace.path("a.py")).and_then(|about| about.modified());
    it.is_refused_for("nothing was written: a.py needs the filter `sec`");
    let now = std::fs::metadata(it.workspace.path("a.py")).and_then(|about| about.modified());
    assert_eq!(index.ok(), now.ok());
    it.trust();
    let (code, json) = it.clear_as_it_is();
    assert_eq!(code, Some(0), "{json}");
    assert_eq!(it.git(&["show", "HEAD:a.py"]), "ENC:one\nENC:2\n");

    // A name that nothing is set for is no filter, for git either.
    it.workspace
        .postil()
        .args(["trust", "--revoke"])
        .output()
        .expect("postil runs");
    it.workspace.write(".gitattributes", "*.py filter=none\n");
    it.workspace.write("a.py", ASKED);
    let (code, json) = it.clear_as_it_is();
    assert_eq!(code, Some(0), "{json}");
    assert_eq!(it.git(&["show", "HEAD:a.py"]), CLEARED);
}

#[test]
fn hooks_that_git_is_told_to_look_for_elsewhere_are_asked_about_each_time() {
    let it = Repository::new();
    it.git(&["config", "core.hooksPath", ".githooks"]);
    it.git(&["init", "-q", "v"]);
    it.git(&["-C", "v", "config", "core.hooksPath", "hooks"]);
    it.trust();
    let call = |tool: &str, input: &Value| {
        let mut command = it.workspace.postil();
        let out = command
            .args(["tools", "call", tool, &input.to_string()])
            .output();
        let out = out.expect("postil runs");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        (out.status.code(), said)
    };
    let patch = "--- /dev/null\n+++ b/.githooks/pre-commit\n@@ -0,0 +1 @@\n+exit 1\n";
    for (tool, input) in [
        ("patch_apply", json!({"patch": patch})),
        (
            "file_write",
            json!({"path": ".GitHooks/pre-commit", "content": "x"}),
        ),
        (
            "file_write",
            json!({"path": "v/hooks/pre-commit", "content": "x"}),
        ),
    ] {
        let (code, said) = call(tool, &input);
        assert_eq!(code, Some(1), "{said}");
        assert!(
            said.contains("Nobody answered") && said.contains("belongs to version control"),
            "{said}"
        );
    }
    for folder in [".githooks", ".GitHooks", "v/hooks"] {
        assert!(!it.workspace.path(folder).join("pre-commit").exists());
    }
    let (code, said) = call(
        "file_write",
        &json!({"path": "hooks/pre-commit", "content": "x"}),
    );
    assert_eq!(code, Some(0), "{said}");
}
