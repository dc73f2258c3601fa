//! L6. The MCP server (Model Context Protocol, by `rmcp`) on standard input and output: [`verbs`] as tools,
//! threads and runs as resources, and a prompt that tells an agent how to answer threads.
//!
//! A call goes to the server of an editor that has the workspace open, if there is one ([`bridge`]), so that
//! unsaved text is seen and edited; else it works on the files.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use rmcp::ServiceExt as _;

use crate::config::Folders;
use crate::os;

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
        // It has hung up without a word, which is its right.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("the client did not introduce itself: {error}");
            ExitCode::FAILURE
        }
    };
    shared.shutdown().await;
    code
}

type Peer = rmcp::Peer<rmcp::RoleServer>;
type Shared = Arc<roots::Workspaces>;
