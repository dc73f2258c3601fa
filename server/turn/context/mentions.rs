//! What the author points at: `@file`, `path:line`, `@symbol` of the same file.

use crate::threads::{Mention, Thread, mentions};
use crate::tools::Context;

use super::super::source::Source;
use super::{LINE, quoted};

/// Files that are put in.
const MOST: usize = 4;
/// Lines on both sides of one that is pointed at.
const AROUND: usize = 40;

/// The newest message's mentions first to be given room.
pub(super) fn mentioned(cx: &Context, source: &Source, thread: &Thread, room: usize) -> String {
    let mut text = String::new();
    let mut known = vec![(source.file.clone(), None)];
    let newest = thread.messages.iter().rev();
    for (_, mention) in newest.flat_map(|message| mentions(&source.text, message)) {
        let (name, place) = match mention {
            Mention::At(name, place) => (name, place),
            Mention::Place(name, place) => (name, Some(place)),
            Mention::Web(_) => continue,
        };
        let line = place.and_then(|(line, _)| usize::try_from(line).ok());
        let Some(found) = file(cx, source, &name) else {
            continue;
        };
        if known.contains(&(found.file.clone(), line)) || known.len() > MOST {
            continue;
        }
        let left = (room / 2).min(room.saturating_sub(text.len()));
        text.push_str(&excerpt(&found, line, left));
        known.push((found.file.clone(), line));
    }
    text
}

/// The file of a name: from the root, or from the folder of the file with the thread.
fn file(cx: &Context, source: &Source, name: &str) -> Option<Source> {
    let beside = source.path.parent().map(|folder| folder.join(name));
    let read = |path: &std::path::Path| Source::read(&cx.tree, path).ok();
    read(std::path::Path::new(name)).or_else(|| read(&beside?))
}

fn excerpt(found: &Source, line: Option<usize>, room: usize) -> String {
    let total = found.lines();
    let lines = match line {
        // A file that is pointed at as such: its beginning, as far as there is room.
        None => 0..total,
        Some(line) => {
            let at = line.saturating_sub(1).min(total);
            at.saturating_sub(AROUND)..(at + AROUND).min(total)
        }
    };
    let lines = match line {
        Some(_) => lines,
        None => {
            let mut used = 0;
            let fits = lines.clone().take_while(|line| {
                used += found.line(*line).len().min(LINE) + 8;
                used <= room
            });
            0..fits.count()
        }
    };
    let about = format!(
        "{} lines {} to {} of {total}",
        found.file,
        lines.start + 1,
        lines.end
    );
    quoted("mentioned file", &about, &found.numbered(lines, LINE), room)
}
