//! What an outside agent asks before it does it: decided by the rules, grants and questions of our own tools.

use serde_json::Value;

use crate::acp::{Call, Choice, Kind};
use crate::trust::{self, Risk};

use super::{Work, files, title};

/// Tools of our own MCP server, as agents name them; with us they only read.
const OURS: &[&str] = &["mcp__postil__", "postil_"];

const OUTSIDE: &str = "It lies outside of the workspace.";
const NAMELESS: &str = "It does not say which file.";

/// What is to be done, as our own tools would be named for it, and what it is about.
struct Matter {
    tool: &'static str,
    risk: Risk,
    about: Vec<String>,
    /// Why it is asked whatever was allowed before.
    always: Option<String>,
}

/// The index of the choice. What lasts is kept here, where it can be shown and revoked, so the agent is told
/// of this once alone.
pub(super) async fn decide(work: &Work<'_>, call: &Call, choices: &[Choice]) -> Option<usize> {
    let pick = |allows: bool| {
        let once = choices.iter().position(|c| c.allows == allows && !c.always);
        once.or_else(|| choices.iter().position(|c| c.allows == allows))
    };
    let Some(matter) = matter(work, call) else {
        return pick(false);
    };
    let input = call.input.as_ref().map(ToString::to_string);
    let input = input.unwrap_or_else(|| call.id.clone());
    let asked = work.registry.may(
        work.cx,
        (matter.tool, matter.risk),
        &matter.about,
        &input,
        matter.always.as_deref(),
    );
    match asked.await {
        Ok(()) => pick(true),
        Err(why) => {
            tracing::info!("{}: {why}", work.agent.title);
            pick(false)
        }
    }
}

/// `None`: it is refused without a question.
fn matter(work: &Work<'_>, call: &Call) -> Option<Matter> {
    let kind = call.kind.unwrap_or(Kind::Other);
    let input = |names: &[&str]| {
        let all = names.iter();
        let mut all = all.filter_map(|name| call.input.as_ref()?.get(name));
        all.find_map(in_words)
    };
    let shown = || title(call);
    // Neither cut nor in one line: by these words it is decided.
    let whole = || {
        let title = call.title.clone().filter(|title| !title.trim().is_empty());
        title.unwrap_or_else(shown)
    };
    let tree = &work.cx.tree;
    let mut about = Vec::new();
    let mut always = None;
    match kind {
        Kind::Edit | Kind::Delete | Kind::Move => {
            let files = files(call);
            for file in &files {
                // What lies outside the root is no business of the turn.
                let resolved = tree.resolve(file).ok()?;
                let name = tree.relative(&resolved)?;
                if let Some(why) = trust::guarded_as(tree.root(), file, &name) {
                    always = Some(format!("{name}: {why}."));
                }
                about.push(name);
            }
            if files.is_empty() {
                always = Some(NAMELESS.to_owned());
                about.push(shown());
            }
            Some(Matter {
                tool: "file_edit",
                risk: Risk::Write,
                about,
                always,
            })
        }
        Kind::Execute => {
            let command = input(&["command", "cmd"]);
            if command.is_none() {
                always = Some(String::from("It does not say which command."));
            }
            Some(Matter {
                tool: "bash",
                risk: Risk::Run,
                about: vec![command.unwrap_or_else(whole)],
                always,
            })
        }
        Kind::Fetch => Some(Matter {
            tool: "web_fetch",
            risk: Risk::Send,
            about: vec![input(&["url", "query"]).unwrap_or_else(shown)],
            always,
        }),
        Kind::Read | Kind::Search => {
            for file in files(call) {
                match tree.resolve(&file).ok().and_then(|r| tree.relative(&r)) {
                    Some(name) => about.push(name),
                    None => {
                        always = Some(OUTSIDE.to_owned());
                        about.push(file.display().to_string());
                    }
                }
            }
            if about.is_empty() {
                about.push(shown());
            }
            Some(Matter {
                tool: "file_read",
                risk: Risk::Read,
                about,
                always,
            })
        }
        Kind::Think => Some(Matter {
            tool: "think",
            risk: Risk::Read,
            about: vec![shown()],
            always,
        }),
        Kind::Other => {
            // A title is what a tool says of itself: it counts where nothing names the tool.
            let name = call.name.as_deref().or(call.title.as_deref());
            let ours = name.is_some_and(|name| {
                let rest = OURS.iter().find_map(|start| name.strip_prefix(start));
                rest.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
            });
            Some(Matter {
                tool: if ours { "think" } else { "bash" },
                risk: if ours { Risk::Read } else { Risk::Run },
                about: vec![whole()],
                always,
            })
        }
    }
}

/// A command, which some agents give as the list of its words: as a shell reads it.
fn in_words(value: &Value) -> Option<String> {
    let quoted = |word: &Value| {
        let word = word.as_str()?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
        Some(match !word.is_empty() && word.chars().all(is_plain) {
            true => word.to_owned(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        })
    };
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) if !words.is_empty() => {
            let words: Option<Vec<String>> = words.iter().map(quoted).collect();
            Some(words?.join(" "))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_of_words_is_a_command_as_a_shell_reads_it() {
        let command = |value| in_words(&value);
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
