//! docs/faults.md names tests; a name that no test has is a fault of the page.

use std::path::Path;

#[test]
fn the_table_of_faults_names_tests_that_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/faults.md")).expect("the page");
    let mut sources = String::new();
    read_all(&root.join("tests/e2e"), &mut sources);
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('`'))
        .collect();
    assert!(rows.len() > 25, "the table is not where it was");
    let mut missing = Vec::new();
    for row in rows {
        let tests = row.rsplit("| ").next().unwrap_or_default();
        let names = tests.split('`').skip(1).step_by(2);
        for name in names {
            let is_there = |test: &str| sources.contains(&format!("{test} {name}()"));
            if !is_there("#[test]\nfn") && !is_there("#[tokio::test]\nasync fn") {
                missing.push(name);
            }
        }
    }
    assert!(missing.is_empty(), "no such tests: {missing:?}");
    // And the other way: a test of bad input stands in the table.
    let mut ours = String::new();
    read_all(&root.join("tests/e2e/faults"), &mut ours);
    let unnamed: Vec<&str> = ours
        .split("#[test]\nfn ")
        .skip(1)
        .filter_map(|rest| rest.split('(').next())
        .filter(|name| !name.starts_with("the_table_") && !page.contains(&format!("`{name}`")))
        .collect();
    assert!(unnamed.is_empty(), "not in the table: {unnamed:?}");
}

pub fn read_all(folder: &Path, sources: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            read_all(&path, sources);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            sources.push_str(&text);
        }
    }
}
