//! Where a comment may come: in no tag, above nothing that has to be a file's first, in the code of a page and not out of it.

use super::*;

fn begun(path: &str, text: &str, line: usize) -> String {
    let written = write(path, text, |source| {
        new_thread(source, line, "why?", Style::default())
    });
    apply_edits(text, &written.unwrap().0.edits)
}

fn dismissed(path: &str, text: &str) -> String {
    let id = threads(path, text)[0].id.clone();
    let written = write(path, text, |source| dismiss(source, &id)).unwrap();
    apply_edits(text, &written.edits)
}

/// What the answer leaves, and that without the thread all is as it was.
fn told(path: &str, text: &str, expected: &str) {
    let after = answered(path, text, "Yes.");
    assert_eq!(after, expected, "{path}");
    assert_eq!(dismissed(path, &after), dismissed(path, text), "{path}");
}

#[test]
fn an_answer_cuts_no_tag() {
    for path in [
        "a.xml", "a.xaml", "a.vue", "a.svelte", "a.astro", "a.jsp", "a.php", "a.hbs", "a.html",
        "a.twig", "a.md",
    ] {
        told(
            path,
            "<div>\n<button\n  id=\"a > b\"\n  text='Go' /> <!-- AUTHOR: why Go? -->\n</div>\n",
            "<div>\n<!-- AUTHOR: why Go? -->\n<!-- AGENT: Yes. -->\n<!-- AUTHOR: -->\n<button\n  id=\"a > b\"\n  text='Go' />\n</div>\n",
        );
    }
    told(
        "a.svelte",
        "<Button\n  on:click={() => a > b}\n  text=\"Go\" /> <!-- AUTHOR: why Go? -->\n",
        "<!-- AUTHOR: why Go? -->\n<!-- AGENT: Yes. -->\n<!-- AUTHOR: -->\n<Button\n  on:click={() => a > b}\n  text=\"Go\" />\n",
    );
    told(
        "a.hbs",
        "<Button\n  {{on \"click\" (fn a b)}}\n  @text=\"Go\" /> {{!-- AUTHOR: why Go? --}}\n",
        "{{!-- AUTHOR: why Go? --}}\n{{!-- AGENT: Yes. --}}\n{{!-- AUTHOR: --}}\n<Button\n  {{on \"click\" (fn a b)}}\n  @text=\"Go\" />\n",
    );
}

#[test]
fn a_new_thread_cuts_no_tag_that_no_tree_shows() {
    let pom = "<?xml version=\"1.0\"?>\n<project xmlns=\"http://a\"\n  xmlns:xsi=\"http://b\"\n  c=\"d\">\n</project>\n";
    for line in [1, 2, 3] {
        assert_eq!(
            begun("pom.xml", pom, line),
            pom.replace("<project", "<!-- AUTHOR: why? -->\n<project"),
            "{line}"
        );
    }
    // Text that is no markup is none.
    let text = "<a>\n<![CDATA[\n  x\n]]>\n<b/>\n</a>\n";
    assert_eq!(
        begun("a.xml", text, 4),
        text.replace("<b/>", "<!-- AUTHOR: why? -->\n<b/>")
    );
}
