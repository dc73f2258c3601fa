//! Hooks and signatures that are not to run: a commit does not pass them by without a word.

use std::os::unix::fs::symlink;

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

    fn call(&self, tool: &str, input: &Value) -> (Option<i32>, String) {
        let mut command = self.workspace.postil();
        let out = command
            .args(["tools", "call", tool, &input.to_string()])
            .output();
        let out = out.expect("postil runs");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        (out.status.code(), said)
    }

    /// And nothing is changed, for nobody answers.
    #[track_caller]
    fn is_asked_about(&self, tool: &str, input: &Value, why: &str) {
        let (code, said) = self.call(tool, input);
        assert_eq!(code, Some(1), "{input}: {said}");
        assert!(
            said.contains("Nobody answered") && said.contains(why),
            "{input}: {said}"
        );
    }

    /// What `postil trust` lists before it asks.
    fn would_allow(&self) -> String {
        let out = self.workspace.postil().arg("trust").output();
        let out = out.expect("postil runs");
        String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned()
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
        it.is_asked_about(tool, &input, "belongs to version control");
    }
    for folder in [".githooks", ".GitHooks", "v/hooks"] {
        assert!(!it.workspace.path(folder).join("pre-commit").exists());
    }
    let (code, said) = it.call(
        "file_write",
        &json!({"path": "hooks/pre-commit", "content": "x"}),
    );
    assert_eq!(code, Some(0), "{said}");
}

/// As projects do it that have their hooks tracked without a setting of git.
#[test]
fn hooks_behind_links_are_asked_about_and_part_of_what_is_trusted() {
    let it = Repository::new();
    let made = |path: &str| json!({"path": path, "content": "x"});
    let _ = std::fs::remove_dir_all(it.workspace.path(".git/hooks"));
    symlink("../hooks", it.workspace.path(".git/hooks")).expect("a link");
    // Where the link leads need not be there yet.
    it.trust();
    it.is_asked_about("file_write", &made("hooks/pre-commit"), "version control");
    it.script("hooks/pre-commit", NO);
    it.is_refused_for("`hooks/pre-commit` is new");
    assert!(it.would_allow().contains("`pre-commit`"));

    let it = Repository::new();
    it.script("scripts/check", NO);
    let _ = std::fs::create_dir(it.workspace.path(".git/hooks"));
    symlink(
        "../../scripts/check",
        it.workspace.path(".git/hooks/pre-commit"),
    )
    .expect("a link");
    symlink(
        "../../scripts/none",
        it.workspace.path(".git/hooks/post-commit"),
    )
    .expect("a link");
    it.trust();
    let patch = "--- a/scripts/check\n+++ b/scripts/check\n@@ -1 +1,2 @@\n #!/bin/sh\n+exit 0\n";
    it.is_asked_about("patch_apply", &json!({"patch": patch}), "version control");
    it.is_asked_about("file_write", &made("scripts/none"), "version control");
    assert_eq!(it.call("file_write", &made("scripts/other")).0, Some(0));
    it.script("scripts/check", "exit 1");
    it.is_refused_for("`.git/hooks/pre-commit` is another");
}

/// As git made it once. Where the branch is packed, libgit2 takes the folder for no repository, and git for one.
#[test]
fn what_runs_in_a_repository_whose_head_is_a_link_is_part_of_what_is_trusted() {
    let it = Repository::new();
    let branch = it.git(&["symbolic-ref", "HEAD"]);
    it.git(&["pack-refs", "--all"]);
    let head = it.workspace.path(".git/HEAD");
    std::fs::remove_file(&head).expect("removed");
    symlink(branch.trim(), head).expect("a link");
    it.trust();
    it.git(&["config", "gpg.program", "./sign"]);
    it.is_refused_for("`git's setting gpg.program` is new");
    assert!(it.would_allow().contains("Git's setting `gpg.program`"));
}

#[test]
fn what_managers_of_hooks_read_is_part_of_what_is_trusted() {
    for name in [
        ".pre-commit-config.yaml",
        ".pre-commit-config.yml",
        "lefthook.yml",
        ".lefthook-local.toml",
        ".lefthook/pre-commit/check.sh",
        ".config/lefthook.yml",
        ".overcommit.yml",
        ".githooks/pre-commit",
        ".husky/pre-commit",
    ] {
        let it = Repository::new();
        it.script("lefthook/main.go", NO);
        it.trust();
        it.script(name, NO);
        it.is_refused_for(&format!("`{name}` is new"));
        let said = it.would_allow();
        let sentence = format!("`{name}` can run, or say what runs, when postil commits for you.");
        assert!(said.contains(&sentence), "{said}");
        assert!(!said.contains("main.go"), "{said}");
    }
}

/// What reads it by that name follows the link.
#[test]
fn what_guarded_links_lead_to_is_asked_about() {
    let it = Repository::new();
    for (link, target) in [
        ("CLAUDE.md", "guide.md"),
        (".vscode/tasks.json", "../tools/t.json"),
        (".github/workflows", "../ci"),
        ("part/AGENTS.md", "../notes/part.md"),
        ("README.txt", "other.md"),
    ] {
        let link = it.workspace.path(link);
        let folder = link.parent().expect("a folder");
        std::fs::create_dir_all(folder).expect("a folder");
        symlink(target, &link).expect("a link");
    }
    for file in [
        "guide.md",
        "tools/t.json",
        "ci/x.yml",
        "notes/part.md",
        "other.md",
    ] {
        it.workspace.write(file, "one\n");
    }
    it.trust();
    let patch = |path: &str| json!({"patch": format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-one\n+two\n")});
    for (path, why) in [
        ("CLAUDE.md", "agent's configuration"),
        ("guide.md", "agent's configuration"),
        (".vscode/tasks.json", "editor's configuration"),
        ("tools/t.json", "editor's configuration"),
        (".github/workflows/x.yml", "build machine"),
        ("ci/x.yml", "build machine"),
        ("part/AGENTS.md", "agent's configuration"),
    ] {
        it.is_asked_about("patch_apply", &patch(path), why);
    }
    let new = json!({"path": "./part/../.github/workflows/y.yml", "content": "two\n"});
    it.is_asked_about("file_write", &new, "build machine");
    assert!(!it.workspace.path("ci/y.yml").exists());
    for file in ["guide.md", "tools/t.json", "ci/x.yml", "notes/part.md"] {
        assert_eq!(it.workspace.read(file), "one\n", "{file}");
    }
    let (code, said) = it.call("patch_apply", &patch("README.txt"));
    assert_eq!(
        (code, &*it.workspace.read("other.md")),
        (Some(0), "two\n"),
        "{said}"
    );
}

/// What a hook asks git for is what it is asked for in any commit.
#[test]
fn a_hook_looks_for_files_by_patterns() {
    let it = Repository::new();
    it.hook(
        "pre-commit",
        "[ \"$(git diff --cached --name-only -- '*.py')\" = a.py ] || exit 1",
    );
    it.trust();
    assert_eq!(it.clear_as_it_is().0, Some(0));
}
