//! A shell's command as permission rules see it: the simple commands in it, and those that they start in turn.
//!
//! Rules are for asking; what a command can do is held by the sandbox. So nothing here has to understand a shell: what
//! it is not sure of is never allowed by a rule for something else, and always counts for one that forbids.

mod destroy;
mod git;
mod reader;

use std::collections::HashSet;

use super::pattern::{Piece, matches, meets, pieces};
use crate::config::{Action, Rule};

pub use destroy::destroys;
use git::{gives_settings, in_git, knows_verb, verb_of_git};
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

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Simple {
    /// Without quotes.
    words: Vec<String>,
    /// Which of them are patterns of the shell's, without quotes. A shorter list: of the others none is.
    globs: Vec<bool>,
    /// What it does is decided when it runs: expansions, assignments before it, redirections to files, names made of
    /// patterns.
    open: bool,
}

impl Simple {
    fn plain(words: Vec<String>) -> Self {
        Self {
            words,
            ..Self::default()
        }
    }

    /// Its words from there on, as a command of their own.
    fn tail(&self, at: usize) -> Self {
        Self {
            words: self.words.get(at..).unwrap_or_default().to_vec(),
            globs: self.globs.get(at..).unwrap_or_default().to_vec(),
            open: false,
        }
    }

    fn is_glob(&self, at: usize) -> bool {
        self.globs.get(at) == Some(&true)
    }

    /// Whether a rule can mean what this becomes when its patterns are files' names, or `xargs` has put in what it reads.
    /// `surely`: it is a command, and does not only begin at a word that may be one's program.
    fn may_be(&self, rule: &str, surely: bool) -> bool {
        if !self.words.iter().any(|word| word.contains(PLACE)) && !self.globs.contains(&true) {
            return false;
        }
        let name = self.words.first().map_or("", |word| base(word));
        if !surely && (self.is_glob(0) || name.contains(PLACE)) {
            let wanted = rule.split(' ').next().unwrap_or_default();
            let names = pieces(name).iter().any(|p| matches!(p, Piece::Char(_)));
            if name.contains(PLACE) || !names || !wanted.contains('*') && !matches(name, wanted) {
                return false;
            }
        }
        let of_word = |(at, word): (usize, &String)| {
            let mut found = Vec::new();
            if at > 0 {
                found.push(Piece::Char(' '));
            }
            let word = match at {
                0 => base(word),
                _ => word,
            };
            if word.contains(PLACE) || self.is_glob(at) && word.contains('{') {
                found.push(Piece::Any);
            } else if self.is_glob(at) {
                found.extend(pieces(word));
            } else {
                found.extend(word.chars().map(Piece::Char));
            }
            found
        };
        let text = || self.words.iter().enumerate().flat_map(of_word);
        meets(rule, text()) || meets(rule, text().chain([Piece::Char(' ')]))
    }

    fn text(&self) -> String {
        self.words.join(" ")
    }

    /// Nobody looks at what each of its words may begin.
    fn is_long(&self) -> bool {
        self.words.len() > WORDS
    }

    /// Some of its words may be texts that are run.
    fn reads_text(&self) -> bool {
        let program = self.words.first().map(|word| base(word));
        program.is_some_and(|name| READERS.contains(&name) || STARTERS.contains(&name))
    }

    /// What stands behind the program, if that is `name`.
    fn of(&self, name: &str) -> Option<&[String]> {
        let (first, rest) = self.words.split_first()?;
        (base(first) == name).then_some(rest)
    }

    /// With the program by its name alone.
    fn bare(&self) -> Option<String> {
        let (first, rest) = self.words.split_first()?;
        let name = base(first);
        let words: Vec<&str> = std::iter::once(name)
            .chain(rest.iter().map(String::as_str))
            .collect();
        Some(words.join(" "))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Commands {
    all: Vec<Simple>,
    /// Where redirections go, and whether that is a pattern.
    targets: Vec<(String, bool)>,
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

/// Bytes of commands with patterns in them that are held against rules.
const HELD: usize = 1 << 18;

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
    let looks = simple
        .of("find")
        .is_some_and(|words| !words.iter().any(|word| runs_what_is_found(word)));
    let hides = is_hidden(simple) || !looks && started.iter().any(is_hidden) || adds_hidden(simple);
    let adds = adds_words(simple);
    let is_vague =
        |s: &&Simple| s.globs.contains(&true) || s.words.iter().any(|word| word.contains(PLACE));
    let vague = started.iter().chain(&maybe).filter(is_vague);
    let is_much = vague.flat_map(|s| &s.words).map(String::len).sum::<usize>() > HELD;
    for rule in rules.iter().rev() {
        let pattern = rule.pattern.as_deref().unwrap_or("*");
        let fits = |text: &str| super::wildcard(pattern, text);
        // Alone it may be given its arguments by what starts it, so `rm` is an `rm *`.
        let with_arguments = |text: &str| fits(text) || fits(&format!("{text} "));
        let fits_simple = |s: &Simple| {
            with_arguments(&s.text()) || s.bare().is_some_and(|bare| with_arguments(&bare))
        };
        let begins = |s: &Simple| {
            s.bare()
                .is_some_and(|bare| pattern.starts_with(&(bare + " ")))
        };
        let may_be = || {
            let mut sure = std::iter::once(simple).chain(started.first());
            let mut all = started.iter().chain(&maybe);
            sure.any(|s| s.may_be(pattern, true))
                || all.any(|s| s.may_be(pattern, false))
                || adds && started.iter().any(begins)
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
                let open = unsure || hides || simple.open || is_much;
                if certain || open || maybe.iter().any(fits_simple) || may_be() {
                    return Action::Ask;
                }
            }
        }
    }
    otherwise
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

/// What a command may name: its words without quotes, with those of what it starts, and whether each is a pattern of the
/// shell's. An error: it finds what it runs itself.
pub(super) fn named(command: &str) -> Result<Vec<(String, bool)>, ()> {
    if command.len() > LONGEST {
        return Err(());
    }
    let commands = read(command);
    let mut found = commands.targets.clone();
    if commands.unreadable {
        let words = command.split_whitespace();
        found.extend(words.map(|word| (word.to_owned(), true)));
    }
    for simple in &commands.all {
        let started = match commands.is_long() {
            true => Vec::new(),
            false => started(simple),
        };
        for simple in std::iter::once(simple).chain(&started) {
            if runs_found(simple) {
                return Err(());
            }
        }
        let of_simple = |simple: &Simple| {
            let words = simple.words.iter().enumerate();
            let words = words.map(|(at, word)| (word.clone(), simple.is_glob(at)));
            words.collect::<Vec<_>>()
        };
        found.extend(of_simple(simple));
        // What a starter starts are its own words again, but for texts.
        let texts = simple.words.iter().filter(|_| simple.reads_text());
        let texts = texts.filter(|word| word.contains(char::is_whitespace));
        found.extend(
            texts
                .flat_map(|text| read(text).all)
                .flat_map(|simple| of_simple(&simple)),
        );
    }
    Ok(found)
}

/// Programs that run the file which they are given.
const RUNNERS: &[&str] = &[
    "python", "python2", "python3", "perl", "ruby", "node", "deno", "bun", "php", "lua", "make",
    "awk", "gawk", "tclsh", "Rscript", ".", "source",
];

/// Whether `find` or `xargs` runs what it finds or reads.
fn runs_found(simple: &Simple) -> bool {
    let program = |word: &String| {
        let name = base(word);
        let mut all = [SHELLS, READERS, STARTERS, RUNNERS].into_iter();
        all.any(|names| names.contains(&name)) || word.contains(PLACE)
    };
    if let Some(words) = simple.of("find") {
        let mut pairs = words.iter().zip(words.iter().skip(1));
        return pairs.any(|(before, word)| runs_what_is_found(before) && program(word));
    }
    adds_hidden(simple) || added_to(simple).is_some_and(program)
}

/// Whether `find` runs what stands behind this option.
fn runs_what_is_found(word: &str) -> bool {
    matches!(word, "-exec" | "-execdir" | "-ok" | "-okdir")
}

/// The name of a program, whatever folder it is in.
fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// Where `find` and `xargs` put what they found.
const PLACE: &str = "{}";

/// Those of them that give it more words than they were given.
fn adds_words(simple: &Simple) -> bool {
    ["xargs", "parallel"]
        .iter()
        .any(|name| simple.of(name).is_some())
}

/// Options of `xargs` whose value is a word of its own.
const XARGS_VALUES: &[&str] = &[
    "-I",
    "-J",
    "-n",
    "-P",
    "-d",
    "-s",
    "-L",
    "-a",
    "-E",
    "--max-args",
    "--max-procs",
    "--delimiter",
    "--max-chars",
    "--arg-file",
];

/// The program of `xargs` and the like.
fn added_to(simple: &Simple) -> Option<&String> {
    if !adds_words(simple) {
        return None;
    }
    let mut words = simple.words.iter().skip(1);
    while let Some(word) = words.next() {
        if XARGS_VALUES.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word);
        }
    }
    None
}

/// Whether the words that are added say what is run.
fn adds_hidden(simple: &Simple) -> bool {
    let Some(word) = added_to(simple) else {
        // What it reads, it runs; `xargs` shows it.
        return simple.of("parallel").is_some();
    };
    let name = base(word);
    let place = replaced(simple).unwrap_or(PLACE);
    STARTERS.contains(&name) || word.contains(place) || word.starts_with(":::")
}

/// What `xargs` replaces by what it reads, if it was told to: `-I X`.
fn replaced(simple: &Simple) -> Option<&str> {
    let words = simple.of("xargs")?;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "-I" || word == "-J" {
            return words.next().map(String::as_str);
        }
        let name = ["-I", "-J", "-i", "--replace="];
        let name = name.iter().find_map(|option| word.strip_prefix(option));
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            return Some(name);
        }
    }
    None
}

/// What `simple` starts for certain.
fn started(simple: &Simple) -> Vec<Simple> {
    let mut found = Vec::new();
    let Some((program, rest)) = simple.words.split_first() else {
        return found;
    };
    let program = base(program);
    if STARTERS.contains(&program) {
        let mut simple = simple.clone();
        if let Some(name) = replaced(&simple).map(str::to_owned) {
            for word in &mut simple.words {
                *word = word.replace(&name, PLACE);
            }
        }
        // Any word behind it may be the program: options have arguments, and nobody knows all of them.
        for (at, word) in simple.words.iter().enumerate().skip(1) {
            if !word.starts_with('-') {
                found.push(simple.tail(at));
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
    // What is none of git's own verbs is an alias, and stands for any command.
    let at = verb_of_git(words);
    if words.get(at).is_some_and(|verb| !knows_verb(verb)) {
        return true;
    }
    words.iter().take(at).any(|word| gives_settings(word))
}

/// A shell that is given a file to run, or its input: what that does is not in the command.
fn runs_script(simple: &Simple) -> bool {
    let Some((program, rest)) = simple.words.split_first() else {
        return false;
    };
    let program = base(program);
    if matches!(program, "command" | "builtin") {
        let run = rest.iter().find(|word| !word.starts_with('-'));
        return run.is_some_and(|run| run == "." || run == "source");
    }
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
            // A text that is given with it; not one that is told by what is found or read.
            Some(short) if short.contains('c') && word.starts_with('-') => {
                return words.next().is_none_or(|text| text.contains(PLACE));
            }
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
    let globs = simple.words.iter().enumerate();
    let globs = globs.filter(|(at, _)| simple.is_glob(*at));
    let globs: HashSet<&str> = globs.map(|(_, word)| word.as_str()).collect();
    let mut before = ' ';
    let mut found = Vec::new();
    for (at, c) in text.char_indices() {
        if at > 0 && is_name(c) && !is_name(before) && found.len() < SUSPECTS {
            let rest = text.get(at..).unwrap_or_default();
            let words = rest.split_whitespace().take(WORDS);
            let words = words.map(|word| word.trim_matches(|c| "'\"`();{}".contains(c)));
            let words: Vec<&str> = words.collect();
            found.push(Simple {
                globs: match globs.is_empty() {
                    true => Vec::new(),
                    false => words.iter().map(|word| globs.contains(word)).collect(),
                },
                words: words.into_iter().map(str::to_owned).collect(),
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
