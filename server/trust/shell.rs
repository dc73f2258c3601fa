//! A shell's command as permission rules see it: the simple commands in it, and those that they start in turn.
//!
//! Rules are for asking; what a command can do is held by the sandbox. So nothing here has to understand a shell: what
//! it is not sure of is never allowed by a rule for something else, and always counts for one that forbids.

mod reader;

use std::path::Path;

use crate::config::{Action, Rule};
use crate::os;

use reader::read;

/// More simple commands than anybody reads.
const MOST: usize = 50;
const DEPTH: usize = 8;
/// Places in one simple command that are looked at.
const SUSPECTS: usize = 400;
/// Words of one simple command, each of which may be the one that does something.
const WORDS: usize = 1000;
/// Bytes; no system takes more as one argument of `sh -c` (Linux: 128 KB).
const LONGEST: usize = 128 << 10;
const TOO_LONG: &str = "Nobody can tell what it destroys: it is too long.";

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Simple {
    /// Without quotes.
    words: Vec<String>,
    /// What it does is decided when it runs: expansions, assignments before it, redirections to files, names made of
    /// patterns.
    open: bool,
}

impl Simple {
    fn text(&self) -> String {
        self.words.join(" ")
    }

    /// Nobody looks at what each of its words may begin.
    fn is_long(&self) -> bool {
        self.words.len() > WORDS
    }

    /// What stands behind the program, if that is `name`.
    fn of(&self, name: &str) -> Option<&[String]> {
        let (first, rest) = self.words.split_first()?;
        (first.rsplit('/').next() == Some(name)).then_some(rest)
    }

    /// With the program by its name alone.
    fn bare(&self) -> Option<String> {
        let (first, rest) = self.words.split_first()?;
        let name = first.rsplit('/').next()?;
        let words: Vec<&str> = std::iter::once(name)
            .chain(rest.iter().map(String::as_str))
            .collect();
        Some(words.join(" "))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Commands {
    all: Vec<Simple>,
    /// Something in it gives names another meaning, or becomes a command only when it runs.
    unsure: bool,
    /// It is no shell's text, or was made to be read wrongly.
    unreadable: bool,
}

impl Commands {
    /// Nobody looks at what they start.
    fn is_long(&self) -> bool {
        self.all.len() > MOST || self.are_wide()
    }

    /// Each word of a simple command may be the one that does something, with all that stand behind it.
    fn are_wide(&self) -> bool {
        let pairs = self.all.iter().map(|simple| simple.words.len().pow(2));
        pairs.sum::<usize>() > WORDS * WORDS
    }

    /// The same of words in quotes: nobody looks at what each may begin.
    fn is_full(&self) -> bool {
        let words = self.all.iter().flat_map(|simple| &simple.words);
        let mut words = words.flat_map(|word| word.split_whitespace());
        words.nth(WORDS).is_some()
    }
}

/// How far a command is looked at.
#[derive(Clone, Copy)]
struct Depth {
    unsure: bool,
    /// To what it starts.
    started: bool,
    /// To what it may start.
    suspects: bool,
}

/// What the rules say of `command`, the last that matches first; `otherwise` where none does.
pub(super) fn decide(rules: &[&Rule], command: &str, otherwise: Action) -> Action {
    if command.len() > LONGEST {
        return otherwise.max(Action::Ask);
    }
    let commands = read(command);
    let is_long = commands.is_long();
    let suspects = !is_long && !commands.is_full();
    let depth = Depth {
        unsure: commands.unsure || commands.unreadable || commands.all.is_empty() || !suspects,
        started: !is_long,
        suspects,
    };
    let mut worst = Action::Allow;
    if commands.all.is_empty() {
        worst = one(rules, &Simple::default(), command, depth, otherwise);
    }
    for simple in &commands.all {
        worst = worst.max(one(rules, simple, command, depth, otherwise));
    }
    if commands.unreadable || is_long {
        worst = worst.max(Action::Ask);
    }
    worst
}

fn one(rules: &[&Rule], simple: &Simple, whole: &str, depth: Depth, otherwise: Action) -> Action {
    let text = simple.text();
    // What it starts, as far as it can be told, and what it may.
    let started = match depth.started {
        true => started(simple),
        false => Vec::new(),
    };
    let maybe = match depth.suspects {
        true => suspects(simple),
        false => Vec::new(),
    };
    let unsure = depth.unsure || maybe.len() >= SUSPECTS;
    // Of `find` each word would count, also of what it only looks for.
    let runs = |word: &String| matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    let looks = simple
        .of("find")
        .is_some_and(|words| !words.iter().any(runs));
    let hides = is_hidden(simple) || !looks && started.iter().any(is_hidden);
    for rule in rules.iter().rev() {
        let pattern = rule.pattern.as_deref().unwrap_or("*");
        let fits = |text: &str| super::wildcard(pattern, text);
        // Alone it may be given its arguments by what starts it, so `rm` is an `rm *`.
        let with_arguments = |text: &str| fits(text) || fits(&format!("{text} "));
        let fits_simple = |s: &Simple| {
            with_arguments(&s.text()) || s.bare().is_some_and(|bare| with_arguments(&bare))
        };
        match rule.action {
            Action::Allow if pattern == "*" => return Action::Allow,
            // A grant for exactly this.
            Action::Allow if !pattern.contains('*') => {
                if pattern == whole {
                    return Action::Allow;
                }
                if !unsure && !simple.open && pattern == text {
                    return Action::Allow;
                }
            }
            Action::Allow => {
                if !unsure && !simple.open && fits(&text) {
                    return Action::Allow;
                }
            }
            action @ (Action::Ask | Action::Deny) => {
                let certain = fits_simple(simple) || fits(whole) || started.iter().any(fits_simple);
                if certain && action == Action::Deny {
                    return Action::Deny;
                }
                if certain || unsure || hides || simple.open || maybe.iter().any(fits_simple) {
                    return Action::Ask;
                }
            }
        }
    }
    otherwise
}

/// Why this command, begun in `root`, is asked about each time: what it destroys, nobody brings back.
pub fn destroys(command: &str, root: &Path) -> Option<&'static str> {
    if command.len() > LONGEST {
        return Some(TOO_LONG);
    }
    let commands = read(command);
    if commands.are_wide() {
        return Some(TOO_LONG);
    }
    let mut left = SUSPECTS * WORDS;
    for simple in &commands.all {
        let maybe = suspects(simple);
        let words: usize = maybe.iter().map(|simple| simple.words.len()).sum();
        let Some(rest) = left.checked_sub(words) else {
            return Some(TOO_LONG);
        };
        left = rest;
        let all = std::iter::once(simple.clone()).chain(started(simple));
        let found = all
            .chain(maybe)
            .find_map(|simple| destroys_one(&simple, root));
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Whether the root lies in what a path means there, as far as it can be told without looking.
fn holds_root(path: &str, root: &Path) -> bool {
    root.starts_with(os::without_dots(&root.join(path)))
}

fn destroys_one(simple: &Simple, root: &Path) -> Option<&'static str> {
    let (program, rest) = simple.words.split_first()?;
    let program = program.rsplit('/').next()?;
    let short = |c: char| {
        rest.iter()
            .any(|w| w.starts_with('-') && !w.starts_with("--") && w.contains(c))
    };
    let has = |word: &str| rest.iter().any(|w| w == word);
    let begins = |start: &str| rest.iter().any(|w| w.starts_with(start));
    let given = |option: &str| rest.iter().any(|word| is_short_for(word, option));
    match program {
        "rm" if short('r') || short('R') || given("--recursive") => {
            let wide = |word: &String| {
                let word = word.trim_end_matches(['/', '*']).trim_end_matches("/.");
                matches!(word, "" | "." | ".." | "~" | "$HOME" | "${HOME}")
                    || word.split('/').any(|part| part == ".git")
                    || word.starts_with("~") && !word.contains('/')
                    || word.starts_with('/') && word.matches('/').count() <= 2
                    || word.ends_with("/..")
                    || holds_root(word, root)
                    // What it means is known when it runs.
                    || word.starts_with(['$', '`']) && !word.contains('/')
                    || word == "{}"
            };
            let mut targets = rest.iter().filter(|w| !w.starts_with('-')).peekable();
            // Without any it is told by `xargs`.
            (given("--no-preserve-root") || targets.peek().is_none() || targets.any(wide))
                .then_some("It removes a whole folder tree for good.")
        }
        "git" => destroys_in_git(rest, root),
        "find" if has("-delete") => Some("It removes each file that it finds for good."),
        "dd" if begins("of=/dev/") => Some("It overwrites a device."),
        "shred" | "wipefs" => Some("It overwrites what it is given for good."),
        name if name.starts_with("mkfs") => Some("It empties a file system."),
        "chmod" | "chown" if short('R') && rest.iter().any(|w| w == "/" || w == "~") => {
            Some("It changes who may use every file.")
        }
        "terraform" | "tofu" | "pulumi" if has("destroy") => {
            Some("It takes down what runs elsewhere.")
        }
        "kubectl" if has("delete") => Some("It takes down what runs elsewhere."),
        "dropdb" => Some("It removes a database for good."),
        "docker" | "podman" if has("prune") => Some("It removes what it finds unused for good."),
        _ => None,
    }
}

/// Where git's verb stands behind its own options.
fn verb_of_git(words: &[String]) -> usize {
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

/// Whether a word of a command is this long option, which programs take abbreviated too.
fn is_short_for(word: &str, option: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    name.len() > 2 && option.starts_with(name)
}

/// Whether `git checkout` is told of files, and not of a branch alone.
fn checks_out_files(rest: &[String], folder: &Path) -> bool {
    let makes = |word: &String| matches!(word.as_str(), "-b" | "-B" | "--orphan");
    if rest.iter().any(makes) {
        return false;
    }
    let mut operands = rest.iter().filter(|word| !word.starts_with('-'));
    let is_path = |word: &String| {
        word.starts_with('.')
            || word.contains(['*', '?', '[', ':'])
            || folder.join(word).symlink_metadata().is_ok()
    };
    operands.clone().nth(1).is_some() || operands.any(is_path)
}

fn destroys_in_git(words: &[String], root: &Path) -> Option<&'static str> {
    let at = verb_of_git(words);
    let own = words.get(..at).unwrap_or_default();
    let folders = own.iter().zip(own.iter().skip(1));
    let folders = folders.filter(|(word, _)| *word == "-C");
    let folder = folders.fold(root.to_owned(), |at, (_, folder)| at.join(folder));
    let verb = words.get(at)?.as_str();
    let rest = words.get(at + 1..).unwrap_or_default();
    let has = |word: &str| rest.iter().any(|w| w == word);
    let short = |c: char| {
        rest.iter()
            .any(|w| w.starts_with('-') && !w.starts_with("--") && w.contains(c))
    };
    let given = |option: &str| rest.iter().any(|word| is_short_for(word, option));
    let first = rest.first().map_or("", String::as_str);
    match verb {
        "push"
            if short('f')
                || short('d')
                || rest
                    .iter()
                    .any(|w| w.starts_with("--force") || w.starts_with(['+', ':']))
                || given("--force")
                || given("--mirror")
                || given("--delete")
                || given("--prune") =>
        {
            Some("It overwrites or removes what others have pushed.")
        }
        "clean" if short('f') || given("--force") => {
            Some("It removes files that are in no history.")
        }
        "reset" if given("--hard") || given("--merge") => {
            Some("It throws uncommitted changes away.")
        }
        "checkout"
            if short('f')
                || given("--force")
                || given("--pathspec-from-file")
                || has("--")
                || checks_out_files(rest, &folder) =>
        {
            Some("It throws uncommitted changes away.")
        }
        "checkout-index" if short('f') || given("--force") => {
            Some("It throws uncommitted changes away.")
        }
        "read-tree" if given("--reset") => Some("It throws uncommitted changes away."),
        "switch" if short('f') || given("--force") || given("--discard-changes") => {
            Some("It throws uncommitted changes away.")
        }
        "restore" if !has("--staged") || short('W') || given("--worktree") => {
            Some("It throws uncommitted changes away.")
        }
        "stash" if matches!(first, "drop" | "clear") => Some("It throws stashed changes away."),
        "branch" if short('D') || given("--force") => {
            Some("It removes commits that are nowhere else.")
        }
        "update-ref" if short('d') => Some("It removes commits that are nowhere else."),
        "reflog" if matches!(first, "expire" | "delete") => {
            Some("It removes the way back to earlier commits.")
        }
        "filter-branch" | "filter-repo" => Some("It rewrites the whole history."),
        "worktree" if first == "remove" && (short('f') || given("--force")) => {
            Some("It throws uncommitted changes away.")
        }
        _ => None,
    }
}

/// Programs that start another one, which stands behind their own options.
const STARTERS: &[&str] = &[
    "env", "xargs", "sudo", "doas", "nohup", "nice", "ionice", "chrt", "timeout", "time", "setsid",
    "stdbuf", "command", "builtin", "exec", "busybox", "watch", "strace", "parallel", "unshare",
    "flock", "script", "find",
];
/// Those that are given a text to run.
const READERS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "fish", "eval", "su", "trap", "watch", "parallel",
];

/// Those of them that run a file which they are given.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish"];

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

/// What `simple` starts for certain.
fn started(simple: &Simple) -> Vec<Simple> {
    let mut found = Vec::new();
    let Some((program, rest)) = simple.words.split_first() else {
        return found;
    };
    let program = program.rsplit('/').next().unwrap_or_default();
    if STARTERS.contains(&program) {
        // Any word behind it may be the program: options have arguments, and nobody knows all of them.
        for at in 0..rest.len() {
            let words = rest.get(at..).unwrap_or_default().to_vec();
            if !words.first().is_some_and(|w| w.starts_with('-')) {
                found.push(Simple { words, open: false });
            }
        }
    }
    if READERS.contains(&program) || program == "eval" {
        let whole = rest.join(" ");
        for text in rest.iter().chain([&whole]) {
            found.extend(read(text).all);
        }
    }
    let mut of_git = Vec::new();
    for simple in std::iter::once(simple).chain(&found) {
        in_git(simple, &mut of_git);
    }
    found.extend(of_git);
    found
}

/// Of a command of git, what it is without git's own options, and what it starts because of them.
fn in_git(simple: &Simple, found: &mut Vec<Simple>) {
    let Some(words) = simple.of("git").filter(|_| !simple.is_long()) else {
        return;
    };
    let at = verb_of_git(words);
    let verb = words.get(at).map_or("", String::as_str);
    let behind = words.get(at + 1..).unwrap_or_default();
    let as_git = |verb: &[String]| Simple {
        words: [&[String::from("git")], verb, behind].concat(),
        open: false,
    };
    if at > 0 && !verb.is_empty() {
        found.push(as_git(&[verb.to_owned()]));
    }
    // Any of the settings that name a command.
    for (_, value) in words.iter().filter_map(|word| word.split_once('=')) {
        found.extend(read(value.trim_start_matches('!')).all);
    }
    // An alias, for this once or for good, is one of git's verbs unless it begins with `!`.
    let given = words.iter().take(at);
    let given = given.filter_map(|word| Some(word.split_once('=').filter(|_| is_alias(word))?.1));
    let named = behind.iter().skip_while(|word| !is_alias(word)).skip(1);
    let kept = named.filter(|_| verb == "config").map(String::as_str);
    for value in given.chain(kept) {
        found.extend(read(value.trim_start_matches('!')).all);
        let read = read(value).all;
        found.extend(read.iter().map(|simple| as_git(&simple.words)));
    }
}

fn is_alias(word: &str) -> bool {
    let start = word.get(..6);
    start.is_some_and(|start| start.eq_ignore_ascii_case("alias."))
}

/// What `env` or `export` may set so that git has other verbs, aliases of a file among them.
const GIT_READS: &[&str] = &["GIT_", "HOME=", "XDG_CONFIG_HOME="];

/// Whether what this does stands in a file, or in the environment, where nobody reads it.
fn is_hidden(simple: &Simple) -> bool {
    let sets = |word: &String| {
        let mut names = GIT_READS.iter();
        word.contains('=') && names.any(|name| word.starts_with(name))
    };
    if simple.words.iter().any(sets) {
        return true;
    }
    let Some(words) = simple.of("git") else {
        return runs_script(simple);
    };
    let own = words.iter().take(verb_of_git(words));
    let elsewhere = ["include", "--config-env", "--exec-path="];
    own.map(|word| word.to_lowercase())
        .any(|word| elsewhere.iter().any(|start| word.starts_with(start)))
}

/// A shell that is given a file to run, or its input: what that does is not in the command.
fn runs_script(simple: &Simple) -> bool {
    let Some((program, rest)) = simple.words.split_first() else {
        return false;
    };
    let program = program.rsplit('/').next().unwrap_or_default();
    if !SHELLS.contains(&program) {
        let ending = program.rsplit_once('.').map(|(_, ending)| ending);
        return ending.is_some_and(|ending| SHELLS.contains(&ending));
    }
    // Options, of which `-o` has a value; a text to run is read.
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix(['-', '+']) {
            Some(long) if long.starts_with('-') => {
                if matches!(long, "-version" | "-help") {
                    return false;
                }
            }
            Some("c") => return false,
            Some(short) if short.contains('c') && word.starts_with('-') => return false,
            Some("o" | "O") => drop(words.next()),
            Some(_) => {}
            None => return true,
        }
    }
    true
}

/// What it may start: everything from any place on where the name of a program could begin.
fn suspects(simple: &Simple) -> Vec<Simple> {
    let text = simple.text();
    let is_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let mut before = ' ';
    let mut found = Vec::new();
    for (at, c) in text.char_indices() {
        if at > 0 && is_name(c) && !is_name(before) && found.len() < SUSPECTS {
            let rest = text.get(at..).unwrap_or_default();
            let words = rest
                .split_whitespace()
                .take(WORDS)
                .map(|word| word.trim_matches(|c| "'\"`();{}".contains(c)).to_owned());
            found.push(Simple {
                words: words.collect(),
                open: false,
            });
        }
        before = c;
    }
    let mut of_git = Vec::new();
    for simple in &found {
        in_git(simple, &mut of_git);
    }
    found.extend(of_git);
    found
}

#[cfg(test)]
mod tests;
