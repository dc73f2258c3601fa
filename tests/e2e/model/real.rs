//! A real server with a model of random weights: it streams as the real ones do, in all three wire formats.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use postil::models::{KeySource, ModelError, Remote, Setup, Stop, Wire, local, prices};

use super::provider::{ask, quick, text_of, user};
use crate::peers;

struct Server {
    child: Child,
    base: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start() -> Option<Server> {
    let program = peers::have(&["llama-server"]).then(|| peers::find("llama-server"))??;
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|l| l.local_addr())
        .expect("a free port")
        .port();
    let model = peers::bin().join("../llama-server/tiny.gguf");
    let mut child = Command::new(program)
        .args([
            "--host",
            "127.0.0.1",
            "-c",
            "2048",
            "--parallel",
            "1",
            "--threads",
            "1",
            "--port",
        ])
        .arg(port.to_string())
        .arg("-m")
        .arg(model)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("llama-server starts");
    let said = BufReader::new(child.stderr.take().expect("its log"));
    let mut lines = said.lines().map_while(Result::ok);
    let listens = lines.any(|line| line.contains("listening on"));
    // Whoever does not read on stops it.
    std::thread::spawn(move || lines.for_each(drop));
    let base = format!("http://127.0.0.1:{port}");
    let server = Server { child, base };
    assert!(listens, "llama-server did not come up");
    Some(server)
}

fn provider(server: &Server, wire: Wire) -> Remote {
    let base_url = match wire {
        Wire::Messages => server.base.clone(),
        _ => format!("{}/v1", server.base),
    };
    let setup = Setup {
        provider: String::from("llama-cpp"),
        model: String::from("tiny"),
        wire,
        base_url,
        base_from: String::from("providers.llama-cpp.baseUrl"),
        key: KeySource::None,
        facts: prices::facts("llama-cpp", "tiny"),
    };
    Remote::new(setup).expect("a provider").with_limits(quick())
}

#[tokio::test]
async fn a_real_stream_is_read_in_each_wire_format() {
    let Some(server) = start() else { return };
    for wire in [Wire::Messages, Wire::Responses, Wire::Chat] {
        let provider = provider(&server, wire);
        let mut request = super::provider::request(vec![user("hello")]);
        request.max_tokens = 24;
        let heard = std::sync::Mutex::new(String::new());
        let hear = |event| {
            if let postil::models::Event::Text(text) = event {
                heard.lock().expect("the text").push_str(&text);
            }
        };
        let cancel = tokio_util::sync::CancellationToken::new();
        let answer = postil::models::Model::stream(&provider, &request, &hear, &cancel).await;
        let answer = answer.unwrap_or_else(|e| panic!("{wire:?}: {e}"));
        let text = text_of(&answer);
        assert!(!text.is_empty(), "{wire:?}: {answer:?}");
        assert_eq!(text, heard.into_inner().expect("the text"), "{wire:?}");
        let usage = answer.usage;
        assert!((1..=24).contains(&usage.output), "{wire:?}: {usage:?}");
        // In Messages this server tells the size of a prompt before it has read it: sometimes none.
        let prompt = usage.input + usage.cache_read;
        assert!(prompt > 20 || wire == Wire::Messages, "{wire:?}: {usage:?}");
        assert!(
            matches!(answer.stop, Stop::EndTurn | Stop::MaxTokens),
            "{wire:?}: {answer:?}"
        );
    }
}

#[tokio::test]
async fn a_real_server_says_that_a_prompt_is_too_long() {
    let Some(server) = start() else { return };
    let long = "The code reads a file. ".repeat(400);
    for wire in [Wire::Messages, Wire::Responses, Wire::Chat] {
        let (answer, _) = ask(&provider(&server, wire), vec![user(&long)]).await;
        assert!(
            matches!(answer, Err(ModelError::TooLong(_))),
            "{wire:?}: {answer:?}"
        );
    }
}

#[tokio::test]
async fn a_real_server_on_this_machine_is_found() {
    let Some(server) = start() else { return };
    let base = format!("{}/v1", server.base);
    let model = local::model("mine", &base, &KeySource::None, local::PATIENT).await;
    assert!(matches!(model, Ok(Some(m)) if m.contains("tiny")));
}
