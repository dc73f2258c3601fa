//! Other heads than the one that answered: a second opinion, another agent in the same thread.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::turns::Task;
use super::{Error, Session, TurnOptions, Workspace};
use crate::acp;
use crate::config::{Loaded, Settings};
use crate::host::{Level, Question};
use crate::models::Model;
use crate::present;
use crate::store::{Run, RunStatus, Store};
use crate::threads::{Message, Role, Status, Thread};
use crate::tools::Asking;
use crate::turn::{self, Answerer};

/// A second opinion to be asked for.
struct Second {
    workspace: Arc<Workspace>,
    store: Arc<Store>,
    path: PathBuf,
    thread: Thread,
    run: Run,
    model: Arc<dyn Model>,
}

impl Second {
    fn asking<'a>(&'a self, session: &'a Session, cancel: &'a CancellationToken) -> Asking<'a> {
        Asking {
            model: self.model.as_ref(),
            host: session.host.as_ref(),
            store: Some(&self.store),
            run: &self.run.id,
            cancel,
        }
    }

    async fn ask(&self, asking: &Asking<'_>) -> Result<String, String> {
        let (workspace, store) = (self.workspace.clone(), self.store.clone());
        let (run, path, thread) = (self.run.clone(), self.path.clone(), self.thread.clone());
        let account = tokio::task::spawn_blocking(move || {
            turn::account(&workspace.tree, &store, &run, &path, &thread)
        });
        let account = account.await.map_err(|error| error.to_string())?;
        let account = account.map_err(|error| error.to_string())?;
        Ok(asking.ask(&account).await?.said)
    }
}

/// The agents on PATH.
pub(super) struct Found {
    when: Instant,
    /// By these settings.
    loaded: Arc<Loaded>,
    names: Vec<String>,
}

/// An editor asks with each move of its cursor, and each of the agents' programs is looked for in each folder of PATH.
const REMEMBERED: Duration = Duration::from_secs(5);

fn agents(workspace: &Workspace, loaded: &Arc<Loaded>) -> Vec<String> {
    let mut kept = workspace
        .agents
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = &*kept
        && found.when.elapsed() < REMEMBERED
        && Arc::ptr_eq(&found.loaded, loaded)
    {
        return found.names.clone();
    }
    let found = acp::found(&loaded.settings.agents, &[workspace.root().to_owned()]);
    let names: Vec<String> = found
        .iter()
        .map(|agent| format!("acp/{}", agent.name))
        .collect();
    *kept = Some(Found {
        when: Instant::now(),
        loaded: loaded.clone(),
        names: names.clone(),
    });
    names
}

impl Session {
    /// Asks a second model (`model`, else `turn.consult`) what it thinks of a thread; returns the run that its
    /// answer goes to. The answer comes as a message.
    pub async fn consult(
        self: &Arc<Self>,
        id: &str,
        path: Option<&Path>,
        model: Option<&str>,
    ) -> Result<Run, Error> {
        let asked = self.second(id, path, model).await?;
        let run = asked.run.clone();
        let session = self.clone();
        tokio::spawn(async move {
            let cancel = CancellationToken::new();
            let asking = asked.asking(&session, &cancel);
            match asked.ask(&asking).await {
                Ok(said) => asking.tell(&said),
                Err(why) => session.host.message(Level::Error, &why),
            }
        });
        Ok(run)
    }

    /// The same, waited for: the run, who was asked, and what they said.
    pub async fn second_opinion(
        &self,
        id: &str,
        model: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<(Run, String, String), Error> {
        let asked = self.second(id, None, model).await?;
        let asking = asked.asking(self, cancel);
        let said = asked.ask(&asking).await.map_err(Error::Other)?;
        Ok((asked.run, asked.model.name(), said))
    }

    async fn second(
        &self,
        id: &str,
        path: Option<&Path>,
        model: Option<&str>,
    ) -> Result<Second, Error> {
        let (view, thread) = self.find_thread(id, path)?;
        let workspace = self.home_of(&view.path)?;
        let store = workspace.store()?;
        let (settings, passed) = self.choosing(&workspace);
        let name = model.or(settings.consult.as_deref()).ok_or_else(|| {
            Error::Other(match passed.consult {
                Some((name, place)) => format!(
                    "`{}`, which {} name, is asked once you trust the folder (`postil trust`)",
                    present::short(&present::visible(&name), 100),
                    place.settings()
                ),
                None => String::from(
                    "no second model is configured: set `turn.consult` to a `provider/model`",
                ),
            })
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
        let run = match self.take_up_run(&store, &view, &thread)? {
            Some(run) => run,
            None => {
                let run = store.begin(&thread.id, &file, &model.name())?;
                store.finish(&run.id, RunStatus::Completed, None)?;
                // There is a conversation now.
                self.host.changed(std::slice::from_ref(&view.path));
                run
            }
        };
        Ok(Second {
            workspace,
            store,
            path: view.path,
            thread,
            run,
            model,
        })
    }

    /// Who could be asked about the threads of a file: what the settings name, then the agents on PATH. A model that a
    /// repository names is none before its folder is trusted.
    pub fn askable(&self, path: &Path) -> Vec<String> {
        let Some(workspace) = self.workspace_of(path) else {
            return Vec::new();
        };
        let loaded = workspace.loaded();
        let mut all = configured(&self.choosing(&workspace).0);
        for name in agents(&workspace, &loaded) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all
    }

    /// Those of [`Self::askable`] that did not answer this thread last.
    pub fn others(&self, path: &Path, thread: &Thread, askable: &[String]) -> Vec<String> {
        let store = self.workspace_of(path).and_then(|home| home.store().ok());
        let last = store
            .and_then(|store| self.open_run_of(&store, path, thread).ok()?)
            .map(|run| run.model);
        let others = askable.iter().filter(|name| Some(*name) != last.as_ref());
        others.cloned().collect()
    }

    /// The name that an answer is written under. The agent that a thread began with writes `AGENT:`; another one
    /// is told apart from it. All models that work in our own loop are one agent, whichever is set at the time.
    pub(super) fn signature(&self, task: &Task) -> Option<String> {
        // The author may have been asked for an agent after the turn was taken.
        let run = task.store.run(&task.run.id);
        let model = run.map_or_else(|_| task.answerer.name(), |run| run.model);
        let own = task.store.first_reply(&task.run.id).ok().flatten();
        let own = own.and_then(|round| Some(round.metadata.get("model")?.as_str()?.to_owned()));
        // The author may have taken the answers out.
        let stands = |m: &Message| m.role == Role::Agent && m.name.is_none();
        let is_other = own.is_some_and(|own| head(&own) != head(&model))
            && task.thread.messages.iter().any(stands);
        (task.options.another || is_other).then(|| short(&model).to_owned())
    }

    /// Whether another agent can be asked about a thread: one has answered, and the author has said nothing yet.
    pub fn can_ask_another(&self, path: &Path, thread: &Thread) -> bool {
        thread.status == Status::AwaitingUser
            && thread.is_answered()
            && !self.can_go_on(thread, path)
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
            let others = self.others(&view.path, &thread, &self.askable(&view.path));
            // A repository's word for one is not the author's.
            let configured = configured(&self.own_settings());
            model = match others.as_slice() {
                [] => {
                    return Err(Error::Other(String::from(
                        "no other agent is configured or on PATH: name one, as in `model = \"provider/model\"`, or set `turn.consult`",
                    )));
                }
                [one] if configured.contains(one) => Some(one.clone()),
                // What is merely found is not started before the author has seen its name.
                several => {
                    let none = [String::from("None")];
                    let question = Question {
                        text: String::from(
                            "Which agent is asked? It reads the thread and what the first one changed.",
                        ),
                        choices: several.iter().chain(&none).cloned().collect(),
                        last_is_no: true,
                    };
                    let taken = self.host.ask(question).await;
                    if taken.is_none() {
                        let text = format!(
                            "no other agent was chosen; name one of {} as `model`",
                            several.join(", ")
                        );
                        self.host.message(Level::Info, &text);
                    }
                    let Some(taken) = taken.and_then(|nth| several.get(nth)) else {
                        return Ok(None);
                    };
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

/// An outside agent by its name; everything else is postil's own loop. The built-in answers are nobody's.
fn head(model: &str) -> &str {
    model.strip_prefix("acp/").unwrap_or("postil")
}

/// As it stands in a marker's parentheses.
fn short(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}
