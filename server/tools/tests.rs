use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::*;
use crate::children::Limits;
use crate::config::{Action, Rule};
use crate::files::Buffers;
use crate::host::{BufferEdit, Level, NotApplied, Progress, Question};
use crate::text::{Change, Encoding, apply_edits};

mod asking;
mod changes;
mod language;
mod patching;
mod reading;
mod state;
mod web;

/// An editor with open documents, and an author who answers each question alike.
struct Desk {
    buffers: Arc<Buffers>,
    answer: Option<usize>,
    questions: Mutex<Vec<String>>,
    applied: Mutex<Vec<BufferEdit>>,
    /// What the author types at the moment an edit arrives.
    typing: Mutex<Option<(PathBuf, String)>>,
}

impl Desk {
    fn author(&self, path: &Path, text: &str) {
        let version = self.buffers.version(path).unwrap() + 1;
        let changes = [Change::Full(text.to_owned())];
        let typed = self.buffers.change(path, version, &changes, Encoding::Utf8);
        typed.unwrap().unwrap();
    }
}

#[async_trait]
impl Host for Desk {
    async fn apply(&self, _label: &str, edits: Vec<BufferEdit>) -> Result<(), NotApplied> {
        if let Some((path, text)) = self.typing.lock().unwrap().take() {
            self.author(&path, &text);
        }
        for edit in edits {
            let buffer = self
                .buffers
                .get(&edit.path)
                .expect("an edit for what is not open");
            let version = buffer.document.version();
            if buffer.generation != edit.generation {
                return Err(NotApplied::Changed);
            }
            let text = apply_edits(buffer.document.text(), &edit.edits);
            let came = self.buffers.change(
                &edit.path,
                version + 1,
                &[Change::Full(text)],
                Encoding::Utf8,
            );
            came.unwrap().unwrap();
            self.applied.lock().unwrap().push(edit);
        }
        Ok(())
    }
    async fn ask(&self, question: Question) -> Option<usize> {
        self.questions.lock().unwrap().push(question.text);
        self.answer
    }
    fn message(&self, _level: Level, _text: &str) {}
    fn progress(&self, _run: &str, _progress: Progress) {}
    fn changed(&self, _paths: &[PathBuf]) {}
}

struct Bench {
    _folder: tempfile::TempDir,
    root: PathBuf,
    desk: Arc<Desk>,
    store: Arc<Store>,
    cx: Context,
    registry: Registry,
}

impl Bench {
    fn new() -> Self {
        Self::answering(None)
    }

    /// `answer` is what the author takes of each question's choices.
    fn answering(answer: Option<usize>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("proj");
        std::fs::create_dir(&root).unwrap();
        let root = root.canonicalize().unwrap();
        let buffers = Arc::<Buffers>::default();
        let desk = Arc::new(Desk {
            buffers: buffers.clone(),
            answer,
            questions: Mutex::default(),
            applied: Mutex::default(),
            typing: Mutex::default(),
        });
        let store = Arc::new(Store::open(&folder.path().join("data"), &root).unwrap());
        let run = store.begin("3f9a01bc", "a.rs", "test").unwrap().id;
        let limits = Limits {
            timeout: 1,
            max_children: 1,
            idle: 1,
        };
        let cx = Context {
            tree: Arc::new(Tree::new(&root, buffers.clone()).unwrap()),
            host: desk.clone(),
            children: Children::new(Vec::new(), limits, buffers),
            store: Some(store.clone()),
            run,
            plan: Plan::default(),
            trusted: true,
            cancel: CancellationToken::new(),
            gate: Gate::new(&folder.path().join("data")),
            processes: Arc::new(Processes::new(
                &root,
                Default::default(),
                Arc::default(),
                Arc::new(|_| {}),
            )),
            seen: DashMap::new(),
            writing: DashMap::new(),
            question: None,
            todos: Todos::default(),
            images: Images::default(),
            told: Default::default(),
            second: Default::default(),
        };
        Self {
            _folder: folder,
            root,
            desk,
            store,
            cx,
            registry: Registry::new(&Default::default()),
        }
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn disk(&self, path: &str) -> String {
        String::from_utf8(std::fs::read(self.root.join(path)).unwrap()).unwrap()
    }

    fn open(&self, path: &str, text: &str) {
        self.desk
            .buffers
            .open(self.root.join(path), "file:///x", "rust", 1, text);
    }

    /// The author types: the buffer holds `text` now.
    fn author(&self, path: &str, text: &str) {
        self.desk.author(&self.root.join(path), text);
    }

    fn buffer(&self, path: &str) -> String {
        self.desk
            .buffers
            .get(&self.root.join(path))
            .unwrap()
            .document
            .text()
            .to_string()
    }

    async fn call(&self, name: &str, input: Value) -> Output {
        self.registry.call(&self.cx, name, input).await
    }

    /// The text of an answer that must be one.
    async fn ok(&self, name: &str, input: Value) -> String {
        self.call(name, input.clone())
            .await
            .unwrap_or_else(|e| panic!("{name} {input}: {e}"))
    }

    /// The text of an error that must be one.
    async fn err(&self, name: &str, input: Value) -> String {
        match self.call(name, input.clone()).await {
            Err(e) => e,
            Ok(text) => panic!("{name} {input} answered: {text}"),
        }
    }

    fn questions(&self) -> Vec<String> {
        self.desk.questions.lock().unwrap().clone()
    }
}

#[track_caller]
fn has(text: &str, part: &str) {
    assert!(text.contains(part), "`{part}` is missing in: {text}");
}

#[test]
fn the_settings_know_the_name_of_every_tool() {
    let registry = Registry::new(&Settings::default());
    let mut names: Vec<&str> = registry.tools().iter().map(|tool| tool.name()).collect();
    names.sort_unstable();
    assert_eq!(names, crate::config::TOOLS);
}

#[tokio::test]
async fn names_and_modes_are_refused_in_these_words() {
    let mut b = Bench::new();
    b.write("a.txt", "x");
    assert_eq!(
        b.err("file_raed", json!({})).await,
        "Unknown tool: file_raed"
    );
    let settings = Settings {
        disabled_tools: vec![String::from("grep")],
        ..Settings::default()
    };
    b.registry = Registry::new(&settings);
    assert_eq!(
        b.err("grep", json!({"pattern": "x"})).await,
        "Tool grep is disabled by user config."
    );
    b.ok("plan_enter", json!({})).await;
    for tool in ["file_write", "file_edit"] {
        assert_eq!(
            b.err(tool, json!({"path": "a.txt"})).await,
            format!(
                "Tool {tool} is disabled in plan mode. Use plan_exit to re-enable write tools."
            )
        );
    }
    b.ok("file_read", json!({"path": "a.txt"})).await;
    b.ok("plan_exit", json!({})).await;
    b.cx.trusted = false;
    has(
        &b.err("file_write", json!({"path": "b.txt", "content": "x"}))
            .await,
        "has not trusted this workspace",
    );
    b.ok("file_read", json!({"path": "a.txt"})).await;
    assert!(!b.root.join("b.txt").exists());
}

#[tokio::test]
async fn wrong_parameters_are_named() {
    let b = Bench::new();
    for (tool, input, message) in [
        ("file_read", json!({}), "missing field `path`"),
        ("file_read", json!(null), "missing field `path`"),
        (
            "file_read",
            json!([1]),
            "an object is expected, not an array",
        ),
        (
            "file_read",
            json!({"path": 7}),
            "`path` must be a string, not 7",
        ),
        (
            "file_read",
            json!({"path": "a", "offset": "3"}),
            "`offset` must be a whole number of 0 or more, not a string",
        ),
        (
            "file_read",
            json!({"path": "a", "offset": -1}),
            "`offset` must be at least 1, not -1",
        ),
        ("file_read", json!({"file": "a"}), "unknown field `file`"),
        (
            "file_edit",
            json!({"path": "a", "old_string": "a", "new_string": "b", "replace_all": "yes"}),
            "`replace_all` must be a boolean",
        ),
        (
            "grep",
            json!({"pattern": "a", "context_lines": 11}),
            "`context_lines` must be from 0 to 10, not 11",
        ),
        (
            "think",
            json!({"thought": null}),
            "`thought` must be a string, not null",
        ),
    ] {
        let error = b.err(tool, input).await;
        has(&error, message);
        has(&error, &format!("Wrong parameters for {tool}"));
    }
}

#[test]
fn every_tool_tells_the_model_what_it_takes() {
    for tool in Registry::new(&Default::default()).tools() {
        let schema = tool.parameters();
        assert_eq!(schema["type"], "object", "{}", tool.name());
        for (name, parameter) in schema["properties"].as_object().unwrap() {
            assert!(
                parameter["description"].is_string(),
                "{} {name}",
                tool.name()
            );
        }
        assert!(!tool.description().is_empty() && !tool.description().contains('\n'));
    }
    let read = Registry::new(&Default::default()).tools()[0].parameters();
    assert_eq!(read["required"], json!(["path"]));
    assert_eq!(read["additionalProperties"], json!(false));
}

#[tokio::test]
async fn permissions_ask_and_nobody_is_a_no() {
    let rule = |action| Settings {
        rules: vec![Rule {
            tool: String::from("file_write"),
            pattern: Some(String::from("docs/*")),
            action,
        }],
        ..Settings::default()
    };
    let input = json!({"path": "./docs/../docs/a.md", "content": "x"});
    for (action, answer, part) in [
        (Action::Deny, Some(0), "not allowed for `docs/a.md`"),
        (Action::Ask, Some(5), "The author refused"),
        (Action::Ask, None, "Nobody answered"),
    ] {
        let mut b = Bench::answering(answer);
        b.registry = Registry::new(&rule(action));
        has(&b.err("file_write", input.clone()).await, part);
        assert!(!b.root.join("docs").exists());
    }
    let mut b = Bench::answering(Some(0));
    b.registry = Registry::new(&rule(Action::Ask));
    b.ok("file_write", input).await;
    assert_eq!(
        b.questions(),
        [format!(
            "The agent wants to change `docs/a.md` with file_write, in {}.",
            b.root.display()
        )]
    );
    b.ok("file_write", json!({"path": "other.md", "content": "x"}))
        .await;
    assert_eq!(b.questions().len(), 1);
}

/// A tool for the registry's own tests.
struct Odd {
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

#[async_trait]
impl Tool for Odd {
    fn name(&self) -> &'static str {
        "odd"
    }
    fn description(&self) -> String {
        String::from("odd")
    }
    fn parameters(&self) -> Value {
        json!({"type": "object"})
    }
    fn risk(&self) -> Risk {
        Risk::Read
    }
    async fn call(&self, _cx: &Context, input: Value) -> Output {
        assert!(input.get("panic").is_none(), "as asked");
        let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        // The first to be called is the last to end, if they run at the same time.
        for _ in 0..input["turns"].as_u64().unwrap_or(0) {
            tokio::task::yield_now().await;
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        Ok(input["turns"].to_string())
    }
}

fn odd(registry: &mut Registry) -> Arc<AtomicUsize> {
    let most = Arc::new(AtomicUsize::new(0));
    registry.tools.push(Arc::new(Odd {
        running: Arc::default(),
        most: most.clone(),
    }));
    most
}

#[tokio::test]
async fn a_panic_is_the_calls_error() {
    let mut b = Bench::new();
    odd(&mut b.registry);
    has(
        &b.err("odd", json!({"panic": true})).await,
        "failed by a defect of postil",
    );
    assert_eq!(b.ok("odd", json!({"turns": 1})).await, "1");
}

#[tokio::test]
async fn calls_run_together_and_answer_in_order() {
    let mut b = Bench::new();
    let most = odd(&mut b.registry);
    let calls = |extra: Option<&str>| {
        let odd = (0..5u64)
            .rev()
            .map(|n| (String::from("odd"), json!({"turns": n * 10})));
        odd.chain(extra.map(|name| (name.to_owned(), json!({"turns": 7}))))
            .collect::<Vec<_>>()
    };
    let answers = b.registry.call_all(&b.cx, calls(None)).await;
    assert_eq!(
        answers,
        ["40", "30", "20", "10", "0"].map(|s| Ok(String::from(s)))
    );
    assert_eq!(most.swap(0, Ordering::SeqCst), 5);
    // One of those that change what the others mean: in order.
    let answers = b.registry.call_all(&b.cx, calls(Some("plan_exit"))).await;
    assert_eq!((answers.len(), most.load(Ordering::SeqCst)), (6, 1));
}

#[tokio::test]
async fn thoughts_are_kept() {
    let b = Bench::new();
    assert_eq!(
        b.ok("think", json!({"thought": "first the tests"})).await,
        "Noted."
    );
    let rounds = b.store.rounds_back(&b.cx.run, None, 10).unwrap();
    assert_eq!(rounds[0].role.as_deref(), Some("reasoning"));
    assert_eq!(rounds[0].content, "first the tests");
}
