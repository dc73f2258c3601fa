//! Completion as Neovim asks for it: by its own `omnifunc`, key by key. Neovim 0.10 keeps what begins as was typed.

use serde_json::json;

use super::driver::Nvim;
use crate::harness::Workspace;
use crate::peers;

#[test]
fn markers_and_mentions_are_completed() {
    if !peers::have(&["nvim"]) {
        return;
    }
    let workspace = Workspace::new();
    workspace.write("src/net.rs", "fn connect() {}\n");
    workspace.write("a.rs", "fn load_network() {}\n\nfn b() {}\n");
    let mut nvim = Nvim::start(&workspace, &[], json!({}));
    nvim.edit(&workspace.path("a.rs"));
    nvim.wait(
        "the server",
        "vim.bo.omnifunc == 'v:lua.vim.lsp.omnifunc' and #vim.lsp.get_clients({bufnr = 0}) == 1",
    );
    nvim.lua("vim.o.completeopt = 'menuone,noselect'; vim.bo.formatoptions = ''");
    let offered = "vim.fn.pumvisible() == 1 and vim.iter(vim.fn.complete_info({'items'}).items):map(function(i) return i.abbr end):join(' ')";

    nvim.keys("2GS// AU<C-x><C-o>");
    let seen = nvim.wait("the markers", offered).to_string();
    assert!(seen.contains("AUTHOR:"), "{seen}");
    nvim.keys("<C-n><C-y>");
    nvim.wait_text("\n// AUTHOR:");
    nvim.keys("<Esc>2GS// AUTHOR: why not as in 😀 @src/n<C-x><C-o>");
    let seen = nvim.wait("the file", offered).to_string();
    assert_eq!(seen, "\"@src/net.rs\"");
    nvim.keys("<C-n><C-y> has it?<Esc>");
    nvim.wait_text("\n// AUTHOR: why not as in 😀 @src/net.rs has it?\nfn b");
    // In code the list is the language's own server's.
    nvim.lua("vim.v.errmsg = ''");
    nvim.keys("3GOlet a = l<C-x><C-o>");
    nvim.keys("<Esc>");
    nvim.wait_text("let a = l\n");
}
