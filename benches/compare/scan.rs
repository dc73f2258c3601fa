//! The scan of a large tree: `postil threads` beside what looks for the same words: ripgrep, git grep, and ripgrep
//! as the VS Code extension todo-tree calls it, by a regular expression over what comments begin with.

use std::path::Path;
use std::process::Command;

use super::Measured;
use super::place::{Place, large_tree, peer, run};
use super::report::Row;
use super::stats::Series;

const TURNS: usize = 9;

/// todo-tree's default `todo-tree.regex.regex`, its `$TAGS` replaced by ours as it replaces them.
const TODO_TREE: &str = r"(//|#|<!--|;|/\*|^|^[ \t]*(-|\d+.))\s*(AUTHOR:|AGENT:)";

/// A program that looks through a tree, and what it took.
pub struct Runner {
    name: &'static str,
    command: fn(&Place, &Path, &Path) -> Command,
    wall: Series,
    cpu: Series,
}

impl Runner {
    fn new(name: &'static str, command: fn(&Place, &Path, &Path) -> Command) -> Self {
        Self {
            name,
            command,
            wall: Series::default(),
            cpu: Series::default(),
        }
    }

    fn rg() -> Self {
        Self::new("rg", |place, rg, tree| {
            let mut command = place.command(rg, tree);
            command.args(["-n", "(AUTHOR|AGENT):", "."]);
            command
        })
    }

    fn git_grep() -> Self {
        Self::new("git grep", |place, _, tree| {
            let mut command = place.command("git", tree);
            command.args(["grep", "-n", "-I", "-F", "-e", "AUTHOR:", "-e", "AGENT:"]);
            command
        })
    }

    /// The arguments that todo-tree gives with its defaults.
    fn todo_tree() -> Self {
        Self::new("todo-tree's rg", |place, rg, tree| {
            let mut command = place.command(rg, tree);
            command.args(["--no-messages", "--vimgrep", "-H", "--column"]);
            command.args(["--line-number", "--color", "never", "--max-columns=1000"]);
            command.args(["--no-config", "-e", TODO_TREE]);
            command.args(["-g", "!**/node_modules/*/**", "."]);
            command
        })
    }
}

/// What a scan took, ours first, then ripgrep, then the others.
pub struct Times(Vec<Runner>);

impl Times {
    fn of(&self, what: fn(&Runner) -> &Series) -> (&Series, &Series, String) {
        let told = |runner: &Runner| format!("{}: {}", runner.name, what(runner).seconds());
        let beside: Vec<String> = self.0[1..].iter().map(told).collect();
        (what(&self.0[0]), what(&self.0[1]), beside.join("; "))
    }

    pub fn row(&self, work: &str, what: fn(&Runner) -> &Series, must: f64, aim: f64) -> Row {
        let (ours, rg, beside) = self.of(what);
        Row {
            work: work.to_owned(),
            ours: ours.seconds(),
            beside,
            result: ours.median() / rg.median(),
            unit: String::from("× rg"),
            must,
            aim: Some(aim),
        }
    }
}

pub fn wall(runner: &Runner) -> &Series {
    &runner.wall
}

fn cpu(runner: &Runner) -> &Series {
    &runner.cpu
}

pub fn warm() -> Measured {
    let times = kernel(true, |_| {})?;
    let work = |what: &str| format!("scan of the kernel's sources, warm, {what}");
    Ok(vec![
        times.row(&work("wall"), wall, 1.0, 0.65),
        times.row(&work("processor"), cpu, 1.0, 0.65),
    ])
}

/// What an earlier run noted of the tree is used: nothing has changed since.
pub fn unchanged() -> Measured {
    let times = kernel(false, |_| {})?;
    let work = "the same with nothing changed since the last run";
    Ok(vec![times.row(work, wall, 0.3, 0.2)])
}

pub fn cold() -> Measured {
    let times = kernel(true, forget)?;
    let work = "the same, file data not in the cache";
    Ok(vec![times.row(work, wall, 1.0, 0.55)])
}

fn kernel(anew: bool, before: impl Fn(&Path)) -> Result<Times, String> {
    let tree = large_tree().ok_or("`tests/peers install linux` gets the tree")?;
    turns(&Place::new(), &tree, anew, TURNS, before)
}

/// `anew`: what an earlier run noted is not used.
pub fn turns(
    place: &Place,
    tree: &Path,
    anew: bool,
    turns: usize,
    before: impl Fn(&Path),
) -> Result<Times, String> {
    let rg = peer("rg").ok_or("`tests/peers install rg` gets ripgrep")?;
    let ours = Runner::new("postil", |place, _, tree| {
        let mut command = place.postil(tree);
        command.args(["threads", "--json"]);
        command
    });
    let mut all = vec![ours, Runner::rg(), Runner::git_grep(), Runner::todo_tree()];
    for turn in 0..=turns {
        for (n, runner) in all.iter_mut().enumerate() {
            let mut command = (runner.command)(place, &rg, tree);
            if n == 0 && anew {
                command.arg("--no-cache");
            }
            before(tree);
            let (wall, cpu) = run(command);
            // The first turn warms the cache.
            if turn > 0 {
                runner.wall.add(wall);
                runner.cpu.push(cpu);
            }
        }
    }
    Ok(Times(all))
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
