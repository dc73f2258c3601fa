//! Runs and rounds under several processes and sudden death.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use postil::store::{RunStatus, Store, StoreError};
use serde_json::Map;

use crate::harness::Workspace;

/// Rounds that each of two writers adds.
const EACH: usize = 10_000;

/// Another process on the same store: this test binary, asked for the one test below.
fn writer(workspace: &Workspace, does: &str, run: &str) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args([
            "--exact",
            "store::another_process",
            "--ignored",
            "--nocapture",
        ])
        .env("POSTIL_WRITER", does)
        .env("POSTIL_WRITER_RUN", run)
        .env("POSTIL_WRITER_DATA", workspace.data())
        .env("POSTIL_WRITER_ROOT", workspace.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a second process")
}

#[test]
#[ignore = "the other process of the tests below"]
fn another_process() {
    let Ok(does) = std::env::var("POSTIL_WRITER") else {
        return;
    };
    let var = |name: &str| std::env::var(format!("POSTIL_WRITER_{name}")).expect("set");
    let store = Store::open(var("DATA").as_ref(), var("ROOT").as_ref()).expect("the store opens");
    match does.as_str() {
        "append" => {
            let me = std::process::id();
            for n in 0..EACH {
                store
                    .append(&var("RUN"), "tool", Map::new(), &format!("{me} {n}"))
                    .expect("appended");
            }
        }
        _ => {
            let run = store.begin("3f9a01bc", "src/a.rs", "m").expect("begun");
            for n in 1..=3 {
                store
                    .append(&run.id, "tool", Map::new(), &n.to_string())
                    .expect("appended");
            }
            let mut out = std::io::stdout();
            writeln!(out, "\nholds {}", run.id)
                .and_then(|()| out.flush())
                .expect("told");
            // Until it is killed, or the test has gone.
            let _ = std::io::stdin().lock().read_line(&mut String::new());
        }
    }
}

#[test]
fn fault_05_two_processes_write_one_run_without_loss_and_in_order() {
    let workspace = Workspace::in_memory();
    let store = Store::open(&workspace.data(), workspace.root()).expect("the store opens");
    let run = store.begin("3f9a01bc", "src/a.rs", "m").expect("begun");
    let writers = [(); 2].map(|()| writer(&workspace, "append", &run.id));
    for mut writer in writers {
        // Read to the end, or a full pipe would hold it.
        std::io::copy(
            &mut writer.stdout.take().expect("piped"),
            &mut std::io::sink(),
        )
        .expect("read");
        assert!(writer.wait().expect("waited").success());
    }

    let all = 2 * EACH;
    let rounds = store.rounds_from(&run.id, 0, all + 1).expect("read");
    let expected = 1..=u64::try_from(all).expect("a number");
    assert!(rounds.iter().map(|round| round.seq).eq(expected));
    // Each one's rounds are there once, in the order in which it wrote them.
    let mut written: BTreeMap<&str, usize> = BTreeMap::new();
    for round in &rounds {
        let (writer, n) = round.content.split_once(' ').expect("two words");
        let next = written.entry(writer).or_default();
        assert_eq!(n, next.to_string(), "{writer}");
        *next += 1;
    }
    assert!(written.values().eq(&[EACH, EACH]), "{written:?}");
    let known = store.run(&run.id).expect("read").rounds;
    assert_eq!(known, u64::try_from(all).expect("a number"));
}

#[test]
fn a_killed_process_leaves_its_rounds_and_an_interrupted_run() {
    let workspace = Workspace::new();
    let mut other = writer(&workspace, "hold", "");
    let run = BufReader::new(other.stdout.take().expect("piped"))
        .lines()
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("holds ").map(str::to_owned))
        .expect("it holds a run");

    let store = Store::open(&workspace.data(), workspace.root()).expect("the store opens");
    let taken = store.begin("3f9a01bc", "src/a.rs", "m");
    assert!(matches!(taken, Err(StoreError::Taken(id)) if id == run));
    assert_eq!(store.run(&run).expect("read").status, RunStatus::Running);

    other.kill().expect("killed");
    // Not waited for: a zombie is no owner either.
    let output = workspace
        .postil()
        .args(["workflow", "list", "--json"])
        .output()
        .expect("postil runs");
    let runs: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(runs[0]["status"], "interrupted", "{runs}");
    assert_eq!(runs[0]["rounds"], 3);
    let run = store
        .begin("3f9a01bc", "src/a.rs", "m")
        .expect("free to be taken");
    let next = store
        .append(&run.id, "tool", Map::new(), "4")
        .expect("appended");
    assert_eq!(next, 4);
    other.wait().expect("waited");
}
