//! Turns that show as failed though none runs or ran here: those of an earlier process, and those that nobody could
//! begin to answer.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Map;
use tokio_util::sync::CancellationToken;

use super::{Entry, Error, Session, Store, answerer};
use crate::config::{PassedOver, Place, Settings};
use crate::host::Level;
use crate::present;
use crate::session::{TurnEnd, TurnOptions, TurnStatus, View, Workspace};
use crate::store::{Run, RunStatus, StoreError};
use crate::threads::Thread;
use crate::turn::Answerer;

/// Runs of one kind that are looked at.
const MANY: usize = 1000;

impl Session {
    /// The turns that failed, or broke off with their process, before this one began. The files that show something
    /// else then. Blocking. Where there is no history, none is made.
    pub fn recall_turns(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for workspace in self.workspaces() {
            if !Store::exists(&self.folders.data, workspace.root()) {
                continue;
            }
            let Ok(store) = workspace.store() else {
                continue;
            };
            let of = |status| store.runs(None, Some(status), MANY).unwrap_or_default();
            let stopped = [of(RunStatus::Failed), of(RunStatus::Interrupted)];
            let mut views: HashMap<String, Option<View>> = HashMap::new();
            for run in stopped.into_iter().flatten() {
                if run.thread_id.is_empty() {
                    continue;
                }
                let path = workspace.path_of(&run.file);
                let view = views
                    .entry(run.file.clone())
                    .or_insert_with(|| self.view(&path).ok());
                let stands = |view: &View| {
                    let asked = view.threads.iter().find(|one| one.id == run.thread_id);
                    Some((asked?.clone(), view.clone()))
                };
                let asked = view.as_ref().and_then(stands);
                let newest = match &asked {
                    Some((asked, view)) => store.run_of_thread(asked, &view.threads, &view.text),
                    None => store.open_run(&run.thread_id),
                };
                if (newest.ok().flatten()).is_none_or(|newest| newest.id != run.id) {
                    continue;
                }
                let why = run.error.clone().unwrap_or_default();
                let why = match run.status {
                    RunStatus::Interrupted => format!("{why}: Reply as agent goes on with it"),
                    _ => why,
                };
                let mut entry = failed(&run, why);
                entry.asked = asked.map(|(asked, view)| (asked, view.threads));
                let whose = (workspace.root().to_owned(), run.thread_id.clone());
                // One that was begun here meanwhile is newer.
                self.turns.by_thread.entry(whose).or_insert_with(|| {
                    files.push(path);
                    self.turns.begin(entry);
                    run.id
                });
            }
        }
        files
    }

    /// Who answers; nobody has to where an action word stands. A turn that nobody can answer has failed as one that
    /// was begun: with a run, where its thread has none that could go on.
    pub(super) async fn who_answers(
        &self,
        workspace: &Workspace,
        (view, thread): (&View, &Thread),
        options: &TurnOptions,
    ) -> Result<Answerer, Error> {
        if thread.action().is_some() {
            return Ok(Answerer::Offline);
        }
        let store = workspace.store()?;
        let stopped = store
            .run_of_thread(thread, &view.threads, &view.text)?
            .filter(|run| matches!(store.last_talk(&run.id), Ok(Some(_))));
        let settings = self.choosing_for(workspace, options);
        let found = answerer(&settings, options, stopped.as_ref()).await;
        // Who names a model that there is not is told so, and no more.
        if let Err(error) = &found
            && stopped.is_none()
            && options.model.is_none()
        {
            self.unanswered(&store, workspace, view, thread, error);
        }
        found
    }

    /// [`Session::choosing`] for a turn that is about to begin; a model that is passed over is told of, once.
    pub(in crate::session) fn choosing_for(
        &self,
        workspace: &Workspace,
        options: &TurnOptions,
    ) -> Settings {
        let (settings, passed) = self.choosing(workspace);
        if options.model.is_none()
            && let Some(text) = passed_over(&passed)
            && self.turns.passed_over.insert(workspace.root().to_owned())
        {
            self.host.message(Level::Warning, &text);
        }
        settings
    }

    fn unanswered(
        &self,
        store: &Store,
        workspace: &Workspace,
        view: &View,
        thread: &Thread,
        error: &Error,
    ) {
        let why = error.to_string();
        let record = || -> Result<Run, StoreError> {
            let run = store.begin(&thread.id, &self.relative(&view.path), "")?;
            let asked = thread.messages.last().map_or("", |message| &message.text);
            let told = store
                .append(&run.id, "user", Map::new(), asked)
                .and_then(|_| store.append(&run.id, "error", Map::new(), &why));
            // In any case: nobody else could take the thread up.
            store.finish(&run.id, RunStatus::Failed, Some(&why))?;
            told?;
            store.run(&run.id)
        };
        match record() {
            Ok(run) => {
                let mut entry = failed(&run, why);
                entry.asked = Some((thread.clone(), view.threads.clone()));
                self.turns.begin(entry);
                let whose = (workspace.root().to_owned(), thread.id.clone());
                self.turns.by_thread.insert(whose, run.id);
                self.host.changed(std::slice::from_ref(&view.path));
            }
            Err(error) => tracing::warn!(%error, "a turn that nobody answered is not recorded"),
        }
    }
}

/// What to say of a model that a repository names, or may have named, and that is not asked.
pub fn passed_over(passed: &PassedOver) -> Option<String> {
    let (name, place) = passed.model.as_ref()?;
    let name = present::short(&present::visible(name), 100);
    let remedy = match place {
        Place::Editor => {
            ". A file of the folder may have set that in the editor: if you did, set `model` in your own config.toml, which counts everywhere"
        }
        _ => "",
    };
    Some(format!(
        "`{name}`, which {} name, is not asked before you trust the folder (`postil trust`): your own choice answers{remedy}",
        place.settings()
    ))
}

/// One that is over.
fn failed(run: &Run, why: String) -> Entry {
    let (thread_id, file) = (run.thread_id.clone(), run.file.clone());
    let mut entry = Entry::new(run, CancellationToken::new(), thread_id, file);
    entry.state.running = false;
    entry.state.failed = true;
    entry.state.message.clone_from(&why);
    entry.end.send_replace(Some(TurnEnd {
        run_id: run.id.clone(),
        thread_id: run.thread_id.clone(),
        file: run.file.clone(),
        status: TurnStatus::Failed,
        answer: None,
        error: Some(why),
        unanswered: false,
    }));
    entry
}
