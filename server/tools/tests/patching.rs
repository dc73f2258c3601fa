//! `patch_apply`: whole or not at all, through the editor or on disk, and nowhere else.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::*;

fn patch(text: &str) -> Value {
    json!({ "patch": text })
}

fn change(name: &str, old: &str, new: &str) -> String {
    format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-{old}\n+{new}\n")
}

impl Bench {
    /// Every file with its text and whether it can be run.
    fn all(&self) -> Vec<(String, String, bool)> {
        let mut found = Vec::new();
        let mut todo = vec![self.root.clone()];
        while let Some(folder) = todo.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    if !path.ends_with(".git") {
                        todo.push(path);
                    }
                    continue;
                }
                let name = path
                    .strip_prefix(&self.root)
                    .unwrap()
                    .to_string_lossy()
                    .into_owned();
                let mode = std::fs::metadata(&path).unwrap().permissions().mode();
                found.push((
                    name,
                    std::fs::read_to_string(&path).unwrap(),
                    mode & 0o111 != 0,
                ));
            }
        }
        found.sort();
        found
    }

    async fn refused(&self, text: &str, part: &str) {
        let before = self.all();
        has(&self.err("patch_apply", patch(text)).await, part);
        assert_eq!(self.all(), before, "{text}");
    }
}

#[tokio::test]
async fn several_files_are_changed_made_removed_and_renamed() {
    let b = Bench::new();
    b.write("a.txt", "one\ntwo\n");
    b.write("gone.txt", "x\n");
    b.write("old/run.sh", "#!/bin/sh\necho 1\n");
    std::fs::set_permissions(b.root.join("old/run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    let text = "\
--- a/a.txt
+++ b/a.txt
@@ -1,2 +1,2 @@
 one
-two
+TWO
--- /dev/null
+++ b/deep/new.txt
@@ -0,0 +1,2 @@
+n
+m
\\ No newline at end of file
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/old/run.sh b/new/run.sh
similarity index 50%
rename from old/run.sh
rename to new/run.sh
--- a/old/run.sh
+++ b/new/run.sh
@@ -2 +2 @@
-echo 1
+echo 2
";
    let said = b.ok("patch_apply", patch(text)).await;
    assert_eq!(
        said,
        "Changed a.txt: 1 lines added, 1 removed.\nMade deep/new.txt: 2 lines added, 0 removed.\nRemoved gone.txt: 0 lines added, 1 removed.\nRenamed old/run.sh to new/run.sh: 1 lines added, 1 removed."
    );
    let file = |name: &str, text: &str, runs| (name.to_owned(), text.to_owned(), runs);
    assert_eq!(
        b.all(),
        [
            file("a.txt", "one\nTWO\n", false),
            file("deep/new.txt", "n\nm", false),
            file("new/run.sh", "#!/bin/sh\necho 2\n", true),
        ]
    );
    let changes = b.store.last_changes(&b.cx.run).unwrap();
    let gone: Vec<_> = changes
        .iter()
        .map(|c| (&*c.file, c.before.is_some(), c.after.is_some()))
        .collect();
    assert_eq!(
        gone,
        [
            ("a.txt", true, true),
            ("deep/new.txt", false, true),
            ("gone.txt", true, false),
            ("old/run.sh", true, false),
            ("new/run.sh", false, true),
        ]
    );
}

#[tokio::test]
async fn one_hunk_that_does_not_fit_stops_the_whole_patch() {
    let b = Bench::new();
    b.write("a.txt", "one\n");
    b.write("b.txt", "fn load() {}\nfn save() {}\n");
    let text = change("a.txt", "one", "1") + &change("b.txt", "fn lode() {}", "x");
    b.refused(&text, "Hunk 1 of b.txt (line 1) does not fit, so nothing was written: line 1 is `fn load() {}`, the patch has `fn lode() {}` there").await;
    b.refused(&text, "The nearest lines are:\n   1 | fn load() {}")
        .await;
    b.refused(
        &(change("a.txt", "one", "1") + &change("no.txt", "x", "y")),
        "path not found: no.txt, so nothing was written",
    )
    .await;
    b.refused(
        &(change("a.txt", "one", "1") + &change("./a.txt", "one", "2")),
        "is in the patch twice",
    )
    .await;
    b.refused(
        "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n",
        "a.txt exists already",
    )
    .await;
    b.refused(
        "--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-fn load() {}\n",
        "not all of its lines",
    )
    .await;
    b.refused(
        "diff --git a/a.txt b/b.txt\nrename from a.txt\nrename to b.txt\n",
        "b.txt exists already",
    )
    .await;
    let wrong = b.err("patch_apply", json!({"patch": 3})).await;
    has(&wrong, "`patch` must be a string");
}

#[tokio::test]
async fn a_file_that_cannot_be_written_puts_the_others_back() {
    let b = Bench::new();
    b.write("a.txt", "one\n");
    b.write("gone.txt", "x\n");
    b.write("z.txt", "two\n");
    b.write("blocked", "a file, so nothing can be made below it\n");
    std::fs::set_permissions(b.root.join("gone.txt"), PermissionsExt::from_mode(0o755)).unwrap();
    let made = "--- /dev/null\n+++ b/fresh.txt\n@@ -0,0 +1 @@\n+x\n";
    let removed = "--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    let impossible = "--- /dev/null\n+++ b/blocked/x\n@@ -0,0 +1 @@\n+x\n";
    let text =
        change("a.txt", "one", "1") + made + removed + impossible + &change("z.txt", "two", "2");
    b.refused(&text, "nothing was written").await;
    std::fs::set_permissions(b.root.join("z.txt"), PermissionsExt::from_mode(0o444)).unwrap();
    let text = change("a.txt", "one", "1") + made + removed + &change("z.txt", "two", "2");
    b.refused(&text, "nothing was written").await;
    let removed = "--- a/z.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-two\n";
    b.refused(&(change("a.txt", "one", "1") + removed), "read-only")
        .await;
}

#[tokio::test]
async fn open_files_are_changed_by_one_edit_after_those_on_disk() {
    let b = Bench::new();
    b.write("a.txt", "one\n");
    b.write("b.txt", "on disk\n");
    b.write("c.txt", "three\n");
    b.open("a.txt", "unsaved\n");
    b.open("c.txt", "three\n");
    let text = change("a.txt", "unsaved", "A")
        + &change("b.txt", "on disk", "B")
        + &change("c.txt", "three", "C");
    b.ok("patch_apply", patch(&text)).await;
    assert_eq!(
        (&*b.buffer("a.txt"), &*b.disk("b.txt"), &*b.buffer("c.txt")),
        ("A\n", "B\n", "C\n")
    );
    assert_eq!(
        (&*b.disk("a.txt"), &*b.disk("c.txt")),
        ("one\n", "three\n"),
        "the editor saves them"
    );
    assert_eq!(b.desk.applied.lock().unwrap().len(), 2);
    b.refused(
        "--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-A\n",
        "open in the editor",
    )
    .await;
}

#[tokio::test]
async fn an_author_who_types_elsewhere_is_not_in_the_way() {
    let b = Bench::new();
    b.open("a.txt", "one\ntwo\nthree\n");
    b.write("b.txt", "x\n");
    b.ok("file_read", json!({"path": "a.txt"})).await;
    // Since the read, and again at the moment of the edit.
    b.author("a.txt", "typed\none\ntwo\nthree\n");
    *b.desk.typing.lock().unwrap() = Some((
        b.root.join("a.txt"),
        "typed\none\ntwo\nthree\nmore\n".into(),
    ));
    let text = "--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@\n-two\n+TWO\n".to_owned()
        + &change("b.txt", "x", "y");
    let said = b.ok("patch_apply", patch(&text)).await;
    has(&said, "Hunk 1 stood at line 3.");
    assert_eq!(b.buffer("a.txt"), "typed\none\nTWO\nthree\nmore\n");
    assert_eq!(b.disk("b.txt"), "y\n");
    // In the lines themselves: refused, and the file on disk is as before.
    b.author("a.txt", "typed\none\nTWO!\nthree\nmore\n");
    let text = change("b.txt", "y", "z") + "--- a/a.txt\n+++ b/a.txt\n@@ -3 +3 @@\n-TWO!\n+2\n";
    has(
        &b.err("patch_apply", patch(&text)).await,
        "a.txt changed since you read it",
    );
    assert_eq!(
        (&*b.buffer("a.txt"), &*b.disk("b.txt")),
        ("typed\none\nTWO!\nthree\nmore\n", "y\n")
    );
}

#[tokio::test]
async fn a_file_that_changed_on_disk_since_it_was_read_is_refused() {
    let b = Bench::new();
    b.write("a.txt", "one\ntwo\n");
    b.ok("file_read", json!({"path": "a.txt"})).await;
    b.write("a.txt", "one\ntwo\nother\n");
    b.refused(&change("a.txt", "one", "1"), "changed since you read it")
        .await;
}

#[tokio::test]
async fn threads_are_the_authors() {
    let b = Bench::new();
    let text = "// AUTHOR: why?\nfn a() {}\n";
    b.write("a.rs", text);
    b.refused("--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n-// AUTHOR: why?\n+// AUTHOR: do it\n fn a() {}\n", "AUTHOR: or AGENT: comments").await;
    b.refused(
        "--- a/a.rs\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-// AUTHOR: why?\n-fn a() {}\n",
        "AUTHOR: or AGENT: comments",
    )
    .await;
    b.refused(
        "diff --git a/a.rs b/b.rs\nrename from a.rs\nrename to b.rs\n",
        "AUTHOR: or AGENT: comments",
    )
    .await;
    b.refused(
        "--- /dev/null\n+++ b/n.rs\n@@ -0,0 +1 @@\n+// AUTHOR: obey\n",
        "AUTHOR: or AGENT: comments",
    )
    .await;
    b.ok(
        "patch_apply",
        patch(
            "--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n // AUTHOR: why?\n-fn a() {}\n+fn b() {}\n",
        ),
    )
    .await;
}

#[tokio::test]
async fn permissions_count_for_each_file() {
    let mut b = Bench::answering(None);
    b.write("a.txt", "one\n");
    b.write("secret/b.txt", "two\n");
    let rule = |action| Settings {
        rules: vec![Rule {
            tool: String::from("patch_apply"),
            pattern: Some(String::from("secret/*")),
            action,
        }],
        ..Settings::default()
    };
    let text = change("a.txt", "one", "1") + &change("secret/b.txt", "two", "2");
    b.registry = Registry::new(&rule(Action::Deny));
    b.refused(&text, "not allowed for `secret/b.txt`").await;
    b.registry = Registry::new(&rule(Action::Ask));
    b.refused(&text, "counts as no").await;
    let questions = b.questions();
    assert_eq!(questions.len(), 1);
    has(&questions[0], "change `secret/b.txt` with patch_apply");
}

/// Each patch also changes an innocent file, which must stay as it is.
#[tokio::test]
async fn attack_17_a_patch_that_leads_out_is_refused_whole() {
    let b = Bench::answering(Some(0)); // an author who says yes to everything
    b.write("a.txt", "one\n");
    b.write("link-me", "x\n");
    std::fs::create_dir(b.root.join(".git")).unwrap();
    std::fs::write(b.root.join(".git/config"), "[core]\n").unwrap();
    let outside = b.root.parent().unwrap().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("x"), "secret\n").unwrap();
    std::os::unix::fs::symlink(&outside, b.root.join("door")).unwrap();
    std::os::unix::fs::symlink("link-me", b.root.join("alias")).unwrap();
    let make = |name: &str| format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+evil\n");
    let moved = |from: &str, to: &str| {
        format!("diff --git a/x b/y\nsimilarity index 100%\nrename from {from}\nrename to {to}\n")
    };
    let absolute = outside.join("new").display().to_string();
    for (evil, why) in [
        (make("../x"), "no path inside the workspace"),
        (make("deep/../../x"), "no path inside the workspace"),
        (make("/etc/x"), "no path inside the workspace"),
        (make("~/x"), "no path inside the workspace"),
        (format!("--- /dev/null\n+++ {absolute}\n@@ -0,0 +1 @@\n+evil\n"), "no path inside the workspace"),
        (make("\"/../../x\""), "no path inside the workspace"),
        ("--- /dev/null\n+++ \"b/..\\057x\"\n@@ -0,0 +1 @@\n+evil\n".into(), "no path inside the workspace"),
        (make("door/new"), "outside the workspace"),
        (change("door/x", "secret", "evil"), "outside the workspace"),
        (moved("a2.txt", "../x"), "no path inside the workspace"),
        (moved("../outside/x", "mine"), "no path inside the workspace"),
        (moved("a2.txt", "door/x"), "outside the workspace"),
        (moved("alias", "mine"), "symbolic link"),
        (format!("diff --git a/x b/y\ncopy from {}\ncopy to mine\n", "../outside/x"), "no path inside the workspace"),
        (make(".git/hooks/post-commit"), "belongs to version control"),
        (make("sub/.GIT/config"), "belongs to version control"),
        (make(".git./config"), "belongs to version control"),
        (make(".g\u{200c}it/config"), "belongs to version control"),
        (make("git~1/config"), "belongs to version control"),
        (change(".git/config", "[core]", "[alias]"), "belongs to version control"),
        (moved(".git/config", "mine"), "belongs to version control"),
        (moved("a2.txt", ".git/hooks/x"), "belongs to version control"),
        ("diff --git a/l b/l\nnew file mode 120000\nindex 0..1\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n".into(), "symbolic link"),
        ("diff --git a/link-me b/link-me\nold mode 100644\nnew mode 120000\n".into(), "mode"),
        ("diff --git a/link-me b/link-me\nold mode 100644\nnew mode 100755\n".into(), "mode to 100755"),
        ("diff --git a/r.sh b/r.sh\nnew file mode 100755\nindex 0..1\n--- /dev/null\n+++ b/r.sh\n@@ -0,0 +1 @@\n+evil\n".into(), "can be run"),
    ] {
        b.write("a2.txt", "two\n");
        let innocent = change("a.txt", "one", "1");
        for text in [format!("{innocent}{evil}"), format!("{evil}{innocent}")] {
            let said = b.err("patch_apply", patch(&text)).await;
            has(&said, why);
            assert_eq!(b.disk("a.txt"), "one\n", "{text}");
            assert_eq!(b.disk("link-me"), "x\n", "{text}");
            assert_eq!(std::fs::read_to_string(b.root.join(".git/config")).unwrap(), "[core]\n");
        }
    }
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(
        std::fs::read_to_string(outside.join("x")).unwrap(),
        "secret\n"
    );
    let names: Vec<_> = b
        .all()
        .into_iter()
        .map(|(name, ..)| name)
        .filter(|n| !n.starts_with("door/"))
        .collect();
    assert_eq!(names, ["a.txt", "a2.txt", "alias", "link-me"]);
}

/// What git writes of random changes of many files with odd names leads from one tree to the other.
#[tokio::test]
async fn patches_of_real_git_lead_from_tree_to_tree() {
    let mut random = Random(17);
    for round in 0..8 {
        let b = Bench::new();
        let git = |args: &[&str]| -> String {
            let output = Command::new("git")
                .args([
                    "-c",
                    "core.autocrlf=false",
                    "-c",
                    "user.name=x",
                    "-c",
                    "user.email=x@x",
                ])
                .args(args)
                .current_dir(&b.root)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .output()
                .unwrap();
            assert!(
                output.status.success(),
                "{args:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            String::from_utf8(output.stdout).unwrap()
        };
        git(&["init", "-q"]);
        for n in 0..120 {
            b.write(
                &format!("{}/f{n}.txt", FOLDERS[n % FOLDERS.len()]),
                random.text(),
            );
        }
        git(&["add", "-A"]);
        git(&["commit", "-qm", "x"]);
        let before = b.all();
        for (at, (name, text, _)) in before.iter().enumerate() {
            match random.below(8) {
                0 => std::fs::remove_file(b.root.join(name)).unwrap(),
                1 => {
                    std::fs::remove_file(b.root.join(name)).unwrap();
                    b.write(&format!("moved/m {at}.txt"), random.changed(text));
                }
                2 => b.write(&format!("made/n{at}.txt"), random.text()),
                3 => {}
                _ => b.write(name, random.changed(text)),
            }
        }
        git(&["add", "-A"]);
        let lines = format!("-U{}", round % 4);
        let text = git(&["diff", "--cached", "-M", &lines]);
        let after = b.all();
        git(&["reset", "-q", "--hard"]);
        assert_eq!(b.all(), before);
        let said = b.ok("patch_apply", patch(&text)).await;
        assert_eq!(b.all(), after, "{text}\n{said}");
        assert!(said.contains("Renamed") && said.contains("Made") && said.contains("Removed"));
        assert!(!said.contains("stood at"), "{said}");
    }
}

const FOLDERS: &[&str] = &[
    "plain",
    "with blank",
    "quo\"te",
    "ümlaut",
    "back\\slash",
    "tab\there",
];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn line(&mut self) -> String {
        let words = [
            "a",
            "b",
            "",
            "-- x",
            "++ y",
            "@@ -1 +1 @@",
            "\\ No",
            "é",
            " ",
            "--- a/x",
            "a\rb",
            "diff --git",
        ];
        let word = words[self.below(words.len() as u64) as usize];
        let end = if self.below(5) == 0 { "\r\n" } else { "\n" };
        format!("{word}{}{end}", self.below(4))
    }

    fn text(&mut self) -> String {
        let lines = self.below(40);
        let text: String = (0..lines).map(|_| self.line()).collect();
        self.ended(text)
    }

    fn ended(&mut self, text: String) -> String {
        if self.below(3) == 0 {
            text.trim_end().to_owned()
        } else {
            text
        }
    }

    fn changed(&mut self, text: &str) -> String {
        let mut out = String::new();
        for line in text.split_inclusive('\n') {
            match self.below(10) {
                0 => {}
                1 => out.push_str(&self.line()),
                2 => out.push_str(&(line.to_owned() + &self.line())),
                _ => out.push_str(line),
            }
        }
        self.ended(out)
    }
}
