//! Which child a file has: by its language and its root where the file lies in a trusted folder, else the child that
//! led there.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;

use super::connection::locked;
use super::supervisor::{self, Child, Key, Step, Using};
use super::{
    ChildError, Children, MISSING, REMEMBERED, Row, methods, read, registry, toolchain, uri,
};
use crate::host::Level;
use crate::os;

/// Files outside of all trusted folders of which it is remembered who led there.
const MAX_LED: usize = 4096;

impl Children {
    /// The child that named a file outside of all trusted folders: a library's, into which no other may look, for none
    /// is started there.
    fn led_by(&self, file: &Path) -> Option<Arc<Child>> {
        locked(&self.led)
            .get(file)
            .map(|(child, _)| Arc::clone(child))
    }

    /// The root of the child that led to a file outside of all trusted folders.
    pub fn led_from(&self, file: &Path) -> Option<PathBuf> {
        self.led_by(file).map(|child| child.key.root.clone())
    }

    /// The name by which the child that led to such a file knows it, where that is another: gopls knows the standard
    /// library behind a link by no other. It is shown to the child as it is on disk then.
    pub(super) fn led_as(&self, file: &Path) -> Option<PathBuf> {
        locked(&self.led).get(file).map(|(_, name)| name.clone())
    }

    /// Remembers what `child` led to. The answer is not parsed: it may be large, and is passed on as it is.
    pub(super) fn note_led(&self, child: &Arc<Child>, method: &str, answer: &RawValue) {
        if !methods::leads(method) {
            return;
        }
        let text = answer.get();
        let mut last = "";
        for at in memchr::memmem::find_iter(text.as_bytes(), "\"file:") {
            let uri = text.get(at + 1..).and_then(|rest| rest.split('"').next());
            let Some(uri) = uri.filter(|uri| *uri != last) else {
                continue;
            };
            last = uri;
            // Some write each `/` as `\/`.
            let unescaped = match uri.contains('\\') {
                true => serde_json::from_str(&format!("\"{uri}\"")).unwrap_or_default(),
                false => Cow::Borrowed(uri),
            };
            let is_outside = |path: &PathBuf| self.shared.workspace_of(path).is_none();
            let Some(name) = uri::to_path(&unescaped).filter(is_outside) else {
                continue;
            };
            let Some(path) = Some(os::resolved(&name)).filter(is_outside) else {
                continue;
            };
            let mut led = locked(&self.led);
            if led.len() >= MAX_LED {
                led.clear();
            }
            led.insert(path, (Arc::clone(child), name));
        }
    }

    /// The child of a file, started where there is none. Of a missing program a person is told.
    pub(super) async fn child_of(
        &self,
        file: &Path,
        language: Option<&str>,
    ) -> Result<Using, ChildError> {
        let found = self.find_child(file, language).await;
        found.map_err(|(error, row)| {
            if let Some(row) = row {
                self.tell_missing(&row);
            }
            error
        })
    }

    /// The same, with the row of a missing program, of which nobody is told.
    pub(super) async fn find_child(
        &self,
        file: &Path,
        language: Option<&str>,
    ) -> Result<Using, (ChildError, Option<Row>)> {
        self.shared.look(REMEMBERED);
        if self.off.load(Ordering::Relaxed) {
            return Err((ChildError::Off("proxy.mode"), None));
        }
        if self.shared.limits().max_children == 0 {
            return Err((ChildError::Off("proxy.maxChildren"), None));
        }
        let name = (file.to_path_buf(), language.map(str::to_string));
        if let Some((child, at)) = locked(&self.found).get(&name)
            && at.elapsed() < REMEMBERED
            && !matches!(child.step(), Step::Failed(..) | Step::Stopped)
        {
            return Ok(Using::new(Arc::clone(child)));
        }
        let real = os::canonical(file).unwrap_or_else(|_| file.to_path_buf());
        let workspace = self
            .shared
            .workspace_of(file)
            .or_else(|| self.shared.workspace_of(&real));
        let Some(workspace) = workspace else {
            let led = self.led_by(&real).ok_or((ChildError::Untrusted, None))?;
            // Its options may have changed since.
            let rows = read(&self.shared.rows);
            let row = registry::row_of(&rows, &led.row).unwrap_or(&led.row);
            return self
                .place_for(led.key.clone(), row)
                .await
                .map_err(|error| (error, None));
        };
        let file_in = if file.starts_with(&workspace) {
            file
        } else {
            &real
        };
        let rows = read(&self.shared.rows);
        let editor = self.shared.buffers.get(file).map(|b| b.language_id);
        let rows = registry::rows_for(&rows, file, language, editor.as_deref());
        let kind = || {
            language
                .map(str::to_string)
                .or_else(|| Some(format!(".{}", file.extension()?.to_string_lossy())))
                .unwrap_or_else(|| file.display().to_string())
        };
        let first = *rows
            .first()
            .ok_or_else(|| (ChildError::NoRow(kind()), None))?;
        let Some((row, program)) = self.program_of(&rows, file_in, &workspace).await else {
            let error = ChildError::Missing {
                command: first.command.clone(),
                install: first.install.clone(),
            };
            return Err((error, Some(first.clone())));
        };
        let root = registry::root(file_in, &workspace, &row.root_markers);
        let key = Key {
            program,
            args: row.args.clone(),
            env: row.env.clone(),
            root,
        };
        let child = self.place_for(key, row).await;
        let child = child.map_err(|error| (error, None))?;
        let mut found = locked(&self.found);
        if found.len() > 1000 {
            found.clear();
        }
        found.insert(name, (Arc::clone(&child), Instant::now()));
        Ok(child)
    }

    /// The program of the child of a file, which runs or could be started, and its folder.
    pub(super) async fn server_of(&self, file: &Path) -> Option<(String, PathBuf)> {
        let workspace = self.shared.workspace_of(file)?;
        let rows = read(&self.shared.rows);
        let editor = self.shared.buffers.get(file).map(|b| b.language_id);
        let rows = registry::rows_for(&rows, file, None, editor.as_deref());
        let (row, _) = self.program_of(&rows, file, &workspace).await?;
        let root = registry::root(file, &workspace, &row.root_markers);
        Some((row.command.clone(), root))
    }

    /// The child, for whom a place among those that may run is waited for as long as for an answer.
    async fn place_for(&self, key: Key, row: &Row) -> Result<Using, ChildError> {
        let timeout = Duration::from_secs(self.shared.limits().timeout.max(1));
        let deadline = tokio::time::Instant::now() + timeout;
        loop {
            let mut freed = std::pin::pin!(self.shared.freed.notified());
            freed.as_mut().enable();
            match self.child_at(key.clone(), row) {
                Err(ChildError::Full(..)) if tokio::time::Instant::now() < deadline => {
                    let _ = tokio::time::timeout_at(deadline, freed).await;
                }
                found => return found,
            }
        }
    }

    fn child_at(&self, key: Key, row: &Row) -> Result<Using, ChildError> {
        let mut children = locked(&self.children);
        // The trust may have gone while the program was looked for: seen under the lock under which children end with it.
        if self.shared.workspace_of(&key.root).is_none() {
            return Err(ChildError::Untrusted);
        }
        if self.off.load(Ordering::Relaxed) {
            return Err(ChildError::Off("proxy.mode"));
        }
        if let Some(child) = children.get(&key) {
            match child.step() {
                Step::Stopped => {}
                Step::Failed(ChildError::Missing { .. }, at) if at.elapsed() > MISSING => {}
                Step::Failed(_, at) if at.elapsed() > supervisor::WITHIN => {}
                _ => return Ok(Using::new(Arc::clone(child))),
            }
        }
        children.retain(|_, child| !matches!(child.step(), Step::Stopped));
        let running = |child: &Arc<Child>| !matches!(child.step(), Step::Failed(..));
        let limit = self.shared.limits().max_children;
        while children.values().filter(|c| running(c)).count() >= limit {
            let least = children
                .iter()
                .filter(|(_, c)| running(c) && !c.is_busy())
                .max_by_key(|(_, c)| c.unused())
                .map(|(k, _)| k.clone());
            let Some(child) = least.and_then(|key| children.remove(&key)) else {
                return Err(ChildError::Full(row.command.clone(), limit));
            };
            child.stop();
        }
        let child = Child::launch(key.clone(), row.clone(), Arc::clone(&self.shared));
        child.touch();
        children.insert(key, Arc::clone(&child));
        Ok(Using::new(child))
    }

    /// The first row whose program is there, of the rows for one language.
    async fn program_of<'a>(
        &self,
        rows: &[&'a Row],
        file: &Path,
        folder: &Path,
    ) -> Option<(&'a Row, PathBuf)> {
        let workspaces = self.shared.workspaces();
        let path = os::search_path(&std::env::var_os("PATH").unwrap_or_default(), &workspaces);
        for row in rows {
            let by_path = || {
                let root = registry::root(file, folder, &row.root_markers);
                [&*root, folder].into_iter().find_map(toolchain::by_path)
            };
            for program in registry::programs(&row.command, &path) {
                let is_proxy = registry::is_rustup_proxy(&program);
                if is_proxy && let Some(file) = by_path() {
                    self.tell_toolchain(&program, &file);
                    continue;
                }
                if !is_proxy || self.has_component(&program, folder).await {
                    return Some((row, program));
                }
            }
        }
        None
    }

    /// Whether rustup's stand-in has its component: asked of itself, as the folder may name a toolchain.
    async fn has_component(&self, proxy: &Path, folder: &Path) -> bool {
        if locked(&self.absent)
            .get(proxy)
            .is_some_and(|at| at.elapsed() < MISSING)
        {
            return false;
        }
        let mut command = tokio::process::Command::new(proxy);
        command
            .arg("--version")
            .current_dir(folder)
            .env_clear()
            .envs(os::environment(&self.shared.workspaces()));
        command.env("RUSTUP_AUTO_INSTALL", "0").kill_on_drop(true);
        command
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        os::no_window(command.as_std_mut());
        let status = tokio::time::timeout(Duration::from_secs(10), command.status()).await;
        let there = matches!(status, Ok(Ok(status)) if status.success());
        if !there {
            locked(&self.absent).insert(proxy.to_path_buf(), Instant::now());
        }
        there
    }

    /// Once in a while, for the log.
    fn tell_toolchain(&self, program: &Path, file: &Path) {
        let (program, file) = (program.display(), file.display());
        if self.shared.first_time(&file.to_string(), "toolchain", 100) {
            tracing::warn!(
                "{program} is not started: {file} names a toolchain by its path, which may be anybody's"
            );
        }
    }

    /// For a person a message, once.
    fn tell_missing(&self, row: &Row) {
        if self.shared.first_time(&row.command, "missing", 100)
            && let Some(host) = self.shared.host()
        {
            let text = format!(
                "Definitions in {} need the language server `{}`, which is not installed ({}); until then postil answers by tree-sitter alone.",
                row.language, row.command, row.install
            );
            host.message(Level::Info, &text);
        }
    }
}
