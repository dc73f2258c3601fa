//! `postil workflow thread`: as much of a run as fits into a budget of characters. Pure.
//!
//! Default mode shows the request and the newest rounds, paged mode what stands before a round; a
//! line tells how to load what is left out. Budgets count Unicode scalar values, the last line feed
//! included. Following the hints from the default output's newest rounds back to round 1 shows every
//! round exactly once (the request, which the default output repeats at its head, apart).

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::{Round, whole_seconds};
use crate::present::short;

/// How a round is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Text,
    /// One object a line and round; hints are left to the caller.
    JsonLines,
}

/// What is shown of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Ends in a line feed; empty where there is no round to show.
    pub text: String,
    /// The numbers of the rounds in it, ascending.
    pub shown: Vec<u64>,
    pub hint: Option<Hint>,
}

/// Rounds that were left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    pub omitted: u64,
    /// The `--before` that loads them.
    pub before: u64,
}

impl Page {
    fn empty() -> Self {
        Self {
            text: String::new(),
            shown: Vec::new(),
            hint: None,
        }
    }
}

impl std::fmt::Display for Hint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { omitted, before } = self;
        write!(
            f,
            "... {omitted} messages omitted (use --before {before} to load) ..."
        )
    }
}

/// Where rounds come from.
pub(super) trait Rounds {
    type Error;
    fn first(&self) -> Result<Option<Round>, Self::Error>;
    /// Newest first.
    fn back(&self, before: Option<u64>, limit: usize) -> Result<Vec<Round>, Self::Error>;
    /// How many numbers given to rounds lie between the two, both excluded.
    fn between(&self, after: u64, before: u64) -> Result<u64, Self::Error>;
}

/// Default mode: the first round and as many of the newest as fit.
pub(super) fn newest<S: Rounds>(
    source: &S,
    budget: usize,
    format: Format,
) -> Result<Page, S::Error> {
    let Some(first) = source.first()? else {
        return Ok(Page::empty());
    };
    let head = Piece::new(first, format);
    fill(source, Some(head), None, budget, format)
}

/// Paged mode: rounds before `before`, ending with the one just before it.
pub(super) fn before<S: Rounds>(
    source: &S,
    before: u64,
    budget: usize,
    format: Format,
) -> Result<Page, S::Error> {
    fill(source, None, Some(before), budget, format)
}

const BATCH: usize = 16;
/// Characters of a role in a header.
const MAX_ROLE: usize = 40;

fn fill<S: Rounds>(
    source: &S,
    head: Option<Piece>,
    before: Option<u64>,
    budget: usize,
    format: Format,
) -> Result<Page, S::Error> {
    let above = head.as_ref().map_or(0, |piece| piece.round.seq);
    // The tail, newest first, and how much of it is sure to fit with its hint.
    let mut tail: Vec<Piece> = Vec::new();
    let mut fits = 0;
    let mut size = head.as_ref().map_or(0, Piece::size);
    let mut pieces = usize::from(head.is_some());
    let mut from = before;
    'collect: loop {
        let batch = source.back(from, BATCH)?;
        let last_batch = batch.len() < BATCH;
        for round in batch {
            if round.seq <= above {
                break 'collect;
            }
            from = Some(round.seq);
            let piece = Piece::new(round, format);
            size += piece.size();
            pieces += 1;
            // More rounds only make it longer; only the hint's going can make it shorter again, and
            // it is left out of this sum.
            let least = format.joined(size, pieces);
            let seq = piece.round.seq;
            tail.push(piece);
            if least > budget {
                break 'collect;
            }
            let hint = hint_of(source, above, seq)?;
            if with_hint(least, hint, format) <= budget {
                fits = tail.len();
            }
        }
        if last_batch {
            break;
        }
    }
    let enough = fits > 0 || (tail.is_empty() && format.joined(size, pieces) <= budget);
    tail.truncate(fits.max(1));
    let hint = match tail.last() {
        Some(oldest) => hint_of(source, above, oldest.round.seq)?,
        None => None,
    };
    let has_head = head.is_some();
    let mut shown: Vec<Piece> = head.into_iter().chain(tail.into_iter().rev()).collect();
    if shown.is_empty() {
        return Ok(Page::empty());
    }
    if !enough {
        cut(&mut shown, hint, budget, format);
    }
    Ok(Page {
        text: write(&shown, hint, has_head, format),
        shown: shown.iter().map(|piece| piece.round.seq).collect(),
        hint,
    })
}

fn hint_of<S: Rounds>(source: &S, above: u64, oldest: u64) -> Result<Option<Hint>, S::Error> {
    if oldest <= above + 1 {
        return Ok(None);
    }
    let omitted = source.between(above, oldest)?;
    Ok((omitted > 0).then_some(Hint {
        omitted,
        before: oldest,
    }))
}

fn with_hint(size: usize, hint: Option<Hint>, format: Format) -> usize {
    match (hint, format) {
        (Some(hint), Format::Text) => size + SEPARATOR.len() + hint.to_string().len(),
        _ => size,
    }
}

const SEPARATOR: &str = "\n\n";

impl Format {
    /// Characters of `pieces` pieces of together `size` characters.
    fn joined(self, size: usize, pieces: usize) -> usize {
        match self {
            Self::Text => size + SEPARATOR.len() * pieces.saturating_sub(1) + 1,
            Self::JsonLines => size + pieces,
        }
    }
}

fn write(pieces: &[Piece], hint: Option<Hint>, has_head: bool, format: Format) -> String {
    let mut parts: Vec<String> = pieces.iter().map(Piece::text).collect();
    match format {
        Format::Text => {
            if let Some(hint) = hint {
                parts.insert(usize::from(has_head).min(parts.len()), hint.to_string());
            }
            parts.join(SEPARATOR) + "\n"
        }
        Format::JsonLines => parts.join("\n") + "\n",
    }
}

/// Shortens the one or two pieces that are shown whatever the budget: the longer one first, so that
/// a short one stays whole. Metadata that leaves no room even so is left out and counted as cut.
fn cut(pieces: &mut [Piece], hint: Option<Hint>, budget: usize, format: Format) {
    let total = |pieces: &[Piece]| {
        let size = pieces.iter().map(Piece::size).sum();
        with_hint(format.joined(size, pieces.len()), hint, format)
    };
    let least = |pieces: &[Piece]| {
        let size = pieces.iter().map(Piece::least).sum();
        with_hint(format.joined(size, pieces.len()), hint, format)
    };
    while least(pieces) > budget {
        let heaviest = pieces
            .iter_mut()
            .filter(|piece| piece.keeps_metadata())
            .max_by_key(|piece| piece.least());
        match heaviest {
            Some(piece) => piece.drop_metadata(),
            None => break,
        }
    }
    // A common cap on the pieces' sizes: the greatest that fits, found by halving.
    let (mut low, mut high) = (0, budget);
    while low < high {
        let cap = low + (high - low).div_ceil(2);
        for piece in pieces.iter_mut() {
            piece.shrink_to(cap);
        }
        if total(pieces) <= budget {
            low = cap;
        } else {
            high = cap - 1;
        }
    }
    for piece in pieces.iter_mut() {
        piece.shrink_to(low);
    }
    // What the shorter of two left over goes to the longer.
    let spare = budget.saturating_sub(total(pieces));
    if spare > 0 {
        for index in 0..pieces.len() {
            let Some(piece) = pieces.get_mut(index) else {
                continue;
            };
            let kept = piece.room;
            piece.shrink_to(piece.size() + spare);
            if total(pieces) <= budget {
                continue;
            }
            if let Some(piece) = pieces.get_mut(index) {
                piece.room = kept;
            }
        }
    }
}

/// A round as it is written.
struct Piece {
    round: Round,
    format: Format,
    front: String,
    metadata: bool,
    /// Most characters of the content, the mark of the cut included; `None`: all of it.
    room: Option<usize>,
    content_size: usize,
    /// Written size with all of the content.
    whole: usize,
}

impl Piece {
    fn new(round: Round, format: Format) -> Self {
        let mut piece = Self {
            content_size: count(&round.content),
            front: match format {
                Format::Text => front_matter(&round.metadata),
                Format::JsonLines => String::new(),
            },
            round,
            format,
            metadata: true,
            room: None,
            whole: 0,
        };
        piece.whole = count(&piece.text());
        piece
    }

    fn size(&self) -> usize {
        match self.room {
            None => self.whole,
            Some(_) => count(&self.text()),
        }
    }

    /// The size with nothing but the mark for a content.
    fn least(&self) -> usize {
        if self.is_short() {
            return self.whole;
        }
        count(&self.with_content(&cut_middle(&self.round.content, self.content_size, 0)))
    }

    /// No longer than the mark that would stand for it: never cut.
    fn is_short(&self) -> bool {
        self.content_size <= count(&mark(self.content_size))
    }

    fn keeps_metadata(&self) -> bool {
        self.metadata && !(self.front.is_empty() && self.round.metadata.is_empty())
    }

    fn drop_metadata(&mut self) {
        self.metadata = false;
        self.whole = count(&self.text());
    }

    /// The most content with which the piece is no longer than `cap`; its mark alone where nothing fits.
    fn shrink_to(&mut self, cap: usize) {
        self.room = None;
        if self.whole <= cap || self.is_short() {
            return;
        }
        let (mut low, mut high) = (0, self.content_size.saturating_sub(1));
        while low < high {
            let room = low + (high - low).div_ceil(2);
            self.room = Some(room);
            if self.size() <= cap {
                low = room;
            } else {
                high = room - 1;
            }
        }
        self.room = Some(low);
    }

    fn text(&self) -> String {
        match self.room {
            Some(room) => {
                self.with_content(&cut_middle(&self.round.content, self.content_size, room))
            }
            None => self.with_content(&self.round.content),
        }
    }

    fn with_content(&self, content: &str) -> String {
        match self.format {
            Format::Text => self.as_text(content),
            Format::JsonLines => self.as_json(content),
        }
    }

    fn as_text(&self, content: &str) -> String {
        let Round {
            seq, role, time, ..
        } = &self.round;
        let role = short(role.as_deref().unwrap_or("unknown"), MAX_ROLE);
        let mut out = format!("[#{seq} {role}] {}", whole_seconds(*time));
        if self.front.is_empty() {
        } else if self.metadata {
            out.push_str("\n---\n");
            out.push_str(&self.front);
            out.push_str("---");
        } else {
            out.push('\n');
            out.push_str(&mark(count(&self.front)));
        }
        if !content.is_empty() {
            out.push('\n');
            out.push_str(&without_headers(content));
        }
        out
    }

    fn as_json(&self, content: &str) -> String {
        let Round {
            seq,
            role,
            time,
            metadata,
            ..
        } = &self.round;
        let metadata = self.metadata.then(|| metadata.clone());
        json!({
            "round": seq,
            "role": role.as_deref().unwrap_or("unknown"),
            "time": whole_seconds(*time),
            "metadata": metadata.unwrap_or_default(),
            "content": content,
        })
        .to_string()
    }
}

/// `content` with a backslash before each `[#` and a digit that begins a line: in it are other people's words, which could
/// read as rounds of the author's and the agent's.
pub fn without_headers(content: &str) -> Cow<'_, str> {
    let is_header = |at: usize| {
        let (before, rest) = content.split_at(at);
        let digit = rest.as_bytes().get(2).is_some_and(u8::is_ascii_digit);
        digit && (before.is_empty() || before.ends_with(['\n', '\r']))
    };
    let mut headers = content
        .match_indices("[#")
        .map(|(at, _)| at)
        .filter(|at| is_header(*at))
        .peekable();
    if headers.peek().is_none() {
        return Cow::Borrowed(content);
    }
    let (mut out, mut done) = (String::with_capacity(content.len() + 8), 0);
    for at in headers {
        out.push_str(&content[done..at]);
        out.push('\\');
        done = at;
    }
    out.push_str(&content[done..]);
    Cow::Owned(out)
}

/// The metadata as YAML, without what the header and the content say; empty where there is none.
pub(super) fn front_matter(metadata: &Map<String, Value>) -> String {
    let fields: Map<String, Value> = metadata
        .iter()
        .filter(|(name, _)| !matches!(name.as_str(), "type" | "role" | "content"))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if fields.is_empty() {
        return String::new();
    }
    let fields = Value::Object(fields);
    match serde_norway::to_string(&fields) {
        Ok(yaml) if reads_back(&yaml, &fields) => yaml,
        // Where the emitter's plain style would be read otherwise, JSON, which is YAML too.
        _ => format!("{fields}\n"),
    }
}

fn reads_back(yaml: &str, fields: &Value) -> bool {
    // A line of dashes would end the front matter early.
    let ends_early = yaml.lines().any(|line| line.trim_end() == "---");
    // The emitter takes U+2028 for a line end as well, and the line of dashes must begin its own.
    let whole = yaml.ends_with('\n') && !ends_early;
    whole && serde_norway::from_str::<Value>(yaml).is_ok_and(|value| value == *fields)
}

fn mark(cut: usize) -> String {
    format!("… {cut} characters cut …")
}

/// `content`, of `size` characters, in at most `room`: its head, what was cut, its tail.
fn cut_middle(content: &str, size: usize, room: usize) -> String {
    if size <= room {
        return content.to_owned();
    }
    // The mark is longest when everything is cut; a digit to spare is spent on it.
    let kept = room.saturating_sub(count(&mark(size)));
    let tail = kept / 2;
    let head = kept - tail;
    let at = |n: usize| {
        content
            .char_indices()
            .nth(n)
            .map_or(content.len(), |(at, _)| at)
    };
    let (head, tail) = (at(head), at(size - tail));
    format!(
        "{}{}{}",
        &content[..head],
        mark(size - kept),
        &content[tail..]
    )
}

fn count(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests;
