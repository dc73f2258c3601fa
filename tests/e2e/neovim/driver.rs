//! A headless Neovim, driven over its own RPC: keys go in as typed ones, and what a test waits for is
//! looked at again whenever a diagnostic, the text or the cursor changed.

use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::msgpack;
use crate::harness::Workspace;
use crate::peers;

/// A child server may have to index the project first.
pub const PATIENCE: Duration = Duration::from_secs(90);
/// What Neovim itself answers.
const PROMPTLY: Duration = crate::harness::DEADLINE;

#[derive(Default)]
struct State {
    answers: BTreeMap<u64, Result<Value, Value>>,
    /// How many notifications have come.
    news: u64,
    stderr: String,
    over: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct Nvim {
    process: Child,
    pipe: ChildStdin,
    shared: Arc<Shared>,
    next: u64,
}

impl Nvim {
    /// `env` is for Neovim, and so for the server that it starts; `client` goes over lsp/postil.lua.
    pub fn start(workspace: &Workspace, env: &[(&str, &str)], client: Value) -> Self {
        Self::start_as("nvim", workspace, env, client)
    }

    /// `program`: which of the peers.
    pub fn start_as(
        program: &str,
        workspace: &Workspace,
        env: &[(&str, &str)],
        client: Value,
    ) -> Self {
        let repo = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut config = json!({"cmd": [env!("CARGO_BIN_EXE_postil")]});
        if let (Value::Object(config), Value::Object(client)) = (&mut config, client) {
            config.extend(client);
        }
        let mut command = workspace.command(peers::find(program).expect(program));
        command
            .args(["--embed", "--headless", "-n", "-i", "NONE", "-u"])
            .arg(repo.join("tests/e2e/neovim/init.lua"))
            .env("PATH", peers::path())
            .env(
                "XDG_RUNTIME_DIR",
                workspace.data().parent().expect("a folder"),
            )
            .env("POSTIL_EDITORS", repo.join("editors"))
            .env("POSTIL_CLIENT", config.to_string())
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = command.spawn().expect("Neovim starts");
        let pipe = process.stdin.take().expect("a pipe");
        let stdout = process.stdout.take().expect("a pipe");
        let mut stderr = process.stderr.take().expect("a pipe");
        let shared = Arc::new(Shared::default());
        let reader = shared.clone();
        std::thread::spawn(move || receive(&reader, BufReader::new(stdout)));
        let errors = shared.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = stderr.read(&mut buffer) {
                errors
                    .lock()
                    .stderr
                    .push_str(&String::from_utf8_lossy(&buffer[..n]));
            }
        });
        Self {
            process,
            pipe,
            shared,
            next: 0,
        }
    }

    /// One call of the API.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut bytes = Vec::new();
        msgpack::encode(&json!([0, id, method, params]), &mut bytes);
        let _ = self.pipe.write_all(&bytes).and_then(|()| self.pipe.flush());
        let state = self.shared.lock();
        let waited = self
            .shared
            .changed
            .wait_timeout_while(state, PROMPTLY, |s| !s.answers.contains_key(&id) && !s.over);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match state.answers.remove(&id) {
            Some(Ok(value)) => value,
            Some(Err(error)) => panic!("{method} {params}: {error}\n{}", state.stderr),
            None => panic!(
                "{method} {params}: Neovim does not answer\n{}",
                state.stderr
            ),
        }
    }

    pub fn lua(&mut self, code: &str) -> Value {
        self.call("nvim_exec_lua", json!([code, []]))
    }

    pub fn edit(&mut self, path: &Path) {
        self.lua(&format!(
            "vim.cmd.edit(vim.fn.fnameescape({}))",
            json!(path)
        ));
    }

    /// The whole buffer, lines joined by line feeds.
    pub fn text(&mut self) -> String {
        self.lua("return text()")
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Types, one key after the other; `<Esc>`, `<CR>`, `<lt>` … are keys.
    pub fn keys(&mut self, keys: &str) {
        for key in split(keys) {
            self.call("nvim_input", json!([key]));
        }
    }

    /// As [`Nvim::keys`], at the pace of a hurried typist, and Neovim has taken each before the next.
    pub fn type_on(&mut self, keys: &str, mut between: impl FnMut(usize)) {
        for (index, key) in split(keys).into_iter().enumerate() {
            between(index);
            self.call("nvim_input", json!([key]));
            std::thread::sleep(Duration::from_millis(8));
        }
    }

    /// Waits until `condition` (a Lua expression) is true, or something.
    pub fn wait(&mut self, what: &str, condition: &str) -> Value {
        self.wait_for(what, |nvim| nvim.lua(&format!("return {condition}")))
    }

    /// Waits until it is in this mode, also in one in which it answers nothing else.
    pub fn wait_mode(&mut self, mode: &str) {
        self.wait_for(&format!("the mode `{mode}`"), |nvim| {
            Value::Bool(nvim.call("nvim_get_mode", json!([]))["mode"] == mode)
        });
    }

    fn wait_for(&mut self, what: &str, look: impl Fn(&mut Self) -> Value) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let seen = self.shared.lock().news;
            let value = look(self);
            if !matches!(value, Value::Null | Value::Bool(false)) {
                return value;
            }
            if Instant::now() >= end {
                let account = self.account();
                panic!("waited in vain for {what}\n{account}");
            }
            // Not everything that a condition can look at announces itself, so now and then it looks anyway.
            let state = self.shared.lock();
            let pause = Duration::from_millis(200);
            drop(
                self.shared
                    .changed
                    .wait_timeout_while(state, pause, |s| s.news == seen && !s.over),
            );
        }
    }

    /// Waits for a `vim.notify` that holds `part`; what was said before counts too.
    pub fn wait_note(&mut self, part: &str) -> String {
        let note = self.wait(
            &format!("the message `{part}`"),
            &format!("said({})", json!(part)),
        );
        note.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until it has ended by itself.
    pub fn wait_end(&mut self) {
        let state = self.shared.lock();
        let waited = self
            .shared
            .changed
            .wait_timeout_while(state, PROMPTLY, |s| !s.over);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(state.over, "Neovim goes on");
    }

    /// A command line.
    pub fn ex(&mut self, command: &str) {
        self.lua(&format!("vim.cmd({})", json!(command)));
    }

    pub fn wait_codes(&mut self, codes: &str) {
        self.wait(
            &format!("the diagnostics `{codes}`"),
            &format!("codes() == {}", json!(codes)),
        );
    }

    pub fn wait_text(&mut self, part: &str) {
        self.wait(
            &format!("the text `{part}`"),
            &format!("text():find({}, 1, true) ~= nil", json!(part)),
        );
    }

    /// Takes the code action whose title holds `title`, at the cursor.
    pub fn act(&mut self, title: &str) {
        self.lua(&format!("act({})", json!(title)));
        let offered = self.wait("a menu", "#offered > 0 and offered");
        assert!(
            offered.to_string().contains(title),
            "no `{title}` among {offered}"
        );
    }

    /// What there is to see, for a test that fails.
    fn account(&mut self) -> String {
        let code = "local f = io.open(require('vim.lsp.log').get_filename()); local log = f and f:read('a') or ''; \
            return vim.inspect({ name = vim.api.nvim_buf_get_name(0), text = text(), codes = codes(), threads = threads(), messages = messages, notes = notes, offered = offered, \
            mode = vim.api.nvim_get_mode(), clients = vim.tbl_map(function(c) return { c.id, c.root_dir or 'no folder', vim.tbl_keys(c.attached_buffers) } end, vim.lsp.get_clients()), log = log:sub(-3000) })";
        let seen = self.lua(code);
        format!(
            "{}\n{}",
            seen.as_str().unwrap_or_default().replace("\\n", "\n"),
            self.shared.lock().stderr
        )
    }
}

impl Drop for Nvim {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.shared.lock().over {
            // What the author has seen, in any test: nothing that Neovim will not have for long.
            let seen = self.lua(
                "return vim.fn.execute('messages') .. table.concat(notes, '\\n') .. table.concat(messages, '\\n')",
            );
            let seen = seen.as_str().unwrap_or_default();
            // nvim-lspconfig warns of its own older way.
            let warns = |line: &str| line.contains("deprecated") && !line.contains("lspconfig");
            assert!(!seen.lines().any(warns), "{seen}");
        }
        let mut bytes = Vec::new();
        msgpack::encode(&json!([2, "nvim_command", ["qall!"]]), &mut bytes);
        let _ = self.pipe.write_all(&bytes).and_then(|()| self.pipe.flush());
        let state = self.shared.lock();
        let waited = self
            .shared
            .changed
            .wait_timeout_while(state, PROMPTLY, |s| !s.over);
        let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        let stderr = state.stderr.clone();
        drop(state);
        if timeout.timed_out() {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
        if !std::thread::panicking() {
            assert!(!timeout.timed_out(), "Neovim does not quit");
            assert!(!stderr.contains("Error"), "Neovim complained: {stderr}");
        }
    }
}

fn receive(shared: &Shared, mut pipe: impl Read) {
    while let Ok(message) = msgpack::decode(&mut pipe) {
        let mut state = shared.lock();
        match (message[0].as_u64(), message[1].as_u64()) {
            (Some(1), Some(id)) => {
                let answer = if message[2].is_null() {
                    Ok(message[3].clone())
                } else {
                    Err(message[2].clone())
                };
                state.answers.insert(id, answer);
            }
            _ => state.news += 1,
        }
        drop(state);
        shared.changed.notify_all();
    }
    shared.lock().over = true;
    shared.changed.notify_all();
}

/// `a<Esc>b` as its three keys.
fn split(keys: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = keys;
    while let Some(first) = rest.chars().next() {
        let end = match rest.find('>') {
            Some(end) if first == '<' => end + 1,
            _ => first.len_utf8(),
        };
        found.push(rest[..end].to_owned());
        rest = &rest[end..];
    }
    found
}
