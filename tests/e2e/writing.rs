//! Writes to disk when others write too, when nothing can be written, when the process is killed.

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::harness::{Editor, Workspace};

fn ids(workspace: &Workspace) -> Vec<String> {
    let out = workspace
        .postil()
        .args(["threads", "--json"])
        .output()
        .expect("postil runs");
    let list: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let threads = list["threads"].as_array().expect("an array");
    threads
        .iter()
        .map(|thread| thread["id"].as_str().expect("an id").to_owned())
        .collect()
}

fn respond(workspace: &Workspace, id: &str, text: &str) -> Child {
    let mut command = workspace.postil();
    command.args(["respond", id, text]).stdin(Stdio::null());
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("postil runs")
}

fn names(workspace: &Workspace) -> Vec<String> {
    let entries = std::fs::read_dir(workspace.root()).expect("read").flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn answers_of_several_processes_all_land() {
    let workspace = Workspace::new();
    let count = 6;
    let text: String = (0..count)
        .map(|n| format!("# AUTHOR: question {n}?\nx = {n}\n"))
        .collect();
    workspace.write("a.py", &text);
    let ids = ids(&workspace);
    assert_eq!(ids.len(), count);
    let all: Vec<Child> = ids
        .iter()
        .enumerate()
        .map(|(n, id)| respond(&workspace, id, &format!("answer {n}")))
        .collect();
    for child in all {
        let out = child.wait_with_output().expect("it ends");
        assert!(out.status.success(), "{out:?}");
    }
    let expected: String = (0..count)
        .map(|n| format!("# AUTHOR: question {n}?\n# AGENT: answer {n}\n# AUTHOR:\nx = {n}\n"))
        .collect();
    assert_eq!(workspace.read("a.py"), expected);
    assert_eq!(names(&workspace), ["a.py"]);
}

#[test]
fn fault_02_a_killed_process_leaves_the_old_file_or_the_new_one() {
    let workspace = Workspace::new();
    let before = "# AUTHOR: why?\nx = 1\n";
    let after = "# AUTHOR: why?\n# AGENT: So.\n# AUTHOR:\nx = 1\n";
    workspace.write("a.py", before);
    let id = ids(&workspace).remove(0);
    for n in 0..30u64 {
        workspace.write("a.py", before);
        let mut child = respond(&workspace, &id, "So.");
        // At another moment each time; whenever it is, what is asserted holds.
        for _ in 0..n * 40_000 {
            std::hint::spin_loop();
        }
        child.kill().expect("killed");
        child.wait().expect("it ends");
        let text = workspace.read("a.py");
        assert!(text == before || text == after, "{text:?}");
    }
    // What one of them may have left, and what others named.
    workspace.write("a.py", before);
    workspace.write(".postil-0123456789abcdef.tmp", "half");
    workspace.write(".postil-mine.tmp", "mine");
    assert!(
        respond(&workspace, &id, "So.")
            .wait()
            .expect("it ends")
            .success()
    );
    assert_eq!(workspace.read("a.py"), after);
    assert_eq!(names(&workspace), [".postil-mine.tmp", "a.py"]);
}

/// `postil` with these arguments: what it asked of the system about files in the workspace, in order. `None`, and a
/// word, where nobody can be watched.
fn traced(workspace: &Workspace, args: &[&str]) -> Option<Vec<String>> {
    let log = workspace.path("../trace");
    let mut watched = workspace.command("strace");
    watched
        .args(["-f", "-qq", "-y", "-e"])
        .arg("trace=fsync,fdatasync,rename,renameat,renameat2,linkat")
        .arg("-o")
        .arg(&log);
    let mut tried = workspace.command("strace");
    let tried = tried.args(["-qq", "-o", "/dev/null", "true"]).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        crate::peers::note("strace");
        return None;
    }
    let output = watched
        .arg(env!("CARGO_BIN_EXE_postil"))
        .args(args)
        .output();
    let output = output.expect("strace runs");
    assert!(output.status.success(), "{output:?}");
    let log = std::fs::read_to_string(log).expect("a trace");
    let root = workspace.root().display().to_string();
    let about = log.lines().filter(|line| line.contains(&root));
    Some(about.map(str::to_owned).collect())
}

/// A process that is killed cannot show it, for the system keeps what was written; a machine without power could.
#[test]
fn fault_02_a_file_is_on_disk_before_it_takes_the_old_ones_place() {
    let workspace = Workspace::new();
    workspace.write("a.py", "# AUTHOR: why?\nx = 1\n");
    let id = ids(&workspace).remove(0);
    let Some(calls) = traced(&workspace, &["respond", &id, "So."]) else {
        return;
    };
    let root = format!("<{}>", workspace.root().display());
    let renamed = calls
        .iter()
        .position(|call| call.contains("rename") && call.contains("a.py"))
        .unwrap_or_else(|| panic!("it is not renamed: {calls:#?}"));
    let (before, after) = calls.split_at(renamed);
    let synced = |calls: &[String], folder: bool| {
        let syncs = calls.iter().filter(|call| call.contains("sync("));
        syncs.clone().any(|call| call.contains(&root) == folder)
    };
    assert!(synced(before, false), "its content: {calls:#?}");
    assert!(synced(after, true), "the folder: {calls:#?}");
}

#[test]
fn fault_02_a_file_keeps_its_mode_its_owner_and_what_hangs_on_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = Workspace::new();
    let path = workspace.write("a.py", "# AUTHOR: why?\nx = 1\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o6750)).expect("a mode");
    let owner = std::os::unix::fs::chown(&path, Some(12_345), Some(54_321));
    if owner.is_ok() {
        // The system takes these bits away with the owner.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o6750)).expect("a mode");
    }
    let name = "user.postil.test";
    let flags = rustix::fs::XattrFlags::empty();
    let hung = rustix::fs::setxattr(&path, name, b"mine", flags).is_ok();
    let was = std::fs::metadata(&path).expect("there");
    let id = ids(&workspace).remove(0);
    let mut answers = respond(&workspace, &id, "So.");
    assert!(answers.wait().expect("it ends").success());
    assert!(workspace.read("a.py").contains("AGENT: So."));
    let is = std::fs::metadata(&path).expect("there");
    assert_eq!(is.mode(), was.mode());
    assert_eq!((is.uid(), is.gid()), (was.uid(), was.gid()));
    assert_ne!(is.ino(), was.ino(), "another file took its place");
    if hung {
        let mut value = [0; 16];
        let length = rustix::fs::getxattr(&path, name, &mut value).expect("it hangs there");
        assert_eq!(&value[..length], b"mine");
    }
}

#[test]
fn another_hard_link_keeps_the_old_text() {
    let workspace = Workspace::new();
    let before = "# AUTHOR: why?\nx = 1\n";
    let path = workspace.write("a.py", before);
    let other = workspace.path("other");
    std::fs::hard_link(&path, &other).expect("linked");
    let id = ids(&workspace).remove(0);
    assert!(
        respond(&workspace, &id, "So.")
            .wait()
            .expect("it ends")
            .success()
    );
    assert_eq!(workspace.read("other"), before);
    assert!(workspace.read("a.py").contains("So."));
    assert_eq!(std::fs::metadata(other).expect("there").nlink(), 1);
}

#[test]
fn a_file_that_became_something_else_is_not_written() {
    let workspace = Workspace::new();
    let before = "# AUTHOR: why?\nx = 1\n";
    let outside = workspace
        .root()
        .parent()
        .expect("a parent")
        .join("home/outside.py");
    std::fs::write(&outside, before).expect("written");
    for (kind, says) in [
        ("link", "outside the workspace"),
        ("folder", "a.py"),
        ("nothing", "a.py"),
    ] {
        let path = workspace.write("a.py", before);
        let mut editor = Editor::start(&workspace);
        let id = editor.wait_codes("a.py", &["pending"])[0]["data"]["thread_id"].clone();
        std::fs::remove_file(&path).expect("removed");
        match kind {
            "link" => symlink(&outside, &path).expect("linked"),
            "folder" => std::fs::create_dir(&path).expect("made"),
            _ => {}
        }
        let argument = json!({"uri": editor.uri("a.py"), "thread_id": id});
        let error = editor
            .command("postil.dismissThread", argument)
            .expect_err(kind);
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|words| words.contains(says)),
            "{kind}: {error}"
        );
        assert_eq!(
            std::fs::read_to_string(&outside).expect("read"),
            before,
            "{kind}"
        );
        drop(editor);
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_dir(&path);
    }
}

/// Runs a script in name spaces of its own, where this user may mount; `None`, and a word, where that is not allowed.
fn where_mounts_are_ours(workspace: &Workspace, script: &str) -> Option<String> {
    let mut command = workspace.command("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-euc"]);
    let script = format!("mount -t tmpfs -o size=64k none \"$1\" || exit 77; {script}");
    let out = command
        .arg(script)
        .arg("sh")
        .arg(workspace.root())
        .arg(env!("CARGO_BIN_EXE_postil"))
        .output();
    match out {
        Ok(out) if out.status.success() => Some(String::from_utf8(out.stdout).expect("UTF-8")),
        Ok(out) if out.status.code() != Some(77) && !out.stdout.is_empty() => panic!("{out:?}"),
        _ => {
            let test = std::thread::current();
            let test = test.name().unwrap_or("a test");
            let _ = writeln!(std::io::stderr(), "skipped: {test} (no mounts of our own)");
            None
        }
    }
}

#[test]
fn fault_03_on_a_full_disk_the_file_stays_as_it_is() {
    let workspace = Workspace::new();
    let script = r##"cd "$1"; printf '# AUTHOR: why?\nx = 1\n' > a.py; echo begun
        id=$("$2" threads --json | sed 's/.*"id": *"\([0-9a-f]*\)".*/\1/;t;d' | head -1)
        cat /dev/zero > fill 2>/dev/null || true
        "$2" respond "$id" 'So.' 2>&1 || echo "status $?"
        ls -A; cat a.py
        rm fill; "$2" respond "$id" 'So.' > /dev/null; cat a.py"##;
    if let Some(said) = where_mounts_are_ours(&workspace, script) {
        let (refused, rest) = said.split_once("status 1\n").expect("it was refused");
        assert!(refused.contains("No space left"), "{said}");
        assert_eq!(
            rest,
            "a.py\nfill\n# AUTHOR: why?\nx = 1\n# AUTHOR: why?\n# AGENT: So.\n# AUTHOR:\nx = 1\n"
        );
    }
}

#[test]
fn what_is_mounted_read_only_is_refused() {
    let workspace = Workspace::new();
    let script = r##"cd "$1"; printf '# AUTHOR: why?\nx = 1\n' > a.py; echo begun
        id=$("$2" threads --json | sed 's/.*"id": *"\([0-9a-f]*\)".*/\1/;t;d' | head -1)
        mount -o remount,ro "$1"
        "$2" respond "$id" 'So.' 2>&1 || echo "status $?"
        ls -A; cat a.py"##;
    if let Some(said) = where_mounts_are_ours(&workspace, script) {
        let (refused, rest) = said.split_once("status 1\n").expect("it was refused");
        assert!(
            refused.contains("a.py") && refused.contains("ead-only"),
            "{said}"
        );
        assert_eq!(rest, "a.py\n# AUTHOR: why?\nx = 1\n");
    }
}
