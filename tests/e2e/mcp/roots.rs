//! Which workspace a client's calls are about, and that they stay in it.

use serde_json::json;

use super::agent::Agent;
use super::id_of;
use crate::harness::Workspace;

/// Two folders with a thread each, side by side.
fn two() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("one/a.rs", "// AUTHOR: first?\nfn a() {}\n");
    workspace.write("two/b.rs", "// AUTHOR: second?\nfn b() {}\n");
    workspace
}

#[test]
fn without_roots_it_is_the_repository_of_the_current_folder() {
    let workspace = two();
    workspace.git(&["init", "-q"]);
    let mut agent = Agent::start_with(&workspace, None, &[]);
    assert_eq!(agent.call("get_threads", json!({}))["summary"]["total"], 2);
    // A client that has roots and none is open.
    let mut agent = Agent::with_roots(&workspace, &[]);
    assert_eq!(agent.call("get_threads", json!({}))["summary"]["total"], 2);
    let mut agent = Agent::start_with(&workspace, None, &["-C", "two"]);
    let list = agent.call("get_threads", json!({}));
    assert_eq!(list["threads"][0]["file"], "b.rs");
    assert_eq!(list["summary"]["total"], 1);
}

#[test]
fn one_root_is_the_workspace_and_nothing_beside_it() {
    let workspace = two();
    let mut agent = Agent::with_roots(&workspace, &[&workspace.path("one")]);
    let list = agent.call("get_threads", json!({}));
    assert_eq!(list["summary"]["total"], 1);
    assert_eq!(list["threads"][0]["file"], "a.rs");
    let beside = workspace.path("two/b.rs");
    let (_, code) = agent.refused("get_threads", json!({"path": beside}));
    assert_eq!(code, "file");
    std::os::unix::fs::symlink(workspace.path("two"), workspace.path("one/link")).expect("a link");
    for path in ["link/b.rs", "../two/b.rs"] {
        let (sentence, _) = agent.refused("clear_and_commit", json!({"file": path}));
        assert!(sentence.contains("outside the workspace"), "{sentence}");
    }
}

#[test]
fn roots_that_change_change_the_workspace() {
    let workspace = two();
    let mut agent = Agent::with_roots(&workspace, &[&workspace.path("one")]);
    assert_eq!(
        agent.call("get_threads", json!({}))["threads"][0]["file"],
        "a.rs"
    );
    agent.roots = Some(vec![workspace.path("two")]);
    agent.notify("notifications/roots/list_changed", json!({}));
    agent.wait_note("notifications/resources/list_changed", |_| true);
    let list = agent.call("get_threads", json!({}));
    assert_eq!(list["threads"][0]["file"], "b.rs");
    assert_eq!(list["summary"]["total"], 1);
}

#[test]
fn several_roots_are_one_workspace() {
    let workspace = two();
    // The same relative path and text: the same id in both.
    for root in ["one", "two"] {
        workspace.write(
            &format!("{root}/same.rs"),
            "// AUTHOR: done\nfn same() {}\n",
        );
    }
    let roots = [workspace.path("one"), workspace.path("two")];
    let mut agent = Agent::with_roots(&workspace, &[&roots[0], &roots[1]]);
    let list = agent.call("get_threads", json!({}));
    assert_eq!(list["summary"]["total"], 4);
    let of: Vec<_> = list["threads"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|thread| thread["root"].clone())
        .collect();
    assert_eq!(
        of,
        [
            json!(roots[0]),
            json!(roots[0]),
            json!(roots[1]),
            json!(roots[1])
        ]
    );

    let id = id_of(&list, "b.rs");
    let done = agent.call(
        "respond_to_thread",
        json!({"thread_id": format!(" {}", id[..6].to_uppercase()), "response": "Yes."}),
    );
    assert_eq!(done["file"], "b.rs");
    assert!(workspace.read("two/b.rs").contains("// AGENT: Yes.\n"));

    let same = id_of(&list, "same.rs");
    let (sentence, code) = agent.refused("dismiss_thread", json!({"thread_id": same}));
    assert_eq!(code, "ambiguous_id", "{sentence}");
    let file = workspace.path("two/same.rs");
    agent.call("dismiss_thread", json!({"thread_id": same, "path": file}));
    assert_eq!(workspace.read("two/same.rs"), "fn same() {}\n");
    assert!(workspace.read("one/same.rs").contains("AUTHOR"));

    // A relative path is looked for in each.
    assert_eq!(
        agent.call("get_threads", json!({"path": "a.rs"}))["summary"]["total"],
        1
    );
    let (_, code) = agent.refused("get_threads", json!({"path": "same.rs"}));
    assert_eq!(code, "ambiguous_path");
    let (_, code) = agent.refused("get_threads", json!({"path": "nowhere.rs"}));
    assert_eq!(code, "file");
    let (_, code) = agent.refused("dismiss_thread", json!({"thread_id": "ffffffff"}));
    assert_eq!(code, "unknown_thread");

    let done = agent.call("process_all_actions", json!({}));
    assert_eq!(done["actions"][0]["root"], json!(roots[0]));
    assert_eq!(agent.call("workflow_list", json!({})), json!({"runs": []}));
}

/// Bytes that are no UTF-8 are the name of a folder like others.
#[test]
fn roots_whose_names_are_no_text_are_served() {
    use std::os::unix::ffi::OsStrExt as _;
    let workspace = two();
    let folder = workspace
        .root()
        .join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&folder).expect("made");
    std::fs::write(folder.join("c.rs"), "// AUTHOR: why c?\nfn c() {}\n").expect("written");
    let mut agent = Agent::with_roots(&workspace, &[&folder]);
    let list = agent.call("get_threads", json!({}));
    let id = id_of(&list, "c.rs");
    let answer = json!({"thread_id": id, "response": "So."});
    agent.call("respond_to_thread", answer.clone());
    let text = std::fs::read_to_string(folder.join("c.rs")).expect("read");
    assert!(text.contains("// AGENT: So.\n"), "{text}");
    // Beside another one.
    agent.roots = Some(vec![workspace.path("one"), folder.clone()]);
    agent.notify("notifications/roots/list_changed", json!({}));
    assert_eq!(agent.call("get_threads", json!({}))["summary"]["total"], 2);
    agent.call("respond_to_thread", answer);
    let (_, code) = agent.refused("get_threads", json!({"path": "c.rs"}));
    assert_eq!(code, "file");
}

#[test]
fn a_root_that_is_no_folder_is_told() {
    let workspace = two();
    let mut agent = Agent::with_roots(&workspace, &[&workspace.path("gone")]);
    agent.wait_log("cannot be used");
    let (sentence, code) = agent.refused("get_threads", json!({}));
    assert_eq!(code, "file");
    assert!(sentence.contains("gone cannot be used"), "{sentence}");
    // One of two is enough.
    let mut agent = Agent::with_roots(
        &workspace,
        &[&workspace.path("gone"), &workspace.path("one")],
    );
    let list = agent.call("get_threads", json!({}));
    assert_eq!(list["summary"]["total"], 1);
    assert_eq!(list["threads"][0]["root"], json!(workspace.path("one")));
    let unavailable = &list["unavailable"][0];
    assert_eq!(unavailable["root"], json!(workspace.path("gone")));
    let error = unavailable["error"].as_str().expect("why");
    assert!(error.contains("gone cannot be used"), "{error}");
    let done = agent.call("process_all_actions", json!({}));
    assert_ne!(done["success"], json!(false), "{done}");
    // It may be there.
    let answer = json!({"thread_id": "ffffffff", "response": "Yes."});
    let (sentence, _) = agent.refused("respond_to_thread", answer);
    assert!(sentence.contains("gone cannot be used"), "{sentence}");
    let (sentence, _) = agent.refused("workflow_thread", json!({"run_id": "ffffffff"}));
    assert!(sentence.contains("gone cannot be used"), "{sentence}");
    let answer = json!({"thread_id": id_of(&list, "a.rs"), "response": "Yes."});
    assert_eq!(agent.call("respond_to_thread", answer)["file"], "a.rs");
}

#[test]
fn a_root_that_is_made_later_is_served_from_then_on() {
    let workspace = two();
    let later = workspace.path("later");
    for roots in [vec![&later], vec![&workspace.path("one"), &later]] {
        let roots: Vec<&std::path::Path> = roots.iter().map(|root| root.as_path()).collect();
        let mut agent = Agent::with_roots(&workspace, &roots);
        match roots.len() {
            1 => drop(agent.refused("get_threads", json!({}))),
            _ => drop(agent.call("get_threads", json!({}))),
        }
        workspace.write("later/c.rs", "// AUTHOR: third?\nfn c() {}\n");
        let list = agent.call("get_threads", json!({}));
        assert_eq!(list["summary"]["total"], roots.len(), "{list}");
        assert_eq!(list.get("unavailable"), None, "{list}");
        let answer = json!({"thread_id": id_of(&list, "c.rs"), "response": "Yes."});
        agent.call("respond_to_thread", answer);
        assert!(workspace.read("later/c.rs").contains("// AGENT: Yes.\n"));
        std::fs::remove_dir_all(&later).expect("removed");
    }
}

#[test]
fn a_call_behind_a_change_of_roots_is_about_the_new_ones() {
    let workspace = two();
    let roots = ["one", "two"].map(|root| workspace.path(root));
    let mut agent = Agent::with_roots(&workspace, &[&roots[0]]);
    for n in 1..=40 {
        agent.roots = Some(vec![roots[n % 2].clone()]);
        agent.notify("notifications/roots/list_changed", json!({}));
        let list = agent.call("get_threads", json!({}));
        assert_eq!(list["threads"][0]["file"], ["a.rs", "b.rs"][n % 2], "{n}");
    }
}

#[test]
fn a_root_that_goes_takes_no_other_with_it() {
    let workspace = two();
    let roots = ["one", "two"].map(|root| workspace.path(root));
    let mut agent = Agent::with_roots(&workspace, &[&roots[0], &roots[1]]);
    let list = agent.call("get_threads", json!({}));
    let (gone, id) = (id_of(&list, "a.rs"), id_of(&list, "b.rs"));
    std::fs::rename(&roots[0], workspace.path("away")).expect("renamed");
    let list = agent.call("get_threads", json!({}));
    assert_eq!(list["threads"][0]["file"], "b.rs");
    assert_eq!(list["unavailable"][0]["root"], json!(roots[0]));
    let error = list["unavailable"][0]["error"].as_str().expect("why");
    assert!(error.contains("path not found"), "{error}");
    let (sentence, _) = agent.refused("dismiss_thread", json!({"thread_id": gone}));
    assert!(sentence.contains("path not found"), "{sentence}");
    let answer = json!({"thread_id": id, "response": "Yes."});
    assert_eq!(agent.call("respond_to_thread", answer)["file"], "b.rs");
    let all = agent.request("resources/list", json!({})).expect("a list");
    assert!(all.to_string().contains("b.rs"), "{all}");
    std::fs::remove_dir_all(&roots[1]).expect("removed");
    let (sentence, _) = agent.refused("get_threads", json!({}));
    assert!(sentence.contains("path not found"), "{sentence}");
}

#[test]
fn runs_of_several_roots_are_the_newest_of_all() {
    let workspace = two();
    let roots = ["one", "two"].map(|root| workspace.path(root));
    let mut newest = Vec::new();
    for root in &roots {
        let mut command = workspace.postil();
        command.current_dir(root);
        command.args(["reply", "--all", "--model", "offline", "--json"]);
        let output = command.output().expect("postil runs");
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let end: serde_json::Value =
            serde_json::from_str(out.lines().last().expect("a line")).expect("JSON");
        newest.push(end["run_id"].clone());
    }
    let mut agent = Agent::with_roots(&workspace, &[&roots[0], &roots[1]]);
    let runs = agent.call("workflow_list", json!({"limit": 1}))["runs"].clone();
    assert_eq!(runs.as_array().map(Vec::len), Some(1), "{runs}");
    let both = agent.call("workflow_list", json!({}))["runs"].clone();
    let started: Vec<_> = both
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| run["started"].as_str().expect("a time").to_owned())
        .collect();
    assert_eq!(started.len(), 2);
    assert!(started[0] >= started[1], "{both}");
    for run in newest {
        let call = json!({"run_id": run});
        assert_eq!(agent.call("workflow_thread", call)["run_id"], run);
    }
}

/// The answer of several folders is as good as that of the worst.
#[test]
fn actions_that_fail_in_one_of_several_roots_are_no_success() {
    let workspace = two();
    workspace.write("one/c.rs", "// AUTHOR: done\nfn c() {}\n");
    // No repository is there to commit into.
    workspace.write("two/d.rs", "// AUTHOR: commit\nfn d() {}\n");
    let roots = ["one", "two"].map(|root| workspace.path(root));
    let mut agent = Agent::with_roots(&workspace, &[&roots[0], &roots[1]]);
    let done = agent.call("process_all_actions", json!({}));
    assert_eq!(done["actions"][0]["success"], true, "{done}");
    assert_eq!(done["actions"][1]["success"], false, "{done}");
    assert_eq!(done["success"], false, "{done}");
    std::fs::remove_dir_all(&roots[1]).expect("removed");
    let done = agent.call("process_all_actions", json!({}));
    assert_eq!(done["unavailable"][0]["root"], json!(roots[1]), "{done}");
    assert_eq!(done["success"], false, "{done}");
}

#[test]
fn hits_of_several_roots_are_the_newest_of_all() {
    let workspace = two();
    let roots = ["one", "two"].map(|root| workspace.path(root));
    for root in &roots {
        let asked = "// AUTHOR: where is load used?\nfn load() {}\n";
        std::fs::write(root.join("c.rs"), asked).expect("written");
        let mut command = workspace.postil();
        command.current_dir(root);
        command.args(["reply", "--all", "--model", "offline"]);
        assert!(command.output().expect("postil runs").status.success());
    }
    let mut agent = Agent::with_roots(&workspace, &[&roots[0], &roots[1]]);
    let mut hits = |limit: usize| {
        let words = json!({"words": "where used", "limit": limit});
        let found = agent.call("workflow_search", words);
        found["hits"].as_array().expect("hits").clone()
    };
    let all = hits(100);
    let times: Vec<&str> = all.iter().filter_map(|hit| hit["time"].as_str()).collect();
    assert_eq!(times.len(), all.len(), "{all:?}");
    assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
    let from = |root: &std::path::Path| all.iter().any(|hit| hit["root"] == json!(root));
    assert!(from(&roots[0]) && from(&roots[1]), "{all:?}");
    assert_eq!(hits(1), all[..1]);
}
