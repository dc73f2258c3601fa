//! What a thread mentions can be clicked, and gone to.

use serde_json::{Value, json};

use crate::harness::{Editor, Options, Workspace, uri_of};

fn links(editor: &mut Editor, path: &str) -> Vec<Value> {
    let answer = editor
        .request(
            "textDocument/documentLink",
            json!({"textDocument": {"uri": editor.uri(path)}}),
        )
        .expect("links");
    answer.as_array().expect("a list").clone()
}

#[test]
fn mentions_are_links_to_files_of_the_workspace_and_to_the_web() {
    let workspace = Workspace::new();
    workspace.write("src/net.rs", "fn connect() {}\n");
    workspace.write("../outside.rs", "fn secret() {}\n");
    std::os::unix::fs::symlink(
        workspace.path("../outside.rs"),
        workspace.path("src/link.rs"),
    )
    .expect("a link");
    let text = "// AUTHOR: 😀 @net.rs, src/net.rs:1:4 or `src/net.rs:7`? See https://example.org/a?b=c.\n\
        //   Not @none.rs, ../outside.rs:1, src/link.rs:1, /etc/passwd:1, command:x, file:///etc/passwd, javascript:1 or @connect.\n\
        fn main() {} // src/net.rs:1 in code's own comment\n";
    workspace.write("src/main.rs", text);
    let tooltips = json!({"textDocument": {"documentLink": {"tooltipSupport": true}}});
    for encoding in ["utf-16", "utf-8", "utf-32"] {
        let mut editor = Editor::start_with(
            &workspace,
            Options {
                capabilities: tooltips.clone(),
                encodings: vec![encoding],
                ..Options::default()
            },
        );
        assert!(editor.capabilities["documentLinkProvider"].is_object());
        editor.open("src/main.rs");
        let links = links(&mut editor, "src/main.rs");
        let net = uri_of(&workspace.path("src/net.rs"));
        let targets: Vec<&str> = links.iter().filter_map(|l| l["target"].as_str()).collect();
        assert_eq!(
            targets,
            [
                net.as_str(),
                &format!("{net}#L1,4"),
                &format!("{net}#L7"),
                "https://example.org/a?b=c"
            ]
        );
        assert_eq!(links[1]["tooltip"], "src/net.rs:1:4");
        let start = match encoding {
            "utf-8" => 16,
            "utf-16" => 14,
            _ => 13,
        };
        assert_eq!(
            links[0]["range"],
            json!({"start": {"line": 0, "character": start}, "end": {"line": 0, "character": start + 7}})
        );
    }
    // Without the capability nothing is announced.
    let editor = Editor::start(&workspace);
    assert!(editor.capabilities.get("documentLinkProvider").is_none());
}

#[test]
fn a_mention_leads_to_its_file_or_definition() {
    let workspace = Workspace::new();
    workspace.write("src/net.rs", "fn other() {}\nfn connect() {}\n");
    let text = "// AUTHOR: is @net.rs or @connect or @main meant?\nfn main() {}\n";
    workspace.write("src/main.rs", text);
    let mut editor = Editor::start(&workspace);
    editor.open("src/main.rs");
    let uri = editor.uri("src/main.rs");
    let mut definition = |word: &str| {
        let character = text.find(word).expect("the word") + 2;
        let at =
            json!({"textDocument": {"uri": uri}, "position": {"line": 0, "character": character}});
        let found = editor
            .request("textDocument/definition", at)
            .expect("an answer");
        (
            found[0]["uri"].clone(),
            found[0]["range"]["start"]["line"].clone(),
        )
    };
    let net = json!(uri_of(&workspace.path("src/net.rs")));
    assert_eq!(definition("@net.rs"), (net.clone(), json!(0)));
    assert_eq!(definition("@connect"), (net, json!(1)));
    assert_eq!(definition("@main"), (json!(uri), json!(1)));
}
