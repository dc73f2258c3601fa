use super::*;

#[test]
fn a_damaged_store_is_set_aside_and_reported_once() {
    let place = Place::new();
    drop(place.open().unwrap());
    fs::write(
        place.database(),
        b"this is no database, but it is somebody's bytes".repeat(30),
    )
    .unwrap();
    let bytes = fs::read(place.database()).unwrap();
    let Err(StoreError::Corrupt { aside, .. }) = place.open() else {
        panic!("reported");
    };
    assert_eq!(fs::read(aside).unwrap(), bytes);
    place
        .open()
        .unwrap()
        .begin("aaaaaaaa", "a.rs", "m")
        .unwrap();
}

#[test]
fn damage_that_shows_late_is_set_aside_at_the_next_open() {
    let place = Place::new();
    let store = place.open().unwrap();
    let run = store.begin("aaaaaaaa", "a.rs", "m").unwrap();
    for _ in 0..200 {
        store
            .append(&run.id, "tool", Map::new(), &"words of a round ".repeat(40))
            .unwrap();
    }
    store.finish(&run.id, RunStatus::Completed, None).unwrap();
    drop(store);
    let mut bytes = fs::read(place.database()).unwrap();
    // Everything behind the tables' roots, so that opening sees nothing of it.
    let from = bytes.len() / 2;
    bytes[from..].fill(0xA5);
    fs::write(place.database(), &bytes).unwrap();
    let store = place.open().unwrap();
    assert!(matches!(
        store.rounds_from(&run.id, 0, 1000),
        Err(StoreError::Damaged { .. })
    ));
    drop(store);
    assert!(matches!(place.open(), Err(StoreError::Corrupt { .. })));
    assert!(place.open().is_ok());
}

/// Of an empty file SQLite makes a new database, and deletes the log beside it.
#[test]
fn an_emptied_store_is_set_aside_with_its_log_and_reported_once() {
    for emptied in [true, false] {
        let place = Place::new();
        drop(place.open().unwrap());
        let log = schema::with_suffix(&place.database(), "-wal");
        fs::write(&log, "rounds").unwrap();
        match emptied {
            true => fs::write(place.database(), "").unwrap(),
            false => fs::remove_file(place.database()).unwrap(),
        }
        let told = place.open().map(drop).unwrap_err();
        let StoreError::Corrupt { aside, .. } = &told else {
            panic!("{told}");
        };
        let kept = fs::read(schema::with_suffix(aside.as_ref(), "-wal")).unwrap();
        assert_eq!(kept, b"rounds");
        assert_eq!(fs::read(aside).unwrap(), b"");
        assert!(
            told.to_string().contains("was emptied by something else"),
            "{told}"
        );
        let store = place.open().unwrap();
        assert_eq!(store.aside(), [PathBuf::from(aside)]);
        store.begin("aaaaaaaa", "a.rs", "m").unwrap();
    }
}

#[test]
fn one_who_was_stopped_while_a_store_was_made_leaves_nothing_damaged() {
    let place = Place::new();
    let folder = place.database().parent().unwrap().to_owned();
    fs::create_dir_all(&folder).unwrap();
    for name in ["rounds-new.db", "rounds-new.db-wal"] {
        fs::write(folder.join(name), "a part").unwrap();
    }
    let store = place.open().unwrap();
    assert!(store.aside().is_empty());
    drop(store);
    let names = fs::read_dir(folder).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        !names
            .iter()
            .any(|name| name.to_string_lossy().contains("new")),
        "{names:?}"
    );
}

/// What a value or a table is damaged by, behind which nothing says so but that it cannot be read.
#[test]
fn a_value_that_cannot_be_read_is_damage() {
    for spoil in [
        "UPDATE runs SET file = CAST(x'ff41' AS TEXT)",
        "UPDATE rounds SET content = CAST(x'ff41' AS TEXT)",
        "UPDATE rounds SET metadata = '{'",
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'role TEXT', 'sole TEXT')",
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'file TEXT NOT NULL', 'file TEXT');
         PRAGMA writable_schema = RESET; UPDATE runs SET file = NULL",
    ] {
        let place = Place::new();
        let store = place.open().unwrap();
        let run = store.begin("aaaaaaaa", "a.rs", "m").unwrap();
        store.append(&run.id, "reply", Map::new(), "So.").unwrap();
        store.finish(&run.id, RunStatus::Completed, None).unwrap();
        drop(store);
        place.raw().execute_batch(spoil).unwrap();
        // NULL is one only where the table says so.
        place
            .raw()
            .execute_batch(
                "PRAGMA writable_schema = ON;
                 UPDATE sqlite_schema SET sql = replace(sql, 'file TEXT,', 'file TEXT NOT NULL,')",
            )
            .unwrap();
        let store = place.open().unwrap();
        let read = || {
            store.runs(None, None, 5)?;
            store.rounds_from(&run.id, 0, 5)?;
            store.first_reply(&run.id)
        };
        let told = read().unwrap_err();
        assert!(matches!(told, StoreError::Damaged { .. }), "{spoil}: {told}");
        drop(store);
        let told = place.open().map(drop).unwrap_err();
        assert!(matches!(told, StoreError::Corrupt { .. }), "{spoil}: {told}");
        place.open().unwrap();
    }
}

/// An error that turns out to be none of the file takes no history away.
#[test]
fn a_store_that_was_suspected_wrongly_stays() {
    let place = Place::new();
    let store = place.open().unwrap();
    let run = store.begin("aaaaaaaa", "a.rs", "m").unwrap();
    store.append(&run.id, "reply", Map::new(), "So. ✓").unwrap();
    drop(store);
    let mark = place.database().with_file_name("suspect");
    fs::write(&mark, "").unwrap();
    let store = place.open().unwrap();
    assert_eq!(store.rounds_from(&run.id, 0, 5).unwrap().len(), 1);
    assert!(!mark.exists());
}

/// The words for the search are made of the rounds: their damage takes no history away.
#[test]
fn words_that_are_damaged_are_made_anew_and_no_run_is_lost() {
    let spoil_page = |place: &Place| {
        let raw = place.raw();
        let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'words_data'";
        let page: u32 = raw.query_row(root, [], |row| row.get(0)).unwrap();
        let size: u32 = raw
            .pragma_query_value(None, "page_size", |row| row.get(0))
            .unwrap();
        raw.close().unwrap();
        let mut bytes = fs::read(place.database()).unwrap();
        let page = (page - 1) * size..page * size;
        bytes[page.start as usize..page.end as usize].fill(0xA5);
        fs::write(place.database(), bytes).unwrap();
    };
    let sql = |sql: &'static str| move |place: &Place| place.raw().execute_batch(sql).unwrap();
    let ways: [&dyn Fn(&Place); 4] = [
        &spoil_page,
        &sql("UPDATE words_data SET block = x'00ff00ff'"),
        &sql("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'words_data'"),
        &sql("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'words'"),
    ];
    for (at, spoil) in ways.iter().enumerate() {
        let place = Place::new();
        let store = place.open().unwrap();
        let run = store.begin("aaaaaaaa", "a.rs", "m").unwrap();
        for n in 0..300 {
            let text = format!("round {n}: {}", "words of many kinds ".repeat(40));
            store.append(&run.id, "tool", Map::new(), &text).unwrap();
        }
        store
            .append(&run.id, "reply", Map::new(), "sesquipedalian")
            .unwrap();
        drop(store);
        spoil(&place);
        let store = place.open().unwrap();
        let met = store
            .search("sesquipedalian", 5)
            .map(drop)
            .and_then(|()| store.append(&run.id, "tool", Map::new(), "more").map(drop));
        assert!(
            matches!(met, Err(StoreError::Damaged { .. })),
            "{at}: {met:?}"
        );
        assert!(!store.is_current());
        drop(store);
        let store = place.open().unwrap();
        assert!(store.is_current() && store.aside().is_empty(), "{at}");
        assert_eq!(store.search("sesquipedalian", 5).unwrap().len(), 1, "{at}");
        assert!(store.rounds_from(&run.id, 0, 1000).unwrap().len() >= 301);
        store
            .append(&run.id, "reply", Map::new(), "antidisestablishment")
            .unwrap();
        assert_eq!(store.search("antidisestablishment", 5).unwrap().len(), 1);
        let whole: String = place
            .raw()
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(whole, "ok", "{at}");
        assert!(!place.database().with_file_name("suspect").exists());
    }
}

/// A look at all of a database takes long: it is not made for each call that fails.
#[test]
fn what_only_looks_like_damage_is_looked_at_once() {
    let place = Place::new();
    let store = place.open().unwrap();
    let run = store.begin("aaaaaaaa", "a.rs", "m").unwrap();
    let change = Change {
        file: String::from("a.rs"),
        before: Some(b"a".to_vec()),
        ..Change::default()
    };
    store.record_change(&run.id, &change).unwrap();
    drop(store);
    let spoil = "UPDATE changes SET mode = -1";
    place.raw().execute_batch(spoil).unwrap();
    let fails = |store: &Store| {
        let told = store.last_changes(&run.id).map(drop);
        assert!(matches!(told, Err(StoreError::Damaged { .. })), "{told:?}");
    };
    let store = place.open().unwrap();
    fails(&store);
    assert!(!store.is_current());
    let store = place.open().unwrap();
    fails(&store);
    assert!(store.is_current());
    assert!(store.aside().is_empty());
}

/// Of one that another process has set aside nothing is read any more.
#[cfg(unix)]
#[test]
fn a_store_whose_file_is_another_one_is_not_current() {
    let place = Place::new();
    let store = place.open().unwrap();
    assert!(store.is_current());
    for suffix in ["", "-wal", "-shm"] {
        let file = schema::with_suffix(&place.database(), suffix);
        fs::rename(&file, file.with_extension("old")).unwrap();
    }
    assert!(!store.is_current());
    let other = place.open().unwrap();
    assert!(!store.is_current() && other.is_current());
}
