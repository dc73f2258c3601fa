//! Threads as SARIF 2.1.0, which code hosts show beside the lines. What GitHub's code scanning asks for and
//! its limits are heeded; what is left out is told.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::present::{self, visible};
use crate::session::{Listed, Session, ThreadList, View, Workspace};
use crate::threads::lines::line_start;
use crate::threads::{Status, Thread};

/// Results of one run that GitHub takes; it shows the first 5,000.
const MOST_RESULTS: usize = 25_000;
/// Characters of a message: longer conversations are read in the file.
const LONGEST_MESSAGE: usize = 2000;
/// Bytes below which a file is taken whatever it is compressed to.
pub(super) const SURELY_TAKEN: usize = 10_000_000;

/// A result for each thread, those that wait for the agent first where they are too many; and what is to
/// be told of it, a sentence each.
pub(super) fn to_sarif(session: &Session, list: &ThreadList) -> (Value, Vec<String>) {
    let mut threads: Vec<(&str, &Thread)> = list.found().collect();
    let mut told = Vec::new();
    if threads.len() > MOST_RESULTS {
        told.push(format!(
            "{} of {} threads are in the SARIF: code hosts take no more in one run",
            MOST_RESULTS,
            threads.len()
        ));
        threads.sort_by_key(|(_, thread)| thread.status != Status::Pending);
        threads.truncate(MOST_RESULTS);
    }
    let mut views = Views::new(session);
    let results: Vec<Value> = threads
        .iter()
        .map(|(file, thread)| result(&mut views, file, thread))
        .collect();
    let unread = list.threads.iter().filter_map(|one| match one {
        Listed::Unparsed { file, .. } => Some(format!("{} could not be parsed", visible(file))),
        Listed::Thread { .. } => None,
    });
    let notes: Vec<Value> = unread
        .chain(list.skipped.iter().map(|skipped| visible(skipped)))
        .chain(told.iter().cloned())
        .map(|note| json!({"level": "note", "message": {"text": note}}))
        .collect();
    let sarif = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "postil",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": RULES.iter().map(Rule::to_json).collect::<Vec<_>>(),
            }},
            "automationDetails": {"id": "postil/"},
            "invocations": [{"executionSuccessful": !list.misses_some(), "toolExecutionNotifications": notes}],
            "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The workspace folder"}}},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    (sarif, told)
}

struct Rule {
    id: &'static str,
    name: &'static str,
    short: &'static str,
    full: &'static str,
    help: &'static str,
    level: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        id: "pending",
        name: "ThreadWaitsForAnAgent",
        short: "A thread waits for an answer",
        full: "The last message of this conversation in a comment is the author's: nobody has answered it yet.",
        help: "Have it answered (`postil reply ID`), answer it by hand (`postil respond ID`), or remove it (`postil dismiss ID`).",
        level: "warning",
    },
    Rule {
        id: "awaiting_user",
        name: "ThreadWaitsForItsAuthor",
        short: "A thread waits for its author",
        full: "The last message of this conversation in a comment is the agent's: its author goes on with it or removes it.",
        help: "Go on with it (`postil say ID`), remove it (`postil dismiss ID`), or clear the file's threads and commit it (`postil clear FILE`).",
        level: "note",
    },
];

impl Rule {
    fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "shortDescription": {"text": self.short},
            "fullDescription": {"text": self.full},
            "help": {"text": self.help, "markdown": self.help},
            "defaultConfiguration": {"level": self.level},
            "properties": {"tags": ["review"], "problem.severity": if self.level == "note" { "recommendation" } else { "warning" }},
        })
    }
}

fn result(views: &mut Views, file: &str, thread: &Thread) -> Value {
    let said = thread.messages.iter().filter(|m| !m.text.is_empty());
    let said: Vec<String> = said
        .map(|message| {
            let lines: Vec<_> = message.text.lines().map(visible).collect();
            format!("{}: {}", present::marker(message), lines.join("\n"))
        })
        .collect();
    let (index, rule) = RULES
        .iter()
        .enumerate()
        .find(|(_, rule)| rule.id == thread.status.name())
        .map_or((0, "pending"), |(index, rule)| (index, rule.id));
    let level = RULES.get(index).map_or("warning", |rule| rule.level);
    json!({
        "ruleId": rule,
        "ruleIndex": index,
        "level": level,
        "message": {"text": message(&said.join("\n"))},
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": views.uri(file), "uriBaseId": "%SRCROOT%"},
            "region": views.region(file, thread),
        }}],
        "partialFingerprints": {"threadId/v1": thread.id},
    })
}

/// Never empty (a thread may be), no longer than is useful, and without a link of SARIF's own notation.
fn message(said: &str) -> String {
    if said.is_empty() {
        return String::from("A thread without a message");
    }
    let mut cut: String = said.chars().take(LONGEST_MESSAGE).collect();
    if cut.len() < said.len() {
        cut.push('…');
    }
    cut.replace("](", "] (")
}

/// A file, and where among its threads each id is.
type Seen = (View, HashMap<String, usize>);

/// The file that was looked at last, and where in it each thread is: threads come file by file.
struct Views<'a> {
    session: &'a Session,
    last: Option<(String, Option<Seen>)>,
    workspaces: Vec<Arc<Workspace>>,
}

impl<'a> Views<'a> {
    fn new(session: &'a Session) -> Self {
        Self {
            session,
            last: None,
            workspaces: session.workspaces(),
        }
    }

    /// Of the file's own name, which need be no text.
    fn uri(&self, file: &str) -> String {
        let own = self.workspaces.iter().find_map(|workspace| {
            let path = workspace.path_of(file);
            let own = path.strip_prefix(workspace.root()).ok()?;
            (own.to_str().is_none() && path.exists()).then(|| own.to_owned())
        });
        match own {
            Some(own) => to_uri(own.as_os_str().as_encoded_bytes()),
            None => to_uri(file.as_bytes()),
        }
    }

    /// From the first marker to the end of the last message, columns counted in characters from 1.
    fn region(&mut self, file: &str, thread: &Thread) -> Value {
        if self.last.as_ref().is_none_or(|(last, _)| last != file) {
            let mut paths = self.workspaces.iter().map(|one| one.path_of(file));
            let view = paths.find_map(|path| self.session.view(&path).ok());
            let view = view.map(|view| {
                let ids = view.threads.iter().enumerate();
                let ids = ids.map(|(at, thread)| (thread.id.clone(), at)).collect();
                (view, ids)
            });
            self.last = Some((file.to_owned(), view));
        }
        let view = self.last.as_ref().and_then(|(_, view)| view.as_ref());
        let found = view.and_then(|(view, ids)| {
            let at = ids.get(&thread.id)?;
            region(&view.text, view.threads.get(*at)?)
        });
        // Changed since it was listed: the line is the best there is.
        found.unwrap_or_else(|| json!({"startLine": thread.first_line() + 1}))
    }
}

fn region(source: &str, thread: &Thread) -> Option<Value> {
    let (first, last) = (thread.messages.first()?, thread.messages.last()?);
    let column = |at: usize| {
        let line = source.get(line_start(source, at)..at)?;
        Some(line.trim_start_matches('\u{feff}').chars().count() + 1)
    };
    Some(json!({
        "startLine": first.line + 1,
        "startColumn": column(first.marker.start)?,
        "endLine": last.last_line + 1,
        "endColumn": column(last.range.end)?,
    }))
}

/// A relative URI reference (RFC 3986) of a relative path.
fn to_uri(path: &[u8]) -> String {
    let mut uri = String::new();
    for &byte in path {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
