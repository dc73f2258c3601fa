/**
 * The thread inside a comment: who speaks, and what is said.
 *
 * The text is one comment as it stands in its file, delimiters and all (an editor injects it so), or
 * several line comments below each other. What is a line of a thread is decided by src/scanner.c, for
 * it takes looking ahead (a marker is one only if its colon follows) and comparing columns (what is
 * indented deeper than the marker goes on). Every other line is `_plain`: it leaves no node behind, so
 * a comment without a thread is an empty tree, never an error.
 */
/// <reference types="tree-sitter-cli/dsl" />

// A long line is looked at once, so nothing here may begin where another token goes on, and fail far
// behind it: a word takes all that a place could, and a path begins with a name, a dot or a slash.
const NAME = "[\\p{L}\\p{M}\\p{N}_$]";
const WORDS = `${NAME}+([./+~-]+${NAME}+)*`;
const PARTS = `${NAME}+([+~-]+${NAME}+)*`;
const PATH = `(((\\.?\\.?|~)/|\\.)${WORDS}|${PARTS}[./][./+~-]*${WORDS})`;
const LINE = ":[1-9][0-9]*";

module.exports = grammar({
  name: "postil",

  extras: () => [/[ \t]/],

  externals: ($) => [
    // A line that begins with a marker, up to the marker: the first of a thread, or below another.
    $._first,
    $._next,
    // A line that goes on with the message, up to its text.
    $._more,
    // An empty line below a message: what follows may go on with it.
    $._empty,
    $._plain,
    // The comment's closing delimiter behind a message.
    $._close,
    // A back quote that another one follows on its line.
    $._quote,
    // Two back quotes or more, which quote nothing; and what no text has, a zero byte or bytes that are
    // not UTF-8.
    $._stray,
    // Never produced. All symbols are asked for at once only where the parser is lost.
    $._lost,
  ],

  rules: {
    source: ($) => repeat(choice($.thread, $._plain)),

    thread: ($) => seq(alias($._first_message, $.message), repeat($.message)),

    _first_message: ($) => seq($._first, $._message),
    message: ($) => seq($._next, $._message),

    _message: ($) =>
      seq(
        field("role", choice($.author, $.agent)),
        optional(seq("(", field("name", $.name), ")")),
        ":",
        optional($.text),
        repeat(choice(seq($._more, $.text), $._empty)),
        optional($._close),
      ),

    author: () => "AUTHOR",
    agent: () => "AGENT",
    name: () => /[^()\r\n]+/,

    // What stands on one line.
    text: ($) =>
      repeat1(choice($.file, $.symbol, $.code, $.place, $.link, $._word, $._sign, $._stray)),

    // `@src/net.rs`, `@notes.md:12`
    file: () =>
      token(prec(2, /@[\p{L}\p{M}\p{N}_$~-]*[./]([\p{L}\p{M}\p{N}_$~./+:-]*[\p{L}\p{M}\p{N}_\/])?/)),
    // `@load`, `@Store::open`
    symbol: () => token(prec(2, new RegExp(`@[\\p{L}_$]${NAME}*((::|-)${NAME}+)*`))),
    // `src/net.rs:47`, `src/net.rs:47:9`
    place: () => token(prec(2, new RegExp(`${PATH}${LINE}(${LINE})?`))),
    link: () =>
      token(
        prec(
          2,
          /https?:\/\/([^\s()<>"`]|\([^\s()<>"`]*\))*([\p{L}\p{N}\/=&#_~+-]|\([^\s()<>"`]*\))/,
        ),
      ),
    code: ($) => seq($._quote, alias(token.immediate(/[^`\r\n]+/), $.content), token.immediate("`")),

    // An address of mail is one word.
    _word: () => new RegExp(`${WORDS}(@${WORDS})*`),
    _sign: () => /[^ \t\r\n]/,
  },
});
