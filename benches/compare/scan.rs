//! The scan of a large tree: `postil threads` beside ripgrep, which looks for the same words.

use std::path::Path;

use super::Measured;
use super::place::{Place, large_tree, peer, run};
use super::report::Row;
use super::stats::Series;

const TURNS: usize = 9;

#[derive(Default)]
struct Times {
    wall: Series,
    cpu: Series,
}

pub fn warm() -> Measured {
    let (ours, theirs) = turns(&["--no-cache"], |_| {})?;
    let row = |work: &str, ours: &Series, theirs: &Series| Row {
        work: format!("scan of the kernel's sources, warm, {work}"),
        ours: ours.seconds(),
        beside: format!("rg: {}", theirs.seconds()),
        result: ours.median() / theirs.median(),
        unit: "× rg",
        must: 1.0,
        aim: Some(0.65),
    };
    Ok(vec![
        row("wall", &ours.wall, &theirs.wall),
        row("processor", &ours.cpu, &theirs.cpu),
    ])
}

/// What an earlier run noted of the tree is used: nothing has changed since.
pub fn unchanged() -> Measured {
    let (ours, theirs) = turns(&[], |_| {})?;
    Ok(vec![Row {
        work: String::from("the same with nothing changed since the last run"),
        ours: ours.wall.seconds(),
        beside: format!("rg: {}", theirs.wall.seconds()),
        result: ours.wall.median() / theirs.wall.median(),
        unit: "× rg",
        must: 0.3,
        aim: Some(0.2),
    }])
}

pub fn cold() -> Measured {
    let (ours, theirs) = turns(&["--no-cache"], forget)?;
    Ok(vec![Row {
        work: String::from("the same, file data not in the cache"),
        ours: ours.wall.seconds(),
        beside: format!("rg: {}", theirs.wall.seconds()),
        result: ours.wall.median() / theirs.wall.median(),
        unit: "× rg",
        must: 1.0,
        aim: Some(0.55),
    }])
}

fn turns(options: &[&str], before: impl Fn(&Path)) -> Result<(Times, Times), String> {
    let tree = large_tree().ok_or("`tests/peers install linux` gets the tree")?;
    let rg = peer("rg").ok_or("`tests/peers install rg` gets ripgrep")?;
    let place = Place::new();
    let (mut ours, mut theirs) = (Times::default(), Times::default());
    for turn in 0..=TURNS {
        let mut postil = place.postil(&tree);
        postil.args(["threads", "--json"]).args(options);
        let mut ripgrep = place.command(&rg, &tree);
        ripgrep.args(["-n", "(AUTHOR|AGENT):", "."]);
        for (command, times) in [(postil, &mut ours), (ripgrep, &mut theirs)] {
            before(&tree);
            let (wall, cpu) = run(command);
            // The first turn warms the cache.
            if turn > 0 {
                times.wall.add(wall);
                times.cpu.push(cpu);
            }
        }
    }
    Ok((ours, theirs))
}

/// Tells the kernel to drop what it holds of each file; folders and inodes stay known.
fn forget(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            forget(&entry.path());
        } else if kind.is_file()
            && let Ok(file) = std::fs::File::open(entry.path())
        {
            let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
        }
    }
}
