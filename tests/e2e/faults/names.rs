//! What a file is called, and what stands behind its name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use super::world::as_nobody;
use super::*;
use crate::model::{Model, Step};

#[test]
fn links_that_lead_in_circles_or_out_of_the_workspace_are_not_followed() {
    let workspace = Workspace::new();
    workspace.write("src/a.rs", ASKED);
    let outside = workspace.root().parent().expect("a parent").join("home");
    std::fs::write(outside.join("secret.rs"), ASKED).expect("written");
    symlink(workspace.root(), workspace.path("src/circle")).expect("a link");
    symlink("self.rs", workspace.path("self.rs")).expect("a link");
    symlink(&outside, workspace.path("out")).expect("a link");
    symlink(outside.join("secret.rs"), workspace.path("out.rs")).expect("a link");
    assert_eq!(files(&workspace), ["src/a.rs"]);
    for path in ["out/secret.rs", "out.rs"] {
        refused(&workspace, &["new", &format!("{path}:1"), "x"], "outside");
        refused(&workspace, &["clear", path], "outside");
    }
    refused(&workspace, &["new", "self.rs:1", "x"], "self.rs");
    let secret = std::fs::read_to_string(outside.join("secret.rs"));
    assert_eq!(secret.expect("read"), ASKED);
}

/// Opening a pipe to read waits for a writer, who never comes.
#[test]
fn pipes_and_sockets_named_like_source_are_not_waited_for() {
    let workspace = Workspace::new();
    workspace.write("a.rs", ASKED);
    let pipe = workspace.path("pipe.rs");
    let made = workspace.command("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let _socket = std::os::unix::net::UnixListener::bind(workspace.path("socket.rs"));
    assert_eq!(files(&workspace), ["a.rs"]);
    for name in ["pipe.rs", "socket.rs"] {
        assert_eq!(listed(&workspace, &[name])["summary"]["total"], 0);
        refused(&workspace, &["new", &format!("{name}:1"), "x"], name);
        refused(&workspace, &["clear", name], name);
    }
    // Nor where an editor has a text of that name.
    let mut editor = Editor::start(&workspace);
    editor.wait_codes("a.rs", &["pending"]);
    editor.open_text("pipe.rs", "rust", ASKED);
    editor.wait_codes("pipe.rs", &["pending"]);
    assert!(!editor.code_actions("pipe.rs", 1).is_empty());
    let uri = editor.uri("pipe.rs");
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({"changes": [{"uri": uri, "type": 2}]}),
    );
    editor.close("pipe.rs");
    editor.wait_codes("pipe.rs", &[]);
}

#[test]
fn pipes_named_like_settings_and_rules_are_not_waited_for() {
    let workspace = Workspace::new();
    workspace.write("a.rs", ASKED);
    workspace.git(&["init", "-q"]);
    std::fs::create_dir_all(workspace.path(".git/info")).expect("a folder");
    for name in ["postil.toml", ".mcp.json", ".git/info/exclude"] {
        let pipe = workspace.path(name);
        let _ = std::fs::remove_file(&pipe);
        let made = workspace.command("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo runs").success());
    }
    assert_eq!(files(&workspace), ["a.rs"]);
    let trusted = workspace.postil().args(["trust", "--yes"]).output();
    assert!(trusted.expect("it ends").status.success());
    let told = workspace.postil().arg("doctor").output().expect("it ends");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(
        told.contains("postil.toml: it cannot be read and is passed over (it is no ordinary file)"),
        "{told}"
    );
}

/// What a command says with `pipe` in its way, which it does not wait for.
pub(super) fn said(workspace: &Workspace, pipe: &str, args: &[&str]) -> String {
    let mut postil = workspace.command("timeout");
    postil
        .arg("60")
        .arg(env!("CARGO_BIN_EXE_postil"))
        .args(args);
    let out = postil.output().expect("it ends");
    let text = [out.stdout, out.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert_ne!(out.status.code(), Some(124), "{pipe} is waited for: {text}");
    text
}

/// git and libgit2 open them all, and an archive of somebody else's may hold any.
#[test]
fn pipes_named_like_the_files_of_a_repository_are_not_waited_for() {
    for name in [
        ".git/config",
        ".git/index",
        ".git/shallow",
        ".git/refs/heads/main",
        ".git/objects/info/alternates",
        ".mailmap",
        "settings.of.git",
    ] {
        let workspace = Workspace::new();
        workspace.write("a.rs", ASKED);
        workspace.git(&["init", "-q", "-b", "main"]);
        workspace.git(&["add", "."]);
        workspace.git(&["commit", "-qm", "first"]);
        workspace.git(&["config", "include.path", "../settings.of.git"]);
        let pipe = workspace.path(name);
        let _ = std::fs::remove_file(&pipe);
        let made = workspace.command("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo runs").success());
        let said = |args: &[&str]| said(&workspace, name, args);
        let short = name.rsplit('/').next().unwrap_or(name);
        let why = format!("{short} is no ordinary file");
        let listed = said(&["threads"]);
        assert!(listed.contains("a.rs"), "{name}: {listed}");
        for args in [["why", "a.rs:1"], ["clear", "a.rs"]] {
            let told = said(&args);
            assert!(told.contains(&why), "{args:?}: {told}");
        }
        assert_eq!(workspace.read("a.rs"), ASKED);
        let told = said(&["doctor"]);
        assert!(
            told.contains(&why) && told.contains("git version"),
            "{told}"
        );
    }
}

#[test]
fn a_pipe_that_is_included_is_not_waited_for_however_it_is_written() {
    for settings in [
        "[include] path = ../pipe # with a word\n",
        "[include]\n\tpath = ../pipe; or two\n",
        "[include]\n\tpath = ../pi\"pe\"\n",
        "[include]\n\tpath = \"../pi\\\npe\"\n",
        "[core]\n\texcludesFile = \"../pipe\" ;\n[includeIf \"gitdir:**a=b\"] path=x\n",
        "[includeIf \"gitdir/i:**/.GIT\"] path=../pipe\n",
    ] {
        let workspace = Workspace::new();
        workspace.write("a.rs", ASKED);
        workspace.git(&["init", "-q", "-b", "main"]);
        let config = workspace.read(".git/config") + settings;
        workspace.write(".git/config", config);
        let pipe = workspace.path("pipe");
        let made = workspace.command("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo runs").success());
        let said = |args: &[&str]| said(&workspace, settings, args);
        let listed = said(&["threads"]);
        assert!(listed.contains("a.rs"), "{settings}: {listed}");
        let told = said(&["doctor"]);
        assert!(
            told.contains("pipe is no ordinary file"),
            "{settings}: {told}"
        );
    }
}

/// The beginning of a file of eight gigabytes as git packs it: `blob 8589934592`, a zero and zeros.
const BOMB: &[u8] = b"\x78\xda\xed\xc1\xb1\x09\x00\x20\x0c\x00\x30\x4f\xf1\x06\xb5\x60\xdf\xe9\x2c\xf8\xff\xe6\x1f\x92\xa4\xce\xad\xbe\x63\x67\xce\x15\x39\x1a\x00\x00\x00\xf0\xbf\x07\x0a\x94\x03\xde";

#[test]
fn pipes_among_the_objects_of_a_repository_are_not_waited_for() {
    let other = "others/aa/00000000000000000000000000000000000000";
    let pack = ".git/objects/pack/pack-0000000000000000000000000000000000000000.idx";
    for name in [
        "HEAD",
        "HEAD^{tree}",
        "HEAD:a.rs",
        pack,
        other,
        "huge",
        "bomb",
    ] {
        let workspace = Workspace::new();
        workspace.write("a.rs", "// AUTHOR: who wrote this?\nfn a() {}\n");
        workspace.git(&["init", "-q", "-b", "main"]);
        workspace.git(&["add", "."]);
        workspace.git(&["commit", "-qm", "first"]);
        let object = |name: &str| {
            let id = workspace.git(&["rev-parse", name]);
            let (folder, rest) = id.trim().split_at(2);
            format!(".git/objects/{folder}/{rest}")
        };
        let pipe = match name {
            "huge" => object("HEAD"),
            "bomb" => object("HEAD:a.rs"),
            name if name.contains('/') => name.to_owned(),
            name => object(name),
        };
        let path = workspace.path(&pipe);
        let _ = std::fs::remove_file(&path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        if name == "huge" {
            let file = std::fs::File::create(&path).expect("made");
            file.set_len(1 << 40).expect("it has holes");
        } else if name == "bomb" {
            std::fs::write(&path, BOMB).expect("made");
        } else {
            let made = workspace.command("mkfifo").arg(&path).status();
            assert!(made.expect("mkfifo runs").success());
        }
        if name == other {
            workspace.write(".git/objects/info/alternates", "../../others\n");
        }
        let short = pipe.rsplit('/').next().unwrap_or_default();
        let why = match name {
            "huge" => format!("{short} is larger than 512 MiB"),
            "bomb" => format!("{short} is larger than 512 MiB once it is unpacked"),
            _ => format!("{short} is no ordinary file"),
        };
        let listed = said(&workspace, &pipe, &["threads"]);
        assert!(listed.contains("a.rs"), "{name}: {listed}");
        for args in [
            &["why", "a.rs:2"][..],
            &["tools", "call", "git_status", "{}"],
            &["reply", "--all", "--model", "offline"],
            &["doctor"],
        ] {
            let told = said(&workspace, &pipe, args);
            let told = told + &workspace.read("a.rs");
            assert!(told.contains(&why), "{name}, {args:?}: {told}");
        }
    }
}

/// A pack with one object, which says that it has three gigabytes and ends early; `kind`: 1 is a commit, 2 a tree.
fn packed_bomb(workspace: &Workspace, id: &str, kind: u8) {
    const SIZE: u64 = 3 << 30;
    let mut pack = b"PACK\0\0\0\x02\0\0\0\x01".to_vec();
    // Four bits of the size beside the kind, then seven in each byte, the lowest first.
    let (mut byte, mut left) = (kind << 4 | (SIZE & 15) as u8, SIZE >> 4);
    while left > 0 {
        pack.push(byte | 0x80);
        (byte, left) = ((left & 0x7f) as u8, left >> 7);
    }
    pack.push(byte);
    pack.extend(b"\x78\x9c\x03\0\0\0\0\x01");
    pack.extend([0; 20]);
    let id: Vec<u8> = (0..20)
        .map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).expect("digits"))
        .collect();
    let mut index = b"\xfftOc\0\0\0\x02".to_vec();
    for first in 0..=255 {
        index.extend(u32::from(first >= id[0]).to_be_bytes());
    }
    index.extend(&id);
    index.extend([0; 4]);
    index.extend(12_u32.to_be_bytes());
    index.extend([0; 40]);
    let folder = workspace.path(".git/objects/pack");
    for (name, bytes) in [("pack", pack), ("idx", index)] {
        let file = folder.join(format!("pack-{}.{name}", "0".repeat(40)));
        std::fs::write(file, bytes).expect("written");
    }
}

#[test]
fn an_object_in_a_pack_that_would_be_gigabytes_is_not_unpacked() {
    for (name, kind) in [("HEAD", 1), ("HEAD^{tree}", 2)] {
        let workspace = Workspace::new();
        workspace.write("a.rs", "// AUTHOR: who wrote this?\nfn a() {}\n");
        workspace.git(&["init", "-q", "-b", "main"]);
        workspace.git(&["add", "."]);
        workspace.git(&["commit", "-qm", "first"]);
        let id = workspace.git(&["rev-parse", name]);
        let id = id.trim();
        let (folder, rest) = id.split_at(2);
        let loose = workspace.path(&format!(".git/objects/{folder}/{rest}"));
        std::fs::remove_file(loose).expect("it was there");
        packed_bomb(&workspace, id, kind);
        let status = said(&workspace, name, &["tools", "call", "git_status", "{}"]);
        let why = "larger than 1024 MiB once it is unpacked";
        assert!(status.contains(why), "{name}: {status}");
        let told = said(&workspace, name, &["why", "a.rs:2"]);
        assert!(told.contains("limit"), "{name}: {told}");
        let listed = said(&workspace, name, &["threads"]);
        assert!(listed.contains("a.rs"), "{name}: {listed}");
        let id = listed
            .split_whitespace()
            .find(|word| word.len() == 8 && word.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let dismissed = said(&workspace, name, &["dismiss", id.expect("an id")]);
        assert!(!workspace.read("a.rs").contains("AUTHOR"), "{dismissed}");
    }
}

#[test]
fn pipes_named_like_rules_in_a_folder_below_are_not_waited_for() {
    for name in [".gitignore", ".gitattributes", ".ignore"] {
        let workspace = Workspace::new();
        workspace.write("a.rs", ASKED);
        workspace.write("sub/b.rs", ASKED);
        workspace.git(&["init", "-q", "-b", "main"]);
        workspace.git(&["add", "."]);
        workspace.git(&["commit", "-qm", "first"]);
        let made = workspace
            .command("mkfifo")
            .arg(workspace.path(&format!("sub/{name}")))
            .status();
        assert!(made.expect("mkfifo runs").success());
        let said = |args: &[&str]| said(&workspace, name, args);
        assert!(said(&["threads"]).contains("sub/b.rs"), "{name}");
        let why = format!("{name} is no ordinary file");
        if name != ".ignore" {
            for args in [
                &["why", "sub/b.rs:1"][..],
                &["clear", "sub/b.rs"],
                &["tools", "call", "git_status", "{}"],
            ] {
                let told = said(args);
                assert!(told.contains(&why), "{args:?}: {told}");
            }
        }
        let found = said(&["tools", "call", "grep", r#"{"pattern": "AUTHOR"}"#]);
        assert!(found.contains("a.rs:"), "{name}: {found}");
        let named = said(&["tools", "call", "glob", r#"{"pattern": "**"}"#]);
        assert!(named.contains("a.rs"), "{name}: {named}");
    }
}

#[test]
fn a_folder_that_cannot_be_read_costs_itself_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = Workspace::new();
    workspace.write("a.rs", ASKED);
    workspace.write("closed/b.rs", ASKED);
    let closed = workspace.path("closed");
    let mode = |mode| std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(mode));
    mode(0).expect("closed");
    let output = as_nobody(&workspace, &["threads", "--json"]);
    mode(0o755).expect("open");
    let Some(output) = output else { return };
    let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(list["summary"]["total"], 1);
    assert!(list["skipped"].to_string().contains("closed"), "{list}");
}

#[test]
fn any_name_is_listed_answered_and_shown_without_control_characters() {
    let workspace = Workspace::new();
    let names: [&[u8]; 9] = [
        b"line\nbreak.rs",
        b"esc\x1b]0;title\x07\x1b[31m.rs",
        b"not-utf8-\xff\xfe.rs",
        b"b..rs",
        b"a..b.rs",
        b" blanks .rs",
        b"-C.rs",
        "bidi\u{202e}sr.\u{200b}x.rs".as_bytes(),
        b"%41#?&.rs",
    ];
    for name in names {
        let path = workspace.root().join(OsStr::from_bytes(name));
        std::fs::write(path, ASKED).expect("written");
    }
    let list = listed(&workspace, &[]);
    assert_eq!(list["summary"]["total"], names.len(), "{list}");
    // For people nothing that a terminal acts on is printed, the colours left out.
    let output = run(&workspace, &["threads", "--color", "never"]);
    let text = shown(&output);
    let acts = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{200b}".contains(c);
    assert!(!text.contains(acts), "{text:?}");
    assert_eq!(text.matches("why?").count(), names.len(), "{text}");
    // In JSON they are escaped, not changed.
    let raw = String::from_utf8(run(&workspace, &["threads", "--json"]).stdout).expect("UTF-8");
    assert!(!raw.contains(acts), "{raw:?}");
    for thread in list["threads"].as_array().expect("an array") {
        let id = thread["id"].as_str().expect("an id");
        let output = run(&workspace, &["respond", id, "So."]);
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
        assert!(!shown(&output).contains(acts), "{:?}", shown(&output));
    }
    for name in names {
        let path = workspace.root().join(OsStr::from_bytes(name));
        let text = std::fs::read_to_string(path).expect("read");
        assert!(text.contains("// AGENT: So.\n"), "{name:?}: {text}");
    }
}

#[test]
fn attack_11_an_editor_shows_names_and_ids_of_others_without_control_characters() {
    let workspace = Workspace::new();
    let name = "esc\u{1b}[31m\u{202e}sr.rs";
    workspace.write(name, ASKED);
    let mut editor = Editor::start(&workspace);
    editor.wait_message("textDocument/publishDiagnostics", |params| {
        params["diagnostics"][0]["code"] == "pending"
    });
    let acts = |c: char| c.is_control() || c == '\u{202e}';
    let symbols = editor.request("workspace/symbol", json!({"query": ""}));
    let shown = symbols.expect("symbols")[0]["containerName"].clone();
    assert_eq!(shown, "esc⟨U+202E⟩sr.rs");
    for argument in [
        json!({"thread_id": "\u{1b}[31m\u{202e}"}),
        json!({"\u{1b}[31m\u{202e}": 1}),
    ] {
        let refused = editor.command("postil.dismissThread", argument);
        let message = refused.expect_err("it is refused")["message"].clone();
        let message = message.as_str().expect("words");
        assert!(!message.contains(acts), "{message:?}");
    }
}

/// A gate that finds no thread because it could open no file would let everything through.
#[test]
fn fault_09_where_no_more_files_can_be_opened_all_threads_are_found_or_none_is_said_to_be() {
    let workspace = Workspace::new();
    for n in 0..20 {
        workspace.write(&format!("d{n}/e/a.rs"), ASKED);
    }
    let mut refused = 0;
    for most in 9..24 {
        let mut limited = workspace.command("prlimit");
        limited
            .arg(format!("--nofile={most}"))
            .arg(env!("CARGO_BIN_EXE_postil"))
            .args(["threads", "--json", "--no-cache"])
            .stdin(Stdio::null());
        let output = limited.output().expect("prlimit of util-linux runs");
        let text = shown(&output);
        if output.status.code() == Some(0) {
            let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            assert_eq!(list["summary"]["total"], 20, "{most}: {text}");
        } else {
            refused += 1;
            assert_eq!(output.status.code(), Some(1), "{most}: {text}");
            assert!(text.contains("Too many open files"), "{most}: {text}");
        }
    }
    assert!((1..15).contains(&refused), "{refused}");
}

/// What changed then is looked at again, and the person is told that threads may be missing.
#[test]
fn an_editor_that_may_open_no_more_files_is_told_once_and_shows_all_later() {
    let workspace = Workspace::new();
    workspace.write("a.rs", ASKED);
    let mut editor = Editor::start(&workspace);
    editor.wait_codes("a.rs", &["pending"]);
    let shown = |editor: &mut Editor| {
        let symbols = editor.request("workspace/symbol", json!({"query": ""}));
        symbols.expect("symbols").as_array().map_or(0, Vec::len)
    };
    assert_eq!(shown(&mut editor), 1);
    editor.may_open("3");
    let change = |editor: &mut Editor, file: &str| {
        workspace.write(file, ASKED);
        let changes = json!({"changes": [{"uri": editor.uri(file), "type": 1}]});
        editor.notify("workspace/didChangeWatchedFiles", changes);
    };
    change(&mut editor, "b.rs");
    let told = editor.wait_saying("window/showMessage", "threads may be missing");
    let text = told["message"].as_str().expect("words");
    assert!(
        text.contains("Too many open files") && text.contains("ulimit -n"),
        "{text}"
    );
    change(&mut editor, "c.rs");
    // A question walks in vain.
    shown(&mut editor);
    editor.may_open("1024");
    assert_eq!(shown(&mut editor), 3);
    let state = editor.state();
    let again = state.received.iter().filter(|message| {
        let said = message["params"]["message"].as_str().unwrap_or_default();
        message["method"] == "window/showMessage" && said.contains("threads may be missing")
    });
    assert_eq!(again.count(), 1);
}

#[test]
fn a_name_that_is_no_utf_8_can_be_given() {
    let workspace = Workspace::new();
    let file = OsStr::from_bytes(b"n\xff.rs");
    let folder = OsStr::from_bytes(b"d\xfe");
    let below = workspace.root().join(folder);
    std::fs::create_dir(&below).expect("a folder");
    for path in [workspace.root().join(file), below.join("a.rs")] {
        std::fs::write(path, ASKED).expect("written");
    }
    for path in [file, folder] {
        let output = run(&workspace, &["threads".as_ref(), path]);
        let text = shown(&output);
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert!(text.contains("1 thread"), "{text}");
    }
    // A line of it cannot, and the file is named.
    let place = OsStr::from_bytes(b"n\xff.rs:1");
    for args in [
        &["new".as_ref(), place, "x".as_ref()][..],
        &["why".as_ref(), place],
    ] {
        let output = run(&workspace, args);
        let text = shown(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(
            text.contains("`n\u{fffd}.rs:1` is not valid UTF-8"),
            "{text}"
        );
    }
    let text = std::fs::read_to_string(workspace.root().join(file));
    assert_eq!(text.expect("read"), ASKED);
}

#[test]
fn a_thread_in_a_file_whose_name_is_no_utf_8_is_answered_with_its_code() {
    let workspace = Workspace::new();
    let path = workspace.root().join(OsStr::from_bytes(b"caf\xe9.rs"));
    let asked = "// AUTHOR: who wrote this?\nfn answer() -> u32 {\n    7\n}\n";
    std::fs::write(&path, &asked[asked.find("fn").expect("code")..]).expect("written");
    for args in [
        &["init", "-q"][..],
        &["add", "."],
        &["commit", "-qm", "Begin it"],
    ] {
        workspace.git(args);
    }
    std::fs::write(&path, asked).expect("written");
    for args in [&["trust", "--yes"][..], &["reply", "--all", "--yes"]] {
        let args: Vec<&OsStr> = args.iter().map(|arg| OsStr::new(*arg)).collect();
        let output = run(&workspace, &args);
        assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    }
    let text = std::fs::read_to_string(&path).expect("read");
    assert!(text.contains("Begin it"), "{text}");

    let model = Model::start(vec![Step::text("Seven.")]);
    std::fs::write(&path, asked.replace("who wrote this", "what is it")).expect("written");
    let mut reply = workspace.postil();
    reply.args(["reply", "--all", "--yes"]).envs(model.env());
    let output = reply.output().expect("postil runs");
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let told = model.requests()[0].body.to_string();
    assert!(
        told.contains("fn answer() -> u32") && !told.contains("cannot be read"),
        "{told}"
    );
}

#[test]
fn a_name_with_any_bytes_is_shown_in_an_editor_under_its_own_uri() {
    let workspace = Workspace::new();
    let uris: Vec<String> = [&b"line\nbreak.rs"[..], b"not-utf8-\xff.rs", b"a b#%.rs"]
        .iter()
        .map(|name| {
            let path = workspace.root().join(OsStr::from_bytes(name));
            std::fs::write(&path, ASKED).expect("written");
            crate::harness::uri_of(&path)
        })
        .collect();
    let editor = Editor::start(&workspace);
    for uri in uris {
        editor.wait_for(&uri, |state| {
            let decoded = |uri: &str| uri.to_lowercase();
            let mut known = state.diagnostics.iter();
            known
                .any(|(of, (_, list))| decoded(of) == decoded(&uri) && list.len() == 1)
                .then_some(())
        });
    }
}

#[test]
fn names_that_differ_in_case_alone_are_two_files() {
    let workspace = Workspace::new();
    workspace.write("a.rs", ASKED);
    workspace.write("A.rs", ASKED);
    let list = listed(&workspace, &[]);
    let ids: Vec<&str> = [0, 1]
        .iter()
        .filter_map(|at| list["threads"][at]["id"].as_str())
        .collect();
    if list["summary"]["total"] == 1 {
        return; // The file system does not tell them apart.
    }
    assert_ne!(ids[0], ids[1]);
    let file = list["threads"][0]["file"].as_str().expect("a file");
    let other = list["threads"][1]["file"].as_str().expect("a file");
    let output = run(&workspace, &["dismiss", ids[0]]);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert_eq!(workspace.read(file), ASKED.replace("// AUTHOR: why?\n", ""));
    assert_eq!(workspace.read(other), ASKED);
}

/// To git a path may be a pattern; to a patch it may be a folder further down.
#[test]
fn a_name_like_a_pattern_or_a_patch_is_the_name_of_that_file_alone() {
    let workspace = Workspace::new();
    let names = [
        "*.rs",
        "b/b.rs",
        ":!x.rs",
        ":(top)y.rs",
        "+++ b.rs",
        "[ab].rs",
    ];
    for name in names {
        workspace.write(name, ASKED);
    }
    workspace.write("other.rs", "one\n");
    workspace.git(&["init", "--quiet"]);
    workspace.git(&["add", "."]);
    workspace.git(&["commit", "--quiet", "-m", "First"]);
    workspace.write("other.rs", "two\n");
    assert!(run(&workspace, &["trust", "--yes"]).status.success());
    for name in names {
        let output = run(&workspace, &["clear", "--", name]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", shown(&output));
        let touched = workspace.git(&["show", "--name-only", "--format=", "-z"]);
        assert_eq!(touched.trim_matches('\0'), name);
    }
    assert_eq!(workspace.git(&["status", "--porcelain"]), " M other.rs\n");
}

#[test]
fn paths_above_the_workspace_are_refused_however_they_are_written() {
    let workspace = Workspace::new();
    workspace.write("src/a.rs", ASKED);
    let evil = workspace.root().with_file_name("work-evil");
    std::fs::create_dir(&evil).expect("a folder");
    std::fs::write(evil.join("a.rs"), ASKED).expect("written");
    let absolute = evil.join("a.rs").to_string_lossy().into_owned();
    for path in [
        "../work-evil/a.rs",
        "src/../../work-evil/a.rs",
        "./src/./../../work-evil/a.rs",
        &absolute,
        "/proc/self/root/etc/passwd",
    ] {
        refused(&workspace, &["threads", path], "outside");
        refused(&workspace, &["new", &format!("{path}:1"), "x"], "outside");
        refused(&workspace, &["clear", path], "outside");
    }
    assert_eq!(
        std::fs::read_to_string(evil.join("a.rs")).expect("read"),
        ASKED
    );
}

#[test]
fn attack_15_values_that_look_like_flags_are_values() {
    let workspace = Workspace::new();
    workspace.write("a.rs", ASKED);
    let id = listed(&workspace, &[])["threads"][0]["id"].clone();
    let id = id.as_str().expect("an id");
    let texts = [
        "--settings=/etc/passwd",
        "--workspace=/",
        "-C/",
        "--help",
        "--",
    ];
    for text in texts {
        let output = run(&workspace, &["say", id, "--", text]);
        assert_eq!(output.status.code(), Some(0), "{text}: {}", shown(&output));
        assert!(
            workspace
                .read("a.rs")
                .contains(&format!("// AUTHOR: {text}\n")),
            "{text}: {}",
            workspace.read("a.rs")
        );
    }
    // Behind `--` there are no flags: a path is looked for.
    for path in ["--json", "-C", "--settings=x"] {
        refused(&workspace, &["threads", "--", path], path);
    }
    // The value of one flag does not hold another.
    let output = run(&workspace, &["-C", "--settings=x", "threads"]);
    assert_ne!(output.status.code(), Some(0), "{}", shown(&output));
    let unknown = run(&workspace, &["threads", "--settings=x"]);
    assert_eq!(unknown.status.code(), Some(2), "{}", shown(&unknown));
}

#[test]
fn attack_11_errors_show_the_names_of_others_without_control_characters() {
    let workspace = Workspace::new();
    let bad = "no\u{1b}]52;c;eA==\u{7}ne\u{202e}.rs";
    refused(&workspace, &["threads", bad], "no");
    refused(&workspace, &["new", &format!("{bad}:1"), "x"], "no");
    refused(&workspace, &["dismiss", "\u{1b}[31m0000"], "0000");
    let output = run(&workspace, &["threads", bad]);
    assert!(!shown(&output).contains('\u{202e}'), "{}", shown(&output));
}
