//! How the plugin behaves in the editor of somebody who has windows, folds, tabs, sessions and settings of their own.

use serde_json::json;

use super::driver::Nvim;
use super::plugin::{NONE, in_both, open};
use super::python_project;

in_both!(
    what_a_server_said_goes_with_it,
    health_tells_of_a_parser_that_cannot_be_loaded,
    health_tells_the_servers_version,
    capabilities_of_the_users_are_taken,
);

fn what_a_server_said_goes_with_it(program: &str) {
    let workspace = python_project();
    workspace.write("closed.py", "# AUTHOR: closed?\nx = 1\n");
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    let told = "#vim.tbl_filter(function(d) return d.source == 'postil' end, vim.diagnostic.get())";
    nvim.wait("the closed file's thread", &format!("{told} == 1"));
    let id = nvim.lua("return vim.lsp.get_clients()[1].id");
    nvim.keys(":Postil restart<CR>");
    nvim.wait("another server", &format!("#vim.lsp.get_clients({{ bufnr = 0 }}) == 1 and vim.lsp.get_clients({{ bufnr = 0 }})[1].id ~= {id}"));
    // Its files are read by now.
    nvim.keys(":4Postil new one<CR>");
    nvim.wait_codes("pending");
    nvim.wait("one of each", &format!("{told} == 2"));
    nvim.lua("vim.lsp.get_clients()[1].rpc.notify('exit')");
    nvim.wait("nothing", &format!("{told} == 0"));
}

fn health_tells_of_a_parser_that_cannot_be_loaded(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    let folder = workspace.data().join("runtime");
    std::fs::create_dir_all(folder.join("parser")).expect("a folder");
    std::fs::write(folder.join("parser/postil.so"), "no parser").expect("a file");
    nvim.ex(&format!("set runtimepath+={}", folder.display()));
    nvim.ex("checkhealth postil");
    nvim.wait_text("parser/postil.so cannot be loaded: ");
    assert!(!nvim.text().contains("is installed"), "{}", nvim.text());
}

fn health_tells_the_servers_version(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.ex("checkhealth postil");
    nvim.wait_text(&format!("server {} for ", env!("CARGO_PKG_VERSION")));
}

fn capabilities_of_the_users_are_taken(program: &str) {
    let workspace = python_project();
    let mut nvim = Nvim::start_as(program, &workspace, NONE, json!({}));
    // As many have it for all servers.
    nvim.lua(
        "local all = vim.lsp.protocol.make_client_capabilities()
        all.textDocument.completion.completionItem.snippetSupport = false
        require('postil').setup({ cmd = require('postil').config().cmd, capabilities = all })
        if vim.lsp.config then
            vim.lsp.config('*', { flags = { all = true } })
            vim.lsp.config('postil', { init_options = { ours = true } })
        end",
    );
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    let set = nvim.lua(
        "local client = vim.lsp.get_clients()[1]
        local config = client.config
        return {
            config.capabilities.textDocument.completion.completionItem.snippetSupport,
            config.capabilities.workspace.workspaceEdit.documentChanges,
            not vim.lsp.config or config.flags.all,
            not vim.lsp.config or config.init_options.ours,
            config.init_options.reviews,
            -- 0.10 is sent diagnostics, and does not ask.
            vim.lsp.config ~= nil or client.server_capabilities.diagnosticProvider == nil,
        }",
    );
    assert_eq!(set, json!([false, true, true, true, true, true]));
    nvim.keys(":4Postil new one<CR>");
    nvim.wait_codes("pending");
}
