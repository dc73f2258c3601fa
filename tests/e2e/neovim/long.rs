//! Files of very many lines, in which a server makes undo slow: they are joined when a thread is wanted there.

use serde_json::json;

use super::driver::Nvim;
use super::plugin::in_both;
use super::python_project;
use crate::harness::Workspace;

in_both!(
    a_file_of_very_many_lines_waits_for_a_thread,
    a_thread_that_is_wanted_in_many_lines_is_begun,
    many_lines_wait_however_the_server_is_started,
);

const LINES: usize = 20_000;

/// A project with such a file, and Neovim with it; none has joined it.
fn opened(program: &str, env: &[(&str, &str)]) -> (Workspace, Nvim) {
    let workspace = python_project();
    workspace.write("many.py", "x = 1  # AUTHORITY\n".repeat(LINES));
    let mut nvim = Nvim::start_as(program, &workspace, env, json!({}));
    nvim.edit(&workspace.path("many.py"));
    waits(&mut nvim);
    (workspace, nvim)
}

const HERE: &str = "#vim.lsp.get_clients({ bufnr = 0, name = 'postil', _uninitialized = true })";

/// No server is started for the current buffer, without a word.
fn waits(nvim: &mut Nvim) {
    nvim.wait("its beginning", "vim.b.postil_begins == nil");
    assert_eq!(nvim.lua(&format!("return {HERE}")), 0);
    assert_eq!(nvim.lua("return notes"), json!([]));
}

fn joined(nvim: &mut Nvim) {
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    // What waited for that is over.
    nvim.keys("Gox = 2<Esc>");
    nvim.wait_text("x = 2");
    let left = "return #vim.api.nvim_get_autocmds({ group = 'postil.long' })";
    assert_eq!(nvim.lua(left), 0);
}

fn a_file_of_very_many_lines_waits_for_a_thread(program: &str) {
    let (workspace, mut nvim) = opened(program, &[]);
    // What is done to it meanwhile is nobody's business, nor what is typed that is no marker.
    nvim.keys(":%s/x/yy/<CR>u:5<CR>oAUTHORS and AGENT<Esc>");
    nvim.wait_text("AUTHORS and AGENT");
    nvim.keys(":Postil health<CR>");
    nvim.wait_text("no server for many.py yet: it has 20001 lines and no thread");
    nvim.keys(":bdelete<CR>:buffer many.py<CR>");
    nvim.wait(
        "the file",
        "vim.fs.basename(vim.api.nvim_buf_get_name(0)) == 'many.py'",
    );
    waits(&mut nvim);
    // A marker that is typed: before its line is left, as what is typed in it is looked after.
    nvim.keys(":9000<CR>o# AUTHOR: why");
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    nvim.keys("?<Esc>");
    nvim.wait_codes("pending");
    joined(&mut nvim);
    drop(nvim);

    // One that is put in with many other lines.
    let (_workspace, mut nvim) = opened(program, &[]);
    nvim.lua(
        "vim.fn.setreg('a', ('y = 1\\n'):rep(4000) .. '# AGENT: so\\n' .. ('y = 1\\n'):rep(4000))",
    );
    nvim.keys(":9000put a<CR>");
    // It says that a thread does not begin so.
    nvim.wait_codes("malformed");
    joined(&mut nvim);
    drop(nvim);

    // And one that comes from the disk.
    let mut nvim = Nvim::start_as(program, &workspace, &[], json!({}));
    nvim.edit(&workspace.path("many.py"));
    waits(&mut nvim);
    let text = workspace.read("many.py");
    workspace.write("many.py", format!("{text}# AUTHOR(jane): why?\n"));
    nvim.keys(":edit<CR>");
    nvim.wait_codes("pending");
    joined(&mut nvim);
}

fn a_thread_that_is_wanted_in_many_lines_is_begun(program: &str) {
    let (workspace, mut nvim) = opened(program, &[]);
    nvim.keys(":15000Postil new why?<CR>");
    nvim.wait_codes("pending");
    joined(&mut nvim);
    drop(nvim);

    // Typed at once, and while another file's server runs.
    let mut nvim = Nvim::start_as(program, &workspace, &[], json!({}));
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    nvim.lua(&format!(
        "vim.cmd.edit({}) vim.cmd('100Postil new why?')",
        json!(workspace.path("many.py"))
    ));
    nvim.wait_codes("pending");
    joined(&mut nvim);
    assert_eq!(nvim.lua("return #vim.lsp.get_clients()"), 1);
}

fn many_lines_wait_however_the_server_is_started(program: &str) {
    for way in ["nothing", "enable"] {
        if way == "enable" && program == "nvim" {
            continue; // 0.10 has no vim.lsp.enable
        }
        let (workspace, mut nvim) = opened(program, &[("POSTIL_WAY", way)]);
        // What is about all files, elsewhere, starts none for it.
        nvim.keys(":enew<CR>:Postil! threads<CR>");
        nvim.wait_note("no threads");
        nvim.keys(":buffer many.py<CR>");
        nvim.wait("the file", "vim.api.nvim_buf_get_name(0):find('many.py')");
        assert_eq!(nvim.lua(&format!("return {HERE}")), 0, "{way}");
        nvim.keys(":3<CR>o# AUTHOR: why?<Esc>");
        nvim.wait_codes("pending");
        drop(nvim);
        // Who names the types of files gets those alone.
        let options = json!({"filetypes": ["lua"]});
        let mut nvim = Nvim::start_as(program, &workspace, &[("POSTIL_WAY", way)], options);
        nvim.edit(&workspace.path("many.py"));
        waits(&mut nvim);
        nvim.keys(":3<CR>o# AUTHOR: why?<Esc>");
        nvim.wait_text("AUTHOR: why?");
        assert_eq!(nvim.lua(&format!("return {HERE}")), 0, "{way}");
    }
}
