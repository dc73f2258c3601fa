//! What was said and done before.

use serde_json::{Value, json};
use tower_lsp::jsonrpc::Result;

use super::call::{Call, blocking};
use crate::host::Level;
use crate::lsp::{conversation, from_proto, invalid};
use crate::present;
use crate::store::{Format, RunStatus};
use crate::verbs::{HITS, RUNS, facts, hit};

/// Characters of a message that are shown in a box.
const SHOWN: usize = 1_000;
/// As `postil workflow thread` has it.
const PAGE: usize = 8_000;

impl Call {
    /// With `show` the answer is shown as a document, by an editor that would not show it itself.
    pub(super) async fn why(&self) -> Result<Value> {
        let path = self.need("uri", self.path()?)?;
        let position = self.need("position", self.argument.get("position"))?;
        let position = from_proto::position(position)
            .ok_or_else(|| invalid("`position` is to be {line, character}"))?;
        let line = usize::try_from(position.line).unwrap_or(usize::MAX);
        let show = self.flag("show")? == Some(true);
        self.session.let_close(None).await;
        // git may take its time with a long history.
        let why = blocking(&self.session, move |session| {
            Ok(session.why(&path, line.saturating_add(1))?)
        })
        .await?;
        if show {
            let shows = self.server.capabilities().show_document;
            match why.nothing() {
                None if shows => {
                    let name = format!("why-{}.md", why.line);
                    let written = conversation::written(&self.server, &name, &why.markdown());
                    if let Some(uri) = written {
                        conversation::show(&self.server, &uri, "What was said is in");
                    }
                }
                None => {
                    let told = why.conversations.first();
                    let text = told.map_or_else(String::new, |told| told.text(SHOWN));
                    self.session.host.message(Level::Info, &text);
                }
                Some(nothing) => {
                    let text = [&[nothing], why.more()].concat().join("; ");
                    self.session.host.message(Level::Info, &text);
                }
            }
        }
        Ok(why.json())
    }

    pub(super) fn workflow_thread(&self) -> Result<Value> {
        let budget =
            usize::try_from(self.number("budget")?.unwrap_or(PAGE as u64)).unwrap_or(usize::MAX);
        let before = self.number("before")?;
        let (workspace, run) = self.session.run_of(&self.run_or_thread()?)?;
        let store = workspace.store()?;
        let page = store.page(&run.id, before, budget, Format::Text)?;
        Ok(json!({"run_id": run.id, "status": run.status.name(), "text": page.text}))
    }

    /// How many are told of where nobody says it.
    fn limit(&self, usual: usize) -> Result<usize> {
        let limit = self.number("limit")?;
        Ok(limit.map_or(usual, |limit| usize::try_from(limit).unwrap_or(usize::MAX)))
    }

    pub(super) async fn workflow_list(&self) -> Result<Value> {
        let status = self.text("status")?.map(RunStatus::parse).transpose();
        let status = status.map_err(invalid)?;
        let limit = self.limit(RUNS)?;
        let thread = self.text("thread_id")?.map(str::to_owned);
        blocking(&self.session, move |session| {
            let runs = session.runs(thread.as_deref(), status, limit)?;
            let shown = runs.iter().map(|(store, run)| {
                let asked = store.question(&run.id)?;
                let mut shown = facts(run);
                shown["question"] = json!(asked.map(|asked| present::short(&asked, 200)));
                Ok(shown)
            });
            shown.collect()
        })
        .await
    }

    /// As `postil workflow search --json` has it.
    pub(super) async fn workflow_search(&self) -> Result<Value> {
        let words = self.need("words", self.text("words")?)?.to_owned();
        let limit = self.limit(HITS)?;
        blocking(&self.session, move |session| {
            let hits = session.search(&words, limit)?;
            Ok(hits.iter().map(hit).collect())
        })
        .await
    }
}
