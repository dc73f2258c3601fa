//! An outside agent that the author has not chosen: found where nothing is configured, or named by a repository.
//! They are asked once whether it shall answer, and the answer is kept in the user's data.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use serde::{Deserialize, Serialize};

use super::{Session, Workspace};
use crate::acp::{self, Agent};
use crate::config::{self, Loaded, Place, Settings};
use crate::host::{Host, Level, Question, in_turn};
use crate::models::ModelError;
use crate::trust::Kept;
use crate::turn::{self, Answerer, Choice};

/// What the author said.
#[derive(Default, Serialize, Deserialize)]
struct Answers {
    /// Where nothing is configured: the agent's name; `null`: no agent.
    #[serde(
        default,
        deserialize_with = "known",
        skip_serializing_if = "Option::is_none"
    )]
    answers: Option<Option<String>>,
    /// By name, whether a repository may choose it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    named: BTreeMap<String, bool>,
}

/// What is there, were it `null`.
fn known<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// What became of a question.
enum Said {
    Yes,
    No,
    Nothing,
}

impl Session {
    /// Who answers in a workspace where a turn names nobody, by the settings and by what the author has said of outside
    /// agents; they are not asked.
    pub async fn who_would_answer(&self, workspace: &Workspace) -> Result<Choice, ModelError> {
        let settings = self.choosing(workspace).0;
        let choice = turn::choose(&settings, None).await?;
        match &choice.answerer {
            Answerer::Offline if settings.model.is_none() => {
                let agreed = self.agreed(&settings, workspace.root()).flatten();
                Ok(match agreed {
                    Some(agent) => Choice {
                        answerer: Answerer::Outside(agent),
                        why: String::from(
                            "you chose it when you were asked, and nothing else is configured",
                        ),
                        ..choice
                    },
                    None => choice,
                })
            }
            Answerer::Outside(agent)
                if self.is_trusted(workspace.root())
                    && self.is_named_by_others(&workspace.loaded(), agent)
                    && self.said_of(agent) == Some(false) =>
            {
                turn::choose(&self.own_settings(), None).await
            }
            _ => Ok(choice),
        }
    }

    /// What the author has said to who answers where nothing is configured: an agent, whose program is there, or none.
    /// `None`: they have not said, or it does not count, for the folder is not trusted.
    pub fn agreed(&self, settings: &Settings, root: &Path) -> Option<Option<Arc<Agent>>> {
        let name = self.said().answers.filter(|_| self.is_trusted(root))?;
        let agent = name.and_then(|name| acp::agent(&name, &settings.agents));
        let agent = agent.filter(|agent| agent.program(&[root.to_owned()]).is_some());
        Some(agent.map(Arc::new))
    }

    /// Whether somebody else may have named this agent to answer, and the author's own settings do not know it.
    pub(super) fn is_named_by_others(&self, loaded: &Loaded, agent: &Agent) -> bool {
        let settings = &loaded.settings;
        let model = settings.model.as_deref().unwrap_or_default().trim();
        let named = model.strip_prefix("acp/").unwrap_or(model).trim();
        if loaded.place("model") == Place::Own || named != agent.name {
            return false;
        }
        let own = self.own_settings();
        own.model != settings.model && own.agents.iter().all(|known| known.name != agent.name)
    }

    /// What the author has said to an agent that a repository names.
    fn said_of(&self, agent: &Agent) -> Option<bool> {
        let kept = self.said();
        match kept.answers.as_ref().and_then(Option::as_ref) == Some(&agent.name) {
            true => Some(true),
            false => kept.named.get(&agent.name).copied(),
        }
    }

    /// The agent that answers where nothing is configured, after asking for it once. Where nobody answers, none,
    /// and it is asked another time.
    pub(super) async fn proposed(
        &self,
        settings: &Settings,
        root: &Path,
        host: &dyn Host,
    ) -> Option<Arc<Agent>> {
        // One question, however many turns begin at once.
        let mut closed = in_turn(&self.turns.proposal, host).await;
        if let Some(agreed) = self.agreed(settings, root) {
            return agreed;
        }
        if *closed {
            return None;
        }
        let agent = acp::installed(&settings.agents, &[root.to_owned()])?;
        let why = "found on PATH, to answer? It runs as a program of its own with your rights. Asked once; `model` in config.toml changes it.";
        let chosen = match put(&agent, why, host).await {
            Said::Yes => Some(agent),
            Said::No => None,
            Said::Nothing => {
                *closed = true;
                return None;
            }
        };
        let name = chosen.as_ref().map(|agent| agent.name.clone());
        self.keep_answer(|kept| kept.answers = Some(name));
        chosen.map(Arc::new)
    }

    /// Whether the agent that the settings of `place` name may answer: its program would not run here otherwise. Asked
    /// once.
    pub(super) async fn may_be_chosen(
        &self,
        agent: &Agent,
        place: Place,
        root: &Path,
        host: &dyn Host,
    ) -> bool {
        let _asking = in_turn(&self.turns.proposal, host).await;
        if let Some(may) = self.said_of(agent) {
            return may;
        }
        // What is not there is told of when it is to start.
        if agent.program(&[root.to_owned()]).is_none() {
            return true;
        }
        let place = place.settings();
        let why = format!(
            "which {place} name, to answer? It runs as a program of its own with your rights. Asked once; `model` in your own config.toml needs no question."
        );
        let may = match put(agent, &why, host).await {
            Said::Yes => true,
            Said::No => false,
            Said::Nothing => {
                let text = format!(
                    "{0}, which {place} name, was not used, for nobody allowed it: `model = \"acp/{1}\"` in your own config.toml does, or `--agent {1}` for one turn",
                    agent.title, agent.name
                );
                self.host.message(Level::Warning, &text);
                return false;
            }
        };
        self.keep_answer(|kept| {
            kept.named.insert(agent.name.clone(), may);
        });
        may
    }

    /// The settings of the author alone, without those that may be a repository's.
    pub(super) fn own_settings(&self) -> Settings {
        self.own_loaded().settings
    }

    pub(super) fn own_loaded(&self) -> Loaded {
        let client = self
            .client_settings
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        config::load(&self.folders, None, client.as_ref())
    }

    fn kept_answers(&self) -> Kept<Answers> {
        let file = self.folders.data.join("agents.json");
        Kept::new(file, "the record of agents", "answer again")
    }

    /// # Errors
    /// Why what was said of agents cannot be read.
    pub(super) fn check_answers(&self) -> anyhow::Result<()> {
        self.kept_answers().read().map(drop)
    }

    /// None where they cannot be read: that is told when an answer cannot be kept with them.
    fn said(&self) -> Answers {
        self.kept_answers().read().unwrap_or_default()
    }

    fn keep_answer(&self, put: impl FnOnce(&mut Answers)) {
        if let Err(error) = self.kept_answers().change(put) {
            let text =
                format!("the answer could not be kept and will be asked for again: {error:#}");
            self.host.message(Level::Warning, &text);
        }
    }
}

async fn put(agent: &Agent, why: &str, host: &dyn Host) -> Said {
    let question = Question {
        text: format!("Use {}, {why}", agent.title),
        choices: vec![format!("Use {}", agent.title), String::from("No")],
        last_is_no: true,
    };
    match host.ask(question).await {
        Some(0) => Said::Yes,
        Some(_) => Said::No,
        None => Said::Nothing,
    }
}
