//! What holds for every wire format: the same script, three ways over the wire.

use std::time::Duration;

use postil::models::{
    Block, Event, KeySource, Limits, ModelError, Remote, Setup, Speaker, Stop, Turn, Wire, prices,
};
use postil::turn::Outcome;
use serde_json::{Value, json};

use super::bench::{Bench, CODE, FILE};
use super::provider::{KEY, ask, quick, setup, text_of, user};
use super::wires::{self, rich};
use super::{Model, Step, call};

const WIRES: [Wire; 3] = [Wire::Messages, Wire::Responses, Wire::Chat];

/// The provider that speaks `wire`, at this server.
pub(super) fn setup_of(wire: Wire, model: &Model) -> Setup {
    let anthropic = setup(model.url());
    if wire == Wire::Messages {
        return anthropic;
    }
    let KeySource::Found { key, .. } = anthropic.key else {
        panic!("a key");
    };
    Setup {
        provider: String::from("openai"),
        model: String::from("gpt-6.1-sol"),
        wire,
        base_url: model.v1(),
        base_from: String::from("OPENAI_BASE_URL"),
        key: KeySource::Found {
            key,
            from: String::from("OPENAI_API_KEY"),
        },
        facts: prices::facts("openai", "gpt-6.1-sol"),
    }
}

fn provider(wire: Wire, model: &Model, limits: Limits) -> Remote {
    Remote::new(setup_of(wire, model))
        .expect("a provider")
        .with_limits(limits)
}

/// What [`rich`] is to us: the reasoning in the format's own words, the text, the call.
fn assert_rich(wire: Wire, blocks: &[Block]) {
    let [thought, text, call] = blocks else {
        panic!("{wire:?}: {blocks:?}");
    };
    let thought = serde_json::to_string(thought).expect("JSON");
    assert!(thought.contains("sig-1 — 思"), "{wire:?}: {thought}");
    assert_eq!(
        *text,
        Block::Text {
            text: String::from("Let me look — 😀 näher.")
        }
    );
    assert_eq!(
        *call,
        Block::ToolUse {
            id: String::from("call_1"),
            name: String::from("file_read"),
            input: json!({"path": "src/ünï.rs", "n": [1, {"a": "\"\\"}]})
        }
    );
}

#[tokio::test]
async fn fault_23_an_answer_is_put_together_from_its_pieces() {
    for wire in WIRES {
        let plain = || {
            Step::blocks(rich(), "tool_use")
                .usage(1234, 56)
                .cached(1000, 7)
        };
        let model = Model::start(vec![plain().pings(3), plain().crlf()]);
        let provider = provider(wire, &model, quick());
        for _ in 0..2 {
            let (answer, heard) = ask(&provider, vec![user("rename it")]).await;
            let answer = answer.unwrap_or_else(|e| panic!("{wire:?}: {e}"));
            assert_rich(wire, &answer.blocks);
            let usage = answer.usage;
            assert_eq!(
                (
                    answer.stop,
                    usage.input,
                    usage.output,
                    usage.cache_read,
                    usage.cache_write
                ),
                (Stop::ToolUse, 1234, 56, 1000, 7),
                "{wire:?}"
            );
            let streamed: String = heard
                .iter()
                .filter_map(|e| {
                    if let Event::Text(t) = e {
                        Some(t.as_str())
                    } else {
                        None
                    }
                })
                .collect();
            assert_eq!(streamed, "Let me look — 😀 näher.", "{wire:?}");
            let tools = heard
                .iter()
                .filter(|e| matches!(e, Event::ToolUse { name } if name == "file_read"));
            assert_eq!(tools.count(), 1, "{wire:?}");
        }
        let asked = model.requests();
        let sent = |name: &str, value: &str| {
            asked[0]
                .headers
                .iter()
                .any(|(n, v)| n == name && v == value)
        };
        assert_eq!(sent("x-api-key", KEY), wire == Wire::Messages);
        assert_eq!(
            sent("authorization", &format!("Bearer {KEY}")),
            wire != Wire::Messages
        );
    }
}

/// Two calls at once, one fails, an image and a note come with the results, the call of a model that made
/// things up stands among them: the strict server takes it all, reasoning included.
#[tokio::test]
async fn what_goes_back_is_what_the_endpoint_takes() {
    for wire in WIRES {
        let model = Model::start(vec![Step::blocks(rich(), "tool_use"), Step::text("Done.")]);
        let provider = provider(wire, &model, quick());
        let (first, _) = ask(&provider, vec![user("rename it")]).await;
        let mut said = first.expect("an answer").blocks;
        said.push(Block::Text { text: "  ".into() });
        said.push(Block::ToolUse {
            id: "call_2".into(),
            name: "no such tool!".into(),
            input: json!("{\"pa"),
        });
        let result = |id: &str, content: &str, is_error| Block::ToolResult {
            id: id.into(),
            content: content.into(),
            is_error,
        };
        let results = vec![
            Block::Text {
                text: "And a note.".into(),
            },
            result("call_1", "", false),
            result("call_2", "no such tool", true),
            Block::Image {
                media_type: "image/png".into(),
                data: "iVBORw0KGgo=".into(),
            },
        ];
        let turn = |speaker, blocks| Turn { speaker, blocks };
        let foreign = Block::Reasoning {
            by: String::from("openai/another"),
            item: json!({"type": "reasoning", "encrypted_content": "not this model's"}),
        };
        let turns = vec![
            user("rename it"),
            user("please"),
            turn(Speaker::Assistant, [vec![foreign], said].concat()),
            turn(Speaker::User, results),
            turn(
                Speaker::Assistant,
                vec![Block::Text {
                    text: "Half.".into(),
                }],
            ),
            user("go on"),
        ];
        let (second, _) = ask(&provider, turns).await;
        let second = second.unwrap_or_else(|e| panic!("{wire:?}: {e}"));
        assert_eq!(text_of(&second), "Done.", "{wire:?}");
        let sent = model.requests()[1].body.to_string();
        for part in [
            "sig-1",
            "And a note.",
            "iVBORw0KGgo=",
            "no such tool",
            "no_such_tool_",
        ] {
            assert!(sent.contains(part), "{wire:?}: {part} is missing in {sent}");
        }
        assert!(!sent.contains("not this model's"), "{wire:?}: {sent}");
        assert!(
            wire == Wire::Messages || sent.contains("Error: no such tool"),
            "{sent}"
        );
    }
}

#[tokio::test]
async fn a_model_without_eyes_is_told_of_an_image() {
    for wire in WIRES {
        let model = Model::start(vec![Step::text("Done.")]);
        let mut setup = setup_of(wire, &model);
        setup.facts.images = false;
        let image = Block::Image {
            media_type: "image/png".into(),
            data: "iVBORw0KGgo=".into(),
        };
        let turn = Turn {
            speaker: Speaker::User,
            blocks: vec![image],
        };
        let (answer, _) = ask(&Remote::new(setup).expect("a provider"), vec![turn]).await;
        answer.expect("an answer");
        let sent = model.requests()[0].body.to_string();
        assert!(
            sent.contains("takes no images") && !sent.contains("iVBORw0KGgo="),
            "{sent}"
        );
    }
}

/// Fault 23: the recorded answer ends after each of its bytes. Nothing of a part stays; where all but the
/// closing words had come, the answer counts.
#[tokio::test]
async fn fault_23_a_stream_cut_at_any_byte_is_asked_for_again() {
    for wire in [Wire::Responses, Wire::Chat] {
        let usage = json!({"input_tokens": 1000, "output_tokens": 20});
        let asked = json!({"model": "gpt-6.1-sol", "stream_options": {"include_usage": true}});
        let blocks = rich();
        let step = Step::blocks(Vec::new(), "tool_use");
        let pieces = wires::stream(wire, &asked, (&blocks, "tool_use", &usage), &step);
        let length: usize = pieces.iter().map(Vec::len).sum();
        // Chat's closing words are the count of tokens and `[DONE]`.
        let closing = if wire == Wire::Chat { 2 } else { 0 };
        let said = length
            - pieces
                .iter()
                .rev()
                .take(closing)
                .map(Vec::len)
                .sum::<usize>();
        assert!(length > 1000 && said > 900, "{length} {said}");
        // Several at a time: what takes long is the waiting.
        let parts = (0..8).map(|part| cut_at_each(wire, said, (part..length).step_by(8)));
        futures::future::join_all(parts).await;
    }
}

async fn cut_at_each(wire: Wire, said: usize, places: impl Iterator<Item = usize> + Clone) {
    let script = places.clone().flat_map(|at| {
        let cut = Step::blocks(rich(), "tool_use").cut(at);
        let again = (at < said).then(|| Step::text("Whole."));
        [Some(cut), again].into_iter().flatten()
    });
    let model = Model::start(script.collect());
    let limits = Limits {
        retries: 1,
        first_wait: Duration::ZERO,
        ..quick()
    };
    let provider = provider(wire, &model, limits);
    for at in places {
        let (answer, _) = ask(&provider, vec![user("rename it")]).await;
        let answer = answer.unwrap_or_else(|e| panic!("{wire:?} cut at {at}: {e}"));
        if at < said {
            assert_eq!(answer.blocks.len(), 1, "{wire:?} cut at {at}");
            assert_eq!(text_of(&answer), "Whole.", "{wire:?} cut at {at}");
        } else {
            assert_rich(wire, &answer.blocks);
        }
    }
}

/// Each refusal: one sentence with its cause and the way out, tried again only where that can help.
#[tokio::test]
async fn fault_23_each_refusal_says_why_and_what_to_do() {
    let again = |n: usize, make: &dyn Fn() -> Step| (0..n).map(|_| make()).collect::<Vec<_>>();
    let echo = format!("Incorrect API key provided: {KEY}");
    let page = b"<!doctype html><html><title>Sign in</title></html>";
    let stream = |data: Value| {
        Step::body(
            200,
            "text/event-stream",
            format!("data: {data}\n\n").as_bytes(),
        )
    };
    let detail = |status, text: &str| Step::body(status, "application/json", text.as_bytes());
    for wire in [Wire::Responses, Wire::Chat] {
        let cases: Vec<(Vec<Step>, &[&str])> = vec![
            (
                vec![Step::error(401, "invalid_api_key", &echo)],
                &["OPENAI_API_KEY", "401", "set a valid key"],
            ),
            (
                vec![Step::error(403, "permission_error", "no access")],
                &["403", "choose another model"],
            ),
            (
                vec![Step::error(
                    404,
                    "model_not_found",
                    "The model does not exist",
                )],
                &["404", "gpt-6.1-sol", "choose another"],
            ),
            (
                vec![Step::error(400, "context_length_exceeded", "too many")],
                &["does not fit"],
            ),
            (
                vec![detail(
                    400,
                    r#"{"object":"error","message":"This model's maximum context length is 8192 tokens. However, you requested 9000","code":400}"#,
                )],
                &["does not fit"],
            ),
            (
                vec![detail(
                    400,
                    r#"{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (4096 tokens)","type":"exceed_context_size_error"}}"#,
                )],
                &["does not fit"],
            ),
            (
                vec![Step::error(
                    429,
                    "insufficient_quota",
                    "You exceeded your current quota",
                )],
                &["add credit"],
            ),
            (
                vec![detail(
                    402,
                    r#"{"error":{"message":"Insufficient credits","code":402}}"#,
                )],
                &["add credit"],
            ),
            (
                again(3, &|| Step::error(429, "rate_limit_exceeded", "slow down")),
                &["429", "wait a little"],
            ),
            (
                again(3, &|| Step::error(500, "server_error", "sorry")),
                &["500", "ask again later"],
            ),
            (
                again(3, &|| {
                    detail(
                        503,
                        r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
                    )
                }),
                &["Loading model"],
            ),
            (
                again(3, &|| Step::body(502, "text/html", page)),
                &["502", "ask again later"],
            ),
            (
                vec![detail(
                    422,
                    r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#,
                )],
                &["422", "field required"],
            ),
            (
                vec![detail(
                    400,
                    r#"{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools","type":"api_error"}}"#,
                )],
                &["cannot call tools"],
            ),
            (
                vec![Step::body(200, "text/html; charset=utf-8", page)],
                &["a web page", "OPENAI_BASE_URL"],
            ),
            (
                vec![Step::body(302, "text/html", page).header("location", "/elsewhere")],
                &["redirect"],
            ),
            (
                vec![detail(
                    200,
                    r#"{"error":{"message":"bad","type":"invalid_request_error"}}"#,
                )],
                &["400", "bad"],
            ),
            (
                again(3, &|| {
                    Step::body(200, "text/event-stream", b"data: {\"type\": \n\n")
                }),
                &["could not be read"],
            ),
            (
                again(3, &|| {
                    Step::body(200, "text/event-stream", b"data: [1]\n\ndata: [DONE]\n\n")
                }),
                &[""],
            ),
            (
                again(3, &|| Step::body(200, "text/event-stream", b"")),
                &["cut off"],
            ),
            (
                again(3, &|| {
                    stream(
                        json!({"error": {"message": "The server had an error", "type": "server_error"}}),
                    )
                }),
                &["had an error", "ask again later"],
            ),
            (
                again(3, &|| {
                    stream(json!({"error": {"message": "Provider returned error", "code": 502}}))
                }),
                &["Provider returned error", "ask again later"],
            ),
            (
                vec![stream(
                    json!({"error": {"message": "maximum context length is 5", "code": 400}}),
                )],
                &["does not fit"],
            ),
        ];
        let count = cases.len();
        for (at, (script, words)) in cases.into_iter().enumerate() {
            let expected = script.len();
            let model = Model::start(script);
            let limits = Limits {
                retries: 2,
                ..quick()
            };
            let (answer, _) = ask(&provider(wire, &model, limits), vec![user("hello")]).await;
            let error = answer.expect_err("a refusal").to_string();
            for word in words {
                assert!(
                    error.contains(word),
                    "{wire:?} {at} of {count}: `{error}` does not say `{word}`"
                );
            }
            assert!(
                !error.contains("canary") && !error.contains('\n'),
                "{error}"
            );
            assert_eq!(model.requests().len(), expected, "{wire:?}: {error}");
        }
    }
}

#[tokio::test]
async fn fault_23_errors_in_the_middle_of_responses_are_told() {
    let failed = |code: &str, message: &str| {
        let response = json!({"status": "failed", "error": {"code": code, "message": message}});
        json!({"type": "response.failed", "response": response})
    };
    let cases = [
        (failed("server_error", "sorry"), 2, "sorry"),
        (
            failed("rate_limit_exceeded", "slow down"),
            2,
            "wait a little",
        ),
        (
            failed("context_length_exceeded", "too long"),
            1,
            "does not fit",
        ),
        (failed("invalid_prompt", "not so"), 1, "not so"),
        (
            json!({"type": "error", "code": "server_is_overloaded", "message": "busy", "param": null}),
            2,
            "busy",
        ),
        (
            json!({"type": "error", "error": {"type": "insufficient_quota", "message": "none left"}, "status": 429}),
            1,
            "none left",
        ),
    ];
    for (event, tries, word) in cases {
        let body = format!("event: x\ndata: {event}\n\n");
        let step = || Step::body(200, "text/event-stream", body.as_bytes());
        let model = Model::start(vec![step(), step()]);
        let limits = Limits {
            retries: 1,
            ..quick()
        };
        let (answer, _) = ask(
            &provider(Wire::Responses, &model, limits),
            vec![user("hello")],
        )
        .await;
        let error = answer.expect_err("a refusal").to_string();
        assert!(error.contains(word), "{error}");
        assert_eq!(model.requests().len(), tries, "{error}");
    }
}

#[tokio::test]
async fn fault_23_a_stalled_or_endless_answer_is_given_up() {
    for wire in WIRES {
        let model = Model::start(vec![
            Step::text("Never whole.").stall(150),
            Step::text("Done."),
        ]);
        let limits = Limits {
            idle: Duration::from_millis(300),
            ..quick()
        };
        let (answer, heard) = ask(&provider(wire, &model, limits), vec![user("hello")]).await;
        assert_eq!(text_of(&answer.expect("an answer")), "Done.", "{wire:?}");
        let silent =
            |e: &Event| matches!(e, Event::Retry { why, .. } if why.contains("sent nothing"));
        assert!(heard.iter().any(silent), "{wire:?}: {heard:?}");
        let model = Model::start(vec![Step::body(
            200,
            "text/event-stream",
            &vec![b'x'; 50 << 20],
        )]);
        let limits = Limits {
            max_bytes: 1 << 20,
            ..quick()
        };
        let (answer, _) = ask(&provider(wire, &model, limits), vec![user("hello")]).await;
        let error = answer.expect_err("too much").to_string();
        assert!(error.contains("larger than 1 MB"), "{wire:?}: {error}");
    }
}

#[tokio::test]
async fn a_length_and_a_filter_are_told_apart_from_an_end() {
    for wire in WIRES {
        for (stop, ours) in [
            ("max_tokens", Stop::MaxTokens),
            ("refusal", Stop::Refusal),
            ("end_turn", Stop::EndTurn),
        ] {
            let text = vec![json!({"type": "text", "text": "So far"})];
            let model = Model::start(vec![Step::blocks(text, stop)]);
            let (answer, _) = ask(&provider(wire, &model, quick()), vec![user("hello")]).await;
            assert_eq!(answer.expect("an answer").stop, ours, "{wire:?}");
        }
    }
}

#[tokio::test]
async fn a_server_without_keys_is_asked_without_one() {
    let model = Model::start(vec![Step::error(401, "invalid_api_key", "Invalid API Key")]);
    let mut setup = setup_of(Wire::Chat, &model);
    (setup.provider, setup.key) = (String::from("mine"), KeySource::None);
    let (answer, _) = ask(
        &Remote::new(setup).expect("a provider"),
        vec![user("hello")],
    )
    .await;
    let error = answer.expect_err("a refusal");
    // The strict server wants a key; this one is right not to have one.
    assert_eq!(model.take_faults().len(), 1);
    assert!(matches!(error, ModelError::Refused(_)), "{error}");
    assert!(
        model.requests()[0]
            .headers
            .iter()
            .all(|(n, _)| n != "authorization")
    );
}

/// A whole turn: reads, edits, answers; the thousand calls of one answer are bounded.
#[tokio::test]
async fn a_turn_reads_edits_and_answers() {
    for wire in WIRES {
        let edit = json!({"path": FILE, "old_string": "pub fn load()", "new_string": "pub fn load_data()"});
        let many = (0..1000)
            .map(|n| {
                call(
                    &format!("call_{n}"),
                    "file_read",
                    json!({"path": FILE, "offset": n + 1}),
                )
            })
            .collect();
        let thought = json!({"type": "thinking", "thinking": "", "signature": "sig-2"});
        let model = Model::start(vec![
            Step::calls(vec![
                thought,
                call("call_a", "file_read", json!({"path": FILE})),
                call("call_b", "glob", json!({"pattern": "**/*.rs"})),
            ]),
            Step::calls(vec![call("call_c", "file_edit", edit)]),
            Step::calls(many),
            Step::text("Renamed."),
        ]);
        let bench = Bench::new();
        let outcome = bench.run_with(setup_of(wire, &model)).await;
        assert_eq!(
            outcome,
            Outcome::Answer(String::from("Renamed.")),
            "{wire:?}"
        );
        assert_eq!(
            bench.workspace.read(FILE),
            CODE.replace("load()", "load_data()")
        );
        let last = model.requests()[3].body.to_string();
        assert!(last.contains("1000 calls in one answer"), "{wire:?}");
    }
}

/// A call that came whole, in an answer that did not: it is carried out once, when it has come again.
#[tokio::test]
async fn fault_23_a_call_of_a_broken_answer_is_carried_out_once() {
    for wire in WIRES {
        let add = json!({"path": FILE, "old_string": "    7\n", "new_string": "    7 + 1\n"});
        let edit = || Step::calls(vec![call("call_a", "file_edit", add.clone())]);
        let usage = json!({"input_tokens": 1000, "output_tokens": 20});
        let blocks = [call("call_a", "file_edit", add.clone())];
        let asked = json!({"model": if wire == Wire::Messages { "claude-sonnet-4-5" } else { "gpt-6.1-sol" }});
        let pieces = wires::stream(wire, &asked, (&blocks, "tool_use", &usage), &edit());
        // All but the events that close the answer.
        let closing = 2;
        let at = pieces
            .iter()
            .rev()
            .skip(closing)
            .map(Vec::len)
            .sum::<usize>();
        let model = Model::start(vec![
            Step::calls(vec![call("call_r", "file_read", json!({"path": FILE}))]),
            edit().cut(at),
            edit(),
            Step::text("Done."),
        ]);
        let bench = Bench::new();
        let outcome = bench.run_with(setup_of(wire, &model)).await;
        assert_eq!(outcome, Outcome::Answer(String::from("Done.")), "{wire:?}");
        assert_eq!(
            bench.workspace.read(FILE),
            CODE.replace("    7\n", "    7 + 1\n"),
            "{wire:?}"
        );
        assert_eq!(model.requests().len(), 4, "{wire:?}");
    }
}

/// A refusal that the model words itself ends the turn in words.
#[tokio::test]
async fn fault_23_a_filter_ends_the_turn_in_words() {
    for wire in WIRES {
        let text = vec![json!({"type": "text", "text": "So far"})];
        let model = Model::start(vec![Step::blocks(text, "refusal")]);
        let outcome = Bench::new().run_with(setup_of(wire, &model)).await;
        assert!(
            matches!(&outcome, Outcome::Failed(why) if why.contains("content filter")),
            "{wire:?}: {outcome:?}"
        );
    }
}
