//! Images that tools show to the model, beside the text that a tool answers.

use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Bytes of one image; what is larger is refused by some endpoints.
const LARGEST: usize = 3_750_000;
/// Images of one answer's calls.
const MOST: usize = 8;

/// An image with the name that its tool gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub name: String,
    pub media_type: &'static str,
    /// Base64.
    pub data: String,
}

/// What the calls of one answer have to show.
#[derive(Default)]
pub struct Images(Mutex<Vec<Image>>);

impl Images {
    /// # Errors
    /// Why it is not shown: a half-sentence.
    pub(super) fn show(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let Some(media_type) = media_type(bytes) else {
            return Err(String::from("it is not shown"));
        };
        if bytes.len() > LARGEST {
            return Err(format!(
                "it is larger than {LARGEST} bytes, so it is not shown"
            ));
        }
        let mut images = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if images.len() >= MOST {
            return Err(format!(
                "{MOST} images are shown at once, so this one is not; read it again"
            ));
        }
        images.push(Image {
            name: name.to_owned(),
            media_type,
            data: STANDARD.encode(bytes),
        });
        Ok(())
    }

    /// What was shown since the last call, by name.
    pub fn take(&self) -> Vec<Image> {
        let mut images = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = std::mem::take(&mut *images);
        taken.sort_by(|a, b| a.name.cmp(&b.name));
        taken
    }
}

/// Of the kinds that models take.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}
