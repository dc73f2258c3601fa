//! The agent's loop beside other agents, headless, on the same scripted model: how long until the first request,
//! what an agent adds to each round, its memory, and how soon it is gone when it is stopped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Measured;
use super::client::{Client, uri};
use super::place::{Place, peer};
use super::report::Row;
use super::scripted::{Pace, Scripted};
use super::stats::Series;

const ROUNDS: usize = 20;
const TURNS: usize = 6;

/// The name under which the benchmark starts itself where there is no network but loopback.
pub const INSIDE: &str = "agents-inside";

struct Agent {
    name: &'static str,
    /// `None`: not installed.
    command: fn(&Place, u16) -> Option<Command>,
}

const AGENTS: [Agent; 4] = [
    Agent {
        name: "postil",
        command: postil,
    },
    Agent {
        name: "claude",
        command: claude,
    },
    Agent {
        name: "codex",
        command: codex,
    },
    Agent {
        name: "opencode",
        command: opencode,
    },
];

const TASK: &str = "Read all notes and say when you have read them.";

fn postil(place: &Place, port: u16) -> Option<Command> {
    place.write("src/a.rs", &format!("// AUTHOR: {TASK}\nfn a() {{}}\n"));
    let mut command = place.postil(&place.root());
    command.args([
        "reply",
        "--all",
        "--yes",
        "--model",
        "anthropic/claude-sonnet-4-5",
    ]);
    key(&mut command, port);
    Some(command)
}

pub(super) fn key(command: &mut Command, port: u16) {
    command
        .env("ANTHROPIC_API_KEY", "dummy")
        .env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{port}"));
}

/// What keeps the outside agents from updating themselves and from telling anybody.
fn quiet(command: &mut Command) {
    for name in [
        "CI",
        "DISABLE_AUTOUPDATER",
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "OPENCODE_DISABLE_AUTOUPDATE",
        "OPENCODE_DISABLE_MODELS_FETCH",
        "OPENCODE_DISABLE_LSP_DOWNLOAD",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    ] {
        command.env(name, "1");
    }
}

fn claude(place: &Place, port: u16) -> Option<Command> {
    let mut command = place.command(peer("claude")?, &place.root());
    command.args(["-p", TASK, "--allowedTools", "Read", "--strict-mcp-config"]);
    key(&mut command, port);
    quiet(&mut command);
    Some(command)
}

fn codex(place: &Place, port: u16) -> Option<Command> {
    let mut command = place.command(peer("codex")?, &place.root());
    for setting in [
        String::from("model=\"scripted\""),
        String::from("model_provider=\"loopback\""),
        String::from("approval_policy=\"never\""),
        String::from("model_providers.loopback.name=\"loopback\""),
        format!("model_providers.loopback.base_url=\"http://127.0.0.1:{port}/v1\""),
        String::from("model_providers.loopback.env_key=\"OPENAI_API_KEY\""),
        String::from("model_providers.loopback.wire_api=\"responses\""),
    ] {
        command.args(["-c", &setting]);
    }
    command.args([
        "exec",
        "--skip-git-repo-check",
        "--sandbox",
        "danger-full-access",
        TASK,
    ]);
    command.env("OPENAI_API_KEY", "dummy");
    quiet(&mut command);
    Some(command)
}

fn opencode(place: &Place, port: u16) -> Option<Command> {
    let settings = json!({
        "provider": {"loopback": {"npm": "@ai-sdk/openai-compatible", "name": "loopback",
            "options": {"baseURL": format!("http://127.0.0.1:{port}/v1"), "apiKey": "dummy"},
            "models": {"scripted": {"name": "scripted", "tool_call": true}}}},
        "model": "loopback/scripted", "small_model": "loopback/scripted", "autoupdate": false, "share": "disabled",
    });
    place.write("opencode.json", &settings.to_string());
    let mut command = place.command(peer("opencode")?, &place.root());
    command.args(["run", TASK]);
    quiet(&mut command);
    Some(command)
}

/// Resident megabytes of a process and all that it started.
fn resident(root: u32) -> f64 {
    let mut children: BTreeMap<u32, Vec<(u32, f64)>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<f64>().ok()
        };
        let parent = field("PPid:").unwrap_or_default() as u32;
        let size = field("VmRSS:").unwrap_or_default() / 1024.0;
        children.entry(parent).or_default().push((pid, size));
    }
    let own = children.values().flatten().find(|(pid, _)| *pid == root);
    let mut sum = own.map_or(0.0, |(_, size)| *size);
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for (pid, size) in children.get(&parent).into_iter().flatten() {
            sum += size;
            open.push(*pid);
        }
    }
    sum
}

/// One conversation. How long until its first request, what each round took beside the model, its peak of memory.
fn converse(agent: &Agent) -> Result<Option<(Duration, Vec<Duration>, f64)>, String> {
    let place = Place::new();
    let model = Scripted::start(&place.root(), ROUNDS, Pace::AtOnce);
    let Some(mut command) = (agent.command)(&place, model.port) else {
        return Ok(None);
    };
    let start = Instant::now();
    let mut process = spawn(&mut command)?;
    let mut peak: f64 = 0.0;
    let end = start + Duration::from_secs(120);
    while matches!(process.try_wait(), Ok(None)) {
        peak = peak.max(resident(process.id()));
        if Instant::now() > end {
            let _ = process.kill();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = process.wait();
    let seen = model.seen();
    if seen.len() != ROUNDS + 1 {
        return Err(format!(
            "{} asked {} times where {} were to be",
            agent.name,
            seen.len(),
            ROUNDS + 1
        ));
    }
    let first = seen
        .first()
        .map_or(Duration::ZERO, |first| first.came - start);
    let rounds = seen.windows(2).filter_map(|pair| match pair {
        [before, after] => Some(after.came.saturating_duration_since(before.went)),
        _ => None,
    });
    Ok(Some((first, rounds.collect(), peak)))
}

fn spawn(command: &mut Command) -> Result<Child, String> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().map_err(|e| e.to_string())
}

/// From an interrupt in the middle of an answer to the end of the process and of all that it started.
fn stop(agent: &Agent) -> Result<Option<Duration>, String> {
    let place = Place::new();
    let model = Scripted::start(&place.root(), 0, Pace::Stalled);
    let Some(mut command) = (agent.command)(&place, model.port) else {
        return Ok(None);
    };
    let mut process = spawn(&mut command)?;
    model.wait_for(1);
    let start = Instant::now();
    let interrupt = format!("kill -INT {}", process.id());
    let _ = Command::new("sh").args(["-c", &interrupt]).status();
    let _ = process.wait();
    Ok(Some(start.elapsed()))
}

/// In a network that is nothing but loopback, so that no outside agent can reach anything.
pub fn agents() -> Measured {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let made = |flag: &str| {
        let mut command = Command::new("unshare");
        command.args([flag, "true"]).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let flag = ["-n", "-rn"].into_iter().find(|flag| made(flag));
    let flag = flag.ok_or("this system gives no network namespace")?;
    let mut command = Command::new("unshare");
    command.args([flag, "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"]);
    command.arg(program).args(["--bench", INSIDE]);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    let found: BTreeMap<String, Value> =
        serde_json::from_str(last).map_err(|_| text.to_string())?;
    Ok(rows(&found))
}

/// The measurements as one line of JSON.
pub fn inside() -> String {
    let mut found: BTreeMap<&str, Value> = BTreeMap::new();
    let mut taken: BTreeMap<&str, [Vec<f64>; 4]> = BTreeMap::new();
    for turn in 0..=TURNS {
        for agent in &AGENTS {
            if found.contains_key(agent.name) {
                continue;
            }
            let measured = converse(agent).and_then(|one| Ok((one, stop(agent)?)));
            let (first, rounds, peak, stopped) = match measured {
                Ok((Some((first, rounds, peak)), Some(stopped))) => (first, rounds, peak, stopped),
                Ok(_) => {
                    found.insert(agent.name, json!("not installed"));
                    continue;
                }
                Err(why) => {
                    found.insert(agent.name, json!(why));
                    continue;
                }
            };
            // The first turn warms up.
            if turn == 0 {
                continue;
            }
            let all = taken.entry(agent.name).or_default();
            all[0].push(first.as_secs_f64());
            all[1].extend(rounds.iter().map(Duration::as_secs_f64));
            all[2].push(peak);
            all[3].push(stopped.as_secs_f64());
        }
    }
    for (name, all) in taken {
        found.entry(name).or_insert(json!(all));
    }
    json!(found).to_string()
}

fn rows(found: &BTreeMap<String, Value>) -> Vec<Row> {
    let series = |name: &str, which: usize| {
        let values = found.get(name)?.get(which)?.as_array()?;
        let mut series = Series::default();
        for value in values {
            series.push(value.as_f64()?);
        }
        Some(series)
    };
    let row = |which: usize, work: &str, unit: &'static str, factor: f64, must: f64, aim: f64| {
        let shown = |series: &Series| match unit {
            "MB" => format!(
                "{:.0} MB ({:.0}–{:.0})",
                series.median(),
                series.at(0.0),
                series.at(1.0)
            ),
            _ => series.seconds(),
        };
        let beside = AGENTS
            .iter()
            .skip(1)
            .map(|agent| match series(agent.name, which) {
                Some(series) => format!("{}: {}", agent.name, shown(&series)),
                None => {
                    let why = found.get(agent.name).and_then(Value::as_str);
                    format!("{}: {}", agent.name, why.unwrap_or("not measured"))
                }
            });
        let ours = series("postil", which)?;
        Some(Row {
            work: work.to_owned(),
            ours: shown(&ours),
            beside: beside.collect::<Vec<_>>().join("; "),
            result: ours.median() * factor,
            unit: unit.to_owned(),
            must,
            aim: Some(aim),
        })
    };
    [
        row(
            0,
            "start → first model request, headless",
            "ms",
            1e3,
            100.0,
            50.0,
        ),
        row(
            1,
            "agent loop, own share of a model round",
            "ms",
            1e3,
            5.0,
            2.5,
        ),
        row(
            2,
            "resident memory, peak of a turn of 20 rounds",
            "MB",
            1.0,
            100.0,
            60.0,
        ),
        row(
            3,
            "interrupt in mid-answer → process gone",
            "ms",
            1e3,
            1000.0,
            200.0,
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Typing in an open file while ten turns run in others, beside the same with none.
pub fn busy() -> Measured {
    let place = Place::new();
    place.configure("[turn]\nmaxRounds = 100000\nmaxCost = 100000.0\n");
    let model = Scripted::start(&place.root(), 100_000, Pace::Spoken);
    let (text, line) = super::server::source(10_000, 50);
    let path = place.write("a.py", &text);
    let files: Vec<PathBuf> = (0..10)
        .map(|n| {
            place.write(
                &format!("src/b{n}.py"),
                &format!("# AUTHOR: {TASK} {n}\nx = {n}\n"),
            )
        })
        .collect();
    let start = |port: Option<u16>| {
        let mut command = place.postil(&place.root());
        if let Some(port) = port {
            key(&mut command, port);
        }
        let (mut client, _) = Client::start(command, &place.root(), json!({"trusted": true}));
        client.open(&path, "python", &text, true);
        client.settle(Duration::from_millis(500));
        client
    };
    let mut clients = [start(Some(model.port)), start(None)];
    for file in &files {
        begin(&mut clients[0], file)?;
    }
    model.wait_for(30);
    let mut times = [Series::default(), Series::default()];
    for turn in 0..=10 {
        for (client, times) in clients.iter_mut().zip(&mut times) {
            let mut warming = Series::default();
            let times = if turn > 0 { times } else { &mut warming };
            super::server::typing(client, &path, line, 50, times);
        }
    }
    let [ours, idle] = times;
    Ok(vec![Row {
        work: String::from("change → diagnostics while ten turns run, p99"),
        ours: ours.percentiles(),
        beside: format!("with no turn: {}", idle.percentiles()),
        result: ours.at(0.99) * 1e3,
        unit: String::from("ms"),
        must: 5.0,
        aim: None,
    }])
}

/// Has the first thread of the file answered; its id.
pub(super) fn begin(client: &mut Client, file: &Path) -> Result<Value, String> {
    let listed = json!({"command": "postil.listThreads", "arguments": [{"uri": uri(file)}]});
    let (listed, _) = client.request("workspace/executeCommand", listed);
    let id = listed["threads"][0]["id"].as_str();
    let id = json!(id.ok_or_else(|| format!("no thread: {listed}"))?);
    let reply = json!({"command": "postil.replyAsAgent", "arguments": [{"thread_id": id}]});
    let (answer, _) = client.request("workspace/executeCommand", reply);
    match answer.get("message") {
        Some(why) => Err(why.to_string()),
        None => Ok(id),
    }
}
