//! L6. The MCP server (Model Context Protocol, by `rmcp`) on standard input and output: [`verbs`] as tools,
//! threads and runs as resources, and a prompt that tells an agent how to answer threads.
//!
//! A call goes to the server of an editor that has the workspace open, if there is one ([`bridge`]), so that
//! unsaved text is seen and edited; else it works on the files.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;

use crate::config::Folders;
use crate::os;
use crate::present;

mod batches;
mod handler;
mod log;
mod pages;
mod prompt;
mod queue;
mod resources;
mod roots;
mod route;
mod subscriptions;
mod told;
mod wire;

use handler::Handler;

/// Serves one client until it hangs up. `fallback`: the workspace of a client that names none. `read_only`: what
/// changes anything is not offered.
pub async fn serve(fallback: PathBuf, folders: Folders, read_only: bool) -> ExitCode {
    let handler = Handler::new(fallback, folders, read_only);
    let shared = handler.shared();
    let transport = wire::InOrder::new(shared.clone());
    let code = match handler.serve(transport).await {
        Ok(running) => {
            tokio::select! {
                _ = running.waiting() => {}
                () = os::signalled() => {}
            }
            ExitCode::SUCCESS
        }
        Err(ServerInitializeError::ConnectionClosed(_)) => match shared.unintroduced.get() {
            // It has hung up without a word, which is its right.
            None => ExitCode::SUCCESS,
            Some(why) => unintroduced(why),
        },
        Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {
            unintroduced("its first message was no request")
        }
        Err(error) => unintroduced(&error.to_string()),
    };
    shared.shutdown().await;
    code
}

/// For whoever started the server; the protocol has standard output.
fn unintroduced(why: &str) -> ExitCode {
    let why = present::visible(why);
    let text = format!("the client did not introduce itself: {why}");
    tracing::error!("{text}");
    let _ = writeln!(std::io::stderr(), "postil: {text}");
    ExitCode::FAILURE
}

type Peer = rmcp::Peer<rmcp::RoleServer>;
type Shared = Arc<roots::Workspaces>;
