//! Each rule can complain: a small bad example for each, and good ones beside it.

use super::source::Source;
use crate::*;

fn sample_layers() -> Layers {
    Layers::read(
        "// L0: text\npub mod text;\n// L1\npub mod comments;\npub mod threads;\n// L3: doors\npub mod files;\npub mod store;\n\
         pub mod children;\n// L5\npub mod session;\n// L6\npub mod cli;\npub mod lsp;\n",
    )
}

fn one(path: &str, text: &str) -> Vec<Source> {
    vec![Source::new(path, text)]
}

#[track_caller]
fn complains(complaints: Complaints, about: &str) {
    assert!(
        complaints.len() == 1 && complaints[0].contains(about),
        "wanted one about `{about}`: {complaints:?}"
    );
}

#[test]
fn a_broken_layer_is_noticed() {
    let check = |path, text| layers(&sample_layers(), &one(path, text));
    complains(
        check("server/text.rs", "use crate::threads::Thread;"),
        "`text` (L0) uses `threads` (L1)",
    );
    complains(
        check(
            "server/text.rs",
            "use crate::{text::Edit, session::Session};",
        ),
        "uses `session`",
    );
    complains(
        check("server/comments.rs", "fn f() { crate::threads::find() }"),
        "uses `threads`",
    );
    complains(
        check("server/store.rs", "fn f(t: &super::files::Tree) {}"),
        "`store` (L3) uses `files` (L3)",
    );
    complains(
        check("server/store/rows.rs", "use super::super::lsp;"),
        "uses `lsp`",
    );
    complains(check("server/stray.rs", ""), "does not list `stray`");
    // Lower layers, the earlier neighbour, an excepted one, its own parts, comments, strings, tests.
    assert_tidy(check(
        "server/threads.rs",
        "use crate::{comments, text::{Edit, Range}};",
    ));
    assert_tidy(check("server/children.rs", "use crate::files::Buffers;"));
    assert_tidy(check(
        "server/store/rows.rs",
        "use super::Store; use crate::store::files;",
    ));
    assert_tidy(check(
        "server/text.rs",
        "// crate::lsp\n/* crate::lsp /* nested */ crate::lsp */\nconst A: &str = r#\"crate::lsp \"# ;",
    ));
    assert_tidy(check(
        "server/text.rs",
        "#[cfg(test)]\nmod tests {\n    use crate::lsp;\n}\n",
    ));
    assert_tidy(check("server/main.rs", "use postil::lsp;"));
}

#[test]
fn a_stale_exception_is_noticed() {
    let complaints = stale_exceptions(&one("server/index.rs", "use crate::files;"));
    assert_eq!(complaints.len(), SIDEWAYS.len() - 1, "{complaints:?}");
}

#[test]
fn a_second_door_is_noticed() {
    let check = |path, text| doors(&sample_layers(), &one(path, text));
    complains(
        check("server/session.rs", "use rusqlite::Connection;"),
        "`rusqlite` belongs behind the door of store",
    );
    complains(
        check("server/session.rs", "fn f() -> ::git2::Oid {}"),
        "`git2`",
    );
    complains(
        check("server/cli.rs", "use {std::fs, tower_lsp as t};"),
        "`tower_lsp`",
    );
    complains(
        check(
            "server/text.rs",
            "fn f(x: memchr::Memchr, y: serde_json::Value) {}",
        ),
        "`serde_json`",
    );
    assert_tidy(check(
        "server/store/rows.rs",
        "use rusqlite::{Connection, params};",
    ));
    assert_tidy(check(
        "server/lsp.rs",
        "use tower_lsp::lsp_types::Url; use serde_json::Value;",
    ));
}

#[test]
fn a_dependency_without_a_door_is_noticed() {
    let manifest = "[package]\nname = \"x\"\n\n[dependencies]\n# Text\nropey = \"1\" # text\nleft-pad = \"1\"\n\n[dev-dependencies]\nany = \"1\"\n";
    complains(unknown_dependencies(manifest), "`left_pad`");
}

#[test]
fn impurity_is_noticed() {
    let check = |path, text| purity(&sample_layers(), &one(path, text));
    complains(
        check("server/text.rs", "use std::{fmt, fs::File};"),
        "std::fs",
    );
    complains(
        check(
            "server/threads/write.rs",
            "fn f() { std::time::Instant::now(); }",
        ),
        "std::time",
    );
    complains(
        check(
            "server/comments.rs",
            "#[derive(serde::Serialize)] struct A;",
        ),
        "serde",
    );
    assert_tidy(check(
        "server/threads.rs",
        "use std::ops::Range; // std::fs",
    ));
    assert_tidy(check("server/files.rs", "use std::fs;"));
}

#[test]
fn a_stray_print_is_noticed() {
    let check = |path, text| prints(&sample_layers(), &one(path, text));
    complains(
        check("server/session.rs", "fn f() { println!(\"x\"); }"),
        "println!",
    );
    complains(check("server/store.rs", "fn f() { dbg ! (1); }"), "dbg!");
    complains(
        check("server/files.rs", "fn f() { let out = std::io::stdout(); }"),
        "stdout()",
    );
    complains(
        check("grammars/lib.rs", "fn f() { eprintln!(); }"),
        "eprintln!",
    );
    assert_tidy(check("server/cli/show.rs", "fn f() { println!(); }"));
    assert_tidy(check(
        "server/children.rs",
        "fn f() { command.stdout(Stdio::piped()); let s = \"println!()\"; }",
    ));
}

#[test]
fn other_rules_can_complain() {
    complains(
        length(&one("server/text.rs", &"\n".repeat(LONGEST + 1))),
        "701 lines",
    );
    assert_tidy(length(&one("server/text.rs", &"\n".repeat(LONGEST))));
    complains(no_mod_rs(&one("server/text/mod.rs", "")), "mod.rs");
    complains(
        no_unsafe(&one("server/text.rs", "fn f() { unsafe { g() } }")),
        "unsafe",
    );
    assert_tidy(no_unsafe(&one(
        "server/text.rs",
        "// unsafe\n#![deny(unsafe_code)]",
    )));
    complains(
        no_allow(&one("server/text.rs", "#[allow(dead_code)]\nfn f() {}")),
        "expect",
    );
    assert_tidy(no_allow(&one(
        "server/text.rs",
        "fn allow() {} // #[allow(dead_code)]",
    )));
    complains(
        unfinished(&one("server/text.rs", "fn f() { unimplemented!() }")),
        "unimplemented!",
    );
    complains(
        unfinished(&one("server/text.rs", "// FIXME: later")),
        "FIXME",
    );
    assert_tidy(unfinished(&one(
        "server/text.rs",
        "/// Lists TODO comments.\nconst A: &str = \"todo!()\";",
    )));
}
