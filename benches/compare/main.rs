//! Whole processes beside their peers, in turns: `cargo bench --bench compare`, or with names of
//! measurements behind `--`. A whole run writes the table of docs/performance.md and its plot; a run of some
//! measurements does with the word `write`, and leaves the other rows as they are.
//! `tests/peers install` and `tests/peers install linux rust cpython vscode` get what is compared with; what is
//! missing is named and left out.

mod agents;
mod client;
mod ends;
mod headers;
mod million;
mod page;
mod place;
mod report;
mod scan;
mod scripted;
mod server;
mod stats;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use report::Row;

/// What a measurement gives: rows, or why there are none.
type Measured = Result<Vec<Row>, String>;

/// A name to ask for it by, and what it does.
type Measurement = (&'static str, fn() -> Measured);

const MEASUREMENTS: &[Measurement] = &[
    ("scan", scan::warm),
    ("cold", scan::cold),
    ("unchanged", scan::unchanged),
    ("initialize", server::initialize),
    ("change", server::change),
    ("large", server::large),
    ("actions", server::actions),
    ("proxy", server::proxy),
    ("page", page::page),
    ("memory", server::memory),
    ("agents", agents::agents),
    ("busy", agents::busy),
    ("ends", ends::ends),
    ("checkout", ends::checkout),
    ("headers", headers::headers),
];

/// Takes minutes to prepare: only when asked for.
const ON_REQUEST: &[Measurement] = &[("million", million::million)];

/// A word among the arguments.
const WRITE: &str = "write";

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` runs this too; it is no test.
    if !arguments.iter().any(|a| a == "--bench") {
        return;
    }
    arguments.retain(|a| !a.starts_with('-'));
    if arguments.iter().any(|a| a == agents::INSIDE) {
        say(&agents::inside());
        return;
    }
    let write = arguments.iter().any(|a| a == WRITE);
    arguments.retain(|a| a != WRITE);
    let named = |name: &str| arguments.iter().any(|a| a == name);
    let usual = MEASUREMENTS
        .iter()
        .filter(|(name, _)| arguments.is_empty() || named(name));
    let wanted = usual.chain(ON_REQUEST.iter().filter(|(name, _)| named(name)));
    let mut rows = Vec::new();
    let mut left_out = Vec::new();
    for (name, measure) in wanted {
        say(&format!("{name} …"));
        match catch_unwind(AssertUnwindSafe(measure)) {
            Ok(Ok(measured)) => {
                say(&report::table(&measured));
                rows.extend(measured);
            }
            Ok(Err(why)) => left_out.push(format!("{name}: {why}")),
            Err(panic) => {
                let why = panic
                    .downcast_ref::<String>()
                    .cloned()
                    .unwrap_or_else(|| String::from("it failed"));
                left_out.push(format!("{name}: {why}"));
            }
        }
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    if write && !arguments.is_empty() {
        rows = report::renewed(&docs, rows);
    }
    let mut made = format!("\n{}\n\n{}", measured_with(), report::table(&rows));
    for line in &left_out {
        made.push_str(&format!("\nNot measured: {line}.\n"));
    }
    made.push('\n');
    if arguments.is_empty() || write {
        report::write(&docs, &made, &rows);
    }
    say(&made);
}

#[expect(clippy::print_stdout, reason = "a benchmark's report is its output")]
fn say(text: &str) {
    println!("{text}");
}

/// What it was measured with.
fn measured_with() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let peers = ["rg", "ruff", "clangd", "pylsp"]
        .iter()
        .filter_map(|name| place::peer(name));
    let peers: Vec<String> = peers.map(|p| place::version(&p)).collect();
    format!(
        "{cores} cores; postil {} (release profile), {}.\nTimes are medians (least–most).",
        env!("CARGO_PKG_VERSION"),
        peers.join(", ")
    )
}
