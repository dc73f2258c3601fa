//! L6. Our agent for editors that speak the Agent Client Protocol: a prompt is a turn without a thread, with
//! the same loop, tools, permissions and history; a prompt that names a thread answers that thread. Files
//! that a prompt names are read and written through the editor where it offers that, so that unsaved text
//! counts.

mod chat;
mod host;
mod wire;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, CancelNotification, ClientCapabilities, Implementation, InitializeRequest,
    InitializeResponse, ListSessionsRequest, ListSessionsResponse, LoadSessionRequest,
    LoadSessionResponse, NewSessionRequest, NewSessionResponse, PromptCapabilities, PromptRequest,
    PromptResponse, ResumeSessionRequest, ResumeSessionResponse, SessionCapabilities, SessionInfo,
    SessionListCapabilities, SessionMode, SessionModeState, SessionResumeCapabilities,
    SetSessionModeRequest, SetSessionModeResponse,
};
use agent_client_protocol::{Agent, Client, Error, Lines};
use dashmap::DashMap;

use crate::acp::lines;
use crate::config::Folders;
use crate::present;
use crate::session::Session;
use crate::store::Window;
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
    let (load, resume, list) = (face.clone(), face.clone(), face.clone());
    let (hello, open, ask, mode, stop) = (
        face.clone(),
        face.clone(),
        face.clone(),
        face.clone(),
        face.clone(),
    );
    let transport = Lines::new(
        lines::write(tokio::io::stdout()),
        lines::each(tokio::io::stdin()),
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
            async move |request: LoadSessionRequest,
                        responder,
                        connection: ConnectionTo<Client>| {
                let id = request.session_id.to_string();
                let again = load.again(&id, &request.cwd, true, connection);
                responder
                    .respond_with_result(again.map(|modes| LoadSessionResponse::new().modes(modes)))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ResumeSessionRequest,
                        responder,
                        connection: ConnectionTo<Client>| {
                let id = request.session_id.to_string();
                let again = resume.again(&id, &request.cwd, false, connection);
                responder.respond_with_result(
                    again.map(|modes| ResumeSessionResponse::new().modes(modes)),
                )
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ListSessionsRequest,
                        responder,
                        connection: ConnectionTo<Client>| {
                responder.respond_with_result(list.list(&request, connection))
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
                let begun = chat.and_then(|chat| chat.begin());
                // Not in the loop that reads: the turn asks the client itself.
                connection.spawn(async move {
                    let answered = match begun {
                        Ok(begun) => begun.prompt(request.prompt).await,
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
                    .load_session(true)
                    .session_capabilities(
                        SessionCapabilities::new()
                            .list(SessionListCapabilities::new())
                            .resume(SessionResumeCapabilities::new()),
                    )
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
        if !request.mcp_servers.is_empty() {
            tracing::info!("the editor's MCP servers are not used: postil has tools of its own");
        }
        let id = Session::new_window();
        let chat = self.window(&id, &request.cwd, connection)?;
        Ok(NewSessionResponse::new(id).modes(modes(&chat)))
    }

    fn window(
        &self,
        id: &str,
        root: &Path,
        connection: ConnectionTo<Client>,
    ) -> Result<Arc<Chat>, Error> {
        let client = self.client.lock().map(|c| c.clone()).unwrap_or_default();
        let chat = Chat::open(id, root, self.folders.clone(), connection, &client)?;
        self.chats.insert(id.to_owned(), chat.clone());
        Ok(chat)
    }

    /// A window that was open before, here or in another process.
    fn again(
        &self,
        id: &str,
        root: &Path,
        aloud: bool,
        connection: ConnectionTo<Client>,
    ) -> Result<SessionModeState, Error> {
        if let Ok(chat) = self.chat(id) {
            chat.recall(aloud)?;
            return Ok(modes(&chat));
        }
        let chat = self.window(id, root, connection.clone())?;
        if let Err(error) = chat.recall(aloud) {
            self.chats.remove(id);
            connection.spawn(async move {
                chat.end().await;
                Ok(())
            })?;
            return Err(error);
        }
        Ok(modes(&chat))
    }

    /// The windows of a folder; of none, where none is named: the history is kept by folder.
    fn list(
        &self,
        request: &ListSessionsRequest,
        connection: ConnectionTo<Client>,
    ) -> Result<ListSessionsResponse, Error> {
        let Some(root) = &request.cwd else {
            return Ok(ListSessionsResponse::new(Vec::new()));
        };
        // Not kept: it is there to look.
        let client = ClientCapabilities::default();
        let chat = Chat::open("", root, self.folders.clone(), connection.clone(), &client)?;
        let info = |window: Window| {
            let title = present::short(&present::visible(&window.first), 80);
            SessionInfo::new(window.id, root)
                .title(title)
                .updated_at(window.last.to_string())
        };
        let windows = chat.windows();
        connection.spawn(async move {
            chat.end().await;
            Ok(())
        })?;
        let windows = windows?;
        Ok(ListSessionsResponse::new(
            windows.into_iter().map(info).collect(),
        ))
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

fn modes(chat: &Chat) -> SessionModeState {
    let modes = vec![
        SessionMode::new(DEFAULT, "Default"),
        SessionMode::new(PLAN, "Plan only").description("Changes nothing".to_owned()),
    ];
    SessionModeState::new(if chat.is_plan() { PLAN } else { DEFAULT }, modes)
}
