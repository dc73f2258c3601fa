//! L4. The tools of an agent: one registry, one file per tool below `tools/`. tools.md.
//!
//! Whatever a model sends, the answer is text: a wrong name, a wrong parameter, a refusal and a defect
//! of a tool alike. No tool changes a file but by way of `tools/change.rs`.

mod ask_user;
mod bash;
mod bash_background;
mod bash_kill;
mod bash_list;
mod bash_output;
mod change;
mod consult;
mod file_edit;
mod file_read;
mod file_write;
mod git_status;
mod glob;
mod grep;
mod http_request;
mod images;
mod input;
mod known;
mod list_files;
mod log_read;
mod lsp;
mod memory;
mod patch;
mod patch_apply;
mod permit;
mod plan;
#[cfg(test)]
mod tests;
mod think;
mod todo;
mod told;
mod web_fetch;

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use dashmap::DashMap;
use futures::{FutureExt, StreamExt};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::children::Children;
use crate::config::{Action, Settings, wildcard};
use crate::files::Tree;
use crate::host::Host;
use crate::models::Model;
use crate::sandbox::Processes;
use crate::store::Store;
use crate::trust::{self, Risk};

use permit::{each_time, permit};

pub use ask_user::Asked;
pub use change::{FileChange, Patience, Unchanged, change_file, change_files, minimal_edits};
pub use consult::{Asking, Beside};
pub use file_edit::Words;
pub use images::{Image, Images};
pub use input::{parse, schema};
pub use known::Known;
pub use memory::facts;
pub use permit::{Gate, quoted};
pub use plan::Plan;
pub use todo::{Todos, todo_lines};
pub use told::Told;

/// What a tool works with: the run's root, the face, the children.
pub struct Context {
    pub tree: Arc<Tree>,
    pub host: Arc<dyn Host>,
    pub children: Arc<Children>,
    pub store: Option<Arc<Store>>,
    pub run: String,
    /// Read-only while it is on: writing tools are refused.
    pub plan: Plan,
    pub trusted: bool,
    pub cancel: CancellationToken,
    /// Questions to the author, and what was granted.
    pub gate: Arc<Gate>,
    /// The commands of this run.
    pub processes: Arc<Processes>,
    /// What this run has read, by absolute path.
    pub seen: DashMap<PathBuf, Known>,
    /// One write at a time for a file.
    pub writing: DashMap<PathBuf, Arc<tokio::sync::Mutex<()>>>,
    /// Where `ask_user` leaves its question for the turn; `None`: nobody can be asked.
    pub question: Option<Mutex<Option<Asked>>>,
    /// What the agent means to do.
    pub todos: Todos,
    /// What the calls since the last answer have to show.
    pub images: Images,
    /// What the agent knows of the workspace.
    pub told: Told,
    pub second: Beside,
}

impl Context {
    /// Held from the read that a write is based on until it is made.
    async fn lock(&self, path: &Path) -> tokio::sync::OwnedMutexGuard<()> {
        let lock = Arc::clone(&self.writing.entry(path.to_owned()).or_default());
        lock.lock_owned().await
    }

    /// The same of several; in one order for everybody, so that no two wait for each other.
    async fn lock_all(&self, paths: &BTreeSet<PathBuf>) -> Vec<tokio::sync::OwnedMutexGuard<()>> {
        let mut locks = Vec::new();
        for path in paths {
            locks.push(self.lock(path).await);
        }
        locks
    }

    /// The question that `ask_user` left.
    pub fn take_question(&self) -> Option<Asked> {
        let place = self.question.as_ref()?;
        place.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn is_asked(&self) -> bool {
        self.question.as_ref().is_some_and(|place| {
            place
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_some()
        })
    }

    /// For messages.
    pub fn shown(&self, path: &Path) -> String {
        self.tree
            .relative(path)
            .unwrap_or_else(|| path.display().to_string())
    }
}

/// An error is text for the model; it never ends the turn.
pub type Output = Result<String, String>;

#[async_trait]
pub trait Tool: Send + Sync {
    fn name(&self) -> &'static str;
    fn description(&self) -> String;
    /// JSON schema, made from the typed input.
    fn parameters(&self) -> Value;
    fn risk(&self) -> Risk;
    /// Whether it has what it needs; what has not is not offered to a model.
    fn is_ready(&self) -> bool {
        true
    }
    /// What is wrong with the parameters, before anybody is asked for permission.
    fn check(&self, _input: &Value) -> Result<(), String> {
        Ok(())
    }
    /// What a call is about, as permission rules and questions name it: a path relative to the root, a
    /// command, an address.
    fn about(&self, cx: &Context, input: &Value) -> String {
        let path = input
            .get("path")
            .and_then(Value::as_str)
            .unwrap_or_default();
        match cx.tree.resolve(path) {
            Ok(resolved) if !path.is_empty() => cx.shown(&resolved),
            // All of it: an approval covers what was shown.
            _ if path.is_empty() => input.to_string(),
            _ => path.to_owned(),
        }
    }
    /// The same where a call is about several: each must be allowed.
    fn about_all(&self, cx: &Context, input: &Value) -> Vec<String> {
        vec![self.about(cx, input)]
    }
    /// The files that a call names, as it names them.
    fn names(&self, input: &Value) -> Vec<String> {
        let path = input.get("path").and_then(Value::as_str);
        path.map(str::to_owned).into_iter().collect()
    }
    /// What a rule may name to deny a call, beside what the call is about.
    fn denied_by(&self, _input: &Value) -> Option<String> {
        None
    }
    /// Whether a call of a tool that is more than reading only looks: plan mode lets it.
    fn looks(&self, _input: &Value) -> bool {
        false
    }
    /// Whether it tells of what goes on by itself: the same call again with another result is no circle.
    fn watches(&self) -> bool {
        false
    }
    /// Why this call is asked about each time, whatever was granted.
    fn each_time(&self, _cx: &Context, _about: &str) -> Option<String> {
        None
    }
    async fn call(&self, cx: &Context, input: Value) -> Output;
}

/// Something that is done outside of our own tools, named as one of them.
pub struct Deed {
    pub tool: &'static str,
    pub risk: Risk,
    /// What it is about, as rules and questions name it.
    pub about: String,
    /// What a rule may name to deny it, beside that.
    pub denied_by: Vec<String>,
    /// The file that is changed, by the name it was given, where [`change_file`] does it.
    pub name: Option<String>,
    /// The whole of it: two may be about one thing.
    pub input: String,
    /// Why it is asked whatever was allowed before.
    pub always: Option<String>,
}

impl Deed {
    pub fn new(tool: &'static str, risk: Risk, about: String) -> Self {
        Self {
            tool,
            risk,
            about,
            denied_by: Vec::new(),
            name: None,
            input: String::new(),
            always: None,
        }
    }
}

/// Every tool there is, and what the settings say of them.
pub struct Registry {
    tools: Vec<Arc<dyn Tool>>,
    settings: Arc<Settings>,
}

/// These change what the calls beside them mean, so a batch with one of them runs in order.
const IN_ORDER: &[&str] = &["ask_user", "plan_enter", "plan_exit"];

/// Calls of one answer that run at the same time.
const AT_ONCE: usize = 16;

impl Registry {
    /// With the user's permissions; a tool that is switched off is refused.
    pub fn new(settings: &Settings) -> Self {
        let shared = Arc::new(settings.clone());
        Self {
            tools: vec![
                Arc::new(file_read::FileRead),
                Arc::new(file_write::FileWrite),
                Arc::new(file_edit::FileEdit::default()),
                Arc::new(patch_apply::PatchApply),
                Arc::new(grep::Grep::new(Arc::clone(&shared))),
                Arc::new(glob::Glob),
                Arc::new(list_files::ListFiles),
                Arc::new(git_status::GitStatus),
                Arc::new(lsp::Lsp::new(Arc::clone(&shared))),
                Arc::new(think::Think),
                Arc::new(ask_user::AskUser),
                Arc::new(todo::TodoRead),
                Arc::new(todo::TodoWrite),
                Arc::new(plan::PlanEnter),
                Arc::new(plan::PlanExit),
                Arc::new(memory::MemoryRead),
                Arc::new(memory::MemoryWrite),
                Arc::new(log_read::LogRead),
                Arc::new(bash::Bash::new(settings)),
                Arc::new(bash_background::BashBackground),
                Arc::new(bash_output::BashOutput),
                Arc::new(bash_list::BashList),
                Arc::new(bash_kill::BashKill),
                Arc::new(web_fetch::WebFetch::new(settings)),
                Arc::new(http_request::HttpRequest::new(settings)),
                Arc::new(consult::Consult::default()),
            ],
            settings: shared,
        }
    }

    /// With a second model for `consult` to ask.
    pub fn with_second(mut self, model: Arc<dyn Model>) -> Self {
        self.tools.retain(|tool| tool.name() != consult::NAME);
        self.tools
            .push(Arc::new(consult::Consult { model: Some(model) }));
        self
    }

    /// With `file_edit` speaking of itself in these words.
    pub fn with_words(mut self, words: &'static Words) -> Self {
        self.tools.retain(|tool| tool.name() != file_edit::NAME);
        self.tools.push(Arc::new(file_edit::FileEdit(words)));
        self
    }

    pub fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.tools
    }

    fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// [`Tool::watches`], of what is a tool.
    pub fn watches(&self, name: &str) -> bool {
        self.tool(name).is_some_and(|tool| tool.watches())
    }

    fn is_switched_off(&self, name: &str) -> bool {
        let mut disabled = self.settings.disabled_tools.iter();
        disabled.any(|pattern| wildcard(pattern, name))
    }

    /// Whether all of this may be done that is not carried out here, as if tools of ours did it.
    ///
    /// # Errors
    /// Why not.
    pub async fn may(&self, cx: &Context, deeds: &[Deed]) -> Result<(), String> {
        let decide =
            |deed: &Deed, about: &str| trust::decide(&self.settings, deed.tool, deed.risk, about);
        // Nobody is asked about one thing where another is denied.
        for deed in deeds {
            if self.is_switched_off(deed.tool) {
                return Err(switched_off(deed.tool));
            }
            if deed.risk > Risk::Read {
                may_change(cx, deed.tool)?;
            }
            let mut abouts = std::iter::once(&deed.about).chain(&deed.denied_by);
            if let Some(about) = abouts.find(|about| decide(deed, about) == Action::Deny) {
                return Err(format!(
                    "{} is not allowed by the author's permissions.",
                    quoted(about).0
                ));
            }
        }
        for deed in deeds {
            let (about, always) = (&deed.about, deed.always.as_deref());
            // As in a call of a tool.
            let later = deed.name.is_some() && trust::guarded(cx.tree.root(), about).is_some();
            if always.is_some() || !later && decide(deed, about) == Action::Ask {
                permit(cx, deed.tool, deed.risk, about, &deed.input, always).await?;
            }
            ask_for_names(cx, deed.name.iter().cloned().collect()).await?;
        }
        Ok(())
    }

    /// Checks name, mode, trust, parameters and permission, then calls.
    pub async fn call(&self, cx: &Context, name: &str, input: Value) -> Output {
        let Some(tool) = self.tool(name) else {
            return Err(format!("Unknown tool: {name}"));
        };
        if self.is_switched_off(name) {
            return Err(switched_off(name));
        }
        let risk = tool.risk();
        let looks = tool.looks(&input);
        if risk > Risk::Read {
            may_act(cx, name, looks)?;
        }
        let input = if input.is_null() {
            Value::Object(Default::default())
        } else {
            input
        };
        tool.check(&input)?;
        let denied_by = tool.denied_by(&input);
        if let Some(about) = denied_by
            && trust::decide(&self.settings, name, risk, &about) == Action::Deny
        {
            return Err(denied(name, &about));
        }
        let decided: Vec<(String, Action)> = tool
            .about_all(cx, &input)
            .into_iter()
            .map(|about| {
                let decision = trust::decide(&self.settings, name, risk, &about);
                (about, decision)
            })
            .collect();
        // Nobody is asked about one thing where another is denied.
        if let Some((about, _)) = decided.iter().find(|(_, d)| *d == Action::Deny) {
            return Err(denied(name, about));
        }
        for (about, decision) in decided {
            let each_time = tool.each_time(cx, &about);
            // A guarded file is asked about where it is written, once and not twice.
            let later = decision == Action::Ask
                && risk == Risk::Write
                && trust::guarded(cx.tree.root(), &about).is_some();
            if !later && (decision == Action::Ask || each_time.is_some()) {
                let input = input.to_string();
                permit(cx, name, risk, &about, &input, each_time.as_deref()).await?;
            }
        }
        if risk == Risk::Write {
            ask_for_names(cx, tool.names(&input)).await?;
        }
        // A defect of one tool is that call's error, not the turn's end.
        let output = AssertUnwindSafe(tool.call(cx, input))
            .catch_unwind()
            .await
            .unwrap_or_else(|_| {
                tracing::error!(tool = name, "a tool panicked");
                Err(format!(
                    "Tool {name} failed by a defect of postil; do it another way."
                ))
            });
        // What comes from outside is no text of the workspace.
        if risk < Risk::Send {
            let (Ok(text) | Err(text)) = &output;
            cx.told.hear(text);
        }
        output
    }

    /// The calls of one model answer, concurrently where they may; answers in call order.
    pub async fn call_all(&self, cx: &Context, calls: Vec<(String, Value)>) -> Vec<Output> {
        let at_once = if calls
            .iter()
            .any(|(name, _)| IN_ORDER.contains(&name.as_str()))
        {
            1
        } else {
            AT_ONCE
        };
        let calls = calls
            .into_iter()
            .map(|(name, input)| async move {
                // In order, so that nothing is done behind a question that is open.
                if at_once == 1 && cx.is_asked() {
                    return Err(format!(
                        "Not carried out: the author is asked first. Call {name} again when you have the answer, if it is still right."
                    ));
                }
                self.call(cx, &name, input).await
            });
        futures::stream::iter(calls)
            .buffered(at_once)
            .collect()
            .await
    }
}

/// Asks for each file that is guarded by the name that a call gives it, a link's.
async fn ask_for_names(cx: &Context, names: Vec<String>) -> Result<(), String> {
    let root = cx.tree.root();
    for name in names {
        let Some(why) = trust::named(root, Path::new(&name)) else {
            continue;
        };
        // What is guarded itself is asked about where it is written.
        let resolved = cx.tree.resolve(&name);
        if resolved.is_ok_and(|file| trust::guarded(root, &cx.shown(&file)).is_none()) {
            let question = format!("The agent wants to change {}; {why}.", quoted(&name).0);
            each_time(cx, question).await?;
        }
    }
    Ok(())
}

fn switched_off(name: &str) -> String {
    format!("Tool {name} is disabled by user config.")
}

fn denied(name: &str, about: &str) -> String {
    format!(
        "Tool {name} is not allowed for {} by the author's permissions.",
        quoted(about).0
    )
}

/// Whether this run may change anything.
fn may_change(cx: &Context, name: &str) -> Result<(), String> {
    may_act(cx, name, false)
}

/// The same for a call that may only look: it sends, and changes nothing.
fn may_act(cx: &Context, name: &str, looks: bool) -> Result<(), String> {
    if cx.plan.is_authors() && !looks {
        let why = match cx.plan.is_chosen() {
            true => "in plan mode, which the author chose",
            false => "because the author has not allowed edits in this turn",
        };
        return Err(format!(
            "Tool {name} is disabled {why}. Say in your answer what you would change."
        ));
    }
    if cx.plan.is_on() && !looks {
        return Err(format!(
            "Tool {name} is disabled in plan mode. Use plan_exit to re-enable write tools."
        ));
    }
    if !cx.trusted {
        return Err(format!(
            "Tool {name} is disabled because the author has not trusted this workspace; `postil trust` does."
        ));
    }
    if !looks && !cx.host.stands() {
        cx.cancel.cancel();
        return Err(format!(
            "Tool {name} changes nothing: the thread was removed, and the turn ends with it."
        ));
    }
    Ok(())
}

/// What a tool answers at most, in bytes, with what it says of what is left out.
const MAX_OUTPUT: usize = 50 * 1024;
/// Of it, for what it says beside what was asked for.
const NOTES: usize = 512;

/// `text`, or its beginning and how much is left out, within `most` bytes together.
fn within_bytes(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let shown = head(text, most.saturating_sub(NOTES));
    format!(
        "{shown}\n({} of {} bytes are not shown)",
        text.len() - shown.len(),
        text.len()
    )
}

/// The longest beginning of `text` that has at most `max` bytes and splits no character.
fn head(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}
