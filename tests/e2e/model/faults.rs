//! The provider `anthropic` where the network, the server or the person stops it.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use postil::models::{Event, Key, KeySource, Limits, Model as _, ModelError, Remote};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::provider::{KEY, ask, provider, quick, request, rich, setup, text_of, user};
use super::{Model, Step, event, events};

#[tokio::test]
async fn fault_23_a_stream_cut_at_any_byte_is_asked_for_again() {
    let usage = json!({"input_tokens": 1000, "output_tokens": 20, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0});
    let whole = events(&json!("claude-sonnet-4-5"), &rich(), "tool_use", &usage, 1);
    let length: usize = whole
        .iter()
        .map(|(name, data)| event(name, data, false).len())
        .sum();
    assert!(length > 1000, "{length}");
    // Several at a time: what takes long is the waiting.
    let parts = (0..8).map(|part| cut_at_each((part..length).step_by(8)));
    futures::future::join_all(parts).await;
}

async fn cut_at_each(places: impl Iterator<Item = usize> + Clone) {
    let cut = |at| Step::blocks(rich(), "tool_use").cut(at);
    let script = places
        .clone()
        .flat_map(|at| [cut(at), Step::text("Whole.")]);
    let model = Model::start(script.collect());
    let first_wait = Duration::ZERO;
    let provider = provider(
        &model,
        Limits {
            retries: 1,
            first_wait,
            ..quick()
        },
    );
    for at in places {
        let (answer, heard) = ask(&provider, vec![user("rename it")]).await;
        let answer = answer.unwrap_or_else(|e| panic!("cut at {at}: {e}"));
        assert_eq!(text_of(&answer), "Whole.", "cut at {at}");
        assert_eq!(
            answer.blocks.len(),
            1,
            "cut at {at}: nothing of the broken answer stays"
        );
        let retries = heard
            .iter()
            .filter(|e| matches!(e, Event::Retry { attempt: 1, .. }));
        assert_eq!(retries.count(), 1, "cut at {at}");
    }
}

#[tokio::test]
async fn fault_23_a_head_cut_anywhere_is_asked_for_again() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 999\r\n\r\nevent: ping\ndata: {\"type\": \"ping\"}\n\n";
    let script = (0..head.len())
        .flat_map(|at| [Step::raw(&head[..at]), Step::text("Whole.")])
        .collect();
    let model = Model::start(script);
    let provider = provider(
        &model,
        Limits {
            retries: 1,
            ..quick()
        },
    );
    for at in 0..head.len() {
        let (answer, _) = ask(&provider, vec![user("hello")]).await;
        assert_eq!(
            text_of(&answer.unwrap_or_else(|e| panic!("cut at {at}: {e}"))),
            "Whole.",
            "cut at {at}"
        );
    }
}

#[tokio::test]
async fn fault_23_a_stream_that_stays_cut_ends_in_a_plain_reason() {
    let model = Model::start(
        (0..3)
            .map(|_| Step::text("A long story.").cut(600))
            .collect(),
    );
    let (answer, heard) = ask(
        &provider(
            &model,
            Limits {
                retries: 2,
                ..quick()
            },
        ),
        vec![user("hello")],
    )
    .await;
    let error = answer.expect_err("no answer");
    assert!(matches!(error, ModelError::Unavailable(_)));
    assert!(
        error.to_string().contains("cut off") && error.to_string().contains("ask again"),
        "{error}"
    );
    assert_eq!(
        heard
            .iter()
            .filter(|e| matches!(e, Event::Retry { .. }))
            .count(),
        2
    );
    assert_eq!(model.requests().len(), 3);
}

/// Each refusal: one sentence with its cause and the way out, tried again only where that can help.
#[tokio::test]
async fn fault_23_each_refusal_says_why_and_what_to_do() {
    let again = |n: usize, make: &dyn Fn() -> Step| (0..n).map(|_| make()).collect::<Vec<_>>();
    let echo = format!("invalid x-api-key {KEY}");
    let page = b"<!doctype html><html><title>Sign in</title></html>";
    let cases: Vec<(Vec<Step>, &[&str])> = vec![
        (
            vec![Step::error(401, "authentication_error", &echo)],
            &[
                "ANTHROPIC_API_KEY",
                "refused",
                "401",
                "set a valid key",
                "start your editor (or the command) again",
            ],
        ),
        (
            vec![Step::error(403, "permission_error", "no access")],
            &["403", "choose another model"],
        ),
        (
            vec![Step::error(404, "not_found_error", "model: claude-x")],
            &["404", "claude-sonnet-4-5", "choose another"],
        ),
        (
            vec![Step::error(
                400,
                "invalid_request_error",
                "Your credit balance is too low",
            )],
            &["400", "credit balance"],
        ),
        (
            vec![Step::error(
                400,
                "invalid_request_error",
                "prompt is too long: 205351 tokens > 200000 maximum",
            )],
            &["does not fit"],
        ),
        (
            vec![Step::error(
                413,
                "request_too_large",
                "Request exceeds the maximum size",
            )],
            &["too large"],
        ),
        (
            again(3, &|| Step::error(429, "rate_limit_error", "slow down")),
            &["429", "wait a little"],
        ),
        (
            again(3, &|| {
                Step::error(500, "api_error", "Internal server error")
            }),
            &["500", "ask again later"],
        ),
        (
            again(3, &|| Step::error(529, "overloaded_error", "Overloaded")),
            &["529", "ask again later"],
        ),
        (
            again(3, &|| Step::body(502, "text/html", page)),
            &["502", "ask again later"],
        ),
        (
            vec![Step::body(200, "text/html; charset=utf-8", page)],
            &["a web page", "ANTHROPIC_BASE_URL"],
        ),
        (
            vec![Step::body(302, "text/html", page).header("location", "/elsewhere")],
            &["redirect", "ANTHROPIC_BASE_URL"],
        ),
        (
            again(3, &|| {
                Step::body(200, "text/event-stream", b"data: {\"type\": \"ping\"\n\n")
            }),
            &["could not be read", "ask again"],
        ),
        (
            again(3, &|| {
                Step::body(200, "text/event-stream", b"data: \xff\xfe\n\n")
            }),
            &["could not be read"],
        ),
        (
            again(3, &|| Step::body(200, "text/event-stream", b"")),
            &["cut off"],
        ),
        (
            again(3, &|| {
                let data = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
                Step::body(
                    200,
                    "text/event-stream",
                    format!("event: error\ndata: {data}\n\n").as_bytes(),
                )
            }),
            &["Overloaded", "ask again later"],
        ),
        (
            vec![Step::body(
                200,
                "application/json",
                br#"{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}"#,
            )],
            &["400", "bad"],
        ),
    ];
    for (script, words) in cases {
        let expected = script.len();
        let model = Model::start(script);
        let (answer, _) = ask(
            &provider(
                &model,
                Limits {
                    retries: 2,
                    ..quick()
                },
            ),
            vec![user("hello")],
        )
        .await;
        let error = answer.expect_err("a refusal").to_string();
        for word in words {
            assert!(error.contains(word), "`{error}` does not say `{word}`");
        }
        assert!(!error.contains(KEY) && !error.contains('\n'), "{error}");
        assert_eq!(model.requests().len(), expected, "{error}");
    }
}

#[tokio::test]
async fn nobody_listening_is_said_so() {
    let model = Model::start(Vec::new());
    let provider = provider(
        &model,
        Limits {
            retries: 1,
            ..quick()
        },
    );
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|l| l.local_addr())
        .expect("a free port");
    let gone = Remote::new(setup(&format!("http://{free}")));
    drop(provider);
    let (answer, heard) = ask(
        &gone.expect("a provider").with_limits(Limits {
            retries: 1,
            ..quick()
        }),
        vec![user("hello")],
    )
    .await;
    let error = answer.expect_err("nobody").to_string();
    assert!(
        error.contains("cannot be reached") && error.contains("ANTHROPIC_BASE_URL"),
        "{error}"
    );
    assert_eq!(heard.len(), 1);
}

#[tokio::test]
async fn fault_23_retry_after_is_honoured_up_to_a_cap() {
    let model = Model::start(vec![
        Step::error(429, "rate_limit_error", "slow").header("retry-after", "0"),
        Step::error(529, "overloaded_error", "busy").header("retry-after", "1000000000"),
        Step::text("Done."),
    ]);
    let limits = Limits {
        first_wait: Duration::from_secs(30),
        longest_wait: Duration::from_millis(20),
        ..quick()
    };
    let (answer, heard) = ask(&provider(&model, limits), vec![user("hello")]).await;
    assert_eq!(text_of(&answer.expect("an answer")), "Done.");
    let waits: Vec<u64> = heard
        .iter()
        .filter_map(|e| {
            if let Event::Retry { wait_ms, .. } = e {
                Some(*wait_ms)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(waits, [0, 20]);
}

#[tokio::test]
async fn fault_23_a_silent_connection_is_given_up() {
    let model = Model::start(vec![
        Step::text("Never whole.").stall(700),
        Step::text("Done."),
    ]);
    let limits = Limits {
        idle: Duration::from_millis(200),
        ..quick()
    };
    let (answer, heard) = ask(&provider(&model, limits), vec![user("hello")]).await;
    assert_eq!(text_of(&answer.expect("an answer")), "Done.");
    assert!(
        heard
            .iter()
            .any(|e| matches!(e, Event::Retry { why, .. } if why.contains("sent nothing"))),
        "{heard:?}"
    );
}

#[tokio::test]
async fn fault_23_a_connection_that_is_kept_alive_for_nothing_is_given_up() {
    let model = Model::start(vec![
        Step::text("Never.").pings(3).stall(500),
        Step::text("Done."),
    ]);
    let quiet = Duration::from_millis(200);
    let (answer, heard) = ask(
        &provider(&model, Limits { quiet, ..quick() }),
        vec![user("hello")],
    )
    .await;
    assert_eq!(text_of(&answer.expect("an answer")), "Done.");
    let why = |e: &Event| matches!(e, Event::Retry { why, .. } if why.contains("keep-alives"));
    assert!(heard.iter().any(why), "{heard:?}");
}

/// Some write one where a server wants none, and it stays a word of what we say ourselves.
#[tokio::test]
async fn a_word_in_the_place_of_a_key_is_no_secret() {
    for (key, said) in [
        ("x", "(400, x)"),
        ("1", "(400, 1)"),
        ("anthropic", "(400, anthropic)"),
        (KEY, "(400, …)"),
    ] {
        let model = Model::start(vec![Step::error(400, "invalid_request_error", key)]);
        let mut setup = setup(model.url());
        setup.key = KeySource::Found {
            key: Key::new(key).expect("a key"),
            from: String::from("ANTHROPIC_API_KEY"),
        };
        let provider = Remote::new(setup).expect("a provider");
        let (answer, _) = ask(&provider, vec![user("hello")]).await;
        let error = answer.expect_err("a refusal").to_string();
        assert!(error.contains(said), "{error}");
    }
}

/// It may read a long prompt for minutes, and say nothing before its first word.
#[tokio::test]
async fn a_model_on_this_machine_is_waited_for_as_long_as_one_that_is_quiet() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let limits = Limits {
        idle: Duration::ZERO,
        quiet: Duration::from_secs(1),
        retries: 0,
        ..quick()
    };
    let provider = Remote::new(setup(&format!("http://{address}"))).expect("a provider");
    let (answer, _) = ask(&provider.with_limits(limits), vec![user("hello")]).await;
    let error = answer.expect_err("no answer").to_string();
    assert!(error.contains("did not answer within 1 s"), "{error}");
}

#[tokio::test]
async fn fault_23_an_error_that_never_ends_is_told_with_what_came() {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a request");
        let _ = stream.read(&mut [0; 1 << 16]);
        let head = b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n\r\n{\"error\": \"no\"}";
        let _ = stream.write_all(head);
        // Never long without a byte.
        while stream.write_all(b" ").and_then(|()| stream.flush()).is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let idle = Duration::from_millis(300);
    let setup = setup(&format!("http://{address}"));
    let limits = Limits { idle, ..quick() };
    let provider = Remote::new(setup).expect("a provider").with_limits(limits);
    let asked = ask(&provider, vec![user("hello")]);
    let (answer, _) = tokio::time::timeout(Duration::from_secs(10), asked)
        .await
        .expect("it ends");
    let error = answer.expect_err("an error").to_string();
    assert!(error.contains("(400, no)"), "{error}");
}

#[tokio::test]
async fn cancel_stops_within_a_second_wherever_it_comes() {
    let streaming = Step::text("A long story that goes on.").stall(800);
    let waiting = Step::error(429, "rate_limit_error", "slow").header("retry-after", "50");
    for step in [streaming, waiting] {
        let model = Model::start(vec![step]);
        let cancel = CancellationToken::new();
        let stopped = Mutex::new(None);
        // The first thing that is heard cancels.
        let hear = |_| {
            stopped
                .lock()
                .expect("the time")
                .get_or_insert_with(Instant::now);
            cancel.cancel();
        };
        let answer = provider(&model, quick())
            .stream(&request(vec![user("hello")]), &hear, &cancel)
            .await;
        assert!(matches!(answer, Err(ModelError::Cancelled)));
        let after = stopped.lock().expect("the time").map(|at| at.elapsed());
        assert!(
            after.is_some_and(|after| after < Duration::from_secs(1)),
            "{after:?}"
        );
    }
    // Before anything was heard.
    let model = Model::start(vec![Step::text("Late.").held()]);
    let cancel = CancellationToken::new();
    let provider = provider(&model, quick());
    let asked = request(vec![user("hello")]);
    let (answer, ()) = tokio::join!(provider.stream(&asked, &|_| {}, &cancel), async {
        while model.requests().is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        cancel.cancel();
    });
    assert!(matches!(answer, Err(ModelError::Cancelled)));
}

#[tokio::test]
async fn fault_23_a_gigantic_answer_is_refused() {
    let model = Model::start(vec![
        Step::body(200, "text/event-stream", &vec![b'x'; 50 << 20]),
        Step::body(200, "text/event-stream", &b": nothing\n".repeat(300_000)),
    ]);
    let provider = provider(
        &model,
        Limits {
            max_bytes: 1 << 20,
            ..quick()
        },
    );
    for _ in 0..2 {
        let (answer, heard) = ask(&provider, vec![user("hello")]).await;
        let error = answer.expect_err("too much").to_string();
        assert!(error.contains("larger than 1 MB"), "{error}");
        assert!(heard.is_empty());
    }
}
