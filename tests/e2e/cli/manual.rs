//! The man pages: what each has, and that what they tell is what the program does.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::*;
use crate::peers;

/// What a page may have, in this order; what a person looks for stands where other pages have it.
const SECTIONS: &[&str] = &[
    "NAME",
    "SYNOPSIS",
    "DESCRIPTION",
    "OPTIONS",
    "COMMON OPTIONS",
    "COMMANDS",
    "EXIT STATUS",
    "ENVIRONMENT",
    "FILES",
    "EXAMPLES",
    "SEE ALSO",
];

fn pages(workspace: &Workspace) -> Vec<PathBuf> {
    let made = postil(workspace, &["man", "share/man1"]).ok();
    assert_eq!((made.out, made.err), (String::new(), String::new()));
    let files = std::fs::read_dir(workspace.path("share/man1")).expect("pages");
    files.flatten().map(|file| file.path()).collect()
}

/// The lines of a section.
fn section<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let heading = |line: &str| Some(line.strip_prefix(".SH ")?.trim_matches('"').to_owned());
    page.lines()
        .skip_while(|line| heading(line).as_deref() != Some(name))
        .skip(1)
        .take_while(|line| heading(line).is_none())
        .collect()
}

#[test]
fn every_command_has_a_man_page() {
    let workspace = Workspace::new();
    let run = |args: &[&str]| {
        let output = workspace.postil().args(args).output().expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), errors)
    };
    assert_eq!(run(&["man", "share/man1"]), (true, String::new()));
    let page = workspace.read("share/man1/postil-reply.1");
    assert!(
        page.contains(".TH") && page.contains("Have threads answered"),
        "{page}"
    );
    assert!(
        workspace
            .read("share/man1/postil.1")
            .contains("margins of your code")
    );
    assert!(workspace.path("share/man1/postil-workflow-list.1").exists());
    let told = postil(&workspace, &["man", "share/man1", "--json"])
        .ok()
        .json();
    assert_eq!(told["folder"], "share/man1", "{told}");
    // Without a folder, where `man` looks for those of the user.
    let told = postil(&workspace, &["man"]).ok().out;
    let own = workspace.data().with_file_name("man").join("man1");
    assert_eq!(told, format!("the pages are in {}\n", own.display()));
    assert!(own.join("postil-reply.1").exists());
    // A file stands where the folder is to be.
    workspace.write("taken", "");
    let (well, errors) = run(&["man", "taken"]);
    assert!(
        !well && errors.contains("taken cannot be written to"),
        "{errors}"
    );
}

#[test]
fn a_man_page_has_a_head_the_usual_sections_and_the_exit_statuses() {
    let workspace = Workspace::new();
    // As old as the program, unless whoever builds a package says otherwise.
    let built = std::fs::metadata(env!("CARGO_BIN_EXE_postil")).and_then(|file| file.modified());
    let built = jiff::Timestamp::try_from(built.expect("a time")).expect("a date");
    let built = built.to_zoned(jiff::tz::TimeZone::UTC).date();
    let made = workspace
        .postil()
        .args(["man", "packaged"])
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .status();
    assert!(made.expect("it runs").success());
    let packaged = workspace.read("packaged/postil.1");
    assert!(packaged.contains(".TH POSTIL 1 2023-11-14 "), "{packaged}");
    let pages = pages(&workspace);
    assert!(pages.len() > 30, "{pages:?}");
    for path in &pages {
        let page = std::fs::read_to_string(path).expect("a page");
        let name = path
            .file_stem()
            .and_then(|name| name.to_str())
            .expect("a name");
        let head = format!(
            ".TH {} 1 {built} \"postil {}\" \"postil manual\"",
            name.to_uppercase(),
            env!("CARGO_PKG_VERSION")
        );
        assert!(page.lines().any(|line| line == head), "{head}: {page}");
        assert!(page.is_ascii(), "{page}");
        let headings = page.lines().filter_map(|line| line.strip_prefix(".SH "));
        let places: Option<Vec<usize>> = headings
            .map(|name| {
                SECTIONS
                    .iter()
                    .position(|known| *known == name.trim_matches('"'))
            })
            .collect();
        let places = places.unwrap_or_else(|| panic!("a heading of no other page: {page}"));
        assert!(places.is_sorted() && places.len() > 4, "{page}");
        let codes = section(&page, "EXIT STATUS").join("\n");
        for code in ["0", "1", "2"] {
            assert!(
                codes.contains(&format!("\\fB{code}\\fR")),
                "{name}: {codes}"
            );
        }
        // Said once, where it is looked for.
        assert!(!page.contains("Exit status:"), "{page}");
        let groff = workspace
            .command("groff")
            .args(["-man", "-ww", "-z", "-Tascii"])
            .arg(path)
            .output();
        match groff {
            Ok(said) => assert_eq!(String::from_utf8_lossy(&said.stderr), "", "{name}"),
            Err(_) => peers::note("groff"),
        }
    }
    let read = |name: &str| workspace.read(&format!("share/man1/{name}.1"));
    let check = section(&read("postil-check"), "EXIT STATUS").join(" ");
    assert!(
        check.contains("No thread is open.") && check.contains("One is,"),
        "{check}"
    );
    assert!(section(&read("postil"), "EXIT STATUS").contains(&"\\fB143\\fR"));
    let example = section(&read("postil-check"), "EXAMPLES").join(" ");
    assert!(example.contains("postil check"), "{example}");
    // A page has what it is about most, the main page all.
    let trust = read("postil-trust");
    assert_eq!(section(&trust, "FILES").len(), 3, "{trust}");
    assert!(section(&trust, "ENVIRONMENT").is_empty(), "{trust}");
    let log = "\\fIPOSTIL_LOG\\fR";
    assert!(section(&read("postil"), "ENVIRONMENT").contains(&log));
}

/// Every source of the program but the tables of the pages themselves.
fn sources(folder: &Path, into: &mut String) {
    for entry in std::fs::read_dir(folder).expect("sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, into);
        } else if !path.ends_with("cli/man.rs") {
            into.push_str(&std::fs::read_to_string(&path).expect("a source"));
        }
    }
}

#[test]
fn the_man_page_names_the_variables_that_are_read() {
    // Read by what is built in.
    const BUILT_IN: &[&str] = &[
        "ALL_PROXY",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "NO_COLOR",
        "NO_PROXY",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
    ];
    let workspace = Workspace::new();
    pages(&workspace);
    let page = workspace.read("share/man1/postil.1");
    let told: BTreeSet<&str> = section(&page, "ENVIRONMENT")
        .into_iter()
        .filter_map(|line| line.strip_prefix("\\fI")?.strip_suffix("\\fR"))
        .flat_map(|names| names.split(", "))
        .collect();
    let mut source = String::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("server"),
        &mut source,
    );
    for name in &told {
        let is_read = BUILT_IN.contains(name) || source.contains(&format!("\"{name}\""));
        assert!(is_read, "{name} is on the page, and nothing reads it");
    }
    // A literal that is asked for, or looks like a variable of a provider's.
    let asked = source.split("env::var").skip(1).filter_map(|rest| {
        let rest = rest.strip_prefix("_os").unwrap_or(rest);
        rest.strip_prefix("(\"")?.split('"').next()
    });
    let config = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("server/config/schema.rs"),
    )
    .expect("a source");
    let keys = config.split('"').filter(|text| text.ends_with("_API_KEY"));
    // Windows has no man pages; the others are the tests'.
    let is_other = |name: &str| {
        name.starts_with("POSTIL_TEST") || ["PROPTEST_CASES", "SystemRoot"].contains(&name)
    };
    for name in asked.chain(keys).filter(|name| !is_other(name)) {
        assert!(told.contains(name), "{name} is read, and not on the page");
    }
}
