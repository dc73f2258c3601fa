//! L6. Our agent for editors that speak the Agent Client Protocol: a prompt is a turn without a thread, with
//! the same loop, tools, permissions and history; a prompt that names a thread answers that thread. Files
//! that a prompt names are read and written through the editor where it offers that, so that unsaved text
//! counts.

mod chat;
mod host;
mod wire;

use std::process::ExitCode;
use std::sync::Arc;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, CancelNotification, ClientCapabilities, Implementation, InitializeRequest,
    InitializeResponse, NewSessionRequest, NewSessionResponse, PromptCapabilities, PromptRequest,
    PromptResponse, SessionMode, SessionModeState, SetSessionModeRequest, SetSessionModeResponse,
};
use agent_client_protocol::{Agent, ByteStreams, Client, Error};
use dashmap::DashMap;
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

use crate::config::Folders;
use chat::Chat;

const DEFAULT: &str = "default";
const PLAN: &str = "plan";

/// The client and its windows.
struct Face {
    folders: Folders,
    /// By session id.
    chats: DashMap<String, Arc<Chat>>,
    client: std::sync::Mutex<ClientCapabilities>,
}

/// Serves one client until it hangs up.
pub async fn serve(folders: Folders) -> ExitCode {
    let face = Arc::new(Face {
        folders,
        chats: DashMap::new(),
        client: std::sync::Mutex::default(),
    });
    let (hello, open, ask, mode, stop) = (
        face.clone(),
        face.clone(),
        face.clone(),
        face.clone(),
        face.clone(),
    );
    let transport = ByteStreams::new(
        tokio::io::stdout().compat_write(),
        tokio::io::stdin().compat(),
    );
    let served = Agent
        .v1()
        .name("postil")
        .on_receive_request(
            async move |request: InitializeRequest, responder, _| {
                responder.respond(hello.introduce(request))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: NewSessionRequest, responder, connection: ConnectionTo<Client>| {
                responder.respond_with_result(open.open(request, connection))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: SetSessionModeRequest, responder, _| {
                responder.respond_with_result(mode.set_mode(&request))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, connection: ConnectionTo<Client>| {
                let chat = ask.chat(&request.session_id.to_string());
                // Not in the loop that reads: the turn asks the client itself.
                connection.spawn(async move {
                    let answered = match chat {
                        Ok(chat) => chat.prompt(request.prompt).await,
                        Err(error) => Err(error),
                    };
                    responder.respond_with_result(answered.map(PromptResponse::new))
                })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_notification(
            async move |cancel: CancelNotification, _| {
                if let Ok(chat) = stop.chat(&cancel.session_id.to_string()) {
                    chat.cancel().await;
                }
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .connect_to(transport)
        .await;
    let chats: Vec<Arc<Chat>> = face.chats.iter().map(|chat| chat.clone()).collect();
    futures::future::join_all(chats.iter().map(|chat| chat.end())).await;
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("the connection to the editor ended: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Face {
    fn introduce(&self, request: InitializeRequest) -> InitializeResponse {
        if let Ok(mut client) = self.client.lock() {
            *client = request.client_capabilities;
        }
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(
                AgentCapabilities::new()
                    .prompt_capabilities(PromptCapabilities::new().embedded_context(true)),
            )
            .agent_info(
                Implementation::new("postil", env!("CARGO_PKG_VERSION")).title("postil".to_owned()),
            )
    }

    fn open(
        &self,
        request: NewSessionRequest,
        connection: ConnectionTo<Client>,
    ) -> Result<NewSessionResponse, Error> {
        let id = format!("postil-{}", self.chats.len() + 1);
        let client = self.client.lock().map(|c| c.clone()).unwrap_or_default();
        if !request.mcp_servers.is_empty() {
            tracing::info!("the editor's MCP servers are not used: postil has tools of its own");
        }
        let chat = Chat::open(&id, &request.cwd, self.folders.clone(), connection, &client)?;
        self.chats.insert(id.clone(), chat);
        let modes = vec![
            SessionMode::new(DEFAULT, "Default"),
            SessionMode::new(PLAN, "Plan only").description("Changes nothing".to_owned()),
        ];
        Ok(NewSessionResponse::new(id).modes(SessionModeState::new(DEFAULT, modes)))
    }

    fn chat(&self, id: &str) -> Result<Arc<Chat>, Error> {
        let chat = self.chats.get(id).map(|chat| chat.clone());
        chat.ok_or_else(|| Error::new(-32002, format!("there is no session {id}")))
    }

    fn set_mode(&self, request: &SetSessionModeRequest) -> Result<SetSessionModeResponse, Error> {
        let chat = self.chat(&request.session_id.to_string())?;
        match &*request.mode_id.to_string() {
            DEFAULT => chat.plan(false),
            PLAN => chat.plan(true),
            other => {
                return Err(Error::new(
                    -32602,
                    format!("there is no mode {other}: there are {DEFAULT} and {PLAN}"),
                ));
            }
        }
        Ok(SetSessionModeResponse::new())
    }
}
