//! A shell's command as permission rules see it: the simple commands in it, and those that they start in turn.
//!
//! Rules are for asking; what a command can do is held by the sandbox. So nothing here has to understand a shell: what
//! it is not sure of is never allowed by a rule for something else, and always counts for one that forbids.

use super::Decision;
use crate::config::{Action, Rule};

/// More simple commands than anybody reads.
const MOST: usize = 50;
const DEPTH: usize = 8;
/// Places in one command that are looked at.
const SUSPECTS: usize = 400;

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
    /// Something in it changes what names mean, or cannot be read.
    unsure: bool,
}

/// What the rules say of `command`, the last that matches first; `otherwise` where none does.
pub(super) fn decide(rules: &[&Rule], command: &str, otherwise: Decision) -> Decision {
    let commands = read(command);
    let mut worst = Decision::Allow;
    if commands.all.is_empty() {
        worst = one(rules, &Simple::default(), command, true, otherwise);
    }
    for simple in &commands.all {
        worst = worse(
            worst,
            one(rules, simple, command, commands.unsure, otherwise),
        );
    }
    let too_many = commands.all.len() > MOST;
    if commands.unsure || too_many {
        worst = worse(worst, Decision::Ask);
    }
    worst
}

fn worse(a: Decision, b: Decision) -> Decision {
    match (a, b) {
        (Decision::Deny, _) | (_, Decision::Deny) => Decision::Deny,
        (Decision::Ask, _) | (_, Decision::Ask) => Decision::Ask,
        _ => Decision::Allow,
    }
}

fn one(
    rules: &[&Rule],
    simple: &Simple,
    whole: &str,
    unsure: bool,
    otherwise: Decision,
) -> Decision {
    let text = simple.text();
    // What it starts, as far as it can be told, and what it may.
    let started = started(simple);
    let maybe = suspects(simple);
    let unsure = unsure || maybe.len() == SUSPECTS;
    for rule in rules.iter().rev() {
        let pattern = rule.pattern.as_deref().unwrap_or("*");
        let fits = |text: &str| super::wildcard(pattern, text);
        // Alone it may be given its arguments by what starts it, so `rm` is an `rm *`.
        let with_arguments = |text: &str| fits(text) || fits(&format!("{text} "));
        let fits_simple = |s: &Simple| {
            with_arguments(&s.text()) || s.bare().is_some_and(|bare| with_arguments(&bare))
        };
        match rule.action {
            Action::Allow if pattern == "*" => return Decision::Allow,
            // A grant for exactly this.
            Action::Allow if !pattern.contains('*') => {
                if pattern == whole {
                    return Decision::Allow;
                }
                if !unsure && !simple.open && pattern == text {
                    return Decision::Allow;
                }
            }
            Action::Allow => {
                if !unsure && !simple.open && fits(&text) {
                    return Decision::Allow;
                }
            }
            action @ (Action::Ask | Action::Deny) => {
                let certain = fits_simple(simple) || fits(whole) || started.iter().any(fits_simple);
                if certain && action == Action::Deny {
                    return Decision::Deny;
                }
                if certain || unsure || simple.open || maybe.iter().any(fits_simple) {
                    return Decision::Ask;
                }
            }
        }
    }
    otherwise
}

/// Why this command is asked about each time: what it destroys, nobody brings back.
pub fn destroys(command: &str) -> Option<&'static str> {
    let commands = read(command);
    let all = commands.all.iter().flat_map(|simple| {
        let mut all = vec![simple.clone()];
        all.extend(started(simple));
        all.extend(suspects(simple));
        all
    });
    all.into_iter().find_map(|simple| destroys_one(&simple))
}

fn destroys_one(simple: &Simple) -> Option<&'static str> {
    let (program, rest) = simple.words.split_first()?;
    let program = program.rsplit('/').next()?;
    let short = |c: char| {
        rest.iter()
            .any(|w| w.starts_with('-') && !w.starts_with("--") && w.contains(c))
    };
    let has = |word: &str| rest.iter().any(|w| w == word);
    let begins = |start: &str| rest.iter().any(|w| w.starts_with(start));
    match program {
        "rm" if short('r') || short('R') || has("--recursive") => {
            let wide = |word: &String| {
                let word = word.trim_end_matches(['/', '*']).trim_end_matches("/.");
                matches!(word, "" | "." | ".." | "~" | "$HOME" | "${HOME}" | ".git")
                    || word.starts_with("~") && !word.contains('/')
                    || word.starts_with('/') && word.matches('/').count() <= 2
                    || word.ends_with("/..")
                    || word.ends_with("/.git")
            };
            let targets = rest.iter().filter(|w| !w.starts_with('-'));
            (has("--no-preserve-root") || targets.clone().any(wide))
                .then_some("It removes a whole folder tree for good.")
        }
        "git" => destroys_in_git(rest),
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

fn destroys_in_git(words: &[String]) -> Option<&'static str> {
    // Its own options before the verb.
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|w| w.starts_with('-')) {
        at += if matches!(word.as_str(), "-C" | "-c" | "--git-dir" | "--work-tree") {
            2
        } else {
            1
        };
    }
    let verb = words.get(at)?.as_str();
    let rest = words.get(at + 1..).unwrap_or_default();
    let has = |word: &str| rest.iter().any(|w| w == word);
    let short = |c: char| {
        rest.iter()
            .any(|w| w.starts_with('-') && !w.starts_with("--") && w.contains(c))
    };
    let first = rest.first().map_or("", String::as_str);
    match verb {
        "push"
            if short('f')
                || short('d')
                || rest.iter().any(|w| {
                    w.starts_with("--force") || w.starts_with('+') || w.starts_with(':')
                })
                || has("--mirror")
                || has("--delete")
                || has("--prune") =>
        {
            Some("It overwrites or removes what others have pushed.")
        }
        "clean" if short('f') || has("--force") => Some("It removes files that are in no history."),
        "reset" if has("--hard") || has("--merge") => Some("It throws uncommitted changes away."),
        "checkout" if short('f') || has("--force") || has("--") || has(".") => {
            Some("It throws uncommitted changes away.")
        }
        "switch" if short('f') || has("--force") || has("--discard-changes") => {
            Some("It throws uncommitted changes away.")
        }
        "restore" if !has("--staged") || has("--worktree") => {
            Some("It throws uncommitted changes away.")
        }
        "stash" if matches!(first, "drop" | "clear") => Some("It throws stashed changes away."),
        "branch" if short('D') || has("--force") => {
            Some("It removes commits that are nowhere else.")
        }
        "update-ref" if short('d') => Some("It removes commits that are nowhere else."),
        "reflog" if matches!(first, "expire" | "delete") => {
            Some("It removes the way back to earlier commits.")
        }
        "filter-branch" | "filter-repo" => Some("It rewrites the whole history."),
        "worktree" if first == "remove" && (short('f') || has("--force")) => {
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
    if program == "git" {
        // An alias, or any of the settings that name a command.
        for word in rest {
            if let Some((_, value)) = word.split_once('=') {
                found.extend(read(value.trim_start_matches('!')).all);
            }
        }
    }
    found
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
                .map(|word| word.trim_matches(|c| "'\"`();{}".contains(c)).to_owned());
            found.push(Simple {
                words: words.collect(),
                open: false,
            });
        }
        before = c;
    }
    found
}

fn read(text: &str) -> Commands {
    let mut reader = Reader {
        chars: text.chars().collect(),
        at: 0,
        found: Commands::default(),
        depth: 0,
    };
    if reader.list(None).is_none() {
        reader.found.unsure = true;
    }
    reader.found
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    found: Commands,
    depth: usize,
}

/// Words that stand before a command and are none.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "for", "case", "esac",
    "in", "!", "{", "}", "select", "function", "[[", "]]", "coproc",
];
/// They give names another meaning.
const CHANGERS: &[&str] = &[
    "alias", "source", ".", "function", "enable", "hash", "unalias", "set", "shopt", "for", "case",
    "select", "read",
];

#[derive(Default)]
struct Word {
    text: String,
    begun: bool,
    quoted: bool,
    open: bool,
    pattern: bool,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Commands up to `until`, or the end. `None`: it cannot be read.
    fn list(&mut self, until: Option<char>) -> Option<()> {
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        let mut simple = Simple::default();
        let mut word = Word::default();
        // The word to come is where a redirection goes.
        let mut target = false;
        loop {
            let Some(c) = self.peek(0) else {
                self.end_word(&mut simple, &mut word, &mut target);
                self.end_simple(&mut simple);
                self.depth -= 1;
                return until.is_none().then_some(());
            };
            self.at += 1;
            match c {
                _ if Some(c) == until => {
                    self.end_word(&mut simple, &mut word, &mut target);
                    self.end_simple(&mut simple);
                    self.depth -= 1;
                    return Some(());
                }
                '\\' => match self.peek(0) {
                    Some('\n') => self.at += 1,
                    Some(next) => {
                        self.at += 1;
                        word.push(next);
                        word.quoted = true;
                    }
                    None => return None,
                },
                '\'' => {
                    word.begun = true;
                    word.quoted = true;
                    loop {
                        let c = self.peek(0)?;
                        self.at += 1;
                        if c == '\'' {
                            break;
                        }
                        word.text.push(c);
                    }
                }
                '"' => self.double_quoted(&mut word)?,
                '$' => self.dollar(&mut word)?,
                '`' => self.backticks(&mut word)?,
                ' ' | '\t' => self.end_word(&mut simple, &mut word, &mut target),
                '\n' | ';' | '|' => {
                    self.end_word(&mut simple, &mut word, &mut target);
                    self.end_simple(&mut simple);
                }
                '\r' => {
                    // A shell takes it for a part of the word, a reader for the end of the line.
                    self.found.unsure = true;
                    self.end_word(&mut simple, &mut word, &mut target);
                    self.end_simple(&mut simple);
                }
                '&' if self.peek(0) == Some('>') => {
                    self.end_word(&mut simple, &mut word, &mut target);
                }
                '&' => {
                    self.end_word(&mut simple, &mut word, &mut target);
                    self.end_simple(&mut simple);
                }
                '<' | '>' if self.peek(0) == Some('(') => {
                    self.at += 1;
                    self.list(Some(')'))?;
                    word.begun = true;
                    word.open = true;
                }
                '<' | '>' => {
                    // A number before it belongs to it.
                    if !word.quoted && word.text.bytes().all(|b| b.is_ascii_digit()) {
                        word = Word::default();
                    }
                    self.end_word(&mut simple, &mut word, &mut target);
                    if c == '<' && self.peek(0) == Some('<') {
                        simple.open = true;
                        self.found.unsure = true;
                    }
                    while matches!(self.peek(0), Some('<' | '>' | '|')) {
                        self.at += 1;
                    }
                    if self.peek(0) == Some('&') {
                        self.at += 1;
                        let mut any = false;
                        while self.peek(0).is_some_and(|c| c.is_ascii_digit() || c == '-') {
                            self.at += 1;
                            any = true;
                        }
                        target = !any;
                    } else {
                        target = true;
                    }
                    // Reading from a file changes nothing, but gives a shell its commands.
                    if c == '<' {
                        simple.open = true;
                    }
                }
                '(' => {
                    if word.begun || !simple.words.is_empty() {
                        // A function, or an array.
                        self.found.unsure = true;
                    }
                    self.end_word(&mut simple, &mut word, &mut target);
                    self.end_simple(&mut simple);
                    self.list(Some(')'))?;
                }
                ')' => {
                    // A pattern of `case`, or a mistake.
                    self.found.unsure = true;
                    self.end_word(&mut simple, &mut word, &mut target);
                    self.end_simple(&mut simple);
                }
                '#' if !word.begun => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '*' | '?' | '[' | '~' | '{' | '}' => {
                    word.push(c);
                    word.pattern = true;
                }
                // A name that looks like another one is no part of any rule.
                c if c.is_control() || c.is_whitespace() => {
                    self.found.unsure = true;
                    self.end_word(&mut simple, &mut word, &mut target);
                }
                c => word.push(c),
            }
        }
    }

    fn double_quoted(&mut self, word: &mut Word) -> Option<()> {
        word.begun = true;
        word.quoted = true;
        loop {
            let c = self.peek(0)?;
            self.at += 1;
            match c {
                '"' => return Some(()),
                '\\' => {
                    let next = self.peek(0)?;
                    self.at += 1;
                    if !matches!(next, '$' | '`' | '"' | '\\' | '\n') {
                        word.text.push('\\');
                    }
                    if next != '\n' {
                        word.text.push(next);
                    }
                }
                '$' => self.dollar(word)?,
                '`' => self.backticks(word)?,
                c => word.text.push(c),
            }
        }
    }

    fn dollar(&mut self, word: &mut Word) -> Option<()> {
        word.begun = true;
        match self.peek(0) {
            Some('(') => {
                self.at += 1;
                word.open = true;
                word.text.push('$');
                self.list(Some(')'))
            }
            Some('{') => {
                word.open = true;
                word.text.push('$');
                // Inside stands whatever a shell allows; its end is enough.
                loop {
                    let c = self.peek(0)?;
                    self.at += 1;
                    word.text.push(c);
                    if c == '}' {
                        return Some(());
                    }
                    if matches!(c, '$' | '`' | '\'' | '"') {
                        self.found.unsure = true;
                    }
                }
            }
            Some('\'' | '"') => {
                word.open = true;
                Some(())
            }
            Some(c) if c.is_alphanumeric() || "_?!#@*-$".contains(c) => {
                word.open = true;
                word.text.push('$');
                Some(())
            }
            _ => {
                word.text.push('$');
                Some(())
            }
        }
    }

    fn backticks(&mut self, word: &mut Word) -> Option<()> {
        word.begun = true;
        word.open = true;
        let mut inner = String::new();
        loop {
            let c = self.peek(0)?;
            self.at += 1;
            match c {
                '`' => break,
                '\\' => {
                    inner.push(self.peek(0)?);
                    self.at += 1;
                }
                c => inner.push(c),
            }
        }
        if self.depth >= DEPTH {
            return None;
        }
        let mut reader = Reader {
            chars: inner.chars().collect(),
            at: 0,
            found: Commands::default(),
            depth: self.depth,
        };
        reader.list(None)?;
        self.found.unsure |= reader.found.unsure;
        self.found.all.extend(reader.found.all);
        Some(())
    }

    fn end_word(&mut self, simple: &mut Simple, word: &mut Word, target: &mut bool) {
        let word = std::mem::take(word);
        if !word.begun {
            return;
        }
        if std::mem::take(target) {
            if word.text != "/dev/null" || word.open {
                simple.open = true;
            }
            return;
        }
        let first = simple.words.is_empty();
        if first && !word.quoted && RESERVED.contains(&word.text.as_str()) {
            if CHANGERS.contains(&word.text.as_str()) {
                self.found.unsure = true;
            }
            return;
        }
        let assigns = word.text.split_once('=').is_some_and(|(name, _)| {
            let mut chars = name.chars();
            chars
                .next()
                .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                && chars.all(|c| c.is_ascii_alphanumeric() || "_+[]".contains(c))
        });
        if first && assigns {
            simple.open = true;
            return;
        }
        if first && (word.pattern || CHANGERS.contains(&word.text.as_str())) {
            self.found.unsure = true;
        }
        if first && (word.open || word.text.contains(char::is_whitespace)) {
            self.found.unsure = true;
        }
        simple.open |= word.open;
        simple.words.push(word.text);
    }

    fn end_simple(&mut self, simple: &mut Simple) {
        let simple = std::mem::take(simple);
        if !simple.words.is_empty() || simple.open {
            self.found.all.push(simple);
        }
    }
}

impl Word {
    fn push(&mut self, c: char) {
        self.begun = true;
        self.text.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rule(pattern: &str, action: Action) -> Rule {
        Rule {
            tool: String::from("bash"),
            pattern: Some(pattern.to_owned()),
            action,
        }
    }

    /// Everything is allowed but `rm`.
    fn forbidden(command: &str) -> Decision {
        let rules = [rule("*", Action::Allow), rule("rm *", Action::Deny)];
        decide(&rules.iter().collect::<Vec<_>>(), command, Decision::Ask)
    }

    /// Nothing is allowed but `cargo test`.
    fn allowed(command: &str) -> Decision {
        let rules = [rule("cargo test*", Action::Allow)];
        decide(&rules.iter().collect::<Vec<_>>(), command, Decision::Ask)
    }

    #[test]
    fn attack_06_what_is_forbidden_is_never_allowed_in_another_dress() {
        for command in [
            "rm x",
            "ls; rm x",
            "ls && rm x",
            "ls || rm x",
            "ls | rm x",
            "ls & rm x",
            "ls\nrm x",
            "ls\rrm x",
            "echo $(rm x)",
            "echo \"$(rm x)\"",
            "echo `rm x`",
            "cat <(rm x)",
            "tee >(rm x)",
            "(rm x)",
            "{ rm x; }",
            "if true; then rm x; fi",
            "! rm x",
            "A=b rm x",
            "/bin/rm x",
            "'rm' x",
            "r\\m x",
            "\"r\"m x",
            "rm$IFS-rf$IFS.",
            "$(echo rm) x",
            "R=rm; $R x",
            "r? x",
            "/bin/r* x",
            "alias q=rm; q x",
            "q() { rm x; }; q",
            "env rm x",
            "env -i A=b rm x",
            "find . -exec rm {} \\;",
            "find . -name x -execdir /bin/rm {} +",
            "ls | xargs rm",
            "ls | xargs -n 1 rm -f",
            "sudo -u me rm x",
            "timeout 5 rm x",
            "nohup rm x",
            "sh -c 'rm x'",
            "bash -lc \"rm x\"",
            "eval rm x",
            "eval 'rm' 'x'",
            "git -c alias.x='!rm x' x",
            "git -c core.pager='rm x' log",
            "sed -i 's/a/b/;e rm x' f",
            "sed '1e rm x' f",
            "awk 'BEGIN{system(\"rm x\")}'",
            "python3 -c 'import os; os.system(\"rm x\")'",
            "sh <<EOF\nrm x\nEOF",
            "sh <<< 'rm x'",
            "cat > q <<'E'\nrm x\nE\nsh q",
            "echo 'unclosed; rm x",
            "echo \"unclosed $(rm x",
            "((((((((((rm x))))))))))",
            "ls # nothing\nrm x",
            ". ./rm.sh; rm x",
            "ls\u{2028}rm x",
            "ls\u{b}rm x",
        ] {
            assert_ne!(forbidden(command), Decision::Allow, "{command:?}");
        }
        let many = "true; ".repeat(50) + "rm x";
        assert_eq!(forbidden(&many), Decision::Deny);
        assert_eq!(
            forbidden(&"true; ".repeat(60)),
            Decision::Ask,
            "nobody reads so many"
        );
        for command in [
            "ls; rm x",
            "sh -c 'rm x'",
            "/bin/rm x",
            "env rm x",
            "echo $(rm x)",
        ] {
            assert_eq!(forbidden(command), Decision::Deny, "{command:?}");
        }
        for command in [
            "ls -la",
            "cargo test 2>&1 | tail -20",
            "echo 'it is warm x'",
            "cat Cargo.toml > /dev/null",
        ] {
            assert_eq!(forbidden(command), Decision::Allow, "{command:?}");
        }
    }

    #[test]
    fn attack_06_one_allowed_command_says_nothing_of_another() {
        for command in [
            "cargo test",
            "cargo test --lib 'a b'",
            "cargo   test 2>&1",
            "cargo test >/dev/null 2>&1 && cargo test --doc",
        ] {
            assert_eq!(allowed(command), Decision::Allow, "{command:?}");
        }
        for command in [
            "cargo test; rm x",
            "cargo test && curl x",
            "cargo test $(curl x)",
            "cargo test `curl x`",
            "cargo test <(curl x)",
            "cargo test > .bashrc",
            "cargo test < x",
            "cargo test\ncurl x",
            "cargo test\rcurl x",
            "cargo test$IFS",
            "RUSTC_WRAPPER=./evil cargo test",
            "cargo test 'unclosed",
            "cargo test & curl x",
            "./cargo test",
            "'cargo test'",
            "cargo() { curl x; }; cargo test",
            "",
            "cargo testify=$(x)",
        ] {
            assert_eq!(allowed(command), Decision::Ask, "{command:?}");
        }
        assert_eq!(allowed(&["cargo test"; 51].join("; ")), Decision::Ask);
    }

    #[test]
    fn attack_22_what_destroys_is_known() {
        for command in [
            "rm -rf /",
            "rm -rf / --no-preserve-root",
            "rm -fr ~",
            "rm -r $HOME",
            "rm -rf \"$HOME/\"",
            "rm -rf .",
            "rm -rf ./*",
            "rm -rf /home/me",
            "rm -rf .git",
            "cd x && sudo rm -rf ../..",
            "git push --force",
            "git push -f origin main",
            "git push origin +main",
            "git push --force-with-lease",
            "git -C sub push --delete origin x",
            "git clean -fdx",
            "git clean -d --force",
            "git stash drop",
            "git stash clear",
            "git reset --hard HEAD~3",
            "git checkout -- .",
            "git restore src",
            "git branch -D x",
            "sh -c 'git clean -fdx'",
            "find . -name '*.rs' -delete",
            "ls; $(git stash drop)",
            "mkfs.ext4 /dev/sda1",
            "terraform destroy -auto-approve",
        ] {
            assert!(destroys(command).is_some(), "{command}");
        }
        for command in [
            "rm -rf target/debug",
            "rm x",
            "git push",
            "git clean -n",
            "git stash",
            "git stash pop",
            "git reset HEAD x",
            "git restore --staged x",
            "git checkout main",
            "cargo clean",
            "ls /",
        ] {
            assert_eq!(destroys(command), None, "{command}");
        }
    }

    proptest! {
        #[test]
        fn anything_can_be_read(command in r#"[ a-c;|&$(){}<>`'"\\\n\r#=*!-]{0,60}"#) {
            let _ = (forbidden(&command), allowed(&command), destroys(&command));
        }

        #[test]
        fn what_is_joined_to_an_allowed_command_is_asked_about(joint in prop::sample::select(vec![";", "&&", "||", "|", "&", "\n"]), other in "[b-z]{1,8}( [a-z-]{1,6}){0,3}") {
            prop_assert_eq!(allowed(&format!("cargo test {joint} {other}")), Decision::Ask);
            prop_assert_eq!(allowed(&format!("{other} {joint} cargo test")), Decision::Ask);
        }
    }
}
