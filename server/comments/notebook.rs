//! Jupyter notebooks: JSON whose strings hold the code. Each cell is a text of its own, in the language
//! of its kernel, of its magic (`%%bash`) or in Markdown; what is found in it is told in bytes of the
//! notebook, and what is written in it is written as JSON. Outputs, metadata and attachments are passed over.

use std::ops::Range;
use std::sync::OnceLock;

use postil_grammars::{Language, by_name, detect};

use super::Syntax;
use json::{Json, Segment};

mod json;
mod write;

pub(super) use json::Malformed;

/// The cells of a notebook, in order.
#[derive(Debug, Default)]
pub(crate) struct Notebook {
    pub cells: Vec<Cell>,
}

/// One cell. Bytes are counted in the notebook, unless they are said to be the cell's own.
#[derive(Debug)]
pub(crate) struct Cell {
    /// The whole object.
    pub range: Range<usize>,
    /// The value of its `source`: a list of strings or one string.
    pub value: Range<usize>,
    list: bool,
    /// What stands between the quotes of each string.
    pieces: Vec<Range<usize>>,
    /// `None`: a kernel of unknown language.
    language: Option<&'static Language>,
    inside: OnceLock<Inside>,
}

/// A cell's source, decoded.
#[derive(Debug)]
struct Inside {
    text: String,
    syntax: Syntax,
    segments: Vec<Segment>,
    /// Where each piece begins in the decoded text.
    starts: Vec<usize>,
}

impl Notebook {
    /// The cells of `text`: of nbformat 4 and, with their worksheets, of 3. JSON that is no notebook has none.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let mut json = Json::new(text);
        let mut raw = Vec::new();
        let mut kernel = Kernel::default();
        if json.peek() != b'{' {
            json.value()?;
            json.finish()?;
            return Ok(Self::default());
        }
        json.object(|key, json| match key {
            b"cells" if json.peek() == b'[' => {
                raw.clear();
                cells(json, text, &mut raw)
            }
            b"worksheets" if json.peek() == b'[' => json.list(|json| {
                if json.peek() != b'{' {
                    return json.value();
                }
                json.object(|key, json| match key {
                    b"cells" if json.peek() == b'[' => cells(json, text, &mut raw),
                    _ => json.value(),
                })
            }),
            b"metadata" => kernel.read(json, text),
            _ => json.value(),
        })?;
        json.finish()?;
        let kernel = kernel.language();
        let cells = raw.into_iter().filter_map(|raw| raw.cell(kernel)).collect();
        Ok(Self { cells })
    }

    /// The cell that byte `at` lies in.
    pub fn cell_at(&self, at: usize) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.range.contains(&at))
    }
}

impl Cell {
    /// Its source as it is written: what it cannot hold need not be decoded.
    pub fn written<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.value.clone()).unwrap_or_default()
    }

    /// Its source. `text` is the notebook.
    pub fn text(&self, text: &str) -> &str {
        &self.inside(text).text
    }

    pub fn syntax(&self, text: &str) -> &Syntax {
        &self.inside(text).syntax
    }

    fn inside(&self, text: &str) -> &Inside {
        self.inside.get_or_init(|| {
            let mut inner = String::new();
            let mut segments = Vec::new();
            let mut starts = Vec::with_capacity(self.pieces.len());
            for piece in &self.pieces {
                starts.push(inner.len());
                json::decode(text, piece.clone(), &mut inner, &mut segments);
            }
            let language = magic(&inner).or(self.language);
            Inside {
                syntax: Syntax::parse_inside(&inner, language, 1),
                text: inner,
                segments,
                starts,
            }
        })
    }

    /// The byte of the notebook that is byte `at` of the source: of two strings that meet there, in the second.
    pub fn outer(&self, text: &str, at: usize) -> usize {
        let inside = self.inside(text);
        let piece = inside.starts.partition_point(|start| *start <= at);
        let Some(piece) = piece.checked_sub(1).and_then(|i| self.pieces.get(i)) else {
            return self.value.start;
        };
        let within = |segment: &&Segment| piece.start <= segment.outer && segment.inner <= at;
        let before = inside.segments.partition_point(|s| s.inner <= at);
        let Some(segment) = before
            .checked_sub(1)
            .and_then(|i| inside.segments.get(i))
            .filter(within)
        else {
            return piece.start;
        };
        let behind = at - segment.inner;
        let outer = match segment.escape {
            0 => segment.outer + behind,
            _ if behind == 0 => segment.outer,
            length => segment.outer + length,
        };
        outer.min(piece.end)
    }

    /// Bytes of the notebook from the first to the last of these bytes of the source.
    pub fn outer_range(&self, text: &str, range: Range<usize>) -> Range<usize> {
        let start = self.outer(text, range.start);
        if range.is_empty() {
            return start..start;
        }
        // Of two strings that meet at the end, in the first.
        let inside = self.inside(text);
        let piece = inside.starts.partition_point(|start| *start < range.end);
        let end = piece
            .checked_sub(1)
            .and_then(|i| Some((inside.starts.get(i + 1)?, self.pieces.get(i)?)))
            .filter(|(next, _)| **next == range.end)
            .map_or_else(|| self.outer(text, range.end), |(_, piece)| piece.end);
        start..end.max(start)
    }

    /// The byte of the source that is byte `at` of the notebook, or the next one where `at` is none of it.
    pub fn inner(&self, text: &str, at: usize) -> usize {
        let inside = self.inside(text);
        let before = inside.segments.partition_point(|s| s.outer <= at);
        let next = inside
            .segments
            .get(before)
            .map_or(inside.text.len(), |segment| segment.inner);
        match before.checked_sub(1).and_then(|i| inside.segments.get(i)) {
            Some(segment) if segment.escape == 0 => (segment.inner + at - segment.outer).min(next),
            Some(segment) if at < segment.outer + segment.escape => segment.inner,
            _ => next,
        }
    }

    /// Whether byte `at` of the notebook stands between the quotes of the source.
    pub fn holds(&self, at: usize) -> bool {
        let before = self.pieces.partition_point(|piece| piece.start <= at);
        before
            .checked_sub(1)
            .and_then(|i| self.pieces.get(i))
            .is_some_and(|piece| at < piece.end)
    }

    /// Where in the source the last of its strings begins that begins before byte `end` of the notebook.
    pub fn last_before(&self, text: &str, end: usize) -> Option<usize> {
        if self.pieces.is_empty() {
            return (self.value.start < end).then_some(0);
        }
        let piece = self.pieces.partition_point(|piece| piece.start <= end);
        let starts = &self.inside(text).starts;
        starts.get(piece.checked_sub(1)?).copied()
    }
}

/// A cell as it was read; its language is known when the notebook's metadata are.
#[derive(Default)]
struct Raw {
    range: Range<usize>,
    source: Option<(Range<usize>, bool, Vec<Range<usize>>)>,
    /// The language that its metadata name.
    named: Option<&'static Language>,
    format: Option<&'static str>,
    kind: Kind,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    Code,
    Markdown,
    #[default]
    Other,
}

impl Raw {
    fn cell(self, kernel: Option<&'static Language>) -> Option<Cell> {
        let (value, list, pieces) = self.source?;
        let language = match self.kind {
            Kind::Code => self.named.or(kernel),
            Kind::Markdown => by_name("markdown"),
            // Text for a converter.
            Kind::Other => by_name(self.format?),
        };
        Some(Cell {
            range: self.range,
            value,
            list,
            pieces,
            language,
            inside: OnceLock::new(),
        })
    }
}

fn cells(json: &mut Json, text: &str, out: &mut Vec<Raw>) -> Result<(), Malformed> {
    json.list(|json| {
        if json.peek() != b'{' {
            return json.value();
        }
        let start = json.start();
        let mut raw = Raw::default();
        json.object(|key, json| {
            match (key, json.peek()) {
                (b"cell_type", b'"') => {
                    let kind = json.string()?;
                    raw.kind = match text.get(kind) {
                        Some("code") => Kind::Code,
                        Some("markdown" | "heading") => Kind::Markdown,
                        _ => Kind::Other,
                    };
                }
                (b"source" | b"input", b'"') => {
                    let start = json.start();
                    let piece = json.string()?;
                    raw.source = Some((start..json.end(), false, vec![piece]));
                }
                (b"source" | b"input", b'[') => {
                    let start = json.start();
                    let mut pieces = Vec::new();
                    json.list(|json| {
                        pieces.push(json.string()?);
                        Ok(())
                    })?;
                    raw.source = Some((start..json.end(), true, pieces));
                }
                (b"metadata", b'{') => of_cell(json, text, &mut raw)?,
                _ => json.value()?,
            }
            Ok(())
        })?;
        raw.range = start..json.end();
        out.push(raw);
        Ok(())
    })
}

/// What a cell's metadata say of its language.
fn of_cell(json: &mut Json, text: &str, raw: &mut Raw) -> Result<(), Malformed> {
    json.object(|key, json| match (key, json.peek()) {
        (b"vscode" | b"dotnet_interactive" | b"polyglot_notebook", b'{') => {
            json.object(|key, json| match (key, json.peek()) {
                (b"languageId" | b"language" | b"kernelName", b'"') => {
                    let name = json.string()?;
                    raw.named = text.get(name).and_then(by_word).or(raw.named);
                    Ok(())
                }
                _ => json.value(),
            })
        }
        (b"format" | b"raw_mimetype", b'"') => {
            let name = json.string()?;
            raw.format = match text.get(name).unwrap_or_default() {
                "text/html" => Some("html"),
                "text/latex" | "latex" => Some("latex"),
                "text/markdown" => Some("markdown"),
                "text/restructuredtext" | "rst" => Some("restructuredtext"),
                "text/asciidoc" => Some("asciidoc"),
                "text/x-python" | "python" => Some("python"),
                _ => None,
            };
            Ok(())
        }
        _ => json.value(),
    })
}

/// What a notebook's metadata say of its kernel.
#[derive(Default)]
struct Kernel {
    info: Option<&'static Language>,
    extension: Option<&'static Language>,
    spec: Option<&'static Language>,
    /// Some language is named, known here or not.
    named: bool,
}

impl Kernel {
    fn read(&mut self, json: &mut Json, text: &str) -> Result<(), Malformed> {
        if json.peek() != b'{' {
            return json.value();
        }
        json.object(|key, json| {
            let spec = match key {
                b"kernelspec" => true,
                b"language_info" => false,
                _ => return json.value(),
            };
            if json.peek() != b'{' {
                return json.value();
            }
            json.object(|key, json| {
                if json.peek() != b'"' {
                    return json.value();
                }
                let value = json.string()?;
                let value = text.get(value).unwrap_or_default();
                match (key, spec) {
                    (b"language", true) => self.spec = by_word(value),
                    (b"name", false) => self.info = by_word(value),
                    (b"file_extension", false) => {
                        self.extension = detect(&format!("cell{value}"), None, "");
                        return Ok(());
                    }
                    _ => return Ok(()),
                }
                self.named = true;
                Ok(())
            })
        })
    }

    /// A notebook that names no language is Python's.
    fn language(&self) -> Option<&'static Language> {
        let known = self.info.or(self.spec).or(self.extension);
        if self.named || known.is_some() {
            known
        } else {
            by_name("python")
        }
    }
}

/// The row of a kernel's language: its own name for it.
fn by_word(word: &str) -> Option<&'static Language> {
    let lower = word.to_ascii_lowercase();
    let name = match lower.as_str() {
        "ipython" | "ipython3" | "python3" | "sage" | "sagemath" | "pyspark" | "sos" => "python",
        "c++" | "c++11" | "c++14" | "c++17" | "c++20" | "c++23" | "xcpp" | "root" => "cpp",
        "c#" => "csharp",
        "f#" => "fsharp",
        "ir" => "r",
        "octave" => "matlab",
        "pwsh" => "powershell",
        "common-lisp" => "lisp",
        "wolfram language" | "wolfram" => "mathematica",
        "bash kernel" | "zsh" => "bash",
        other => other,
    };
    by_name(name).or_else(|| detect("", Some(name), ""))
}

/// The language of a cell that begins with a magic such as `%%bash`: the lines below are not the kernel's.
fn magic(cell: &str) -> Option<&'static Language> {
    let line = cell.trim_start().lines().next()?.strip_prefix("%%")?;
    let mut words = line.split_ascii_whitespace();
    let name = line
        .starts_with(|c: char| c.is_ascii_alphabetic())
        .then(|| words.next())??;
    match name {
        "bash" | "sh" | "system" | "sx" | "!" => by_name("bash"),
        "script" => words
            .find(|word| !word.starts_with('-'))
            .and_then(|program| detect("", None, &format!("#!/usr/bin/env {program}\n"))),
        "html" | "HTML" => by_name("html"),
        "svg" | "SVG" => by_name("xml"),
        "js" | "javascript" => by_name("javascript"),
        "latex" => by_name("latex"),
        "markdown" => by_name("markdown"),
        "perl" | "ruby" | "sql" | "typescript" | "rust" | "powershell" => by_name(name),
        "R" => by_name("r"),
        "bigquery" | "sparksql" => by_name("sql"),
        "cmd" => by_name("batch"),
        "file" | "writefile" => words
            .find(|word| !word.starts_with('-'))
            .and_then(|file| detect(file, None, "")),
        _ => None,
    }
}

/// Whether the first line of a cell must stay its first: what a magic says counts there only.
pub(crate) fn begins_with_magic(cell: &str) -> bool {
    cell.strip_prefix("%%")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests;
