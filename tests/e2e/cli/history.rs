//! Turns on the command line, and what is kept of them.

use super::*;

#[test]
fn a_reply_is_written_recorded_and_undone() {
    let workspace = Workspace::new();
    workspace.write(
        "src/main.rs",
        "// AUTHOR: rename load to load_data\nfn load() {}\n\nfn main() {\n    load();\n}\n",
    );
    workspace.git(&["init", "--quiet"]);
    let before = workspace.read("src/main.rs");
    postil(&workspace, &["trust", "--yes"]).ok();
    let id = ids(&workspace).remove(0);
    let end = postil(
        &workspace,
        &["reply", &id, "--yes", "--model", "offline", "--json"],
    );
    let out = end.ok().out;
    let end: Value = serde_json::from_str(out.lines().last().expect("a line")).expect("JSON");
    assert_eq!(end["status"], "completed", "{end}");
    let text = workspace.read("src/main.rs");
    assert!(
        text.contains("fn load_data() {}") && text.contains("    load_data();"),
        "{text}"
    );
    assert!(text.contains("// AGENT: "), "{text}");

    let runs = postil(&workspace, &["workflow", "list", "--json"])
        .ok()
        .json();
    let names: Vec<&String> = runs[0].as_object().expect("an object").keys().collect();
    assert_eq!(
        names,
        [
            "id",
            "status",
            "thread_id",
            "file",
            "started",
            "rounds",
            "tokens",
            "cost"
        ]
    );
    assert_eq!(
        (&runs[0]["thread_id"], &runs[0]["status"]),
        (&json!(id), &json!("completed"))
    );
    let listed = postil(&workspace, &["workflow", "list"]).ok().out;
    assert!(
        listed.ends_with("\n    rename load to load_data\n"),
        "{listed}"
    );
    let page = postil(&workspace, &["workflow", "thread", &id]).ok().out;
    assert!(
        page.starts_with("[#1 ") && page.contains("rename load to load_data"),
        "{page}"
    );

    postil(&workspace, &["undo", &id]).ok();
    assert_eq!(workspace.read("src/main.rs"), before);
    postil(&workspace, &["undo", &id]).refused("put back");
}

#[test]
fn what_is_pruned_is_gone_from_the_disk_also_beside_an_editor() {
    let secret = "let key = \"canary-7f3a\";\n";
    let (workspace, ran, _) =
        undone_after(&format!("{RENAME}{}", secret.repeat(20_000)), |text| text);
    ran.ok();
    let mut editor = Editor::start(&workspace);
    editor
        .command("postil.workflowList", json!({}))
        .expect("the history is open");
    let database = location(&workspace.data(), workspace.root());
    let folder = database.parent().expect("a folder").to_owned();
    let holds = || {
        let files = std::fs::read_dir(&folder).expect("a folder").flatten();
        let bytes = files
            .map(|file| std::fs::read(file.path()).unwrap_or_default())
            .collect::<Vec<_>>();
        let found = bytes
            .iter()
            .any(|bytes| bytes.windows(11).any(|at| at == b"canary-7f3a"));
        (found, bytes.iter().map(Vec::len).sum::<usize>())
    };
    let (found, size) = holds();
    assert!(found && size > 500_000);
    let pruned = postil(&workspace, &["workflow", "prune", "--older-than", "0h"]).ok();
    assert!(
        pruned.out.contains("1 run deleted, ") && !pruned.out.contains(" 0.0 MB"),
        "{pruned:?}"
    );
    let (found, size) = holds();
    assert!(!found && size < 300_000, "{size}");
    editor
        .command("postil.workflowList", json!({}))
        .expect("the editor goes on");
}

/// A turn in a text, what the author makes of the file then, and what undo says and leaves.
fn undone_after(before: &str, authors: impl Fn(String) -> String) -> (Workspace, Ran, String) {
    let workspace = Workspace::new();
    workspace.write("a.rs", before);
    workspace.git(&["init", "--quiet"]);
    postil(&workspace, &["trust", "--yes"]).ok();
    let id = ids(&workspace).remove(0);
    let reply = ["reply", &id, "--yes", "--model", "offline"];
    postil(&workspace, &reply).ok();
    workspace.write("a.rs", authors(workspace.read("a.rs")));
    let ran = postil(&workspace, &["undo", &id]);
    (workspace, ran, id)
}

const RENAME: &str = "// AUTHOR: rename load to load_data\nfn load() {}\n\nfn main() {}\n";

#[test]
fn undo_counts_lines_as_the_file_has_them() {
    // A lone CR, with a change of the author's elsewhere.
    let mac = RENAME.replace('\n', "\r");
    let (workspace, ran, _) = undone_after(&mac, |text| text.replace("main", "mine"));
    assert_eq!(ran.ok().out, "a.rs: put back\n");
    assert_eq!(workspace.read("a.rs"), mac.replace("main", "mine"));
    // Converted since.
    let (workspace, ran, _) = undone_after(RENAME, |text| text.replace('\n', "\r\n"));
    assert_eq!(ran.ok().out, "a.rs: put back\n");
    assert_eq!(workspace.read("a.rs"), RENAME.replace('\n', "\r\n"));
}

#[test]
fn a_turn_in_a_file_whose_name_is_no_utf_8_is_undone() {
    use std::os::unix::ffi::OsStrExt as _;

    let workspace = Workspace::new();
    let path = workspace
        .path("src")
        .join(std::ffi::OsStr::from_bytes(b"odd\xff.rs"));
    std::fs::create_dir(workspace.path("src")).expect("a folder");
    std::fs::write(&path, RENAME).expect("the file can be written");
    postil(&workspace, &["trust", "--yes"]).ok();
    let id = ids(&workspace).remove(0);
    let reply = ["reply", &id, "--yes", "--model", "offline"];
    postil(&workspace, &reply).ok();
    let text = || std::fs::read_to_string(&path).expect("the file can be read");
    assert!(text().contains("// AGENT: "));
    let undone = postil(&workspace, &["undo", &id]).ok();
    assert_eq!(text(), RENAME, "{undone:?}");
}

#[test]
fn what_is_not_taken_back_is_not_called_undone() {
    // All that the turn wrote is the author's by now.
    let mine = "fn mine() {}\n";
    let (workspace, ran, id) = undone_after(RENAME, |_| String::from(mine));
    ran.refused("a.rs: not put back, what the turn wrote is not on disk");
    assert_eq!(workspace.read("a.rs"), mine);
    postil(&workspace, &["undo", &id]).refused("not put back");
    // As it was: by `git checkout`, say, after which it may come back.
    workspace.write("a.rs", RENAME);
    for _ in 0..2 {
        let ran = postil(&workspace, &["undo", &id]).ok();
        assert_eq!(ran.out, "a.rs: is as before the turn already\n");
    }
    // What can be taken back is, once; the line that stays is named once.
    let (workspace, ran, id) = undone_after(RENAME, |text| {
        text.replace("fn load_data", "pub fn load_data")
    });
    let said = ran.ok().out;
    assert!(
        said.contains("put back, but for what you have changed since at line 2\n"),
        "{said}"
    );
    assert_eq!(
        workspace.read("a.rs"),
        RENAME.replace("fn load", "pub fn load_data")
    );
    postil(&workspace, &["undo", &id]).refused("nothing to put back");
}

/// Another branch has the file as it was before the turn; the turn's own has it as it was written.
#[test]
fn a_turn_that_is_undone_on_another_branch_can_be_undone_on_its_own() {
    let workspace = Workspace::new();
    workspace.write("a.rs", RENAME);
    let git = |args: &[&str]| workspace.git(args);
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "First"]);
    git(&["checkout", "--quiet", "-b", "other"]);
    postil(&workspace, &["trust", "--yes"]).ok();
    let id = ids(&workspace).remove(0);
    let reply = ["reply", &id, "--yes", "--model", "offline"];
    postil(&workspace, &reply).ok();
    let written = workspace.read("a.rs");
    let finds_nothing = || {
        assert_eq!(workspace.read("a.rs"), RENAME);
        let ran = postil(&workspace, &["undo", &id]).ok();
        assert_eq!(ran.out, "a.rs: is as before the turn already\n");
    };
    git(&["stash", "--quiet"]);
    finds_nothing();
    git(&["stash", "pop", "--quiet"]);
    assert_eq!(workspace.read("a.rs"), written);
    git(&["commit", "--quiet", "-a", "-m", "Rename"]);
    git(&["checkout", "--quiet", "main"]);
    finds_nothing();
    git(&["checkout", "--quiet", "other"]);
    assert_eq!(workspace.read("a.rs"), written);
    let ran = postil(&workspace, &["undo", &id]).ok();
    assert_eq!(ran.out, "a.rs: put back\n");
    assert_eq!(workspace.read("a.rs"), RENAME);
    postil(&workspace, &["undo", &id]).refused("nothing to put back");
}

#[test]
fn reply_to_all_answers_what_is_pending() {
    let workspace = project();
    workspace.write(
        "b.py",
        "def f():\n    # AUTHOR: where is f defined?\n    pass\n",
    );
    workspace.write("c.py", "# AUTHOR: why?\n# AGENT: Because.\n# AUTHOR:\n");
    let ends = postil(
        &workspace,
        &[
            "reply", "--all", "--model", "offline", "--jobs", "2", "--json",
        ],
    );
    let ends = ends.ok();
    // Nobody is there to say whether to trust the folder: that is told, and once.
    assert_eq!(
        ends.err.matches("changes nothing").count(),
        1,
        "{}",
        ends.err
    );
    assert!(ends.err.contains("`postil trust`"), "{}", ends.err);
    let ends = ends.out;
    assert_eq!(ends.matches("\"event\":\"end\"").count(), 2, "{ends}");
    let list = postil(&workspace, &["threads", "--json"]).ok().json();
    assert_eq!(
        list["summary"],
        json!({"total": 3, "pending": 0, "awaiting_user": 3})
    );
    let none = postil(&workspace, &["reply", "--all", "--json"]).ok();
    assert_eq!(none.out, "");
    postil(
        &workspace,
        &["reply", &ids(&workspace)[0], "--model", "offline"],
    )
    .refused("waits for you");
}

#[test]
fn a_batch_that_nobody_can_be_asked_about_is_left_as_it_is() {
    let workspace = project();
    let text = "# AUTHOR: rename load to load_data\ndef load():\n    pass\n";
    workspace.write("b.py", text);
    workspace.write("c.py", "# AUTHOR: why?\n# AGENT: Because.\n# AUTHOR:\n");
    postil(&workspace, &["trust", "--yes"]).ok();
    let all = &["reply", "--all", "b.py", "--model", "offline"];
    let refused = postil(&workspace, all).refused("--yes lets them");
    assert!(refused.err.contains("in b.py"), "{refused:?}");
    assert_eq!(workspace.read("b.py"), text);
    let runs = postil(&workspace, &["workflow", "list", "--json"]).ok();
    assert_eq!(runs.json(), json!([]));
    // One that is named is answered, changes nothing, and says why.
    workspace.write("a.py", "# AUTHOR: rename a to b\ndef a():\n    pass\n");
    let id = ids(&workspace).remove(0);
    let told = postil(&workspace, &["reply", &id, "--model", "offline"]).ok();
    assert!(
        told.err.contains("came with a.py") && told.err.contains("--yes"),
        "{told:?}"
    );
    assert!(workspace.read("a.py").contains("def a():"));
    // What it names works.
    postil(&workspace, &[&all[..], &["--yes"]].concat()).ok();
    assert!(workspace.read("b.py").contains("def load_data()"));
    // What was typed here needs no word.
    postil(&workspace, &["new", "c.py:4", "where is load defined?"]).ok();
    postil(
        &workspace,
        &["reply", "--all", "c.py", "--model", "offline"],
    )
    .ok();
}

/// The answer takes lines itself: it names those at which things stand beside it.
#[test]
fn lines_that_an_answer_names_are_those_of_the_file_with_it() {
    let used = "where is load used?";
    let uses = "fn a() {\n    load();\n}\n";
    let notes = "\nfn b() {} // TODO: first\n\n// TODO: second\nfn c() {}\n";
    for (text, places) in [
        (
            format!("{uses}// AUTHOR: {used}\nfn load() {{}}\n{uses}"),
            2,
        ),
        (format!("{uses}fn load() {{}} // AUTHOR: {used}\n{uses}"), 2),
        (
            format!("{uses}/* AUTHOR: {used} */\nfn load() {{}}\n{uses}"),
            2,
        ),
        (
            format!("{uses}/*\nAUTHOR: {used}\n*/ fn load() {{ load() }}\n{uses}"),
            3,
        ),
        (format!("// AUTHOR: list todos\n{notes}"), 2),
        (format!("/* AUTHOR: list todos */\n{notes}"), 2),
    ] {
        for end in ["\n", "\r\n"] {
            let workspace = Workspace::new();
            workspace.write("a.rs", text.replace('\n', end));
            postil(
                &workspace,
                &["reply", "--all", "--model", "offline", "--yes"],
            )
            .ok();
            let now = workspace.read("a.rs");
            let lines: Vec<&str> = now.split(end).collect();
            let answer: Vec<&str> = now.split("AGENT: ").skip(1).collect();
            let named = answer[0].split("a.rs:").skip(1).map(|rest| {
                let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
                let number: usize = number.parse().expect("a line");
                (lines[number - 1], rest)
            });
            let named: Vec<(&str, &str)> = named.collect();
            assert_eq!(named.len(), places, "{now}");
            for (line, rest) in named {
                let stands = match rest.split_once("TODO: ") {
                    Some((_, note)) => {
                        line.contains(note.split_whitespace().next().expect("a note"))
                    }
                    None => line.contains("load()") && !line.contains("AGENT"),
                };
                assert!(stands, "{line}\n{now}");
            }
        }
    }
}

#[test]
fn runs_of_a_thread_are_listed_by_a_unique_prefix() {
    let workspace = project();
    let store = store(&workspace);
    for id in ["aaaa1110", "aaaa1111", "bbbb1111"] {
        let run = store.begin(id, "src/main.rs", "m").expect("begun");
        store
            .finish(&run.id, RunStatus::Completed, None)
            .expect("finished");
    }
    let list = |id: &str| postil(&workspace, &["workflow", "list", "--thread", id, "--json"]);
    assert_eq!(list("bbbb").ok().json()[0]["thread_id"], "bbbb1111");
    assert_eq!(list("aaaa").json()["code"], "ambiguous_id");
    assert_eq!(list("b").json()["code"], "short_id");
    assert_eq!(list("zzzzz").json()["code"], "unknown_thread");
    // One that stands there and was never answered; one that nobody knows, by its whole id.
    let id = &ids(&workspace)[0];
    assert_eq!(list(&id[..5]).ok().json(), json!([]));
    assert_eq!(list("cccc1111").ok().json(), json!([]));
}

#[test]
fn a_turn_without_a_key_names_the_variable() {
    let workspace = project();
    let id = ids(&workspace).remove(0);
    let failed = postil(
        &workspace,
        &["reply", &id, "--model", "anthropic/claude-sonnet-4-5"],
    );
    failed.refused("ANTHROPIC_API_KEY");
    assert_eq!(workspace.read("src/main.rs"), MAIN);
}

/// A run with `rounds` rounds of some length.
pub(super) fn run_with(workspace: &Workspace, rounds: usize) -> String {
    let store = store(workspace);
    let run = store.begin("3f9a01bc", "src/main.rs", "m").expect("begun");
    for n in 1..=rounds {
        let metadata = Map::from_iter([(String::from("exit_code"), json!(n))]);
        let content = format!("Round {n}. {}", "é".repeat(100));
        store
            .append(&run.id, "tester", metadata, &content)
            .expect("appended");
    }
    store
        .finish(&run.id, RunStatus::Completed, None)
        .expect("finished");
    run.id
}

#[test]
fn workflow_thread_pages_through_a_run() {
    let workspace = project();
    let run = run_with(&workspace, 40);
    let mut seen: Vec<u64> = Vec::new();
    let mut before: Option<String> = None;
    loop {
        let mut args = vec!["workflow", "thread", &run[..8], "--budget", "1500"];
        if let Some(before) = &before {
            args.extend(["--before", before]);
        }
        let page = postil(&workspace, &args).ok().out;
        assert!(page.chars().count() <= 1500);
        let numbers = page
            .lines()
            .filter_map(|line| line.strip_prefix("[#")?.split(' ').next()?.parse().ok());
        let mut numbers: Vec<u64> = numbers.collect();
        if before.is_none() {
            // The request, at the head of the first page.
            assert_eq!(numbers.remove(0), 1);
        }
        seen.splice(0..0, numbers);
        let hint = page
            .lines()
            .find_map(|line| line.split_once("(use --before ")?.1.split(' ').next());
        match hint {
            Some(next) => before = Some(next.to_owned()),
            None => break,
        }
    }
    assert!(seen.into_iter().eq(1..=40));

    let lines = postil(
        &workspace,
        &["workflow", "thread", &run, "--before", "3", "--json"],
    )
    .ok()
    .out;
    let rounds: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(rounds.len(), 2);
    assert_eq!(rounds[1]["round"], 2);
    assert_eq!(rounds[1]["metadata"], json!({"exit_code": 2}));

    postil(&workspace, &["workflow", "thread", &run, "--before", "1"]).ok();
    // More than any run has, and than a number of the machine's holds.
    let [some, any] = ["999999", "99999999999999999999999"].map(|number| {
        let args = ["workflow", "thread", &run, "--before", number, "--budget"];
        postil(&workspace, &[&args[..], &[number]].concat())
            .ok()
            .out
    });
    assert!(some.contains("[#40 ") && some == any, "{any}");
    postil(&workspace, &["workflow", "thread", "0000dead"]).refused("no run `0000dead`");
}

#[test]
fn runs_are_shown_searched_exported_and_pruned() {
    let workspace = project();
    let run = run_with(&workspace, 3);
    let facts = postil(&workspace, &["workflow", "show", &run, "--json"])
        .ok()
        .json();
    assert_eq!(
        (&facts["rounds"], &facts["model"]),
        (&json!(3), &json!("m"))
    );
    let hits = postil(&workspace, &["workflow", "search", "Round", "2", "--json"])
        .ok()
        .json();
    assert_eq!(hits[0]["round"], 2);
    let markdown = postil(&workspace, &["workflow", "export", &run]).ok().out;
    assert!(markdown.contains("## 3. tester"), "{markdown}");
    let html = postil(
        &workspace,
        &["workflow", "export", &run, "--format", "html"],
    )
    .ok()
    .out;
    assert!(html.contains("<h2>3. tester</h2>"), "{html}");
    let whole = postil(&workspace, &["workflow", "export", &run, "--json"])
        .ok()
        .json();
    assert_eq!(whole["rounds"].as_array().map(Vec::len), Some(3));
    postil(&workspace, &["workflow", "cancel", &run]).refused("not running");
    postil(&workspace, &["workflow", "prune", "--older-than", "1d"]).ok();
    postil(&workspace, &["workflow", "show", &run]).ok();
    let dry = ["workflow", "prune", "--older-than", "0h", "--dry-run"];
    let dry = postil(&workspace, &dry).ok().out;
    assert!(dry.ends_with("\n1 run would be deleted\n"), "{dry}");
    postil(&workspace, &["workflow", "prune", "--older-than", "0h"]).ok();
    postil(&workspace, &["workflow", "show", &run]).refused("no run");
}
