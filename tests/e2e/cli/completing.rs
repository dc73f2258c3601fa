//! What stands behind a Tab: asked as the shells ask, and in those shells that are here.

use crate::harness::Workspace;
use crate::peers;

const NOTES: &str = "// AUTHOR: why?\nfn a() {}\n// AUTHOR: and\n// AGENT: so\nfn b() {}\n";

/// What is offered for the last of `words`, each with what stands beside it.
fn offered(workspace: &Workspace, words: &[&str]) -> Vec<(String, String)> {
    let output = workspace
        .postil()
        .env("POSTIL_COMPLETE", "fish")
        .args(["--", "postil"])
        .args(words)
        .output()
        .expect("postil runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let told = String::from_utf8(output.stdout).expect("text");
    let pairs = told.lines().map(|line| {
        let (value, about) = line.split_once('\t').unwrap_or((line, ""));
        (value.to_owned(), about.to_owned())
    });
    pairs.filter(|(value, _)| !value.starts_with('-')).collect()
}

fn values(workspace: &Workspace, words: &[&str]) -> Vec<String> {
    let all = offered(workspace, words).into_iter();
    all.map(|(value, _)| value).collect()
}

#[test]
fn threads_runs_tools_and_files_are_offered_where_they_may_stand() {
    let workspace = Workspace::new();
    workspace.write("src/a.rs", NOTES);
    let threads = offered(&workspace, &["say", ""]);
    let about: Vec<&str> = threads.iter().map(|(_, about)| about.as_str()).collect();
    assert_eq!(about, ["src/a.rs:1 why?", "src/a.rs:3 so"]);
    let (first, _) = &threads[0];
    let only = std::slice::from_ref(first);
    assert_eq!(values(&workspace, &["dismiss", &first[..6]]), only);
    // An agent answers what waits for one.
    assert_eq!(values(&workspace, &["reply", ""]), only);
    // Of another workspace, from anywhere.
    let other = Workspace::new();
    let root = workspace.root().to_str().expect("a path").to_owned();
    assert!(values(&other, &["say", ""]).is_empty());
    assert_eq!(values(&other, &["-C", &root, "say", ""]).len(), 2);

    let made = workspace.postil().args(["reply", first, "--yes"]).output();
    drop(made.expect("postil runs"));
    let runs = offered(&workspace, &["undo", ""]);
    assert!(
        runs.len() == 1 && runs[0].1.contains("src/a.rs"),
        "{runs:?}"
    );
    assert_eq!(
        values(&workspace, &["workflow", "list", "--status", "c"]),
        ["completed", "cancelled"]
    );
    let tools = values(&workspace, &["tools", "call", "file_"]);
    assert!(tools.contains(&"file_edit".to_owned()), "{tools:?}");
    assert_eq!(values(&workspace, &["why", "sr"]), ["src/"]);
    assert!(values(&workspace, &["comp"]).contains(&"completions".to_owned()));
}

#[test]
fn the_shells_that_are_here_offer_what_postil_tells() {
    let workspace = Workspace::new();
    workspace.write("a.rs", NOTES);
    let first = &values(&workspace, &["say", ""])[0];
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_postil"));
    let folder = program.parent().expect("a folder").display();
    let bash =
        "eval \"$(postil completions bash)\"; COMP_WORDS=(postil say ''); COMP_CWORD=2; COMP_TYPE=9
_clap_complete_postil postil '' say 2>&1; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let fish = "postil completions fish | source; complete -C 'postil say '";
    // As `fpath` finds it: what zsh would show is taken from what it is given to show.
    let zsh = "function compdef { }; function _describe { print -l ${(P)3} }; mkdir -p f; postil completions zsh >f/_postil
fpath=($PWD/f $fpath); autoload -Uz _postil; words=(postil say ''); CURRENT=3; _postil";
    for (shell, script) in [("bash", bash), ("fish", fish), ("zsh", zsh)] {
        if !peers::on_path(shell) {
            continue;
        }
        let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
        let output = workspace
            .command(shell)
            .args(["-c", script])
            .env("PATH", path)
            .output()
            .expect("the shell runs");
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.lines().any(|line| line.starts_with(first.as_str())),
            "{shell}: {said}{errors}"
        );
    }
}
