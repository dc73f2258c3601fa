//! `postil check` in hooks and CI.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;
use crate::peers;

#[test]
fn check_takes_files_and_a_status() {
    let workspace = Workspace::new();
    workspace.write("a.py", QUESTION);
    workspace.write("b/c.py", "# AUTHOR: why?\n# AGENT: So.\n# AUTHOR:\nx = 1\n");
    workspace.write("none.py", "x = 1\n");
    let code = |args: &[&str]| {
        postil(&workspace, &[&["check"], args].concat())
            .status
            .code()
    };
    assert_eq!(code(&[]), Some(1));
    assert_eq!(code(&["none.py"]), Some(0));
    assert_eq!(code(&["none.py", "b/c.py"]), Some(1));
    assert_eq!(code(&["none.py", "b/c.py", "--status", "pending"]), Some(0));
    assert_eq!(code(&["a.py", "b", "--status", "awaiting_user"]), Some(1));
    assert_eq!(code(&["a.py", "--status", "awaiting_user"]), Some(0));
    assert_eq!(code(&["gone.py", "none.py"]), Some(1));
    assert_eq!(code(&["--status", "open"]), Some(2));

    // Each thread once, whatever the paths have in common.
    let output = postil(&workspace, &["check", ".", "b", "b/c.py", "a.py", "--json"]);
    let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        list["summary"],
        json!({"total": 2, "pending": 1, "awaiting_user": 1})
    );
    assert_eq!(list["threads"][0]["file"], "a.py");
}

fn sarif(workspace: &Workspace) -> (Value, String) {
    let output = postil(workspace, &["threads", "--sarif"]);
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    (serde_json::from_slice(&output.stdout).expect("JSON"), log)
}

#[test]
fn sarif_says_where_a_thread_stands() {
    let workspace = Workspace::new();
    workspace.write(
        "src/a b%é.py",
        "\u{feff}x = '𝒂é' # AUTHOR(ann): see [this](1)\n# AGENT: \u{1b}[31mred\u{202e}\n#   and more 𝒂\nx = 1\n",
    );
    workspace.write("src/b.py", "# AUTHOR:\nx = 1\n");
    workspace.write("src/big.py", QUESTION.repeat(700_000));
    let (sarif, _) = sarif(&workspace);
    let run = &sarif["runs"][0];
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    assert_eq!(run["automationDetails"]["id"], "postil/");
    let notes = run["invocations"][0]["toolExecutionNotifications"]
        .as_array()
        .expect("notes");
    assert!(
        notes[0]["message"]["text"]
            .as_str()
            .is_some_and(|t| t.starts_with("src/big.py is larger"))
    );

    let result = &run["results"][0];
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(
        place["artifactLocation"],
        json!({"uri": "src/a%20b%25%C3%A9.py", "uriBaseId": "%SRCROOT%"})
    );
    assert!(run["originalUriBaseIds"].get("%SRCROOT%").is_some());
    // The trailing marker stands after 11 characters, the mark of byte order not counted.
    assert_eq!(
        place["region"],
        json!({"startLine": 1, "startColumn": 12, "endLine": 3, "endColumn": 15})
    );
    assert_eq!(
        result["message"]["text"],
        "AUTHOR(ann): see [this] (1)\nAGENT: red⟨U+202E⟩\nand more 𝒂"
    );
    let id = result["partialFingerprints"]["threadId/v1"]
        .as_str()
        .expect("an id");
    assert_eq!(id.len(), 8);
    let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("small");
    let rule = &run["tool"]["driver"]["rules"][index];
    assert_eq!(
        (&rule["id"], &rule["defaultConfiguration"]["level"]),
        (&result["ruleId"], &result["level"])
    );
    assert_eq!(
        run["results"][1]["message"]["text"],
        "A thread without a message"
    );
}

#[test]
fn sarif_keeps_to_the_schema_and_to_what_code_hosts_take() {
    if !peers::have(&["sarif"]) {
        return;
    }
    let launcher = peers::find("sarif").expect("there");
    let schema = std::process::Command::new(launcher)
        .output()
        .expect("it runs");
    let mut schema: Value = serde_json::from_slice(&schema.stdout).expect("a schema");
    // One bracket too many: no pattern by the rules of its own language. Nothing here has the property.
    for object in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][object]["properties"]["language"];
        language["pattern"] = json!("^[a-zA-Z]{2}");
    }
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    let valid = |sarif: &Value| {
        let wrong: Vec<String> = schema
            .iter_errors(sarif)
            .take(3)
            .map(|e| e.to_string())
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    };
    let workspace = Workspace::new();
    valid(&sarif(&workspace).0);
    workspace.write("a.py", QUESTION);
    workspace.write("b.py", b"# AGENT: \xff\n# AUTHOR:\n");
    workspace.write("c.bin", b"\0# AUTHOR: why?");
    let (few, _) = sarif(&workspace);
    valid(&few);
    let mut wrong = few.clone();
    wrong["runs"][0]["results"][0]["level"] = json!("loud");
    assert!(
        !schema.is_valid(&wrong),
        "the schema says no where it should"
    );

    // More than is taken: those that wait for an agent stay.
    let answered = "# AUTHOR: why?\n# AGENT: So.\n\n";
    for n in 0..250 {
        workspace.write(&format!("many/{n}.py"), answered.repeat(100));
    }
    workspace.write("many/last.py", QUESTION);
    let (many, log) = sarif(&workspace);
    assert_eq!(log.trim_end().lines().count(), 1, "{log}");
    assert!(
        log.contains("25000 of 25003 threads are in the SARIF"),
        "{log}"
    );
    let results = many["runs"][0]["results"].as_array().expect("results");
    let pending = results
        .iter()
        .filter(|result| result["ruleId"] == "pending")
        .count();
    assert_eq!((results.len(), pending), (25_000, 2));
    valid(&many);
}

/// The hook as the repository offers it, run by pre-commit itself: what is staged decides, and nothing else.
#[test]
fn pre_commit_refuses_what_has_open_threads() {
    if !peers::have(&["pre-commit"]) {
        return;
    }
    let hooks = Workspace::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = std::fs::read_to_string(root.join(".pre-commit-hooks.yaml")).expect("the hooks");
    hooks.write(".pre-commit-hooks.yaml", own);
    hooks.git(&["init", "--quiet"]);
    hooks.git(&["add", "."]);
    hooks.git(&["commit", "--quiet", "-m", "Hooks"]);
    let rev = hooks.git(&["rev-parse", "HEAD"]);

    let workspace = Workspace::new();
    workspace.git(&["init", "--quiet"]);
    let config = format!(
        "repos:\n- repo: {}\n  rev: {}\n  hooks:\n  - id: postil-check-system\n",
        hooks.root().display(),
        rev.trim()
    );
    workspace.write(".pre-commit-config.yaml", config);
    workspace.write("good.py", "x = 1\n");
    workspace.write("a b.py", "x = 1\n");
    workspace.git(&["add", "."]);
    let binary = Path::new(env!("CARGO_BIN_EXE_postil"));
    let dirs = [binary.parent().expect("a folder").to_owned()];
    let dirs = dirs
        .into_iter()
        .chain(std::env::split_paths(&peers::path()).collect::<Vec<_>>());
    let path = std::env::join_paths(dirs).expect("a path");
    let commit = || {
        let mut run = workspace.command(peers::find("pre-commit").expect("there"));
        run.arg("run").env("PATH", &path);
        let output = run.output().expect("pre-commit runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text)
    };
    // A thread that is not staged does not matter.
    workspace.write("good.py", QUESTION);
    let (code, text) = commit();
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(workspace.read("good.py"), QUESTION);
    workspace.write("a b.py", QUESTION);
    workspace.git(&["add", "a b.py"]);
    let (code, text) = commit();
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("a b.py:1") && !text.contains("good.py"),
        "{text}"
    );
}

/// The hook as docs/ci.md has it, as git runs it.
#[test]
fn the_hook_looks_at_what_is_text_alone() {
    if !peers::on_path("xargs") {
        return;
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ci.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let hook = page
        .split_once("```sh\n")
        .and_then(|(_, rest)| rest.split_once("```"))
        .expect("a hook")
        .0;
    let workspace = Workspace::new();
    workspace.git(&["init", "--quiet"]);
    let file = workspace.write(".git/hooks/pre-commit", hook);
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let binary = Path::new(env!("CARGO_BIN_EXE_postil")).parent();
    let path = std::env::join_paths(std::iter::once(binary.expect("a folder").to_owned()).chain(
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()),
    ))
    .expect("a path");
    let commit = || {
        workspace.git(&["add", "."]);
        let mut git = workspace.command("git");
        git.args(["commit", "--quiet", "-m", "x"])
            .env("PATH", &path);
        let output = git.output().expect("git runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), said)
    };
    workspace.write("a.py", "x = 1\n");
    workspace.write("logo.png", b"\x89PNG\0# AUTHOR: no text\n");
    workspace.write("large.csv", "1,2\n".repeat(2_200_000));
    std::os::unix::fs::symlink("/etc/passwd", workspace.path("out")).expect("a link");
    std::os::unix::fs::symlink("gone", workspace.path("nowhere")).expect("a link");
    let (code, said) = commit();
    assert_eq!(code, Some(0), "{said}");
    for name in ["logo.png", "large.csv", "out", "nowhere"] {
        assert!(said.contains(&format!("postil: {name} is ")), "{said}");
    }
    // A name that looks like an option is a name, and what is passed over hides no thread.
    workspace.write("-q", QUESTION);
    workspace.write("b.png", b"\x89PNG\0\n");
    let (code, said) = commit();
    assert_ne!(code, Some(0), "{said}");
    assert!(said.contains("-q:1"), "{said}");
    // Nor does a path that is not there, which fails all the same.
    let output = postil(&workspace, &["check", "--", "gone.py", "-q"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("-q:1"), "{said}");
}

/// Where libgit2 opens no repository, the same is looked at: git knows what it tracks.
#[test]
fn check_finds_what_is_tracked_where_libgit2_opens_nothing() {
    let files = |workspace: &Workspace, folder: &str, args: &[&str]| {
        let mut command = workspace.postil();
        command.current_dir(workspace.path(folder));
        command.args(args).args(["check", "--json"]);
        let output = command.output().expect("postil runs");
        let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let mut files: Vec<String> = Vec::new();
        for thread in list["threads"].as_array().expect("threads") {
            files.push(thread["file"].as_str().expect("a file").to_owned());
        }
        (files.join(" "), list["skipped"].to_string())
    };
    let made = |format: &[&str]| {
        let workspace = Workspace::new();
        workspace.git(&[&["init", "--quiet"], format].concat());
        workspace.write(".gitignore", "*.log\n");
        workspace.write(".github/workflows/ci.yml", QUESTION);
        workspace.write("sub/a.log", QUESTION);
        workspace.git(&["add", "--force", "."]);
        workspace.write("sub/b.log", QUESTION);
        workspace
    };
    let all = ".github/workflows/ci.yml sub/a.log";
    let own = made(&[]);
    assert_eq!(files(&own, "sub", &[]).0, all);

    let sha = made(&["--object-format=sha256"]);
    for folder in ["", "sub"] {
        assert_eq!(files(&sha, folder, &[]).0, all, "{folder}");
        assert_eq!(files(&sha, folder, &["--no-cache"]).0, all, "{folder}");
    }
    sha.git(&["commit", "--quiet", "-m", "x"]);
    let linked = sha.data().with_file_name("linked");
    sha.git(&[
        "worktree",
        "add",
        "--quiet",
        linked.to_str().expect("UTF-8"),
    ]);
    assert_eq!(
        files(&sha, linked.join("sub").to_str().expect("UTF-8"), &[]).0,
        all
    );
    let doctor = postil(&sha, &["doctor"]);
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains("its history is not read"), "{doctor}");

    // Where git cannot say it either, that is told, each time.
    sha.write(".git/index", "no index");
    for _ in 0..2 {
        let (found, skipped) = files(&sha, "sub", &[]);
        assert_eq!(found, "");
        assert!(
            skipped.contains("what git tracks is not known"),
            "{skipped}"
        );
    }

    // Another user's: as its owner sees it, and git still refuses what would run something of it.
    let root = own.root();
    if std::os::unix::fs::chown(root, Some(12_345), None).is_err() {
        return peers::note("the right to give files away");
    }
    std::os::unix::fs::chown(root.join(".git"), Some(12_345), None).expect("as before");
    assert_eq!(files(&own, "sub", &[]).0, all);
    let before = own.read("sub/a.log");
    let clear = postil(&own, &["clear", "sub/a.log"]);
    assert_eq!(clear.status.code(), Some(1));
    assert_eq!(own.read("sub/a.log"), before);
}

/// The step of `action.yml`, as a runner runs it: workflow commands on standard output, whatever a path or a text has in it.
#[test]
fn the_action_annotates_the_lines_of_open_threads() {
    if std::process::Command::new("jq").arg("-V").output().is_err() {
        peers::note("jq");
        return;
    }
    let workspace = Workspace::new();
    workspace.write(
        "a b/x,y 50%.py",
        "x = 1\n\n# AUTHOR: why 100%?\n#   and: this, too\n",
    );
    workspace.write("c:d.py", "x = 1  # AUTHOR: q?\n# AGENT: so\n# AUTHOR:\n");
    workspace.write("e\n::add-mask::e.py", QUESTION);
    workspace.write("f\n::add-mask::f.py", "# AUTHOR: q?\n\0");
    workspace.write("n.ipynb", "<<<<<<< HEAD\n# AUTHOR: why?\n");
    workspace.write("postil.toml", "\"x\\n::stop-commands::fork\\n\" = 1\n");
    let binary = Path::new(env!("CARGO_BIN_EXE_postil"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/check.sh");
    let run = |inputs: &[(&str, &str)]| {
        let mut step = workspace.command("bash");
        step.arg(&script).env("POSTIL", binary);
        let output = step.envs(inputs.iter().copied()).output();
        let output = output.expect("bash runs");
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), lines)
    };
    let (code, lines) = run(&[]);
    assert_eq!(code, Some(1), "{lines}");
    let lines: Vec<&str> = lines.lines().collect();
    // What the program says is no command, whatever name is in it.
    let token = lines[0].strip_prefix("::stop-commands::").expect("a token");
    let said = lines
        .iter()
        .position(|line| *line == format!("::{token}::"))
        .expect("an end");
    assert!(lines[1].contains("there is no setting `x"), "{lines:#?}");
    assert!(!lines[1..said].concat().contains(token), "{lines:#?}");
    let lines = &lines[said + 1..];
    // Those that wait for an agent first.
    let places = [
        "::warning file=a b/x%2Cy 50%25.py,line=3,title=",
        "::warning file=e%0A%3A%3Aadd-mask%3A%3Ae.py,line=1,title=",
        "::notice file=c%3Ad.py,line=1,title=",
        "::notice file=n.ipynb,title=postil passed a file over::it cannot be parsed",
        "::notice title=postil passed a file over::f%0A::add-mask::f.py is binary",
        "3 open threads",
    ];
    assert_eq!(lines.len(), places.len(), "{lines:#?}");
    for (line, place) in lines.iter().zip(places) {
        assert!(line.starts_with(place), "{place}\n{lines:#?}");
    }
    assert!(
        lines[0].ends_with("::AUTHOR: why 100%25?%0Aand: this, too"),
        "{lines:#?}"
    );

    std::fs::remove_file(workspace.path("postil.toml")).expect("it was there");
    let (code, lines) = run(&[("POSTIL_PATHS", "n.ipynb\n")]);
    assert_eq!(code, Some(1), "{lines}");
    assert!(
        lines.ends_with("\na file could not be read or parsed: its threads are not known\n"),
        "{lines}"
    );
    std::fs::remove_file(workspace.path("n.ipynb")).expect("it was there");
    let told = workspace.path("told");
    let output = ("GITHUB_OUTPUT", told.to_str().expect("UTF-8"));
    let (code, lines) = run(&[("POSTIL_FAIL", "false"), output]);
    assert_eq!(code, Some(0), "{lines}");
    assert_eq!(workspace.read("told"), "threads=3\n");
    let (code, lines) = run(&[("POSTIL_PATHS", "c:d.py\n"), ("POSTIL_STATUS", "pending")]);
    assert_eq!((code, lines.as_str()), (Some(0), ""));
    // What went wrong is not taken for threads, nor for none.
    let (code, lines) = run(&[("POSTIL_PATHS", "--gone")]);
    assert_eq!(code, Some(2), "{lines}");
    assert!(
        lines.contains("\n::error title=postil::path not found: "),
        "{lines}"
    );
    let (code, lines) = run(&[("POSTIL", "/gone/postil")]);
    assert_eq!(code, Some(2), "{lines}");
    assert!(lines.starts_with("::error title=postil::"), "{lines}");
}

/// A program that the system cannot run, that is killed, or that stops in the middle is not one that found nothing.
#[test]
fn the_action_fails_where_the_program_does_not_run() {
    if !peers::on_path("jq") {
        return;
    }
    let workspace = Workspace::new();
    for (program, status) in [
        ("echo '::add-mask::no GLIBC' >&2; exit 1", 2),
        ("exit 0", 2),
        ("kill -9 $$", 137),
        ("printf '{\"threads\":[{\"id\"'", 2),
        ("echo '{\"threads\":[]}'; echo '{\"threads\":[]}'", 2),
    ] {
        let file = workspace.write("tool", format!("#!/bin/bash\n{program}\n"));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("a program");
        let mut step = workspace.command("bash");
        step.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/check.sh"))
            .env("POSTIL", file)
            .env("POSTIL_FAIL", "false")
            .env("GITHUB_OUTPUT", workspace.path("told"));
        let output = step.output().expect("bash runs");
        let lines = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(status), "{program}: {lines}");
        let error = lines.lines().last().unwrap_or_default();
        assert!(
            error.starts_with("::error title=postil::postil did not run"),
            "{program}: {lines}"
        );
        assert!(!workspace.path("told").exists(), "{program}");
    }
}

/// Their folders alone are looked for: neither program need be there.
#[test]
fn the_whole_repository_is_checked_from_a_folder_in_it_whichever_kind_it_is() {
    let workspace = Workspace::new();
    workspace.write("mine/a.py", QUESTION);
    std::fs::create_dir_all(workspace.path("mine/sub/deep")).expect("a folder");
    let check = |folder: &str| {
        let mut check = workspace.postil();
        let output = check
            .current_dir(workspace.path(folder))
            .args(["check", "--json"]);
        let output = output.output().expect("postil runs");
        let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (output.status.code(), list["summary"]["total"].clone())
    };
    let (none, all) = ((Some(0), json!(0)), (Some(1), json!(1)));
    assert_eq!(check("mine/sub/deep"), none);
    for folder in [".jj", ".hg"] {
        // What is no folder is no repository.
        workspace.write(&format!("mine/{folder}"), "");
        assert_eq!(check("mine/sub/deep"), none, "{folder}");
        std::fs::remove_file(workspace.path(&format!("mine/{folder}"))).expect("removed");
        std::fs::create_dir(workspace.path(&format!("mine/{folder}"))).expect("a folder");
        assert_eq!(check("mine/sub/deep"), all, "{folder}");
        assert_eq!(check("mine"), all, "{folder}");
        // The nearest counts, of whichever kind.
        std::fs::create_dir(workspace.path(&format!("mine/sub/{folder}"))).expect("a folder");
        assert_eq!(check("mine/sub/deep"), none, "{folder}");
        std::fs::remove_dir(workspace.path(&format!("mine/sub/{folder}"))).expect("removed");
        std::fs::remove_dir(workspace.path(&format!("mine/{folder}"))).expect("removed");
    }
    workspace.git(&["init", "--quiet", "mine"]);
    std::fs::create_dir(workspace.path(".hg")).expect("a folder");
    workspace.write("b.py", QUESTION);
    assert_eq!(check("mine/sub/deep"), all);
    std::fs::create_dir(workspace.path("mine/.jj")).expect("a folder");
    assert_eq!(check("mine/sub/deep"), all);
    std::fs::create_dir(workspace.path("mine/sub/.hg")).expect("a folder");
    assert_eq!(check("mine/sub/deep"), none);
}

/// A name is one line of the output, so that none begins a line of its own: a runner would take it for a command.
#[test]
fn a_name_forges_no_line() {
    let workspace = Workspace::new();
    workspace.write("a\n::stop-commands::a\n.py", QUESTION);
    workspace.write("b\n::stop-commands::b\n.py", "# AUTHOR: why?\n\0");
    workspace.write("postil.toml", "\"c\\n::stop-commands::c\\n\" = 1\n");
    let output = postil(&workspace, &["check"]);
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(lines.contains("a⏎::stop-commands::a⏎.py:1"), "{lines}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    for of in ["b\n  | ::stop-commands::b", "c\n  | ::stop-commands::c"] {
        assert!(said.contains(of), "{said}");
    }
    for line in lines.lines().chain(said.lines()) {
        assert!(!line.trim_start().starts_with("::"), "{line}");
    }
    let gone = postil(&workspace, &["check", "d\n::stop-commands::d"]);
    let said = String::from_utf8_lossy(&gone.stderr).into_owned();
    assert!(said.contains("  | ::stop-commands::d"), "{said}");
}

/// A runner of Windows has a jq that ends lines as Windows does, and a program that names files so.
#[test]
fn the_action_does_the_same_on_windows() {
    if !peers::on_path("jq") {
        return;
    }
    let workspace = Workspace::new();
    let found = serde_json::json!({"threads": [{
        "id": "0123456789ab", "file": "src\\a b.py", "start_line": 3, "status": "pending",
        "thread": [{"role": "author", "text": "why?"}],
    }]});
    let tool = |name: &str, text: String| {
        let file = workspace.write(&format!("tools/{name}"), text);
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).expect("a program");
    };
    tool(
        "postil",
        format!("#!/bin/sh\nprintf '%s\\r\\n' '{found}'\nexit 1\n"),
    );
    let which = workspace
        .command("sh")
        .args(["-c", "command -v jq"])
        .output();
    let which = which.expect("sh runs").stdout;
    let jq = String::from_utf8_lossy(&which).trim().to_owned();
    tool(
        "jq",
        format!("#!/bin/bash\nset -o pipefail\n'{jq}' \"$@\" | sed 's/$/\\r/'\n"),
    );
    let mut path = workspace.path("tools").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let told = workspace.path("told");
    let mut step = workspace.command("bash");
    step.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/check.sh"))
        .env("PATH", path)
        .env("RUNNER_OS", "Windows")
        .env("GITHUB_OUTPUT", &told);
    let output = step.output().expect("bash runs");
    let lines = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(
        lines,
        "::warning file=src/a b.py,line=3,title=thread 01234567%3A awaiting an agent::AUTHOR: why?\n1 open thread\n"
    );
    assert_eq!(workspace.read("told"), "threads=1\n");
}

/// What the repository says of how Rust is built there is not for the action's own sources.
#[test]
fn the_action_is_not_built_by_the_toolchain_of_the_repository() {
    if !peers::on_path("jq") || !peers::on_path("rustup") {
        return;
    }
    let workspace = Workspace::new();
    // As a fork may have it.
    let tool = workspace.write("tool/bin/cargo", "#!/bin/sh\ntouch \"$TAKEN\"\nexit 1\n");
    std::fs::set_permissions(tool, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let tools = workspace.path("tool");
    let toolchain = format!("[toolchain]\npath = {tools:?}\n");
    workspace.write("rust-toolchain.toml", toolchain);
    // In place of our sources, which take minutes.
    let sources = workspace.data().with_file_name("sources");
    std::fs::create_dir_all(sources.join("src")).expect("folders");
    let package = "[package]\nname = \"postil\"\nversion = \"0.0.0\"\nedition = \"2021\"\n";
    let lock = "version = 3\n\n[[package]]\nname = \"postil\"\nversion = \"0.0.0\"\n";
    let main = "fn main() { println!(\"{{\\\"threads\\\": []}}\"); }\n";
    for (name, text) in [
        ("Cargo.toml", package),
        ("Cargo.lock", lock),
        ("src/main.rs", main),
    ] {
        std::fs::write(sources.join(name), text).expect("a file");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/check.sh");
    let taken = workspace.path("taken");
    let mut step = workspace.command("bash");
    step.arg(script)
        .env("PATH", without("postil"))
        .env("POSTIL_SOURCES", &sources)
        .env("RUNNER_TEMP", workspace.data().with_file_name("temp"))
        .env("CARGO_NET_OFFLINE", "true")
        .env("TAKEN", &taken);
    let output = step.output().expect("bash runs");
    let lines = String::from_utf8_lossy(&output.stderr);
    assert!(!taken.exists(), "a program of the repository ran: {lines}");
    assert_eq!(output.status.code(), Some(0), "{lines}");
}

/// The `PATH` but for folders that hold `program`.
fn without(program: &str) -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| !folder.join(program).exists());
    std::env::join_paths(folders).expect("a PATH")
}

/// As docs/ci.md has it for who does without pre-commit.
#[test]
fn the_hook_of_the_page_leaves_a_submodule_to_itself() {
    let workspace = Workspace::new();
    let page = include_str!("../../../docs/ci.md");
    let hook = page.split("```sh\n").nth(1).and_then(|rest| {
        let (script, _) = rest.split_once("```")?;
        Some(script)
    });
    let built = Path::new(env!("CARGO_BIN_EXE_postil")).parent();
    let commit = |message: &str| {
        let mut git = workspace.command("git");
        let path = std::env::var("PATH").unwrap_or_default();
        git.env("PATH", format!("{}:{path}", built.unwrap().display()));
        let output = git.args(["commit", "-qm", message]).output();
        output.expect("git runs").status.success()
    };
    workspace.git(&["init", "-q"]);
    workspace.write("sub/in.py", QUESTION);
    workspace.git(&["init", "-q", "sub"]);
    workspace.git(&["-C", "sub", "add", "in.py"]);
    workspace.git(&["-C", "sub", "commit", "-qm", "Inner"]);
    let script = workspace.write(".git/hooks/pre-commit", hook.expect("a script"));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(script, mode).expect("a program");
    workspace.write("none.py", "x = 1\n");
    workspace.git(&["add", "sub", "none.py"]);
    assert!(commit("A submodule, and a file without threads"));
    workspace.write("a.py", QUESTION);
    workspace.git(&["add", "a.py"]);
    assert!(!commit("A file with a thread"));
}
