//! How the plugin behaves in the editor of somebody who has windows, folds, tabs, sessions and settings of their own.

use super::plugin::{NONE, in_both, open};
use super::python_project;

in_both!(what_a_server_said_goes_with_it,);

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
