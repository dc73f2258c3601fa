//! Who says what a client shows: where it names the server itself, ours is no second name.

use serde_json::{Value, json};

use crate::harness::{Editor, Options, Workspace};

const OURS: &str = "postil: ";

#[test]
fn a_message_has_our_name_once() {
    let workspace = Workspace::new();
    workspace.configure("[threads]\nnonsense = 1\n");
    workspace.write("a.rs", "// AUTHOR: where is `a` used?\nfn a() {}\n");
    workspace.write("b.rs", "fn b() {}\n");
    for (client, is_named) in [
        ("coc.nvim", true),
        ("helix", true),
        ("Neovim", false),
        ("kakoune-lsp", false),
        ("vim-lsp", false),
        ("Sublime Text LSP", false),
        ("Zed Preview", false),
    ] {
        let options = Options {
            initialize: false,
            ..Options::default()
        };
        let mut editor = Editor::start_with(&workspace, options);
        super::initialize_as(&mut editor, client);
        editor.open("a.rs");
        editor.open("b.rs");
        // Of the settings, of a verb, of a turn in a folder that nobody trusts.
        editor.wait_saying("window/showMessage", "nonsense");
        let there = json!({"uri": editor.uri("b.rs")});
        editor.command("postil.replyAll", there).expect("none");
        editor.wait_saying("window/showMessage", "No thread waits");
        editor
            .take_action("a.rs", 0, "Reply as agent")
            .expect("begun");
        editor.wait_saying("window/showMessage", "is not trusted");
        let state = editor.state();
        let told = |m: &&Value| m["method"] == "window/showMessage";
        for message in state.received.iter().filter(told) {
            let text = message["params"]["message"].as_str().expect("a text");
            let names = text.matches(OURS).count();
            assert_eq!(
                (text.starts_with(OURS), names),
                (is_named, usize::from(is_named)),
                "{client}: {text}"
            );
        }
    }
}
