//! Further names of a file that is open already: it was opened a second time over a link. An editor has a buffer
//! for each name, and each may hold another text. The name that was opened first is served; of the others the text
//! is followed, so that one of them can take its place when it is closed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use serde_json::Value;

use super::{changes, lose};
use crate::host::Level;
use crate::lsp::{Server, from_proto, host};
use crate::present::visible;
use crate::text::Document;

#[derive(Default)]
pub(super) struct Others(RwLock<Vec<Other>>);

pub(super) struct Other {
    pub uri: String,
    pub path: PathBuf,
    pub language: String,
    /// The error says why it is not known any more.
    pub text: Result<Document, String>,
    /// The author knows that this text is not followed.
    pub told: bool,
}

impl Others {
    fn read(&self) -> RwLockReadGuard<'_, Vec<Other>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<Other>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn path(&self, uri: &str) -> Option<PathBuf> {
        let others = self.read();
        let other = others.iter().find(|other| other.uri == uri);
        other.map(|other| other.path.clone())
    }

    pub fn hold(&self, uri: &str) -> bool {
        self.read().iter().any(|other| other.uri == uri)
    }

    pub fn uris(&self, path: &Path) -> Vec<String> {
        let others = self.read();
        let same = others.iter().filter(|other| other.path == path);
        same.map(|other| other.uri.clone()).collect()
    }

    /// Opened twice, the newer text counts.
    pub fn open(&self, other: Other) {
        self.close(&other.uri);
        self.write().push(other);
    }

    pub fn close(&self, uri: &str) -> bool {
        let mut others = self.write();
        let before = others.len();
        others.retain(|other| other.uri != uri);
        others.len() < before
    }

    /// Its text is not known any more; whether there is one of this name.
    pub fn lose(&self, uri: &str, why: &str) -> bool {
        let mut others = self.write();
        let other = others.iter_mut().find(|other| other.uri == uri);
        other.is_some_and(|other| {
            other.text = Err(why.to_owned());
            true
        })
    }

    /// The one that was opened last takes the place of the name that was served.
    pub fn take(&self, path: &Path) -> Option<Other> {
        let mut others = self.write();
        let at = others.iter().rposition(|other| other.path == path)?;
        Some(others.remove(at))
    }
}

impl Server {
    /// The path of what can be answered about: not of a text that was lost track of or is not whole yet, nor of another
    /// name with another text than the one that is served.
    pub(in crate::lsp) fn fit(&self, uri: &str) -> Option<PathBuf> {
        let path = self.documents.path(uri)?;
        let documents = &self.documents;
        let is_known = !documents.is_unfit(&path) && !documents.is_held(&path);
        (is_known && !self.is_apart(uri)).then_some(path)
    }

    /// Whether this is another name of an open file, with another text.
    pub(in crate::lsp) fn is_apart(&self, uri: &str) -> bool {
        let others = self.documents.others.read();
        let other = others.iter().find(|other| other.uri == uri);
        other.is_some_and(|other| {
            let session = self.session.get();
            let served = session.and_then(|session| session.buffers.document(&other.path));
            match (&other.text, served) {
                (Ok(text), Some(served)) => text.text() != served.text(),
                _ => true,
            }
        })
    }
}

/// A change of a name that is not served.
pub(super) fn change(server: &Arc<Server>, uri: &str, path: &Path, params: &Value) {
    let first_to_tell = {
        let mut others = server.documents.others.write();
        let Some(other) = others.iter_mut().find(|other| other.uri == uri) else {
            return;
        };
        let changed = other.text.as_mut().map_err(|why| why.clone());
        let changed = changed.and_then(|text| {
            let (version, changes) = changes(params, text.version())?;
            text.apply(&changes, server.capabilities().encoding, version)
                .map_err(|unfit| super::why(&unfit))
        });
        if let Err(why) = changed {
            other.text = Err(why);
        }
        !other.told
    };
    if !first_to_tell || !server.is_apart(uri) {
        return;
    }
    if let Some(other) = server
        .documents
        .others
        .write()
        .iter_mut()
        .find(|other| other.uri == uri)
    {
        other.told = true;
    }
    let first = server.documents.uri(path).unwrap_or_default();
    let (first, other) = (named(&first), named(uri));
    host::message(
        server,
        Level::Warning,
        &format!(
            "{other} and {first} are one file: postil reads and answers what stands in {first}, which was opened first, and not what is typed in {other}. Close one of the two."
        ),
    );
}

/// The name that was served is closed, and the file is open under another one still: that is served from now on,
/// with its own text. At no moment does the file count as closed, or an answer could be written below an open buffer.
/// `false`: there is none.
pub(super) fn succeed(server: &Arc<Server>, closed: &str, path: &Path) -> bool {
    let (Some(session), Some(next)) = (server.session.get(), server.documents.others.take(path))
    else {
        return false;
    };
    let documents = &server.documents;
    documents.serve(&next.uri, path);
    documents.serve_no_more(closed);
    match next.text {
        Ok(text) => {
            session.open_instead(
                path.to_owned(),
                &next.uri,
                &next.language,
                text.version(),
                text.text(),
            );
            documents.unfit.remove(path);
        }
        Err(why) => lose(server, &next.uri, path, &why),
    }
    true
}

/// A file as the client names it.
fn named(uri: &str) -> String {
    let path = from_proto::named(uri).unwrap_or_default();
    visible(&path.to_string_lossy())
}
