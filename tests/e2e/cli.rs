//! Every command: what it prints, what it changes, its exit status.

use std::io::{Read as _, Write as _};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use postil::store::{RunStatus, Store, location};
use serde_json::{Map, Value, json};

use crate::harness::{Editor, Workspace};

mod batches; // many threads at once
mod completing; // what a shell offers at a Tab
mod doctor; // what is wrong and is found
mod history; // turns, runs, rounds
mod manual; // man pages
mod open; // files that are open in an editor
mod page; // docs/settings.md
mod quiet; // what --quiet does not hide
mod refusals; // what cannot be done, and is said in one sentence

const MAIN: &str = "fn main() {\n    // AUTHOR: what is load?\n    load();\n}\n\nfn load() {}\n";

/// What a command did.
#[derive(Debug)]
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    /// Status 1 and one sentence that has `says` in it.
    #[track_caller]
    fn refused(self, says: &str) -> Self {
        assert_eq!(self.code, 1, "{self:?}");
        assert!(self.err.contains(says), "{says}: {self:?}");
        assert_eq!(self.err.trim_end().lines().count(), 1, "{self:?}");
        self
    }
}

fn ran(output: Output) -> Ran {
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ran {
        code: output.status.code().expect("an exit status"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

fn postil(workspace: &Workspace, args: &[&str]) -> Ran {
    ran(workspace
        .postil()
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("postil runs"))
}

fn with_input(workspace: &Workspace, args: &[&str], input: &[u8]) -> Ran {
    let mut command = workspace.postil();
    command.args(args).stdin(Stdio::piped());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("postil runs");
    child
        .stdin
        .take()
        .expect("piped")
        .write_all(input)
        .expect("written");
    ran(child.wait_with_output().expect("it ends"))
}

/// A repository with one thread in `src/main.rs`.
fn project() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("src/main.rs", MAIN);
    workspace.git(&["init", "--quiet"]);
    workspace.git(&["add", "."]);
    workspace.git(&["commit", "--quiet", "-m", "First"]);
    workspace
}

fn ids(workspace: &Workspace) -> Vec<String> {
    let list = postil(workspace, &["threads", "--json"]).ok().json();
    let threads = list["threads"].as_array().expect("an array");
    threads
        .iter()
        .map(|thread| thread["id"].as_str().expect("an id").to_owned())
        .collect()
}

fn store(workspace: &Workspace) -> Store {
    Store::open(&workspace.data(), workspace.root()).expect("the store opens")
}

// -- threads ------------------------------------------------------------------------------------

#[test]
fn threads_are_listed_for_people_and_for_programs() {
    let workspace = project();
    workspace.write("b.py", "# AUTHOR: why?\n# AGENT: Because.\n# AUTHOR:\n");
    let list = postil(&workspace, &["threads", "--json"]).ok().json();
    assert_eq!(
        list["summary"],
        json!({"total": 2, "pending": 1, "awaiting_user": 1})
    );
    assert_eq!(list["threads"][1]["start_line"], 2);

    let text = postil(&workspace, &["threads"]).ok().out;
    assert!(
        text.contains("src/main.rs:2") && text.contains("what is load?"),
        "{text}"
    );
    assert!(
        text.contains("2 threads: 1 pending, 1 awaiting you"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "no colours in a pipe");
    let coloured = postil(&workspace, &["threads", "--color", "always"])
        .ok()
        .out;
    assert!(coloured.contains('\u{1b}'));

    let pending = postil(&workspace, &["threads", "--status", "pending", "--json"])
        .ok()
        .json();
    assert_eq!(
        pending["summary"],
        json!({"total": 1, "pending": 1, "awaiting_user": 0})
    );
    let below = postil(&workspace, &["threads", "src", "--json"])
        .ok()
        .json();
    assert_eq!(below["summary"]["total"], 1);

    // What is odd of one stands behind its status.
    workspace.write("d.py", "# AGENT: so\n");
    workspace.write("e.py", b"# AUTHOR: caf\xe9?\n");
    let text = postil(&workspace, &["threads"]).ok().out;
    let line = |file: &str| {
        text.lines()
            .find(|line| line.contains(file))
            .expect("a line")
    };
    assert!(
        line("d.py:1").ends_with("awaiting you  begins with AGENT, so nobody has asked yet"),
        "{text}"
    );
    assert!(
        line("e.py:1").contains("pending  the file is no UTF-8"),
        "{text}"
    );
    std::fs::remove_file(workspace.path("d.py")).expect("removed");
    std::fs::remove_file(workspace.path("e.py")).expect("removed");

    // From a sub-folder: the repository is the workspace, paths count from the folder.
    let mut command = workspace.postil();
    command
        .current_dir(workspace.path("src"))
        .args(["threads", "main.rs", "--json"]);
    let one = ran(command.output().expect("postil runs")).ok().json();
    assert_eq!(one["threads"][0]["file"], "src/main.rs");
}

#[test]
fn check_says_no_while_threads_are_open() {
    let workspace = project();
    assert_eq!(postil(&workspace, &["check"]).code, 1);
    let sarif = postil(&workspace, &["check", "--sarif"]).json();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "pending");
    assert_eq!(
        result["locations"][0]["physicalLocation"]["region"]["startLine"],
        2
    );
    postil(&workspace, &["dismiss", &ids(&workspace)[0]]).ok();
    postil(&workspace, &["check"]).ok();
    assert_eq!(
        workspace.read("src/main.rs"),
        MAIN.replace("    // AUTHOR: what is load?\n", "")
    );
}

#[test]
fn respond_say_and_new_write_into_the_file() {
    let workspace = project();
    let id = ids(&workspace).remove(0);
    let done = postil(
        &workspace,
        &[
            "respond",
            &id[..4],
            "A function.",
            "--agent",
            "claude",
            "--json",
        ],
    );
    assert_eq!(done.ok().json()["success"], true);
    assert!(
        workspace
            .read("src/main.rs")
            .contains("// AGENT(claude): A function.\n")
    );
    let again = postil(
        &workspace,
        &["respond", &id, "A function.", "--agent", "claude", "--json"],
    );
    assert!(again.ok().json()["note"].is_string());

    with_input(
        &workspace,
        &["say", &id, "-"],
        "and its callers?\nall of them\n".as_bytes(),
    )
    .ok();
    let text = workspace.read("src/main.rs");
    assert!(text.contains("// AUTHOR: and its callers?\n"), "{text}");
    let list = postil(&workspace, &["threads", "--json"]).json();
    let said = &list["threads"][0]["thread"][2]["text"];
    assert_eq!(said, "and its callers?\nall of them");

    postil(&workspace, &["new", "src/main.rs:1", "- why main?"]).ok();
    assert!(
        workspace
            .read("src/main.rs")
            .starts_with("// AUTHOR: - why main?\nfn main")
    );
    assert_eq!(ids(&workspace).len(), 2);
}

#[test]
fn clear_commits_that_file_alone() {
    let workspace = project();
    workspace.write("other.txt", "staged\n");
    workspace.git(&["add", "other.txt"]);
    postil(&workspace, &["trust", "--yes"]).ok();
    let done = postil(&workspace, &["clear", "src/main.rs", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&done["lines_removed"], &done["other_staged_files"]),
        (&json!(1), &json!(["other.txt"]))
    );
    assert_eq!(
        workspace.git(&["log", "-1", "--format=%s"]).trim(),
        "Clear review threads from main.rs"
    );
    assert_eq!(
        workspace.git(&["show", "--name-only", "--format="]).trim(),
        "src/main.rs"
    );
    assert_eq!(
        workspace.git(&["diff", "--cached", "--name-only"]).trim(),
        "other.txt"
    );
}

#[test]
fn process_carries_out_action_words() {
    let workspace = project();
    workspace.write(
        "b.py",
        "# AUTHOR: why?\n# AGENT: Because.\n# AUTHOR: done\nx = 1\n",
    );
    let done = postil(&workspace, &["process", "--json"]).ok().json();
    assert_eq!(done.as_array().map(Vec::len), Some(1), "{done}");
    assert_eq!(workspace.read("b.py"), "x = 1\n");
    let none = postil(&workspace, &["process", "--json"]).ok();
    assert_eq!(none.json(), json!([]));
}

#[test]
fn process_removes_a_thread_of_a_file_that_could_not_be_committed() {
    // Outside of a repository.
    let workspace = Workspace::new();
    let commit = "# AUTHOR: commit\nx = 1\n";
    workspace.write(
        "a.py",
        format!("{commit}# AUTHOR: why?\n# AUTHOR: done\ny = 2\n"),
    );
    let done = postil(&workspace, &["process", "--json"]).json();
    let succeeded: Vec<&Value> = done.as_array().expect("a list").iter().collect();
    let succeeded: Vec<&Value> = succeeded.iter().map(|done| &done["success"]).collect();
    assert_eq!(succeeded, [false, true], "{done}");
    assert_eq!(workspace.read("a.py"), format!("{commit}y = 2\n"));
}

#[test]
fn process_reports_a_file_that_it_cannot_read() {
    let workspace = project();
    workspace.write("blob.py", b"# AUTHOR: done\n\0\0\0\n");
    let done = postil(&workspace, &["process", "blob.py", "--json"]);
    let told = done.json();
    assert_eq!(told[0]["success"], json!(false), "{told}");
    assert_eq!(told[0]["file"], json!("blob.py"), "{told}");
    assert!(told[0]["note"].is_string(), "{told}");
}

#[test]
fn a_log_filter_that_cannot_be_read_is_reported() {
    let workspace = project();
    let output = workspace
        .postil()
        .env("POSTIL_LOG", "postil=loud")
        .arg("threads")
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("POSTIL_LOG is not used"), "{said}");
}

// -- settings and the rest ----------------------------------------------------------------------

#[test]
fn trust_is_given_and_taken() {
    let workspace = project();
    postil(&workspace, &["trust"]).refusal("--yes");
    postil(&workspace, &["trust", "--yes"]).ok();
    let doctor = postil(&workspace, &["trust", "--revoke", "--json"])
        .ok()
        .json();
    assert_eq!(doctor["trusted"], false);
    postil(&workspace, &["trust", "none"]).refused("none");
    // What comes to stand where a trusted folder was is not trusted, once that was said.
    for args in [
        &["trust", "--revoke", "gone"][..],
        &["-C", "gone", "trust", "--revoke"],
    ] {
        workspace.write("gone/a.py", "");
        postil(&workspace, &["trust", "--yes", "gone"]).ok();
        std::fs::remove_dir_all(workspace.path("gone")).expect("removed");
        postil(&workspace, args).ok();
        workspace.write("gone/a.py", "");
        let again = postil(&workspace, args).ok();
        assert!(again.out.contains("was not trusted"), "{again:?}");
    }
}

impl Ran {
    /// Status 1; what would have been allowed stands above the sentence.
    #[track_caller]
    fn refusal(self, says: &str) -> Self {
        assert_eq!(self.code, 1, "{self:?}");
        assert!(self.err.contains(says), "{says}: {self:?}");
        self
    }
}

#[test]
fn tools_are_listed_and_called() {
    let workspace = project();
    let tools = postil(&workspace, &["tools", "list", "--json"]).ok().json();
    let tool = &tools[0];
    for name in ["name", "description", "parameters", "risk"] {
        assert!(!tool[name].is_null(), "{name} of {tool}");
    }
    let read = postil(
        &workspace,
        &["tools", "call", "file_read", r#"{"path":"src/main.rs"}"#],
    )
    .ok();
    assert!(read.out.contains("fn main"), "{read:?}");
    postil(&workspace, &["tools", "call", "none", "{}"]).refused("none");
    let outside = postil(
        &workspace,
        &[
            "tools",
            "call",
            "file_read",
            r#"{"path":"../home/.gitconfig"}"#,
        ],
    );
    outside.refused("outside");
    // Nothing is written where nothing is trusted.
    let write = r#"{"path":"new.txt","content":"x"}"#;
    postil(&workspace, &["tools", "call", "file_write", write]).refused("trust");
    assert!(!workspace.path("new.txt").exists());
    postil(&workspace, &["trust", "--yes"]).ok();
    postil(&workspace, &["tools", "call", "file_write", write]).ok();
    assert_eq!(workspace.read("new.txt"), "x");
    let run = postil(&workspace, &["workflow", "list", "--json"])
        .ok()
        .json();
    postil(&workspace, &["undo", run[0]["id"].as_str().expect("an id")]).ok();
    assert!(!workspace.path("new.txt").exists());
}

#[test]
fn a_called_tool_follows_the_users_settings() {
    let workspace = project();
    postil(&workspace, &["trust", "--yes"]).ok();
    let read = r#"{"path":"src/main.rs"}"#;
    workspace.configure("[tools]\ndisabled = [\"file_read\"]\n");
    postil(&workspace, &["tools", "call", "file_read", read]).refused("disabled");
    workspace.configure(
        "[permissions]\nrules = [{ tool = \"file_write\", pattern = \"src/*\", action = \"deny\" }]\n",
    );
    let write = r#"{"path":"src/new.rs","content":"x"}"#;
    postil(&workspace, &["tools", "call", "file_write", write]).refused("not allowed");
    assert!(!workspace.path("src/new.rs").exists());
    postil(&workspace, &["tools", "call", "file_read", read]).ok();
}

#[test]
fn settings_servers_and_findings_are_printed() {
    let workspace = project();
    let schema = postil(&workspace, &["config", "schema"]).ok().json();
    assert!(schema["properties"]["model"].is_object());
    workspace.configure("model = \"offline\"\n");
    let shown = postil(&workspace, &["config", "show", "--json"])
        .ok()
        .json();
    let model = shown
        .as_array()
        .expect("an array")
        .iter()
        .find(|row| row["key"] == "model");
    assert_eq!(model.expect("model")["source"], "user");
    let value = |name: &str| {
        let mut rows = shown.as_array().into_iter().flatten();
        rows.find(|row| row["key"] == name).expect(name)["value"].clone()
    };
    // As JSON has them, and not as they would stand in a file.
    assert_eq!(value("model"), "offline");
    assert_eq!(value("turn.maxRounds"), 60);
    assert_eq!(value("subagent.worktree.enabled"), true);
    assert!(value("permissions.rules").is_array());
    let idle = |name: &str| {
        let mut rows = shown.as_array().into_iter().flatten();
        let row = rows.find(|row| row["key"] == name);
        row.unwrap_or_else(|| panic!("{name}"))["effect"] == "none"
    };
    assert!(idle("subagent.worktree.requireReview") && !idle("turn.maxRounds"));
    let text = postil(&workspace, &["config", "show"]).ok().out;
    assert!(
        text.contains("subagent.worktree.enabled = true (default; no effect yet)"),
        "{text}"
    );
    let mut show = workspace.postil();
    show.args(["config", "show"]);
    show.env("OPENAI_BASE_URL", "https://me:canary@example.org/v1");
    let text = ran(show.output().expect("postil runs")).ok().out;
    assert!(
        text.contains("https://example.org/v1") && !text.contains("canary"),
        "{text}"
    );
    let servers = postil(&workspace, &["servers", "--json"]).ok().json();
    for name in [
        "language", "command", "state", "pid", "root", "memory", "restarts",
    ] {
        assert!(servers[0].get(name).is_some(), "{name}");
    }
    let mut command = workspace.postil();
    command
        .arg("doctor")
        .env("ANTHROPIC_API_KEY", "sk-secret-canary");
    let doctor = ran(command.output().expect("postil runs"));
    assert!(doctor.out.contains("rounds.db"), "{doctor:?}");
    assert!(!format!("{doctor:?}").contains("canary"), "a key was shown");
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            postil(&workspace, &["completions", shell])
                .ok()
                .out
                .contains("POSTIL_COMPLETE")
        );
    }
    let help = postil(&workspace, &["workflow", "thread", "--help"])
        .ok()
        .out;
    assert!(help.contains("Example: postil workflow thread"), "{help}");
}

#[test]
fn the_demo_is_quick_and_touches_nothing_of_the_users() {
    let workspace = project();
    let began = Instant::now();
    let demo = postil(&workspace, &["demo"]).ok();
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(
        demo.out.contains("AGENT: ") && demo.out.contains("[#1 "),
        "{demo:?}"
    );
    assert_eq!(demo.err, "");
    assert!(!workspace.data().exists());
    assert!(!workspace.state().exists());
    assert_eq!(workspace.git(&["status", "--porcelain"]), "");
}

#[test]
fn our_name_stands_once_before_a_message() {
    let workspace = Workspace::new();
    workspace.write("a.rs", "// AUTHOR: what is load?\nfn load() {}\n");
    let args = ["reply", "--all", "--model", "offline", "--yes"];
    let reply = postil(&workspace, &args);
    let hint = "\npostil: answered by tree-sitter alone, because";
    assert!(reply.err.contains(hint), "{reply:?}");
    assert!(!reply.err.contains("postil: postil"), "{reply:?}");
}

#[test]
fn a_closed_pipe_ends_the_output_quietly() {
    let workspace = project();
    let run = history::run_with(&workspace, 2000);
    let mut child = workspace
        .postil()
        .args(["workflow", "export", &run])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("postil runs");
    let mut first = [0; 10];
    child
        .stdout
        .take()
        .expect("piped")
        .read_exact(&mut first)
        .expect("some output");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn attack_11_what_is_shown_has_no_escapes_of_others() {
    let workspace = project();
    workspace.write(
        "b.py",
        "x = 1\n# AUTHOR: why is \u{1b}]0;title\u{7}red \u{1b}[31m\u{202e}gnihton?\n",
    );
    let text = postil(&workspace, &["threads", "--color", "never"])
        .ok()
        .out;
    assert!(
        text.contains("red ") && !text.contains(['\u{1b}', '\u{7}', '\u{202e}']),
        "{text:?}"
    );
    let json = postil(&workspace, &["threads", "--json"]).ok();
    assert!(
        !json.out.contains(['\u{1b}', '\u{7}', '\u{202e}']),
        "{:?}",
        json.out
    );
    // Escaped, so that nothing is lost.
    assert!(json.json()["threads"].to_string().contains("gnihton"));
}

#[test]
fn a_workspace_is_named_from_anywhere() {
    let workspace = project();
    let mut command = workspace.postil();
    command
        .current_dir("/")
        .arg("-C")
        .arg(workspace.root())
        .args(["threads", "src", "--json"]);
    let list = ran(command.output().expect("postil runs")).ok().json();
    assert_eq!(list["summary"]["total"], 1);
}

#[test]
fn a_hook_that_refuses_leaves_file_and_index_as_they_were() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = project();
    // Partly staged: the index has one line more than HEAD, the file another one.
    workspace.write("src/main.rs", format!("{MAIN}// staged\n"));
    workspace.git(&["add", "src/main.rs"]);
    let text = format!("{MAIN}// staged\n// not staged\n");
    workspace.write("src/main.rs", &text);
    let staged = workspace.git(&["diff", "--cached"]);
    let hook = workspace.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\necho 'no commits on Fridays' >&2\nexit 1\n",
    );
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("executable");
    postil(&workspace, &["trust", "--yes"]).ok();

    let refused = postil(&workspace, &["clear", "src/main.rs"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("no commits on Fridays"), "{refused:?}");
    assert_eq!(workspace.read("src/main.rs"), text);
    assert_eq!(workspace.git(&["diff", "--cached"]), staged);
    // Not trusted, the hook does not run.
    postil(&workspace, &["trust", "--revoke"]).ok();
    postil(&workspace, &["clear", "src/main.rs"]).ok();
    assert_eq!(
        workspace.read("src/main.rs"),
        text.replace("    // AUTHOR: what is load?\n", "")
    );
    assert_eq!(workspace.git(&["status", "--porcelain"]), "");
}

/// Each reads the file anew when another one has written it first.
#[test]
fn many_commands_at_once_on_one_file_are_all_done() {
    const MANY: usize = 24;
    let workspace = Workspace::new();
    let thread = |nth: usize| format!("// AUTHOR: question {nth}?\nfn f{nth}() {{}}\n");
    workspace.write("a.rs", (0..MANY).map(thread).collect::<String>());
    for round in [&["respond", "Answered."][..], &["dismiss"]] {
        let running: Vec<_> = ids(&workspace)
            .iter()
            .map(|id| {
                let mut command = workspace.postil();
                command.arg(round[0]).arg(id).args(&round[1..]);
                command.stdin(Stdio::null()).stdout(Stdio::piped());
                command.stderr(Stdio::piped()).spawn().expect("postil runs")
            })
            .collect();
        for child in running {
            ran(child.wait_with_output().expect("it ends")).ok();
        }
        let answers = workspace
            .read("a.rs")
            .matches("// AGENT: Answered.")
            .count();
        assert_eq!(answers, if round.len() > 1 { MANY } else { 0 });
    }
    let code: String = (0..MANY).map(|nth| format!("fn f{nth}() {{}}\n")).collect();
    assert_eq!(workspace.read("a.rs"), code);
}
