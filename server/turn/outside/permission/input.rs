//! What agents put into the input of a call, by the names that they have for it.

use serde_json::{Map, Value};

const COMMANDS: &[&str] = &["command", "cmd"];
/// What tools that edit a file call so, which no shell sees.
const EDITS: &[&str] = &["view", "create", "str_replace", "insert", "undo_edit"];
const ADDRESSES: &[&str] = &["url", "query"];
/// Where it is done.
const FOLDERS: &[&str] = &[
    "cwd",
    "workdir",
    "working_directory",
    "workingDirectory",
    "dir_path",
    "directory",
];
const FILES: &[&str] = &[
    "path",
    "paths",
    "file",
    "file_path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "source",
    "destination",
    "old_path",
    "new_path",
    "target",
];
/// Where the names of files stand as keys.
const BY_FILE: &[&str] = &["changes", "fileChanges", "file_changes"];
/// What is written, searched for or said: a text, whatever it looks like.
const TEXTS: &[&str] = &[
    "old",
    "new",
    "old_str_1",
    "new_str_1",
    "find",
    "replace",
    "with",
    "regexp",
    "instruction",
    "content",
    "contents",
    "text",
    "file_text",
    "insert_text",
    "old_string",
    "new_string",
    "oldString",
    "newString",
    "old_text",
    "new_text",
    "oldText",
    "newText",
    "old_str",
    "new_str",
    "new_source",
    "replacement",
    "code",
    "patch",
    "diff",
    "unified_diff",
    "pattern",
    "regex",
    "search",
    "title",
    "prompt",
    "thought",
    "todos",
];
/// What tells of a call, and changes nothing of what it does.
const DESCRIBES: &[&str] = &[
    "description",
    "command_description",
    "reason",
    "justification",
    "timeout",
    "timeout_ms",
];
/// What says nothing where it is not wanted.
const SWITCHES: &[&str] = &[
    "run_in_background",
    "is_background",
    "dangerouslyDisableSandbox",
];

#[derive(Clone, Copy)]
pub(super) struct Input<'a>(pub(super) Option<&'a Value>);

impl<'a> Input<'a> {
    fn get(self, key: &str) -> Option<&'a Value> {
        self.0?.get(key)
    }

    /// As a shell reads it.
    pub(super) fn command(self) -> Option<(&'static str, String)> {
        let mut keys = COMMANDS.iter();
        let edits = |said: &String| EDITS.contains(&said.as_str()) && !self.named().is_empty();
        keys.find_map(|key| {
            let said = words(self.get(key)?).filter(|said| !edits(said))?;
            Some((*key, said))
        })
    }

    fn text(self, keys: &[&'static str]) -> Option<(&'static str, &'a str)> {
        keys.iter()
            .find_map(|key| Some((*key, self.get(key)?.as_str()?)))
    }

    pub(super) fn address(self) -> Option<(&'static str, &'a str)> {
        self.text(ADDRESSES)
    }

    pub(super) fn folder(self) -> Option<(&'static str, &'a str)> {
        self.text(FOLDERS)
    }

    /// Files and folders that it names, and whatever else in it can only be one that leads elsewhere: agents have other
    /// names for them than we know.
    pub(super) fn files(self) -> Vec<&'a str> {
        let mut files = self.named();
        if let Some(input) = self.0 {
            strays(input, FILES, &mut files);
        }
        files
    }

    fn named(self) -> Vec<&'a str> {
        let named = FILES.iter().filter_map(|key| self.get(key));
        let each = named.flat_map(|value| match value {
            Value::Array(all) => all.as_slice(),
            one => std::slice::from_ref(one),
        });
        each.filter_map(Value::as_str).collect()
    }

    /// Whether this text stands in it.
    pub(super) fn has(self, text: &str) -> bool {
        let all = self.0.and_then(Value::as_object).into_iter().flatten();
        let mut texts = all.filter_map(|(_, value)| value.as_str());
        texts.any(|known| known.trim() == text)
    }

    /// What it holds that stands under none of these keys and does more than describe it.
    pub(super) fn beside(self, keys: &[&str]) -> Map<String, Value> {
        let is_known = |key: &str, value: &Value| match value {
            Value::Null => true,
            Value::Bool(false) => SWITCHES.contains(&key),
            Value::String(_) | Value::Number(_) => DESCRIBES.contains(&key),
            _ => false,
        };
        let all = self.0.and_then(Value::as_object).into_iter().flatten();
        all.filter(|(key, value)| !keys.contains(&key.as_str()) && !is_known(key, value))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }
}

/// But for what stands under these keys, which is known.
fn strays<'a>(value: &'a Value, known: &[&str], found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) if leads_elsewhere(text) => {
            found.push(text);
        }
        Value::Array(all) => all.iter().for_each(|each| strays(each, &[], found)),
        Value::Object(all) => {
            let known = [known, COMMANDS, ADDRESSES, FOLDERS, TEXTS, DESCRIBES];
            for (key, value) in all {
                if BY_FILE.contains(&key.as_str()) {
                    let files = value.as_object().into_iter().flatten();
                    found.extend(files.map(|(file, _)| file.as_str()));
                }
                if !known.iter().any(|keys| keys.contains(&key.as_str())) {
                    strays(value, &[], found);
                }
            }
        }
        _ => {}
    }
}

/// Whether a text is the name of a file, and not of one below the folder that any is looked for in.
fn leads_elsewhere(text: &str) -> bool {
    let is_one_line = !text.is_empty() && !text.contains(['\n', '\r']);
    // Not where a comment begins.
    let is_rooted = text.starts_with('/') && !text.starts_with("//") && !text.starts_with("/*");
    let begins = ["~/", "file:"].iter().any(|start| text.starts_with(start));
    let mut parts = text.split(['/', '\\']);
    is_one_line && (is_rooted || begins || parts.any(|part| part == ".." || part == ".git"))
}

/// A command, which some agents give as the list of its words: as a shell reads it.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) if !words.is_empty() => {
            let words: Option<Vec<String>> = words.iter().map(|w| w.as_str().map(word)).collect();
            Some(words?.join(" "))
        }
        _ => None,
    }
}

/// One word of a command, in quotes where it needs them.
pub(super) fn word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_of_words_is_a_command_as_a_shell_reads_it() {
        let command = |value| words(&value);
        assert_eq!(command(json!("a  b")).as_deref(), Some("a  b"));
        assert_eq!(
            command(json!(["sh", "-c", "it's; curl x", ""])).as_deref(),
            Some(r"sh -c 'it'\''s; curl x' ''")
        );
        for none in [json!([]), json!(["a", 1]), json!({"a": "b"}), json!(null)] {
            assert_eq!(command(none), None);
        }
    }
}
