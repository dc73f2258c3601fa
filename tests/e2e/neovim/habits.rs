//! What Neovim does by itself in a file is as it was without this plugin, or fits what a thread is.

use serde_json::{Value, json};

use super::driver::Nvim;
use super::plugin::{NONE, answered, begun, in_both, open};
use super::{python_project, with_model};
use crate::model::{Model, Step};

in_both!(
    a_long_question_stays_in_one_line,
    threads_that_are_begun_at_once_go_each_to_its_line,
    threads_that_are_removed_at_once_are_one_undo_step,
    threads_with_the_same_words_are_removed_by_as_many_commands,
    a_file_that_is_read_anew_keeps_its_threads,
    a_buffer_that_got_another_name_and_is_read_anew_is_served,
    gits_own_files_have_no_server,
    what_has_a_key_or_a_function_keeps_it_outside_threads,
    a_server_that_has_it_is_asked_as_well,
    an_answer_at_the_end_of_a_file_adds_no_empty_line,
    what_a_turn_does_goes_with_it_where_its_file_is_put_away,
    many_turns_are_asked_about_and_run_a_few_at_once,
);

fn a_long_question_stays_in_one_line(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.lua("vim.bo.textwidth, vim.bo.formatoptions = 40, 'tcroqj'");
    nvim.keys(":4Postil new<CR>");
    nvim.wait("insert mode", "vim.api.nvim_get_mode().mode == 'i'");
    let asked = "why does it not read the file as UTF-8, which it is everywhere?";
    nvim.keys(asked);
    nvim.keys("<Esc>");
    nvim.wait("normal mode", "vim.api.nvim_get_mode().mode == 'n'");
    nvim.wait_text(&format!("# AUTHOR: {asked}\ndef load"));
    assert_eq!(nvim.lua("return vim.bo.formatoptions"), "tcroqj");
    // Any other comment is broken, also one that is gone on to without leaving Insert mode.
    nvim.keys("G:set noautoindent<CR>o# AUTHOR: as above, and is it read at once, as a whole?<CR>");
    nvim.keys("<C-u># a comment that is longer than the forty columns<Esc>");
    nvim.wait_text("\n# AUTHOR: as above, and is it read at once, as a whole?\n# a comment that is longer than the\n# forty columns");
    assert_eq!(nvim.lua("return vim.bo.formatoptions"), "tcroqj");
}

fn threads_that_are_begun_at_once_go_each_to_its_line(program: &str) {
    let workspace = python_project();
    workspace.write(
        "two.py",
        "def a():\n    pass\n\n\ndef b():\n    pass\n\n\ndef c():\n    pass\n",
    );
    let mut nvim = open(program, &workspace, NONE, "two.py");
    nvim.keys(":g/^def/Postil new why?<CR>");
    nvim.wait_codes("pending pending pending");
    assert_eq!(
        nvim.text(),
        "# AUTHOR: why?\ndef a():\n    pass\n\n\n# AUTHOR: why?\ndef b():\n    pass\n\n\n# AUTHOR: why?\ndef c():\n    pass"
    );
}

fn threads_that_are_removed_at_once_are_one_undo_step(program: &str) {
    const ASKED: &str = "# AUTHOR: one?\nx = 1\n# AUTHOR: two?\ny = 2\n# AUTHOR: three?\nz = 3";
    let workspace = python_project();
    workspace.write("asked.py", format!("{ASKED}\n"));
    let mut nvim = open(program, &workspace, NONE, "asked.py");
    nvim.wait_codes("pending pending pending");
    nvim.keys("Gow = 4<Esc>:%Postil! resolve<CR>");
    nvim.wait_codes("");
    assert_eq!(nvim.text(), "x = 1\ny = 2\nz = 3\nw = 4");
    nvim.keys("u");
    nvim.wait_codes("pending pending pending");
    assert_eq!(nvim.text(), format!("{ASKED}\nw = 4"));
    // Two commands are two steps.
    nvim.keys(":1Postil resolve<CR>");
    nvim.wait_codes("pending pending");
    nvim.keys(":2Postil resolve<CR>");
    nvim.wait_codes("pending");
    nvim.keys("u");
    nvim.wait_codes("pending pending");
}

fn threads_with_the_same_words_are_removed_by_as_many_commands(program: &str) {
    let workspace = python_project();
    workspace.write(
        "asked.py",
        "# AUTHOR: why?\n# AUTHOR: and how?\nx = 1\n\n# AUTHOR: why?\ny = 2\n\n# AUTHOR: why?\nz = 3\n# AUTHOR: when?\nw = 4\n",
    );
    let mut nvim = open(program, &workspace, NONE, "asked.py");
    nvim.wait_codes("pending pending pending pending");
    // Before the server has done the first. That of two lines is removed once, and not the next one with it.
    nvim.keys(":1,8g/AUTHOR/Postil resolve<CR>");
    nvim.wait_codes("pending");
    assert_eq!(
        nvim.text(),
        "x = 1\n\ny = 2\n\nz = 3\n# AUTHOR: when?\nw = 4"
    );
    assert_eq!(nvim.lua("return notes"), serde_json::json!([]));
}

fn a_file_that_is_read_anew_keeps_its_threads(program: &str) {
    let workspace = python_project();
    workspace.write("asked.py", "# AUTHOR: why?\nx = 1\n");
    let mut nvim = open(program, &workspace, NONE, "asked.py");
    nvim.wait_codes("pending");
    for command in [
        "edit",
        "edit!",
        "edit",
        "bdelete | edit asked.py",
        "set nohidden | edit count.py | buffer asked.py",
    ] {
        nvim.ex(command);
        nvim.wait_codes("pending");
    }
}

fn a_buffer_that_got_another_name_and_is_read_anew_is_served(program: &str) {
    let workspace = python_project();
    workspace.write("other.py", "# AUTHOR: other?\nx = 1\n");
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.ex("file other.py");
    nvim.ex("edit!");
    nvim.wait_codes("pending");
    nvim.keys(":2Postil new why?<CR>");
    nvim.wait_text("# AUTHOR: other?\n\n# AUTHOR: why?\nx = 1");
    // As a file manager does it. The old name's text is no file's any more, and shown nowhere.
    nvim.ex("write");
    nvim.lua(
        "vim.api.nvim_buf_set_name(0, vim.fn.getcwd() .. '/third.py'); vim.fn.rename('other.py', 'third.py')",
    );
    nvim.ex("edit!");
    nvim.keys(":Postil! threads<CR>");
    nvim.wait(
        "the threads of that name alone",
        "(function()
            local names = vim.tbl_map(function(i) return vim.fn.fnamemodify(vim.fn.bufname(i.bufnr), ':t') end, vim.fn.getqflist())
            if vim.deep_equal(names, { 'third.py', 'third.py' }) then return true end
            vim.cmd('Postil! threads')
        end)()",
    );
}

fn gits_own_files_have_no_server(program: &str) {
    let workspace = python_project();
    workspace.write(".git/COMMIT_EDITMSG", "\n#+# AUTHOR: why?\n");
    let mut nvim = Nvim::start_as(program, &workspace, NONE, json!({}));
    nvim.edit(&workspace.path(".git/COMMIT_EDITMSG"));
    nvim.ex("Postil new why?");
    nvim.wait_note("this is a file of git's own");
    assert_eq!(
        nvim.lua("return #vim.lsp.get_clients({ _uninitialized = true })"),
        0
    );
}

/// `K` at the cursor's place: whether the server is asked, or the program of 'keywordprg'.
const LOOKED: &str =
    "vim.cmd('command! -nargs=* Looked let g:looked = <q-args>'); vim.bo.keywordprg = ':Looked'";

fn what_has_a_key_or_a_function_keeps_it_outside_threads(program: &str) {
    let workspace = python_project();
    workspace.write("tags", "load\tnotes.py\t/^def load/\n");
    workspace.write("s.css", "a {\n  backg\n}\n");
    let mut nvim = Nvim::start_as(program, &workspace, NONE, json!({}));
    nvim.ex("filetype plugin on");
    nvim.edit(&workspace.path("s.css"));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    let offered = "vim.fn.pumvisible() == 1 and vim.iter(vim.fn.complete_info({'items'}).items):map(function(i) return i.word end):join(' ')";
    nvim.keys("2GA<C-x><C-o>");
    let seen = nvim.wait("properties", offered).to_string();
    assert!(seen.contains("background-color"), "{seen}");
    nvim.keys("<Esc>u");
    // In a comment the markers are.
    nvim.keys("Go/* AU */<Esc>2hi<C-x><C-o>");
    nvim.wait_text("/* AUTHOR:");
    nvim.keys("<Esc>");

    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.lua(LOOKED);
    answered(&mut nvim);
    nvim.keys(":1<CR>:tag load<CR>");
    nvim.wait(
        "the definition",
        "vim.startswith(vim.api.nvim_get_current_line(), 'def load')",
    );
    nvim.keys("wK");
    nvim.wait("the keyword", "vim.g.looked == 'load'");
    nvim.keys("4GK");
    nvim.wait("the server's own", "#vim.api.nvim_list_wins() == 2");
    // And when it is gone.
    nvim.lua("vim.g.looked = nil; vim.lsp.get_clients()[1].rpc.notify('exit')");
    nvim.wait(
        "its end",
        "#vim.lsp.get_clients() == 0 and vim.bo.tagfunc == '' and vim.fn.maparg('K', 'n') == ''",
    );
}

fn a_server_that_has_it_is_asked_as_well(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.wait("ours", "vim.bo.tagfunc:find('postil', 1, true)");
    nvim.lua(
        "vim.lsp.start({ name = 'theirs', cmd = function() return {
            request = function(method, _, answer)
                asked = (asked or '') .. method .. ' '
                answer(nil, method == 'initialize' and { capabilities = { hoverProvider = true, definitionProvider = true } } or nil)
                return true, 1
            end,
            notify = function() return true end,
            is_closing = function() return false end,
            terminate = function() end,
        } end })",
    );
    nvim.wait("theirs", "vim.bo.tagfunc == 'v:lua.vim.lsp.tagfunc'");
    nvim.keys("5GK");
    nvim.wait("their answer", "asked:find('textDocument/hover', 1, true)");
}

fn an_answer_at_the_end_of_a_file_adds_no_empty_line(program: &str) {
    let workspace = python_project();
    workspace.write("end.py", "x = 1\n");
    let model = Model::start(vec![Step::text("Here."), Step::text("Here.")]);
    let mut nvim = open(program, &workspace, &with_model(&model), "end.py");
    for (above, keys) in [("x = 1\n", "Go"), ("", ":%delete<CR>i")] {
        nvim.keys(&format!("{keys}# AUTHOR: why?<Esc>"));
        nvim.wait_codes("pending");
        nvim.keys(":Postil reply<CR>");
        nvim.wait_text("# AGENT: Here.");
        nvim.wait_codes("awaiting_user");
        let text = format!("{above}# AUTHOR: why?\n# AGENT: Here.\n# AUTHOR:");
        assert_eq!(nvim.text(), text);
        nvim.keys("u");
        nvim.wait_codes("pending");
        assert_eq!(nvim.text(), format!("{above}# AUTHOR: why?"));
    }
}

/// Without 'hidden' a file that one leaves is unloaded.
fn what_a_turn_does_goes_with_it_where_its_file_is_put_away(program: &str) {
    let workspace = python_project();
    let model = Model::start(vec![Step::text("Since it began.").held()]);
    let mut nvim = begun(program, &workspace, &model, "since when?");
    nvim.ex("set nohidden");
    let marks = "#vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()['postil.turns'], 0, -1, {})";
    nvim.wait("what it does", &format!("{marks} == 1"));
    nvim.ex("write");
    // Back again it is shown at once, and not with the turn's next step.
    nvim.ex("edit count.py | edit notes.py");
    nvim.wait("what it does, again", &format!("{marks} == 1"));
    nvim.ex("edit count.py");
    model.release();
    nvim.wait("the end", "require('postil').statusline() == ''");
    nvim.ex("edit notes.py");
    nvim.wait_text("# AGENT: Since it began.");
    nvim.wait_codes("awaiting_user");
    assert_eq!(nvim.lua(&format!("return {marks}")), 0);
}

fn many_turns_are_asked_about_and_run_a_few_at_once(program: &str) {
    const THREADS: usize = 7;
    let workspace = python_project();
    workspace.write("many.py", "x = 1\n".repeat(THREADS));
    let answers = (0..THREADS).map(|_| Step::text("Yes.").held()).collect();
    let model = Model::start(answers);
    let mut nvim = open(program, &workspace, &with_model(&model), "many.py");
    nvim.keys(":g/^x/Postil new why?<CR>");
    nvim.wait_codes("pending pending pending pending pending pending pending");
    nvim.lua("vim.fn.confirm = function(text) asked_first = text; return may_start and 1 or 2 end");
    nvim.keys(":%Postil reply<CR>");
    nvim.wait("the question", "asked_first");
    assert_eq!(
        nvim.lua("return asked_first"),
        "postil: Start 7 turns, one for each thread that waits?"
    );
    nvim.lua("may_start = true");
    nvim.keys(":%Postil reply<CR>");
    nvim.wait_note("7 turns started");
    model.wait_for_requests(4);
    nvim.wait(
        "a queue",
        "vim.iter(require('postil.show').running()):filter(function(turn) return turn.title:find('turns run at once') end):totable()[3] ~= nil",
    );
    // All are cancelled, and nothing is said of one that ended a moment ago.
    nvim.lua("require('postil.show').turns['postil/ended'] = { client = vim.lsp.get_clients()[1].id, title = 'x' }");
    nvim.keys(":Postil! cancel<CR>");
    nvim.wait(
        "their end",
        "vim.tbl_count(require('postil.show').turns) == 1",
    );
    nvim.keys(":Postil nonsense<CR>");
    nvim.wait_note("there is no `:Postil nonsense`");
    assert_eq!(nvim.lua("return said('ended')"), Value::Null);
}
