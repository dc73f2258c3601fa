//! L3. Our own log: its newest lines in memory, so that an agent can read them (`log_read`), and in a file of the
//! user's state folder, which all processes share. What writes the log is a face's (`cli`); here a line is cleaned,
//! freed of keys and kept.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::os;
use crate::present::visible;

/// Lines that are kept.
const MOST: usize = 2_000;
/// Characters of one line.
const LONGEST: usize = 1_000;

/// Bytes of the file from which on it becomes the older one, in place of that.
const LARGEST: u64 = 1 << 20;

/// The file, once there is one.
static FILE: OnceLock<PathBuf> = OnceLock::new();

static LINES: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

/// The file in the user's state folder; it is made with the first line.
pub fn file(state: &Path) -> PathBuf {
    state.join("postil.log")
}

/// From now on lines are written to this file, too.
pub fn write_to(file: PathBuf) {
    let _ = FILE.set(file);
}

/// Adds a line to the file, whoever else does so at this moment: it goes out in one write, behind what is there.
fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut options = File::options();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = match (options.open(path), path.parent()) {
        (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
            os::make_private_folder(folder)?;
            options.open(path)?
        }
        (opened, _) => opened?,
    };
    if file.metadata()?.len() > LARGEST {
        make_room(path, &file)?;
        file = options.open(path)?;
    }
    file.write_all(format!("{line}\n").as_bytes())
}

/// Looks again under a lock: another process that found the file as large may have been here first.
fn make_room(path: &Path, file: &File) -> io::Result<()> {
    if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return Ok(());
    }
    if std::fs::metadata(path)?.len() > LARGEST {
        std::fs::rename(path, path.with_extension("log.1"))?;
    }
    Ok(())
}

/// Keeps a line, which begins with its time, in place of the oldest where there are too many.
pub fn keep(line: &str) {
    let line = cleaned(line, secrets());
    if let Some(file) = FILE.get() {
        let (time, said) = line.split_once(' ').unwrap_or((&line, ""));
        // There is nobody to tell: `postil doctor` says what is wrong with it.
        let _ = append(file, &format!("{time} {} {said}", std::process::id()));
    }
    let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    if lines.len() >= MOST {
        lines.pop_front();
    }
    lines.push_back(line);
}

/// The newest lines, the newest first.
pub fn newest(limit: usize) -> Vec<String> {
    let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    lines.iter().rev().take(limit).cloned().collect()
}

/// The values of the environment that are secret.
fn secrets() -> &'static [String] {
    static SECRETS: OnceLock<Vec<String>> = OnceLock::new();
    SECRETS.get_or_init(|| {
        let named = std::env::vars_os()
            .filter(|(name, value)| is_hidden(name, value))
            .map(|(_, value)| value.to_string_lossy().into_owned());
        // A short value is a word that stands elsewhere too.
        let mut secrets: Vec<String> = named.filter(|value| value.len() >= 8).collect();
        // The longest first: one may be a part of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets
    })
}

/// More by their names than are kept from programs, which may need what stands under such a one; and not all that belongs
/// to a cloud: the name of a model, say, is what a line is about.
fn is_hidden(name: &OsStr, value: &OsStr) -> bool {
    let upper = name.to_string_lossy().to_uppercase();
    let telling = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];
    telling.iter().any(|word| upper.contains(word)) || os::holds_secret(name, value)
}

fn cleaned(line: &str, secrets: &[String]) -> String {
    let mut line = line.to_owned();
    for secret in secrets {
        line = line.replace(secret.as_str(), HIDDEN);
    }
    let mut before = "";
    let words: Vec<String> = line
        .split_whitespace()
        .map(|word| {
            let hide = looks_secret(word) || before.eq_ignore_ascii_case("bearer");
            before = word;
            if hide {
                HIDDEN.to_owned()
            } else {
                visible(word)
            }
        })
        .collect();
    words.join(" ").chars().take(LONGEST).collect()
}

const HIDDEN: &str = "[key]";

/// What keys look like, wherever they come from.
fn looks_secret(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let inner = word.rsplit(['=', ':', '"', '\'']).next().unwrap_or(word);
    let begins = [
        "sk-",
        "sk_",
        "ghp_",
        "gho_",
        "github_pat_",
        "xoxb-",
        "AIza",
        "AKIA",
    ];
    inner.len() >= 16 && begins.iter().any(|begin| inner.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line_without_keys_and_controls() {
        let secrets = [String::from("hunter22-and-more")];
        let clean = |line: &str| cleaned(line, &secrets);
        assert_eq!(clean("a\nb\t c\u{1b}[31m\u{202e}"), "a b c⟨U+202E⟩");
        assert_eq!(clean("key=hunter22-and-more!"), "key=[key]!");
        assert_eq!(clean("x sk-ant-0123456789abcdef y"), "x [key] y");
        assert_eq!(clean("{\"k\":\"sk-ant-0123456789abcdef\"}"), "[key]");
        assert_eq!(
            clean("Authorization: Bearer abc"),
            "Authorization: Bearer [key]"
        );
        assert_eq!(clean(&"é".repeat(5000)).chars().count(), LONGEST);
    }

    #[test]
    fn more_names_are_hidden_here_and_what_a_line_is_about_is_not() {
        let hidden = |name: &str| is_hidden(name.as_ref(), "0123456789".as_ref());
        for name in [
            "TOKEN_GITHUB",
            "GITHUB_TOKENS",
            "MISTRAL_KEY_2",
            "OPENAI_API_KEY",
            "MYSQL_PWD",
        ] {
            assert!(hidden(name), "{name}");
        }
        for name in ["AWS_REGION", "OPENAI_BASE_URL", "ANTHROPIC_MODEL", "HOME"] {
            assert!(!hidden(name), "{name}");
        }
    }

    #[test]
    fn the_file_makes_room_for_what_is_new() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = file(&folder.path().join("a/b"));
        let line = "x".repeat(999);
        let many = 3 * LARGEST / 1000;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..many / 4 {
                        append(&path, &line).expect("it is written");
                    }
                });
            }
        });
        let sizes = [path.clone(), path.with_extension("log.1")].map(|path| {
            let text = std::fs::read_to_string(path).expect("it is there");
            assert!(text.lines().all(|read| read == line), "a torn line");
            text.len() as u64
        });
        assert!(sizes[1] > LARGEST && sizes.iter().all(|size| *size <= LARGEST + 8000));
        assert_eq!(
            std::fs::read_dir(path.parent().expect("a folder"))
                .expect("a list")
                .count(),
            2
        );
        #[cfg(unix)]
        for (path, expected) in [
            (path.as_path(), 0o600),
            (path.parent().expect("one"), 0o700),
        ] {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(path)
                .expect("it is there")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, expected, "{}", path.display());
        }
    }

    #[test]
    fn the_newest_line_comes_first() {
        keep("the line before the last of this test");
        keep("the last line of this test");
        let lines = newest(MOST);
        let at = |text: &str| lines.iter().position(|line| line == text);
        assert!(at("the last line of this test") < at("the line before the last of this test"));
        for n in 0..MOST + 10 {
            keep(&format!("flood {n}"));
        }
        assert!(newest(usize::MAX).len() <= MOST);
    }
}
