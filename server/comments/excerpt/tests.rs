use postil_grammars::by_name;

use super::*;

/// A text with many such items, and the change that `typed` in the place of the `|` of one of them is.
fn typed(around: (&str, &str), item: &str, typed: &str) -> (String, Splice, String) {
    let (head, tail) = item.split_once('|').expect("a place");
    let whole = format!("{head}{tail}");
    let before = [around.0, &whole.repeat(20), around.1].concat();
    let at = around.0.len() + whole.len() * 10 + head.len();
    let (start, end) = before.split_at(at);
    let splice = Splice::of(&before, at..at, typed);
    let after = format!("{start}{typed}{end}");
    (before, splice, after)
}

/// Whether the change is read by itself.
fn is_excerpt(language: &str, around: (&str, &str), item: &str, letters: &str) -> bool {
    let (before, splice, after) = typed(around, item, letters);
    let mut syntax = Syntax::parse(&before, by_name(language));
    syntax.update(Some(&before), &[splice], &after);
    !syntax.excerpts.is_empty()
}

#[test]
fn what_is_left_open_in_an_item_is_read_by_itself() {
    for (language, item) in [
        (
            "python",
            "# AUTHOR: why?\ndef f(x):\n    a = g|\n    return a\n\n\n",
        ),
        (
            "python",
            "class A:\n    b = 1\n\n    def f(x):\n        a = g|\n        return a\n\n\n",
        ),
        ("rust", "/// What.\nfn f() {\n    g|;\n}\n\n"),
        (
            "rust",
            "impl A {\n    fn f(&self) {\n        g|;\n    }\n}\n\n",
        ),
        ("javascript", "function f() {\n    g|;\n}\n"),
        ("typescript", "export function f(a: number) {\n    g|;\n}\n"),
        (
            "tsx",
            "export function F(a: number) {\n    g|;\n    return <a />;\n}\n",
        ),
        ("go", "func f() {\n\tg|\n}\n\n"),
        ("c", "#include <a.h>\nint f(void)\n{\n\treturn g|;\n}\n\n"),
        ("cpp", "int f() {\n    return g|;\n}\n\n"),
        ("java", "class A {\n    void f() {\n        g|;\n    }\n}\n"),
        (
            "csharp",
            "class A\n{\n    void F()\n    {\n        a = g|;\n    }\n}\n",
        ),
        ("ruby", "def f\n  g|\nend\n\n"),
        ("lua", "function f()\n  g = h|\nend\n"),
        ("bash", "f() {\n  g | h\n}\n"),
        ("kotlin", "fun f() {\n    g|\n}\n"),
        ("swift", "func f() {\n    g|\n}\n"),
        ("scala", "def f() = {\n  g|\n}\n"),
        ("zig", "fn f() void {\n    g|();\n}\n"),
        ("dart", "void f() {\n  g|;\n}\n"),
        ("css", "a {\n  color: red|;\n}\n"),
        ("toml", "[a]\nb = 1|\n"),
    ] {
        let is_one = is_excerpt(language, ("", ""), item, "(");
        assert!(is_one, "{language}: {item}");
    }
}

#[test]
fn items_of_items_are_too() {
    for (language, begin, item, end) in [
        (
            "python",
            "class A:\n",
            "    def f(x):\n        a = g|\n        return a\n\n",
            "",
        ),
        (
            "rust",
            "impl A {\n",
            "    fn f(&self) {\n        g|;\n    }\n\n",
            "}\n",
        ),
        (
            "rust",
            "mod a {\n",
            "    fn f() {\n        g|;\n    }\n\n",
            "}\n",
        ),
        (
            "javascript",
            "class A {\n",
            "    f(x) {\n        g|;\n    }\n",
            "}\n",
        ),
        (
            "typescript",
            "class A {\n",
            "    f(x: number) {\n        g|;\n    }\n",
            "}\n",
        ),
        (
            "javascript",
            "function f() {\n",
            "    const a = 1 + g|;\n",
            "}\n",
        ),
        (
            "cpp",
            "namespace a {\n",
            "int f() {\n    return g|;\n}\n\n",
            "}\n",
        ),
        (
            "cpp",
            "class A {\n",
            "    int f() {\n        return g|;\n    }\n\n",
            "};\n",
        ),
        (
            "java",
            "class A {\n",
            "    void f() {\n        g|;\n    }\n",
            "}\n",
        ),
        (
            "csharp",
            "class A\n{\n",
            "    void F()\n    {\n        a = g|;\n    }\n",
            "}\n",
        ),
        ("ruby", "class A\n", "  def f\n    g|\n  end\n", "end\n"),
        (
            "kotlin",
            "class A {\n",
            "    fun f() {\n        g|\n    }\n",
            "}\n",
        ),
        (
            "swift",
            "class A {\n",
            "    func f() {\n        g|\n    }\n",
            "}\n",
        ),
    ] {
        let is_one = is_excerpt(language, (begin, end), item, "(");
        assert!(is_one, "{language}: {begin}{item}");
    }
}

#[test]
fn what_reaches_further_is_not() {
    for (language, item, letters) in [
        ("rust", "fn f() {\n    g|;\n}\n\n", "\""),
        ("rust", "fn f() {\n    g|;\n}\n\n", "/*"),
        ("rust", "fn f() {\n    g|;\n}\n\n", "*/"),
        ("python", "def f(x):\n    a = |\n    return a\n\n", "\"\"\""),
        ("ruby", "def f\n  g|\nend\n\n", "\n__END__ "),
    ] {
        let is_one = is_excerpt(language, ("", ""), item, letters);
        assert!(!is_one, "{language}: {letters}");
    }
}
