//! The editor as the engine's [`Host`]: edits, questions, messages, progress.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use dashmap::DashMap;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{Instant, timeout, timeout_at};

use super::client::ClientError;
use super::{Server, conversation, refresh, to_proto};
use crate::host::{
    BufferEdit, FileOp, Host, Level, NotApplied, NotShown, Progress, Proposed, Question,
};
use crate::present::visible;
use crate::text::{Edit, apply_edits, same_lines};

mod asked;
mod beside;
mod files;
mod landed;
mod lines;
mod notebooks;
mod preview;
mod questions;

/// An editor may ask its user before it applies an edit.
const ANSWER: Duration = Duration::from_secs(30);
/// How long the new text may take to come back after the editor applied an edit; Neovim gathers changes
/// for 150 ms.
const ECHO: Duration = Duration::from_secs(5);
/// A text came back without the edit: how long another may follow that has it.
const SECOND_ECHO: Duration = Duration::from_millis(400);
/// An edit was refused: how long the newer text may be behind that answer for which it was (VS Code's client).
const LATE: Duration = Duration::from_secs(1);
/// For the client's word whether it shows a document.
const SHOWN: Duration = Duration::from_secs(2);
/// Reports are drawn no oftener.
const REPORT_EVERY: Duration = Duration::from_millis(100);
const TOKEN: &str = "postil/";

pub(super) struct EditorHost {
    server: Weak<Server>,
    /// Runs whose progress is shown.
    progress: DashMap<String, mpsc::UnboundedSender<Progress>>,
    /// Held by the edit that is on its way to a client that takes no versions: two of ours at once would meet
    /// texts that they were not made for.
    unversioned: Semaphore,
    /// The client knows no `window/showMessageRequest`, as Helix before 25.07. No capability says so.
    shows_no_questions: AtomicBool,
    /// When a question was answered last.
    answered: Mutex<Option<Instant>>,
}

impl EditorHost {
    pub fn new(server: &Arc<Server>) -> Self {
        Self {
            server: Arc::downgrade(server),
            progress: DashMap::new(),
            unversioned: Semaphore::new(1),
            shows_no_questions: AtomicBool::new(false),
            answered: Mutex::new(None),
        }
    }

    fn defers_questions(&self) -> bool {
        let server = self.server.upgrade();
        server.is_some_and(|server| server.capabilities().defers_questions)
    }

    fn answered(&self) -> MutexGuard<'_, Option<Instant>> {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The run whose progress has this token.
pub(super) fn run_of_token(token: &str) -> Option<&str> {
    token.strip_prefix(TOKEN)
}

/// One buffer of an edit that is on its way.
struct Sent {
    path: PathBuf,
    generation: u64,
    before: Arc<str>,
    expected: String,
    edits: Vec<Edit>,
}

/// What a buffer holds by now.
#[derive(PartialEq, Eq)]
enum Stands {
    Before,
    Made,
    Other,
}

impl Sent {
    fn stands(&self, server: &Server) -> Stands {
        let session = server.session.get();
        let Some(buffer) = session.and_then(|session| session.buffers.get(&self.path)) else {
            return Stands::Other;
        };
        if buffer.generation == self.generation {
            Stands::Before
        } else if same_lines(buffer.document.text(), &self.expected) {
            Stands::Made
        } else {
            Stands::Other
        }
    }
}

#[async_trait]
impl Host for EditorHost {
    async fn apply(&self, label: &str, edits: Vec<BufferEdit>) -> Result<(), NotApplied> {
        self.apply_with(label, edits, Vec::new()).await
    }

    async fn apply_with(
        &self,
        label: &str,
        edits: Vec<BufferEdit>,
        ops: Vec<FileOp>,
    ) -> Result<(), NotApplied> {
        let server = self.server.upgrade().ok_or(NotApplied::NoEditor)?;
        let _alone = if server.capabilities().document_changes {
            None
        } else {
            self.unversioned.acquire().await.ok()
        };
        server.documents.settled().await;
        let (sent, mut edit) = prepare(&server, edits)?;
        files::add(&server, &mut edit, &ops);
        let mut news = server.documents.news();
        let asked = server
            .client
            .request("workspace/applyEdit", json!({"label": label, "edit": edit}));
        let answer = match timeout(ANSWER, asked).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(ClientError::Gone)) => return Err(NotApplied::NoEditor),
            Ok(Err(ClientError::Answered(why) | ClientError::Unknown(why))) => {
                return refused(&server, &sent, &ops, &mut news, why).await;
            }
            Err(_) => {
                return Err(NotApplied::Unknown(format!(
                    "it did not answer for {} s",
                    ANSWER.as_secs()
                )));
            }
        };
        if answer.get("applied").and_then(Value::as_bool) != Some(true) {
            // The author is at something that takes no edit, and will be done with it.
            if answer.get("busy").and_then(Value::as_bool) == Some(true) {
                return Err(NotApplied::Changed);
            }
            let why = answer
                .get("failureReason")
                .and_then(Value::as_str)
                .unwrap_or("it gave no reason");
            // Done and taken back, by which the text has another version.
            if answer.get("readOnly").and_then(Value::as_bool) == Some(true) {
                return Err(NotApplied::ReadOnly(why.to_owned()));
            }
            return refused(&server, &sent, &ops, &mut news, why.to_owned()).await;
        }
        let moved = |sent: &&Sent| {
            !ops.iter()
                .any(|op| matches!(op, FileOp::Rename { from, .. } if *from == sent.path))
        };
        for sent in sent.iter().filter(moved) {
            come_back(&server, sent, &mut news).await?;
        }
        for op in &ops {
            files::done(&server, op, &mut news).await?;
        }
        Ok(())
    }

    fn can_remove(&self) -> bool {
        self.server
            .upgrade()
            .is_some_and(|server| server.capabilities().delete_files)
    }

    fn can_rename(&self) -> bool {
        self.server
            .upgrade()
            .is_some_and(|server| server.capabilities().rename_files)
    }

    async fn unsaved_elsewhere(&self, root: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
        match self.server.upgrade() {
            Some(server) => beside::unsaved(&server, root, files).await,
            None => Vec::new(),
        }
    }

    async fn write_shown(
        &self,
        path: &Path,
        before: &str,
        after: &str,
    ) -> Result<bool, NotApplied> {
        match self.server.upgrade() {
            Some(server) => notebooks::write(&server, path, before, after).await,
            None => Ok(false),
        }
    }

    fn can_preview(&self) -> bool {
        self.server
            .upgrade()
            .is_some_and(|server| server.capabilities().change_annotations)
    }

    async fn preview(&self, label: &str, edits: Vec<BufferEdit>) -> Result<(), NotApplied> {
        let server = self.server.upgrade().ok_or(NotApplied::NoEditor)?;
        preview::preview(&server, label, edits).await
    }

    fn can_review(&self) -> bool {
        self.server
            .upgrade()
            .is_some_and(|server| server.capabilities().reviews)
    }

    async fn review(&self, change: Proposed) -> bool {
        match self.server.upgrade() {
            Some(server) => preview::review(&server, change).await,
            None => false,
        }
    }

    async fn show_text(&self, name: &str, text: &str) -> Option<String> {
        let server = self.server.upgrade()?;
        let uri = conversation::written(&server, name, text)?;
        // Keys that go on there would be commands in another file: it is named instead.
        if server.capabilities().defers_questions {
            return conversation::file_of(&uri);
        }
        questions::rest(&server).await;
        let shown = timeout(SHOWN, conversation::shows(&server, &uri)).await;
        // Who does not answer may be about to.
        let is_hidden = shown == Ok(false);
        is_hidden.then(|| conversation::file_of(&uri)).flatten()
    }

    /// By `$/cancelRequest` (LSP 3.17 §Cancellation Support).
    fn withdraws(&self) -> bool {
        true
    }

    async fn ask(&self, question: Question) -> Option<usize> {
        let asked = self.try_to_ask(&question).await;
        // Where none can be shown, whoever asks has another way; where it was put off, it was shown.
        if asked == Err(NotShown) && self.shows_questions() && !self.defers_questions() {
            let text = format!(
                "a question could not be shown, which counts as no: {}",
                question.text
            );
            self.message(Level::Warning, &text);
        }
        asked.ok().flatten()
    }

    async fn try_to_ask(&self, question: &Question) -> Result<Option<usize>, NotShown> {
        match self.server.upgrade() {
            Some(server) => questions::ask(self, &server, question).await,
            None => Ok(None),
        }
    }

    fn loses_questions(&self) -> bool {
        self.server
            .upgrade()
            .is_some_and(|server| server.capabilities().loses_questions)
    }

    fn shows_questions(&self) -> bool {
        !self.shows_no_questions.load(Ordering::Relaxed)
    }

    fn message(&self, level: Level, text: &str) {
        let Some(server) = self.server.upgrade() else {
            return;
        };
        message(&server, level, &visible(text));
    }

    fn asked(&self, path: &Path, thread_id: &str) {
        let Some(server) = self.server.upgrade() else {
            return;
        };
        if server.capabilities().asks_in_messages {
            let (path, thread_id) = (path.to_owned(), thread_id.to_owned());
            let runtime = server.runtime.clone();
            runtime.spawn(async move { asked::ask(&server, &path, &thread_id).await });
        }
    }

    fn progress(&self, run: &str, progress: Progress) {
        // Editors read the conversation from the history.
        if progress.is_talk() {
            return;
        }
        let Some(server) = self.server.upgrade() else {
            return;
        };
        if matches!(progress, Progress::Report { .. }) {
            refresh::soon(&server);
        }
        if !server.capabilities().progress {
            return;
        }
        match &progress {
            Progress::Begin { .. } => {
                let (sender, receiver) = mpsc::unbounded_channel();
                let _ = sender.send(progress);
                self.progress.insert(run.to_owned(), sender);
                server.runtime.clone().spawn(show_progress(
                    server,
                    format!("{TOKEN}{run}"),
                    receiver,
                ));
            }
            Progress::Report { .. } => {
                if let Some(sender) = self.progress.get(run) {
                    let _ = sender.send(progress);
                }
            }
            Progress::End { .. } => {
                if let Some((_, sender)) = self.progress.remove(run) {
                    let _ = sender.send(progress);
                }
            }
            Progress::Said { .. } | Progress::Call { .. } | Progress::Called { .. } => {}
        }
    }

    fn changed(&self, paths: &[PathBuf]) {
        let Some(server) = self.server.upgrade() else {
            return;
        };
        for path in paths {
            server.publisher.urgent(path.clone());
        }
        refresh::all(&server);
    }
}

/// What an editor shows of us, and by whom it is said. `names_us`: it puts that there itself.
fn named(text: &str, names_us: bool) -> Cow<'_, str> {
    match names_us {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("postil: {text}")),
    }
}

/// `window/showMessage`.
pub(super) fn message(server: &Server, level: Level, text: &str) {
    let kind = match level {
        Level::Error => 1,
        Level::Warning => 2,
        Level::Info => 3,
    };
    let text = named(text, server.capabilities().names_us.messages);
    server
        .client
        .notify("window/showMessage", json!({"type": kind, "message": text}));
}

fn generation(server: &Server, path: &Path) -> Option<u64> {
    server.session.get()?.buffers.generation(path)
}

/// An insertion at a line's end that begins with that line end, as the same lines put in at the next line's
/// start: a key that the author typed at that moment, and that is still on its way, moves no column then.
fn whole_lines(text: &str, edit: Edit) -> Edit {
    let at = edit.range.start;
    let ends = ["\r\n", "\n"].into_iter().find(|end| {
        edit.range.is_empty()
            && text.get(at..).is_some_and(|rest| rest.starts_with(end))
            && edit.text.starts_with(end)
    });
    match ends {
        Some(end) => Edit {
            range: at + end.len()..at + end.len(),
            text: format!("{}{end}", edit.text.get(end.len()..).unwrap_or_default()),
        },
        None => edit,
    }
}

/// The `WorkspaceEdit`, and what the buffers are to hold afterwards.
fn prepare(server: &Server, edits: Vec<BufferEdit>) -> Result<(Vec<Sent>, Value), NotApplied> {
    let client = server.capabilities();
    if !client.apply_edit {
        return Err(NotApplied::Refused(String::from(
            "it takes no edits (workspace/applyEdit)",
        )));
    }
    let session = server.session.get().ok_or(NotApplied::NoEditor)?;
    let mut all = Vec::new();
    let mut document_changes = Vec::new();
    let mut changes = serde_json::Map::new();
    for BufferEdit {
        path,
        generation,
        edits,
    } in edits
    {
        if server.documents.is_unfit(&path) {
            return Err(NotApplied::Refused(String::from(
                "its text is not known any more: close and reopen the file",
            )));
        }
        let buffer = session.buffers.get(&path).ok_or(NotApplied::Changed)?;
        if buffer.generation != generation || server.documents.is_held(&path) {
            return Err(NotApplied::Changed);
        }
        let before = buffer.document.text();
        let edits: Vec<Edit> = edits
            .into_iter()
            .map(|edit| whole_lines(before, edit))
            .collect();
        let told = client.holds_lines.then(|| lines::in_lines(before, &edits));
        let texts: Vec<Value> = told
            .as_ref()
            .unwrap_or(&edits)
            .iter()
            .map(|edit| json!({"range": to_proto::range(buffer.document.range(&edit.range, client.encoding)), "newText": edit.text}))
            .collect();
        if client.document_changes {
            document_changes.push(
                json!({"textDocument": {"uri": buffer.uri, "version": buffer.document.version()}, "edits": texts}),
            );
        } else {
            changes.insert(buffer.uri.clone(), Value::Array(texts));
        }
        let expected = apply_edits(before, &edits);
        all.push(Sent {
            path,
            generation,
            before: before.into(),
            expected,
            edits,
        });
    }
    let edit = if client.document_changes {
        json!({"documentChanges": document_changes})
    } else {
        json!({"changes": changes})
    };
    Ok((all, edit))
}

/// An edit that was refused because the author, or another edit of ours, was there before it is made anew. What this edit
/// made of several files is no such change: an editor may find in the second file that it cannot, or fail behind all of
/// it. In one file the same may be the author's own, and an undo would take that back.
async fn refused(
    server: &Server,
    sent: &[Sent],
    ops: &[FileOp],
    news: &mut watch::Receiver<u64>,
    why: String,
) -> Result<(), NotApplied> {
    let end = Instant::now() + LATE;
    loop {
        let stands: Vec<Stands> = sent.iter().map(|sent| sent.stands(server)).collect();
        if stands.contains(&Stands::Other) || stands == [Stands::Made] {
            return Err(NotApplied::Changed);
        }
        if !matches!(timeout_at(end, news.changed()).await, Ok(Ok(()))) {
            let is_made = ops.is_empty() && stands.iter().all(|stands| *stands == Stands::Made);
            return match is_made {
                true => Ok(()),
                false => Err(NotApplied::Refused(why)),
            };
        }
    }
}

/// Waits until the buffer shows the edit. An editor may say "applied" and not have done it, because its buffer
/// was newer (Neovim): then the text that comes back decides. Nothing is ever "corrected" here.
async fn come_back(
    server: &Server,
    sent: &Sent,
    news: &mut watch::Receiver<u64>,
) -> Result<(), NotApplied> {
    if sent.expected == *sent.before {
        return Ok(());
    }
    let mut end = Instant::now() + ECHO;
    let mut other = None;
    loop {
        let session = server.session.get().ok_or(NotApplied::NoEditor)?;
        let Some(buffer) = session.buffers.get(&sent.path) else {
            return Err(NotApplied::Changed);
        };
        let generation = buffer.generation;
        if generation != sent.generation && other != Some(generation) {
            let now = buffer.document.text();
            // An editor's own line ends may have been changed for the whole buffer meanwhile.
            if same_lines(now, &sent.expected) {
                return Ok(());
            }
            if landed::landed(&sent.before, &sent.edits, &sent.expected, now) {
                tracing::info!(
                    "{} came back with more than our edit: the author typed meanwhile",
                    sent.path.display()
                );
                return Ok(());
            }
            other = Some(generation);
            end = end.min(Instant::now() + SECOND_ECHO);
        }
        match timeout_at(end, news.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Err(NotApplied::NoEditor),
            Err(_) if other.is_some() => return Err(NotApplied::Changed),
            Err(_) => {
                return Err(NotApplied::Unknown(format!(
                    "it said so, but the new text did not come for {} s",
                    ECHO.as_secs()
                )));
            }
        }
    }
}

/// Shows the progress of one run under a token that the server makes.
async fn show_progress(
    server: Arc<Server>,
    token: String,
    mut steps: mpsc::UnboundedReceiver<Progress>,
) {
    let Some(Progress::Begin { title }) = steps.recv().await else {
        return;
    };
    if server
        .client
        .request("window/workDoneProgress/create", json!({"token": token}))
        .await
        .is_err()
    {
        return;
    }
    let told = |value: Value| json!({"token": token, "value": value});
    // Without its end it would be shown for ever.
    let must_tell = |value: Value| server.client.notify("$/progress", told(value));
    let title = named(&title, server.capabilities().names_us.progress);
    must_tell(json!({"kind": "begin", "title": title, "cancellable": true}));
    loop {
        let Some(mut step) = steps.recv().await else {
            return must_tell(json!({"kind": "end"}));
        };
        // What came meanwhile is older than the last.
        while !matches!(step, Progress::End { .. }) {
            match steps.try_recv() {
                Ok(newer) => step = newer,
                Err(_) => break,
            }
        }
        match step {
            Progress::Begin { title: message } | Progress::Report { message } => {
                let step = told(json!({"kind": "report", "message": message}));
                server.client.report("$/progress", step);
                tokio::time::sleep(REPORT_EVERY).await;
            }
            Progress::End { message } => {
                return must_tell(json!({"kind": "end", "message": message}));
            }
            Progress::Said { .. } | Progress::Call { .. } | Progress::Called { .. } => {}
        }
    }
}
