//! What a server asks of the editor.

use std::path::Path;

use serde_json::{Value, json};

use super::bench::{Bench, limits, row, uri};
use super::proxied::{at, start};
use crate::harness::Workspace;

#[tokio::test]
async fn its_questions_are_answered_once_each() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let target = root.join("work/b.scripted");
    // Outside of the workspace, guarded by its name, and guarded by a link that leads there.
    let guarded = [".vscode/tasks.json", "mine.json"].map(|name| root.join("work").join(name));
    let others = [uri(Path::new("/etc/hostname"))].into_iter();
    let others: Vec<String> = others.chain(guarded.iter().map(|path| uri(path))).collect();
    let row = row(
        "scripted",
        &root.join("scripted.log"),
        json!({"on": {"textDocument/definition": "ask"}, "target": uri(&target), "others": others}),
    );
    let bench = Bench::with_rows(folder, vec![row], limits());
    let path = bench.write("a.scripted", "x");
    bench.write("b.scripted", "😀 on disk\n");
    std::fs::create_dir(root.join("work/.vscode")).unwrap();
    bench.write(".vscode/tasks.json", "{}\n");
    bench.write("mine.json", "{}\n");
    std::os::unix::fs::symlink("../mine.json", root.join("work/.vscode/settings.json")).unwrap();
    for open in [false, true] {
        if open {
            bench.open("b.scripted", "scripted", 7, "in the buffer\n");
        }
        let answers = bench.define(&path).await.unwrap();
        let results: Vec<&Value> = answers
            .as_array()
            .unwrap()
            .iter()
            .map(|a| &a["result"])
            .collect();
        assert_eq!(*results[0], json!([{"b": 1}, null]), "configuration");
        assert_eq!(*results[1], Value::Null);
        assert_eq!(*results[2], Value::Null);
        assert_eq!(
            *results[3],
            json!([{"uri": uri(&bench.root), "name": "work"}])
        );
        assert_eq!(*results[4], json!({"title": "two", "kept": 1}));
        assert_eq!(*results[5], json!({"applied": true}));
        for (result, other) in results[6..9].iter().zip(&others) {
            assert_eq!(result["applied"], false, "{other}");
            let why = result["failureReason"].as_str().unwrap_or_default();
            let is_guarded = why.contains("is protected");
            assert_eq!(is_guarded, *other != others[0], "{other}: {why}");
        }
        assert_eq!(answers[9]["error"]["code"], -32601);
        assert!(
            answers
                .as_array()
                .unwrap()
                .iter()
                .all(|a| a["again"] == false)
        );
    }
    for path in guarded {
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "{}\n",
            "{}",
            path.display()
        );
    }
    assert_eq!(
        std::fs::read_to_string(&target).unwrap(),
        "# 😀 on disk\n",
        "once on disk"
    );
    assert_eq!(
        bench.face.buffers.get(&target).unwrap().document.text(),
        "# in the buffer\n",
        "once in the editor"
    );
    assert!(bench.face.questions.lock().unwrap()[0].contains("which?"));
}

#[tokio::test]
async fn its_edit_of_a_file_on_disk_is_made_whatever_the_name_but_not_where_the_text_is_no_utf_8() {
    use std::os::unix::ffi::OsStrExt as _;
    for (name, before, after) in [
        (&b"caf\xe9.txt"[..], &b"text\n"[..], &b"# text\n"[..]),
        (b"latin.txt", b"caf\xe9\n", b"caf\xe9\n"),
        // What it puts first goes behind the mark of the byte order.
        (
            b"marked.txt",
            b"\xef\xbb\xbftext\n",
            b"\xef\xbb\xbf# text\n",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let target = root.join("work").join(std::ffi::OsStr::from_bytes(name));
        let row = row(
            "scripted",
            &root.join("scripted.log"),
            json!({"on": {"textDocument/definition": "ask"}, "target": uri(&target), "others": []}),
        );
        let bench = Bench::with_rows(folder, vec![row], limits());
        let path = bench.write("a.scripted", "x");
        std::fs::write(&target, before).unwrap();
        let answers = bench.define(&path).await.unwrap();
        let answer = &answers[5]["result"];
        assert_eq!(answer["applied"], before != after, "{answer}");
        assert_eq!(std::fs::read(&target).unwrap(), after, "{answer}");
    }
}

#[test]
fn the_answer_that_a_person_chose_is_the_one_that_it_gets() {
    let workspace = Workspace::new();
    let long = "x".repeat(70);
    let mut actions: Vec<Value> = (0..8)
        .map(|n| json!({"title": format!("no {n}")}))
        .collect();
    actions.insert(0, json!({"title": format!("{long}a")}));
    actions.insert(1, json!({"title": format!("{long}b"), "kept": 2}));
    let asks = json!({
        "on": {"textDocument/definition": "ask"},
        "target": uri(&workspace.path("b.rs")),
        "others": [],
        "actions": actions,
    });
    let mut editor = start(&workspace, &asks, "");
    editor.open_text("a.rs", "rust", "def first\n");
    let x = "x".repeat(29);
    editor.state().choices.push(format!("{x}…{x}b"));
    let place = at(&editor, "a.rs", 5);
    let answers = editor.request("textDocument/definition", place);
    let answers = answers.expect("answers");
    assert_eq!(answers[4]["result"], actions[1], "{answers}");
    let question = editor.wait_message("window/showMessageRequest", |_| true);
    let said = question["message"].as_str().unwrap_or_default();
    assert!(said.contains("10 answers the first 8"), "{said}");
}
