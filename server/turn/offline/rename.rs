//! `rename X to Y`: the child server's edit where it gives one, else every identifier of a name that is
//! declared once.

use crate::children::FileEdits;
use crate::comments::Syntax;
use crate::host::Level;
use crate::present::collapsed;
use crate::text::{Edit, apply_edits};
use crate::tools;
use crate::turn::Outcome;
use crate::turn::source::Source;

use super::question::Subject;
use super::{Answer, Offline, Spot, TREE, list};

impl Offline<'_> {
    pub(super) async fn rename(&self, from: &Subject, to: &str) -> Result<Answer, Outcome> {
        let spot = match self.spot(from).await? {
            Ok(spot) => spot,
            Err(why) => return Ok(Err(why)),
        };
        let name = spot.name.clone();
        if name == to {
            return Ok(Ok(format!(
                "`{name}` has that name already; nothing was changed."
            )));
        }
        if !self.cx.trusted {
            self.cx.host.message(
                Level::Info,
                &format!("a name is changed in a trusted workspace only: trust this one in the editor or by `postil trust`, then ask again to rename `{name}` to `{to}`."),
            );
            return Ok(Err(String::from(
                "Nothing was renamed: this workspace is not trusted.",
            )));
        }
        if self.cx.plan.is_on() {
            self.cx.host.message(
                Level::Info,
                &format!(
                    "Allow edits for this thread, then ask again to rename `{name}` to `{to}`."
                ),
            );
            return Ok(Err(String::from(
                "Nothing was renamed: this turn is read-only.",
            )));
        }
        let (children, path) = (&self.cx.children, &spot.source.path);
        let ask = children.rename(path, spot.at, to, &self.cx.cancel);
        let asked = self.child(&spot, "rename", ask, |files| {
            let file = |f: &FileEdits| format!("{} edits of {}", f.edits.len(), f.path.display());
            files.iter().map(file).collect::<Vec<_>>().join("\n")
        });
        match asked.await? {
            Ok(files) if files.iter().all(|f| f.edits.is_empty()) => {}
            Ok(files) => {
                let mut changes = Vec::new();
                for file in files {
                    let source = match Source::read(&self.cx.tree, &file.path) {
                        Ok(source) => source,
                        Err(error) => return Ok(Err(format!("Nothing was renamed: {error}."))),
                    };
                    if source.text != file.text {
                        return Ok(Err(format!(
                            "Nothing was renamed: {} changed meanwhile. Ask again.",
                            source.file
                        )));
                    }
                    changes.push((source, file.edits));
                }
                let how = format!("by {}", self.server(&spot));
                return self.change(&name, to, changes, &how).await;
            }
            Err(why) => self.hint(&why),
        }
        self.rename_by_names(&spot, to).await
    }

    /// Renames every identifier of that name, where it is declared once and the new name is free.
    async fn rename_by_names(&self, spot: &Spot, to: &str) -> Result<Answer, Outcome> {
        let (name, language) = (&spot.name, spot.source.syntax.language().map(|l| l.name));
        let Some(language) = language else {
            return Ok(Err(String::from(
                "Nothing was renamed: the names of this file's language cannot be read here.",
            )));
        };
        let held = match self.names(name, Some(language)).await? {
            Ok(held) => held,
            Err(why) => return Ok(Err(why)),
        };
        let declared: Vec<String> = held
            .iter()
            .flat_map(|h| h.declarations(self.moves()))
            .collect();
        if declared.len() != 1 {
            let where_to = if declared.is_empty() {
                String::from("nowhere that tree-sitter sees")
            } else {
                format!("at {}", list(&declared))
            };
            return Ok(Err(format!(
                "Nothing was renamed: by {TREE} a name must be declared exactly once; `{name}` is declared {where_to}."
            )));
        }
        let taken = match self.names(to, Some(language)).await? {
            Ok(taken) => taken,
            Err(why) => return Ok(Err(why)),
        };
        if let Some(place) = taken.iter().flat_map(|h| h.lines(self.moves())).next() {
            return Ok(Err(format!(
                "Nothing was renamed: `{to}` stands already at {place}."
            )));
        }
        let changes = held
            .into_iter()
            .map(|held| {
                let edits = held
                    .places
                    .iter()
                    .map(|place| Edit {
                        range: place.clone(),
                        text: to.to_owned(),
                    })
                    .collect();
                (held.source, edits)
            })
            .collect();
        self.change(name, to, changes, &format!("by {TREE}")).await
    }

    /// Writes the edits, file by file.
    async fn change(
        &self,
        name: &str,
        to: &str,
        changes: Vec<(Source, Vec<Edit>)>,
        how: &str,
    ) -> Result<Answer, Outcome> {
        if let Some((source, _)) = changes.iter().find(|(source, _)| source.lossy) {
            return Ok(Err(format!(
                "Nothing was renamed: {} is not valid UTF-8 and cannot be written.",
                source.file
            )));
        }
        let (mut places, mut done, mut refused) = (0, Vec::new(), Vec::new());
        let mut maybe = false;
        for (source, edits) in changes {
            if self.cx.cancel.is_cancelled() {
                return Err(Outcome::Cancelled);
            }
            let text = apply_edits(&source.text, &edits);
            // A server may send one edit for several places, or for the whole file.
            let old = source.syntax.identifiers(&source.text, name).len();
            let after = Syntax::parse(&text, source.syntax.language());
            let left = after.identifiers(&text, name).len();
            let count = old.saturating_sub(left).max(edits.len());
            let shown = format!("{count} places: {name} → {to}");
            let change = tools::FileChange::new(source.path, Some(source.seen), Some(text));
            let work = tools::change_file(self.cx, change);
            match self
                .step("change", source.file.clone(), work, |()| shown.clone())
                .await?
            {
                Ok(()) => {
                    places += count;
                    done.push(source.file);
                }
                Err(why) => {
                    maybe |= matches!(why, tools::Unchanged::Unknown(..));
                    refused.push(format!("{} ({})", source.file, collapsed(&why.to_string())));
                }
            }
        }
        let plural = |n: usize, word: &str| {
            if n == 1 {
                format!("1 {word}")
            } else {
                format!("{n} {word}s")
            }
        };
        Ok(match (done.is_empty(), refused.is_empty()) {
            (_, true) => Ok(format!(
                "Renamed `{name}` to `{to}`: {} in {}, {how}.",
                plural(places, "place"),
                plural(done.len(), "file")
            )),
            (true, false) if maybe => Err(format!(
                "Look whether `{name}` was renamed: {}. Ask again where it was not.",
                refused.join("; ")
            )),
            (true, false) => Err(format!(
                "Nothing was renamed: {}. Ask again.",
                refused.join("; ")
            )),
            (false, false) => Err(format!(
                "Renamed `{name}` to `{to}` in {} only; not in {}. Ask again for the rest, or undo the turn.",
                list(&done),
                refused.join("; ")
            )),
        })
    }
}
