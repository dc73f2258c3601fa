//! `postil editor helix`: our rows in the user's `languages.toml`, between two marks. Every other byte of that file is
//! the user's and stays: it is read as TOML, and written as text.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use toml::{Table, Value};

use crate::cli::out::{BOLD, DIM};
use crate::cli::{Cx, Outcome};
use crate::os;
use crate::present::visible;
use crate::session::Error;

/// The server and its rows, as they stand in the repository.
const ROWS: &str = include_str!("../../../editors/helix/languages.toml");

const BEGIN: &str = "# >>> postil";
const END: &str = "# <<< postil";
const ABOUT: &str = ": `postil editor helix` writes the lines down to the next mark anew, and `--remove` takes them out; rows of your own stand outside";

pub(super) fn run(cx: &Cx, remove: bool) -> Outcome {
    let file = cx
        .folders()?
        .config
        .with_file_name("helix")
        .join("languages.toml");
    let before = Before::read(&file)?;
    let parts = Parts::of(before.text.as_deref(), &file)?;
    let own = Own::read(&parts, &file)?;
    if remove {
        without(cx, &file, &before, &parts, &own)
    } else {
        with(cx, &file, &before, &parts, &own)
    }
}

fn with(cx: &Cx, file: &Path, before: &Before, parts: &Parts, own: &Own) -> Outcome {
    let (block, count) = block(own);
    let shown = visible(&file.display().to_string());
    if count == 0 {
        return Err(Error::Other(format!(
            "{shown} has rows of postil already, outside the marks of this command; nothing was written: take out what was appended by hand, from `[language-server.postil]` on, then run it again"
        ))
        .into());
    }
    let text = parts.around(&block, before.text.is_some());
    // What is fine alone may not be behind the user's own tables.
    if let Err(error) = text.parse::<Table>() {
        return Err(Error::Other(format!(
            "{shown} with the rows of postil would not be TOML ({}), so nothing was written: put them in by hand, as docs/editors/helix.md says",
            error.message().lines().next().unwrap_or_default()
        ))
        .into());
    }
    let changed = before.text.as_deref() != Some(text.as_str());
    if changed {
        before.replace(file, text.as_bytes())?;
    }
    let left = own.left_out();
    if cx.out.json {
        cx.out.data(
            &json!({"file": file.to_string_lossy(), "changed": changed, "rows": count, "left_out": left.iter().map(|(name, servers)| json!({"language": name, "language_servers": servers})).collect::<Vec<_>>()}),
        );
        return Ok(true);
    }
    cx.out.note(match changed {
        true => format!("{BOLD}{shown}{BOLD:#}: {count} languages have postil now; start Helix anew to have it run"),
        false => format!("{BOLD}{shown}{BOLD:#} is up to date: {count} languages have postil"),
    });
    if !left.is_empty() {
        cx.out.warn(&format!(
            "{} of your own {} without postil, for Helix takes one row a language; put these lines into {}:",
            left.len(),
            if left.len() == 1 { "rows stays" } else { "rows stay" },
            if left.len() == 1 { "it" } else { "them" },
        ));
        for (name, servers) in &left {
            cx.out
                .warn(&format!("  {name}: language-servers = {servers}"));
        }
    }
    cx.out
        .note(format!("{DIM}`hx --health rust` shows it{DIM:#}"));
    Ok(true)
}

fn without(cx: &Cx, file: &Path, before: &Before, parts: &Parts, own: &Own) -> Outcome {
    let shown = visible(&file.display().to_string());
    let had = parts.block.is_some();
    if had {
        let text = parts.outside();
        if text.is_empty() && parts.is_ours_alone() && !before.is_link {
            std::fs::remove_file(file).map_err(|error| failed(file, &error))?;
        } else {
            before.replace(file, text.as_bytes())?;
        }
    }
    let naming = own.naming();
    if cx.out.json {
        cx.out.data(
            &json!({"file": file.to_string_lossy(), "changed": had, "still_named_by": naming}),
        );
        return Ok(true);
    }
    cx.out.note(match had {
        true => format!("{BOLD}{shown}{BOLD:#}: the rows of postil are gone"),
        false => format!("{BOLD}{shown}{BOLD:#} has no rows that this command wrote"),
    });
    if !naming.is_empty() {
        cx.out.warn(&format!(
            "rows of your own name postil still; take it out of them: {}",
            naming.join(", ")
        ));
    }
    Ok(true)
}

fn failed(file: &Path, error: &std::io::Error) -> Error {
    Error::Other(format!(
        "{} cannot be changed ({error}), so nothing was written; where another program makes that file, give it the rows of editors/helix/languages.toml",
        file.display()
    ))
}

/// The file as it was found.
struct Before {
    /// `None`: there is none.
    text: Option<String>,
    is_link: bool,
    /// Where it lies, links followed.
    target: PathBuf,
}

impl Before {
    fn read(file: &Path) -> Result<Self, Error> {
        let is_link = file.is_symlink();
        let target = match os::canonical(file) {
            Ok(target) => target,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_link => {
                return Ok(Self {
                    text: None,
                    is_link,
                    target: file.to_owned(),
                });
            }
            Err(error) => return Err(failed(file, &error)),
        };
        let bytes = std::fs::read(&target).map_err(|error| failed(file, &error))?;
        let text = String::from_utf8(bytes).map_err(|_| {
            Error::Other(format!(
                "{} is not valid UTF-8; nothing was written: save it as UTF-8 and run this again",
                file.display()
            ))
        })?;
        Ok(Self {
            text: Some(text),
            is_link,
            target,
        })
    }

    /// Puts the whole new text there at once, if the file is still the one that was read.
    fn replace(&self, file: &Path, text: &[u8]) -> Result<(), Error> {
        let failed = |error: std::io::Error| failed(file, &error);
        let folder = self.target.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(failed)?;
        let mut new = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        if self.text.is_some() {
            let permissions = std::fs::metadata(&self.target)
                .map_err(failed)?
                .permissions();
            if permissions.readonly() {
                return Err(failed(std::io::ErrorKind::PermissionDenied.into()));
            }
            new.as_file().set_permissions(permissions).map_err(failed)?;
        }
        new.write_all(text)
            .and_then(|()| new.as_file().sync_all())
            .map_err(failed)?;
        let now = match std::fs::read(&self.target) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        if now.as_deref() != self.text.as_deref().map(str::as_bytes) {
            return Err(Error::Other(format!(
                "{} was changed meanwhile; nothing was written: run this again",
                file.display()
            )));
        }
        new.persist(&self.target)
            .map_err(|error| failed(error.error))?;
        Ok(())
    }
}

/// The user's text, and what stands between the marks, which are part of it.
struct Parts<'a> {
    above: &'a str,
    block: Option<&'a str>,
    below: &'a str,
}

impl<'a> Parts<'a> {
    fn of(text: Option<&'a str>, file: &Path) -> Result<Self, Error> {
        let text = text.unwrap_or_default();
        let (mut begins, mut ends) = (Vec::new(), Vec::new());
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            if line.starts_with(BEGIN) {
                begins.push(at);
            }
            at += line.len();
            if line.starts_with(END) {
                ends.push(at);
            }
        }
        match (begins.as_slice(), ends.as_slice()) {
            ([], []) => Ok(Self {
                above: text,
                block: None,
                below: "",
            }),
            // The line break above belongs to the block: it was written with it.
            ([begin], [end]) if begin < end => {
                let above = text.get(..*begin).unwrap_or_default();
                let above = above.strip_suffix('\n').unwrap_or(above);
                Ok(Self {
                    above,
                    block: text.get(above.len()..*end),
                    below: text.get(*end..).unwrap_or_default(),
                })
            }
            _ => Err(Error::Other(format!(
                "the marks of postil in {} are not one `{BEGIN}` and one `{END}` below it; nothing was written: take out the lines of postil by hand, then run this again",
                file.display()
            ))),
        }
    }

    fn outside(&self) -> String {
        format!("{}{}", self.above, self.below)
    }

    /// Nothing stood there before the block, not even an empty file.
    fn is_ours_alone(&self) -> bool {
        self.block.is_some_and(|block| block.starts_with(BEGIN))
    }

    fn around(&self, block: &str, exists: bool) -> String {
        let begins_the_file = if self.block.is_some() {
            self.is_ours_alone()
        } else {
            !exists
        };
        let line_break = if begins_the_file { "" } else { "\n" };
        format!("{}{line_break}{block}{}", self.above, self.below)
    }
}

/// What Helix wants of a file, as far as this command reads it: where something else stands, Helix reads none of it.
#[derive(serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "read to see whether it can be")]
struct Languages {
    #[serde(default)]
    language: Vec<Language>,
    #[serde(default)]
    language_server: BTreeMap<String, Table>,
    #[serde(default)]
    grammar: Vec<Table>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "read to see whether it can be")]
struct Language {
    name: String,
    language_servers: Option<Vec<Server>>,
}

#[derive(serde::Deserialize)]
#[serde(
    untagged,
    expecting = "a language server is its name, or a table with its `name`"
)]
#[expect(dead_code, reason = "read to see whether it can be")]
enum Server {
    Named(String),
    Table { name: String },
}

/// The rows of the user's own.
struct Own {
    /// By language: the servers with postil behind them as they should be, and whether they are so already.
    rows: BTreeMap<String, (String, bool)>,
    has_server: bool,
}

impl Own {
    fn read(parts: &Parts, file: &Path) -> Result<Self, Error> {
        let text = parts.outside();
        let read = text.parse::<Table>();
        let read = read.and_then(|table| toml::from_str::<Languages>(&text).map(|_| table));
        let table = read.map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let block = parts.block.filter(|_| start >= parts.above.len());
            let above = text.get(..start).unwrap_or_default();
            let line = [above, block.unwrap_or_default()].concat().matches('\n').count() + 1;
            let twice = match text.contains("[language-server.postil]") {
                true => "take out the rows of postil that were appended by hand, or mend that line",
                false => "mend that line",
            };
            Error::Other(format!(
                "{}:{line}: {}; Helix cannot read this file, and nothing was written: {twice}, then run this again",
                file.display(),
                error.message().lines().next().unwrap_or_default(),
            ))
        })?;
        let ours = ours();
        let rows = table.get("language").and_then(Value::as_array);
        let rows = rows.into_iter().flatten().filter_map(|row| {
            let name = row.get("name")?.as_str()?;
            let default = ours.get(name)?;
            let own = row.get("language-servers").and_then(Value::as_array);
            let mut servers = own.unwrap_or(default).clone();
            let is_postil = |server: &Value| {
                let name = server.as_str();
                name.or_else(|| server.get("name")?.as_str()) == Some("postil")
            };
            let has = own.is_some_and(|own| own.iter().any(is_postil));
            if !servers.iter().any(is_postil) {
                servers.push(Value::String(String::from("postil")));
            }
            Some((name.to_owned(), (Value::Array(servers).to_string(), has)))
        });
        Ok(Self {
            rows: rows.collect(),
            has_server: table
                .get("language-server")
                .is_some_and(|servers| servers.get("postil").is_some()),
        })
    }

    /// Languages whose row lacks postil, with the servers that it should have. The grammar's own row needs none.
    fn left_out(&self) -> Vec<(&str, &str)> {
        let rows = self.rows.iter().filter(|(_, (_, has))| !has);
        rows.filter(|(name, _)| *name != "postil")
            .map(|(name, (servers, _))| (name.as_str(), servers.as_str()))
            .collect()
    }

    fn naming(&self) -> Vec<&str> {
        let rows = self.rows.iter().filter(|(_, (_, has))| *has);
        rows.map(|(name, _)| name.as_str()).collect()
    }
}

/// The languages that we have rows for, with their servers.
fn ours() -> BTreeMap<String, Vec<Value>> {
    let table: Table = ROWS.parse().unwrap_or_default();
    let rows = table.get("language").and_then(Value::as_array).cloned();
    let rows = rows.unwrap_or_default().into_iter().filter_map(|row| {
        let servers = row.get("language-servers").and_then(Value::as_array);
        let name = row.get("name")?.as_str()?;
        Some((name.to_owned(), servers.cloned().unwrap_or_default()))
    });
    rows.collect()
}

/// The block without the tables that the user has, and of how many languages it has the servers.
fn block(own: &Own) -> (String, usize) {
    let mut parts = vec![format!("{BEGIN}{ABOUT}")];
    let mut count = 0;
    // A table is a paragraph of the file, its comments with it.
    for paragraph in ROWS.trim_end().split("\n\n") {
        let name = paragraph
            .lines()
            .find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        let is_own = match name {
            Some(name) => own.rows.contains_key(name),
            None => own.has_server && paragraph.starts_with("[language-server.postil]"),
        };
        if !is_own {
            count += usize::from(paragraph.contains("\nlanguage-servers = "));
            parts.push(paragraph.to_owned());
        }
    }
    (format!("{}\n{END}\n", parts.join("\n\n")), count)
}
