//! `turn.review = "ask"`, set in Helix's own file: what a turn wants to change is shown as a diff, and asked about.

use serde_json::json;

use super::stops::started_in;
use super::{AT_THREAD, command, config, keys, languages, programs, take, trusted};
use crate::model::{Step, call};

#[test]
fn a_change_is_shown_and_made_when_it_is_accepted_in_helix() {
    // What was meant for the text answers nothing: the question stands at the thread then. 25.01 shows none.
    let keys_of = |program| match program {
        "hx" => vec![None],
        _ => vec![Some("Enter"), Some("x")],
    };
    let cases =
        programs().flat_map(|program| keys_of(program).into_iter().map(move |key| (program, key)));
    for (program, key) in cases {
        let edit = json!({"path": "notes.py", "old_string": "return path", "new_string": "return str(path)"});
        let script = vec![
            Step::calls(vec![call("r", "file_read", json!({"path": "notes.py"}))]),
            Step::calls(vec![call("e", "file_edit", edit)]),
            Step::text("A text it is."),
        ];
        let workspace = trusted();
        let rows = std::fs::read_to_string(languages::file()).expect("rows");
        let start = rows.find("[language-server.postil]").expect("the server");
        let server = rows[start..].split("\n\n").next().expect("its lines");
        // Beside what our row sets, as its comment says.
        let own = server.replace("proxy = {", "turn = { review = \"ask\" }, proxy = {");
        assert_ne!(own, server);
        let file = config(&workspace).join("languages.toml");
        std::fs::write(file, own + "\n").expect("languages.toml");
        let (_workspace, _model, terminal) = started_in(workspace, program, script);
        if let Some(key) = key {
            terminal.wait("the question", |s| {
                s.contains("the agent wants to change") && s.contains("Reject")
            });
            terminal.key(key);
        }
        terminal.wait("the question", |s| s.contains(AT_THREAD));
        let diff = terminal.wait("where the diff is", |s| s.contains(".diff"));
        let file = diff.split_whitespace().find(|word| word.contains(".diff"));
        let diff = std::fs::read_to_string(file.unwrap_or_default()).expect("the diff");
        assert!(diff.contains("+    return str(path)"), "{diff}");
        assert!(!terminal.screen().contains("return str(path)"));
        keys(&terminal, &["Space", "a"]);
        take(&terminal, "Accept");
        terminal.wait("the change", |s| {
            s.contains("# AGENT: A text it is.") && s.contains("    return str(path)")
        });
        command(&terminal, ":qa!");
    }
}
