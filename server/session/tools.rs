//! A tool that is called by its name, outside a turn.

use std::sync::Arc;

use dashmap::DashMap;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{Error, Session, Workspace};
use crate::present;
use crate::store::{RunStatus, Store};
use crate::tools::{Context, Images, Plan, Registry, Todos};
use crate::trust::Risk;

impl Session {
    /// What a tool works with, where nobody can be asked. `run`: the run that it writes for, and its history.
    pub fn tool_context(
        &self,
        workspace: &Workspace,
        plan: Plan,
        cancel: CancellationToken,
        run: Option<(Arc<Store>, String)>,
    ) -> Context {
        let (store, run) = run.map_or((None, String::new()), |(store, run)| (Some(store), run));
        Context {
            tree: workspace.tree.clone(),
            host: self.host.clone(),
            children: self.children.clone(),
            store,
            run,
            plan,
            trusted: self.is_trusted(workspace.root()),
            cancel,
            gate: self.gate.clone(),
            processes: self.processes(workspace),
            seen: DashMap::new(),
            writing: DashMap::new(),
            question: None,
            todos: Todos::default(),
            images: Images::default(),
            told: Default::default(),
            second: Default::default(),
        }
    }

    /// Calls a tool as a turn would: tools that are switched off and the author's permissions count. One that writes
    /// is a run of its own, so that it can be undone.
    ///
    /// # Errors
    /// When the tool may write and the folder is not trusted; when the tool fails.
    pub async fn call_tool(&self, name: &str, input: Value) -> Result<String, Error> {
        let workspaces = self.workspaces();
        let workspace = workspaces
            .first()
            .ok_or_else(|| Error::Other(String::from("there is no workspace")))?;
        let registry = Registry::new(&workspace.loaded().settings);
        let Some(tool) = registry.tools().iter().find(|tool| tool.name() == name) else {
            return Err(Error::Other(format!(
                "there is no tool `{}`: `postil tools list` shows them",
                present::short(name, 100)
            )));
        };
        let writes = tool.risk() != Risk::Read;
        if writes && !self.is_trusted(workspace.root()) {
            return Err(Error::Untrusted(workspace.root().display().to_string()));
        }
        let run = if writes {
            let store = workspace.store()?;
            let run = store.begin("", "", "postil tools call")?;
            let about = Map::from_iter([(String::from("tool"), json!(name))]);
            store.append(&run.id, "tool_call", about, &input.to_string())?;
            Some((store, run.id))
        } else {
            None
        };
        let cancel = CancellationToken::new();
        let context = self.tool_context(workspace, Plan::default(), cancel, run.clone());
        let answer = registry.call(&context, name, input).await;
        context.processes.end().await;
        if let Some((store, id)) = run {
            let (status, said) = match &answer {
                Ok(said) => (RunStatus::Completed, said),
                Err(said) => (RunStatus::Failed, said),
            };
            store.append(&id, "tool", Map::new(), said)?;
            store.finish(&id, status, answer.as_ref().err().map(String::as_str))?;
        }
        answer.map_err(Error::Other)
    }
}
