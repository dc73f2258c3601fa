//! `file_edit`: an exact piece of text replaced by another.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::change::{FileChange, Patience, Unchanged, change_locked, kept_lines};
use super::file_read::split_lines;
use super::{Context, Known, Output, Tool, head, parse, schema};
use crate::files::{FileError, Text};
use crate::present::listed;
use crate::trust::Risk;

pub(super) const NAME: &str = "file_edit";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file, relative to the workspace root.
    path: String,
    /// The text to replace, exactly as it stands in the file (without line numbers).
    old_string: String,
    /// What takes its place.
    new_string: String,
    /// Replace every place where old_string stands. Default false: it must stand in exactly one.
    #[serde(default)]
    replace_all: Option<bool>,
}

/// What whoever calls it knows its parameters by, and what else it has.
pub struct Words {
    pub old: &'static str,
    pub new: &'static str,
    /// The parameter that changes every place.
    pub all: Option<&'static str>,
    /// The tools that read a file and make one.
    pub read: &'static str,
    pub make: Option<&'static str>,
}

/// Its own.
const OWN: Words = Words {
    old: "old_string",
    new: "new_string",
    all: Some("replace_all"),
    read: "file_read",
    make: Some("file_write"),
};

pub(super) struct FileEdit(pub(super) &'static Words);

impl Default for FileEdit {
    fn default() -> Self {
        Self(&OWN)
    }
}

#[async_trait]
impl Tool for FileEdit {
    fn name(&self) -> &'static str {
        NAME
    }
    fn description(&self) -> String {
        String::from(
            "Replaces text in a file. `old_string` must stand in the file exactly, blanks and indentation included, and only once unless `replace_all` is set. AUTHOR: and AGENT: comments must stay as they are.",
        )
    }
    fn parameters(&self) -> Value {
        schema::<Input>()
    }
    fn risk(&self) -> Risk {
        Risk::Write
    }
    fn check(&self, input: &Value) -> Result<(), String> {
        parse::<Input>(self.name(), input).map(drop)
    }
    async fn call(&self, cx: &Context, input: Value) -> Output {
        let Input {
            path,
            old_string,
            new_string,
            replace_all,
        } = parse(self.name(), &input)?;
        let resolved = cx.tree.resolve(&path).map_err(|e| e.to_string())?;
        let _guard = cx.lock(&resolved).await;
        let shown = cx.shown(&resolved);
        if old_string.is_empty() {
            return Err(format!(
                "`{}` is empty: give the text to replace{}.",
                self.0.old,
                self.0.makes()
            ));
        }
        if old_string == new_string {
            return Err(format!(
                "`{}` and `{}` are the same: there is nothing to change.",
                self.0.old, self.0.new
            ));
        }
        let all = replace_all.unwrap_or(false);
        let patience = Patience::begin();
        let mut known = cx.seen.get(&resolved).map(|known| known.clone());
        loop {
            let current = self.0.file(cx, &resolved, &shown)?;
            let edited = Edited::new(&current.text, &old_string);
            // What was never read is known from now on: that it matches exactly is proof enough.
            let known = known.get_or_insert_with(|| Known::of(&current));
            // An author types on in an open file; the lines that the edit is about must be as they were read.
            if known.seen.hash != current.seen.hash
                && (current.buffer.is_none() || !edited.stands_as_in(&known.text))
            {
                return Err(Unchanged::Meanwhile(shown).into());
            }
            edited.is_the_one(all, &shown, &old_string, self.0)?;
            let text = Some(edited.replaced(&new_string));
            let change = FileChange::new(&resolved, Some(current.seen.clone()), text);
            match change_locked(cx, vec![change]).await {
                Ok(()) => return Ok(edited.account(&shown)),
                // The lines are looked at again, in what stands there now.
                Err(why) if current.buffer.is_some() && patience.lasts(&why) => {}
                Err(why) => return Err(why.into()),
            }
        }
    }
}

impl Words {
    fn file(&self, cx: &Context, path: &Path, shown: &str) -> Result<Text, String> {
        let current = cx.tree.read(path).map_err(|e| match e {
            FileError::NotFound(_) => format!("{e}{}.", self.makes()),
            e => format!("{e}; nothing was written."),
        })?;
        if current.lossy {
            return Err(format!("{}.", FileError::NotUtf8(shown.to_owned())));
        }
        Ok(current)
    }

    fn makes(&self) -> String {
        let make = self.make.map(|tool| format!("; {tool} makes a new file"));
        make.unwrap_or_default()
    }
}

/// A text and where a string stands in it. A model sees and writes `\n`; in a file with CR LF these
/// stand for each other.
struct Edited<'a> {
    text: &'a str,
    /// Bytes of `text`, in order, not overlapping.
    found: Vec<Range<usize>>,
}

impl<'a> Edited<'a> {
    fn new(text: &'a str, wanted: &str) -> Self {
        let found = match text.contains("\r\n") && wanted.contains('\n') {
            // Not exactly: it could begin in the middle of a line's end.
            true => find_over_line_ends(text, &wanted.replace("\r\n", "\n")),
            false => text
                .match_indices(wanted)
                .map(|(at, s)| at..at + s.len())
                .collect(),
        };
        Self { text, found }
    }

    /// Whether each place lies in lines that stood in `earlier` too.
    fn stands_as_in(&self, earlier: &str) -> bool {
        let kept = kept_lines(earlier, self.text);
        let within =
            |at: &Range<usize>| kept.iter().any(|k| k.start <= at.start && at.end <= k.end);
        !self.found.is_empty() && self.found.iter().all(within)
    }

    /// That the string stands in one place, or in at least one and `all` are meant.
    fn is_the_one(
        &self,
        all: bool,
        shown: &str,
        wanted: &str,
        words: &Words,
    ) -> Result<(), String> {
        match self.found.len() {
            0 => Err(format!(
                "`{}` stands in {shown} 0 times, so nothing was written. {}",
                words.old,
                nearest(self.text, wanted, words.read)
            )),
            count if count > 1 && !all => {
                let all = words.all.map(|all| format!(", or set `{all}`"));
                Err(format!(
                    "`{}` stands in {shown} {count} times (lines {}), so nothing was written. Give more of the text around the one you mean{}.",
                    words.old,
                    self.first_lines(),
                    all.unwrap_or_default()
                ))
            }
            _ => Ok(()),
        }
    }

    fn account(&self, shown: &str) -> String {
        let count = self.found.len();
        let (places, line) = if count == 1 {
            ("place", "line")
        } else {
            ("places", "lines")
        };
        format!(
            "Changed {shown} in {count} {places} ({line} {}).",
            self.first_lines()
        )
    }

    fn first_lines(&self) -> String {
        listed(&self.lines().take(20).collect::<Vec<_>>())
    }

    /// 1-based.
    fn lines(&self) -> impl Iterator<Item = usize> {
        let before = |range: &Range<usize>| self.text.get(..range.start).unwrap_or_default();
        let ends = |text: &str| {
            let lone = text.matches('\r').count() - text.matches("\r\n").count();
            text.matches('\n').count() + lone
        };
        self.found.iter().map(move |range| ends(before(range)) + 1)
    }

    fn replaced(&self, new: &str) -> String {
        let mut out = String::with_capacity(self.text.len() + new.len());
        let ends = LineEnds::of(self.text);
        let mut at = 0;
        for range in &self.found {
            out.push_str(self.text.get(at..range.start).unwrap_or_default());
            let old = self.text.get(range.clone()).unwrap_or_default();
            out.push_str(&ends.given_to(old, new));
            at = range.end;
        }
        out.push_str(self.text.get(at..).unwrap_or_default());
        out
    }
}

/// Where `wanted` stands in `text` if each CR LF were a `\n`.
fn find_over_line_ends(text: &str, wanted: &str) -> Vec<Range<usize>> {
    let (plain, original) = without_cr(text);
    let found = plain.match_indices(wanted);
    found
        .map(|(at, matched)| original(at)..original(at + matched.len()))
        .collect()
}

/// `text` with a `\n` for each CR LF, and where a place of that stands in `text`.
pub(super) fn without_cr(text: &str) -> (String, impl Fn(usize) -> usize) {
    // Where the lines begin behind those ends.
    let behind = text.match_indices("\r\n").enumerate();
    let behind: Vec<usize> = behind.map(|(before, (at, _))| at - before + 1).collect();
    let original = move |at: usize| at + behind.partition_point(|begin| *begin <= at);
    (text.replace("\r\n", "\n"), original)
}

/// Which ends the lines of a file have.
#[derive(Clone, Copy)]
pub(super) struct LineEnds {
    pub are_mixed: bool,
    pub are_crlf: bool,
}

impl LineEnds {
    pub fn of(text: &str) -> Self {
        let crlf = text.matches("\r\n").count();
        let all = text.matches('\n').count();
        Self {
            are_mixed: crlf > 0 && crlf < all,
            are_crlf: crlf * 2 > all,
        }
    }

    /// `new` with CR LF where that is what the file has, or the lines of it that `new` takes the place of, unless it says
    /// so itself.
    fn given_to<'a>(self, old: &str, new: &'a str) -> Cow<'a, str> {
        if self.are_mixed && old.contains('\n') && !new.contains('\r') {
            return Cow::Owned(with_line_ends_line_by_line(old, new));
        }
        if self.are_crlf && new.contains('\n') {
            return Cow::Owned(new.replace("\r\n", "\n").replace('\n', "\r\n"));
        }
        Cow::Borrowed(new)
    }
}

/// A line that stays keeps its end; one that is changed has that of the line in its place.
pub(super) fn with_line_ends_line_by_line(old: &str, new: &str) -> String {
    let split = |line| {
        let body = str::trim_end_matches(line, ['\r', '\n']);
        line.split_at(body.len())
    };
    let olds: Vec<(&str, &str)> = old.split_inclusive('\n').map(split).collect();
    let news: Vec<(&str, &str)> = new.split_inclusive('\n').map(split).collect();
    let same = |((a, _), (b, _)): &(&(&str, &str), &(&str, &str))| a == b;
    let first = olds.iter().zip(&news).take_while(same).count();
    let most = olds.len().min(news.len()) - first;
    let last = olds.iter().rev().zip(news.iter().rev());
    let last = last.take_while(same).take(most).count();
    // Behind the last that is replaced, others of its kind are put.
    let replaced = (olds.len() - last).max(1) - 1;
    let mut out = String::with_capacity(new.len() + news.len());
    for (at, (body, end)) in news.iter().enumerate() {
        out.push_str(body);
        let before = match news.len() - at {
            left if left <= last => olds.len() - left,
            _ => at.min(replaced),
        };
        let ends = olds.iter().take(before + 1).rev().chain(&olds);
        let own = ends.map(|(_, end)| *end).find(|end| !end.is_empty());
        if !end.is_empty() {
            out.push_str(own.unwrap_or(end));
        }
    }
    out
}

/// The lines that are most like the first line of what was not found, for the model to look at. `read` is the tool that
/// reads the file.
pub(super) fn nearest(text: &str, wanted: &str, read: &str) -> String {
    let Some(first) = wanted.lines().map(str::trim).find(|l| !l.is_empty()) else {
        return String::from("It has only blanks: give a line with text.");
    };
    let words = |line: &str| -> Vec<String> {
        line.split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|w| w.len() > 1)
            .map(str::to_owned)
            .collect()
    };
    let asked = words(first);
    let mut scored: Vec<(usize, usize, &str)> = Vec::new();
    for (at, line) in split_lines(text).into_iter().enumerate() {
        let score = if line.trim() == first {
            usize::MAX
        } else if line.len() > 1000 {
            0
        } else {
            let here = words(line);
            asked.iter().filter(|w| here.contains(w)).count()
        };
        if score > 0 {
            scored.push((score, at + 1, line));
        }
    }
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.truncate(50);
    let wanted = head(first, 200);
    scored.sort_by_cached_key(|(score, at, line)| {
        let like = similar::TextDiff::from_chars(wanted, head(line.trim(), 200)).ratio();
        // In thousandths: a float has no order to sort by.
        (
            std::cmp::Reverse((*score == usize::MAX, (like * 1000.0) as u32)),
            *at,
        )
    });
    if scored.is_empty() {
        return format!("No line is like it: read the file with {read}.");
    }
    let shown: Vec<String> = scored
        .iter()
        .take(3)
        .map(|(_, at, line)| format!("{at:4} | {}", head(line, 200)))
        .collect();
    format!("The nearest lines are:\n{}", shown.join("\n"))
}
