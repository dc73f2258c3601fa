//! What a turn in process needs: a workspace with a thread, real tools, a face that listens.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use postil::children::{Children, Limits as ChildLimits, Row};
use postil::comments::{Syntax, detect};
use postil::files::{Buffers, Tree};
use postil::host::{BufferEdit, Host, Level, NotApplied, Progress, Question};
use postil::models::{Limits, Remote, Setup};
use postil::sandbox::{Policy, Processes};
use postil::store::{Run, RunStatus, Store};
use postil::threads::{self, Thread};
use postil::tools::{Context, Gate, Registry};
use postil::turn::{self, Answerer, Job, Outcome};
use tokio_util::sync::CancellationToken;

use super::Model;
use crate::harness::Workspace;
use crate::peers;

/// A face that listens.
#[derive(Default)]
struct Listener {
    heard: Mutex<Vec<String>>,
}

#[async_trait]
impl Host for Listener {
    async fn apply(&self, _label: &str, _edits: Vec<BufferEdit>) -> Result<(), NotApplied> {
        Err(NotApplied::NoEditor)
    }
    async fn ask(&self, _question: Question) -> Option<usize> {
        None
    }
    fn message(&self, _level: Level, text: &str) {
        self.heard.lock().expect("the list").push(text.to_owned());
    }
    fn progress(&self, _run: &str, progress: Progress) {
        if let Progress::Report { message } = progress {
            self.heard.lock().expect("the list").push(message);
        }
    }
    fn changed(&self, _paths: &[std::path::PathBuf]) {}
}

/// A workspace with one thread, and what a turn on it needs.
pub struct Bench {
    pub workspace: Workspace,
    listener: Arc<Listener>,
    pub cx: Context,
    /// Of the thread.
    file: String,
    pub max_rounds: u32,
    pub max_cost: f64,
}

pub const FILE: &str = "src/net.rs";
pub const CODE: &str =
    "// AUTHOR: should this be called load_data?\npub fn load() -> u32 {\n    7\n}\n";

impl Bench {
    pub fn new() -> Self {
        Self::with(&[(FILE, CODE)])
    }

    /// With these files; the first holds the thread.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let workspace = Workspace::new();
        for (path, text) in files {
            workspace.write(path, text);
        }
        let tree = Tree::new(workspace.root(), Arc::new(Buffers::default())).expect("a tree");
        let limits = ChildLimits {
            timeout: 10,
            max_children: 2,
            idle: 60,
        };
        let listener = Arc::new(Listener::default());
        let cx = Context {
            children: Children::new(Vec::new(), limits, tree.buffers.clone()),
            tree: Arc::new(tree),
            host: listener.clone(),
            store: None,
            run: String::from("run-1"),
            plan: Default::default(),
            // No folder of it is: no child server starts.
            trusted: true,
            cancel: CancellationToken::new(),
            gate: Gate::new(&workspace.data()),
            processes: Arc::new(Processes::new(
                workspace.root(),
                Policy::default(),
                Arc::default(),
                Arc::new(|_| {}),
            )),
            seen: Default::default(),
            writing: Default::default(),
            question: Some(Default::default()),
            todos: Default::default(),
            images: Default::default(),
            told: Default::default(),
            second: Default::default(),
        };
        Self {
            workspace,
            listener,
            cx,
            file: files[0].0.to_owned(),
            max_rounds: 60,
            max_cost: 5.0,
        }
    }

    /// In a trusted workspace, with a real child server for `language`; `None` where it is missing.
    pub fn with_server(mut self, language: &str, name: &str) -> Option<Self> {
        if !peers::have(&[name]) {
            return None;
        }
        let row = Row {
            language: language.to_owned(),
            command: peers::bin().join(name).to_string_lossy().into_owned(),
            args: Vec::new(),
            extensions: Vec::new(),
            root_markers: Vec::new(),
            initialization_options: serde_json::Value::Null,
            env: Vec::new(),
            install: String::new(),
        };
        let limits = ChildLimits {
            timeout: 30,
            max_children: 2,
            idle: 60,
        };
        let buffers = self.cx.tree.buffers.clone();
        self.cx.children = Children::new(vec![row], limits, buffers);
        let root = self.workspace.root().to_owned();
        self.cx.children.set_trusted(vec![root]);
        Some(self)
    }

    /// With a history, as every face has one.
    pub fn with_store(mut self) -> (Self, Arc<Store>) {
        let store =
            Arc::new(Store::open(&self.workspace.data(), self.workspace.root()).expect("a store"));
        self.cx.run = store
            .begin("3f9a01bc", &self.file, "anthropic/claude-sonnet-4-5")
            .expect("a run")
            .id;
        self.cx.store = Some(store.clone());
        (self, store)
    }

    /// The thread as it stands in the file now.
    fn thread(&self) -> Thread {
        let text = self.workspace.read(&self.file);
        let syntax = Syntax::parse(&text, detect(&self.file, None, &text));
        let found = threads::find(&self.file, &text, &syntax);
        found.into_iter().next().expect("a thread")
    }

    fn job(&self, answerer: Answerer) -> Job {
        let thread = self.thread();
        let run = Run {
            id: self.cx.run.clone(),
            thread_id: thread.id.clone(),
            file: self.file.clone(),
            status: RunStatus::Running,
            started: jiff::Timestamp::now(),
            rounds: 0,
            tokens: 0,
            cost: 0.0,
            model: String::new(),
            error: None,
        };
        Job {
            thread,
            file: self.file.clone(),
            path: self.workspace.path(&self.file),
            run,
            answerer,
            max_rounds: self.max_rounds,
            max_tokens: u64::MAX,
            max_cost: self.max_cost,
            budget: None,
            talk: Vec::new(),
            awaited: false,
            another: false,
        }
    }

    /// A turn without a model.
    pub async fn offline(&self) -> Outcome {
        turn::run(
            &self.cx,
            &Registry::new(&Default::default()),
            self.job(Answerer::Offline),
        )
        .await
    }

    pub async fn run(&self, model: &Model) -> Outcome {
        self.run_with(super::provider::setup(model.url())).await
    }

    /// With any provider.
    pub async fn run_with(&self, setup: Setup) -> Outcome {
        let limits = Limits {
            first_wait: Duration::from_millis(1),
            ..Limits::default()
        };
        let provider = Remote::new(setup);
        let provider = provider.expect("a provider").with_limits(limits);
        let job = self.job(Answerer::Model(Arc::new(provider)));
        turn::run(&self.cx, &Registry::new(&Default::default()), job).await
    }

    pub fn heard(&self) -> String {
        self.listener.heard.lock().expect("the list").join("\n")
    }
}
