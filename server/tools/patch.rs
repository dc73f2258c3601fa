//! A unified diff as data: which files, which lines. Pure, and total on any text.

mod apply;
mod names;
mod read;
#[cfg(test)]
mod tests;

pub(super) use apply::{Applied, Unfit, Why, apply};
pub(super) use read::read;

/// What a patch does with one file. Names are relative to the root, as the patch has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FilePatch {
    pub kind: Kind,
    pub hunks: Vec<Hunk>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Change(String),
    Make(String),
    Remove(String),
    Rename { from: String, to: String },
    Copy { from: String, to: String },
}

impl Kind {
    /// The name in messages: that of the file which is there afterwards, or was there.
    pub fn name(&self) -> &str {
        match self {
            Self::Change(name) | Self::Make(name) | Self::Remove(name) => name,
            Self::Rename { to, .. } | Self::Copy { to, .. } => to,
        }
    }

    /// Every file that it touches or reads.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Change(name) | Self::Make(name) | Self::Remove(name) => vec![name],
            Self::Rename { from, to } | Self::Copy { from, to } => vec![from, to],
        }
    }
}

/// Lines that stand together, with what becomes of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hunk {
    /// 1-based line of the old file at which it begins; where it has no old line, the line after which
    /// its lines are put in (0: before the first).
    pub start: usize,
    pub lines: Vec<Line>,
}

impl Hunk {
    fn old(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.sign != Sign::Added)
    }

    pub fn count(&self, sign: Sign) -> usize {
        self.lines.iter().filter(|line| line.sign == sign).count()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Kept,
    Added,
    Removed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub sign: Sign,
    /// With its line end, unless the patch says that it has none.
    pub text: String,
}
