//! A conversation near the model's limit, and results beyond theirs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::{Bench, FILE};
use crate::model::{Asked, Step, call};

/// Tokens that the model holds; a token is three bytes here.
const WINDOW: usize = 24_000;
const FILES: usize = 10;
const LINES: usize = 150;

/// A line of file `f` that stands nowhere else.
fn line(f: usize, n: usize) -> String {
    format!("marker {f:02} {n:03} {}", "filler ".repeat(6))
}

/// An agent that reads one file after the other; a request that does not fit is refused. `tells`: whether the
/// model says truly what it was given.
fn reader(tells: bool) -> Bench {
    let next = Arc::new(AtomicUsize::new(0));
    let step = move |_: usize| {
        let next = next.clone();
        Step::made(move |body| {
            let tokens = body.to_string().len() / 3;
            if tokens > WINDOW {
                let text = format!("prompt is too long: {tokens} tokens > {WINDOW} maximum");
                return Step::error(400, "invalid_request_error", &text);
            }
            let at = next.fetch_add(1, Ordering::SeqCst);
            let step = if at == FILES {
                Step::text("Read them all.")
            } else {
                let input = json!({"path": format!("notes/{at}.txt")});
                Step::calls(vec![call(&format!("toolu_{at}"), "file_read", input)])
            };
            let used = if tells { tokens as u64 } else { 1 };
            step.usage(used, 10)
        })
    };
    let bench = Bench::new((0..3 * FILES).map(step).collect());
    for f in 0..FILES {
        let text: String = (0..LINES).map(|n| line(f, n) + "\n").collect();
        bench.workspace.write(&format!("notes/{f}.txt"), text);
    }
    bench.workspace.configure(&format!(
        "model = \"anthropic/claude-sonnet-4-5\"\n[models.\"anthropic/claude-sonnet-4-5\"]\ncontextWindow = {WINDOW}\n"
    ));
    bench
}

fn first(asked: &Asked) -> &Value {
    &asked.body["messages"][0]
}

/// How many lines of file `f` a request holds.
fn held(asked: &Asked, f: usize) -> usize {
    let prompt = asked.prompt();
    (0..LINES).filter(|n| prompt.contains(&line(f, *n))).count()
}

/// Each request that was shortened keeps the first message and the newest result whole, and older ones by
/// name; how many there were.
fn shortened(requests: &[Asked]) -> usize {
    let mut folds = 0;
    for (at, asked) in requests.iter().enumerate().skip(1) {
        let messages = asked.body["messages"].as_array().expect("messages").len();
        if messages > 1 {
            continue;
        }
        folds += 1;
        let question = |asked: &Asked| first(asked)["content"][0]["text"].clone();
        assert_eq!(question(asked), question(&requests[0]), "the first message");
        assert!(asked.body.to_string().len() / 3 <= WINDOW);
        let prompt = asked.prompt();
        assert!(prompt.contains("What was done so far (do not do it again)"));
        let newest = (0..FILES)
            .rev()
            .find(|f| prompt.contains(&format!("notes/{f}.txt")));
        let newest = newest.unwrap_or_else(|| panic!("request {at} tells of no file"));
        assert_eq!(
            held(asked, newest),
            LINES,
            "the newest of request {at} is whole"
        );
        if newest >= 3 {
            assert!(
                held(asked, 0) < LINES,
                "the oldest of request {at} is short"
            );
        }
    }
    folds
}

/// Every line of every file, page by page.
fn in_history(bench: &Bench) {
    let run = bench.run_id();
    let (code, page, err) = bench.cli(&["workflow", "thread", &run, "--budget", "1000000"]);
    assert_eq!(code, Some(0), "{err}");
    for f in 0..FILES {
        let missing = (0..LINES).find(|n| !page.contains(line(f, *n).trim_end()));
        assert_eq!(missing, None, "file {f} is in the history");
    }
}

#[test]
fn a_conversation_near_the_limit_is_shortened_before_it_is_refused() {
    let bench = reader(true);
    let mut editor = bench.editor();
    bench.turn(&mut editor);
    assert!(editor.text(FILE).contains("AGENT: Read them all."));
    let requests = bench.model.requests();
    assert_eq!(requests.len(), FILES + 1, "none was refused, none repeated");
    let folds = shortened(&requests);
    assert!(folds >= 2, "{folds}");
    in_history(&bench);
}

#[test]
fn a_conversation_that_was_refused_as_too_long_is_shortened_and_goes_on() {
    let bench = reader(false);
    let mut editor = bench.editor();
    bench.turn(&mut editor);
    assert!(editor.text(FILE).contains("AGENT: Read them all."));
    let requests = bench.model.requests();
    let refused = requests.len() - FILES - 1;
    assert!(refused >= 1, "{refused}");
    assert_eq!(shortened(&requests), refused, "once for each refusal");
    in_history(&bench);
}

#[test]
fn results_beyond_their_cap_are_cut_and_say_so() {
    let long: String = (0..20_000).map(|n| format!("é{n:06}\n")).collect();
    let bench = Bench::new(vec![
        Step::calls(vec![
            call("toolu_1", "file_read", json!({"path": "long.txt"})),
            call("toolu_2", "grep", json!({"pattern": "é"})),
            call("toolu_3", "list_files", json!({"path": "many"})),
            call("toolu_4", "glob", json!({"pattern": "many/*"})),
        ]),
        Step::text("Done."),
    ]);
    bench.workspace.write("long.txt", &long);
    for n in 0..600 {
        bench.workspace.write(&format!("many/{n}.txt"), "");
    }
    let mut editor = bench.editor();
    bench.turn(&mut editor);
    let results = bench.model.requests()[1].results();
    assert_eq!(results.len(), 4);
    for (id, text, is_error) in &results {
        assert!(!is_error, "{id}: {text}");
        assert!(text.len() <= 51 * 1024, "{id}: {}", text.len());
        let last = text.trim_end().lines().last().unwrap_or_default();
        let says = ["offset", "200", "500", "not shown", "more"];
        assert!(says.iter().any(|word| last.contains(word)), "{id}: {last}");
        assert!(!text.contains('\u{fffd}'), "{id}: a character was split");
    }
}
