//! L6. The language server: LSP 3.17 on tower-lsp, behind an adapter that cures what tower-lsp's own loop
//! gets wrong (`lsp/transport.rs`). A file for each group of methods; each calls a verb of the [`Session`].

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use dashmap::{DashMap, DashSet};
use serde_json::Value;
use tokio::sync::mpsc;
use tower_lsp::LanguageServer;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types as lsp;

use crate::bridge::Listening;
use crate::config::Folders;
use crate::session::Session;

mod actions;
mod capabilities;
mod client;
mod commands;
mod completion;
mod connect;
mod conversation;
mod diagnostics;
mod documents;
mod door;
mod fixes;
mod folding;
mod frames;
mod from_proto;
mod hints;
mod host;
mod hover;
mod lifecycle;
mod links;
mod margin;
mod names;
mod navigation;
mod outbox;
mod publish;
mod refresh;
mod repaired;
mod semantic_tokens;
mod symbols;
mod testing;
mod to_proto;
mod transport;
mod watching;

pub use connect::serve;

use capabilities::Client as ClientCapabilities;
use client::Client;
use conversation::Scratch;
use documents::Documents;
use publish::Publisher;
use refresh::Refresher;
use watching::Watching;

/// How the editor is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    Stdio,
    /// Connects to the socket (a named pipe elsewhere) on which the client listens.
    Pipe(PathBuf),
    /// Connects to the port of this machine on which the client listens.
    Socket(u16),
    /// Listens itself, for one client at a time; loopback only, with a token.
    Listen(SocketAddr),
}

/// Why serving a client came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// `exit`; `true`: `shutdown` came before it.
    Exit(bool),
    /// The pipe is closed.
    HungUp,
    /// The pipe was closed before a client had said `initialize`.
    Unasked,
    /// The process that `initialize`, or the command line, named is gone.
    ParentDied,
    /// SIGTERM, SIGINT or SIGHUP.
    Signal,
    /// It has not read for so long that nothing more can be kept for it.
    Abandoned,
}

/// What one client's connection is made of; shared by everything that serves it.
struct Server {
    client: Arc<Client>,
    folders: Folders,
    runtime: tokio::runtime::Handle,
    ended: mpsc::UnboundedSender<Ended>,
    /// Set once by `initialize`.
    session: OnceLock<Arc<Session>>,
    capabilities: OnceLock<ClientCapabilities>,
    documents: Documents,
    publisher: Publisher,
    scratch: Scratch,
    /// Folders of the client that cannot be used, and why: told when it is initialized.
    left_out: Mutex<Vec<String>>,
    margin: margin::Margin,
    /// The editor's own answer, for folders that come later too.
    trusted: Mutex<Option<bool>>,
    tokens: semantic_tokens::Given,
    refresher: Refresher,
    /// Problems of settings that the client was told of: each once.
    told: DashSet<String>,
    watching: Watching,
    /// Where `postil mcp` finds us, by folder.
    bridges: DashMap<PathBuf, Listening>,
}

impl Server {
    fn session(&self) -> Result<&Arc<Session>> {
        self.session.get().ok_or_else(Error::internal_error)
    }

    fn capabilities(&self) -> &ClientCapabilities {
        static NONE: OnceLock<ClientCapabilities> = OnceLock::new();
        self.capabilities
            .get()
            .unwrap_or_else(|| NONE.get_or_init(ClientCapabilities::default))
    }

    fn end(&self, why: Ended) {
        // The receiver is gone only when the end has come already.
        let _ = self.ended.send(why);
    }
}

/// The typed methods, as tower-lsp routes them. Those that pass through to child servers and the document
/// notifications are taken before, in [`transport`].
struct Methods(Arc<Server>);

#[tower_lsp::async_trait]
impl LanguageServer for Methods {
    /// For tower-lsp's own life cycle alone. The client's request is answered by [`lifecycle::initialize`],
    /// which reads the parameters as they came: a client may know more than the types here.
    async fn initialize(&self, _: lsp::InitializeParams) -> Result<lsp::InitializeResult> {
        Ok(lsp::InitializeResult::default())
    }

    async fn shutdown(&self) -> Result<()> {
        lifecycle::shutdown(&self.0).await;
        Ok(())
    }

    async fn code_lens(&self, params: lsp::CodeLensParams) -> Result<Option<Vec<lsp::CodeLens>>> {
        actions::lenses(&self.0, &params).map(Some)
    }

    async fn folding_range(
        &self,
        params: lsp::FoldingRangeParams,
    ) -> Result<Option<Vec<lsp::FoldingRange>>> {
        folding::folds(&self.0, &params).map(Some)
    }
}

/// An error that names what is wrong with the parameters.
fn invalid(message: impl Into<String>) -> Error {
    Error::invalid_params(message.into())
}

/// The document that a request is about.
fn uri_of(params: &Value) -> Result<&str> {
    params
        .pointer("/textDocument/uri")
        .and_then(Value::as_str)
        .ok_or_else(|| invalid("textDocument.uri is missing"))
}

type Params = Option<Value>;
