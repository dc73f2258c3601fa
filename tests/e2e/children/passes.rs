//! What is passed on, and what follows the buffers.

use std::time::Duration;

use postil::children::{ChildError, Children, Limits};
use postil::text::{Encoding, apply_edits};
use serde_json::{Value, json};

use super::bench::{Bench, at, gone, is_alive, limits, row, uri};

#[tokio::test]
async fn a_definition_through_every_pair_of_encodings() {
    for child in ["utf-8", "utf-16", "utf-32"] {
        let bench = Bench::new(json!({"encoding": child}));
        bench.write("b.scripted", "x\n😀é def name\n");
        let a = bench.open("a.scripted", "scripted", 1, "😀😀 name\n");
        // «n» of `name` and of `def name`, in the units of the asker.
        for (encoding, asked, found) in [
            (Encoding::Utf8, 9, 11),
            (Encoding::Utf16, 5, 8),
            (Encoding::Utf32, 3, 7),
        ] {
            let params = at(&a, 0, asked);
            let answer = bench
                .children
                .request(
                    &a,
                    None,
                    "textDocument/definition",
                    params,
                    encoding,
                    &bench.cancel,
                )
                .await
                .unwrap();
            let link = &answer[0];
            assert_eq!(
                link["targetUri"],
                uri(&bench.root.join("b.scripted")),
                "{child} {encoding:?}"
            );
            assert_eq!(
                link["targetRange"]["start"],
                json!({"line": 1, "character": found}),
                "{child} {encoding:?}"
            );
            assert_eq!(
                link["originSelectionRange"]["start"],
                json!({"line": 0, "character": asked}),
                "{child} {encoding:?}"
            );
        }
    }
}

#[tokio::test]
async fn the_childs_text_is_the_buffers() {
    for (sync, encoding) in [(2, "utf-8"), (2, "utf-16"), (1, "utf-32")] {
        let bench = Bench::new(json!({"sync": sync, "encoding": encoding}));
        let path = bench.write("a.scripted", "on disk");
        let mut text = String::from("def a\r\n");
        bench.open("a.scripted", "scripted", 1, &text);
        for version in 2..60 {
            // Insert, replace and delete, wide characters and line ends among them.
            let at = (version as usize * 7) % (text.chars().count() + 1);
            let at = text.char_indices().nth(at).map_or(text.len(), |(i, _)| i);
            match version % 3 {
                0 => text.insert_str(at, "😀\r\né"),
                1 => text.insert_str(at, "\nx"),
                _ => text.truncate(at.max(3).min(text.len())),
            }
            while !text.is_char_boundary(text.len()) {
                text.pop();
            }
            bench.change(&path, version, &text);
            if version % 5 == 0 {
                let hover = bench.ask(&path, "textDocument/hover", 0, 0).await.unwrap();
                let seen: Value =
                    serde_json::from_str(hover["contents"]["value"].as_str().unwrap()).unwrap();
                assert_eq!(seen["text"], text, "version {version}");
            }
        }
        assert_eq!(bench.count("textDocument/didOpen"), 1);
        let versions: Vec<i64> = bench
            .log()
            .iter()
            .filter(|m| m["method"] == "textDocument/didChange")
            .filter_map(|m| m["params"]["textDocument"]["version"].as_i64())
            .collect();
        assert!(versions.windows(2).all(|w| w[0] < w[1]), "{versions:?}");
    }
}

#[tokio::test]
async fn another_text_under_the_same_version_is_told() {
    let bench = Bench::new(json!({}));
    let path = bench.open("a.scripted", "scripted", 3, "first\n");
    for (text, again) in [("second\n", false), ("third\n", true)] {
        bench.define(&path).await.unwrap();
        match again {
            true => drop(bench.open("a.scripted", "scripted", 3, text)),
            false => bench.change(&path, 3, text),
        }
        let hover = bench.ask(&path, "textDocument/hover", 0, 0).await.unwrap();
        let seen: Value =
            serde_json::from_str(hover["contents"]["value"].as_str().unwrap()).unwrap();
        assert_eq!(seen["text"], text);
    }
}

#[tokio::test]
async fn a_file_that_is_new_on_disk_is_told_as_such() {
    let bench = Bench::new(json!({}));
    let old = bench.write("old.scripted", "x");
    bench.define(&old).await.unwrap();
    let new = bench.write("new.scripted", "x");
    let knows_births = std::fs::metadata(&new).unwrap().created().is_ok();
    bench.children.disk_changed(&[old, new.clone()]);
    bench.children.disk_changed(std::slice::from_ref(&new));
    std::fs::remove_file(&new).unwrap();
    bench.children.disk_changed(&[new]);
    let is_watched = |m: &&Value| m["method"] == "workspace/didChangeWatchedFiles";
    let log = bench
        .logged("the changes", |log| {
            log.iter().filter(is_watched).count() == 3
        })
        .await;
    let kinds: Vec<u64> = log
        .iter()
        .filter(is_watched)
        .flat_map(|m| m["params"]["changes"].as_array().unwrap())
        .map(|change| change["type"].as_u64().unwrap())
        .collect();
    assert_eq!(kinds, [2, if knows_births { 1 } else { 2 }, 2, 3]);
}

#[tokio::test]
async fn none_is_started_where_none_may_run() {
    let none = Limits {
        max_children: 0,
        ..limits()
    };
    let bench = Bench::with_limits(json!({}), none);
    let path = bench.write("a.scripted", "x");
    let refused = bench.define(&path).await.unwrap_err();
    assert!(matches!(refused, ChildError::Off("proxy.maxChildren")));
    assert!(bench.children.states().is_empty());
}

#[tokio::test]
async fn changes_reach_the_child_without_a_request() {
    let bench = Bench::new(json!({}));
    let path = bench.open("a.scripted", "scripted", 1, "def a\n");
    bench.define(&path).await.unwrap();
    bench.change(&path, 2, "def ab\n");
    bench
        .logged("didChange", |log| {
            log.iter().any(|m| m["method"] == "textDocument/didChange")
        })
        .await;
    bench.children.saved(&path);
    let log = bench
        .logged("didSave", |log| {
            log.iter().any(|m| m["method"] == "textDocument/didSave")
        })
        .await;
    let saved = log
        .iter()
        .find(|m| m["method"] == "textDocument/didSave")
        .unwrap();
    assert_eq!(saved["params"]["text"], "def ab\n");
    bench.children.closed(&path);
    bench
        .logged("didClose", |log| {
            log.iter().any(|m| m["method"] == "textDocument/didClose")
        })
        .await;
}

#[tokio::test]
async fn a_file_that_is_not_open_is_shown_as_it_is_on_disk() {
    let bench = Bench::new(json!({}));
    let path = bench.write("a.scripted", "name def name\n");
    assert_eq!(
        bench.define(&path).await.unwrap()[0]["targetRange"]["start"]["character"],
        9
    );
    bench.write("a.scripted", "name   def name\n");
    assert_eq!(
        bench.define(&path).await.unwrap()[0]["targetRange"]["start"]["character"],
        11
    );
    // Opened in the editor it is the buffer's; closed, the disk's again.
    bench.open("a.scripted", "scripted", 1, "name def  name def name\n");
    assert_eq!(
        bench.define(&path).await.unwrap()[0]["targetRange"]["start"]["character"],
        19
    );
    bench.face.buffers.close(&path);
    bench.children.closed(&path);
    assert_eq!(
        bench.define(&path).await.unwrap()[0]["targetRange"]["start"]["character"],
        11
    );
}

#[tokio::test]
async fn the_childs_own_error_keeps_code_and_data() {
    let bench = Bench::new(json!({"on": {"textDocument/definition": "error"}}));
    let path = bench.write("a.scripted", "x");
    match bench.define(&path).await {
        Err(ChildError::Answered {
            code: -32099,
            message,
            data,
        }) => assert_eq!(
            (message.as_str(), data),
            ("no", Some(json!({"kept": [1, null]})))
        ),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_rename_is_edits_of_texts() {
    let bench = Bench::new(json!({"encoding": "utf-16"}));
    let a = bench.open("a.scripted", "scripted", 4, "def name\n😀 name\n");
    let b = bench.write("b.scripted", "é name name\n");
    let files = bench
        .children
        .rename(&a, 5, "other", &bench.cancel)
        .await
        .unwrap();
    let results: Vec<_> = files
        .iter()
        .map(|f| (f.path.clone(), f.generation, apply_edits(&f.text, &f.edits)))
        .collect();
    assert_eq!(
        results,
        [
            (a, Some(0), String::from("def other\n😀 other\n")),
            (b, None, String::from("é other other\n"))
        ]
    );
}

#[tokio::test]
async fn places_of_definitions_count_in_bytes_of_their_line() {
    let bench = Bench::new(json!({"encoding": "utf-32"}));
    let a = bench.write("a.scripted", "name\n");
    let b = bench.write("b.scripted", "\n  é def name\n");
    let places = bench
        .children
        .definition(&a, 1, &bench.cancel)
        .await
        .unwrap();
    let place = &places[0];
    assert_eq!(
        (
            &place.path,
            place.line,
            place.column,
            place.text.as_str(),
            place.range.clone()
        ),
        (&b, 1, 9, "  é def name", 10..14)
    );
    assert_eq!(
        bench
            .children
            .references(&a, 1, &bench.cancel)
            .await
            .unwrap()
            .len(),
        2
    );
}

#[tokio::test]
async fn diagnostics_are_of_the_present_text() {
    let bench = Bench::new(json!({"encoding": "utf-16"}));
    let path = bench.open("a.scripted", "scripted", 1, "😀 BAD\n");
    let (items, fresh) = bench
        .children
        .diagnostics(&path, &bench.cancel)
        .await
        .unwrap();
    assert_eq!((items.len(), fresh), (1, true));
    assert_eq!(items[0]["range"]["start"]["character"], 5, "in UTF-8");
    bench.change(&path, 2, "good\n");
    let (items, fresh) = bench
        .children
        .diagnostics(&path, &bench.cancel)
        .await
        .unwrap();
    assert_eq!((items.len(), fresh), (0, true));
}

#[tokio::test]
async fn diagnostics_without_a_version_that_were_on_their_way_are_not_of_the_new_text() {
    let bench = Bench::new(json!({"late": 0.2}));
    let path = bench.open("a.scripted", "scripted", 1, "BAD\n");
    let told = bench.children.diagnostics(&path, &bench.cancel).await;
    assert_eq!(told.unwrap().0.len(), 1);
    bench.change(&path, 2, "good\n");
    let told = bench.children.diagnostics(&path, &bench.cancel).await;
    assert_eq!(told.unwrap(), (vec![], true));
}

#[tokio::test]
async fn diagnostics_of_an_older_text_are_not_of_another_under_the_same_version() {
    let quick = Limits {
        timeout: 1,
        ..limits()
    };
    let bench = Bench::with_limits(json!({}), quick);
    let path = bench.open("a.scripted", "scripted", 3, "BAD\n");
    let told = bench.children.diagnostics(&path, &bench.cancel).await;
    assert!(matches!(told, Ok((items, true)) if items.len() == 1));
    // As of an editor that does not count, and the child says nothing of it yet.
    bench.change(&path, 3, "good QUIET\n");
    let told = bench.children.diagnostics(&path, &bench.cancel).await;
    assert!(matches!(told, Err(ChildError::TimedOut(..))), "{told:?}");
}

#[tokio::test]
async fn nothing_from_a_child_that_indexes_is_no_answer() {
    let bench = Bench::new(json!({"index": 0.5, "on": {"textDocument/definition": "index"}}));
    let path = bench.write("a.scripted", "name def name\n");
    assert_eq!(
        bench.define(&path).await.unwrap()[0]["targetRange"]["start"]["character"],
        9
    );
    let slow = Bench::with_limits(
        json!({"index": 1000, "on": {"textDocument/definition": "index"}}),
        Limits {
            timeout: 1,
            ..limits()
        },
    );
    let path = slow.write("a.scripted", "name\n");
    assert!(matches!(
        slow.define(&path).await,
        Err(ChildError::Indexing(_, 6))
    ));
}

#[tokio::test]
async fn progress_of_the_asker_is_passed_on() {
    let bench = Bench::new(json!({"on": {"textDocument/definition": "progress"}}));
    let path = bench.write("a.scripted", "name def name\n");
    let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
    bench
        .children
        .set_forward(std::sync::Arc::new(move |method: &str, params: Value| {
            let _ = sender.send((method.to_string(), params));
        }));
    let mut params = at(&path, 0, 1);
    params["workDoneToken"] = json!("theirs");
    bench
        .children
        .request(
            &path,
            None,
            "textDocument/definition",
            params,
            Encoding::Utf16,
            &bench.cancel,
        )
        .await
        .unwrap();
    let (method, params) = heard.recv().await.unwrap();
    assert_eq!(
        (method.as_str(), &params["token"]),
        ("$/progress", &json!("theirs"))
    );
    assert!(heard.try_recv().is_err(), "the child's own stays here");
}

#[tokio::test]
async fn pieces_of_an_answer_are_asked_for_only_where_both_count_alike() {
    for (encoding, pieces) in [("utf-16", true), ("utf-8", false)] {
        let bench = Bench::new(json!({"encoding": encoding}));
        bench
            .children
            .set_forward(std::sync::Arc::new(|_: &str, _: Value| {}));
        let path = bench.write("a.scripted", "name def name\n");
        let mut params = at(&path, 0, 1);
        params["partialResultToken"] = json!("theirs");
        let ask = bench.children.request(
            &path,
            None,
            "textDocument/references",
            params,
            Encoding::Utf16,
            &bench.cancel,
        );
        ask.await.unwrap();
        let log = bench.log();
        let asked = log
            .iter()
            .find(|m| m["method"] == "textDocument/references")
            .unwrap();
        assert_eq!(
            asked["params"]["partialResultToken"].is_string(),
            pieces,
            "{encoding}"
        );
    }
}

#[tokio::test]
async fn large_documents_are_told_to_one_that_takes_its_time() {
    let bench = Bench::new(json!({}));
    for name in ["b", "c", "d"] {
        let large = "x".repeat(13 << 20);
        bench.open(&format!("{name}.scripted"), "scripted", 1, &large);
    }
    let path = bench.open("a.scripted", "scripted", 1, "name def name\n");
    let found = bench.define(&path).await.unwrap();
    assert_eq!(found[0]["targetRange"]["start"]["character"], 9);
    assert_eq!(bench.children.states()[0].restarts, 0);
}

#[tokio::test]
async fn switched_off_they_end() {
    let bench = Bench::new(json!({}));
    let path = bench.write("a.scripted", "x");
    bench.define(&path).await.unwrap();
    let pid = bench.log()[0]["pid"].as_u64().unwrap();
    bench.children.set_off(true);
    let refused = bench.define(&path).await.unwrap_err();
    assert!(matches!(refused, ChildError::Off("proxy.mode")));
    assert!(gone(pid, crate::harness::DEADLINE).await);
    bench.children.set_off(false);
    bench.define(&path).await.unwrap();
}

#[tokio::test]
async fn none_starts_where_the_trust_went_while_its_program_was_looked_for() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    // rustup's stand-in of a program is asked whether it has it, and takes its time.
    let (asked, go, started) = (base.join("asked"), base.join("go"), base.join("started"));
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] || : > '{}'\n: > '{}'\nwhile [ ! -e '{}' ]; do sleep 0.01; done\n",
        started.display(),
        asked.display(),
        go.display()
    );
    let program = base.join("rustup");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("rustup", base.join("a-server")).unwrap();
    let mut row = row("scripted", &base.join("x.log"), json!({}));
    row.command = base.join("a-server").to_string_lossy().into_owned();
    let bench = Bench::with_rows(folder, vec![row], limits());
    let path = bench.write("a.scripted", "x");
    let revoke = async {
        while !asked.exists() {
            tokio::task::yield_now().await;
        }
        bench.children.set_trusted(Vec::new());
        std::fs::write(&go, "").unwrap();
    };
    let (answer, ()) = tokio::join!(bench.define(&path), revoke);
    assert!(matches!(answer, Err(ChildError::Untrusted)), "{answer:?}");
    assert!(bench.children.states().is_empty() && !started.exists());
}

/// rustup's stand-in runs what a folder's `rust-toolchain` leads to.
#[tokio::test]
async fn attack_02_a_toolchain_by_its_path_is_no_language_server() {
    use std::os::unix::fs::PermissionsExt as _;
    for (file, text) in [
        ("rust-toolchain.toml", "[toolchain]\npath = \"t\"\n"),
        ("sub/rust-toolchain.toml", "toolchain . \"path\" = '/t'\n"),
        ("rust-toolchain", "/opt/t\n"),
        ("rust-toolchain", "toolchain = {channel = 'x', path='t'}\n"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let started = base.join("started");
        let program = base.join("rustup");
        let script = format!("#!/bin/sh\n: > '{}'\n", started.display());
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("rustup", base.join("a-server")).unwrap();
        let mut row = row("scripted", &base.join("x.log"), json!({}));
        row.command = base.join("a-server").to_string_lossy().into_owned();
        row.root_markers = vec![String::from("Marker")];
        let bench = Bench::with_rows(folder, vec![row], limits());
        bench.write("sub/Marker", "");
        bench.write(file, text);
        let path = bench.write("sub/a.scripted", "x");
        let answer = bench.define(&path).await;
        assert!(
            matches!(answer, Err(ChildError::Missing { .. })),
            "{file}: {answer:?}"
        );
        assert!(!started.exists(), "{file}");
        // A channel is one of the user's own.
        bench.write(file, "[toolchain]\nchannel = \"stable\"\n");
        let path = bench.write("sub/b.scripted", "x");
        let _ = bench.define(&path).await;
        assert!(started.exists(), "{file}");
    }
}

#[tokio::test]
async fn children_start_in_trusted_folders_only() {
    let bench = Bench::new(json!({}));
    let path = bench.write("a.scripted", "x");
    bench.children.set_trusted(Vec::new());
    assert!(matches!(
        bench.define(&path).await,
        Err(ChildError::Untrusted)
    ));
    assert!(bench.log().is_empty(), "it was started");
    bench.children.set_trusted(vec![bench.root.clone()]);
    bench.define(&path).await.unwrap();
    let pid = bench.log()[0]["pid"].as_u64().unwrap();
    let beside = bench.root.with_file_name("work-evil");
    std::fs::create_dir(&beside).unwrap();
    assert!(matches!(
        bench.define(&beside.join("a.scripted")).await,
        Err(ChildError::Untrusted)
    ));
    bench.children.set_trusted(Vec::new());
    assert!(
        gone(pid, Duration::from_secs(3)).await,
        "it goes when the trust goes"
    );
}

#[tokio::test]
async fn attack_08_a_language_servers_environment_has_no_secret_and_what_its_row_adds() {
    let bench = Bench::new(json!({}));
    let path = bench.write("a.scripted", "x");
    let hover = bench.ask(&path, "textDocument/hover", 0, 0).await.unwrap();
    let seen: Value = serde_json::from_str(hover["contents"]["value"].as_str().unwrap()).unwrap();
    assert_eq!(seen["env"]["FROM_ROW"], "yes");
    let names: Vec<&String> = seen["env"].as_object().unwrap().keys().collect();
    assert!(
        names
            .iter()
            .all(|n| !n.ends_with("_KEY") && !n.ends_with("_TOKEN")),
        "{names:?}"
    );
    let path = seen["env"]["PATH"].as_str().unwrap();
    assert!(path.split(':').all(|f| f.starts_with('/')), "{path}");
}

#[tokio::test]
async fn a_missing_program_is_said_once_with_the_way_to_get_it() {
    let bench = Bench::new(json!({}));
    let mut missing = row("nosuch", &bench.root.join("x.log"), json!({}));
    missing.command = String::from("no-such-language-server");
    missing.install = String::from("get it somewhere");
    // Programs of the workspace are none.
    let planted = bench.write("no-such-language-server", "#!/bin/sh\n");
    std::fs::set_permissions(
        &planted,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let children = Children::new(vec![missing], limits(), bench.face.buffers.clone());
    children.set_host(bench.face.clone());
    children.set_trusted(vec![bench.root.clone()]);
    let path = bench.write("a.nosuch", "x");
    for _ in 0..3 {
        let answer = children
            .request(
                &path,
                None,
                "textDocument/hover",
                at(&path, 0, 0),
                Encoding::Utf8,
                &bench.cancel,
            )
            .await;
        assert!(
            matches!(&answer, Err(ChildError::Missing { install, .. }) if install == "get it somewhere"),
            "{answer:?}"
        );
    }
    assert_eq!(bench.face.messages.lock().unwrap().len(), 1);
    assert!(matches!(
        children
            .request(
                &bench.root.join("a.whatever"),
                None,
                "x",
                json!({}),
                Encoding::Utf8,
                &bench.cancel
            )
            .await,
        Err(ChildError::NoRow(_))
    ));
}

#[tokio::test]
async fn unused_children_end_and_there_are_never_too_many() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let rows = ["one", "two"].map(|name| row(name, &base.join(format!("{name}.log")), json!({})));
    let bench = Bench::with_rows(
        folder,
        rows.to_vec(),
        Limits {
            max_children: 1,
            idle: 3,
            ..limits()
        },
    );
    let (one, two) = (bench.write("a.one", "x"), bench.write("a.two", "x"));
    bench.define(&one).await.unwrap();
    let states = bench.children.states();
    assert_eq!(
        (states.len(), &*states[0].state, &states[0].root),
        (1, "ready", &bench.root)
    );
    assert!(states[0].memory.is_some_and(|m| m > 1 << 20), "{states:?}");
    let first = bench.log_of("one")[0]["pid"].as_u64().unwrap();
    bench.define(&two).await.unwrap();
    assert!(gone(first, Duration::from_secs(3)).await, "one too many");
    let second = bench.log_of("two")[0]["pid"].as_u64().unwrap();
    assert!(is_alive(second));
    assert!(
        gone(second, Duration::from_secs(10)).await,
        "unused for three seconds"
    );
    bench.define(&two).await.unwrap();
    assert!(
        bench
            .log_of("two")
            .iter()
            .any(|m| m["method"] == "shutdown"),
        "asked to end, not killed"
    );
}
