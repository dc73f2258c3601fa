//! What is set for the plugin: what it does not know, or cannot be, is told, and left out.

use serde_json::json;

use super::driver::Nvim;
use super::plugin::{NONE, in_both};
use super::python_project;
use super::unfit::said;
use crate::peers;

in_both!(
    options_of_the_wrong_kind_are_left_out,
    options_of_the_client_of_the_wrong_kind_are_left_out,
    why_the_server_does_not_start_is_in_the_health,
    options_of_an_unknown_name_are_told,
    signs_that_are_too_wide_are_left_out,
    only_files_of_the_types_that_are_named_have_a_server,
    options_count_however_the_server_is_started,
    options_that_are_past_by_are_told,
    no_program_of_the_repository_is_run,
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

/// Neovim itself would start nothing, without a word, or show a trace of its own code.
fn options_of_the_client_of_the_wrong_kind_are_left_out(program: &str) {
    let workspace = python_project();
    let options = json!({
        "name": "x", "flags": 1, "handlers": "x", "cmd_env": 3, "capabilities": "x", "offset_encoding": "utf-9",
        "get_language_id": 1, "detached": "x", "cmd_cwd": "/nonexistent", "exit_timeout": "x", "commands": "x",
        "root_markers": 3, "reuse_client": 1, "workspace_folders": "x", "init_options": 1, "trace": "loud",
        "before_init": [1], "on_init": ["x"], "on_attach": "x", "on_exit": 1, "on_error": [],
        "workspace_required": 1, "filetypes": [1], "cmd": [1],
    });
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_postil"));
    let path = format!(
        "{}:{}",
        bin.parent().expect("a folder").display(),
        peers::path().to_string_lossy()
    );
    let env = [("POSTIL_WAY", "nothing"), ("PATH", path.as_str())];
    let mut nvim = Nvim::start_as(program, &workspace, &env, options.clone());
    nvim.edit(&workspace.path("notes.py"));
    for (name, _) in options.as_object().into_iter().flatten() {
        let note = nvim.wait_note(&format!("the option `{name}` must be "));
        assert!(note.contains("; it is left out: :help postil-options"));
        assert_eq!(said(&mut nvim, &format!("`{name}`")), Some(1));
    }
    let ours = "#vim.lsp.get_clients({ bufnr = 0, name = 'postil' }) == 1";
    nvim.wait("the server", ours);
    nvim.keys(":4Postil new why?<CR>");
    nvim.wait_codes("pending");
    drop(nvim);

    // As they must be they count.
    let options = json!({
        "flags": {"debounce_text_changes": 20, "exit_timeout": false}, "cmd_env": {"NAME": "x", "OTHER": 1},
        "offset_encoding": "UTF-16", "detached": false, "cmd_cwd": "/", "root_markers": ["notes.py"], "trace": "off",
        "init_options": {"reviews": true}, "workspace_required": false, "capabilities": {}, "handlers": {},
    });
    let mut nvim = Nvim::start_as(program, &workspace, &[], options);
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait("the server", ours);
    assert_eq!(said(&mut nvim, "the option"), Some(0));
    let config = nvim.lua("local c = vim.lsp.get_clients()[1].config return { c.cmd_env.NAME, c.flags.debounce_text_changes, c.cmd_cwd }");
    assert_eq!(config, json!(["x", 20, "/"]));
    drop(nvim);

    if program != "nvim" {
        let init = "vim.lsp.config('postil', { cmd = client.cmd, root_markers = 3, on_init = { 1 }, flags = 'x', name = 'x' }) vim.g.postil = {}";
        let mut nvim = with_init(program, &workspace, init);
        nvim.edit(&workspace.path("notes.py"));
        for name in ["root_markers", "on_init", "flags"] {
            nvim.wait_note(&format!("the option `{name}` must be "));
        }
        nvim.wait("the server", ours);
    }
}

fn why_the_server_does_not_start_is_in_the_health(program: &str) {
    let workspace = python_project();
    let init = "require('postil').setup({ cmd = function() error('no such container') end })";
    let mut nvim = with_init(program, &workspace, init);
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait_note("the server does not start; :checkhealth postil tells more");
    // For no file as well.
    nvim.keys(":Postil! threads<CR>");
    nvim.ex("Postil health");
    nvim.wait_text("the server does not start: no such container");
    let seen =
        nvim.lua("return table.concat(notes, '\\n') .. text() .. vim.fn.execute('messages')");
    assert!(!seen.to_string().contains(".lua:"), "{seen}");
    // What is said meanwhile by others is theirs.
    nvim.lua(
        "local cmd = vim.json.decode(vim.env.POSTIL_CLIENT).cmd \
        require('postil').setup({ cmd = cmd, on_attach = function() vim.notify('attached') end })",
    );
    nvim.edit(&workspace.path("count.py"));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    nvim.wait_note("attached");
    nvim.ex("Postil health");
    nvim.wait_text("postil: in this Neovim");
    assert!(!nvim.text().contains("the server does not start"));
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

/// Neovim with what the user has in `init.lua` beside the plugin; `client`: what the tests' user sets.
fn with_init(program: &str, workspace: &crate::harness::Workspace, init: &str) -> Nvim {
    let options = json!({"settings": {"postil": {"turn": {"review": "ask"}}}});
    let lspconfig = peers::pointed_to("POSTIL_LSPCONFIG").unwrap_or_default();
    let env = [("POSTIL_WAY", "later"), ("POSTIL_LSPCONFIG", &lspconfig)];
    let mut nvim = Nvim::start_as(program, workspace, &env, options);
    nvim.lua(&format!(
        "local client = vim.json.decode(vim.env.POSTIL_CLIENT) {init}"
    ));
    nvim
}

fn options_count_however_the_server_is_started(program: &str) {
    let mut ways = Vec::new();
    if program != "nvim" {
        ways.push("vim.g.postil = client vim.lsp.enable('postil')");
        ways.push("require('postil').setup(client) vim.lsp.enable('postil')");
    }
    if peers::pointed_to("POSTIL_LSPCONFIG").is_some() {
        ways.push("vim.g.postil = client require('lspconfig').postil.setup({})");
    }
    let workspace = python_project();
    for init in ways {
        let mut nvim = with_init(program, &workspace, init);
        nvim.edit(&workspace.path("notes.py"));
        nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
        assert_eq!(
            nvim.lua("return vim.tbl_get(vim.lsp.get_clients()[1].config, 'settings', 'postil', 'turn', 'review')"),
            "ask",
            "{init}"
        );
    }
    if program == "nvim" {
        return;
    }
    workspace.write("a.lua", "x = 1\n");
    let init = "client.filetypes = { 'lua' } vim.g.postil = client vim.lsp.enable('postil')";
    let mut nvim = with_init(program, &workspace, init);
    nvim.edit(&workspace.path("notes.py"));
    nvim.edit(&workspace.path("a.lua"));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    assert_eq!(
        nvim.lua("return #vim.lsp.get_clients({ bufnr = vim.fn.bufnr('notes.py') })"),
        0
    );
}

fn options_that_are_past_by_are_told(program: &str) {
    if program == "nvim" {
        return; // 0.10 has no vim.lsp.enable
    }
    let workspace = python_project();
    let init = "vim.g.postil = client \
        vim.lsp.config('postil', { cmd = client.cmd, root_dir = function(_, on_dir) on_dir(vim.uv.cwd()) end }) \
        vim.lsp.enable('postil')";
    let mut nvim = with_init(program, &workspace, init);
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait_note("the options `settings` are left out");
}

/// Before anybody has trusted it, and whatever the PATH has.
fn no_program_of_the_repository_is_run(program: &str) {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let workspace = python_project();
    let theirs = workspace.write("bin/postil", "#!/bin/sh\ntouch ran\n");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&theirs, mode).expect("a program");
    let folder = |name: &str, to: &std::path::Path| {
        let folder = workspace.data().with_file_name(name);
        std::fs::create_dir(&folder).expect("a folder");
        symlink(to, folder.join("postil")).expect("a link");
        folder.to_string_lossy().into_owned()
    };
    let ours = folder("ours", env!("CARGO_BIN_EXE_postil").as_ref());
    let led = folder("led", &theirs);
    let inside = workspace.path("bin").to_string_lossy().into_owned();
    let root = workspace.root().to_string_lossy().into_owned();
    let rest = peers::path().to_string_lossy().into_owned();
    let start = |first: &str, more: &[(&str, &str)]| {
        let path = format!("{first}:{ours}:{rest}");
        let mut env = vec![("POSTIL_WAY", "later"), ("PATH", path.as_str())];
        env.extend(more);
        let mut nvim = Nvim::start_as(program, &workspace, &env, json!({}));
        nvim.edit(&workspace.path("notes.py"));
        nvim
    };
    for relative in ["./bin", "bin"] {
        let mut nvim = start(relative, NONE);
        nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
        let cmd = nvim.lua("return vim.lsp.get_clients()[1].config.cmd[1]");
        assert_eq!(cmd, format!("{ours}/postil"));
    }
    for first in [&inside, &led] {
        let mut nvim = start(first, NONE);
        nvim.wait_note(&format!(
            "the postil that comes first on the PATH, {first}/postil, is a file of this project, and is not started"
        ));
        nvim.ex("Postil health");
        nvim.wait_text("is a file of this project");
        assert_eq!(nvim.lua("return #vim.lsp.get_clients()"), 0);
    }
    assert!(!workspace.path("ran").exists());

    // Who opens their home has their own programs in there.
    std::fs::remove_file(&theirs).expect("it is there");
    symlink(env!("CARGO_BIN_EXE_postil"), &theirs).expect("a link");
    let mut nvim = start(&inside, &[("HOME", &root)]);
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    let cmd = nvim.lua("return vim.lsp.get_clients()[1].config.cmd[1]");
    assert_eq!(cmd, format!("{inside}/postil"));
}
