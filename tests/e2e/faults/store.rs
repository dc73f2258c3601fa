//! What happens to the history: a full disk, a clock that jumps, other programs.

use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::process::Command;

use postil::store::{RunStatus, Store, StoreError, location};
use rusqlite::Connection;
use serde_json::Map;

use super::beside::{Desk, read};
use super::pages::{database, next, numbers};
use super::turn::FILE;
use super::*;
use crate::model::{Step, call};

const INSIDE: &str = "POSTIL_TEST_MOUNTS";

/// Whether this is `test` in name spaces of its own, where it may mount. Where it is not, it is run there once more,
/// if the system lets us.
#[track_caller]
fn may_mount(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let inside = |program: &Path, args: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount"]);
        command.arg(program).args(args).env(INSIDE, "1").output()
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    let tried = inside(Path::new("mount"), &["-t", "tmpfs", "none", path]);
    if !tried.is_ok_and(|output| output.status.success()) {
        let _ = writeln!(std::io::stderr(), "skipped: {test} (no mounts of our own)");
        return false;
    }
    let this = std::env::current_exe().expect("this program");
    let name = format!("faults::store::{test}");
    let output = inside(&this, &["--exact", &name, "--nocapture"]).expect("unshare runs");
    let said = shown(&output);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
    false
}

#[track_caller]
fn mount(options: &str, path: &Path) {
    std::fs::create_dir_all(path).expect("a folder");
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", options, "none"]).arg(path);
    assert!(mount.status().expect("mount runs").success(), "{options}");
}

/// Takes all the room that is left; dropped, it is free again.
struct Filler(std::path::PathBuf);

impl Filler {
    fn new(folder: &Path) -> Self {
        let path = folder.join("filler");
        let mut file = std::fs::File::create(&path).expect("created");
        while file.write_all(&[1; 4096]).is_ok() {}
        Self(path)
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn raw(workspace: &Workspace) -> Connection {
    let path = database(&workspace.data()).expect("a database");
    Connection::open(path).expect("it opens")
}

/// What needs no history works: threads are shown, listed and answered by hand, actions are offered.
#[track_caller]
fn lives(desk: &mut Desk) {
    assert!(!desk.editor.code_actions(FILE, 0).is_empty());
    let path = "src/beside.rs";
    desk.world.workspace.write(path, ASKED);
    desk.editor.open(path);
    let id = desk.editor.wait_codes(path, &["pending"])[0]["data"]["thread_id"].clone();
    let uri = desk.editor.uri(path);
    let argument = json!({"uri": uri, "thread_id": id, "text": "by hand"});
    desk.editor
        .command("postil.reply", argument)
        .expect("written");
    assert!(desk.editor.text(path).contains("by hand"));
    // What is removed, and can be kept nowhere, is told.
    let of_it = json!({"uri": uri, "thread_id": id});
    let removed = desk.editor.command("postil.dismissThread", of_it);
    removed.expect("removed");
    desk.editor.wait_message("window/showMessage", |params| {
        let text = params["message"].as_str().unwrap_or_default();
        text.contains("could not be kept") && text.contains("AUTHOR: by hand")
    });
    assert!(!desk.editor.text(path).contains("AUTHOR"));
    desk.editor.close(path);
    assert!(!files(&desk.world.workspace).is_empty());
}

/// Every round that was acknowledged is there once, and the thread is answered.
#[track_caller]
fn whole(desk: &Desk, answer: &str) {
    desk.editor
        .wait_text(FILE, |text| text.contains(&format!("// AGENT: {answer}")));
    desk.wait_status("completed");
    let rounds = desk.world.rounds();
    let count = |role: &str| rounds.iter().filter(|(known, _)| known == role).count();
    assert_eq!(
        (count("user"), count("tool"), count("reply")),
        (1, 1, 1),
        "{rounds:?}"
    );
}

#[test]
fn fault_01_threads_that_are_cleared_are_kept_all_or_none() {
    let count = 25;
    let mut cut = 0;
    for step in 1.. {
        let workspace = Workspace::new();
        workspace.git(&["init", "--quiet"]);
        let text: String = (0..count)
            .map(|n| format!("// AUTHOR: why {n}?\nfn f{n}() {{}}\n"))
            .collect();
        workspace.write("a.rs", text);
        let mut command = workspace.postil();
        command.args(["clear", "a.rs"]);
        let output = command.env("POSTIL_TEST_KILL", step.to_string()).output();
        let output = output.expect("postil runs");
        let kept = || -> i64 {
            database(&workspace.data()).map_or(0, |path| {
                let raw = Connection::open(path).expect("it opens");
                let counted = raw.query_row("SELECT count(*) FROM closed", [], |row| row.get(0));
                counted.expect("counted")
            })
        };
        let then = kept();
        if output.status.code().is_some() {
            assert_eq!(
                (output.status.code(), then),
                (Some(0), count),
                "{}",
                shown(&output)
            );
            break;
        }
        assert!(
            then == 0 || then == count,
            "killed at step {step}: {then} are kept"
        );
        cut += i64::from(then == 0);
        // Whatever left the file is kept when the history is opened next.
        let list = workspace.postil().args(["workflow", "list"]).output();
        assert!(list.expect("postil runs").status.success());
        let gone = match workspace.read("a.rs").contains("AUTHOR") {
            true => 0,
            false => count,
        };
        assert_eq!(kept(), gone, "killed at step {step}");
    }
    assert!(cut >= count, "it was killed between two of them");
}

#[test]
fn fault_03_a_full_disk_under_the_history_stops_a_turn_that_goes_on_later() {
    if !may_mount("fault_03_a_full_disk_under_the_history_stops_a_turn_that_goes_on_later") {
        return;
    }
    let workspace = Workspace::new();
    mount("size=8m", &workspace.data());
    let data = workspace.data();
    let script = vec![read(), Step::text("Lost.").held(), Step::text("Now.")];
    let mut desk = Desk::on(workspace, script);
    desk.ask();
    desk.world.model.wait_for_requests(2);
    let filler = Filler::new(&data);
    desk.world.model.release();
    desk.wait_told("is full), so the turn was stopped: free space");
    lives(&mut desk);
    // What is there can be read.
    let rounds = desk.world.rounds();
    assert!(rounds.len() >= 3, "{rounds:?}");
    assert!(!desk.editor.text(FILE).contains("AGENT:"));
    // While it is full nothing is begun; when it is not, the same server goes on where it stopped.
    let refused = desk.editor.take_action(FILE, 0, "Reply as agent");
    let refused = refused.expect_err("nothing can be kept").to_string();
    assert!(refused.contains("is full"), "{refused}");
    drop(filler);
    desk.ask();
    whole(&desk, "Now.");
    assert!(desk.world.model.requests()[2].prompt().contains("toolu_r"));
}

#[test]
fn fault_03_a_disk_that_is_full_when_the_history_is_opened_is_named() {
    if !may_mount("fault_03_a_disk_that_is_full_when_the_history_is_opened_is_named") {
        return;
    }
    let workspace = Workspace::new();
    mount("size=8m", &workspace.data());
    drop(Store::open(&workspace.data(), workspace.root()).expect("the store opens"));
    let filler = Filler::new(&workspace.data());
    let listed = super::run(&workspace, &["workflow", "list"]);
    assert_eq!(listed.status.code(), Some(1));
    assert!(shown(&listed).contains("is full"), "{}", shown(&listed));
    drop(filler);
    let listed = super::run(&workspace, &["workflow", "list"]);
    assert_eq!(listed.status.code(), Some(0), "{}", shown(&listed));
}

#[test]
fn fault_03_a_disk_that_fills_up_loses_no_round_that_was_taken() {
    if !may_mount("fault_03_a_disk_that_fills_up_loses_no_round_that_was_taken") {
        return;
    }
    let workspace = Workspace::new();
    // Room for the log of SQLite and its first way into the database, not for the second.
    mount("size=9m", &workspace.data());
    let store = Store::open(&workspace.data(), workspace.root()).expect("the store opens");
    let run = store.begin("3f9a01bc", "src/a.rs", "m").expect("begun").id;
    let append = |n: u64| store.append(&run, "tool", Map::new(), &format!("{n} ").repeat(10_000));
    let mut kept = 0;
    let error = loop {
        match append(kept + 1) {
            Ok(seq) => {
                kept += 1;
                assert_eq!(seq, kept);
            }
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    let path = location(&workspace.data(), workspace.root());
    let pages = std::fs::metadata(&path).expect("a file").len();
    assert!(
        kept > 50 && pages > 1 << 20,
        "{kept} rounds, {pages} bytes moved"
    );
    // Reading works, here and in another process, which has no room either.
    let there = |expected: u64| {
        let rounds = store.rounds_from(&run, 0, 10_000).expect("read");
        assert!(rounds.iter().map(|round| round.seq).eq(1..=expected));
        let fits = |round: &postil::store::Round| {
            round.content == format!("{} ", round.seq).repeat(10_000)
        };
        assert!(rounds.iter().all(fits));
    };
    there(kept);
    let listed = super::run(&workspace, &["workflow", "thread", &run]);
    assert_eq!(listed.status.code(), Some(0), "{}", shown(&listed));
    let larger = Command::new("mount")
        .args(["-o", "remount,size=64m"])
        .arg(workspace.data())
        .status();
    assert!(larger.expect("mount runs").success());
    for n in kept + 1..kept + 20 {
        assert_eq!(append(n).expect("there is room"), n);
    }
    there(kept + 19);
    store
        .finish(&run, RunStatus::Completed, None)
        .expect("finished");
    let verdict = raw(&workspace).query_row("PRAGMA integrity_check", [], |row| row.get(0));
    assert_eq!(verdict, Ok(String::from("ok")));
}

#[test]
fn fault_03_a_full_disk_under_the_files_is_told_to_the_model() {
    if !may_mount("fault_03_a_full_disk_under_the_files_is_told_to_the_model") {
        return;
    }
    let workspace = Workspace::new();
    mount("size=1m", workspace.root());
    let root = workspace.root().to_owned();
    let write = |id| {
        let input = json!({"path": "src/new.rs", "content": "// new\n".repeat(2000)});
        Step::calls(vec![call(id, "file_write", input)])
    };
    let script = vec![
        write("toolu_1").held(),
        write("toolu_2").held(),
        Step::text("Done."),
    ];
    let mut desk = Desk::on(workspace, script);
    desk.ask();
    desk.world.model.wait_for_requests(1);
    let filler = Filler::new(&root);
    desk.world.model.release();
    let asked = desk.world.model.wait_for_requests(2);
    let results = asked[1].results();
    assert!(
        results[0].2 && results[0].1.contains("No space left"),
        "{results:?}"
    );
    let left: Vec<_> = std::fs::read_dir(root.join("src"))
        .expect("a folder")
        .flatten()
        .collect();
    assert_eq!(left.len(), 1, "nothing half written: {left:?}");
    drop(filler);
    desk.world.model.release();
    desk.editor
        .wait_text(FILE, |text| text.contains("// AGENT: Done."));
    assert_eq!(
        desk.world.workspace.read("src/new.rs"),
        "// new\n".repeat(2000)
    );
}

#[test]
fn fault_20_what_cannot_be_written_is_told_by_every_tool_and_left_as_it_is() {
    if !may_mount("fault_20_what_cannot_be_written_is_told_by_every_tool_and_left_as_it_is") {
        return;
    }
    const FILES: [&str; 3] = ["kept/a.rs", "locked.rs", "folder.rs"];
    let workspace = Workspace::new();
    mount("size=1m", &workspace.path("kept"));
    for file in FILES {
        workspace.write(file, "fn a() {}\n");
    }
    let of = |at: usize, tool: &str, input| call(&format!("toolu_{tool}_{at}"), tool, input);
    let mut reads = Vec::new();
    let mut writes = vec![of(
        9,
        "file_write",
        json!({"path": "kept/new.rs", "content": "x"}),
    )];
    for (at, file) in FILES.iter().enumerate() {
        reads.push(of(at, "file_read", json!({"path": file})));
        let edit = json!({"path": file, "old_string": "a", "new_string": "b"});
        writes.push(of(at, "file_edit", edit));
        writes.push(of(at, "file_write", json!({"path": file, "content": "x"})));
        let patch = format!("--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-fn a() {{}}\n+x\n");
        writes.push(of(at, "patch_apply", json!({"patch": patch})));
    }
    let count = writes.len();
    let script = vec![
        Step::calls(reads),
        Step::calls(writes).held(),
        Step::text("I cannot."),
    ];
    let mut desk = Desk::on(workspace, script);
    desk.ask();
    desk.world.model.wait_for_requests(2);
    let root = desk.world.workspace.root().to_owned();
    let mut remount = Command::new("mount");
    let remount = remount.args(["-o", "remount,ro"]).arg(root.join("kept"));
    assert!(remount.status().expect("mount runs").success());
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o444);
    std::fs::set_permissions(root.join("locked.rs"), mode).expect("a mode");
    std::fs::remove_file(root.join("folder.rs")).expect("removed");
    std::fs::create_dir(root.join("folder.rs")).expect("a folder");
    desk.world.model.release();
    let results = desk.world.model.wait_for_requests(3)[2].results();
    desk.editor
        .wait_text(FILE, |text| text.contains("// AGENT: I cannot."));
    assert_eq!(results.len(), count);
    for (id, text, is_error) in results {
        let named = FILES.iter().any(|file| text.contains(file)) || text.contains("kept/new.rs");
        assert!(is_error && named, "{id}: {text}");
    }
    assert_eq!(
        desk.world.model.requests().len(),
        3,
        "nothing is tried again"
    );
    for file in ["kept/a.rs", "locked.rs"] {
        assert_eq!(desk.world.workspace.read(file), "fn a() {}\n");
    }
    let names = |folder: &Path| {
        let entries = std::fs::read_dir(folder).expect("a folder").flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&root), ["folder.rs", "kept", "locked.rs", "src"]);
    assert_eq!(names(&root.join("kept")), ["a.rs"]);
    assert!(names(&root.join("folder.rs")).is_empty());
}

#[test]
fn fault_04_a_history_that_cannot_be_used_costs_the_history_alone() {
    type Spoil = fn(&Workspace);
    let newer: Spoil = |workspace| {
        let set = raw(workspace).pragma_update(None, "user_version", 999);
        set.expect("set");
    };
    let none: Spoil = |workspace| {
        let path = location(&workspace.data(), workspace.root());
        let folder = path.parent().expect("a folder");
        let _ = std::fs::remove_dir_all(folder);
        std::fs::write(folder, "no folder").expect("written");
    };
    let reasons: [(Spoil, &str); 2] = [(newer, "written by a newer postil"), (none, "exists")];
    for (spoil, why) in reasons {
        let workspace = Workspace::new();
        drop(Store::open(&workspace.data(), workspace.root()).expect("the store opens"));
        spoil(&workspace);
        let before = database(&workspace.data()).map(|path| std::fs::read(path).expect("read"));
        let mut desk = Desk::on(workspace, vec![Step::text("Never.")]);
        lives(&mut desk);
        let refused = desk.editor.take_action(FILE, 0, "Reply as agent");
        let refused = refused.expect_err("nothing can be kept").to_string();
        assert!(refused.contains(why), "{refused}");
        let listed = super::run(&desk.world.workspace, &["workflow", "list"]);
        assert_eq!(listed.status.code(), Some(1));
        assert!(shown(&listed).contains(why), "{}", shown(&listed));
        assert!(desk.world.model.requests().is_empty());
        let data = desk.world.workspace.data();
        let after = database(&data).map(|path| std::fs::read(path).expect("read"));
        assert_eq!(before, after, "{why}: it is as it was");
    }
}

#[test]
fn fault_04_a_history_that_is_read_only_is_used_when_it_can_be() {
    if !may_mount("fault_04_a_history_that_is_read_only_is_used_when_it_can_be") {
        return;
    }
    let workspace = Workspace::new();
    mount("size=8m", &workspace.data());
    drop(Store::open(&workspace.data(), workspace.root()).expect("the store opens"));
    let data = workspace.data();
    let remount = |how: &str| {
        let mut mount = Command::new("mount");
        let status = mount.args(["-o", how]).arg(&data).status();
        assert!(status.expect("mount runs").success());
    };
    remount("remount,ro");
    let mut desk = Desk::on(workspace, vec![read(), Step::text("Now.")]);
    lives(&mut desk);
    let refused = desk.editor.take_action(FILE, 0, "Reply as agent");
    let refused = refused.expect_err("nothing can be kept").to_string();
    assert!(refused.contains("Read-only"), "{refused}");
    remount("remount,rw");
    desk.ask();
    whole(&desk, "Now.");
}

#[test]
fn fault_04_a_history_that_is_locked_in_mid_turn_is_waited_for() {
    let mut desk = Desk::new(vec![read(), Step::text("Done.").held()]);
    desk.ask();
    desk.world.model.wait_for_requests(2);
    let other = raw(&desk.world.workspace);
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    desk.world.model.release();
    // Meanwhile what needs no history works, and what is there can be read.
    assert!(!desk.editor.code_actions(FILE, 0).is_empty());
    desk.editor
        .splice(FILE, 0..0, "// AUTHOR: another\nfn z() {}\n");
    desk.editor.wait_diagnostics(FILE, |all| all.len() == 2);
    assert_eq!(desk.world.runs()[0]["status"], "running");
    assert!(!desk.editor.text(FILE).contains("AGENT:"));
    other.execute_batch("ROLLBACK").expect("free");
    whole(&desk, "Done.");
}

#[test]
fn fault_04_a_history_that_is_damaged_in_mid_turn_is_set_aside_and_not_deleted() {
    let held = Step::text("Lost.").held();
    let mut desk = Desk::new(vec![read(), held, Step::text("Kept.")]);
    desk.ask();
    desk.world.model.wait_for_requests(2);
    let path = location(&desk.world.workspace.data(), desk.world.workspace.root());
    // Every byte of it and of its log, at the length that they have.
    for end in ["db", "db-wal"] {
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .open(path.with_extension(end))
            .expect("there");
        let length = file.metadata().expect("known").len();
        file.rewind().expect("at its start");
        let noise = vec![0x5a; usize::try_from(length).expect("small")];
        file.write_all(&noise).expect("spoiled");
    }
    desk.world.model.release();
    // What it has in memory is enough for the answer.
    desk.editor
        .wait_text(FILE, |text| text.contains("// AGENT: Lost."));
    // The editor that met it goes on with a new one.
    let other = "src/other.rs";
    desk.world.workspace.write(other, ASKED);
    desk.editor.open(other);
    desk.editor
        .wait_saying("window/showMessage", "was damaged; it is kept as");
    let id = desk.editor.wait_codes(other, &["pending"])[0]["data"]["thread_id"].clone();
    let of_it = json!({"uri": desk.editor.uri(other), "thread_id": id});
    let begun = desk.editor.command("postil.replyAsAgent", of_it);
    begun.expect("a turn begins");
    desk.editor
        .wait_text(other, |text| text.contains("// AGENT: Kept."));
    desk.wait_status("completed");
    assert_eq!(desk.world.runs()[0]["file"], other);
    let names = std::fs::read_dir(path.parent().expect("a folder")).expect("read");
    let aside = names
        .flatten()
        .find(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with("rounds-damaged-") && name.ends_with(".db")
        })
        .expect("kept");
    let kept = std::fs::read(aside.path()).expect("read");
    assert!(kept.iter().all(|byte| *byte == 0x5a));
    assert_eq!(desk.world.runs().len(), 1, "a new one is in use");
}

#[test]
fn fault_04_an_emptied_history_is_kept_aside_and_said_in_the_editor() {
    let workspace = Workspace::new();
    drop(Store::open(&workspace.data(), workspace.root()).expect("the store opens"));
    let path = location(&workspace.data(), workspace.root());
    std::fs::write(&path, "").expect("emptied");
    let log = path.with_extension("db-wal");
    std::fs::write(log, "rounds").expect("written");
    let mut desk = Desk::on(workspace, vec![read(), Step::text("Now.")]);
    desk.ask();
    desk.editor.wait_message("window/showMessage", |params| {
        let text = params["message"].as_str().unwrap_or_default();
        text.contains("was emptied by something else; it is kept as")
    });
    whole(&desk, "Now.");
    let names = std::fs::read_dir(path.parent().expect("a folder")).expect("read");
    let mut aside = names.flatten().filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with("rounds-damaged-") && name.ends_with(".db-wal")
    });
    let aside = aside.next().expect("kept");
    assert_eq!(std::fs::read(aside.path()).expect("read"), b"rounds");
}

#[test]
fn fault_06_rounds_whose_times_go_back_and_forth_keep_their_order() {
    const DAY: i64 = 86_400_000_000;
    let workspace = Workspace::new();
    let store = Store::open(&workspace.data(), workspace.root()).expect("the store opens");
    let begin = |thread: &str| store.begin(thread, "src/a.rs", "m").expect("begun").id;
    let (first, second) = (begin("3f9a01bc"), begin("3f9a01bd"));
    let append = |n: usize| {
        let content = format!("Round {n}. {}", "x".repeat(n * 11 % 300));
        store
            .append(&first, "tester", Map::new(), &content)
            .expect("appended")
    };
    for n in 1..=40 {
        append(n);
    }
    // A day back, a day on, as a clock that is set in between.
    let raw = raw(&workspace);
    raw.execute(
        "UPDATE rounds SET time = time + ((seq * 7) % 5 - 2) * ?1",
        [DAY],
    )
    .expect("changed");
    // The older run began a day after the newer one.
    raw.execute(
        "UPDATE runs SET started = started + ?1, touched = touched - ?1 WHERE id = ?2",
        rusqlite::params![DAY, first],
    )
    .expect("changed");
    assert_eq!(append(41), 41);

    let page = |args: &[&str]| {
        let output = super::run(
            &workspace,
            &[&["workflow", "thread", first.as_str()], args].concat(),
        );
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let mut text = page(&["--budget", "1200"]);
    let mut seen = numbers(&text);
    // The request heads the first page.
    assert_eq!(seen.remove(0), 1);
    while let Some(before) = next(&text) {
        text = page(&["--budget", "1200", "--before", &before]);
        let earlier = numbers(&text);
        assert!(earlier.len() < 41, "it goes round in circles");
        seen.splice(0..0, earlier);
    }
    assert!(seen.iter().copied().eq(1..=41), "{seen:?}");
    let lines = page(&["--json"]);
    let rounds: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let order: Vec<u64> = rounds
        .iter()
        .filter_map(|round| round["round"].as_u64())
        .collect();
    assert!(order.is_sorted() && order.last() == Some(&41), "{order:?}");
    let listed = super::run(&workspace, &["workflow", "list", "--json"]);
    let runs: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    let ids: Vec<&str> = runs
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|run| run["id"].as_str())
        .collect();
    assert_eq!(ids, [second.as_str(), first.as_str()]);
    // Who holds them is not asked of the clock.
    assert!(store.is_live(&first).expect("known"));
    assert!(matches!(
        store.begin("3f9a01bc", "src/a.rs", "m"),
        Err(StoreError::Taken(_))
    ));
}
