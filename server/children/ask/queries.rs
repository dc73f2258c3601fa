//! The questions that the engine itself has, with plain answers.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::super::edits::{self, FileEdits};
use super::super::positions::{self, Texts};
use super::super::supervisor::{Child, Using};
use super::super::{CONTENT_MODIFIED, ChildError, Children, read_answer, uri};
use super::{About, Exchange, RENAME};
use crate::host::Level;
use crate::text::{Document, Encoding, Position};

/// Language servers in a message.
const MOST_NAMED: usize = 10;

/// A place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    /// Bytes.
    pub range: std::ops::Range<usize>,
    /// 0-based.
    pub line: usize,
    /// 0-based, in bytes.
    pub column: usize,
    /// The line, without its end.
    pub text: String,
}

impl Children {
    async fn places(
        &self,
        file: &Path,
        method: &str,
        params: Value,
        offset: usize,
        cancel: &CancellationToken,
    ) -> Result<Vec<Place>, ChildError> {
        let exchange = self
            .patiently(file, None, method, params, Some(offset), cancel)
            .await?;
        let value = read_answer(method, &exchange.answer)?;
        Ok(self.read_places(&value, exchange.told))
    }

    /// Asks, positions in UTF-8, and again where the content changed under it. `offset`: of a byte of the file's present
    /// text, which is found again in a later one; `params` need say neither where nor in which file.
    pub(super) async fn patiently(
        &self,
        file: &Path,
        language: Option<&str>,
        method: &str,
        params: Value,
        offset: Option<usize>,
        cancel: &CancellationToken,
    ) -> Result<Exchange, ChildError> {
        const SERVER_CANCELLED: i64 = -32802;
        let seen = offset.and_then(|_| self.present(file));
        let mut tries = 0;
        loop {
            let mut params = params.clone();
            let mut about = About::from(file);
            if let (Some(offset), Some(params)) = (offset, params.as_object_mut()) {
                let mut position = Position::default();
                if let Some((seen, _)) = &seen {
                    let (now, state) = self.present(file).ok_or_else(ChildError::modified)?;
                    let offset = moved(seen.text(), now.text(), offset);
                    position = now.position(offset.ok_or_else(lost)?, Encoding::Utf8);
                    about.text = Some(state);
                }
                let document = json!({"uri": uri::from_path(file)});
                params.insert(String::from("textDocument"), document);
                params.insert(String::from("position"), positions::to_json(position));
            }
            let answer = self
                .ask(
                    about,
                    language,
                    method,
                    params,
                    Encoding::Utf8,
                    true,
                    cancel,
                )
                .await;
            match answer {
                Err(ChildError::Answered {
                    code: CONTENT_MODIFIED | SERVER_CANCELLED,
                    ..
                }) if tries < 5 => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(50 << tries)).await;
                }
                answer => return answer,
            }
        }
    }

    /// As [`Children::request`] in UTF-8, asked again where the content changed under it. With `offset` about what stands
    /// at this byte of the file's present text, wherever that is by the time the child is asked.
    pub async fn query(
        &self,
        file: &Path,
        language: Option<&str>,
        method: &str,
        params: Value,
        offset: Option<usize>,
        cancel: &CancellationToken,
    ) -> Result<Value, ChildError> {
        let exchange = self
            .patiently(file, language, method, params, offset, cancel)
            .await?;
        read_answer(method, &exchange.answer)
    }

    /// Asks the children of all these files what is about no file, each child once and all at the same time.
    pub async fn request_each(
        &self,
        files: &[PathBuf],
        method: &str,
        params: &Value,
        encoding: Encoding,
        cancel: &CancellationToken,
    ) -> Vec<Result<Value, ChildError>> {
        let mut asked: Vec<(Using, &PathBuf)> = Vec::new();
        let most = self.shared.limits().max_children;
        let (mut kinds, mut left_out) = (HashSet::new(), BTreeSet::new());
        let mut is_full = false;
        for file in files {
            if !kinds.insert((file.parent(), file.extension())) {
                continue;
            }
            // More would wait for each other, and for those that are held here.
            if !is_full && asked.len() < most {
                match self.find_child(file, None).await {
                    Ok(child) => {
                        let mut others = asked.iter();
                        if !others.any(|(other, _)| Arc::<Child>::ptr_eq(other, &child)) {
                            asked.push((child, file));
                        }
                        continue;
                    }
                    Err((ChildError::Full(..), _)) => is_full = true,
                    Err(_) => continue,
                }
            }
            let is_asked = |(command, root): &(String, PathBuf)| {
                let mut all = asked.iter();
                all.any(|(child, _)| child.row.command == *command && child.key.root == *root)
            };
            let server = self.server_of(file).await;
            left_out.extend(server.filter(|server| !is_asked(server)));
        }
        self.tell_left_out(&left_out, most);
        let ask = |(_, file): &(Using, &PathBuf)| {
            let file = file.to_path_buf();
            async move {
                let params = params.clone();
                self.request(&file, None, method, params, encoding, cancel)
                    .await
            }
        };
        futures::future::join_all(asked.iter().map(ask)).await
    }

    /// Once for the same.
    fn tell_left_out(&self, servers: &BTreeSet<(String, PathBuf)>, most: usize) {
        let named = servers.iter().take(MOST_NAMED);
        let named = named.map(|(command, folder)| format!("`{command}` in {}", folder.display()));
        let more = match servers.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let text = format!(
            "Not asked for symbols: {}{more}. `proxy.maxChildren` is {most}.",
            named.collect::<Vec<_>>().join(", ")
        );
        if !servers.is_empty()
            && self.shared.first_time(&text, "left out", 100)
            && let Some(host) = self.shared.host()
        {
            host.message(Level::Warning, &text);
        }
    }

    /// Locations and links (counted in UTF-8) as places; what is no file is left out.
    pub fn to_places(&self, value: &Value) -> Vec<Place> {
        self.read_places(value, HashMap::new())
    }

    fn read_places(&self, value: &Value, told: HashMap<PathBuf, Document>) -> Vec<Place> {
        let mut texts = Texts::new(told, Arc::clone(&self.shared.buffers));
        let one = std::slice::from_ref(value);
        let items = value
            .as_array()
            .map_or(if value.is_object() { one } else { &[] }, Vec::as_slice);
        let mut places: Vec<Place> = Vec::new();
        for item in items {
            let link = item.get("targetUri").is_some();
            let (uri, range) = if link {
                ("targetUri", "targetSelectionRange")
            } else {
                ("uri", "range")
            };
            let Some(path) = item.get(uri).and_then(Value::as_str).and_then(uri::to_file) else {
                continue;
            };
            let place = match texts.of(&path) {
                Some(document) => {
                    let Some(range) = item
                        .get(range)
                        .and_then(|r| positions::bytes(r, document, Encoding::Utf8))
                    else {
                        continue;
                    };
                    place(path, document, range)
                }
                None => {
                    let start = item
                        .get(range)
                        .and_then(|r| positions::position(r.get("start")?))
                        .unwrap_or_default();
                    Place {
                        path,
                        range: 0..0,
                        line: start.line as usize,
                        column: start.character as usize,
                        text: String::new(),
                    }
                }
            };
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// Where the name at byte `offset` is defined.
    pub async fn definition(
        &self,
        file: &Path,
        offset: usize,
        cancel: &CancellationToken,
    ) -> Result<Vec<Place>, ChildError> {
        let method = "textDocument/definition";
        self.places(file, method, json!({}), offset, cancel).await
    }

    /// Where the name at byte `offset` is used, its declaration included.
    pub async fn references(
        &self,
        file: &Path,
        offset: usize,
        cancel: &CancellationToken,
    ) -> Result<Vec<Place>, ChildError> {
        let params = json!({"context": {"includeDeclaration": true}});
        self.places(file, "textDocument/references", params, offset, cancel)
            .await
    }

    pub async fn implementation(
        &self,
        file: &Path,
        offset: usize,
        cancel: &CancellationToken,
    ) -> Result<Vec<Place>, ChildError> {
        let method = "textDocument/implementation";
        self.places(file, method, json!({}), offset, cancel).await
    }

    /// What is known of the name at byte `offset`, as Markdown or plain text.
    pub async fn hover(
        &self,
        file: &Path,
        offset: usize,
        cancel: &CancellationToken,
    ) -> Result<Option<String>, ChildError> {
        let method = "textDocument/hover";
        let exchange = self
            .patiently(file, None, method, json!({}), Some(offset), cancel)
            .await?;
        let value = read_answer("textDocument/hover", &exchange.answer)?;
        let text = value.get("contents").map(marked).unwrap_or_default();
        Ok(Some(text.trim().to_string()).filter(|t| !t.is_empty()))
    }

    /// The edits that rename what stands at byte `offset`; nothing is changed yet.
    pub async fn rename(
        &self,
        file: &Path,
        offset: usize,
        new_name: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<FileEdits>, ChildError> {
        let params = json!({"newName": new_name});
        let exchange = self
            .patiently(file, None, RENAME, params, Some(offset), cancel)
            .await?;
        let value = read_answer(RENAME, &exchange.answer)?;
        edits::from_workspace_edit(&value, Encoding::Utf8, exchange.told, &self.shared.buffers)
            .map_err(|e| ChildError::Answered {
                code: -32803,
                message: e.to_string(),
                data: None,
            })
    }
}

/// Where a byte of `old` stands in `new`; `None` where the text around it is another one.
fn moved(old: &str, new: &str, offset: usize) -> Option<usize> {
    let same = |pair: &(u8, u8)| pair.0 == pair.1;
    let before = old.bytes().zip(new.bytes()).take_while(same).count();
    let rest = old.len().min(new.len()) - before;
    let (ends, now) = (old.bytes().rev(), new.bytes().rev());
    let after = ends.zip(now).take(rest).take_while(same).count();
    // What is put in at the very place stands before it.
    if offset >= old.len() - after {
        return (offset + new.len()).checked_sub(old.len());
    }
    (offset < before).then_some(offset)
}

fn lost() -> ChildError {
    ChildError::Answered {
        code: CONTENT_MODIFIED,
        message: String::from(
            "what stood there was changed while the language server was waited for: read the file and ask again",
        ),
        data: None,
    }
}

fn place(path: PathBuf, document: &Document, range: std::ops::Range<usize>) -> Place {
    let start = document.position(range.start, Encoding::Utf8);
    let line = start.line as usize;
    let text = document
        .text()
        .get(document.line(line))
        .unwrap_or_default()
        .to_string();
    Place {
        path,
        range,
        line,
        column: start.character as usize,
        text,
    }
}

/// `MarkupContent`, `MarkedString`, or several of the latter.
pub fn marked(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .map(marked)
            .filter(|p| !p.is_empty())
            .collect::<Vec<_>>()
            .join("\n\n"),
        Value::Object(object) => {
            let text = object
                .get("value")
                .and_then(Value::as_str)
                .unwrap_or_default();
            match object.get("language").and_then(Value::as_str) {
                Some(language) => format!("```{language}\n{text}\n```"),
                None => text.to_string(),
            }
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_again_as_long_as_its_text_is_there() {
        let old = "fn first() {}\nfn second() {}\nfn last() {}\n";
        let at = old.find("second");
        for (new, found) in [
            (old.to_owned(), true),
            (format!("use std::fmt;\n{old}"), true),
            (old.replace("fn second", "fn zero() {}\nfn second"), true),
            (old.replace("last", "a_longer_name"), true),
            (old.replace("fn first() {}\n", ""), true),
            (old.replace("fn second() {}\n", ""), false),
            (String::new(), false),
        ] {
            let now = at.and_then(|at| moved(old, &new, at));
            assert_eq!(now, new.find("second").filter(|_| found), "{new}");
        }
        assert_eq!(moved("a", "a", 1), Some(1));
        assert_eq!(moved("a", "", 0), None);
    }
}
