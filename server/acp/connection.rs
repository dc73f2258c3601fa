//! One conversation: the program started, introduced, asked once, heard until its turn ends, ended.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AuthMethod, AuthenticateRequest, CancelNotification, ClientCapabilities, ContentBlock,
    EnvVariable, FileSystemCapabilities, Implementation, InitializeRequest, InitializeResponse,
    McpServer, McpServerStdio, NewSessionRequest, NewSessionResponse, PermissionOptionId,
    PromptRequest, PromptResponse, ReadTextFileRequest, ReadTextFileResponse,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    SelectedPermissionOutcome, SessionId, SessionNotification, SetSessionModeRequest, TextContent,
    WriteTextFileRequest, WriteTextFileResponse,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Agent as Peer, Client as Us, Error, Lines};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::process::Child;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::lines::{self, Strange};
use super::{AcpError, Agent, Brief, Client, Ended, State, Tokens, Update, wire};
use crate::children::{self, Tail, printable};
use crate::os;

/// A program that is started by a package manager may have to unpack itself first.
const INTRODUCTION: Duration = Duration::from_secs(60);
/// After a cancel the agent may say that it has stopped.
const STOPPING: Duration = Duration::from_millis(300);
/// After it hung up, its program may end by itself, and say why.
const LEAVING: Duration = Duration::from_millis(300);
/// A tool of its own (a build, a test) may be silent for so many times longer.
const AT_WORK: u32 = 6;
/// Messages that have come and wait; then the agent waits.
const WAITING: usize = 64;
/// What a plan that changes nothing is called by the agents that have such a mode.
const READ_ONLY_MODES: &[&str] = &["plan", "read-only", "readonly", "read_only", "ask"];

/// In the order in which they came.
enum Incoming {
    Update(SessionNotification),
    Permission(
        RequestPermissionRequest,
        Responder<RequestPermissionResponse>,
    ),
    Read(ReadTextFileRequest, Responder<ReadTextFileResponse>),
    Write(WriteTextFileRequest, Responder<WriteTextFileResponse>),
}

/// The program; it and all that it started end with this value.
struct Program {
    child: Child,
    id: u32,
    errors: Tail,
    /// Ends when all that it wrote to standard error was read.
    read: JoinHandle<()>,
}

impl Drop for Program {
    fn drop(&mut self) {
        // Those that lead a group of their own are found by their parents, which must live for that (Linux).
        let left = self.child.id().map(os::descendants).unwrap_or_default();
        os::end_group(self.id, true);
        left.into_iter().for_each(os::kill);
        children::unguard(self.id);
    }
}

/// Starts the agent, asks it, serves it until its turn ends, and ends it.
///
/// # Errors
/// Each is a sentence for the author.
pub async fn converse(
    agent: &Agent,
    brief: Brief<'_>,
    client: &dyn Client,
    cancel: &CancellationToken,
) -> Result<Ended, AcpError> {
    let program = agent
        .program(brief.workspaces)
        .ok_or_else(|| AcpError::NotInstalled(agent.title.clone(), agent.install.clone()))?;
    let not_started =
        |error: std::io::Error| AcpError::NotStarted(agent.title.clone(), error.to_string());
    let mut child = start(agent, &program, &brief).await.map_err(not_started)?;
    let (Some(id), Some(stdin), Some(stdout), Some(stderr)) = (
        child.id(),
        child.stdin.take(),
        child.stdout.take(),
        child.stderr.take(),
    ) else {
        return Err(not_started(std::io::Error::other("it ended at once")));
    };
    children::guard(id);
    let errors = Tail::default();
    let read = tokio::spawn(errors.clone().follow(stderr));
    let mut program = Program {
        child,
        id,
        errors,
        read,
    };

    let strange = Strange::default();
    let (sender, incoming) = mpsc::channel(WAITING);
    let (connected, connection) = oneshot::channel();
    let done = CancellationToken::new();
    let _hang_up = done.clone().drop_guard();
    let transport = Lines::new(lines::write(stdin), lines::read(stdout, strange.clone()));
    tokio::spawn(serve(transport, sender, connected, done));
    let Ok(connection) = connection.await else {
        return Err(not_started(std::io::Error::other("no connection")));
    };
    let mut talk = Talk {
        agent,
        client,
        cancel,
        connection,
        incoming,
        early: FuturesUnordered::new(),
        strange,
    };
    match talk.hold(&brief).await {
        // What it wrote to standard error when it fell comes with its end.
        Err(AcpError::Crashed(..)) => Err(talk.fell(&mut program).await),
        ended => ended,
    }
}

async fn start(agent: &Agent, program: &Path, brief: &Brief<'_>) -> std::io::Result<Child> {
    let behind = brief.behind.iter().map(OsString::as_os_str);
    let mut words = behind.chain([program.as_os_str()]);
    let mut command = std::process::Command::new(words.next().unwrap_or(program.as_os_str()));
    command
        .args(words)
        .args(&agent.args)
        .current_dir(brief.root)
        .env_clear()
        .envs(agent.environment(brief.workspaces))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    children::launch(command).await
}

/// Drives the connection until it is told to stop.
async fn serve(
    transport: impl agent_client_protocol::ConnectTo<Us> + 'static,
    sender: mpsc::Sender<Incoming>,
    connected: oneshot::Sender<ConnectionTo<Peer>>,
    done: CancellationToken,
) {
    let (permissions, reads, writes) = (sender.clone(), sender.clone(), sender.clone());
    // What nobody takes any more is of a turn that has ended.
    let served = Us
        .v1()
        .name("postil")
        .on_receive_notification(
            async move |update: SessionNotification, _| {
                let _ = sender.send(Incoming::Update(update)).await;
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _| {
                let _ = permissions
                    .send(Incoming::Permission(request, responder))
                    .await;
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ReadTextFileRequest, responder, _| {
                let _ = reads.send(Incoming::Read(request, responder)).await;
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: WriteTextFileRequest, responder, _| {
                let _ = writes.send(Incoming::Write(request, responder)).await;
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(transport, async move |connection| {
            let _ = connected.send(connection);
            done.cancelled().await;
            Ok(())
        })
        .await;
    if let Err(error) = served {
        tracing::debug!("the connection to an agent ended: {error}");
    }
}

struct Talk<'a> {
    agent: &'a Agent,
    client: &'a dyn Client,
    cancel: &'a CancellationToken,
    connection: ConnectionTo<Peer>,
    incoming: mpsc::Receiver<Incoming>,
    /// Requests that came before its turn, and are not answered yet.
    early: FuturesUnordered<BoxFuture<'a, Result<(), Error>>>,
    strange: Strange,
}

impl Talk<'_> {
    async fn hold(&mut self, brief: &Brief<'_>) -> Result<Ended, AcpError> {
        let introduced = self.introduce().await?;
        let session = self.open(brief, &introduced).await?;
        if brief.read_only {
            self.hold_back(&session).await;
        }
        self.ask(&session.session_id, &brief.prompt).await
    }

    async fn introduce(&mut self) -> Result<InitializeResponse, AcpError> {
        let files = FileSystemCapabilities::new()
            .read_text_file(true)
            .write_text_file(true);
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::new().fs(files))
            .client_info(Implementation::new("postil", env!("CARGO_PKG_VERSION")));
        let asked = self.connection.send_request(request).block_task();
        let introduced: InitializeResponse = match self.early(asked).await {
            // The library says it in words alone.
            Err(AcpError::Refused(title, why)) => {
                let version = why
                    .split_once("protocol version ")
                    .and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next())
                    .and_then(|version| version.parse().ok());
                return Err(match version {
                    Some(version) => AcpError::Version(title, version),
                    None => AcpError::Refused(title, why),
                });
            }
            introduced => introduced?,
        };
        if introduced.protocol_version != ProtocolVersion::V1 {
            let version = introduced.protocol_version.as_u16();
            return Err(AcpError::Version(self.agent.title.clone(), version));
        }
        Ok(introduced)
    }

    /// A session; where a login is wanted and a key is set for one, that one is used.
    async fn open(
        &mut self,
        brief: &Brief<'_>,
        introduced: &InitializeResponse,
    ) -> Result<NewSessionResponse, AcpError> {
        let environment = brief.server.env.iter();
        let server = McpServerStdio::new("postil", brief.server.command.clone())
            .args(brief.server.args.clone())
            .env(
                environment
                    .map(|(name, value)| EnvVariable::new(name.clone(), value.clone()))
                    .collect::<Vec<_>>(),
            );
        let request =
            NewSessionRequest::new(brief.root).mcp_servers(vec![McpServer::Stdio(server)]);
        let (agent, connection) = (self.agent, self.connection.clone());
        let open = || connection.send_request(request.clone()).block_task();
        let refused = match self.early(open()).await {
            Err(AcpError::NotLoggedIn(title, login)) => AcpError::NotLoggedIn(title, login),
            other => return other,
        };
        let offered = |id: &str| {
            introduced.auth_methods.iter().any(
                |method| matches!(method, AuthMethod::Agent(method) if method.id.to_string() == id),
            )
        };
        let is_set = |name: &str| {
            let mut own = agent.env.iter();
            own.any(|(n, v)| n == name && !v.is_empty())
                || std::env::var_os(name).is_some_and(|value| !value.is_empty())
        };
        let mut keys = agent.keys.iter();
        let key = keys.find(|(method, variable)| offered(method) && is_set(variable));
        let Some((method, _)) = key else {
            return Err(refused);
        };
        let login = AuthenticateRequest::new(method.clone());
        let login = connection.send_request(login).block_task();
        if self.early(login).await.is_err() {
            return Err(refused);
        }
        self.early(open()).await
    }

    /// Puts the agent into a mode that changes nothing, where it has one; what it asks is refused anyway.
    async fn hold_back(&mut self, session: &NewSessionResponse) {
        let Some(modes) = &session.modes else { return };
        let mode = READ_ONLY_MODES.iter().find_map(|name| {
            modes
                .available_modes
                .iter()
                .find(|mode| mode.id.to_string() == *name)
        });
        let Some(mode) = mode.filter(|mode| mode.id != modes.current_mode_id) else {
            return;
        };
        let request = SetSessionModeRequest::new(session.session_id.clone(), mode.id.clone());
        let set = self.connection.send_request(request).block_task();
        if let Err(error) = self.early(set).await {
            tracing::warn!(
                "{} was not put into its mode {}: {error}",
                self.agent.title,
                mode.id
            );
        }
    }

    /// The answer to a request before the turn begins. What comes meanwhile is taken, or the answer could not come:
    /// what the agent tells is of no turn yet, what it asks is answered.
    async fn early<T>(
        &mut self,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, AcpError> {
        let patience = INTRODUCTION.min(self.agent.idle);
        let silence = tokio::time::sleep(patience);
        tokio::pin!(answer, silence);
        loop {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Err(AcpError::Cancelled),
                answer = &mut answer => return answer.map_err(|error| self.error(error)),
                Some(incoming) = self.incoming.recv() => match incoming {
                    Incoming::Update(_) => {}
                    asked => self.early.push(answer_to(self.client, asked)),
                },
                Some(served) = self.early.next(), if !self.early.is_empty() => self.served(served),
                // An agent that waits for us is not silent.
                () = &mut silence, if self.early.is_empty() => {
                    return Err(self.silent(patience));
                }
            }
        }
    }

    fn served(&self, served: Result<(), Error>) {
        if let Err(error) = served {
            tracing::debug!("{} did not take an answer: {error}", self.agent.title);
        }
    }

    async fn ask(&mut self, session: &SessionId, prompt: &str) -> Result<Ended, AcpError> {
        let text = ContentBlock::Text(TextContent::new(prompt));
        let request = PromptRequest::new(session.clone(), vec![text]);
        let mut answer: BoxFuture<'_, Result<PromptResponse, Error>> =
            Box::pin(self.connection.send_request(request).block_task());
        let mut serving = std::mem::take(&mut self.early);
        let mut running: HashSet<String> = HashSet::new();
        let mut message = None;
        let mut heard = Instant::now();
        loop {
            // An agent that waits for us is not silent.
            let patience = match (serving.is_empty(), running.is_empty()) {
                (false, _) => None,
                (true, false) => Some(self.agent.idle * AT_WORK),
                (true, true) => Some(self.agent.idle),
            };
            let silence = async {
                match patience {
                    Some(patience) => tokio::time::sleep_until(heard + patience).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => {
                    let _ = self.connection.send_notification(CancelNotification::new(session.clone()));
                    drop(serving);
                    let _ = tokio::time::timeout(STOPPING, answer).await;
                    return Err(AcpError::Cancelled);
                }
                Some(incoming) = self.incoming.recv() => {
                    heard = Instant::now();
                    match incoming {
                        Incoming::Update(update) => {
                            if update.session_id != *session {
                                continue;
                            }
                            hear(self.client, update, &mut message, &mut running).await?;
                        }
                        asked => serving.push(answer_to(self.client, asked)),
                    }
                }
                Some(served) = serving.next(), if !serving.is_empty() => {
                    heard = Instant::now();
                    self.served(served);
                }
                answer = &mut answer => {
                    // What it said before it ended is all here by now.
                    while let Ok(incoming) = self.incoming.try_recv() {
                        if let Incoming::Update(update) = incoming
                            && update.session_id == *session
                        {
                            hear(self.client, update, &mut message, &mut running).await?;
                        }
                    }
                    let answer = answer.map_err(|error| self.error(error))?;
                    let tokens = answer.usage.map(|usage| Tokens {
                        total: usage.total_tokens,
                        input: usage.input_tokens,
                        output: usage.output_tokens,
                    });
                    return Ok(Ended { stop: wire::stop(answer.stop_reason), tokens });
                }
                () = silence => return Err(self.silent(patience.unwrap_or_default())),
            }
        }
    }

    fn silent(&self, waited: Duration) -> AcpError {
        match self.strange.first() {
            Some(line) => AcpError::Garbage(self.agent.title.clone(), line),
            None => AcpError::Silent(self.agent.title.clone(), waited.as_secs()),
        }
    }

    fn error(&self, error: Error) -> AcpError {
        let title = self.agent.title.clone();
        if self.strange.is_too_much() {
            return AcpError::Garbage(title, self.strange.first().unwrap_or_default());
        }
        if agent_client_protocol::is_incoming_transport_closed(&error)
            || self.connection.is_incoming_closed()
        {
            return AcpError::Crashed(title, String::new());
        }
        if i32::from(error.code) == -32000 {
            return AcpError::NotLoggedIn(title, self.agent.login.clone());
        }
        let field = |name: &str| error.data.as_ref()?.get(name)?.as_str();
        // The library's word for a result that it could not read, as if the agent had refused.
        if field("phase") == Some("deserialization") {
            let why = printable(field("error").unwrap_or_default(), 200);
            return AcpError::Unknown(title, why);
        }
        let mut why = printable(&error.message, 200);
        // Many put what matters into the data.
        let data = error.data.as_ref().map(|data| {
            let told = ["details", "message", "error"]
                .iter()
                .find_map(|key| data.get(key)?.as_str());
            printable(told.or(data.as_str()).unwrap_or_default(), 200)
        });
        if let Some(data) = data.filter(|data| !data.is_empty() && *data != why) {
            why = format!("{why}: {data}");
        }
        AcpError::Refused(title, why)
    }

    /// Why the program has ended: what it said, else how it ended.
    async fn fell(&mut self, program: &mut Program) -> AcpError {
        let title = self.agent.title.clone();
        let status = tokio::time::timeout(LEAVING, program.child.wait()).await;
        // A process that it left behind may hold the pipe open.
        let _ = tokio::time::timeout(LEAVING, &mut program.read).await;
        if let Some(reason) = program.errors.reason() {
            return AcpError::Crashed(title, reason);
        }
        match (self.strange.first(), status) {
            (Some(line), _) => AcpError::Garbage(title, line),
            (None, Ok(Ok(status))) => AcpError::Crashed(title, status.to_string()),
            (None, _) => AcpError::Crashed(title, String::from("it closed its output")),
        }
    }
}

async fn hear(
    client: &dyn Client,
    update: SessionNotification,
    message: &mut Option<String>,
    running: &mut HashSet<String>,
) -> Result<(), AcpError> {
    let update = wire::update(update.update, message);
    if let Update::Call(call) = &update {
        match call.state {
            Some(State::Begun) => {
                running.insert(call.id.clone());
            }
            Some(State::Done | State::Failed) => {
                running.remove(&call.id);
            }
            None => {}
        }
    }
    client.update(update).await.map_err(|_| AcpError::Enough)
}

/// Serves one request; a sentence where it is refused.
fn answer_to(client: &dyn Client, asked: Incoming) -> BoxFuture<'_, Result<(), Error>> {
    let refused = |why: String| Error::new(-32603, why);
    Box::pin(async move {
        match asked {
            Incoming::Update(_) => Ok(()),
            Incoming::Permission(request, responder) => {
                let ids: Vec<PermissionOptionId> = request
                    .options
                    .iter()
                    .map(|option| option.option_id.clone())
                    .collect();
                let chosen = client.permission(wire::asked(request)).await;
                let outcome = match chosen.and_then(|at| ids.into_iter().nth(at)) {
                    Some(id) => {
                        RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id))
                    }
                    None => RequestPermissionOutcome::Cancelled,
                };
                responder.respond(RequestPermissionResponse::new(outcome))
            }
            Incoming::Read(request, responder) => {
                let path: PathBuf = request.path;
                match client.read(&path, request.line, request.limit).await {
                    Ok(text) => responder.respond(ReadTextFileResponse::new(text)),
                    Err(why) => responder.respond_with_error(refused(why)),
                }
            }
            Incoming::Write(request, responder) => {
                match client.write(&request.path, &request.content).await {
                    Ok(()) => responder.respond(WriteTextFileResponse::new()),
                    Err(why) => responder.respond_with_error(refused(why)),
                }
            }
        }
    })
}
