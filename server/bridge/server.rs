//! The listening side: in an editor's server.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Seek as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _,
    PermissionsExt as _,
};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt as _;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::wire::{Call, LONGEST_CALL, PLACES, Reply, VERSION, pointer};
use crate::host::Level;
use crate::present::visible;
use crate::session::Session;
use crate::text::hex;
use crate::verbs::{self, Failure};

/// What the address of a socket may have on every Unix (macOS: 104 with the final zero).
const LONGEST_PATH: usize = 103;
/// Calls at the same time; more wait their turn.
const AT_ONCE: usize = 16;
/// Between two looks whether a place is free.
const AGAIN: Duration = Duration::from_millis(500);
/// Between two looks whether our socket is still there: what clears the runtime folder (a logout from another session,
/// say) takes it away from an editor that goes on.
const LOOK: Duration = Duration::from_secs(3);
/// Who has connected is to ask within this time.
const PATIENCE: Duration = Duration::from_secs(10);

/// Listens until it is dropped.
pub struct Listening(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Told when nobody wants to listen any more.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// Nobody wants to listen any more.
    ended: bool,
    /// `None` while each place is another server's, or ours cannot be listened in.
    at: Option<Place>,
    /// A place that is ours, and could not be listened in so far: kept, so that nobody takes our editor for gone.
    held: Option<(u8, File)>,
}

struct Place {
    number: u8,
    /// Held while we listen.
    lock: File,
    socket: PathBuf,
    /// A folder that was made for the socket alone.
    _folder: Option<tempfile::TempDir>,
    /// Of each socket that it has had: a call that came by one that is gone is answered all the same.
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        // In this order, and both before the lock is given up: the next one writes its own.
        let _ = self.lock.set_len(0);
        let _ = fs::remove_file(&self.socket);
    }
}

impl Listening {
    /// `None`: there is none.
    pub fn socket(&self) -> Option<PathBuf> {
        let state = locked(&self.0.state);
        state.at.as_ref().map(|at| at.socket.clone())
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut state = locked(&self.0.state);
        state.ended = true;
        drop((state.at.take(), state.held.take()));
        self.0.ended.notify_all();
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is listened for.
struct Served {
    data: PathBuf,
    root: PathBuf,
    session: Weak<Session>,
    runtime: Handle,
}

/// Listens for the workspace `root` (canonical), as soon as a place for that is free.
pub fn listen(session: &Arc<Session>, root: &Path, runtime: &Handle) -> Listening {
    let shared = Arc::new(Shared::default());
    let listening = Listening(shared.clone());
    let served = Served {
        data: session.folders.data.clone(),
        root: root.to_owned(),
        session: Arc::downgrade(session),
        runtime: runtime.clone(),
    };
    let waiting = std::thread::Builder::new().name(String::from("postil-bridge"));
    // Where no place is free, it is waited for.
    let started = waiting.spawn(move || served.keep_listening(&shared));
    if let Err(error) = started {
        tracing::warn!("no socket: {error}");
    }
    listening
}

impl Served {
    /// Until nobody wants that any more.
    fn keep_listening(&self, shared: &Shared) {
        let mut is_told = false;
        let mut state = locked(&shared.state);
        while !state.ended {
            if let Err(why) = self.look(&mut state)
                && !is_told
            {
                is_told = true;
                drop(state);
                self.tell(&why);
                state = locked(&shared.state);
            }
            let pause = match state.at {
                Some(_) => LOOK,
                None => AGAIN,
            };
            // Not by a call that waits for a lock: nothing would end it when the folder is closed.
            let wanted = |state: &mut State| !state.ended;
            let woken = shared.ended.wait_timeout_while(state, pause, wanted);
            (state, _) = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Listens where nobody does. An error: why that cannot be, as far as is known for now.
    fn look(&self, state: &mut State) -> Result<(), String> {
        let said = |error: std::io::Error| error.to_string();
        if let Some(at) = &mut state.at {
            return match is_socket(&at.socket) {
                true => Ok(()),
                false => self.listen_again(at).map_err(said),
            };
        }
        let held = match state.held.take() {
            Some(held) => Some(held),
            None => self.free().map_err(said)?,
        };
        let Some((number, mut lock)) = held else {
            return Err(format!("{PLACES} other editors have that folder open"));
        };
        match self.bind(number, &mut lock) {
            Ok((socket, folder, task)) => {
                state.at = Some(Place {
                    number,
                    lock,
                    socket,
                    _folder: folder,
                    tasks: vec![task],
                });
                Ok(())
            }
            Err(error) => {
                state.held = Some((number, lock));
                Err(said(error))
            }
        }
    }

    /// The first place that no other server has, and its lock.
    fn free(&self) -> std::io::Result<Option<(u8, File)>> {
        let first = pointer(&self.data, &self.root, 0);
        private_folder(first.parent().unwrap_or(&self.data))?;
        for place in 0..PLACES {
            let lock = open(&pointer(&self.data, &self.root, place))?;
            match lock.try_lock() {
                Ok(()) => return Ok(Some((place, lock))),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Nobody else can tell the author.
    fn tell(&self, why: &str) {
        let root = self.root.display();
        tracing::warn!("no socket for {root}: {why}");
        let Some(session) = self.session.upgrade() else {
            return;
        };
        let text = format!(
            "No other program can ask this editor what it has not saved of {root} ({why}): save it before you use `postil` commands, or an agent elsewhere, on these files. postil tries again until it can."
        );
        session.host.message(Level::Warning, &visible(&text));
    }

    /// The place stays ours meanwhile, so that nobody takes our editor for gone.
    fn listen_again(&self, at: &mut Place) -> std::io::Result<()> {
        tracing::warn!("{} is gone", at.socket.display());
        let (socket, folder, task) = self.bind(at.number, &mut at.lock)?;
        (at.socket, at._folder) = (socket, folder);
        at.tasks.push(task);
        Ok(())
    }

    /// Listens in a place whose lock is held, and says there where.
    fn bind(
        &self,
        place: u8,
        lock: &mut File,
    ) -> std::io::Result<(PathBuf, Option<tempfile::TempDir>, JoinHandle<()>)> {
        // Left behind by a server that was killed.
        if let Some(stale) = read_path(&pointer(&self.data, &self.root, place)) {
            remove_socket(&stale);
        }
        let (socket, folder) = socket_of(&self.data, &self.root, place)?;
        remove_socket(&socket);
        let _runtime = self.runtime.enter();
        let listener = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o600))?;
        // Never empty in between, which would say that nobody listens.
        let text = socket.as_os_str().as_bytes();
        lock.rewind()?;
        lock.write_all(text)?;
        lock.set_len(text.len() as u64)?;
        let (session, root) = (self.session.clone(), self.root.clone());
        let task = self.runtime.spawn(accept(listener, session, root));
        tracing::info!(
            "listening on {} for {}",
            socket.display(),
            self.root.display()
        );
        Ok((socket, folder, task))
    }
}

fn open(pointer: &Path) -> std::io::Result<File> {
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(pointer);
    match opened {
        // Its lock says at least that we are there.
        Err(error) if error.kind() == ErrorKind::ReadOnlyFilesystem => File::open(pointer),
        opened => opened,
    }
}

fn read_path(pointer: &Path) -> Option<PathBuf> {
    let text = fs::read(pointer).ok().filter(|text| !text.is_empty())?;
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(&text));
    path.is_absolute().then_some(path)
}

fn remove_socket(path: &Path) {
    if is_socket(path) {
        let _ = fs::remove_file(path);
    }
}

fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

/// Where the socket goes: the user's runtime folder, else beside the history; where the address would be too long
/// for either, a new folder of its own among the temporary ones.
fn socket_of(
    data: &Path,
    root: &Path,
    place: u8,
) -> std::io::Result<(PathBuf, Option<tempfile::TempDir>)> {
    // Two users' data folders may share a runtime folder (a test's and the person's).
    let mut hash = Sha256::new();
    for part in [data, root] {
        hash.update(part.as_os_str().as_bytes());
        hash.update([0]);
    }
    hash.update([place]);
    let name = hex(hash.finalize().iter().take(8));
    let fits = |path: &Path| path.as_os_str().len() <= LONGEST_PATH;
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    if let Some(runtime) = runtime.filter(|folder| folder.is_absolute() && folder.is_dir()) {
        let folder = runtime.join("postil");
        let socket = folder.join(format!("{name}.sock"));
        match private_folder(&folder) {
            Ok(()) if fits(&socket) => return Ok((socket, None)),
            Ok(()) => {}
            Err(error) => tracing::info!("{} is not used: {error}", folder.display()),
        }
    }
    let socket = pointer(data, root, place).with_extension(match place {
        0 => String::from("sock"),
        place => format!("{place}.sock"),
    });
    if fits(&socket) {
        return Ok((socket, None));
    }
    let folder = tempfile::Builder::new()
        .prefix("postil-")
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir()?;
    let socket = folder.path().join("editor.sock");
    if fits(&socket) {
        return Ok((socket, Some(folder)));
    }
    Err(std::io::Error::other(format!(
        "the path {} is too long for a socket: set XDG_RUNTIME_DIR",
        socket.display()
    )))
}

/// Makes a folder that is the user's alone, or sees that it is.
fn private_folder(folder: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(std::io::Error::other("it is no folder of this user"));
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

async fn accept(listener: UnixListener, session: Weak<Session>, root: PathBuf) {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    // Its tasks end with this one.
    let mut calls = JoinSet::new();
    loop {
        while calls.try_join_next().is_some() {}
        let Ok(turn) = turns.clone().acquire_owned().await else {
            return;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Too many open files, say: not as fast as it can fail.
                tracing::warn!("a call could not be taken: {error}");
                tokio::time::sleep(Duration::from_millis(200)).await;
                continue;
            }
        };
        let ours = stream
            .peer_cred()
            .is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw());
        if !ours {
            tracing::warn!("a call of another user was refused");
            continue;
        }
        let (session, root) = (session.clone(), root.clone());
        calls.spawn(async move {
            let _turn = turn;
            if let Err(error) = serve(stream, &session, &root).await {
                tracing::info!("a call was not answered: {error}");
            }
        });
    }
}

async fn serve(
    mut stream: UnixStream,
    session: &Weak<Session>,
    root: &Path,
) -> std::io::Result<()> {
    let (reader, mut writer) = stream.split();
    let mut reader = BufReader::new(reader.take(LONGEST_CALL));
    let mut line = Vec::new();
    tokio::time::timeout(PATIENCE, reader.read_until(b'\n', &mut line)).await??;
    // Whoever asks whether we are there says nothing.
    if line.is_empty() {
        return Ok(());
    }
    let cancel = CancellationToken::new();
    let hung_up = async {
        let mut byte = [0];
        // The caller says nothing more: it waits, or it is gone.
        let _ = reader.read(&mut byte).await;
    };
    let call = serde_json::from_slice::<Call>(&line).ok();
    let verb = call.and_then(|call| verbs::any(&call.tool));
    let answering = AssertUnwindSafe(answer(&line, session, root, &cancel)).catch_unwind();
    let reply = match verb.is_some_and(|verb| verb.effect.writes()) {
        true => answering.await,
        false => tokio::select! {
            reply = answering => reply,
            () = hung_up => return Ok(()),
        },
    };
    let reply = reply.unwrap_or_else(|_| {
        tracing::error!("a defect while a call was answered; the server goes on");
        Reply::Failure(Failure::defect())
    });
    let mut line = serde_json::to_vec(&reply)?;
    line.push(b'\n');
    writer.write_all(&line).await
}

async fn answer(
    line: &[u8],
    session: &Weak<Session>,
    root: &Path,
    cancel: &CancellationToken,
) -> Reply {
    // Another version may have other fields.
    let version = serde_json::from_slice::<serde_json::Value>(line)
        .ok()
        .and_then(|call| call.get("version")?.as_u64());
    if version != Some(u64::from(VERSION)) {
        return Reply::Version(VERSION);
    }
    let Ok(call) = serde_json::from_slice::<Call>(line) else {
        return Reply::Failure(Failure::new("usage", "this is no call"));
    };
    let Some(session) = session.upgrade() else {
        return Reply::Failure(Failure::new("failed", "the editor's session is over"));
    };
    if call.root != root.to_string_lossy() {
        let text = format!("{} is not served here", call.root);
        return Reply::Failure(Failure::new("file", text));
    }
    match verbs::call(&session, root, &call.tool, &call.arguments, cancel).await {
        Ok(answer) => Reply::Answer(answer),
        Err(failure) => Reply::Failure(failure),
    }
}
