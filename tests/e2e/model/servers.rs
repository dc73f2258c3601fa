//! What servers leave out or get wrong, seen through the built binary.

use std::io::Write as _;
use std::net::TcpListener;

use serde_json::{Value, json};

use super::bench::FILE;
use super::choosing::{doctor, project, reply, text};
use super::wires::{chat_body, delta};
use super::{Asked, Model, Step};
use crate::harness::Workspace;

const KEY: &str = "sk-canary-0123456789";
const ENV: [(&str, &str); 1] = [("MK", KEY)];

/// `mine/m` at this address, with more of the settings.
fn mine(base: &str, more: &str) -> Workspace {
    project(&format!(
        "model = \"mine/m\"\n[providers.mine]\nbaseUrl = \"{base}\"\n{more}"
    ))
}

fn stream(chunks: &[Value]) -> Step {
    let body = [&chat_body(chunks)[..], b"data: [DONE]\n\n"].concat();
    Step::body(200, "text/event-stream", &body)
}

/// A server that answers the same whatever it is asked; its address.
fn always(status: &str, kind: &str, body: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            super::read_request(&mut stream, &mut Vec::new());
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    format!("http://{address}")
}

const FILES: usize = 20;

/// A turn that reads one file after the other, at a server that counts no tokens: what was asked, and what came of it.
fn reads_uncounted(more: &str, arguments: &[&str]) -> (Vec<Asked>, String) {
    let read = |at: usize| {
        let input = json!({"path": format!("notes/{at}.txt")}).to_string();
        let function = json!({"name": "file_read", "arguments": input});
        let call = json!([{"index": 0, "id": format!("call_{at}"), "type": "function", "function": function}]);
        stream(&[delta(json!({"tool_calls": call}), json!("tool_calls"))])
    };
    let end = stream(&[delta(json!({"content": "Read them all."}), json!("stop"))]);
    let model = Model::start((0..FILES).map(read).chain([end]).collect());
    let workspace = mine(&model.v1(), &format!("apiKeyEnv = \"MK\"\n{more}"));
    for at in 0..FILES {
        let lines = (0..150).map(|n| format!("line {at:02} {n:03} {}\n", "filler ".repeat(6)));
        workspace.write(&format!("notes/{at}.txt"), lines.collect::<String>());
    }
    let mut command = workspace.postil();
    command.args(["reply", "--all", "--yes"]).args(arguments);
    let output = command.envs(ENV).output().expect("postil runs");
    (model.requests(), workspace.read(FILE) + &text(&output))
}

#[test]
fn where_a_server_counts_no_tokens_the_limits_hold_all_the_same() {
    let prices =
        "[models.\"mine/m\"]\ncontextWindow = 1_000_000\ninputPrice = 1.0\noutputPrice = 1.0\n";
    let (asked, said) = reads_uncounted(prices, &["--budget", "0.05"]);
    assert!(asked.len() < FILES, "{} requests: {said}", asked.len());
    assert!(
        said.contains("Paused at about $") && said.contains("the budget it was given"),
        "{said}"
    );
    let tokens = "[turn]\nmaxTokens = 50_000\n[models.\"mine/m\"]\ncontextWindow = 1_000_000\n";
    let (asked, said) = reads_uncounted(tokens, &[]);
    assert!(asked.len() < FILES, "{} requests: {said}", asked.len());
    assert!(
        said.contains("Paused at about ") && said.contains("turn.maxTokens"),
        "{said}"
    );
    // It is taken to hold 32,768 tokens; they are three bytes each here.
    let (asked, said) = reads_uncounted("", &[]);
    assert!(said.contains("AGENT: Read them all."), "{said}");
    let sizes = asked.iter().map(|asked| asked.body.to_string().len() / 3);
    let longest = sizes.max().expect("requests");
    assert!(longest <= 32_768, "{longest} tokens");
}

#[test]
fn a_key_from_a_program_that_is_no_longer_good_is_asked_for_anew_at_once() {
    for (status, kind) in [
        (401, "authentication_error"),
        (403, "ExpiredTokenException"),
    ] {
        let model = Model::start(vec![
            Step::error(status, kind, "The security token is expired"),
            Step::text("It is fine."),
        ]);
        let workspace = mine(&model.v1(), "");
        let runs = workspace.path("runs");
        let script = format!(
            "echo x >> '{0}'; echo sk-key-0123-$(wc -l < '{0}' | tr -d ' ')",
            runs.display()
        );
        workspace.configure(&format!(
            "model = \"mine/m\"\n[providers.mine]\nbaseUrl = \"{}\"\napiKeyCommand = [\"sh\", \"-c\", \"{script}\"]\n",
            model.v1()
        ));
        let said = text(&reply(&workspace, &[]));
        assert!(
            workspace.read(FILE).contains("AGENT: It is fine."),
            "{said}"
        );
        let keys: Vec<String> = model
            .requests()
            .iter()
            .flat_map(|asked| asked.headers.clone())
            .filter(|(name, _)| name == "authorization")
            .map(|(_, key)| key)
            .collect();
        assert_eq!(
            keys,
            ["Bearer sk-key-0123-1", "Bearer sk-key-0123-2"],
            "{said}"
        );
    }
    // The same key again is not tried again.
    let model = Model::start(vec![Step::error(403, "permission_error", "no access")]);
    let workspace = mine(&model.v1(), "apiKeyCommand = [\"echo\", \"sk-old\"]\n");
    let said = text(&reply(&workspace, &[]));
    assert!(
        said.contains("the key in apiKeyCommand (echo) has no access to m"),
        "{said}"
    );
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn a_byte_order_mark_before_a_stream_does_no_harm() {
    let chunks = [delta(json!({"content": "ok"}), json!("stop"))];
    let body = chat_body(&chunks);
    let whole = [b"\xef\xbb\xbf", &body[..]].concat();
    let mut split = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n\xef\r\n2\r\n\xbb\xbf\r\n".to_vec();
    split.extend(format!("{:x}\r\n", body.len()).as_bytes());
    split.extend([&body[..], b"\r\n0\r\n\r\n"].concat());
    let model = Model::start(vec![
        Step::body(200, "text/event-stream", &whole),
        Step::raw(&split),
    ]);
    let workspace = mine(&model.v1(), "apiKeyEnv = \"MK\"\n");
    for _ in 0..2 {
        let said = doctor(&workspace, true, &ENV);
        assert!(
            said.contains("true it was asked a small question and answered"),
            "{said}"
        );
    }
}

#[test]
fn an_address_at_which_nothing_is_served_is_told_from_a_model_that_is_not_known() {
    for (kind, body) in [
        ("text/plain", "404 page not found"),
        ("application/json", r#"{"detail":"Not Found"}"#),
    ] {
        let base = always("404 Not Found", kind, body);
        let said = doctor(&mine(&base, ""), true, &[]);
        let hint = "correct providers.mine.baseUrl, which usually ends in /v1";
        assert!(
            said.contains(&format!(
                "nothing is served at {base}/chat/completions (404"
            )) && said.contains(hint),
            "{said}"
        );
        let said = doctor(&mine(&format!("{base}/v1"), ""), true, &[]);
        assert!(
            said.contains(&format!("nothing is served at {base}/v1/chat/completions"))
                && !said.contains("usually"),
            "{said}"
        );
    }
    let model = Model::start(vec![Step::text("ok")]);
    let more = "api = \"messages\"\napiKeyEnv = \"MK\"\n";
    let said = doctor(&mine(&model.v1(), more), true, &ENV);
    assert!(
        said.contains("true it was asked a small question and answered"),
        "{said}"
    );
}

#[test]
fn an_answer_that_was_all_thoughts_is_told_as_that() {
    let thinks = || {
        let usage =
            json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 8192}});
        stream(&[
            delta(json!({"reasoning_content": "hm"}), Value::Null),
            delta(json!({}), json!("length")),
            usage,
        ])
    };
    let model = Model::start(vec![thinks(), thinks(), thinks()]);
    let workspace = mine(&model.v1(), "apiKeyEnv = \"MK\"\n");
    let said = text(&reply(&workspace, &ENV));
    for word in [
        "used all 8192 tokens of its answer for thoughts",
        "maxOutput",
        "[models.\"mine/m\"]",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
    for refusal in [
        "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for m",
        "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
        "max_tokens is too large: 32000. This model supports at most 8192 completion tokens",
    ] {
        let model = Model::start(vec![Step::error(400, "invalid_request_error", refusal)]);
        let workspace = mine(&model.v1(), "apiKeyEnv = \"MK\"\n");
        let said = text(&reply(&workspace, &ENV));
        assert!(
            said.contains("as maxOutput in [models.\"mine/m\"] of your config.toml"),
            "{said}"
        );
    }
}

#[test]
fn who_forbids_is_named_and_no_key_that_was_not_sent() {
    let page = "<!doctype html><title>no</title>";
    let forbids = always("403 Forbidden", "text/html", page);
    let said = doctor(&mine(&format!("{forbids}/v1"), ""), true, &[]);
    assert!(
        said.contains(&format!("{forbids}/v1 forbids it (403, Forbidden)"))
            && said.contains("providers.mine.apiKeyEnv")
            && !said.contains("the key in"),
        "{said}"
    );
    let workspace = mine("http://models.example/v1", "");
    let wants = always("407 Proxy Authentication Required", "text/html", page);
    for proxy in [&wants, &forbids] {
        let said = doctor(&workspace, true, &[("HTTP_PROXY", proxy)]);
        assert!(
            said.contains("the proxy in HTTP_PROXY") && said.contains("correct HTTP_PROXY"),
            "{said}"
        );
    }
}

#[test]
fn an_error_after_the_end_of_an_answer_takes_nothing_away() {
    let late = json!({"error": {"message": "usage is not to be had", "code": 500}});
    let answer = stream(&[
        delta(json!({"content": "It is fine."}), Value::Null),
        delta(json!({}), json!("stop")),
        late,
    ]);
    let model = Model::start(vec![answer]);
    let workspace = mine(&model.v1(), "apiKeyEnv = \"MK\"\n");
    let said = text(&reply(&workspace, &ENV));
    assert!(
        workspace.read(FILE).contains("AGENT: It is fine."),
        "{said}"
    );
    assert_eq!(model.requests().len(), 1);
}
