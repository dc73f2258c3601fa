//! Whose change stands in the way of an undo: where it is another turn's, that is to be undone first. Pure.

use super::without::{Without, without};
use crate::store::Change;

/// The one of `others` (the newest first, each with its writes) without whose writes more of `steps` could be taken out of
/// what the file is `now` than was `found`.
pub(super) fn in_the_way(
    others: Vec<(String, Vec<Change>)>,
    steps: &[&Change],
    now: Option<&[u8]>,
    found: &Without,
) -> Option<String> {
    let stands = |found: &Without| (found.stays.is_some(), found.kept.len());
    let mut content = now.map(<[u8]>::to_vec);
    others.into_iter().find_map(|(run, writes)| {
        let writes: Vec<&Change> = writes.iter().collect();
        content = without(&writes, content.as_deref()).content;
        (stands(&without(steps, content.as_deref())) < stands(found)).then_some(run)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(before: &str, after: &str) -> Change {
        Change {
            before: Some(before.into()),
            after: Some(after.into()),
            ..Change::default()
        }
    }

    #[test]
    fn a_run_is_named_that_has_changed_the_same_line_and_no_other() {
        let ours = change("p1\n\nq1\n", "p2\n\nq1\n");
        let steps = [&ours];
        let run =
            |name: &str, before: &str, after: &str| (name.to_owned(), vec![change(before, after)]);
        let named = |others: Vec<(String, Vec<Change>)>, now: &str| {
            let now = Some(now.as_bytes());
            in_the_way(others, &steps, now, &without(&steps, now))
        };
        let third = run("third", "p3\n\nq1\n", "p4\n\nq1\n");
        let second = run("second", "p2\n\nq1\n", "p3\n\nq1\n");
        let both = vec![third, second.clone()];
        assert_eq!(named(both, "p4\n\nq1\n"), Some("second".into()));
        // The author has changed that line, whoever did so before.
        assert_eq!(named(vec![second], "p5\n\nq1\n"), None);
        let beside = run("beside", "p2\n\nq1\n", "p2\n\nq2\n");
        assert_eq!(named(vec![beside], "p5\n\nq2\n"), None);
    }
}
