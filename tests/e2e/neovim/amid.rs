//! An edit of the server's that comes while Neovim is at something that goes by line numbers which it took before.

use serde_json::json;

use super::driver::Nvim;
use super::plugin::{in_both, open};
use super::{python_project, with_model};
use crate::harness::Workspace;
use crate::model::{Model, Step};

in_both!(
    an_answer_waits_for_the_end_of_a_completion,
    an_answer_waits_for_the_end_of_a_substitution,
    an_answer_waits_for_the_end_of_a_block_insert,
    an_answer_waits_for_a_motion_and_a_line_number,
    an_answer_waits_for_a_formatter,
    an_answer_waits_for_what_a_server_was_asked_to_change,
    an_answer_waits_for_no_server_that_never_answers,
    an_answer_waits_for_nobody_who_waits_for_it,
    an_edit_that_the_server_has_given_up_is_not_made,
    an_answer_waits_for_nothing_in_plain_lua,
    an_answer_leaves_selected_what_is,
    an_answer_comes_into_what_the_file_was_saved_as,
);

/// A thread at line 4 of `notes.py`, whose answer waits for [`Model::release`].
fn asked(program: &str, workspace: &Workspace, model: &Model) -> Nvim {
    let mut nvim = open(program, workspace, &with_model(model), "notes.py");
    nvim.lua(
        "edits = 0
        local handlers = vim.lsp.get_clients({ bufnr = 0 })[1].handlers
        local apply = handlers['workspace/applyEdit']
        handlers['workspace/applyEdit'] = function(...) edits = edits + 1; return apply(...) end",
    );
    nvim.keys(":4Postil new where?<CR>");
    nvim.wait_codes("pending");
    nvim.keys(":4<CR>:Postil reply<CR>");
    model.wait_for_requests(1);
    nvim.lua("edits = 0");
    nvim
}

/// The answer is let go, comes, and is not in the text.
fn waits(nvim: &mut Nvim, model: &Model) {
    model.release();
    nvim.wait("the edit", "edits > 0");
    // Called is not decided: that is so a turn of the loop later.
    nvim.lua("turned = false; vim.defer_fn(function() turned = true end, 20)");
    nvim.wait("a turn", "turned");
    let text = nvim.text();
    assert!(!text.contains("AGENT"), "{text}");
}

fn an_answer_waits_for_the_end_of_a_completion(program: &str) {
    let workspace = python_project();
    let model = Model::start(vec![Step::text("Here.").held()]);
    let mut nvim = asked(program, &workspace, &model);
    nvim.lua("vim.o.completeopt = 'menuone'; vim.bo.autoindent = false");
    nvim.keys("Golo<C-n>");
    nvim.wait("the menu", "vim.fn.pumvisible() == 1");
    waits(&mut nvim, &model);
    // By these the completion takes back what it put in, and puts it in again.
    nvim.keys("<C-n><C-n>(");
    nvim.wait_text("# AGENT: Here.\n");
    let text = nvim.text();
    assert!(
        text.ends_with("\n    return Path(path).read_text()\nload("),
        "{text}"
    );
    nvim.wait_codes("awaiting_user");
}

fn an_answer_waits_for_the_end_of_a_substitution(program: &str) {
    // 0.10 does nothing else while it asks.
    if program == "nvim" {
        return;
    }
    let workspace = python_project();
    let model = Model::start(vec![Step::text("Here.").held()]);
    let mut nvim = asked(program, &workspace, &model);
    nvim.keys(":5,6s/(path)/(name)/c<CR>");
    nvim.wait("the question", "vim.api.nvim_get_mode().mode == 'r?'");
    waits(&mut nvim, &model);
    nvim.keys("yy");
    nvim.wait_text("# AGENT: Here.\n");
    let text = nvim.text();
    assert!(
        text.ends_with("\ndef load(name):\n    return Path(name).read_text()"),
        "{text}"
    );
}

fn an_answer_waits_for_the_end_of_a_block_insert(program: &str) {
    let workspace = python_project();
    let model = Model::start(vec![Step::text("Here.").held()]);
    let mut nvim = asked(program, &workspace, &model);
    nvim.keys("5G0<C-v>jI# ");
    nvim.wait_text("\n# def load");
    waits(&mut nvim, &model);
    nvim.keys("<Esc>");
    nvim.wait_text("# AGENT: Here.\n");
    let text = nvim.text();
    assert!(
        text.ends_with("\n# def load(path):\n#     return Path(path).read_text()"),
        "{text}"
    );
    // What is inserted otherwise is not waited for.
    nvim.keys("Gox");
    assert_eq!(nvim.lua("return vim.b.postil_block"), json!(null));
}

fn an_answer_waits_for_a_motion_and_a_line_number(program: &str) {
    for (begun, at, ended) in [(":5<CR>d", "no", "j"), (":5,6", "c", "d<CR>")] {
        let workspace = python_project();
        let model = Model::start(vec![Step::text("Here.").held()]);
        let mut nvim = asked(program, &workspace, &model);
        nvim.keys(begun);
        nvim.wait("it", &format!("vim.api.nvim_get_mode().mode == '{at}'"));
        waits(&mut nvim, &model);
        nvim.keys(ended);
        nvim.wait_text("# AGENT: Here.\n");
        let text = nvim.text();
        assert!(text.starts_with("from pathlib"), "{begun}: {text}");
        assert!(text.ends_with("\n# AUTHOR:"), "{begun}: {text}");
    }
}

/// On saving, whichever it is.
fn an_answer_waits_for_a_formatter(program: &str) {
    let workspace = python_project();
    let model = Model::start(vec![Step::text("Here.").held()]);
    let mut nvim = asked(program, &workspace, &model);
    nvim.lua(
        "vim.api.nvim_create_autocmd('BufWritePre', { callback = function()
            local given = text()
            formats = true
            vim.wait(20000, function() return edits > 0 end, 10)
            vim.wait(100)
            kept = text() == given
        end })",
    );
    nvim.keys(":write<CR>");
    nvim.wait("the formatter", "formats");
    model.release();
    nvim.wait_text("# AGENT: Here.\n");
    assert_eq!(nvim.lua("return kept"), json!(true));
    assert!(!workspace.read("notes.py").contains("AGENT"));
}

/// Another server of this buffer, which `formatted` has answer.
fn with_a_formatter(nvim: &mut Nvim) {
    nvim.lua(
        "vim.lsp.start({ name = 'theirs', cmd = function() return {
            request = function(method, _, answer, replied)
                if method == 'initialize' then
                    answer(nil, { capabilities = { documentFormattingProvider = true } })
                elseif method == 'textDocument/formatting' then
                    function formatted(edits) replied(7); answer(nil, edits) end
                end
                return true, 7
            end,
            notify = function() return true end,
            is_closing = function() return false end,
            terminate = function() end,
        } end })",
    );
    nvim.wait("theirs", "#vim.lsp.get_clients({ bufnr = 0 }) == 2");
}

/// Which it does for the text that it was asked about, without a version.
fn an_answer_waits_for_what_a_server_was_asked_to_change(program: &str) {
    let workspace = python_project();
    let model = Model::start(vec![Step::text("Here.").held()]);
    let mut nvim = asked(program, &workspace, &model);
    with_a_formatter(&mut nvim);
    nvim.lua("vim.lsp.buf.format({ name = 'theirs', async = true })");
    nvim.wait("the request", "formatted ~= nil");
    waits(&mut nvim, &model);
    let line =
        "range = { start = { line = 5, character = 0 }, ['end'] = { line = 5, character = 4 } }";
    nvim.lua(&format!("formatted({{ {{ newText = '  ', {line} }} }})"));
    nvim.wait_text("# AGENT: Here.\n");
    let text = nvim.text();
    assert!(
        text.ends_with("\ndef load(path):\n  return Path(path).read_text()"),
        "{text}"
    );
}

/// Nor for one that was asked about another file.
fn an_answer_waits_for_no_server_that_never_answers(program: &str) {
    for is_other in [true, false] {
        let workspace = python_project();
        let model = Model::start(vec![Step::text("Here.").held()]);
        let mut nvim = asked(program, &workspace, &model);
        with_a_formatter(&mut nvim);
        nvim.lua(&format!(
            "local here, other = vim.api.nvim_get_current_buf(), vim.fn.bufadd('count.py')
            vim.fn.bufload(other)
            vim.lsp.buf_attach_client(other, vim.lsp.get_clients({{ name = 'theirs' }})[1].id)
            vim.lsp.buf.format({{ name = 'theirs', async = true, bufnr = {} }})",
            if is_other { "other" } else { "here" },
        ));
        nvim.wait("the request", "formatted ~= nil");
        if is_other {
            model.release();
        } else {
            waits(&mut nvim, &model);
            // Longer than a formatter takes, and not as long as the server waits.
            nvim.lua("local now = vim.uv.now; vim.uv.now = function() return now() + 12000 end");
        }
        nvim.wait_text("# AGENT: Here.\n");
    }
}

/// As a mapping of the user's own does by Neovim's functions for that.
fn an_answer_waits_for_nobody_who_waits_for_it(program: &str) {
    let workspace = python_project();
    let model = Model::start(vec![]);
    let mut nvim = open(program, &workspace, &with_model(&model), "notes.py");
    // Before 0.11 they were none of the client's methods.
    let newer = if program == "nvim" { "." } else { ":" };
    let of_client = format!("client{newer}request_sync(");
    for call in [of_client.as_str(), "vim.lsp.buf_request_sync(0, "] {
        nvim.lua(&format!(
            "local client = vim.lsp.get_clients({{ bufnr = 0 }})[1]
            local new = {{ uri = vim.uri_from_bufnr(0), position = {{ line = 0, character = 0 }}, text = 'why?' }}
            local params = {{ command = 'postil.newThread', arguments = {{ new }} }}
            written = nil
            vim.schedule(function()
                {call}'workspace/executeCommand', params, 60000)
                written = {{ text():find('AUTHOR: why?', 1, true) ~= nil }}
            end)"
        ));
        nvim.wait("the answer", "written");
        assert_eq!(nvim.lua("return written"), json!([true]), "{call}");
        nvim.keys("u");
    }
}

fn an_edit_that_the_server_has_given_up_is_not_made(program: &str) {
    let workspace = python_project();
    let model = Model::start(vec![Step::text("Here.").held()]);
    let mut nvim = asked(program, &workspace, &model);
    // Neovim does nothing for as long as that, once.
    nvim.lua(
        "local now, late = vim.uv.now, 0
        vim.uv.now = function() return now() + late end
        made = {}
        local handlers = vim.lsp.get_clients({ bufnr = 0 })[1].handlers
        local apply = handlers['workspace/applyEdit']
        handlers['workspace/applyEdit'] = function(...)
            if #made == 0 then vim.defer_fn(function() late = 40000 end, 0) end
            local result = apply(...)
            made[#made + 1] = result.applied
            return result
        end",
    );
    model.release();
    nvim.wait("the edit", "#made > 0");
    assert_eq!(nvim.lua("return made[1]"), json!(false));
}

/// Which cannot go on in the midst of a protected call, as LuaJIT can.
fn an_answer_waits_for_nothing_in_plain_lua(program: &str) {
    let workspace = python_project();
    let model = Model::start(vec![Step::text("Here.").held()]);
    let mut nvim = asked(program, &workspace, &model);
    nvim.lua("jit = nil");
    nvim.keys("5G0<C-v>jI# ");
    nvim.wait_text("\n# def load");
    model.release();
    nvim.wait_text("# AGENT: Here.\n");
}

fn an_answer_leaves_selected_what_is(program: &str) {
    let kinds = ["V", "<C-v>$", "Vj", "<C-v>j$", "vj$", "gh<S-Down>"];
    let workspace = python_project();
    let model = Model::start(kinds.map(|_| Step::text("Here.").held()).into());
    let mut nvim = asked(program, &workspace, &model);
    nvim.lua("vim.o.keymodel = 'startsel'");
    for (at, selected) in kinds.into_iter().enumerate() {
        if at > 0 {
            nvim.wait("its end", "next(require('postil.show').turns) == nil");
            nvim.keys("<Esc>u");
            nvim.wait_codes("pending");
            nvim.keys(":4<CR>:Postil reply<CR>");
            model.wait_for_requests(at + 1);
        }
        nvim.keys(&format!(":5<CR>0{selected}"));
        nvim.wait("it", "vim.api.nvim_get_mode().mode ~= 'n'");
        model.release();
        nvim.wait_text("# AGENT: Here.\n");
        let ends = nvim.lua(
            "return { vim.fn.getline('v'), vim.api.nvim_get_current_line(), vim.fn.col('v') }",
        );
        let last = match selected {
            "V" | "<C-v>$" => "def load(path):",
            _ => "    return Path(path).read_text()",
        };
        assert_eq!(ends, json!(["def load(path):", last, 1]), "{selected}");
    }
}

fn an_answer_comes_into_what_the_file_was_saved_as(program: &str) {
    for saved in [true, false] {
        let workspace = python_project();
        let model = Model::start(vec![Step::text("Here.").held()]);
        let mut nvim = asked(program, &workspace, &model);
        if saved {
            nvim.ex("write");
        }
        let old = workspace.read("notes.py");
        nvim.ex(&format!("saveas {}", workspace.path("copy.py").display()));
        nvim.keys("Go# mine<Esc>");
        model.release();
        nvim.wait_text("# AGENT: Here.\n");
        nvim.wait_codes("awaiting_user");
        assert!(nvim.text().ends_with("# mine"), "{}", nvim.text());
        assert_eq!(workspace.read("notes.py"), old);
        nvim.keys(":4<CR>:Postil undo<CR>");
        nvim.wait("it is undone", "not text():find('AGENT', 1, true)");
        assert!(nvim.text().ends_with("# mine"), "{}", nvim.text());
    }
}
