//! Where the lines of a thread begin: in the margin, at their code's indentation, where the format wants them.

use super::*;

const KEEP: Style = Style {
    keep_indentation: true,
};

/// The answer to each thread, one after another, in both styles; once where they are the same.
fn both(path: &str, text: &str, expect: Expect) {
    let said = |style: Style| {
        let mut text = text.to_owned();
        for at in 0..threads(path, &text).len() {
            let id = threads(path, &text)[at].id.clone();
            let written = write(path, &text, |source| {
                respond(source, &id, Role::Agent, None, "So.\nYes.", style)
            });
            text = apply_edits(&text, &written.unwrap().edits);
        }
        text
    };
    let (margin, kept) = (said(Style::default()), said(KEEP));
    if margin == kept {
        expect.assert_eq(&kept);
    } else {
        expect.assert_eq(&format!("{margin}--- keep\n{kept}"));
    }
}

/// A new thread above the 0-based `line`, in both styles.
fn begun(path: &str, text: &str, line: usize, expect: Expect) {
    let said = |style: Style| {
        let written = write(path, text, |source| new_thread(source, line, "why?", style));
        apply_edits(text, &written.unwrap().0.edits)
    };
    let (margin, kept) = (said(Style::default()), said(KEEP));
    if margin == kept {
        expect.assert_eq(&kept);
    } else {
        expect.assert_eq(&format!("{margin}--- keep\n{kept}"));
    }
}

#[test]
fn the_margin_or_the_code() {
    both(
        "a.rs",
        "fn a() {\n\t    // AUTHOR: why?\n    b(); // AUTHOR: and this?\n}\n",
        expect![[r#"
        fn a() {
        // AUTHOR: why?
        // AGENT: So.
        //   Yes.
        // AUTHOR:

        // AUTHOR: and this?
        // AGENT: So.
        //   Yes.
        // AUTHOR:
            b();
        }
        --- keep
        fn a() {
        	    // AUTHOR: why?
        	    // AGENT: So.
        	    //   Yes.
        	    // AUTHOR:

            // AUTHOR: and this?
            // AGENT: So.
            //   Yes.
            // AUTHOR:
            b();
        }
    "#]],
    );
    both(
        "a.py",
        "def f():\n    x = g(1,  # AUTHOR: why?\n          2)\n",
        expect![[r#"
        def f():
        # AUTHOR: why?
        # AGENT: So.
        #   Yes.
        # AUTHOR:
            x = g(1,
                  2)
        --- keep
        def f():
            # AUTHOR: why?
            # AGENT: So.
            #   Yes.
            # AUTHOR:
            x = g(1,
                  2)
    "#]],
    );
    begun(
        "a.rs",
        "fn a() {\n\t b();\n}\n",
        1,
        expect![[r#"
        fn a() {
        // AUTHOR: why?
        	 b();
        }
        --- keep
        fn a() {
        	 // AUTHOR: why?
        	 b();
        }
    "#]],
    );
}

#[test]
fn block_comments_follow_their_own_leader() {
    both(
        "a.c",
        "int a;\n\t/**\n\t * AUTHOR: why?\n\t *\n\t * Text.\n\t */\nint b;\n",
        expect![[r#"
        int a;
        	/**
        	 * AUTHOR: why?
        	 * AGENT: So.
        	 *   Yes.
        	 * AUTHOR:
        	 *
        	 * Text.
        	 */
        int b;
    "#]],
    );
    both(
        "a.c",
        "int a;\n  /* AUTHOR: why?\n     AGENT: Because.\n     AUTHOR:\n   */\n  f();\n",
        expect![[r#"
            int a;
              /* AUTHOR: why?
                 AGENT: Because.
                 AGENT: So.
                   Yes.
                 AUTHOR:
               */
              f();
        "#]],
    );
    both(
        "a.ml",
        "let y = 2\n  (*\n   * AUTHOR: why?\n   *)\n  let x = 1\n",
        expect![[r#"
            let y = 2
              (*
               * AUTHOR: why?
               * AGENT: So.
               *   Yes.
               * AUTHOR:
               *)
              let x = 1
        "#]],
    );
    both(
        "a.hs",
        "  {-\n  - AUTHOR: why?\n  -}\nx = 1\n",
        expect![[r#"
          {-
          - AUTHOR: why?
          - AGENT: So.
          -   Yes.
          - AUTHOR:
          -}
        x = 1
    "#]],
    );
    both(
        "a.c",
        "  f(); /* AUTHOR: why? */\n  g(/* AUTHOR: and\n        here? */ 1);\n",
        expect![[r#"
        /* AUTHOR: why? */
        /* AGENT: So. */
        /*   Yes. */
        /* AUTHOR: */
          f();
          g(/* AUTHOR: and
               AGENT: So.
                 Yes.
               AUTHOR:
                here? */ 1);
        --- keep
          /* AUTHOR: why? */
          /* AGENT: So. */
          /*   Yes. */
          /* AUTHOR: */
          f();
          g(/* AUTHOR: and
               AGENT: So.
                 Yes.
               AUTHOR:
                here? */ 1);
    "#]],
    );
}

#[test]
fn nesting_by_indentation() {
    both(
        "a.pug",
        "ul\n  li one\n  //- AUTHOR: why?\n  li two\n",
        expect![[r#"
        ul
          li one
          //- AUTHOR: why?
          //- AGENT: So.
          //-   Yes.
          //- AUTHOR:
          li two
    "#]],
    );
    both(
        "a.haml",
        "%ul\n  %li one\n  -# AUTHOR: why?\n  %li two\n",
        expect![[r#"
        %ul
          %li one
          -# AUTHOR: why?
          -# AGENT: So.
          -#   Yes.
          -# AUTHOR:
          %li two
    "#]],
    );
    both(
        "a.slim",
        "ul\n  li one\n  / AUTHOR: why?\n  li two\n",
        expect![[r#"
        ul
          li one
          / AUTHOR: why?
          / AGENT: So.
          /   Yes.
          / AUTHOR:
          li two
    "#]],
    );
    both(
        "a.rst",
        "* item\n\n  .. AUTHOR: why?\n\n  text\n",
        expect![[r#"
        * item

          .. AUTHOR: why?
          .. AGENT: So.
          ..   Yes.
          .. AUTHOR:

          text
    "#]],
    );
    both(
        "a.sass",
        "a\n  // AUTHOR: why?\n  color: red\n",
        expect![[r#"
        a
          // AUTHOR: why?
          // AGENT: So.
          //   Yes.
          // AUTHOR:
          color: red
    "#]],
    );
    both(
        "a.md",
        "- one\n  <!-- AUTHOR: why? -->\n\n  more\n- two\n\n<!-- AUTHOR: and here? -->\n",
        expect![[r#"
        - one
          <!-- AUTHOR: why? -->
          <!-- AGENT: So. -->
          <!--   Yes. -->
          <!-- AUTHOR: -->

          more
        - two

        <!-- AUTHOR: and here? -->
        <!-- AGENT: So. -->
        <!--   Yes. -->
        <!-- AUTHOR: -->
    "#]],
    );
    both(
        "a.md",
        "1. one\n\n   - deep <!-- AUTHOR: why? -->\n",
        expect![[r#"
        1. one

           <!-- AUTHOR: why? -->
           <!-- AGENT: So. -->
           <!--   Yes. -->
           <!-- AUTHOR: -->
           - deep
    "#]],
    );
    begun(
        "a.pug",
        "ul\n  li one\n  li two\n",
        2,
        expect![[r#"
        ul
          li one
          //- AUTHOR: why?
          li two
    "#]],
    );
    begun(
        "a.haml",
        "%ul\n  %li one\n  %li two\n",
        2,
        expect![[r#"
        %ul
          %li one
          -# AUTHOR: why?
          %li two
    "#]],
    );
    begun(
        "a.slim",
        "ul\n  li one\n  li two\n",
        2,
        expect![[r#"
        ul
          li one
          / AUTHOR: why?
          li two
    "#]],
    );
    begun(
        "a.md",
        "- one\n\n  more\n- two\n",
        2,
        expect![[r#"
        - one

          <!-- AUTHOR: why? -->
          more
        - two
    "#]],
    );
}
