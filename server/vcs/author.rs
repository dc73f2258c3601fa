//! What of the author's own settings of git holds in an agent's commands too, which cannot read the files that these
//! stand in.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use super::program::git;

/// Names of settings that say who commits and how texts and histories are kept, in small letters. None names a program,
/// a file that is read, or a key.
const PLAIN: &[&str] = &[
    "apply.whitespace",
    "branch.autosetuprebase",
    "commit.cleanup",
    "commit.verbose",
    "core.abbrev",
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.quotepath",
    "core.safecrlf",
    "core.symlinks",
    "core.whitespace",
    "diff.algorithm",
    "diff.context",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.renames",
    "fetch.prune",
    "init.defaultbranch",
    "init.defaultobjectformat",
    "init.defaultrefformat",
    "merge.conflictstyle",
    "merge.ff",
    "merge.renames",
    "pull.ff",
    "pull.rebase",
    "push.default",
    "rebase.autosquash",
    "rebase.autostash",
    "rerere.enabled",
    "safe.directory",
    "status.showuntrackedfiles",
    "tag.sort",
    "user.email",
    "user.name",
];

/// The user's settings of these, as a file of git's own kind. Nothing is run for it.
pub fn plain_settings(folder: &Path) -> String {
    let any_owner = [(OsString::from("safe.directory"), "*")];
    let args = ["config", "--null", "--show-scope", "--includes", "--list"];
    let listed = git(folder, &any_owner, &args, None);
    let listed = listed.ok().filter(|listed| listed.status.success());
    let listed = listed.map(|listed| listed.stdout).unwrap_or_default();
    let mut text = String::new();
    let mut parts = listed.split(|byte| *byte == 0);
    while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
        let entry = String::from_utf8_lossy(entry);
        // A name without a value stands for `true`.
        let (name, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
        if scope == b"global"
            && PLAIN.contains(&name)
            && let Some((section, name)) = name.split_once('.')
        {
            let value = quoted(value);
            let _ = writeln!(text, "[{section}]\n\t{name} = \"{value}\"");
        }
    }
    text
}

fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', r"\\").replace('"', "\\\"");
    escaped.replace('\n', "\\n").replace('\t', "\\t")
}
