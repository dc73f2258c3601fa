//! The whole job on a small project in a temporary folder. Nothing of the user's is touched: history and trust
//! lie in that folder too, and go with it.

use std::sync::Arc;
use std::time::Instant;

use similar::{ChangeTag, TextDiff};

use super::host::Terminal;
use super::out::{BOLD, CYAN, DIM, GREEN, RED};
use super::{Cx, Outcome, threads, turns};
use crate::config::{self, Folders};
use crate::os;
use crate::present::visible;
use crate::session::{Error, Session, TurnOptions, TurnStatus};
use crate::store::Format;
use crate::vcs;

const FILES: &[(&str, &str)] = &[
    (
        "Cargo.toml",
        "[package]\nname = \"rows\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    ),
    (
        "src/main.rs",
        r#"mod cache;

use cache::Cache;

fn main() {
    let mut cache = Cache::default();
    for row in load("rows.csv") {
        cache.put(row);
    }
    println!("{} rows", cache.len());
}

// AUTHOR: rename load to load_rows
fn load(path: &str) -> Vec<String> {
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}
"#,
    ),
    (
        "src/cache.rs",
        r#"// AUTHOR: where is Cache used?
/// Rows that were seen, each once.
#[derive(Default)]
pub struct Cache {
    rows: std::collections::BTreeSet<String>,
}

impl Cache {
    pub fn put(&mut self, row: String) {
        self.rows.insert(row);
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }
}
"#,
    ),
    (
        "tools/rows.py",
        r#"import csv


def parse_row(line):
    return next(csv.reader([line]))


def main(path):
    with open(path) as lines:
        # AUTHOR: what is parse_row?
        rows = [parse_row(line) for line in lines]
    print(len(rows), "rows")
"#,
    ),
];

/// Where the sample project lies; gone with it.
struct Sample(tempfile::TempDir);

impl Drop for Sample {
    fn drop(&mut self) {
        os::remove_folder(self.0.path());
    }
}

pub(super) async fn run(cx: &Cx) -> Outcome {
    let began = Instant::now();
    let failed = |error: std::io::Error| {
        Error::Other(format!("the sample project could not be made: {error}"))
    };
    let folder = tempfile::Builder::new()
        .prefix("postil-demo-")
        .tempdir()
        .map_err(failed)?;
    let folder = Sample(folder);
    let root = os::resolved(folder.0.path()).join("rows");
    for (name, text) in FILES {
        let path = root.join(name);
        path.parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(failed)?;
    }
    vcs::commit_sample(&root, "Read rows").map_err(Error::Other)?;

    let own = cx.folders()?;
    let folders = Folders {
        config: own.config,
        data: folder.0.path().join("data"),
        state: folder.0.path().join("state"),
        cache: None,
    };
    // The demo is to be cheap, and quick: it shows what can be answered before a language server has read anything.
    let most = config::load(&folders, None, None)
        .settings
        .max_cost
        .min(0.25);
    let quick = serde_json::json!({"proxy": {"mode": "off"}, "turn": {"maxCost": most}});
    let session = Session::new(
        vec![root.clone()],
        Some(quick),
        // The servers are off for our sake: that they are is no news of the reader's.
        Arc::new(Terminal::without_hints(cx.out)),
        folders,
    )?;
    session.trust(&root)?;

    heading(cx, "1", "A project with three questions in its margins");
    cx.out.note(format!("{DIM}{}{DIM:#}\n", root.display()));
    let list = session.threads(None)?;
    threads::show(cx, &list);

    heading(cx, "2", "Each is answered where it stands");
    let ids = list.found().map(|(_, thread)| thread.id.clone()).collect();
    let options = TurnOptions {
        allow_arrived: true,
        ..TurnOptions::default()
    };
    let mut well = true;
    let mut runs = Vec::new();
    let mut failed_turn = None;
    let tell = |ended: turns::Ended| {
        match ended {
            Ok(end) => {
                well &= end.status == TurnStatus::Completed;
                turns::say(cx, &end);
                runs.push(end);
            }
            Err((_, error)) => failed_turn = failed_turn.take().or(Some(error)),
        }
        true
    };
    let none = || Ok(Vec::new());
    let answered = turns::answer(&session, ids, none, &options, 1, None, tell).await;
    if answered.cancelled {
        return Err(Error::Other(String::from("cancelled")).into());
    }
    if let Some(error) = failed_turn {
        return Err(error.into());
    }

    heading(cx, "3", "What changed");
    for (name, before) in FILES {
        let after = std::fs::read_to_string(root.join(name)).map_err(failed)?;
        diff(cx, name, before, &after);
    }

    if let Some(end) = runs
        .iter()
        .find(|end| end.file == "src/main.rs")
        .or(runs.first())
    {
        heading(
            cx,
            "4",
            &format!("Every step is kept: postil workflow thread {}", end.run_id),
        );
        let (workspace, run) = session.run_of(&end.run_id)?;
        let page = workspace.store()?.page(&run.id, None, 2000, Format::Text)?;
        for line in visible(&page.text).lines() {
            match line.starts_with("[#") {
                true => cx.out.note(format!("{CYAN}{line}{CYAN:#}")),
                false => cx.out.note(line),
            }
        }
    }
    session.shutdown().await;
    if cx.out.json {
        cx.out.data(&runs);
    }
    next(cx, began);
    Ok(well)
}

fn heading(cx: &Cx, number: &str, text: &str) {
    cx.out
        .note(format!("\n{GREEN}{number}{GREEN:#} {BOLD}{text}{BOLD:#}\n"));
}

fn diff(cx: &Cx, name: &str, before: &str, after: &str) {
    if before == after {
        return;
    }
    cx.out.note(format!("{BOLD}{name}{BOLD:#}"));
    let diff = TextDiff::from_lines(before, after);
    for group in diff.grouped_ops(1) {
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let line = visible(change.value().trim_end_matches('\n'));
            cx.out.note(match change.tag() {
                ChangeTag::Delete => format!("  {RED}- {line}{RED:#}"),
                ChangeTag::Insert => format!("  {GREEN}+ {line}{GREEN:#}"),
                ChangeTag::Equal => format!("  {DIM}  {line}{DIM:#}"),
            });
        }
    }
    cx.out.note("");
}

fn next(cx: &Cx, began: Instant) {
    heading(cx, "→", "What to try next");
    cx.out
        .note("  in a project of yours: write `// AUTHOR: …` beside some code, then");
    cx.out.note(format!(
        "    {BOLD}postil trust{BOLD:#}          once; it shows what that allows"
    ));
    cx.out.note(format!(
        "    {BOLD}postil reply --all{BOLD:#}    or pick *Reply as agent* in your editor"
    ));
    cx.out.note(format!(
        "    {BOLD}postil doctor{BOLD:#}         what was found: model, language servers, editors"
    ));
    cx.out.note(format!(
        "  with a model: {BOLD}export ANTHROPIC_API_KEY=…{BOLD:#}, and ask anything"
    ));
    cx.out.note(format!(
        "\n{DIM}{:.1} s; the temporary folder is gone{DIM:#}",
        began.elapsed().as_secs_f32()
    ));
}
