//! What the author allowed for longer than once: kept in the data folder, bound to the tool, the argument (or a
//! pattern that was offered), the folder, and the content of what a command names there.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::kept::Kept;
use super::pattern::{braces, is_pattern, matches};
use super::{Risk, decide, name, shell};
use crate::config::{Action, Rule, Settings};
use crate::os;
use crate::text::hex;

/// A call as a permission sees it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub tool: &'a str,
    pub risk: Risk,
    /// A path relative to the root, a command, an address.
    pub argument: &'a str,
    pub root: &'a Path,
}

/// What a grant is to cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// This argument in this folder.
    Here,
    /// What [`Call::offer`] offers, in this folder.
    Pattern,
    /// This argument in any folder.
    Everywhere,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Grant {
    pub id: String,
    pub tool: String,
    pub argument: String,
    /// `*` in the argument stands for anything.
    pub pattern: bool,
    /// By canonical path; `None`: in any.
    pub folder: Option<String>,
    /// SHA-256 of the workspace's files that the argument of a command names; `None`: it names none.
    pub content: Option<String>,
    pub granted: String,
}

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Record {
    grants: Vec<Grant>,
}

pub struct Grants {
    kept: Kept<Record>,
}

impl Grants {
    pub fn open(data: &Path) -> Self {
        Self {
            kept: Kept::new(
                data.join("permissions.json"),
                "the record of permissions",
                "answer the questions again",
            ),
        }
    }

    /// A record that cannot be read allows nothing.
    pub fn allow(&self, call: &Call) -> bool {
        match self.kept.read() {
            Ok(record) => record.grants.iter().any(|grant| grant.covers(call)),
            Err(error) => {
                tracing::warn!("{error:#}");
                false
            }
        }
    }

    /// # Errors
    /// Where the record cannot be read or written, or what is to be granted cannot be told apart for good.
    pub fn keep(&self, call: &Call, wanted: Wanted) -> anyhow::Result<Grant> {
        let grant = Grant::of(call, wanted)
            .ok_or_else(|| anyhow::anyhow!("what the call names cannot be read whole"))?;
        let kept = grant.clone();
        self.kept.change(move |record| {
            record.grants.retain(|known| known.id != kept.id);
            record.grants.push(kept);
        })?;
        Ok(grant)
    }

    /// # Errors
    /// As [`Self::keep`].
    pub fn all(&self) -> anyhow::Result<Vec<Grant>> {
        Ok(self.kept.read()?.grants)
    }

    /// By id or its beginning; those that are gone now.
    ///
    /// # Errors
    /// As [`Self::keep`].
    pub fn revoke(&self, id: &str) -> anyhow::Result<Vec<Grant>> {
        self.kept.change(|record| {
            let (gone, left) = record
                .grants
                .drain(..)
                .partition(|grant| !id.is_empty() && grant.id.starts_with(id));
            record.grants = left;
            gone
        })
    }
}

impl Grant {
    /// `None`: nothing that could be kept.
    pub fn of(call: &Call, wanted: Wanted) -> Option<Self> {
        let (argument, pattern) = match wanted {
            Wanted::Pattern => (call.offer()?, true),
            Wanted::Here | Wanted::Everywhere => (call.argument.to_owned(), false),
        };
        let folder = match wanted {
            Wanted::Everywhere => None,
            Wanted::Here | Wanted::Pattern => Some(name(call.root)?),
        };
        let content = content(call.risk, &argument, pattern, call.root).ok()?;
        let mut hash = Sha256::new();
        let place = folder.as_deref().unwrap_or("*");
        for part in [call.tool, place, if pattern { "p" } else { "e" }, &argument] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let mut id = hex(&hash.finalize());
        id.truncate(12);
        Some(Self {
            id,
            tool: call.tool.to_owned(),
            argument,
            pattern,
            folder,
            content,
            granted: jiff::Timestamp::now().to_string(),
        })
    }

    pub fn covers(&self, call: &Call) -> bool {
        let fits = if self.pattern {
            covers(call, &self.argument)
        } else {
            self.argument == call.argument
        };
        fits && self.tool == call.tool
            && (self.folder.is_none() || self.folder == name(call.root))
            && content(call.risk, &self.argument, self.pattern, call.root)
                .is_ok_and(|now| now == self.content)
    }
}

/// As rules of the settings would: what a pattern does not cover there, it does not cover here. Of a command the star
/// stands for further words: `git diff*` is not `git difftool`.
fn covers(call: &Call, pattern: &str) -> bool {
    let words = pattern
        .strip_suffix('*')
        .filter(|words| call.risk == Risk::Run && !words.ends_with(' '));
    let patterns = match words {
        Some(words) => vec![words.to_owned(), format!("{words} *")],
        None => vec![pattern.to_owned()],
    };
    let rule = |pattern| Rule {
        tool: call.tool.to_owned(),
        pattern: Some(pattern),
        action: Action::Allow,
    };
    let settings = Settings {
        permission: Some(Action::Ask),
        rules: patterns.into_iter().map(rule).collect(),
        ..Settings::default()
    };
    decide(&settings, call.tool, call.risk, call.argument) == Action::Allow
}

/// Programs whose first words say what they do, whatever follows.
const PROGRAMS: &[(&str, &[&str])] = &[
    (
        "cargo",
        &[
            "test", "check", "build", "clippy", "fmt", "doc", "bench", "nextest", "tree",
        ],
    ),
    ("go", &["test", "build", "vet", "list"]),
    ("npm", &["test"]),
    ("pnpm", &["test"]),
    ("yarn", &["test"]),
    ("dotnet", &["test", "build"]),
    ("mvn", &["test", "verify", "compile"]),
    ("zig", &["build", "test"]),
    ("mix", &["test", "compile"]),
    ("git", &["status", "diff", "log", "show", "blame"]),
    ("pytest", &[]),
    ("ctest", &[]),
    ("ls", &[]),
];

impl Call<'_> {
    /// A pattern that is worth a button: it covers this call and others of its kind.
    pub fn offer(&self) -> Option<String> {
        let pattern = match self.risk {
            Risk::Read => return None,
            Risk::Run => {
                let mut words = self.argument.split_ascii_whitespace();
                let program = words.next()?;
                let (_, verbs) = PROGRAMS.iter().find(|(known, _)| *known == program)?;
                if verbs.is_empty() {
                    format!("{program}*")
                } else {
                    let verb = words.next().filter(|verb| verbs.contains(verb))?;
                    format!("{program} {verb}*")
                }
            }
            Risk::Write => format!("{}/*", self.argument.rsplit_once('/')?.0),
            Risk::Send => {
                let (scheme, rest) = self.argument.split_once("://")?;
                // What carries more than its address is no address.
                if !matches!(scheme, "http" | "https") {
                    return None;
                }
                let host = rest.split(['/', '?', '#']).next()?;
                format!("{scheme}://{host}/*")
            }
        };
        (!pattern.starts_with('*') && pattern.matches('*').count() == 1 && covers(self, &pattern))
            .then_some(pattern)
    }
}

/// More than this is no script that somebody has read.
const MOST: u64 = 16 << 20;

/// Folders that a command may change to.
const FOLDERS: usize = 50;

/// Names in folders that a pattern is held against.
const NAMES: usize = 10_000;

/// Of the files of the workspace that a command names, each word for itself, also from where a `cd` in it leads, and
/// those that a pattern of the shell's means. An error: they cannot be told. `pattern`: the star at the argument's end is
/// the grant's own.
fn content(risk: Risk, argument: &str, pattern: bool, root: &Path) -> Result<Option<String>, ()> {
    if risk != Risk::Run {
        return Ok(None);
    }
    let argument = match pattern {
        true => argument.strip_suffix('*').unwrap_or(argument),
        false => argument,
    };
    let root = os::canonical(root).map_err(|_| ())?;
    // Also what stands in texts that some program runs.
    let inside = argument.split(|c: char| c.is_whitespace() || "'\"`;|&()<>{}$=".contains(c));
    let inside = inside.filter(|word| !word.is_empty());
    let inside = inside.map(|word| (word.to_owned(), false));
    let mut named = Named {
        root: &root,
        folders: vec![root.clone()],
        files: BTreeSet::new(),
        names: NAMES,
    };
    named.add(inside)?;
    named.add(shell::named(argument)?.into_iter())?;
    let files = named.files;
    if files.is_empty() {
        return Ok(None);
    }
    let mut hash = Sha256::new();
    let mut left = MOST;
    for path in files {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&path).map_err(|_| ())?;
        let read = file
            .take(left + 1)
            .read_to_end(&mut bytes)
            .map_err(|_| ())?;
        left = left.checked_sub(read as u64).ok_or(())?;
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update([0]);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(&bytes);
    }
    Ok(Some(hex(&hash.finalize())))
}

/// What a command names in the workspace.
struct Named<'a> {
    root: &'a Path,
    /// Where it may be when it does.
    folders: Vec<PathBuf>,
    files: BTreeSet<PathBuf>,
    /// So many may still be looked at.
    names: usize,
}

impl Named<'_> {
    /// Words in their order, and whether each is a pattern.
    fn add(&mut self, words: impl Iterator<Item = (String, bool)>) -> Result<(), ()> {
        let mut changes = false;
        for (word, is_glob) in words {
            let meant = match is_glob {
                true => braces(&word).ok_or(())?,
                false => vec![word.clone()],
            };
            for meant in meant {
                for folder in self.folders.clone() {
                    let found = match is_glob && is_pattern(&meant) {
                        true => self.meant_by(&folder, &meant)?,
                        false => vec![folder.join(&meant)],
                    };
                    self.take(found, changes);
                }
            }
            if self.folders.len() > FOLDERS {
                return Err(());
            }
            // Behind its options.
            changes = matches!(word.as_str(), "cd" | "pushd") || changes && word.starts_with('-');
        }
        Ok(())
    }

    fn take(&mut self, found: Vec<PathBuf>, changes: bool) {
        let found = found.iter().filter_map(|path| os::canonical(path).ok());
        for path in found.filter(|path| path.starts_with(self.root)) {
            if path.is_file() {
                self.files.insert(path);
            } else if changes && !self.folders.contains(&path) {
                self.folders.push(path);
            }
        }
    }

    /// The paths that a shell in `folder` would put in the place of a pattern.
    fn meant_by(&mut self, folder: &Path, pattern: &str) -> Result<Vec<PathBuf>, ()> {
        let mut found = vec![match pattern.starts_with('/') {
            true => PathBuf::from("/"),
            false => folder.to_owned(),
        }];
        for part in pattern.split('/').filter(|part| !part.is_empty()) {
            if !is_pattern(part) {
                found.iter_mut().for_each(|path| path.push(part));
                continue;
            }
            let mut next = Vec::new();
            for path in &found {
                // Of what lies elsewhere nothing is bound.
                let there = os::canonical(path).ok();
                let there = there.filter(|p| p.starts_with(self.root) || self.root.starts_with(p));
                let names = there.and_then(|folder| std::fs::read_dir(folder).ok());
                for entry in names.into_iter().flatten() {
                    let name = entry.map_err(|_| ())?.file_name();
                    self.names = self.names.checked_sub(1).ok_or(())?;
                    if matches(part, &name.to_string_lossy()) {
                        next.push(path.join(name));
                    }
                }
            }
            found = next;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call<'a>(tool: &'a str, risk: Risk, argument: &'a str, root: &'a Path) -> Call<'a> {
        Call {
            tool,
            risk,
            argument,
            root,
        }
    }

    #[test]
    fn a_grant_is_bound_to_tool_argument_and_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (data, a, b) = ["data", "a", "b"].map(|n| folder.path().join(n)).into();
        std::fs::create_dir_all(&a).unwrap();
        std::fs::create_dir_all(&b).unwrap();
        let grants = Grants::open(&data);
        let ours = call("bash", Risk::Run, "make it", &a);
        assert!(!grants.allow(&ours));
        let kept = grants.keep(&ours, Wanted::Here).unwrap();
        assert!(grants.allow(&ours));
        for other in [
            call("bash_background", Risk::Run, "make it", &a),
            call("bash", Risk::Run, "make it so", &a),
            call("bash", Risk::Run, "make it; ls", &a),
            call("bash", Risk::Run, "make it", &b),
        ] {
            assert!(!grants.allow(&other), "{other:?}");
        }
        grants.keep(&ours, Wanted::Everywhere).unwrap();
        assert!(grants.allow(&call("bash", Risk::Run, "make it", &b)));
        assert_eq!(grants.all().unwrap().len(), 2);
        assert_eq!(grants.revoke(&kept.id).unwrap(), [kept]);
        assert!(grants.revoke("").unwrap().is_empty(), "nothing by nothing");
        assert_eq!(grants.all().unwrap().len(), 1);
    }

    #[test]
    fn a_grant_falls_when_what_the_command_runs_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("a");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(root.join("run.sh"), "echo good").unwrap();
        let grants = Grants::open(&folder.path().join("data"));
        let ours = call("bash", Risk::Run, "sh ./run.sh --fast", &root);
        grants.keep(&ours, Wanted::Here).unwrap();
        assert!(grants.allow(&ours));
        std::fs::write(root.join("run.sh"), "echo evil").unwrap();
        assert!(!grants.allow(&ours));
        std::fs::remove_file(root.join("run.sh")).unwrap();
        assert!(!grants.allow(&ours));
    }

    #[test]
    fn a_grant_falls_also_when_what_is_run_lies_where_a_cd_leads() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("a");
        std::fs::create_dir_all(root.join("sub/b")).unwrap();
        let grants = Grants::open(&folder.path().join("data"));
        for (argument, script) in [
            ("cd sub && ./run.sh", "sub/run.sh"),
            ("(cd -- 'sub'; cd b; sh -e go)", "sub/b/go"),
            ("cd sub/b\n../x.sh", "sub/x.sh"),
        ] {
            let ours = call("bash", Risk::Run, argument, &root);
            std::fs::write(root.join(script), "echo good").unwrap();
            grants.keep(&ours, Wanted::Here).unwrap();
            assert!(grants.allow(&ours), "{argument}");
            std::fs::write(root.join(script), "echo evil").unwrap();
            assert!(!grants.allow(&ours), "{argument}");
        }
    }

    #[test]
    fn attack_21_a_grant_falls_also_when_a_pattern_or_quotes_name_what_is_run() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("a");
        std::fs::create_dir_all(root.join("sub")).unwrap();
        let grants = Grants::open(&folder.path().join("data"));
        for (argument, script) in [
            ("sh ./x.s?", "x.sh"),
            ("cd sub;cd ..;sh x*", "x.sh"),
            ("cd s*; sh y.sh", "sub/y.sh"),
            ("sh ./*/y.[s]h", "sub/y.sh"),
            ("bash -c 'sh x.*'", "x.sh"),
            ("bash -c 'bash x.{sh,py}'", "x.py"),
            ("sh ./x''.sh", "x.sh"),
            ("sh ./x\\.s\"h\" -v", "x.sh"),
            ("sh < x''.sh", "x.sh"),
        ] {
            std::fs::write(root.join(script), "echo good").unwrap();
            let ours = call("bash", Risk::Run, argument, &root);
            grants.keep(&ours, Wanted::Here).unwrap();
            assert!(grants.allow(&ours), "{argument}");
            std::fs::write(root.join(script), "echo evil").unwrap();
            assert!(!grants.allow(&ours), "{argument}");
        }
        // Another file that the pattern means is another thing to run.
        let ours = call("bash", Risk::Run, "sh x*", &root);
        grants.keep(&ours, Wanted::Here).unwrap();
        std::fs::write(root.join("x.a"), "echo evil").unwrap();
        assert!(!grants.allow(&ours));
    }

    #[test]
    fn attack_21_no_grant_is_kept_for_what_a_command_finds_and_runs() {
        let folder = tempfile::tempdir().unwrap();
        let grants = Grants::open(&folder.path().join("data"));
        let keep = |argument| {
            let ours = call("bash", Risk::Run, argument, folder.path());
            grants.keep(&ours, Wanted::Here).is_ok() && grants.allow(&ours)
        };
        for argument in [
            "find . -name 'x.*' -exec sh {} ;",
            "find . -type f -exec {} +",
            "find . -name '*.py' -execdir python3 {} ';'",
            "sh -c 'find . -exec bash {} +'",
            "ls | xargs -n1 sh",
            "ls | xargs -I% ./%",
        ] {
            assert!(!keep(argument), "{argument}");
        }
        for argument in [
            "find . -name '*.rs' -exec wc -l {} +",
            "git ls-files | xargs wc -l",
            "ls *.rs",
            "grep -rn 'a.*b' --include='*.rs' .",
            "echo it\u{a0}is",
        ] {
            assert!(keep(argument), "{argument}");
        }
    }

    #[test]
    fn offers_cover_the_call_and_nothing_that_is_joined_to_it() {
        let root = Path::new("/");
        let offer = |risk, argument| call("t", risk, argument, root).offer();
        for (argument, offered) in [
            ("cargo test --lib", Some("cargo test*")),
            ("pytest -q", Some("pytest*")),
            ("git push --force", None),
            ("sh -c x", None),
            ("cargo test; rm -rf .", None),
            ("cargo test $(ls)", None),
            ("cargo", None),
            ("", None),
        ] {
            assert_eq!(
                offer(Risk::Run, argument).as_deref(),
                offered,
                "{argument:?}"
            );
        }
        assert_eq!(
            offer(Risk::Write, "src/net/a.rs").as_deref(),
            Some("src/net/*")
        );
        assert_eq!(offer(Risk::Write, "a.rs"), None);
        assert_eq!(
            offer(Risk::Send, "https://docs.rs/x?y").as_deref(),
            Some("https://docs.rs/*")
        );
        assert_eq!(offer(Risk::Send, "https://*/x"), None);
        assert_eq!(offer(Risk::Send, "POST https://docs.rs/x\n\nbody"), None);
    }

    #[test]
    fn a_granted_pattern_ends_with_a_word() {
        let folder = tempfile::tempdir().unwrap();
        let grants = Grants::open(folder.path());
        let run = |argument| call("bash", Risk::Run, argument, folder.path());
        for asked in ["git diff HEAD", "ls src"] {
            grants.keep(&run(asked), Wanted::Pattern).unwrap();
        }
        for same in [
            "git diff",
            "git diff --stat a",
            "ls",
            "git diff && git diff -w",
        ] {
            assert!(grants.allow(&run(same)), "{same}");
        }
        for other in ["git difftool -y -x 'any'", "lsof", "git diff && lsof"] {
            assert!(!grants.allow(&run(other)), "{other}");
        }
    }

    #[test]
    fn a_damaged_record_allows_nothing_and_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let grants = Grants::open(folder.path());
        let ours = call("bash", Risk::Run, "ls", folder.path());
        std::fs::write(folder.path().join("permissions.json"), "{").unwrap();
        assert!(!grants.allow(&ours));
        let error = format!("{:#}", grants.keep(&ours, Wanted::Here).unwrap_err());
        assert!(error.contains("is damaged: move it away"), "{error}");
        let text = std::fs::read_to_string(folder.path().join("permissions.json")).unwrap();
        assert_eq!(text, "{");
    }
}
