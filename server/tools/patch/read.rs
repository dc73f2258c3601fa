//! From the text of a patch to its files and hunks. The counts of a hunk's header say which lines are
//! its own: within them `--- x` is a removed line `-- x`, and no header.

use super::names::{both, name, strip_both};
use super::{FilePatch, Hunk, Kind, Line, Sign};

/// # Errors
/// A sentence that names the file, the hunk or the line of the patch. Nothing of a patch is read that is
/// not understood whole.
pub(crate) fn read(patch: &str) -> Result<Vec<FilePatch>, String> {
    let mut reader = Reader {
        lines: patch.split('\n').collect(),
        at: 0,
        prose: true,
    };
    if reader.lines.last().is_some_and(|line| line.is_empty()) {
        reader.lines.pop();
    }
    let mut files = Vec::new();
    while let Some(header) = reader.header()? {
        files.push(reader.file(header)?);
    }
    if files.is_empty() {
        return Err(String::from(
            "This is no unified diff: give for each file the lines `--- a/PATH` and `+++ b/PATH` (`/dev/null` for a new or removed file), then hunks that begin with `@@ -START,COUNT +START,COUNT @@`.",
        ));
    }
    Ok(files)
}

/// The lines of a rename, and those of a copy.
const MOVES: [(&str, &str); 2] = [("rename from ", "rename to "), ("copy from ", "copy to ")];

struct Reader<'a> {
    lines: Vec<&'a str>,
    at: usize,
    /// Before the first file, or behind a mail's signature: other text may stand there.
    prose: bool,
}

/// What the lines before a file's hunks say.
#[derive(Default)]
struct Header {
    /// Of `diff --git`.
    both: Option<(String, String)>,
    /// Of `---` and `+++`; the inner `None` is `/dev/null`.
    old: Option<Option<String>>,
    new: Option<Option<String>>,
    renamed: (Option<String>, Option<String>),
    copied: (Option<String>, Option<String>),
    made: bool,
    removed: bool,
    /// The patch itself has CR LF, whatever the file has.
    crlf: bool,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    fn after(&self) -> Option<&'a str> {
        self.lines.get(self.at + 1).copied()
    }

    /// The headers of the next file; `None`: there is none.
    fn header(&mut self) -> Result<Option<Header>, String> {
        while let Some(line) = self.peek() {
            if line.starts_with("diff --git ") || self.is_pair() || self.is_move() {
                return self.read_header().map(Some);
            }
            if line == "-- " || line == "-- \r" {
                self.prose = true;
            } else if !self.prose && MOVES.iter().any(|(from, _)| line.starts_with(from)) {
                return Err(format!(
                    "Line {} of the patch (`{}`) is not followed by the line that says where to (`rename to PATH`, `copy to PATH`); nothing was written.",
                    self.at + 1,
                    cut(line)
                ));
            } else if !self.prose && line.starts_with(['+', '-', ' ', '@', '\\']) {
                return Err(format!(
                    "Line {} of the patch (`{}`) belongs to no hunk: the counts in the header of the hunk above it do not cover it. Count the lines of that hunk again.",
                    self.at + 1,
                    cut(line)
                ));
            }
            self.at += 1;
        }
        Ok(None)
    }

    /// Whether `---` and `+++` stand here.
    fn is_pair(&self) -> bool {
        self.peek().is_some_and(|line| line.starts_with("--- "))
            && self.after().is_some_and(|line| line.starts_with("+++ "))
    }

    /// Whether the two lines of a rename or a copy stand here.
    fn is_move(&self) -> bool {
        let lines = self.peek().zip(self.after());
        let mut moves = MOVES.iter();
        lines.is_some_and(|(line, next)| {
            moves.any(|(from, to)| line.starts_with(from) && next.starts_with(to))
        })
    }

    fn read_header(&mut self) -> Result<Header, String> {
        let mut header = Header::default();
        let mut begun = false;
        while let Some(whole) = self.peek() {
            let line = whole.strip_suffix('\r').unwrap_or(whole);
            let at = self.at + 1;
            let named =
                |text: &str| name(text).map_err(|why| format!("Line {at} of the patch: {why}."));
            if let Some(names) = line.strip_prefix("diff --git ") {
                if begun {
                    break; // the next file
                }
                header.both = both(names);
            } else if self.is_pair() {
                let new = self.after().unwrap_or_default();
                let new = new.strip_suffix('\r').unwrap_or(new);
                let old = unless_null(named(line.get(4..).unwrap_or_default())?);
                let new = unless_null(named(new.get(4..).unwrap_or_default())?);
                if !header.may_name(old.as_deref(), new.as_deref()) {
                    break; // the next file
                }
                header.crlf = whole.ends_with('\r');
                (header.old, header.new) = (Some(old), Some(new));
                self.at += 2;
                break;
            } else if let Some(mode) = line.strip_prefix("new file mode ") {
                ordinary(mode, "make", at)?;
                header.made = true;
            } else if let Some(mode) = line.strip_prefix("deleted file mode ") {
                if !mode.starts_with("100") {
                    return Err(kind_refused("remove", mode, at));
                }
                header.removed = true;
            } else if let Some(mode) = line.strip_prefix("new mode ") {
                return Err(format!(
                    "Line {at} of the patch changes a file's mode to {}, and this tool changes none; nothing was written. Leave the `old mode` and `new mode` lines out.",
                    cut(mode)
                ));
            } else if self.is_move() && header.moved().is_some() {
                break; // the next file
            } else if let Some(text) = line.strip_prefix("rename from ") {
                header.renamed.0 = Some(named(text)?);
            } else if let Some(text) = line.strip_prefix("rename to ") {
                header.renamed.1 = Some(named(text)?);
            } else if let Some(text) = line.strip_prefix("copy from ") {
                header.copied.0 = Some(named(text)?);
            } else if let Some(text) = line.strip_prefix("copy to ") {
                header.copied.1 = Some(named(text)?);
            } else if let Some(rest) = line.strip_prefix("index ") {
                if let Some((_, mode)) = rest.rsplit_once(' ')
                    && !mode.starts_with("100")
                {
                    return Err(kind_refused("change", mode, at));
                }
            } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
                return Err(format!(
                    "Line {at} of the patch is about a binary file, and only text can be patched; nothing was written."
                ));
            } else if !is_other_header(line) {
                break;
            }
            begun = true;
            self.at += 1;
        }
        self.prose = false;
        Ok(header)
    }

    fn file(&mut self, header: Header) -> Result<FilePatch, String> {
        let crlf = header.crlf;
        let named = header.old.is_some();
        let kind = header.kind()?;
        let mut hunks = Vec::new();
        while self.peek().is_some_and(|line| line.starts_with("@@")) {
            hunks.push(self.hunk(kind.name(), hunks.len() + 1, crlf)?);
        }
        if hunks.is_empty() && (named || matches!(kind, Kind::Change(_))) {
            return Err(format!(
                "The patch has no hunk for {}: lines that begin with `@@ -START,COUNT +START,COUNT @@` and what follows are missing.",
                kind.name()
            ));
        }
        Ok(FilePatch { kind, hunks })
    }

    fn hunk(&mut self, file: &str, number: usize, crlf: bool) -> Result<Hunk, String> {
        let header = self.peek().unwrap_or_default();
        let Some((start, old, new)) = counts(header) else {
            return Err(format!(
                "The header of hunk {number} of {file} (`{}`) is not of the form `@@ -START,COUNT +START,COUNT @@`: the numbers are needed.",
                cut(header)
            ));
        };
        self.at += 1;
        let mut lines: Vec<Line> = Vec::new();
        let (mut old_left, mut new_left) = (old, new);
        while old_left > 0 || new_left > 0 {
            let seen = (old - old_left, new - new_left);
            let short = |found: &str| {
                format!(
                    "Hunk {number} of {file} (`{}`) says {old} old and {new} new lines, but {found} after {} old and {} new ones. Count its lines again.",
                    cut(header),
                    seen.0,
                    seen.1
                )
            };
            let Some(line) = self.peek() else {
                return Err(short("the patch ends"));
            };
            self.at += 1;
            let mut take = |from_old: bool, from_new: bool| {
                let fits = (!from_old || old_left > 0) && (!from_new || new_left > 0);
                if fits {
                    old_left -= usize::from(from_old);
                    new_left -= usize::from(from_new);
                }
                fits
            };
            let (sign, text) = match line.chars().next() {
                // Programs that trim blanks leave nothing of an empty line that is kept.
                None | Some('\r') => (Sign::Kept, line),
                Some(' ') => (Sign::Kept, line.get(1..).unwrap_or_default()),
                Some('+') => (Sign::Added, line.get(1..).unwrap_or_default()),
                Some('-') => (Sign::Removed, line.get(1..).unwrap_or_default()),
                Some('\\') => {
                    unended(&mut lines);
                    continue;
                }
                Some(_) => return Err(short(&format!("`{}` stands there", cut(line)))),
            };
            if !take(sign != Sign::Added, sign != Sign::Removed) {
                return Err(short(&format!("`{}` is one too many", cut(line))));
            }
            let text = if crlf {
                text.strip_suffix('\r').unwrap_or(text)
            } else {
                text
            };
            let text = format!("{text}\n");
            lines.push(Line { sign, text });
        }
        if self.peek().is_some_and(|line| line.starts_with('\\')) {
            self.at += 1;
            unended(&mut lines);
        }
        Ok(Hunk { start, lines })
    }
}

/// `\ No newline at end of file` is about the line before it.
fn unended(lines: &mut [Line]) {
    if let Some(last) = lines.last_mut()
        && last.text.ends_with('\n')
    {
        last.text.pop();
    }
}

impl Header {
    /// The two names of what is renamed or copied.
    fn moved(&self) -> Option<(&str, &str)> {
        let mut pairs = [&self.renamed, &self.copied].into_iter();
        pairs.find_map(|(from, to)| Some((from.as_deref()?, to.as_deref()?)))
    }

    /// Whether `---` and `+++` with these names can be about the file that is renamed or copied above them.
    fn may_name(&self, old: Option<&str>, new: Option<&str>) -> bool {
        let Some((from, to)) = self.moved() else {
            return true;
        };
        let is = |name: Option<&str>, prefix: &str, file: &str| {
            name.is_some_and(|name| name == file || name.strip_prefix(prefix) == Some(file))
        };
        (is(old, "a/", from) || is(old, "a/", to)) && is(new, "b/", to)
    }

    fn kind(self) -> Result<Kind, String> {
        if let (Some(from), Some(to)) = self.renamed {
            return Ok(Kind::Rename { from, to });
        }
        if let (Some(from), Some(to)) = self.copied {
            return Ok(Kind::Copy { from, to });
        }
        match (self.old, self.new) {
            (Some(Some(old)), _) if self.made => Err(format!(
                "`new file mode` stands above `--- {}`, which names a file that is there. A new file has `--- /dev/null` there.",
                cut(&old)
            )),
            (_, Some(Some(new))) if self.removed => Err(format!(
                "`deleted file mode` stands above `+++ {}`, which names a file that stays. A removed file has `+++ /dev/null` there.",
                cut(&new)
            )),
            (Some(Some(old)), Some(Some(new))) => {
                let (old, new) = strip_both(&old, &new);
                if old != new {
                    return Err(format!(
                        "`--- {}` and `+++ {}` name two files. Write the same name in both, or `rename from` and `rename to` lines above them.",
                        cut(old),
                        cut(new)
                    ));
                }
                Ok(Kind::Change(old.to_owned()))
            }
            (Some(None), Some(Some(new))) => Ok(Kind::Make(without(&new, "b/"))),
            (Some(Some(old)), Some(None)) => Ok(Kind::Remove(without(&old, "a/"))),
            (Some(None), Some(None)) => Err(String::from(
                "`--- /dev/null` and `+++ /dev/null` name no file.",
            )),
            _ => match self.both {
                Some((_, new)) if self.made => Ok(Kind::Make(new)),
                Some((old, _)) if self.removed => Ok(Kind::Remove(old)),
                Some((old, new)) if old == new => Ok(Kind::Change(old)),
                _ => Err(String::from(
                    "A `diff --git` line is followed by no `---` and `+++` lines that name its file.",
                )),
            },
        }
    }
}

fn unless_null(name: String) -> Option<String> {
    (name != "/dev/null").then_some(name)
}

fn without(name: &str, prefix: &str) -> String {
    name.strip_prefix(prefix).unwrap_or(name).to_owned()
}

/// A new file is an ordinary one that cannot be run.
fn ordinary(mode: &str, what: &str, at: usize) -> Result<(), String> {
    match mode {
        "100644" => Ok(()),
        "100755" => Err(format!(
            "Line {at} of the patch would make a file that can be run (mode 100755), and this tool makes none; nothing was written. Use mode 100644."
        )),
        mode => Err(kind_refused(what, mode, at)),
    }
}

fn kind_refused(what: &str, mode: &str, at: usize) -> String {
    let kind = match mode {
        "120000" => "a symbolic link",
        "160000" => "a submodule",
        _ => "no ordinary file",
    };
    format!(
        "Line {at} of the patch would {what} what is {kind} (mode {}); only ordinary files can be patched, and nothing was written.",
        cut(mode)
    )
}

/// What git writes beside, and what says nothing that is not said elsewhere.
fn is_other_header(line: &str) -> bool {
    ["old mode ", "similarity index ", "dissimilarity index "]
        .iter()
        .any(|start| line.starts_with(start))
}

/// Old start, old count, new count of `@@ -3,4 +3,5 @@ …`; a count that is left out is 1.
fn counts(header: &str) -> Option<(usize, usize, usize)> {
    let rest = header.strip_prefix("@@ -")?;
    let (old, rest) = rest.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        let digits = |text: &str| -> Option<usize> {
            // No file has more lines, and sums of two of them have a place.
            let number: Option<u32> = text
                .bytes()
                .all(|b| b.is_ascii_digit())
                .then(|| text.parse().ok())
                .flatten();
            usize::try_from(number?).ok()
        };
        match text.split_once(',') {
            Some((start, count)) => Some((digits(start)?, digits(count)?)),
            None => Some((digits(text)?, 1)),
        }
    };
    let ((start, old), (_, new)) = (range(old)?, range(new)?);
    Some((start, old, new))
}

/// For messages.
fn cut(text: &str) -> String {
    let visible = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut shown: String = text.chars().take(120).map(visible).collect();
    if text.chars().nth(120).is_some() {
        shown.push('…');
    }
    shown
}
