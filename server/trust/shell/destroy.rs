//! What a command destroys, by the names and dresses that are known.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path, PathBuf};

use super::super::pattern::{Piece, braces, matches, pieces};
use super::git::{gives_settings, is_alias, knows_verb, verb_of_git};
use super::reader::read;
use super::{LONGEST, SUSPECTS, Simple, WORDS, base, started, suspects};
use crate::{os, vcs};

const TOO_LONG: &str = "Nobody can tell what it destroys: it is too long.";
const THROWS_AWAY: &str = "It throws uncommitted changes away.";
const COMMITS: &str = "It removes commits that are nowhere else.";
/// Of git by a name that is none of git's own.
const OTHER_NAME: &str = "Nobody can tell what it destroys: git's settings may have another command of git's by that name.";
const OPTION: &str = "A pattern in it may stand for an option that destroys.";

/// Aliases that stand for one another.
const CHAIN: usize = 4;
/// Folders whose settings of git are looked at for one command.
const FOLDERS: usize = 4;

/// Why this command, begun in `root`, is asked about each time: what it destroys, nobody brings back.
pub fn destroys(command: &str, root: &Path) -> Option<&'static str> {
    if command.len() > LONGEST {
        return Some(TOO_LONG);
    }
    let mut commands = read(command);
    if commands.are_wide() {
        return Some(TOO_LONG);
    }
    if commands.unreadable {
        // A shell may read it all the same.
        let words = command.split_whitespace().map(str::to_owned);
        commands.all.push(Simple::plain(words.collect()));
        if commands.are_wide() {
            return Some(TOO_LONG);
        }
    }
    let place = Place {
        root,
        moves: commands.unsure || commands.all.iter().any(moves),
        sets: super::GIT_READS.iter().any(|name| command.contains(name)),
        own_temporary: only_reads(command, "TMPDIR"),
        aliases: RefCell::default(),
        wide: RefCell::default(),
    };
    let mut left = SUSPECTS * WORDS;
    for simple in &commands.all {
        let maybe = suspects(simple);
        let words: usize = maybe.iter().map(|simple| simple.words.len()).sum();
        let Some(rest) = left.checked_sub(words) else {
            return Some(TOO_LONG);
        };
        left = rest;
        let sure = std::iter::once(simple.clone()).chain(started(simple));
        let found = sure.map(|simple| (simple, true));
        let found = found.chain(maybe.into_iter().map(|simple| (simple, false)));
        let mut found = found.filter_map(|(simple, sure)| place.one(&simple, sure, 0));
        if let Some(why) = found.next() {
            return Some(why);
        }
    }
    None
}

/// Whether what comes behind it may be done in another folder.
fn moves(simple: &Simple) -> bool {
    let mut words = simple.words.iter();
    words.any(|word| {
        let is_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        let mut parts = word.split(|c| !is_name(c));
        let short = word.starts_with('-') && !word.starts_with("--");
        // `env -C`, `sudo -D`.
        short && word.contains(['C', 'D'])
            || is_short_for(word, "--chdir")
            || parts.any(|part| matches!(part, "cd" | "pushd" | "popd" | "chdir"))
    })
}

/// Whether a command reads a variable, and does nothing else with its name.
fn only_reads(command: &str, name: &str) -> bool {
    command.match_indices(name).all(|(at, _)| {
        let before = command.get(..at).unwrap_or_default();
        before.ends_with('$') || before.ends_with("${")
    })
}

/// Whether a word of a command is this long option, which programs take abbreviated too.
fn is_short_for(word: &str, option: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    name.len() > 2 && option.starts_with(name)
}

fn has_short(words: &[String], c: char) -> bool {
    let mut words = words.iter();
    words.any(|w| w.starts_with('-') && !w.starts_with("--") && w.contains(c))
}

/// The parts of a path, without those that name nothing.
fn parts(path: &Path) -> Vec<String> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    });
    parts.collect()
}

fn all_match(patterns: &[String], names: &[String]) -> bool {
    let mut pairs = patterns.iter().zip(names);
    pairs.all(|(pattern, name)| matches(pattern, name))
}

/// Where a command is begun.
struct Place<'a> {
    root: &'a Path,
    /// It may go to another folder first.
    moves: bool,
    /// It may give git other settings than those that are looked at.
    sets: bool,
    /// `$TMPDIR` is the command's own folder of temporary files.
    own_temporary: bool,
    aliases: RefCell<BTreeMap<PathBuf, Option<Aliases>>>,
    /// Words that were looked at: the same ones stand in each command that may begin before them.
    wide: RefCell<HashMap<String, bool>>,
}

type Aliases = Vec<(String, String)>;

impl Place<'_> {
    /// Whether the root lies in what a path means there, as far as it can be told without looking.
    fn holds_root(&self, path: &str) -> bool {
        let path = parts(&os::without_dots(&self.root.join(path)));
        let root = parts(self.root);
        path.len() <= root.len() && all_match(&path, &root)
    }

    /// The same of a path from a folder that nobody knows: by its names alone.
    fn may_hold_root(&self, path: &str) -> bool {
        let path = parts(&os::without_dots(Path::new(path)));
        let root = parts(self.root);
        path.is_empty()
            || root
                .windows(path.len())
                .any(|names| all_match(&path, names))
    }

    /// Whether what `rm -r` is given is more than a folder within the workspace.
    fn is_wide(&self, word: &str) -> bool {
        if let Some(known) = self.wide.borrow().get(word) {
            return *known;
        }
        let words = braces(word);
        let wide = words.is_none_or(|words| words.iter().any(|word| self.is_wide_path(word)));
        self.wide.borrow_mut().insert(word.to_owned(), wide);
        wide
    }

    fn is_wide_path(&self, word: &str) -> bool {
        let own = ["$TMPDIR/", "${TMPDIR}/"];
        let own = own.iter().find_map(|start| word.strip_prefix(start));
        let own = own.filter(|rest| self.own_temporary && !rest.contains(".."));
        // What else it means is known when it runs.
        if own.unwrap_or(word).contains(['$', '`']) {
            return true;
        }
        if own.is_some() {
            return false;
        }
        let mut word = word;
        loop {
            let short = word.trim_end_matches('/').trim_end_matches("/.");
            let (above, last) = short.rsplit_once('/').unwrap_or(("", short));
            let next = if is_everything(last) { above } else { short };
            if next == word {
                break;
            }
            word = next;
        }
        if matches!(word, "" | "." | "..") || word.ends_with("/..") {
            return true;
        }
        if word.split('/').any(|part| matches(part, ".git")) {
            return true;
        }
        // A home, or what `find` and `xargs` put there.
        for start in ["~", "{}"] {
            if word.starts_with(start) {
                let behind = word.split_once('/');
                return behind.is_none_or(|(_, behind)| self.may_hold_root(behind));
            }
        }
        word.starts_with('/') && word.matches('/').count() <= 2
            || self.holds_root(word)
            || self.moves && !word.starts_with('/') && self.may_hold_root(word)
    }

    fn one(&self, simple: &Simple, sure: bool, depth: usize) -> Option<&'static str> {
        let (program, rest) = simple.words.split_first()?;
        let program = base(program);
        let short = |c: char| has_short(rest, c);
        let has = |word: &str| rest.iter().any(|w| w == word);
        let begins = |start: &str| rest.iter().any(|w| w.starts_with(start));
        let given = |option: &str| rest.iter().any(|word| is_short_for(word, option));
        match program {
            "rm" if short('r') || short('R') || given("--recursive") => {
                let mut targets = rest.iter().filter(|w| !w.starts_with('-')).peekable();
                // Without any it is told by `xargs`.
                (given("--no-preserve-root")
                    || targets.peek().is_none()
                    || targets.any(|word| self.is_wide(word)))
                .then_some("It removes a whole folder tree for good.")
            }
            "git" => self.in_git(simple, sure, depth),
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
            "docker" | "podman" if has("prune") => {
                Some("It removes what it finds unused for good.")
            }
            _ => None,
        }
    }

    /// `sure`: this is a command, and not only words that might be one.
    fn in_git(&self, simple: &Simple, sure: bool, depth: usize) -> Option<&'static str> {
        let words = simple.words.get(1..)?;
        let at = verb_of_git(words);
        let own = words.get(..at).unwrap_or_default();
        let folders = own.iter().zip(own.iter().skip(1));
        let folders = folders.filter(|(word, _)| *word == "-C");
        let folder = folders.fold(self.root.to_owned(), |at, (_, folder)| at.join(folder));
        let verb = words.get(at)?.as_str();
        let rest = words.get(at + 1..).unwrap_or_default();
        if !knows_verb(verb) {
            let is_other = |word: &String| {
                word.starts_with("--git-dir") || is_alias(word) || gives_settings(word)
            };
            let elsewhere = self.moves || self.sets || own.iter().any(is_other);
            let by_name = simple.is_glob(at + 1) || verb.contains(['$', '`']);
            return match self.alias(&folder, verb) {
                Some(Some(value)) => self.stands_for(&value, rest, sure, depth),
                Some(None) if !elsewhere && !by_name => None,
                _ => sure.then_some(OTHER_NAME),
            };
        }
        let globs: Vec<&String> = (at + 2..simple.words.len())
            .filter(|at| simple.is_glob(*at))
            .filter_map(|at| simple.words.get(at))
            .collect();
        destroys_by(verb, rest, &folder).or_else(|| {
            let first = MAY_DESTROY.iter().find(|(known, _)| *known == verb)?.1;
            let option = |word: &&String| word.starts_with(['-', '*', '?', '[', '{']);
            let is_first = first && simple.is_glob(at + 2);
            (is_first || globs.iter().any(option)).then_some(OPTION)
        })
    }

    /// What a name that git itself does not know stands for there; `None`: that cannot be told.
    fn alias(&self, folder: &Path, verb: &str) -> Option<Option<String>> {
        let mut known = self.aliases.borrow_mut();
        if !known.contains_key(folder) {
            if known.len() == FOLDERS {
                return None;
            }
            known.insert(folder.to_owned(), vcs::aliases(folder));
        }
        let all = known.get(folder)?.as_ref()?;
        let mut named = all.iter().rev();
        let found = named.find(|(name, _)| name.eq_ignore_ascii_case(verb));
        Some(found.map(|(_, value)| value.clone()))
    }

    fn stands_for(
        &self,
        value: &str,
        rest: &[String],
        sure: bool,
        depth: usize,
    ) -> Option<&'static str> {
        if depth == CHAIN {
            return Some(OTHER_NAME);
        }
        let (shell, git) = match value.strip_prefix('!') {
            Some(shell) => (shell, None),
            None => (value, Some(String::from("git"))),
        };
        let commands = read(shell);
        if commands.unreadable {
            return Some(OTHER_NAME);
        }
        commands.all.into_iter().find_map(|simple| {
            let words = git.iter().cloned().chain(simple.words);
            let simple = Simple::plain(words.chain(rest.iter().cloned()).collect());
            let mut all = std::iter::once(simple.clone()).chain(started(&simple));
            all.find_map(|simple| self.one(&simple, sure, depth + 1))
        })
    }
}

/// Whether the last part of a path means all that is in a folder, or about that.
fn is_everything(last: &str) -> bool {
    let pieces = pieces(last);
    let rest = match pieces.split_first() {
        Some((Piece::Char('.'), rest)) => rest,
        _ => &pieces,
    };
    // `.[!.]*`, `?*`: a star, and nothing that names something.
    rest.contains(&Piece::Any) && !rest.iter().any(|p| matches!(p, Piece::Char(_)))
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

/// Whether `git clean` is told to do nothing but show.
fn only_shows(rest: &[String]) -> bool {
    let takes_back = rest.iter().any(|word| word.starts_with("--no-"));
    let mut before = "";
    for word in rest {
        // What it is to leave alone may look like an option.
        let is_short = before.starts_with('-') && !before.starts_with("--");
        let is_value = is_short && before.find('e') == Some(before.len() - 1)
            || !before.contains('=') && is_short_for(before, "--exclude");
        before = word;
        if is_value {
            continue;
        }
        match word.strip_prefix('-') {
            Some("-") => return false,
            Some(long) if long.starts_with('-') && is_short_for(word, "--dry-run") => {
                return !takes_back;
            }
            Some(long) if long.starts_with('-') => {}
            Some(short) => {
                let options = short.split('e').next().unwrap_or_default();
                if options.contains('n') {
                    return !takes_back;
                }
            }
            None => {}
        }
    }
    false
}

/// Verbs of git that destroy with some options; whether the word behind them is one of their own.
const MAY_DESTROY: &[(&str, bool)] = &[
    ("push", false),
    ("clean", false),
    ("reset", false),
    ("checkout", false),
    ("checkout-index", false),
    ("read-tree", false),
    ("switch", false),
    ("restore", false),
    ("stash", true),
    ("branch", false),
    ("update-ref", false),
    ("reflog", true),
    ("worktree", true),
];

fn destroys_by(verb: &str, rest: &[String], folder: &Path) -> Option<&'static str> {
    let has = |word: &str| rest.iter().any(|w| w == word);
    let short = |c: char| has_short(rest, c);
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
        // Without `-f` too: a setting lets it do without.
        "clean" if short('f') || given("--force") || !only_shows(rest) => {
            Some("It removes files that are in no history.")
        }
        "reset" if given("--hard") || given("--merge") => Some(THROWS_AWAY),
        "checkout"
            if short('f')
                || given("--force")
                || given("--pathspec-from-file")
                || has("--")
                || checks_out_files(rest, folder) =>
        {
            Some(THROWS_AWAY)
        }
        "checkout-index" if short('f') || given("--force") => Some(THROWS_AWAY),
        "read-tree" if given("--reset") => Some(THROWS_AWAY),
        "switch" if short('f') || given("--force") || given("--discard-changes") => {
            Some(THROWS_AWAY)
        }
        "restore" if !has("--staged") || short('W') || given("--worktree") => Some(THROWS_AWAY),
        "stash" if matches!(first, "drop" | "clear") => Some("It throws stashed changes away."),
        "branch" if short('D') || short('f') || given("--force") => Some(COMMITS),
        "update-ref" if short('d') => Some(COMMITS),
        "reflog" if matches!(first, "expire" | "delete") => {
            Some("It removes the way back to earlier commits.")
        }
        "filter-branch" | "filter-repo" => Some("It rewrites the whole history."),
        "worktree" if first == "remove" && (short('f') || given("--force")) => Some(THROWS_AWAY),
        _ => None,
    }
}
