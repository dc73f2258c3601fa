//! `why`: what was said where a line comes from.

use std::ffi::OsStr;

use super::out::{BOLD, CYAN, DIM};
use super::threads::file_and_line;
use super::{Cx, Outcome};
use crate::present::{one_line, short};

/// Characters of a message that are shown.
const LONGEST: usize = 4_000;

pub(super) fn why(cx: &Cx, place: &OsStr) -> Outcome {
    let (file, line) = file_and_line(place)?;
    let path = cx.path(&file)?;
    let why = cx.session()?.why(&path, line)?;
    if cx.out.json {
        cx.out.data(&why.json());
        return Ok(true);
    }
    cx.out.line(format!(
        "{CYAN}{}:{}{CYAN:#}  {}",
        one_line(&why.file),
        why.line,
        short(why.text.trim(), 200)
    ));
    for shaped in &why.shaped {
        let id: String = shaped.commit.chars().take(10).collect();
        cx.out.line(format!(
            "    {DIM}{id}  {}  {}{DIM:#}",
            short(&shaped.author, 60),
            short(&shaped.summary, 100)
        ));
    }
    for told in &why.conversations {
        cx.out.line(format!("\n{BOLD}{}{BOLD:#}", told.heading()));
        for line in told.text(LONGEST).lines() {
            cx.out.line(format!("    {line}"));
        }
    }
    if let Some(nothing) = why.nothing() {
        cx.out.note(nothing);
    }
    why.more().iter().for_each(|note| cx.out.warn(note));
    Ok(true)
}
