//! What the window shows of a turn, and a cancel that comes at once.

use std::io::Write as _;

use serde_json::json;

use super::{Client, bench, text};
use crate::acp::{CODE, FILE, THREAD};
use crate::model::Step;

/// What is said for one prompt.
fn said(script: Vec<Step>) -> String {
    let (workspace, model) = bench(script);
    let mut client = Client::start(&workspace, &model, None);
    let end = client.prompt(text("what does load return?"));
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    client.said()
}

#[test]
fn an_answer_is_shown_once_whatever_its_length_and_its_blocks() {
    let long = "A line of the answer. ".repeat(500);
    let long = long.trim();
    assert_eq!(said(vec![Step::text(long)]), long);
    let block = |text: &str| json!({"type": "text", "text": text});
    let blocks = vec![block("It returns 7."), block("Always.")];
    let two = said(vec![Step::blocks(blocks, "end_turn")]);
    assert_eq!(two, "It returns 7.\n\nAlways.");
    let cut_off = Step::blocks(vec![block("It returns")], "max_tokens");
    let again = said(vec![cut_off, Step::text("Seven.")]);
    assert_eq!(again, "It returns\n\nSeven.");
}

#[test]
fn what_is_cut_in_the_thread_is_whole_in_the_window() {
    let long = "A line of the answer. ".repeat(500);
    let (workspace, model) = bench(vec![Step::text(&long)]);
    workspace.write(FILE, format!("{THREAD}{CODE}"));
    let (_, threads, _) = super::super::cli(&workspace, &["threads", "--json"]);
    let at = threads.find("\"id\"").expect("a thread");
    let id: String = threads[at + 4..]
        .chars()
        .skip_while(|c| !c.is_ascii_hexdigit())
        .take(8)
        .collect();
    let mut client = Client::start(&workspace, &model, None);
    client.prompt(text(&format!("answer {id}")));
    assert!(
        workspace
            .read(FILE)
            .contains("(cut; `postil workflow thread ")
    );
    let told = format!("{long}\n\n(It stands in {FILE} as well.)");
    assert_eq!(client.said(), told);
}

#[test]
fn what_a_broken_stream_said_is_set_apart() {
    let whole = "The function loads the data. ".repeat(100);
    let whole = whole.trim();
    let said = said(vec![Step::text(whole).cut(1500), Step::text(whole)]);
    let (begun, again) = said.split_once("…\n\n").expect("a gap");
    assert!(!begun.is_empty() && whole.starts_with(begun), "{begun}");
    assert_eq!(again, whole);
}

#[test]
fn thoughts_without_an_opening_tag_are_set_apart_once_and_then_not_shown() {
    let stream = |pieces: &[&str]| {
        let delta = |content: &str, stop: Option<&str>| {
            let choice = json!({"index": 0, "delta": {"content": content}, "finish_reason": stop});
            format!("data: {}\n\n", json!({"choices": [choice]}))
        };
        let mut stream: String = pieces.iter().map(|piece| delta(piece, None)).collect();
        stream.push_str(&delta("", Some("stop")));
        stream.push_str("data: [DONE]\n\n");
        Step::body(200, "text/event-stream", stream.as_bytes())
    };
    let thought = || stream(&["Hm, seven.", "</think>\n\nSev", "en."]);
    let endless = format!("<think>{}", "Hm. ".repeat(3000));
    let (workspace, model) = bench(vec![thought(), thought(), stream(&[&endless])]);
    workspace.configure(&format!(
        "model = 'openai-compatible/thinks-aloud'\n[providers.openai-compatible]\nbaseUrl = '{}'\napiKeyEnv = 'ANTHROPIC_API_KEY'\n",
        model.v1()
    ));
    let mut client = Client::start(&workspace, &model, None);
    let end = client.prompt(text("what does load return?"));
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    let first = client.said();
    assert_eq!(
        first,
        "Hm, seven.\n\n(So far it thought aloud. Its answer:)\n\nSeven."
    );
    client.prompt(text("sure?"));
    assert_eq!(client.said(), format!("{first}Seven."));
    // What was not told as it came is told whole in the end, also where it would be cut in a thread.
    client.prompt(text("sure?"));
    assert_eq!(client.said(), format!("{first}Seven.{}", endless.trim()));
}

#[test]
fn what_is_no_message_is_answered_and_ends_nothing() {
    let (workspace, model) = bench(vec![Step::text("Seven.")]);
    let mut client = Client::start(&workspace, &model, None);
    let pipe = client.pipe.as_mut().expect("a pipe");
    pipe.write_all(b"\xff\xfe{\nno json\n{\"id\": \"\xff\n")
        .and_then(|()| pipe.flush())
        .expect("it reads");
    for _ in 0..3 {
        let answer = client.take();
        assert_eq!(answer["error"]["code"], -32700, "{answer}");
    }
    client.prompt(text("what does load return?"));
    assert_eq!(client.said(), "Seven.");
}

#[test]
fn a_cancel_right_behind_its_prompt_counts() {
    let (workspace, model) = bench(
        (0..8)
            .map(|_| Step::text("never").stall(0))
            .collect::<Vec<_>>(),
    );
    let mut client = Client::start(&workspace, &model, None);
    for _ in 0..4 {
        let session = client.session.clone();
        client.next += 1;
        let id = client.next;
        let prompt = json!({"jsonrpc": "2.0", "id": id, "method": "session/prompt",
            "params": {"sessionId": session, "prompt": text("think")}});
        let cancel =
            json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}});
        let pipe = client.pipe.as_mut().expect("a pipe");
        pipe.write_all(format!("{prompt}\n{cancel}\n").as_bytes())
            .expect("it reads");
        let end = client.answer(id);
        assert_eq!(end["result"]["stopReason"], "cancelled", "{end}");
    }
}
