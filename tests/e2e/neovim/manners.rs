//! How the plugin behaves in the editor of somebody who has windows, folds, tabs and settings of their own.

use serde_json::json;

use super::driver::Nvim;
use super::plugin::{NONE, answered, begun, in_both, open, question};
use super::{NOTES, python_project};
use crate::harness::Workspace;
use crate::model::{Model, Step, call};

in_both!(
    a_thread_is_gone_to_in_a_file_that_is_being_changed,
    folds_are_opened_where_the_cursor_goes,
    where_no_window_fits_a_tab_does,
    a_status_line_costs_little,
    a_conversation_leaves_windows_as_they_are,
    a_review_begins_with_the_first_change,
    a_proposal_leads_back_to_the_tab_one_came_from,
    a_closed_file_is_opened_with_what_is_true_then,
    signs_of_the_users_are_kept_also_those_set_later,
    what_a_server_said_goes_with_it,
    a_server_that_was_stopped_often_is_started_again,
    a_question_takes_nothing_that_is_typed_for_its_answer,
    a_question_does_not_go_into_a_macro,
    a_picker_that_fails_leaves_no_turn_waiting,
    a_question_goes_with_its_turn,
    a_thread_is_begun_in_the_tab_one_is_in_and_before_the_end_of_its_comment,
    health_tells_of_a_parser_that_cannot_be_loaded,
    health_tells_the_servers_version,
    health_tells_what_is_wrong_beside_all_that_is_not,
    capabilities_of_the_users_are_taken,
    what_the_user_does_at_its_start_and_end_is_done_as_well,
    what_a_turn_does_stays_when_another_server_ends,
);

fn a_thread_is_gone_to_in_a_file_that_is_being_changed(program: &str) {
    let workspace = python_project();
    workspace.write("other.py", "x = 1\n# AUTHOR: elsewhere?\ny = 2\n");
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.keys(":4Postil new one<CR>");
    nvim.wait_codes("pending");
    nvim.lua("pick = 'notes.py:4'");
    nvim.keys(":1<CR>:Postil pick<CR>");
    nvim.wait("the thread", "vim.fn.line('.') == 4 and vim.bo.modified");
    // Where changes may not be hidden it is not left, and that is said in one line.
    nvim.ex("set nohidden");
    nvim.lua("pick = 'other.py:2'");
    nvim.keys(":Postil pick<CR>");
    assert!(!nvim.wait_note("E37: No write since").contains(".lua"));
    nvim.keys(":write<CR>:Postil pick<CR>");
    nvim.wait(
        "the other file",
        "vim.fn.expand('%:t') == 'other.py' and vim.fn.line('.') == 2 and vim.bo.buflisted",
    );
    nvim.keys("<C-o>");
    nvim.wait("the way back", "vim.fn.expand('%:t') == 'notes.py'");
}

fn folds_are_opened_where_the_cursor_goes(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.keys(":4Postil new one<CR>");
    nvim.wait_codes("pending");
    nvim.lua("vim.cmd('3,5fold | 1'); require('postil').go(1)");
    assert_eq!(
        nvim.lua("return { vim.fn.line('.'), vim.fn.foldclosed('.') }"),
        json!([4, -1])
    );
}

fn where_no_window_fits_a_tab_does(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    answered(&mut nvim);
    nvim.ex("set lines=6 | split | 4");
    nvim.keys(":Postil! say<CR>");
    nvim.wait(
        "the window",
        "vim.bo.buftype == 'acwrite' and vim.api.nvim_get_mode().mode == 'i'",
    );
    nvim.keys("one more<Esc>:wq<CR>");
    nvim.wait_text("# AUTHOR: one more");
    nvim.keys(":4<CR>:Postil open<CR>");
    nvim.wait(
        "the conversation",
        "vim.b.postil_run and vim.fn.tabpagenr() == 2",
    );
}

fn a_status_line_costs_little(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    question(&mut nvim);
    let asked = nvim.lua(
        "local get, asked = vim.diagnostic.get, 0
        function vim.diagnostic.get(...) asked = asked + 1; return get(...) end
        for _ = 1, 100 do require('postil').statusline() end
        vim.diagnostic.get = get
        return { asked, require('postil').statusline() }",
    );
    assert_eq!(asked, json!([1, "1?"]));
    nvim.keys(":4<CR>:Postil reply<CR>");
    nvim.wait(
        "the same, answered",
        "require('postil').statusline() == '1»'",
    );
}

fn a_conversation_leaves_windows_as_they_are(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.ex("set nowrap");
    answered(&mut nvim);
    nvim.keys(":4<CR>:Postil open<CR>");
    nvim.wait("the conversation", "vim.b.postil_run and vim.wo.wrap");
    nvim.keys(":edit count.py<CR>");
    nvim.wait("the file", "vim.fn.expand('%:t') == 'count.py'");
    assert_eq!(nvim.lua("return vim.wo.wrap"), false);
    // `q` leads back to the window that it came from, wherever its own was.
    nvim.keys(":buffer notes.py<CR>:only<CR>:leftabove vsplit count.py<CR><C-w>l");
    nvim.keys(":4<CR>:botright Postil open<CR>");
    nvim.wait("the conversation", "vim.b.postil_run");
    nvim.keys("q");
    nvim.wait("the file", "vim.fn.expand('%:t') == 'notes.py'");
    // A window that only floats does not hold one that is to be closed.
    nvim.keys(":4<CR>:Postil open<CR>");
    nvim.wait("the conversation", "vim.b.postil_run");
    nvim.keys(":only<CR>");
    nvim.wait("it alone", "vim.b.postil_run and vim.fn.winnr('$') == 1");
    nvim.lua("vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), false, { relative = 'editor', row = 1, col = 1, width = 9, height = 1 })");
    nvim.keys("q");
    nvim.wait("it closed", "not vim.b.postil_run");
}

/// A turn that changes the first line of the file, and its last.
fn first_and_last() -> Model {
    let edit = |id: &str, old: &str, new: &str| {
        let input = json!({"path": "notes.py", "old_string": old, "new_string": new});
        call(id, "file_edit", input)
    };
    Model::start(vec![
        Step::calls(vec![call("a", "file_read", json!({"path": "notes.py"}))]),
        Step::calls(vec![
            edit("b", "import Path\n", "import PurePath as Path\n"),
            edit("c", "read_text()", "read_text(\"utf-8\")"),
        ]),
        Step::text("I am done."),
    ])
}

fn a_review_begins_with_the_first_change(program: &str) {
    let workspace = python_project();
    // As Windows programs write it.
    workspace.write("notes.py", format!("\u{feff}{NOTES}"));
    let model = first_and_last();
    let mut nvim = begun(program, &workspace, &model, "read it as UTF-8?");
    nvim.wait_codes("awaiting_user");
    nvim.keys(":4<CR>:Postil review<CR>");
    nvim.wait("the diff", "vim.fn.tabpagenr('$') == 2 and vim.wo.diff");
    assert_eq!(nvim.lua("return vim.fn.line('.')"), 1);
    // What marks the encoding is no change.
    assert_eq!(
        nvim.lua("return vim.fn.getbufline(vim.fn.tabpagebuflist()[1], 1)[1]"),
        "from pathlib import Path"
    );
}

fn a_proposal_leads_back_to_the_tab_one_came_from(program: &str) {
    let workspace = python_project();
    let model = super::proposed::two_edits();
    let mut nvim = super::proposed::asked(program, &workspace, &model);
    nvim.ex("tabnew count.py | tabprevious");
    let here = "vim.fn.tabpagenr() == 1 and vim.fn.expand('%:t') == 'notes.py'";
    nvim.keys(":4<CR>:Postil reply<CR>");
    nvim.wait("the proposal", "vim.t.postil_proposed and vim.wo.diff");
    nvim.keys("q");
    nvim.wait("where one was", here);
    nvim.keys(":Postil review<CR>");
    nvim.wait("the proposal", "vim.t.postil_proposed and vim.wo.diff");
    nvim.keys(":Postil! accept<CR>");
    nvim.wait("where one was", here);
    assert_eq!(nvim.lua("return vim.fn.tabpagenr('$')"), 2);
}

fn a_closed_file_is_opened_with_what_is_true_then(program: &str) {
    let workspace = python_project();
    workspace.write(
        "notes.py",
        format!("# AUTHOR: where is `load` used?\n{NOTES}"),
    );
    let mut nvim = Nvim::start_as(program, &workspace, NONE, json!({}));
    nvim.edit(&workspace.path("count.py"));
    let told = |code: &str| {
        format!("vim.iter(vim.diagnostic.get()):any(function(d) return d.code == '{code}' end)")
    };
    nvim.wait("the thread", &told("pending"));
    nvim.ex("Postil! reply");
    nvim.wait("its answer", &told("awaiting_user"));
    // By its name as it was typed.
    nvim.ex("edit notes.py");
    nvim.wait_codes("awaiting_user");
    assert_eq!(nvim.lua("return vim.fn.bufname()"), "notes.py");
    let signs = "vim.iter(vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true })):map(function(m) return m[4].sign_text and vim.trim(m[4].sign_text) end):join('')";
    nvim.wait("one sign", &format!("{signs} == '»'"));
}

fn signs_of_the_users_are_kept_also_those_set_later(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.keys(":4Postil new one<CR>");
    nvim.wait_codes("pending");
    let signs = "(function() local all = {} for _, m in ipairs(vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true })) do \
        if m[4].sign_text then all[#all + 1] = vim.trim(m[4].sign_text) .. m[4].priority .. (m[4].number_hl_group or '') end end return table.concat(all, ' ') end)()";
    for (global, seen) in [
        ("true", "?10"),
        ("{ text = { [3] = 'I' } }", "I10"),
        ("{ priority = 7, numhl = { [3] = 'Error' } }", "?7Error"),
        ("{ severity = { min = 1 } }", ""),
        ("false", ""),
        ("true", "?10"),
    ] {
        nvim.ex(&format!(
            "lua vim.diagnostic.config({{ signs = {global} }})"
        ));
        nvim.wait(global, &format!("{signs} == '{seen}'"));
    }
}

/// As `:lsp stop!` does, and plugins that restart servers: that is no end by itself.
fn a_server_that_was_stopped_often_is_started_again(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    for _ in 0..4 {
        nvim.lua(
            "local client = vim.lsp.get_clients()[1]
            if vim.fn.has('nvim-0.11') == 1 then client:stop(true) else client.stop(true) end",
        );
        nvim.wait("its end", "#vim.lsp.get_clients() == 0");
        nvim.ex("bwipeout!");
        nvim.edit(&workspace.path("notes.py"));
        nvim.wait("another", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    }
}

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

/// A thread in a folder that is not trusted: an answer to it asks, and is told that it may only read.
fn untrusted(program: &str) -> (Workspace, Nvim) {
    let workspace = Workspace::new();
    workspace.write("notes.py", NOTES);
    workspace.git(&["init", "-q"]);
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    question(&mut nvim);
    nvim.lua("pick = 'Read-only this time'");
    (workspace, nvim)
}

fn a_question_takes_nothing_that_is_typed_for_its_answer(program: &str) {
    let (_workspace, mut nvim) = untrusted(program);
    nvim.keys(":4<CR>:Postil reply<CR>Go# ");
    nvim.wait_note("is not trusted. Trusting it lets an agent edit its files and lets language servers start in it. You are asked when you are back in Normal mode.");
    // As if it were the number of an answer.
    nvim.keys("1<CR>2<CR>");
    nvim.wait_text("\n# 1\n2\n");
    assert_eq!(nvim.lua("return #offered"), 0);
    nvim.keys("<Esc>");
    let offered = nvim.wait("the question", "#offered > 0 and offered");
    assert_eq!(
        offered,
        json!(["Trust this workspace", "Read-only this time"])
    );
    nvim.wait_codes("awaiting_user");
}

fn a_question_does_not_go_into_a_macro(program: &str) {
    let (_workspace, mut nvim) = untrusted(program);
    nvim.keys(":4<CR>:Postil reply<CR>qqj");
    nvim.wait_note("You are asked when the macro is recorded.");
    assert_eq!(nvim.lua("return #offered"), 0);
    nvim.keys("jq");
    nvim.wait("the question", "#offered > 0");
    assert_eq!(nvim.lua("return vim.fn.getreg('q')"), "jj");
    nvim.wait_codes("awaiting_user");
}

fn a_picker_that_fails_leaves_no_turn_waiting(program: &str) {
    let (_workspace, mut nvim) = untrusted(program);
    // As Neovim's own list does at CTRL-C.
    nvim.lua("vim.ui.select = function() offered = { 1 }; error('Keyboard interrupt') end");
    nvim.keys(":4<CR>:Postil reply<CR>");
    nvim.wait("the question", "#offered > 0");
    nvim.wait_codes("awaiting_user");
    assert_eq!(
        nvim.lua("return said('cannot be asked') or false"),
        json!(false)
    );
    nvim.lua("vim.ui.select = function() error('there is no room') end");
    nvim.keys("u:Postil reply<CR>");
    nvim.wait_note("This cannot be asked: ");
    nvim.wait_codes("awaiting_user");
}

fn a_question_goes_with_its_turn(program: &str) {
    let (_workspace, mut nvim) = untrusted(program);
    let ended = |nvim: &mut Nvim| {
        let idle = "require('postil').statusline() == '1?'";
        nvim.wait("its end", idle);
    };
    // It waits for one who types, and does not come when they have cancelled the turn.
    nvim.lua(
        "times = 0; vim.ui.select = function(items, _, choose)
            times, take = times + 1, function() choose(items[1], 1) end
        end",
    );
    nvim.keys(":4<CR>:Postil reply<CR>i");
    nvim.wait_note("You are asked when you are back in Normal mode.");
    nvim.ex("Postil cancel");
    ended(&mut nvim);
    nvim.keys("<Esc>:Postil reply<CR>");
    nvim.wait("the second question", "times > 0");
    assert_eq!(nvim.lua("return times"), 1);
    // It is open already: what is chosen then holds nowhere, and that is said.
    nvim.keys(":Postil cancel<CR>");
    ended(&mut nvim);
    nvim.lua("take()");
    nvim.wait_note("“Trust this workspace” changes nothing: nobody waits");
}

fn a_thread_is_begun_in_the_tab_one_is_in_and_before_the_end_of_its_comment(program: &str) {
    let workspace = python_project();
    workspace.write("a.css", "a { top: 0; }\n");
    let mut nvim = open(program, &workspace, NONE, "a.css");
    nvim.ex("tab split");
    nvim.keys(":1Postil new<CR>");
    nvim.wait("insert mode", "vim.api.nvim_get_mode().mode == 'i'");
    nvim.keys("why?<Esc>");
    nvim.wait_text("/* AUTHOR: why? */\na {");
    nvim.wait_codes("pending");
    nvim.ex("tab split");
    nvim.act("Reply (author)");
    nvim.wait("the cursor", "vim.fn.col('.') == 16");
    assert_eq!(nvim.lua("return vim.fn.tabpagenr()"), 3);
    // Who is in insert mode already goes on there.
    nvim.keys("1Gi");
    nvim.act("Reply (author)");
    nvim.wait("the cursor", "vim.fn.col('.') == 16");
    nvim.keys(" And<Esc>");
    nvim.wait_text("/* AUTHOR: why? And */\na {");
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

fn health_tells_what_is_wrong_beside_all_that_is_not(program: &str) {
    let workspace = python_project();
    workspace.write("postil.toml", "[turn]\nmaxRound = 3\n");
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    // Also to whoever never opens that file.
    nvim.wait_note("postil.toml:2: there is no setting `turn.maxRound`");
    nvim.ex("checkhealth postil");
    nvim.wait_text("· workspace  ");
    let seen = nvim.text();
    let wrong: Vec<&str> = seen.lines().filter(|line| line.contains("ERROR")).collect();
    // It came after the folder was trusted.
    let [trust, settings] = wrong[..] else {
        panic!("{seen}");
    };
    assert!(
        trust.contains("ERROR trust: not trusted any more"),
        "{seen}"
    );
    assert!(settings.contains("ERROR settings: "), "{seen}");
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

fn what_the_user_does_at_its_start_and_end_is_done_as_well(program: &str) {
    let workspace = python_project();
    for (way, given) in [
        ("require('postil').setup(theirs)", "done_at(name)"),
        ("require('postil').setup(theirs)", "{ done_at(name) }"),
        ("vim.lsp.config('postil', theirs)", "done_at(name)"),
        (
            "vim.lsp.config('postil', theirs); vim.lsp.enable('postil')",
            "{ done_at(name) }",
        ),
        (
            "vim.lsp.config('*', theirs); vim.lsp.enable('postil')",
            "done_at(name)",
        ),
    ] {
        if program == "nvim" && way.contains("vim.lsp.config") {
            continue;
        }
        let env = [("POSTIL_WAY", "later")];
        let mut nvim = Nvim::start_as(program, &workspace, &env, json!({}));
        nvim.lua(&format!(
            "done = ''
            function done_at(name) return function() done = done .. name .. ' ' end end
            theirs = {{ cmd = vim.json.decode(vim.env.POSTIL_CLIENT).cmd, before_init = done_at('before_init') }}
            for _, name in ipairs({{ 'on_init', 'on_attach', 'on_exit' }}) do theirs[name] = {given} end
            if {} then
                -- A command for all would be that of others, too.
                vim.lsp.config('postil', {{ cmd = theirs.cmd }})
                theirs.cmd = nil
            end
            {way}",
            way.contains("'*'")
        ));
        nvim.edit(&workspace.path("notes.py"));
        nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
        // Ours have been there too: what is not answered is told.
        let signal = |nvim: &mut Nvim, name: &str| {
            nvim.lua(&format!("vim.iter(vim.api.nvim_get_proc_children(vim.fn.getpid())):each(function(child) vim.uv.kill(child, '{name}') end)"));
        };
        signal(&mut nvim, "sigstop");
        nvim.ex("4Postil new why?");
        signal(&mut nvim, "sigkill");
        nvim.wait_note("the server ended before it answered");
        nvim.wait(way, "done == 'before_init on_init on_attach on_exit '");
    }
}

fn what_a_turn_does_stays_when_another_server_ends(program: &str) {
    let workspace = python_project();
    let model = Model::start(vec![Step::text("Here.").held()]);
    let mut nvim = begun(program, &workspace, &model, "where?");
    let marks = "#vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()['postil.turns'], 0, -1, {})";
    nvim.wait("the mark", &format!("{marks} == 1"));
    nvim.lua("vim.api.nvim_exec_autocmds('LspDetach', { buffer = 0, data = { client_id = 99 } })");
    nvim.lua("later = nil; vim.schedule(function() later = true end)");
    nvim.wait("what was scheduled", "later");
    assert_eq!(nvim.lua(&format!("return {marks}")), 1);
    model.release();
    nvim.wait_codes("awaiting_user");
}
