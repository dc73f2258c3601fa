//! Reading the layers, checking each against the schema, and laying one over the other.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use toml::de::DeTable;

use super::check::{check, leaves, list, meant, names, nearest, text};
use super::node::{Content, Node, from_json, from_table, to_json};
use super::rules::{no_tool, of_paths};
use super::schema::{Action, Raw, schema};
use super::{Loaded, Lost, Problem};

/// The table of what an agent may do without asking.
const PERMISSIONS: &str = "permissions";
/// What says who answers.
const MODEL: &str = "model";
/// Where they are reached; who is set up there goes before what is merely found.
const PROVIDERS: &str = "providers";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    User,
    Workspace,
    Client,
    Environment,
}

impl Layer {
    fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Workspace => "workspace",
            Self::Client => "client",
            Self::Environment => "environment",
        }
    }

    /// Only the user's own word may widen.
    fn is_user(self) -> bool {
        matches!(self, Self::User | Self::Environment)
    }
}

pub(super) struct Layers {
    schema: Arc<Value>,
    set: BTreeMap<Vec<String>, (Value, Layer)>,
    /// What the user's file says, whatever is laid over it.
    own: BTreeMap<Vec<String>, Value>,
    problems: Vec<Problem>,
    /// What the user allows could not be read whole: it may have been less than what was read.
    unsure: bool,
    lost: Lost,
    /// Nothing was read of a file of the user's.
    is_whole: bool,
}

/// Where a layer's problems are.
struct Source<'a> {
    layer: Layer,
    file: Option<&'a Path>,
}

impl Layers {
    pub(super) fn new() -> Self {
        Self {
            schema: Arc::new(schema()),
            set: BTreeMap::new(),
            own: BTreeMap::new(),
            problems: Vec::new(),
            unsure: false,
            lost: Lost::default(),
            is_whole: false,
        }
    }

    fn problem(&mut self, source: &Source, range: &Range<usize>, message: String) {
        let file = source.file.map(PathBuf::from);
        self.problems.push(Problem {
            file,
            range: range.clone(),
            message,
            fix: None,
        });
    }

    /// The newest problem leaves open who answers, or where the provider at `path` is reached. A repository's mistakes
    /// take nothing from what the user says.
    fn lose(&mut self, source: &Source, path: &[String]) {
        let Some(problem) = self.problems.last() else {
            return;
        };
        if source.layer == Layer::Workspace {
            return;
        }
        let place = problem.place().unwrap_or_else(|| {
            let name = path.first().map_or("postil", String::as_str);
            format!("`{name}` of the editor's settings")
        });
        if let [table, provider, ..] = path
            && table == PROVIDERS
        {
            let provider = self.lost.providers.entry(provider.clone());
            provider.or_insert_with(|| place.clone());
        }
        self.lost.who.get_or_insert(place);
    }

    /// A file that is passed over as a whole.
    fn passed_over(&mut self, source: &Source, range: &Range<usize>, message: String) {
        self.unread(source, range, message);
        self.lose(source, &[]);
        self.is_whole |= source.layer == Layer::User;
    }

    /// A [`Self::problem`] that leaves open what the user allows, if it is in the user's own file.
    fn unread(&mut self, source: &Source, range: &Range<usize>, message: String) {
        if source.layer == Layer::User && source.file.is_some() {
            self.unsure = true;
            let meanwhile = "whatever does more than read is asked about";
            return self.problem(source, range, until_corrected(&message, meanwhile));
        }
        self.problem(source, range, message);
    }

    /// What the newest problem is put right by.
    fn fix(&mut self, text: Option<String>) {
        if let Some(problem) = self.problems.last_mut().filter(|p| p.file.is_some()) {
            problem.fix = text;
        }
    }

    /// A file that does not exist sets nothing.
    pub(super) fn file(&mut self, layer: Layer, path: &Path) {
        let source = Source {
            layer,
            file: Some(path),
        };
        let failed =
            |e: &dyn std::fmt::Display| format!("it cannot be read and is passed over ({e})");
        // A link may lead out of the workspace, a pipe never ends.
        let kind = std::fs::symlink_metadata(path).map(|m| m.file_type());
        match kind {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return,
            Err(e) => return self.passed_over(&source, &(0..0), failed(&e)),
            Ok(kind) if layer == Layer::Workspace && kind.is_symlink() => {
                return self.problem(&source, &(0..0), failed(&"it is a link"));
            }
            Ok(_) => {}
        }
        match std::fs::metadata(path) {
            Ok(m) if !m.is_file() => {
                return self.passed_over(&source, &(0..0), failed(&"it is no ordinary file"));
            }
            Ok(m) if m.len() > 1 << 20 => {
                return self.passed_over(&source, &(0..0), failed(&"it is larger than 1 MB"));
            }
            _ => {}
        }
        match std::fs::read_to_string(path) {
            Ok(text) => self.text(layer, path, &text),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => self.passed_over(&source, &(0..0), failed(&e)),
        }
    }

    pub(super) fn text(&mut self, layer: Layer, path: &Path, text: &str) {
        let source = Source {
            layer,
            file: Some(path),
        };
        let start = if text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        };
        match DeTable::parse(text.get(start..).unwrap_or(text)) {
            Ok(table) => {
                let node = from_table(&table, start);
                self.layer(&source, &node);
            }
            Err(e) => {
                let range = e.span().map_or(0..0, |s| s.start + start..s.end + start);
                let what = e.message().lines().next().unwrap_or_default().to_owned();
                self.passed_over(
                    &source,
                    &range,
                    format!("this is no TOML ({what}), so the whole file is passed over: correct it here"),
                );
            }
        }
    }

    pub(super) fn client(&mut self, layer: Layer, value: &Value) {
        // Some clients send the section, some what is in it.
        let value = match value.get("postil") {
            Some(inner) if inner.is_object() => inner,
            _ => value,
        };
        let source = Source { layer, file: None };
        match from_json(value) {
            Some(node) if matches!(node.content, Content::Table(_)) => self.layer(&source, &node),
            None => {}
            Some(_) => {
                let message = String::from("the editor's settings of postil are no object");
                self.problem(&source, &(0..0), message);
                self.lose(&source, &[]);
            }
        }
    }

    pub(super) fn environment(&mut self, get: &dyn Fn(&str) -> Option<String>) {
        let source = Source {
            layer: Layer::Environment,
            file: None,
        };
        for (variable, path) in VARIABLES {
            let Some(text) = get(variable).filter(|v| !v.trim().is_empty()) else {
                continue;
            };
            let flag = |value| Some(Value::Bool(value));
            let value = if path.starts_with("subagent") {
                match text.trim().to_ascii_lowercase().as_str() {
                    "1" | "true" | "yes" | "on" => flag(true),
                    "0" | "false" | "no" | "off" => flag(false),
                    _ => None,
                }
            } else {
                Some(Value::String(text.trim().to_owned()))
            };
            match value {
                Some(value) => {
                    let path = path.split('.').map(str::to_owned).collect();
                    self.set.insert(path, (value, Layer::Environment));
                }
                None => self.problem(
                    &source,
                    &(0..0),
                    format!("{variable} is `{text}`: set it to `true` or `false`"),
                ),
            }
        }
    }

    fn layer(&mut self, source: &Source, node: &Node) {
        let schema = Arc::clone(&self.schema);
        let before = self.problems.len();
        self.walk(source, &schema, &mut Vec::new(), &(0..0), node);
        // In the file's order.
        if let Some(new) = self.problems.get_mut(before..) {
            new.sort_by_key(|p| p.range.start);
        }
    }

    fn walk(
        &mut self,
        source: &Source,
        schema: &Value,
        path: &mut Vec<String>,
        key: &Range<usize>,
        node: &Node,
    ) {
        let shown = path.join(".");
        let place = if key.is_empty() { &node.range } else { key };
        if schema.get("x-from").is_some() && (source.layer != Layer::User || source.file.is_none())
        {
            let message = format!(
                "`{shown}` counts in your own config.toml only: a workspace or an editor may not set it"
            );
            self.problem(source, place, message);
            if shown == PROVIDERS {
                self.lose(source, path);
            }
            return;
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties").filter(|v| v.is_object());
        if properties.is_none() && others.is_none() {
            return self.leaf(source, schema, path, node);
        }
        let Content::Table(entries) = &node.content else {
            let message = format!("`{shown}` is a table of settings, not a value");
            return self.wrong(source, path, &node.range, message);
        };
        if let Some(required) = schema.get("x-requires").and_then(Value::as_str)
            && !entries.iter().any(|(name, ..)| name == required)
        {
            return self.problem(
                source,
                place,
                format!("`{shown}` needs `{required}` and is passed over without"),
            );
        }
        for (name, place, value) in entries {
            match properties.and_then(|p| p.get(name)).or(others) {
                Some(schema) => {
                    path.push(name.clone());
                    self.walk(source, schema, path, place, value);
                    path.pop();
                }
                None if name == "$schema" && path.is_empty() => {}
                None => {
                    let (message, fix) = self.unknown(path, name, properties);
                    // It may be what the permissions were to stand in.
                    let meant = fix.as_ref().filter(|_| path.is_empty());
                    match meant.is_some_and(|fix| fix == PERMISSIONS) {
                        true => self.unread(source, place, message),
                        false => self.wrong(source, path, place, message),
                    }
                    if may_say_who(source, path, name, fix.as_deref()) {
                        self.lose(source, std::slice::from_ref(name));
                    }
                    self.fix(fix.filter(|fix| entries.iter().all(|(name, ..)| name != fix)));
                }
            }
        }
    }

    /// What to say of an unknown name, and the name that belongs in its place.
    fn unknown(
        &self,
        path: &[String],
        name: &str,
        properties: Option<&Map<String, Value>>,
    ) -> (String, Option<String>) {
        let whole = path
            .iter()
            .map(String::as_str)
            .chain([name])
            .collect::<Vec<_>>()
            .join(".");
        let here: Vec<&str> = properties
            .into_iter()
            .flatten()
            .map(|(k, _)| k.as_str())
            .collect();
        let mut all = Vec::new();
        names(&self.schema, "", &mut all);
        let sibling = nearest(name, here.iter().copied()).map(str::to_owned);
        let suggestion = sibling.clone().or_else(|| {
            let last = |n: &str| n.rsplit('.').next().unwrap_or(n).to_owned();
            let wanted = last(&whole);
            all.iter().find(|n| last(n) == wanted).cloned()
        });
        let message = match suggestion {
            Some(s) => format!("there is no setting `{whole}`: did you mean `{s}`?"),
            None if here.is_empty() => format!("there is no setting `{whole}`"),
            None => format!(
                "there is no setting `{whole}`: the settings here are {}",
                list(&here)
            ),
        };
        (message, sibling)
    }

    fn leaf(&mut self, source: &Source, schema: &Value, path: &[String], node: &Node) {
        let shown = path.join(".");
        let value = match &node.content {
            Content::Alien(what) => {
                let message = format!("`{shown}` cannot be a {what}");
                return self.wrong(source, path, &node.range, message);
            }
            Content::Leaf(value) => value.clone(),
            Content::Table(_) => match to_json(node) {
                Some(value) => value,
                None => {
                    let message = format!("`{shown}` has a value that is not allowed here");
                    return self.wrong(source, path, &node.range, message);
                }
            },
        };
        let value = match (value, path) {
            (Value::Array(rules), [table, list]) if table == PERMISSIONS && list == "rules" => {
                Value::Array(self.rules(source, schema, &node.range, rules))
            }
            (value, _) => value,
        };
        if let Err(what) = check(schema, &value) {
            self.wrong(source, path, &node.range, format!("`{shown}` {what}"));
            // A name without quotes in it is written as TOML as it is as JSON.
            return self.fix(meant(schema, &value).map(|name| format!("\"{name}\"")));
        }
        let value = match (value, path) {
            (Value::Array(names), [table, list]) if table == "tools" && list == "disabled" => {
                Value::Array(self.disabled(source, &node.range, names))
            }
            (value, _) => value,
        };
        if !source.layer.is_user()
            && let Some(message) = self.widens(schema, path, &value)
        {
            return self.problem(source, &node.range, message);
        }
        let value = match (schema.get("x-adds"), self.set.get(path), value) {
            (Some(_), Some((Value::Array(have), _)), Value::Array(mut more)) => {
                more.extend(have.iter().cloned());
                more.dedup();
                Value::Array(more)
            }
            (_, _, value) => value,
        };
        if source.layer == Layer::User {
            self.own.insert(path.to_vec(), value.clone());
        }
        self.set.insert(path.to_vec(), (value, source.layer));
    }

    /// A value at `path` that is passed over.
    fn wrong(&mut self, source: &Source, path: &[String], range: &Range<usize>, message: String) {
        match path.first().map(String::as_str) {
            Some(PERMISSIONS) => self.unread(source, range, message),
            Some(MODEL | PROVIDERS) => {
                self.problem(source, range, message);
                self.lose(source, path);
            }
            _ => self.problem(source, range, message),
        }
    }

    /// The rules that can be read, and what they allow if one cannot be: one rule that is wrong takes none of the others'
    /// prohibitions away.
    fn rules(
        &mut self,
        source: &Source,
        schema: &Value,
        range: &Range<usize>,
        rules: Vec<Value>,
    ) -> Vec<Value> {
        let item = schema.get("items").unwrap_or(&Value::Null);
        let mut read: Vec<Value> = Vec::new();
        for (at, mut rule) in rules.into_iter().enumerate() {
            let name = rule.get("tool").and_then(Value::as_str);
            let (what, tool) = match (check(item, &rule), name.and_then(no_tool)) {
                (Err(what), _) => (what, None),
                (Ok(()), Some((what, tool))) => {
                    let name = text(&json!(name));
                    (format!("is wrong: its `tool` {name} {what}"), Some(tool))
                }
                (Ok(()), None) => {
                    read.push(rule);
                    continue;
                }
            };
            let message = format!(
                "`permissions.rules` has a wrong entry: number {} {what}",
                at + 1
            );
            let allows = |rule: &Value| rule.get("action").is_some_and(|action| action == "allow");
            if allows(&rule) {
                self.problem(source, range, message);
                continue;
            }
            if let Some(rule) = rule.as_object_mut() {
                rule.insert(String::from("action"), Value::from("ask"));
            }
            // Of whatever tool it is: the one that is nearest is asked about whatever the others say.
            if let Some(tool) = tool {
                read.retain(|rule| !allows(rule));
                self.unread(source, range, message);
                if let Some(tool) = tool {
                    rule["tool"] = Value::from(tool);
                    read.push(rule);
                }
                continue;
            }
            if check(item, &rule).is_ok() {
                self.problem(source, range, until_corrected(&message, "the rule asks"));
                read.push(rule);
            } else {
                // It may have taken back what those before it allow.
                read.retain(|rule| !allows(rule));
                self.unread(source, range, message);
            }
        }
        read
    }

    /// The tools that are switched off, those that are named wrongly with them, as far as it is known which are meant.
    fn disabled(&mut self, source: &Source, range: &Range<usize>, names: Vec<Value>) -> Vec<Value> {
        let mut all = Vec::new();
        for (at, name) in names.into_iter().enumerate() {
            if let Some((what, tool)) = name.as_str().and_then(no_tool) {
                let message = format!(
                    "`tools.disabled` has a wrong entry: number {} {} {what}",
                    at + 1,
                    text(&name)
                );
                self.unread(source, range, message);
                all.extend(tool.map(Value::from));
            }
            all.push(name);
        }
        all
    }

    /// Why `value` allows more than the user does.
    fn widens(&self, schema: &Value, path: &[String], value: &Value) -> Option<String> {
        let shown = path.join(".");
        let own = self.own.get(path).or(schema.get("default"))?;
        let text = text(own);
        let more = format!(
            "`{shown}` can be made no wider than your own {text} here: set it in your config.toml"
        );
        if schema.get("x-limit").is_some() && value.as_f64() > own.as_f64() {
            return Some(more);
        }
        let order = schema.get("x-order").and_then(Value::as_array)?;
        let is =
            |o: &Value, v: &Value| o == v || o.as_array().is_some_and(|alike| alike.contains(v));
        let at = |v: &Value| order.iter().position(|o| is(o, v));
        (at(value) > at(own)).then_some(more)
    }

    /// `root`: the folder whose paths rules may name.
    pub(super) fn finish(mut self, root: Option<&Path>) -> Loaded {
        if self.is_whole {
            // Where a model is reached stands in what was not read: a repository does not say who is asked instead.
            let names = |path: &[String]| match path {
                [one] => one == MODEL,
                [turn, one] => turn == "turn" && one == "consult",
                _ => false,
            };
            self.set
                .retain(|path, (_, layer)| *layer != Layer::Workspace || !names(path));
        }
        let mut merged = Value::Object(Map::new());
        for (path, (value, _)) in &self.set {
            put(&mut merged, path, value.clone());
        }
        // Every leaf was checked, so this cannot fail; if it did, the defaults would be the safe side, with questions.
        let mut raw: Raw = serde_json::from_value(merged).unwrap_or_else(|e| {
            self.unsure = true;
            self.lost.who = Some(String::from("what is set"));
            let message = format!("the settings cannot be used together ({e}): the defaults hold");
            self.problems.push(Problem {
                file: None,
                range: 0..0,
                message,
                fix: None,
            });
            Raw::default()
        });
        if self.unsure {
            raw.permissions.default = raw.permissions.default.max(Some(Action::Ask));
        }
        let mut shown = raw.clone();
        shown.complete();
        let mut sources = Vec::new();
        let all = serde_json::to_value(&shown).unwrap_or_default();
        leaves(&all, &self.schema, &mut Vec::new(), &mut |path, value| {
            let layer = self
                .set
                .get(path)
                .map_or("default", |(_, layer)| layer.name());
            sources.push((path.join("."), value.clone(), layer.to_owned()));
        });
        let mut settings = raw.into_settings();
        settings.rules = of_paths(settings.rules, root);
        settings.lost = self.lost;
        Loaded {
            settings,
            problems: self.problems,
            sources,
        }
    }
}

/// Whether a setting `name` of `path` that there is not may have been to say who answers: every name at the top of the
/// user's own file whose meaning cannot be told, and one that stands below the head of another table.
fn may_say_who(source: &Source, path: &[String], name: &str, meant: Option<&str>) -> bool {
    let is_own = source.layer == Layer::User && source.file.is_some();
    let says_who = |name: &str| matches!(name, MODEL | "models" | PROVIDERS | "agents");
    match meant.filter(|_| path.is_empty()) {
        Some(meant) => says_who(meant),
        None => is_own && (path.is_empty() || says_who(name)),
    }
}

fn until_corrected(message: &str, meanwhile: &str) -> String {
    let stop = match message.ends_with('?') {
        true => "",
        false => ".",
    };
    format!("{message}{stop} Until this is corrected, {meanwhile}")
}

/// Environment variables that set something, and what.
const VARIABLES: &[(&str, &str)] = &[
    ("POSTIL_MODEL", "model"),
    ("ANTHROPIC_BASE_URL", "providers.anthropic.baseUrl"),
    ("OPENAI_BASE_URL", "providers.openai.baseUrl"),
    ("POSTIL_SUBAGENT_WORKTREES", "subagent.worktree.enabled"),
    ("POSTIL_SUBAGENT_AUTO_MERGE", "subagent.worktree.autoMerge"),
    (
        "POSTIL_SUBAGENT_CLEANUP_ON_FAILURE",
        "subagent.worktree.cleanupOnFailure",
    ),
];

fn put(into: &mut Value, path: &[String], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        *into = value;
        return;
    };
    if !into.is_object() {
        *into = Value::Object(Map::new());
    }
    if let Some(object) = into.as_object_mut() {
        put(
            object.entry(first.clone()).or_insert(Value::Null),
            rest,
            value,
        );
    }
}
