//! How tests wait for what has to come, and how long.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Editor, Options, Workspace};

/// How long a test waits for anything before it fails: long enough for a machine that does much else.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Between two looks: the processor is for what is waited for.
const PAUSE: Duration = Duration::from_millis(2);

/// Leaves the processor to others for a moment, before one looks again.
pub fn pause() {
    std::thread::sleep(PAUSE);
}

/// Waits until `fits`; fails the test where it does not come to be.
pub fn wait_until(what: &str, mut fits: impl FnMut() -> bool) {
    let began = Instant::now();
    while !fits() {
        assert!(began.elapsed() < DEADLINE, "in vain: {what}");
        pause();
    }
}

impl Editor {
    /// Sends the server a signal by its name.
    pub fn signal(&self, name: &str) {
        let (signal, pid) = (format!("-{name}"), self.process.id().to_string());
        let sent = std::process::Command::new("kill")
            .args([signal, pid])
            .status();
        assert!(sent.expect("kill runs").success());
    }

    /// How many files the server may have open from now on.
    pub fn may_open(&self, most: &str) {
        let pid = self.process.id().to_string();
        let set = std::process::Command::new("prlimit")
            .args(["--pid", &pid, &format!("--nofile={most}:")])
            .status();
        assert!(set.expect("prlimit of util-linux runs").success());
    }

    /// Waits until the server has read what it was told so far: it takes changes in the order of the wire, and answers
    /// what was asked behind them. Whatever else may reach it first, as an answer of the model does.
    pub fn settle(&mut self) {
        self.request("$/settle", Value::Null)
            .expect_err("there is no such request");
    }

    /// As `wait_message`, of the first whose `message` has `words` in it.
    pub fn wait_saying(&self, method: &str, words: &str) -> Value {
        self.wait_message(method, |params| {
            let said = params["message"].as_str();
            said.is_some_and(|text| text.contains(words))
        })
    }
}

impl Editor {
    /// One whose server has opened its socket, so that other processes find it.
    pub fn listening(workspace: &Workspace, mut options: Options) -> Self {
        let log = (String::from("POSTIL_LOG"), String::from("postil=info"));
        options.env.push(log);
        let editor = Self::start_with(workspace, options);
        editor.wait_listening();
        editor
    }

    /// Its log has to tell of it (`POSTIL_LOG=postil=info`).
    pub fn wait_listening(&self) {
        self.wait_for("the socket", |state| {
            state.stderr.contains("listening on").then_some(())
        });
    }
}
