//! `:Postil! say` and `:Postil! new`: a text in a window of its own is sent once, and is not lost.

use serde_json::Value;

use super::driver::Nvim;
use super::plugin::{NONE, in_both, open};
use super::python_project;

in_both!(
    a_composed_text_is_sent_once_when_its_window_is_closed,
    a_text_that_was_sent_before_an_end_that_did_not_come_is_not_sent_again,
    a_composed_text_outlives_its_server,
    a_composed_thread_goes_where_its_line_went,
    who_has_composed_is_back_in_the_window_they_came_from,
    what_is_said_in_a_locked_file_is_kept,
    what_is_said_to_a_server_that_dies_is_kept,
    what_is_said_while_no_server_runs_is_kept,
    what_is_said_where_no_thread_is_is_kept,
    what_is_said_is_kept_while_no_window_can_be_opened,
    a_copy_of_a_text_is_not_sent,
    a_text_outlives_the_buffers_that_are_wiped,
);

/// A window of its own for a text, by `command`, with `text` typed.
fn typed_in(nvim: &mut Nvim, command: &str, text: &str) {
    nvim.keys(&format!("{command}<CR>"));
    nvim.wait(
        "the window",
        "vim.bo.buftype == 'acwrite' and vim.api.nvim_get_mode().mode == 'i'",
    );
    nvim.keys(&format!("{text}<Esc>"));
}

/// `:Postil! say` at the thread on line 4, with `text` typed.
fn compose(nvim: &mut Nvim, text: &str) {
    typed_in(nvim, ":4<CR>:Postil! say", text);
}

const OF_FILE: &str = "text(vim.fn.bufnr('notes.py'))";

fn a_composed_text_is_sent_once_when_its_window_is_closed(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.keys(":4Postil new one<CR>");
    nvim.wait_codes("pending");
    // Saved by hand, or by whoever saves all, it is not said yet.
    compose(&mut nvim, "two");
    nvim.keys(":write<CR>A and<Esc>:wall<CR>");
    nvim.wait(
        "the saved text",
        "text() == 'two and' and not vim.bo.modified",
    );
    assert_eq!(
        nvim.lua(&format!("return {OF_FILE}:find('two', 1, true)")),
        Value::Null
    );
    nvim.keys("A three<Esc>:wq<CR>");
    nvim.wait_text("# AUTHOR: two and three\n");
    assert_eq!(nvim.text().matches("two").count(), 1, "{}", nvim.text());
    // Saved and then closed, by whatever closes it.
    compose(&mut nvim, "four");
    nvim.keys(":write<CR>:wincmd p<CR>:only<CR>");
    nvim.wait_text("# AUTHOR: four\n");
    // Not saved.
    compose(&mut nvim, "dropped");
    nvim.keys(":q!<CR>");
    nvim.wait("the file", "vim.bo.buftype == ''");
    assert!(!nvim.text().contains("dropped"));

    // Neovim does not end without what was written.
    nvim.keys(":write<CR>");
    compose(&mut nvim, "five");
    nvim.keys(":write<CR>:qall<CR>");
    nvim.wait(
        "the text",
        &format!("{OF_FILE}:find('AUTHOR: five', 1, true)"),
    );
    nvim.keys("<CR><Esc>:buffer notes.py<CR>:only<CR>:write<CR>");
    nvim.wait(
        "the file alone",
        "#vim.api.nvim_list_wins() == 1 and not vim.bo.modified",
    );
    compose(&mut nvim, "six");
    nvim.keys(":only<CR>:wq<CR>");
    nvim.wait_text("# AUTHOR: six\n");
    nvim.keys("<CR><Esc>:write<CR>");
    compose(&mut nvim, "seven");
    nvim.keys(":wqall<CR>");
    nvim.wait_end();
    let text = workspace.read("notes.py");
    assert!(text.contains("# AUTHOR: seven\n"), "{text}");
    for word in ["five", "six", "seven"] {
        assert_eq!(text.matches(word).count(), 1, "{text}");
    }
}

fn a_text_that_was_sent_before_an_end_that_did_not_come_is_not_sent_again(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    // The file is changed by what is sent, so that it keeps Neovim from ending.
    let refused = |nvim: &mut Nvim, text: &str| {
        nvim.keys(":write<CR>:qall<CR>");
        let sent = format!("{OF_FILE}:find('AUTHOR: {text}\\n', 1, true)");
        nvim.wait("the text", &sent);
        nvim.keys("<CR><Esc>");
        nvim.wait("the hint", "vim.iter(vim.api.nvim_list_wins()):any(function(w) return vim.wo[w].winbar:find('sent; :q closes', 1, true) end)");
        nvim.ex("call win_gotoid(win_findbuf(bufnr('postil://'))[0])");
    };
    typed_in(&mut nvim, ":4Postil! new", "one");
    refused(&mut nvim, "one");
    nvim.keys(":wq<CR>");
    nvim.wait("the file", "vim.bo.buftype == ''");
    // Another text is a further message; the same again is none.
    compose(&mut nvim, "two");
    refused(&mut nvim, "two");
    nvim.keys(":wincmd p<CR>:write<CR>:wincmd p<CR>A more<Esc>:write<CR>u:write<CR>");
    nvim.wait("the hint", "vim.wo.winbar:find('sent; :q closes', 1, true)");
    nvim.keys("A and three<Esc>:wq<CR>");
    nvim.wait_text("# AUTHOR: one\n# AUTHOR: two\n# AUTHOR: two and three\ndef load");
}

fn a_composed_text_outlives_its_server(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.keys(":4Postil new one<CR>");
    nvim.wait_codes("pending");
    compose(&mut nvim, "two");
    nvim.keys(":wincmd p<CR>");
    let id = nvim.lua("return vim.lsp.get_clients()[1].id");
    nvim.keys(":Postil restart<CR>");
    nvim.wait("another server", &format!("#vim.lsp.get_clients({{ bufnr = 0 }}) == 1 and vim.lsp.get_clients({{ bufnr = 0 }})[1].id ~= {id}"));
    nvim.wait_codes("pending");
    nvim.keys(":wincmd p<CR>:wq<CR>");
    nvim.wait_text("# AUTHOR: two\n");

    // And where none runs, the text stays until one does.
    compose(&mut nvim, "three");
    nvim.lua("vim.lsp.get_clients()[1].rpc.notify('exit')");
    nvim.wait("its end", "#vim.lsp.get_clients() == 0");
    nvim.keys(":wq<CR>");
    nvim.wait_note("no server runs for this file");
    nvim.wait("the text", "text() == 'three' and vim.bo.modified");
    nvim.keys(":wincmd p<CR>:Postil restart<CR>");
    nvim.wait_codes("pending");
    nvim.keys(":wincmd p<CR>:wq<CR>");
    nvim.wait_text("# AUTHOR: three\n");
}

fn a_composed_thread_goes_where_its_line_went(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    typed_in(&mut nvim, ":4Postil! new", "why text?");
    nvim.keys(":wincmd p<CR>ggOimport os<CR>import sys<Esc>");
    nvim.wait_text("import sys\nfrom");
    nvim.keys(":wincmd p<CR>:wq<CR>");
    nvim.wait_text("# AUTHOR: why text?\ndef load");
}

fn what_is_said_in_a_locked_file_is_kept(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    // For all that is opened from now on, too.
    nvim.keys(":set nomodifiable<CR>:4Postil new what is it?<CR>");
    nvim.wait_note("the editor refused the edit: notes.py cannot be changed: 'modifiable' is off");
    nvim.wait(
        "the text",
        "text() == 'what is it?' and vim.bo.buftype == 'acwrite' and vim.bo.modified",
    );
    assert_eq!(
        nvim.lua(&format!("return {OF_FILE}")),
        super::NOTES.trim_end()
    );
    nvim.keys(":wincmd p<CR>:set modifiable<CR>:wincmd p<CR>:wq<CR>");
    nvim.wait_text("# AUTHOR: what is it?\ndef load");
}

/// To the server, and whatever else Neovim has started.
fn signal(nvim: &mut Nvim, name: &str) {
    nvim.lua(&format!("vim.iter(vim.api.nvim_get_proc_children(vim.fn.getpid())):each(function(child) vim.uv.kill(child, '{name}') end)"));
}

/// `said` as a new thread, to a server that does not answer.
fn say_in_vain(nvim: &mut Nvim, said: &str) {
    signal(nvim, "sigstop");
    nvim.keys(&format!(":4Postil new {said}<CR>"));
    nvim.wait(
        "the command",
        &format!("vim.fn.histget(':') == '4Postil new {said}'"),
    );
}

fn what_is_said_to_a_server_that_dies_is_kept(program: &str) {
    // The file has the second one already, as a part of a word.
    for said in ["what is it?", "text"] {
        let workspace = python_project();
        let mut nvim = open(program, &workspace, NONE, "notes.py");
        say_in_vain(&mut nvim, said);
        signal(&mut nvim, "sigkill");
        nvim.wait_note("the server ended before it answered");
        nvim.wait("the text", &kept(said));
        nvim.keys(":wincmd p<CR>:Postil restart<CR>");
        nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
        nvim.keys(":wincmd p<CR>:wq<CR>");
        nvim.wait_text(&format!("# AUTHOR: {said}\ndef load"));
    }
}

fn kept(said: &str) -> String {
    format!("text() == '{said}' and vim.bo.buftype == 'acwrite' and vim.bo.modified")
}

fn what_is_said_while_no_server_runs_is_kept(program: &str) {
    for (command, said, in_file) in [
        (":4Postil say", "two", "# AUTHOR: one\n# AUTHOR: two\ndef"),
        (":6Postil new", "three", "# AUTHOR: three\n    return"),
    ] {
        let workspace = python_project();
        let mut nvim = open(program, &workspace, NONE, "notes.py");
        nvim.keys(":4Postil new one<CR>");
        nvim.wait_codes("pending");
        nvim.lua("vim.lsp.get_clients()[1].rpc.notify('exit')");
        nvim.wait("its end", "#vim.lsp.get_clients() == 0");
        // The line moves before it can be sent.
        nvim.keys(&format!("{command} {said}<CR>"));
        nvim.wait_note("no server runs for this file");
        nvim.wait("the text", &kept(said));
        nvim.keys(":wincmd p<CR>ggOimport os<Esc>:Postil restart<CR>");
        nvim.wait(
            "the server",
            "#vim.lsp.get_clients({ bufnr = 0 }) == 1 and codes() ~= ''",
        );
        nvim.keys(":wincmd p<CR>:wq<CR>");
        nvim.wait_text(in_file);
    }
}

fn what_is_said_where_no_thread_is_is_kept(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.keys(":4Postil say two<CR>");
    nvim.wait_note("no thread on line 4");
    nvim.wait("the text", &kept("two"));
    // Nor is there one when it is sent.
    nvim.keys(":wq<CR>");
    nvim.wait_note("no thread on line 4; `:Postil threads` lists all; the text is kept here");
    nvim.wait("the text", &kept("two"));
    nvim.keys(":wincmd p<CR>:4Postil new one<CR>");
    nvim.wait_codes("pending");
    nvim.keys(":wincmd p<CR>:wq<CR>");
    nvim.wait_text("# AUTHOR: one\n# AUTHOR: two\ndef load");
}

/// Beside the command-line window Neovim opens no other.
fn what_is_said_is_kept_while_no_window_can_be_opened(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    say_in_vain(&mut nvim, "what is it?");
    nvim.keys("q:");
    nvim.wait("the command-line window", "vim.fn.getcmdwintype() == ':'");
    signal(&mut nvim, "sigkill");
    nvim.wait_note("the server ended before it answered");
    nvim.keys(":quit<CR>");
    nvim.wait(
        "the text",
        "text() == 'what is it?' and vim.bo.buftype == 'acwrite' and vim.bo.modified",
    );
    nvim.keys(":quit!<CR>:Postil restart<CR>");
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    // Nor does the next one wait for it.
    nvim.keys(":4Postil new and this?<CR>");
    nvim.wait_text("# AUTHOR: and this?\ndef load");
}

fn who_has_composed_is_back_in_the_window_they_came_from(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.keys(":4Postil new one<CR>");
    nvim.wait_codes("pending");
    nvim.ex("leftabove vsplit count.py | wincmd l");
    compose(&mut nvim, "two");
    nvim.keys(":wq<CR>");
    nvim.wait("the file", "vim.fn.expand('%:t') == 'notes.py'");
    nvim.wait_text("# AUTHOR: two\n");
}

fn a_copy_of_a_text_is_not_sent(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    typed_in(&mut nvim, ":4Postil! new", "a draft");
    nvim.keys(":write draft.md<CR>");
    nvim.wait("the file", "vim.uv.fs_stat('draft.md')");
    assert_eq!(workspace.read("draft.md"), "a draft\n");
    nvim.keys("A, and more<Esc>:write draft.md<CR>");
    nvim.wait("the refusal", "vim.v.errmsg:find('E13', 1, true)");
    nvim.wait(
        "the text",
        "text() == 'a draft, and more' and vim.bo.modified and vim.bo.buftype == 'acwrite'",
    );
    nvim.keys(":q!<CR>");
    nvim.wait("the file", "vim.bo.buftype == ''");
    // Whatever was sent before has come by the time that this is answered.
    nvim.lua("later = nil; vim.schedule(function() later = true end)");
    nvim.wait("what was scheduled", "later");
    nvim.lua(
        "require('postil.client').verb_now(vim.lsp.get_clients()[1], 'listThreads', {}, 20000)",
    );
    assert_eq!(nvim.text(), super::NOTES.trim_end());
}

fn a_text_outlives_the_buffers_that_are_wiped(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.keys(":4Postil new one<CR>");
    nvim.wait_codes("pending");
    // Its own, once it is written.
    compose(&mut nvim, "two");
    nvim.keys(":write<CR>:bwipeout<CR>");
    nvim.wait_text("# AUTHOR: two\n");
    // That of its file; with this window Neovim ends.
    nvim.ex("write");
    compose(&mut nvim, "three");
    nvim.ex("bwipeout notes.py");
    nvim.keys(":wq<CR>");
    nvim.wait_end();
    let text = workspace.read("notes.py");
    assert!(text.contains("# AUTHOR: two\n# AUTHOR: three\n"), "{text}");
}
