//! Code actions and lenses: what can be done with the threads of a file, as far as it applies now.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionTriggerKind,
    CodeLens, CodeLensParams, Command, Diagnostic, Url,
};

use super::{Params, Server, fixes, invalid, margin, to_proto};
use crate::present;
use crate::session::Session;
use crate::threads::{Status, Thread};

/// Kind of what concerns the whole file.
const SOURCE: &str = "source.postil";

struct Offer<'a> {
    server: &'a Server,
    params: &'a CodeActionParams,
    actions: Vec<CodeActionOrCommand>,
    /// Who could be asked, looked for once for all threads.
    askable: OnceCell<Vec<String>>,
}

/// `textDocument/codeAction`.
pub(super) fn answer(server: &Arc<Server>, params: Params) -> Result<Value> {
    let actions = code_actions(server, &read(params.unwrap_or_default())?)?;
    serde_json::to_value(actions).map_err(|_| Error::internal_error())
}

/// An editor hands on what other servers say of these lines, which need not be as the types here have it: of that only
/// what they can hold is taken. Our own are as we made them.
fn read(mut params: Value) -> Result<CodeActionParams> {
    if let Some(params) = params.as_object_mut() {
        let context = params.entry("context").or_insert(Value::Null);
        if context.is_null() {
            *context = json!({});
        }
        if let Some(context) = context.as_object_mut() {
            let all = context.remove("diagnostics").unwrap_or_default();
            let all = all.as_array().cloned().unwrap_or_default();
            let known = all
                .into_iter()
                .filter(|one| Diagnostic::deserialize(one).is_ok());
            context.insert(String::from("diagnostics"), known.collect());
        }
    }
    serde_json::from_value(params).map_err(|error| invalid(error.to_string()))
}

fn code_actions(
    server: &Arc<Server>,
    params: &CodeActionParams,
) -> Result<Vec<CodeActionOrCommand>> {
    let session = server.session()?;
    let uri = params.text_document.uri.as_str();
    // An editor may be set, by a repository too, to take all of a kind with each save: that is no hand.
    let only = params.context.only.as_deref().unwrap_or_default();
    let trigger = params.context.trigger_kind;
    if trigger == Some(CodeActionTriggerKind::AUTOMATIC) && !only.is_empty() {
        return Ok(Vec::new());
    }
    let Some(path) = server.fit(uri) else {
        return Ok(Vec::new());
    };
    let Ok(view) = session.view(&path) else {
        return Ok(Vec::new());
    };
    let mut offer = Offer {
        server,
        params,
        actions: Vec::new(),
        askable: OnceCell::new(),
    };
    let lines = params.range.start.line as usize..=params.range.end.line as usize;
    let here: Vec<&Thread> = view
        .threads
        .iter()
        .filter(|thread| {
            thread.first_line() <= *lines.end() && *lines.start() <= thread.last_line()
        })
        .collect();
    for thread in &here {
        offer.thread(session, &path, thread, here.len() > 1);
    }
    let is_inside = session.workspace_of(&path).is_some();
    if is_inside && here.iter().any(|thread| !session.is_at_work(&path, thread)) {
        let kind = CodeActionKind::from(format!("{SOURCE}.clearAndCommit"));
        let argument = json!({"uri": uri});
        offer.add(
            "Clear threads and commit file",
            kind,
            "clearAndCommit",
            argument,
            None,
        );
    }
    if offer.wanted(&CodeActionKind::QUICKFIX) {
        let fixes = fixes::offered(server, session, &view, params, &lines);
        offer.actions.extend(fixes);
    }
    if !is_inside {
        return Ok(offer.actions);
    }
    if here.is_empty() {
        let argument =
            json!({"uri": uri, "position": {"line": params.range.start.line, "character": 0}});
        let has_comments = view.syntax.language().is_none_or(|l| !l.no_comments);
        if has_comments || view.syntax.takes_comments(&view.text) {
            offer.add(
                "New thread here",
                CodeActionKind::REFACTOR_REWRITE,
                "newThread",
                argument.clone(),
                None,
            );
        }
        // git is asked when it is taken, not before.
        let mut argument = argument;
        argument["show"] = json!(true);
        offer.add(
            "Why is this so?",
            CodeActionKind::REFACTOR_REWRITE,
            "why",
            argument,
            None,
        );
    }
    let pending = view
        .threads
        .iter()
        .any(|thread| thread.status == Status::Pending && !session.is_at_work(&view.path, thread));
    if pending {
        let kind = CodeActionKind::from(format!("{SOURCE}.replyAll"));
        offer.add(
            "Reply to all pending",
            kind,
            "replyAll",
            json!({"uri": uri, "ask": true}),
            None,
        );
    }
    Ok(offer.actions)
}

/// Other agents that are offered by name; where there are more, one action asks which.
const OTHERS: usize = 4;

/// What is offered at a thread: a title, a verb, and what that takes beside the thread.
type Entry = (String, &'static str, Value);

fn entry(title: &str, verb: &'static str) -> Entry {
    (title.to_owned(), verb, json!({}))
}

/// The answers to what is asked in the thread, or by its turn.
fn choices(session: &Session, path: &Path, thread: &Thread) -> Vec<Entry> {
    let (run, choices) = match session.question_of(path, &thread.id) {
        Some((run, question)) => (Some(run), question.choices),
        None if session.is_at_work(path, thread) => (None, Vec::new()),
        None => (None, present::choices(thread)),
    };
    let answer = |choice: String| {
        let mut argument = json!({"text": choice});
        if let Some(run) = &run {
            argument["run_id"] = json!(run);
        }
        (present::visible(&choice), "choose", argument)
    };
    choices.into_iter().map(answer).collect()
}

impl Offer<'_> {
    fn thread(&mut self, session: &Session, path: &Path, thread: &Thread, several: bool) {
        if !self.wanted(&CodeActionKind::QUICKFIX) {
            return;
        }
        for (title, verb, mut argument) in self.entries(session, path, thread) {
            let title = match several {
                true => format!("{title}: {}", present::title(thread)),
                false => title,
            };
            argument["uri"] = json!(self.params.text_document.uri);
            argument["thread_id"] = json!(thread.id);
            let kind = CodeActionKind::QUICKFIX;
            self.add(&title, kind, verb, argument, Some(&thread.id));
        }
    }

    fn entries(&self, session: &Session, path: &Path, thread: &Thread) -> Vec<Entry> {
        let Some(workspace) = session.workspace_of(path) else {
            // Nothing can be done with a thread outside every folder. One action stays: taken, it says what to do.
            return vec![match thread.status {
                Status::Pending => entry("Reply as agent", "replyAsAgent"),
                Status::AwaitingUser => entry("Reply (author)", "reply"),
            }];
        };
        let run = session.past_run(path, thread);
        let conversation = run
            .as_ref()
            .map(|_| entry("Open conversation", "openConversation"));
        if session.is_at_work(path, thread) {
            let mut all = vec![entry("Cancel", "cancelTurn")];
            all.extend(choices(session, path, thread));
            all.extend(conversation);
            return all;
        }
        let mut all = Vec::new();
        if thread.status == Status::AwaitingUser && session.can_go_on(thread, path) {
            all.push(entry("Continue", "continue"));
        }
        all.extend(choices(session, path, thread));
        if thread.status == Status::Pending {
            all.push(entry("Reply as agent", "replyAsAgent"));
            all.push(entry("Plan only (read-only)", "plan"));
        }
        let is_answered = thread.is_answered();
        if is_answered && workspace.loaded().settings.consult.is_some() {
            all.push(entry("Ask for a second opinion", "consult"));
        }
        all.push(entry("Reply (author)", "reply"));
        all.push(entry("Resolve (remove thread)", "dismissThread"));
        if session.can_ask_another(path, thread) {
            all.extend(self.others(session, path, thread));
        }
        all.extend(conversation);
        let changed = run.and_then(|run| workspace.store().ok()?.changed_turn(&run.id).ok()?);
        if let Some(turn) = changed {
            // Taken twice, it takes back no other turn.
            let argument = json!({"turn": turn});
            all.push((String::from("Undo last turn"), "undoTurn", argument));
        }
        all
    }

    /// One action for each other agent, for not every editor can show a question with buttons.
    fn others(&self, session: &Session, path: &Path, thread: &Thread) -> Vec<Entry> {
        let askable = self.askable.get_or_init(|| session.askable(path));
        let others = session.others(path, thread, askable);
        let named = others.iter().take(OTHERS).map(|other| {
            let shown = present::visible(other.strip_prefix("acp/").unwrap_or(other));
            let title = format!("Ask another agent: {shown}");
            (title, "askAnother", json!({"model": other}))
        });
        let mut all: Vec<Entry> = named.collect();
        if others.len() > OTHERS {
            all.push(entry("Ask another agent …", "askAnother"));
        }
        all
    }

    /// Kinds are hierarchical: who asks for `source` wants `source.postil.replyAll`. What is of that kind may be taken
    /// with a save, and some editors do not say so: it needs to be asked for by hand.
    fn wanted(&self, kind: &CodeActionKind) -> bool {
        let only = self.params.context.only.as_deref().unwrap_or_default();
        let by_hand = match self.params.context.trigger_kind {
            Some(trigger) => trigger == CodeActionTriggerKind::INVOKED,
            None => only.is_empty(),
        };
        if kind.as_str().starts_with(SOURCE) && !by_hand {
            return false;
        }
        let below = |wanted: &CodeActionKind| {
            let rest = kind.as_str().strip_prefix(wanted.as_str());
            wanted.as_str().is_empty()
                || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        only.is_empty() || only.iter().any(below)
    }

    fn add(
        &mut self,
        title: &str,
        kind: CodeActionKind,
        verb: &str,
        argument: Value,
        thread: Option<&str>,
    ) {
        if !self.wanted(&kind) {
            return;
        }
        let client = self.server.capabilities();
        let title = client.title(title);
        let command = Command {
            title: title.clone(),
            command: format!("{}{verb}", client.prefix),
            arguments: Some(vec![argument]),
        };
        if !client.code_action_literals {
            return self.actions.push(CodeActionOrCommand::Command(command));
        }
        let about = |diagnostic: &&Diagnostic| {
            let id = diagnostic
                .data
                .as_ref()
                .and_then(|data| data.get("thread_id"))
                .and_then(Value::as_str);
            id.is_some() && id == thread
        };
        let diagnostics: Vec<_> = self
            .params
            .context
            .diagnostics
            .iter()
            .filter(about)
            .cloned()
            .collect();
        self.actions
            .push(CodeActionOrCommand::CodeAction(CodeAction {
                title,
                is_preferred: (verb == "replyAsAgent").then_some(true),
                kind: Some(kind),
                diagnostics: (!diagnostics.is_empty()).then_some(diagnostics),
                command: Some(command),
                ..CodeAction::default()
            }));
    }
}

/// Over each thread: what it waits for, and what to do.
pub(super) fn lenses(server: &Arc<Server>, params: &CodeLensParams) -> Result<Vec<CodeLens>> {
    let session = server.session()?;
    let uri: &Url = &params.text_document.uri;
    let Some(path) = server.fit(uri.as_str()) else {
        return Ok(Vec::new());
    };
    let Ok(view) = session.view(&path) else {
        return Ok(Vec::new());
    };
    let document = to_proto::document(&view);
    let client = server.capabilities();
    let range = |thread: &Thread| {
        let first = thread.messages.first();
        let marker = first.map_or(0..0, |message| message.marker.clone());
        to_proto::typed_range(document.range(&marker, client.encoding))
    };
    let lens = |thread: &Thread, range, title, verb: &str| CodeLens {
        range,
        command: Some(Command {
            title,
            command: format!("{}{verb}", client.prefix),
            arguments: Some(vec![json!({"uri": uri, "thread_id": thread.id})]),
        }),
        data: None,
    };
    if session.workspace_of(&path).is_none() {
        // Nothing else can be done with any of them. Pressed, it says so in a sentence.
        let title = String::from("Outside the workspace: open its folder");
        let first = view.threads.first();
        let one = first.map(|thread| lens(thread, range(thread), title, "replyAsAgent"));
        return Ok(Vec::from_iter(one));
    }
    let mut all = Vec::new();
    let past = margin::past(session, &view);
    let first_line = |thread: &Thread| thread.messages.first().map(|message| message.line);
    let mut on_line: HashMap<_, usize> = HashMap::new();
    for thread in view.threads.iter() {
        *on_line.entry(first_line(thread)).or_default() += 1;
    }
    for (thread, past) in view.threads.iter().zip(past) {
        let range = range(thread);
        // Beside those of others the first one of each says whose they are.
        let several = on_line
            .get(&first_line(thread))
            .is_some_and(|&many| many > 1);
        let mut whose = several.then(|| present::short(&present::title(thread), 30));
        let mut add = |title: String, verb: &str| {
            let title = match whose.take() {
                Some(whose) => format!("{whose}: {title}"),
                None => title,
            };
            all.push(lens(thread, range, title, verb));
        };
        match session.turn_of(&path, thread).filter(|turn| turn.running) {
            Some(turn) => add(
                format!("{} · Cancel", present::short(&turn.message, 80)),
                "cancelTurn",
            ),
            None if thread.status == Status::Pending => {
                add(String::from("Reply as agent"), "replyAsAgent");
                add(String::from("Resolve"), "dismissThread");
            }
            None => {
                if margin::is_paused(session, &path, thread, past) {
                    add(String::from("Continue"), "continue");
                }
                add(format!("{} · Reply", present::state(thread)), "reply");
                add(String::from("Resolve"), "dismissThread");
            }
        }
    }
    Ok(all)
}
