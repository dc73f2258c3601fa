//! The calling side: in `postil mcp`, and in the commands that change files.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use super::NoAnswer;
use super::several::Editors;
use super::wire::{Call, LONGEST_ANSWER, PLACES, Reply, VERSION, pointer};
use crate::verbs::{Answer, Failure, Verb};

/// An editor that asks its person before it edits takes its time; a server that hangs must not hang us.
const PATIENCE: Duration = Duration::from_secs(60);
/// The person is asked about the call itself, and may be away; hooks of git run; a language server begins and reads its
/// whole project.
const LONG: Duration = Duration::from_secs(600);
/// One that fails to tell may be ending: it is gone when it is asked again after this time.
pub(super) const ENDING: Duration = Duration::from_millis(300);

pub(super) type Answered = Result<Result<Answer, Failure>, NoAnswer>;

/// Has the editor's server of the workspace `root` (canonical) carry out a call: of several editors the one that shows
/// what it is about. Cancelled, a call that only reads is given up, and one that writes as long as nobody was asked; from
/// then on it is waited for, so that what became of it is known.
pub async fn call(
    data: &Path,
    root: &Path,
    verb: &Verb,
    arguments: &Value,
    cancel: &CancellationToken,
) -> Answered {
    among(places(data, root), root, verb, arguments, cancel).await
}

/// The same for an editor whose own server listens at `socket`: that comes before the others where more than one shows
/// what the call is about as well, or none does. `None`: no other server serves the workspace.
pub async fn call_beside(
    socket: &Path,
    data: &Path,
    root: &Path,
    verb: &Verb,
    arguments: &Value,
    cancel: &CancellationToken,
) -> Option<Answered> {
    let mut places = places(data, root);
    places.retain(|place| !is_left(&place.pointer));
    places.sort_by_key(|place| place.socket != socket);
    let (own, others) = places.split_first()?;
    if own.socket != socket || others.is_empty() {
        return None;
    }
    Some(among(places, root, verb, arguments, cancel).await)
}

async fn among(
    places: Vec<Place>,
    root: &Path,
    verb: &Verb,
    arguments: &Value,
    cancel: &CancellationToken,
) -> Answered {
    let editors = tokio::select! {
        editors = Editors::of(places, root) => editors,
        // What writes is not begun yet.
        () = cancel.cancelled() => return Ok(Err(cancelled())),
    };
    editors.call(verb, arguments, cancel).await
}

pub(super) fn cancelled() -> Failure {
    Failure::new("cancelled", "the call was cancelled")
}

pub(super) fn absent() -> NoAnswer {
    NoAnswer::Absent(String::from("no editor has this workspace open"))
}

/// One that does not tell what it has open: it may be closing, or defective.
pub(super) fn unclear(root: &Path, why: &str) -> NoAnswer {
    NoAnswer::Unheard(Failure::new(
        "editor_unclear",
        format!(
            "an editor that has {} open does not tell what it has not saved ({why}): nothing was done; do this again, and if that does not help, close that editor first",
            root.display()
        ),
    ))
}

fn patience(verb: &Verb) -> Duration {
    match verb.takes_long {
        true => LONG,
        false => PATIENCE,
    }
}

/// One call of one server.
pub(super) async fn ask(
    mut stream: UnixStream,
    root: &Path,
    verb: &Verb,
    arguments: &Value,
    cancel: &CancellationToken,
) -> Answered {
    let mut line = serde_json::to_vec(&Call {
        version: VERSION,
        root: root.to_string_lossy().into_owned(),
        tool: verb.name.to_owned(),
        arguments: arguments.clone(),
    })
    .map_err(|error| unclear(root, &error.to_string()))?;
    line.push(b'\n');
    let asking = async {
        stream.write_all(&line).await?;
        let (reader, _writer) = stream.split();
        let mut answer = Vec::new();
        BufReader::new(reader.take(LONGEST_ANSWER))
            .read_until(b'\n', &mut answer)
            .await?;
        Ok(answer)
    };
    let answered: std::io::Result<Vec<u8>> = tokio::select! {
        answered = tokio::time::timeout(patience(verb), asking) => answered.unwrap_or_else(|_| {
            Err(std::io::Error::other("it does not answer"))
        }),
        () = verb.given_up(cancel) => return Ok(Err(cancelled())),
    };
    let answer = answered.map_err(|error| NoAnswer::Lost(error.to_string()))?;
    if !answer.ends_with(b"\n") {
        return Err(NoAnswer::Lost(String::from("it ended in mid-call")));
    }
    match serde_json::from_slice(&answer) {
        Ok(Reply::Answer(answer)) => Ok(Ok(answer)),
        Ok(Reply::Failure(failure)) => Ok(Err(failure)),
        Ok(Reply::Version(other)) => Err(NoAnswer::Stranger(format!(
            "the editor's server is of another version of postil (it speaks {other}, this one {VERSION})"
        ))),
        Err(error) => Err(NoAnswer::Lost(error.to_string())),
    }
}

/// A connection to a server of this user. An error: none has the place, or why the one that has it cannot be spoken with.
pub(super) async fn connect(server: &Place, root: &Path) -> Result<UnixStream, NoAnswer> {
    let why = match reach(&server.socket).await {
        Ok(stream) => return Ok(stream),
        Err(why) => why,
    };
    if is_left(&server.pointer) {
        return Err(absent());
    }
    let Unreached::NobodyThere(_) = why else {
        return Err(unclear(root, why.text()));
    };
    // One that lives without a socket is ending, or is about to listen: at the place where it says so then.
    tokio::time::sleep(ENDING).await;
    let reached = reach(&socket_in(&server.pointer).unwrap_or_default()).await;
    reached.map_err(|why| match is_left(&server.pointer) {
        true => absent(),
        false => unclear(root, why.text()),
    })
}

enum Unreached {
    NobodyThere(String),
    NotSpokenWith(String),
}

impl Unreached {
    fn text(&self) -> &str {
        let (Self::NobodyThere(text) | Self::NotSpokenWith(text)) = self;
        text
    }
}

/// `path` may be empty: the server says nothing of where it listens.
async fn reach(path: &Path) -> Result<UnixStream, Unreached> {
    if path.as_os_str().is_empty() {
        let why = "it has no socket that it could be asked by";
        return Err(Unreached::NobodyThere(why.to_owned()));
    }
    let socket = path.display();
    let why = match UnixStream::connect(path).await {
        Ok(stream) => match stream.peer_cred() {
            Ok(peer) if peer.uid() == rustix::process::geteuid().as_raw() => return Ok(stream),
            Ok(_) => format!("{socket} is another user's"),
            Err(error) => format!("{socket}: {error}"),
        },
        // One that is suspended is connected to.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::ConnectionRefused | ErrorKind::NotFound
            ) =>
        {
            return Err(Unreached::NobodyThere(format!("{socket}: {error}")));
        }
        Err(error) => format!("{socket}: {error}"),
    };
    Err(Unreached::NotSpokenWith(why))
}

/// Whether no server has the place any more, so that whoever listens there now is none that has files of the
/// workspace open. What is not known is not said to be so.
fn is_left(pointer: &Path) -> bool {
    std::fs::File::open(pointer).is_ok_and(|file| file.try_lock_shared().is_ok())
}

/// Whether a server is known to have the place.
fn is_held(pointer: &Path) -> bool {
    let lock = std::fs::File::open(pointer).map(|file| file.try_lock_shared());
    matches!(lock, Ok(Err(std::fs::TryLockError::WouldBlock)))
}

/// Where a server is to be found.
#[derive(Clone)]
pub(super) struct Place {
    pointer: PathBuf,
    /// Empty: it does not say.
    socket: PathBuf,
}

/// In their order; what was left behind is among them.
fn places(data: &Path, root: &Path) -> Vec<Place> {
    let places = (0..PLACES).filter_map(|place| {
        let pointer = pointer(data, root, place);
        let socket = socket_in(&pointer)?;
        let is_any = !socket.as_os_str().is_empty() || is_held(&pointer);
        is_any.then_some(Place { pointer, socket })
    });
    places.collect()
}

/// `None`: nobody ever had the place; empty: nobody says that they listen there.
fn socket_in(pointer: &Path) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    let text = std::fs::read(pointer).ok()?;
    let socket = PathBuf::from(std::ffi::OsString::from_vec(text));
    Some(if socket.is_absolute() {
        socket
    } else {
        PathBuf::new()
    })
}

/// The editors' servers that serve the workspace now: where each listens, and of one that cannot be asked that it is so.
pub fn serving(data: &Path, root: &Path) -> Vec<String> {
    let servers = places(data, root).into_iter().filter_map(|place| {
        let socket = place.socket.display();
        if std::os::unix::net::UnixStream::connect(&place.socket).is_ok() {
            return Some(socket.to_string());
        }
        let text = match place.socket.as_os_str().is_empty() {
            true => String::from("(an editor that has no socket: its log says why)"),
            false => format!("{socket} (which is gone: within seconds its editor makes it anew)"),
        };
        (!is_left(&place.pointer)).then_some(text)
    });
    servers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::children::INDEXING_FACTOR;
    use crate::config::Settings;
    use crate::verbs;

    #[test]
    fn a_language_server_may_begin_and_read_its_project_while_it_is_waited_for() {
        let request = Duration::from_secs(Settings::default().proxy_timeout);
        // To begin, to index, to answer.
        let longest = request * INDEXING_FACTOR * 2 + request;
        for verb in [&verbs::LSP, &verbs::DIAGNOSTICS] {
            assert!(patience(verb) > longest * 2, "{}", verb.name);
        }
    }
}
