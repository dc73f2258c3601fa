//! Other heads than the one that answered: a second opinion, another agent in the same thread.

use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{Error, Session, TurnOptions};
use crate::config::Settings;
use crate::host::{Level, Question};
use crate::store::{Run, RunStatus};
use crate::threads::{Role, Status, Thread};
use crate::tools::Asking;
use crate::turn::{self, Answerer};

impl Session {
    /// Asks a second model (`model`, else `turn.consult`) what it thinks of a thread; returns the run that its
    /// answer goes to. The answer comes as a message.
    pub async fn consult(
        self: &Arc<Self>,
        id: &str,
        path: Option<&Path>,
        model: Option<&str>,
    ) -> Result<Run, Error> {
        let (view, thread) = self.find_thread(id, path)?;
        let workspace = self.home_of(&view.path)?;
        let store = workspace.store()?;
        let settings = workspace.loaded().settings.clone();
        let name = model.or(settings.consult.as_deref()).ok_or_else(|| {
            Error::Other(String::from(
                "no second model is configured: set `turn.consult` to a `provider/model`",
            ))
        })?;
        let choice = turn::choose(&settings, Some(name))
            .await
            .map_err(|error| Error::Other(error.to_string()))?;
        let Answerer::Model(model) = choice.answerer else {
            return Err(Error::Other(format!(
                "`{name}` is no model: a second opinion is asked of a `provider/model`"
            )));
        };
        let file = self.relative(&view.path);
        let run = match store.runs(Some(&thread.id), None, 1)?.pop() {
            Some(run) => run,
            None => {
                let run = store.begin(&thread.id, &file, &model.name())?;
                store.finish(&run.id, RunStatus::Completed, None)?;
                run
            }
        };
        let session = self.clone();
        let asked = run.clone();
        tokio::spawn(async move {
            let tree = workspace.tree.clone();
            let account = tokio::task::spawn_blocking({
                let (store, run) = (store.clone(), asked.clone());
                move || turn::account(&tree, &store, &run, &file, &thread)
            });
            let asking = Asking {
                model: model.as_ref(),
                host: session.host.as_ref(),
                store: Some(&store),
                run: &asked.id,
                cancel: &CancellationToken::new(),
            };
            if let Err(why) = asking.ask(&account.await.unwrap_or_default()).await {
                session
                    .host
                    .message(Level::Error, &format!("postil: {why}"));
            }
        });
        Ok(run)
    }

    /// Who else could be asked about a thread: what the settings name, but for whoever answered it last.
    pub fn others(&self, path: &Path, thread: &Thread) -> Vec<String> {
        let Some(workspace) = self.workspace_of(path) else {
            return Vec::new();
        };
        let last = workspace
            .store()
            .ok()
            .and_then(|store| store.runs(Some(&thread.id), None, 1).ok()?.pop())
            .map(|run| run.model);
        let mut others = configured(&workspace.loaded().settings);
        others.retain(|name| Some(name) != last.as_ref());
        others
    }

    /// Whether another agent can be asked about a thread: one has answered, and the author has said nothing yet.
    pub fn can_ask_another(&self, path: &Path, thread: &Thread) -> bool {
        thread.status == Status::AwaitingUser
            && thread.messages.iter().any(|m| m.role == Role::Agent)
            && !self.can_go_on(thread, path)
            && !self.others(path, thread).is_empty()
    }

    /// A second agent answers in the thread, read-only, with the diff and the rounds of the first. Which one
    /// (where `options` names none) the author is asked if there are several: `None`, they chose none.
    pub async fn ask_another(
        self: &Arc<Self>,
        id: &str,
        path: Option<&Path>,
        options: TurnOptions,
    ) -> Result<Option<Run>, Error> {
        let (view, thread) = self.find_thread(id, path)?;
        let mut model = options.model.clone();
        if model.is_none() {
            let others = self.others(&view.path, &thread);
            model = match others.as_slice() {
                [] => {
                    return Err(Error::Other(String::from(
                        "no other agent is configured: name one, as in `model = \"provider/model\"`, or set `turn.consult`",
                    )));
                }
                [one] => Some(one.clone()),
                several => {
                    let question = Question {
                        text: String::from("Which agent is asked?"),
                        choices: several.to_vec(),
                    };
                    let taken = self.host.ask(question).await;
                    let taken = taken.and_then(|nth| several.get(nth));
                    let Some(taken) = taken else { return Ok(None) };
                    Some(taken.clone())
                }
            };
        }
        let options = TurnOptions {
            model,
            another: true,
            ..options
        };
        let run = self
            .start_turn(&thread.id, Some(&view.path), options)
            .await?;
        Ok(Some(run))
    }
}

fn configured(settings: &Settings) -> Vec<String> {
    let named = settings.model.iter().chain(&settings.consult).cloned();
    let known = settings.models.keys().cloned();
    let agents = settings.agents.iter().map(|a| format!("acp/{}", a.name));
    let mut all = Vec::new();
    for name in named.chain(known).chain(agents) {
        if name != "offline" && !all.contains(&name) {
            all.push(name);
        }
    }
    all
}
