//! `lsp`: what the language's own server knows of the code.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::grep::denies;
use super::{Context, MAX_OUTPUT, Output, Tool, parse, schema, within_bytes};
use crate::children::{FileEdits, Place, marked, uri};
use crate::config::Settings;
use crate::files::Hides;
use crate::text::{Document, Encoding, Position};
use crate::trust::Risk;

/// Places that are shown; how many there are more is said.
const MAX_PLACES: usize = 300;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Definition,
    TypeDefinition,
    Implementation,
    References,
    Hover,
    Diagnostics,
    Symbols,
    WorkspaceSymbol,
    Rename,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// What to ask. `definition`, `type_definition`, `implementation`, `references`, `hover` and `rename` need `file`, `line` and `column`; `diagnostics` and `symbols` need `file`; `workspace_symbol` needs `query`, and `language` or `file`. `rename` shows the edits that it takes and makes none.
    action: Action,
    /// Relative to the workspace root.
    #[serde(default)]
    file: Option<String>,
    /// 1-based.
    #[serde(default)]
    line: Option<u32>,
    /// 1-based, in bytes of UTF-8: where the name begins.
    #[serde(default)]
    column: Option<u32>,
    /// `rust`, `python`, `go`, `typescript`, `c++` … Default: what the file is.
    #[serde(default)]
    language: Option<String>,
    /// For `workspace_symbol`: part of the name.
    #[serde(default)]
    query: Option<String>,
    /// For `rename`.
    #[serde(default)]
    new_name: Option<String>,
}

impl Action {
    fn name(self) -> &'static str {
        match self {
            Self::Definition => "definition",
            Self::TypeDefinition => "type_definition",
            Self::Implementation => "implementation",
            Self::References => "references",
            Self::Hover => "hover",
            Self::Diagnostics => "diagnostics",
            Self::Symbols => "symbols",
            Self::WorkspaceSymbol => "workspace_symbol",
            Self::Rename => "rename",
        }
    }

    /// The method of the protocol that answers with places.
    fn places(self) -> Option<&'static str> {
        match self {
            Self::Definition => Some("textDocument/definition"),
            Self::TypeDefinition => Some("textDocument/typeDefinition"),
            Self::Implementation => Some("textDocument/implementation"),
            Self::References => Some("textDocument/references"),
            _ => None,
        }
    }

    fn is_at_place(self) -> bool {
        self.places().is_some() || matches!(self, Self::Hover | Self::Rename)
    }
}

impl Input {
    /// The first required field that is missing.
    fn missing(&self) -> Option<&'static str> {
        let empty = |field: &Option<String>| field.as_deref().is_none_or(|f| f.trim().is_empty());
        let fields = [
            (
                "file",
                empty(&self.file) && self.action != Action::WorkspaceSymbol,
            ),
            (
                "line",
                self.line.is_none_or(|l| l == 0) && self.action.is_at_place(),
            ),
            (
                "column",
                self.column.is_none_or(|c| c == 0) && self.action.is_at_place(),
            ),
            (
                "new_name",
                empty(&self.new_name) && self.action == Action::Rename,
            ),
            (
                "query",
                self.query.is_none() && self.action == Action::WorkspaceSymbol,
            ),
            (
                "language",
                empty(&self.language)
                    && empty(&self.file)
                    && self.action == Action::WorkspaceSymbol,
            ),
        ];
        fields
            .iter()
            .find(|(_, missing)| *missing)
            .map(|(name, _)| *name)
    }
}

fn read(input: &Value) -> Result<Input, String> {
    let input = parse::<Input>("lsp", input)?;
    match input.missing() {
        Some(field) => {
            let kind = if matches!(field, "line" | "column") {
                " (it counts from 1)"
            } else {
                ""
            };
            Err(format!(
                "Wrong parameters for lsp: `{field}` is missing, which {} needs{kind}.",
                input.action.name()
            ))
        }
        None => Ok(input),
    }
}

pub(super) struct Lsp {
    settings: Arc<Settings>,
}

impl Lsp {
    pub(super) fn new(settings: Arc<Settings>) -> Self {
        Self { settings }
    }
}

#[async_trait]
impl Tool for Lsp {
    fn name(&self) -> &'static str {
        "lsp"
    }
    fn description(&self) -> String {
        String::from(
            "Asks the language server of a file: where a name is defined, implemented or used, what it is, what is wrong in the file, which symbols there are. Answers are lines `path:line:column: text`, counted from 1, columns in bytes; of a file outside the workspace without its text.",
        )
    }
    fn parameters(&self) -> Value {
        schema::<Input>()
    }
    fn risk(&self) -> Risk {
        Risk::Read
    }
    fn check(&self, input: &Value) -> Result<(), String> {
        read(input).map(|_| ())
    }
    fn about(&self, cx: &Context, input: &Value) -> String {
        let file = input.get("file").and_then(Value::as_str);
        let file = file.unwrap_or_default();
        match cx.tree.resolve(file) {
            Ok(resolved) if !file.is_empty() => cx.shown(&resolved),
            _ => file.to_owned(),
        }
    }
    async fn call(&self, cx: &Context, input: Value) -> Output {
        let input = read(&input)?;
        if !cx.trusted {
            return Err(crate::children::ChildError::Untrusted.to_string());
        }
        let text = Asked::new(cx, denies(self.name(), &self.settings), &input)?
            .answer(&input)
            .await?;
        Ok(within_bytes(&text, MAX_OUTPUT))
    }
}

/// A question about a file, or about the whole workspace.
struct Asked<'a> {
    cx: &'a Context,
    hides: Hides,
    path: PathBuf,
    language: Option<&'a str>,
    offset: usize,
    /// `path:line:column`, for messages.
    at: String,
}

impl<'a> Asked<'a> {
    fn new(cx: &'a Context, hides: Hides, input: &'a Input) -> Result<Self, String> {
        let language = input.language.as_deref().filter(|l| !l.trim().is_empty());
        let file = input.file.as_deref().filter(|f| !f.trim().is_empty());
        let Some(file) = file else {
            return Ok(Self {
                cx,
                hides,
                path: cx.tree.root().to_path_buf(),
                language,
                offset: 0,
                at: String::new(),
            });
        };
        let read = cx.tree.read(file).map_err(|e| e.to_string())?;
        let (line, column) = (input.line.unwrap_or(1), input.column.unwrap_or(1));
        let document = Document::new(&read.text, 0);
        if input.action.is_at_place() && line as usize > document.lines() {
            return Err(format!(
                "{file} has {} lines, there is no line {line}.",
                document.lines()
            ));
        }
        let position = Position {
            line: line.saturating_sub(1),
            character: column.saturating_sub(1),
        };
        let offset = document.offset(position, Encoding::Utf8);
        let at = if input.action.is_at_place() {
            format!("{file}:{line}:{column}")
        } else {
            file.to_owned()
        };
        Ok(Self {
            cx,
            hides,
            path: read.path,
            language,
            offset,
            at,
        })
    }

    async fn query(
        &self,
        method: &str,
        params: Value,
        offset: Option<usize>,
    ) -> Result<Value, String> {
        let Context {
            children, cancel, ..
        } = self.cx;
        children
            .query(&self.path, self.language, method, params, offset, cancel)
            .await
            .map_err(|e| e.to_string())
    }

    async fn answer(&self, input: &Input) -> Output {
        let children = &self.cx.children;
        if let Some(method) = input.action.places() {
            let params = json!({"context": {"includeDeclaration": true}});
            let found = self.query(method, params, Some(self.offset)).await?;
            let places = children.to_places(&found);
            let mut text = self.places(&places, input.action);
            if places.is_empty()
                && let Some(trouble) = children.trouble(&self.path, self.language).await
            {
                let _ = write!(text, " It may know too little: {trouble}");
            }
            return Ok(text);
        }
        match input.action {
            Action::Hover => {
                let hover = self
                    .query("textDocument/hover", json!({}), Some(self.offset))
                    .await?;
                let text = hover.get("contents").map(marked).unwrap_or_default();
                let nothing = format!("Nothing is known of what stands at {}.", self.at);
                Ok(Some(text.trim().to_owned())
                    .filter(|t| !t.is_empty())
                    .unwrap_or(nothing))
            }
            Action::Diagnostics => {
                let found = children.diagnostics(&self.path, &self.cx.cancel).await;
                let (items, fresh) = found.map_err(|e| e.to_string())?;
                Ok(self.diagnostics(&items, fresh))
            }
            Action::Symbols => {
                let params = json!({"textDocument": {"uri": uri::from_path(&self.path)}});
                let symbols = self
                    .query("textDocument/documentSymbol", params, None)
                    .await?;
                Ok(self.symbols(&symbols, &format!("{} has no symbols.", self.at)))
            }
            Action::WorkspaceSymbol => {
                let query = input.query.as_deref().unwrap_or_default();
                let symbols = self
                    .query("workspace/symbol", json!({"query": query}), None)
                    .await?;
                Ok(self.symbols(&symbols, &format!("No symbol is named like `{query}`.")))
            }
            Action::Rename => {
                let name = input.new_name.as_deref().unwrap_or_default();
                let edits = children
                    .rename(&self.path, self.offset, name, &self.cx.cancel)
                    .await;
                Ok(self.edits(&edits.map_err(|e| e.to_string())?, name))
            }
            _ => Ok(String::new()),
        }
    }

    /// Of what stands in a file: nothing where it is outside of the workspace, or the author denies it to this tool. What
    /// a file includes decides where its server leads to, and nobody was asked about that one.
    fn inside<'t>(&self, file: &Path, text: &'t str) -> &'t str {
        match self.cx.tree.relative(file) {
            Some(file) if !(self.hides)(&file) => text,
            _ => "",
        }
    }

    fn places(&self, places: &[Place], action: Action) -> String {
        if places.is_empty() {
            return format!("No {} found of what stands at {}.", action.name(), self.at);
        }
        let mut out = String::new();
        for place in places.iter().take(MAX_PLACES) {
            let text = self.inside(&place.path, &place.text);
            let _ = writeln!(
                out,
                "{}:{}:{}: {}",
                self.cx.shown(&place.path),
                place.line + 1,
                place.column + 1,
                text.trim()
            );
        }
        rest(&mut out, places.len());
        out
    }

    fn diagnostics(&self, items: &[Value], fresh: bool) -> String {
        let mut out = String::new();
        if !fresh {
            out.push_str("(These belong to an older text: the server has not looked at the present one yet.)\n");
        }
        if items.is_empty() {
            let _ = writeln!(out, "{} has no diagnostics.", self.at);
        }
        for item in items.iter().take(MAX_PLACES) {
            let severity = match item.get("severity").and_then(Value::as_u64) {
                Some(2) => "warning",
                Some(3) => "information",
                Some(4) => "hint",
                _ => "error",
            };
            let message = item
                .get("message")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let (line, column) = start(item.get("range"));
            let code = match item.get("code") {
                Some(Value::String(code)) => format!(" [{code}]"),
                Some(Value::Number(code)) => format!(" [{code}]"),
                _ => String::new(),
            };
            let _ = writeln!(
                out,
                "{}:{line}:{column}: {severity}: {message}{code}",
                self.at
            );
        }
        rest(&mut out, items.len());
        out
    }

    /// `DocumentSymbol`s with what is in them, or `SymbolInformation`.
    fn symbols(&self, symbols: &Value, nothing: &str) -> String {
        let (mut out, mut count) = (String::new(), 0);
        let mut stack: Vec<(&Value, usize)> = symbols
            .as_array()
            .into_iter()
            .flatten()
            .rev()
            .map(|s| (s, 0))
            .collect();
        while let Some((symbol, depth)) = stack.pop() {
            count += 1;
            if let Some(children) = symbol.get("children").and_then(Value::as_array) {
                stack.extend(children.iter().rev().map(|c| (c, depth + 1)));
            }
            if count > MAX_PLACES {
                continue;
            }
            let location = symbol.get("location");
            let path = location
                .and_then(|l| l.get("uri"))
                .and_then(Value::as_str)
                .and_then(uri::to_file);
            let path = self.cx.shown(path.as_deref().unwrap_or(&self.path));
            let range = symbol
                .get("selectionRange")
                .or_else(|| location?.get("range"));
            let (line, column) = start(range);
            let name = symbol.get("name").and_then(Value::as_str).unwrap_or("?");
            let within = match symbol.get("containerName").and_then(Value::as_str) {
                Some(container) if !container.is_empty() => format!(" in {container}"),
                _ => String::new(),
            };
            let kind = kind(
                symbol
                    .get("kind")
                    .and_then(Value::as_u64)
                    .unwrap_or_default(),
            );
            let _ = writeln!(
                out,
                "{path}:{line}:{column}: {:indent$}{kind} {name}{within}",
                "",
                indent = depth * 2
            );
        }
        if count == 0 {
            return nothing.to_owned();
        }
        rest(&mut out, count);
        out
    }

    fn edits(&self, files: &[FileEdits], name: &str) -> String {
        let count: usize = files.iter().map(|f| f.edits.len()).sum();
        if count == 0 {
            return format!("Nothing to rename at {}.", self.at);
        }
        let mut out = format!(
            "{count} edits in {} files make it `{name}`; none is made yet:\n",
            files.len()
        );
        for (file, edit) in files
            .iter()
            .flat_map(|f| f.edits.iter().map(move |e| (f, e)))
            .take(MAX_PLACES)
        {
            let document = Document::new(&file.text, 0);
            let at = document.position(edit.range.start, Encoding::Utf8);
            let old = file.text.get(edit.range.clone()).unwrap_or_default();
            let old = self.inside(&file.path, old);
            let _ = writeln!(
                out,
                "{}:{}:{}: `{old}` -> `{}`",
                self.cx.shown(&file.path),
                at.line + 1,
                at.character + 1,
                edit.text
            );
        }
        rest(&mut out, count);
        out
    }
}

fn rest(out: &mut String, count: usize) {
    if let Some(more) = count.checked_sub(MAX_PLACES).filter(|m| *m > 0) {
        let _ = writeln!(out, "({more} more)");
    }
}

/// 1-based line and column of a range's start.
fn start(range: Option<&Value>) -> (u64, u64) {
    let of = |key: &str| {
        range
            .and_then(|r| r.get("start")?.get(key)?.as_u64())
            .unwrap_or_default()
            + 1
    };
    (of("line"), of("character"))
}

/// LSP 3.17 §SymbolKind
fn kind(number: u64) -> &'static str {
    const KINDS: [&str; 26] = [
        "file",
        "module",
        "namespace",
        "package",
        "class",
        "method",
        "property",
        "field",
        "constructor",
        "enum",
        "interface",
        "function",
        "variable",
        "constant",
        "string",
        "number",
        "boolean",
        "array",
        "object",
        "key",
        "null",
        "enum member",
        "struct",
        "event",
        "operator",
        "type parameter",
    ];
    usize::try_from(number)
        .ok()
        .and_then(|n| KINDS.get(n.checked_sub(1)?))
        .copied()
        .unwrap_or("symbol")
}
