//! Threads in code that stands in other code: each verb writes there in the comments of that code.

use std::process::Stdio;

use serde_json::Value;

use crate::harness::Workspace;

fn postil(workspace: &Workspace, args: &[&str]) -> Value {
    let output = workspace
        .postil()
        .args(args)
        .arg("--json")
        .stdin(Stdio::null())
        .output()
        .expect("postil runs");
    assert!(output.status.success(), "{args:?}: {output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// File, the line above which a thread begins (1-based), and how the file then begins to differ.
const CASES: &[(&str, &str, usize, &str)] = &[
    (
        "a.vue",
        "<template lang=\"pug\">\ndiv\n  p text // AUTHOR: no\n</template>\n",
        3,
        "<template lang=\"pug\">\ndiv\n  //- AUTHOR: why?\n  //- AGENT: So */ -->.\n  //- AUTHOR:\n  p text // AUTHOR: no\n</template>\n",
    ),
    (
        "b.vue",
        "<style>\na { b: c; }\n</style>\n",
        2,
        "<style>\n/* AUTHOR: why? */\n/* AGENT: So *&#047; -->. */\n/* AUTHOR: */\na { b: c; }\n</style>\n",
    ),
    (
        "c.php",
        "<script>\nlet a = <?= $b ?>;\n</script>\n",
        2,
        "<script>\n// AUTHOR: why?\n// AGENT: So */ -->.\n// AUTHOR:\nlet a = <?= $b ?>;\n</script>\n",
    ),
    (
        "d.erb",
        "<p>x</p>\n<%\n  y = 1\n%>\n",
        3,
        "<p>x</p>\n<%\n# AUTHOR: why?\n# AGENT: So */ -->.\n# AUTHOR:\n  y = 1\n%>\n",
    ),
    (
        "e.yml.j2",
        "{% if a %}\nb: c\n{% endif %}\n",
        2,
        "{% if a %}\n# AUTHOR: why?\n# AGENT: So */ -->.\n# AUTHOR:\nb: c\n{% endif %}\n",
    ),
    (
        "Makefile",
        "all:\n\tls\n",
        2,
        "all:\n# AUTHOR: why?\n# AGENT: So */ -->.\n# AUTHOR:\n\tls\n",
    ),
    (
        "Dockerfile",
        "RUN <<EOT\nls\nEOT\n",
        2,
        "RUN <<EOT\n# AUTHOR: why?\n# AGENT: So */ -->.\n# AUTHOR:\nls\nEOT\n",
    ),
    (
        "f.sql",
        "CREATE FUNCTION f() RETURNS int LANGUAGE plpython3u AS $$\nx = 1\n$$;\n",
        2,
        "CREATE FUNCTION f() RETURNS int LANGUAGE plpython3u AS $$\n# AUTHOR: why?\n# AGENT: So */ -->.\n# AUTHOR:\nx = 1\n$$;\n",
    ),
    (
        "g.md",
        "---\na: b\n---\n\n<script>\nlet a;\n</script>\n",
        6,
        "---\na: b\n---\n\n<script>\n// AUTHOR: why?\n// AGENT: So */ -->.\n// AUTHOR:\nlet a;\n</script>\n",
    ),
];

#[test]
fn a_thread_is_begun_answered_and_removed_in_the_comments_of_its_code() {
    let workspace = Workspace::new();
    for (file, before, line, after) in CASES {
        workspace.write(file, before);
        postil(&workspace, &["new", &format!("{file}:{line}"), "why?"]);
        let list = postil(&workspace, &["threads", file]);
        assert_eq!(list["summary"]["total"], 1, "{file}: {list}");
        let id = list["threads"][0]["id"].as_str().expect("an id").to_owned();
        postil(&workspace, &["respond", &id, "So */ -->."]);
        assert_eq!(workspace.read(file), *after, "{file}");
        let list = postil(&workspace, &["threads", file]);
        assert_eq!(list["threads"][0]["thread"][1]["text"], "So */ -->.");
        postil(&workspace, &["dismiss", &id]);
        assert_eq!(workspace.read(file), *before, "{file}");
    }
}

/// File, its text with a question, with the answer, and without the thread.
const ANSWERED: &[(&str, &str, &str, &str)] = &[
    (
        "a.xaml",
        "<Page>\n<Button\n  Name=\"x\"\n  Text=\"Go\" /> <!-- AUTHOR: why Go? -->\n</Page>\n",
        "<Page>\n<!-- AUTHOR: why Go? -->\n<!-- AGENT: Yes. -->\n<!-- AUTHOR: -->\n<Button\n  Name=\"x\"\n  Text=\"Go\" />\n</Page>\n",
        "<Page>\n<Button\n  Name=\"x\"\n  Text=\"Go\" />\n</Page>\n",
    ),
    (
        "a.php",
        "<?php // AUTHOR: why?\nnamespace A;\n",
        "<?php // AUTHOR: why?\n// AGENT: Yes.\n// AUTHOR:\nnamespace A;\n",
        "<?php\nnamespace A;\n",
    ),
    (
        "b.php",
        "<ul>\n<?php foreach ($a as $b): /* AUTHOR: is $b escaped? */ ?>\n<li>\n",
        "<ul>\n<?php foreach ($a as $b): /* AUTHOR: is $b escaped? */\n/* AGENT: Yes. */\n/* AUTHOR: */\n ?>\n<li>\n",
        "<ul>\n<?php foreach ($a as $b): ?>\n<li>\n",
    ),
    (
        "a.xml",
        "<?xml version=\"1.0\"?> <!-- AUTHOR: why? -->\n<a/>\n",
        "<?xml version=\"1.0\"?> <!-- AUTHOR: why? -->\n<!-- AGENT: Yes. -->\n<!-- AUTHOR: -->\n<a/>\n",
        "<?xml version=\"1.0\"?>\n<a/>\n",
    ),
];

/// No tag is cut, nothing stands above what has to be the first, and nothing goes to whoever reads the page.
#[test]
fn an_answer_stands_where_a_comment_may() {
    let workspace = Workspace::new();
    for (file, asked, answered, without) in ANSWERED {
        workspace.write(file, asked);
        let list = postil(&workspace, &["threads", file]);
        let id = list["threads"][0]["id"].as_str().expect("an id").to_owned();
        postil(&workspace, &["respond", &id, "Yes."]);
        assert_eq!(workspace.read(file), *answered, "{file}");
        let list = postil(&workspace, &["threads", file]);
        assert_eq!(list["summary"]["total"], 1, "{file}: {list}");
        assert_eq!(list["threads"][0]["thread"][1]["text"], "Yes.");
        postil(&workspace, &["dismiss", &id]);
        assert_eq!(workspace.read(file), *without, "{file}");
    }
}

#[test]
fn clearing_takes_the_threads_of_every_part() {
    let workspace = Workspace::new();
    workspace.git(&["init", "-q"]);
    let plain = "<p>x</p>\n<script>\nlet a = <?= $b ?>;\n</script>\n<?php\nf();\n";
    workspace.write("a.php", plain);
    workspace.git(&["add", "."]);
    workspace.git(&["commit", "-qm", "first"]);
    workspace.write(
        "a.php",
        "<p>x</p><!-- AUTHOR: a? -->\n<script>\nlet a = <?= $b /* AUTHOR: b? */ ?>; // AUTHOR: c?\n</script>\n<?php\n# AUTHOR: d?\nf();\n",
    );
    assert_eq!(postil(&workspace, &["threads"])["summary"]["total"], 4);
    let cleared = postil(&workspace, &["clear", "a.php"]);
    assert_eq!(workspace.read("a.php"), plain, "{cleared}");
    assert_eq!(cleared["committed"], false);
}
