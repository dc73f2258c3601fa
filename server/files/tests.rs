use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;

struct Place {
    /// Holds the root `proj` and what is outside of it.
    outside: tempfile::TempDir,
    tree: Tree,
}

fn place() -> Place {
    let outside = tempfile::tempdir().unwrap();
    let root = outside.path().join("proj");
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::create_dir_all(outside.path().join("proj-evil")).unwrap();
    std::fs::write(outside.path().join("proj-evil/a.txt"), "evil").unwrap();
    std::fs::write(outside.path().join("secret.txt"), "secret").unwrap();
    std::fs::write(root.join("src/a.rs"), "fn a() {}\n").unwrap();
    let tree = Tree::new(&root, Arc::default()).unwrap();
    Place { outside, tree }
}

fn names(tree: &Tree, paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|p| tree.relative(p).unwrap()).collect()
}

fn is_outside<T: std::fmt::Debug>(result: Result<T, FileError>) -> bool {
    match result {
        Err(FileError::Outside(_)) => true,
        other => panic!("not refused as outside: {other:?}"),
    }
}

#[test]
fn paths_inside_resolve() {
    let p = place();
    let file = p.tree.root().join("src/a.rs");
    for path in [
        "src/a.rs",
        "./src/./a.rs",
        "src/../src/a.rs",
        "src//a.rs",
        file.to_str().unwrap(),
    ] {
        assert_eq!(p.tree.resolve(path).unwrap(), file, "{path}");
    }
    assert_eq!(p.tree.resolve(".").unwrap(), p.tree.root());
    assert_eq!(
        p.tree.resolve("new/deep/b.rs").unwrap(),
        p.tree.root().join("new/deep/b.rs")
    );
    assert_eq!(p.tree.relative(&file).unwrap(), "src/a.rs");
    assert_eq!(p.tree.relative(p.outside.path()), None);
}

#[test]
fn paths_outside_are_refused() {
    let p = place();
    let evil = p.tree.root().parent().unwrap().join("proj-evil/a.txt");
    let through_proc = format!("/proc/self/root{}", evil.display());
    for path in [
        "..",
        "../secret.txt",
        "src/../../secret.txt",
        "../proj-evil/a.txt",
        "../proj/src/a.rs",
        "nothing/../../secret.txt",
        "/etc/passwd",
        "/proc/self/root/etc/passwd",
        "/proc/self/cwd/../../../../../../etc/passwd",
        "/",
        evil.to_str().unwrap(),
        &through_proc,
    ] {
        is_outside(p.tree.resolve(path));
        is_outside(p.tree.write(path, b"x", None));
    }
    assert!(matches!(
        p.tree.read("~/secret.txt"),
        Err(FileError::NotFound(_))
    ));
    assert!(matches!(
        p.tree.read("src/a.rs\0.txt"),
        Err(FileError::NotFound(_))
    ));
    assert!(
        matches!(p.tree.read("SRC/A.RS"), Err(FileError::NotFound(_))),
        "names keep their case"
    );
}

#[test]
fn links_lead_inside_only() {
    let p = place();
    let root = p.tree.root();
    symlink("../secret.txt", root.join("out")).unwrap();
    symlink(p.outside.path(), root.join("up")).unwrap();
    symlink("src", root.join("in")).unwrap();
    symlink(root.join("src/a.rs"), root.join("absolute.rs")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("../gone.txt", root.join("dangling")).unwrap();

    for path in [
        "out",
        "up/secret.txt",
        "up/proj-evil/a.txt",
        "in/../../secret.txt",
        "dangling",
    ] {
        is_outside(p.tree.read(path).map(|t| t.text));
        is_outside(p.tree.write(path, b"x", None));
    }
    assert!(!p.outside.path().join("gone.txt").exists());
    assert_eq!(&*p.tree.read("in/a.rs").unwrap().text, "fn a() {}\n");
    assert_eq!(
        p.tree.read("absolute.rs").unwrap().path,
        root.join("src/a.rs")
    );
    assert!(matches!(
        p.tree.read("loop"),
        Err(FileError::NotOrdinary(_))
    ));
}

#[test]
fn link_put_there_after_the_check_is_not_followed() {
    let p = place();
    let root = p.tree.root();
    // What the check would have seen is a folder; what the open meets is a link.
    std::fs::rename(root.join("src"), root.join("old")).unwrap();
    symlink(p.outside.path(), root.join("src")).unwrap();
    let top = confine::folder(root, Path::new("")).unwrap();
    assert!(confine::folder(root, Path::new("src")).is_err());
    assert!(top.walk(Path::new("src")).is_err());
    assert!(confine::make_folder(root, Path::new("src/new")).is_err());
    assert!(!p.outside.path().join("new").exists());

    symlink("../secret.txt", root.join("swapped.txt")).unwrap();
    let target = root.join("swapped.txt");
    let place = disk::place(root, &target, "swapped.txt").unwrap();
    is_outside(place.read(100));
    is_outside(place.replace(b"x", Some(&hash(b"secret"))));
    assert_eq!(
        std::fs::read_to_string(p.outside.path().join("secret.txt")).unwrap(),
        "secret"
    );
}

#[test]
fn swaps_under_way_never_escape() {
    let p = place();
    let root = p.tree.root().to_owned();
    std::fs::write(p.outside.path().join("a.rs"), "outside").unwrap();
    symlink(p.outside.path(), root.join("link")).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = renameat_with(
                    CWD,
                    root.join("src"),
                    CWD,
                    root.join("link"),
                    RenameFlags::EXCHANGE,
                );
            }
        });
        for _ in 0..3000 {
            if let Ok(text) = p.tree.read("src/a.rs") {
                assert_eq!(&*text.text, "fn a() {}\n");
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn pipe_does_not_block() {
    let p = place();
    let pipe = p.tree.root().join("pipe.rs");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::Mode::from_raw_mode(0o644),
    )
    .unwrap();
    assert!(matches!(
        p.tree.read("pipe.rs"),
        Err(FileError::NotOrdinary(_))
    ));
    let seen = Seen {
        version: None,
        hash: hash(b""),
    };
    assert!(matches!(
        p.tree.write("pipe.rs", b"x", Some(&seen)),
        Err(FileError::NotOrdinary(_))
    ));
    assert_eq!(names(&p.tree, &p.tree.list(".").unwrap()), ["src/a.rs"]);
}

#[test]
fn reads_say_what_they_saw() {
    let p = place();
    let root = p.tree.root().to_owned();
    std::fs::write(root.join("bom.txt"), "\u{feff}a\r\nb").unwrap();
    std::fs::write(root.join("latin1.txt"), b"caf\xe9\n").unwrap();
    std::fs::write(root.join("utf16.txt"), b"\xff\xfea\0b\0").unwrap();
    std::fs::write(root.join("big.txt"), [b'a'; 101]).unwrap();
    std::fs::write(root.join("fits.txt"), [b'a'; 100]).unwrap();
    p.tree.set_max_size(100);

    let text = p.tree.read("bom.txt").unwrap();
    assert_eq!(
        (&*text.text, text.lossy, text.seen.version),
        ("\u{feff}a\r\nb", false, None)
    );
    let text = p.tree.read("latin1.txt").unwrap();
    assert_eq!((&*text.text, text.lossy), ("caf\u{fffd}\n", true));
    assert_eq!(text.seen.hash, hash(b"caf\xe9\n"));
    assert!(matches!(p.tree.read("utf16.txt"), Err(FileError::Utf16(_))));
    assert!(matches!(
        p.tree.read("big.txt"),
        Err(FileError::TooLarge(_, 100))
    ));
    assert!(p.tree.read("fits.txt").is_ok());
    assert!(matches!(p.tree.read("src"), Err(FileError::IsFolder(_))));
    assert!(matches!(p.tree.read("."), Err(FileError::IsFolder(_))));
    assert!(matches!(
        p.tree.read("none.txt"),
        Err(FileError::NotFound(_))
    ));
    assert!(matches!(
        p.tree.read("src/a.rs/b"),
        Err(FileError::NotFound(_))
    ));
}

#[test]
fn open_buffer_goes_before_the_disk() {
    let p = place();
    let path = p.tree.root().join("src/a.rs");
    p.tree
        .buffers
        .open(path, "file:///a.rs", "rust", 7, "unsaved");
    let text = p.tree.read("src/a.rs").unwrap();
    assert_eq!((&*text.text, text.seen.version), ("unsaved", Some(7)));
    assert!(matches!(
        p.tree.write("src/a.rs", b"x", Some(&text.seen)),
        Err(FileError::Changed(_))
    ));
    assert_eq!(
        std::fs::read_to_string(p.tree.root().join("src/a.rs")).unwrap(),
        "fn a() {}\n"
    );
}

#[test]
fn write_keeps_mode_and_link() {
    let p = place();
    let root = p.tree.root();
    std::fs::write(root.join("tool.sh"), "old").unwrap();
    std::fs::set_permissions(root.join("tool.sh"), PermissionsExt::from_mode(0o751)).unwrap();
    symlink("tool.sh", root.join("link.sh")).unwrap();
    let text = p.tree.read("link.sh").unwrap();
    p.tree.write("link.sh", b"new", Some(&text.seen)).unwrap();

    assert_eq!(
        std::fs::read_link(root.join("link.sh")).unwrap(),
        Path::new("tool.sh")
    );
    assert_eq!(
        std::fs::read_to_string(root.join("tool.sh")).unwrap(),
        "new"
    );
    assert_eq!(
        std::fs::metadata(root.join("tool.sh")).unwrap().mode() & 0o7777,
        0o751
    );
    assert_eq!(
        std::fs::read_dir(root).unwrap().count(),
        3,
        "no temporary file is left"
    );
}

#[test]
fn write_keeps_owner_and_attributes() {
    let p = place();
    let path = p.tree.root().join("src/a.rs");
    let attribute =
        rustix::fs::setxattr(&path, "user.note", b"kept", rustix::fs::XattrFlags::empty()).is_ok();
    // Only root can give a file away.
    let owner = if rustix::process::geteuid().is_root() {
        12345
    } else {
        std::fs::metadata(&path).unwrap().uid()
    };
    std::os::unix::fs::chown(&path, Some(owner), None).unwrap();
    let text = p.tree.read("src/a.rs").unwrap();
    p.tree.write("src/a.rs", b"new", Some(&text.seen)).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().uid(), owner);
    if attribute {
        let mut value = [0; 16];
        let length = rustix::fs::getxattr(&path, "user.note", &mut value[..]).unwrap();
        assert_eq!(&value[..length], b"kept");
    }
}

#[test]
fn write_keeps_an_access_list() {
    let p = place();
    let path = p.tree.root().join("src/a.rs");
    // Owner, one more reader, group, mask, others: tag, permissions, id.
    let entries: [(u16, u16, u32); 5] = [
        (1, 6, u32::MAX),
        (2, 4, 12345),
        (4, 4, u32::MAX),
        (16, 4, u32::MAX),
        (32, 0, u32::MAX),
    ];
    let mut list = 2u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(permissions.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    let name = "system.posix_acl_access";
    if rustix::fs::setxattr(&path, name, &list, rustix::fs::XattrFlags::empty()).is_err() {
        return; // a file system without
    }
    let text = p.tree.read("src/a.rs").unwrap();
    p.tree.write("src/a.rs", b"new", Some(&text.seen)).unwrap();
    let mut value = [0; 64];
    let length = rustix::fs::getxattr(&path, name, &mut value[..]).unwrap();
    assert_eq!(&value[..length], list);
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
}

#[test]
fn a_write_waits_for_its_turn_and_clears_up() {
    let p = place();
    let folder = p.tree.root().join("src");
    let left = folder.join(".postil-00000000000000ff.tmp");
    std::fs::write(&left, "half").unwrap();
    let others = folder.join(".postil-00000000000000fg.tmp");
    std::fs::write(&others, "x").unwrap();
    let text = p.tree.read("src/a.rs").unwrap();
    let turn = std::fs::File::open(&folder).unwrap();
    turn.lock().unwrap();
    std::thread::scope(|scope| {
        let write = scope.spawn(|| p.tree.write("src/a.rs", b"late", Some(&text.seen)));
        // Whoever has the turn writes first; the other sees it.
        std::fs::write(folder.join("a.rs"), "first\n").unwrap();
        turn.unlock().unwrap();
        let written = write.join().unwrap();
        assert!(matches!(written, Err(FileError::Changed(_))), "{written:?}");
    });
    assert!(!left.exists() && others.exists());
    assert_eq!(
        std::fs::read_to_string(folder.join("a.rs")).unwrap(),
        "first\n"
    );
}

#[test]
fn write_compares_with_what_was_seen() {
    let p = place();
    let path = p.tree.root().join("src/a.rs");
    let seen = p.tree.read("src/a.rs").unwrap().seen;
    std::fs::write(&path, "author's\n").unwrap();
    assert!(matches!(
        p.tree.write("src/a.rs", b"agent's", Some(&seen)),
        Err(FileError::Changed(_))
    ));
    assert!(matches!(
        p.tree.write("src/a.rs", b"agent's", None),
        Err(FileError::Changed(_))
    ));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "author's\n");
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(
        p.tree.write("src/a.rs", b"agent's", Some(&seen)),
        Err(FileError::Changed(_))
    ));
    assert!(!path.exists());
}

#[test]
fn new_file_gets_its_folders() {
    let p = place();
    p.tree.write("a/b/c.txt", b"text", None).unwrap();
    let path = p.tree.root().join("a/b/c.txt");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "text");
    assert_eq!(
        std::fs::metadata(&path).unwrap().mode() & 0o7133,
        0,
        "no more than 0644"
    );
    let seen = p.tree.read("a/b/c.txt").unwrap().seen;
    p.tree
        .remove(
            &path,
            &Seen {
                version: None,
                hash: hash(b"other"),
            },
        )
        .unwrap_err();
    p.tree.remove(&path, &seen).unwrap();
    assert!(!path.exists());
}

#[test]
fn write_protection_is_heeded() {
    let p = place();
    let path = p.tree.root().join("src/a.rs");
    let seen = p.tree.read("src/a.rs").unwrap().seen;
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
    let error = p.tree.write("src/a.rs", b"new", Some(&seen)).unwrap_err();
    assert!(error.to_string().contains("it is read-only"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "fn a() {}\n");
}

#[test]
fn refused_write_leaves_nothing_behind() {
    let p = place();
    let root = p.tree.root().to_owned();
    let target = root.join("src/a.rs");
    for named in [false, true] {
        let place = disk::place(&root, &target, "src/a.rs").unwrap();
        place
            .put_for_test(b"new", Some(&hash(b"other")), named)
            .unwrap_err();
        place.put_for_test(b"new", None, named).unwrap_err();
        assert_eq!(std::fs::read_dir(root.join("src")).unwrap().count(), 1);
        place
            .put_for_test(b"fn a() {}\n", Some(&hash(b"fn a() {}\n")), named)
            .unwrap();
        assert_eq!(std::fs::read_dir(root.join("src")).unwrap().count(), 1);
    }
}

fn git(root: &Path, args: &[&str]) {
    let done = std::process::Command::new("git")
        .arg("-C")
        .arg(root)
        .args(args)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

#[test]
fn list_is_tracked_and_what_is_neither_hidden_nor_ignored() {
    let p = place();
    let root = p.tree.root();
    for (path, text) in [
        (".gitignore", "*.log\n/target/\n"),
        (".ignore", "quiet.txt\n"),
        (".github/ci.yml", "x"),
        ("kept.log", "x"),
        ("other.log", "x"),
        ("target/out.rs", "x"),
        ("quiet.txt", "x"),
        (".hidden/a.rs", "x"),
        // Editors' copies.
        ("src/a.rs~", "x"),
        ("src/#a.rs#", "x"),
        ("new.rs", "x"),
        ("sub/.gitignore", "!deep.log\n"),
        ("sub/deep.log", "x"),
        ("gone.rs", "x"),
    ] {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    symlink("src/a.rs", root.join("link.rs")).unwrap();
    // Outside a repository .gitignore says nothing.
    let listed = names(&p.tree, &p.tree.list(".").unwrap());
    assert_eq!(
        listed,
        [
            "gone.rs",
            "kept.log",
            "new.rs",
            "other.log",
            "src/a.rs",
            "sub/deep.log",
            "target/out.rs"
        ]
    );

    git(root, &["init", "-q"]);
    git(
        root,
        &[
            "add",
            "-f",
            ".github/ci.yml",
            "kept.log",
            "src/a.rs",
            "link.rs",
            "gone.rs",
        ],
    );
    std::fs::remove_file(root.join("gone.rs")).unwrap();
    let scan = p.tree.scan(".", 2, |_| true).unwrap();
    let scanned: Vec<_> = scan
        .hits
        .iter()
        .map(|h| p.tree.relative(&h.path).unwrap())
        .collect();
    assert_eq!(
        scanned,
        [
            ".github/ci.yml",
            "kept.log",
            "new.rs",
            "src/a.rs",
            "sub/deep.log"
        ]
    );
    assert!(scan.skipped.is_empty(), "{:?}", scan.skipped);
    assert_eq!(
        names(&p.tree, &p.tree.list(".github").unwrap()),
        [".github/ci.yml"]
    );
    assert_eq!(
        names(&p.tree, &p.tree.list("src/a.rs").unwrap()),
        ["src/a.rs"]
    );

    // A workspace that is a folder of the repository.
    let sub = Tree::new(&root.join("src"), Arc::default()).unwrap();
    assert_eq!(names(&sub, &sub.list(".").unwrap()), ["a.rs"]);
    assert!(matches!(p.tree.list("none"), Err(FileError::NotFound(_))));
}

#[test]
fn scan_reports_what_it_passes_over() {
    let p = place();
    let root = p.tree.root().to_owned();
    p.tree.set_max_size(1000);
    std::fs::write(root.join("big.rs"), "AGENT: ".repeat(1000)).unwrap();
    std::fs::write(root.join("blob.bin"), b"\0 AGENT: ").unwrap();
    std::fs::write(root.join("quiet.bin"), b"\0\0").unwrap();
    std::fs::write(root.join("hit.rs"), "// AGENT: yes").unwrap();
    let scan = p
        .tree
        .scan(".", 3, |bytes| {
            memchr::memmem::find(bytes, b"AGENT:").is_some()
        })
        .unwrap();
    assert_eq!(scan.hits.len(), 1);
    assert_eq!(scan.hits[0].bytes, b"// AGENT: yes");
    let skipped: Vec<_> = scan.skipped.iter().map(ToString::to_string).collect();
    assert_eq!(
        skipped,
        [
            "big.rs is larger than 1000 bytes: raise `threads.maxFileSize` to have it read",
            "blob.bin is binary"
        ]
    );
    assert_eq!(scan.files, 4);
}

#[test]
fn scan_reads_long_files_whole() {
    let p = place();
    let mut text = "x".repeat(700_000);
    text.push_str("AGENT:");
    std::fs::write(p.tree.root().join("long.rs"), &text).unwrap();
    let scan = p
        .tree
        .scan(".", 1, |bytes| bytes.ends_with(b"AGENT:"))
        .unwrap();
    assert_eq!(scan.hits[0].bytes, text.as_bytes());
}

#[test]
fn rules_hold_as_git_and_ripgrep_read_them() {
    let p = place();
    let root = p.tree.root();
    std::fs::remove_dir_all(root.join("src")).unwrap();
    git(root, &["init", "-q"]);
    for (path, text) in [
        // Tracked in an ignored folder, beside what is not.
        (".gitignore", "out/\n*.tmp\n!keep.tmp\n/only-top.txt\n"),
        ("out/tracked.c", "x"),
        ("out/deep/tracked.c", "x"),
        ("out/untracked.c", "x"),
        ("out/deep/untracked.c", "x"),
        ("a.tmp", "x"),
        ("keep.tmp", "x"),
        ("only-top.txt", "x"),
        ("sub/only-top.txt", "x"),
        // The nearer file goes before, `.ignore` before `.gitignore`.
        ("sub/.gitignore", "!b.tmp\nc.txt\n"),
        ("sub/b.tmp", "x"),
        ("sub/c.txt", "x"),
        ("sub/.ignore", "!c.txt\nd.txt\n"),
        ("sub/d.txt", "x"),
        // Of the repository, not of the tree.
        (".git/info/exclude", "excluded.txt\n"),
        ("excluded.txt", "x"),
        // A repository in it has its own rules.
        ("nested/.git/HEAD", "x"),
        ("nested/a.tmp", "x"),
        ("nested/.gitignore", "b.txt\n"),
        ("nested/b.txt", "x"),
    ] {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    git(root, &["add", "-f", "out/tracked.c", "out/deep/tracked.c"]);
    let mut expected = vec![
        "keep.tmp",
        "nested/a.tmp",
        "out/deep/tracked.c",
        "out/tracked.c",
        "sub/b.tmp",
        "sub/c.txt",
        "sub/only-top.txt",
    ];
    assert_eq!(names(&p.tree, &p.tree.list(".").unwrap()), expected);
    expected.retain(|p| p.starts_with("sub/"));
    assert_eq!(names(&p.tree, &p.tree.list("sub").unwrap()), expected);
    // From a folder within, the rules above it hold too.
    let sub = Tree::new(&root.join("sub"), Arc::default()).unwrap();
    assert_eq!(
        names(&sub, &sub.list(".").unwrap()),
        ["b.tmp", "c.txt", "only-top.txt"]
    );
}

#[test]
fn large_folders_are_read_whole() {
    let p = place();
    for n in 0..1000 {
        std::fs::write(p.tree.root().join(format!("src/{n}.rs")), n.to_string()).unwrap();
    }
    for threads in [1, 3] {
        let scan = p
            .tree
            .scan("src", threads, |bytes| bytes.ends_with(b"7"))
            .unwrap();
        assert_eq!((scan.files, scan.hits.len()), (1001, 100));
        assert!(
            scan.hits
                .iter()
                .all(|h| h.path.to_str().unwrap().ends_with("7.rs"))
        );
    }
    let one = p.tree.scan("src/7.rs", 2, |_| true).unwrap();
    assert_eq!((one.files, &*one.hits[0].bytes), (1, &b"7"[..]));
}

#[test]
fn a_search_that_takes_too_long_says_so() {
    let p = place();
    let query = |longest| crate::files::Query {
        pattern: String::from("fn a"),
        include: None,
        context: 0,
        max_matches: 10,
        max_size: 1 << 20,
        longest,
        hides: None,
    };
    let grep = |longest| p.tree.grep(".", &query(longest), &|| false).unwrap();
    let found = grep(std::time::Duration::ZERO);
    assert_eq!((found.matches, found.late), (0, true));
    let found = grep(std::time::Duration::MAX);
    assert_eq!((found.matches, found.late), (1, false));
}

#[cfg(unix)]
#[test]
fn files_that_no_place_is_left_for_are_told_from_others() {
    let error = |number| FileError::Io {
        path: String::from("a.rs"),
        source: std::io::Error::from_raw_os_error(number),
    };
    assert!(error(24).is_exhausted() && error(23).is_exhausted());
    // What may not be read costs itself alone.
    assert!(!error(13).is_exhausted());
}
