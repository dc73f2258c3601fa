//! An outside agent where nothing is configured: the author is asked once whether it shall answer, and the
//! answer is kept in the user's data.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Session;
use crate::acp::{self, Agent};
use crate::config::Settings;
use crate::host::{Host, Level, Question};

/// What the author said.
#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    /// The agent's name; `None`: no agent.
    answers: Option<String>,
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
        let mut closed = self.turns.proposal.lock().await;
        let workspaces = [root.to_owned()];
        if let Some(kept) = self.kept() {
            let agent = acp::agent(&kept.answers?, &settings.agents)?;
            return agent.program(&workspaces).map(|_| Arc::new(agent));
        }
        if *closed {
            return None;
        }
        let agent = acp::installed(&settings.agents, &workspaces)?;
        let question = Question {
            text: format!(
                "Use {}, found on PATH, to answer? It runs as a program of its own with your rights. Asked once; `model` in config.toml changes it.",
                agent.title
            ),
            choices: vec![format!("Use {}", agent.title), String::from("No")],
        };
        let answers = match host.ask(question).await {
            Some(0) => Some(agent.name.clone()),
            Some(_) => None,
            None => {
                *closed = true;
                return None;
            }
        };
        let is_used = answers.is_some();
        if let Err(error) = self.keep_answer(answers) {
            let text = format!(
                "postil: the answer could not be kept and will be asked for again: {error}"
            );
            self.host.message(Level::Warning, &text);
        }
        is_used.then(|| Arc::new(agent))
    }

    fn answer_file(&self) -> PathBuf {
        self.folders.data.join("agents.json")
    }

    fn kept(&self) -> Option<Kept> {
        let text = std::fs::read_to_string(self.answer_file()).ok()?;
        serde_json::from_str(&text).ok()
    }

    fn keep_answer(&self, answers: Option<String>) -> std::io::Result<()> {
        let file = self.answer_file();
        std::fs::create_dir_all(&self.folders.data)?;
        // A temporary file is the user's alone (0600).
        let mut new = tempfile::NamedTempFile::new_in(&self.folders.data)?;
        let kept = Kept {
            version: 1,
            answers,
        };
        new.write_all(&serde_json::to_vec_pretty(&kept)?)?;
        new.as_file().sync_all()?;
        new.persist(&file)?;
        Ok(())
    }
}
