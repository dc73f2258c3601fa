//! Requests that tests need and nobody else: they exist where `POSTIL_TEST` is set in the environment of the
//! process, and are announced nowhere.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Error;

use super::{Params, Server, invalid};

type Work = BoxFuture<'static, Result<Value, Error>>;

/// `postil/test/…`; `None`: not one of these, or not in a test.
pub(super) fn request(server: &Arc<Server>, method: &str, params: &Params) -> Option<Work> {
    static TESTED: OnceLock<bool> = OnceLock::new();
    let name = method.strip_prefix("postil/test/")?;
    if !*TESTED.get_or_init(|| std::env::var_os("POSTIL_TEST").is_some()) {
        return None;
    }
    Some(
        run(
            server.clone(),
            name.to_owned(),
            params.clone().unwrap_or_default(),
        )
        .boxed(),
    )
}

async fn run(server: Arc<Server>, name: String, params: Value) -> Result<Value, Error> {
    match name.as_str() {
        // A defect in a handler.
        #[expect(clippy::panic, reason = "this is what it is for")]
        "panic" => panic!("asked for by a test"),
        // A handler that asks the client, `count` times, and gives back how often it was answered.
        "ask" => {
            let count = params.get("count").and_then(Value::as_u64).unwrap_or(1);
            let mut answers = 0;
            for _ in 0..count {
                answers += u64::from(
                    server
                        .client
                        .request("workspace/configuration", json!({"items": []}))
                        .await
                        .is_ok(),
                );
            }
            Ok(json!(answers))
        }
        // A handler that takes long.
        "wait" => {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            Ok(Value::Null)
        }
        // How many files were read, and how often the tree was walked.
        "work" => {
            let works = server.session()?.workspaces();
            let works = works.iter().map(|workspace| workspace.index.work());
            let (reads, scans) = works.fold((0, 0), |all, w| (all.0 + w.0, all.1 + w.1));
            Ok(json!({"reads": reads, "scans": scans}))
        }
        // A large answer.
        "large" => Ok(Value::from("x".repeat(
            usize::try_from(params.get("bytes").and_then(Value::as_u64).unwrap_or(0)).unwrap_or(0),
        ))),
        // The text of an open document as it stands here.
        "text" => {
            let uri = params
                .get("uri")
                .and_then(Value::as_str)
                .ok_or_else(|| invalid("uri is missing"))?;
            let path = server
                .documents
                .path(uri)
                .ok_or_else(|| invalid("no file"))?;
            let buffer = server
                .session()?
                .buffers
                .get(&path)
                .ok_or_else(|| invalid("not open"))?;
            Ok(json!({"text": buffer.document.text(), "version": buffer.document.version()}))
        }
        _ => Err(Error::method_not_found()),
    }
}
