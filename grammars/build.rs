//! Builds the grammar of our own. The others are built by their crates.

fn main() {
    let sources = std::path::Path::new("tree-sitter-postil/src");
    let mut build = cc::Build::new();
    build.std("c11").include(sources).warnings(false);
    for file in ["parser.c", "scanner.c"] {
        let file = sources.join(file);
        println!("cargo:rerun-if-changed={}", file.display());
        build.file(file);
    }
    build.compile("tree-sitter-postil");
}
