//! docs/security.md names the tests of attacks, and they name no row that it has not.

use std::collections::BTreeSet;

use super::*;

/// Names of tests that begin with `attack_`, in the program and in its tests.
fn tests_of(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            tests_of(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source");
            for line in text.lines() {
                let line = line.trim_start().trim_start_matches("async ");
                let name = line.strip_prefix("fn ").and_then(|l| l.split('(').next());
                found.extend(name.filter(|n| n.starts_with("attack_")).map(str::to_owned));
            }
        }
    }
}

#[test]
fn the_table_of_attacks_names_the_tests_that_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/security.md")).expect("the page");
    let mut tests = BTreeSet::new();
    for folder in ["tests/e2e", "server"] {
        tests_of(&root.join(folder), &mut tests);
    }
    let mut sources = String::new();
    crate::faults::read_all(&root.join("tests/e2e"), &mut sources);
    crate::faults::read_all(&root.join("server"), &mut sources);
    let mut named = BTreeSet::new();
    let mut numbers = BTreeSet::new();
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let number = row[2..].split(' ').next().unwrap_or_default();
        let Ok(number) = number.parse::<u8>() else {
            continue;
        };
        numbers.insert(number);
        let cell = row.rsplit("| ").next().unwrap_or_default();
        for name in cell.split('`').skip(1).step_by(2) {
            if let Some(start) = name.strip_suffix('*') {
                named.extend(tests.iter().filter(|t| t.starts_with(start)).cloned());
            } else {
                assert!(sources.contains(&format!("fn {name}(")), "no test {name}");
                named.insert(name.to_owned());
            }
        }
    }
    assert_eq!(numbers, (1..=22).collect(), "a row for each attack");
    // The faults, whose rows begin with `| F`.
    let mut faults = BTreeSet::new();
    for row in page.lines().filter_map(|line| line.strip_prefix("| F")) {
        faults.extend(row.split(' ').next().and_then(|n| n.parse::<u8>().ok()));
        let cell = row.rsplit("| ").next().unwrap_or_default();
        for name in cell.split('`').skip(1).step_by(2) {
            let test = match name.strip_suffix('*') {
                Some(start) => format!("fn {start}"),
                None => format!("fn {name}("),
            };
            assert!(sources.contains(&test), "no test {name}");
        }
    }
    assert_eq!(faults, (1..=8).chain(18..=25).collect(), "a row for each");
    let unnamed: Vec<_> = tests.difference(&named).collect();
    assert!(unnamed.is_empty(), "not in the table: {unnamed:?}");
}
