//! Words and simple commands of a shell's text.

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
/// They give names another meaning.
const CHANGERS: &[&str] = &[
    "alias", "unalias", "source", ".", "function", "enable", "hash",
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
                    self.found.unreadable = true;
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
                    self.found.unreadable = true;
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
        self.found.unreadable |= reader.found.unreadable;
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
        let pattern = word.pattern && word.text != "[";
        if first && (pattern || CHANGERS.contains(&word.text.as_str())) {
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
