//! Whether a folder is trusted: for good, or by an editor's word for this session.

use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Error, Session, Stamp, stamp};
use crate::config::ProxyMode;
use crate::host::Question;
use crate::os;
use crate::trust::{self, Grants};

/// How often it is looked whether a folder was trusted elsewhere.
const LOOK: Duration = Duration::from_millis(500);

/// What was seen of trust when it was looked at last, which the children were told.
#[derive(Default)]
pub(super) struct Seen {
    record: Option<Stamp>,
    at: Option<Instant>,
    trusted: Vec<PathBuf>,
}

impl Session {
    pub fn is_trusted(&self, root: &Path) -> bool {
        match self.session_trust.get(root) {
            Some(answer) => *answer,
            None => self.trust.is_trusted(root),
        }
    }

    /// # Errors
    /// Why the record of trusted folders cannot be read: none is trusted then.
    pub fn check_trust(&self) -> Result<(), Error> {
        self.trust
            .check()
            .map_err(|error| Error::Other(format!("{error:#}")))
    }

    /// What is wrong with the records of the data folder beside that of trust: of what may be done, and of agents.
    pub fn damaged_records(&self) -> Vec<String> {
        let grants = Grants::open(&self.folders.data).all().map(drop);
        let all = [grants, self.check_answers()];
        let wrong = all.into_iter().filter_map(Result::err);
        wrong.map(|error| format!("{error:#}")).collect()
    }

    /// Where a folder was trusted for good and is so no more, for what it would run has changed: what has.
    pub fn trust_lapsed(&self, root: &Path) -> Option<String> {
        match self.session_trust.contains_key(root) {
            true => None,
            false => self.trust.lapsed(root),
        }
    }

    /// The editor has asked its user, who does not trust the folder: it is not asked again here.
    pub(crate) fn is_declined(&self, root: &Path) -> bool {
        self.session_trust.get(root).is_some_and(|answer| !*answer)
    }

    /// Returns once the folder is trusted, by whomever.
    pub(super) async fn until_trusted(&self, root: &Path) {
        while !self.is_trusted(root) {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The editor's own answer (`initializationOptions.trusted`); for this session alone.
    pub fn trust_for_session(&self, root: &Path, trusted: bool) {
        self.session_trust.insert(
            os::canonical(root).unwrap_or_else(|_| root.to_owned()),
            trusted,
        );
        self.tell_children(self.reading());
    }

    /// From here on the children hear of trust that another program gave or took back.
    pub(super) fn follow_trust(self: &Arc<Self>) {
        let session = Arc::downgrade(self);
        self.children.set_look(Arc::new(move |age| {
            if let Some(session) = session.upgrade() {
                session.look_at_trust(age);
            }
        }));
    }

    /// The record is looked at each time. What stands in the folders takes longer, and may be seen up to `age` ago.
    fn look_at_trust(&self, age: Duration) {
        let record = stamp(self.trust.file());
        let seen = self.seen_trust();
        if seen.record == record && seen.at.is_some_and(|at| at.elapsed() < age) {
            return;
        }
        drop(seen);
        // Git is asked for it: nobody is held up.
        let trusted = self.trusted_folders();
        let mut seen = self.seen_trust();
        if seen.trusted == trusted {
            seen.record = record;
            seen.at = Some(Instant::now());
            return;
        }
        drop(seen);
        self.tell_children(self.reading());
    }

    fn seen_trust(&self) -> MutexGuard<'_, Seen> {
        self.seen_trust
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn trusted_folders(&self) -> Vec<PathBuf> {
        let workspaces = self.workspaces();
        let roots = workspaces.iter().map(|workspace| workspace.root());
        let trusted = roots.filter(|root| self.is_trusted(root));
        trusted.map(Path::to_owned).collect()
    }

    /// What was granted or read last is told last.
    pub(super) fn tell_children(&self, _reading: MutexGuard<'_, ()>) {
        let record = stamp(self.trust.file());
        let trusted = self.trusted_folders();
        *self.seen_trust() = Seen {
            record,
            at: Some(Instant::now()),
            trusted: trusted.clone(),
        };
        self.children.set_trusted(trusted);
        let modes = self.workspaces();
        let mut modes = modes.iter().map(|w| w.loaded().settings.proxy_mode);
        let first = modes.next();
        let off = first == Some(ProxyMode::Off) && modes.all(|mode| mode == ProxyMode::Off);
        self.children.set_off(off);
    }

    /// Trusts a folder for good.
    pub fn trust(&self, root: &Path) -> Result<(), Error> {
        self.trust
            .grant(root)
            .map_err(|e| Error::Other(format!("the trust could not be stored: {e:#}")))?;
        self.session_trust.remove(root);
        self.tell_children(self.reading());
        Ok(())
    }

    /// Takes a folder's trust back; `false`: it had none.
    pub fn revoke_trust(&self, root: &Path) -> Result<bool, Error> {
        let had = self
            .trust
            .revoke(root)
            .map_err(|e| Error::Other(format!("the trust could not be changed: {e:#}")))?;
        self.session_trust.remove(root);
        self.tell_children(self.reading());
        Ok(had)
    }

    /// What trusting a folder would allow to run, a sentence each.
    pub fn trust_would_allow(&self, root: &Path) -> Vec<String> {
        self.trust.would_allow(root)
    }

    /// What is asked before a turn in a folder that is not trusted; the first choice trusts it.
    pub fn ask_for_trust(&self, root: &Path) -> Question {
        Question {
            text: self.trust_question(root),
            choices: vec![
                String::from("Trust this workspace"),
                String::from("Read-only this time"),
            ],
            last_is_no: true,
        }
    }

    /// The question whether to trust a folder: what that lets happen, and what stands there or has changed.
    pub(super) fn trust_question(&self, root: &Path) -> String {
        let lets = "lets an agent edit its files and lets language servers start in it.";
        let shown = root.display();
        let mut text = match self.trust_lapsed(root) {
            Some(what) => format!(
                "{shown} is not trusted any more: {what}. Trusting it as it is now {lets} `postil trust` lists what it allows."
            ),
            None => {
                let brings = self.trust.brings(root).map(|brings| format!(" {brings}"));
                let brings = brings.unwrap_or_default();
                format!("{shown} is not trusted. Trusting it {lets}{brings}")
            }
        };
        if trust::holds_home(root) {
            text = format!("{text} {}", trust::HOLDS_HOME);
        }
        text
    }
}
