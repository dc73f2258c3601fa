//! What can be wrong: each is said once, in one sentence, and nothing is lost.

use serde_json::json;

use super::driver::Nvim;
use super::plugin::in_both;
use super::python_project;
use crate::harness::Workspace;
use crate::peers;

in_both!(
    a_server_that_is_missing_is_named,
    buffers_that_are_no_files_of_this_machine,
    a_server_that_ends_is_started_again,
    a_server_that_is_old_or_slow,
    a_server_that_always_ends_is_left_alone,
    options_of_the_wrong_kind_are_left_out,
    a_large_file_has_its_threads,
    several_roots_have_a_server_each,
    the_ways_to_start_it,
    with_the_real_lspconfig,
);

fn a_server_that_is_missing_is_named(program: &str) {
    for way in ["setup", "nothing", "enable"] {
        if way == "enable" && program == "nvim" {
            continue; // 0.10 has no vim.lsp.enable
        }
        let workspace = python_project();
        let mut nvim = Nvim::start_as(
            program,
            &workspace,
            &[("POSTIL_WAY", way)],
            json!({"cmd": ["no-such-postil"]}),
        );
        nvim.edit(&workspace.path("notes.py"));
        nvim.wait_note("`no-such-postil` cannot be run: install postil");
        nvim.edit(&workspace.path("count.py"));
        nvim.keys("otyped<Esc>:Postil reply<CR>");
        nvim.wait_note("no server runs for this file");
        assert!(nvim.text().contains("\ntyped"));
        let said = nvim.lua("return vim.iter(notes):filter(function(n) return n:find('cannot be run') end):totable()");
        assert_eq!(said.as_array().map(Vec::len), Some(1), "{way}: {said}");
        nvim.ex("Postil health");
        nvim.wait_text("`no-such-postil` cannot be run");
    }
}

fn buffers_that_are_no_files_of_this_machine(program: &str) {
    let workspace = python_project();
    let mut nvim = Nvim::start_as(program, &workspace, &[], json!({}));
    nvim.keys("ihello<Esc>:Postil say hi<CR>");
    nvim.wait_note("this buffer has no file name yet; save it first");
    // As oil.nvim and netrw name them.
    for name in [
        "oil:///home/someone/",
        "scp://host/file.py",
        "fugitive:///x/.git//0/a.py",
    ] {
        nvim.lua(&format!(
            "vim.cmd.enew({{ bang = true }}); vim.api.nvim_buf_set_name(0, {}); vim.bo.buftype = 'acwrite'; vim.bo.filetype = 'python'",
            json!(name)
        ));
        nvim.ex("Postil new why?");
        nvim.wait_note(&format!(
            "it reads files of this machine, and {name} is none"
        ));
    }
    nvim.ex("help");
    nvim.ex("Postil reply");
    nvim.wait_note("this window shows no file");
    assert_eq!(nvim.lua("return #vim.lsp.get_clients()"), 0);

    // Named by being written.
    nvim.keys(":enew!<CR>i# AUTHOR: new?<Esc>");
    nvim.ex(&format!("saveas {}", workspace.path("new.py").display()));
    nvim.wait_codes("pending");
    // Outside of any project.
    let outside = workspace.data().parent().expect("a folder").join("lone.py");
    std::fs::write(&outside, "x = 1\n").expect("a file");
    nvim.edit(&outside);
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    nvim.keys(":Postil new alone?<CR>");
    nvim.wait(
        "insert mode or text",
        "text():find('AUTHOR: alone?', 1, true)",
    );
    nvim.wait_codes("pending");
    // Renamed with threads in it, then deleted on disk.
    nvim.ex(&format!(
        "file {}",
        outside.with_file_name("renamed.py").display()
    ));
    nvim.ex("write");
    nvim.wait_codes("pending");
    std::fs::remove_file(outside.with_file_name("renamed.py")).expect("removed");
    nvim.keys(":1<CR>:Postil say still here<CR>");
    nvim.wait_text("still here");
}

fn a_server_that_ends_is_started_again(program: &str) {
    let workspace = python_project();
    let mut nvim = Nvim::start_as(program, &workspace, &[], json!({}));
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    nvim.keys(":4Postil new one<CR>");
    nvim.wait_text("AUTHOR: one");
    nvim.wait("a diagnostic", "codes():find('pending')");
    // Killed from outside.
    nvim.lua("vim.lsp.get_clients({ bufnr = 0 })[1].rpc.notify('exit')");
    nvim.wait("its end", "#vim.lsp.get_clients() == 0");
    nvim.wait_note("quit with exit code");
    let text = nvim.text();
    nvim.keys(":Postil say what now<CR>");
    nvim.wait_note("no server runs for this file; `:Postil restart` starts one");
    assert_eq!(nvim.text(), text);
    nvim.keys(":Postil restart<CR>");
    nvim.wait_note("started");
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    nvim.keys(":4<CR>:Postil say go on<CR>");
    nvim.wait_text("AUTHOR: go on");
    // And one that runs.
    let id = nvim.lua("return vim.lsp.get_clients()[1].id");
    nvim.keys(":Postil restart<CR>");
    nvim.wait("another server", &format!("#vim.lsp.get_clients({{ bufnr = 0 }}) == 1 and vim.lsp.get_clients({{ bufnr = 0 }})[1].id ~= {id}"));
    nvim.wait("its diagnostics", "codes():find('pending')");
}

/// How many notes hold `part`.
fn said(nvim: &mut Nvim, part: &str) -> Option<u64> {
    let of = "vim.iter(notes):filter(function(n) return n:find(PART, 1, true) end):totable()";
    let found = of.replace("PART", &json!(part).to_string());
    nvim.lua(&format!("return #({found})")).as_u64()
}

fn a_server_that_always_ends_is_left_alone(program: &str) {
    let workspace = python_project();
    let mut nvim = Nvim::start_as(program, &workspace, &[], json!({"cmd": ["false"]}));
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait_note("quit with exit code 1");
    nvim.edit(&workspace.path("count.py"));
    nvim.wait_note("its server ends by itself; `:Postil restart` tries again");
    workspace.write("third.py", "x = 1\n");
    nvim.edit(&workspace.path("third.py"));
    nvim.keys(":Postil restart<CR>");
    nvim.wait(
        "a further try",
        "select(2, table.concat(notes, '\\n'):gsub('quit with exit', '')) == 2",
    );
    assert_eq!(said(&mut nvim, "its server ends by itself"), Some(1));
    nvim.keys("otyped<Esc>");
    nvim.wait_text("typed");
}

fn options_of_the_wrong_kind_are_left_out(program: &str) {
    let workspace = python_project();
    let options = json!({
        "ui": {"signs": 3, "turns": "above", "slow": "soon"},
        "settings": {"postil": {"turn": {"maxRounds": "many"}}},
    });
    let mut nvim = Nvim::start_as(program, &workspace, &[], options);
    nvim.edit(&workspace.path("notes.py"));
    for part in [
        "the option `ui.signs` must be false, or a table",
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

/// Larger than what is read of a closed file: the editor has it open, so it counts.
fn a_large_file_has_its_threads(program: &str) {
    let workspace = python_project();
    let text = format!("# AUTHOR: why?\n{}", "x = 1\n".repeat(1_500_000));
    workspace.write("large.py", &text);
    let mut nvim = Nvim::start_as(program, &workspace, &[], json!({}));
    nvim.edit(&workspace.path("large.py"));
    nvim.wait_codes("pending");
    std::fs::remove_file(workspace.path("large.py")).expect("removed");
    nvim.keys(":1Postil say still here<CR>");
    nvim.wait_text("AUTHOR: still here");
    nvim.keys(":1Postil resolve<CR>");
    nvim.wait_codes("");
}

/// A server that knows nothing newer than `initialize`, and answers no command.
const OLD: &str = r#"
local function read()
  local length
  for line in io.lines() do
    line = line:gsub("\r$", "")
    length = tonumber(line:match("^Content%-Length: (%d+)")) or length
    if line == "" then
      return vim.json.decode(io.read(length))
    end
  end
end
while true do
  local message = read()
  if not message or message.method == "exit" then
    os.exit(0)
  end
  local result
  if message.method == "initialize" then
    result = { serverInfo = { name = "postil", version = "0.0.1" },
      capabilities = { textDocumentSync = 1, executeCommandProvider = { commands = { "postil.listThreads" } } } }
  elseif message.method == "shutdown" then
    result = vim.NIL
  end
  if message.id and result ~= nil then
    local text = vim.json.encode({ jsonrpc = "2.0", id = message.id, result = result })
    io.write("Content-Length: " .. #text .. "\r\n\r\n" .. text)
    io.flush()
  end
end
"#;

fn a_server_that_is_old_or_slow(program: &str) {
    let workspace = python_project();
    let script = workspace.data().parent().expect("a folder").join("old.lua");
    std::fs::write(&script, OLD).expect("a script");
    let cmd = json!([peers::find(program), "--clean", "-l", script]);
    let mut nvim = Nvim::start_as(
        program,
        &workspace,
        &[],
        json!({"cmd": cmd, "ui": {"slow": 200}}),
    );
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait_note("is older than this plugin");
    nvim.keys(":Postil new why?<CR>");
    nvim.wait_note("the server that runs has no `newThread`: update postil");
    // What was to be said is kept.
    assert_eq!(nvim.text(), "why?");
    nvim.keys(":q!<CR>");
    // Nothing waits for an answer that does not come.
    nvim.keys(":Postil reply<CR>");
    nvim.wait_note("the server has not answered for 0.2 s");
    nvim.keys("ostill usable<Esc>");
    nvim.wait_text("still usable");
}

fn several_roots_have_a_server_each(program: &str) {
    let one = python_project();
    let two = python_project();
    let mut nvim = Nvim::start_as(program, &one, &[], json!({}));
    nvim.edit(&one.path("notes.py"));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    nvim.keys(":4Postil new in one<CR>");
    nvim.wait_codes("pending");
    nvim.edit(&two.path("notes.py"));
    nvim.wait(
        "the second server",
        "#vim.lsp.get_clients({ bufnr = 0 }) == 1 and #vim.lsp.get_clients() == 2",
    );
    nvim.keys(":4Postil new in two<CR>");
    nvim.wait_codes("pending");
    nvim.keys(":Postil! threads<CR>");
    nvim.wait("threads of both", "#vim.fn.getqflist() == 2");
    nvim.lua("pick = 'in one'");
    nvim.keys(":Postil pick<CR>");
    nvim.wait(
        "the first",
        &format!(
            "vim.api.nvim_buf_get_name(0) == {}",
            json!(one.path("notes.py"))
        ),
    );
}

fn the_ways_to_start_it(program: &str) {
    let workspace = python_project();
    for way in ["nothing", "setup", "enable"] {
        if way == "enable" && program == "nvim" {
            continue;
        }
        starts(program, &workspace, way, "");
    }
}

/// The folder of nvim-lspconfig, which no registry has: whoever has a copy names it.
fn with_the_real_lspconfig(program: &str) {
    let Some(folder) = peers::pointed_to("POSTIL_LSPCONFIG") else {
        return;
    };
    let workspace = python_project();
    // Its older way, and the newer, where it only lies beside.
    let mut nvim = starts(program, &workspace, "lspconfig", &folder);
    nvim.keys(":Postil restart<CR>");
    nvim.wait_note("started");
    nvim.wait_codes("");
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    assert_eq!(
        nvim.lua("return vim.lsp.get_clients()[1].config.settings.postil.model"),
        "offline",
        "what nvim-lspconfig was given is lost"
    );
    if program != "nvim" {
        starts(program, &workspace, "enable", &folder);
    }
}

/// One server for two files, whichever way it is started.
fn starts(program: &str, workspace: &Workspace, way: &str, lspconfig: &str) -> Nvim {
    let mut nvim = Nvim::start_as(
        program,
        workspace,
        &[("POSTIL_WAY", way), ("POSTIL_LSPCONFIG", lspconfig)],
        json!({"settings": {"postil": {"model": "offline"}}}),
    );
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    nvim.keys(":4Postil new why?<CR>");
    nvim.wait_codes("pending");
    nvim.edit(&workspace.path("count.py"));
    nvim.wait(
        "the same server",
        "#vim.lsp.get_clients({ bufnr = 0 }) == 1 and #vim.lsp.get_clients() == 1",
    );
    nvim
}

#[test]
fn the_help_has_a_tag_for_all_that_it_names() {
    if !peers::have(&["nvim"]) {
        return;
    }
    let workspace = Workspace::new();
    let text = include_str!("../../../editors/neovim/doc/postil.txt");
    workspace.write("doc/postil.txt", text);
    let mut nvim = Nvim::start(&workspace, &[], json!({}));
    nvim.ex(&format!("helptags {}", workspace.path("doc").display()));
    let tags = workspace.read("doc/tags");
    assert!(tags.lines().count() > 20, "{tags}");
    let commands = nvim.lua("return vim.tbl_keys(require('postil.commands').all)");
    for name in commands.as_array().into_iter().flatten() {
        let tag = format!(":Postil-{}", name.as_str().unwrap_or_default());
        assert!(tags.contains(&format!("{tag}\t")), "no {tag}");
    }
    for reference in text
        .split('|')
        .skip(1)
        .step_by(2)
        .filter(|word| !word.contains(char::is_whitespace))
    {
        let known = tags
            .lines()
            .any(|line| line.split('\t').next() == Some(reference));
        let elsewhere = nvim.lua(&format!(
            "return #vim.fn.getcompletion({}, 'help') > 0",
            json!(reference)
        ));
        assert!(known || elsewhere == true, "|{reference}| leads nowhere");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 78),
        "a line is too long"
    );
}
