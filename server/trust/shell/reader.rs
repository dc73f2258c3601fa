//! Words and simple commands of a shell's text.
//!
//! What `sh` is differs by system, and dash and bash do not read everything alike. What they read in two ways is either
//! read in both here or makes the whole unsure.

use super::{Commands, DEPTH, Simple};

/// The commands of `text`, as far as they can be told.
pub(super) fn read(text: &str) -> Commands {
    let mut reader = Reader {
        chars: text.chars().collect(),
        at: 0,
        found: Commands::default(),
        depth: 0,
    };
    if reader.list(None).is_none() {
        reader.found.unreadable = true;
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
/// They give names another meaning, or are words of some shells alone.
const CHANGERS: &[&str] = &[
    "alias", "unalias", "source", ".", "function", "enable", "hash", "coproc", "[[",
];
/// Of bash's own commands those that expand a name's index once more: `printf -v 'a[$(x)]'`.
const EXPANDERS: &[&str] = &[
    "printf",
    "test",
    "[",
    "read",
    "unset",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "let",
    "wait",
    "mapfile",
    "readarray",
    "getopts",
];

/// What is read of a list of commands at the moment.
#[derive(Default)]
struct Line {
    simple: Simple,
    word: Word,
    /// Where a redirection goes is the word to come.
    target: Target,
    /// What bash takes for the beginning of the same command, and dash for one that goes on in the background (`&>`).
    before: Vec<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Target {
    #[default]
    No,
    File,
    /// Behind `>&`.
    Descriptor,
}

#[derive(Default)]
struct Word {
    text: String,
    begun: bool,
    quoted: bool,
    open: bool,
    pattern: bool,
}

impl Reader {
    /// The next character as a shell has it: a backslash and the line's end behind it are taken out before anything else.
    fn peek(&mut self) -> Option<char> {
        while self.chars.get(self.at..self.at + 2) == Some(&['\\', '\n']) {
            self.at += 2;
        }
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    /// As it stands there: behind a backslash, between single quotes, in a comment.
    fn raw(&mut self) -> Option<char> {
        let c = self.chars.get(self.at).copied()?;
        self.at += 1;
        Some(c)
    }

    /// Commands up to `until`, or the end. `None`: it cannot be read.
    fn list(&mut self, until: Option<char>) -> Option<()> {
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        let mut line = Line::default();
        loop {
            let Some(c) = self.next() else {
                self.end_simple(&mut line);
                self.depth -= 1;
                return until.is_none().then_some(());
            };
            let word = &mut line.word;
            match c {
                _ if Some(c) == until => {
                    self.end_simple(&mut line);
                    self.depth -= 1;
                    return Some(());
                }
                '\\' => {
                    word.push(self.raw()?);
                    word.quoted = true;
                }
                '\'' => {
                    word.begun = true;
                    word.quoted = true;
                    loop {
                        match self.raw()? {
                            '\'' => break,
                            c => word.text.push(c),
                        }
                    }
                }
                '"' => self.double_quoted(word)?,
                '$' => self.dollar(word)?,
                '`' => self.backticks(word, false)?,
                ' ' | '\t' => self.end_word(&mut line),
                '\n' | ';' | '|' => self.end_simple(&mut line),
                '\r' => {
                    // A shell takes it for a part of the word, a reader for the end of the line.
                    self.found.unreadable = true;
                    self.end_simple(&mut line);
                }
                '&' if self.peek() == Some('>') => {
                    self.found.unsure = true;
                    self.end_word(&mut line);
                    let before = line.simple.words.clone();
                    self.end_simple(&mut line);
                    line.before = before;
                }
                '&' => self.end_simple(&mut line),
                '<' | '>' if self.peek() == Some('(') => {
                    self.at += 1;
                    self.list(Some(')'))?;
                    word.push('`');
                    word.open = true;
                }
                '<' | '>' => self.redirection(&mut line, c),
                '(' => {
                    // A function, an array, or an expression.
                    if word.begun || !line.simple.words.is_empty() || self.peek() == Some('(') {
                        self.found.unsure = true;
                    }
                    self.end_simple(&mut line);
                    self.list(Some(')'))?;
                }
                ')' => {
                    // A pattern of `case`, or a mistake.
                    self.found.unsure = true;
                    self.end_simple(&mut line);
                }
                '#' if !word.begun => {
                    // Nothing is taken out of a comment: a backslash does not prolong it.
                    while self.chars.get(self.at).is_some_and(|c| *c != '\n') {
                        self.at += 1;
                    }
                }
                '*' | '?' | '[' | '~' | '{' | '}' => {
                    word.push(c);
                    word.pattern = true;
                }
                // A name that looks like another one is no part of any rule.
                c if c.is_control() || c.is_whitespace() => {
                    self.found.unreadable = true;
                    self.end_word(&mut line);
                }
                c => word.push(c),
            }
        }
    }

    /// Behind its first character.
    fn redirection(&mut self, line: &mut Line, first: char) {
        let word = &line.word;
        let digits = !word.text.is_empty() && word.text.bytes().all(|b| b.is_ascii_digit());
        if digits && !word.quoted && !word.open && line.target == Target::No {
            // A number before it belongs to it; of more than one digit in bash alone.
            self.found.unsure |= word.text.len() > 1;
            line.word = Word::default();
        }
        self.end_word(line);
        if first == '<' {
            // Reading from a file changes nothing, but gives a shell its commands.
            line.simple.open = true;
            self.found.unsure |= self.peek() == Some('<');
        }
        while matches!(self.peek(), Some('<' | '>' | '|')) {
            self.at += 1;
        }
        line.target = Target::File;
        if self.peek() == Some('&') {
            self.at += 1;
            line.target = Target::Descriptor;
        }
    }

    fn double_quoted(&mut self, word: &mut Word) -> Option<()> {
        word.begun = true;
        word.quoted = true;
        loop {
            match self.next()? {
                '"' => return Some(()),
                '\\' => {
                    let next = self.raw()?;
                    if !matches!(next, '$' | '`' | '"' | '\\') {
                        word.text.push('\\');
                    }
                    word.text.push(next);
                }
                '$' => self.dollar(word)?,
                '`' => self.backticks(word, true)?,
                c => word.text.push(c),
            }
        }
    }

    fn dollar(&mut self, word: &mut Word) -> Option<()> {
        word.begun = true;
        match self.peek() {
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
                    let c = self.next()?;
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
                word.text.push('$');
                Some(())
            }
            Some('[') => {
                // An expression of bash's, in which single quotes hide nothing.
                self.found.unsure = true;
                word.open = true;
                word.text.push('$');
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

    fn backticks(&mut self, word: &mut Word, quoted: bool) -> Option<()> {
        word.begun = true;
        word.open = true;
        word.text.push('`');
        let mut inner = String::new();
        loop {
            match self.next()? {
                '`' => break,
                '\\' => {
                    let next = self.raw()?;
                    let is_escape = matches!(next, '$' | '`' | '\\') || (quoted && next == '"');
                    if !is_escape {
                        inner.push('\\');
                    }
                    inner.push(next);
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
        self.found.unreadable |= reader.found.unreadable;
        self.found.all.extend(reader.found.all);
        self.found.targets.extend(reader.found.targets);
        Some(())
    }

    fn end_word(&mut self, line: &mut Line) {
        let word = std::mem::take(&mut line.word);
        if !word.begun {
            return;
        }
        let simple = &mut line.simple;
        let pattern = word.pattern && word.text.contains(['*', '?', '[', '{']);
        let target = std::mem::take(&mut line.target);
        if target != Target::No {
            self.found.targets.push((word.text.clone(), pattern));
        }
        match target {
            Target::No => {}
            Target::File => {
                simple.open |= word.open || word.text != "/dev/null";
                return;
            }
            Target::Descriptor => {
                let number = word.text.strip_suffix('-').unwrap_or(&word.text);
                simple.open |= word.open || !number.bytes().all(|b| b.is_ascii_digit());
                return;
            }
        }
        let first = simple.words.is_empty();
        let plain = !word.quoted && !word.open;
        if first && plain && RESERVED.contains(&word.text.as_str()) {
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
        let patterned = word.pattern && word.text != "[";
        if first && (patterned || CHANGERS.contains(&word.text.as_str())) {
            self.found.unsure = true;
        }
        if first && (word.open || word.text.contains(char::is_whitespace)) {
            self.found.unsure = true;
        }
        simple.open |= word.open;
        simple.globs.push(pattern);
        simple.words.push(word.text);
    }

    fn end_simple(&mut self, line: &mut Line) {
        self.end_word(line);
        let mut simple = std::mem::take(&mut line.simple);
        // A redirection to nowhere.
        simple.open |= std::mem::take(&mut line.target) != Target::No;
        let expands = |word: &String| word.contains('[') && word.contains(['$', '`']);
        if let Some((first, rest)) = simple.words.split_first()
            && EXPANDERS.contains(&first.as_str())
        {
            simple.open |= rest.iter().any(expands);
        }
        let mut before = std::mem::take(&mut line.before);
        if !before.is_empty() && !simple.words.is_empty() {
            before.extend(simple.words.iter().cloned());
            self.found.all.push(Simple {
                words: before,
                globs: Vec::new(),
                open: true,
            });
        }
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
