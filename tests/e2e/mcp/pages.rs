//! More threads than an agent is to read at once.

use serde_json::{Value, json};

use super::agent::{Agent, output};
use crate::harness::Workspace;

/// 250 of them in two files, the last of each file answered.
fn many() -> Workspace {
    let workspace = Workspace::new();
    for file in ["a.rs", "b.rs"] {
        let threads = (0..125).map(|n| match n {
            124 => String::from("// AUTHOR: last?\n// AGENT: So.\n// AUTHOR:\nfn last() {}\n\n"),
            n => format!("// AUTHOR: why {n}?\nfn f{n}() {{}}\n\n"),
        });
        workspace.write(file, threads.collect::<String>());
    }
    workspace
}

fn ids(list: &Value) -> Vec<String> {
    let threads = list["threads"].as_array().expect("threads").iter();
    let ids = threads.map(|thread| thread["id"].as_str().expect("an id").to_owned());
    ids.collect()
}

/// All ids, page by page, each at most so long.
fn read(agent: &mut Agent, mut arguments: Value) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    loop {
        let list = agent.call("get_threads", arguments.clone());
        let page = ids(&list);
        arguments["after"] = json!(page.last());
        pages.push(page);
        let Some(cut) = list.get("cut") else {
            return pages;
        };
        assert!(cut.to_string().contains("left out"), "{cut}");
    }
}

#[test]
fn a_long_list_of_threads_comes_in_pages() {
    let workspace = many();
    let mut command = workspace.postil();
    command.args(["threads", "--json"]);
    let whole: Value = serde_json::from_str(&output(command)).expect("JSON");
    let expected = ids(&whole);
    assert_eq!(expected.len(), 250, "a person's list is whole");

    let mut agent = Agent::start(&workspace);
    let first = agent.call("get_threads", json!({}));
    assert_eq!(ids(&first), expected[..100]);
    assert_eq!(first["summary"]["total"], 250);
    let cut = first["cut"].as_str().expect("what is left out");
    assert!(cut.contains("150") && cut.contains(&expected[99]), "{cut}");
    let pages = read(&mut agent, json!({}));
    let lengths: Vec<usize> = pages.iter().map(Vec::len).collect();
    assert_eq!(lengths, [100, 100, 50]);
    assert_eq!(pages.concat(), expected);
    let all = agent.call("get_threads", json!({"limit": 250}));
    assert_eq!(all, whole);
    let below = agent.call("get_threads", json!({"path": "b.rs", "limit": 1}));
    assert_eq!(ids(&below), expected[125..126]);
    assert!(below["cut"].as_str().is_some_and(|cut| cut.contains("124")));

    let (_, code) = agent.refused("get_threads", json!({"limit": 0}));
    assert_eq!(code, "usage");
    let (sentence, code) = agent.refused("get_threads", json!({"after": "ffffffff"}));
    assert_eq!(code, "unknown_thread", "{sentence}");
    // One that was answered is in the list of those that are pending no more; what stands behind it is the same.
    let pending = json!({"status": "pending", "limit": 3});
    let page = ids(&agent.call("get_threads", pending));
    assert_eq!(page, expected[..3]);
    let answer = json!({"thread_id": page[2], "response": "So."});
    agent.call("respond_to_thread", answer);
    let behind = json!({"status": "pending", "limit": 122, "after": page[2]});
    let list = agent.call("get_threads", behind);
    let next = ids(&list);
    assert_eq!((&next[0], &next[120]), (&expected[3], &expected[123]));
    assert_eq!(next[121], expected[125], "the last of a file is answered");
    assert_eq!(list["summary"]["total"], 247);
}

#[test]
fn the_prompt_shows_the_first_that_are_pending_and_says_how_many_there_are() {
    let workspace = many();
    let mut agent = Agent::start(&workspace);
    let prompt = json!({"name": "answer_threads"});
    let prompt = agent.request("prompts/get", prompt).expect("the prompt");
    let now = prompt["messages"][1]["content"]["text"].as_str();
    let now = now.expect("a text");
    assert_eq!(now.matches("\"id\":").count(), 100);
    assert!(now.contains("148 threads are left out"), "{now}");
}

/// By an id that two folders have it is not known which is meant.
#[test]
fn a_page_of_several_folders_ends_where_an_id_says_it() {
    let workspace = Workspace::new();
    for file in ["one/a.rs", "two/a.rs"] {
        workspace.write(file, "// AUTHOR: same?\nfn a() {}\n");
    }
    workspace.write("one/b.rs", "// AUTHOR: first?\nfn b() {}\n");
    workspace.write("two/c.rs", "// AUTHOR: second?\nfn c() {}\n");
    let (one, two) = (workspace.path("one"), workspace.path("two"));
    let mut agent = Agent::with_roots(&workspace, &[&one, &two]);
    let expected = ids(&agent.call("get_threads", json!({})));
    assert_eq!((expected.len(), &expected[0]), (4, &expected[2]));
    let pages = read(&mut agent, json!({"limit": 1}));
    assert_eq!(pages.concat(), expected);
    assert_eq!(pages.len(), 2);
}

#[test]
fn a_page_tells_of_no_thread_that_it_does_not_show() {
    let workspace = Workspace::new();
    let threads = ["a", "b", "c"].map(|code| format!("// AUTHOR: same?\nfn {code}() {{}}\n\n"));
    workspace.write("a.rs", threads.concat());
    let mut agent = Agent::start(&workspace);
    // All three begin alike, which is known of the one that is shown.
    let all = ids(&agent.call("get_threads", json!({})));
    let gone = format!("{}{}", threads[0], threads[2]);
    workspace.write("a.rs", gone);
    let first = agent.call("get_threads", json!({"limit": 1}));
    assert_eq!(ids(&first), all[..1]);
    let answer = json!({"thread_id": all[1], "response": "So."});
    let (_, code) = agent.refused("respond_to_thread", answer);
    assert_eq!(code, "changed", "it was another one when it was shown");
    let answer = json!({"thread_id": all[0], "response": "So."});
    agent.call("respond_to_thread", answer);
    let text = workspace.read("a.rs");
    assert!(
        text.contains("// AGENT: So.\n// AUTHOR:\nfn a() {}\n"),
        "{text}"
    );
}
