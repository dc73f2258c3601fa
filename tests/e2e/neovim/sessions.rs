//! Windows of the plugin in a session (`:mksession`): those that can be read again come back, the others go.

use std::path::PathBuf;

use serde_json::json;

use super::driver::Nvim;
use super::plugin::{NONE, answered, begun, in_both, open};
use super::proposed::{asked, two_edits};
use super::python_project;
use crate::harness::Workspace;

in_both!(
    a_conversation_comes_back_with_a_session,
    a_conversation_comes_back_with_a_session_of_all_options,
    a_review_comes_back_with_a_session,
    a_review_comes_back_with_a_session_of_all_options,
    what_ended_with_its_neovim_leaves_no_window_in_a_session,
    what_ended_with_its_neovim_leaves_no_window_in_a_session_of_all_options,
    a_conversation_goes_on_with_the_next_server,
);

/// What Neovim saves in a session, and what some plugins have it save besides: each buffer's and window's options.
const SAVED: [&str; 2] = ["", "localoptions"];

fn a_conversation_comes_back_with_a_session(program: &str) {
    conversation(program, SAVED[0]);
}

fn a_conversation_comes_back_with_a_session_of_all_options(program: &str) {
    conversation(program, SAVED[1]);
}

fn conversation(program: &str, options: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    answered(&mut nvim);
    nvim.keys(":write<CR>:4<CR>:Postil open<CR>");
    nvim.wait_text("where is `load` used?");
    nvim.wait("the conversation", "vim.b.postil_run");
    let session = saved(nvim, &workspace, options);

    let mut nvim = Nvim::start_as(program, &workspace, NONE, json!({}));
    nvim.ex(&format!("source {}", session.display()));
    let shown = "vim.iter(vim.api.nvim_list_wins()):any(function(w) local b = vim.api.nvim_win_get_buf(w); \
        return vim.b[b].postil_run and not vim.bo[b].modifiable and text(b):find('where is `load` used?', 1, true) end)";
    nvim.wait("the conversation", shown);
    assert_eq!(nvim.lua("return #notes"), 0);
    // A session that is read beside it takes nothing away.
    nvim.lua("require('postil.session').loaded()");
    nvim.wait("the conversation still", shown);
    // A window of which nobody was told.
    nvim.ex("only! | buffer notes.py | let name = bufname('postil://run/') | bwipeout postil://");
    nvim.ex("new | noautocmd execute 'file' name | wincmd p");
    nvim.wait_codes("awaiting_user");
    nvim.keys(":4<CR>:Postil open<CR>");
    nvim.wait("the conversation again", shown);
}

/// The session of a Neovim, which ends.
fn saved(mut nvim: Nvim, workspace: &Workspace, options: &str) -> PathBuf {
    let session = workspace.data().join("session.vim");
    nvim.ex(&format!("set sessionoptions+={options}"));
    nvim.ex(&format!("mksession {}", session.display()));
    session
}

fn a_review_comes_back_with_a_session(program: &str) {
    review(program, SAVED[0]);
}

fn a_review_comes_back_with_a_session_of_all_options(program: &str) {
    review(program, SAVED[1]);
}

fn review(program: &str, options: &str) {
    let workspace = python_project();
    let model = two_edits();
    let mut nvim = begun(program, &workspace, &model, "read it as UTF-8?");
    nvim.wait_codes("awaiting_user");
    nvim.keys(":4<CR>:Postil review<CR>");
    nvim.wait("both", "vim.fn.tabpagenr('$') == 3 and vim.wo.diff");
    nvim.ex("wall");
    let session = saved(nvim, &workspace, options);

    let source = format!("source {}", session.display());
    let mut nvim = Nvim::start_as(program, &workspace, NONE, json!({}));
    nvim.ex(&source);
    // By tab: what is in the left window, and which windows are a diff.
    let tabs = "vim.iter({ 2, 3 }):map(function(tab) return { text(vim.fn.tabpagebuflist(tab)[1]), \
        vim.fn.gettabwinvar(tab, 1, '&diff') + vim.fn.gettabwinvar(tab, 2, '&diff') } end):totable()";
    let has = |tab: u8, part: &str| {
        let part = json!(part);
        format!("{tabs}[{tab}][1]:find({part}, 1, true) and {tabs}[{tab}][2] == 2")
    };
    nvim.wait(
        "the first diff",
        &format!("vim.fn.tabpagenr('$') == 3 and {}", has(1, "read_text()")),
    );
    nvim.wait("the second", &has(2, "splitlines()"));
    // The windows are what they were.
    nvim.keys("<C-w>h");
    nvim.wait(
        "the left window",
        "vim.b.postil_run and vim.bo.bufhidden == 'wipe'",
    );
    nvim.keys(":Postil undo<CR>");
    nvim.wait_note("notes.py: put back");
    nvim.ex("wall");
    drop(nvim);

    // There is nothing to look at any more.
    let mut nvim = Nvim::start_as(program, &workspace, NONE, json!({}));
    nvim.ex(&source);
    nvim.wait(
        "the files alone",
        "vim.iter(vim.api.nvim_list_wins()):all(function(w) return vim.fn.bufname(vim.api.nvim_win_get_buf(w)):find('%.py$') end)",
    );
}

fn what_ended_with_its_neovim_leaves_no_window_in_a_session(program: &str) {
    ended(program, SAVED[0]);
}

fn what_ended_with_its_neovim_leaves_no_window_in_a_session_of_all_options(program: &str) {
    ended(program, SAVED[1]);
}

fn ended(program: &str, options: &str) {
    let workspace = python_project();
    let model = two_edits();
    let mut nvim = asked(program, &workspace, &model);
    nvim.keys(":write<CR>:4<CR>:Postil reply<CR>");
    nvim.wait("the proposal", "vim.t.postil_proposed and vim.wo.diff");
    nvim.keys(":tabprevious<CR>:4<CR>:Postil! say<CR>");
    nvim.wait("the window", "vim.bo.buftype == 'acwrite'");
    nvim.keys("<Esc>");
    assert_eq!(nvim.lua("return #vim.api.nvim_list_wins()"), 4);
    // What is here is not brought by a session.
    nvim.lua("require('postil.session').loaded()");
    assert_eq!(nvim.lua("return #vim.api.nvim_list_wins()"), 4);
    let session = saved(nvim, &workspace, options);

    let mut nvim = Nvim::start_as(program, &workspace, NONE, json!({}));
    nvim.ex(&format!("source {}", session.display()));
    nvim.wait(
        "the file alone",
        "#vim.api.nvim_list_wins() == 1 and vim.fn.expand('%:t') == 'notes.py'",
    );
    assert_eq!(
        nvim.lua("return vim.iter(vim.api.nvim_list_bufs()):any(function(b) return vim.fn.bufname(b):find('postil://', 1, true) end)"),
        false
    );
    assert_eq!(nvim.lua("return #notes"), 0);
}

fn a_conversation_goes_on_with_the_next_server(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    answered(&mut nvim);
    nvim.keys(":4<CR>:Postil open<CR>");
    nvim.wait("the conversation", "vim.b.postil_run");
    let id = nvim.lua("return vim.b.postil_client");
    nvim.keys(":wincmd p<CR>:Postil restart<CR>");
    nvim.wait("another server", &format!("#vim.lsp.get_clients() == 1 and vim.lsp.get_clients()[1].initialized and vim.lsp.get_clients()[1].id ~= {id}"));
    nvim.keys(":wincmd p<CR>:Postil say and by whom?<CR>");
    nvim.wait(
        "what was said",
        "text(vim.fn.bufnr('notes.py')):find('# AUTHOR: and by whom?\\n', 1, true)",
    );
    // The thread of the run is answered from here, and removed.
    nvim.keys(":Postil reply<CR>");
    let answers = "select(2, text(vim.fn.bufnr('notes.py')):gsub('# AGENT: ', '')) == 2";
    nvim.wait("the second answer", answers);
    nvim.keys(":Postil resolve<CR>");
    nvim.wait(
        "no thread",
        "not text(vim.fn.bufnr('notes.py')):find('AUTHOR', 1, true)",
    );
}
