//! The three assemblies under data that nobody should send: no panic, and what comes out is usable.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::remote::{Assembly, Trouble};
use super::{Block, Event, Stop, anthropic, chat, responses};

/// Words that mean something in one of the formats, so that wrong data comes near to right data.
const KEYS: &[&str] = &[
    "type",
    "index",
    "delta",
    "choices",
    "content",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "id",
    "finish_reason",
    "usage",
    "prompt_tokens",
    "error",
    "message",
    "code",
    "response",
    "output",
    "item",
    "output_index",
    "content_block",
    "text",
    "partial_json",
    "reasoning_details",
    "reasoning_content",
    "incomplete_details",
    "reason",
    "status",
    "call_id",
    "encrypted_content",
    "summary",
    "input",
    "signature",
    "input_tokens",
    "prompt_tokens_details",
    "cached_tokens",
    "refusal",
    "object",
    "model",
];
const WORDS: &[&str] = &[
    "response.completed",
    "response.output_item.done",
    "response.incomplete",
    "response.failed",
    "error",
    "response.output_item.added",
    "message_start",
    "content_block_start",
    "content_block_delta",
    "message_delta",
    "message_stop",
    "text",
    "tool_use",
    "thinking",
    "function_call",
    "reasoning",
    "message",
    "output_text",
    "text_delta",
    "input_json_delta",
    "stop",
    "tool_calls",
    "{}",
    "{\"a\":",
    "",
    "glob",
    "call_1",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop_oneof![Just(0), Just(1), Just(u64::MAX), any::<u64>()].prop_map(Value::from),
        prop::sample::select(WORDS).prop_map(Value::from),
        "[ -~äß😀]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(KEYS), inner), 0..6).prop_map(|pairs| {
                let pairs = pairs
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value));
                Value::Object(pairs.collect::<Map<_, _>>())
            }),
        ]
    })
}

/// An event that looks right on the outside.
fn event() -> impl Strategy<Value = Value> {
    (prop::sample::select(WORDS), value(), value()).prop_map(|(kind, body, more)| {
        let mut event = Map::new();
        event.insert(String::from("type"), Value::from(kind));
        for key in ["response", "item", "delta", "content_block", "message"] {
            event.insert(key.to_owned(), body.clone());
        }
        event.insert(String::from("index"), Value::from(0));
        let choice = serde_json::json!([{"index": 0, "delta": body, "finish_reason": more}]);
        event.insert(String::from("choices"), choice);
        event.insert(String::from("usage"), more);
        Value::Object(event)
    })
}

fn check(mut assembly: Box<dyn Assembly>, events: &[String]) {
    for event in events {
        match assembly.take(event, &|_| {}) {
            Ok(false) => {}
            Ok(true) => break,
            Err(Trouble::Broken(_) | Trouble::Reported(_)) => return,
        }
    }
    let answer = assembly.finish("asked");
    assert!(!answer.model.is_empty());
    for block in answer.blocks {
        if let Block::ToolUse { input, .. } = block {
            assert!(input.is_object() || input.is_string(), "{input}");
        }
    }
}

/// What is told of the events while they come, and the text of the answer.
fn told(mut assembly: Box<dyn Assembly>, events: &[Value]) -> (String, Vec<String>) {
    let told = std::sync::Mutex::new(String::new());
    let hear = |event: Event| {
        if let Event::Text(text) = event {
            told.lock().expect("the text").push_str(&text);
        }
    };
    for event in events {
        let taken = assembly.take(&event.to_string(), &hear);
        assert!(taken.is_ok(), "{event}");
    }
    let blocks = assembly.finish("asked").blocks.into_iter();
    let texts = blocks.filter_map(|block| match block {
        Block::Text { text } => Some(text),
        _ => None,
    });
    (told.into_inner().expect("the text"), texts.collect())
}

#[test]
fn texts_of_one_answer_are_told_apart() {
    let start = |at| json!({"type": "content_block_start", "index": at, "content_block": {"type": "text", "text": ""}});
    let piece = |at, text| json!({"type": "content_block_delta", "index": at, "delta": {"type": "text_delta", "text": text}});
    let events = [start(0), piece(0, "One."), start(1), piece(1, "Two.")];
    let (heard, said) = told(Box::new(anthropic::Assembly::default()), &events);
    assert_eq!(
        (&*heard, said.join("\n\n")),
        ("One.\n\nTwo.", heard.clone())
    );
    let item = |text| {
        let part = json!({"type": "output_text", "text": text});
        json!({"type": "message", "content": [part]})
    };
    let message = |at, text| {
        [
            json!({"type": "response.output_item.added", "output_index": at, "item": {"type": "message"}}),
            json!({"type": "response.output_text.delta", "output_index": at, "delta": text}),
            json!({"type": "response.output_item.done", "output_index": at, "item": item(text)}),
        ]
    };
    let events = [message(0, "One."), message(1, "Two.")].concat();
    let assembly = Box::new(responses::Assembly::new(String::from("a/b")));
    let (heard, said) = told(assembly, &events);
    assert_eq!(
        (&*heard, said.join("\n\n")),
        ("One.\n\nTwo.", heard.clone())
    );
}

/// Some servers count -1 tokens, send no beginning of a text, or give `null` where they know nothing.
#[test]
fn what_some_servers_send_of_the_messages_api_is_taken() {
    let piece =
        |at, delta: Value| json!({"type": "content_block_delta", "index": at, "delta": delta});
    let events = [
        json!({"type": "message_start", "message": {"model": null, "usage": {"input_tokens": 7, "output_tokens": -1}}}),
        piece(0, json!({"type": "signature_delta", "signature": "x"})),
        piece(1, json!({"type": "text_delta", "text": "So "})),
        piece(1, json!({"type": "text_delta", "text": "it is."})),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": -1, "output_tokens": 3.5}}),
        json!({"type": "message_delta", "delta": null, "usage": null}),
    ];
    let mut assembly = anthropic::Assembly::default();
    for event in &events {
        let taken = Assembly::take(&mut assembly, &event.to_string(), &|_| {});
        assert!(taken.is_ok(), "{event}");
    }
    let answer = Box::new(assembly).finish("asked");
    let text = String::from("So it is.");
    assert_eq!(answer.blocks, [Block::Text { text }]);
    assert_eq!((answer.usage.input, answer.usage.output), (7, 0));
    assert_eq!(
        (answer.model.as_str(), answer.stop),
        ("asked", Stop::EndTurn)
    );
    // Of a call without its beginning nobody knows what it calls.
    let call = piece(3, json!({"type": "input_json_delta", "partial_json": "{}"}));
    let mut assembly = anthropic::Assembly::default();
    let taken = Assembly::take(&mut assembly, &call.to_string(), &|_| {});
    assert!(matches!(taken, Err(Trouble::Broken(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_event_does_harm(events in prop::collection::vec(prop_oneof![value(), event()], 0..6), raw in "[ -~]{0,20}") {
        let mut events: Vec<String> = events.iter().map(Value::to_string).collect();
        events.push(raw);
        check(Box::new(anthropic::Assembly::default()), &events);
        check(Box::new(responses::Assembly::new(String::from("a/b"))), &events);
        check(Box::new(chat::Assembly::new(String::from("a/b"), false, true)), &events);
    }
}
