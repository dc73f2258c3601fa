//! What can be wrong: each is said once, in one sentence, and nothing is lost.

use serde_json::json;

use super::driver::Nvim;
use super::plugin::{in_both, question};
use super::python_project;
use crate::harness::Workspace;
use crate::peers;

in_both!(
    a_server_that_is_missing_is_named,
    buffers_that_are_no_files_of_this_machine,
    paths_of_windows_are_compared_as_they_are_meant,
    a_server_that_ends_is_started_again,
    a_server_that_is_old_or_slow,
    a_server_that_always_ends_is_left_alone,
    a_program_of_the_wrong_format_is_told_in_one_sentence,
    a_large_file_has_its_threads,
    what_cannot_be_done_at_a_thread_is_said,
    whatever_is_completed_can_be_run,
    a_server_that_is_slow_to_start_is_told,
    a_server_that_hangs_while_it_starts_is_started_anew,
    no_command_waits_for_a_server_in_vain,
    who_waits_is_told_when_the_server_ends,
    a_server_that_is_stopped_is_asked_nothing,
    the_ways_to_start_it,
    one_that_neovim_is_told_not_to_start_is_not_started,
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

/// What holds them there is Neovim's own; which of them lie in which is ours.
fn paths_of_windows_are_compared_as_they_are_meant(program: &str) {
    let workspace = python_project();
    let mut nvim = Nvim::start_as(program, &workspace, &[], json!({}));
    let told = nvim.lua(
        r#"
        local here, has = package.loaded["postil"], vim.fn.has
        local function asked(windows)
          vim.fn.has = function(what)
            return what == "win32" and windows or has(what)
          end
          package.loaded["postil"] = nil
          local postil = require("postil")
          vim.fn.has, package.loaded["postil"] = has, here
          return {
            postil.holds("C:/Work/Project", [[c:\work\project\src\A.rs]]),
            postil.holds("C:/Work/Project/", [[C:\Work\Project]]),
            postil.holds("C:/Work/Project", [[C:\Work\Project2\a.rs]]),
            postil.holds([[C:\]], "c:/a.rs"),
            postil.holds("//Server/Share/p", [[\\server\share\p\a.rs]]),
            postil.is_absolute([[C:\a.rs]]),
            postil.is_absolute("c:/a.rs"),
            postil.is_absolute([[\\server\share\a.rs]]),
            postil.is_absolute([[src\a.rs]]),
            postil.is_absolute("/a.rs"),
            postil.whole([[/tmp/a\]]) == "/tmp/a",
            postil.holds("/a", "/A/b"),
          }
        end
        return { asked(1), asked(0) }
        "#,
    );
    let windows = [
        true, true, false, true, true, true, true, true, false, true, true, true,
    ];
    let here = [
        false, false, false, false, false, false, false, false, false, true, false, false,
    ];
    assert_eq!(told, json!([windows, here]));
}

fn buffers_that_are_no_files_of_this_machine(program: &str) {
    let workspace = python_project();
    let mut nvim = Nvim::start_as(program, &workspace, &[], json!({}));
    nvim.keys("ihello<Esc>:Postil say hi<CR>");
    nvim.wait_note("this buffer has no file name yet; save it first");
    // As oil.nvim and netrw name them.
    let remote = "it reads files of this machine, and scp://host/file.py is none";
    let no_file = "this window shows no file of the disk";
    for (name, why) in [
        ("oil:///home/someone/", no_file),
        ("scp://host/file.py", remote),
        ("fugitive:///x/.git//0/a.py", no_file),
    ] {
        nvim.lua("notes = {}");
        nvim.lua(&format!(
            "vim.cmd.enew({{ bang = true }}); vim.api.nvim_buf_set_name(0, {}); vim.bo.buftype = 'acwrite'; vim.bo.filetype = 'python'",
            json!(name)
        ));
        nvim.ex("Postil new why?");
        nvim.wait_note(why);
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
    nvim.keys(":1<CR>:Postil say too soon<CR>");
    nvim.wait_note("this buffer has got another name; save it first (:write)");
    drop_kept(&mut nvim);
    nvim.ex("write");
    nvim.wait_codes("pending");
    std::fs::remove_file(outside.with_file_name("renamed.py")).expect("removed");
    nvim.keys(":1<CR>:Postil say still here<CR>");
    nvim.wait_text("still here");
}

/// What could not be said has come back in a window.
fn drop_kept(nvim: &mut Nvim) {
    nvim.wait("the text", "vim.bo.buftype == 'acwrite'");
    nvim.keys(":q!<CR>");
    nvim.wait("the file", "vim.bo.buftype == ''");
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
    drop_kept(&mut nvim);
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
pub(super) fn said(nvim: &mut Nvim, part: &str) -> Option<u64> {
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

fn a_program_of_the_wrong_format_is_told_in_one_sentence(program: &str) {
    let workspace = python_project();
    let file = workspace.data().parent().expect("a folder").join("wrong");
    std::fs::write(&file, "\x7fELF of another machine").expect("a file");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&file, executable).expect("executable");
    let mut nvim = Nvim::start_as(program, &workspace, &[], json!({"cmd": [file]}));
    nvim.edit(&workspace.path("notes.py"));
    // 0.10 has a shell try it.
    let why = match program {
        "nvim" => "its server ends by itself; `:Postil restart` tries again",
        _ => "the server does not start; :checkhealth postil tells more",
    };
    nvim.wait_note(why);
    nvim.ex("checkhealth postil");
    nvim.wait_text("--version` fails: ");
    let seen = nvim.lua("return table.concat(notes, '\\n') .. text()");
    for part in [".lua:", "[string ", "Spawning"] {
        assert!(!seen.to_string().contains(part), "{part} in {seen}");
    }
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

fn what_cannot_be_done_at_a_thread_is_said(program: &str) {
    let workspace = python_project();
    let env = [("POSTIL_MODEL", "offline")];
    let mut nvim = Nvim::start_as(program, &workspace, &env, json!({}));
    nvim.edit(&workspace.path("notes.py"));
    // While the server still starts.
    question(&mut nvim);
    for name in ["undo", "review", "open", "continue"] {
        nvim.lua("notes = {}");
        nvim.ex(&format!("4Postil {name}"));
        nvim.wait_note("no agent has worked on this thread yet");
    }
    nvim.ex("Postil cancel");
    nvim.wait_note("no turn runs");
    nvim.ex("4Postil choose");
    nvim.wait_note("no question with choices on line 4");
    // Nor are words of one's own a choice, with which a turn would begin.
    let text = nvim.text();
    nvim.ex("4Postil choose everywhere");
    nvim.wait_note("no question with choices waits in this thread");
    assert_eq!(nvim.text(), text);

    nvim.ex("4Postil reply");
    nvim.wait_codes("awaiting_user");
    nvim.ex("4Postil undo");
    nvim.wait_note("Undone.");
    nvim.wait_codes("pending");
    for name in ["undo", "review"] {
        nvim.lua("notes = {}");
        nvim.ex(&format!("4Postil {name}"));
        nvim.wait_note("undone already");
    }
    // Nor is offered what takes more than a thread.
    let words = nvim.lua("return vim.fn.getcompletion('Postil ', 'cmdline')");
    let words = words.to_string();
    assert!(words.contains("\"consult\""), "{words}");
    for name in ["workflow", "editMessage"] {
        assert!(!words.contains(name), "{words}");
    }
}

/// Whatever is offered is understood: no answer tells of what a message between programs has to hold.
fn whatever_is_completed_can_be_run(program: &str) {
    let workspace = python_project();
    let env = [("POSTIL_MODEL", "offline")];
    let mut nvim = Nvim::start_as(program, &workspace, &env, json!({}));
    nvim.edit(&workspace.path("notes.py"));
    nvim.lua("vim.fn.confirm = function() return 2 end");
    question(&mut nvim);
    let words = nvim.lua("return vim.fn.getcompletion('Postil ', 'cmdline')");
    let words = words.as_array().cloned().unwrap_or_default();
    assert!(words.contains(&json!("processActions")), "{words:?}");
    // What ends the thread or the server comes last.
    for name in words.iter().filter_map(|word| word.as_str()) {
        if !["resolve", "restart", "health"].contains(&name) {
            // At one go, for what an earlier one asked for may open its window in between.
            nvim.lua(&format!(
                "vim.cmd('buffer notes.py | stopinsert | silent! only'); vim.cmd('4Postil {name}')"
            ));
            // An answer that comes after this one's was asked for before.
            nvim.lua("require('postil.client').verb_now(vim.lsp.get_clients({ name = 'postil' })[1], 'listThreads', {}, 20000)");
        }
    }
    let notes = nvim.lua("return notes").to_string() + &nvim.lua("return messages").to_string();
    for part in ["thread_id", "run_id", "uri`", "` needs `", "E5108"] {
        assert!(!notes.contains(part), "{part} in {notes}");
    }
    // About the file.
    nvim.lua("notes = {}");
    nvim.ex("buffer notes.py | silent! only");
    nvim.keys("<Esc>:1<CR>O# AUTHOR: done<Esc>:Postil processActions<CR>");
    nvim.wait_note("notes.py: thread removed");
    nvim.wait("it is gone", "not text():find('AUTHOR: done', 1, true)");
}

fn a_server_that_is_slow_to_start_is_told(program: &str) {
    let workspace = python_project();
    let script = workspace.data().parent().expect("a folder").join("slow.sh");
    let gate = script.with_file_name("gate");
    let text = format!(
        "#!/bin/sh\nwhile ! test -e '{}'; do sleep 0.05; done\nexec '{}' \"$@\"\n",
        gate.display(),
        env!("CARGO_BIN_EXE_postil")
    );
    std::fs::write(&script, text).expect("a script");
    let client = json!({"cmd": ["sh", script], "ui": {"slow": 200}});
    let mut nvim = Nvim::start_as(program, &workspace, &[], client);
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait_note("the server has been starting for 0.2 s");
    nvim.keys(":4Postil new why?<CR>");
    nvim.wait_note("its server is being started; try again in a moment");
    nvim.wait("the text", "vim.bo.buftype == 'acwrite'");
    assert_eq!(nvim.text(), "why?");
    std::fs::write(&gate, "").expect("it goes on");
    nvim.wait("the server", "#vim.lsp.get_clients() == 1");
    nvim.keys(":wq<CR>");
    nvim.wait_text("# AUTHOR: why?\ndef load");
    nvim.wait_codes("pending");
}

fn a_server_that_hangs_while_it_starts_is_started_anew(program: &str) {
    let workspace = python_project();
    let script = workspace.data().parent().expect("a folder").join("hang.sh");
    let tried = script.with_file_name("tried");
    // Not the first time.
    let text = format!(
        "#!/bin/sh\nif ! test -e '{0}'; then touch '{0}'; exec sleep 1000; fi\nexec '{1}' \"$@\"\n",
        tried.display(),
        env!("CARGO_BIN_EXE_postil")
    );
    std::fs::write(&script, text).expect("a script");
    let client = json!({"cmd": ["sh", script]});
    let mut nvim = Nvim::start_as(program, &workspace, &[], client);
    nvim.edit(&workspace.path("notes.py"));
    let file = json!(tried);
    nvim.wait("the first try", &format!("vim.uv.fs_stat({file})"));
    nvim.ex("Postil restart");
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    nvim.keys(":4Postil new why?<CR>");
    nvim.wait_codes("pending");
}

fn no_command_waits_for_a_server_in_vain(program: &str) {
    let workspace = python_project();
    let mut nvim = Nvim::start_as(program, &workspace, &[], json!({}));
    // Seconds that a command takes, the message included.
    let took = |nvim: &mut Nvim, command: &str| {
        let took = nvim.lua(&format!(
            "local began = vim.uv.hrtime(); vim.cmd({}); return (vim.uv.hrtime() - began) / 1e9",
            json!(command)
        ));
        took.as_f64().expect("a number")
    };
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    nvim.ex("file renamed.py");
    let said = took(&mut nvim, "Postil say hello");
    nvim.wait_note("this buffer has got another name");
    assert!(said < 2.0, "{said} s");
    drop(nvim);

    // Nor one that needs none while it starts.
    let client = json!({"cmd": ["sleep", "1000"]});
    let mut nvim = Nvim::start_as(program, &workspace, &[], client);
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait(
        "its start",
        "#vim.lsp.get_clients({ bufnr = 0, _uninitialized = true }) == 1",
    );
    let restarted = took(&mut nvim, "Postil restart");
    assert!(restarted < 2.0, "{restarted} s");
    nvim.wait_note("started");
}

fn who_waits_is_told_when_the_server_ends(program: &str) {
    let workspace = python_project();
    let mut nvim = Nvim::start_as(program, &workspace, &[], json!({}));
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    nvim.lua(
        "client = vim.lsp.get_clients({ bufnr = 0 })[1]
        function signal(name)
            for _, child in ipairs(vim.api.nvim_get_proc_children(vim.fn.getpid())) do vim.uv.kill(child, name) end
        end
        -- What comes of a question, and whether it came long before patience ends.
        function asked()
            local began = vim.uv.hrtime()
            local answer, why = require('postil.client').verb_now(client, 'listThreads', {}, 60000)
            return { answer ~= nil, why or '', vim.uv.hrtime() - began < 20e9 }
        end
        signal('sigstop')",
    );
    let ended = "the server has ended; `:Postil restart` starts it again";
    let meanwhile = "the server ended before it answered; `:Postil restart` starts it again";
    let killed = nvim.lua("vim.defer_fn(function() signal('sigkill') end, 100); return asked()");
    assert_eq!(killed, json!([false, meanwhile, true]));
    nvim.wait("its end", "#vim.lsp.get_clients() == 0");
    assert_eq!(nvim.lua("return asked()"), json!([false, ended, true]));
    // One that is being stopped, and does not go.
    nvim.ex("Postil restart");
    nvim.wait("another", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    let stopping = nvim.lua(
        "client = vim.lsp.get_clients({ bufnr = 0 })[1]
        signal('sigstop')
        require('postil.client').stop(client)
        return asked()",
    );
    assert_eq!(stopping, json!([false, ended, true]));
    nvim.lua("signal('sigkill')");
}

/// As Neovim stops it when it ends, and the server tells of diagnostics at that moment.
fn a_server_that_is_stopped_is_asked_nothing(program: &str) {
    let workspace = python_project();
    let mut nvim = Nvim::start_as(program, &workspace, &[], json!({}));
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    question(&mut nvim);
    nvim.lua(
        "local client = vim.lsp.get_clients({ bufnr = 0 })[1] \
        require('postil.client').stop(client) \
        local refresh = client.handlers['workspace/diagnostic/refresh'] \
        if refresh then refresh(nil, nil, { client_id = client.id }) end \
        vim.lsp.buf_request(0, 'textDocument/hover', vim.lsp.util.make_position_params(0, 'utf-16'))",
    );
    nvim.wait("its end", "#vim.lsp.get_clients() == 0");
    let seen = nvim.lua("return table.concat(notes, '\\n') .. vim.fn.execute('messages')");
    assert!(!seen.to_string().contains("shut down"), "{seen}");
    assert!(!seen.to_string().contains("Error"), "{seen}");
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

fn one_that_neovim_is_told_not_to_start_is_not_started(program: &str) {
    if program == "nvim" {
        return;
    }
    let workspace = python_project();
    let mut nvim = starts(program, &workspace, "enable", "");
    nvim.ex("lua vim.lsp.enable('postil', false)");
    nvim.wait("its end", "#vim.lsp.get_clients() == 0");
    let third = workspace.write("third.py", "x = 1\n");
    nvim.edit(&third);
    // What is done after a file was opened is scheduled.
    nvim.lua("later = nil; vim.schedule(function() later = true end)");
    nvim.wait("what was scheduled", "later");
    let any = nvim.lua("return #vim.lsp.get_clients({ _uninitialized = true })");
    assert_eq!(any, 0);
    nvim.ex("lua vim.lsp.enable('postil')");
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
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
    drop(nvim);
    // One that no file has started is known to it, too.
    let env = [("POSTIL_WAY", "lspconfig"), ("POSTIL_LSPCONFIG", &folder)];
    let mut nvim = Nvim::start_as(program, &workspace, &env, json!({}));
    nvim.keys(":Postil! threads<CR>");
    nvim.wait_note("no threads");
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    let all = nvim.lua("return #vim.lsp.get_clients({ _uninitialized = true })");
    assert_eq!(all, 1, "another server for the same folder");
    drop(nvim);
    // Told to start none without a file, it starts none, which is said.
    let env = [("POSTIL_WAY", "later"), ("POSTIL_LSPCONFIG", &folder)];
    let mut nvim = Nvim::start_as(program, &workspace, &env, json!({}));
    nvim.lua("require('lspconfig').postil.setup({ cmd = vim.json.decode(vim.env.POSTIL_CLIENT).cmd, single_file_support = false })");
    nvim.keys(":Postil! threads<CR>");
    nvim.wait_note("the server does not start; :checkhealth postil tells more");
    drop(nvim);
    // What the user does at its start is done beside ours, which in 0.10 keeps the version.
    let env = [("POSTIL_WAY", "later"), ("POSTIL_LSPCONFIG", &folder)];
    let mut nvim = Nvim::start_as(program, &workspace, &env, json!({}));
    nvim.lua("require('lspconfig').postil.setup({ cmd = vim.json.decode(vim.env.POSTIL_CLIENT).cmd, on_init = function() begun = true end })");
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait(
        "both",
        "begun and vim.tbl_get(vim.lsp.get_clients({ bufnr = 0 }), 1, 'server_info', 'version')",
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
