//! An outside agent that the author has not chosen: found where nothing is configured, or named by a repository.
//! They are asked once whether it shall answer, and the answer is kept in the user's data.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use serde::{Deserialize, Serialize};

use super::Session;
use crate::acp::{self, Agent};
use crate::config::{self, Loaded, Settings};
use crate::host::{Host, Level, Question, in_turn};
use crate::trust::Kept;

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
        let workspaces = [root.to_owned()];
        if let Some(answers) = self.answers().answers {
            let agent = acp::agent(&answers?, &settings.agents)?;
            return agent.program(&workspaces).map(|_| Arc::new(agent));
        }
        if *closed {
            return None;
        }
        let agent = acp::installed(&settings.agents, &workspaces)?;
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

    /// Whether the agent that a repository names may answer: its program would not run here otherwise. Asked once.
    pub(super) async fn may_be_chosen(&self, agent: &Agent, root: &Path, host: &dyn Host) -> bool {
        let _asking = in_turn(&self.turns.proposal, host).await;
        let kept = self.answers();
        if kept.answers.as_ref().and_then(Option::as_ref) == Some(&agent.name) {
            return true;
        }
        if let Some(may) = kept.named.get(&agent.name) {
            return *may;
        }
        // What is not there is told of when it is to start.
        if agent.program(&[root.to_owned()]).is_none() {
            return true;
        }
        let why = "which this workspace's settings name, to answer? It runs as a program of its own with your rights. Asked once; `model` in your own config.toml needs no question.";
        let may = match put(agent, why, host).await {
            Said::Yes => true,
            Said::No => false,
            Said::Nothing => {
                let text = format!(
                    "{0}, which this workspace's settings name, was not used, for nobody allowed it: `model = \"acp/{1}\"` in your own config.toml does, or `--agent {1}` for one turn",
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

    /// The settings of the author alone, without those of a repository.
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

    /// None where they cannot be read: that is told when an answer cannot be kept with them.
    fn answers(&self) -> Answers {
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
    };
    match host.ask(question).await {
        Some(0) => Said::Yes,
        Some(_) => Said::No,
        None => Said::Nothing,
    }
}
