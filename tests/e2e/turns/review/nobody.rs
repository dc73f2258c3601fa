//! A review that nobody answers.

use super::{Bench, CODE, FILE, MAIN, OTHER, THREAD, rename};
use crate::model::Step;

#[test]
fn where_nobody_can_be_asked_nothing_is_changed_and_both_are_told_why() {
    let bench = Bench::asking(vec![
        Step::text("Renamed."),
        // It tries again, against what it was told.
        rename(),
        Step::text("Nobody was there."),
    ]);
    let w = &bench.workspace;
    w.write(FILE, format!("{THREAD}{CODE}"));
    assert_eq!(bench.cli(&["trust", "--yes"]).0, Some(0));
    let (code, _, err) = bench.cli(&["reply", "--all", "--yes"]);
    assert_eq!(code, Some(1), "what was asked for is not done: {err}");
    let why = "because it is to be agreed to first (turn.review) and nobody answered";
    let both = format!("{OTHER}, {FILE}");
    let told = format!("Not changed, {why}: {both}. A review needs an editor or a terminal.");
    assert_eq!(err.matches(&told).count(), 1, "{err}");
    assert_eq!(err.matches("(turn.review)").count(), 2, "{err}");
    let asked = bench.model.requests();
    assert_eq!(asked.len(), 6);
    let told = asked[4].prompt();
    assert!(
        told.contains("The author was to look") && told.contains("make none any more"),
        "{told}"
    );
    assert!(
        told.contains(&format!("{OTHER}: not changed, {why}")),
        "{told}"
    );
    assert_eq!(w.read(OTHER), MAIN);
    let text = w.read(FILE);
    assert!(text.ends_with(CODE), "{text}");
    assert!(
        text.contains("(Not every edit was accepted") && text.contains("Nobody was there."),
        "{text}"
    );
}
