//! `turn.review = "ask"`: what an agent proposes is looked at in a tab, and decided on file by file.

use serde_json::json;

use super::driver::Nvim;
use super::plugin::in_both;
use super::{COUNT, NOTES, python_project, with_model};
use crate::harness::Workspace;
use crate::model::{Model, Step, call};

in_both!(
    proposed_changes_are_accepted_and_rejected_by_file,
    a_proposed_change_waits_is_decided_from_the_file_and_keeps_what_is_typed,
    a_file_that_is_proposed_is_told_as_new,
    a_file_that_is_to_be_renamed_is_one_proposal,
    a_proposed_change_goes_with_its_turn,
    a_proposed_change_is_decided_from_any_window,
    what_is_opened_beside_a_proposed_change_stays,
);

/// A turn that changes both files, and then answers.
pub(super) fn two_edits() -> Model {
    let read = |id: &str, file: &str| call(id, "file_read", json!({"path": file}));
    let edit = |id: &str, file: &str, old: &str, new: &str| {
        let input = json!({"path": file, "old_string": old, "new_string": new});
        call(id, "file_edit", input)
    };
    Model::start(vec![
        Step::calls(vec![read("a", "notes.py"), read("b", "count.py")]),
        Step::calls(vec![
            edit("c", "notes.py", "read_text()", "read_text(\"utf-8\")"),
            edit("d", "count.py", "splitlines()", "split()"),
        ]),
        Step::text("I am done."),
        Step::text("As you wish."),
    ])
}

pub(super) fn asked(program: &str, workspace: &Workspace, model: &Model) -> Nvim {
    let client = json!({"settings": {"postil": {"turn": {"review": "ask"}}}});
    let mut nvim = Nvim::start_as(program, workspace, &with_model(model), client);
    nvim.edit(&workspace.path("notes.py"));
    nvim.keys(":4Postil new read it as UTF-8?<CR>");
    nvim.wait_codes("pending");
    nvim.lua("vim.bo.formatoptions = ''");
    nvim
}

/// The tab of a proposal: what stands on the left and on the right.
fn tab(nvim: &mut Nvim, file: &str) -> (String, String) {
    nvim.wait(
        "the tab",
        &format!(
            "vim.t.postil_proposed and vim.wo.diff and #vim.api.nvim_tabpage_list_wins(0) == 2 and vim.endswith(vim.api.nvim_buf_get_name(0), {})",
            json!(format!("/{file}"))
        ),
    );
    let mut text = |window: u8| {
        let text = nvim.lua(&format!(
            "return text(vim.api.nvim_win_get_buf(vim.fn.win_getid({window})))"
        ));
        text.as_str().unwrap_or_default().to_owned()
    };
    (text(1), text(2))
}

fn proposed_changes_are_accepted_and_rejected_by_file(program: &str) {
    let workspace = python_project();
    let model = two_edits();
    let mut nvim = asked(program, &workspace, &model);
    nvim.keys(":4<CR>:Postil reply<CR>");
    nvim.wait_note("the agent wants to change 2 files, and waits for you");
    // In Normal mode it comes by itself; which file is first is the server's to say.
    nvim.wait("the tab", "vim.t.postil_proposed");
    // The colours of the file's type, and not the type: some plugins fetch the images that a text names.
    let types = "vim.iter(vim.api.nvim_tabpage_list_wins(0)):map(function(w) local bo = vim.bo[vim.api.nvim_win_get_buf(w)] return bo.filetype .. ' ' .. bo.syntax end):join(', ')";
    assert_eq!(
        nvim.lua(&format!("return {types}")),
        "postil_text python, postil_text python"
    );
    let name = nvim.lua("return vim.fn.fnamemodify(vim.api.nvim_buf_get_name(0), ':t')");
    let first = name.as_str().unwrap_or_default().to_owned();
    let second = ["notes.py", "count.py"].into_iter().find(|f| *f != first);
    let second = second.expect("the other");
    let looked = |file: &str, (now, then): (String, String)| {
        let (old, new) = match file {
            "notes.py" => ("read_text()", "read_text(\"utf-8\")"),
            _ => ("splitlines()", "split()"),
        };
        assert!(now.contains(old) && !now.contains(new), "{now}");
        assert!(then.contains(new) && !then.contains(old), "{then}");
    };
    looked(&first, tab(&mut nvim, &first));
    let bar = nvim.lua("return vim.wo.winbar");
    let bar = bar.as_str().unwrap_or_default();
    for word in [
        ":Postil accept",
        ":Postil reject",
        ":Postil! accept",
        "all 2 files",
        &first,
    ] {
        assert!(bar.contains(word), "no `{word}` in {bar}");
    }
    assert_eq!(workspace.read("count.py"), COUNT);
    let verdict = |file: &str| match file {
        "notes.py" => ":Postil accept<CR>",
        _ => ":Postil reject<CR>",
    };
    nvim.keys(verdict(&first));
    looked(second, tab(&mut nvim, second));
    nvim.keys(verdict(second));
    // The tab goes, and the file is there again with what was agreed to.
    nvim.wait(
        "the file",
        "vim.fn.tabpagenr('$') == 1 and vim.fn.expand('%:t') == 'notes.py'",
    );
    nvim.wait_text("read_text(\"utf-8\")");
    nvim.wait_text("AGENT:");
    assert_eq!(workspace.read("count.py"), COUNT);
    let told = model.wait_for_requests(4)[3].prompt();
    assert!(
        told.contains("count.py: not changed, the author did not want it\nnotes.py: changed"),
        "{told}"
    );
    nvim.keys(":Postil accept<CR>");
    nvim.wait_note("no change waits to be accepted or rejected");
}

fn a_proposed_change_waits_is_decided_from_the_file_and_keeps_what_is_typed(program: &str) {
    let workspace = python_project();
    let model = two_edits();
    let mut nvim = asked(program, &workspace, &model);
    // Somebody who types is not led away.
    nvim.keys(":4<CR>:Postil reply<CR>Go# typed ");
    nvim.wait_note("the agent wants to change 2 files");
    nvim.type_on("all the while", |_| {});
    assert_eq!(nvim.lua("return vim.fn.tabpagenr('$')"), 1);
    nvim.keys("<Esc>");
    nvim.wait_text("# typed all the while");
    // Looked at, and left for later.
    nvim.keys(":Postil review<CR>");
    nvim.wait("the tab", "vim.t.postil_proposed");
    nvim.keys("q");
    nvim.wait(
        "the file",
        "vim.fn.tabpagenr('$') == 1 and vim.fn.expand('%:t') == 'notes.py'",
    );
    assert!(!nvim.text().contains("utf-8"));
    nvim.keys("Go# and then<Esc>");
    nvim.keys(":Postil! accept<CR>");
    nvim.wait_text("read_text(\"utf-8\")");
    nvim.wait_text("AGENT: I am done.");
    let text = nvim.text();
    assert!(
        text.contains("# typed all the while\n") && text.ends_with("# and then"),
        "{text}"
    );
    nvim.wait(
        "the closed file",
        &format!(
            "vim.fn.readblob({}):find('len(load(path).split())', 1, true)",
            json!(workspace.path("count.py"))
        ),
    );
}

fn a_file_that_is_proposed_is_told_as_new(program: &str) {
    let workspace = python_project();
    let input = json!({"path": "more.py", "content": "x = 1\n"});
    let model = Model::start(vec![
        Step::calls(vec![call("a", "file_write", input)]),
        Step::text("I am done."),
    ]);
    let mut nvim = asked(program, &workspace, &model);
    nvim.keys(":4<CR>:Postil reply<CR>");
    let (now, then) = tab(&mut nvim, "more.py");
    assert_eq!((now.as_str(), then.as_str()), ("", "x = 1"));
    let bar = nvim.lua("return vim.wo.winbar");
    assert!(
        bar.as_str()
            .is_some_and(|bar| bar.starts_with("proposed (new): ")),
        "{bar}"
    );
    nvim.keys(":Postil accept<CR>");
    nvim.wait_text("AGENT: I am done.");
}

fn a_file_that_is_to_be_renamed_is_one_proposal(program: &str) {
    let workspace = python_project();
    let patch = "diff --git a/count.py b/tally.py\nrename from count.py\nrename to tally.py\n--- a/count.py\n+++ b/tally.py\n";
    let first = COUNT.lines().next().unwrap_or_default();
    let patch = format!("{patch}@@ -1 +1,2 @@\n+# Counts.\n {first}\n");
    let model = Model::start(vec![
        Step::calls(vec![call("a", "patch_apply", json!({"patch": patch}))]),
        Step::text("I am done."),
    ]);
    let mut nvim = asked(program, &workspace, &model);
    nvim.keys(":4<CR>:Postil reply<CR>");
    nvim.wait_note("the agent wants to change count.py → tally.py (+1 −0), and waits for you");
    let (now, then) = tab(&mut nvim, "tally.py");
    assert_eq!(then, format!("# Counts.\n{now}"));
    let bar = nvim.lua("return vim.wo.winbar");
    assert!(
        bar.as_str().is_some_and(|bar| {
            bar.starts_with("proposed (renamed): ") && bar.ends_with("count.py → tally.py")
        }),
        "{bar}"
    );
    nvim.keys(":Postil accept<CR>");
    nvim.wait_text("AGENT: I am done.");
    assert!(!workspace.path("count.py").exists());
    assert_eq!(workspace.read("tally.py"), format!("# Counts.\n{COUNT}"));
}

fn a_proposed_change_goes_with_its_turn(program: &str) {
    let workspace = python_project();
    let model = two_edits();
    let mut nvim = asked(program, &workspace, &model);
    // What is opened from now on cannot be changed; this file can.
    nvim.ex("set nomodifiable | setlocal modifiable");
    nvim.keys(":4<CR>:Postil reply<CR>");
    nvim.wait(
        "the tab",
        "vim.t.postil_proposed and vim.wo.diff and #vim.api.nvim_tabpage_list_wins(0) == 2",
    );
    nvim.keys(":Postil cancel<CR>");
    nvim.wait(
        "the file",
        "vim.fn.tabpagenr('$') == 1 and vim.fn.expand('%:t') == 'notes.py'",
    );
    nvim.keys(":Postil accept<CR>");
    nvim.wait_note("no change waits");
    let thread = "# AUTHOR: read it as UTF-8?\n";
    assert_eq!(nvim.text().replace(thread, "") + "\n", NOTES);
    assert_eq!(workspace.read("count.py"), COUNT);
}

fn a_proposed_change_is_decided_from_any_window(program: &str) {
    let workspace = python_project();
    let model = two_edits();
    let mut nvim = asked(program, &workspace, &model);
    nvim.keys(":4<CR>:Postil reply<CR>");
    nvim.wait("the tab", "vim.t.postil_proposed");
    nvim.keys("q");
    nvim.wait("the file", "vim.fn.expand('%:t') == 'notes.py'");
    nvim.ex("help");
    nvim.ex("Postil review");
    nvim.wait("the tab", "vim.t.postil_proposed");
    nvim.keys("q");
    nvim.wait("the help", "vim.bo.buftype == 'help'");
    nvim.ex("copen");
    nvim.ex("Postil accept");
    nvim.wait_note("2 changes wait");
    nvim.ex("Postil! accept");
    nvim.ex("Postil reject");
    nvim.wait_note("no change waits");
    nvim.ex("Postil review");
    nvim.wait_note("this window shows no file");
    nvim.ex("buffer notes.py");
    nvim.wait_text("read_text(\"utf-8\")");
    nvim.wait_text("AGENT: I am done.");
}

fn what_is_opened_beside_a_proposed_change_stays(program: &str) {
    let workspace = python_project();
    let model = two_edits();
    let mut nvim = asked(program, &workspace, &model);
    nvim.keys(":4<CR>:Postil reply<CR>");
    nvim.wait("the tab", "vim.t.postil_proposed and vim.wo.diff");
    // Ours are closed by hand, and something is written where they were.
    nvim.keys(":botright new<CR>:only<CR>ia draft<Esc>");
    nvim.wait("the draft", "#vim.api.nvim_tabpage_list_wins(0) == 1");
    nvim.keys(":Postil review<CR>");
    nvim.wait("a proposal", "vim.wo.diff and vim.b.postil_proposed");
    let windows = "return vim.iter(vim.api.nvim_tabpage_list_wins(0)):map(function(w) return text(vim.api.nvim_win_get_buf(w)) end):totable()";
    let holds = |nvim: &mut Nvim| {
        let texts = nvim.lua(windows);
        let texts = texts.as_array().expect("texts");
        assert!(
            texts.len() == 3 && texts.contains(&json!("a draft")),
            "{texts:?}"
        );
    };
    holds(&mut nvim);
    let first = nvim.lua("return vim.b.postil_proposed");
    nvim.keys(":Postil accept<CR>");
    nvim.wait(
        "the other proposal",
        &format!("vim.wo.diff and vim.b.postil_proposed and vim.b.postil_proposed ~= {first}"),
    );
    holds(&mut nvim);
    nvim.keys(":Postil accept<CR>");
    nvim.wait("no proposal", "not vim.b.postil_proposed");
    let drafts = "vim.iter(vim.api.nvim_list_bufs()):any(function(b) return text(b) == 'a draft' and vim.bo[b].modified end)";
    assert_eq!(nvim.lua(&format!("return {drafts}")), true);
    nvim.ex("buffer notes.py");
    nvim.wait_text("AGENT: I am done.");
}
