//! The terminal as a host: progress as a spinner, questions as prompts. Where there is no terminal, nobody is asked.

use std::collections::HashMap;
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use indicatif::{MultiProgress, ProgressBar};

use super::out::Out;
use crate::host::{BufferEdit, Host, Level, NotApplied, Progress, Question};
use crate::present;

pub(super) struct Terminal {
    out: Out,
    bars: MultiProgress,
    running: Mutex<HashMap<String, ProgressBar>>,
    tells_hints: bool,
}

impl Terminal {
    pub fn new(out: Out) -> Self {
        Self {
            out,
            bars: MultiProgress::new(),
            running: Mutex::default(),
            tells_hints: true,
        }
    }

    /// One that leaves out what is only worth knowing.
    pub fn without_hints(out: Out) -> Self {
        Self {
            tells_hints: false,
            ..Self::new(out)
        }
    }
}

/// As long as it lives, and once that is longer than a moment, a terminal shows that the files are being read.
pub(super) struct Reading {
    ended: Option<std::sync::mpsc::Sender<()>>,
    shows: Option<std::thread::JoinHandle<()>>,
}

/// A person waits so long without a sign.
const MOMENT: Duration = Duration::from_secs(1);

impl Reading {
    pub fn new(out: Out, folder: &Path) -> Self {
        let (ended, end) = std::sync::mpsc::channel();
        let text = format!(
            "reading the files of {}",
            present::one_line(&folder.display().to_string())
        );
        let shows = shows_progress(out).then(|| {
            std::thread::spawn(move || {
                if end.recv_timeout(MOMENT) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let bar = ProgressBar::new_spinner();
                bar.enable_steady_tick(Duration::from_millis(100));
                bar.set_message(text);
                let _ = end.recv();
                bar.finish_and_clear();
            })
        });
        Self {
            ended: Some(ended),
            shows,
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        drop(self.ended.take());
        // Its line is gone before another is printed.
        if let Some(shows) = self.shows.take() {
            let _ = shows.join();
        }
    }
}

fn shows_progress(out: Out) -> bool {
    !out.quiet && !out.json && std::io::stderr().is_terminal()
}

/// Whether somebody sees a question and can answer it.
pub(super) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

#[async_trait]
impl Host for Terminal {
    async fn apply(&self, _label: &str, _edits: Vec<BufferEdit>) -> Result<(), NotApplied> {
        Err(NotApplied::NoEditor)
    }

    async fn ask(&self, question: Question) -> Option<usize> {
        if !can_ask() {
            return None;
        }
        let (out, bars) = (self.out, self.bars.clone());
        let asked = tokio::task::spawn_blocking(move || bars.suspend(|| ask(out, &question)));
        asked.await.ok().flatten()
    }

    async fn show_text(&self, _name: &str, text: &str) -> Option<String> {
        if can_ask() {
            self.bars.suspend(|| {
                for line in present::visible(text).lines() {
                    self.out.ask(line);
                }
            });
        }
        None
    }

    fn message(&self, level: Level, text: &str) {
        if matches!(level, Level::Info) && !self.tells_hints {
            return;
        }
        self.bars.suspend(|| match level {
            Level::Error => self.out.complain(text),
            Level::Warning | Level::Info => self.out.warn(text),
        });
    }

    fn progress(&self, run: &str, progress: Progress) {
        if progress.is_talk() || !shows_progress(self.out) {
            return;
        }
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        match progress {
            Progress::Begin { title } => {
                let bar = self.bars.add(ProgressBar::new_spinner());
                bar.enable_steady_tick(Duration::from_millis(100));
                bar.set_message(present::visible(&title));
                running.insert(run.to_owned(), bar);
            }
            Progress::Report { message } => {
                if let Some(bar) = running.get(run) {
                    bar.set_message(present::short(&message, 100));
                }
            }
            Progress::End { .. } => {
                if let Some(bar) = running.remove(run) {
                    bar.finish_and_clear();
                }
            }
            Progress::Said { .. } | Progress::Call { .. } | Progress::Called { .. } => {}
        }
    }

    fn changed(&self, _paths: &[PathBuf]) {}
}

/// Numbered choices. A slip of the finger decides nothing: it is asked again.
fn ask(out: Out, question: &Question) -> Option<usize> {
    out.ask(&question.text);
    for (index, choice) in question.choices.iter().enumerate() {
        out.ask(&format!("  {} {choice}", index + 1));
    }
    let all = question.choices.len();
    loop {
        out.ask("which? (a number; Enter for none)");
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).ok()?;
        let word = line.trim();
        if word.is_empty() {
            return None;
        }
        match word.parse::<usize>() {
            Ok(number) if (1..=all).contains(&number) => return Some(number - 1),
            _ => out.ask(&format!("{} is none of 1 to {all}", present::visible(word))),
        }
    }
}
