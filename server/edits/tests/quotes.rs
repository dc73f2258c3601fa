//! Threads in the quotations of Markdown.

use super::*;

/// The answer to the first thread, twice, and the text once the thread is gone again.
fn kept(text: &str, expect: Expect) {
    let path = "a.md";
    let once = answered(path, text, "So:\n  - yes");
    let id = threads(path, &once)[0].id.clone();
    let author = |source: Source| {
        respond(
            source,
            &id,
            Role::Author,
            None,
            "Sure?\nReally?",
            Style::default(),
        )
    };
    let written = write(path, &once, author).unwrap();
    let twice = apply_edits(&once, &written.edits);
    assert_eq!(threads(path, &twice).len(), threads(path, text).len());
    let gone = write(path, &twice, |source| dismiss(source, &id)).unwrap();
    let gone = apply_edits(&twice, &gone.edits);
    expect.assert_eq(&format!("{twice}--- gone\n{gone}"));
}

#[test]
fn a_conversation_stays_in_its_quotation() {
    kept(
        "# T\n\n> Quoted.\n> <!-- AUTHOR: why? -->\n> More.\n",
        expect![[r#"
            # T

            > Quoted.
            > <!-- AUTHOR: why? -->
            > <!-- AGENT: So: -->
            > <!--     - yes -->
            > <!-- AUTHOR: Sure? -->
            > <!--   Really? -->
            > More.
            --- gone
            # T

            > Quoted.
            > More.
        "#]],
    );
    kept(
        "> > Deep. <!-- AUTHOR: why? -->\n>\n> More.\n",
        expect![[r#"
            > > <!-- AUTHOR: why? -->
            > > <!-- AGENT: So: -->
            > > <!--     - yes -->
            > > <!-- AUTHOR: Sure? -->
            > > <!--   Really? -->
            > > Deep.
            >
            > More.
            --- gone
            > > Deep.
            >
            > More.
        "#]],
    );
    kept(
        "- Item\n  >  <!-- AUTHOR: why?\n  >          For whom? -->\n  > More.\n",
        expect![[r#"
            - Item
              >  <!-- AUTHOR: why?
              >          For whom?
              >       AGENT: So:
              >           - yes
              >       AUTHOR: Sure?
              >         Really? -->
              > More.
            --- gone
            - Item
              > More.
        "#]],
    );
}

#[test]
fn a_conversation_stands_where_an_older_answer_was_written() {
    kept(
        "> Quoted.\n<!-- AUTHOR: why? -->\n<!-- AGENT: Thus. -->\n<!-- AUTHOR: -->\n>\n> More.\n",
        expect![[r#"
            > Quoted.
            <!-- AUTHOR: why? -->
            <!-- AGENT: Thus. -->
            <!-- AGENT: So: -->
            <!--     - yes -->
            <!-- AUTHOR: Sure? -->
            <!--   Really? -->
            >
            > More.
            --- gone
            > Quoted.
            >
            > More.
        "#]],
    );
}

#[test]
fn a_new_thread_begins_in_the_quotation() {
    let text = "> Quoted.\n> More.\n";
    let written = write("a.md", text, |source| {
        new_thread(source, 1, "why?\nSay.", Style::default())
    });
    expect![[r#"
        > Quoted.
        > <!-- AUTHOR: why? -->
        > <!--   Say. -->
        > More.
    "#]]
    .assert_eq(&apply_edits(text, &written.unwrap().0.edits));
}

#[test]
fn elsewhere_the_sign_is_code() {
    check(
        "a.html",
        "<a\n  href='x'\n> <!-- AUTHOR: why? -->\n</a>\n",
        "So.",
        expect![[r#"
            <!-- AUTHOR: why? -->
            <!-- AGENT: So. -->
            <!-- AUTHOR: -->
            <a
              href='x'
            >
            </a>
        "#]],
    );
}

#[test]
fn the_end_of_a_tag_and_a_quoted_word_are_no_quotation() {
    let path = "a.md";
    let text = "<details\n  open\n> <!-- AUTHOR: why? -->\n<summary>x</summary>\n";
    let id = threads(path, text)[0].id.clone();
    let gone = write(path, text, |source| dismiss(source, &id)).unwrap();
    assert_eq!(
        apply_edits(text, &gone.edits),
        "<details\n  open\n>\n<summary>x</summary>\n"
    );
    let text = "<!-- AUTHOR: someone wrote\n       > this is bad\n       what now? -->\n";
    assert_eq!(
        threads(path, text)[0].messages[0].text,
        "someone wrote\n> this is bad\nwhat now?"
    );
    check(
        path,
        "<!--\nAUTHOR: what?\n-->\n",
        "See:\n> quoted words\nThat is it.",
        expect![[r#"
            <!--
            AUTHOR: what?
            AGENT: See:
              > quoted words
              That is it.
            AUTHOR:
            -->
        "#]],
    );
}
