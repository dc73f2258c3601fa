//! The tools that a setting can name, and the rules of what an agent may do. A rule that fits nothing forbids nothing,
//! so that a wrong name is told, and a path is taken as it is meant.

use std::path::Path;

use super::check::nearest;
use super::schema::Rule;
use crate::os;

/// The names of the agent's tools, in any order: a test of theirs keeps it whole.
pub const TOOLS: &[&str] = &[
    "ask_user",
    "bash",
    "bash_background",
    "bash_kill",
    "bash_list",
    "bash_output",
    "consult",
    "file_edit",
    "file_read",
    "file_write",
    "git_status",
    "glob",
    "grep",
    "http_request",
    "list_files",
    "log_read",
    "lsp",
    "memory_read",
    "memory_write",
    "patch_apply",
    "plan_enter",
    "plan_exit",
    "think",
    "todo_read",
    "todo_write",
    "web_fetch",
];

/// Those whose calls are about a path.
const OF_PATHS: &[&str] = &[
    "file_edit",
    "file_read",
    "file_write",
    "glob",
    "grep",
    "list_files",
    "lsp",
    "patch_apply",
];

/// Whether `text` is what `pattern` says, `*` standing for anything.
pub fn wildcard(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    true
}

fn is_a_tool(name: &str) -> bool {
    TOOLS.iter().any(|tool| wildcard(name, tool))
}

/// What is wrong with the name of a tool, to stand behind it, and the name that was meant, if one is near. `None`: there
/// is such a tool.
pub(super) fn no_tool(name: &str) -> Option<(String, Option<String>)> {
    if is_a_tool(name) {
        return None;
    }
    let like = name.trim().to_lowercase().replace('-', "_");
    let meant = match is_a_tool(&like) {
        true => Some(like),
        false => nearest(&like, TOOLS.iter().copied()).map(str::to_owned),
    };
    let what = match &meant {
        Some(meant) => format!("is no tool: did you mean `{meant}`?"),
        None => String::from("is no tool: `postil tools list` has their names"),
    };
    Some((what, meant))
}

/// The rules, those of paths as calls name them: relative to `root`, and without `./`.
pub(super) fn of_paths(rules: Vec<Rule>, root: Option<&Path>) -> Vec<Rule> {
    let mut all = Vec::with_capacity(rules.len());
    for rule in rules {
        let inside = rule.pattern.as_deref();
        let Some(inside) = inside.and_then(|pattern| in_root(pattern, root)) else {
            all.push(rule);
            continue;
        };
        // What is no path goes by the pattern as it stands: `./run` is another command than `run`.
        let is_meant = |tool: &&&str| wildcard(&rule.tool, tool);
        let of_paths = OF_PATHS.iter().filter(is_meant).map(|tool| Rule {
            tool: (*tool).to_owned(),
            pattern: Some(inside.clone()),
            action: rule.action,
        });
        let of_paths: Vec<Rule> = of_paths.collect();
        all.push(rule);
        all.extend(of_paths);
    }
    all
}

/// What a pattern that begins with `./`, or with the workspace's own folder, says of a path in it.
fn in_root(pattern: &str, root: Option<&Path>) -> Option<String> {
    if let Some(inside) = pattern.strip_prefix("./") {
        return Some(inside.trim_start_matches("./").to_owned());
    }
    let root = root.filter(|_| Path::new(pattern).is_absolute())?;
    let root = os::resolved(root);
    // By any of the folder's names.
    let ends = pattern.match_indices(['/', std::path::MAIN_SEPARATOR]);
    let mut ends = ends.map(|(at, _)| at).take_while(|at| {
        let above = pattern.get(..*at).unwrap_or_default();
        !above.contains('*')
    });
    let end = ends.find(|at| {
        let above = pattern.get(..*at).unwrap_or_default();
        !above.is_empty() && os::resolved(Path::new(above)) == root
    })?;
    Some(
        pattern
            .get(end + 1..)?
            .replace(std::path::MAIN_SEPARATOR, "/"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_that_was_meant_is_named() {
        let meant = |name: &str| no_tool(name).map(|(_, meant)| meant.unwrap_or_default());
        for (name, of) in [
            ("Bash", "bash"),
            ("file-write", "file_write"),
            ("FileWrite", "file_write"),
            ("Web_*", "web_*"),
            ("mcp__other__run", ""),
        ] {
            assert_eq!(meant(name).as_deref(), Some(of), "{name}");
        }
        assert!(meant("*").is_none() && meant("bash*").is_none());
    }
}
