//! Chat Completions as everybody speaks it: each habit of a server that was seen in the field.

use postil::models::{
    Answer, Block, Event, KeySource, ModelError, Remote, Setup, Speaker, Stop, Turn, Wire, prices,
};
use serde_json::{Value, json};

use super::provider::{ask, quick, text_of, user};
use super::wires::{chat_body, delta};
use super::{Model, Step};

/// A server of one's own, which wants no key; the strict server wants one, so it gets one.
fn setup(model: &Model, wire: Wire) -> Setup {
    Setup {
        provider: String::from("mine"),
        model: String::from("qwen3:8b"),
        wire,
        base_url: model.v1(),
        base_from: String::from("providers.mine.baseUrl"),
        key: KeySource::Found {
            key: postil::models::Key::new("dummy").expect("a key"),
            from: String::from("MINE"),
        },
        facts: prices::facts("mine", "qwen3:8b"),
    }
}

async fn answer(body: &[u8]) -> Result<Answer, ModelError> {
    of(Wire::Chat, body).await
}

async fn of(wire: Wire, body: &[u8]) -> Result<Answer, ModelError> {
    let model = Model::start(vec![Step::body(200, "text/event-stream", body)]);
    let provider = Remote::new(setup(&model, wire)).expect("a provider");
    let limits = postil::models::Limits {
        retries: 0,
        ..quick()
    };
    ask(&provider.with_limits(limits), vec![user("hello")])
        .await
        .0
}

fn done(chunks: &[Value]) -> Vec<u8> {
    [&chat_body(chunks)[..], b"data: [DONE]\n\n"].concat()
}

fn calls(answer: &Answer) -> Vec<(String, String, Value)> {
    let calls = answer.blocks.iter().filter_map(|b| match b {
        Block::ToolUse { id, name, input } => Some((id.clone(), name.clone(), input.clone())),
        _ => None,
    });
    calls.collect()
}

/// The pieces of one answer with tool calls, and the calls that they are.
async fn check_calls(pieces: Vec<Value>, expected: &[(&str, &str, Value)]) {
    let mut chunks: Vec<Value> = pieces
        .into_iter()
        .map(|calls| delta(json!({"tool_calls": calls}), Value::Null))
        .collect();
    chunks.push(delta(json!({}), json!("tool_calls")));
    let answer = answer(&done(&chunks)).await.expect("an answer");
    let expected: Vec<(String, String, Value)> = expected
        .iter()
        .map(|(id, name, input)| ((*id).to_owned(), (*name).to_owned(), input.clone()))
        .collect();
    assert_eq!(calls(&answer), expected, "{chunks:#?}");
    assert_eq!(answer.stop, Stop::ToolUse);
}

#[tokio::test]
async fn fault_23_calls_are_told_apart_whatever_marks_them() {
    let a = json!({"path": "a"});
    let b = json!({"path": "b"});
    let both = [("1", "file_read", a.clone()), ("2", "glob", b.clone())];
    let piece = |index: Value, id: Value, name: Value, arguments: Value| {
        let mut piece =
            json!({"type": "function", "function": {"name": name, "arguments": arguments}});
        for (key, value) in [("index", index), ("id", id)] {
            if !value.is_null() {
                piece[key] = value;
            }
        }
        piece
    };
    let null = Value::Null;
    let (whole_a, whole_b) = (json!(a.to_string()), json!(b.to_string()));
    // Ollama: every call whole in a chunk, and all with the index 0.
    check_calls(
        vec![
            json!([piece(
                json!(0),
                json!("1"),
                json!("file_read"),
                whole_a.clone()
            )]),
            json!([piece(json!(0), json!("2"), json!("glob"), whole_b.clone())]),
        ],
        &both,
    )
    .await;
    // No index at all, both in one chunk.
    check_calls(
        vec![json!([
            piece(
                null.clone(),
                json!("1"),
                json!("file_read"),
                whole_a.clone()
            ),
            piece(null.clone(), json!("2"), json!("glob"), whole_b.clone()),
        ])],
        &both,
    )
    .await;
    // Neither index nor id: the loop gives ids.
    check_calls(
        vec![
            json!([piece(
                null.clone(),
                null.clone(),
                json!("file_read"),
                json!("{\"path\":")
            )]),
            json!([piece(
                null.clone(),
                null.clone(),
                null.clone(),
                json!("\"a\"}")
            )]),
            json!([piece(
                null.clone(),
                null.clone(),
                json!("glob"),
                whole_b.clone()
            )]),
        ],
        &[("", "file_read", a.clone()), ("", "glob", b.clone())],
    )
    .await;
    // The index and no id, index 0 again for the next; the name in every piece.
    check_calls(
        vec![
            json!([piece(
                json!(0),
                null.clone(),
                json!("file_read"),
                json!("{\"path\":")
            )]),
            json!([piece(
                json!(0),
                null.clone(),
                json!("file_read"),
                json!("\"a\"}")
            )]),
            json!([piece(
                json!(0),
                null.clone(),
                json!("file_read"),
                whole_b.clone()
            )]),
        ],
        &[("", "file_read", a.clone()), ("", "file_read", b.clone())],
    )
    .await;
    // Interleaved; an id in every piece; empty strings for what was said before; empty lists in between.
    check_calls(
        vec![
            json!([]),
            json!([
                piece(json!(0), json!("1"), json!("file_read"), json!("{\"path\"")),
                piece(json!(1), json!("2"), json!("glob"), json!("{"))
            ]),
            json!([piece(json!(0), json!("1"), json!(""), json!(": \"a\"}"))]),
            json!([piece(
                json!(1),
                json!(""),
                json!(""),
                json!("\"path\":\"b\"}")
            )]),
            json!([]),
        ],
        &both,
    )
    .await;
    // Another id in every piece.
    check_calls(
        vec![
            json!([piece(json!(0), json!("1"), json!("file_read"), json!(""))]),
            json!([piece(
                json!(0),
                json!("x"),
                null.clone(),
                json!("{\"path\":")
            )]),
            json!([piece(json!(0), json!("y"), json!(""), json!("\"a\"}"))]),
            json!([piece(json!(1), json!("2"), json!("glob"), json!(""))]),
            json!([piece(json!(1), json!("z"), null.clone(), whole_b.clone())]),
        ],
        &both,
    )
    .await;
    // Arguments as an object; none; null; no JSON.
    check_calls(
        vec![
            json!([piece(json!(0), json!("1"), json!("file_read"), a.clone())]),
            json!([piece(json!(1), json!("2"), json!("list_files"), json!(""))]),
            json!([piece(
                json!(2),
                json!("3"),
                json!("list_files"),
                null.clone()
            )]),
            json!([piece(json!(3), json!("4"), json!("glob"), json!("{\"pa"))]),
        ],
        &[
            ("1", "file_read", a.clone()),
            ("2", "list_files", json!({})),
            ("3", "list_files", json!({})),
            ("4", "glob", json!("{\"pa")),
        ],
    )
    .await;
}

#[tokio::test]
async fn fault_23_an_end_is_known_in_all_its_forms() {
    let hello = || {
        delta(
            json!({"role": "assistant", "content": "Hello."}),
            Value::Null,
        )
    };
    let stop = || delta(json!({}), json!("stop"));
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}});
    // Without `[DONE]`; finish and text in one; the count in the last chunk, or after it, or with `usage` null.
    for (body, counted) in [
        (chat_body(&[hello(), stop()]), 0),
        (
            chat_body(&[delta(json!({"content": "Hello."}), json!("stop"))]),
            0,
        ),
        (done(&[hello(), stop(), usage.clone()]), 3),
        (chat_body(&[hello(), stop(), usage.clone()]), 3),
        (
            [
                b": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n",
                &done(&[hello(), stop()])[..],
            ]
            .concat(),
            0,
        ),
        (
            done(&[
                json!({"choices": [], "prompt_filter_results": []}),
                hello(),
                json!({"choices": [{"index": 0, "delta": null, "finish_reason": null}]}),
                stop(),
            ]),
            0,
        ),
    ] {
        let answer = answer(&body).await.expect("an answer");
        assert_eq!(
            (text_of(&answer).as_str(), answer.stop),
            ("Hello.", Stop::EndTurn)
        );
        assert_eq!(answer.usage.output, counted);
    }
    // What has not said how it ended was cut off.
    let piece = |arguments: &str| {
        let function = json!({"name": "glob", "arguments": arguments});
        let call = json!([{"index": 0, "id": "1", "function": function}]);
        delta(json!({"tool_calls": call}), Value::Null)
    };
    for body in [
        chat_body(&[hello()]),
        chat_body(&[piece("{}")]),
        done(&[piece("{\"pattern\": ")]),
        done(&[delta(json!({"role": "assistant"}), Value::Null)]),
    ] {
        let error = answer(&body).await.expect_err("no answer").to_string();
        assert!(error.contains("ask again"), "{error}");
    }
    // Some give no reason at all, and their end.
    let said = answer(&done(&[hello()])).await.expect("an answer");
    assert_eq!(
        (text_of(&said).as_str(), said.stop),
        ("Hello.", Stop::Other)
    );
    for arguments in ["{}", ""] {
        let called = answer(&done(&[hello(), piece(arguments)])).await;
        assert_eq!(calls(&called.expect("an answer")).len(), 1, "{arguments}");
    }
    // `stop` with calls, an unknown reason, one that is a failure.
    let call = json!([{"index": 0, "id": "1", "function": {"name": "glob", "arguments": "{}"}}]);
    let called = answer(&done(&[delta(json!({"tool_calls": call}), json!("stop"))])).await;
    assert_eq!(called.expect("an answer").stop, Stop::ToolUse);
    let odd = answer(&done(&[delta(json!({"content": "x"}), json!("because"))])).await;
    assert_eq!(odd.expect("an answer").stop, Stop::Other);
    let failed = answer(&done(&[hello(), delta(json!({}), json!("error"))])).await;
    assert!(
        matches!(failed, Err(ModelError::Unavailable(_))),
        "{failed:?}"
    );
    let refused = answer(&done(&[delta(
        json!({"refusal": "I will not."}),
        json!("stop"),
    )]))
    .await;
    assert_eq!(refused.expect("an answer").stop, Stop::Refusal);
}

#[tokio::test]
async fn counts_of_the_cache_come_in_several_forms() {
    let counted = async |usage: Value| {
        let chunks = [
            delta(json!({"content": "x"}), json!("stop")),
            json!({"choices": [], "usage": usage}),
        ];
        let usage = answer(&done(&chunks)).await.expect("an answer").usage;
        (
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_write,
        )
    };
    let openai = json!({"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}});
    assert_eq!(counted(openai).await, (10, 5, 60, 30));
    let deepseek = json!({"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 60, "prompt_cache_miss_tokens": 40});
    assert_eq!(counted(deepseek).await, (40, 5, 60, 0));
    let none = json!({"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": null});
    assert_eq!(counted(none).await, (100, 5, 0, 0));
    // More from the cache than there was.
    let wrong = json!({"prompt_tokens": 1, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 60}});
    assert_eq!(counted(wrong).await, (0, 5, 60, 0));
}

/// Thoughts come in three fields and in a tag; none of them is part of the answer.
#[tokio::test]
async fn thoughts_are_no_part_of_the_answer() {
    let said = |delta_of: Value| {
        vec![
            delta(delta_of, Value::Null),
            delta(json!({"content": "Yes."}), json!("stop")),
        ]
    };
    for thought in [
        json!({"reasoning_content": "hm"}),
        json!({"reasoning": "hm"}),
        json!({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm", "index": 0}]}),
        json!({"content": "<think>\nhm\n</think>\n\n"}),
        // The template of DeepSeek-R1 and QwQ opens the tag itself.
        json!({"content": "Okay, hm.\nI say yes.\n</think>\n\n"}),
        json!({"content": "It ends with </think>, hm.\n</think>\n\n"}),
        json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
    ] {
        let answer = answer(&done(&said(thought))).await.expect("an answer");
        assert_eq!(text_of(&answer), "Yes.");
    }
    // A tag that never ends, stands in the middle, or is spoken of, is text.
    for text in [
        "<think>hm",
        "Yes, <think>hm</think>",
        "It ends at `</think>` now.",
        "The parser looks for </think> and cuts.",
        "Write:\n\n```\nhm\n</think>\n```\n",
    ] {
        let answer = answer(&done(&[delta(json!({"content": text}), json!("stop"))])).await;
        assert_eq!(text_of(&answer.expect("an answer")), text);
    }
}

/// While it streams, neither.
#[tokio::test]
async fn thoughts_in_a_tag_are_not_heard() {
    let pieces = ["<th", "ink>h", "m</thi", "nk>\n\n", "Ye", "s."];
    let mut chunks: Vec<Value> = pieces
        .iter()
        .map(|text| delta(json!({"content": text}), Value::Null))
        .collect();
    chunks.push(delta(json!({}), json!("stop")));
    let model = Model::start(vec![Step::body(200, "text/event-stream", &done(&chunks))]);
    let provider = Remote::new(setup(&model, Wire::Chat)).expect("a provider");
    let (_, heard) = ask(&provider, vec![user("hello")]).await;
    let said = heard.iter().filter_map(|event| match event {
        Event::Text(text) => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(said.collect::<String>().trim_start(), "Yes.");
}

/// Where the tag was not opened nobody can know at first; what was told is taken back, and the next time it is known.
#[tokio::test]
async fn thoughts_in_a_tag_that_was_not_opened_are_told_once_at_most() {
    let answer = |pieces: &[&str]| {
        let mut chunks: Vec<Value> = pieces
            .iter()
            .map(|text| delta(json!({"content": text}), Value::Null))
            .collect();
        chunks.push(delta(json!({}), json!("stop")));
        Step::body(200, "text/event-stream", &done(&chunks))
    };
    let thought = || answer(&["I say", " yes.\n</thi", "nk>\n\nYe", "s."]);
    let model = Model::start(vec![
        thought(),
        thought(),
        answer(&["N", "o."]),
        thought(),
        answer(&["I say yes.</think>", "Yes."]),
        answer(&["A tag:\n</think>", " ends it.\n", "So it is."]),
    ]);
    let mut setup = setup(&model, Wire::Chat);
    // What is known of one model is known in this process.
    setup.model = String::from("thinks-aloud");
    let provider = Remote::new(setup.clone()).expect("a provider");
    let told = |heard: Vec<Event>| {
        let told = heard.iter().filter_map(|event| match event {
            Event::Text(text) => Some(text.as_str()),
            Event::Thoughts => Some("[taken back]"),
            _ => None,
        });
        told.collect::<String>()
    };
    let (_, heard) = ask(&provider, vec![user("hello")]).await;
    assert_eq!(told(heard), "I say yes.\n</thi[taken back]Yes.");
    let (_, heard) = ask(&provider, vec![user("hello")]).await;
    assert_eq!(told(heard), "Yes.");
    // One without thoughts is told at its end.
    let (_, heard) = ask(&provider, vec![user("hello")]).await;
    assert_eq!(told(heard), "No.");
    setup.model = String::from("DeepSeek-R1:8b");
    let provider = Remote::new(setup.clone()).expect("a provider");
    let (_, heard) = ask(&provider, vec![user("hello")]).await;
    assert_eq!(told(heard), "Yes.");
    // Its own tag need not have a line of its own; one that comes in pieces may stand in one.
    let (_, heard) = ask(&provider, vec![user("hello")]).await;
    assert_eq!(told(heard), "Yes.");
    let mut other = setup.clone();
    other.model = String::from("speaks-of-tags");
    let provider = Remote::new(other).expect("a provider");
    let (said, heard) = ask(&provider, vec![user("hello")]).await;
    let text = "A tag:\n</think> ends it.\nSo it is.";
    assert_eq!(
        (text_of(&said.expect("an answer")), told(heard)),
        (text.to_owned(), text.to_owned())
    );
}

/// What a server sends with a call beyond the format goes back to the same model, and to no other: Gemini
/// refuses a call without its `thought_signature`.
#[tokio::test]
async fn what_came_with_a_call_goes_back_with_it() {
    let extra = json!({"google": {"thought_signature": "sig-1"}});
    let piece = |id: &str, more: Value| {
        let mut piece = json!({"index": 0, "id": id, "type": "function", "function": {"name": "glob", "arguments": "{}"}});
        piece["extra_content"] = more;
        delta(json!({"tool_calls": [piece]}), Value::Null)
    };
    let body = done(&[
        piece("call_1", extra.clone()),
        piece("call_2", Value::Null),
        delta(json!({}), json!("tool_calls")),
    ]);
    let said = answer(&body).await.expect("an answer").blocks;
    let result = |id: &str| Block::ToolResult {
        id: id.to_owned(),
        content: String::from("none"),
        is_error: false,
    };
    let turns = vec![
        user("hello"),
        Turn {
            speaker: Speaker::Assistant,
            blocks: said,
        },
        Turn {
            speaker: Speaker::User,
            blocks: vec![result("call_1"), result("call_2")],
        },
    ];
    for (name, expected) in [("qwen3:8b", &extra), ("another", &Value::Null)] {
        let end = done(&[delta(json!({"content": "Done."}), json!("stop"))]);
        let model = Model::start(vec![Step::body(200, "text/event-stream", &end)]);
        let setup = Setup {
            model: name.to_owned(),
            ..setup(&model, Wire::Chat)
        };
        let provider = Remote::new(setup).expect("a provider");
        let answer = ask(&provider, turns.clone()).await.0.expect("an answer");
        assert_eq!(text_of(&answer), "Done.");
        let calls = &model.requests()[0].body["messages"][2]["tool_calls"];
        assert_eq!(calls[0]["extra_content"], *expected, "{calls}");
        assert_eq!(calls[1]["extra_content"], Value::Null, "{calls}");
        assert_eq!(
            (&calls[0]["id"], &calls[1]["id"]),
            (&json!("call_1"), &json!("call_2"))
        );
    }
}

/// OpenAI's newer models refuse the old name of the limit, at a provider of any name; most others know no other.
#[tokio::test]
async fn the_limit_has_the_name_that_the_model_wants() {
    let model = Model::start(vec![Step::text("One."), Step::text("Two.")]);
    let setup = Setup {
        provider: String::from("azure"),
        model: String::from("gpt-5-mini"),
        ..setup(&model, Wire::Chat)
    };
    for said in ["One.", "Two."] {
        // Each turn has one of its own.
        let provider = Remote::new(setup.clone()).expect("a provider");
        let answer = ask(&provider, vec![user("hello")]).await.0;
        assert_eq!(text_of(&answer.expect("an answer")), said);
    }
    let asked = model.requests();
    let named = |name: &str| -> Vec<bool> {
        let asked = asked.iter().map(|asked| asked.body[name].is_number());
        asked.collect()
    };
    assert_eq!(named("max_tokens"), [true, false, false]);
    assert_eq!(named("max_completion_tokens"), [false, true, true]);
    assert_eq!(model.take_faults().len(), 1);
}

/// As vLLM says it, which names both parameters; what the model holds is only assumed.
#[tokio::test]
async fn a_window_that_was_assumed_is_named_where_it_is_too_large() {
    let text = "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 8192 tokens and your request has 6100 input tokens (8192 > 8192 - 6100).";
    let model = Model::start(vec![Step::error(400, "BadRequestError", text)]);
    let provider = Remote::new(setup(&model, Wire::Chat)).expect("a provider");
    let error = ask(&provider, vec![user("hello")])
        .await
        .0
        .expect_err("no answer");
    assert!(matches!(&error, ModelError::TooLong(_)), "{error:?}");
    let error = error.to_string();
    let hint = "where it holds less than 32768 tokens, say how many as contextWindow in [models.\"mine/qwen3:8b\"]";
    assert!(error.contains(hint), "{error}");
    assert_eq!(model.requests().len(), 1);
}

/// LM Studio, its older server, xAI, Moonshot, GitHub Copilot: each says it in its own words.
#[tokio::test]
async fn a_conversation_that_is_too_long_is_known_in_many_words() {
    for text in [
        "Trying to keep the first 4561 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
        "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096).",
        "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)",
        "prompt token count of 130114 exceeds the limit of 128000",
    ] {
        let model = Model::start(vec![Step::error(400, "invalid_request_error", text)]);
        let provider = Remote::new(setup(&model, Wire::Chat)).expect("a provider");
        let error = ask(&provider, vec![user("hello")]).await.0;
        assert!(matches!(error, Err(ModelError::TooLong(_))), "{error:?}");
    }
}

/// Details of reasoning that came in pieces go back as one, with the calls that they led to.
#[tokio::test]
async fn details_of_reasoning_go_back_whole() {
    let detail = |detail: Value| {
        delta(
            json!({"reasoning": "…", "reasoning_details": [detail]}),
            Value::Null,
        )
    };
    let call =
        json!([{"index": 0, "id": "call_1", "function": {"name": "glob", "arguments": "{}"}}]);
    let body = done(&[
        detail(json!({"type": "reasoning.text", "text": "one ", "index": 0, "format": "x"})),
        detail(json!({"type": "reasoning.text", "text": "two", "index": 0, "signature": "sig"})),
        detail(json!({"type": "reasoning.encrypted", "data": "abc", "index": 1, "id": null})),
        delta(json!({"tool_calls": call}), json!("tool_calls")),
    ]);
    let said = answer(&body).await.expect("an answer").blocks;
    let Some(Block::Reasoning { by, item }) = said.first() else {
        panic!("{said:?}");
    };
    assert_eq!(by, "mine/qwen3:8b");
    assert_eq!(
        *item,
        json!({"reasoning_details": [
            {"type": "reasoning.text", "text": "one two", "index": 0, "format": "x", "signature": "sig"},
            {"type": "reasoning.encrypted", "data": "abc", "index": 1, "id": null}]})
    );
}

/// What other servers send of Responses: items in the closing event alone, arguments as an object, no
/// places, an end in Chat's manner.
#[tokio::test]
async fn responses_are_read_as_others_send_them() {
    let message = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]});
    let call = json!({"type": "function_call", "call_id": "1", "name": "glob", "arguments": {"pattern": "*"}});
    let end = |output: Value| json!({"type": "response.completed", "response": {"status": "completed", "output": output}});
    let done = |item: &Value| json!({"type": "response.output_item.done", "item": item});
    for events in [
        vec![end(json!([message, call]))],
        vec![done(&message), done(&call), end(json!([]))],
        vec![
            json!({"type": "response.unheard_of"}),
            done(&message),
            done(&call),
            end(json!([message, call])),
        ],
    ] {
        let body: Vec<u8> = [&chat_body(&events)[..], b"data: [DONE]\n\n"].concat();
        let answer = of(Wire::Responses, &body).await.expect("an answer");
        assert_eq!(text_of(&answer), "Hello.");
        assert_eq!(
            calls(&answer),
            [(
                String::from("1"),
                String::from("glob"),
                json!({"pattern": "*"})
            )]
        );
        assert_eq!(
            (answer.stop, answer.model.as_str()),
            (Stop::ToolUse, "qwen3:8b")
        );
    }
    let refusal =
        json!({"type": "message", "content": [{"type": "refusal", "refusal": "I will not."}]});
    let refused = of(Wire::Responses, &chat_body(&[end(json!([refusal]))])).await;
    assert_eq!(refused.expect("an answer").stop, Stop::Refusal);
    let cut = of(Wire::Responses, &chat_body(&[done(&message)])).await;
    assert!(cut.is_err_and(|e| e.to_string().contains("cut off")));
}

/// Reasoning that led to nothing, or is not to be had back, is left out: it would be refused.
#[tokio::test]
async fn reasoning_alone_is_left_out() {
    let model = Model::start(vec![Step::text("Done.")]);
    let by = String::from("mine/qwen3:8b");
    let item = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"});
    let turns = vec![
        user("hello"),
        Turn {
            speaker: Speaker::Assistant,
            blocks: vec![Block::Reasoning { by, item }],
        },
        user("go on"),
    ];
    let provider = Remote::new(setup(&model, Wire::Responses)).expect("a provider");
    assert_eq!(
        text_of(&ask(&provider, turns).await.0.expect("an answer")),
        "Done."
    );
}
