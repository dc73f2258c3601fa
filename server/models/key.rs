//! Keys: where they come from, and that they are never shown.

use std::collections::BTreeMap;
use std::fmt;
use std::process::Stdio;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use reqwest::header::HeaderValue;
use tokio::io::AsyncReadExt;

use super::ModelError;
use crate::os;

/// A program that asks a person to unlock something takes its time.
const COMMAND: Duration = Duration::from_secs(60);
/// Bytes that a program may print as a key.
const LONGEST: u64 = 16 << 10;

/// A secret: never shown, never compared, never stored.
#[derive(Clone)]
pub struct Key(HeaderValue);

impl Key {
    /// Fails where no HTTP header can hold it. Blanks around it come from files and are left out.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let mut value = HeaderValue::from_str(text)
            .ok()
            .filter(|_| !text.is_empty())?;
        value.set_sensitive(true);
        Some(Self(value))
    }

    /// For `x-api-key`.
    pub(super) fn bare(&self) -> HeaderValue {
        self.0.clone()
    }

    /// For `authorization`.
    pub(super) fn bearer(&self) -> HeaderValue {
        let bytes = [b"Bearer ", self.0.as_bytes()].concat();
        let mut value = HeaderValue::from_bytes(&bytes).unwrap_or_else(|_| self.0.clone());
        value.set_sensitive(true);
        value
    }

    /// `text` without the key, should a server have repeated it.
    pub(super) fn hide(&self, text: &str) -> String {
        match self.0.to_str() {
            Ok(key) if text.contains(key) => text.replace(key, "…"),
            _ => text.to_owned(),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Where a key comes from. A program is run when the key is needed and not before.
#[derive(Clone, Debug)]
pub enum KeySource {
    /// The server wants none.
    None,
    /// Found already; `from` names the place, for messages.
    Found { key: Key, from: String },
    /// Program and arguments that print the key, run without a shell; `setting` says so.
    Command {
        command: Vec<String>,
        setting: &'static str,
    },
}

impl KeySource {
    /// The keyring of the system, asked through the system's own program for it: service `postil`, account
    /// the provider's name. `None` where the system has no such program.
    pub fn keyring(provider: &str) -> Option<Self> {
        let words: &[&str] = if cfg!(target_os = "macos") {
            &[
                "security",
                "find-generic-password",
                "-w",
                "-s",
                "postil",
                "-a",
            ]
        } else if cfg!(unix) {
            &["secret-tool", "lookup", "service", "postil", "account"]
        } else {
            return None;
        };
        let words = words.iter().copied().chain([provider]);
        Some(Self::Command {
            command: words.map(str::to_owned).collect(),
            setting: "keyring",
        })
    }

    /// The place, for a sentence. Never the key.
    pub fn place(&self) -> String {
        match self {
            Self::None => String::from("no key"),
            Self::Found { from, .. } => from.clone(),
            Self::Command { command, setting } => format!(
                "{setting} ({})",
                command.first().map(String::as_str).unwrap_or_default()
            ),
        }
    }

    /// The key, `None` where none is wanted.
    ///
    /// # Errors
    /// `NoKey`, with what to set.
    pub(super) async fn get(&self) -> Result<Option<Key>, ModelError> {
        match self {
            Self::None => Ok(None),
            Self::Found { key, .. } => Ok(Some(key.clone())),
            Self::Command { command, setting } => {
                if let Some(key) = known().get(command) {
                    return Ok(Some(key.clone()));
                }
                let key = run(command, setting).await?;
                known().insert(command.clone(), key.clone());
                Ok(Some(key))
            }
        }
    }

    /// The key was refused: the program is asked again the next time.
    pub(super) fn forget(&self) {
        if let Self::Command { command, .. } = self {
            known().remove(command);
        }
    }
}

/// What programs have printed, for as long as this process lives.
fn known() -> std::sync::MutexGuard<'static, BTreeMap<Vec<String>, Key>> {
    static KNOWN: OnceLock<Mutex<BTreeMap<Vec<String>, Key>>> = OnceLock::new();
    KNOWN
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(|e| e.into_inner())
}

async fn run(command: &[String], setting: &str) -> Result<Key, ModelError> {
    let failed = |why: String| {
        let name = command.first().map(String::as_str).unwrap_or_default();
        ModelError::NoKey(format!(
            "the program of {setting} (`{name}`) {why}: run it in a terminal, or correct the setting in your config.toml"
        ))
    };
    let Some((program, arguments)) = command.split_first() else {
        return Err(ModelError::NoKey(String::from(
            "apiKeyCommand is empty: write the program and its arguments there, such as [\"pass\", \"show\", \"anthropic\"]",
        )));
    };
    let mut command = tokio::process::Command::new(os::by_name(program));
    os::no_window(command.as_std_mut());
    let mut child = command
        .args(arguments)
        // Not the workspace: a PATH with `.` in it must not find a program there.
        .current_dir(os::neutral_folder())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // What it says may hold what it was to keep.
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(format!("cannot be started ({error})")))?;
    let mut started = Started(child.id());
    let mut out = Vec::new();
    let read = async {
        if let Some(stdout) = child.stdout.take() {
            stdout.take(LONGEST).read_to_end(&mut out).await?;
        }
        child.wait().await
    };
    let status = tokio::time::timeout(COMMAND, read)
        .await
        .map_err(|_| failed(format!("did not end within {} s", COMMAND.as_secs())))?
        .map_err(|error| failed(format!("failed ({error})")))?;
    // Its number may be another's from now on.
    started.0 = None;
    if !status.success() {
        return Err(failed(match status.code() {
            Some(code) => format!("ended with status {code}"),
            None => String::from("was killed"),
        }));
    }
    // As password managers print: the secret is the first line.
    let text = String::from_utf8_lossy(&out);
    let line = text.lines().find(|l| !l.trim().is_empty());
    line.and_then(Key::new)
        .ok_or_else(|| failed(String::from("printed no key")))
}

/// Ends what a program has started where nobody waits for it any more. It stays in our process group, for it may
/// ask for a password on the terminal.
struct Started(Option<u32>);

impl Drop for Started {
    fn drop(&mut self) {
        let left = self.0.map(os::descendants).unwrap_or_default();
        left.into_iter().for_each(os::kill);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyring_is_asked_for_one_provider() {
        let Some(KeySource::Command { command, setting }) = KeySource::keyring("anthropic") else {
            panic!("unix has one");
        };
        assert_eq!(setting, "keyring");
        assert_eq!(command.last().map(String::as_str), Some("anthropic"));
    }

    fn command(words: &[&str]) -> KeySource {
        KeySource::Command {
            command: words.iter().map(|w| (*w).to_owned()).collect(),
            setting: "apiKeyCommand",
        }
    }

    #[tokio::test]
    async fn a_program_prints_the_key_and_is_asked_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let count = folder.path().join("count");
        let script = format!(
            "echo x >> '{}'; echo '  sk-canary-1  '; echo user: me",
            count.display()
        );
        let source = command(&["sh", "-c", &script]);
        let shown = format!("{source:?} {}", source.place());
        assert!(!shown.contains("sk-canary-1  '") || shown.contains("Command"));
        for _ in 0..2 {
            let key = source.get().await.expect("a key").expect("one");
            assert_eq!(key.bare().as_bytes(), b"sk-canary-1");
            assert_eq!(key.bearer().as_bytes(), b"Bearer sk-canary-1");
            assert!(!format!("{key:?}").contains("canary"));
        }
        let runs = |at| std::fs::read_to_string(at).map(|t| t.lines().count());
        assert_eq!(runs(&count).ok(), Some(1));
        // After a refusal it is asked again: the key may have been changed.
        source.forget();
        source.get().await.expect("a key");
        assert_eq!(runs(&count).ok(), Some(2));
    }

    #[tokio::test]
    async fn a_program_that_gives_no_key_is_said_so_without_what_it_printed() {
        for (words, word) in [
            (vec!["/no/such/program"], "cannot be started"),
            (vec!["sh", "-c", "echo sk-canary; exit 3"], "status 3"),
            (vec!["true"], "printed no key"),
            (
                vec!["sh", "-c", "printf 'sk-\\001canary'"],
                "printed no key",
            ),
            (vec![], "empty"),
        ] {
            let error = command(&words).get().await.expect_err("no key").to_string();
            assert!(error.contains(word) && !error.contains("canary"), "{error}");
        }
    }
}
