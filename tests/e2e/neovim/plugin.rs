//! Every sub-command of `:Postil` as it is typed, in the stable and in the newest Neovim.

use serde_json::{Value, json};

use super::driver::Nvim;
use super::{NOTES, python_project, with_model};
use crate::harness::Workspace;
use crate::model::{Model, Step, call};
use crate::peers;

/// A test each for the stable Neovim and for the newest.
macro_rules! in_both {
    ($($name:ident),* $(,)?) => {
        mod stable {
            $(#[test] fn $name() { if crate::peers::have(&["nvim"]) { super::$name("nvim"); } })*
        }
        mod newest {
            $(#[test] fn $name() { if crate::peers::have(&["nvim-new"]) { super::$name("nvim-new"); } })*
        }
    };
}
pub(super) use in_both;

in_both!(
    a_thread_is_begun_answered_and_resolved,
    what_is_said_comes_by_argument_input_or_window,
    threads_are_listed_chosen_and_gone_to,
    a_running_turn_is_shown_read_and_cancelled,
    a_turn_is_reviewed_as_a_diff_and_undone,
    a_review_of_several_files_begins_with_the_first,
    a_review_takes_back_no_other_turn_than_its_own,
    a_plan_edits_nothing,
    words_are_completed,
    a_folder_is_trusted_and_a_file_cleared,
    health_is_that_of_the_folder_of_the_file,
    a_command_may_come_with_its_file,
    why_shows_what_was_said,
    a_turn_without_a_buffer_ends_with_its_server,
    a_thread_that_is_gone_meanwhile_is_passed_over,
    every_command_has_a_map,
    the_state_is_told_in_words_and_not_twice,
);

pub(super) const NONE: &[(&str, &str)] = &[("POSTIL_MODEL", "offline")];

/// A plain file in a committed and trusted project, opened.
pub(super) fn open(program: &str, workspace: &Workspace, env: &[(&str, &str)], file: &str) -> Nvim {
    let mut nvim = Nvim::start_as(program, workspace, env, json!({}));
    nvim.edit(&workspace.path(file));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    nvim.lua("vim.bo.formatoptions = ''");
    nvim
}

/// A thread above `load` in `notes.py`, which the offline agent can answer.
pub(super) fn question(nvim: &mut Nvim) {
    nvim.keys(":4Postil new where is `load` used?<CR>");
    nvim.wait_codes("pending");
}

/// [`question`], and its answer.
pub(super) fn answered(nvim: &mut Nvim) {
    question(nvim);
    nvim.keys(":4<CR>:Postil reply<CR>");
    nvim.wait_codes("awaiting_user");
}

/// A thread that asks `words` above `load` in `notes.py`, and its turn, which has asked the model.
pub(super) fn begun(program: &str, workspace: &Workspace, model: &Model, words: &str) -> Nvim {
    let mut nvim = open(program, workspace, &with_model(model), "notes.py");
    nvim.keys(&format!(":4Postil new {words}<CR>"));
    nvim.wait_codes("pending");
    nvim.keys(":4<CR>:Postil reply<CR>");
    model.wait_for_requests(1);
    nvim
}

fn edit_then_answer() -> Model {
    Model::start(vec![
        Step::calls(vec![call("r", "file_read", json!({"path": "notes.py"}))]),
        Step::calls(vec![call(
            "e",
            "file_edit",
            json!({"path": "notes.py", "old_string": "read_text()", "new_string": "read_text(\"utf-8\")"}),
        )]),
        Step::text("It reads UTF-8 now.").held(),
    ])
}

fn a_thread_is_begun_answered_and_resolved(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");

    // With a text at once; a line before the sub-command is the line that it goes above.
    question(&mut nvim);
    assert!(
        nvim.text()
            .contains("# AUTHOR: where is `load` used?\ndef load"),
        "{}",
        nvim.text()
    );
    // By one `u` it is gone, and by one redo back.
    nvim.keys("u");
    nvim.wait_codes("");
    nvim.keys("<C-r>");
    nvim.wait_codes("pending");

    // The cursor on the thread acts on it.
    nvim.keys(":4<CR>:Postil reply<CR>");
    nvim.wait_codes("awaiting_user");
    let text = nvim.text();
    assert!(
        text.contains("# AGENT: ") && text.contains("# AUTHOR:\n"),
        "{text}"
    );
    // There is one, and it waits for nobody but the author.
    nvim.keys(":4Postil reply<CR>");
    nvim.wait_note("no thread on line 4 waits for an answer");
    nvim.keys(":%Postil plan<CR>");
    nvim.wait(
        "the same of all",
        "said('no thread in lines 1 to') and said('waits for an answer')",
    );

    // Without a text the cursor waits behind the marker, in insert mode.
    nvim.keys("G:Postil new<CR>");
    nvim.wait("insert mode", "vim.api.nvim_get_mode().mode == 'i'");
    nvim.keys("why not bytes?<Esc>");
    nvim.wait_text("# AUTHOR: why not bytes?\n    return Path");
    nvim.wait_codes("awaiting_user pending");

    // Two at once are asked about, and with a bang not.
    nvim.lua("vim.fn.confirm = function(question) asked = question; return 2 end");
    nvim.keys(":%Postil resolve<CR>");
    nvim.wait("the question", "asked");
    nvim.wait_codes("awaiting_user pending");
    nvim.keys(":%Postil! resolve<CR>");
    nvim.wait_codes("");
    assert_eq!(nvim.text(), NOTES.trim_end());

    // The line that a thread is about will do.
    nvim.keys(":4Postil new one<CR>");
    nvim.wait_codes("pending");
    nvim.keys(":5<CR>:Postil resolve<CR>");
    nvim.wait_codes("");

    // Nothing below the cursor: said, and nothing done.
    nvim.keys(":1<CR>:Postil reply<CR>");
    nvim.wait_note("no thread on line 1");
}

fn what_is_said_comes_by_argument_input_or_window(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.keys(":4Postil new one<CR>");
    nvim.wait_codes("pending");
    nvim.keys(":4<CR>:Postil say two, | and three<CR>");
    nvim.wait_text("# AUTHOR: two, | and three\n");

    nvim.lua("typed = 'four'");
    nvim.keys(":Postil say<CR>");
    nvim.wait_text("# AUTHOR: four\n");
    assert_eq!(nvim.lua("return prompt"), "Say in this thread: ");

    // A long text, in a window.
    nvim.keys(":Postil! say<CR>");
    nvim.wait(
        "the window",
        "vim.bo.buftype == 'acwrite' and vim.api.nvim_get_mode().mode == 'i'",
    );
    nvim.keys("<Esc>:write<CR>");
    nvim.wait_note("there is nothing to say yet");
    nvim.keys("ifive,<CR>and six<Esc>:wq<CR>");
    nvim.wait_text("# AUTHOR: five,\n#   and six\n");
    assert_eq!(nvim.lua("return #vim.api.nvim_list_wins()"), 1);

    // A text that is refused is kept: the thread went while it was written.
    nvim.keys(":4<CR>:Postil! say<CR>");
    nvim.wait(
        "the window",
        "vim.bo.buftype == 'acwrite' and vim.api.nvim_get_mode().mode == 'i'",
    );
    nvim.keys("too late<Esc>:wincmd p<CR>:4,$g/AUTHOR\\|and six/d<CR>");
    nvim.wait_codes("");
    nvim.keys(":wincmd p<CR>:wq<CR>");
    nvim.wait_note("the text is kept here");
    assert_eq!(nvim.text(), "too late");
    nvim.keys(":q!<CR>");
    nvim.wait("the file", "vim.bo.buftype == ''");
}

fn threads_are_listed_chosen_and_gone_to(program: &str) {
    let workspace = python_project();
    workspace.write("sub/a b.py", "# AUTHOR: closed?\nx = 1\n");
    let long = format!("# AUTHOR: {}\n", "so many words ".repeat(50));
    workspace.write("sub/long.py", long);
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.keys(":4Postil new one<CR>");
    nvim.wait_codes("pending");
    nvim.keys(":6Postil new two<CR>");
    nvim.wait_codes("pending pending");

    nvim.keys(":Postil threads<CR>");
    let list = "vim.iter(vim.fn.getqflist()):map(function(i) return vim.fn.bufname(i.bufnr) .. ':' .. i.lnum .. ' ' .. i.text end):join('\\n')";
    nvim.wait("the list", "vim.bo.buftype == 'quickfix'");
    let seen = nvim
        .lua(&format!("return {list}"))
        .as_str()
        .unwrap_or_default()
        .to_owned();
    for line in [
        "notes.py:4 [awaiting agent] one",
        "notes.py:6 [awaiting agent] two",
        "sub/a b.py:1 [awaiting agent] closed?",
    ] {
        assert!(seen.contains(line), "{line} in {seen}");
    }
    let long = seen.lines().find(|line| line.contains("so many"));
    let cut = |line: &str| line.ends_with('…') && line.chars().count() < 200;
    assert!(long.is_some_and(cut), "{long:?}");
    nvim.keys(":cclose<CR>:Postil! threads %<CR>");
    nvim.wait(
        "a shorter list",
        "#vim.fn.getqflist() == 2 and vim.bo.buftype == ''",
    );

    nvim.lua("pick = 'a b.py:1'");
    nvim.keys(":Postil pick<CR>");
    nvim.wait("the file", "vim.fn.expand('%:t') == 'a b.py'");
    nvim.keys(":buffer notes.py<CR>:1<CR>");
    nvim.lua("for key, name in pairs({ n = 'next', p = 'prev' }) do vim.keymap.set('n', '<F2>' .. key, '<Plug>(postil-' .. name .. ')') end");
    for (keys, line) in [
        ("<F2>n", 4),
        ("<F2>n", 6),
        ("<F2>n", 4),
        ("<F2>p", 6),
        ("2<F2>p", 6),
    ] {
        nvim.keys(keys);
        assert_eq!(nvim.lua("return vim.fn.line('.')"), line, "{keys}");
    }
}

fn a_running_turn_is_shown_read_and_cancelled(program: &str) {
    let workspace = python_project();
    let model = edit_then_answer();
    let mut nvim = open(program, &workspace, &with_model(&model), "notes.py");
    nvim.keys(":4Postil new read it as UTF-8?<CR>");
    nvim.wait_codes("pending");
    assert_eq!(nvim.lua("return require('postil').statusline()"), "1?");
    nvim.keys(":4<CR>:Postil reply<CR>");
    model.wait_for_requests(3);

    // Behind the thread, and in the status line.
    let marks = "vim.iter(vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()['postil.turns'], 0, -1, { details = true })):map(function(m) return m[2] .. (m[4].virt_text or m[4].virt_lines[1])[1][1] end):join(' ')";
    let mark = nvim.wait("the mark", &format!("{marks} ~= '' and {marks}"));
    assert!(
        mark.as_str().is_some_and(|m| m.starts_with("3⟳ ")),
        "{mark}"
    );
    nvim.wait(
        "the status line",
        "require('postil').statusline():find('⟳', 1, true)",
    );
    // Whoever has inlay hints on sees it as one of these, and not twice.
    nvim.ex("lua vim.lsp.inlay_hint.enable(true, { bufnr = 0 })");
    nvim.wait("no mark", &format!("{marks} == ''"));
    nvim.wait("one hint", "#vim.lsp.inlay_hint.get({ bufnr = 0 }) == 1");
    nvim.ex("lua vim.lsp.inlay_hint.enable(false, { bufnr = 0 })");
    nvim.wait("the mark again", &format!("{marks} ~= ''"));

    // The conversation as far as it is, in a split; there its run is meant.
    nvim.keys(":vertical Postil open<CR>");
    nvim.wait(
        "the conversation",
        "vim.startswith(vim.api.nvim_buf_get_name(0), 'postil://run/')",
    );
    nvim.wait_text("file_edit");
    assert_eq!(nvim.lua("return vim.fn.winnr('$') .. vim.bo.filetype .. tostring(vim.bo.modifiable) .. vim.fn.winlayout()[1]"), "2postil_textfalserow", "no type by which a plugin would fetch its images");
    nvim.wait(
        "its colours",
        "vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] ~= nil",
    );
    assert!(!nvim.text().contains("It reads UTF-8 now."));
    nvim.keys("G:Postil new and then<CR>");
    nvim.wait_note("`:Postil new` is about a file or a thread in it, and this window shows a run");
    model.release();
    nvim.wait_text("It reads UTF-8 now.");
    // Who reads at its end stays there.
    nvim.wait("the end", "vim.fn.line('.') == vim.fn.line('$')");
    nvim.wait(
        "the turn's end",
        "not require('postil').statusline():find('⟳', 1, true)",
    );
    nvim.keys(":Postil cancel<CR>");
    nvim.wait_note("no turn of this run is at work");
    nvim.keys(":Postil open<CR>");
    nvim.keys(":Postil review<CR>");
    nvim.wait("the diff", "vim.fn.tabpagenr('$') == 2 and vim.wo.diff");
    nvim.keys(":tabclose<CR>");
    nvim.wait("the conversation again", "vim.b.postil_run");
    nvim.lua("notes = {}");
    nvim.keys(":Postil undo<CR>");
    nvim.wait_note("notes.py: put back");
    nvim.keys("q");
    nvim.wait(
        "the file alone",
        "#vim.api.nvim_list_wins() == 1 and vim.bo.buftype == ''",
    );
    nvim.wait_codes("pending");
    nvim.wait("no mark", &format!("{marks} == ''"));
    nvim.wait(
        "a quiet status line",
        "require('postil').statusline() == '1?'",
    );

    // Another one is cancelled.
    drop(nvim);
    let model = edit_then_answer();
    let mut nvim = open(program, &workspace, &with_model(&model), "count.py");
    nvim.keys(":4Postil new and here?<CR>");
    nvim.wait_codes("pending");
    nvim.keys(":4<CR>:Postil reply<CR>");
    model.wait_for_requests(3);
    nvim.wait(
        "the status line",
        "require('postil').statusline():find('⟳', 1, true)",
    );
    // From a window that is no file's, too.
    nvim.ex("help");
    nvim.keys(":Postil cancel<CR>");
    nvim.wait(
        "the end",
        "not require('postil').statusline():find('⟳', 1, true)",
    );
    nvim.ex("helpclose");
    assert!(!nvim.text().contains("AGENT: It reads"));
    nvim.lua("pick = 'cancelled count.py: and here? ('");
    nvim.keys(":tab Postil runs<CR>");
    nvim.wait(
        "the conversation in a tab",
        "vim.fn.tabpagenr('$') == 2 and text():find('cancelled', 1, true)",
    );
    model.release();
}

fn a_turn_is_reviewed_as_a_diff_and_undone(program: &str) {
    let workspace = python_project();
    let model = edit_then_answer();
    let mut nvim = open(program, &workspace, &with_model(&model), "notes.py");
    nvim.keys(":4Postil new read it as UTF-8?<CR>");
    nvim.wait_codes("pending");
    let asked = nvim.text();
    nvim.keys(":4<CR>:Postil reply<CR>");
    model.wait_for_requests(3);
    model.release();
    nvim.wait_codes("awaiting_user");
    nvim.keys(":4<CR>:Postil review<CR>");
    nvim.wait(
        "two windows",
        "#vim.api.nvim_tabpage_list_wins(0) == 2 and vim.wo.diff and vim.fn.tabpagenr('$') == 2",
    );
    assert_eq!(nvim.lua("return vim.fn.expand('%:t')"), "notes.py");
    let before = nvim.lua("return text(vim.api.nvim_win_get_buf(vim.fn.win_getid(1)))");
    assert_eq!(before, asked);
    // As in any diff, a change is taken back by `do`.
    nvim.keys("/utf-8<CR>");
    nvim.keys("do");
    nvim.wait("the change taken back", "not text():find('utf-8', 1, true)");
    assert!(nvim.text().contains("AGENT: It reads UTF-8 now."));
    nvim.keys("u");
    nvim.wait_text("read_text(\"utf-8\")");
    nvim.keys("<C-w>hq");
    nvim.wait("the file", "#vim.api.nvim_tabpage_list_wins(0) == 1");

    nvim.keys(":4<CR>:Postil undo<CR>");
    nvim.wait_note("notes.py: put back");
    assert_eq!(nvim.text(), asked);
    nvim.keys(":4<CR>:Postil review<CR>");
    nvim.wait_note("changed no file");
}

fn a_review_of_several_files_begins_with_the_first(program: &str) {
    let workspace = python_project();
    let model = super::proposed::two_edits();
    let mut nvim = begun(program, &workspace, &model, "read it as UTF-8?");
    nvim.wait_codes("awaiting_user");
    nvim.keys(":4<CR>:Postil review<CR>");
    nvim.wait("both", "vim.fn.tabpagenr('$') == 3 and vim.wo.diff");
    assert_eq!(nvim.lua("return vim.fn.tabpagenr()"), 2);
    // The file that was closed, by its short name.
    let names = nvim.lua(
        "return vim.iter({ 2, 3 }):map(function(tab) return vim.fn.bufname(vim.fn.tabpagebuflist(tab)[2]) end):totable()",
    );
    assert!(
        names
            .as_array()
            .is_some_and(|n| n.contains(&json!("count.py"))),
        "{names}"
    );
}

fn a_review_takes_back_no_other_turn_than_its_own(program: &str) {
    let workspace = python_project();
    let model = Model::start(vec![Step::text("In `load`."), Step::text("Nowhere else.")]);
    let mut nvim = begun(program, &workspace, &model, "where is it read?");
    nvim.wait_codes("awaiting_user");
    nvim.keys(":4<CR>:Postil review<CR>");
    nvim.wait("the diff", "vim.fn.tabpagenr('$') == 2 and vim.wo.diff");
    nvim.keys(":4<CR>:Postil say and where else?<CR>");
    nvim.wait_codes("pending");
    nvim.keys(":4<CR>:Postil reply<CR>");
    nvim.wait_codes("awaiting_user");
    let answered = nvim.text();
    assert!(answered.contains("AGENT: Nowhere else."), "{answered}");
    nvim.keys("<C-w>h:Postil undo<CR>");
    nvim.wait_note("in a newer turn since");
    nvim.keys("<C-w>l");
    assert_eq!(nvim.text(), answered);
}

fn a_plan_edits_nothing(program: &str) {
    let workspace = python_project();
    let model = Model::start(vec![Step::text("I would pass the encoding.")]);
    let mut nvim = open(program, &workspace, &with_model(&model), "notes.py");
    nvim.keys(":4Postil new read it as UTF-8?<CR>");
    nvim.wait_codes("pending");
    nvim.keys(":%Postil plan<CR>");
    nvim.wait_text("# AGENT: I would pass the encoding.");
    let tools = model.requests()[0].body["tools"].to_string();
    assert!(!tools.contains("\"file_edit\""), "{tools}");

    // Every pending thread of the folder.
    drop(nvim);
    workspace.write("one.py", "# AUTHOR: where is `load` used?\n");
    let mut nvim = open(program, &workspace, NONE, "count.py");
    nvim.keys(":Postil! reply<CR>");
    nvim.wait_note("1 turn started");
    nvim.edit(&workspace.path("one.py"));
    nvim.wait(
        "the answer",
        "vim.cmd('checktime') or text():find('AGENT:', 1, true)",
    );
    nvim.wait_codes("awaiting_user");
    nvim.wait(
        "the turn's end",
        "not require('postil').statusline():find('⟳', 1, true)",
    );
    nvim.keys(":Postil! reply<CR>");
    nvim.wait_note("no thread waits for an answer");

    // Many are asked about; the answer that was not saved is not on the disk, so that thread waits again.
    drop(nvim);
    workspace.write(
        "six.py",
        "# AUTHOR: where is `load` used?\nx = 1\n\n".repeat(6),
    );
    let mut nvim = open(program, &workspace, NONE, "six.py");
    nvim.lua("vim.fn.confirm = function(question) asked = question; return 2 end");
    nvim.keys(":Postil! reply<CR>");
    nvim.wait("the question", "asked");
    assert_eq!(
        nvim.lua("return asked"),
        "postil: Start 7 turns, one for each thread that waits?"
    );
    assert!(!nvim.text().contains("AGENT"));
    nvim.lua("vim.fn.confirm = function() return 1 end");
    nvim.keys(":Postil! reply<CR>");
    nvim.wait_note("7 turns started");
    nvim.wait("all answers", "select(2, text():gsub('AGENT:', '')) == 6");
}

fn words_are_completed(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    let offered = |nvim: &mut Nvim, line: &str| -> Vec<String> {
        let value = nvim.lua(&format!(
            "return vim.fn.getcompletion({}, 'cmdline')",
            json!(line)
        ));
        let words = value.as_array().cloned().unwrap_or_default();
        words
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    for word in [
        "reply", "plan", "say", "new", "resolve", "threads", "open", "runs", "cancel", "undo",
        "why", "health",
    ] {
        assert!(
            offered(&mut nvim, "Postil ").contains(&word.to_owned()),
            "{word}"
        );
    }
    assert_eq!(
        offered(&mut nvim, "Postil re"),
        ["reject", "reply", "resolve", "restart", "review"]
    );
    assert_eq!(offered(&mut nvim, "Postil! rev"), ["review"]);
    // A verb of the server's that this list does not know.
    assert_eq!(offered(&mut nvim, "Postil cons"), ["consult"]);
    nvim.keys(":4Postil new one<CR>");
    nvim.wait_codes("pending");
    let ids = offered(&mut nvim, "4Postil reply ");
    assert_eq!(ids.len(), 1, "{ids:?}");
    assert_eq!(offered(&mut nvim, "Post reply "), ids);
    assert_eq!(
        offered(&mut nvim, &format!("Postil resolve {}", &ids[0][..4])),
        ids
    );
    assert_eq!(offered(&mut nvim, "Postil threads cou"), ["count.py"]);
    nvim.keys(&format!(":Postil resolve {}<CR>", &ids[0][..4]));
    nvim.wait_codes("");
    nvim.keys(":Postil repply<CR>");
    nvim.wait_note("there is no `:Postil repply`; there is: ");
}

fn a_folder_is_trusted_and_a_file_cleared(program: &str) {
    let workspace = Workspace::new();
    workspace.write("a.py", "# AUTHOR: one\nx = 1\n");
    workspace.git(&["init", "-q"]);
    workspace.git(&["add", "-A"]);
    workspace.git(&["commit", "-q", "-m", "Begin"]);
    let mut nvim = open(program, &workspace, NONE, "a.py");
    nvim.lua("vim.fn.confirm = function(question) asked = question; return 1 end");
    nvim.keys(":Postil trust<CR>");
    nvim.wait_note("is trusted");
    nvim.keys(":Postil clear Tidy up<CR>");
    nvim.wait("the file without threads", "text() == 'x = 1'");
    nvim.keys(":write<CR>");
    nvim.wait(
        "the commit",
        "vim.trim(vim.fn.system('git log -1 --format=%s')) == 'Tidy up'",
    );
}

fn health_is_that_of_the_folder_of_the_file(program: &str) {
    let workspace = python_project();
    let elsewhere = Workspace::new();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.ex(&format!("cd {}", elsewhere.root().display()));
    let root = workspace.root().display().to_string();
    // Of a file, and of a window that shows none.
    for before in ["buffer notes.py", "help"] {
        nvim.ex(before);
        nvim.ex("checkhealth postil");
        nvim.wait_text("trust ");
        let seen = nvim.text();
        let told = |name: &str| {
            seen.lines()
                .find(|line| line.contains(name))
                .unwrap_or_default()
        };
        assert!(told("· workspace  ").ends_with(&root), "{before}: {seen}");
        assert!(
            !told("· trust  ").contains("not trusted"),
            "{before}: {seen}"
        );
        nvim.ex("bwipeout!");
    }
}

/// As `nvim -c 'Postil new …' notes.py` has it.
fn a_command_may_come_with_its_file(program: &str) {
    let workspace = python_project();
    let mut nvim = Nvim::start_as(program, &workspace, &[], json!({}));
    let file = json!(workspace.path("notes.py"));
    nvim.lua(&format!(
        "vim.cmd.edit(vim.fn.fnameescape({file})); vim.cmd('4Postil new why so soon?')"
    ));
    nvim.wait_text("# AUTHOR: why so soon?");
}

fn why_shows_what_was_said(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    let float = "(function() for _, w in ipairs(vim.api.nvim_list_wins()) do if vim.api.nvim_win_get_config(w).relative ~= '' then return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(w), 0, -1, false), '\\n') end end return '' end)()";
    nvim.keys(":4Postil why<CR>");
    nvim.wait(
        "what git knows",
        &format!("{float}:find('last changed by', 1, true)"),
    );
    answered(&mut nvim);
    nvim.keys(":4<CR>:Postil resolve<CR>");
    nvim.wait_codes("");
    nvim.keys(":4Postil why<CR>");
    nvim.wait(
        "the conversation",
        &format!("{float}:find('AUTHOR: where is `load` used?', 1, true) and {float}:find('AGENT: ', 1, true)"),
    );
}

fn a_turn_without_a_buffer_ends_with_its_server(program: &str) {
    let workspace = python_project();
    let model = edit_then_answer();
    let mut nvim = begun(program, &workspace, &model, "read it as UTF-8?");
    model.wait_for_requests(3);
    let turns = "require('postil').statusline():find('⟳', 1, true)";
    nvim.wait("the turn", turns);
    nvim.ex("bwipeout! notes.py");
    assert!(nvim.lua(&format!("return {turns}")).is_u64(), "it goes on");
    // So that it tells no more.
    nvim.lua("vim.iter(vim.api.nvim_get_proc_children(vim.fn.getpid())):each(function(child) vim.uv.kill(child, 'sigkill') end)");
    nvim.wait("its end", "#vim.lsp.get_clients() == 0");
    nvim.wait("no turn", &format!("not {turns}"));
    model.release();
}

fn a_thread_that_is_gone_meanwhile_is_passed_over(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.keys(":5Postil new one<CR>");
    nvim.wait_codes("pending");
    // Before the server could tell.
    nvim.lua("vim.cmd('2,$delete _'); require('postil').go(1)");
    assert_eq!(nvim.lua("return vim.fn.line('.')"), 1);
}

fn every_command_has_a_map(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    let missing = nvim.lua(
        "local none = {}
        for name in pairs(require('postil.commands').all) do
            for _, mode in ipairs({ 'n', 'x' }) do
                if vim.fn.maparg('<Plug>(postil-' .. name .. ')', mode) == '' then table.insert(none, name) end
            end
        end
        return none",
    );
    assert!(missing.as_array().is_none_or(Vec::is_empty), "{missing}");
    nvim.lua("for key, name in pairs({ n = 'new', r = 'reply', d = 'resolve' }) do vim.keymap.set({ 'n', 'x' }, '<F2>' .. key, '<Plug>(postil-' .. name .. ')') end");
    nvim.keys(":4<CR><F2>n");
    nvim.wait(
        "the marker",
        "vim.api.nvim_get_mode().mode == 'i' and text():find('AUTHOR', 1, true)",
    );
    nvim.keys("where is `load` used?<Esc>");
    nvim.wait_codes("pending");
    nvim.keys("V<F2>r");
    nvim.wait_text("AGENT:");
    nvim.wait_codes("awaiting_user");
    nvim.keys(":4<CR><F2>d");
    nvim.wait_codes("");
}

fn the_state_is_told_in_words_and_not_twice(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.keys(":4Postil new one<CR>");
    nvim.wait_codes("pending");
    // What all of Neovim draws behind lines.
    let drawn = "(function() local all = {} for _, m in ipairs(vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true })) do for _, part in ipairs(m[4].virt_text or {}) do all[#all + 1] = part[1] end end return vim.trim(table.concat(all, '')) end)()";
    for (global, seen) in [
        ("{ virtual_text = false }", "== 'awaiting agent'"),
        (
            "{ virtual_text = { prefix = '' } }",
            "== 'awaiting agent: one'",
        ),
        ("{ virtual_text = false, virtual_lines = true }", "== ''"),
        (
            "{ virtual_text = false, virtual_lines = false }",
            "== 'awaiting agent'",
        ),
    ] {
        // 0.10 has no virtual lines, and says nothing of one that it does not know.
        nvim.ex(&format!("lua vim.diagnostic.config({global})"));
        nvim.wait(global, &format!("{drawn} {seen}"));
    }
    for (how, seen) in [("sign", "== ''"), ("eol", "== 'awaiting agent'")] {
        nvim.lua(&format!("require('postil').setup({{ cmd = vim.lsp.get_clients()[1].config.cmd, ui = {{ state = '{how}' }} }})"));
        nvim.ex("lua vim.diagnostic.config({ underline = true })");
        nvim.wait(how, &format!("{drawn} {seen}"));
    }
}

/// The figures of the plugin's page are of the whole file; here only that nothing but it is loaded at the start.
#[test]
fn nothing_is_loaded_before_it_is_used() {
    if !peers::have(&["nvim"]) {
        return;
    }
    let workspace = Workspace::new();
    let mut nvim = Nvim::start_as("nvim", &workspace, &[("POSTIL_WAY", "nothing")], json!({}));
    nvim.wait("the command", "vim.fn.exists(':Postil') == 2");
    let loaded = "vim.iter(vim.tbl_keys(package.loaded)):filter(function(n) return n:match('^postil') end):totable()";
    assert_eq!(nvim.lua(&format!("return #{loaded}")), 0);
    workspace.write("a.py", "# AUTHOR: one\n");
    nvim.edit(&workspace.path("a.py"));
    nvim.wait_codes("pending");
}
