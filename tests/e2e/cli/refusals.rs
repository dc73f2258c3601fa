//! What cannot be done: one sentence, the exit status, nothing written.

use std::process::Command;

use super::*;

#[test]
fn ids_that_name_no_one_thread_are_refused() {
    let workspace = project();
    for (id, says) in [("0000dead", "no thread `0000dead`"), ("12", "too short")] {
        for command in ["dismiss", "reply"] {
            postil(&workspace, &[command, id]).refused(says);
        }
        postil(&workspace, &["respond", id, "x"]).refused(says);
    }
    let short = "thread id `12` is too short";
    postil(&workspace, &["workflow", "list", "--thread", "12"]).refused(short);
    let failed = postil(&workspace, &["dismiss", "0000dead", "--json"]);
    assert_eq!(failed.json()["code"], "unknown_thread");
    assert_eq!(workspace.read("src/main.rs"), MAIN);

    // Two questions whose ids begin alike, found by trying (about 300 suffice for four digits).
    let mut lines = String::new();
    for n in 0..1500 {
        lines.push_str(&format!("# AUTHOR: question {n}\nx = {n}\n"));
    }
    workspace.write("many.py", &lines);
    let mut ids = ids(&workspace);
    ids.sort();
    let pair = ids
        .windows(2)
        .find(|pair| pair[0][..4] == pair[1][..4])
        .expect("two alike");
    let ambiguous = postil(&workspace, &["dismiss", &pair[0][..4]]).refused("ambiguous");
    assert!(
        ambiguous.err.contains(&pair[0]) && ambiguous.err.contains(&pair[1]),
        "{ambiguous:?}"
    );
    assert_eq!(workspace.read("many.py"), lines);
}

#[test]
fn paths_that_cannot_be_are_refused() {
    let workspace = project();
    let outside = workspace
        .root()
        .parent()
        .expect("a parent")
        .join("home/secret.rs");
    std::fs::write(&outside, MAIN).expect("written");
    let outside = outside.to_str().expect("UTF-8");
    postil(&workspace, &["threads", outside]).refused("outside the workspace");
    postil(&workspace, &["new", &format!("{outside}:1"), "x"]).refused("outside the workspace");
    postil(&workspace, &["new", "../home/secret.rs:1", "x"]).refused("outside the workspace");
    assert_eq!(std::fs::read_to_string(outside).expect("read"), MAIN);
    for args in [
        &["threads", "none.rs"][..],
        &["new", "none.rs:1", "x"],
        &["clear", "none.rs"],
    ] {
        postil(&workspace, args).refused("none.rs");
    }
    for args in [&["clear", "."][..], &["why", ".:1"], &["new", ".:1", "x"]] {
        postil(&workspace, args).refused(". is a folder, not a file");
    }
    postil(&workspace, &["-C", "nowhere", "threads"]).refused("nowhere");
    postil(&workspace, &["new", "src/main.rs:99", "x"]).refused("no such line");
    assert_eq!(workspace.read("src/main.rs"), MAIN);
}

#[test]
fn bytes_that_are_no_utf8_are_read_and_never_written() {
    use std::os::unix::ffi::OsStrExt as _;
    let workspace = project();
    let bytes = b"# AUTHOR: what is \xff?\nx = 1\n";
    let path = workspace.write("latin.py", bytes);
    let list = postil(&workspace, &["threads", "latin.py", "--json"])
        .ok()
        .json();
    let id = list["threads"][0]["id"]
        .as_str()
        .expect("listed")
        .to_owned();
    postil(&workspace, &["respond", &id, "y"]).refused("not valid UTF-8");
    with_input(
        &workspace,
        &["respond", &ids(&workspace)[0], "-"],
        b"\xff\xfe",
    )
    .refused("UTF-8");
    let mut command = workspace.postil();
    command
        .args(["new", "src/main.rs:1"])
        .arg(std::ffi::OsStr::from_bytes(b"\xff"));
    ran(command.output().expect("postil runs")).refused("UTF-8");
    assert_eq!(std::fs::read(path).expect("read"), bytes);
    assert_eq!(workspace.read("src/main.rs"), MAIN);
}

#[test]
fn wrong_usage_is_two() {
    let workspace = project();
    for args in [
        &["nonsense"][..],
        &["new", "src/main.rs", "x"],
        &["new", "src/main.rs:0", "x"],
        &["threads", "--status", "closed"],
        &["workflow", "thread", "abcd", "--before", "-1"],
        &["workflow", "thread", "abcd", "--before", "x"],
        &["workflow", "thread", "abcd", "--budget", "many"],
        &["workflow", "prune", "--older-than", "3y"],
        &["workflow", "prune", "--older-than", "3dd"],
        &["reply"],
        &["tools", "call", "grep", "no json"],
    ] {
        let wrong = postil(&workspace, args);
        assert_eq!(wrong.code, 2, "{args:?} {wrong:?}");
        assert!(
            !wrong.err.is_empty() && wrong.out.is_empty(),
            "{args:?} {wrong:?}"
        );
    }
    let wrong = postil(&workspace, &["nonsense", "--json"]);
    assert_eq!((wrong.code, &wrong.json()["code"]), (2, &json!("usage")));
}

#[test]
fn a_number_that_cannot_be_is_told_with_what_it_should_be() {
    let workspace = project();
    let dollars = "give a number of US dollars above 0";
    let whole = "give a whole number, 0 or above";
    let round = "give a whole number, 1 or above";
    for (args, option, value, says) in [
        (&["reply", "abcd"][..], "--budget", "-1", dollars),
        (&["reply", "abcd"], "--budget", "-.5", dollars),
        (&["reply", "abcd"], "--budget", "--yes", dollars),
        (&["reply", "abcd"], "--budget", "0", dollars),
        (&["reply", "abcd"], "--budget", "much", dollars),
        (&["reply", "abcd"], "--budget", "inf", dollars),
        (&["reply", "abcd"], "--jobs", "-1", "-1 is not in 1..=16"),
        (&["workflow", "thread", "abcd"], "--budget", "-1", whole),
        (&["workflow", "thread", "abcd"], "--before", "-1", round),
        (&["workflow", "thread", "abcd"], "--before", "0", round),
        (&["workflow", "list"], "--limit", "-1", round),
        (&["workflow", "list"], "--limit", "-.5", round),
        (&["workflow", "list"], "--limit", "0", round),
        (&["workflow", "search", "x"], "--limit", "1.5", round),
        (&["workflow", "search", "x"], "--limit", "0", round),
    ] {
        let wrong = postil(&workspace, &[args, &[option, value, "--json"]].concat());
        assert_eq!(wrong.code, 2, "{args:?} {wrong:?}");
        let told = wrong.json()["error"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(
            told.contains(option) && told.contains(value) && told.ends_with(says),
            "{args:?} {wrong:?}"
        );
        assert!(!wrong.err.contains("unexpected argument"), "{wrong:?}");
    }
}

/// The XDG Base Directory Specification has relative paths ignored: they are another folder wherever one stands.
#[test]
fn a_home_that_is_no_absolute_path_counts_as_unset() {
    let workspace = project();
    let said = |command: &mut Command, key: &str| {
        let told = ran(command.output().expect("it runs")).ok().json();
        told[key].as_str().expect("a path").to_owned()
    };
    // Where a plugin is taken away that nobody has: an unset home is that of whoever runs the tests.
    let data = |set: &[(&str, &str)]| {
        let mut command = workspace.postil();
        command.env_remove("HOME").env_remove("XDG_DATA_HOME");
        command.env("NVIM_APPNAME", "postil-has-none-here");
        command.args(["editor", "neovim", "--remove", "--json"]);
        said(command.envs(set.iter().copied()), "folder")
    };
    let unset = data(&[]);
    assert!(
        unset.starts_with('/') && unset.contains("/postil-has-none-here/"),
        "{unset}"
    );
    for name in ["HOME", "XDG_DATA_HOME"] {
        for path in ["relative", "./relative", ""] {
            assert_eq!(data(&[(name, path)]), unset, "{name}={path}");
        }
    }
    let home = workspace.root().with_file_name("home");
    let home = home.to_str().expect("UTF-8");
    assert!(data(&[("HOME", home)]).starts_with(&format!("{home}/.local/share/")));
    let mut command = workspace.postil();
    command.envs([("HOME", home), ("XDG_CONFIG_HOME", "relative")]);
    command.args(["editor", "helix", "--remove", "--json"]);
    let config = said(&mut command, "file");
    assert_eq!(config, format!("{home}/.config/helix/languages.toml"));
    // And nothing is made where one stands.
    let mut command = workspace.postil();
    command.envs([("HOME", home), ("XDG_CACHE_HOME", "relative")]);
    ran(command.arg("threads").output().expect("it runs")).ok();
    assert!(std::path::Path::new(home).join(".cache/postil").exists());
    assert!(!workspace.path("relative").exists());
}

#[test]
fn a_broken_postil_toml_is_told_with_its_line_and_passed_over() {
    let workspace = project();
    workspace.write("postil.toml", "model = \"offline\"\n[turn\n");
    let listed = postil(&workspace, &["threads"]).ok();
    assert!(listed.err.contains("postil.toml:2:"), "{listed:?}");
    workspace.write(
        "postil.toml",
        "[providers.anthropic]\nbaseUrl = \"http://evil\"\n",
    );
    let listed = postil(&workspace, &["threads"]).ok();
    assert!(listed.err.contains("config.toml"), "{listed:?}");
}

#[test]
fn a_store_from_the_future_is_refused_untouched() {
    let workspace = project();
    drop(store(&workspace));
    let path = location(&workspace.data(), workspace.root());
    let mut bytes = std::fs::read(&path).expect("read");
    bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
    std::fs::write(&path, &bytes).expect("written");
    let id = ids(&workspace).remove(0);
    for args in [
        &["workflow", "list"][..],
        &["workflow", "thread", "abcd"],
        &["reply", &id, "--model", "offline"],
        &["undo", "abcd"],
    ] {
        postil(&workspace, args).refused("update postil");
    }
    let failed = postil(&workspace, &["workflow", "list", "--json"]);
    assert_eq!(failed.json()["code"], "store_newer");
    assert_eq!(std::fs::read(&path).expect("read"), bytes);
    assert_eq!(workspace.read("src/main.rs"), MAIN);
    // What needs no history goes on.
    postil(&workspace, &["threads"]).ok();
    postil(&workspace, &["respond", &id, "A function."]).ok();
}

#[test]
fn a_damaged_store_is_set_aside_and_said() {
    let workspace = project();
    drop(store(&workspace));
    let path = location(&workspace.data(), workspace.root());
    std::fs::write(&path, b"no database".repeat(1000)).expect("written");
    let listed = postil(&workspace, &["workflow", "list"]);
    assert!(
        listed.err.starts_with("postil: the history in")
            && listed.err.contains("was damaged; it is kept as"),
        "{listed:?}"
    );
    assert_eq!(listed.err.lines().count(), 1, "{listed:?}");
    let names = std::fs::read_dir(path.parent().expect("a folder")).expect("read");
    let kept = names.filter_map(Result::ok).find(|entry| {
        entry
            .file_name()
            .to_string_lossy()
            .starts_with("rounds-damaged-")
    });
    let kept = kept.expect("kept").path();
    let bytes = std::fs::read(&kept).expect("read");
    assert_eq!(bytes, b"no database".repeat(1000));
    let doctor = postil(&workspace, &["doctor"]);
    let told = format!("kept as {}", kept.display());
    assert!(doctor.out.contains(&told), "{doctor:?}");
}

/// A script that keeps what is printed must not go on as if all of it were there.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let workspace = project();
    for args in [
        &["threads"][..],
        &["threads", "--json"],
        &["threads", "--sarif"],
        &["config", "schema"],
        &["completions", "bash"],
        &["tools", "list"],
        &["--version"],
        &["--help"],
        &["help", "threads"],
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let output = workspace
            .postil()
            .args(args)
            .stdout(full.expect("the device"))
            .output()
            .expect("postil runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains("the output cannot be written"), "{said}");
        // Whoever stops reading has what was wanted.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = workspace.postil().args(args).stdout(writer).output();
        let output = output.expect("postil runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {said}");
    }
}

#[test]
fn wrong_usage_is_named_in_json_too() {
    let workspace = project();
    for (args, says) in [
        (&["threads", "--status", "bogus"][..], "'bogus'"),
        (&["threads", "--status", "bogus"], "awaiting_user"),
        (&["threads", "--nothing"], "--nothing"),
        // As a turn ends.
        (
            &["workflow", "list", "--status", "paused"],
            "a run whose turn paused is awaiting_user",
        ),
        (
            &["tools", "call", "grep", "null"],
            "the parameters are no JSON object",
        ),
        (
            &["tools", "call", "grep", "[1]"],
            "the parameters are no JSON object",
        ),
        (&["reply"], "--all for every pending thread"),
    ] {
        let wrong = postil(&workspace, &[args, &["--json"]].concat());
        let error = wrong.json();
        assert_eq!((wrong.code, &error["code"]), (2, &json!("usage")));
        let error = error["error"].as_str().expect("a sentence");
        assert!(error.contains(says) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn rules_that_cannot_be_read_are_told_with_the_permissions() {
    let workspace = project();
    workspace.configure("[permissions\nbash = \"deny\"\n");
    for args in [&["permissions"][..], &["permissions", "--json"]] {
        let told = postil(&workspace, args).ok();
        assert!(
            told.err.contains("config.toml:1: this is no TOML"),
            "{told:?}"
        );
    }
}

#[test]
fn what_is_forbidden_is_not_allowed_by_a_mistake_in_the_settings() {
    let workspace = project();
    postil(&workspace, &["trust", "--yes"]).ok();
    let write = r#"{"path":"src/new.rs","content":"x"}"#;
    for settings in [
        "[permissions]\ndefault = \"deny\"\n[turn\n",
        "[permissions]\ndefault = \"denny\"\n",
        "[permission]\ndefault = \"deny\"\n",
        "[permissions]\nrules = [{ tool = \"file_w*\", action = \"deny\" }, { tool = \"bash\", action = \"alow\" }]\n",
        "[permissions]\nrules = [{ tool = \"*\", action = \"allow\" }, { tol = \"file_w*\", action = \"deny\" }]\n",
    ] {
        workspace.configure(settings);
        let refused = postil(&workspace, &["tools", "call", "file_write", write]);
        assert_eq!(refused.code, 1, "{settings}: {refused:?}");
        assert!(!workspace.path("src/new.rs").exists(), "{settings}");
        let read = r#"{"path":"src/main.rs"}"#;
        postil(&workspace, &["tools", "call", "file_read", read]).ok();
    }
}

#[test]
fn no_thread_is_written_into_gits_own_folder() {
    let workspace = project();
    let config = workspace.read(".git/config");
    postil(&workspace, &["new", ".git/config:1", "hi"]).refused(".git/config is git's own");
    assert_eq!(workspace.read(".git/config"), config);
}

#[test]
fn trust_of_a_folder_in_a_repository_is_told_to_be_of_no_use_to_its_workspace() {
    let workspace = project();
    workspace.git(&["init", "-q"]);
    let below = postil(&workspace, &["trust", "src", "--yes"]).ok();
    assert!(
        below.err.contains("`postil trust` without a folder"),
        "{below:?}"
    );
    let whole = postil(&workspace, &["trust", ".", "--yes"]).ok();
    assert_eq!(whole.err, "");
}

#[test]
fn a_current_folder_that_is_gone_is_told_and_another_can_be_named() {
    let workspace = Workspace::new();
    workspace.write("a.rs", "// AUTHOR: why?\nfn a() {}\n");
    let root = workspace.root().display();
    let run = |arguments: &str| {
        let postil = env!("CARGO_BIN_EXE_postil");
        let mut shell = workspace.command("sh");
        let script = format!("mkdir -p gone && cd gone && rmdir ../gone && '{postil}' {arguments}");
        ran(shell.args(["-c", &script]).output().expect("a shell"))
    };
    let there = run(&format!("-C '{root}' threads"));
    assert!(there.out.contains("why?"), "{there:?}");
    let here = run("threads");
    assert!(
        here.err
            .contains("the current folder is gone or cannot be read")
            && here.err.contains("name a workspace with -C"),
        "{here:?}"
    );
}

#[test]
fn a_language_server_that_serves_nobody_says_why() {
    let workspace = Workspace::new();
    for input in [&b"foo\n"[..], b""] {
        with_input(&workspace, &[], input).refused("no client said `initialize`");
    }
    for args in [
        &["-C", "/nonexist"][..],
        &["-C", "/nonexist", "serve", "--stdio"],
    ] {
        postil(&workspace, args).refused("there is no folder /nonexist");
    }
}

#[test]
fn a_run_of_no_thread_goes_on_in_its_window_alone() {
    let workspace = project();
    let store = Store::open(&workspace.data(), workspace.root()).expect("a store");
    let run = store.begin("", "", "m").expect("begun");
    let ended = store.finish(&run.id, RunStatus::Failed, Some("cut"));
    ended.expect("ended");
    postil(&workspace, &["reply", "--resume", &run.id])
        .refused("belongs to no thread: go on with it in the window where it was asked");
}

#[test]
fn a_host_that_would_never_fit_is_told() {
    for (entry, says) in [
        (
            "http://localhost:3000",
            "is an address: name the host alone",
        ),
        ("*.example.org", "means several hosts: name each of them"),
        ("::1", "is no host"),
    ] {
        let workspace = Workspace::new();
        workspace.configure(&format!("[web]\nallow = ['localhost:3000', '{entry}']\n"));
        let doctor = postil(&workspace, &["doctor"]);
        let told = format!("`web.allow` has a wrong entry: number 2 \"{entry}\" {says}");
        assert!(doctor.out.contains(&told), "{doctor:?}");
    }
    let workspace = Workspace::new();
    workspace
        .configure("[web]\nallow = ['localhost:3000', '10.0.0.7', '[::1]', 'wiki.example.org']\n");
    let doctor = postil(&workspace, &["doctor"]);
    assert!(!doctor.out.contains("wrong entry"), "{doctor:?}");
}

#[test]
fn who_does_not_know_the_way_is_told_it() {
    let workspace = project();
    let id = ids(&workspace).remove(0);
    postil(&workspace, &["tools", "call", "nope", "{}"])
        .refused("there is no tool `nope`: `postil tools list` shows them");
    let agent = ["reply", &id, "--agent", "nope"];
    postil(&workspace, &agent).refused("no agent is called so (claude-code, codex, ");
    postil(&workspace, &["reply", &id, "--agent", "no/pe"]).refused("of no provider");
    // Nothing is sent, so that no key is needed.
    let dry = [
        "reply",
        &id,
        "--dry-run",
        "--model",
        "anthropic/claude-sonnet-5-5",
    ];
    let shown = postil(&workspace, &dry).ok().out;
    assert!(shown.contains("nothing was sent"), "{shown}");
    let empty = with_input(&workspace, &["say", &id], b"\n");
    assert_eq!(empty.code, 2, "{empty:?}");
    assert!(
        empty.err.contains("no text came on standard input"),
        "{empty:?}"
    );
    postil(&workspace, &["trust", "--yes"]).ok();
    let refused = postil(
        &workspace,
        &["tools", "call", "bash", r#"{"command":"id"}"#],
    );
    assert_eq!(refused.code, 1, "{refused:?}");
    let way = "Run it on a terminal, or allow it in config.toml.";
    assert_eq!(refused.err.matches(way).count(), 1, "{refused:?}");
}
