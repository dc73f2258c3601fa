//! Turns whose threads go by other ids: those before them were taken out, they were mended, or their file has another name.

use std::path::Path;

use super::Turns;
use crate::threads::{self, Thread};

impl Turns {
    /// Threads were taken out of a file: their turns end, and those of others go by the ids that these have now
    /// (from, to). Whether there were any.
    pub(in crate::session) fn closed(
        &self,
        root: &Path,
        gone: &[String],
        renumbered: &[(String, String)],
    ) -> bool {
        let mut any = false;
        for id in gone {
            let whose = (root.to_owned(), id.to_owned());
            let Some((_, run)) = self.by_thread.remove(&whose) else {
                continue;
            };
            any = true;
            let entry = self.runs.get(&run);
            if let Some(entry) = entry.filter(|entry| entry.state.running) {
                entry.cancel.cancel();
            }
        }
        self.renumbered(root, renumbered) || any
    }

    /// Threads go by other ids (from, to). Whether one of them has a turn.
    pub(in crate::session) fn renumbered(
        &self,
        root: &Path,
        renumbered: &[(String, String)],
    ) -> bool {
        let whose = |id: &str| (root.to_owned(), id.to_owned());
        // Two may have changed their ids with each other.
        let moved: Vec<(String, &String)> = renumbered
            .iter()
            .filter_map(|(old, new)| Some((self.by_thread.remove(&whose(old))?.1, new)))
            .collect();
        for (_, new) in renumbered {
            self.by_thread.remove(&whose(new));
        }
        for (run, new) in &moved {
            if let Some(mut entry) = self.runs.get_mut(run) {
                (*new).clone_into(&mut entry.state.thread_id);
            }
            self.by_thread.insert(whose(new), run.clone());
        }
        !moved.is_empty()
    }

    /// The running turns of a file whose threads are `now` under other first words, and so other ids (from, to).
    pub(in crate::session) fn mended(
        &self,
        root: &Path,
        file: &str,
        now: &[Thread],
    ) -> Vec<(String, String)> {
        let of_root = self.by_thread.iter().filter(|of| of.key().0 == root);
        let found = of_root.filter_map(|of| {
            let id = &of.key().1;
            let entry = self.runs.get(of.value())?;
            let is_here = entry.state.running && entry.state.file == file;
            if !is_here || now.iter().any(|thread| thread.id == *id) {
                return None;
            }
            let (thread, among) = entry.asked.as_ref()?;
            let now = threads::again(thread, among, now)?;
            Some((id.clone(), now.id.clone()))
        });
        found.collect()
    }

    /// The threads of a file go by other ids, and the file by another name.
    pub(in crate::session) fn renamed(
        &self,
        root: &Path,
        threads: &[(String, String)],
        file: &str,
    ) {
        self.renumbered(root, threads);
        for (_, id) in threads {
            let run = self.of_thread(root, id).map(|entry| entry.key().clone());
            if let Some(mut entry) = run.and_then(|run| self.runs.get_mut(&run)) {
                file.clone_into(&mut entry.state.file);
            }
        }
    }
}
