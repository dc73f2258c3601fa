//! Repositories of git in other formats and states than most: each is read, told of and committed to, or refused with a
//! reason.

use super::*;

const FILE: &str = "src/a.rs";
const HIDDEN: &str = ".hidden/h.rs";

/// Two commits, and a thread in an ordinary file and in a hidden one that is tracked.
fn made(workspace: &Workspace, format: &[&str]) {
    workspace.git(&[&["init", "-q", "-b", "main"], format].concat());
    workspace.write(FILE, ASKED);
    workspace.write(HIDDEN, ASKED);
    workspace.write("out/deep/o.rs", "fn o() {}\n");
    workspace.git(&["add", "-A"]);
    workspace.git(&["commit", "-qm", "First"]);
    workspace.write(FILE, ASKED.replace("fn b", "fn bb"));
    workspace.git(&["commit", "-qam", "Second"]);
}

/// Threads are found, `why` tells of both commits, a clear commits its file alone and is undone whole by `why`'s account.
#[track_caller]
fn works(what: &str, workspace: &Workspace) {
    assert_eq!(files(workspace), [HIDDEN, FILE], "{what}");
    let why = |line: usize| {
        let told = run(workspace, &["why", &format!("{FILE}:{line}")]);
        assert_eq!(told.status.code(), Some(0), "{what}: {}", shown(&told));
        shown(&told)
    };
    let told = why(3);
    assert!(
        told.contains("Second") && told.contains("First"),
        "{what}: {told}"
    );
    let cleared = run(workspace, &["clear", FILE, "-m", "Third"]);
    assert_eq!(
        cleared.status.code(),
        Some(0),
        "{what}: {}",
        shown(&cleared)
    );
    let commit = workspace.git(&["log", "-1", "--format=%s", "--name-only"]);
    assert_eq!(commit, format!("Third\n\n{FILE}\n"), "{what}");
    assert_eq!(
        workspace.git(&["status", "--porcelain", "-uno"]),
        "",
        "{what}"
    );
    let told = why(2);
    assert!(told.contains("AUTHOR: why?"), "{what}: {told}");
    assert_eq!(files(workspace), [HIDDEN], "{what}");
}

#[test]
fn fault_31_repositories_of_any_format_are_read_and_committed_to() {
    type Then = fn(&Workspace);
    let cases: [(&str, &[&str], Then); 9] = [
        ("SHA-256", &["--object-format=sha256"], |_| ()),
        ("reftable", &["--ref-format=reftable"], |_| ()),
        ("index version 4", &[], |w| {
            w.git(&["update-index", "--index-version", "4"]);
        }),
        ("a split index", &[], |w| {
            w.git(&["update-index", "--split-index"]);
        }),
        ("a sparse index", &[], |w| {
            w.git(&["sparse-checkout", "init", "--cone", "--sparse-index"]);
            w.git(&["sparse-checkout", "set", "src", ".hidden"]);
            assert!(w.git(&["ls-files", "--sparse"]).contains("out/\n"));
        }),
        ("a detached head", &[], |w| {
            w.git(&["checkout", "-q", "--detach"]);
        }),
        (
            "an index without a hash, and with what is not tracked",
            &[],
            |w| {
                w.git(&["config", "feature.manyFiles", "true"]);
                w.git(&["update-index", "--force-write-index", "--untracked-cache"]);
            },
        ),
        ("pointers of LFS", &[], |w| {
            let id = "0".repeat(64);
            let pointer =
                format!("version https://git-lfs.github.com/spec/v1\noid sha256:{id}\nsize 5\n");
            w.write("big.bin", pointer);
            w.write(
                ".gitattributes",
                "*.bin filter=lfs diff=lfs merge=lfs -text\n",
            );
            w.git(&["add", "-A"]);
            w.git(&["commit", "-q", "--amend", "--no-edit"]);
        }),
        ("the middle of a rebase", &[], |w| {
            let todo = "GIT_SEQUENCE_EDITOR=sed -i 1s/pick/edit/";
            let (name, value) = todo.split_once('=').expect("a name");
            let mut rebase = w.command("git");
            rebase
                .args(["rebase", "-q", "-i", "HEAD~1"])
                .env(name, value);
            assert!(rebase.output().expect("git runs").status.success());
            assert!(w.path(".git/rebase-merge").is_dir());
        }),
    ];
    for (what, format, then) in cases {
        let workspace = Workspace::new();
        let mut probe = workspace.command("git");
        let probed = probe
            .args([&["init", "-q"], format, &["probe"]].concat())
            .output();
        if !probed.expect("git runs").status.success() {
            crate::peers::note(what);
            continue;
        }
        std::fs::remove_dir_all(workspace.path("probe")).expect("removed");
        made(&workspace, format);
        then(&workspace);
        works(what, &workspace);
    }
}

#[test]
fn fault_31_of_a_shallow_clone_it_is_said_where_its_history_ends() {
    let origin = Workspace::new();
    made(&origin, &[]);
    let workspace = Workspace::new();
    let from = format!("file://{}", origin.root().display());
    workspace.git(&["clone", "-q", "--depth=1", &from, "."]);
    let told = run(&workspace, &["why", &format!("{FILE}:1")]);
    let told = shown(&told);
    assert!(told.contains("the clone is shallow"), "{told}");
    let cleared = run(&workspace, &["clear", FILE]);
    assert_eq!(cleared.status.code(), Some(0), "{}", shown(&cleared));
    // What was changed since is followed to that end, and a whole clone has none.
    workspace.git(&["fetch", "-q", "--unshallow"]);
    let told = shown(&run(&workspace, &["why", &format!("{FILE}:1")]));
    assert!(
        !told.contains("shallow") && told.contains("First"),
        "{told}"
    );
}

#[test]
fn fault_31_a_bare_repository_has_nothing_to_commit_and_its_worktree_has() {
    let origin = Workspace::new();
    made(&origin, &[]);
    let workspace = Workspace::new();
    let from = origin.root().display().to_string();
    workspace.git(&["clone", "-q", "--bare", &from, "bare.git"]);
    workspace.write("bare.git/a.rs", ASKED);
    refused(
        &workspace,
        &["-C", "bare.git", "clear", "a.rs"],
        "not in a git repository",
    );
    assert_eq!(workspace.read("bare.git/a.rs"), ASKED);
    workspace.git(&["-C", "bare.git", "worktree", "add", "-q", "../tree", "main"]);
    let cleared = run(&workspace, &["-C", "tree", "clear", FILE, "-m", "Third"]);
    assert_eq!(cleared.status.code(), Some(0), "{}", shown(&cleared));
    assert_eq!(
        workspace.git(&["-C", "tree", "log", "-1", "--format=%s"]),
        "Third\n"
    );
}

#[test]
fn a_rule_that_is_no_utf_8_costs_itself_alone() {
    let workspace = Workspace::new();
    workspace.git(&["init", "-q", "-b", "main"]);
    workspace.write("a.rs", ASKED);
    workspace.write("built/b.rs", ASKED);
    // What a rule takes in an agent finds, hidden or not.
    workspace.write(".github/c.rs", ASKED);
    workspace.write(
        ".gitignore",
        b"# f\xfcr Gro\xdfes\nk\xe4se/\nbuilt/\n!.github/\n",
    );
    assert_eq!(files(&workspace), ["a.rs"]);
    for (tool, input) in [
        ("grep", r#"{"pattern": "AUTHOR"}"#),
        ("glob", r#"{"pattern": "**/*.rs"}"#),
    ] {
        let found = shown(&run(&workspace, &["tools", "call", tool, input]));
        assert!(found.contains("a.rs"), "{tool}: {found}");
        assert!(found.contains(".github/c.rs"), "{tool}: {found}");
        assert!(!found.contains("b.rs"), "{tool}: {found}");
    }
}

/// For a commit git looks where each submodule stands.
#[test]
fn a_pipe_in_the_place_of_what_a_submodule_is_at_is_not_waited_for() {
    for (pipe, absorbed) in [("sub/.git/HEAD", false), (".git/modules/sub/HEAD", true)] {
        let workspace = Workspace::new();
        workspace.git(&["init", "-q", "-b", "main"]);
        workspace.git(&["init", "-q", "sub"]);
        workspace.git(&["-C", "sub", "commit", "-q", "--allow-empty", "-m", "x"]);
        workspace.write(FILE, ASKED);
        let settings = "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n";
        workspace.write(".gitmodules", settings);
        workspace.git(&["add", "-A"]);
        workspace.git(&["commit", "-qm", "First"]);
        if absorbed {
            workspace.git(&["submodule", "absorbgitdirs"]);
        }
        let path = workspace.path(pipe);
        std::fs::remove_file(&path).expect("it stands there");
        let made = workspace.command("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo runs").success());
        let refused = run(&workspace, &["clear", FILE]);
        let told = shown(&refused);
        assert_eq!(refused.status.code(), Some(1), "{pipe}: {told}");
        assert!(told.contains("HEAD is no ordinary file"), "{pipe}: {told}");
        assert_eq!(workspace.read(FILE), ASKED);
        let told = shown(&run(&workspace, &["tools", "call", "git_status", "{}"]));
        assert!(!told.contains("cannot be read"), "{pipe}: {told}");
        let told = shown(&run(&workspace, &["why", &format!("{FILE}:1")]));
        assert!(told.contains("First"), "{pipe}: {told}");
    }
}
