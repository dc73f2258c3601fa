//! Symbols and identifiers.

use super::*;
use postil_grammars::by_name;

pub(super) fn outline(language: &str, text: &str) -> String {
    let syntax = Syntax::parse(text, by_name(language));
    let symbols = syntax.symbols(text);
    let words: Vec<_> = symbols
        .iter()
        .map(|s| format!("{} {}", s.kind, s.name))
        .collect();
    for symbol in &symbols {
        assert_eq!(text[symbol.name_range.clone()].trim(), symbol.name);
        assert!(
            syntax
                .enclosing(text, symbol.name_range.start)
                .contains(symbol),
            "{symbol:?}"
        );
    }
    words.join(", ")
}

#[test]
fn symbols_have_the_words_of_their_field() {
    let cases = [
        (
            "rust",
            "struct A { b: u8 }\nimpl A { fn c(&self) {} }\nmod d { const E: u8 = 1; fn f() {} }\nenum G { H }\ntrait I { fn j(); }\nmacro_rules! k { () => {} }",
            "struct A, field b, impl A, method c, module d, constant E, function f, enum G, variant H, trait I, method j, macro k",
        ),
        (
            "python",
            "def a():\n    x = 1\nclass B:\n    def c(self): pass\n    @d\n    def e(self): pass\n",
            "function a, class B, method c, method e",
        ),
        (
            "javascript",
            "function a() { let q = 1 }\nconst b = () => 1;\nclass C { d() {} }\nexport const e = 2;",
            "function a, function b, class C, method d, variable e",
        ),
        (
            "typescript",
            "interface A { b(): void }\ntype C = A;\nenum D { E }\nnamespace F { export function g() {} }",
            "interface A, method b, type C, enum D, namespace F, function g",
        ),
        (
            "go",
            "package a\ntype B struct { c int }\nfunc (b B) d() {}\nfunc e() { var l = 1 }\nconst F = 1\nvar g = 2",
            "type B, field c, method d, function e, constant F, variable g",
        ),
        (
            "c",
            "struct a { int b; };\nint *c(int d) { return 0; }\n#define E 1\ntypedef int f;\nenum g { H };\nstruct a x;",
            "struct a, function c, macro E, type f, enum g, variant H",
        ),
        (
            "cpp",
            "namespace a { class B { void c() {} }; }\nvoid a::B::d() {}",
            "namespace a, class B, method c, function d",
        ),
        (
            "java",
            "class A { int b; A() {} void c() {} enum D { E } }",
            "class A, field b, constructor A, method c, enum D, variant E",
        ),
        (
            "csharp",
            "namespace A { class B { int C { get; } void D() {} } }",
            "namespace A, class B, property C, method D",
        ),
        (
            "ruby",
            "module A\n class B\n  def c; end\n  def self.d; end\n end\nend",
            "module A, class B, method c, method d",
        ),
        (
            "bash",
            "a() { :; }\nfunction b { :; }\n",
            "function a, function b",
        ),
        (
            "lua",
            "function a.b() end\nlocal function c() end",
            "function a.b, function c",
        ),
        ("toml", "[a]\nb = 1\n[[c.d]]\n", "table a, table c.d"),
        (
            "markdown",
            "# A\n\n## B\n\nC\n===\n",
            "heading A, heading B, heading C",
        ),
        ("html", "<script>function a() {}</script>", "function a"),
        (
            "vue",
            "<script lang=\"ts\">interface A {}</script>",
            "interface A",
        ),
    ];
    for (language, text, expected) in cases {
        assert_eq!(outline(language, text), expected, "{language}");
    }
}

#[test]
fn enclosing_symbols_come_outermost_first() {
    let text =
        "mod a {\n    impl B {\n        fn c() {\n            // here\n        }\n    }\n}\n";
    let syntax = Syntax::parse(text, by_name("rust"));
    let names: Vec<_> = syntax
        .enclosing(text, text.find("here").unwrap())
        .into_iter()
        .map(|s| s.name)
        .collect();
    assert_eq!(names, ["a", "B", "c"]);
    assert!(syntax.enclosing(text, text.len() + 9).is_empty());
}

#[test]
fn identifiers_stand_in_code_only() {
    let cases = [
        (
            "rust",
            "fn load() { load_all(); load(); /* load */ \"load\"; x.load; m!(load); load::<u8>() }",
            5,
        ),
        ("python", "load = 1 # load\nx.load(load, 'load', reload)", 3),
        (
            "javascript",
            "load(`load ${load}`); a.load; ({load, 'load': /load/})",
            4,
        ),
        ("c", "#define A(x) load(x) /* load */\nint load(void);", 2),
        (
            "kotlin",
            "val load = \"load ${load}\" // load\nfoo.load()",
            3,
        ),
        (
            "lisp",
            "(defun load () (load-all) (load) \"load\") ; load",
            2,
        ),
        ("html", "<p>load</p><script>load(); // load\n</script>", 1),
        ("unknown", "load # load\n# load\nload()", 0),
    ];
    for (language, text, count) in cases {
        let syntax = Syntax::parse(text, by_name(language));
        let found = syntax.identifiers(text, "load");
        assert!(found.iter().all(|r| &text[r.clone()] == "load"));
        // A file of unknown kind has comments at the start of lines only.
        let count = if language == "unknown" { 3 } else { count };
        assert_eq!(found.len(), count, "{language}: {found:?}");
    }
}
