//! The texts of a turn's writes, each kept once: the first of a file whole, after it what each write put between the
//! begin and the end that it left as they were. A large file that is edited often would fill the disk otherwise.

use std::collections::HashMap;

use rusqlite::{Row, Rows};
use sha2::{Digest as _, Sha256};

use super::Change;

/// The columns that [`changes`] reads.
pub(super) const COLUMNS: &str = "num, file, before, after, mode, folders, follows, front_kept, back_kept, is_answer, undone, \
     moved_from";

/// What a write made of a text, as it is kept.
pub(super) struct Made<'a> {
    /// Bytes at the begin and at the end that stayed; `None`: [`Self::after`] is whole.
    pub kept: Option<(isize, isize)>,
    pub after: Option<&'a [u8]>,
    /// By which a later write finds that this one made the text that it begins with.
    pub hash: Option<[u8; 32]>,
    /// The same of the text that this write begins with.
    pub hash_before: Option<[u8; 32]>,
}

pub(super) fn made(change: &Change) -> Made<'_> {
    let hash = |text: Option<&[u8]>| text.map(|text| Sha256::digest(text).into());
    let (before, after) = (change.before.as_deref(), change.after.as_deref());
    let kept = before.zip(after).map(|(before, after)| ends(before, after));
    Made {
        kept: kept.map(|(front, back)| (front.cast_signed(), back.cast_signed())),
        after: match (kept, after) {
            (Some((front, back)), Some(after)) => after.get(front..after.len() - back),
            _ => after,
        },
        hash: hash(after),
        hash_before: hash(before),
    }
}

/// How many bytes two texts have in common at their begin, and how many at the end of the rest.
fn ends(before: &[u8], after: &[u8]) -> (usize, usize) {
    let same = |(a, b): &(&u8, &u8)| a == b;
    let front = before.iter().zip(after).take_while(same).count();
    let rest = before.len().min(after.len()) - front;
    let back = before.iter().rev().zip(after.iter().rev());
    (front, back.take(rest).take_while(same).count())
}

/// The changes of `rows` that are not undone. The rows have [`COLUMNS`] and come in the order in which they were made;
/// those that are undone are among them, for what follows one may stand still.
pub(super) fn changes(mut rows: Rows) -> rusqlite::Result<Vec<Change>> {
    let mut places: HashMap<i64, usize> = HashMap::new();
    let mut all: Vec<(Change, bool)> = Vec::new();
    while let Some(row) = rows.next()? {
        let follows: Option<i64> = row.get(6)?;
        let before = match follows {
            None => row.get(2)?,
            Some(num) => {
                let older = places.get(&num).and_then(|at| all.get(*at));
                let (older, _) = older.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
                older.after.clone()
            }
        };
        let after = after(row, before.as_deref())?;
        places.insert(row.get(0)?, all.len());
        let change = Change {
            file: row.get(1)?,
            before,
            after,
            mode: row.get(4)?,
            folders: row.get(5)?,
            moved_from: row.get(11)?,
            is_answer: row.get(9)?,
        };
        all.push((change, row.get(10)?));
    }
    let stands = |(change, undone): (Change, bool)| (!undone).then_some(change);
    Ok(all.into_iter().filter_map(stands).collect())
}

fn after(row: &Row, before: Option<&[u8]>) -> rusqlite::Result<Option<Vec<u8>>> {
    let between: Option<Vec<u8>> = row.get(3)?;
    let (Some(front), Some(back)) = (row.get::<_, Option<isize>>(7)?, row.get(8)?) else {
        return Ok(between);
    };
    let ends = before.and_then(|before| {
        let back = before.len().checked_sub(isize::cast_unsigned(back))?;
        Some((before.get(..front.cast_unsigned())?, before.get(back..)?))
    });
    let (begin, end) = ends.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    let between = between.unwrap_or_default();
    Ok(Some([begin, &between, end].concat()))
}
