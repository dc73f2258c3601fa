//! Hooks and signatures that are not to run: a commit does not pass them by without a word.

use serde_json::Value;

use super::{ASKED, CLEARED, Repository};

const NO: &str = "echo 'a secret is in it' >&2; exit 1";

impl Repository {
    /// `postil clear a.py` with the trust that there is.
    fn clear_as_it_is(&self) -> (Option<i32>, Value) {
        let out = self
            .workspace
            .postil()
            .args(["clear", "a.py", "--json"])
            .output();
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
