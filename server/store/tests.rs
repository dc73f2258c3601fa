use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;
use serde_json::{Map, json};

use super::{
    Change, Closed, Format, RunStatus, Said, Step, Store, StoreError, Tie, location, schema, undo,
};
use crate::threads::{Status, Thread};

mod damage;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }
    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }
    fn root(&self) -> PathBuf {
        let root = self.folder.path().join("my project");
        fs::create_dir_all(&root).unwrap();
        root
    }
    fn database(&self) -> PathBuf {
        location(&self.data(), &self.root())
    }
    fn open(&self) -> Result<Store, StoreError> {
        Store::open(&self.data(), &self.root())
    }
    fn raw(&self) -> Connection {
        Connection::open(self.database()).unwrap()
    }
}

#[test]
fn a_process_that_never_ends_its_opening_is_not_waited_for_without_end() {
    let place = Place::new();
    drop(place.open().unwrap());
    let lock = fs::File::open(place.database().with_file_name("lock")).unwrap();
    lock.lock().unwrap();
    let (told, hears) = std::sync::mpsc::channel();
    let (data, root) = (place.data(), place.root());
    std::thread::spawn(move || told.send(Store::open(&data, &root).map(drop)));
    let refused = hears.recv_timeout(std::time::Duration::from_secs(30));
    assert!(
        matches!(refused, Ok(Err(StoreError::Locked { .. }))),
        "{refused:?}"
    );
    lock.unlock().unwrap();
    place.open().unwrap();
}

#[test]
fn rounds_are_numbered_from_one_and_read_back() {
    let place = Place::new();
    let store = place.open().unwrap();
    let run = store.begin("3f9a01bc", "src/net.rs", "offline").unwrap();
    assert_eq!((run.rounds, run.status), (0, RunStatus::Running));
    let Some(metadata) = json!({"exit_code": 0, "nested": {"a": [1, null]}})
        .as_object()
        .cloned()
    else {
        panic!("an object");
    };
    assert_eq!(
        store.append(&run.id, "author", Map::new(), "why?").unwrap(),
        1
    );
    assert_eq!(
        store.append(&run.id, "tool", metadata.clone(), "").unwrap(),
        2
    );
    store.add_usage(&run.id, 12, 0.5).unwrap();
    store.finish(&run.id, RunStatus::Completed, None).unwrap();
    drop(store);

    let store = place.open().unwrap();
    let run = store.run(&run.id).unwrap();
    assert_eq!(
        (run.rounds, run.tokens, run.status),
        (2, 12, RunStatus::Completed)
    );
    let back = store.rounds_back(&run.id, None, 10).unwrap();
    assert_eq!(back.iter().map(|r| r.seq).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(back[0].metadata, metadata);
    assert_eq!(back[1].content, "why?");
    assert_eq!(store.rounds_back(&run.id, Some(2), 10).unwrap().len(), 1);
}

#[test]
fn a_thread_has_one_run_until_it_is_closed() {
    let store = Place::new();
    let store = store.open().unwrap();
    let first = store.begin("3f9a01bc", "a.rs", "m").unwrap();
    store
        .finish(&first.id, RunStatus::AwaitingUser, None)
        .unwrap();
    let again = store.begin("3f9a01bc", "a.rs", "m").unwrap();
    assert_eq!(again.id, first.id);
    store
        .finish(&again.id, RunStatus::AwaitingUser, None)
        .unwrap();
    store.close_threads(&[closed("a1b2c3d")], &[]).unwrap();
    assert_eq!(store.run(&first.id).unwrap().status, RunStatus::Completed);
    let other = store.begin("3f9a01bc", "a.rs", "m").unwrap();
    assert_ne!(other.id, first.id);
    // A thread id names its newest run.
    assert_eq!(store.run("3f9a01bc").unwrap().id, other.id);
    let found = store.tied(&[7], &[], 10).unwrap();
    assert_eq!(found[0].run_id.as_ref(), Some(&first.id));
    assert_eq!(
        Closed {
            run_id: None,
            time: jiff::Timestamp::UNIX_EPOCH,
            ..found[0].clone()
        },
        closed("a1b2c3d")
    );
    assert_eq!(store.tied(&[], &["a.rs"], 10).unwrap(), found);
    assert_eq!(store.tied(&[8], &["b.rs"], 10).unwrap(), []);
}

fn closed(commit: &str) -> Closed {
    let said = |role: &str, text: &str| Said {
        role: role.to_owned(),
        name: None,
        text: text.to_owned(),
    };
    Closed {
        run_id: None,
        thread_id: String::from("3f9a01bc"),
        file: String::from("a.rs"),
        lines: (3, 5),
        messages: vec![said("author", "why?"), said("agent", "Because.")],
        commit: Some(commit.to_owned()),
        by_commit: true,
        time: jiff::Timestamp::UNIX_EPOCH,
        ties: vec![Tie {
            file: String::from("a.rs"),
            line: 3,
            base_line: Some(3),
            hash: 7,
            stood: true,
        }],
    }
}

/// A conversation that an older version kept has no messages of its own, and still reads as some.
#[test]
fn what_was_closed_before_ties_were_kept_is_read() {
    let place = Place::new();
    let store = place.open().unwrap();
    place
        .raw()
        .execute(
            "INSERT INTO closed (thread_id, file, first_line, last_line, conversation, commit_hash, by_commit, time)
             VALUES ('3f9a01bc', 'a.rs', 1, 2, 'AUTHOR: why?\nreally\nAGENT(codex): Because.\n', 'a1b2c3d', 1, 0)",
            [],
        )
        .unwrap();
    let found = store.tied(&[], &["a.rs"], 10).unwrap();
    let said: Vec<(&str, Option<&str>, &str)> = found[0]
        .messages
        .iter()
        .map(|said| (&*said.role, said.name.as_deref(), &*said.text))
        .collect();
    assert_eq!(
        said,
        [
            ("author", None, "why?\nreally"),
            ("agent", Some("codex"), "Because.")
        ]
    );
}

#[test]
fn a_thread_that_is_held_is_refused() {
    let place = Place::new();
    let (one, two) = (place.open().unwrap(), place.open().unwrap());
    let run = one.begin("3f9a01bc", "a.rs", "m").unwrap();
    assert!(
        matches!(two.begin("3f9a01bc", "a.rs", "m"), Err(StoreError::Taken(id)) if id == run.id)
    );
    assert!(two.is_live(&run.id).unwrap());
    two.request_cancel(&run.id).unwrap();
    assert!(one.cancel_requested(&run.id).unwrap());
    one.finish(&run.id, RunStatus::Cancelled, None).unwrap();
    assert!(matches!(
        two.request_cancel(&run.id),
        Err(StoreError::NotRunning(_))
    ));
    let run = two.begin("3f9a01bc", "a.rs", "m").unwrap();
    assert!(!two.cancel_requested(&run.id).unwrap());
}

#[test]
fn a_lock_that_stays_is_said_and_a_run_whose_end_is_not_written_is_free() {
    let place = Place::new();
    let store = place.open().unwrap();
    let run = store.begin("3f9a01bc", "a.rs", "m").unwrap();
    let other = place.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = store.append(&run.id, "tool", Map::new(), "1");
    assert!(matches!(refused, Err(StoreError::Locked { .. })));
    assert_eq!(store.rounds_back(&run.id, None, 10).unwrap(), []);
    // Another store opens meanwhile, and reads.
    let second = place.open().unwrap();
    assert_eq!(second.run(&run.id).unwrap().status, RunStatus::Running);
    assert!(store.finish(&run.id, RunStatus::Failed, None).is_err());
    other.execute_batch("ROLLBACK").unwrap();
    assert!(!store.is_live(&run.id).unwrap());
    assert_eq!(store.begin("3f9a01bc", "a.rs", "m").unwrap().id, run.id);
    assert_eq!(store.append(&run.id, "tool", Map::new(), "1").unwrap(), 1);
}

#[test]
fn a_run_that_nobody_answers_keeps_who_has_answered_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), folder.path()).unwrap();
    let run = store.begin("3f9a01bc", "a.rs", "a/b").unwrap();
    store.finish(&run.id, RunStatus::Completed, None).unwrap();
    let again = store.begin("3f9a01bc", "a.rs", "").unwrap();
    assert_eq!((again.id, again.model), (run.id, String::from("a/b")));
}

#[test]
fn the_run_of_a_dead_process_is_interrupted_and_free() {
    let place = Place::new();
    let store = place.open().unwrap();
    let run = store.begin("3f9a01bc", "a.rs", "m").unwrap();
    place
        .raw()
        .execute("UPDATE runs SET owner_start = owner_start + 1", [])
        .unwrap();
    let found = place.open().unwrap();
    assert_eq!(found.run(&run.id).unwrap().status, RunStatus::Interrupted);
    assert_eq!(found.begin("3f9a01bc", "a.rs", "m").unwrap().id, run.id);
}

#[test]
fn ids_resolve_by_prefix() {
    let place = Place::new();
    let store = place.open().unwrap();
    let a = store.begin("3f9a01bc", "a.rs", "m").unwrap();
    let b = store.begin("3f9a01bc-2", "a.rs", "m").unwrap();
    place
        .raw()
        .execute("UPDATE runs SET id = 'aaaa1111' WHERE id = ?1", [&a.id])
        .unwrap();
    place
        .raw()
        .execute("UPDATE runs SET id = 'aaaa2222' WHERE id = ?1", [&b.id])
        .unwrap();
    assert_eq!(store.run("aaaa1").unwrap().id, "aaaa1111");
    assert_eq!(store.run("AAAA2").unwrap().id, "aaaa2222");
    assert_eq!(store.run("3f9a01bc").unwrap().id, "aaaa1111");
    assert_eq!(store.run("3f9a01bc-").unwrap().id, "aaaa2222");
    let Err(StoreError::Ambiguous(_, candidates)) = store.run("aaaa") else {
        panic!("ambiguous");
    };
    assert_eq!(candidates, "aaaa1111, aaaa2222");
    assert!(matches!(store.run("aaa"), Err(StoreError::ShortId(_))));
    for unknown in ["bbbb", "%%%%", "aaaa1111x", "zz"] {
        assert!(
            matches!(store.run(unknown), Err(StoreError::UnknownRun(_))),
            "{unknown}"
        );
    }
}

fn change(before: Option<&str>, after: Option<&str>) -> Change {
    Change {
        file: String::from("a.rs"),
        before: before.map(Vec::from),
        after: after.map(Vec::from),
        ..Change::default()
    }
}

#[test]
fn undo_takes_the_newest_turn_first() {
    let store = Place::new();
    let store = store.open().unwrap();
    let first = [change(None, Some("1")), change(Some("1"), Some("2"))];
    let run = store.begin("3f9a01bc", "a.rs", "m").unwrap();
    store
        .record_change(&run.id, &change(None, Some("1")))
        .unwrap();
    store
        .record_change(&run.id, &change(Some("1"), Some("2")))
        .unwrap();
    assert_eq!(store.last_changes(&run.id).unwrap(), first);
    store
        .finish(&run.id, RunStatus::AwaitingUser, None)
        .unwrap();
    store.begin("3f9a01bc", "a.rs", "m").unwrap();
    store
        .record_change(&run.id, &change(Some("2"), None))
        .unwrap();
    assert_eq!(
        store.last_changes(&run.id).unwrap(),
        [change(Some("2"), None)]
    );
    assert_eq!(store.last_turn(&run.id).unwrap().0, 2);
    store.mark_undone(&run.id, 2, "a.rs", i64::MAX).unwrap();
    assert_eq!(store.last_turn(&run.id).unwrap(), (1, first.to_vec()));
    store.mark_undone(&run.id, 1, "a.rs", i64::MAX).unwrap();
    assert_eq!(store.last_turn(&run.id).unwrap(), (0, Vec::new()));
}

#[test]
fn a_large_file_that_is_edited_often_is_kept_once() {
    let place = Place::new();
    let store = place.open().unwrap();
    let run = store.begin("3f9a01bc", "a.rs", "m").unwrap();
    let text = |nth: usize| {
        format!(
            "{}{}{}",
            "é\r\n".repeat(100_000),
            nth % 7,
            "x\n".repeat(100_000)
        )
    };
    let changes: Vec<Change> = (0..40)
        .map(|nth| match nth {
            // Removed, made anew, emptied, and filled.
            10 => change(Some(&text(10)), None),
            11 => change(None, Some(&text(12))),
            20 => change(Some(&text(20)), Some("")),
            21 => change(Some(""), Some(&text(22))),
            _ => change(Some(&text(nth)), Some(&text(nth + 1))),
        })
        .collect();
    for change in &changes {
        store.record_change(&run.id, change).unwrap();
    }
    assert_eq!(store.last_changes(&run.id).unwrap(), changes);
    assert_eq!(store.changes_of_thread("3f9a01bc").unwrap(), changes);
    let kept: i64 = place
        .raw()
        .query_row(
            "SELECT sum(length(before)) + sum(length(after)) FROM changes",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let whole = i64::try_from(text(0).len()).unwrap();
    assert!(kept < 4 * whole, "{kept} of {whole} each");
    // What the author wrote between, and a write that was not made, break nothing.
    let since = store.newest_change().unwrap();
    store
        .record_change(&run.id, &change(Some("mine"), Some("mine, too")))
        .unwrap();
    store.forget_changes(&run.id, since, None).unwrap();
    let last = change(Some("mine, too"), Some("mine, two"));
    store.record_change(&run.id, &last).unwrap();
    assert_eq!(store.last_changes(&run.id).unwrap().last(), Some(&last));
    // What comes after an undo in the same turn stands for itself.
    store.mark_undone(&run.id, 1, "a.rs", i64::MAX).unwrap();
    store
        .record_change(&run.id, &change(Some("mine, two"), Some("b")))
        .unwrap();
    assert_eq!(
        store.last_changes(&run.id).unwrap(),
        [change(Some("mine, two"), Some("b"))]
    );
}

#[test]
fn a_threads_past_is_as_it_is_now_whoever_wrote_it() {
    let place = Place::new();
    let (store, other) = (place.open().unwrap(), place.open().unwrap());
    let ids = ["3f9a01bc", "0badcafe"];
    let threads = ids.map(|id| Thread {
        id: id.to_owned(),
        messages: Vec::new(),
        status: Status::Pending,
        malformed: false,
        trailing: false,
    });
    let past = |of: &Store| {
        let asked = || of.past(&threads, &"").unwrap();
        let all = asked();
        assert_eq!(all, asked(), "asked again");
        all.iter()
            .map(|p| (p.has_run, p.changed_turn.is_some()))
            .collect::<Vec<_>>()
    };
    let unfinished = || {
        let all = store.past(&threads, &"").unwrap();
        all.iter().map(|p| p.is_unfinished).collect::<Vec<_>>()
    };
    assert_eq!(past(&store), [(false, false), (false, false)]);
    let run = store.begin("3f9a01bc", "a.rs", "m").unwrap();
    assert_eq!(past(&store), [(true, false), (false, false)]);
    store
        .record_change(&run.id, &change(None, Some("1")))
        .unwrap();
    assert_eq!(past(&store), [(true, true), (false, false)]);
    assert_eq!(past(&other), [(true, true), (false, false)]);
    other.mark_undone(&run.id, 1, "a.rs", i64::MAX).unwrap();
    assert_eq!(past(&store), [(true, false), (false, false)]);
    assert_eq!(unfinished(), [false, false]);
    let step = Step {
        talk: vec![String::from("{}")],
        ..Step::default()
    };
    store.step(&run.id, &step).unwrap();
    assert_eq!(unfinished(), [true, false]);
}

#[test]
fn what_was_typed_is_known_over_restarts_by_file_and_text() {
    let place = Place::new();
    let typed = place.open().unwrap().note_typed("a.rs", "why?", true);
    typed.unwrap();
    let store = place.open().unwrap();
    assert!(store.was_typed("a.rs", "why?").unwrap());
    assert!(!store.was_typed("b.rs", "why?").unwrap());
    assert!(!store.was_typed("a.rs", "why").unwrap());
}

#[test]
fn search_finds_words_and_takes_none_of_its_language() {
    let store = Place::new();
    let store = store.open().unwrap();
    let run = store.begin("3f9a01bc", "a.rs", "m").unwrap();
    store
        .append(&run.id, "author", Map::new(), "rename load to load_data")
        .unwrap();
    assert_eq!(store.search("rename load", 5).unwrap()[0].seq, 1);
    for words in ["\"", "NOT", "content:x", "a* (", ""] {
        store.search(words, 5).unwrap();
    }
    assert!(store.search("absent", 5).unwrap().is_empty());
}

#[test]
fn search_finds_words_that_have_no_blanks_around_them() {
    let store = Place::new();
    let store = store.open().unwrap();
    let run = store.begin("3f9a01bc", "a.rs", "m").unwrap();
    let long = "変数".repeat(100) + "の名前を load に変更してください" + &"。".repeat(100);
    for text in [long.as_str(), "이 변수를 바꿔", "rename load", "API를"] {
        store.append(&run.id, "author", Map::new(), text).unwrap();
    }
    let found = |words: &str| -> Vec<u64> {
        let hits = store.search(words, 5).unwrap();
        hits.iter().map(|hit| hit.seq).collect()
    };
    assert_eq!(found("名前"), [1]);
    assert_eq!(found("load"), [3, 1]);
    assert_eq!(found("変更 load"), [1]);
    assert_eq!(found("변수"), [2]);
    assert_eq!(found("api를"), [4]);
    assert_eq!(found("名字"), [0; 0]);
    // As long as somebody pastes.
    let many = |letter: char| -> String {
        let words = (0..3000).map(|number| format!("{letter}{number} "));
        words.collect()
    };
    assert_eq!(found(&"名前 ".repeat(3000)), [1]);
    assert_eq!(found(&many('名')), [0; 0]);
    assert_eq!(found(&many('x')), [0; 0]);
    let snippet = store.search("名前", 5).unwrap().remove(0).snippet;
    assert!(snippet.contains("の名前を") && snippet.chars().count() < 100);
    assert!(snippet.starts_with('…') && snippet.ends_with('…'));
}

#[test]
fn prune_deletes_what_is_old_and_not_live() {
    let store = Place::new();
    let store = store.open().unwrap();
    let old = store.begin("aaaaaaaa", "a.rs", "m").unwrap();
    store.append(&old.id, "author", Map::new(), "x").unwrap();
    store.finish(&old.id, RunStatus::Completed, None).unwrap();
    let live = store.begin("bbbbbbbb", "a.rs", "m").unwrap();
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(5);
    assert_eq!(store.prune(later, true).unwrap().runs.len(), 1);
    assert!(store.run(&old.id).is_ok());
    store.prune(later, false).unwrap();
    assert!(store.run(&old.id).is_err());
    assert!(store.run(&live.id).is_ok());
    assert!(store.search("x", 5).unwrap().is_empty());
}

#[test]
fn a_prune_beside_who_reads_says_that_the_space_is_not_free_yet() {
    let place = Place::new();
    let store = place.open().unwrap();
    let old = store.begin("aaaaaaaa", "a.rs", "m").unwrap();
    store.finish(&old.id, RunStatus::Completed, None).unwrap();
    let reader = Connection::open(place.database()).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM runs").unwrap();
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(5);
    let pruned = store.prune(later, false).unwrap();
    assert!(matches!(pruned.not_freed, Some(StoreError::Locked { .. })));
    drop(reader);
    let old = store.begin("aaaaaaaa", "a.rs", "m").unwrap();
    store.finish(&old.id, RunStatus::Completed, None).unwrap();
    assert!(store.prune(later, false).unwrap().not_freed.is_none());
}

#[test]
fn what_is_written_while_a_turn_is_undone_is_not_marked_as_taken_back() {
    let store = Place::new();
    let store = store.open().unwrap();
    let run = store.begin("3f9a01bc", "a.rs", "m").unwrap();
    let first = change(None, Some("one\n"));
    store.record_change(&run.id, &first).unwrap();
    let newest = store.newest_change().unwrap();
    // The next is kept as what differs from the one before it.
    let next = change(Some("one\n"), Some("one\ntwo\n"));
    store.record_change(&run.id, &next).unwrap();
    store.mark_undone(&run.id, 1, "a.rs", newest).unwrap();
    let left = std::slice::from_ref(&next);
    assert_eq!(store.last_turn(&run.id).unwrap(), (1, left.to_vec()));
    assert_eq!(store.changes_of_thread("3f9a01bc").unwrap(), left);
}

#[cfg(unix)]
#[test]
fn nobody_else_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let store = place.open().unwrap();
    store.begin("aaaaaaaa", "a.rs", "m").unwrap();
    let folder = place.database().parent().unwrap().to_path_buf();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&place.data()), 0o700);
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(mode(&entry.path()), 0o600, "{:?}", entry.path());
        names.push(entry.file_name());
    }
    assert!(
        names.iter().any(|name| name == "rounds.db-wal"),
        "{names:?}"
    );
}

#[test]
fn a_newer_store_is_refused_untouched() {
    let place = Place::new();
    drop(place.open().unwrap());
    place.raw().pragma_update(None, "user_version", 99).unwrap();
    let before = fs::read(place.database()).unwrap();
    assert!(matches!(
        place.open(),
        Err(StoreError::Newer { found: 99, .. })
    ));
    assert_eq!(fs::read(place.database()).unwrap(), before);
}

#[test]
fn an_older_store_is_migrated() {
    let place = Place::new();
    fs::create_dir_all(place.database().parent().unwrap()).unwrap();
    let old = place.raw();
    old.execute_batch(schema::MIGRATIONS[0]).unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    old.execute_batch(
        "INSERT INTO runs (id, thread_id, file, status, started, touched, last_seq, model)
            VALUES ('aaaa1111', '3f9a01bc', 'a.rs', 'completed', 0, 0, 2, 'm');
         INSERT INTO rounds (run, seq, turn, role, time, metadata, content)
            VALUES (1, 1, 1, 'author', 0, '{}', 'an old question'),
                   (1, 2, 1, 'reply', 0, '{}', 'an old answer');
         INSERT INTO changes (run, turn, file, before, after)
            VALUES (1, 0, 'a.rs', CAST('older' AS BLOB), CAST('old' AS BLOB)),
                   (1, 1, 'a.rs', CAST('old' AS BLOB), CAST('new' AS BLOB)),
                   (1, 1, 'a.rs', CAST('new' AS BLOB), CAST('answered' AS BLOB));",
    )
    .unwrap();
    drop(old);
    let store = place.open().unwrap();
    assert_eq!(store.search("question", 5).unwrap().len(), 1);
    assert_eq!(
        store.rounds_back("aaaa1111", None, 5).unwrap()[1].content,
        "an old question"
    );
    let answer = Change {
        is_answer: true,
        ..change(Some("new"), Some("answered"))
    };
    assert_eq!(
        store.last_changes("aaaa1111").unwrap(),
        [change(Some("old"), Some("new")), answer]
    );
}

#[test]
fn what_a_turn_wrote_of_one_file_is_found_without_a_look_at_the_others() {
    let place = Place::new();
    drop(place.open().unwrap());
    let connection = place.raw();
    for sql in [undo::RECORD, undo::MARK_UNDONE] {
        let explained = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"));
        let mut explained = explained.unwrap();
        let mut rows = explained.raw_query();
        let mut steps = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            steps.push(row.get::<_, String>("detail").unwrap());
        }
        let at_file = "changes_of_turn (run=? AND undone=? AND turn=? AND file=?";
        assert!(steps.iter().any(|step| step.contains(at_file)), "{steps:?}");
    }
}

#[test]
fn two_folders_of_one_name_have_a_history_each() {
    let place = Place::new();
    let [a, b] = ["a/app", "b/app"].map(|name| place.folder.path().join(name));
    for root in [&a, &b] {
        fs::create_dir_all(root).unwrap();
    }
    assert_ne!(location(&place.data(), &a), location(&place.data(), &b));
    assert!(
        location(&place.data(), &a)
            .to_string_lossy()
            .contains("/app-")
    );
}

#[test]
fn a_page_of_a_run_with_deleted_rounds_counts_what_is_there() {
    let place = Place::new();
    let store = place.open().unwrap();
    let run = store.begin("aaaaaaaa", "a.rs", "m").unwrap();
    for n in 1..=20 {
        store
            .append(
                &run.id,
                "tool",
                Map::new(),
                &format!("{n} {}", "x".repeat(100)),
            )
            .unwrap();
    }
    place
        .raw()
        .execute("DELETE FROM rounds WHERE seq IN (3, 4, 5)", [])
        .unwrap();
    let page = store.page(&run.id, None, 600, Format::Text).unwrap();
    let hint = page.hint.unwrap();
    assert_eq!(hint.omitted, hint.before - 2 - 3);
    assert_eq!(store.append(&run.id, "tool", Map::new(), "").unwrap(), 21);
}
