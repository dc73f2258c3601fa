//! The rules of the house, checked on the sources themselves: layers, doors, purity, prints, length.
//!
//! Each rule is a function from sources to complaints. It is run on the project, and on a small bad
//! example each, so that a rule that can no longer complain is noticed. The scanner behind them knows
//! comments, strings and `use` trees, and nothing more of Rust.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

mod tidy {
    mod examples;
    pub mod source;
}

use tidy::source::Source;

/// Outside crates with one door: the only modules that may name them. `*` stands for every module from
/// L3 on; the pure layers (L0 to L2) are held by a rule of their own.
const DOORS: &[(&str, &[&str])] = &[
    // Where a crate can be replaced in one place.
    ("ropey", &["text"]),
    ("tree_sitter", &["comments", "grammars"]),
    ("postil_grammars", &["comments", "present"]),
    ("tower_lsp", &["lsp"]),
    ("lsp_types", &["lsp"]),
    ("tower", &["lsp"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("include_dir", &["cli"]),
    ("indicatif", &["cli"]),
    ("anstream", &["cli"]),
    ("anstyle", &["cli"]),
    ("tracing_subscriber", &["cli", "lsp"]),
    // `models` goes to the user's endpoint, with a key; `web` where an agent says, with nothing.
    ("reqwest", &["models", "web"]),
    ("rustls", &["models", "web"]),
    ("html2text", &["web"]),
    ("encoding_rs", &["web"]),
    ("hyper", &["web"]),
    ("hyper_util", &["web"]),
    ("http_body_util", &["web"]),
    ("eventsource_stream", &["models"]),
    ("rand", &["models"]),
    ("rusqlite", &["store"]),
    ("uuid", &["store", "lsp"]),
    ("rmcp", &["mcp"]),
    ("agent_client_protocol", &["acp", "agent"]),
    ("git2", &["vcs"]),
    // Its allocator alone.
    ("libgit2_sys", &["os"]),
    ("ignore", &["files"]),
    ("grep_searcher", &["files"]),
    ("grep_regex", &["files"]),
    ("grep_matcher", &["files"]),
    ("globset", &["files"]),
    ("notify", &["files"]),
    // In `cli` not our settings: Helix's, which `postil editor` adds to.
    ("toml", &["config", "cli", "children"]),
    ("etcetera", &["config"]),
    ("landlock", &["sandbox"]),
    ("seccompiler", &["sandbox"]),
    ("libc", &["sandbox", "os"]),
    ("windows_sys", &["os"]),
    ("sysinfo", &["os"]),
    // Used in several places, for one thing each.
    ("tempfile", &["*"]),
    ("rustix", &["*"]),
    ("schemars", &["*"]),
    ("serde_norway", &["*"]),
    ("serde", &["*"]),
    ("serde_json", &["*"]),
    ("tokio", &["*"]),
    ("tokio_util", &["*"]),
    ("futures", &["*"]),
    ("async_trait", &["*"]),
    ("dashmap", &["*"]),
    ("anyhow", &["*"]),
    ("thiserror", &["*"]),
    ("tracing", &["*"]),
    ("jiff", &["*"]),
    ("base64", &["*"]),
    // Pure themselves: allowed in every layer.
    ("similar", &["text", "edits", "*"]),
    ("memchr", &["text", "comments", "threads", "edits", "*"]),
    (
        "aho_corasick",
        &["text", "comments", "threads", "edits", "*"],
    ),
    ("sha2", &["threads", "*"]),
    ("unicode_normalization", &["threads", "*"]),
];

/// What L0 to L2 may not name: the world, the clock, the wire.
const IMPURE: &[&[&str]] = &[
    &["tokio"],
    &["tokio_util"],
    &["futures"],
    &["serde"],
    &["serde_json"],
    &["lsp_types"],
    &["tower_lsp"],
    &["rusqlite"],
    &["anyhow"],
    &["jiff"],
    &["std", "fs"],
    &["std", "io"],
    &["std", "net"],
    &["std", "env"],
    &["std", "time"],
    &["std", "process"],
    &["std", "thread"],
];

/// Sideways inside L3, and why.
const SIDEWAYS: &[(&str, &str, &str)] = &[
    (
        "acp",
        "children",
        "an outside agent is started, guarded and ended as a child server is",
    ),
    ("acp", "os", "what an outside agent sees of our environment"),
    (
        "config",
        "acp",
        "the settings name agents of the user's own",
    ),
    (
        "children",
        "files",
        "children see open buffers first, as everything does",
    ),
    (
        "children",
        "host",
        "a child's questions are the face's to answer",
    ),
    (
        "children",
        "os",
        "a child's process is begun and ended by the operating system's own means",
    ),
    (
        "children",
        "trust",
        "a file that a child wants to change may be a guarded one",
    ),
    (
        "config",
        "children",
        "the settings name rows of the registry of servers",
    ),
    (
        "config",
        "models",
        "the settings say what a model holds and costs",
    ),
    ("config", "os", "the home folder is the system's to tell"),
    ("log", "os", "the folder of the log is its user's alone"),
    (
        "config",
        "web",
        "the settings name hosts as who judges them reads them",
    ),
    (
        "files",
        "os",
        "a path without links is the system's to tell; a test has the process killed at each step of a write",
    ),
    (
        "trust",
        "os",
        "a path without links is the system's to tell",
    ),
    (
        "trust",
        "vcs",
        "what is trusted is also what git's configuration names to run",
    ),
    ("vcs", "os", "a path without links is the system's to tell"),
    (
        "web",
        "os",
        "a page becomes text in a process that is held to a limit",
    ),
    (
        "store",
        "os",
        "who holds a run is a process, or was one; a test has it killed at each step of a turn",
    ),
    ("files", "vcs", "what is tracked is read, ignored or not"),
    (
        "models",
        "os",
        "what a key's program started is ended with it",
    ),
    (
        "sandbox",
        "files",
        "a guarded file is set aside in a folder that no link leads to",
    ),
    ("sandbox", "os", "processes are begun, counted and ended"),
    (
        "sandbox",
        "trust",
        "what no tool may write, no command may either",
    ),
    (
        "sandbox",
        "vcs",
        "git in a command knows the author's settings that run nothing",
    ),
    (
        "sandbox",
        "web",
        "the way out of a command's network leads through the gateway",
    ),
    ("trust", "config", "a permission is a setting"),
    ("index", "files", "the index is kept from the tree"),
];

const LONGEST: usize = 700;

/// Words that mean "not finished".
const UNFINISHED: &[&str] = &["todo", "unimplemented"];

type Complaints = Vec<String>;

/// Modules in the order of lib.rs, each with its layer.
struct Layers(Vec<(String, u8)>);

impl Layers {
    /// Reads `// L3: …` headings and the `mod` lines below them.
    fn read(lib: &str) -> Self {
        let mut modules = Vec::new();
        let mut layer = 0;
        for line in lib.lines() {
            if let Some(n) = line
                .strip_prefix("// L")
                .and_then(|rest| rest.chars().next()?.to_digit(10))
            {
                layer = n as u8;
            }
            let item = line
                .trim_start_matches("pub ")
                .trim_start_matches("pub(crate) ");
            if let Some(name) = item
                .strip_prefix("mod ")
                .and_then(|rest| rest.strip_suffix(';'))
            {
                modules.push((name.to_string(), layer));
            }
        }
        Self(modules)
    }

    /// Place in the list and layer. The program stands above its library.
    fn of(&self, module: &str) -> Option<(usize, u8)> {
        if module == "main" || module == "lib" {
            return Some((self.0.len(), 7));
        }
        let at = self.0.iter().position(|(name, _)| name == module)?;
        Some((at, self.0.get(at)?.1))
    }
}

/// A module uses lower layers, and of its own layer what stands above it in lib.rs; in L3 not even that.
fn layers(layers: &Layers, sources: &[Source]) -> Complaints {
    let mut complaints = Vec::new();
    for source in sources
        .iter()
        .filter(|s| s.is_server() && s.module != "lib")
    {
        let Some((my_place, my_layer)) = layers.of(&source.module) else {
            complaints.push(format!(
                "{}: lib.rs does not list `{}` under a layer",
                source.path, source.module
            ));
            continue;
        };
        for (line, used) in source.uses_of_modules() {
            if used == source.module {
                continue;
            }
            let Some((place, layer)) = layers.of(&used) else {
                continue;
            };
            let excused = SIDEWAYS
                .iter()
                .any(|(from, to, _)| *from == source.module && *to == used);
            let fits = layer < my_layer
                || layer == my_layer
                    && if layer == 3 {
                        excused
                    } else {
                        place < my_place
                    };
            if !fits {
                complaints.push(format!(
                    "{}:{line}: `{}` (L{my_layer}) uses `{used}` (L{layer})",
                    source.path, source.module
                ));
            }
        }
    }
    complaints
}

/// An exception that nobody uses any more is a hole.
fn stale_exceptions(sources: &[Source]) -> Complaints {
    let used: BTreeSet<(String, String)> = sources
        .iter()
        .flat_map(|s| {
            s.uses_of_modules()
                .into_iter()
                .map(|(_, to)| (s.module.clone(), to))
        })
        .collect();
    let stale = SIDEWAYS
        .iter()
        .filter(|(from, to, _)| !used.contains(&((*from).into(), (*to).into())));
    stale
        .map(|(from, to, _)| format!("the exception `{from}` uses `{to}` is no longer needed"))
        .collect()
}

fn doors(layers: &Layers, sources: &[Source]) -> Complaints {
    let mut complaints = Vec::new();
    for source in sources {
        for (line, path) in source.paths() {
            let Some(root) = path.first() else { continue };
            let Some((_, allowed)) = DOORS.iter().find(|(name, _)| name == root) else {
                continue;
            };
            let high = source.module == "grammars"
                || layers
                    .of(&source.module)
                    .is_some_and(|(_, layer)| layer >= 3);
            let fits = allowed
                .iter()
                .any(|door| *door == source.module || *door == "*" && high);
            // A path that begins with a module of our own of the same name.
            let own = source.declares_module(root);
            if !fits && !own {
                complaints.push(format!(
                    "{}:{line}: `{root}` belongs behind the door of {}",
                    source.path,
                    allowed.join(", ")
                ));
            }
        }
    }
    complaints
}

/// A new dependency is given its door here, knowingly.
fn unknown_dependencies(manifest: &str) -> Complaints {
    let inside = manifest
        .split("\n[dependencies]\n")
        .nth(1)
        .unwrap_or_default();
    let section = inside.split("\n[").next().unwrap_or_default();
    let names = section.lines().filter_map(|line| {
        line.split_once(" =")
            .map(|(name, _)| name.replace('-', "_"))
    });
    let unknown = names
        .filter(|name| !name.starts_with('#') && !DOORS.iter().any(|(known, _)| known == name));
    unknown
        .map(|name| format!("Cargo.toml: `{name}` has no door in tests/tidy.rs"))
        .collect()
}

fn purity(layers: &Layers, sources: &[Source]) -> Complaints {
    let mut complaints = Vec::new();
    for source in sources.iter().filter(|s| s.is_server()) {
        if layers.of(&source.module).is_none_or(|(_, layer)| layer > 2) {
            continue;
        }
        for (line, path) in source.paths() {
            if let Some(impure) = IMPURE
                .iter()
                .find(|i| path.len() >= i.len() && path.iter().zip(**i).all(|(a, b)| a == b))
            {
                complaints.push(format!(
                    "{}:{line}: {} in a pure layer",
                    source.path,
                    impure.join("::")
                ));
            }
        }
    }
    complaints
}

/// Standard output belongs to the protocol, and what a person reads is written by a face.
fn prints(layers: &Layers, sources: &[Source]) -> Complaints {
    let mut complaints = Vec::new();
    for source in sources {
        if source.is_server()
            && layers
                .of(&source.module)
                .is_none_or(|(_, layer)| layer >= 6)
        {
            continue;
        }
        for name in ["println", "eprintln", "print", "eprint", "dbg"] {
            complaints.extend(
                source
                    .macros(name)
                    .into_iter()
                    .map(|line| format!("{}:{line}: {name}!", source.path)),
            );
        }
        // What becomes a command has the command's output.
        if source.path == "server/sandbox/inside.rs" {
            continue;
        }
        for name in ["stdout", "stderr"] {
            complaints.extend(
                source
                    .calls(name)
                    .into_iter()
                    .map(|line| format!("{}:{line}: {name}()", source.path)),
            );
        }
    }
    complaints
}

fn length(sources: &[Source]) -> Complaints {
    let lengths = sources.iter().map(|s| (s.path.as_str(), s.lines));
    lengths.filter_map(too_long).collect()
}

fn too_long((path, lines): (&str, usize)) -> Option<String> {
    (lines > LONGEST)
        .then(|| format!("{path}: {lines} lines; split it by subject (at most {LONGEST})"))
}

fn no_mod_rs(sources: &[Source]) -> Complaints {
    let files = sources.iter().filter(|s| s.path.ends_with("/mod.rs"));
    files
        .map(|s| {
            format!(
                "{}: a module's file stands beside its folder and has its name",
                s.path
            )
        })
        .collect()
}

/// The few calls to the operating system, and the one to the parser that is generated here.
const UNSAFE: &[&str] = &["server/os.rs", "server/os/windows.rs", "grammars/thread.rs"];

fn no_unsafe(sources: &[Source]) -> Complaints {
    let mut complaints = Vec::new();
    for source in sources.iter().filter(|s| !UNSAFE.contains(&&*s.path)) {
        complaints.extend(
            source
                .words("unsafe")
                .into_iter()
                .map(|line| format!("{}:{line}: unsafe", source.path)),
        );
    }
    complaints
}

/// `#[expect]` tells when it is no longer needed; `#[allow]` stays for ever.
fn no_allow(sources: &[Source]) -> Complaints {
    let mut complaints = Vec::new();
    for source in sources {
        let lines = source.attributes("allow").into_iter();
        complaints.extend(lines.map(|line| {
            format!(
                "{}:{line}: #[expect(…, reason = \"…\")] instead of allow",
                source.path
            )
        }));
    }
    complaints
}

fn unfinished(sources: &[Source]) -> Complaints {
    let mut complaints = Vec::new();
    for source in sources {
        for name in UNFINISHED {
            complaints.extend(
                source
                    .macros(name)
                    .into_iter()
                    .map(|line| format!("{}:{line}: {name}!", source.path)),
            );
        }
        for (line, comment) in &source.comments {
            let first = comment
                .split(|c: char| !c.is_alphanumeric())
                .next()
                .unwrap_or_default();
            if ["TODO", "FIXME", "XXX", "HACK"].contains(&first) {
                complaints.push(format!("{}:{line}: {first} in a comment", source.path));
            }
        }
    }
    complaints
}

// -- the project -------------------------------------------------------------------------------------

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn collect(folder: &str, into: &mut Vec<Source>) {
    for path in files(folder) {
        if path.ends_with(".rs") {
            into.push(Source::new(&path, &read(&path)));
        }
    }
}

/// Every file below a folder, by name; nothing that was fetched or built.
fn files(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let entries =
        std::fs::read_dir(root().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let entries: BTreeMap<String, bool> = entries
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                entry.file_type().unwrap().is_dir(),
            )
        })
        .collect();
    for (name, is_folder) in entries {
        let path = format!("{folder}/{name}");
        match is_folder {
            true if ["node_modules", "dist", "target"].contains(&name.as_str()) => {}
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

/// The program's sources; its own tests are left out.
fn product() -> Vec<Source> {
    let mut sources = Vec::new();
    collect("server", &mut sources);
    collect("grammars", &mut sources);
    assert!(sources.len() > 10, "the sources were not found");
    sources.retain(|s| !s.is_test && !s.path.ends_with("build.rs"));
    sources
}

/// Every Rust file that is written by hand.
fn everything() -> Vec<Source> {
    let mut sources = Vec::new();
    for folder in ["server", "grammars", "tests", "benches"] {
        if root().join(folder).exists() {
            collect(folder, &mut sources);
        }
    }
    // Sample files in the languages that postil reads.
    sources.retain(|s| !s.path.starts_with("tests/fixtures/") && !s.path.contains("/target/"));
    sources
}

fn project() -> Layers {
    let layers = Layers::read(&read("server/lib.rs"));
    assert!(layers.0.len() > 10 && layers.of("text").is_some_and(|(_, layer)| layer == 0));
    layers
}

#[track_caller]
fn assert_tidy(complaints: Complaints) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn modules_use_lower_layers_only() {
    assert_tidy(layers(&project(), &product()));
}

#[test]
fn exceptions_are_still_needed() {
    assert_tidy(stale_exceptions(&product()));
}

#[test]
fn outside_crates_have_one_door() {
    assert_tidy(doors(&project(), &product()));
}

#[test]
fn every_dependency_has_a_door() {
    assert_tidy(unknown_dependencies(&read("Cargo.toml")));
}

#[test]
fn low_layers_are_pure() {
    assert_tidy(purity(&project(), &product()));
}

#[test]
fn nothing_below_the_faces_prints() {
    assert_tidy(prints(&project(), &product()));
}

#[test]
fn files_are_short() {
    assert_tidy(length(&everything()));
}

#[test]
fn scripts_of_editors_are_short() {
    let scripts = files("editors").into_iter().filter(|path| {
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        ["lua", "ts", "mjs", "cjs"].contains(&extension)
    });
    let scripts: Vec<String> = scripts.collect();
    assert!(scripts.len() > 40, "{scripts:?}");
    let lengths = scripts
        .iter()
        .map(|path| (path.as_str(), read(path).lines().count()));
    assert_tidy(lengths.filter_map(too_long).collect());
}

#[test]
fn folders_have_no_mod_rs() {
    assert_tidy(no_mod_rs(&everything()));
}

#[test]
fn unsafe_is_in_three_files() {
    assert_tidy(no_unsafe(&everything()));
}

#[test]
fn lints_are_expected_not_allowed() {
    assert_tidy(no_allow(&everything()));
}

#[test]
fn nothing_is_left_unfinished() {
    assert_tidy(unfinished(&everything()));
}
