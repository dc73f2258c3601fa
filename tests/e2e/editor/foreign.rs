//! What an editor hands on of other servers need not be as the protocol has it.

use serde_json::{Value, json};

use crate::harness::{Editor, Workspace};

fn titles(editor: &mut Editor, range: &Value, context: Option<Value>) -> Vec<String> {
    let mut params = json!({"textDocument": {"uri": editor.uri("a.rs")}, "range": range});
    if let Some(context) = context {
        params["context"] = context;
    }
    let answer = editor.request("textDocument/codeAction", params.clone());
    let actions = answer.unwrap_or_else(|error| panic!("{params}: {error}"));
    let all = actions.as_array().into_iter().flatten();
    all.filter_map(|action| action["title"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn no_diagnostic_of_another_server_takes_our_actions_away() {
    let workspace = Workspace::new();
    let mut editor = Editor::start(&workspace);
    editor.open_text("a.rs", "rust", "// AUTHOR: why?\nfn a() {}\n");
    let ours = editor.wait_codes("a.rs", &["pending"]).remove(0);
    let at = |character: Value| json!({"line": 0, "character": character});
    let range = json!({"start": at(json!(0)), "end": at(json!(4))});
    let foreign = |name: &str, value: Value| {
        let mut one = json!({"range": range, "message": "x", "source": "other"});
        one[name] = value;
        one
    };
    let related = |uri: &str| json!([{"location": {"uri": uri, "range": range}, "message": "y"}]);
    let floats = json!({"start": at(json!(0.0)), "end": at(json!(1.0))});
    let all = [
        foreign("codeDescription", json!({"href": "E0001.html"})),
        foreign("relatedInformation", related("")),
        foreign("relatedInformation", related("/abs/path")),
        foreign("code", json!({"value": "E1", "target": "x"})),
        foreign("severity", json!("error")),
        foreign("message", json!({"kind": "markdown", "value": "x"})),
        foreign("range", floats),
        json!(null),
    ];
    for one in &all {
        let given = json!({"diagnostics": [one, ours]});
        let titles = titles(&mut editor, &range, Some(given));
        assert!(
            titles.iter().any(|title| title == "Reply as agent"),
            "{one}"
        );
    }
    // Ours among them is told of with the action that is about it.
    let mut diagnostics = all.to_vec();
    diagnostics.push(ours.clone());
    let params = json!({"textDocument": {"uri": editor.uri("a.rs")}, "range": range,
        "context": {"diagnostics": diagnostics}});
    let answer = editor.request("textDocument/codeAction", params);
    let answer = answer.expect("actions");
    let mut actions = answer.as_array().into_iter().flatten();
    let reply = actions.find(|action| action["title"] == "Reply as agent");
    let about = reply.expect("the action")["diagnostics"].clone();
    assert_eq!(about[0]["data"], ours["data"], "{about}");

    for context in [
        None,
        Some(Value::Null),
        Some(json!({})),
        Some(json!({"diagnostics": null})),
    ] {
        let titles = titles(&mut editor, &range, context.clone());
        assert!(
            titles.iter().any(|title| title == "Reply as agent"),
            "{context:?}"
        );
    }
}
