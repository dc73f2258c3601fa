//! The commits that shaped a line, newest first: `git blame` from the line as it is now, then from what the line
//! was before each of them. Renames are followed, and lines that a commit moved within or between its files.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::commit::{GitError, Place, place};
use super::follow::{Before, LineMap};
use super::program::{Setting, git_until, quiet_settings};
use crate::os;

/// Commits that are followed back.
const MOST: usize = 12;
/// Lines around the one that is asked about: git knows a moved block by its words, and one line may have few.
const AROUND: usize = 10;
/// Larger files are not compared.
const LARGEST: usize = 16 << 20;

/// A line as one commit left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shaped {
    /// All digits.
    pub commit: String,
    pub author: String,
    /// Seconds since 1970, UTC.
    pub time: i64,
    /// The first line of its message.
    pub summary: String,
    /// The file in that commit, relative to the top of the work tree, with `/`; its name need be no text.
    pub file: PathBuf,
    /// 1-based, in that file.
    pub line: usize,
    /// The line, without its end.
    pub text: String,
    /// The commit before it, and the file's name there.
    previous: Option<(String, PathBuf)>,
}

/// What is known of a line.
#[derive(Clone, Debug)]
pub struct Trail {
    pub place: Place,
    /// Newest first; empty: the line is not committed.
    pub shaped: Vec<Shaped>,
    /// Why it could not be followed to its end.
    pub cut: Option<String>,
}

/// Follows the 1-based `line` of `text`, the file as it is now (saved or not), until the time is up.
pub fn trail(path: &Path, line: usize, text: &str, until: Instant) -> Result<Trail, GitError> {
    let place = place(path)?;
    let quiet = quiet_settings(&place.top)?;
    let mut trail = Trail {
        shaped: Vec::new(),
        cut: None,
        place,
    };
    let git = Blaming {
        place: &trail.place,
        quiet: &quiet,
        until,
    };
    if !git.has_commit()? {
        return Ok(trail);
    }
    let file = trail.place.file.as_os_str();
    let contents = Some(text.as_bytes());
    let mut next = git.blame(None, file, line, contents, true)?;
    while let Some(shaped) = next.take() {
        trail.shaped.push(shaped.clone());
        if trail.shaped.len() == MOST {
            trail.cut = Some(format!("only the newest {MOST} commits were looked at"));
            break;
        }
        match git.earlier(&shaped) {
            Ok(None) if shaped.previous.is_none() && git.ends_at(&shaped.commit) => {
                trail.cut = Some(String::from(
                    "the clone is shallow, and that one has all that came before it (`git fetch --unshallow` gets the others)",
                ));
            }
            Ok(earlier) => next = earlier,
            Err(error) => {
                trail.cut = Some(error.to_string());
                break;
            }
        }
    }
    Ok(trail)
}

/// The commit that changed a line last, by itself; `None`: it is not committed.
pub(super) fn newest(
    path: &Path,
    line: usize,
    text: &[u8],
    until: Instant,
) -> Result<Option<Shaped>, GitError> {
    let place = place(path)?;
    let quiet = quiet_settings(&place.top)?;
    let git = Blaming {
        place: &place,
        quiet: &quiet,
        until,
    };
    let is_there = line <= text.split_inclusive(|byte| *byte == b'\n').count();
    if !is_there || !git.has_commit()? {
        return Ok(None);
    }
    git.blame(None, place.file.as_os_str(), line, Some(text), false)
}

/// A file in a commit; `None`: it is not there, is no text or too large.
pub fn blob(place: &Place, commit: &str, file: &Path, until: Instant) -> Option<String> {
    let quiet = quiet_settings(&place.top).ok()?;
    let git = Blaming {
        place,
        quiet: &quiet,
        until,
    };
    git.blob(commit, file).ok()
}

/// A commit (that which HEAD is, unless `id` names one), and the text of a file there where there is one. libgit2 reads it, so that
/// closing a thread starts no program; `None`: no repository, no commit yet, or one that it cannot read.
pub fn text_in(path: &Path, id: Option<&str>) -> Option<(String, Option<String>)> {
    let repository = super::ordinary::discover_whole(path.parent()?).ok()?;
    let top = os::canonical(repository.workdir()?).ok()?;
    let commit = match id {
        Some(id) => repository.find_commit(git2::Oid::from_str(id).ok()?),
        None => repository.head().and_then(|head| head.peel_to_commit()),
    };
    let commit = commit.ok()?;
    let file = path.strip_prefix(top).ok()?;
    let text = || {
        let entry = commit
            .tree()
            .ok()?
            .get_path(&super::path_for_git(file))
            .ok()?;
        let blob = super::ordinary::blob(&repository, entry.id(), LARGEST)?;
        (!blob.is_binary()).then(|| String::from_utf8_lossy(blob.content()).into_owned())
    };
    Some((commit.id().to_string(), text()))
}

struct Blaming<'a> {
    place: &'a Place,
    quiet: &'a [Setting],
    until: Instant,
}

impl Blaming<'_> {
    /// Whether the history of a shallow clone ends at this commit.
    fn ends_at(&self, commit: &str) -> bool {
        let common = super::common_folder(&self.place.top);
        let ends = common.and_then(|common| std::fs::read_to_string(common.join("shallow")).ok());
        ends.is_some_and(|ends| ends.lines().any(|end| end == commit))
    }

    /// Whether git was content, what it printed and what it said.
    fn run(
        &self,
        args: &[impl AsRef<OsStr>],
        input: &[u8],
    ) -> Result<(bool, Vec<u8>, String), GitError> {
        let mut all: Vec<&OsStr> = ["-c", "core.quotePath=false"].map(OsStr::new).into();
        all.extend(args.iter().map(AsRef::as_ref));
        let out = git_until(&self.place.top, self.quiet, &all, input, self.until)?;
        let said = String::from_utf8_lossy(&out.stderr).trim().to_owned();
        Ok((out.status.success(), out.stdout, said))
    }

    fn has_commit(&self) -> Result<bool, GitError> {
        let head = ["rev-parse", "--verify", "--quiet", "HEAD"].map(OsStr::new);
        Ok(self.run(&head, b"")?.0)
    }

    /// Who shaped a 1-based line of a file, in a commit or (`contents`) as it is now; `moved`: where it was before it
    /// came there.
    fn blame(
        &self,
        commit: Option<&str>,
        file: &OsStr,
        line: usize,
        contents: Option<&[u8]>,
        moved: bool,
    ) -> Result<Option<Shaped>, GitError> {
        let first = line.saturating_sub(AROUND).max(1);
        let lines = contents.map_or(line + AROUND, |text| {
            let ends = text.iter().filter(|byte| **byte == b'\n').count();
            let last = ends + usize::from(!text.ends_with(b"\n"));
            last.min(line + AROUND)
        });
        let mut range = format!("-L{first},{}", lines.max(line));
        if contents.is_none() {
            // How many lines there are is not known here.
            range = format!("-L{first},+{}", line - first + 1);
        }
        let mut args: Vec<OsString> = ["blame", "--porcelain", "--no-textconv"]
            .map(OsString::from)
            .into();
        // A commit that `blame.ignoreRevsFile` passes over shaped its lines all the same. (An empty value of that setting
        // would not do: git sorts the names and reads the others behind it.)
        args.push("--ignore-revs-file=".into());
        if moved {
            args.extend(["-M", "-C"].map(OsString::from));
        }
        args.push(range.into());
        match (commit, contents) {
            (Some(commit), _) => args.push(commit.into()),
            (None, Some(_)) => args.extend(["--contents", "-"].map(OsString::from)),
            (None, None) => {}
        }
        args.extend([OsString::from("--"), file.into()]);
        let (content, printed, said) = self.run(&args, contents.unwrap_or_default())?;
        if !content {
            if said.contains("no such path") {
                return Ok(None);
            }
            // git reads that file though nothing of it counts here, and cannot be told not to.
            let of_setting = said.contains("object name list");
            return Err(GitError::Refused(if of_setting {
                format!(
                    "{said} (git's setting blame.ignoreRevsFile names it; where that is set: git config --show-origin --get-all blame.ignoreRevsFile)"
                )
            } else {
                said
            }));
        }
        Ok(parse(&printed, line))
    }

    /// The line before a commit changed it; `None`: the commit brought it.
    fn earlier(&self, shaped: &Shaped) -> Result<Option<Shaped>, GitError> {
        let Some((commit, file)) = &shaped.previous else {
            return Ok(None);
        };
        let after = self.blob(&shaped.commit, &shaped.file)?;
        let before = match self.blob(commit, file) {
            Ok(before) => before,
            // It was not there under that name: the commit brought it.
            Err(GitError::Refused(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let map = LineMap::new(&before, &after);
        let line = match map.before(shaped.line.saturating_sub(1)) {
            Before::Same(line) | Before::Changed(line) => line + 1,
            Before::Absent => return Ok(None),
        };
        self.blame(Some(commit), file.as_os_str(), line, None, true)
    }

    fn blob(&self, commit: &str, file: &Path) -> Result<String, GitError> {
        let mut name = OsString::from(format!("{commit}:"));
        name.push(file);
        let [command, kind] = ["cat-file", "blob"].map(OsStr::new);
        let (content, printed, said) = self.run(&[command, kind, &name], b"")?;
        if !content {
            return Err(GitError::Refused(said));
        }
        if printed.len() > LARGEST {
            return Err(GitError::Failed(format!(
                "{} is larger than {LARGEST} bytes",
                file.display()
            )));
        }
        Ok(String::from_utf8_lossy(&printed).into_owned())
    }
}

/// The entry of a line in what `git blame --porcelain` prints: a header `id was is [count]`, once for each commit
/// what is known of it, then a tab and the line. `None`: it is not committed.
fn parse(printed: &[u8], wanted: usize) -> Option<Shaped> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut known: HashMap<&[u8], HashMap<&[u8], &[u8]>> = HashMap::new();
    let mut now: Option<(&[u8], usize, usize)> = None;
    for line in printed.split(|byte| *byte == b'\n') {
        if let Some(said) = line.strip_prefix(b"\t") {
            let (id, was, is) = now.take()?;
            if is != wanted {
                continue;
            }
            if id.iter().all(|byte| *byte == b'0') {
                return None;
            }
            let facts = known.get(id)?;
            let fact = |name: &str| facts.get(name.as_bytes()).copied().unwrap_or_default();
            let previous = split_once(fact("previous"));
            return Some(Shaped {
                commit: text(id),
                author: text(fact("author")),
                time: text(fact("author-time")).parse().unwrap_or(0),
                summary: text(fact("summary")),
                file: unquoted(fact("filename")),
                line: was,
                text: text(said.strip_suffix(b"\r").unwrap_or(said)),
                previous: previous.map(|(id, file)| (text(id), unquoted(file))),
            });
        }
        match now {
            None => {
                let mut words = line.split(|byte| *byte == b' ');
                let id = words.next()?;
                let mut number = || text(words.next()?).parse().ok();
                now = Some((id, number()?, number()?));
            }
            Some((id, ..)) => {
                let (name, value) = split_once(line).unwrap_or((line, b""));
                // The file may be another for each block of lines of one commit.
                known.entry(id).or_default().insert(name, value);
            }
        }
    }
    None
}

/// What stands before the first blank, and behind it.
fn split_once(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (word, rest) = line.split_at(memchr::memchr(b' ', line)?);
    Some((word, rest.get(1..)?))
}

/// A path as git prints it: in quotes with escapes where it holds `"`, `\` or a control character.
fn unquoted(printed: &[u8]) -> PathBuf {
    let path = |bytes: &[u8]| super::path_for_git(&super::bytes_to_path(bytes));
    let quoted = printed
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""));
    let Some(quoted) = quoted else {
        return path(printed);
    };
    let mut out = Vec::new();
    let mut bytes = quoted.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    if let Some(digit) = bytes.next_if(|byte| matches!(byte, b'0'..=b'7')) {
                        value = value * 8 + u32::from(digit - b'0');
                    }
                }
                out.push(u8::try_from(value).unwrap_or(b'?'));
            }
            Some(b'n') => out.push(b'\n'),
            Some(b't') => out.push(b'\t'),
            Some(b'r') => out.push(b'\r'),
            Some(b'a') => out.push(7),
            Some(b'b') => out.push(8),
            Some(b'v') => out.push(11),
            Some(b'f') => out.push(12),
            Some(other) => out.push(other),
            None => {}
        }
    }
    path(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_quotes() {
        assert_eq!(unquoted(b"a b.rs"), Path::new("a b.rs"));
        let quoted = br#""a\"b\\\303\244\n""#;
        assert_eq!(unquoted(quoted), Path::new("a\"b\\ä\n"));
    }

    #[test]
    fn what_git_prints_is_read() {
        let id = "1".repeat(40);
        let printed = format!(
            "{id} 3 1 2\nauthor Jane Doe\nauthor-time 86400\nsummary Begin\nprevious {id} old.rs\nfilename was.rs\n\tfn a() {{}}\n\
             {id} 4 2\n\tfn b() {{}}\n{} 3 3 1\nauthor Not Committed Yet\nfilename a.rs\n\tx\n",
            "0".repeat(40)
        );
        let found = parse(printed.as_bytes(), 2).expect("an entry");
        assert_eq!(
            (found.line, &*found.file, &*found.text),
            (4, Path::new("was.rs"), "fn b() {}")
        );
        assert_eq!((&*found.author, found.time), ("Jane Doe", 86_400));
        assert_eq!(found.previous, Some((id, PathBuf::from("old.rs"))));
        assert_eq!(parse(printed.as_bytes(), 3), None);
        assert_eq!(parse(printed.as_bytes(), 9), None);
        assert_eq!(parse(b"fatal: nonsense\n\xff", 1), None);
    }
}
