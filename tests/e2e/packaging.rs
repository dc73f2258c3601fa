//! What packaging/ makes of a program: pages, completions and npm's packages, from any folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::Workspace;
use crate::peers;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn made(workspace: &Workspace, script: &str, arguments: &[&Path]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("packaging")
        .join(script);
    let output = workspace.command(&script).args(arguments).output();
    let output = output.expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", script.display());
}

#[test]
fn every_command_has_a_page_and_completions() {
    let workspace = Workspace::new();
    let out = workspace.path("made");
    made(
        &workspace,
        "files",
        &[Path::new(env!("CARGO_BIN_EXE_postil")), &out],
    );
    let help = workspace.postil().arg("--help").output().expect("it runs");
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        // A line that goes on is indented further.
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !["", "help"].contains(name))
        .collect();
    assert!(commands.len() > 10, "{help}");
    for name in commands {
        let page = workspace.read(&format!("made/man/postil-{name}.1"));
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
        for file in ["postil.bash", "_postil", "postil.fish"] {
            let text = workspace.read(&format!("made/{file}"));
            assert!(text.contains(name), "{file} does not know {name}");
        }
    }
    let page = workspace.read("made/man/postil.1");
    assert!(page.contains(VERSION), "{page}");
}

/// A small program in the place of ours: what it is started with, and what becomes of its end, is to be seen.
#[test]
fn npm_starts_the_program_that_it_carries() {
    let workspace = Workspace::new();
    let program = workspace.write("program", "#!/bin/sh\necho \"asked: $*\"\nexit 7\n");
    let out = workspace.path("node_modules");
    made(
        &workspace,
        "npm/make",
        &[&program, Path::new("linux"), Path::new("x64"), &out],
    );
    let package = |name: &str| -> Value {
        let text = workspace.read(&format!("node_modules/{name}/package.json"));
        serde_json::from_str(&text).expect("JSON")
    };
    let (platform, launcher) = (package("postil-linux-x64"), package("postil"));
    assert_eq!(
        (&platform["version"], &launcher["version"]),
        (&VERSION.into(), &VERSION.into())
    );
    let needed = &launcher["optionalDependencies"];
    assert_eq!(needed["postil-linux-x64"], VERSION);
    for (name, package) in [("postil-linux-x64", &platform), ("postil", &launcher)] {
        for file in package["files"].as_array().into_iter().flatten() {
            let file = file.as_str().unwrap_or_default().replace('*', "MIT");
            let path = workspace.path(&format!("node_modules/{name}/{file}"));
            assert!(path.exists(), "no {}", path.display());
        }
    }

    let here = cfg!(all(target_os = "linux", target_arch = "x86_64"));
    let node = PathBuf::from("node");
    if !here || Command::new(&node).arg("--version").output().is_err() {
        peers::note("node");
        return;
    }
    let output = workspace
        .command(node)
        .arg(workspace.path("node_modules/postil/postil.js"))
        .args(["threads", "a b"])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "asked: threads a b\n"
    );
}
