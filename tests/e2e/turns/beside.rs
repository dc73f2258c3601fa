//! A turn in one editor while another has the folder open, too.

use serde_json::json;

use super::{Bench, FILE, THREAD, type_at};
use crate::model::{Step, call};

const OTHER: &str = "b.rs";

fn edit() -> Step {
    let input = json!({"path": OTHER, "old_string": "one", "new_string": "ONE"});
    Step::calls(vec![
        call("toolu_r", "file_read", json!({"path": OTHER})),
        call("toolu_e", "file_edit", input),
    ])
}

#[test]
fn what_another_editor_has_not_saved_is_not_changed_on_disk() {
    let bench = Bench::new(vec![edit(), edit().held(), Step::text("Done.")]);
    bench.workspace.write(OTHER, "fn one() {}\n");
    let (mut first, mut second) = (bench.listening(), bench.listening());
    first.open(OTHER);
    first.splice(OTHER, 0..0, "// mine\n");
    first.settle();
    second.open(FILE);
    type_at(&second, 0, THREAD);
    second.wait_codes(FILE, &["pending"]);
    second
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    let told = bench.model.wait_for_requests(2)[1].results();
    let refused = "b.rs has changes that are not saved in another editor, so nothing was written";
    assert!(told[1].1.contains(refused) && told[1].2, "{told:?}");
    assert_eq!(bench.workspace.read(OTHER), "fn one() {}\n");
    // Saved there, it is changed as every file that is open nowhere.
    first.save(OTHER);
    first.settle();
    bench.model.release();
    second.wait_text(FILE, |text| text.contains("AGENT: Done."));
    assert_eq!(bench.workspace.read(OTHER), "// mine\nfn ONE() {}\n");
}
