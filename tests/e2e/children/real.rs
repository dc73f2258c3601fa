//! The real servers, where they are installed.

use postil::children::Row;
use postil::text::apply_edits;
use serde_json::json;

use super::bench::Bench;
use crate::peers;

/// The peer as the author's own row; what it is silent about comes from the built-in row.
fn row(language: &str, command: &str) -> Row {
    let path = peers::find(command).unwrap();
    Row {
        language: language.to_string(),
        command: path.to_string_lossy().into_owned(),
        args: Vec::new(),
        extensions: Vec::new(),
        root_markers: Vec::new(),
        initialization_options: json!(null),
        env: Vec::new(),
        install: String::new(),
    }
}

/// Definition, references, rename, hover and diagnostics over two files, both ways of being open.
async fn understands(bench: &Bench, files: [(&str, &str, &str); 2], name: &str, broken: &str) {
    let [(a_name, language, a_text), (b_name, _, b_text)] = files;
    let b = bench.write(b_name, b_text);
    if !bench.root.join(a_name).exists() {
        // Unsaved: on disk it is empty.
        bench.write(a_name, "");
    }
    let a = bench.open(a_name, language, 1, a_text);
    let (used, defined) = (a_text.rfind(name).unwrap(), b_text.find(name).unwrap());

    let places = bench
        .children
        .definition(&a, used + 1, &bench.cancel)
        .await
        .unwrap();
    assert!(
        places
            .iter()
            .any(|p| p.path == b && p.range.start == defined),
        "{places:?}"
    );

    let places = bench
        .children
        .references(&a, used + 1, &bench.cancel)
        .await
        .unwrap();
    for (path, start) in [(&a, used), (&b, defined)] {
        assert!(
            places
                .iter()
                .any(|p| p.path == *path && p.range == (start..start + name.len())),
            "{places:?}"
        );
    }

    let hover = bench
        .children
        .hover(&a, used + 1, &bench.cancel)
        .await
        .unwrap();
    assert!(
        hover.as_deref().is_some_and(|h| h.contains(name)),
        "{hover:?}"
    );

    let edits = bench
        .children
        .rename(&a, used + 1, "other_name", &bench.cancel)
        .await
        .unwrap();
    for (path, text, is_open) in [(&a, a_text, true), (&b, b_text, false)] {
        let file = edits
            .iter()
            .find(|f| f.path == *path)
            .unwrap_or_else(|| panic!("{edits:?}"));
        assert_eq!(file.generation.is_some(), is_open);
        assert_eq!(
            apply_edits(&file.text, &file.edits),
            text.replace(name, "other_name")
        );
    }

    bench.change(&a, 2, &format!("{a_text}{broken}"));
    let (items, fresh) = bench.children.diagnostics(&a, &bench.cancel).await.unwrap();
    assert!(fresh && !items.is_empty(), "{fresh} {items:?}");
    bench.change(&a, 3, a_text);
    let (items, fresh) = bench.children.diagnostics(&a, &bench.cancel).await.unwrap();
    let errors: Vec<_> = items.iter().filter(|i| i["severity"] == 1).collect();
    assert!(fresh && errors.is_empty(), "{fresh} {items:?}");
    bench.children.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pylsp_understands_python() {
    if !peers::have(&["pylsp"]) {
        return;
    }
    let bench = Bench::real(vec![row("python", "pylsp")]);
    let a = "from b import load_all\n\nprint(\"😀\", load_all())\n";
    let b = "def load_all():\n    return \"é\"\n";
    understands(
        &bench,
        [("a.py", "python", a), ("b.py", "python", b)],
        "load_all",
        "def (\n",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clangd_understands_c() {
    if !peers::have(&["clangd"]) {
        return;
    }
    let bench = Bench::real(vec![row("c", "clangd")]);
    let a = "#include \"b.h\"\n\nint main(void) { /* 😀 */ return load_all(); }\n";
    let b = "/* é */ int load_all(void);\n";
    // Its background index reads what the build reads: the disk.
    let a_path = bench.write("a.c", a);
    let build =
        json!([{"directory": bench.root, "file": a_path, "arguments": ["cc", "-c", "a.c"]}]);
    bench.write("compile_commands.json", &build.to_string());
    understands(
        &bench,
        [("a.c", "c", a), ("b.h", "c", b)],
        "load_all",
        "int x = ;\n",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rust_analyzer_understands_rust() {
    if !peers::have(&["rust-analyzer"]) {
        return;
    }
    let bench = Bench::real(vec![row("rust", "rust-analyzer")]);
    bench.write(
        "Cargo.toml",
        "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    let a = "mod b;\n\npub fn all() -> u8 { /* 😀 */ b::load_all() }\n";
    let b = "/* é */ pub fn load_all() -> u8 { 1 }\n";
    understands(
        &bench,
        [("src/lib.rs", "rust", a), ("src/b.rs", "rust", b)],
        "load_all",
        "fn x( {\n",
    )
    .await;
}
