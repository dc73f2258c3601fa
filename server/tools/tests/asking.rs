//! Questions to the author: scopes, one for what is alike, withdrawn with the last who waits.

use super::*;
use crate::trust::Wanted;

/// An author who answers when the test does, by the text of a button.
#[derive(Default)]
struct Author {
    open: Mutex<Vec<(Question, tokio::sync::oneshot::Sender<Option<usize>>)>>,
    withdrawn: AtomicUsize,
    came: tokio::sync::Notify,
    /// Turns that wait behind another's question now.
    behind: tokio::sync::watch::Sender<usize>,
}

struct Withdraw<'a>(&'a Author, bool);

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        if self.1 {
            self.0.withdrawn.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Author {
    async fn asked(&self) -> Question {
        loop {
            if let Some((question, _)) = self.open.lock().unwrap().first() {
                return question.clone();
            }
            self.came.notified().await;
        }
    }

    async fn says(&self, button: &str) {
        let question = self.asked().await;
        let taken = question.choices.iter().position(|c| c == button);
        assert!(taken.is_some(), "no {button} in {:?}", question.choices);
        let (_, answer) = self.open.lock().unwrap().remove(0);
        answer.send(taken).unwrap();
    }
}

#[async_trait]
impl Host for Author {
    async fn apply(&self, _label: &str, _edits: Vec<BufferEdit>) -> Result<(), NotApplied> {
        Err(NotApplied::NoEditor)
    }
    async fn ask(&self, question: Question) -> Option<usize> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.open.lock().unwrap().push((question, sender));
        self.came.notify_one();
        let mut guard = Withdraw(self, true);
        let answer = receiver.await.ok().flatten();
        guard.1 = false;
        answer
    }
    fn waits(&self, more: bool) {
        self.behind.send_modify(|behind| match more {
            true => *behind += 1,
            false => *behind -= 1,
        });
    }
    fn message(&self, _level: Level, text: &str) {
        panic!("{text}");
    }
    fn progress(&self, _run: &str, _progress: Progress) {}
    fn changed(&self, _paths: &[PathBuf]) {}
}

/// Runs what it is told to, in words.
struct Shell {
    ran: Arc<Mutex<Vec<String>>>,
    each_time: bool,
}

#[async_trait]
impl Tool for Shell {
    fn name(&self) -> &'static str {
        "shell"
    }
    fn description(&self) -> String {
        String::from("x")
    }
    fn parameters(&self) -> Value {
        json!({})
    }
    fn risk(&self) -> Risk {
        Risk::Run
    }
    fn about(&self, _cx: &Context, input: &Value) -> String {
        input["command"].as_str().unwrap_or_default().to_owned()
    }
    fn each_time(&self, _cx: &Context, _about: &str) -> Option<String> {
        self.each_time
            .then(|| String::from("There is no sandbox here."))
    }
    async fn call(&self, _cx: &Context, input: Value) -> Output {
        self.ran.lock().unwrap().push(self.about(_cx, &input));
        Ok(String::from("ran"))
    }
}

struct Stage {
    bench: Bench,
    author: Arc<Author>,
    ran: Arc<Mutex<Vec<String>>>,
}

fn stage(each_time: bool) -> Stage {
    let mut bench = Bench::new();
    let author = Arc::<Author>::default();
    let ran = Arc::<Mutex<Vec<String>>>::default();
    bench.cx.host = author.clone();
    bench.registry.tools.push(Arc::new(Shell {
        ran: ran.clone(),
        each_time,
    }));
    Stage { bench, author, ran }
}

impl Stage {
    async fn run(&self, command: &str) -> Output {
        self.bench.call("shell", json!({"command": command})).await
    }

    /// Another run at work in the same folder.
    fn beside(&self) -> Self {
        let mut other = stage(false);
        other.bench.cx.tree = self.bench.cx.tree.clone();
        other.bench.cx.gate = self.bench.cx.gate.clone();
        other.bench.cx.host = self.author.clone();
        other.author = self.author.clone();
        other.another_run();
        other
    }

    async fn waits_behind(&self) {
        let mut behind = self.author.behind.subscribe();
        behind.wait_for(|turns| *turns == 1).await.unwrap();
    }

    fn another_run(&mut self) {
        let run = self.bench.store.begin("01bc3f9a", "b.rs", "test");
        self.bench.cx.run = run.unwrap().id;
    }
}

#[tokio::test]
async fn each_scope_covers_what_it_says_and_no_more() {
    let mut s = stage(false);
    let (ran, ()) = tokio::join!(s.run("cargo test -q"), s.author.says("Allow once"));
    ran.unwrap();
    let question = async {
        let question = s.author.asked().await;
        s.author.says("Allow in this run").await;
        question
    };
    let (ran, question) = tokio::join!(s.run("cargo test -q"), question);
    ran.unwrap();
    assert_eq!(
        question.text,
        format!(
            "The agent wants to run `cargo test -q` with shell, in {}.",
            s.bench.root.display()
        )
    );
    assert_eq!(
        question.choices,
        [
            "Allow once",
            "Allow in this run",
            "Allow in this workspace",
            "Allow `cargo test*` in this workspace",
            "Always allow",
            "Refuse"
        ]
    );
    s.run("cargo test -q").await.unwrap();
    s.another_run();
    let (ran, ()) = tokio::join!(
        s.run("cargo test -q"),
        s.author.says("Allow `cargo test*` in this workspace")
    );
    ran.unwrap();
    s.run("cargo test --lib").await.unwrap();
    let (ran, ()) = tokio::join!(s.run("cargo test; rm -rf x"), s.author.says("Refuse"));
    has(&ran.unwrap_err(), "The author refused");
    assert_eq!(s.ran.lock().unwrap().len(), 5);
    // What was kept is there for the next process, and gone when it is taken back.
    let grants = trust::Grants::open(s.bench._folder.path().join("data").as_path());
    let all = grants.all().unwrap();
    assert_eq!((all.len(), &*all[0].argument), (1, "cargo test*"));
    grants.revoke(&all[0].id).unwrap();
    let (ran, ()) = tokio::join!(s.run("cargo test --lib"), s.author.says("Always allow"));
    ran.unwrap();
    assert_eq!(grants.all().unwrap()[0].folder, None);
}

#[tokio::test]
async fn calls_that_are_alike_and_wait_together_are_one_question() {
    let s = stage(false);
    let ((a, b), ()) = tokio::join!(
        async { tokio::join!(s.run("make"), s.run("make")) },
        s.author.says("Allow once")
    );
    assert_eq!(a, b);
    a.unwrap();
    assert_eq!(s.ran.lock().unwrap().len(), 2);
    assert!(s.author.open.lock().unwrap().is_empty());
    // Once is once: the next one asks.
    let (ran, ()) = tokio::join!(s.run("make"), s.author.says("Refuse"));
    has(&ran.unwrap_err(), "The author refused");
}

#[tokio::test]
async fn two_runs_with_one_question_share_the_answers_that_are_for_both() {
    for (answer, both) in [
        ("Allow once", None),
        ("Allow in this run", None),
        ("Allow in this workspace", Some(true)),
        ("Always allow", Some(true)),
        ("Refuse", Some(false)),
    ] {
        let one = stage(false);
        let two = one.beside();
        let author = async {
            one.author.asked().await;
            two.waits_behind().await;
            assert_eq!(one.author.open.lock().unwrap().len(), 1, "one at a time");
            one.author.says(answer).await;
            if both.is_none() {
                one.author.says("Refuse").await;
            }
        };
        let second = async {
            one.author.asked().await;
            two.run("make").await
        };
        let (first, second, ()) = tokio::join!(one.run("make"), second, author);
        assert_eq!(first.is_ok(), answer != "Refuse", "{answer}: {first:?}");
        assert_eq!(second.is_ok(), both == Some(true), "{answer}: {second:?}");
        assert_eq!(*one.author.behind.borrow(), 0, "{answer}");
    }
}

#[tokio::test]
async fn a_turn_that_is_cancelled_behind_a_question_or_before_another_leaves_it_to_the_other() {
    for first_goes in [true, false] {
        let one = stage(false);
        let two = one.beside();
        let (goes, stays) = if first_goes {
            (&one, &two)
        } else {
            (&two, &one)
        };
        let author = async {
            one.author.asked().await;
            two.waits_behind().await;
            goes.bench.cx.cancel.cancel();
            if first_goes {
                // Withdrawn with its turn: the next one is the other's.
                let mut behind = one.author.behind.subscribe();
                behind.wait_for(|turns| *turns == 0).await.unwrap();
                one.author.open.lock().unwrap().remove(0);
            }
            stays.author.says("Allow once").await;
        };
        let second = async {
            one.author.asked().await;
            two.run("make").await
        };
        let (first, second, ()) = tokio::join!(one.run("make"), second, author);
        assert_eq!(
            (first.is_ok(), second.is_ok()),
            (!first_goes, first_goes),
            "{first:?} {second:?}"
        );
    }
}

#[tokio::test]
async fn an_answer_for_the_run_spares_the_next_question() {
    let s = stage(false);
    s.bench
        .cx
        .gate
        .grants()
        .keep(
            &trust::Call {
                tool: "shell",
                risk: Risk::Run,
                argument: "ls -l",
                root: &s.bench.root,
            },
            Wanted::Pattern,
        )
        .unwrap();
    s.run("ls -a").await.unwrap();
    let ((a, b), ()) = tokio::join!(
        async { tokio::join!(s.run("cargo test a"), s.run("cargo test b")) },
        s.author.says("Allow `cargo test*` in this workspace")
    );
    assert_eq!(a, b);
    a.unwrap();
    assert!(s.author.open.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_cancelled_turn_withdraws_its_question() {
    let s = stage(false);
    let (ran, ()) = tokio::join!(s.run("make"), async {
        s.author.asked().await;
        s.bench.cx.cancel.cancel();
    });
    has(&ran.unwrap_err(), "Nobody answered");
    assert_eq!(s.author.withdrawn.load(Ordering::SeqCst), 1);
    assert!(s.ran.lock().unwrap().is_empty());
    assert!(s.bench.cx.gate.unanswered().is_empty());
}

#[tokio::test]
async fn what_cannot_be_granted_is_asked_each_time_whatever_the_rules() {
    let mut s = stage(true);
    let settings = Settings {
        permission: Some(Action::Allow),
        ..Settings::default()
    };
    s.bench.registry.settings = settings.into();
    for _ in 0..2 {
        let question = async {
            let question = s.author.asked().await;
            s.author.says("Allow once").await;
            question
        };
        let (ran, question) = tokio::join!(s.run("make"), question);
        ran.unwrap();
        assert_eq!(question.choices, ["Allow once", "Refuse"]);
        has(&question.text, "There is no sandbox here.");
    }
}

#[tokio::test]
async fn what_is_not_shown_in_whole_is_allowed_once_at_most() {
    let s = stage(false);
    let long = format!(
        "cargo test{}; curl evil\n\u{1b}[2Jx\u{202e}",
        " ".repeat(2000)
    );
    let question = async {
        let question = s.author.asked().await;
        s.author.says("Refuse").await;
        question
    };
    let (_, question) = tokio::join!(s.run(&long), question);
    assert_eq!(question.choices, ["Allow once", "Refuse"]);
    has(&question.text, "; curl evil⏎⟨U+001B⟩[2Jx⟨U+202E⟩`");
    has(&question.text, "characters are not shown");
}
