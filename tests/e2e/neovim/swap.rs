//! Files that a Neovim which was killed has left a swap file of: Neovim asks about them when they are opened, and
//! whatever opens them goes on by the answer.

use serde_json::json;

use super::driver::Nvim;
use super::plugin::{NONE, begun, in_both, open};
use super::proposed::two_edits;
use super::python_project;
use crate::harness::Workspace;
use crate::peers;

in_both!(
    a_review_shows_a_file_that_has_a_swap_file,
    a_thread_in_a_file_that_has_a_swap_file_is_gone_to,
);

/// Has a Neovim killed that had `file` open, and this one ask: it needs a screen for that.
fn leave_swap(nvim: &mut Nvim, program: &str, workspace: &Workspace, file: &str) {
    let folder = workspace.data().join("swap");
    std::fs::create_dir_all(&folder).expect("a folder");
    let directory = format!("set directory={}//", folder.display());
    let mut other = workspace.command(peers::find(program).expect(program));
    other.args([
        "--headless",
        "-i",
        "NONE",
        "-u",
        "NONE",
        "--cmd",
        &directory,
    ]);
    other.arg(workspace.path(file));
    other.args(["+normal! x", "+preserve"]);
    other.arg("+lua vim.uv.kill(vim.fn.getpid(), 'sigkill')");
    other.output().expect("Neovim starts");
    let left = std::fs::read_dir(&folder).expect("a folder").count();
    assert!(left > 0, "no swap file");
    nvim.ex(&directory);
    nvim.ex("set swapfile updatecount=200");
    nvim.call("nvim_ui_attach", json!([200, 50, {}]));
}

/// Answers when Neovim asks.
fn answer(nvim: &mut Nvim, key: &str) {
    nvim.wait_mode("r?");
    nvim.keys(key);
}

fn a_review_shows_a_file_that_has_a_swap_file(program: &str) {
    let workspace = python_project();
    let model = two_edits();
    let mut nvim = begun(program, &workspace, &model, "read it as UTF-8?");
    nvim.wait_codes("awaiting_user");
    leave_swap(&mut nvim, program, &workspace, "count.py");
    let names = "vim.iter(vim.api.nvim_list_tabpages()):map(function(tab) return vim.fn.fnamemodify(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(vim.api.nvim_tabpage_get_win(tab))), ':t') end):totable()";
    // Whoever does not open it sees the other file.
    nvim.keys(":4<CR>:Postil review<CR>");
    answer(&mut nvim, "q");
    nvim.wait_note("count.py is not opened: as was answered to the question about its swap file");
    nvim.wait("the diff", "vim.fn.tabpagenr() == 2 and vim.wo.diff");
    let tabs = nvim.lua(&format!("return {names}"));
    assert_eq!(tabs, json!(["notes.py", "notes.py"]));

    nvim.keys(":tabonly<CR>:only<CR>:4<CR>:Postil review<CR>");
    answer(&mut nvim, "e");
    nvim.wait("both", "vim.fn.tabpagenr('$') == 3 and vim.wo.diff");
    let windows = "vim.iter(vim.api.nvim_tabpage_list_wins(0)):map(function(w) return vim.wo[w].diff end):totable()";
    for tab in [2, 3] {
        nvim.ex(&format!("tabnext {tab}"));
        let diff = nvim.lua(&format!("return {windows}"));
        assert_eq!(diff, json!([true, true]), "{tab}");
    }
    // It was read as any other.
    nvim.ex("drop count.py");
    nvim.wait("its server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    assert_eq!(nvim.lua("return #vim.api.nvim_list_wins()"), 5);

    // What is brought back by a session has only its name. Nothing is asked then.
    nvim.call("nvim_ui_detach", json!([]));
    nvim.ex("let name = bufname('postil://before/*count.py') | tabonly | only | enew | bwipeout! count.py");
    nvim.keys(":execute 'edit' name<CR>");
    nvim.wait_text("splitlines()");
    let notes = nvim.lua("return table.concat(notes) .. vim.fn.execute('messages')");
    assert!(!notes.to_string().contains("lua/postil/"), "{notes}");
}

fn a_thread_in_a_file_that_has_a_swap_file_is_gone_to(program: &str) {
    let workspace = python_project();
    workspace.write("other.py", "x = 1\n# AUTHOR: elsewhere?\ny = 2\n");
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    leave_swap(&mut nvim, program, &workspace, "other.py");
    nvim.lua("pick = 'other.py:2'");
    let there = "vim.fn.expand('%:t') == 'other.py' and vim.fn.line('.') == 2";
    nvim.keys(":Postil pick<CR>");
    answer(&mut nvim, "q");
    nvim.wait_note("other.py is not opened: as was answered to the question about its swap file");
    assert_eq!(nvim.lua("return vim.fn.expand('%:t')"), "notes.py");
    nvim.keys(":Postil pick<CR>");
    answer(&mut nvim, "e");
    nvim.wait("the thread", there);
    nvim.wait_codes("pending");

    // Neovim 0.10 fails at semantic tokens that come for a buffer which has been wiped.
    nvim.wait(
        "the colors",
        "#(vim.lsp.semantic_tokens.get_at_pos(0, 1, 2) or {}) > 0",
    );

    // By a command of the server.
    nvim.ex("buffer notes.py | bwipeout other.py");
    nvim.lua(
        "local client, at = vim.lsp.get_clients()[1], { line = 1, character = 2 }
        vim.schedule(function()
            shown = client.handlers['window/showDocument'](nil,
                { uri = vim.uri_from_fname(vim.fn.getcwd() .. '/other.py'), takeFocus = true, selection = { start = at, ['end'] = at } },
                { client_id = client.id })
        end)",
    );
    answer(&mut nvim, "e");
    nvim.wait("the place", there);
    assert_eq!(nvim.lua("return shown"), json!({"success": true}));
}
