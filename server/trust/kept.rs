//! A small JSON file in the data folder that is the user's alone: read, and changed under a lock that other
//! processes wait for. Trust, grants and the answers about agents are kept so.

use std::io::Write as _;
use std::marker::PhantomData;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::os;

const VERSION: u32 = 1;

pub struct Kept<R> {
    pub(super) file: PathBuf,
    what: &'static str,
    again: &'static str,
    record: PhantomData<fn() -> R>,
}

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Versioned<R> {
    version: u32,
    #[serde(flatten)]
    record: R,
}

impl<R: Default + Serialize + DeserializeOwned> Kept<R> {
    /// `what`: the record's name in messages; `again`: what to do when it is lost.
    pub fn new(file: PathBuf, what: &'static str, again: &'static str) -> Self {
        Self {
            file,
            what,
            again,
            record: PhantomData,
        }
    }

    /// # Errors
    /// Where it is there and cannot be read, or was written by a newer program.
    pub fn read(&self) -> anyhow::Result<R> {
        let (what, shown) = (self.what, self.file.display());
        let text = match std::fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(R::default()),
            Err(e) => return Err(e).with_context(|| format!("{what} {shown} cannot be read")),
        };
        let kept: Versioned<R> = serde_json::from_str(&text).with_context(|| {
            format!(
                "{what} {shown} is damaged: move it away, then {}",
                self.again
            )
        })?;
        if kept.version > VERSION {
            bail!("{what} {shown} was written by a newer postil: update postil");
        }
        Ok(kept.record)
    }

    /// # Errors
    /// As [`Self::read`], and where it cannot be written.
    pub fn change<T>(&self, change: impl FnOnce(&mut R) -> T) -> anyhow::Result<T> {
        let folder = self.file.parent().context("the data folder has no name")?;
        let written = || format!("{} {} cannot be written", self.what, self.file.display());
        os::make_private_folder(folder).with_context(written)?;
        let lock = private_file(&self.file.with_extension("lock")).with_context(written)?;
        lock.lock().with_context(written)?;
        let mut record = self.read()?;
        let result = change(&mut record);
        let kept = Versioned {
            version: VERSION,
            record,
        };
        let mut temporary = tempfile::NamedTempFile::new_in(folder).with_context(written)?; // 0600
        temporary
            .write_all(&serde_json::to_vec_pretty(&kept)?)
            .with_context(written)?;
        temporary.as_file().sync_all().with_context(written)?;
        temporary.persist(&self.file).with_context(written)?;
        Ok(result)
    }
}

/// On Windows as the folder is: by what a person's profile hands on, the person's, administrators' and the system's.
fn private_file(path: &std::path::Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.create(true).truncate(false).write(true).open(path)
}
