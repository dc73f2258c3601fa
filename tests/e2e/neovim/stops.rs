//! A turn that stops half-way, with a question or at a cap, goes on from `:Postil`.

use serde_json::json;

use super::driver::Nvim;
use super::plugin::{begun, in_both, open};
use super::{python_project, with_model};
use crate::model::{Model, Step, call};

in_both!(
    a_turn_at_work_is_told_where_nothing_is_edited,
    a_turn_that_ended_with_its_server_is_told_by_the_next,
    a_question_is_answered_by_a_choice,
    a_turn_that_stopped_goes_on,
);

/// Neovim asks for a thread's state with each change of the text, and here is none.
fn a_turn_at_work_is_told_where_nothing_is_edited(program: &str) {
    let workspace = python_project();
    let model = Model::start(vec![Step::text("Nowhere.").held()]);
    let mut nvim = begun(program, &workspace, &model, "where is it used?");
    let told = |state: &str| format!("vim.diagnostic.get(0)[1].message == '{state}'");
    nvim.wait("its state", &told("agent at work: where is it used?"));
    nvim.wait(
        "the status line",
        "require('postil').statusline():find('⟳', 1, true)",
    );
    nvim.keys(":Postil cancel<CR>");
    let cancelled = "awaiting agent: where is it used? (its turn was cancelled)";
    nvim.wait("its end", &told(cancelled));
    // In the few words that stand behind it as well.
    let drawn = "vim.inspect(vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true }))";
    nvim.ex("lua vim.diagnostic.config({ virtual_text = false })");
    let words = "awaiting agent (its turn was cancelled)";
    nvim.wait(words, &format!("{drawn}:find('{words}', 1, true)"));
}

fn a_turn_that_ended_with_its_server_is_told_by_the_next(program: &str) {
    let workspace = python_project();
    let model = Model::start(vec![Step::text("Nowhere.").held()]);
    let mut nvim = begun(program, &workspace, &model, "where is it used?");
    nvim.lua("vim.iter(vim.api.nvim_get_proc_children(vim.fn.getpid())):each(function(child) vim.uv.kill(child, 'sigkill') end)");
    nvim.wait("its end", "#vim.lsp.get_clients() == 0");
    nvim.keys(":Postil restart<CR>");
    let told = "vim.iter(vim.diagnostic.get(0)):any(function(d) return d.message:find('ended in mid-turn', 1, true) end)";
    nvim.wait("what became of it", told);
}

fn a_question_is_answered_by_a_choice(program: &str) {
    let workspace = python_project();
    let input = json!({"question": "Bytes or text?", "choices": ["bytes", "text"]});
    let ask = |id: &str| Step::calls(vec![call(id, "ask_user", input.clone())]);
    let model = Model::start(vec![
        ask("a"),
        Step::text("Text it is."),
        ask("b"),
        Step::text("Bytes it is."),
    ]);
    let mut nvim = open(program, &workspace, &with_model(&model), "notes.py");
    nvim.keys(":4Postil new read it as UTF-8?<CR>");
    nvim.wait_codes("pending");
    nvim.keys(":5<CR>:Postil reply<CR>");
    nvim.wait_text("AGENT: Bytes or text?");
    nvim.wait_codes("awaiting_user");
    let choices = "vim.fn.getcompletion('Postil choose ', 'cmdline')";
    nvim.wait(
        "the choices",
        &format!("vim.deep_equal({choices}, {{ '(a) bytes', '(b) text' }})"),
    );
    // On the line below it, and from elsewhere by its line.
    for command in ["call search('^def') | Postil choose", "1 | 5Postil choose"] {
        nvim.lua("pick, offered = nil, {}");
        nvim.ex(command);
        let offered = nvim.wait(command, "#offered > 0 and offered");
        assert_eq!(offered, json!(["(a) bytes", "(b) text"]));
    }
    nvim.ex("5");
    nvim.keys(":Postil choose words<CR>");
    nvim.wait_note("`words` is none of the choices, so nothing was said: (a) bytes, (b) text");
    nvim.keys(":Postil choose text<CR>");
    nvim.wait_text("AUTHOR: (b) text");
    nvim.wait_text("AGENT: Text it is.");
    nvim.wait_codes("awaiting_user");
    // From the menu, which holds the choices alone.
    nvim.keys(":4<CR>:Postil say and now?<CR>");
    nvim.wait_codes("pending");
    nvim.keys(":4<CR>:Postil reply<CR>");
    nvim.wait(
        "the second question",
        "select(2, text():gsub('Bytes or text', '')) == 2",
    );
    nvim.wait_codes("awaiting_user");
    nvim.lua("pick, offered = 'bytes', {}");
    nvim.keys(":4<CR>:Postil choose<CR>");
    let one = nvim.wait(
        "the menu or the answer",
        "(#offered > 0 and offered) or text():find('Bytes it is', 1, true)",
    );
    assert!(!one.to_string().contains("Resolve"), "{one}");
    nvim.wait_text("AGENT: Bytes it is.");
    // Nothing stopped half-way: the server says so, and nothing is changed. While the turn that wrote the answer
    // is still ending, there is one to go on with.
    nvim.wait_codes("awaiting_user");
    nvim.wait(
        "the turn's end",
        "not require('postil').statusline():find('⟳', 1, true)",
    );
    let text = nvim.text();
    nvim.keys(":4<CR>:Postil continue<CR>");
    nvim.wait_note("stopped half-way: write your message after");
    assert_eq!(nvim.text(), text);
}

fn a_turn_that_stopped_goes_on(program: &str) {
    let workspace = python_project();
    let read = call("r", "file_read", json!({"path": "notes.py"}));
    let model = Model::start(vec![
        Step::calls(vec![read]),
        Step::text("It reads as the locale has it."),
    ]);
    let one_round = json!({"settings": {"postil": {"turn": {"maxRounds": 1}}}});
    let mut nvim = Nvim::start_as(program, &workspace, &with_model(&model), one_round);
    nvim.edit(&workspace.path("notes.py"));
    nvim.keys(":4Postil new read it as UTF-8?<CR>");
    nvim.wait_codes("pending");
    nvim.keys(":4<CR>:Postil reply<CR>");
    nvim.wait_text("AGENT:");
    nvim.wait(
        "the turn's end",
        "not require('postil').statusline():find('⟳', 1, true)",
    );
    assert!(!nvim.text().contains("It reads as"));
    nvim.keys(":4<CR>:Postil continue<CR>");
    nvim.wait_text("AGENT: It reads as the locale has it.");
}
