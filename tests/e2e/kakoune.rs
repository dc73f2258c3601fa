//! Kakoune with kakoune-lsp, in a terminal (tmux), by the `kakrc` that docs/editors/kakoune.md gives.

use std::ffi::OsStr;

use serde_json::json;

use crate::harness::{Workspace, wait_until};
use crate::helix::wrong::kill_servers;
use crate::helix::{Terminal, command};
use crate::model::{Model, Step, call};
use crate::peers;

/// The page's configuration.
fn kakrc() -> &'static str {
    include_str!("../../docs/editors/kakoune.md")
        .split("```")
        .nth(1)
        .expect("a block")
}

/// `kak FILE` in a terminal.
fn opened(workspace: &Workspace, file: &str) -> Terminal {
    opened_with(workspace, file, &[])
}

fn opened_with(workspace: &Workspace, file: &str, more: &[(&str, &OsStr)]) -> Terminal {
    let home = workspace.data().parent().expect("a folder").to_owned();
    let config = home.join("kak-config");
    std::fs::create_dir_all(config.join("kak")).expect("a folder");
    std::fs::write(config.join("kak/kakrc"), kakrc()).expect("kakrc");
    let mut all = vec![("XDG_CONFIG_HOME", config.as_os_str())];
    all.extend_from_slice(more);
    Terminal::open(workspace, &all, &format!("kak {file}"))
}

#[test]
fn a_thread_is_asked_answered_and_resolved_in_kakoune() {
    if !peers::have(&["kak", "kak-lsp", "tmux", "pylsp"]) {
        return;
    }
    let workspace = Workspace::new();
    workspace.write(
        "notes.py",
        "def load(path):\n    return path\n\n\nload(1)\n",
    );
    workspace.write("notes.sql", "-- AUTHOR: why one?\nselect 1;\n");
    workspace.git(&["init", "-q"]);
    // Beside pylsp.
    let terminal = opened(&workspace, "notes.py");
    terminal.wait("the file", |s| s.contains("def load(path)"));
    terminal.text("O# AUTHOR: where is `load` used?");
    terminal.key("Escape");
    terminal.wait("the thread", |s| s.contains("awaiting agent"));
    terminal.text(" pr");
    // Whether a step comes through beside another server's is up to kakoune-lsp (the page); this always does.
    terminal.wait("that a question waits", |s| {
        s.contains("agent at work") && s.contains("🔔1")
    });
    terminal.text(" pa");
    terminal.wait("the question", |s| s.contains("Trust this workspace"));
    terminal.key("Enter");
    // An action of a turn that has ended is offered when it has.
    terminal.wait("the answer and its end", |s| {
        s.contains("# AGENT: `load` is used once")
            && !s.contains("agent at work")
            && !s.contains('⌛')
    });
    terminal.text(" pu");
    terminal.wait("the undo", |s| {
        !s.contains("# AGENT: ") && s.contains("awaiting agent")
    });
    terminal.text(" pd");
    terminal.wait("the file without it", |s| !s.contains("# AUTHOR: "));
    // Of a language for which kakoune-lsp has no server.
    command(&terminal, ":edit! notes.sql");
    terminal.wait("its thread", |s| s.contains("awaiting agent: why one?"));
    command(&terminal, ":kill!");
}

fn trust(workspace: &Workspace) {
    workspace.git(&["init", "-q"]);
    let trust = workspace.postil().args(["trust", "--yes"]).status();
    assert!(trust.expect("it runs").success());
}

/// Opens the question that waits, and answers it.
fn allow_edits(terminal: &Terminal) {
    terminal.text(" pa");
    terminal.wait("the question", |s| s.contains("Allow edits"));
    terminal.key("Enter");
}

/// The screen without what a box breaks a sentence by.
fn unboxed(screen: &str) -> String {
    let words = screen.split(|c: char| c.is_whitespace() || "│~".contains(c));
    words.filter(|word| !word.is_empty()).collect()
}

#[test]
fn what_a_question_asks_stands_beside_its_choices_in_kakoune() {
    if !peers::have(&["kak", "kak-lsp", "tmux"]) {
        return;
    }
    let workspace = Workspace::new();
    workspace.write("notes.sql", "-- AUTHOR: run the shell\nselect 1;\n");
    workspace.git(&["init", "-q"]);
    let run = json!({"command": "touch ran-it; rm -rf build"});
    let model = Model::start(vec![
        Step::calls(vec![call("b", "bash", run)]),
        Step::text("It did not run."),
    ]);
    let terminal = opened_with(&workspace, "notes.sql", &model.in_terminal());
    // The size of a terminal that nobody made larger.
    terminal.resize(80, 24);
    terminal.wait("the thread", |s| s.contains("awaiting agent"));
    terminal.text(" pr");
    let folder = workspace.root().display().to_string();
    for (asked, choice) in [
        (
            format!("{folder} is not trusted. Trusting it lets"),
            "Trust this workspace",
        ),
        (
            "not typed here, it came with notes.sql".to_owned(),
            "Allow edits",
        ),
        (
            format!("wants to run `touch ran-it; rm -rf build` with bash, in {folder}."),
            "Allow once",
        ),
    ] {
        terminal.wait("that a question waits", |s| s.contains("🔔1"));
        terminal.text(" pa");
        let asked: String = asked.split_whitespace().collect();
        terminal.wait(&asked, |s| {
            s.contains(choice) && unboxed(s).contains(&asked)
        });
        // The last one is left, which is a no.
        terminal.key(if choice == "Allow once" {
            "Escape"
        } else {
            "Enter"
        });
        terminal.wait("the text below", |s| !unboxed(s).contains(&asked));
    }
    terminal.wait("the answer", |s| s.contains("-- AGENT: It did not run."));
    assert!(!workspace.root().join("ran-it").exists());
    command(&terminal, ":kill!");
}

#[test]
fn an_answer_to_a_question_that_is_gone_is_told_of_in_kakoune() {
    if !peers::have(&["kak", "kak-lsp", "tmux"]) {
        return;
    }
    let workspace = Workspace::new();
    workspace.write(
        "notes.sql",
        "-- AUTHOR: where is `one` used?\nselect one;\n",
    );
    workspace.git(&["init", "-q"]);
    let terminal = opened(&workspace, "notes.sql");
    terminal.wait("the thread", |s| s.contains("awaiting agent"));
    terminal.text(" pr");
    terminal.wait("that a question waits", |s| s.contains("🔔1"));
    terminal.text(" pc");
    terminal.wait("its end", |s| {
        s.contains("awaiting agent") && !s.contains("agent at work")
    });
    // kakoune-lsp goes on to show it.
    terminal.text(" pa");
    terminal.wait("the question", |s| s.contains("Trust this workspace"));
    terminal.key("Enter");
    terminal.wait("that it is not open", |s| {
        unboxed(s).contains("nolongeropen:nothingwasdone") && !s.contains("🔔1")
    });
    command(&terminal, ":kill!");
}

#[test]
fn a_killed_server_comes_back_in_kakoune_and_sees_what_is_not_saved() {
    if !peers::have(&["kak", "kak-lsp", "tmux"]) {
        return;
    }
    let workspace = Workspace::new();
    workspace.write("notes.sql", "select one;\n");
    trust(&workspace);
    let terminal = opened(&workspace, "notes.sql");
    terminal.wait("the file", |s| s.contains("select one;"));
    terminal.text("O-- AUTHOR: where is `one` used?");
    terminal.key("Escape");
    terminal.wait("the thread", |s| s.contains("awaiting agent"));
    kill_servers(&workspace);
    command(&terminal, ":lsp-restart");
    terminal.wait("the thread again", |s| {
        s.contains("Restarted") && s.contains("awaiting agent")
    });
    terminal.text(" pr");
    let answered = |s: &str| s.contains("-- AGENT: ");
    // A server that is killed at once has not kept yet who typed the question.
    if terminal
        .wait("its begin", |s| answered(s) || s.contains("🔔1"))
        .contains("🔔1")
    {
        allow_edits(&terminal);
    }
    terminal.wait("the answer", answered);
    command(&terminal, ":kill!");
}

#[test]
fn an_answer_at_the_end_of_a_file_and_one_among_other_line_ends_stand_by_themselves_in_kakoune() {
    if !peers::have(&["kak", "kak-lsp", "tmux"]) {
        return;
    }
    let workspace = Workspace::new();
    workspace.write("end.sql", "select one;\n-- AUTHOR: where is `one` used?\n");
    workspace.write(
        "dos.sql",
        "-- AUTHOR: where is `one` used?\r\nselect one;\r\n",
    );
    trust(&workspace);
    for (file, above, below) in [
        ("end.sql", "select one;\n", ""),
        ("dos.sql", "", "select one;\r\n"),
    ] {
        let before = workspace.read(file);
        let terminal = opened(&workspace, file);
        terminal.wait("the thread", |s| s.contains("awaiting agent"));
        if above.is_empty() {
            terminal.text(" pr");
        } else {
            terminal.text("ge pr");
        }
        terminal.wait("that a question waits", |s| s.contains("🔔1"));
        allow_edits(&terminal);
        terminal.wait("the answer", |s| s.contains("answered: "));
        command(&terminal, ":w");
        let end = if before.contains('\r') { "\r\n" } else { "\n" };
        let saved = || {
            let now = workspace.read(file);
            let thread = now
                .strip_prefix(above)
                .and_then(|rest| rest.strip_suffix(below));
            let lines: Vec<&str> = thread.unwrap_or_default().split(end).collect();
            let begins = [
                "-- AUTHOR: where is `one` used?",
                "-- AGENT: `one` is used",
                "-- AUTHOR:",
                "",
            ];
            lines.len() == 4
                && lines
                    .iter()
                    .zip(begins)
                    .all(|(line, begin)| line.starts_with(begin))
        };
        wait_until(&format!("{file} with its answer"), saved);
        // By the agent's undo, which has the whole file as it was.
        terminal.text(" pu");
        terminal.wait("the question again", |s| s.contains("awaiting agent"));
        command(&terminal, ":w");
        wait_until("the file as it was", || workspace.read(file) == before);
        command(&terminal, ":kill!");
    }
}

#[test]
fn unsaved_text_outlives_another_programs_change_of_the_file_in_kakoune() {
    if !peers::have(&["kak", "kak-lsp", "tmux"]) {
        return;
    }
    let workspace = Workspace::new();
    workspace.write("notes.sql", "-- AUTHOR: why one?\nselect 1;\n");
    let terminal = opened(&workspace, "notes.sql");
    terminal.wait("the thread", |s| s.contains("awaiting agent"));
    // Without changes it is taken as it is.
    workspace.write("notes.sql", "-- AUTHOR: why one?\nselect 2;\n");
    terminal.wait("the other's change", |s| s.contains("select 2;"));
    terminal.text("geo-- mine");
    terminal.key("Escape");
    terminal.wait("that it is not saved", |s| {
        s.contains("-- mine") && s.contains("[+]")
    });
    std::thread::sleep(std::time::Duration::from_millis(500));
    workspace.write("notes.sql", "-- AUTHOR: why one?\nselect 3;\n");
    terminal.wait("the editor's question", |s| {
        s.contains("-- mine") && s.contains("reload")
    });
    terminal.text("n");
    terminal.wait("the text", |s| {
        s.contains("-- mine") && s.contains("[+]") && s.contains("select 2;")
    });
    command(&terminal, ":kill!");
}

#[test]
fn a_rename_after_the_line_ends_were_changed_in_kakoune_says_that_it_is_made() {
    if !peers::have(&["kak", "kak-lsp", "tmux", "pylsp"]) {
        return;
    }
    let workspace = Workspace::new();
    workspace.write(
        "notes.py",
        "# AUTHOR: rename `load` to `fetch`\r\ndef load(path):\r\n    return path\r\n\r\n\r\nload(1)\r\n",
    );
    trust(&workspace);
    let terminal = opened(&workspace, "notes.py");
    terminal.wait("the thread", |s| s.contains("awaiting agent"));
    command(&terminal, ":set-option buffer eolformat lf");
    terminal.text(" pr");
    terminal.wait("that a question waits", |s| s.contains("🔔1"));
    allow_edits(&terminal);
    terminal.wait("the answer", |s| s.contains("Renamed `load`"));
    command(&terminal, ":w");
    wait_until("the renamed file", || {
        let now = workspace.read("notes.py");
        now.contains("def fetch(path):\n") && now.contains("\nfetch(1)\n")
    });
    let saved = workspace.read("notes.py");
    assert!(
        !saved.contains("Nothing was renamed") && !saved.contains("only; not in"),
        "{saved}"
    );
    command(&terminal, ":kill!");
}

#[test]
fn attack_11_what_an_agent_asks_is_no_command_for_kakoune() {
    if !peers::have(&["kak", "kak-lsp", "tmux"]) {
        return;
    }
    let workspace = Workspace::new();
    workspace.write("notes.sql", "select 1;\n");
    trust(&workspace);
    let choice = r"x\0047 \0047nop\0047 ; nop %sh{touch pwned} ; nop \0047";
    let input = json!({"question": "Which?", "choices": [choice, "no"]});
    let model = Model::start(vec![
        Step::calls(vec![call("a", "ask_user", input)]),
        Step::text("Taken."),
    ]);
    let terminal = opened_with(&workspace, "notes.sql", &model.in_terminal());
    terminal.wait("the file", |s| s.contains("select 1;"));
    terminal.text("O-- AUTHOR: ask me");
    terminal.key("Escape");
    terminal.wait("the thread", |s| s.contains("awaiting agent"));
    terminal.text(" pr");
    terminal.wait("that a question waits", |s| s.contains("🔔1"));
    terminal.text(" pa");
    terminal.wait("the choices", |s| s.contains("x∖0047 ∖0047nop"));
    terminal.key("Enter");
    terminal.wait("the answer", |s| s.contains("-- AGENT: Taken."));
    let told = model.requests()[1].results();
    assert_eq!(told[0].1, format!("The author answered: (a) {choice}"));
    // The page's own lines, with a text as another server could send it.
    let choice = choice.replacen('x', "y", 1);
    let call = format!("lsp-show-message-request Which? nop %{{'{choice}'}} %{{'echo taken'}}");
    command(&terminal, &format!(":{call}"));
    terminal.wait("the choice as it is", |s| s.contains(r"y\0047 \0047nop"));
    terminal.key("Enter");
    terminal.wait("its command", |s| {
        s.contains("taken") && !s.contains(r"y\0047")
    });
    assert!(!workspace.root().join("pwned").exists());
    command(&terminal, ":kill!");
}
