//! Each key of editors/helix/config.toml that no other case presses, and a folder that is not trusted.

use super::{AT_THREAD, allowed, command, keys, opened, programs, project, start, take};

#[test]
fn every_key_of_the_page_does_what_it_says_in_helix() {
    for program in programs() {
        let workspace = project();
        workspace.write(
            "notes.py",
            "\"\"\"Notes.\"\"\"\n\n\n# AUTHOR: what is `load`?\ndef load(path):\n    # AUTHOR: why?\n    # AGENT: Because.\n    # AUTHOR: done\n    return path\n",
        );
        workspace.write(
            "count.py",
            "from notes import load\n\n# AUTHOR: why print?\nprint(load(1))\n",
        );
        let terminal = start(&workspace, program, "notes.py");
        terminal.wait("the thread", |s| s.contains("awaiting agent: what is"));
        keys(&terminal, &["Space", "m", "n"]);
        terminal.wait("the first thread", |s| s.contains(" sel  4:"));
        keys(&terminal, &["g", "e", "Space", "m", "p", "Space", "m", "p"]);
        terminal.wait("the first thread, from below", |s| s.contains(" sel  4:"));
        keys(&terminal, &["Space", "m", "L"]);
        terminal.wait("the threads of the workspace", |s| {
            s.contains("agent: why pr") && s.contains("agent: what i") && s.contains("count.py")
        });
        keys(&terminal, &["Escape", "Space", "m", "d"]);
        terminal.wait("the file without the thread that is done", |s| {
            !s.contains("AGENT: Because.") && s.contains("return path")
        });
        assert!(terminal.screen().contains("# AUTHOR: what is `load`?"));
        command(&terminal, ":qa!");
    }
}

/// 25.01 shows no questions: this one stands at the thread.
#[test]
fn a_folder_that_is_not_trusted_is_asked_about_or_trusted_by_a_key_in_helix() {
    for program in programs() {
        let workspace = project();
        let terminal = start(&workspace, program, "notes.py:4");
        terminal.key("O");
        terminal.text("# AUTHOR: rename `load` to load_data");
        terminal.key("Escape");
        terminal.wait("the thread", |s| s.contains("awaiting agent"));
        keys(&terminal, &["Space", "m", "r"]);
        if program == "hx" {
            terminal.wait("the question", |s| s.contains(AT_THREAD));
            keys(&terminal, &["Space", "a"]);
            take(&terminal, "Trust this workspace");
        } else {
            terminal.wait("the question", |s| {
                s.contains("is not trusted. Trusting it lets an agent edit")
                    && s.contains("Read-only this time")
            });
            // *Not now* is chosen already: Return may have been meant for the text.
            terminal.wait("the answers", |s| s.contains("Trust this workspace"));
            keys(&terminal, &["Down", "Enter"]);
        }
        let is_done = |s: &str| s.contains("# AGENT: ") && s.contains("def load_data(path)");
        // The question before this one is gone first.
        terminal.wait("the new name", |s| {
            is_done(s) || s.contains("was not typed here")
        });
        allowed(&terminal, "the new name", is_done);
        command(&terminal, ":qa!");
    }
}

#[test]
fn a_plan_changes_nothing_and_a_line_tells_why_it_is_so_in_helix() {
    for program in programs() {
        let (workspace, terminal) = opened(program, "notes.py:4");
        terminal.key("O");
        terminal.text("# AUTHOR: rename `load` to load_data");
        terminal.key("Escape");
        terminal.wait("the thread", |s| s.contains("awaiting agent"));
        keys(&terminal, &["Space", "a"]);
        take(&terminal, "Plan only (read-only)");
        terminal.wait("the answer", |s| {
            s.contains("# AGENT: Nothing was renamed: this turn is read-only.")
        });
        assert!(terminal.screen().contains("def load(path)"));
        assert!(workspace.read("count.py").contains("load(1)"));
        keys(&terminal, &["g", "e", "k", "Space", "a"]);
        take(&terminal, "Why is this so?");
        terminal.wait("why", |s| {
            s.contains("no closed conversation is tied to notes.py")
        });
        command(&terminal, ":qa!");
    }
}
