use std::path::{Path, PathBuf};
use std::process::Command;

use super::{GitError, blame, commit_file, index, place, tracked};

struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    fn new() -> Self {
        let it = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        it.git(&["init", "-q", "-b", "main"]);
        it.git(&["config", "user.name", "Ada"]);
        it.git(&["config", "user.email", "ada@example.org"]);
        it.git(&["config", "commit.gpgSign", "false"]);
        it
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn git(&self, args: &[&str]) -> String {
        git_in(self.folder.path(), args)
    }

    fn hook(&self, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        let hook = self.write(".git/hooks/pre-commit", text);
        std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

fn git_in(folder: &Path, args: &[&str]) -> String {
    let out = Command::new("git")
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn a_root_commit_holds_that_file_alone() {
    let it = Repository::new();
    let file = it.write("src/a b.rs", "one\n");
    it.write("other.rs", "x\n");
    it.git(&["add", "other.rs"]);
    let commit = commit_file(&place(&file).unwrap(), "first", true).unwrap();
    assert_eq!(commit.other_staged, ["other.rs"]);
    assert_eq!(
        it.git(&["show", "--name-only", "--format=%s", "HEAD"]),
        "first\n\nsrc/a b.rs\n"
    );
    assert!(
        it.git(&["rev-parse", "HEAD"])
            .starts_with(&commit.hash.unwrap())
    );
    assert_eq!(it.git(&["diff", "--cached", "--name-only"]), "other.rs\n");
}

#[test]
fn nothing_to_commit_is_no_error() {
    let it = Repository::new();
    let file = it.write("a.rs", "one\n");
    it.git(&["add", "a.rs"]);
    it.git(&["commit", "-qm", "first"]);
    assert_eq!(
        commit_file(&place(&file).unwrap(), "again", true)
            .unwrap()
            .hash,
        None
    );
}

#[test]
fn a_failing_hook_leaves_the_index_as_it_was() {
    let it = Repository::new();
    let file = it.write("a.rs", "one\n");
    it.write("b.rs", "b\n");
    it.git(&["add", "b.rs"]);
    it.hook("#!/bin/sh\necho not today >&2\nexit 1\n");
    let error = commit_file(&place(&file).unwrap(), "m", true)
        .unwrap_err()
        .to_string();
    assert!(error.contains("not today"), "{error}");
    assert_eq!(it.git(&["status", "--porcelain"]), "A  b.rs\n?? a.rs\n");
}

#[test]
fn no_hook_and_no_filter_runs_where_there_is_no_trust() {
    let it = Repository::new();
    let file = it.write("a.rs", "one\n");
    let canary = it.path("canary");
    it.hook(&format!("#!/bin/sh\ntouch '{}'\n", canary.display()));
    it.write(".gitattributes", "*.rs filter=evil\n");
    it.git(&[
        "config",
        "filter.evil.clean",
        &format!("sh -c 'touch {}; cat'", canary.display()),
    ]);
    it.git(&[
        "config",
        "core.fsmonitor",
        &format!("touch {}", canary.display()),
    ]);
    let refused = commit_file(&place(&file).unwrap(), "quiet", false);
    assert!(matches!(refused, Err(GitError::Filter(name)) if name == "evil"));
    let other = it.write("b.txt", "one\n");
    commit_file(&place(&other).unwrap(), "quiet", false).unwrap();
    assert!(!canary.exists());
    assert_eq!(
        it.git(&["-c", "core.fsmonitor=false", "log", "--format=%s"]),
        "quiet\n"
    );
}

#[test]
fn a_linked_worktree_a_detached_head_and_a_sub_directory_work() {
    let it = Repository::new();
    it.write("sub/a.rs", "one\n");
    it.git(&["add", "."]);
    it.git(&["commit", "-qm", "first"]);
    let linked = tempfile::tempdir().unwrap();
    let linked = linked.path().canonicalize().unwrap().join("w");
    it.git(&[
        "worktree",
        "add",
        "-q",
        "--detach",
        linked.to_str().unwrap(),
    ]);
    let file = linked.join("sub/a.rs");
    std::fs::write(&file, "two\n").unwrap();
    let commit = commit_file(&place(&file).unwrap(), "second", true).unwrap();
    assert!(commit.hash.is_some());
    assert_eq!(git_in(&linked, &["log", "--format=%s"]), "second\nfirst\n");
    assert_eq!(it.git(&["log", "--format=%s"]), "first\n");
}

#[test]
fn outside_git_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.rs");
    std::fs::write(&file, "x").unwrap();
    assert!(
        place(&file)
            .unwrap_err()
            .to_string()
            .contains("not in a git repository")
    );
}

#[test]
fn blame_tells_committed_lines_from_new_ones() {
    let it = Repository::new();
    let file = it.write("a.rs", "one\ntwo\n");
    it.git(&["add", "."]);
    it.git(&["commit", "-qm", "the reason"]);
    let found = blame(&file, 3, b"zero\none\ntwo\n").unwrap().unwrap();
    assert_eq!(
        (found.author.as_str(), found.summary.as_str()),
        ("Ada", "the reason")
    );
    assert_eq!(blame(&file, 1, b"zero\none\ntwo\n").unwrap(), None);
}

#[test]
fn the_names_in_an_index_are_those_that_git_lists_in_every_form_of_it() {
    let it = Repository::new();
    let long = format!(
        "deep/{}/x.rs",
        "n".repeat(200)
            .repeat(20)
            .replace("nnnnnnnnnn", "nnnnnnnnn/")
    );
    for name in [
        "a.rs",
        "a/b.rs",
        "a/b/c.rs",
        "a b/\u{e9}.rs",
        "ab.rs",
        &long,
    ] {
        it.write(name, name);
    }
    std::os::unix::fs::symlink("a.rs", it.path("link.rs")).unwrap();
    it.git(&["add", "."]);
    it.git(&["commit", "-qm", "first"]);
    // Both sides of a conflict are entries.
    for (branch, text) in [("one", "1\n"), ("two", "2\n")] {
        it.git(&["checkout", "-q", "-b", branch, "main"]);
        it.write("a.rs", text);
        it.git(&["commit", "-qam", branch]);
    }
    let merge = Command::new("git")
        .args(["merge", "-q", "one"])
        .current_dir(it.folder.path())
        .status();
    assert!(!merge.unwrap().success());

    let listed = |below: &str| {
        let out = it.git(&["-C", below, "ls-files", "-z", "--stage"]);
        let entries = out
            .split_terminator('\0')
            .filter(|entry| entry.starts_with("100"));
        let names = entries.map(|entry| entry.split_once('\t').unwrap().1.to_owned() + "\0");
        names.collect::<String>()
    };
    let file = || std::fs::read(it.path(".git/index")).unwrap();
    let mut forms = Vec::new();
    // Version 3 is what an entry with more flags makes of version 2.
    for (version, added) in [("2", None), ("3", Some("new.rs")), ("4", Some("newer.rs"))] {
        if let Some(name) = added {
            it.write(name, "n\n");
            it.git(&["add", "--intent-to-add", name]);
        }
        it.git(&["update-index", "--index-version", version]);
        let file = file();
        assert_eq!(file[7].to_string(), version);
        for (below, folder) in [("", "."), ("a/", "a"), ("deep/", "deep")] {
            let names = index::names(&file, below.as_bytes()).unwrap();
            assert_eq!(
                String::from_utf8(names).unwrap(),
                listed(folder),
                "{version} {below}"
            );
            let below = it.path(below);
            assert_eq!(tracked(&below).unwrap(), listed(folder).into_bytes());
        }
        forms.push(file);
    }

    // One that has most of itself in another file is not read here, and known all the same.
    it.git(&["update-index", "--split-index"]);
    assert!(index::names(&file(), b"").is_none());
    assert_eq!(tracked(&it.path("")).unwrap(), listed(".").into_bytes());

    // What is cut off gives all names or none, and nothing that is altered ends in a panic.
    for form in forms {
        let whole = index::names(&form, b"");
        for end in 0..form.len() {
            let names = index::names(&form[..end], b"");
            assert!(names.is_none() || names == whole, "{end}");
        }
        for at in 0..form.len() {
            for bit in 0..8 {
                let mut altered = form.clone();
                altered[at] ^= 1 << bit;
                let _names = index::names(&altered, b"");
            }
        }
    }
}
