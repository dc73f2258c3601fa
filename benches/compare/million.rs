//! One million files, made for the purpose: the scan beside its yardsticks, and an idle server on them.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::Measured;
use super::client::Client;
use super::place::{Place, resident, run};
use super::report::Row;
use super::scan::{turns, wall};
use super::stats::Series;

const FOLDERS: usize = 10_000;
const FILES: usize = 100;
const TURNS: usize = 3;

/// Every thousandth file has a thread.
fn fill(place: &Place) -> Result<(), String> {
    let told = |error: std::io::Error| format!("a million files could not be made: {error}");
    for folder in 0..FOLDERS {
        let below = place
            .root()
            .join(format!("d{:02}/e{:02}", folder / 100, folder % 100));
        std::fs::create_dir_all(&below).map_err(told)?;
        for file in 0..FILES {
            // As few contents as git has to keep objects of.
            let name = format!("m{file:02}.py");
            let mut text = String::new();
            if file == 7 && folder % 10 == 3 {
                text.push_str("# AUTHOR: why is this one here?\n");
            }
            for line in 0..8 {
                text.push_str(&format!("def f{line}(x):\n    return x + {file}\n"));
            }
            std::fs::write(below.join(name), text).map_err(told)?;
        }
    }
    for arguments in [&["init", "-q"][..], &["add", "."]] {
        let mut git = place.command("git", &place.root());
        git.args(arguments);
        run(git);
    }
    Ok(())
}

pub fn million() -> Measured {
    let place = Place::new();
    let tree = place.root();
    fill(&place)?;
    let scan = |anew| turns(&place, &tree, anew, TURNS, |_: &Path| {});
    let warm = scan(true)?;
    let unchanged = scan(false)?;
    let mut memory = Series::default();
    for _ in 0..2 {
        let (mut client, _) = Client::start(place.postil(&tree), &tree, Value::Null);
        client.settle(Duration::from_secs(20));
        memory.push(resident(client.process()));
    }
    Ok(vec![
        warm.row("one million small files, warm", wall, 1.0, 0.65),
        unchanged.row("the same with nothing changed", wall, 0.3, 0.2),
        Row {
            work: String::from("resident memory, idle on one million files"),
            ours: format!("{:.0} MB", memory.median()),
            beside: String::new(),
            result: memory.median(),
            unit: String::from("MB"),
            must: f64::INFINITY,
            aim: None,
        },
    ])
}
