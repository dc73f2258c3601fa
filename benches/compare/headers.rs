//! Sources that nobody here wrote hold no thread: every place of four trees where a marker is spelled, and
//! why it is none, in the reader's own words. A run writes docs/headers.md.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use postil::comments::{Syntax, detect};
use postil::files::{Buffers, Tree, head};
use postil::threads::{self, WhyNone};

use super::Measured;
use super::place::{tree, tree_name};
use super::report::Row;

const TREES: &[(&str, &str)] = &[
    ("linux", "the Linux kernel"),
    ("rust", "Rust's library and compiler"),
    ("cpython", "CPython"),
    ("vscode", "VS Code, as npm has it"),
];
const PAGE: &str = "docs/headers.md";
const MARK: &str = "<!-- made by `cargo bench --bench compare -- headers` -->\n";
/// Longest part of a line that is shown.
const SHOWN: usize = 110;

struct Place {
    file: String,
    line: usize,
    text: String,
}

#[derive(Default)]
struct Found {
    package: String,
    files: usize,
    too_large: usize,
    threads: Vec<Place>,
    none: BTreeMap<WhyNone, Vec<Place>>,
    near: Vec<Place>,
}

pub fn headers() -> Measured {
    let mut all = Vec::new();
    for (name, what) in TREES {
        let root = tree(name).ok_or_else(|| format!("`tests/peers install {name}` gets {what}"))?;
        all.push((*what, look(name, &root)?));
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let before = std::fs::read_to_string(&page).unwrap_or_default();
    let intro = before.split(MARK).next().unwrap_or_default();
    std::fs::write(&page, format!("{intro}{MARK}{}", report(&all)))
        .map_err(|e| format!("{PAGE}: {e}"))?;
    let listed: usize = all.iter().map(|(_, found)| found.threads.len()).sum();
    let spelled: usize = all
        .iter()
        .flat_map(|(_, found)| found.none.values().map(Vec::len))
        .sum();
    Ok(vec![Row {
        work: String::from("threads listed in four trees of others"),
        ours: format!("{listed}"),
        beside: format!("markers spelled there: {}", spelled + listed),
        result: listed as f64,
        unit: String::from("threads"),
        must: 0.0,
        aim: None,
    }])
}

fn look(name: &str, root: &Path) -> Result<Found, String> {
    let tree = Tree::new(root, Arc::new(Buffers::default())).map_err(|e| e.to_string())?;
    let spelled = |bytes: &[u8]| {
        ["AUTHOR:", "AUTHOR(", "AGENT:", "AGENT("]
            .iter()
            .any(|word| memchr::memmem::find(bytes, word.as_bytes()).is_some())
    };
    let almost = |bytes: &[u8]| {
        [
            "AUTHOR", "Author", "author", "AGENT", "AI!", "AI?", "ai!", "ai?",
        ]
        .iter()
        .any(|word| memchr::memmem::find(bytes, word.as_bytes()).is_some())
    };
    let scan = tree.scan("", 2, almost).map_err(|e| e.to_string())?;
    let mut found = Found {
        package: tree_name(root),
        files: scan.files,
        too_large: scan.skipped.len(),
        ..Found::default()
    };
    for hit in &scan.hits {
        let file = tree.relative(&hit.path).unwrap_or_else(|| name.to_owned());
        let text = String::from_utf8_lossy(&hit.bytes);
        let syntax = Syntax::parse(&text, detect(&file, None, head(&text)));
        let lines: Vec<&str> = text.split('\n').collect();
        let place = |line: usize| Place {
            file: file.clone(),
            line: line + 1,
            text: lines.get(line).map_or_else(String::new, |l| shown(l)),
        };
        for near in threads::near_misses(&text, &syntax) {
            let line = text[..near.range.start].matches('\n').count();
            found.near.push(place(line));
        }
        if !spelled(&hit.bytes) {
            continue;
        }
        for thread in threads::find(&file, &text, &syntax) {
            found.threads.push(place(thread.first_line()));
        }
        for seen in threads::not_threads(&text, &syntax) {
            found
                .none
                .entry(seen.why)
                .or_default()
                .push(place(seen.line));
        }
    }
    Ok(found)
}

/// The first packages that a tree was made of, and how many more.
fn named(packages: &str) -> String {
    let all: Vec<&str> = packages.split_whitespace().collect();
    let more = all.len().saturating_sub(4);
    let first = all.get(..4).unwrap_or(&all).join(", ");
    match more {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// A line as it can stand between backticks.
fn shown(line: &str) -> String {
    let line = line.trim();
    let near = ["AUTHOR", "AGENT"]
        .iter()
        .filter_map(|word| line.find(word))
        .min()
        .unwrap_or_default();
    let skipped = line[..near].chars().count().saturating_sub(SHOWN / 3);
    let part: String = line
        .chars()
        .skip(skipped)
        .take(SHOWN)
        .map(|c| if c.is_control() || c == '`' { ' ' } else { c })
        .collect();
    let ends = |cut: bool| if cut { "…" } else { "" };
    let more = line.chars().count() > skipped + SHOWN;
    format!("{}{}{}", ends(skipped > 0), part.trim(), ends(more))
}

fn report(all: &[(&str, Found)]) -> String {
    let mut out = String::from(
        "\n| tree | package | files | passed over (too large, binary) | markers spelled | threads | near-miss hints |\n|---|---|---|---|---|---|---|\n",
    );
    for (what, found) in all {
        let none: usize = found.none.values().map(Vec::len).sum();
        let _ = writeln!(
            out,
            "| {what} | {} | {} | {} | {} | {} | {} |",
            named(&found.package),
            found.files,
            found.too_large,
            none + found.threads.len(),
            found.threads.len(),
            found.near.len()
        );
    }
    for (what, found) in all {
        let _ = write!(out, "\n## {what}\n");
        list(&mut out, "**listed as a thread**", &found.threads);
        for (why, places) in &found.none {
            list(&mut out, why.sentence(), places);
        }
        list(&mut out, "hinted at as a near miss", &found.near);
        if found.none.is_empty() && found.threads.is_empty() {
            out.push_str("\nNo marker is spelled anywhere.\n");
        }
    }
    out
}

fn list(out: &mut String, why: &str, places: &[Place]) {
    if places.is_empty() {
        return;
    }
    let _ = write!(out, "\n{} × {why}:\n\n", places.len());
    for place in places {
        let _ = writeln!(out, "- {}:{} `{}`", place.file, place.line, place.text);
    }
}
