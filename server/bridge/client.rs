//! The calling side: in `postil mcp`, and in the commands that change files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use super::NoAnswer;
use super::several::Editors;
use super::wire::{Call, LONGEST_ANSWER, PLACES, Reply, VERSION, pointer};
use crate::verbs::{Answer, Effect, Failure, Verb};

/// An editor that asks its person before it edits takes its time; a server that hangs must not hang us.
const PATIENCE: Duration = Duration::from_secs(60);
/// The person is asked about the call itself, and may be away; or hooks of git run.
const LONG: Duration = Duration::from_secs(600);

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
    let sockets = sockets(data, root);
    let editors = tokio::select! {
        editors = Editors::of(&sockets, root) => editors,
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
        root: root.to_owned(),
        tool: verb.name.to_owned(),
        arguments: arguments.clone(),
    })
    .map_err(|error| NoAnswer::Absent(error.to_string()))?;
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
    let given_up = async {
        match verb.effect {
            Effect::Reads => cancel.cancelled().await,
            Effect::Adds | Effect::Removes => std::future::pending().await,
        }
    };
    let patience = match verb.takes_long() {
        true => LONG,
        false => PATIENCE,
    };
    let answered: std::io::Result<Vec<u8>> = tokio::select! {
        answered = tokio::time::timeout(patience, asking) => answered.unwrap_or_else(|_| {
            Err(std::io::Error::other("it does not answer"))
        }),
        () = given_up => return Ok(Err(cancelled())),
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

/// An error without a word: nobody listens there.
pub(super) async fn connect(socket: &Path) -> Result<UnixStream, Option<NoAnswer>> {
    let stream = UnixStream::connect(socket).await.map_err(|_| None)?;
    let peer = stream.peer_cred().map_err(|_| None)?;
    if peer.uid() != rustix::process::geteuid().as_raw() {
        let text = format!("{} is another user's", socket.display());
        return Err(Some(NoAnswer::Stranger(text)));
    }
    Ok(stream)
}

/// In the order of their places; what was left behind is among them.
fn sockets(data: &Path, root: &Path) -> Vec<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    let places = 0..PLACES;
    let sockets = places.filter_map(|place| {
        let text = std::fs::read(pointer(data, root, place)).ok()?;
        let path = PathBuf::from(std::ffi::OsString::from_vec(text));
        path.is_absolute().then_some(path)
    });
    sockets.collect()
}

/// The sockets of the editors' servers that serve the workspace now.
pub fn serving(data: &Path, root: &Path) -> Vec<PathBuf> {
    let mut sockets = sockets(data, root);
    sockets.retain(|socket| std::os::unix::net::UnixStream::connect(socket).is_ok());
    sockets
}
