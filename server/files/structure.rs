//! The structure of an open text, brought up to date when somebody looks at it: of a long text that takes the whole
//! of it as one string, and most keys are followed by nobody who asks.

use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::comments::{Change, Language, Syntax};
use crate::text::{Document, Splice};

/// Cheap to clone.
#[derive(Clone)]
pub struct Structure(Arc<Inner>);

struct Inner {
    language: Option<&'static Language>,
    now: OnceLock<Syntax>,
    before: Mutex<Option<Before>>,
}

/// What is known of an earlier text, what changed since, and the text as it is.
#[derive(Clone)]
struct Before {
    known: Structure,
    splices: Vec<Splice>,
    document: Document,
}

impl From<Syntax> for Structure {
    fn from(syntax: Syntax) -> Self {
        Self(Arc::new(Inner {
            language: syntax.language(),
            now: OnceLock::from(syntax),
            before: Mutex::default(),
        }))
    }
}

impl Deref for Structure {
    type Target = Syntax;

    fn deref(&self) -> &Syntax {
        self.0.now.get_or_init(|| {
            let before = self
                .0
                .before
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            before.map_or_else(
                || Syntax::parse("", None),
                |before| {
                    let mut syntax = Syntax::clone(&before.known);
                    syntax.update(None, &before.splices, before.document.text());
                    syntax
                },
            )
        })
    }
}

impl Structure {
    /// What the text is, without a look at it.
    pub fn language(&self) -> Option<&'static Language> {
        self.0.language
    }

    /// The structure of the changed text, made now; tells what [`Syntax::update`] does.
    pub(super) fn update(
        &mut self,
        before: Option<&Document>,
        splices: &[Splice],
        document: &Document,
    ) -> Option<Change> {
        let before = before.map(|before| before.text());
        // Whoever holds the structure of the text before keeps it.
        match Arc::get_mut(&mut self.0).and_then(|inner| inner.now.get_mut()) {
            Some(syntax) => syntax.update(before, splices, document.text()),
            None => {
                let mut syntax = Syntax::clone(self);
                let touched = syntax.update(before, splices, document.text());
                *self = syntax.into();
                touched
            }
        }
    }

    /// The structure of the changed text, made when it is looked at.
    pub(super) fn update_later(&mut self, splices: &[Splice], document: &Document) {
        let waiting = self
            .0
            .before
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let (known, mut all) = match waiting {
            Some(before) => (before.known, before.splices),
            None => (self.clone(), Vec::new()),
        };
        all.extend_from_slice(splices);
        *self = Self(Arc::new(Inner {
            language: self.0.language,
            now: OnceLock::new(),
            before: Mutex::new(Some(Before {
                known,
                splices: all,
                document: document.clone(),
            })),
        }));
    }
}
