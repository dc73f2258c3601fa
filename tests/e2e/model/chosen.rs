//! `postil model`: who is found, and the author's choice in their own settings.

use serde_json::{Value, json};

use super::choosing::{ollama, project};
use crate::harness::{Editor, Workspace};

/// Its exit status, output and errors.
pub(super) fn model(
    workspace: &Workspace,
    args: &[&str],
    environment: &[(&str, &str)],
) -> (i32, String) {
    let mut command = workspace.postil();
    command.arg("model").args(args);
    command.envs(environment.iter().copied());
    let output = command.output().expect("postil runs");
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    let code = output.status.code().expect("it ends");
    (code, String::from_utf8_lossy(&said).into_owned())
}

fn config(workspace: &Workspace) -> String {
    std::fs::read_to_string(workspace.config_file()).expect("the file")
}

#[test]
fn who_is_found_is_listed_and_one_of_them_chosen() {
    let here = ollama(Vec::new());
    let own = format!("# mine\n[providers.ollama]\nbaseUrl = \"{}\"\n", here.v1());
    let workspace = project(&own);
    let key = [("ANTHROPIC_API_KEY", "sk-canary-0123456789")];
    let (code, listed) = model(&workspace, &["--json"], &key);
    assert_eq!(code, 0, "{listed}");
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed["answers"]["model"], "ollama/qwen3:8b");
    let names: Vec<&str> = (listed["models"].as_array().expect("a list").iter())
        .filter_map(|offer| offer["model"].as_str())
        .collect();
    assert_eq!(names[0], "anthropic/claude-sonnet-5-5", "its usual first");
    assert!(names.contains(&"ollama/qwen3:8b"));
    assert_eq!(names.last(), Some(&"offline"));
    assert!(!names.iter().any(|name| name.starts_with("openai/")));

    let (code, said) = model(&workspace, &["anthropic/claude-opus-5"], &key);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("anthropic/claude-opus-5 answers"), "{said}");
    let chosen = format!("model = \"anthropic/claude-opus-5\"\n{own}");
    assert_eq!(config(&workspace), chosen);
    let (_, listed) = model(&workspace, &[], &key);
    assert!(listed.contains("* anthropic/claude-opus-5"), "{listed}");

    // Whoever cannot be asked is not taken.
    for (name, why) in [
        ("openai/gpt-6.1-sol", "no key for openai/gpt-6.1-sol"),
        ("nobody/x", "is of no provider"),
        ("acp/nobody", "no agent is called"),
        (" ", "no model is named"),
    ] {
        let (code, said) = model(&workspace, &[name], &key);
        assert!(code == 1 && said.contains(why), "{code} {said}");
        assert_eq!(config(&workspace), chosen);
    }
    let (code, said) = model(&workspace, &["--unset"], &key);
    assert!(
        code == 0 && said.contains("ollama/qwen3:8b answers"),
        "{said}"
    );
    assert_eq!(config(&workspace), own);

    // A workspace's word goes before the user's, and that is told.
    workspace.write("postil.toml", "model = 'offline'\n");
    let (_, said) = model(&workspace, &["ollama"], &[]);
    assert!(
        said.contains("here this workspace's settings name offline, which goes first"),
        "{said}"
    );
    workspace.configure("model = \n");
    let (code, said) = model(&workspace, &["offline"], &[]);
    assert!(code == 1 && said.contains("line 1 is no TOML"), "{said}");
    assert_eq!(config(&workspace), "model = \n");
}

#[test]
fn a_settings_file_that_is_a_link_stays_one() {
    let workspace = project("");
    let (link, file) = (workspace.config_file(), workspace.path("dotfiles.toml"));
    std::fs::rename(&link, &file).expect("moved");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    assert_eq!(model(&workspace, &["offline"], &[]).0, 0);
    assert!(link.is_symlink());
    assert_eq!(config(&workspace), "model = \"offline\"\n");
}

/// As one into a folder of dotfiles that is not filled yet.
#[test]
fn a_settings_file_that_is_a_link_to_nothing_stays_one() {
    let workspace = project("");
    let (link, file) = (workspace.config_file(), workspace.path("dotfiles.toml"));
    std::fs::remove_file(&link).expect("removed");
    let beside = link.with_file_name("beside.toml");
    std::os::unix::fs::symlink("beside.toml", &link).expect("a link");
    std::os::unix::fs::symlink(&file, &beside).expect("a link");
    assert_eq!(model(&workspace, &["offline"], &[]).0, 0);
    assert!(link.is_symlink() && beside.is_symlink());
    assert_eq!(workspace.read("dotfiles.toml"), "model = \"offline\"\n");
}

#[test]
fn an_editor_lists_and_chooses() {
    let here = ollama(Vec::new());
    let workspace = project(&format!(
        "model = 'offline'\n[providers.ollama]\nbaseUrl = \"{}\"\n",
        here.v1()
    ));
    let mut editor = Editor::start(&workspace);
    let found = editor.command("postil.models", json!({})).expect("a list");
    assert_eq!(found["answers"]["model"], "offline");
    let refused = editor.command("postil.selectModel", json!({"model": "nobody/x"}));
    let refused = refused.expect_err("it cannot be asked").to_string();
    assert!(refused.contains("is of no provider"), "{refused}");
    let selected = editor.command("postil.selectModel", json!({"model": "ollama"}));
    let selected = selected.expect("chosen");
    assert_eq!(selected["answers"]["model"], "ollama/qwen3:8b");
    assert_eq!(selected["note"], Value::Null);
    assert!(config(&workspace).starts_with("model = \"ollama\"\n"));
    let found = editor.command("postil.models", json!({})).expect("a list");
    assert_eq!(found["answers"]["model"], "ollama/qwen3:8b");
}
