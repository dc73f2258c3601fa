//! Undo of a turn: its changes are taken back line by line, and no line that the author has changed since is touched.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::{Error, Session, Workspace};
use crate::edits::{line_edits, take_back};
use crate::host::BufferEdit;
use crate::store::{Change, Round, Run};
use crate::text::apply_edits;

impl Session {
    /// Puts back what the run's last turn changed; a sentence for each file.
    pub async fn undo(&self, id: &str) -> Result<Vec<String>, Error> {
        let (workspace, run) = self.run_of(id)?;
        let store = workspace.store()?;
        let changes = store.last_changes(&run.id)?;
        if changes.is_empty() {
            return Err(Error::Other(format!(
                "run {} changed no file that could be put back",
                run.id
            )));
        }
        let mut files: Vec<&str> = Vec::new();
        for change in &changes {
            if !files.contains(&change.file.as_str()) {
                files.push(&change.file);
            }
        }
        let modes = if changes.iter().any(|change| change.after.is_none()) {
            modes(&store.rounds_back(&run.id, None, usize::MAX >> 1)?)
        } else {
            HashMap::new()
        };
        let mut report = Vec::new();
        for file in &files {
            let steps: Vec<&Change> = changes
                .iter()
                .filter(|change| change.file == *file)
                .collect();
            report.push(
                self.undo_file(
                    &workspace.root().join(file),
                    file,
                    &steps,
                    modes.get(*file).copied(),
                )
                .await?,
            );
        }
        store.mark_undone(&run.id)?;
        self.turns.forget(&run.id);
        let paths: Vec<_> = files
            .iter()
            .map(|file| workspace.root().join(file))
            .collect();
        self.host.changed(&paths);
        Ok(report)
    }

    /// What the run's last turn made of each file, for a review: the text before its first write and after its
    /// last, in the order the files were first written. `None`: no file.
    pub fn turn_changes(&self, id: &str) -> Result<(Arc<Workspace>, Run, Vec<Change>), Error> {
        let (workspace, run) = self.run_of(id)?;
        let mut files: Vec<Change> = Vec::new();
        for change in workspace.store()?.last_changes(&run.id)? {
            match files.iter_mut().find(|known| known.file == change.file) {
                Some(known) => known.after = change.after,
                None => files.push(change),
            }
        }
        Ok((workspace, run, files))
    }

    /// `steps` are the turn's writes of this file in the order they were made; they are taken back in reverse,
    /// for the author may have typed between them. `mode` is that of a file which was removed.
    async fn undo_file(
        &self,
        path: &Path,
        file: &str,
        steps: &[&Change],
        mode: Option<u32>,
    ) -> Result<String, Error> {
        let workspace = self.home_of(path)?;
        let buffer = self.buffers.get(path);
        let on_disk = if buffer.is_none() {
            workspace.tree.read(file).ok()
        } else {
            None
        };
        let now = match (&buffer, &on_disk) {
            (Some(buffer), _) => Some(buffer.document.text()),
            (None, Some(read)) if !read.lossy => Some(read.text.clone()),
            _ => None,
        };
        let before = steps.first().and_then(|step| step.before.as_deref());
        let after = steps.last().and_then(|step| step.after.as_deref());
        match (before, now) {
            (None, None) => Ok(format!("{file}: is gone already")),
            (None, Some(now)) if buffer.is_none() && after == Some(now.as_bytes()) => {
                if let Some(read) = &on_disk {
                    workspace.tree.remove(path, &read.seen)?;
                }
                workspace.index.forget(path);
                Ok(format!("{file}: removed, the turn had made it"))
            }
            (None, Some(_)) => Ok(format!(
                "{file}: kept, you have changed or opened it since the turn made it"
            )),
            (Some(before), None) => {
                workspace.tree.make(path, before, mode)?;
                workspace.index.refresh(&workspace.tree, path);
                Ok(format!("{file}: put back"))
            }
            (Some(_), Some(now)) => {
                let mut text = now.to_string();
                let mut kept = Vec::new();
                for step in steps.iter().rev() {
                    let before =
                        String::from_utf8_lossy(step.before.as_deref().unwrap_or_default());
                    let after = String::from_utf8_lossy(step.after.as_deref().unwrap_or_default());
                    let (edits, left) = take_back(&before, &after, &text);
                    text = apply_edits(&text, &edits);
                    kept.extend(left);
                }
                let edits = line_edits(&now, &text);
                match &buffer {
                    _ if edits.is_empty() => {}
                    Some(buffer) => {
                        let edit = BufferEdit {
                            path: path.to_owned(),
                            version: buffer.document.version(),
                            edits,
                        };
                        let applied = self.host.apply("Undo last turn", vec![edit]).await;
                        applied.map_err(|e| {
                            Error::Other(format!("{file}: {e}; nothing was put back"))
                        })?;
                    }
                    None => {
                        workspace.tree.write(
                            file,
                            text.as_bytes(),
                            on_disk.as_ref().map(|read| &read.seen),
                        )?;
                        workspace.index.refresh(&workspace.tree, path);
                    }
                }
                Ok(if kept.is_empty() {
                    format!("{file}: put back")
                } else {
                    let lines: Vec<String> = kept.iter().map(usize::to_string).collect();
                    format!(
                        "{file}: put back, but for what you have changed since at line {}",
                        lines.join(", ")
                    )
                })
            }
        }
    }
}

/// The modes of the files that a run removed, as its rounds (newest first) tell.
fn modes(rounds: &[Round]) -> HashMap<String, u32> {
    let told = rounds.iter().rev().filter_map(|round| {
        let text = |key: &str| round.metadata.get(key)?.as_str();
        let mode = u32::from_str_radix(text("mode")?, 8).ok()?;
        Some((text("removed")?.to_owned(), mode))
    });
    told.collect()
}
