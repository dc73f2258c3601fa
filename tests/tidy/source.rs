//! A Rust source as the rules see it: its words without comments, strings and tests; its comments apart.

/// One word of code, or one sign.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Token {
    text: String,
    /// 1-based.
    line: usize,
}

pub struct Source {
    /// From the root of the repository, with `/`.
    pub path: String,
    /// The top module that it belongs to (`server/lsp/sync.rs` is of `lsp`); `grammars` for that crate.
    pub module: String,
    pub lines: usize,
    /// A file of unit tests.
    pub is_test: bool,
    /// Each with its 1-based line, leader and blanks taken off.
    pub comments: Vec<(usize, String)>,
    tokens: Vec<Token>,
    /// How deep in the module tree: 1 for `server/lsp.rs`.
    depth: usize,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let parts: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
        let module = match parts.first() {
            Some(&"server") => parts.get(1).copied().unwrap_or_default(),
            first => first.copied().unwrap_or_default(),
        };
        let mut scanner = Scanner {
            rest: text.chars().collect(),
            at: 0,
            line: 1,
            tokens: Vec::new(),
            comments: Vec::new(),
        };
        scanner.run();
        Self {
            path: path.to_string(),
            module: module.to_string(),
            lines: text.lines().count(),
            is_test: parts.last() == Some(&"tests")
                || parts.get(1..).is_some_and(|p| p.contains(&"tests")),
            comments: scanner.comments,
            tokens: without_tests(scanner.tokens),
            depth: parts.len().saturating_sub(1),
        }
    }

    pub fn is_server(&self) -> bool {
        self.path.starts_with("server/")
    }

    fn is(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|t| t.text == text)
    }

    /// Every path that the code names: those of `use` trees spelled out, and those in the code.
    pub fn paths(&self) -> Vec<(usize, Vec<String>)> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            if self.is(at, "use") {
                at = self.tree(at + 1, &[], &mut found);
            } else if is_word(&self.tokens[at].text) && self.is(at + 1, "::") {
                let line = self.tokens[at].line;
                let mut path = vec![self.tokens[at].text.clone()];
                at += 1;
                while self.is(at, "::") && self.tokens.get(at + 1).is_some_and(|t| is_word(&t.text))
                {
                    path.push(self.tokens[at + 1].text.clone());
                    at += 2;
                }
                found.push((line, path));
            } else {
                at += 1;
            }
        }
        found
    }

    /// One `use` tree from `at`; where it ends.
    fn tree(
        &self,
        mut at: usize,
        before: &[String],
        found: &mut Vec<(usize, Vec<String>)>,
    ) -> usize {
        let mut path = before.to_vec();
        let line = self.tokens.get(at).map_or(0, |t| t.line);
        loop {
            if self.is(at, "{") {
                at += 1;
                while at < self.tokens.len() && !self.is(at, "}") {
                    at = self.tree(at, &path, found);
                    if self.is(at, ",") {
                        at += 1;
                    }
                }
                return at + 1;
            }
            match self.tokens.get(at) {
                Some(token) if token.text == "::" => at += 1,
                Some(token) if token.text == "as" => at += 2,
                Some(token) if token.text == "*" || is_word(&token.text) => {
                    path.push(token.text.clone());
                    at += 1;
                }
                _ => {
                    found.push((line, path));
                    return at;
                }
            }
        }
    }

    /// The modules of our own crate that are named, with the line.
    pub fn uses_of_modules(&self) -> Vec<(usize, String)> {
        let mut used = Vec::new();
        for (line, path) in self.paths() {
            let supers = path.iter().take_while(|p| *p == "super").count();
            let module = match path.first().map(String::as_str) {
                Some("crate" | "postil") => path.get(1),
                Some("super") if supers >= self.depth => path.get(supers),
                _ => None,
            };
            used.extend(module.map(|m| (line, m.clone())));
        }
        used
    }

    pub fn declares_module(&self, name: &str) -> bool {
        self.tokens
            .windows(2)
            .any(|w| w[0].text == "mod" && w[1].text == name)
    }

    /// The lines where `name!` stands.
    pub fn macros(&self, name: &str) -> Vec<usize> {
        let hits = self
            .tokens
            .windows(2)
            .filter(|w| w[0].text == name && w[1].text == "!");
        hits.map(|w| w[0].line).collect()
    }

    /// The lines where the function `name` is called with nothing; methods of that name are others.
    pub fn calls(&self, name: &str) -> Vec<usize> {
        let at = (0..self.tokens.len()).filter(|&i| {
            self.is(i, name)
                && self.is(i + 1, "(")
                && self.is(i + 2, ")")
                && !(i > 0 && (self.is(i - 1, ".") || self.is(i - 1, "fn")))
        });
        at.map(|i| self.tokens[i].line).collect()
    }

    pub fn words(&self, word: &str) -> Vec<usize> {
        self.tokens
            .iter()
            .filter(|t| t.text == word)
            .map(|t| t.line)
            .collect()
    }

    /// The lines of `#[name(…)]` and `#![name(…)]`.
    pub fn attributes(&self, name: &str) -> Vec<usize> {
        let at = (0..self.tokens.len())
            .filter(|&i| self.is(i, "[") && self.is(i + 1, name) && self.is(i + 2, "("));
        at.map(|i| self.tokens[i].line).collect()
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Takes out what stands under `#[cfg(test)]`: an item with a body, or one that ends with `;`.
fn without_tests(tokens: Vec<Token>) -> Vec<Token> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let marked = tokens[at..]
            .iter()
            .map(|t| t.text.as_str())
            .take(MARK.len())
            .eq(MARK);
        if !marked {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        at += MARK.len();
        let mut depth = 0usize;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token.text.as_str() {
                "{" => depth += 1,
                "}" if depth <= 1 => break,
                "}" => depth -= 1,
                ";" if depth == 0 => break,
                _ => {}
            }
        }
    }
    kept
}

struct Scanner {
    rest: Vec<char>,
    at: usize,
    line: usize,
    tokens: Vec<Token>,
    comments: Vec<(usize, String)>,
}

impl Scanner {
    fn peek(&self, ahead: usize) -> char {
        self.rest.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn next(&mut self) -> char {
        let c = self.peek(0);
        self.at += 1;
        self.line += usize::from(c == '\n');
        c
    }

    fn run(&mut self) {
        while self.at < self.rest.len() {
            let (line, c) = (self.line, self.peek(0));
            if c == '/' && self.peek(1) == '/' {
                let text = self.take_while(|c| c != '\n');
                self.comment(line, &text);
            } else if c == '/' && self.peek(1) == '*' {
                let text = self.block();
                self.comment(line, &text);
            } else if c == '"' {
                self.string();
            } else if c == '\'' {
                self.quote();
            } else if c.is_alphanumeric() || c == '_' {
                let word = self.take_while(|c| c.is_alphanumeric() || c == '_');
                let prefix = ["r", "b", "br", "c", "cr"].contains(&word.as_str());
                if prefix && word.ends_with('r') && matches!(self.peek(0), '"' | '#') && self.raw()
                {
                    continue;
                }
                if prefix && self.peek(0) == '"' {
                    self.string();
                } else if word == "b" && self.peek(0) == '\'' {
                    self.quote();
                } else {
                    self.tokens.push(Token { text: word, line });
                }
            } else if c == ':' && self.peek(1) == ':' {
                self.at += 2;
                self.tokens.push(Token {
                    text: "::".into(),
                    line,
                });
            } else {
                self.next();
                if !c.is_whitespace() {
                    self.tokens.push(Token {
                        text: c.into(),
                        line,
                    });
                }
            }
        }
    }

    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> String {
        let mut text = String::new();
        while self.at < self.rest.len() && fits(self.peek(0)) {
            text.push(self.next());
        }
        text
    }

    fn comment(&mut self, line: usize, text: &str) {
        self.comments.push((
            line,
            text.trim_start_matches(['/', '*', '!']).trim().to_string(),
        ));
    }

    /// Block comments nest.
    fn block(&mut self) -> String {
        let mut text = String::new();
        let mut depth = 0;
        while self.at < self.rest.len() {
            let step = match (self.peek(0), self.peek(1)) {
                ('/', '*') => 1,
                ('*', '/') => -1,
                _ => 0,
            };
            depth += step;
            text.push(self.next());
            if step != 0 {
                text.push(self.next());
            }
            if depth == 0 {
                break;
            }
        }
        text
    }

    fn string(&mut self) {
        self.next();
        while self.at < self.rest.len() {
            match self.next() {
                '\\' => {
                    self.next();
                }
                '"' => break,
                _ => {}
            }
        }
    }

    /// A raw string after its `r`; false where it is a raw identifier.
    fn raw(&mut self) -> bool {
        let hashes = (0..).take_while(|&i| self.peek(i) == '#').count();
        if self.peek(hashes) != '"' {
            self.at += hashes;
            return false;
        }
        self.at += hashes + 1;
        while self.at < self.rest.len() {
            if self.next() == '"' && (0..hashes).all(|i| self.peek(i) == '#') {
                self.at += hashes;
                break;
            }
        }
        true
    }

    /// A character literal, or a lifetime, which is left out too.
    fn quote(&mut self) {
        self.next();
        if self.peek(0) == '\\' {
            self.next();
            self.next();
            self.take_while(|c| c != '\'');
            self.next();
        } else if self.peek(1) == '\'' {
            self.next();
            self.next();
        } else {
            self.take_while(|c| c.is_alphanumeric() || c == '_');
        }
    }
}
