//! Commands of git: their verbs, and what they start.

use super::reader::read;
use super::{Simple, base};

/// Git's own options whose value is a word of its own.
const GIT_VALUES: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--config-env",
    "--attr-source",
];

/// Where git's verb stands behind its own options.
pub(super) fn verb_of_git(words: &[String]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|w| w.starts_with('-')) {
        at += if GIT_VALUES.contains(&word.as_str()) {
            2
        } else {
            1
        };
    }
    at
}

/// Git's own verbs, which no alias can be; of those that come with other programs the two that are met most.
const GIT_VERBS: &[&str] = &[
    "add",
    "am",
    "annotate",
    "apply",
    "archimport",
    "archive",
    "bisect",
    "blame",
    "branch",
    "bugreport",
    "bundle",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "check-ref-format",
    "checkout",
    "checkout-index",
    "cherry",
    "cherry-pick",
    "clean",
    "clone",
    "column",
    "commit",
    "commit-graph",
    "commit-tree",
    "config",
    "count-objects",
    "credential",
    "credential-cache",
    "credential-store",
    "cvsexportcommit",
    "cvsimport",
    "cvsserver",
    "daemon",
    "describe",
    "diagnose",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "difftool",
    "fast-export",
    "fast-import",
    "fetch",
    "fetch-pack",
    "filter-branch",
    "filter-repo",
    "fmt-merge-msg",
    "for-each-ref",
    "for-each-repo",
    "format-patch",
    "fsck",
    "fsck-objects",
    "gc",
    "get-tar-commit-id",
    "grep",
    "hash-object",
    "help",
    "hook",
    "http-backend",
    "http-fetch",
    "http-push",
    "imap-send",
    "index-pack",
    "init",
    "init-db",
    "instaweb",
    "interpret-trailers",
    "lfs",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "mailinfo",
    "mailsplit",
    "maintenance",
    "merge",
    "merge-base",
    "merge-file",
    "merge-index",
    "merge-octopus",
    "merge-one-file",
    "merge-ours",
    "merge-recursive",
    "merge-recursive-ours",
    "merge-recursive-theirs",
    "merge-resolve",
    "merge-subtree",
    "merge-tree",
    "mergetool",
    "mktag",
    "mktree",
    "multi-pack-index",
    "mv",
    "name-rev",
    "notes",
    "pack-objects",
    "pack-redundant",
    "pack-refs",
    "patch-id",
    "pickaxe",
    "prune",
    "prune-packed",
    "pull",
    "push",
    "quiltimport",
    "range-diff",
    "read-tree",
    "rebase",
    "receive-pack",
    "reflog",
    "refs",
    "remote",
    "remote-ext",
    "remote-fd",
    "remote-ftp",
    "remote-ftps",
    "remote-http",
    "remote-https",
    "repack",
    "replace",
    "replay",
    "request-pull",
    "rerere",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "send-email",
    "send-pack",
    "shell",
    "shortlog",
    "show",
    "show-branch",
    "show-index",
    "show-ref",
    "sparse-checkout",
    "stage",
    "stash",
    "status",
    "stripspace",
    "submodule",
    "svn",
    "switch",
    "symbolic-ref",
    "tag",
    "unpack-file",
    "unpack-objects",
    "update-index",
    "update-ref",
    "update-server-info",
    "upload-archive",
    "upload-pack",
    "var",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
    "whatchanged",
    "worktree",
    "write-tree",
];

/// Whether one of git's own options has it read settings that stand elsewhere.
pub(super) fn gives_settings(word: &str) -> bool {
    let word = word.to_lowercase();
    let elsewhere = ["include", "--config-env", "--exec-path="];
    elsewhere.iter().any(|start| word.starts_with(start))
}

pub(super) fn knows_verb(verb: &str) -> bool {
    GIT_VERBS.contains(&verb)
}

/// Of a command of git, what it is without git's own options, and what it starts because of them.
pub(super) fn in_git(simple: &Simple, found: &mut Vec<Simple>) {
    // `git-push` is a `git push`, and its folder is no secret.
    let program = simple.words.first().filter(|_| !simple.is_long());
    let program = program.map(|word| base(word));
    if let Some(verb) = program.and_then(|name| name.strip_prefix("git-")) {
        let mut whole = simple.tail(1);
        whole
            .words
            .splice(..0, [String::from("git"), verb.to_owned()]);
        whole.globs.splice(..0, [false, false]);
        found.push(whole);
    }
    let Some(words) = simple.of("git").filter(|_| !simple.is_long()) else {
        return;
    };
    let at = verb_of_git(words);
    let verb = words.get(at).map_or("", String::as_str);
    let behind = simple.tail(at + 2);
    let as_git = |verb: &[String]| {
        let mut whole = behind.clone();
        whole
            .words
            .splice(..0, [&[String::from("git")], verb].concat());
        whole.globs.splice(..0, vec![false; verb.len() + 1]);
        whole
    };
    if at > 0 {
        let verb = words.get(at).cloned();
        found.push(as_git(verb.as_slice()));
    }
    // Any of the settings that name a command.
    for (_, value) in words.iter().filter_map(|word| word.split_once('=')) {
        found.extend(read(value.trim_start_matches('!')).all);
    }
    // An alias, for this once or for good, is one of git's verbs unless it begins with `!`.
    let given = words.iter().take(at);
    let given = given.filter_map(|word| Some(word.split_once('=').filter(|_| is_alias(word))?.1));
    let named = behind
        .words
        .iter()
        .skip_while(|word| !is_alias(word))
        .skip(1);
    let kept = named.filter(|_| verb == "config").map(String::as_str);
    for value in given.chain(kept) {
        found.extend(read(value.trim_start_matches('!')).all);
        let read = read(value).all;
        found.extend(read.iter().map(|simple| as_git(&simple.words)));
    }
}

pub(super) fn is_alias(word: &str) -> bool {
    let start = word.get(..6);
    start.is_some_and(|start| start.eq_ignore_ascii_case("alias."))
}
