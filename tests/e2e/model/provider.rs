//! The provider `anthropic` in process, against the scripted server.

use std::sync::Mutex;
use std::time::Duration;

use postil::models::{
    Answer, Block, Event, Key, KeySource, Limits, Model as _, ModelError, Remote, Request, Setup,
    Speaker, Stop, ToolSpec, Turn, Wire, prices,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Model, Step, call, event, events};

pub(super) const KEY: &str = "sk-ant-canary-0123456789";

pub(super) fn quick() -> Limits {
    Limits {
        first_wait: Duration::from_millis(1),
        idle: Duration::from_secs(10),
        ..Limits::default()
    }
}

pub(super) fn provider(model: &Model, limits: Limits) -> Remote {
    Remote::new(setup(model.url()))
        .expect("a provider")
        .with_limits(limits)
}

/// `anthropic/claude-sonnet-4-5` at this address.
pub(super) fn setup(base_url: &str) -> Setup {
    Setup {
        provider: String::from("anthropic"),
        model: String::from("claude-sonnet-4-5"),
        wire: Wire::Messages,
        base_url: base_url.to_owned(),
        base_from: String::from("ANTHROPIC_BASE_URL"),
        key: KeySource::Found {
            key: Key::new(KEY).expect("a key"),
            from: String::from("ANTHROPIC_API_KEY"),
        },
        facts: prices::facts("anthropic", "claude-sonnet-4-5"),
    }
}

pub(super) fn user(text: &str) -> Turn {
    Turn {
        speaker: Speaker::User,
        blocks: vec![Block::Text {
            text: text.to_owned(),
        }],
    }
}

pub(super) fn request(turns: Vec<Turn>) -> Request {
    let parameters =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let tool = ToolSpec {
        name: "file_read".into(),
        description: "Reads a file.".into(),
        parameters,
    };
    Request {
        system: "Be short.".into(),
        turns,
        tools: vec![tool],
        max_tokens: 1024,
    }
}

pub(super) async fn ask(
    provider: &Remote,
    turns: Vec<Turn>,
) -> (Result<Answer, ModelError>, Vec<Event>) {
    let heard = Mutex::new(Vec::new());
    let hear = |event| heard.lock().expect("the list").push(event);
    let answer = provider
        .stream(&request(turns), &hear, &CancellationToken::new())
        .await;
    (answer, heard.into_inner().expect("the list"))
}

pub(super) fn text_of(answer: &Answer) -> String {
    answer
        .blocks
        .iter()
        .filter_map(|b| {
            if let Block::Text { text } = b {
                Some(text.as_str())
            } else {
                None
            }
        })
        .collect()
}

pub(super) fn rich() -> Vec<serde_json::Value> {
    vec![
        json!({"type": "thinking", "thinking": "", "signature": "sig-1"}),
        json!({"type": "text", "text": "Let me look — 😀 näher."}),
        call(
            "toolu_1",
            "file_read",
            json!({"path": "src/ünï.rs", "n": [1, {"a": "\"\\"}]}),
        ),
    ]
}

#[tokio::test]
async fn fault_23_an_answer_is_put_together_from_its_pieces() {
    let plain = Step::blocks(rich(), "tool_use").usage(1234, 56).pings(3);
    let odd = Step::blocks(rich(), "tool_use").usage(1234, 56).crlf();
    let model = Model::start(vec![plain, odd]);
    let provider = provider(&model, quick());
    for _ in 0..2 {
        let (answer, heard) = ask(&provider, vec![user("rename it")]).await;
        let answer = answer.expect("an answer");
        assert_eq!(
            answer.blocks,
            [
                Block::Thinking {
                    thinking: String::new(),
                    signature: "sig-1".into()
                },
                Block::Text {
                    text: "Let me look — 😀 näher.".into()
                },
                Block::ToolUse {
                    id: "toolu_1".into(),
                    name: "file_read".into(),
                    input: json!({"path": "src/ünï.rs", "n": [1, {"a": "\"\\"}]})
                },
            ]
        );
        assert_eq!(
            (answer.stop, answer.usage.input, answer.usage.output),
            (Stop::ToolUse, 1234, 56)
        );
        assert_eq!(answer.model, "claude-sonnet-4-5");
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
        assert_eq!(streamed, "Let me look — 😀 näher.");
        assert!(
            heard
                .iter()
                .any(|e| matches!(e, Event::ToolUse { name } if name == "file_read"))
        );
    }
}

#[tokio::test]
async fn what_goes_back_is_what_the_api_takes() {
    let model = Model::start(vec![Step::blocks(rich(), "tool_use"), Step::text("Done.")]);
    let provider = provider(&model, quick());
    let (first, _) = ask(&provider, vec![user("rename it")]).await;
    let mut said = first.expect("an answer").blocks;
    said.push(Block::Text { text: "  ".into() });
    said.push(Block::ToolUse {
        id: "toolu_2".into(),
        name: "no such tool!".into(),
        input: json!("{\"pa"),
    });
    let results = Turn {
        speaker: Speaker::User,
        blocks: vec![
            Block::Text {
                text: "And a note.".into(),
            },
            Block::Image {
                media_type: "image/png".into(),
                data: "iVBORw0KGgo=".into(),
            },
            Block::ToolResult {
                id: "toolu_1".into(),
                content: String::new(),
                is_error: false,
            },
            Block::ToolResult {
                id: "toolu_2".into(),
                content: String::new(),
                is_error: true,
            },
        ],
    };
    let turns = vec![
        user("rename it"),
        user("please"),
        Turn {
            speaker: Speaker::Assistant,
            blocks: said,
        },
        results,
    ];
    let (second, _) = ask(&provider, turns).await;
    assert_eq!(text_of(&second.expect("an answer")), "Done.");
    let asked = model.requests();
    let body = &asked[1].body;
    assert_eq!(
        body["messages"][1]["content"][0],
        json!({"type": "thinking", "thinking": "", "signature": "sig-1"})
    );
    assert_eq!(body["messages"][2]["content"][0]["tool_use_id"], "toolu_1");
    assert_eq!(
        body["messages"][2]["content"][3]["source"]["data"],
        "iVBORw0KGgo="
    );
    assert_eq!(
        body["system"][0]["cache_control"],
        json!({"type": "ephemeral"})
    );
    assert_eq!(
        asked[0]
            .headers
            .iter()
            .filter(|(n, v)| n == "x-api-key" && v == KEY)
            .count(),
        1
    );
}

#[tokio::test]
async fn arguments_that_are_no_json_are_handed_on_as_they_came() {
    let broken =
        json!({"type": "tool_use", "id": "toolu_1", "name": "file_read", "json": "{\"path\": \"a"});
    let list = json!({"type": "tool_use", "id": "toolu_2", "name": "file_read", "json": "[1]"});
    let none = json!({"type": "tool_use", "id": "toolu_3", "name": "file_read", "json": ""});
    let model = Model::start(vec![Step::calls(vec![broken, list, none])]);
    let (answer, _) = ask(&provider(&model, quick()), vec![user("hello")]).await;
    let inputs: Vec<_> = answer
        .expect("an answer")
        .blocks
        .into_iter()
        .filter_map(|b| {
            if let Block::ToolUse { input, .. } = b {
                Some(input)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(inputs, [json!("{\"path\": \"a"), json!("[1]"), json!({})]);
}

#[tokio::test]
async fn fault_23_a_compressed_stream_is_read() {
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let body: Vec<u8> = events(
        &json!("m"),
        &[json!({"type": "text", "text": "Packed."})],
        "end_turn",
        &usage,
        1,
    )
    .iter()
    .flat_map(|(name, data)| event(name, data, false))
    .collect();
    let model = Model::start(vec![
        Step::body(200, "text/event-stream", &gzip(&body)).header("content-encoding", "gzip"),
    ]);
    let (answer, _) = ask(&provider(&model, quick()), vec![user("hello")]).await;
    assert_eq!(text_of(&answer.expect("an answer")), "Packed.");
}

/// RFC 1952 with one stored block.
fn gzip(data: &[u8]) -> Vec<u8> {
    let size = u16::try_from(data.len()).expect("a small body");
    let mut crc = !0u32;
    for byte in data {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xEDB8_8320
            } else {
                crc >> 1
            };
        }
    }
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    out.extend(size.to_le_bytes());
    out.extend((!size).to_le_bytes());
    out.extend(data);
    out.extend((!crc).to_le_bytes());
    out.extend(u32::from(size).to_le_bytes());
    out
}

#[test]
fn attack_08_a_key_is_never_shown() {
    let model = Model::start(Vec::new());
    let shown = format!("{:?} {:?}", provider(&model, quick()), Key::new(KEY));
    assert!(!shown.contains("canary"), "{shown}");
    assert!(Key::new("two\nlines").is_none() && Key::new("  ").is_none());
}

#[tokio::test]
async fn the_server_refuses_what_the_api_refuses() {
    let model = Model::start(Vec::new());
    let orphan = Turn {
        speaker: Speaker::User,
        blocks: vec![Block::ToolResult {
            id: "toolu_9".into(),
            content: "x".into(),
            is_error: false,
        }],
    };
    let unanswered = Turn {
        speaker: Speaker::Assistant,
        blocks: vec![Block::ToolUse {
            id: "toolu_1".into(),
            name: "file_read".into(),
            input: json!({}),
        }],
    };
    let forged = Turn {
        speaker: Speaker::Assistant,
        blocks: vec![
            Block::Thinking {
                thinking: "x".into(),
                signature: "made up".into(),
            },
            Block::Text { text: "y".into() },
        ],
    };
    let wrong = [
        vec![orphan],
        vec![user("a"), unanswered, user("b")],
        vec![user("a"), forged, user("b")],
        vec![Turn {
            speaker: Speaker::Assistant,
            blocks: vec![Block::Text { text: "a".into() }],
        }],
    ];
    for turns in wrong {
        let (answer, _) = ask(&provider(&model, quick()), turns).await;
        assert!(matches!(answer, Err(ModelError::Refused(_))), "{answer:?}");
    }
    assert_eq!(model.take_faults().len(), 4);
}

/// The prompt in the order that the API caches it, a text a block, and whether the block ends a part that
/// is kept. The marks themselves are no part of it.
fn cached_blocks(body: &serde_json::Value) -> Vec<(String, bool)> {
    let mut blocks = Vec::new();
    let messages = body["messages"].as_array().into_iter().flatten();
    let said = messages.flat_map(|m| m["content"].as_array().into_iter().flatten());
    for block in [&body["tools"], &body["system"]]
        .into_iter()
        .flat_map(|list| list.as_array().into_iter().flatten())
        .chain(said)
    {
        let mut bare = block.clone();
        let marked = bare
            .as_object_mut()
            .and_then(|map| map.remove("cache_control"))
            .is_some();
        blocks.push((bare.to_string(), marked));
    }
    blocks
}

/// What a cache as the API describes it would give each request: the longest part that an earlier request
/// marked, found at a mark or at most 20 blocks before one.
#[tokio::test]
async fn each_round_pays_for_what_is_new_alone() {
    let calls = |round: usize, count: usize| {
        let calls = (0..count).map(|n| {
            call(
                &format!("toolu_{round}_{n}"),
                "glob",
                json!({"pattern": format!("*{round}.{n}")}),
            )
        });
        Step::calls(calls.collect())
    };
    let model = Model::start(vec![
        calls(1, 1),
        calls(2, 3),
        // More blocks than the API looks back.
        calls(3, 30),
        calls(4, 1),
        Step::text("Done."),
    ]);
    super::bench::Bench::new().run(&model).await;
    let asked = model.requests();
    assert_eq!(asked.len(), 5);
    let mut kept: Vec<Vec<String>> = Vec::new();
    for (round, asked) in asked.iter().enumerate() {
        let blocks = cached_blocks(&asked.body);
        let marks: Vec<usize> = (0..blocks.len()).filter(|at| blocks[*at].1).collect();
        assert!(marks.len() <= 4, "{marks:?}");
        let texts: Vec<String> = blocks.into_iter().map(|(text, _)| text).collect();
        let hit = marks
            .iter()
            .flat_map(|mark| mark.saturating_sub(20)..=*mark)
            .filter(|at| kept.iter().any(|k| texts.get(..=*at) == Some(k.as_slice())))
            .max();
        if round > 0 {
            let before = kept.iter().map(Vec::len).max().unwrap_or_default();
            assert_eq!(
                hit.map(|at| at + 1),
                Some(before),
                "round {round}: all that went before"
            );
        }
        kept.extend(marks.iter().map(|mark| texts[..=*mark].to_vec()));
    }
}
