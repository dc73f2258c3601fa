//! Git notes under `refs/notes/postil`: closed conversations that travel with a repository.

use std::ffi::OsStr;
use std::time::{Duration, Instant};

use super::commit::{GitError, Place};
use super::program::{git_until, quiet_settings};

const REF: &str = "--ref=refs/notes/postil";
/// Notes that are read, and bytes of all of them.
const MOST: usize = 2_000;
const MOST_BYTES: usize = 8 << 20;
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// Adds a paragraph to the note of a commit.
pub fn add_note(place: &Place, commit: &str, text: &str) -> Result<(), GitError> {
    let quiet = quiet_settings(&place.top)?;
    let args = ["notes", REF, "append", "--file=-", commit].map(OsStr::new);
    let until = Instant::now() + PATIENCE;
    loop {
        let out = git_until(&place.top, &quiet, &args, text.as_bytes(), until)?;
        if out.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&out.stderr).trim().to_owned();
        // Another program writes notes: git reads the newest and tries no second time by itself.
        let may_pass = said.contains("File exists") || said.contains("but expected");
        if !may_pass || Instant::now() + PAUSE >= until {
            return Err(GitError::Refused(said));
        }
        std::thread::sleep(PAUSE);
    }
}

/// The notes of the repository, each with its commit: those of `first` before all others, up to a bound. Anybody may
/// have written them.
pub fn notes(
    place: &Place,
    first: &[&str],
    until: Instant,
) -> Result<Vec<(String, String)>, GitError> {
    let quiet = quiet_settings(&place.top)?;
    let args = ["notes", REF, "list"].map(OsStr::new);
    let out = git_until(&place.top, &quiet, &args, b"", until)?;
    let list = String::from_utf8_lossy(&out.stdout).into_owned();
    let mut all: Vec<(&str, &str)> = list
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    if all.is_empty() {
        return Ok(Vec::new());
    }
    all.sort_by_key(|(_, commit)| !first.contains(commit));
    all.truncate(MOST);
    let asked: String = all.iter().map(|(blob, _)| format!("{blob}\n")).collect();
    // Their sizes before their contents: a note may be as large as anything.
    let check = ["cat-file", "--batch-check=%(objectsize)"].map(OsStr::new);
    let sizes = git_until(&place.top, &quiet, &check, asked.as_bytes(), until)?;
    let sizes = String::from_utf8_lossy(&sizes.stdout).into_owned();
    let mut left = MOST_BYTES;
    let small: Vec<(&str, &str)> = all
        .iter()
        .zip(sizes.lines())
        .filter(|(_, size)| {
            let size = size.parse::<usize>().unwrap_or(usize::MAX);
            let fits = size <= left;
            if fits {
                left -= size;
            }
            fits
        })
        .map(|(note, _)| *note)
        .collect();
    let asked: String = small.iter().map(|(blob, _)| format!("{blob}\n")).collect();
    let batch = ["cat-file", "--batch=%(objectsize)"].map(OsStr::new);
    let out = git_until(&place.top, &quiet, &batch, asked.as_bytes(), until)?;
    let mut rest = out.stdout.as_slice();
    let mut notes = Vec::new();
    for (_, commit) in small {
        // A line with the size, the bytes, a line end.
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            break;
        };
        let (head, body) = rest.split_at(end + 1);
        let size = std::str::from_utf8(head).ok();
        let Some(size) = size.and_then(|size| size.trim().parse::<usize>().ok()) else {
            break;
        };
        let Some((note, more)) = body.split_at_checked(size) else {
            break;
        };
        notes.push((
            commit.to_owned(),
            String::from_utf8_lossy(note).into_owned(),
        ));
        rest = more.get(1..).unwrap_or_default();
    }
    Ok(notes)
}
