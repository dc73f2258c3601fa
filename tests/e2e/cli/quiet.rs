//! `--quiet` on a terminal: whoever is waited for sees the question.

use std::io::Write as _;
use std::process::Stdio;

use super::{postil, project};
use crate::harness::Workspace;

/// `postil ARGS` on a terminal, where `keys` are typed; what is seen there. `None`: no terminal to be had.
fn on_a_terminal(workspace: &Workspace, args: &str, keys: &str) -> Option<String> {
    let mut command = workspace.command("script");
    let line = format!("'{}' {args}", env!("CARGO_BIN_EXE_postil"));
    command.args(["-qec", &line, "/dev/null"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: a question on a terminal (no script)"
        );
        return None;
    };
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(keys.as_bytes()).expect("typed");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_question_is_shown_though_all_else_is_quiet() {
    let workspace = project();
    let Some(seen) = on_a_terminal(&workspace, "-q trust", "n\n") else {
        return;
    };
    assert!(
        seen.contains("would allow:") && seen.contains("Language servers start here"),
        "{seen}"
    );
    postil(&workspace, &["trust", "--yes"]).ok();
    workspace.write(
        "src/main.rs",
        "// AUTHOR: rename load to load_data\nfn load() {}\n",
    );
    let args = "-q reply --all --model offline";
    let seen = on_a_terminal(&workspace, args, "2\n").unwrap_or_default();
    assert!(
        seen.contains("was not typed here")
            && seen.contains("2 Read-only")
            && seen.contains("which?"),
        "{seen}"
    );
}
