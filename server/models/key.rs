//! Keys: where they come from, and that they are never shown.

use std::collections::BTreeMap;
use std::fmt;
use std::process::Stdio;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use reqwest::header::HeaderValue;
use serde_json::Value;
use tokio::io::AsyncReadExt;

use super::{Answer, Block, ModelError};
use crate::os;

/// A program that asks a person to unlock something takes its time.
const COMMAND: Duration = Duration::from_secs(60);
/// Bytes that a program may print as a key.
const LONGEST: u64 = 16 << 10;

/// Stands where a key stood.
const HIDDEN: &str = "…";

/// A secret: never shown, never stored.
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

    /// What somebody wrote in place of a key, for a server that wants none (`dummy`), is a word like others: a key has
    /// letters and digits, or is longer than words are.
    const SHORTEST: usize = 6;
    const LONGER: usize = 16;

    /// What is to be hidden.
    fn secret(&self) -> Option<&str> {
        let key = self.0.to_str().ok()?;
        let is_mixed = key.contains(|c: char| c.is_ascii_digit())
            && key.contains(|c: char| c.is_ascii_alphabetic());
        let is_secret = key.len() >= Self::LONGER || key.len() >= Self::SHORTEST && is_mixed;
        is_secret.then_some(key)
    }

    /// `text` without the key, should a server have repeated it.
    pub(super) fn hide(&self, text: &str) -> String {
        match self.secret() {
            Some(key) => text.replace(key, HIDDEN),
            None => text.to_owned(),
        }
    }
}

/// Takes a key out of an answer, should a server have repeated it: out of the text as it streams, where it may come in
/// pieces, and out of what is kept of it.
pub(super) struct Hider {
    /// `None`: there is nothing to hide.
    key: Option<String>,
    /// The end of the text so far, where it may be a key's beginning.
    held: Mutex<String>,
}

impl Hider {
    pub(super) fn new(key: Option<&Key>) -> Self {
        let key = key.and_then(Key::secret);
        Self {
            key: key.map(str::to_owned),
            held: Mutex::default(),
        }
    }

    /// What may be heard of the text once `piece` has come.
    pub(super) fn piece(&self, piece: String) -> String {
        let Some(key) = &self.key else { return piece };
        let mut held = self.held.lock().unwrap_or_else(|e| e.into_inner());
        let text = (std::mem::take(&mut *held) + &piece).replace(key, HIDDEN);
        // A key is ASCII, so that its beginnings end where characters do.
        let most = key.len().min(text.len() + 1);
        let begun = (1..most)
            .rev()
            .find(|n| key.get(..*n).is_some_and(|start| text.ends_with(start)));
        let (heard, rest) = text.split_at(text.len() - begun.unwrap_or_default());
        rest.clone_into(&mut held);
        heard.to_owned()
    }

    /// What was held back, for nothing more comes that would make it a key.
    pub(super) fn rest(&self) -> String {
        std::mem::take(&mut *self.held.lock().unwrap_or_else(|e| e.into_inner()))
    }

    /// The answer without it. What is sent back as it came, with a signature, is left out whole where the key stands in it.
    pub(super) fn whole(&self, mut answer: Answer) -> Answer {
        let Some(key) = &self.key else { return answer };
        let clean = |text: &mut String| {
            if text.contains(key) {
                *text = text.replace(key, HIDDEN);
            }
        };
        answer.blocks.retain(|block| match block {
            Block::Thinking { thinking, .. } => !thinking.contains(key),
            Block::Reasoning { item, .. } => !item.to_string().contains(key),
            _ => true,
        });
        for block in &mut answer.blocks {
            match block {
                Block::Text { text } => clean(text),
                Block::ToolUse { input, .. } => hide_in(input, &clean),
                _ => {}
            }
        }
        clean(&mut answer.model);
        answer
    }
}

fn hide_in(value: &mut Value, clean: &impl Fn(&mut String)) {
    match value {
        Value::String(text) => clean(text),
        Value::Array(all) => all.iter_mut().for_each(|value| hide_in(value, clean)),
        Value::Object(all) => {
            for (mut name, mut value) in std::mem::take(all) {
                clean(&mut name);
                hide_in(&mut value, clean);
                all.insert(name, value);
            }
        }
        _ => {}
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

    /// The server at `address` wants another key than this; `said`: its status, and what it said.
    pub(super) fn refused(&self, provider: &str, address: &str, said: &str) -> ModelError {
        let remedy = match self {
            Self::None => {
                return ModelError::NoKey(format!(
                    "{address} wants a key ({said}): name the variable that has it as providers.{provider}.apiKeyEnv in your config.toml"
                ));
            }
            Self::Command { .. } => "have it give a valid key, and ask again",
            Self::Found { .. } => {
                "set a valid key there and start your editor (or the command) again with it"
            }
        };
        ModelError::NoKey(format!(
            "the key in {} was refused by {address} ({said}): {remedy}",
            self.place()
        ))
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

    /// Another key in place of `old`, which was refused: the program is asked again. `None`: there is none.
    ///
    /// # Errors
    /// `NoKey`, where it gives none any more.
    pub(super) async fn renewed(&self, old: &Key) -> Result<Option<Key>, ModelError> {
        let Self::Command { command, .. } = self else {
            return Ok(None);
        };
        // Another turn may have asked already.
        let is_kept = known().get(command).is_some_and(|key| key.0 == old.0);
        if is_kept {
            self.forget();
        }
        Ok(self.get().await?.filter(|key| key.0 != old.0))
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

    #[test]
    fn a_key_in_an_answer_is_hidden_however_it_is_cut() {
        let key = Key::new("sk-sk-canary-1").expect("a key");
        let said = "The key is sk-sk-canary-1, sk-sk-sk-canary-1 and sk-sk-canary-2.";
        for size in 1..said.len() {
            let hider = Hider::new(Some(&key));
            let pieces = said.as_bytes().chunks(size);
            let text = |piece: &[u8]| String::from_utf8_lossy(piece).into_owned();
            let mut heard: String = pieces.map(|piece| hider.piece(text(piece))).collect();
            heard += &hider.rest();
            assert_eq!(heard, "The key is …, sk-… and sk-sk-canary-2.", "{size}");
        }
        // Characters of several bytes stand around it.
        let hider = Hider::new(Some(&key));
        assert_eq!(
            hider.piece(String::from("ä")) + &hider.piece(String::from("sk-ö")),
            "äsk-ö"
        );
        // A word in the place of a key is a word.
        let hider = Hider::new(Key::new("no-key-required").as_ref());
        assert_eq!(
            hider.piece(String::from("no-key-required")),
            "no-key-required"
        );
    }

    #[test]
    fn a_key_in_what_is_kept_of_an_answer_is_hidden() {
        let key = Key::new("sk-canary-0123").expect("a key");
        let thinking = |thinking: &str| Block::Thinking {
            thinking: thinking.to_owned(),
            signature: String::from("s"),
        };
        let said = Answer {
            blocks: vec![
                thinking("sk-canary-0123"),
                thinking("else"),
                Block::Text {
                    text: String::from("it is sk-canary-0123"),
                },
                Block::ToolUse {
                    id: String::from("1"),
                    name: String::from("file_write"),
                    input: serde_json::json!({"sk-canary-0123": [{"a": "b sk-canary-0123"}, 1]}),
                },
            ],
            stop: super::super::Stop::EndTurn,
            usage: super::super::Usage::default(),
            model: String::from("m"),
        };
        let kept = Hider::new(Some(&key)).whole(said);
        assert_eq!(kept.blocks.len(), 3, "what is signed cannot be changed");
        let all = format!("{kept:?}");
        assert!(!all.contains("canary") && all.contains("it is …"), "{all}");
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
