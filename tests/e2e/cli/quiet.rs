//! `--quiet` on a terminal: whoever is waited for sees the question.

use super::{postil, project};

#[test]
fn a_question_is_shown_though_all_else_is_quiet() {
    let workspace = project();
    let Some(seen) = workspace.on_a_terminal("-q trust", None, "n\n") else {
        return;
    };
    assert!(
        seen.contains("would allow:") && seen.contains("Language servers start here"),
        "{seen}"
    );
    postil(&workspace, &["trust", "--yes"]).ok();
    workspace.write(
        "src/main.rs",
        "// AUTHOR: rename load to load_data\nfn load() {}\n",
    );
    let args = "-q reply --all --model offline";
    let seen = workspace
        .on_a_terminal(args, None, "2\n")
        .unwrap_or_default();
    assert!(
        seen.contains("were not typed here")
            && seen.contains("2 Read-only")
            && seen.contains("which?"),
        "{seen}"
    );
}
