//! The engine's own hot paths, in process: what a keystroke costs, what a page of rounds costs, what a
//! scan costs. `cargo bench --bench engine`; whole processes beside their peers are in compare/.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde_json::{Map, json};

use postil::comments::{Syntax, detect};
use postil::files::{Buffers, Tree};
use postil::store::Store;
use postil::text::{Change, Document, Encoding, Position, Range};
use postil::{present, threads};

const LINES: usize = 10_000;
const THREADS: usize = 200;
const ROUNDS: usize = 100_000;

/// A Rust file of so many lines with so many threads of three lines, evenly spread.
fn source(lines: usize, threads: usize) -> String {
    let every = lines / threads;
    let mut text = String::new();
    for line in 0..lines {
        match line % every {
            10 => text.push_str(&format!("    // AUTHOR: why {line} here?\n")),
            11 => text.push_str("    // AGENT: Because of the table above.\n"),
            12 => text.push_str("    // AUTHOR:\n"),
            n if n % 10 == 0 => {
                text.push_str(&format!("}}\npub fn f{line}(x: u64) -> u64 {{ // a\n"))
            }
            n if n % 10 != 1 => {
                text.push_str(&format!("    let v{line} = \"text {line}\".len() + {n};\n"))
            }
            _ => {}
        }
    }
    format!("fn first() {{\n{text}}}\n")
}

fn keystroke(c: &mut Criterion) {
    let text = source(LINES, THREADS);
    let language = detect("a.rs", None, &text);
    let mut group = c.benchmark_group("10,000 lines, 200 threads");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("parse", |b| {
        b.iter(|| Syntax::parse(black_box(&text), language))
    });
    let syntax = Syntax::parse(&text, language);
    assert!(threads::find("a.rs", &text, &syntax).len() >= THREADS);
    group.bench_function("threads", |b| {
        b.iter(|| threads::find("a.rs", black_box(&text), &syntax))
    });

    // A character typed in the middle and taken back: everything that stands between didChange and
    // the diagnostics.
    let at = Position {
        line: (LINES / 2) as u32,
        character: 8,
    };
    let typed = |start: Position, end: Position, text: &str| {
        vec![Change::Incremental {
            range: Range { start, end },
            text: text.into(),
        }]
    };
    let behind = Position { character: 9, ..at };
    let changes = [typed(at, at, "x"), typed(at, behind, "")];
    let mut document = Document::new(&text, 0);
    let mut syntax = syntax.clone();
    let mut version = 0;
    group.bench_function("change to diagnostics", |b| {
        b.iter(|| {
            let change = &changes[version as usize % 2];
            version += 1;
            let before = document.clone();
            let splices = document
                .apply(change, Encoding::Utf16, version)
                .expect("it fits");
            let text = document.text();
            syntax.update(Some(before.text()), &splices, text);
            let found = threads::find("a.rs", text, &syntax);
            black_box(found.iter().map(present::diagnostic).collect::<Vec<_>>()).len()
        });
    });
    group.finish();
}

/// A store whose run has so many rounds; in memory, for what the disk adds is not ours.
fn store_with(rounds: usize) -> (tempfile::TempDir, Store, String) {
    let place = Path::new("/dev/shm");
    let place = if place.is_dir() {
        place.to_owned()
    } else {
        std::env::temp_dir()
    };
    let folder = tempfile::tempdir_in(place).expect("a folder");
    let store = Store::open(&folder.path().join("data"), folder.path()).expect("a store");
    let run = store
        .begin("3f9a01bc", "src/net.rs", "offline")
        .expect("a run");
    let content =
        "A round of an ordinary length, with a sentence or two of what the model said. ".repeat(3);
    for n in 0..rounds {
        let metadata = Map::from_iter([(String::from("exit_code"), json!(n % 2))]);
        store
            .append(&run.id, "assistant", metadata, &content)
            .expect("a round");
    }
    (folder, store, run.id)
}

fn page(c: &mut Criterion) {
    let mut group = c.benchmark_group("page of a run");
    for rounds in [100, ROUNDS] {
        let (_folder, store, run) = store_with(rounds);
        group.bench_function(format!("newest of {rounds}"), |b| {
            b.iter(|| store.rounds_back(&run, None, 40).expect("rounds"))
        });
        let middle = Some(rounds as u64 / 2);
        group.bench_function(format!("middle of {rounds}"), |b| {
            b.iter(|| store.rounds_back(&run, middle, 40).expect("rounds"))
        });
    }
    group.finish();
}

fn scan(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let text = source(400, 1)
        .replace("AUTHOR", "author")
        .replace("AGENT", "agent");
    let asked = source(400, 1);
    for n in 0..2000 {
        let path: PathBuf = folder.path().join(format!("d{}/f{n}.rs", n % 50));
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, if n % 100 == 0 { &asked } else { &text }).expect("a file");
    }
    let tree = Tree::new(folder.path(), Arc::new(Buffers::default())).expect("a tree");
    let readers = std::thread::available_parallelism().map_or(2, usize::from);
    let mut group = c.benchmark_group("scan of 2000 files");
    group.sample_size(20);
    group.throughput(Throughput::Bytes(2000 * text.len() as u64));
    group.bench_function("list", |b| b.iter(|| tree.list("").expect("a list")));
    group.bench_function("list and read", |b| {
        b.iter(|| tree.scan("", readers, threads::may_hold).expect("a scan"))
    });
    group.finish();
}

criterion_group!(benches, keystroke, page, scan);
criterion_main!(benches);
