//! Children that fall, hang, lie and flood; and children of one that is killed.

use std::time::{Duration, Instant};

use postil::children::{ChildError, Limits};
use postil::text::Encoding;
use serde_json::{Value, json};

use super::bench::{Bench, at, gone, limits, row};
use crate::harness::Workspace;
use crate::mcp::Agent;

fn quick() -> Limits {
    Limits {
        timeout: 1,
        ..limits()
    }
}

/// For what is no matter of time: a machine that does much else reads a flood slowly.
fn patient() -> Limits {
    Limits {
        timeout: crate::harness::DEADLINE.as_secs(),
        ..limits()
    }
}

/// Bytes resident of this process.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|l| l.strip_prefix("VmRSS:"))
        .unwrap();
    line.split_whitespace()
        .next()
        .unwrap()
        .parse::<u64>()
        .unwrap()
        * 1024
}

#[tokio::test]
async fn a_fall_in_a_request_is_retried_once() {
    let bench = Bench::new(json!({"on": {"textDocument/definition": "crash-once"}}));
    let path = bench.open("a.scripted", "scripted", 3, "name def name\n");
    assert_eq!(
        bench.define(&path).await.unwrap()[0]["targetRange"]["start"]["character"],
        9
    );
    assert_eq!(bench.count("textDocument/definition"), 2);
    assert_eq!(
        bench.count("textDocument/didOpen"),
        2,
        "its documents were opened anew"
    );
    assert_eq!(bench.children.states()[0].restarts, 1);
}

#[tokio::test]
async fn one_that_closes_its_input_and_lives_on_is_replaced() {
    let bench = Bench::new(json!({"on": {"textDocument/definition": "shut-once"}}));
    let path = bench.open("a.scripted", "scripted", 1, "name def name\n");
    for _ in 0..2 {
        bench.define(&path).await.unwrap();
    }
    assert_eq!(bench.children.states()[0].restarts, 1);
}

#[tokio::test]
async fn what_is_asked_in_the_moment_of_the_fall_is_answered_by_the_next_one() {
    // What it has started holds its output open: its end is known a moment after its input is closed.
    let bench = Bench::new(json!({"start": "grandchild"}));
    let path = bench.open("a.scripted", "scripted", 1, "name def name\n");
    bench.define(&path).await.unwrap();
    let pid = bench.log().iter().find_map(|m| m["pid"].as_u64()).unwrap();
    let killed = std::process::Command::new("kill")
        .args(["-9", &pid.to_string()])
        .status();
    assert!(killed.unwrap().success());
    assert!(gone(pid, crate::harness::DEADLINE).await);
    bench.define(&path).await.unwrap();
    assert_eq!(bench.children.states()[0].restarts, 1);
}

#[tokio::test]
async fn a_report_of_an_error_is_told_and_not_waited_for() {
    let bench = Bench::new(json!({
        "report": {"title": "Error loading workspace", "message": "no manifest"},
        "on": {"textDocument/references": "nothing"},
    }));
    let path = bench.open("a.scripted", "scripted", 1, "name\n");
    let begun = Instant::now();
    let found = bench.ask(&path, "textDocument/references", 0, 1).await;
    assert_eq!(found.unwrap(), json!([]));
    assert!(begun.elapsed() < Duration::from_secs(9));
    let trouble = bench.children.trouble(&path, None).await.unwrap();
    assert!(
        trouble.ends_with("says: Error loading workspace: no manifest"),
        "{trouble}"
    );
}

#[tokio::test]
async fn what_waits_fails_within_100_ms_of_the_fall() {
    // A command is not asked again: it may have done something.
    let bench = Bench::new(json!({"on": {"workspace/executeCommand": "hang"}}));
    let path = bench.write("a.scripted", "x");
    bench.define(&path).await.unwrap();
    let pid = bench.log()[0]["pid"].as_u64().unwrap();
    let ask = bench.children.request(
        &path,
        None,
        "workspace/executeCommand",
        json!({}),
        Encoding::Utf8,
        &bench.cancel,
    );
    let kill = async {
        bench
            .logged("the command", |log| {
                log.iter()
                    .any(|m| m["method"] == "workspace/executeCommand")
            })
            .await;
        std::process::Command::new("kill")
            .args(["-9", &pid.to_string()])
            .status()
            .unwrap();
        Instant::now()
    };
    let (answer, killed) = tokio::join!(async { (ask.await, Instant::now()) }, kill);
    assert!(
        matches!(&answer.0, Err(ChildError::Stopped(..))),
        "{answer:?}"
    );
    let after = answer.1.duration_since(killed);
    assert!(after < Duration::from_millis(100), "{after:?}");
}

#[tokio::test]
async fn one_that_falls_each_time_is_left_off() {
    let bench = Bench::new(json!({"start": "crash"}));
    let path = bench.write("a.scripted", "x");
    let begun = Instant::now();
    let first = bench.define(&path).await;
    assert!(
        matches!(&first, Err(ChildError::Stopped(_, why)) if why.contains("Unknown option")),
        "{first:?}"
    );
    assert!(begun.elapsed() < Duration::from_secs(2));
    while bench.children.states()[0].state != "failed" {
        assert!(begun.elapsed() < crate::harness::DEADLINE);
        let _ = bench.define(&path).await;
    }
    assert_eq!(bench.children.states()[0].restarts, 5);
    let begun = Instant::now();
    assert!(bench.define(&path).await.is_err());
    assert!(
        begun.elapsed() < Duration::from_millis(50),
        "at once, from now on"
    );
    let messages = bench.face.messages.lock().unwrap();
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(messages[0].contains("5 times in 3 minutes"), "{messages:?}");
}

/// It waits longer before each start than a request does.
#[tokio::test]
async fn one_that_falls_at_each_request_is_said_to_have_fallen_also_while_it_waits() {
    let bench = Bench::with_limits(json!({"on": {"textDocument/definition": "crash"}}), quick());
    let path = bench.write("a.scripted", "x");
    loop {
        let answer = bench.define(&path).await;
        let over = bench.children.states()[0].restarts >= 5;
        assert!(
            matches!(&answer, Err(ChildError::Stopped(_, why)) if why.contains("told to crash")),
            "{answer:?}"
        );
        if over {
            break;
        }
    }
}

#[tokio::test]
async fn a_component_that_rustup_lacks_is_missing() {
    let bench = Bench::new(
        json!({"start": "crash", "say": "error: Unknown binary 'rust-analyzer' in official toolchain 'stable'."}),
    );
    let path = bench.write("a.scripted", "x");
    assert!(matches!(
        bench.define(&path).await,
        Err(ChildError::Missing { .. })
    ));
    assert_eq!(bench.children.states()[0].restarts, 0);
}

#[tokio::test]
async fn one_that_hangs_is_timed_out_cancelled_and_begun_anew() {
    let bench = Bench::with_limits(json!({"on": {"textDocument/definition": "hang"}}), quick());
    let path = bench.write("a.scripted", "x");
    bench.ask(&path, "textDocument/hover", 0, 0).await.unwrap();
    let begun = Instant::now();
    assert!(matches!(
        bench.define(&path).await,
        Err(ChildError::TimedOut(_, 1))
    ));
    let took = begun.elapsed();
    assert!(
        took >= Duration::from_secs(1) && took < Duration::from_millis(1500),
        "{took:?}"
    );
    bench
        .logged("$/cancelRequest", |log| {
            log.iter().any(|m| m["method"] == "$/cancelRequest")
        })
        .await;
    // It answers other requests: it is not ended.
    bench.ask(&path, "textDocument/hover", 0, 0).await.unwrap();
    assert_eq!(bench.children.states()[0].restarts, 0);
}

/// Who asks on behalf of an editor has the editor's patience, and another answer to give.
#[tokio::test]
async fn the_engine_waits_for_a_slow_start_and_the_editor_for_the_time_of_a_request() {
    let options = json!({"on": {"initialize": "slow"}, "slow": 2});
    let bench = Bench::with_limits(options, quick());
    let path = bench.write("a.scripted", "def name BAD\n");
    let (editors, places, diagnostics) = tokio::join!(
        bench.define(&path),
        bench.children.definition(&path, 5, &bench.cancel),
        bench.children.diagnostics(&path, &bench.cancel),
    );
    assert!(
        matches!(editors, Err(ChildError::TimedOut(_, 1))),
        "{editors:?}"
    );
    assert_eq!(places.unwrap()[0].column, 4);
    assert_eq!(diagnostics.unwrap().0.len(), 1);

    let bench = Bench::with_limits(json!({"start": "hang"}), quick());
    let path = bench.write("a.scripted", "def name\n");
    let asked = bench.children.definition(&path, 5, &bench.cancel);
    let cancel = async {
        bench.logged("its start", |log| !log.is_empty()).await;
        bench.cancel.cancel();
    };
    let (answer, ()) = tokio::join!(asked, cancel);
    assert!(matches!(answer, Err(ChildError::Cancelled)), "{answer:?}");
}

#[tokio::test]
async fn requests_that_wait_side_by_side_are_no_sign_that_it_hangs() {
    let bench = Bench::with_limits(json!({"on": {"textDocument/definition": "hang"}}), quick());
    let path = bench.write("a.scripted", "x");
    bench.ask(&path, "textDocument/hover", 0, 0).await.unwrap();
    for answer in futures::future::join_all((0..3).map(|_| bench.define(&path))).await {
        assert!(
            matches!(answer, Err(ChildError::TimedOut(_, 1))),
            "{answer:?}"
        );
    }
    bench.ask(&path, "textDocument/hover", 0, 0).await.unwrap();
    assert_eq!(bench.children.states()[0].restarts, 0);
}

#[tokio::test]
async fn one_that_is_stopped_harms_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let rows = vec![
        row(
            "bad",
            &base.join("bad.log"),
            json!({"on": {"textDocument/definition": "stop"}}),
        ),
        row("good", &base.join("good.log"), json!({})),
    ];
    let bench = Bench::with_rows(folder, rows, quick());
    let (bad, good) = (
        bench.open("a.bad", "bad", 1, "x"),
        bench.open("a.good", "good", 1, "name def name"),
    );
    bench.define(&good).await.unwrap();
    let hung = bench.define(&bad);
    let others = async {
        let mut slowest = Duration::ZERO;
        for version in 2..200 {
            let begun = Instant::now();
            bench.change(&bad, version, &"y".repeat(100_000));
            slowest = slowest.max(begun.elapsed());
            bench.define(&good).await.unwrap();
        }
        slowest
    };
    let (hung, slowest) = tokio::join!(hung, others);
    assert!(matches!(hung, Err(ChildError::TimedOut(..))), "{hung:?}");
    assert!(
        slowest < Duration::from_millis(100),
        "typing took {slowest:?}"
    );
    // Without a sign of life during two requests it is ended.
    let pid = bench.log_of("bad")[0]["pid"].as_u64().unwrap();
    assert!(bench.define(&bad).await.is_err());
    assert!(bench.define(&bad).await.is_err());
    assert!(gone(pid, Duration::from_secs(3)).await);
}

#[tokio::test]
async fn a_cancel_reaches_the_child() {
    let bench = Bench::new(json!({"on": {"textDocument/definition": "hang"}}));
    let path = bench.write("a.scripted", "x");
    let cancel = async {
        let log = bench
            .logged("the request", |log| {
                log.iter().any(|m| m["method"] == "textDocument/definition")
            })
            .await;
        bench.cancel.cancel();
        log.iter()
            .find(|m| m["method"] == "textDocument/definition")
            .unwrap()["id"]
            .clone()
    };
    let (answer, id) = tokio::join!(bench.define(&path), cancel);
    assert!(matches!(answer, Err(ChildError::Cancelled)));
    bench
        .logged("$/cancelRequest", |log| {
            log.iter()
                .any(|m| m["method"] == "$/cancelRequest" && m["params"]["id"] == id)
        })
        .await;
}

/// Whether this is the process that runs the test of this name alone; else it is run in one. What memory grows by
/// is counted by process, and other tests take some.
async fn is_alone(test: &str) -> bool {
    const ALONE: &str = "POSTIL_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut alone = tokio::process::Command::new(std::env::current_exe().unwrap());
    alone
        .args(["--exact", &format!("children::faults::{test}")])
        .env(ALONE, "1")
        .kill_on_drop(true);
    let ended = alone.output().await.unwrap();
    let told = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success() && told.contains("1 passed"),
        "{told}"
    );
    false
}

#[tokio::test]
async fn frames_of_every_kind_are_borne() {
    if !is_alone("frames_of_every_kind_are_borne").await {
        return;
    }
    for how in [
        "bytes", "garbage", "bad", "others", "stderr", "flood", "slow",
    ] {
        let bench = Bench::with_limits(json!({"on": {"textDocument/definition": how}}), patient());
        let path = bench.write("a.scripted", "name def name\n");
        let before = resident();
        for _ in 0..2 {
            let answer = bench.define(&path).await;
            assert_eq!(
                answer.as_ref().unwrap_or_else(|e| panic!("{how}: {e}"))[0]["targetRange"]["start"]
                    ["character"],
                9,
                "{how}"
            );
        }
        let grown = resident().saturating_sub(before);
        assert!(grown < 16 << 20, "{how}: {grown} bytes more");
        assert_eq!(bench.children.states()[0].restarts, 0, "{how}");
    }
}

#[tokio::test]
async fn diagnostics_of_what_is_open_outlast_those_of_many_other_files() {
    let on = json!({"on": {"textDocument/definition": "flood"}});
    let bench = Bench::with_limits(on, patient());
    let path = bench.open("a.scripted", "scripted", 1, "BAD name\n");
    for _ in 0..2 {
        let found = bench.children.diagnostics(&path, &bench.cancel).await;
        let (items, fresh) = found.unwrap();
        assert_eq!((items.len(), fresh), (1, true), "{items:?}");
        bench.define(&path).await.unwrap();
    }
}

#[tokio::test]
async fn one_that_breaks_the_protocol_for_good_is_ended() {
    if !is_alone("one_that_breaks_the_protocol_for_good_is_ended").await {
        return;
    }
    for how in ["half", "oversized", "noise", "unread"] {
        let bench = Bench::with_limits(json!({"on": {"textDocument/definition": how}}), patient());
        let path = bench.write("a.scripted", "x");
        let before = resident();
        let answer = bench.define(&path).await;
        // By what it sends: one that is waited for in vain has `TimedOut`.
        assert!(
            matches!(answer, Err(ChildError::Stopped(..))),
            "{how}: {answer:?}"
        );
        let grown = resident().saturating_sub(before);
        assert!(grown < 24 << 20, "{how}: {grown} bytes more");
        // The next one is asked something else, and lives.
        bench
            .ask(&path, "textDocument/hover", 0, 0)
            .await
            .unwrap_or_else(|e| panic!("{how}: {e}"));
    }
}

#[tokio::test]
async fn two_children_with_the_same_ids_are_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let rows = ["one", "two"].map(|name| {
        row(
            name,
            &base.join(format!("{name}.log")),
            json!({"on": {"textDocument/definition": "slow"}}),
        )
    });
    let bench = Bench::with_rows(folder, rows.to_vec(), limits());
    bench.write("x.scripted", "def a def b\n");
    let (one, two) = (bench.write("a.one", "a"), bench.write("b.two", "b"));
    let of = |answer: Result<Value, ChildError>| {
        answer.unwrap()[0]["targetRange"]["start"]["character"]
            .as_u64()
            .unwrap()
    };
    let asks = (0..20).map(|n| {
        let path = if n % 2 == 0 { &one } else { &two };
        bench.ask(path, "textDocument/definition", 0, 0)
    });
    let answers: Vec<u64> = futures::future::join_all(asks)
        .await
        .into_iter()
        .map(of)
        .collect();
    assert_eq!(
        answers,
        (0..20)
            .map(|n| if n % 2 == 0 { 4 } else { 10 })
            .collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn all_end_with_us_in_order() {
    let bench = Bench::new(json!({"start": "grandchild"}));
    let path = bench.write("a.scripted", "x");
    bench.define(&path).await.unwrap();
    let log = bench.log();
    let (grandchild, pid) = (
        log[0]["grandchild"].as_u64().unwrap(),
        log[1]["pid"].as_u64().unwrap(),
    );
    let begun = Instant::now();
    bench.children.shutdown().await;
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert!(gone(pid, Duration::ZERO).await && gone(grandchild, Duration::from_secs(1)).await);
    assert!(bench.log().iter().any(|m| m["method"] == "exit"));
    assert!(
        matches!(bench.define(&path).await, Err(ChildError::Untrusted)),
        "none starts after that"
    );
}

#[tokio::test]
async fn one_that_is_deaf_is_killed() {
    let bench = Bench::new(json!({"start": "deaf"}));
    let path = bench.write("a.scripted", "x");
    let ask = bench.define(&path);
    let end = async {
        let log = bench.logged("its start", |log| !log.is_empty()).await;
        let begun = Instant::now();
        bench.children.shutdown().await;
        (log[0]["pid"].as_u64().unwrap(), begun.elapsed())
    };
    let (answer, (pid, took)) = tokio::join!(ask, end);
    assert!(answer.is_err());
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(gone(pid, Duration::from_secs(1)).await);
}

/// The part of the process that is killed below.
#[tokio::test]
#[ignore = "run by the test below, in a process of its own"]
async fn a_process_with_a_child() {
    let Some(folder) = std::env::var_os("POSTIL_TEST_FOLDER") else {
        return;
    };
    let log = std::path::Path::new(&folder).join("killed.log");
    let bench = Bench::with_rows(
        tempfile::tempdir_in(&folder).unwrap(),
        vec![row("scripted", &log, json!({"start": "grandchild"}))],
        limits(),
    );
    let path = bench.write("a.scripted", "x");
    let _ = bench
        .children
        .request(
            &path,
            None,
            "textDocument/hover",
            at(&path, 0, 0),
            Encoding::Utf8,
            &bench.cancel,
        )
        .await;
    std::fs::write(std::path::Path::new(&folder).join("ready"), "").unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn all_end_when_we_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut us = tokio::process::Command::new(std::env::current_exe().unwrap());
    us.args([
        "--exact",
        "children::faults::a_process_with_a_child",
        "--ignored",
    ]);
    us.env("POSTIL_TEST_FOLDER", folder.path())
        .stdout(std::process::Stdio::null())
        .kill_on_drop(true);
    let mut us = us.spawn().unwrap();
    let begun = Instant::now();
    while !folder.path().join("ready").exists() {
        assert!(
            begun.elapsed() < crate::harness::DEADLINE,
            "it does not start"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let log = std::fs::read_to_string(folder.path().join("killed.log")).unwrap();
    let ids: Vec<u64> = log
        .lines()
        .take(2)
        .map(|l| serde_json::from_str::<Value>(l).unwrap())
        .map(|l| l["pid"].as_u64().or(l["grandchild"].as_u64()).unwrap())
        .collect();
    us.start_kill().unwrap();
    us.wait().await.unwrap();
    for id in ids {
        assert!(gone(id, Duration::from_secs(2)).await, "{id} lives on");
    }
}

/// rust-analyzer without a toolchain, or with a broken manifest: it answers, and knows nothing.
#[test]
fn one_that_could_not_read_the_project_is_not_believed_when_it_knows_no_use() {
    let workspace = Workspace::new();
    workspace.script_child_of(
        "rust",
        "rs",
        &json!({
            "on": {"textDocument/references": "nothing"},
            "status": {"health": "error", "quiescent": true, "message": "Failed to load workspaces.\n\nmore"},
        }),
    );
    workspace.write(
        "src/a.rs",
        "// AUTHOR: where is this used?\npub fn load() {}\n",
    );
    workspace.write("src/main.rs", "fn main() {\n    load();\n}\n");
    for args in [
        &["trust", "--yes"][..],
        &["reply", "--all", "--yes", "--model", "offline"],
    ] {
        let done = workspace.postil().args(args).output().expect("it runs");
        assert!(done.status.success(), "{done:?}");
    }
    let text = workspace.read("src/a.rs");
    for words in [
        "No use of `load` is known to the language server",
        "says: Failed to load workspaces.); by tree-sitter the name stands at src/main.rs:2.",
    ] {
        assert!(text.contains(words), "{text}");
    }
    assert!(!text.contains("used nowhere"), "{text}");

    let mut agent = Agent::start(&workspace);
    let told = agent.call(
        "lsp",
        json!({"action": "references", "file": "src/a.rs", "line": 2, "column": 8}),
    );
    assert!(
        told.to_string()
            .contains("It may know too little: `python3` says: Failed to load workspaces."),
        "{told}"
    );
}
