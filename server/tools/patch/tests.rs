use proptest::prelude::*;
use similar::TextDiff;

use super::*;

#[track_caller]
fn one(patch: &str) -> FilePatch {
    let mut files = read(patch).unwrap();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

#[track_caller]
fn applied(old: &str, hunks: &str) -> String {
    let file = one(&format!("--- a/x\n+++ b/x\n{hunks}"));
    apply(old, &file.hunks).unwrap().text
}

#[track_caller]
fn wrong(patch: &str, part: &str) {
    let why = read(patch).unwrap_err();
    assert!(why.contains(part), "`{part}` is missing in: {why}");
}

#[test]
fn a_byte_order_mark_stays_first_whether_the_patch_names_it_or_not() {
    let old = "\u{feff}one\ntwo\n";
    for (hunk, new) in [
        ("@@ -1,2 +1,2 @@\n-one\n+1\n two\n", "\u{feff}1\ntwo\n"),
        (
            "@@ -1,2 +1,2 @@\n-\u{feff}one\n+\u{feff}1\n two\n",
            "\u{feff}1\ntwo\n",
        ),
        ("@@ -1,2 +1,2 @@\n-\u{feff}one\n+one\n two\n", "one\ntwo\n"),
        ("@@ -0,0 +1 @@\n+zero\n", "\u{feff}zero\none\ntwo\n"),
        ("@@ -1,2 +0,0 @@\n-one\n-two\n", ""),
    ] {
        assert_eq!(applied(old, hunk), new, "{hunk}");
    }
    let file = one("--- a/x\n+++ b/x\n@@ -2 +2 @@\n-two\n+2\n");
    let places = apply(old, &file.hunks).unwrap().places;
    assert_eq!(old.get(places[0].clone()), Some("two\n"));
    let file = one("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-three\n+3\n");
    assert!(apply(old, &file.hunks).is_err());
}

#[test]
fn a_rename_needs_no_line_of_git_and_takes_no_hunks_of_another_file() {
    let moved = "rename from x\nrename to y\n";
    let renamed = || Kind::Rename {
        from: "x".into(),
        to: "y".into(),
    };
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    let kinds = |patch: &str| -> Vec<(Kind, usize)> {
        let files = read(patch).unwrap().into_iter();
        files.map(|file| (file.kind, file.hunks.len())).collect()
    };
    let change = |name: &str| (Kind::Change(name.into()), 1);
    assert_eq!(kinds(moved), [(renamed(), 0)]);
    for own in ["--- a/x\n+++ b/y\n", "--- x\n+++ y\n", "--- a/y\n+++ b/y\n"] {
        assert_eq!(kinds(&format!("{moved}{own}{hunk}")), [(renamed(), 1)]);
    }
    let other = format!("--- a/z\n+++ b/z\n{hunk}");
    assert_eq!(
        kinds(&format!("{moved}{other}")),
        [(renamed(), 0), change("z")]
    );
    assert_eq!(
        kinds(&format!("{other}{moved}")),
        [change("z"), (renamed(), 0)]
    );
    assert_eq!(
        kinds(&format!("diff --git a/x b/y\n{moved}{other}")),
        [(renamed(), 0), change("z")]
    );
    let copied = Kind::Copy {
        from: "p".into(),
        to: "q".into(),
    };
    assert_eq!(
        kinds(&format!("copy from p\ncopy to q\n{moved}")),
        [(copied, 0), (renamed(), 0)]
    );
    wrong(&format!("{other}rename from x\n{other}"), "says where to");
    wrong(
        &format!("diff --git a/x b/x\nnew file mode 100644\n{other}"),
        "`new file mode` stands above `--- a/z`",
    );
    wrong(
        &format!("diff --git a/x b/x\ndeleted file mode 100644\n{other}"),
        "`deleted file mode` stands above `+++ b/z`",
    );
}

#[test]
fn names_are_read_as_git_writes_them() {
    let kind = |header: &str| one(&format!("{header}@@ -1 +1 @@\n-a\n+b\n")).kind;
    let change = |name: &str| Kind::Change(name.to_owned());
    assert_eq!(kind("--- a/x y.rs\t\n+++ b/x y.rs\t\n"), change("x y.rs"));
    assert_eq!(
        kind("--- x.rs\t2020-01-01\n+++ x.rs\t2021-01-01\n"),
        change("x.rs")
    );
    assert_eq!(kind("--- a/a/x\r\n+++ b/a/x\r\n"), change("a/x"));
    assert_eq!(
        kind(
            "diff --git \"a/\\303\\274\\\"\\n\" \"b/\\303\\274\\\"\\n\"\nindex 1..2 100644\n--- \"a/\\303\\274\\\"\\n\"\n+++ \"b/\\303\\274\\\"\\n\"\n"
        ),
        change("ü\"\n")
    );
    let made = one("diff --git a/a b b/a b\nnew file mode 100644\nindex 0000000..e69de29\n");
    assert_eq!(made.kind, Kind::Make("a b".into()));
    let gone = one("diff --git a/x b/x\ndeleted file mode 100755\nindex e69de29..0000000\n");
    assert_eq!(gone.kind, Kind::Remove("x".into()));
    let moved = one("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n");
    assert_eq!(
        moved.kind,
        Kind::Rename {
            from: "x".into(),
            to: "y".into()
        }
    );
    wrong("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "name two files");
    wrong("--- \"a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "not whole");
    wrong(
        "--- \"a/\\377\"\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "not valid UTF-8",
    );
}

#[test]
fn the_counts_of_a_header_say_which_lines_are_the_hunks() {
    // A removed line `-- x` and an added one `++ y` look like the header of another file.
    let file = one("--- a/q.sql\n+++ b/q.sql\n@@ -1,3 +1,3 @@\n keep\n--- x\n+++ y\n end\n");
    assert_eq!(
        apply("keep\n-- x\nend\n", &file.hunks).unwrap().text,
        "keep\n++ y\nend\n"
    );
    wrong(
        "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n",
        "says 3 old and 3 new lines, but the patch ends after 2 old and 2 new",
    );
    wrong(
        "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n a\n-b\n+c\n",
        "Line 5 of the patch (`-b`) belongs to no hunk",
    );
    wrong(
        "--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n a\n+b\n-c\n",
        "`+b` is one too many",
    );
    wrong(
        "--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n a\nnonsense\n",
        "`nonsense` stands there",
    );
    // No such line can be added to another.
    let last = u64::MAX;
    wrong(
        &format!("--- a/x\n+++ b/x\n@@ -{last},1 +1,1 @@\n-a\n+b\n"),
        "the numbers are needed",
    );
    wrong(
        "--- a/x\n+++ b/x\n@@ @@\n-a\n+b\n",
        "the numbers are needed",
    );
    wrong("--- a/x\n+++ b/x\n", "no hunk for x");
    wrong(
        "*** Begin Patch\n*** Update File: x\n",
        "This is no unified diff",
    );
    wrong("", "This is no unified diff");
}

#[test]
fn what_is_no_text_of_an_ordinary_file_is_refused_when_it_is_read() {
    let link = "diff --git a/x b/x\nnew file mode 120000\nindex 0..1\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n";
    wrong(link, "a symbolic link (mode 120000)");
    wrong(
        "diff --git a/x b/x\nindex 1..2 120000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "a symbolic link",
    );
    wrong(
        "diff --git a/x b/x\ndeleted file mode 120000\n",
        "a symbolic link",
    );
    wrong(
        "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
        "changes a file's mode to 100755",
    );
    wrong("diff --git a/x b/x\nnew file mode 100755\n", "can be run");
    wrong("diff --git a/x b/x\nnew file mode 160000\n", "a submodule");
    wrong(
        "diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n",
        "binary",
    );
    wrong(
        "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 1\n",
        "binary",
    );
}

#[test]
fn a_mail_and_a_fenced_block_are_read_for_their_patch() {
    let patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    for text in [
        format!("Here is the patch:\n\n```diff\n{patch}```\n"),
        format!(
            "From 1 Mon\nSubject: x\n---\n x | 2 +-\n 1 file changed\n\ndiff --git a/x b/x\nindex 1..2 100644\n{patch}-- \n2.40\n\n"
        ),
        patch.replace('\n', "\r\n"),
        patch.trim_end().to_owned(),
    ] {
        let file = one(&text);
        assert_eq!(apply("a\n", &file.hunks).unwrap().text, "b\n", "{text}");
    }
}

#[test]
fn hunks_are_found_where_they_stand_if_that_is_one_place() {
    let old = "a\nb\nc\nd\n";
    let hunk = "@@ -2,2 +2,2 @@\n-c\n+C\n d\n";
    let file = one(&format!("--- a/x\n+++ b/x\n{hunk}"));
    let done = apply(old, &file.hunks).unwrap();
    assert_eq!((&*done.text, done.moved), ("a\nb\nC\nd\n", vec![(1, 3)]));
    let unfit = |old: &str| apply(old, &file.hunks).unwrap_err().why;
    assert_eq!(unfit("x\nx\nx\nc\nd\nc\nd\n"), Why::Several(vec![4, 6]));
    assert_eq!(
        unfit("c\nx\n"),
        Why::Other {
            line: 2,
            wanted: "c".into(),
            found: Some("x".into())
        }
    );
    // All places are those of the old text, in whichever order the hunks come.
    let two = "@@ -4 +5 @@\n-d\n+D\n@@ -1 +1,2 @@\n a\n+new\n";
    assert_eq!(applied(old, two), "a\nnew\nb\nc\nD\n");
    let file = one("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n-b\n+x\n@@ -2,2 +2 @@\n-b\n-c\n+y\n");
    assert_eq!(
        apply(old, &file.hunks).unwrap_err(),
        Unfit {
            hunk: 2,
            why: Why::Overlaps(1)
        }
    );
    let past = one("--- a/x\n+++ b/x\n@@ -9,0 +10 @@\n+x\n");
    assert_eq!(
        apply(old, &past.hunks).unwrap_err().why,
        Why::Past { lines: 4 }
    );
}

#[test]
fn line_ends_are_those_of_the_file() {
    // Written without the CR that the file has.
    assert_eq!(
        applied("a\r\nb\r\n", "@@ -1,2 +1,3 @@\n a\n-b\n+B\n+c\n"),
        "a\r\nB\r\nc\r\n"
    );
    assert_eq!(
        applied("a\r\nb\r\n", "@@ -1,0 +2 @@\n+x\n"),
        "a\r\nx\r\nb\r\n"
    );
    // Written with it, as git does.
    assert_eq!(
        applied("a\r\nb\n", "@@ -1,2 +1,2 @@\n-a\r\n+x\r\n b\n"),
        "x\r\nb\n"
    );
    assert_eq!(
        applied("a\r\nb\r\n", "@@ -1 +1 @@\n-a\r\n+a\n"),
        "a\nb\r\n",
        "a change of the line end itself"
    );
    // The end of the last line.
    let unended = "\n\\ No newline at end of file\n";
    assert_eq!(
        applied(
            "a\nb",
            &format!("@@ -1,2 +1,2 @@\n a\n-b{unended}+c{unended}")
        ),
        "a\nc"
    );
    assert_eq!(
        applied("a\nb", &format!("@@ -2 +2 @@\n-b{unended}+b\n")),
        "a\nb\n"
    );
    assert_eq!(
        applied("a\nb\n", &format!("@@ -2 +2 @@\n-b\n+b{unended}")),
        "a\nb"
    );
    assert_eq!(
        applied("a\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n"),
        "a\nb\nc\n",
        "the patch does not say that b has no end"
    );
    // Blanks at the ends of lines were trimmed: an empty line that is kept.
    assert_eq!(
        applied("a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n"),
        "a\n\nc\n"
    );
}

/// A text of few lines, so that they repeat, and how another differs from it.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[ab]{0,2}",
        Just("-- x".to_owned()),
        Just("++ é".to_owned()),
        Just("\\ x".to_owned())
    ];
    let end = prop_oneof![4 => Just("\n"), 1 => Just("\r\n")];
    (prop::collection::vec((line, end), 0..30), any::<bool>()).prop_map(|(lines, ended)| {
        let text: String = lines
            .iter()
            .map(|(line, end)| format!("{line}{end}"))
            .collect();
        if ended {
            text
        } else {
            text.trim_end_matches('\n')
                .trim_end_matches('\r')
                .to_owned()
        }
    })
}

fn diff(old: &str, new: &str, radius: usize) -> String {
    let diff = TextDiff::from_lines(old, new);
    let mut unified = diff.unified_diff();
    unified
        .context_radius(radius)
        .header("a/x", "b/x")
        .to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn a_diff_leads_from_old_to_new(old in text(), new in text(), radius in 1usize..4) {
        let patch = diff(&old, &new, radius);
        if old == new {
            prop_assert!(patch.is_empty());
            return Ok(());
        }
        let file = read(&patch).map_err(TestCaseError::fail)?.remove(0);
        let done = apply(&old, &file.hunks).map_err(|e| TestCaseError::fail(format!("{e:?}\n{patch}")))?;
        prop_assert_eq!(done.text, new, "{}", patch);
        prop_assert!(done.moved.is_empty());
    }

    /// Whatever is sent, it is read or refused; what is read is applied or refused.
    #[test]
    fn nothing_panics(patch in "([-+ @\\\\\r]|--- (a/)?x\n|\\+\\+\\+ (b/)?x\n|@@ -[0-9],?[0-9]* \\+[0-9] @@\n|diff --git a/x b/x\n|\"\\\\3|rename from x\n|rename to x\n|é|\n){0,40}", old in text()) {
        if let Ok(files) = read(&patch) {
            for file in files {
                let _ = apply(&old, &file.hunks);
            }
        }
    }

    /// A patch that something happened to.
    #[test]
    fn a_damaged_patch_is_applied_or_refused(old in text(), new in text(), at in any::<prop::sample::Index>(), put in "[-+ @\\\\\n0-9]{0,3}", gone in 0usize..4) {
        let patch = diff(&old, &new, 2);
        let chars: Vec<char> = patch.chars().collect();
        let at = at.index(chars.len() + 1);
        let damaged: String = chars[..at].iter().copied().chain(put.chars()).chain(chars[at..].iter().copied().skip(gone)).collect();
        if let Ok(files) = read(&damaged) {
            for file in files {
                if let Ok(done) = apply(&old, &file.hunks) {
                    let kept = |line: &&str| !line.is_empty();
                    let added: Vec<&Line> = file.hunks.iter().flat_map(|h| &h.lines).filter(|l| l.sign == Sign::Added).collect();
                    // Every line of the outcome is one of the old text or one that the patch adds.
                    for line in done.text.lines().filter(kept) {
                        prop_assert!(old.lines().any(|l| l == line) || added.iter().any(|l| l.text.trim_end() == line.trim_end()), "{:?} in {:?}", line, damaged);
                    }
                }
            }
        }
    }
}
