//! Attack 5: out of the root. The swap between check and use is tried in `server/files` (a test there swaps links
//! while it reads and writes), for a process of its own cannot be stopped between the two.

use super::*;

#[test]
fn attack_05_no_path_leads_out_of_the_workspace() {
    let ground = Ground::new(vec![]);
    let base = ground.base().to_owned();
    let w = &ground.workspace;
    let link = |to: &str, name: &str| {
        let path = w.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::os::unix::fs::symlink(to, path).expect("a link");
    };
    link("../home/notes.txt", "file-link");
    link("../home", "folder-link");
    link("../../home", "in/deeper");
    link("folder-link", "chain");
    link("/proc/self/root", "slash");
    link(&format!("{}/home", base.display()), "absolute-link");
    link("../gone/new.txt", "dangling");
    // Nothing tells a hard link from its file: it is read, and a write makes a file of its own.
    std::fs::write(base.join("home/linked.txt"), "linked\n").expect("written");
    std::fs::hard_link(base.join("home/linked.txt"), w.path("linked.txt")).expect("a link");
    std::fs::hard_link(base.join("home/linked.txt"), w.path("patched.txt")).expect("a link");
    let root = w.root().display().to_string();
    let base = base.display().to_string();
    let outside = [
        String::from("../home/notes.txt"),
        String::from("src/../../home/notes.txt"),
        String::from("./src/.././../home/notes.txt"),
        format!("{base}/home/notes.txt"),
        format!("{root}/../home/notes.txt"),
        format!("{root}-evil/s.txt"),
        format!("/proc/self/root{base}/home/notes.txt"),
        String::from("/proc/self/cwd/../home/notes.txt"),
        format!("//{base}/home/notes.txt"),
        String::from("file-link"),
        String::from("folder-link/notes.txt"),
        String::from("in/deeper/notes.txt"),
        String::from("chain/notes.txt"),
        String::from("absolute-link/notes.txt"),
        format!("slash{base}/home/notes.txt"),
        String::from("dangling"),
        String::from("../home/notes.txt\u{0}.rs"),
        String::from("..\\home\\notes.txt"),
        String::from("~/notes.txt"),
        String::from("$HOME/notes.txt"),
        String::from("file://") + &base + "/home/notes.txt",
        String::from("%2e%2e/home/notes.txt"),
        String::from("src/\u{2025}/home/notes.txt"),
        String::from("/etc/passwd"),
        String::from("SRC/../../home/notes.txt"),
        format!("{}/../home/notes.txt", root.to_uppercase()),
    ];
    let mut calls = Vec::new();
    for (n, path) in outside.iter().enumerate() {
        for (tool, input) in [
            ("file_read", json!({"path": path})),
            ("grep", json!({"pattern": "CANARY|root:", "path": path})),
            ("list_files", json!({"path": path})),
            (
                "file_edit",
                json!({"path": path, "old_string": "SECRET", "new_string": "x"}),
            ),
            ("lsp", json!({"action": "symbols", "file": path})),
        ] {
            calls.push(call(&format!("toolu_{tool}_{n}"), tool, input));
        }
        if path.contains("..")
            || path.starts_with('/')
            || path.contains("link")
            || path.contains("chain")
        {
            let input = json!({"path": path, "content": "pwned"});
            calls.push(call(&format!("toolu_write_{n}"), "file_write", input));
        }
    }
    for (n, pattern) in ["../home/*", "/etc/*", "folder-link/*", "**/notes.txt"]
        .iter()
        .enumerate()
    {
        calls.push(call(
            &format!("toolu_glob_{n}"),
            "glob",
            json!({"pattern": pattern}),
        ));
    }
    let read = |id, path| call(id, "file_read", json!({"path": path}));
    calls.push(read("toolu_glob_linked", "linked.txt"));
    calls.push(read("toolu_glob_patched", "patched.txt"));
    let count = calls.len();
    let edit = json!({"path": "linked.txt", "old_string": "linked", "new_string": "mine"});
    let patch = "--- a/patched.txt\n+++ b/patched.txt\n@@ -1 +1 @@\n-linked\n+mine\n";
    let through = vec![
        call("toolu_edit", "file_edit", edit),
        call("toolu_patch", "patch_apply", json!({"patch": patch})),
    ];
    let mut ground = Ground {
        model: Model::start(vec![
            Step::calls(calls),
            Step::calls(through),
            Step::text("None."),
        ]),
        ..ground
    };
    ground.workspace.configure("[proxy]\nmode = \"off\"\n");
    ground.trust();
    let id = ground.ask("src/net.rs:1", "what is this?");
    ground.watch();
    ground.run(&["reply", &id]);
    let requests = ground.model.requests();
    assert_eq!(requests[1].results().len(), count);
    let body = requests[1].body["messages"].to_string();
    assert!(
        !body.contains(SECRET) && !body.contains("root:x:"),
        "a secret was read"
    );
    for (id, text, is_error) in requests[1].results() {
        let quiet = is_error || text.starts_with("No ") || text.contains("no ");
        assert!(quiet || id.contains("glob"), "{id}: {text}");
        assert!(!text.contains("id_ed25519"), "{id}: {text}");
    }
    let changed = ground.changed();
    assert_eq!(
        changed,
        [
            String::from("work/linked.txt"),
            String::from("work/patched.txt"),
            format!("work/{FILE}")
        ]
    );
    for file in ["linked.txt", "patched.txt"] {
        assert_eq!(ground.workspace.read(file), "mine\n");
    }
}

/// The project's memory is the one guarded file that nobody is asked about.
#[test]
fn attack_04_the_projects_memory_is_no_way_to_a_guarded_file() {
    use std::os::unix::fs::symlink;

    for in_the_folder in [true, false] {
        let workspace = Workspace::new();
        std::fs::create_dir(workspace.path(".vscode")).expect("a folder");
        if in_the_folder {
            std::fs::create_dir(workspace.path(".postil")).expect("a folder");
            symlink(
                "../.vscode/settings.json",
                workspace.path(".postil/memory.json"),
            )
            .expect("a link");
        } else {
            symlink(".vscode", workspace.path(".postil")).expect("a link");
        }
        let postil = |args: &[&str]| workspace.postil().args(args).output().expect("it runs");
        assert!(postil(&["trust", "--yes"]).status.success());
        let fact = r#"{"action": "set", "key": "task.program", "value": "./evil"}"#;
        let said = postil(&["tools", "call", "memory_write", fact]);
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.contains("symbolic link"), "{said}");
        let left = std::fs::read_dir(workspace.path(".vscode")).expect("a folder");
        assert_eq!(left.count(), 0);
    }
}
