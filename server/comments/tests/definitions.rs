//! What the grammars of the optional tiers tell of names.

#[cfg(feature = "common")]
use super::names::outline;

#[test]
#[cfg(feature = "common")]
fn symbols_of_the_common_grammars() {
    let cases = [
        (
            "kotlin",
            "interface A {\n  fun b()\n}\nclass C(val d: Int) {\n  companion object {\n    fun e() {}\n  }\n}\nobject F\nenum class G { H }\ntypealias I = Int\nfun C.j() {}\n",
            "class A, function b, class C, function e, object F, class G, variant H, type I, function j",
        ),
        (
            "swift",
            "struct A {\n  init() {}\n  func b() {}\n}\nclass C {}\nenum D { case e }\nprotocol F { func g() }\nextension A {}\nactor H {}\ntypealias I = Int\n",
            "struct A, constructor init, function b, class C, enum D, variant e, protocol F, method g, extension A, actor H, type I",
        ),
        (
            "dart",
            "class A { int b() => 1; A(); int get c => 2; }\nmixin D {}\nextension E on A {}\nenum F { g }\nvoid h() {}\nint get i => 1;\n",
            "class A, method b, method c, mixin D, extension E, enum F, function h, function i",
        ),
        (
            "zig",
            "const std = @import(\"std\");\npub fn a() void { const b = 1; }\nconst C = struct { d: u8, fn e() void {} };\nconst F = enum { g };\ntest \"it works\" {}\n",
            "constant std, function a, struct C, field d, function e, enum F, field g, test it works",
        ),
        (
            "solidity",
            "contract A { struct B { uint c; } enum D { E } event F(uint g); error H(); modifier i() { _; } function j() public {} }\ninterface K {}\nlibrary L {}\n",
            "contract A, struct B, enum D, event F, error H, modifier i, function j, interface K, library L",
        ),
        (
            "protobuf",
            "syntax = \"proto3\";\nmessage A { message B {} enum C { D = 0; } }\nservice E { rpc F(A) returns (A); }\n",
            "message A, message B, enum C, service E, method F",
        ),
        (
            "r",
            "a <- function(b) { c <- function() 1 }\nd = function() 2\ne <- 3\n",
            "function a, function c, function d",
        ),
        (
            "powershell",
            "function Get-A { param($b) }\nclass C { [int] D() { return 1 } }\nenum E { F }\n",
            "function Get-A, class C, method D, enum E",
        ),
        (
            "nix",
            "{ a = b: b; c = 1; d = { e = f: f; }; g.h = i: i; }",
            "function a, function e, function g.h",
        ),
        (
            "graphql",
            "type A { b: Int }\ninterface C { d: Int }\nenum E { F }\ninput G { h: Int }\nunion I = A\nscalar J\nquery K { b }\nfragment L on A { b }\n",
            "type A, field b, interface C, field d, enum E, input G, union I, scalar J, operation K, fragment L",
        ),
        (
            "cmake",
            "function(a b)\nendfunction()\nmacro(c)\nendmacro()\n",
            "function a, macro c",
        ),
        (
            "erlang",
            "-module(a).\n-record(b, {c}).\n-type d() :: integer().\ne(F) -> F.\ng() -> e(1).\n",
            "record b, type d, function e, function g",
        ),
        (
            "elm",
            "module A exposing (..)\ntype B = C\ntype alias D = Int\ne f = let g = 1 in f\n",
            "type B, type D, function e",
        ),
        (
            "php",
            "<?php\nnamespace A;\nclass B { public function c() {} }\ninterface D {}\ntrait E {}\nenum F { case G; }\nfunction h() {}\n",
            "namespace A, class B, method c, interface D, trait E, enum F, variant G, function h",
        ),
    ];
    for (language, text, expected) in cases {
        assert_eq!(outline(language, text), expected, "{language}");
    }
}

#[test]
#[cfg(feature = "all")]
fn symbols_of_the_other_grammars() {
    let cases = [
        (
            "scala",
            "package a\nclass B { def c: Int = 1 }\nobject D\ntrait E { def f: Int }\nenum G { case H }\ntype I = Int\n",
            "class B, method c, object D, trait E, function f, enum G, variant H, type I",
        ),
        (
            "glsl",
            "#define A 1\nstruct B { float c; };\nvec3 d(vec3 e) { return e; }\n",
            "macro A, struct B, function d",
        ),
        (
            "ada",
            "package body A is\n   type B is range 1 .. 2;\n   procedure C is begin null; end C;\n   function D return Integer is begin return 1; end D;\nend A;\n",
            "package A, type B, function C, function D",
        ),
        (
            "pascal",
            "program A;\ntype B = Integer;\nfunction C(D: Integer): Integer;\nbegin C := D; end;\nbegin end.\n",
            "type B, function C",
        ),
    ];
    for (language, text, expected) in cases {
        assert_eq!(outline(language, text), expected, "{language}");
    }
}

/// A kind that the grammar does not have would find nothing, in silence.
#[test]
fn rows_name_nodes_that_their_grammar_has() {
    for language in postil_grammars::LANGUAGES {
        let Some(grammar) = language.grammar else {
            continue;
        };
        let grammar = grammar();
        // JavaScript and TypeScript share a list.
        let own = !matches!(language.name, "javascript" | "jsx" | "typescript" | "tsx");
        let symbols = language.symbols.iter().filter(|_| own);
        let symbols = symbols.map(|(kind, _)| kind);
        for kind in language.comments.iter().chain(symbols) {
            assert_ne!(
                grammar.id_for_node_kind(kind, true),
                0,
                "{} has no {kind}",
                language.name
            );
        }
    }
}
