//! What an author does with a thread: write in it, begin one, put it away.

use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, Result};

use super::call::{Call, answer, blocking};
use crate::host::Level;
use crate::lsp::{from_proto, invalid, to_proto};
use crate::present;
use crate::session::Done;
use crate::text::Position;
use crate::threads::Role;

impl Call {
    /// Without a text the cursor goes to where the author writes.
    pub(super) async fn reply(&self) -> Result<Value> {
        let (id, path) = (self.thread_id()?, self.path()?);
        if let Some(text) = self.text("text")? {
            let done = self.session.say(id, path.as_deref(), text).await?;
            return answer(&done);
        }
        let (view, thread) = self.session.find_thread(id, path.as_deref())?;
        let last = thread.messages.last().ok_or_else(Error::internal_error)?;
        if last.role == Role::Agent {
            // No AUTHOR line waits there.
            let room = self.session.make_room(&thread.id, Some(&view.path));
            let done = room.await?;
            let line = done.line.unwrap_or(last.last_line + 1);
            self.show_end(&view.path, line, done.thread_id.as_deref());
            return answer(&done);
        }
        let line = last.last_line;
        self.show_end(&view.path, line, Some(&thread.id));
        Ok(
            json!({"success": true, "file": self.session.relative(&view.path), "thread_id": thread.id}),
        )
    }

    /// The words of the author's message `index`, which were `was`, become `text`.
    pub(super) async fn edit_message(&self) -> Result<Value> {
        let (id, path) = (self.thread_id()?, self.path()?);
        let index = self.need("index", self.number("index")?)?;
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let was = self.need("was", self.text("was")?)?;
        let text = self.need("text", self.text("text")?)?;
        let done = self
            .session
            .edit_message(id, path.as_deref(), index, was, text)
            .await?;
        answer(&done)
    }

    pub(super) async fn new_thread(&self) -> Result<Value> {
        let path = self.need("uri", self.path()?)?;
        let position = self.need("position", self.argument.get("position"))?;
        let position = from_proto::position(position)
            .ok_or_else(|| invalid("`position` is to be {line, character}"))?;
        let line = usize::try_from(position.line).unwrap_or(usize::MAX);
        let text = self.text("text")?.unwrap_or_default();
        let done = self.session.new_thread(&path, line, text).await?;
        if text.is_empty() {
            let line = done.line.unwrap_or(line);
            self.show_end(&path, line, done.thread_id.as_deref());
        }
        let mut answered = answer(&done)?;
        // A file that is open under two names has its threads under one of them.
        answered["uri"] = json!(to_proto::uri(&self.server, &path));
        Ok(answered)
    }

    /// Puts the cursor, where the editor can, behind what the thread's message on a 0-based line says: the comment, and
    /// code, may go on there.
    fn show_end(&self, path: &std::path::Path, line: usize, thread: Option<&str>) {
        let client = self.server.capabilities();
        let Ok(view) = self.session.view(path) else {
            return;
        };
        let document = to_proto::document(&view);
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        let at = |character| document.offset(Position { line, character }, client.encoding);
        // Past the end is the end of the line.
        let of_line = at(0)..at(u32::MAX);
        let threads = view.threads.iter();
        let mut said = threads
            .filter(|one| thread.is_none_or(|id| one.id == id))
            .flat_map(|one| &one.messages)
            .filter(|said| of_line.start <= said.range.end && said.range.end <= of_line.end);
        let end = said.next_back().map_or(of_line.end, |said| {
            let rest = view.text.get(said.range.end..of_line.end);
            let rest = rest.unwrap_or_default();
            match rest.trim().is_empty() {
                true => of_line.end,
                // Behind the marker of an empty one a blank is its own.
                false => {
                    said.range.end + usize::from(said.text.is_empty() && rest.starts_with(' '))
                }
            }
        });
        let position = to_proto::position(document.position(end, client.encoding));
        let (uri, there) = (
            to_proto::uri(&self.server, path),
            json!({"start": position, "end": position}),
        );
        let ask = |method, params| self.server.client.ask(method, params, &self.server.runtime);
        if client.show_document {
            let params = json!({"uri": uri, "takeFocus": true, "selection": there});
            ask("window/showDocument", params);
        } else if let Some(buffer) = view.buffer.filter(|_| client.snippet_edits) {
            // Zed: an edit that changes nothing, and leaves the cursor there.
            let nothing = json!({"range": there, "snippet": {"kind": "snippet", "value": "$0"}});
            let version = Some(buffer.document.version());
            let edit = to_proto::workspace_edit(&self.server, &uri, version, &[nothing]);
            ask("workspace/applyEdit", json!({"edit": edit}));
        }
    }

    pub(super) async fn clear_and_commit(&self) -> Result<Value> {
        let path = self.need("uri", self.path()?)?;
        let done = self
            .session
            .clear_and_commit(&path, self.text("message")?)
            .await?;
        self.session.host.message(Level::Info, &committed(&done));
        answer(&done)
    }

    pub(super) async fn process_actions(&self) -> Result<Value> {
        let path = self.path()?;
        let done = self
            .session
            .process_actions(path.as_deref(), |_| true)
            .await?;
        if done.is_empty() {
            let host = &self.session.host;
            host.message(Level::Info, "No thread says `done` or `commit`.");
        }
        for left in done.iter().filter(|done| !done.success) {
            let why = left.note.as_deref().unwrap_or_default();
            let host = &self.session.host;
            host.message(Level::Warning, &format!("{}: {why}", left.file));
        }
        answer(&done)
    }

    pub(super) async fn list_threads(&self) -> Result<Value> {
        let path = self.path()?;
        let list = blocking(&self.session, move |session| {
            Ok(session.threads(path.as_deref())?)
        });
        answer(&list.await?)
    }
}

/// What to tell the author of a commit.
pub(in crate::lsp) fn committed(done: &Done) -> String {
    let cleared = done.lines_removed.map(|lines| {
        let lines = present::counted(lines as u64, "line");
        format!("{lines} of threads removed from {}", done.file)
    });
    let what = match (&done.commit_hash, &done.note) {
        (Some(hash), None) => Some(format!("committed {} as {hash}", done.file)),
        (Some(hash), Some(note)) => Some(format!("committed {} as {hash}; {note}", done.file)),
        (None, Some(note)) => Some(note.clone()),
        (None, None) => None,
    };
    [cleared, what]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
}
