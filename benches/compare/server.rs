//! The language server beside others: start, a keystroke, the menu, the proxy, memory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::Measured;
use super::client::{Client, uri};
use super::place::{Place, large_tree, peer, resident};
use super::report::Row;
use super::stats::Series;

/// A Python file with a thread of three lines every `every` lines, and where a thread in the middle
/// has its first line.
pub fn source(lines: usize, every: usize) -> (String, usize) {
    let mut text = String::from("import os\n");
    let mut thread = 0;
    for line in 1..lines {
        match line % every {
            10 => {
                text.push_str(&format!("    # AUTHOR: why {line} here?\n"));
                if thread == 0 && line > lines / 2 {
                    thread = line;
                }
            }
            11 => text.push_str("    # AGENT: Because of the table above.\n"),
            12 => text.push_str("    # AUTHOR:\n"),
            n if n % 10 == 1 => text.push_str(&format!("def f{line}(x):\n")),
            n => text.push_str(&format!("    v{line} = len(\"text {line}\") + x + {n}\n")),
        }
    }
    (text, thread)
}

fn ruff(place: &Place) -> Result<Command, String> {
    let ruff = peer("ruff").ok_or("`tests/peers install ruff` gets it")?;
    let mut command = place.command(ruff, &place.root());
    command.arg("server");
    Ok(command)
}

pub fn initialize() -> Measured {
    let place = Place::new();
    let (mut ours, mut theirs) = (Series::default(), Series::default());
    for turn in 0..=20 {
        for (command, times) in [
            (place.postil(&place.root()), &mut ours),
            (ruff(&place)?, &mut theirs),
        ] {
            let (_client, time) = Client::start(command, &place.root(), Value::Null);
            if turn > 0 {
                times.add(time);
            }
        }
    }
    Ok(vec![Row {
        work: String::from("spawn → `initialize` answered"),
        ours: ours.seconds(),
        beside: format!("ruff server: {}", theirs.seconds()),
        result: ours.median() * 1e3,
        unit: String::from("ms"),
        must: 20.0,
        aim: Some(5.0),
    }])
}

/// A letter typed into a thread and taken back, `count` times.
pub fn typing(client: &mut Client, path: &Path, line: usize, count: usize, times: &mut Series) {
    // After `    # AUTHOR: wh`.
    for n in 0..count {
        let range = range((line, 16), (line, 16 + n % 2));
        times.add(client.change(path, &range, if n % 2 == 1 { "" } else { "x" }));
    }
}

/// What an author types into code: names, which need not be parsed anew, and all that has to be.
const STATEMENT: &str = "total = fold(x, \"many\")";

/// A line of code written above `line`, letter by letter, and taken back.
fn coding(client: &mut Client, path: &Path, line: usize, times: &mut Series) {
    const INDENT: &str = "    ";
    let mut key = |start: (usize, usize), end: (usize, usize), typed: &str| {
        times.add(client.change(path, &range(start, end), typed));
    };
    key((line, 0), (line, 0), &format!("{INDENT}\n"));
    let places = INDENT.len()..INDENT.len() + STATEMENT.len();
    for (at, letter) in places.clone().zip(STATEMENT.chars()) {
        key((line, at), (line, at), letter.encode_utf8(&mut [0; 4]));
    }
    for at in places.rev() {
        key((line, at), (line, at + 1), "");
    }
    key((line, 0), (line + 1, 0), "");
}

fn range(start: (usize, usize), end: (usize, usize)) -> Value {
    let place = |(line, character)| json!({"line": line, "character": character});
    json!({"start": place(start), "end": place(end)})
}

pub fn change() -> Measured {
    let place = Place::new();
    let (text, line) = source(10_000, 50);
    let path = place.write("a.py", &text);
    let start = |command| -> Client {
        let (mut client, _) = Client::start(command, &place.root(), Value::Null);
        client.open(&path, "python", &text, true);
        client.settle(Duration::from_millis(300));
        client
    };
    type Typing = fn(&mut Client, &Path, usize, &mut Series);
    // How often, with one before that warms up: a statement is some fifty keys too, and broken code takes ruff longer.
    let ways: [(u32, Typing); 2] = [
        (10, |client, path, line, times| {
            typing(client, path, line, 50, times);
        }),
        (5, |client, path, line, times| {
            coding(client, path, line + 5, times);
        }),
    ];
    let mut times: [[Series; 2]; 2] = Default::default();
    for ((turns, way), times) in ways.into_iter().zip(&mut times) {
        let mut clients = [start(place.postil(&place.root())), start(ruff(&place)?)];
        for turn in 0..=turns {
            for (client, times) in clients.iter_mut().zip(&mut *times) {
                let mut warming = Series::default();
                let times = if turn > 0 { times } else { &mut warming };
                way(client, &path, line, times);
            }
        }
    }
    let row = |work: &str, [ours, theirs]: &[Series; 2], quantile: f64, must: f64, aim| Row {
        work: work.to_owned(),
        ours: ours.percentiles(),
        beside: format!("ruff server: {}", theirs.percentiles()),
        result: ours.at(quantile) * 1e3,
        unit: String::from("ms"),
        must,
        aim,
    };
    let [thread, code] = &times;
    let work = "change → diagnostics, 10,000 lines, 200 threads";
    Ok(vec![
        row(&format!("{work}, p50"), thread, 0.5, 1.0, Some(0.5)),
        row(&format!("{work}, p99"), thread, 0.99, 5.0, None),
        row("the same, typed into code, p50", code, 0.5, 1.0, Some(0.5)),
        row("the same, typed into code, p99", code, 0.99, 5.0, None),
    ])
}

pub fn large() -> Measured {
    let place = Place::new();
    // The threads are as far apart as in the small file, times 200.
    let (mut text, line) = source(2_000_000, 10_000);
    while text.len() < 100_000_000 {
        text.push_str("# nothing but a long line that fills the file up to its size, again and again and again\n");
    }
    let path = place.root().join("large.py");
    let (mut client, _) = Client::start(place.postil(&place.root()), &place.root(), Value::Null);
    client.open(&path, "python", &text, true);
    client.settle(Duration::from_secs(2));
    let mut times = Series::default();
    typing(&mut client, &path, line, 10, &mut Series::default());
    typing(&mut client, &path, line, 60, &mut times);
    Ok(vec![Row {
        work: String::from("the same, 100 MB, 2 million lines, p50"),
        ours: times.percentiles(),
        beside: String::new(),
        result: times.median() * 1e3,
        unit: String::from("ms"),
        must: 10.0,
        aim: None,
    }])
}

pub fn actions() -> Measured {
    let place = Place::new();
    let (text, line) = source(10_000, 50);
    let path = place.write("a.py", &text);
    let (mut client, _) = Client::start(place.postil(&place.root()), &place.root(), Value::Null);
    client.open(&path, "python", &text, true);
    client.settle(Duration::from_millis(300));
    let at = json!({"line": line, "character": 16});
    let document = json!({"uri": uri(&path)});
    let menu = json!({"textDocument": document, "range": {"start": at, "end": at}, "context": {"diagnostics": []}});
    let mut times = Series::default();
    for _ in 0..300 {
        let (answer, time) = client.request("textDocument/codeAction", menu.clone());
        if answer.as_array().is_none_or(Vec::is_empty) {
            return Err(format!("no action on a thread: {answer}"));
        }
        times.add(time);
    }
    Ok(vec![Row {
        work: String::from("code actions on a thread of that file, p99"),
        ours: times.percentiles(),
        beside: String::new(),
        result: times.at(0.99) * 1e3,
        unit: String::from("ms"),
        must: 5.0,
        aim: None,
    }])
}

/// One language's child, asked directly and through us.
struct Case {
    name: &'static str,
    file: &'static str,
    language: &'static str,
    text: String,
    /// Where a call stands.
    at: Value,
    count: usize,
}

pub fn proxy() -> Measured {
    let mut c = String::new();
    for n in 0..200 {
        c.push_str(&format!("int f{n}(int x) {{ return x + {n}; }}\n"));
    }
    c.push_str("int main(void) { return f100(1); }\n");
    let python = c.lines().count();
    let mut py = String::new();
    for n in 0..200 {
        py.push_str(&format!("def f{n}(x): return x + {n}\n"));
    }
    py.push_str("print(f100(1))\n");
    let cases = [
        Case {
            name: "clangd",
            file: "main.c",
            language: "c",
            text: c,
            at: json!({"line": python - 1, "character": 25}),
            count: 200,
        },
        Case {
            name: "pylsp",
            file: "main.py",
            language: "python",
            text: py,
            at: json!({"line": 200, "character": 7}),
            count: 40,
        },
    ];
    let mut rows = Vec::new();
    for case in cases {
        rows.extend(through(&case)?);
    }
    Ok(rows)
}

fn through(case: &Case) -> Measured {
    let server = peer(case.name).ok_or(format!("`tests/peers install {}` gets it", case.name))?;
    let place = Place::new();
    let (command, language) = (server.display(), case.language);
    place.configure(&format!(
        "[proxy]\nmode = \"always\"\n\n[servers.{language}]\ncommand = \"{command}\"\n"
    ));
    let path: PathBuf = place.write(case.file, &case.text);
    let mut trust = place.postil(&place.root());
    trust
        .args(["trust", "--yes"])
        .stdout(std::process::Stdio::null());
    trust.status().map_err(|e| e.to_string())?;
    let start = |command: Command| -> Client {
        let (mut client, _) = Client::start(command, &place.root(), Value::Null);
        client.open(&path, case.language, &case.text, false);
        client
    };
    let mut clients = [
        start(place.postil(&place.root())),
        start(place.command(&server, &place.root())),
    ];
    let params = json!({"textDocument": {"uri": uri(&path)}, "position": case.at});
    let mut times = [Series::default(), Series::default()];
    for turn in 0..=6 {
        for (client, times) in clients.iter_mut().zip(&mut times) {
            for _ in 0..case.count {
                let (answer, time) = client.request("textDocument/definition", params.clone());
                if !answer.to_string().contains("\"range\"")
                    && !answer.to_string().contains("targetRange")
                {
                    return Err(format!("{} found no definition: {answer}", case.name));
                }
                if turn > 0 {
                    times.add(time);
                }
            }
        }
    }
    let [ours, theirs] = times;
    let row = |quantile: f64, label: &str, must, aim| Row {
        work: format!("definition through us, {}, added, {label}", case.name),
        ours: ours.percentiles(),
        beside: format!("asked directly: {}", theirs.percentiles()),
        result: ((ours.at(quantile) - theirs.at(quantile)) * 1e3).max(0.0),
        unit: String::from("ms"),
        must,
        aim,
    };
    Ok(vec![
        row(0.5, "p50", 0.15, Some(0.05)),
        row(0.99, "p99", 2.0, None),
    ])
}

pub fn memory() -> Measured {
    let tree = large_tree().ok_or("`tests/peers install linux` gets the tree")?;
    let place = Place::new();
    let measure = |command: Command| {
        let (mut client, _) = Client::start(command, &tree, Value::Null);
        // The scan of the workspace is over when nothing has come for a while.
        client.settle(Duration::from_secs(5));
        resident(client.process())
    };
    let mut command = place.command(
        peer("ruff").ok_or("`tests/peers install ruff` gets it")?,
        &tree,
    );
    command.arg("server");
    let theirs = measure(command);
    let mut ours = Series::default();
    for _ in 0..3 {
        ours.push(measure(place.postil(&tree)));
    }
    Ok(vec![Row {
        work: String::from("resident memory, idle on the kernel's sources"),
        ours: format!(
            "{:.0} MB ({:.0}–{:.0})",
            ours.median(),
            ours.at(0.0),
            ours.at(1.0)
        ),
        beside: format!("ruff server: {theirs:.0} MB"),
        result: ours.median(),
        unit: String::from("MB"),
        must: 60.0,
        aim: Some(40.0),
    }])
}
