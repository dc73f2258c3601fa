//! What happens to a file while it is worked on.

use super::names::said;
use super::*;

fn asked_in(editor: &Editor, path: &str) -> Value {
    editor.wait_codes(path, &["pending"])[0]["data"]["thread_id"].clone()
}

#[test]
fn an_unsaved_buffer_goes_before_the_disk() {
    let workspace = Workspace::new();
    workspace.write("a.rs", "fn on_disk() {}\n// AUTHOR: on disk?\n");
    let mut editor = Editor::start(&workspace);
    editor.open_text("a.rs", "rust", ASKED);
    let id = asked_in(&editor, "a.rs");
    let uri = editor.uri("a.rs");
    editor
        .command(
            "postil.reply",
            json!({"uri": uri, "thread_id": id, "text": "and?"}),
        )
        .expect("written");
    assert!(editor.text("a.rs").contains("// AUTHOR: and?\n"));
    assert_eq!(
        workspace.read("a.rs"),
        "fn on_disk() {}\n// AUTHOR: on disk?\n"
    );
}

#[test]
fn an_editor_that_never_answers_an_edit_keeps_its_text_and_its_server() {
    let workspace = Workspace::new();
    workspace.write("a.rs", ASKED);
    let mut editor = Editor::start(&workspace);
    editor.open("a.rs");
    let id = asked_in(&editor, "a.rs");
    editor.state().on_apply = OnApply::Ignore;
    let uri = editor.uri("a.rs");
    let argument = json!({"uri": uri, "thread_id": id, "text": "x"});
    let stuck = editor.ask(
        "workspace/executeCommand",
        json!({"command": "postil.reply", "arguments": [argument]}),
    );
    editor.wait_message("workspace/applyEdit", |_| true);
    // Others are answered, the text and the disk are as they were, and the server ends when it is told to.
    assert!(!editor.code_actions("a.rs", 1).is_empty());
    assert_eq!(
        (
            editor.text("a.rs").as_str(),
            workspace.read("a.rs").as_str()
        ),
        (ASKED, ASKED)
    );
    editor.notify("$/cancelRequest", json!({"id": stuck}));
    assert!(editor.answer(stuck).is_err());
}

#[test]
fn a_file_that_became_a_folder_is_refused_and_its_threads_are_withdrawn() {
    let workspace = Workspace::new();
    let path = workspace.write("a.rs", ASKED);
    let id = listed(&workspace, &[])["threads"][0]["id"].clone();
    let mut editor = Editor::start(&workspace);
    editor.wait_codes("a.rs", &["pending"]);
    std::fs::remove_file(&path).expect("removed");
    workspace.write("a.rs/inner.rs", ASKED);
    let uri = editor.uri("a.rs");
    let gone = editor.command("postil.dismissThread", json!({"uri": uri, "thread_id": id}));
    assert!(gone.is_err(), "{gone:?}");
    let changes = json!({"changes": [{"uri": uri, "type": 2}]});
    editor.notify("workspace/didChangeWatchedFiles", changes);
    editor.wait_codes("a.rs", &[]);
    refused(&workspace, &["clear", "a.rs"], "a.rs");
    refused(&workspace, &["new", "a.rs:1", "x"], "a.rs");
    assert_eq!(workspace.read("a.rs/inner.rs"), ASKED);
}

/// Root may read and write all the same, so root runs the binary as somebody else.
pub(super) fn as_nobody(workspace: &Workspace, args: &[&str]) -> Option<Output> {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    let base = workspace.root().parent().expect("a parent").to_owned();
    for folder in [&base, &base.join("home"), &base.join("config")] {
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder, open).expect("open");
    }
    let mut command = workspace.postil();
    command.args(args).stdin(Stdio::null());
    if rustix::process::geteuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    let output = command.output();
    if output.is_err() {
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("a test");
        let why = "nobody may not run the binary where it lies";
        let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
    }
    output.ok()
}

/// A gate that could not look says so.
#[test]
fn what_cannot_be_read_is_not_taken_for_a_text_without_threads() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = Workspace::new();
    workspace.write("a.rs", "fn a() {}\n");
    workspace.write("secret/b.rs", ASKED);
    let mode = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(workspace.path("secret"), mode).expect("set");
    };
    mode(0);
    for args in [&["check"][..], &["check", "secret"], &["check", "--sarif"]] {
        let Some(output) = as_nobody(&workspace, args) else {
            break;
        };
        let text = shown(&output);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {text}");
        assert!(text.contains("secret"), "{args:?}: {text}");
        let succeeded = text.contains("\"executionSuccessful\":true");
        assert!(!succeeded, "{args:?}: {text}");
    }
    mode(0o755);
}

#[test]
fn what_is_read_only_is_refused_once_and_left_as_it_is() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = Workspace::new();
    let path = workspace.write("src/a.rs", ASKED);
    let folder = workspace.path("src");
    let mode = |mode| std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode));
    let anybody = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(&path, anybody).expect("set");
    mode(0o555).expect("read-only");
    let id = listed(&workspace, &[])["threads"][0]["id"].clone();
    let id = id.as_str().expect("an id");
    for args in [&["respond", id, "So."][..], &["dismiss", id]] {
        let Some(output) = as_nobody(&workspace, args) else {
            break;
        };
        let text = shown(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert_eq!(text.trim_end().lines().count(), 1, "{text}");
        let says =
            "src/a.rs may not be written (its folder is read-only for you); nothing was written";
        assert!(text.contains(says), "{text}");
    }
    if let Some(output) = as_nobody(&workspace, &["new", "src/a.rs:1", "so?"]) {
        let text = shown(&output);
        assert!(text.contains("; nothing was written"), "{text}");
    }
    mode(0o755).expect("open");
    assert_eq!(std::fs::read_to_string(&path).expect("read"), ASKED);
    let left: Vec<_> = std::fs::read_dir(folder).expect("read").collect();
    assert_eq!(left.len(), 1, "a temporary file stayed: {left:?}");
}

#[test]
fn a_data_folder_of_somebody_else_is_named_once() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = Workspace::new();
    workspace.write("a.rs", ASKED);
    workspace.write("b.rs", ASKED);
    let base = workspace.root().parent().expect("a parent").to_owned();
    let data = base.join("data");
    for (folder, mode) in [
        ("", 0o755),
        ("home", 0o755),
        ("config", 0o755),
        ("data", 0o555),
    ] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(base.join(folder), mode).expect("set");
    }
    let all = ["reply", "--all", "--model", "offline"];
    let Some(output) = as_nobody(&workspace, &all) else {
        return;
    };
    let text = shown(&output);
    let says = format!(
        "you need the right to read and write in the folder {}\n",
        data.display()
    );
    assert_eq!(text.matches(&says).count(), 1, "{text}");
    assert_eq!(text.matches("cannot be used").count(), 1, "{text}");
    assert_eq!(output.status.code(), Some(1), "{text}");
}

#[test]
fn fault_21_a_workspace_that_was_moved_away_is_not_made_again() {
    let workspace = Workspace::new();
    workspace.write("a.rs", ASKED);
    let mut editor = Editor::start(&workspace);
    editor.open("a.rs");
    let id = asked_in(&editor, "a.rs");
    let moved = workspace.root().with_file_name("moved");
    std::fs::rename(workspace.root(), &moved).expect("moved");
    let uri = editor.uri("a.rs");
    // What is open is the editor's: it goes on.
    editor
        .command(
            "postil.reply",
            json!({"uri": uri, "thread_id": id, "text": "and?"}),
        )
        .expect("written to the buffer");
    editor.close("a.rs");
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({"changes": [{"uri": uri, "type": 3}]}),
    );
    editor.wait_codes("a.rs", &[]);
    let gone = editor.command("postil.dismissThread", json!({"uri": uri, "thread_id": id}));
    assert!(gone.is_err(), "{gone:?}");
    assert!(!workspace.root().exists(), "the workspace was made again");
    assert_eq!(
        std::fs::read_to_string(moved.join("a.rs")).expect("read"),
        ASKED
    );
}

#[test]
fn fault_21_a_checkout_of_ten_thousand_files_leaves_no_stale_diagnostic() {
    const MANY: usize = 10_000;
    let workspace = Workspace::new();
    for n in 0..MANY {
        let text = if n % 100 == 0 { ASKED } else { "fn a() {}\n" };
        workspace.write(&format!("d{}/f{n}.rs", n % 50), text);
    }
    workspace.git(&["init", "--quiet"]);
    workspace.git(&["add", "."]);
    workspace.git(&["commit", "--quiet", "-m", "First"]);
    let editor = Editor::start(&workspace);
    let shown = |editor: &Editor| {
        let state = editor.state();
        let lists = state.diagnostics.values();
        lists.filter(|(_, list)| !list.is_empty()).count()
    };
    editor.wait_for("every thread", |state| {
        let lists = state.diagnostics.values();
        (lists.filter(|(_, list)| !list.is_empty()).count() == MANY / 100).then_some(())
    });
    // The other branch: no thread where there was one, one where there was none.
    for n in 0..MANY {
        let text = if n % 100 == 1 { ASKED } else { "fn b() {}\n" };
        workspace.write(&format!("d{}/f{n}.rs", n % 50), text);
    }
    let changes: Vec<Value> = (0..MANY)
        .map(|n| json!({"uri": editor.uri(&format!("d{}/f{n}.rs", n % 50)), "type": 2}))
        .collect();
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({"changes": changes}),
    );
    editor.wait_for("the threads of the other branch", |state| {
        let of = |n: usize, wanted: usize| {
            (n..MANY).step_by(100).all(|n| {
                let uri = crate::harness::uri_of(&workspace.path(&format!("d{}/f{n}.rs", n % 50)));
                state
                    .diagnostics
                    .get(&uri)
                    .map_or(0, |(_, list)| list.len())
                    == wanted
            })
        };
        (of(0, 0) && of(1, 1)).then_some(())
    });
    assert_eq!(shown(&editor), MANY / 100);
}

/// What an author or an agent wrote is text: no picture is fetched and no command is run by showing it.
#[test]
fn attack_12_what_threads_say_is_shown_as_text_without_links_that_act_or_hidden_characters() {
    let workspace = Workspace::new();
    let said = "why \u{1b}]8;;http://x\u{7}here\u{1b}[31m \u{202e}\u{200b}![i](http://evil/p.png) [go](command:postil.clear) <img src=x>?";
    workspace.write(
        "a.rs",
        format!("fn a() {{}}\n// AUTHOR: {said}\nfn b() {{}}\n"),
    );
    let mut editor = Editor::start(&workspace);
    editor.open("a.rs");
    let list = editor.wait_codes("a.rs", &["pending"]);
    let hidden = |text: &str| text.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{200b}']);
    let message = list[0]["message"].as_str().expect("a message");
    assert!(!hidden(message), "{message:?}");
    let uri = editor.uri("a.rs");
    let position = json!({"line": 1, "character": 20});
    let at = json!({"textDocument": {"uri": uri}, "position": position});
    let hover = editor.request("textDocument/hover", at).expect("a hover");
    let value = hover["contents"]["value"].as_str().unwrap_or_default();
    assert!(!hidden(value), "{value:?}");
    // In markdown the signs of links, pictures and tags are escaped or stand in code.
    if hover["contents"]["kind"] == "markdown" {
        for acts in ["![i](", "[go](", "<img"] {
            assert!(!value.contains(acts), "{acts} in {value}");
        }
    }
    for action in editor.code_actions("a.rs", 1) {
        // JSON writes control characters as their numbers.
        let action = action.to_string();
        assert!(!hidden(&action) && !action.contains("\\u00"), "{action}");
    }
}

#[test]
fn a_pipe_named_like_the_users_own_settings_is_not_waited_for() {
    let workspace = Workspace::new();
    workspace.configure("");
    let pipe = workspace.config_file();
    std::fs::remove_file(&pipe).expect("it was there");
    let made = workspace.command("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let said = |args: &[&str]| said(&workspace, "config.toml", args);
    let told = said(&["model", "offline"]);
    assert!(told.contains("is no ordinary file"), "{told}");
    let told = said(&["doctor"]);
    assert!(told.contains("config.toml (not read)"), "{told}");
}
