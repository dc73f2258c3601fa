//! What is set for the plugin: what it does not know, or cannot be, is told, and left out.

use serde_json::json;

use super::driver::Nvim;
use super::plugin::in_both;
use super::python_project;
use super::unfit::said;

in_both!(
    options_of_the_wrong_kind_are_left_out,
    options_of_an_unknown_name_are_told,
    signs_that_are_too_wide_are_left_out,
    only_files_of_the_types_that_are_named_have_a_server,
);

fn options_of_the_wrong_kind_are_left_out(program: &str) {
    let workspace = python_project();
    let options = json!({
        "ui": {"signs": 3, "state": "loud", "turns": "above", "slow": "soon"},
        "settings": {"postil": {"turn": {"maxRounds": "many"}}},
    });
    let mut nvim = Nvim::start_as(program, &workspace, &[], options);
    nvim.edit(&workspace.path("notes.py"));
    for part in [
        "the option `ui.signs` must be false, or a table",
        "the option `ui.state` must be \"auto\", \"eol\" or \"sign\"",
        "the option `ui.turns` must be \"eol\", \"below\" or false",
        "the option `ui.slow` must be a number of milliseconds",
        "`turn.maxRounds` is \"many\": it must be a whole number",
    ] {
        nvim.wait_note(part);
    }
    assert_eq!(said(&mut nvim, "ui.signs"), Some(1));
    nvim.keys(":4Postil new why?<CR>");
    nvim.wait_codes("pending");

    // The command as a shell has it: the one on the PATH is taken.
    drop(nvim);
    let options = json!({"cmd": "postil --stdio", "settings": 3});
    let mut nvim = Nvim::start_as(program, &workspace, &[("POSTIL_WAY", "nothing")], options);
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait_note("the option `cmd` must be a list");
    nvim.wait_note("the option `settings` must be a table");
}

fn options_of_an_unknown_name_are_told(program: &str) {
    let workspace = python_project();
    let options = json!({
        "setings": {},
        "root_markers": ["pyproject.toml"],
        "ui": {"sate": "eol", "state": "sign"},
        "settings": {"postil": {}, "turn": {}},
    });
    let mut nvim = Nvim::start_as(program, &workspace, &[], options);
    nvim.edit(&workspace.path("notes.py"));
    for name in ["setings", "ui.sate", "settings.turn"] {
        nvim.wait_note(&format!(
            "the option `{name}` is not known: :help postil-options"
        ));
    }
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    assert_eq!(said(&mut nvim, "the option"), Some(3));
    drop(nvim);

    // Settings that reach no server, such as that changes are to be reviewed.
    for way in ["nothing", "enable"] {
        if way == "enable" && program == "nvim" {
            continue;
        }
        let options = json!({"settings": {"turn": {"review": "ask"}}});
        let mut nvim = Nvim::start_as(program, &workspace, &[("POSTIL_WAY", way)], options);
        nvim.edit(&workspace.path("notes.py"));
        nvim.wait_note("the option `settings` must be a table like { postil = { … } }");
        nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
        assert_eq!(said(&mut nvim, "the option"), Some(1), "{way}");
    }
}

fn signs_that_are_too_wide_are_left_out(program: &str) {
    let workspace = python_project();
    for (pending, fits) in [("???", false), ("\t", false), ("字", true), ("", true)] {
        let options = json!({"ui": {"signs": {"pending": pending, "awaiting_user": "»"}}});
        let mut nvim = Nvim::start_as(program, &workspace, &[], options);
        nvim.edit(&workspace.path("notes.py"));
        nvim.keys(":4Postil new why?<CR>");
        nvim.wait_codes("pending");
        let signs = "vim.iter(vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true })):map(function(m) return m[4].sign_text and vim.trim(m[4].sign_text) end):totable()";
        let shown = if fits { pending } else { "?" };
        let sign = if shown.is_empty() {
            format!("#{signs} == 0")
        } else {
            format!("vim.list_contains({signs}, {})", json!(shown))
        };
        nvim.wait(&format!("the sign {shown:?}"), &sign);
        let told = said(&mut nvim, "the option `ui.signs` must be false, or a table");
        assert_eq!(told, Some(u64::from(!fits)), "{pending:?}");
    }
}

fn only_files_of_the_types_that_are_named_have_a_server(program: &str) {
    let workspace = python_project();
    workspace.write("a.lua", "x = 1\n");
    let options = json!({"filetypes": ["lua"], "root_dir": 3});
    let mut nvim = Nvim::start_as(program, &workspace, &[], options);
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait_note("the option `root_dir` must be a folder");
    nvim.edit(&workspace.path("a.lua"));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    assert_eq!(
        nvim.lua("return #vim.lsp.get_clients({ bufnr = vim.fn.bufnr('notes.py') })"),
        0
    );
}
