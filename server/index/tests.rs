//! What a scan says with the cache is what it says without, whatever was done to the tree in between.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use proptest::prelude::*;

use super::*;
use crate::files::Tree;

struct Place {
    folder: tempfile::TempDir,
    root: PathBuf,
}

/// What a scan says: the threads of each file, and what it passed over.
type Answer = (BTreeMap<PathBuf, Vec<Thread>>, Vec<String>);

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("proj");
        std::fs::create_dir(&root).unwrap();
        Self { folder, root }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        let _ = std::fs::create_dir_all(path.parent().unwrap());
        let _ = std::fs::write(path, text);
    }

    fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.arg("-C").arg(&self.root).args(args);
        git.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
    }

    fn tree(&self) -> Tree {
        let tree = Tree::new(&self.root, Arc::default()).unwrap();
        tree.set_max_size(1000);
        tree
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// As a new process would answer; with what it read and what was known.
    fn ask(&self, cache: Option<&Path>, path: &str) -> (Answer, usize) {
        let index = Index::new(cache, &self.root);
        index.scan(&self.tree(), path).unwrap();
        let files = index.files();
        let threads = files
            .into_iter()
            .map(|file| (file.clone(), (*index.get(&file).unwrap().threads).clone()));
        ((threads.collect(), index.skipped().told), index.work().0)
    }

    #[track_caller]
    fn same(&self, path: &str) {
        let (fresh, _) = self.ask(None, path);
        let (kept, _) = self.ask(Some(&self.cache()), path);
        assert_eq!(kept, fresh);
    }

    /// Waits until the clock of files has gone on so far that what was written until now is settled.
    fn settle(&self) {
        let probe = self.folder.path().join("probe");
        let changed = || {
            use std::os::unix::fs::MetadataExt as _;
            std::fs::write(&probe, "").unwrap();
            let meta = probe.metadata().unwrap();
            meta.ctime() * 1_000_000_000 + meta.ctime_nsec()
        };
        let begin = changed();
        // Twenty are asked for; newer kernels write finer times than the clock that is asked tells, by a tick.
        while changed() < begin + 60_000_000 {
            std::thread::yield_now();
        }
    }

    fn kept(&self) -> PathBuf {
        let files = std::fs::read_dir(self.cache().join("threads")).unwrap();
        files.map(|f| f.unwrap().path()).next().unwrap()
    }
}

const QUESTION: &str = "// AUTHOR: why?\n";
/// As long, and no thread.
const REMARK: &str = "// Author. why?\n";

#[test]
fn what_has_not_changed_is_not_read_again() {
    let place = Place::new();
    place.git(&["init", "-q"]);
    for n in 0..300 {
        place.write(&format!("many/{n}.rs"), REMARK);
    }
    place.write("a/b/c.rs", QUESTION);
    place.write("big.rs", &QUESTION.repeat(100));
    place.write("binary.rs", "\0// AUTHOR: why?\n");
    place.write(
        "header.c",
        "// AUTHOR: Jane Doe <jane@example.org>\nint a;\n",
    );
    place.git(&["add", "a"]);
    place.settle();
    let cache = place.cache();
    let (first, read) = place.ask(Some(&cache), "");
    assert_eq!(read, 303, "all but the file that is too large");
    let (second, read) = place.ask(Some(&cache), "");
    assert_eq!((&second, read), (&first, 0));
    assert_eq!(first.0.len(), 1);
    assert_eq!(first.1.len(), 2, "{:?}", first.1);

    // A part of the tree, and the rest stays known.
    place.write("many/7.rs", QUESTION);
    place.write("a/new.rs", QUESTION);
    place.settle();
    assert_eq!(place.ask(Some(&cache), "many").1, 1);
    let (third, read) = place.ask(Some(&cache), "");
    assert_eq!((third.0.len(), read), (3, 1));
    assert_eq!(place.ask(Some(&cache), "").1, 0);

    // What git tracks has changed, and no file.
    place.git(&["add", "."]);
    place.settle();
    assert_eq!(place.ask(Some(&cache), "").1, 0);
}

#[test]
fn the_cache_is_the_users_alone_and_never_in_the_tree() {
    let place = Place::new();
    place.write("a.rs", QUESTION);
    place.ask(Some(&place.cache()), "");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.kept()), 0o600);
    assert_eq!(mode(place.kept().parent().unwrap()), 0o700);
    place.ask(Some(&place.root.join("cache")), "");
    assert_eq!(std::fs::read_dir(&place.root).unwrap().count(), 1);
}

#[test]
fn a_cache_that_is_damaged_or_foreign_is_written_anew() {
    let place = Place::new();
    for n in 0..5 {
        place.write(&format!("{n}/a.rs"), QUESTION);
    }
    place.settle();
    let cache = place.cache();
    let (good, _) = place.ask(Some(&cache), "");
    let kept = place.kept();
    let bytes = std::fs::read(&kept).unwrap();
    let version = bytes
        .windows(5)
        .position(|w| w == env!("CARGO_PKG_VERSION").as_bytes());
    let mut other_program = bytes.clone();
    other_program[version.unwrap()] ^= 1;
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 4;
    let damaged = [
        Vec::new(),
        b"junk".to_vec(),
        bytes[..bytes.len() - 1].to_vec(),
        flipped,
        other_program,
        [&bytes[..], b"x"].concat(),
    ];
    for bad in damaged {
        std::fs::write(&kept, bad).unwrap();
        assert_eq!(place.ask(Some(&cache), ""), (good.clone(), 5));
        assert_eq!(place.ask(Some(&cache), "").1, 0, "it was written anew");
    }
    // Something else in its place: a folder cannot be replaced, and nothing is lost but time.
    std::fs::remove_file(&kept).unwrap();
    std::fs::create_dir(&kept).unwrap();
    assert_eq!(place.ask(Some(&cache), ""), (good.clone(), 5));
    // Another setting of what is too large.
    std::fs::remove_dir(&kept).unwrap();
    place.ask(Some(&cache), "");
    let tree = place.tree();
    tree.set_max_size(3);
    let index = Index::new(Some(&cache), &place.root);
    index.scan(&tree, "").unwrap();
    assert_eq!((index.files().len(), index.skipped().told.len()), (0, 5));
}

#[test]
fn many_at_once_read_whole_caches() {
    let place = Place::new();
    for n in 0..40 {
        place.write(&format!("{n}.rs"), QUESTION);
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert_eq!(place.ask(Some(&place.cache()), "").0.0.len(), 40);
                }
            });
        }
    });
}

#[test]
fn what_is_written_while_a_scan_runs_is_not_overwritten_by_it() {
    let place = Place::new();
    place.write("a.rs", QUESTION);
    place.write("b.rs", QUESTION);
    let (tree, index) = (place.tree(), Index::new(None, &place.root));
    index.scan(&tree, "").unwrap();
    // The scan has read the files, and is not at its end.
    index.fresh().scanning = true;
    place.write("a.rs", REMARK);
    index.refresh(&tree, &place.root.join("a.rs"));
    std::fs::remove_file(place.root.join("b.rs")).unwrap();
    index.forget(&place.root.join("b.rs"));
    let fresh = index.fresh();
    assert!(fresh.files.contains(&place.root.join("a.rs")));
    assert_eq!(fresh.folders, [place.root.join("b.rs")]);
    assert!(index.files().is_empty());
}

/// It would be lost otherwise: the scan has it, and nothing else reads it again.
#[test]
fn what_cannot_be_read_while_a_scan_runs_is_left_to_the_scan_and_walked_again() {
    let place = Place::new();
    place.write("a.rs", QUESTION);
    let (tree, index) = (place.tree(), Index::new(None, &place.root));
    index.scan(&tree, "").unwrap();
    let exhausted = if cfg!(windows) { 4 } else { 24 };
    let fail = |_: &Path| Err(std::io::Error::from_raw_os_error(exhausted));
    index.fresh().scanning = true;
    let path = place.root.join("a.rs");
    let failed = index.refresh_by(&tree, &path, fail);
    assert!(failed.is_some_and(|error| error.is_exhausted()));
    let fresh = std::mem::take(&mut *index.fresh());
    assert!(fresh.missed && fresh.files.is_empty());
    assert_eq!(index.files(), [path]);
    assert!(!index.is_scanned());
    assert!(index.is_to_be_told() && !index.is_to_be_told());
    index.scan(&tree, "").unwrap();
    assert!(index.is_scanned() && index.is_to_be_told());
}

/// What can happen to a tree. Numbers choose among a few names, so that the same ones meet again.
#[derive(Clone, Debug)]
enum Step {
    Write(usize, bool),
    /// Same length, and the time of modification put back.
    Sneak(usize),
    RenameOver(usize, usize),
    Remove(usize),
    MoveFolder(usize, usize),
    RemoveFolder(usize),
    Mode(usize, bool),
    Link(usize, usize),
    Rules(usize, usize),
    Add(usize),
    Untrack(usize),
    Repository(usize),
    Settle,
    Part(usize),
}

const FOLDERS: &[&str] = &["", "a", "a/b", "c", ".hidden", "c/d"];
const NAMES: &[&str] = &["x.rs", "y.rs", "z.log", ".dot.rs"];
const RULES: &[&str] = &["*.log\n", "b/\n", "/a\n", "!z.log\nx.rs\n", "", "c/d/\n"];

fn file(n: usize) -> String {
    let folder = FOLDERS[n % FOLDERS.len()];
    let name = NAMES[n / FOLDERS.len() % NAMES.len()];
    format!("{folder}{}{name}", if folder.is_empty() { "" } else { "/" })
}

fn step() -> impl Strategy<Value = Step> {
    let n = || 0..24usize;
    prop_oneof![
        4 => (n(), any::<bool>()).prop_map(|(n, q)| Step::Write(n, q)),
        3 => n().prop_map(Step::Sneak),
        2 => (n(), n()).prop_map(|(a, b)| Step::RenameOver(a, b)),
        1 => n().prop_map(Step::Remove),
        1 => (0..6usize, 0..6usize).prop_map(|(a, b)| Step::MoveFolder(a, b)),
        1 => (1..6usize).prop_map(Step::RemoveFolder),
        1 => (n(), any::<bool>()).prop_map(|(n, on)| Step::Mode(n, on)),
        1 => (n(), n()).prop_map(|(a, b)| Step::Link(a, b)),
        3 => (0..24usize, 0..6usize).prop_map(|(a, b)| Step::Rules(a, b)),
        2 => n().prop_map(Step::Add),
        1 => n().prop_map(Step::Untrack),
        1 => (0..6usize).prop_map(Step::Repository),
        4 => Just(Step::Settle),
        1 => (0..6usize).prop_map(Step::Part),
    ]
}

fn take(place: &Place, step: &Step) {
    let at = |n: usize| place.root.join(file(n));
    let folder = |n: usize| place.root.join(FOLDERS[n]);
    match *step {
        Step::Write(n, question) => place.write(&file(n), if question { QUESTION } else { REMARK }),
        Step::Sneak(n) => {
            let path = at(n);
            if let (Ok(meta), Ok(text)) = (path.symlink_metadata(), std::fs::read_to_string(&path))
                && meta.is_file()
            {
                let other = if text == QUESTION { REMARK } else { QUESTION };
                let _ = std::fs::write(&path, other);
                if let Ok(open) = std::fs::File::options().append(true).open(&path) {
                    let _ = open.set_modified(meta.modified().unwrap());
                }
            }
        }
        Step::RenameOver(a, b) => {
            let _ = std::fs::rename(at(a), at(b));
        }
        Step::Remove(n) => {
            let _ = std::fs::remove_file(at(n));
        }
        Step::MoveFolder(a, b) => {
            let _ = std::fs::rename(folder(a), folder(b).join("moved"));
        }
        Step::RemoveFolder(n) => {
            let _ = std::fs::remove_dir_all(folder(n));
        }
        Step::Mode(n, on) => {
            let mode = if on { 0o644 } else { 0 };
            let _ = std::fs::set_permissions(at(n), PermissionsExt::from_mode(mode));
        }
        Step::Link(a, b) => {
            let _ = std::fs::remove_file(at(b));
            let _ = symlink(at(a), at(b));
        }
        Step::Rules(n, rules) => {
            let name = [".gitignore", ".ignore", ".git/info/exclude", ".gitignore"][n / 6 % 4];
            let path = folder(n % 6).join(name);
            if n % 5 == 4 {
                let _ = std::fs::remove_file(path);
            } else if path.parent().is_some_and(Path::is_dir) {
                let _ = std::fs::write(path, RULES[rules]);
            }
        }
        Step::Add(n) => place.git(&["add", "-f", &file(n)]),
        Step::Untrack(n) => place.git(&["rm", "-q", "-f", "--cached", &file(n)]),
        Step::Repository(0) => place.git(&["init", "-q"]),
        Step::Repository(n) => {
            let git = folder(n).join(".git");
            if git.exists() {
                let _ = std::fs::remove_dir_all(git);
            } else if folder(n).is_dir() {
                let _ = std::fs::create_dir_all(git.join("info"));
                let _ = std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n");
            }
        }
        Step::Settle => {
            place.settle();
            place.same("");
        }
        Step::Part(n) => {
            if folder(n).is_dir() {
                place.same(FOLDERS[n]);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn the_cached_answer_is_the_fresh_one(
        repository: bool,
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let place = Place::new();
        if repository {
            place.git(&["init", "-q"]);
        }
        for n in 0..24 {
            place.write(&file(n), if n % 3 == 0 { QUESTION } else { REMARK });
        }
        place.settle();
        for step in &steps {
            take(&place, step);
            place.same("");
        }
    }
}

#[test]
fn a_notebook_that_is_broken_in_another_way_is_read_anew() {
    let place = Place::new();
    let index = Index::new(None, &place.root);
    let file = place.root.join("a.ipynb");
    for text in [
        "// AUTHOR: {\n<<<<<<< ours\n",
        "// AUTHOR: [\n<<<<<<< theirs\n",
    ] {
        place.write("a.ipynb", text);
        assert_eq!(
            index.scan(&place.tree(), "").unwrap(),
            std::slice::from_ref(&file)
        );
        assert_eq!(index.get(&file).unwrap().unparsed.as_deref(), Some(text));
    }
}
