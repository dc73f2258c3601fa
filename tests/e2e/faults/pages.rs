//! Pages of a run's rounds: never longer than asked for, and by the hints each round once, whatever the rounds
//! hold and whatever is written meanwhile.

use std::collections::BTreeSet;

use postil::store::Store;
use serde_json::{Map, Value, json};

use super::{Output, Workspace, run, shown};

const BUDGET: usize = 8000;

struct World {
    workspace: Workspace,
    store: Store,
    run: String,
}

impl World {
    /// Sixty rounds, among them one of 100,000 characters that are of several bytes each, with some deleted.
    fn new() -> Self {
        let workspace = Workspace::new();
        let store = Store::open(&workspace.data(), workspace.root()).expect("the store opens");
        let run = store.begin("3f9a01bc", "src/a.rs", "m").expect("begun").id;
        let world = Self {
            workspace,
            store,
            run,
        };
        for n in 1..=60 {
            let content = match n {
                30 => "é😀\u{301}ｆ".repeat(25_000),
                n => format!("Round {n}. {}", "ü".repeat(n * 7 % 900)),
            };
            world.append(&content);
        }
        let database = database(&world.workspace.data()).expect("a database");
        let raw = rusqlite::Connection::open(database).expect("it opens");
        raw.execute("DELETE FROM rounds WHERE seq IN (12, 13, 41)", [])
            .expect("deleted");
        world
    }

    fn append(&self, content: &str) {
        let metadata = Map::from_iter([(String::from("exit_code"), json!(0))]);
        self.store
            .append(&self.run, "tester", metadata, content)
            .expect("appended");
    }

    fn ask(&self, args: &[&str]) -> Output {
        run(
            &self.workspace,
            &[&["workflow", "thread", self.run.as_str()], args].concat(),
        )
    }

    fn page(&self, args: &[&str]) -> String {
        let output = self.ask(args);
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
        String::from_utf8(output.stdout).expect("no character is split")
    }
}

pub(super) fn database(folder: &std::path::Path) -> Option<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().find_map(|path| match path.is_dir() {
        true => database(path),
        false => path
            .extension()
            .is_some_and(|end| end == "db")
            .then(|| path.clone()),
    })
}

pub(super) fn numbers(page: &str) -> Vec<u64> {
    let heads = page.lines().filter_map(|line| line.strip_prefix("[#"));
    heads
        .filter_map(|rest| rest.split(' ').next()?.parse().ok())
        .collect()
}

pub(super) fn next(page: &str) -> Option<String> {
    let hints: Vec<&str> = page
        .lines()
        .filter_map(|line| line.split_once("(use --before ")?.1.split(' ').next())
        .collect();
    assert!(hints.len() <= 1, "{hints:?}");
    hints.first().map(|hint| (*hint).to_owned())
}

#[test]
fn fault_25_pages_have_no_gap_and_no_round_twice() {
    let world = World::new();
    let there: BTreeSet<u64> = (1..=60).filter(|n| ![12, 13, 41].contains(n)).collect();
    for budget in [500, 1500, BUDGET] {
        let size = budget.to_string();
        let mut page = world.page(&["--budget", &size]);
        let mut seen = numbers(&page);
        let newest = seen.last().copied().expect("a round");
        let mut pages = 0;
        while let Some(before) = next(&page) {
            assert!(page.chars().count() <= budget, "{}", page.chars().count());
            // Somebody writes between two pages.
            world.append("written meanwhile");
            page = world.page(&["--budget", &size, "--before", &before]);
            seen.extend(numbers(&page));
            pages += 1;
            assert!(pages < 200, "it goes round in circles");
        }
        assert!(page.chars().count() <= budget && pages > 0);
        let once: BTreeSet<u64> = seen.iter().copied().collect();
        // The request, at the head of the first page, comes again with the page that leads to it.
        assert_eq!(seen.remove(0), 1);
        assert_eq!(once.len(), seen.len(), "{budget}: {seen:?}");
        let expected: BTreeSet<u64> = there.iter().copied().chain(61..=newest.max(60)).collect();
        assert_eq!(once, expected, "{budget}");
    }

    // The long round alone: its middle is cut, between two characters, and what is cut is counted.
    let page = world.page(&["--before", "31"]);
    assert_eq!(numbers(&page), [30]);
    assert!(page.chars().count() <= BUDGET && page.chars().count() > BUDGET / 2);
    let body = page.split("---\n").last().expect("a body");
    let (head, rest) = body.split_once("… ").expect("a cut");
    let (cut, tail) = rest.split_once(" characters cut …").expect("its length");
    let cut: usize = cut.parse().expect("a number");
    let tail = tail.trim_end_matches('\n');
    assert_eq!(
        head.chars().count() + cut + tail.chars().count(),
        100_000,
        "{cut}"
    );

    // Numbers that no round has.
    let output = world.ask(&["--before", "1"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty(), "{}", shown(&output));
    for past in ["999999", "99999999999999999999999"] {
        let all = world.page(&["--before", past]);
        assert_eq!(numbers(&all).last(), numbers(&world.page(&[])).last());
    }
    assert_eq!(numbers(&world.page(&["--before", "13"])).last(), Some(&11));
    for wrong in ["0", "-1", "x", "1.5"] {
        let output = world.ask(&[&format!("--before={wrong}")]);
        assert_eq!(output.status.code(), Some(2), "{wrong}: {}", shown(&output));
    }
    let lines = world.page(&["--json"]);
    for line in lines.lines() {
        let round: Value = serde_json::from_str(line).expect("a line of JSON is whole");
        assert!(round["round"].is_u64(), "{line}");
    }
}
