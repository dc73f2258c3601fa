//! What a turn would ask first.

use tokio_util::sync::CancellationToken;

use super::{Error, Session, TurnOptions};
use crate::models::ModelError;
use crate::store::{Run, RunStatus};
use crate::tools::{Context, Plan, Registry};
use crate::turn::{self, Job, Preview};

impl Session {
    /// The first request of a turn on this thread; nothing is sent, and nothing is written.
    pub async fn preview(&self, id: &str, options: &TurnOptions) -> Result<Preview, Error> {
        let (view, thread) = self.find_thread(id, None)?;
        let workspace = self.home_of(&view.path)?;
        let loaded = workspace.loaded();
        let settings = self.choosing(&workspace).0;
        let choice = match options.model.as_deref() {
            Some(model) => turn::choose(&settings, Some(model)).await,
            None => self.who_would_answer(&workspace).await,
        };
        let choice = match choice {
            // Nothing is sent.
            Err(ModelError::NoKey(_)) => {
                let model = options.model.as_deref();
                turn::choose_with(&settings, model, &|_| Some(String::from("none"))).await
            }
            choice => choice,
        };
        let choice = choice.map_err(|error| Error::Other(error.to_string()))?;
        let answerer = choice.answerer;
        // Where there is no history yet, looking for one would make it.
        let kept = workspace.has_store();
        let store = kept.then(|| workspace.store()).transpose()?;
        let known = store
            .as_ref()
            .and_then(|store| self.open_run_of(store, &view.path, &thread).ok()?);
        let run = known.unwrap_or_else(|| Run {
            id: String::from("not-begun"),
            thread_id: thread.id.clone(),
            file: self.relative(&view.path),
            status: RunStatus::Queued,
            started: jiff::Timestamp::now(),
            rounds: 0,
            tokens: 0,
            cost: 0.0,
            model: answerer.name(),
            error: None,
        });
        let plan = Plan::of_author(options.plan || !self.is_trusted(workspace.root()));
        let cx = Context {
            store,
            run: run.id.clone(),
            ..self.tool_context(&workspace, plan, CancellationToken::new(), None)
        };
        let job = Job {
            file: self.relative(&view.path),
            path: view.path.clone(),
            thread,
            run,
            answerer,
            max_rounds: loaded.settings.max_rounds,
            max_tokens: loaded.settings.max_tokens,
            max_cost: loaded.settings.max_cost,
            budget: None,
            talk: Vec::new(),
            awaited: false,
            another: false,
        };
        let registry = Registry::new(&loaded.settings);
        Ok(turn::preview(&cx, &registry, &job).await)
    }
}
