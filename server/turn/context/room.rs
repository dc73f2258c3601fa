//! Room for what a model is told first: each part has its share, and together they never have more than
//! there is. Counted in bytes: three are about a token of code, and one character of other scripts.

use crate::present::visible;

use super::super::memory::quote;

/// Bytes of the first message at most, for a model with room for it: about 30,000 tokens.
pub(in crate::turn) const BUDGET: usize = 90_000;

/// The same for a model with a window of so many tokens: a quarter of it.
pub(in crate::turn) fn budget(window: u64) -> usize {
    let quarter = usize::try_from(window / 4).unwrap_or(usize::MAX);
    quarter.saturating_mul(BYTES_A_TOKEN).clamp(3_000, BUDGET)
}

/// About so many bytes are a token.
const BYTES_A_TOKEN: usize = 3;

/// One part of what is told.
#[derive(Clone, Debug)]
pub(in crate::turn) struct Part {
    pub name: &'static str,
    pub text: String,
}

impl Part {
    /// About so many.
    pub fn tokens(&self) -> usize {
        self.text.len().div_ceil(BYTES_A_TOKEN)
    }
}

pub(super) struct Room {
    left: usize,
}

impl Room {
    pub fn new(budget: usize) -> Self {
        Self { left: budget }
    }

    pub fn left(&self) -> usize {
        self.left
    }

    /// A part of `most` bytes. What `make` makes larger than it was told is left out: half a quotation would
    /// not be one.
    pub fn put(
        &mut self,
        name: &'static str,
        most: usize,
        make: impl FnOnce(usize) -> String,
    ) -> Part {
        let room = most.min(self.left);
        let text = Some(make(room)).filter(|text| text.len() <= self.left);
        let text = text.unwrap_or_default();
        self.left -= text.len();
        Part { name, text }
    }
}

/// `text` as data, in all of at most `room` bytes; empty where that is too little to tell anything.
pub(super) fn quoted(kind: &str, about: &str, text: &str, room: usize) -> String {
    let about = clip(about, 200);
    let Some(most) = room.checked_sub(kind.len() + about.len() + 64) else {
        return String::new();
    };
    if most < 40 {
        return String::new();
    }
    // A hidden character is longer when it is shown.
    let begin = clip(text, most);
    quote(kind, &about, &clip(&visible(&begin), most))
}

/// At most `most` bytes, with an ellipsis where it was cut; no character is split.
pub(in crate::turn) fn clip(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most.saturating_sub('…'.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let kept = text.get(..end).unwrap_or_default();
    if most < '…'.len_utf8() {
        return String::new();
    }
    format!("{kept}…")
}
