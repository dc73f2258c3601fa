//! `file_read`: numbered lines of one file, as the editor has it where it is open.

use std::fmt::Write;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Context, Known, MAX_OUTPUT, NOTES, Output, Tool, head, parse, schema};
use crate::files::FileError;
use crate::trust::Risk;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file, relative to the workspace root.
    path: String,
    /// The first line to show, counted from 1. Default 1.
    #[serde(default)]
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// How many lines to show at most. Default: as many as fit.
    #[serde(default)]
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

pub(super) struct FileRead;

#[async_trait]
impl Tool for FileRead {
    fn name(&self) -> &'static str {
        "file_read"
    }
    fn description(&self) -> String {
        String::from(
            "Reads a text file. Each line is shown as its number, ` | ` and its text; number and bar are not part of the file. At most 50 KB are shown at once: go on with `offset`. An open file is read from the editor, unsaved changes included.",
        )
    }
    fn parameters(&self) -> Value {
        schema::<Input>()
    }
    fn risk(&self) -> Risk {
        Risk::Read
    }
    fn check(&self, input: &Value) -> Result<(), String> {
        parse::<Input>(self.name(), input).map(drop)
    }
    async fn call(&self, cx: &Context, input: Value) -> Output {
        let Input {
            path,
            offset,
            limit,
        } = parse(self.name(), &input)?;
        let text = match cx.tree.read(&path) {
            // A small image may have no NUL in it.
            Ok(text) if text.lossy && kind(&bytes(cx, &path)).is_some() => {
                return Ok(named(cx, &path, &cx.shown(&text.path)));
            }
            Ok(text) => text,
            Err(FileError::Binary(shown)) => return Ok(named(cx, &path, &shown)),
            Err(FileError::IsFolder(shown)) => {
                return Err(format!(
                    "{shown} is a folder, not a file; list_files shows what is in it."
                ));
            }
            Err(e @ FileError::NotFound(_)) => {
                return Err(format!("{e}; glob finds files by name."));
            }
            Err(e @ FileError::TooLarge(..)) => {
                return Err(format!(
                    "{e}; a command such as `sed -n` shows parts of it."
                ));
            }
            Err(e) => return Err(e.to_string()),
        };
        let earlier = cx.seen.get(&text.path).map(|known| known.clone());
        let mut known = Known::of(&text).with_shown_of(earlier.as_ref());
        cx.seen.insert(text.path.clone(), known.clone());
        let shown = cx.shown(&text.path);
        let body = text.text.strip_prefix('\u{feff}').unwrap_or(&text.text);
        let lines = split_lines(body);
        let first = usize::try_from(offset.unwrap_or(1).max(1)).unwrap_or(usize::MAX);
        if lines.is_empty() {
            return Ok(format!("({shown} is empty)"));
        }
        if first > lines.len() {
            return Err(format!(
                "{shown} has {} lines: offset {first} is past its end.",
                lines.len()
            ));
        }
        let limit = limit.map_or(usize::MAX, |l| usize::try_from(l).unwrap_or(usize::MAX));
        let mut output = String::new();
        if text.lossy {
            output.push_str("(not valid UTF-8: what cannot be read is shown as \u{fffd}, and the file cannot be edited)\n");
        }
        let mut next = first;
        for line in lines.iter().skip(first - 1).take(limit) {
            let room = (MAX_OUTPUT - NOTES).saturating_sub(output.len());
            if line.len() + 16 > room {
                if next > first {
                    break;
                }
                // A single line that does not fit, and does not count as shown.
                let part = head(line, room.saturating_sub(16));
                let _ = writeln!(output, "{next:4} | {part}");
                let _ = writeln!(
                    output,
                    "(line {next} was cut: {} of its {} bytes are not shown)",
                    line.len() - part.len(),
                    line.len()
                );
            } else {
                let _ = writeln!(output, "{next:4} | {line}");
                known.show(next - 1..next);
            }
            next += 1;
        }
        cx.seen.insert(text.path.clone(), known);
        if next <= lines.len() {
            let left = lines.len() - next + 1;
            let _ = writeln!(
                output,
                "({left} of {} lines are not shown: go on with offset {next})",
                lines.len()
            );
        }
        Ok(output)
    }
}

/// The lines of a text as LSP counts them, without their ends; none for an empty one.
pub(super) fn split_lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest.as_bytes()) {
        let end = if rest.as_bytes().get(at..at + 2) == Some(b"\r\n") {
            at + 2
        } else {
            at + 1
        };
        lines.push(rest.get(..at).unwrap_or_default());
        rest = rest.get(end..).unwrap_or_default();
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

/// What a binary file is, instead of its bytes.
fn named(cx: &Context, path: &str, shown: &str) -> String {
    let bytes = bytes(cx, path);
    let kind = kind(&bytes).unwrap_or("a binary file");
    let shows = match cx.images.show(shown, &bytes) {
        Ok(()) => String::from("it follows"),
        Err(why) => why,
    };
    format!("({shown} is {kind} of {} bytes; {shows})", bytes.len())
}

fn bytes(cx: &Context, path: &str) -> Vec<u8> {
    let resolved = cx.tree.resolve(path);
    resolved
        .and_then(|path| cx.tree.read_bytes(&path))
        .unwrap_or_default()
}

fn kind(bytes: &[u8]) -> Option<&'static str> {
    let known = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic));
    known.map(|(_, kind)| *kind)
}

const MAGIC: &[(&[u8], &str)] = &[
    (b"\x89PNG", "an image (PNG)"),
    (b"\xff\xd8\xff", "an image (JPEG)"),
    (b"GIF8", "an image (GIF)"),
    (b"RIFF", "an image, sound or film (RIFF)"),
    (b"%PDF", "a document (PDF)"),
    (b"PK\x03\x04", "an archive (ZIP)"),
    (b"\x1f\x8b", "an archive (gzip)"),
    (b"\x7fELF", "a program (ELF)"),
    (b"SQLite format 3", "a database (SQLite)"),
    (b"\xff\xfe", "text in UTF-16"),
    (b"\xfe\xff", "text in UTF-16"),
];
