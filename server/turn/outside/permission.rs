//! What an outside agent asks before it does it: decided by the rules, grants and questions of our own tools.

mod input;

use std::path::{Path, PathBuf};

use serde_json::Value;
use similar::TextDiff;

use crate::acp::{Call, Choice, Diff, Kind};
use crate::children::uri;
use crate::files::FileError;
use crate::tools::{Context, Deed, quoted};
use crate::trust::{self, Risk};
use crate::web::Target;

use super::{Work, files};
use input::{Input, word};

/// Tools of our own MCP server, as agents name them; with us they only read.
const OURS: &[&str] = &["mcp__postil__", "postil_"];

/// What is wanted of a page or a search beside its address.
const OF_A_PAGE: &[&str] = &[
    "prompt",
    "format",
    "offset",
    "allowed_domains",
    "blocked_domains",
];

const OUTSIDE: &str = "It lies outside of the workspace.";
const NAMELESS: &str = "It does not say which file.";

/// What is asked for: the call as far as it is known, and the words that came with the question.
pub(super) struct Wish<'a> {
    pub(super) call: &'a Call,
    pub(super) says: Option<&'a str>,
}

/// The index of the choice. What lasts is kept here, where it can be shown and revoked, so the agent is told
/// of this once alone.
pub(super) async fn decide(work: &Work<'_>, wish: Wish<'_>, choices: &[Choice]) -> Option<usize> {
    let pick = |allows: bool| {
        let once = choices.iter().position(|c| c.allows == allows && !c.always);
        once.or_else(|| choices.iter().position(|c| c.allows == allows))
    };
    let Some(mut deeds) = wish.deeds(work).await else {
        return pick(false);
    };
    let input = wish.call.input.as_ref().map(Value::to_string);
    let input = input.unwrap_or_else(|| wish.call.id.clone());
    for deed in &mut deeds {
        deed.input.clone_from(&input);
    }
    match work.registry.may(work.cx, &deeds).await {
        Ok(()) => pick(true),
        Err(why) => {
            tracing::info!("{}: {why}", work.agent.title);
            pick(false)
        }
    }
}

/// A change of a file of the workspace, by its resolved path, named as a tool of ours that makes it.
pub(super) fn change(cx: &Context, resolved: &Path) -> Deed {
    let is_new = matches!(cx.tree.read(resolved), Err(FileError::NotFound(_)));
    let tool = if is_new { "file_write" } else { "file_edit" };
    Deed::new(tool, Risk::Write, cx.shown(resolved))
}

impl Wish<'_> {
    /// What is to be done, as our own tools would be named for it. `None`: it is refused without a question.
    async fn deeds(&self, work: &Work<'_>) -> Option<Vec<Deed>> {
        let input = Input(self.call.input.as_ref());
        let kind = self.call.kind.unwrap_or(Kind::Other);
        let is_command = input.command().is_some();
        let mut deeds = match kind {
            Kind::Edit | Kind::Delete | Kind::Move => self.changes(work, input).await?,
            Kind::Read | Kind::Search if !is_command => self.looks(work.cx, input),
            Kind::Execute | Kind::Read | Kind::Search => Vec::new(),
            Kind::Fetch => vec![self.fetches(input)],
            Kind::Think => vec![Deed::new("think", Risk::Read, self.whole())],
            Kind::Other => return Some(vec![self.other()]),
        };
        // What an agent takes for a look, an edit or a thought can be a command all the same.
        if is_command || kind == Kind::Execute {
            deeds.push(self.runs(work.cx, input));
        }
        Some(deeds)
    }

    async fn changes(&self, work: &Work<'_>, input: Input<'_>) -> Option<Vec<Deed>> {
        let tree = &work.cx.tree;
        let mut deeds: Vec<Deed> = Vec::new();
        for (folder, name) in &self.places(input) {
            // What lies outside the root is no business of the turn.
            inside(work.cx, folder, name)?;
            let file = folder.join(name);
            let mut deed = change(work.cx, &tree.resolve(&file).ok()?);
            let guarded = trust::guarded_as(tree.root(), &file, &deed.about);
            deed.always = guarded.map(|why| format!("{}: {why}.", deed.about));
            // Most name it twice, and by one of the names it may be guarded.
            match deeds.iter_mut().find(|known| known.about == deed.about) {
                Some(known) => known.always = known.always.take().or(deed.always),
                None => deeds.push(deed),
            }
        }
        if deeds.is_empty() {
            let mut deed = Deed::new("file_edit", Risk::Write, self.whole());
            deed.always = Some(NAMELESS.to_owned());
            deeds.push(deed);
        }
        if tree.overlay().is_some_and(|overlay| overlay.is_on()) {
            let past = self.past_review(work).await;
            for deed in &mut deeds {
                let why = deed.always.take();
                deed.always = Some(why.map_or(past.clone(), |why| format!("{why} {past}")));
            }
        }
        Some(deeds)
    }

    /// With the diff, which the author sees here or nowhere.
    async fn past_review(&self, work: &Work<'_>) -> String {
        let past = format!("{} makes it by itself, past your review", work.agent.title);
        let diffs = self.call.diffs.iter();
        let diff: String = diffs.map(|diff| unified(work.cx, diff)).collect();
        if diff.is_empty() {
            return format!("{past}, and does not say what it changes.");
        }
        let run = &work.cx.run;
        let name = format!("edit-{}.diff", run.get(..8).unwrap_or(run));
        let file = work.cx.host.show_text(&name, &diff).await;
        let file = file.map(|file| format!(" ({file})")).unwrap_or_default();
        format!("{past}{file}: {}", quoted(&diff).0)
    }

    /// The files that the call names and those of its input, each with the folder that it is relative to.
    fn places<'b>(&self, input: Input<'b>) -> Vec<(&'b Path, PathBuf)> {
        let folder = Path::new(input.folder().map_or("", |(_, folder)| folder));
        let named = input.files().into_iter();
        // One that is no path of this machine stays as it is, which is elsewhere.
        let path = |name: &str| uri::to_path(name).unwrap_or_else(|| PathBuf::from(name));
        let named = named.map(|name| (folder, path(name)));
        let of_call = files(self.call).into_iter();
        of_call
            .map(|file| (Path::new(""), file))
            .chain(named)
            .collect()
    }

    fn looks(&self, cx: &Context, input: Input<'_>) -> Vec<Deed> {
        let mut places = self.places(input);
        if let Some((_, folder)) = input.folder().filter(|_| places.is_empty()) {
            places.push((Path::new(folder), PathBuf::new()));
        }
        let mut deeds: Vec<Deed> = Vec::new();
        for (folder, name) in &places {
            let inside = inside(cx, folder, name);
            let always = inside.is_none().then(|| OUTSIDE.to_owned());
            let about = inside.unwrap_or_else(|| folder.join(name).display().to_string());
            // Most name it twice.
            if deeds.iter().any(|known| known.about == about) {
                continue;
            }
            let mut deed = Deed::new("file_read", Risk::Read, about);
            deed.always = always;
            deeds.push(deed);
        }
        if deeds.is_empty() {
            let mut deed = Deed::new("file_read", Risk::Read, self.whole());
            deed.always = Some(NAMELESS.to_owned());
            deeds.push(deed);
        }
        deeds
    }

    fn runs(&self, cx: &Context, input: Input<'_>) -> Deed {
        let Some((key, command)) = input.command() else {
            let mut deed = Deed::new("bash", Risk::Run, self.whole());
            deed.always = Some(String::from("It does not say which command."));
            deed.denied_by = self.names();
            return deed;
        };
        let (place_key, folder) = input.folder().unwrap_or_default();
        let place = inside(cx, Path::new(folder), Path::new(""));
        let outside = place
            .is_none()
            .then_some("It runs outside of the workspace.");
        let more = self.more(input, &command, &[key, place_key]);
        // Rules, grants and questions are about the folder as well.
        let about = match place.as_deref() {
            Some(".") => command.clone(),
            place => format!("cd {} && {command}", word(place.unwrap_or(folder))),
        };
        let destroys = trust::destroys(&about, cx.tree.root());
        let why = [outside, destroys].into_iter().flatten();
        let mut deed = Deed::new("bash", Risk::Run, about);
        deed.always = why
            .map(str::to_owned)
            .chain(more)
            .reduce(|all, why| format!("{all} {why}"));
        deed.denied_by.push(command);
        deed
    }

    fn fetches(&self, input: Input<'_>) -> Deed {
        let Some((key, address)) = input.address() else {
            let mut deed = Deed::new("web_fetch", Risk::Send, self.whole());
            deed.denied_by = self.names();
            return deed;
        };
        // Written as our own tools have it, so that a rule for it holds.
        let target = Target::parse(address);
        let about = target.map_or_else(|_| address.to_owned(), |at| at.as_str().to_owned());
        let mut deed = Deed::new("web_fetch", Risk::Send, about);
        deed.denied_by.push(address.to_owned());
        deed.always = self.more(input, address, &[&[key][..], OF_A_PAGE].concat());
        deed
    }

    fn other(&self) -> Deed {
        // A title is what a tool says of itself: it counts where nothing names the tool.
        let name = self.call.name.as_deref().or(self.call.title.as_deref());
        let ours = name.is_some_and(|name| {
            let rest = OURS.iter().find_map(|start| name.strip_prefix(start));
            rest.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
        });
        if ours {
            return Deed::new("think", Risk::Read, self.whole());
        }
        // It is no command: a rule that allows one does not mean it, whatever its words.
        let mut deed = Deed::new("bash", Risk::Run, format!("tool {}", self.whole()));
        deed.denied_by = self.names();
        deed
    }

    /// What it calls itself.
    fn names(&self) -> Vec<String> {
        let names = [&self.call.name, &self.call.title];
        names.into_iter().flatten().cloned().collect()
    }

    /// All that is known of it, neither cut nor in one line: by these words it is decided.
    fn whole(&self) -> String {
        let mut parts = self.names();
        parts.dedup();
        parts.retain(|part| !part.trim().is_empty());
        if parts.is_empty() {
            parts.push(super::name(self.call));
        }
        let input = self.call.input.as_ref().filter(|input| !input.is_null());
        parts.extend(input.map(Value::to_string));
        if input.is_none() {
            parts.extend(self.says.map(str::to_owned));
        }
        parts.join(" ")
    }

    /// What it asks for beside what it is `about`, which stands under these keys.
    fn more(&self, input: Input<'_>, about: &str, keys: &[&str]) -> Option<String> {
        let mut more = input.beside(keys);
        if let Some(says) = self.says.map(str::trim)
            && !says.is_empty()
            && says != about.trim()
            && !input.has(says)
        {
            more.insert(String::from("text"), Value::from(says));
        }
        if more.is_empty() {
            return None;
        }
        let title = self.call.title.as_deref();
        if let Some(title) = title.filter(|title| *title != about) {
            more.insert(String::from("title"), Value::from(title));
        }
        let more = quoted(&Value::Object(more).to_string()).0;
        Some(format!("It asks for more than that: {more}."))
    }
}

/// The name of a place in the workspace, to which it is relative; `.` for all of it.
fn inside(cx: &Context, folder: &Path, name: &Path) -> Option<String> {
    // Who reads these takes them for no name below a folder.
    let is_elsewhere = |path: &Path| {
        let path = path.to_string_lossy();
        path.starts_with('~') || path.starts_with("file:") || path.contains("://")
    };
    if is_elsewhere(folder) || is_elsewhere(name) {
        return None;
    }
    let resolved = cx.tree.resolve(folder.join(name)).ok()?;
    let name = cx.tree.relative(&resolved)?;
    Some(if name.is_empty() {
        String::from(".")
    } else {
        name
    })
}

fn unified(cx: &Context, diff: &Diff) -> String {
    let shown = cx.shown(&diff.path);
    TextDiff::from_lines(diff.before.as_deref().unwrap_or_default(), &diff.after)
        .unified_diff()
        .header(&format!("a/{shown}"), &format!("b/{shown}"))
        .to_string()
}
