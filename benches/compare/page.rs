//! A page of a long run: the whole process `postil workflow thread`, and that it does not grow with the run.

use serde_json::{Map, json};

use postil::store::Store;

use super::Measured;
use super::place::{Place, run};
use super::report::Row;
use super::stats::Series;

const TURNS: usize = 21;

pub fn page() -> Measured {
    // A hundred thousand durable writes would wait for the disk for minutes.
    let place = Place::in_memory();
    let store = Store::open(&place.data(), &place.root()).map_err(|e| e.to_string())?;
    let fill = |thread: &str, rounds: u64| -> Result<String, String> {
        let run = store
            .begin(thread, "src/net.rs", "offline")
            .map_err(|e| e.to_string())?
            .id;
        let content =
            "A round of an ordinary length, with a sentence or two of what the model said. "
                .repeat(3);
        for n in 0..rounds {
            let metadata = Map::from_iter([(String::from("exit_code"), json!(n % 2))]);
            store
                .append(&run, "assistant", metadata, &content)
                .map_err(|e| e.to_string())?;
        }
        Ok(run)
    };
    let (short, long) = (fill("00000100", 100)?, fill("00100000", 100_000)?);
    let (mut ours, mut brief, mut middle) =
        (Series::default(), Series::default(), Series::default());
    for turn in 0..=TURNS {
        for (id, before, times) in [
            (&long, None, &mut ours),
            (&short, None, &mut brief),
            (&long, Some("50000"), &mut middle),
        ] {
            let mut command = place.postil(&place.root());
            command.args(["workflow", "thread", id, "--budget", "8000"]);
            if let Some(before) = before {
                command.args(["--before", before]);
            }
            let (wall, _) = run(command);
            if turn > 0 {
                times.add(wall);
            }
        }
    }
    let row = |work: &str, series: &Series| Row {
        work: format!("{work} of 8000 characters from 100,000 rounds, whole process"),
        ours: series.seconds(),
        beside: format!("from 100 rounds: {}", brief.seconds()),
        result: series.median() * 1e3,
        unit: String::from("ms"),
        must: 30.0,
        aim: None,
    };
    Ok(vec![
        row("newest page", &ours),
        row("page in the middle", &middle),
    ])
}
