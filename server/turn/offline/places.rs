//! Where a name is used, where it is defined and what it is, from the language's own server and the syntax trees.

use std::ops::Range;
use std::path::PathBuf;

use super::super::Outcome;
use super::question::Subject;
use super::{Answer, Offline, Spot, TREE, list, unfenced};
use crate::children::Place;
use crate::present::{collapsed, cut};

impl Offline<'_> {
    pub(super) async fn where_used(&self, subject: &Subject) -> Result<Answer, Outcome> {
        let spot = match self.spot(subject).await? {
            Ok(spot) => spot,
            Err(why) => return Ok(Err(why)),
        };
        let (children, path) = (&self.cx.children, &spot.source.path);
        let ask = children.references(path, spot.at, &self.cx.cancel);
        let asked = self.child(&spot, "references", ask, |p| self.lines(p).join("\n"));
        let (lines, how) = match asked.await? {
            Ok(places) => {
                let uses = self.without_declarations(&spot, places).await?;
                (self.lines(&uses), self.server(&spot))
            }
            Err(why) => {
                self.hint(&why);
                match self.named(&spot).await? {
                    Ok(lines) => (lines, String::from(TREE)),
                    Err(why) => return Ok(Err(why)),
                }
            }
        };
        if lines.is_empty() && how != TREE {
            return self.unused(&spot, &how).await;
        }
        let name = &spot.name;
        Ok(Ok(match lines.len() {
            0 => format!("`{name}` is used nowhere, by {how}."),
            1 => format!("`{name}` is used once, at {}, by {how}.", list(&lines)),
            n => format!(
                "`{name}` is used at {n} places: {}, by {how}.",
                list(&lines)
            ),
        }))
    }

    /// The places that a server has of a name, where it is declared left out. The spot need not be that: beside a
    /// thread it may be a use.
    async fn without_declarations(
        &self,
        spot: &Spot,
        mut places: Vec<Place>,
    ) -> Result<Vec<Place>, Outcome> {
        let (children, path) = (&self.cx.children, &spot.source.path);
        let symbols = spot.source.syntax.symbols(&spot.source.text);
        if symbols.iter().any(|s| s.name_range.start == spot.at) {
            places.retain(|p| p.path != *path || p.range.start != spot.at);
            return Ok(places);
        }
        let ask = children.definition(path, spot.at, &self.cx.cancel);
        let asked = self.child(spot, "definition", ask, |p| self.lines(p).join("\n"));
        let mut declared: Vec<(PathBuf, Range<usize>)> = asked
            .await?
            .unwrap_or_default()
            .into_iter()
            .map(|p| (p.path, p.range))
            .collect();
        if declared.is_empty() {
            let language = spot.source.syntax.language().map(|l| l.name);
            for held in self.names(&spot.name, language).await?.unwrap_or_default() {
                let names = held.declared.into_iter().map(|s| s.name_range);
                declared.extend(names.map(|range| (held.source.path.clone(), range)));
            }
        }
        for (path, range) in declared {
            // Some servers tell the whole of what is declared: its name is the first in there.
            let name = places
                .iter()
                .enumerate()
                .filter(|(_, p)| p.path == path)
                .filter(|(_, p)| p.range.start == range.start || range.contains(&p.range.start))
                .min_by_key(|(_, p)| p.range.start)
                .map(|(at, _)| at);
            if let Some(at) = name {
                places.remove(at);
            }
        }
        Ok(places)
    }

    /// The lines that name it, its declarations left out.
    pub(super) async fn named(&self, spot: &Spot) -> Result<Result<Vec<String>, String>, Outcome> {
        let language = spot.source.syntax.language().map(|l| l.name);
        let held = self.names(&spot.name, language).await?;
        Ok(held.map(|held| {
            let lines = held.iter().flat_map(|h| {
                let uses = h
                    .places
                    .iter()
                    .filter(|p| !h.declared.iter().any(|s| s.name_range == **p));
                uses.map(|p| h.line(self.moves(), p.start))
            });
            lines.collect()
        }))
    }

    /// A server that knows no use may not have read the project: what the syntax trees have is told beside it.
    pub(super) async fn unused(&self, spot: &Spot, how: &str) -> Result<Answer, Outcome> {
        let lines = match self.named(spot).await? {
            Ok(lines) => lines,
            Err(why) => return Ok(Err(why)),
        };
        let name = &spot.name;
        if lines.is_empty() {
            return Ok(Ok(format!("`{name}` is used nowhere, by {how}.")));
        }
        let language = spot.source.syntax.language().map(|l| l.name);
        let children = &self.cx.children;
        let trouble = children.trouble(&spot.source.path, language).await;
        let trouble = trouble.map(|said| format!(" ({said})")).unwrap_or_default();
        let stands = match lines.len() {
            1 => format!("at {}", list(&lines)),
            n => format!("at {n} places: {}", list(&lines)),
        };
        Ok(Ok(format!(
            "No use of `{name}` is known to {how}{trouble}; by {TREE} the name stands {stands}."
        )))
    }

    pub(super) async fn where_defined(&self, subject: &Subject) -> Result<Answer, Outcome> {
        let spot = match self.spot(subject).await? {
            Ok(spot) => spot,
            Err(why) => return Ok(Err(why)),
        };
        let (children, path) = (&self.cx.children, &spot.source.path);
        let ask = children.definition(path, spot.at, &self.cx.cancel);
        let asked = self.child(&spot, "definition", ask, |p| self.lines(p).join("\n"));
        let (lines, how) = match asked.await? {
            Ok(places) if !places.is_empty() => (self.lines(&places), self.server(&spot)),
            other => {
                if let Err(why) = &other {
                    self.hint(why);
                }
                (self.declarations(&spot).await?, String::from(TREE))
            }
        };
        let name = &spot.name;
        Ok(Ok(if lines.is_empty() {
            format!("`{name}` is defined nowhere in this workspace, by {how}.")
        } else {
            format!("`{name}` is defined at {}, by {how}.", list(&lines))
        }))
    }

    pub(super) async fn what_is(&self, subject: &Subject) -> Result<Answer, Outcome> {
        let spot = match self.spot(subject).await? {
            Ok(spot) => spot,
            Err(why) => return Ok(Err(why)),
        };
        let name = spot.name.clone();
        let (children, path) = (&self.cx.children, &spot.source.path);
        let ask = children.hover(path, spot.at, &self.cx.cancel);
        let asked = self.child(&spot, "hover", ask, |text| text.clone().unwrap_or_default());
        match asked.await? {
            Ok(Some(text)) => {
                let text = cut(&collapsed(&unfenced(&text)), 600);
                return Ok(Ok(format!("`{name}`: {text} (by {})", self.server(&spot))));
            }
            Ok(None) => {}
            Err(why) => self.hint(&why),
        }
        let held = match self
            .names(&name, spot.source.syntax.language().map(|l| l.name))
            .await?
        {
            Ok(held) => held,
            Err(why) => return Ok(Err(why)),
        };
        let found = held
            .iter()
            .find_map(|held| held.declared.first().map(|symbol| (held, symbol)));
        Ok(Ok(match found {
            Some((held, symbol)) => {
                let line = held.source.line_of(symbol.name_range.start);
                let code = held.source.line(line).trim().trim_end_matches(['{', ' ']);
                format!(
                    "`{name}` is a {} at {}: `{}`, by {TREE}.",
                    symbol.kind.replace('_', " "),
                    self.moves().place(&held.source.file, line),
                    cut(&collapsed(code), 200)
                )
            }
            None => format!("`{name}` is declared nowhere in this workspace, by {TREE}."),
        }))
    }

    pub(super) async fn declarations(&self, spot: &Spot) -> Result<Vec<String>, Outcome> {
        let held = self
            .names(&spot.name, spot.source.syntax.language().map(|l| l.name))
            .await?
            .unwrap_or_default();
        let lines = held.iter().flat_map(|h| h.declarations(self.moves()));
        Ok(lines.collect())
    }
}
