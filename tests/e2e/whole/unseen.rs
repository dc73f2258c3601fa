//! What `postil check` could not look at: it says so, and does not pass.

use std::path::Path;

use super::*;
use crate::peers;

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Of which nobody knows any more what git tracks: what is hidden or ignored is passed over, tracked or not.
fn with_a_damaged_index() -> Workspace {
    let workspace = Workspace::new();
    workspace.git(&["init", "--quiet"]);
    workspace.write(".gitignore", "ign/\n");
    workspace.write("ign/b.py", QUESTION);
    workspace.write(".hid/x.py", QUESTION);
    workspace.git(&["add", "--force", "."]);
    workspace.write(".git/index", "no index");
    workspace
}

#[test]
fn the_gate_does_not_pass_where_tracked_files_may_not_be_looked_at() {
    let workspace = with_a_damaged_index();
    let told = "what git tracks is not known, so hidden and ignored files are not looked at";
    let (code, out, err) = said(&postil(&workspace, &["check"]));
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(err.contains(told), "{err}");
    assert_eq!(out, "no threads found; not all could be looked at\n");
    // What the status is for is said however quiet it is to be.
    let (code, out, err) = said(&postil(&workspace, &["check", "-q"]));
    assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
    assert!(err.contains(told), "{err}");
    let (code, out, _) = said(&postil(&workspace, &["check", "--sarif"]));
    let sarif: Value = serde_json::from_str(&out).expect("JSON");
    let invocation = &sarif["runs"][0]["invocations"][0];
    assert_eq!(
        (code, &invocation["executionSuccessful"]),
        (Some(1), &json!(false))
    );

    let (code, out, _) = said(&postil(&workspace, &["doctor", "--json"]));
    let found: Value = serde_json::from_str(&out).expect("JSON");
    let mut rows = found.as_array().expect("findings").iter();
    let named = rows.any(|row| {
        row["ok"] == false && row["text"].as_str().is_some_and(|text| text.contains(told))
    });
    assert!(named && code == Some(1), "{out}");

    if !peers::on_path("jq") {
        return;
    }
    let mut step = workspace.command("bash");
    step.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/check.sh"));
    step.env("POSTIL", env!("CARGO_BIN_EXE_postil"));
    let (code, out, _) = said(&step.output().expect("bash runs"));
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains(told), "{out}");
}

#[test]
fn a_notebook_that_cannot_be_parsed_is_named_with_the_reason() {
    let workspace = Workspace::new();
    workspace.write("a.ipynb", "<<<<<<< HEAD\n# AUTHOR: why?\n");
    let (code, out, _) = said(&postil(&workspace, &["check"]));
    assert_eq!(code, Some(1), "{out}");
    assert_eq!(
        out,
        "unread  a.ipynb  it is no JSON that can be read, so its threads are not known\n\
         no threads found; 1 file could not be parsed\n"
    );
    workspace.write("b.py", QUESTION);
    let (_, out, _) = said(&postil(&workspace, &["threads"]));
    assert!(
        out.ends_with("1 thread: 1 pending, 0 awaiting you; 1 file could not be parsed\n"),
        "{out}"
    );
}

#[test]
fn a_thread_in_utf16_is_not_passed_over_in_silence() {
    let workspace = Workspace::new();
    let units: Vec<u16> = QUESTION.encode_utf16().collect();
    let little = units.iter().flat_map(|unit| unit.to_le_bytes());
    let big = units.iter().flat_map(|unit| unit.to_be_bytes());
    let little: Vec<u8> = [0xff, 0xfe].into_iter().chain(little).collect();
    let big: Vec<u8> = [0xfe, 0xff].into_iter().chain(big).collect();
    workspace.write("little.py", little);
    workspace.write("big.py", big);
    workspace.write("none.py", b"\xff\xfex\0");
    let told = ["big.py", "little.py"]
        .map(|name| format!("postil: {name} is UTF-16, which is not read: save it as UTF-8\n"));
    // From what the first look kept, too.
    for args in [&["check"][..], &["check"], &["check", "--no-cache"]] {
        let (code, _, err) = said(&postil(&workspace, args));
        assert_eq!((code, err), (Some(0), told.concat()), "{args:?}");
    }
    let (code, _, err) = said(&postil(&workspace, &["check", "big.py"]));
    assert_eq!((code, err), (Some(0), told[0].clone()));
}

/// On a file system that takes any bytes for a name.
#[test]
fn a_name_that_is_no_text_is_one_of_its_own() {
    use std::os::unix::ffi::OsStrExt as _;
    let workspace = Workspace::new();
    for name in [b"caf\xe8.py", b"caf\xe9.py"] {
        let path = workspace.root().join(std::ffi::OsStr::from_bytes(name));
        std::fs::write(path, QUESTION).expect("written");
    }
    workspace.write("caf\u{e9}.py", QUESTION);
    let (_, out, _) = said(&postil(&workspace, &["threads", "--sarif"]));
    let sarif: Value = serde_json::from_str(&out).expect("JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let place = |at: usize| &results[at]["locations"][0]["physicalLocation"];
    for (at, uri) in ["caf%C3%A9.py", "caf%E8.py", "caf%E9.py"]
        .iter()
        .enumerate()
    {
        assert_eq!(place(at)["artifactLocation"]["uri"], *uri);
        assert_eq!(place(at)["region"]["startColumn"], 3);
    }
    // Each once, by an id that names it alone; and that of a name that is text is of the text.
    let mut check = workspace.postil();
    let names = [&b"caf\xe8.py"[..], b"caf\xe9.py", b"."];
    check.args(["check", "--json"]);
    check.args(names.map(std::ffi::OsStr::from_bytes));
    let output = check.output().expect("postil runs");
    let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(list["summary"]["total"], 3);
    let ids: Vec<&str> = list["threads"]
        .as_array()
        .expect("threads")
        .iter()
        .filter_map(|thread| thread["id"].as_str())
        .collect();
    assert_eq!(ids[0], "8be0aa11");
    let answered = postil(&workspace, &["respond", ids[2], "So."]);
    assert!(answered.status.success(), "{answered:?}");
    let text = |name: &[u8]| {
        let path = workspace.root().join(std::ffi::OsStr::from_bytes(name));
        std::fs::read_to_string(path).expect("text")
    };
    assert!(text(b"caf\xe9.py").contains("# AGENT: So."));
    assert_eq!(text(b"caf\xe8.py"), QUESTION);
}
