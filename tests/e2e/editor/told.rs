//! Who says what a client shows: where it names the server itself, ours is no second name.

use crate::harness::{Editor, Options, Workspace};

#[test]
fn a_message_has_our_name_once() {
    let workspace = Workspace::new();
    workspace.configure("nonsense = 1\n");
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
        let told = editor.wait_message("window/showMessage", |m| {
            m["message"]
                .as_str()
                .is_some_and(|m| m.contains("nonsense"))
        });
        let message = told["message"].as_str().expect("a text");
        assert_eq!(
            message.starts_with("postil: "),
            is_named,
            "{client}: {message}"
        );
    }
}
