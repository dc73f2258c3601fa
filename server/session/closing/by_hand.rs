//! Threads that come and go by hand. Those that begin alike are numbered, and go by other ids then; so does one whose
//! first words are mended while its turn runs. What is kept of them goes along, and the run of one that is gone is closed
//! before another has its id.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use super::{Closing, changed};
use crate::edits::line_edits;
use crate::files::Buffer;
use crate::session::{Session, Workspace};
use crate::store::StoreError;
use crate::text::Document;
use crate::threads::{self, Thread, words};

/// An open document as it was when its threads were looked for last.
pub(in crate::session) struct Shown {
    /// [`Buffer::generation`]
    pub generation: u64,
    pub document: Document,
    pub threads: Arc<Vec<Thread>>,
}

impl Session {
    /// The threads that were found in an open document; nobody sees them before what is kept goes by their ids.
    /// `relative`: the path that these ids are of.
    pub(in crate::session) fn look_on(
        &self,
        path: &Path,
        relative: &str,
        buffer: &Buffer,
        found: Arc<Vec<Thread>>,
    ) -> Arc<Vec<Thread>> {
        let Buffer {
            generation,
            document,
            ..
        } = buffer;
        let _one = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.views.get(path).map(|known| {
            let Shown {
                document, threads, ..
            } = &*known;
            (known.generation, document.clone(), threads.clone())
        });
        match known {
            Some((known, _, threads)) if known == *generation => return threads,
            _ if self.buffers.generation(path) != Some(*generation)
                || self.relative(path) != relative =>
            {
                return found;
            }
            Some((known, before, threads)) if known < *generation => {
                self.carry_along(path, (&before, &threads), (document, &found));
            }
            _ => {}
        }
        let shown = Shown {
            generation: *generation,
            document: document.clone(),
            threads: found.clone(),
        };
        self.views.insert(path.to_owned(), shown);
        found
    }

    fn carry_along(
        &self,
        path: &Path,
        (before, were): (&Document, &Arc<Vec<Thread>>),
        (after, now): (&Document, &[Thread]),
    ) {
        let mut pairs = were.iter().zip(now);
        let is_same = were.len() == now.len() && pairs.all(|(were, now)| were.id == now.id);
        // What is removed by a verb, it sees to itself.
        if is_same || self.closings.is_in(path) {
            return;
        }
        let Some(workspace) = self.workspace_of(path) else {
            return;
        };
        let renamed = threads::renamed((were, before), (now, after));
        let (mut gone, mut other) = (Vec::new(), Vec::new());
        for (old, new) in renamed {
            match new {
                Some(new) if new != old => other.push((old, new)),
                Some(_) => {}
                None => gone.push(old),
            }
        }
        let file = self.relative(path);
        let mended = self.turns.mended(workspace.root(), &file, now);
        gone.retain(|id| !mended.iter().any(|(old, _)| old == id));
        // The last that began so may come back, and has its id to itself.
        gone.retain(|id| now.iter().any(|thread| words(&thread.id) == words(id)));
        other.extend(mended);
        if gone.is_empty() && other.is_empty() {
            return;
        }
        let closing = |ids| Closing {
            store: workspace.store(),
            path: path.to_owned(),
            file: file.clone(),
            threads: were.clone(),
            after: after.text().to_string(),
            edits: line_edits(before.text(), after.text()),
            ids,
            commit: None,
            share: false,
        };
        if let Err(error) = keep(&workspace, &file, gone, &other, closing) {
            tracing::warn!(%error, "what was kept of the threads of {file} goes by their old ids");
        }
        self.turns.renumbered(workspace.root(), &other);
    }
}

fn keep(
    workspace: &Workspace,
    file: &str,
    mut gone: Vec<String>,
    other: &[(String, String)],
    closing: impl Fn(Vec<String>) -> Closing,
) -> Result<(), StoreError> {
    if !workspace.has_store() {
        return Ok(());
    }
    // Why it is off is told elsewhere.
    let Ok(store) = workspace.store() else {
        return Ok(());
    };
    let open = store.open_threads(file)?;
    gone.retain(|id| open.contains(id));
    let is_kept = |(old, new): &(String, String)| open.contains(old) || open.contains(new);
    if gone.is_empty() && !other.iter().any(is_kept) {
        return Ok(());
    }
    let mut closed = match gone.is_empty() {
        true => Vec::new(),
        false => closing(gone).said(None),
    };
    for closed in &mut closed {
        closed.ties.extend(changed(&store, &closed.thread_id));
    }
    store.close_threads(&closed, other)
}
