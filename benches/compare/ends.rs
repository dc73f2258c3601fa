//! How soon what a turn started is gone: when the editor closes its pipe, and when the author cancels. And how long the
//! threads of another branch take to be shown, beside the first scan of the same files.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Measured;
use super::client::{Client, uri};
use super::place::{Place, peer};
use super::report::Row;
use super::scripted::Scripted;
use super::stats::Series;

const TURNS: usize = 6;
const FILES: usize = 10_000;
/// Every which file has a thread.
const EVERY: usize = 100;

/// All that a process started, and what that started.
fn below(root: u32) -> BTreeSet<u32> {
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|n| n.parse::<u32>().ok())
        else {
            continue;
        };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name in parentheses may hold blanks; the state and the parent come behind it.
        let mut rest = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        if let (Some(_), Some(Ok(parent))) = (rest.next(), rest.next().map(str::parse::<u32>)) {
            parents.push((pid, parent));
        }
    }
    let mut found = BTreeSet::new();
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for (pid, _) in parents.iter().filter(|(_, known)| *known == parent) {
            if found.insert(*pid) {
                open.push(*pid);
            }
        }
    }
    found
}

/// Whether it runs: one that has ended and waits to be collected has no command line.
fn runs(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

fn sleeps(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(b"sleep\0"))
}

/// From now until none of them runs.
fn until_gone(start: Instant, pids: &BTreeSet<u32>) -> Result<Duration, String> {
    while pids.iter().any(|pid| runs(*pid)) {
        if start.elapsed() > Duration::from_secs(30) {
            return Err(String::from("processes stay"));
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    Ok(start.elapsed())
}

/// A server with a child of its own and a turn whose command runs two processes, one of them out of its group.
struct Busy {
    client: Client,
    thread: Value,
    _model: Scripted,
    _place: Place,
}

fn busy() -> Result<Busy, String> {
    let server = peer("pylsp").ok_or("`tests/peers install pylsp` gets it")?;
    let place = Place::new();
    place.configure(&format!(
        "[proxy]\nmode = \"always\"\n[servers.python]\ncommand = \"{}\"\n[permissions]\ndefault = \"allow\"\n",
        server.display()
    ));
    let text = "def f(x): return x\nprint(f(1))\n";
    let path = place.write("main.py", text);
    let model = Scripted::running(&place.root(), "setsid sleep 600 & sleep 600");
    let mut trust = place.postil(&place.root());
    trust.args(["trust", "--yes", "-q"]);
    trust.status().map_err(|e| e.to_string())?;
    let mut command = place.postil(&place.root());
    super::agents::key(&mut command, model.port);
    let options = json!({"model": "anthropic/claude-sonnet-4-5"});
    let (mut client, _) = Client::start(command, &place.root(), options);
    client.open(&path, "python", text, false);
    // Typed, for what came with the files is answered without running anything.
    let start = json!({"line": 0, "character": 0});
    let change = json!({"range": {"start": start, "end": start}, "text": "# AUTHOR: run it\n"});
    let document = json!({"uri": uri(&path), "version": 1});
    let typed = json!({"textDocument": document, "contentChanges": [change]});
    client.notify("textDocument/didChange", typed);
    let at = json!({"textDocument": {"uri": uri(&path)}, "position": {"line": 2, "character": 6}});
    client.request("textDocument/definition", at);
    let thread = super::agents::begin(&mut client, &path)?;
    let process = client.process();
    let began = Instant::now();
    while below(process).iter().filter(|pid| sleeps(**pid)).count() < 2 {
        if began.elapsed() > Duration::from_secs(30) {
            return Err(String::from("the command does not begin"));
        }
        client.settle(Duration::from_millis(5));
    }
    Ok(Busy {
        client,
        thread,
        _model: model,
        _place: place,
    })
}

pub fn ends() -> Measured {
    let (mut pipe, mut cancel) = (Series::default(), Series::default());
    for turn in 0..=TURNS {
        let mut one = busy()?;
        let all = below(one.client.process());
        let command: BTreeSet<u32> = all.iter().copied().filter(|pid| sleeps(*pid)).collect();
        let stop =
            json!({"command": "postil.cancelTurn", "arguments": [{"thread_id": one.thread}]});
        let start = Instant::now();
        one.client.post("workspace/executeCommand", stop);
        let cancelled = until_gone(start, &command)?;
        drop(one);

        let mut one = busy()?;
        let mut all = below(one.client.process());
        all.insert(one.client.process());
        let start = Instant::now();
        one.client.hang_up();
        let ended = until_gone(start, &all)?;
        // The first turn warms up.
        if turn > 0 {
            cancel.add(cancelled);
            pipe.add(ended);
        }
    }
    let row = |work: &str, times: &Series, must: f64| Row {
        work: work.to_owned(),
        ours: times.seconds(),
        beside: String::new(),
        result: times.median() * 1e3,
        unit: String::from("ms"),
        must,
        aim: None,
    };
    Ok(vec![
        row("cancel → the command's processes gone", &cancel, 200.0),
        row(
            "pipe closed → server, language server and command gone",
            &pipe,
            2000.0,
        ),
    ])
}

/// The files of one of two branches: where one has a thread the other has none.
fn branch(place: &Place, which: usize) -> BTreeSet<String> {
    let mut with = BTreeSet::new();
    for n in 0..FILES {
        let asks = n % EVERY == which;
        let text = if asks {
            "// AUTHOR: why?\nfn a() {}\n"
        } else {
            "fn a() {}\n"
        };
        let path = place.write(
            &format!("d{}/f{n}.rs", n % 50),
            &format!("{text}// {which}\n"),
        );
        if asks {
            with.insert(uri(&path));
        }
    }
    with
}

/// Waits until exactly these files are shown with threads.
fn shown(client: &mut Client, known: &RefCell<BTreeSet<String>>, wanted: &BTreeSet<String>) {
    client.wait("the threads of all files", |message| {
        if message["method"] == "textDocument/publishDiagnostics" {
            let file = message["params"]["uri"].as_str().unwrap_or_default();
            let list = message["params"]["diagnostics"].as_array();
            if list.is_none_or(Vec::is_empty) {
                known.borrow_mut().remove(file);
            } else {
                known.borrow_mut().insert(file.to_owned());
            }
        }
        *known.borrow() == *wanted
    });
}

/// A repository of two branches, the first one checked out; and the files that have threads in each.
fn two_branches(place: &Place) -> Result<[BTreeSet<String>; 2], String> {
    let git = |args: &[&str]| git(place, args);
    git(&["init", "-q", "-b", "first"])?;
    let first = branch(place, 0);
    git(&["add", "."])?;
    git(&["commit", "-qm", "first"])?;
    git(&["checkout", "-qb", "second"])?;
    let second = branch(place, 1);
    git(&["commit", "-qam", "second"])?;
    git(&["checkout", "-q", "first"])?;
    Ok([first, second])
}

fn git(place: &Place, args: &[&str]) -> Result<(), String> {
    let mut git = place.command("git", &place.root());
    git.args(["-c", "user.name=A", "-c", "user.email=a@localhost"]);
    let status = git.args(args).stdout(Stdio::null()).status();
    let done = status.map_err(|e| e.to_string())?.success();
    done.then_some(())
        .ok_or_else(|| format!("git {} failed", args.join(" ")))
}

/// From the end of `git checkout` on; beside it, from the start of the server until the first scan's threads are there.
pub fn checkout() -> Measured {
    // VS Code watches, and tells of all files in one message. In Neovim and Helix the server watches.
    let ways = [("the editor watches", true), ("the server watches", false)];
    let mut rows = Vec::new();
    for (who, client_watches) in ways {
        let (mut first, mut again) = (Series::default(), Series::default());
        for turn in 0..=TURNS {
            let place = Place::in_memory();
            let [before, after] = two_branches(&place)?;
            let known = RefCell::default();
            let start = Instant::now();
            let command = place.postil(&place.root());
            let (mut client, _) =
                Client::watching(command, &place.root(), Value::Null, client_watches);
            shown(&mut client, &known, &before);
            let scan = start.elapsed();
            // It begins to watch when it has looked.
            client.settle(Duration::from_millis(300));
            let file = |n| uri(&place.root().join(format!("d{}/f{n}.rs", n % 50)));
            let changes: Vec<Value> = (0..FILES)
                .map(|n| json!({"uri": file(n), "type": 2}))
                .collect();
            let changes = json!({"changes": changes});
            git(&place, &["checkout", "-q", "second"])?;
            let start = Instant::now();
            if client_watches {
                client.notify("workspace/didChangeWatchedFiles", changes);
            }
            shown(&mut client, &known, &after);
            if turn > 0 {
                first.add(scan);
                again.add(start.elapsed());
            }
        }
        rows.push(Row {
            work: format!("checkout of {FILES} changed files → their threads shown; {who}"),
            ours: again.seconds(),
            beside: format!("start → the first scan's shown: {}", first.seconds()),
            result: again.median() / first.median(),
            unit: String::from("× the scan"),
            must: 1.0,
            aim: None,
        });
    }
    Ok(rows)
}
