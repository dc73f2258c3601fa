//! Every verb by itself: its name, what an agent reads of it, what it takes.

use serde_json::Value;

use super::buffers::{BufferEdit, BufferRead, Diagnostics};
use super::inputs::{
    Clear, Dismiss, GetThreads, NewThread, Process, Respond, RunInput, Say, Servers, Undo,
    WhyInput, WorkflowList, WorkflowSearch, WorkflowThread,
};
use super::{Effect, Verb};
use crate::tools::{self, Registry};

/// What is not said of a verb below.
const PLAIN: Verb = Verb {
    name: "",
    title: "",
    description: "",
    effect: Effect::Reads,
    needs_editor: false,
    takes_long: false,
    of_history: false,
    schema: || Value::Null,
};

pub static GET_THREADS: Verb = Verb {
    name: "get_threads",
    title: "List threads",
    description: "Lists the threads in code comments: conversations of AUTHOR: lines (the person) and AGENT: \
        lines (you), with id, file, 1-based lines, messages and status. `pending` waits for your answer, \
        `awaiting_user` for the person. Reads what is open and unsaved in the editor, where one runs. `cut` tells how \
        many are left out, and how to go on; `summary` counts all.",
    effect: Effect::Reads,
    schema: tools::schema::<GetThreads>,
    ..PLAIN
};

pub static RESPOND_TO_THREAD: Verb = Verb {
    name: "respond_to_thread",
    title: "Answer a thread",
    description: "Writes your answer into a thread as an AGENT: message, and an empty AUTHOR: line below it for \
        the person. Never write these lines yourself. Keep it short, in the past tense. The same answer twice \
        changes nothing.",
    effect: Effect::Adds,
    schema: tools::schema::<Respond>,
    ..PLAIN
};

pub static CLEAR_AND_COMMIT: Verb = Verb {
    name: "clear_and_commit",
    title: "Clear threads and commit",
    description: "Removes every thread of one file and commits that file alone. Only when the person asked for it. \
        A file that is open in the editor is cleared there and committed when the person saves it.",
    effect: Effect::Removes,
    takes_long: true,
    schema: tools::schema::<Clear>,
    ..PLAIN
};

pub static DISMISS_THREAD: Verb = Verb {
    name: "dismiss_thread",
    title: "Remove a thread",
    description: "Removes one thread's lines from its file, without a commit; the conversation stays in the history, \
        or in `note` where it cannot be kept. Only when the person asked for it.",
    effect: Effect::Removes,
    schema: tools::schema::<Dismiss>,
    ..PLAIN
};

pub static PROCESS_ALL_ACTIONS: Verb = Verb {
    name: "process_all_actions",
    title: "Carry out action words",
    description: "Carries out what threads ask for by an action word as their last AUTHOR text: `done` and `reset` \
        remove the thread, `commit` and `commit file` clear the file's threads and commit it.",
    effect: Effect::Removes,
    takes_long: true,
    schema: tools::schema::<Process>,
    ..PLAIN
};

pub static WORKFLOW_THREAD: Verb = Verb {
    name: "workflow_thread",
    title: "Read a run",
    description: "The history of a run (what earlier turns on a thread did), in pages: the request and the newest \
        rounds that fit; a line tells which `before` shows the ones that are left out.",
    effect: Effect::Reads,
    of_history: true,
    schema: tools::schema::<WorkflowThread>,
    ..PLAIN
};

pub static WORKFLOW_LIST: Verb = Verb {
    name: "workflow_list",
    title: "List runs",
    description: "Runs of this workspace, newest first: id, status, thread, file, start, rounds, tokens, cost.",
    effect: Effect::Reads,
    of_history: true,
    schema: tools::schema::<WorkflowList>,
    ..PLAIN
};

pub static WORKFLOW_SEARCH: Verb = Verb {
    name: "workflow_search",
    title: "Search the history",
    description: "Rounds of earlier runs that hold all of these words, newest first.",
    effect: Effect::Reads,
    of_history: true,
    schema: tools::schema::<WorkflowSearch>,
    ..PLAIN
};

pub static WHY: Verb = Verb {
    name: "why",
    title: "Why a line is so",
    description: "Why a line of code is as it is: the commits that shaped it, and the closed conversations (AUTHOR, \
        AGENT) that belong to it. Ask before you change code that looks odd.",
    effect: Effect::Reads,
    schema: tools::schema::<WhyInput>,
    ..PLAIN
};

pub static LSP: Verb = Verb {
    name: "lsp",
    title: "Ask the language server",
    description: "What the language's own server knows: definition, references, hover, diagnostics, symbols, and the \
        edits that a rename takes (none is made). Needs a workspace that the person has trusted.",
    effect: Effect::Reads,
    takes_long: true,
    schema: lsp_schema,
    ..PLAIN
};

pub static DIAGNOSTICS: Verb = Verb {
    name: "diagnostics",
    title: "Diagnostics of a file",
    description: "What is wrong in a file: what postil shows there (threads, near misses, turns that failed), and what \
        the language's own server says, in a workspace that the person has trusted.",
    effect: Effect::Reads,
    takes_long: true,
    schema: tools::schema::<Diagnostics>,
    ..PLAIN
};

pub static BUFFER_READ: Verb = Verb {
    name: "buffer_read",
    title: "Read an open document",
    description: "A document as it stands in the person's editor, saved or not, with its version; without a path, \
        the documents that are open. Needs an editor that has the workspace open.",
    effect: Effect::Reads,
    needs_editor: true,
    schema: tools::schema::<BufferRead>,
    ..PLAIN
};

pub static BUFFER_EDIT: Verb = Verb {
    name: "buffer_edit",
    title: "Edit an open document",
    description: "Replaces a text in a document that is open in the person's editor, where it can be undone and is \
        theirs to save. Refused when the document is no longer at the version that you read, where it would change a \
        thread's lines, and in a workspace that is not trusted; the person may be asked first.",
    effect: Effect::Removes,
    needs_editor: true,
    takes_long: true,
    schema: tools::schema::<BufferEdit>,
    ..PLAIN
};

pub static UNDO: Verb = Verb {
    name: "undo",
    title: "Undo a turn",
    description: "Takes back what the last turn of a run changed.",
    effect: Effect::Removes,
    takes_long: true,
    schema: tools::schema::<Undo>,
    ..PLAIN
};

pub static TURN_FILES: Verb = Verb {
    name: "turn_files",
    title: "Files of a turn",
    description: "The files that an undo of a run would put back.",
    effect: Effect::Reads,
    schema: tools::schema::<RunInput>,
    ..PLAIN
};

pub static SAY: Verb = Verb {
    name: "say",
    title: "Say more",
    description: "Adds the person's message to a thread.",
    effect: Effect::Adds,
    schema: tools::schema::<Say>,
    ..PLAIN
};

pub static NEW_THREAD: Verb = Verb {
    name: "new_thread",
    title: "New thread",
    description: "Starts a thread above a line with the person's message.",
    effect: Effect::Adds,
    schema: tools::schema::<NewThread>,
    ..PLAIN
};

pub static SERVERS: Verb = Verb {
    name: "servers",
    title: "Language servers",
    description: "The language servers that run for the folder.",
    effect: Effect::Reads,
    schema: tools::schema::<Servers>,
    ..PLAIN
};

/// Every verb that agents are offered, in the order of the documents.
pub static ALL: [&Verb; 13] = [
    &GET_THREADS,
    &RESPOND_TO_THREAD,
    &CLEAR_AND_COMMIT,
    &DISMISS_THREAD,
    &PROCESS_ALL_ACTIONS,
    &WORKFLOW_THREAD,
    &WORKFLOW_LIST,
    &WORKFLOW_SEARCH,
    &WHY,
    &LSP,
    &DIAGNOSTICS,
    &BUFFER_READ,
    &BUFFER_EDIT,
];

/// What the person does, whose command line asks an editor's server for it; no agent is offered these.
pub static OF_PERSON: [&Verb; 5] = [&UNDO, &TURN_FILES, &SAY, &NEW_THREAD, &SERVERS];

fn lsp_schema() -> Value {
    let registry = Registry::new(&Default::default());
    let tool = registry.tools().iter().find(|tool| tool.name() == "lsp");
    tool.map_or(Value::Null, |tool| tool.parameters())
}
