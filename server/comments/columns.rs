//! COBOL's fixed format: columns one to six hold a line's number, the seventh says what it is, code begins in the eighth.

use super::{Leader, Syntax};

impl Syntax {
    /// Whether what stands in which column counts: a comment begins in the seventh, or behind it.
    pub(super) fn is_in_columns(&self, text: &str) -> bool {
        self.row().name == "cobol" && is_fixed(text)
    }

    /// How the language's own comment is written on a line of its own.
    pub(super) fn own_leader(&self, text: &str) -> Leader {
        if self.is_in_columns(text) {
            return Leader {
                open: "      *>",
                close: "",
            };
        }
        self.row().reply
    }
}

fn is_fixed(text: &str) -> bool {
    let mut has_code = false;
    for line in text.split(['\n', '\r']) {
        let line = line.trim_start_matches('\u{feff}').trim_end();
        // A tab goes to where code begins. Comments say nothing here.
        if line.is_empty() || line.starts_with('\t') || line.trim_start().starts_with("*>") {
            continue;
        }
        let bytes = line.as_bytes();
        let (number, rest) = bytes.split_at(bytes.len().min(6));
        let is_number = number.iter().all(u8::is_ascii_digit) || number.iter().all(|b| *b == b' ');
        let indicator = rest.first().copied().unwrap_or(b' ');
        if !is_number || !b" *-/$Dd".contains(&indicator) || line.trim_start().starts_with(">>") {
            return false;
        }
        has_code |= rest.len() > 1 && indicator == b' ';
    }
    has_code
}
