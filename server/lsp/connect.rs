//! Ways to reach the client, and the frame around serving it: runtime, signals, the end.

use std::io::{Cursor, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use dashmap::{DashMap, DashSet};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::client::Client;
use super::conversation::Scratch;
use super::documents::Documents;
use super::door::{self, Admitted};
use super::margin::Margin;
use super::outbox::Outbox;
use super::publish::Publisher;
use super::refresh::Refresher;
use super::watching::Watching;
use super::{Ended, Server, Transport, transport};
use crate::config::Folders;
use crate::os;

/// What the engine may take to wind up; the process is to be gone within a second.
const WIND_UP: Duration = Duration::from_millis(700);
/// What the last answers may take to be read.
const LAST_WORDS: Duration = Duration::from_millis(150);

/// Both directions of a connection, and how to end it from this side.
struct Connection {
    reader: Box<dyn Read + Send>,
    writer: Box<dyn Write + Send>,
    hang_up: Box<dyn Fn() + Send>,
}

/// Serves until the client says `exit`, hangs up or dies; the exit status as LSP 3.17 §exit has it.
///
/// `client`: the process that it serves, where that is known before `initialize`.
pub fn serve(transport: Transport, client: Option<i64>, no_cache: bool) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("postil")
        .build();
    let served = match runtime {
        Ok(runtime) => {
            let served = serve_on(&runtime, transport, client, no_cache);
            // What still runs ends with the process.
            runtime.shutdown_background();
            served
        }
        Err(error) => Err(anyhow::Error::from(error)),
    };
    match served {
        Ok(code) => code,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn serve_on(
    runtime: &Runtime,
    transport: Transport,
    client: Option<i64>,
    no_cache: bool,
) -> anyhow::Result<ExitCode> {
    let signal = signalled(runtime);
    let mut folders = Folders::of_user()?;
    folders.cache = folders.cache.filter(|_| !no_cache);
    let connection = match transport {
        Transport::Stdio => standard_streams()?,
        #[cfg(unix)]
        Transport::Pipe(path) => {
            let stream = std::os::unix::net::UnixStream::connect(&path).map_err(|error| {
                anyhow::anyhow!("no client listens on {}: {error}", path.display())
            })?;
            let (reader, other) = (stream.try_clone()?, stream.try_clone()?);
            let hang_up = Box::new(move || drop(other.shutdown(std::net::Shutdown::Both)));
            Connection {
                reader: Box::new(reader),
                writer: Box::new(stream),
                hang_up,
            }
        }
        #[cfg(not(unix))]
        Transport::Pipe(_) => {
            anyhow::bail!("--pipe is not available on Windows: use --stdio or --socket")
        }
        Transport::Socket(port) => {
            let address = SocketAddr::from(([127, 0, 0, 1], port));
            let stream = TcpStream::connect(address)
                .map_err(|error| anyhow::anyhow!("no client listens on port {port}: {error}"))?;
            tcp(stream)?
        }
        Transport::Listen(address) => return listen(runtime, &folders, address, client, &signal),
    };
    let ended = serve_one(runtime, &folders, connection, client, &signal);
    if ended == Ended::Unasked {
        complain(
            "no client said `initialize` before the input ended: an editor starts this language server; `postil --help` lists the commands",
        );
    }
    Ok(exit_code(ended))
}

/// Cancelled with a signal to end: from here on they wait for whoever asks.
fn signalled(runtime: &Runtime) -> CancellationToken {
    let signal = CancellationToken::new();
    let cancel = signal.clone().drop_guard();
    let mut signalled = Box::pin(os::signalled());
    // It listens from its first poll on.
    let _ = runtime.block_on(async { futures::poll!(&mut signalled) });
    runtime.spawn(async move {
        signalled.await;
        drop(cancel);
    });
    signal
}

/// Serves one client after the other, until one says `exit`.
fn listen(
    runtime: &Runtime,
    folders: &Folders,
    address: SocketAddr,
    client: Option<i64>,
    signal: &CancellationToken,
) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        address.ip().is_loopback(),
        "{} is not this machine: listen on 127.0.0.1",
        address.ip()
    );
    let listener = TcpListener::bind(address)
        .map_err(|error| anyhow::anyhow!("cannot listen on {address}: {error}"))?;
    let token = match std::env::var("POSTIL_TOKEN") {
        Ok(token) if !token.is_empty() => {
            complain(&format!(
                "listening on {}, with the token of POSTIL_TOKEN",
                listener.local_addr()?
            ));
            token
        }
        _ => {
            let token = uuid::Uuid::new_v4().simple().to_string();
            complain(&format!(
                "listening on {}, token {token}",
                listener.local_addr()?
            ));
            token
        }
    };
    let (sender, mut admitted) = mpsc::unbounded_channel();
    std::thread::spawn(move || door::keep(&listener, &Arc::from(token), &sender));
    loop {
        let next = runtime.block_on(async {
            tokio::select! {
                next = admitted.recv() => next,
                () = signal.cancelled() => None,
            }
        });
        let Some(Admitted { stream, first }) = next else {
            return Ok(exit_code(Ended::Signal));
        };
        // One that cannot be served ends nothing.
        let Ok(mut connection) = tcp(stream) else {
            continue;
        };
        connection.reader = Box::new(Cursor::new(first).chain(connection.reader));
        let ended = serve_one(runtime, folders, connection, client, signal);
        if matches!(ended, Ended::Exit(_) | Ended::Signal | Ended::ParentDied) {
            return Ok(exit_code(ended));
        }
    }
}

fn exit_code(ended: Ended) -> ExitCode {
    match ended {
        Ended::Exit(true) => ExitCode::SUCCESS,
        // As a shell counts it.
        Ended::Signal => ExitCode::from(128 + 15),
        Ended::Exit(false)
        | Ended::HungUp
        | Ended::Unasked
        | Ended::ParentDied
        | Ended::Abandoned => ExitCode::FAILURE,
    }
}

fn serve_one(
    runtime: &Runtime,
    folders: &Folders,
    connection: Connection,
    client: Option<i64>,
    signal: &CancellationToken,
) -> Ended {
    let (sender, mut ended) = mpsc::unbounded_channel();
    let outbox = Arc::new(Outbox::default());
    let server = Arc::new(Server {
        client: Arc::new(Client::new(outbox.clone())),
        folders: folders.clone(),
        runtime: runtime.handle().clone(),
        ended: sender,
        session: OnceLock::new(),
        capabilities: OnceLock::new(),
        documents: Documents::default(),
        publisher: Publisher::default(),
        scratch: Scratch::default(),
        left_out: Mutex::default(),
        margin: Margin::default(),
        trusted: Mutex::default(),
        tokens: super::semantic_tokens::Given::default(),
        refresher: Refresher::default(),
        told: DashSet::default(),
        watching: Watching::default(),
        bridges: DashMap::new(),
    });
    let Connection {
        reader,
        writer,
        hang_up,
    } = connection;
    let (reading, writing) = (server.clone(), server.clone());
    std::thread::spawn(move || {
        if let Err(error) = writing.client.outbox.write_to(writer) {
            tracing::info!("the client does not take what is written to it: {error}");
            writing.end(Ended::HungUp);
        }
    });
    std::thread::spawn(move || transport::read(&reading, reader));
    super::publish::start(&server);
    super::watching::start(&server);
    if let Some(client) = client {
        super::lifecycle::end_with(&server, client);
    }

    let why = runtime.block_on(async {
        let why = tokio::select! {
            why = ended.recv() => why.unwrap_or(Ended::HungUp),
            () = signal.cancelled() => Ended::Signal,
        };
        server.bridges.clear();
        server.client.gone();
        if let Some(session) = server.session.get() {
            let _ = tokio::time::timeout(WIND_UP, session.leave()).await;
            session.let_commits_end().await;
        }
        match why {
            Ended::HungUp if server.session.get().is_none() => Ended::Unasked,
            why => why,
        }
    });
    tracing::info!("the end: {why:?}");
    server.publisher.stop();
    outbox.close();
    outbox.flush(LAST_WORDS);
    hang_up();
    server.scratch.clear();
    server.watching.stop();
    why
}

/// Standard input and output without the buffers of the standard library: a frame is to be one write.
fn standard_streams() -> anyhow::Result<Connection> {
    #[cfg(unix)]
    use std::os::fd::AsFd as _;
    #[cfg(windows)]
    use std::os::windows::io::AsHandle as _;
    #[cfg(unix)]
    let (input, output) = (
        std::io::stdin().as_fd().try_clone_to_owned()?,
        std::io::stdout().as_fd().try_clone_to_owned()?,
    );
    #[cfg(windows)]
    let (input, output) = (
        std::io::stdin().as_handle().try_clone_to_owned()?,
        std::io::stdout().as_handle().try_clone_to_owned()?,
    );
    Ok(Connection {
        reader: Box::new(std::fs::File::from(input)),
        writer: Box::new(std::fs::File::from(output)),
        hang_up: Box::new(|| ()),
    })
}

fn tcp(stream: TcpStream) -> anyhow::Result<Connection> {
    // Small frames must not wait for an acknowledgement.
    stream.set_nodelay(true)?;
    let (reader, other) = (stream.try_clone()?, stream.try_clone()?);
    let hang_up = Box::new(move || drop(other.shutdown(std::net::Shutdown::Both)));
    Ok(Connection {
        reader: Box::new(reader),
        writer: Box::new(stream),
        hang_up,
    })
}

/// For whoever started the server; the protocol has standard output.
fn complain(message: &str) {
    let _ = writeln!(std::io::stderr(), "postil: {message}");
}
