//! What a command prints where the sandbox kept it from something, and what the author can do about it. Programs say
//! what the system told them, which names neither the guard nor a setting.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use memchr::{memchr, memmem, memrchr};

use crate::trust;

/// What the system says where a mount is in the way.
const KEPT: &[&str] = &["Read-only file system", "Device or resource busy"];
/// What programs say where no name is found.
const NO_HOST: &[&str] = &[
    "ould not resolve host",
    "ould not resolve proxy",
    "emporary failure in name resolution",
    "emporary failure resolving",
    "ame or service not known",
    "ailed to lookup address information",
    "getaddrinfo EAI_AGAIN",
    "getaddrinfo ENOTFOUND",
    "no such host",
];
/// What programs put around names.
const QUOTES: [char; 5] = ['\'', '"', '`', '‘', '’'];
/// Lines that are looked at.
const LINES: usize = 20;
/// Bytes of a line that are kept.
const LONGEST: usize = 512;

/// What keeps a command in, and what it printed of that.
#[derive(Default)]
pub(super) struct Hints {
    root: PathBuf,
    /// Guarded by a mount, relative to the root.
    held: Vec<PathBuf>,
    /// What is said where no host was found.
    network: Option<&'static str>,
    /// The end of what was looked at.
    last: Vec<u8>,
    kept: BTreeSet<String>,
    no_host: bool,
}

impl Hints {
    pub fn new(root: &Path, held: Vec<PathBuf>, network: Option<&'static str>) -> Self {
        Self {
            root: root.to_owned(),
            held,
            network,
            ..Self::default()
        }
    }

    /// Takes in what it printed next.
    pub fn look(&mut self, bytes: &[u8]) {
        let mut text = std::mem::take(&mut self.last);
        text.extend_from_slice(bytes);
        for said in KEPT {
            for at in memmem::find_iter(&text, said) {
                if self.kept.len() < LINES {
                    let line = line(&text, at);
                    self.kept.insert(String::from_utf8_lossy(line).into_owned());
                }
            }
        }
        let mut said = NO_HOST.iter();
        self.no_host |= said.any(|said| memmem::find(&text, said.as_bytes()).is_some());
        self.last = text.split_off(text.len().saturating_sub(LONGEST));
    }

    /// A sentence of each kind at most.
    pub fn sentences(&self) -> Vec<String> {
        let held = self.kept.iter().find_map(|line| self.held_in(line));
        let outside = || self.kept.iter().find_map(|line| self.outside_in(line));
        let kept = match held {
            Some(file) => Some(format!(
                "(`{}` is guarded, and no command can change it: ask the author to run this themselves. What else it changed stays, so that the files may belong to two states now.)",
                file.display()
            )),
            None => outside().map(|file| {
                // Nothing is guarded in what is granted so, and git would obey it.
                let what = match trust::in_repository(&file.to_string_lossy()) {
                    true => "ask the author to run this themselves",
                    false => {
                        "the author can name its folder in `sandbox.write`, or run this themselves"
                    }
                };
                format!(
                    "(`{}` is outside of the workspace, where no command can write: {what}.)",
                    file.display()
                )
            }),
        };
        let network = self.network.filter(|_| self.no_host).map(str::to_owned);
        kept.into_iter().chain(network).collect()
    }

    /// The guarded place that a line names, the longest.
    fn held_in(&self, line: &str) -> Option<&Path> {
        let named = self
            .held
            .iter()
            .filter(|held| names(line, &self.root, held));
        let longest = named.max_by_key(|held| held.as_os_str().len());
        longest.map(PathBuf::as_path)
    }

    /// The path outside of the root that a line names.
    fn outside_in(&self, line: &str) -> Option<PathBuf> {
        // Some programs begin with their own name, as they were called by it.
        let said = match line.split_once(": ") {
            Some((name, said))
                if name.starts_with('/') && !KEPT.iter().any(|kept| said.starts_with(kept)) =>
            {
                said
            }
            _ => line,
        };
        let quoted = said.split(QUOTES).skip(1).step_by(2);
        let words = said.split_whitespace().map(|word| {
            word.trim_matches(QUOTES)
                .trim_matches([':', ','])
                .trim_matches(QUOTES)
        });
        let mut paths = quoted.chain(words).map(Path::new);
        let path = paths.find(|path| {
            path.is_absolute()
                && !path.starts_with(&self.root)
                && path.parent().is_some_and(Path::is_dir)
        });
        path.map(Path::to_owned)
    }
}

/// The line around `at`, as far as it is there.
fn line(text: &[u8], at: usize) -> &[u8] {
    let (before, rest) = text.split_at(at);
    let from = memrchr(b'\n', before).map_or(0, |end| end + 1);
    let end = memchr(b'\n', rest).map_or(text.len(), |end| at + end);
    text.get(from.max(at.saturating_sub(LONGEST))..end.min(at + LONGEST))
        .unwrap_or_default()
}

/// Whether a path of the root stands in the line, whole components of it.
fn names(line: &str, root: &Path, path: &Path) -> bool {
    let (root, path) = (root.to_string_lossy(), path.to_string_lossy());
    line.match_indices(&*path).any(|(at, _)| {
        let before = line.get(..at).unwrap_or_default();
        let after = line
            .get(at + path.len()..)
            .and_then(|text| text.chars().next());
        let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let begins = match before.strip_suffix('/') {
            Some(above) => above.ends_with(&*root),
            None => !before.ends_with(goes_on),
        };
        begins && !after.is_some_and(goes_on)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &[&str]) -> Vec<String> {
        let held = [".git", ".git/config", "ci"].map(PathBuf::from);
        let mut hints = Hints::new(Path::new("/nowhere/w"), held.into(), Some("(none)"));
        for part in text {
            hints.look(part.as_bytes());
        }
        hints.sentences()
    }

    #[test]
    fn what_is_in_the_way_is_found_in_what_was_printed() {
        let config = said(&[
            "x\nerror: could not write .git/con",
            "fig: Device or resource busy\ny",
        ]);
        assert!(
            config[0].starts_with("(`.git/config` is guarded"),
            "{config:?}"
        );
        let whole = said(&["'/nowhere/w/ci/a.yml': Read-only file system\n"]);
        assert!(whole[0].starts_with("(`ci` is guarded"), "{whole:?}");
        let moved = said(&["mv: cannot move '.git' to 'g': Device or resource busy\n"]);
        assert!(moved[0].starts_with("(`.git` is guarded"), "{moved:?}");
        let outside = said(&["touch: cannot touch '/usr/a b': Read-only file system\n"]);
        assert!(
            outside[0].starts_with("(`/usr/a b` is outside"),
            "{outside:?}"
        );
        for (line, path) in [
            (
                "/bin/sh: 1: cannot create /usr/zz: Read-only file system\n",
                "/usr/zz",
            ),
            (
                "/bin/bash: line 1: /usr/zz: Read-only file system\n",
                "/usr/zz",
            ),
            (
                "/usr/bin/touch: cannot touch ‘/usr/a b’: Read-only file system\n",
                "/usr/a b",
            ),
            ("/usr/zz: Read-only file system\n", "/usr/zz"),
        ] {
            let begin = format!("(`{path}` is outside");
            assert!(said(&[line])[0].starts_with(&begin), "{line}");
        }
        for other in [
            "/bin/sh: 1: cannot create b/zz: Read-only file system\n",
            "Read-only file system",
            "ci\nRead-only file system\n",
            "ci.yml: Read-only file system\n",
            "/nowhere/w/x: Read-only file system\n",
            ".git/config: Permission denied\n",
            "'/elsewhere/.git/config': Read-only file system\n",
        ] {
            assert_eq!(said(&[other]), [""; 0], "{other}");
        }
        assert_eq!(
            said(&["curl: (6) Could not res", "olve host: x\n"]),
            ["(none)"]
        );
    }
}
