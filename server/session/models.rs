//! Who answers here, who could, and the author's choice among them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::{Error, Session, Workspace};
use crate::config::{self, Place};
use crate::turn::{self, Answerer, Offer};

/// Who answers where a turn names nobody.
#[derive(Clone, Debug, Serialize)]
pub struct Answers {
    /// `provider/model`, `acp/agent` or `offline`; `None`: whoever is named cannot be asked.
    pub model: Option<String>,
    /// Why this one, or why none.
    pub why: String,
}

/// Who answers, and who could.
#[derive(Clone, Debug, Serialize)]
pub struct Models {
    pub answers: Answers,
    pub models: Vec<Offer>,
}

/// What became of a choice.
#[derive(Clone, Debug, Serialize)]
pub struct Selected {
    /// Who answers now.
    pub answers: Answers,
    /// The settings file that has the choice.
    pub file: String,
    /// Why another one answers here all the same.
    pub note: Option<String>,
}

impl Session {
    /// For the workspace of `path`, else the first one.
    pub async fn models(&self, path: Option<&Path>) -> Models {
        let (loaded, roots) = self.settings_for(path);
        Models {
            answers: self.answers(path).await,
            models: turn::offers(&loaded.settings, &roots).await,
        }
    }

    /// Writes the author's choice into their own `config.toml`; `None` leaves it to what is found.
    ///
    /// # Errors
    /// Where whoever is named cannot be asked, or the file cannot be written: it is then as it was.
    pub async fn select_model(
        &self,
        path: Option<&Path>,
        model: Option<&str>,
    ) -> Result<Selected, Error> {
        let failed = Error::Other;
        let model = model.map(str::trim);
        if let Some(name) = model {
            if name.is_empty() {
                return Err(failed(String::from(
                    "no model is named: write `provider/model`, `acp/agent` or `offline`",
                )));
            }
            let own = self.own_settings();
            let choice = turn::choose(&own, Some(name)).await;
            let choice = choice.map_err(|error| failed(error.to_string()))?;
            let (_, roots) = self.settings_for(path);
            if let Answerer::Outside(agent) = &choice.answerer
                && agent.program(&roots).is_none()
            {
                return Err(failed(format!(
                    "{} is not on PATH: {}",
                    agent.title, agent.install
                )));
            }
        }
        config::write_model(&self.folders, model)
            .map_err(|error| failed(format!("the model was not set: {error:#}")))?;
        self.refresh_settings();
        let (loaded, _) = self.settings_for(path);
        let other = (loaded.settings.model.as_deref()).filter(|other| Some(*other) != model);
        let note = other.map(|other| {
            let place = match loaded.source("model") {
                Some("environment") => String::from("POSTIL_MODEL in the environment names"),
                Some("workspace") => format!("{} name", Place::Workspace.settings()),
                _ => format!("{} name", Place::Editor.settings()),
            };
            format!("here {place} {other}, which goes first")
        });
        Ok(Selected {
            answers: self.answers(path).await,
            file: self.folders.config_file().display().to_string(),
            note,
        })
    }

    /// The settings by which it is chosen who answers, and the models of others than the user that are passed over.
    pub fn choosing(&self, workspace: &Workspace) -> (config::Settings, config::PassedOver) {
        let loaded = workspace.loaded();
        let named = ["model", "turn.consult"];
        let is_named = (named.into_iter()).any(|key| loaded.place(key) != Place::Own);
        match is_named && !self.is_trusted(workspace.root()) {
            true => loaded.untrusted(&self.own_settings()),
            false => (loaded.settings.clone(), config::PassedOver::default()),
        }
    }

    /// The settings that hold for a file, and the folders whose programs are none.
    fn settings_for(&self, path: Option<&Path>) -> (Arc<config::Loaded>, Vec<PathBuf>) {
        let workspaces = self.workspaces();
        let loaded = match self.workspace_for(path) {
            Some(workspace) => Arc::new(config::Loaded {
                settings: self.choosing(&workspace).0,
                ..(*workspace.loaded()).clone()
            }),
            None => Arc::new(self.own_loaded()),
        };
        let roots = workspaces.iter().map(|one| one.root().to_owned());
        (loaded, roots.collect())
    }

    /// The workspace of `path`, else the first one.
    fn workspace_for(&self, path: Option<&Path>) -> Option<Arc<Workspace>> {
        let of_path = path.and_then(|path| self.workspace_of(path));
        of_path.or_else(|| self.workspaces().first().cloned())
    }

    async fn answers(&self, path: Option<&Path>) -> Answers {
        let choice = match self.workspace_for(path) {
            Some(workspace) => self.who_would_answer(&workspace).await,
            None => turn::choose(&self.own_settings(), None).await,
        };
        match choice {
            Ok(choice) => Answers {
                model: Some(choice.answerer.name()),
                why: choice.why,
            },
            Err(error) => Answers {
                model: None,
                why: error.to_string(),
            },
        }
    }
}
