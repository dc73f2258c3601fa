//! What was written of a file's threads the last time. A key touches one thread of hundreds, or none: the others, which
//! stand where they stood, are sent as they were written.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::lsp::to_proto::Diagnostics;
use crate::session::{Session, View};
use crate::threads::{Pieces, Thread};

/// Of one open file: the one in which somebody types.
#[derive(Default)]
pub(in crate::lsp) struct Last(Option<Known>);

struct Known {
    /// As JSON.
    uri: String,
    is_outside: bool,
    pieces: Arc<Pieces>,
    lines: usize,
    threads: Arc<Vec<Thread>>,
    /// Of each thread; `None` where a turn may change what is told while the text stays.
    written: Vec<Option<Arc<RawValue>>>,
}

impl Last {
    /// Adds what is told of each thread, in order: what was written the last time if that is still so, else what `write`
    /// adds.
    pub fn again(
        &mut self,
        session: &Session,
        view: &View,
        all: &mut Diagnostics,
        mut write: impl FnMut(&mut Diagnostics, &Thread),
    ) {
        let read = view
            .buffer
            .as_ref()
            .and_then(|buffer| Some((buffer.pieces.clone()?, buffer.document.lines())));
        let Some((pieces, lines)) = read else {
            view.threads.iter().for_each(|thread| write(all, thread));
            return;
        };
        let is_outside = session.workspace_of(&view.path).is_none();
        let turns = session.threads_with_turns(&view.path);
        let known = self
            .0
            .take()
            .filter(|known| known.uri == all.uri() && known.is_outside == is_outside);
        let (begin, end) = known.as_ref().map_or((0, 0), |known| {
            pieces.alike(&known.pieces, known.lines == lines)
        });
        let count = view.threads.len();
        let mut written = Vec::with_capacity(count);
        for (at, thread) in view.threads.iter().enumerate() {
            let before = known.as_ref().and_then(|known| {
                let before = match at {
                    _ if at < begin => at,
                    _ if at + end >= count => known.threads.len() + at - count,
                    _ => return None,
                };
                let is_same = known.threads.get(before)?.id == thread.id;
                known.written.get(before)?.clone().filter(|_| is_same)
            });
            match before.filter(|_| !turns.contains(&thread.id)) {
                Some(before) => {
                    all.push_again(before.clone());
                    written.push(Some(before));
                }
                None => {
                    write(all, thread);
                    // Asked again, for a turn may have begun before it was written.
                    let is_plain = !turns.contains(&thread.id)
                        && session.turn_of(&view.path, thread).is_none();
                    written.push(all.last().filter(|_| is_plain).cloned());
                }
            }
        }
        self.0 = Some(Known {
            uri: all.uri().to_owned(),
            is_outside,
            pieces,
            lines,
            threads: view.threads.clone(),
            written,
        });
    }
}
