//! docs/security.md names the tests of attacks and faults: each number has its own, each of them stands in its row.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// A row: what kind it is of, its number, the cell of its tests.
fn rows(page: &str) -> Vec<(&'static str, u8, String)> {
    let mut rows = Vec::new();
    for line in page.lines().filter_map(|line| line.strip_prefix("| ")) {
        let number = line.split(' ').next().unwrap_or_default();
        let (kind, number) = match number.strip_prefix('F') {
            Some(number) => ("fault", number),
            None => ("attack", number),
        };
        let cell = line.rsplit("| ").next().unwrap_or_default();
        if let Ok(number) = number.parse() {
            rows.push((kind, number, cell.to_owned()));
        }
    }
    rows
}

/// Names of functions in a file or in all of a folder.
fn names(place: &Path) -> BTreeSet<String> {
    let mut text = std::fs::read_to_string(place).unwrap_or_default();
    if place.is_dir() {
        crate::faults::read_all(place, &mut text);
    }
    let names = text.split("fn ").skip(1);
    names
        .filter_map(|rest| rest.split('(').next())
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_table_of_attacks_names_the_tests_that_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/security.md")).expect("the page");
    let ours = names(&root.join("tests/e2e"));
    let rows = rows(&page);
    let mut numbers: BTreeMap<&str, BTreeSet<u8>> = BTreeMap::new();
    for (kind, number, cell) in &rows {
        numbers.entry(kind).or_default().insert(*number);
        let own = format!("{kind}_{number:02}_");
        assert!(
            cell.contains(&format!("`{own}*`")),
            "{kind} {number} has no test by its number in tests/e2e"
        );
        for part in cell.trim_end_matches('|').split(';') {
            // In the program itself, and then said so.
            let module = part.split_once(": `").map(|(module, _)| module.trim());
            let there = match module {
                Some(module) => {
                    let mut all = names(&root.join(format!("server/{module}.rs")));
                    all.extend(names(&root.join("server").join(module)));
                    all
                }
                None => ours.clone(),
            };
            for name in part.split('`').skip(1).step_by(2) {
                let is_there = match name.strip_suffix('*') {
                    Some(start) => there.iter().any(|test| test.starts_with(start)),
                    None => there.contains(name),
                };
                assert!(is_there, "{kind} {number}: no test {name}");
                assert!(
                    module.is_some() || name.starts_with("attack_") || name.starts_with("fault_"),
                    "{name} has no number"
                );
            }
        }
    }
    let of = |kind: &str| numbers.get(kind).cloned().unwrap_or_default();
    assert_eq!(of("attack"), (1..=22).collect(), "a row for each");
    let wanted: BTreeSet<u8> = (1..=9).chain(18..=25).chain([31]).collect();
    assert_eq!(of("fault"), wanted, "a row for each");
    // A test's number has a row, which names all of that number.
    for test in &ours {
        for kind in ["attack", "fault"] {
            let number = test
                .strip_prefix(kind)
                .and_then(|rest| rest.get(1..3)?.parse().ok());
            if test.starts_with(&format!("{kind}_")) {
                let known = number.is_some_and(|number| of(kind).contains(&number));
                assert!(known, "{test}: its number has no row");
            }
        }
    }
}
