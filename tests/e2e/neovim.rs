//! The main job in the real editor: a thread is typed key by key, *Reply as agent* is taken from the menu
//! of code actions, and edit and answer come into the unsaved buffer while the author types on.

mod amid;
mod beside;
mod colours;
mod completion;
mod composed;
mod driver;
mod habits;
mod install;
mod long;
mod manners;
mod models;
mod msgpack;
mod options;
mod plugin;
mod proposed;
mod roots;
mod seen;
mod sessions;
mod stops;
mod swap;
mod unfit;

use std::process::Command;

use serde_json::{Value, json};

use crate::harness::Workspace;
use crate::model::{Model, Step, call};
use crate::peers;
use driver::Nvim;

const LIB: &str = "use std::path::Path;\n\npub fn load(path: &Path) -> String {\n    std::fs::read_to_string(path).unwrap_or_default()\n}\n";
const MAIN: &str = "use notes::load;\n\nfn main() {\n    let text = load(\"notes.txt\".as_ref());\n    println!(\"{}\", text.lines().count());\n}\n";

/// A crate with a library and a program, committed and trusted.
fn rust_project() -> Workspace {
    let workspace = Workspace::new();
    workspace.write(
        "Cargo.toml",
        "[package]\nname = \"notes\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    workspace.write("src/lib.rs", LIB);
    workspace.write("src/main.rs", MAIN);
    workspace.write(".gitignore", "/target\n");
    commit_and_trust(&workspace);
    workspace
}

const NOTES: &str =
    "from pathlib import Path\n\n\ndef load(path):\n    return Path(path).read_text()\n";
const COUNT: &str =
    "from notes import load\n\n\ndef count(path):\n    return len(load(path).splitlines())\n";

/// Two modules, one of which uses the other.
fn python_project() -> Workspace {
    let workspace = Workspace::new();
    workspace.write(
        "pyproject.toml",
        "[project]\nname = \"notes\"\nversion = \"0.1.0\"\n",
    );
    workspace.write("notes.py", NOTES);
    workspace.write("count.py", COUNT);
    // The user's own choice among the Python servers.
    workspace.configure("[servers.python]\ncommand = \"pylsp\"\nextensions = [\"py\"]\nrootMarkers = [\"pyproject.toml\"]\n");
    commit_and_trust(&workspace);
    workspace
}

fn commit_and_trust(workspace: &Workspace) {
    workspace.git(&["init", "-q"]);
    workspace.git(&["add", "-A"]);
    workspace.git(&["commit", "-q", "-m", "Begin"]);
    output(workspace.postil().args(["trust", "--yes"]));
}

/// What a command that succeeds prints.
fn output(command: &mut Command) -> String {
    let output = command
        .env("PATH", peers::path())
        .output()
        .expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The model of the main job: it reads `file`, replaces `old` by `new`, and answers. Refused because the
/// author typed, it reads and tries again, as a real one does. Each answer after the first two waits for
/// [`Model::release`] if `held`.
fn model(
    file: &'static str,
    old: &'static str,
    new: &'static str,
    answer: &'static str,
    held: bool,
) -> Model {
    let read = move |id: &str| call(id, "file_read", json!({"path": file}));
    let edit = move |id: &str| {
        call(
            id,
            "file_edit",
            json!({"path": file, "old_string": old, "new_string": new}),
        )
    };
    let mut script = vec![
        Step::calls(vec![read("read-0")]),
        Step::calls(vec![edit("edit-0")]),
    ];
    // As many as a turn has rounds: each try that comes between two keys is refused, read again and made again.
    for n in 1..58 {
        let step = Step::made(move |asked| {
            let last = asked["messages"]
                .as_array()
                .and_then(|m| m.last())
                .cloned()
                .unwrap_or_default();
            let results = last["content"].as_array().cloned().unwrap_or_default();
            let of = |kind: &str| {
                results
                    .iter()
                    .find(|r| {
                        r["tool_use_id"]
                            .as_str()
                            .is_some_and(|id| id.starts_with(kind))
                    })
                    .cloned()
            };
            match (of("edit"), of("read")) {
                (Some(edit), _) if edit["is_error"] != true => Step::text(answer),
                (Some(_), _) => Step::calls(vec![read(&format!("read-{n}"))]),
                _ => Step::calls(vec![edit(&format!("edit-{n}"))]),
            }
        });
        script.push(if held && n == 1 { step.held() } else { step });
    }
    Model::start(script)
}

fn with_model(model: &Model) -> Vec<(&str, &str)> {
    vec![
        ("ANTHROPIC_BASE_URL", model.url()),
        ("ANTHROPIC_API_KEY", "dummy"),
        ("POSTIL_MODEL", "anthropic/claude-sonnet-4-5"),
    ]
}

/// The rounds of the newest run, as the command line shows them.
fn rounds(workspace: &Workspace) -> String {
    let runs = output(workspace.postil().args(["workflow", "list", "--json"]));
    let runs: Value = serde_json::from_str(&runs).expect("JSON");
    let id = runs[0]["id"].as_str().expect("a run").to_owned();
    output(workspace.postil().args(["workflow", "thread", &id]))
}

/// The main job: `thread` is typed above `line` of `file`; the model makes `old` into `new`.
struct Job {
    workspace: Workspace,
    file: &'static str,
    /// What `O` types above the line that is searched for.
    above: &'static str,
    thread: &'static str,
    old: &'static str,
    new: &'static str,
    answer: &'static str,
    comment: &'static str,
}

fn main_job(job: Job) {
    let Job {
        workspace,
        file,
        above,
        thread,
        old,
        new,
        answer,
        comment,
    } = job;
    let model = model(file, old, new, answer, true);
    let before = workspace.read(file);
    let mut nvim = Nvim::start(&workspace, &with_model(&model), json!({}));
    nvim.edit(&workspace.path(file));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");

    // Key by key. Comment leaders that Neovim would add by itself are switched off, as an author may have it.
    nvim.keys(&format!(
        ":setlocal formatoptions-=cro<CR>/{above}<CR>O{comment} AUTHOR: {thread}<Esc>"
    ));
    nvim.wait_codes("pending");
    let asked = nvim.text();
    assert!(
        asked.contains(&format!("{comment} AUTHOR: {thread}\n")),
        "{asked}"
    );

    nvim.act("Reply as agent");
    let requests = model.wait_for_requests(3);
    let results = requests
        .iter()
        .flat_map(|r| r.results())
        .collect::<Vec<_>>();
    assert!(
        results
            .first()
            .is_some_and(|(_, text, _)| text.contains("AUTHOR:")),
        "the model reads what is on the screen, not on the disk: {results:?}"
    );
    nvim.wait_text(new);

    // The answer is let go while the author types; each key is its own change.
    let sentence = "the quick brown fox jumps over the lazy dog, and then it does so once again, as foxes will";
    nvim.keys(&format!("Go{comment} "));
    nvim.type_on(sentence, |index| {
        if index == 20 {
            model.release();
        }
    });
    nvim.wait_text(answer);
    nvim.type_on(" and on", |_| {});
    nvim.wait_text(" and on");
    nvim.wait_codes("awaiting_user");
    nvim.keys("<Esc>");
    nvim.wait("normal mode", "vim.api.nvim_get_mode().mode == 'n'");
    let answered = nvim.text();
    let dialogue =
        format!("{comment} AUTHOR: {thread}\n{comment} AGENT: {answer}\n{comment} AUTHOR:");
    assert!(answered.contains(&dialogue), "{answered}");
    assert!(
        answered.contains(&format!("{comment} {sentence} and on")),
        "a key was lost: {answered}"
    );
    assert!(
        answered.contains(new) && !answered.contains(old),
        "{answered}"
    );
    assert_eq!(nvim.lua("return vim.bo.modified"), true);
    assert_eq!(
        workspace.read(file),
        before,
        "the file on disk is the author's to save"
    );

    // Undo takes back, step by step, what the author typed and what the turn wrote.
    let mut undone = answered.clone();
    for _ in 0..20 {
        if undone == asked {
            break;
        }
        nvim.keys("u");
        nvim.wait("the undo", &format!("text() ~= {}", json!(undone)));
        undone = nvim.text();
    }
    assert_eq!(
        undone, asked,
        "undo does not come back to the text as it was asked about"
    );
    nvim.wait_codes("pending");

    let rounds = rounds(&workspace);
    for part in ["[#1 ", thread, "file_read", "file_edit", answer] {
        assert!(
            rounds.contains(part),
            "no `{part}` in the rounds:\n{rounds}"
        );
    }
}

#[test]
fn a_turn_edits_and_answers_in_the_unsaved_rust_buffer() {
    if !peers::have(&["nvim", "rust-analyzer"]) {
        return;
    }
    main_job(Job {
        workspace: rust_project(),
        file: "src/lib.rs",
        above: "pub fn load",
        thread: "say which file it was, please",
        old: ".unwrap_or_default()",
        new: ".unwrap_or_else(|e| panic!(\"{}: {e}\", path.display()))",
        answer: "Done: the message names the file.",
        comment: "//",
    });
}

#[test]
fn a_turn_edits_and_answers_in_the_unsaved_python_buffer() {
    if !peers::have(&["nvim", "pylsp"]) {
        return;
    }
    main_job(Job {
        workspace: python_project(),
        file: "notes.py",
        above: "def load",
        thread: "read it as UTF-8?",
        old: "read_text()",
        new: "read_text(encoding=\"utf-8\")",
        answer: "Done: it reads UTF-8 everywhere.",
        comment: "#",
    });
}

#[test]
fn an_author_who_never_stops_typing_loses_nothing() {
    if !peers::have(&["nvim"]) {
        return;
    }
    let workspace = python_project();
    let model = model(
        "notes.py",
        "read_text()",
        "read_text(\"utf-8\")",
        "Done.",
        false,
    );
    let mut nvim = Nvim::start(&workspace, &with_model(&model), json!({}));
    nvim.edit(&workspace.path("notes.py"));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    nvim.keys(":setlocal formatoptions-=cro<CR>/def load<CR>O# AUTHOR: read it as UTF-8?<Esc>");
    nvim.wait_codes("pending");
    nvim.act("Reply as agent");
    nvim.keys("Go# ");
    let line = "words and words and words ".repeat(8);
    nvim.type_on(&line, |_| {});
    nvim.wait_codes("awaiting_user");
    let text = nvim.text();
    assert!(text.contains(&format!("# {line}")), "{text}");
    assert!(
        text.contains("read_text(\"utf-8\")") && text.contains("# AGENT: Done."),
        "{text}"
    );
}

/// A name in back quotes in a thread's text, asked for its definition.
fn definition(workspace: &Workspace, file: &str, above: &str, comment: &str, target: &str) {
    let mut nvim = Nvim::start(workspace, &[], json!({}));
    nvim.edit(&workspace.path(file));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    nvim.keys(&format!(
        "/{above}<CR>O{comment} AUTHOR: does `load` cache?<Esc>"
    ));
    nvim.wait_codes("pending");
    nvim.keys("F`hh:lua vim.lsp.buf.definition()<CR>");
    nvim.wait(
        "the definition",
        &format!(
            "vim.endswith(vim.api.nvim_buf_get_name(0), {})",
            json!(format!("/{target}"))
        ),
    );
    assert_eq!(nvim.lua("return vim.fn.expand('<cword>')"), "load");
    let line = nvim.lua("return vim.api.nvim_get_current_line()");
    assert!(
        line.as_str().is_some_and(|l| l.contains("load(path")),
        "{line}"
    );
}

#[test]
fn a_name_in_a_rust_thread_leads_to_its_definition() {
    if peers::have(&["nvim", "rust-analyzer"]) {
        definition(
            &rust_project(),
            "src/main.rs",
            "let text",
            "//",
            "src/lib.rs",
        );
    }
}

#[test]
fn a_name_in_a_python_thread_leads_to_its_definition() {
    if peers::have(&["nvim", "pylsp"]) {
        definition(&python_project(), "count.py", "return len", "#", "notes.py");
    }
}

/// The offline answers: a rename through the real child server, in the buffer and in a file that is closed.
fn offline_rename(workspace: &Workspace, file: &str, above: &str, comment: &str, other: &str) {
    let mut nvim = Nvim::start(workspace, &[("POSTIL_MODEL", "offline")], json!({}));
    nvim.edit(&workspace.path(file));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    nvim.keys(&format!(
        "/{above}<CR>O{comment} AUTHOR: rename `load` to load_data<Esc>"
    ));
    nvim.wait_codes("pending");
    let asked = nvim.text();
    nvim.act("Reply as agent");
    nvim.wait_codes("awaiting_user");
    let text = nvim.text();
    assert!(
        text.contains("load_data(path") && text.contains("AGENT:"),
        "{text}"
    );
    assert!(
        workspace.read(other).contains("load_data"),
        "{}",
        workspace.read(other)
    );
    assert!(
        !workspace.read(file).contains("load_data"),
        "the open file is not saved by us"
    );
    let rounds = rounds(workspace);
    assert!(
        rounds.contains("[#1 ") && rounds.contains("rename"),
        "{rounds}"
    );
    for _ in 0..5 {
        if nvim.text() == asked {
            break;
        }
        let text = nvim.text();
        nvim.keys("u");
        nvim.wait("the undo", &format!("text() ~= {}", json!(text)));
    }
    assert_eq!(nvim.text(), asked);
}

#[test]
fn offline_renames_through_rust_analyzer() {
    if peers::have(&["nvim", "rust-analyzer"]) {
        offline_rename(
            &rust_project(),
            "src/lib.rs",
            "pub fn load",
            "//",
            "src/main.rs",
        );
    }
}

#[test]
fn offline_renames_through_pylsp() {
    if peers::have(&["nvim", "pylsp"]) {
        offline_rename(&python_project(), "notes.py", "def load", "#", "count.py");
    }
}

/// The handler of `workspace/applyEdit` in lsp/postil.lua, with edits that a server could send.
#[test]
fn stale_edits_are_refused_whole_and_fresh_ones_undo_alone() {
    if !peers::have(&["nvim"]) {
        return;
    }
    let workspace = Workspace::new();
    let path = workspace.write("a.txt", "one\ntwo\n");
    let other = workspace.write("b.txt", "x\n");
    let mut nvim = Nvim::start(&workspace, &[], json!({}));
    // A server that says yes to everything, in Neovim's own process.
    nvim.lua(
        "_G.versions = {}
        local config = dofile(vim.api.nvim_get_runtime_file('lsp/postil.lua', false)[1])
        config.cmd = function() return {
            request = function(method, _, answer)
                answer(nil, { capabilities = { textDocumentSync = { openClose = true, change = 2 } } })
                return true, 1
            end,
            notify = function(method, params)
                opened = (opened or 0) + (method == 'textDocument/didOpen' and 1 or 0)
                local document = params and params.textDocument or {}
                versions[document.uri or ''] = document.version
                return true
            end, is_closing = function() return false end, terminate = function() end,
        } end
        function _G.serve(name) return vim.lsp.start(vim.tbl_extend('force', config, { name = name, root_dir = vim.fn.getcwd() }), { bufnr = 0 }) end
        function _G.apply(edits)
            local id = vim.lsp.get_clients({ name = 'fake' })[1].id
            local changes = vim.tbl_map(function(e) return { textDocument = { uri = vim.uri_from_fname(e[1]), version = e[2] },
                edits = { { range = { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 0 } }, newText = e[3] } } } end, edits)
            return config.handlers['workspace/applyEdit'](nil, { edit = { documentChanges = changes } }, { client_id = id })
        end",
    );
    nvim.edit(&other);
    nvim.lua("serve('fake')");
    nvim.edit(&path);
    nvim.lua("serve('fake')");
    // Neovim counts from 0 when it has told the server of a text, not before.
    nvim.wait("the clients", "opened == 2");
    let apply = |nvim: &mut Nvim, edits: Value| {
        nvim.lua(&format!(
            "return apply(vim.json.decode({}))",
            json!(edits.to_string())
        ))
    };

    nvim.keys("ityped ");
    nvim.wait_text("typed one");
    let version = nvim.wait("that it is told", "versions[vim.uri_from_bufnr(0)]");
    // Another server, which is slow to start: Neovim 0.10 counts from 0 again.
    nvim.lua("serve('late')");
    nvim.wait("the late one", "opened == 3");
    // Made for the text as it was opened: nothing is touched, in the other file neither.
    let refused = apply(&mut nvim, json!([[other, 0, "no "], [path, 0, "no "]]));
    assert_eq!(refused["applied"], false, "{refused}");
    assert!(
        refused["failureReason"]
            .as_str()
            .is_some_and(|r| r.contains("version")),
        "{refused}"
    );
    assert_eq!(nvim.text(), "typed one\ntwo");
    assert_eq!(nvim.lua("return text(vim.fn.bufnr('b.txt'))"), "x");

    let applied = apply(
        &mut nvim,
        json!([[other, 0, "yes "], [path, version, "yes "]]),
    );
    assert_eq!(applied["applied"], true, "{applied}");
    nvim.keys("more <Esc>");
    nvim.wait_text("typed more ");
    let steps = ["yes typed one\ntwo", "typed one\ntwo", "one\ntwo"];
    for step in steps {
        nvim.keys("u");
        nvim.wait(step, &format!("text() == {}", json!(step)));
    }

    // One that cannot be changed is found before the other is.
    nvim.lua("vim.bo[vim.fn.bufnr('b.txt')].modifiable = false");
    let refused = apply(
        &mut nvim,
        json!([[path, null, "no "], [other, null, "no "]]),
    );
    assert_eq!(
        refused,
        json!({"applied": false, "failureReason": "b.txt cannot be changed: 'modifiable' is off"})
    );
    assert_eq!(nvim.text(), "one\ntwo");
}
