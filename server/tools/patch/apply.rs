//! Hunks on a text: each where its old lines stand, all places found before anything is replaced.

use std::ops::Range;

use super::{Hunk, Sign};

/// A text with the hunks in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    pub text: String,
    /// The bytes of the old text that each hunk is about, in the order of the hunks.
    pub places: Vec<Range<usize>>,
    /// Hunks (1-based) that stood elsewhere than the patch said: the 1-based line where they were.
    pub moved: Vec<(usize, usize)>,
}

/// Why a hunk (1-based) has no place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unfit {
    pub hunk: usize,
    pub why: Why,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// `wanted` does not stand at this 1-based line, where the patch has it; `found` does, if the text is so long.
    Other {
        line: usize,
        wanted: String,
        found: Option<String>,
    },
    /// Its old lines stand at these 1-based lines, and not where the patch has them.
    Several(Vec<usize>),
    /// It begins behind the end.
    Past { lines: usize },
    /// It is about lines that the hunk with this number is about too.
    Overlaps(usize),
}

/// Line ends are compared too, unless that finds no place: a patch is often written without the CR or the
/// missing end that the file has. Then the lines that are put in end as the file's lines do.
///
/// A byte-order mark stays before the first line, and no patch has to name it.
pub(crate) fn apply(text: &str, hunks: &[Hunk]) -> Result<Applied, Unfit> {
    let Some(marked) = text.strip_prefix(MARK) else {
        return apply_to(text, hunks);
    };
    let mut applied = match apply_to(marked, hunks) {
        Ok(applied) => applied,
        // It may name it, as git does.
        Err(unfit) => return apply_to(text, hunks).map_err(|_| unfit),
    };
    if !applied.text.is_empty() {
        applied.text.insert_str(0, MARK);
    }
    for place in &mut applied.places {
        *place = place.start + MARK.len()..place.end + MARK.len();
    }
    Ok(applied)
}

const MARK: &str = "\u{feff}";

fn apply_to(text: &str, hunks: &[Hunk]) -> Result<Applied, Unfit> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let crlf = is_crlf(text);
    let silent = crlf && !hunks.iter().any(|hunk| hunk.old().next().is_some());
    match place(&lines, hunks, false) {
        Ok(places) if !(silent && lacks_cr(hunks)) => Ok(compose(&lines, hunks, &places, None)),
        _ => {
            let places = place(&lines, hunks, true)?;
            let end = if crlf { "\r\n" } else { "\n" };
            Ok(compose(&lines, hunks, &places, Some(end)))
        }
    }
}

fn is_crlf(text: &str) -> bool {
    let crlf = text.matches("\r\n").count();
    crlf > 0 && crlf * 2 > text.matches('\n').count()
}

fn lacks_cr(hunks: &[Hunk]) -> bool {
    let mut lines = hunks.iter().flat_map(|hunk| &hunk.lines);
    lines.all(|line| !line.text.contains('\r'))
}

fn bare(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

fn same(a: &str, b: &str, loosely: bool) -> bool {
    if loosely { bare(a) == bare(b) } else { a == b }
}

/// The lines of the text, 0-based, that each hunk is about.
fn place(lines: &[&str], hunks: &[Hunk], loosely: bool) -> Result<Vec<Range<usize>>, Unfit> {
    let mut places: Vec<Range<usize>> = Vec::new();
    for (index, hunk) in hunks.iter().enumerate() {
        let unfit = |why| Unfit {
            hunk: index + 1,
            why,
        };
        let range = place_one(lines, hunk, loosely).map_err(unfit)?;
        let clash = |other: &Range<usize>| {
            other.start < range.end && range.start < other.end
                || (range.is_empty() && other.is_empty() && range.start == other.start)
                || (range.is_empty() && other.start < range.start && range.start < other.end)
                || (other.is_empty() && range.start < other.start && other.start < range.end)
        };
        if let Some(other) = places.iter().position(clash) {
            return Err(unfit(Why::Overlaps(other + 1)));
        }
        places.push(range);
    }
    Ok(places)
}

fn place_one(lines: &[&str], hunk: &Hunk, loosely: bool) -> Result<Range<usize>, Why> {
    let old: Vec<&str> = hunk.old().map(|line| line.text.as_str()).collect();
    if old.is_empty() {
        // Nothing tells whether the place is right but the number.
        return if hunk.start <= lines.len() {
            Ok(hunk.start..hunk.start)
        } else {
            Err(Why::Past { lines: lines.len() })
        };
    }
    let stands = |at: usize| {
        lines.get(at..at + old.len()).is_some_and(|here| {
            here.iter()
                .zip(&old)
                .all(|(line, wanted)| same(line, wanted, loosely))
        })
    };
    let said = hunk.start.saturating_sub(1);
    if stands(said) {
        return Ok(said..said + old.len());
    }
    let elsewhere: Vec<usize> = (0..lines.len()).filter(|at| stands(*at)).take(11).collect();
    match elsewhere.as_slice() {
        [at] => Ok(*at..*at + old.len()),
        [] => {
            let wrong = old.iter().enumerate().find(|(index, wanted)| {
                !lines
                    .get(said + index)
                    .is_some_and(|line| same(line, wanted, loosely))
            });
            let (index, wanted) = wrong.unwrap_or((0, &""));
            let found = lines.get(said + index).map(|line| bare(line).to_owned());
            Err(Why::Other {
                line: said + index + 1,
                wanted: bare(wanted).to_owned(),
                found,
            })
        }
        several => Err(Why::Several(several.iter().map(|at| at + 1).collect())),
    }
}

/// `end` is that of lines that are put in; `None`: as the patch has it.
fn compose(lines: &[&str], hunks: &[Hunk], places: &[Range<usize>], end: Option<&str>) -> Applied {
    let mut text = String::with_capacity(lines.iter().map(|line| line.len()).sum());
    let mut order: Vec<(&Range<usize>, &Hunk)> = places.iter().zip(hunks).collect();
    order.sort_by_key(|(place, _)| (place.start, place.end));
    let mut at = 0;
    let mut push = |line: &str| {
        // The last line of the old text had no end, and is not the last any more.
        if !text.is_empty() && !text.ends_with('\n') {
            text.push_str(end.unwrap_or("\n"));
        }
        text.push_str(line);
    };
    for (place, hunk) in order {
        for line in lines.get(at..place.start).unwrap_or_default() {
            push(line);
        }
        at = place.start;
        for line in &hunk.lines {
            match line.sign {
                Sign::Removed => at += 1,
                // The text's own line stays, with the end that it has.
                Sign::Kept => {
                    push(lines.get(at).copied().unwrap_or_default());
                    at += 1;
                }
                Sign::Added => match end {
                    Some(end) if line.text.ends_with('\n') => {
                        push(&format!("{}{end}", bare(&line.text)));
                    }
                    _ => push(&line.text),
                },
            }
        }
    }
    for line in lines.get(at..).unwrap_or_default() {
        push(line);
    }
    let mut starts = vec![0];
    for line in lines {
        starts.push(starts.last().copied().unwrap_or_default() + line.len());
    }
    let byte = |line: usize| starts.get(line).copied().unwrap_or_default();
    let moved = hunks.iter().zip(places).enumerate();
    let moved = moved
        .filter(|(_, (hunk, place))| !place.is_empty() && place.start + 1 != hunk.start.max(1))
        .map(|(index, (_, place))| (index + 1, place.start + 1));
    Applied {
        moved: moved.collect(),
        places: places
            .iter()
            .map(|place| byte(place.start)..byte(place.end))
            .collect(),
        text,
    }
}
