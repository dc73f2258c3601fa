//! A folder that the editor reached over a link: children know its files by their own names, the editor by those that
//! it gave them.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::bench::{Bench, uri};
use crate::harness::{Editor, Options, Workspace, wait_until};
use postil::text::apply_edits;

#[tokio::test]
async fn a_rename_is_of_the_open_text_whatever_its_name_in_the_editor() {
    let bench = Bench::new(json!({}));
    bench.write("a.scripted", "def name\n");
    bench.write("b.scripted", "name\n");
    let link = bench.root.with_file_name("link");
    symlink(&bench.root, &link).unwrap();
    let [a, b] = ["a.scripted", "b.scripted"].map(|name| bench.root.join(name));
    let named = uri(&link.join("a.scripted"));
    let unsaved = "unsaved\ndef name\n";
    bench
        .face
        .buffers
        .open(a.clone(), &named, "scripted", 4, unsaved);
    bench.children.opened(&a);
    let seen = bench.face.buffers.generation(&a);
    let renamed = bench.children.rename(&a, 12, "other", &bench.cancel).await;
    let files: Vec<_> = renamed
        .unwrap()
        .into_iter()
        .map(|file| {
            let text = apply_edits(&file.text, &file.edits);
            (file.path, file.generation, text)
        })
        .collect();
    assert!(seen.is_some());
    let expected = [
        (a, seen, String::from("unsaved\ndef other\n")),
        (b, None, String::from("other\n")),
    ];
    assert_eq!(files, expected);
}

#[test]
fn what_a_child_says_is_told_by_the_editors_names() {
    let workspace = Workspace::new();
    workspace.script_child(&json!({"encoding": "utf-8"}));
    workspace.write("a.scripted", "def name\n");
    workspace.write("b.scripted", "name\n");
    workspace.write("closed.scripted", "name def more\n");
    let link = workspace.root().with_file_name("link");
    symlink(workspace.root(), &link).expect("a link");
    let [a, b, closed] = ["a", "b", "closed"].map(|name| {
        let path = link.join(name).with_extension("scripted");
        path.to_string_lossy().into_owned()
    });
    let options = Options {
        initialization_options: json!({"trusted": true}),
        settings: json!({"proxy": {"mode": "always"}}),
        folders: Some(vec![link]),
        ..Options::default()
    };
    let mut editor = Editor::start_with(&workspace, options);
    // Not as on disk: places count in what is open.
    editor.open_text(&a, "scripted", "\n\n\u{e9} def name more\n");
    editor.open(&b);
    let [a_uri, b_uri, closed_uri] = [&a, &b, &closed].map(|path| editor.uri(path));
    let at = |uri: &str, line: u32, character: u32| json!({"textDocument": {"uri": uri}, "position": {"line": line, "character": character}});

    let definition = "textDocument/definition";
    let mut found = json!(null);
    // The settings come after `initialized`.
    wait_until("the child answers", || {
        found = editor
            .request(definition, at(&b_uri, 0, 1))
            .unwrap_or_default();
        found.as_array().is_some_and(|list| !list.is_empty())
    });
    assert_eq!(found[0]["targetUri"], a_uri);
    let start = json!({"line": 2, "character": 6});
    assert_eq!(found[0]["targetRange"]["start"], start);

    let found = editor
        .request(definition, at(&a_uri, 2, 12))
        .expect("found");
    assert_eq!(found[0]["targetUri"], closed_uri, "a file that is not open");

    let mut rename = at(&b_uri, 0, 1);
    rename["newName"] = json!("other");
    let renamed = editor.request("textDocument/rename", rename);
    let renamed = renamed.expect("renamed");
    let changes = renamed["changes"].as_object().expect("changes");
    let mut files: Vec<&str> = changes.keys().map(String::as_str).collect();
    files.sort_unstable();
    assert_eq!(files, [&*a_uri, &*b_uri, &*closed_uri]);
    assert_eq!(changes[&a_uri][0]["range"]["start"], start);

    let symbols = editor.request("workspace/symbol", json!({"query": "more"}));
    let symbols = symbols.expect("symbols");
    assert_eq!(symbols[0]["location"]["uri"], closed_uri);

    let log = std::fs::read_to_string(workspace.root().with_file_name("child.log"));
    assert!(
        !log.expect("its log").contains("/link/"),
        "one name of each"
    );
}
