// Decides what each line of a comment is: the marker of a message, a line that goes on with one, or
// neither. The rules are those of docs/threads.md, as far as one comment shows them.
//
// No allocation: the state is a few bytes, and a line is looked at once.

#include "tree_sitter/alloc.h"
#include "tree_sitter/parser.h"

#include <string.h>

enum Token { FIRST, NEXT, MORE, EMPTY, PLAIN, CLOSE, QUOTE, STRAY, LOST };

// Where a marker stands on its line: behind the comment's delimiter, behind the leader that the lines
// of a block share (` * `), or with nothing before it.
enum Lead { OPEN, INNER, BARE };

// The longest leader that is looked at, `{%- comment -%}`.
#define LONGEST 20
// Stands for the one leader that is not ASCII.
#define LAMP 1

typedef struct {
  const char *open;
  const char *close; // NULL: the comment ends with its line
  char inner;        // what the lines of the block may begin with, or 0
} Delimiter;

// Those of the table of languages (grammars/tables); a test compares the two. Longer ones first.
static const Delimiter DELIMITERS[] = {
    {"{%- comment -%}", "{%- endcomment -%}", 0},
    {"{% comment %}", "{% endcomment %}", 0},
    {"{{- /*", "*/ -}}", '*'},
    {"--[===[", "]===]", 0},
    {"--[==[", "]==]", 0},
    {"<%!--", "--%>", 0},
    {"{{!--", "--}}", 0},
    {"--[=[", "]=]", 0},
    {"#[==[", "]==]", 0},
    {"{{/*", "*/}}", '*'},
    {"{{--", "--}}", 0},
    {"<!--", "-->", 0},
    {"<%--", "--%>", 0},
    {"--[[", "]]", 0},
    {"#[=[", "]=]", 0},
    {"##[", "]##", 0},
    {"#[[", "]]", 0},
    {"<%#", "%>", 0},
    {"{{!", "}}", 0},
    {"{/*", "*/}", '*'},
    {"###", "###", 0},
    {"#cs", "#ce", 0},
    {"/-!", "-/", 0},
    {"/*!", "*/", '*'},
    {"#=", "=#", 0},
    {"#[", "]#", 0},
    {"#|", "|#", '|'},
    {"(*", "*)", '*'},
    {"(", ")", 0},
    {"/*", "*/", '*'},
    {"/+", "+/", 0},
    {"/-", "-/", 0},
    {"<#", "#>", '#'},
    {"@*", "*@", 0},
    {"{#", "#}", 0},
    {"{-", "-}", '-'},
    {"%{", "%}", 0},
    {"{", "}", 0},
    {"\\\"", NULL, 0},
    {".\\\"", NULL, 0},
    {"'\\\"", NULL, 0},
    {"\"", "\"", 0},
    {"//-", NULL, 0},
    {"//!", NULL, 0},
    {"|||", NULL, 0},
    {"@REM", NULL, 0},
    {"REM", NULL, 0},
    {"dnl", NULL, 0},
    {"NB.", NULL, 0},
    {"; #", NULL, 0},
    {";#", NULL, 0},
    {"*>", NULL, 0},
    {"-#", NULL, 0},
    {"/!", NULL, 0},
    {"..", NULL, 0},
    {"::", NULL, 0},
    {"#'", NULL, 0},
    {"//", NULL, 0},
    {"--", NULL, 0},
    {"\x01", NULL, 0},
    {"!", NULL, 0},
    {"#", NULL, 0},
    {"%", NULL, 0},
    {"'", NULL, 0},
    {"*", NULL, 0},
    {"/", NULL, 0},
    {";", NULL, 0},
    {"@", NULL, 0},
    {"C", NULL, 0},
    {"\\", NULL, 0},
};
#define DELIMITER_COUNT (sizeof DELIMITERS / sizeof DELIMITERS[0])
#define NO_DELIMITER DELIMITER_COUNT

// Serialized as it is.
typedef struct {
  uint8_t begun;     // the first line has been looked at
  uint8_t delimiter; // of the comment; NO_DELIMITER: its text begins at once
  uint8_t inside;    // the line above belongs to a message
  uint8_t parted;    // by an empty line
  // Of the marker's line:
  uint8_t lead;
  uint8_t leader_length;
  char leader[LONGEST];
  uint16_t indent; // columns between leader and marker
  uint16_t column; // of the marker
} State;

// What is read of a line before its text.
typedef struct {
  uint8_t lead;
  uint8_t length;
  char leader[LONGEST];
  uint16_t indent;
  uint16_t column;
  bool run; // the text begins with what a leader may be, and some of it is taken already
} Start;

void *tree_sitter_postil_external_scanner_create(void) {
  static const State none = {0};
  State *state = ts_calloc(1, sizeof(State));
  if (state) *state = none;
  return state;
}

void tree_sitter_postil_external_scanner_destroy(void *payload) { ts_free(payload); }

unsigned tree_sitter_postil_external_scanner_serialize(void *payload, char *buffer) {
  memcpy(buffer, payload, sizeof(State));
  return sizeof(State);
}

void tree_sitter_postil_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
  memset(payload, 0, sizeof(State));
  if (length == sizeof(State)) memcpy(payload, buffer, length);
}

static inline bool at_line_end(TSLexer *lexer) {
  return lexer->lookahead == '\n' || lexer->lookahead == '\r' || lexer->eof(lexer);
}

static inline bool is_blank(int32_t c) { return c == ' ' || c == '\t'; }

static inline void take(TSLexer *lexer) { lexer->advance(lexer, false); }

static inline uint16_t more(uint16_t count, uint16_t by) {
  return count > UINT16_MAX - by ? UINT16_MAX : (uint16_t)(count + by);
}

// Blanks; returns their width, in which a tab counts four columns.
static uint16_t take_blanks(TSLexer *lexer, uint16_t *column) {
  uint16_t width = 0;
  while (is_blank(lexer->lookahead)) {
    width = more(width, lexer->lookahead == '\t' ? 4 : 1);
    *column = more(*column, 1);
    take(lexer);
  }
  return width;
}

static bool take_word(TSLexer *lexer, const char *word) {
  for (; *word; word++) {
    if (lexer->lookahead != *word) return false;
    take(lexer);
  }
  return true;
}

// `AUTHOR:`, `AGENT(claude):`; the lexer stands at the `A`.
static bool take_marker(TSLexer *lexer) {
  take(lexer);
  if (!take_word(lexer, lexer->lookahead == 'U' ? "UTHOR" : "GENT")) return false;
  if (lexer->lookahead == ':') return true;
  if (lexer->lookahead != '(') return false;
  take(lexer);
  bool named = false;
  while (lexer->lookahead != '(' && lexer->lookahead != ')') {
    if (at_line_end(lexer) || lexer->lookahead <= 0) return false;
    named = named || !(is_blank(lexer->lookahead) || lexer->lookahead == 0xA0);
    take(lexer);
  }
  if (!named || lexer->lookahead != ')') return false;
  take(lexer);
  return lexer->lookahead == ':';
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c; }

static bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

static bool begins_with(const char *text, uint8_t length, const char *start) {
  for (uint8_t i = 0; start[i]; i++) {
    if (i >= length || lower(text[i]) != lower(start[i])) return false;
  }
  return true;
}

// The delimiter that `text` begins with.
static uint8_t delimiter_of(const char *text, uint8_t length) {
  for (uint8_t i = 0; i < DELIMITER_COUNT; i++) {
    const char *open = DELIMITERS[i].open;
    if (!begins_with(text, length, open)) continue;
    // `REM` is one, `REMOTE` is not.
    size_t end = strlen(open);
    if (is_letter(open[end - 1]) && end < length && is_letter(text[end])) continue;
    return i;
  }
  return NO_DELIMITER;
}

// Whether `text` is a delimiter and nothing more: its last character may be repeated, and a mark of
// documentation may follow.
static bool is_leader(const char *text, uint8_t length) {
  for (uint8_t i = 0; i < DELIMITER_COUNT; i++) {
    const char *open = DELIMITERS[i].open;
    if (!begins_with(text, length, open)) continue;
    uint8_t at = (uint8_t)strlen(open);
    char last = open[at - 1];
    if (!is_letter(last) && last != '"' && last != '(') {
      while (at < length && text[at] == last) at++;
    }
    const char *rest = text + at;
    uint8_t left = length - at;
    if (left == 0) return true;
    if (left == 1 && strchr("!<'|^", rest[0])) return true;
    // `!>` of Fortran, `*>` of COBOL, `#:` of Sphinx.
    if (left == 1 && rest[0] == '>' && strchr("!%*Cc", last)) return true;
    if (left == 1 && rest[0] == ':' && last == '#') return true;
    if (left == 2 && rest[0] == '!' && rest[1] == '<') return true;
    // `-- |` of Haskell.
    while (left > 1 && is_blank(rest[0]) && last == '-') rest++, left--;
    if (left == 1 && strchr("|^", rest[0])) return true;
  }
  return false;
}

// The first line of the comment, up to a marker. Leaves the token's end before the marker if there is one.
static bool first_line(State *state, TSLexer *lexer, Start *start) {
  char text[LONGEST];
  uint8_t length = 0; // of `text`
  uint8_t used = 0;   // without the blanks behind it
  uint16_t gap = 0;   // the width of those
  uint32_t column = lexer->get_column(lexer);
  uint16_t at = column > UINT16_MAX ? UINT16_MAX : (uint16_t)column;
  bool found = false;
  if (lexer->lookahead == 0xFEFF) take(lexer);
  take_blanks(lexer, &at);
  while (!at_line_end(lexer) && length < LONGEST) {
    int32_t c = lexer->lookahead;
    if (c == 'A' && (used == 0 || is_leader(text, used))) {
      lexer->mark_end(lexer);
      found = take_marker(lexer);
      break;
    }
    if (c != 0x235D && (c <= 0 || c > 126)) break;
    text[length++] = c == 0x235D ? LAMP : (char)c;
    at = more(at, 1);
    if (is_blank(c)) {
      gap = more(gap, c == '\t' ? 4 : 1);
    } else {
      used = length;
      gap = 0;
    }
    take(lexer);
  }
  state->delimiter = delimiter_of(text, used);
  start->lead = used ? OPEN : BARE;
  start->length = found ? used : 0;
  memcpy(start->leader, text, start->length);
  start->indent = used ? gap : at;
  start->column = at;
  return found;
}

// A later line up to its text. Leaves the token's end before the text. False: no line of a thread can
// begin so.
static bool later_line(State *state, TSLexer *lexer, Start *start) {
  const char *close = state->delimiter == NO_DELIMITER ? "" : DELIMITERS[state->delimiter].close;
  // A double quote begins a line in Vim script; what it begins in Smalltalk is of one line here too.
  bool of_lines = !close || close[0] == '"';
  char inner = state->delimiter == NO_DELIMITER ? 0 : DELIMITERS[state->delimiter].inner;
  uint16_t column = 0;
  start->lead = BARE;
  start->length = 0;
  start->indent = take_blanks(lexer, &column);
  start->column = column;
  lexer->mark_end(lexer);
  if (of_lines) {
    // Other leaders may stand below the first, `//` below `///`.
    while (!at_line_end(lexer) && !is_blank(lexer->lookahead) && start->length < LONGEST) {
      int32_t c = lexer->lookahead;
      if (c == 'A' && is_leader(start->leader, start->length)) break;
      if (c != 0x235D && (c <= 0 || c > 126)) return false;
      start->leader[start->length++] = c == 0x235D ? LAMP : (char)c;
      take(lexer);
    }
    if (!is_leader(start->leader, start->length)) return false;
    start->lead = OPEN;
  } else if (inner && lexer->lookahead == inner) {
    uint8_t length = 0;
    while (lexer->lookahead == inner && length < LONGEST) {
      start->leader[length++] = inner;
      take(lexer);
    }
    // `**bold**` and `*/` are no leaders.
    if (!is_blank(lexer->lookahead) && !at_line_end(lexer) && lexer->lookahead != 'A') {
      start->run = true;
      return true;
    }
    start->lead = INNER;
    start->length = length;
  } else {
    return true;
  }
  column = more(column, start->length);
  start->indent = take_blanks(lexer, &column);
  start->column = column;
  lexer->mark_end(lexer);
  return true;
}

// Whether the line goes on with the message above, by its indent.
static bool goes_on(const State *state, const Start *start) {
  if (start->lead == OPEN || (start->lead == INNER && state->lead == INNER)) {
    return start->length == state->leader_length &&
           memcmp(start->leader, state->leader, start->length) == 0 &&
           start->indent >= more(state->indent, 2);
  }
  if (start->lead == INNER) {
    return (state->lead == OPEN && start->indent >= more(state->indent, 2)) ||
           start->column - start->length >= more(state->column, 2);
  }
  return state->lead != INNER && start->column >= more(state->column, 2);
}

// Whether an empty line parts nothing yet.
static bool may_part(const State *state, const Start *start) {
  if (start->lead == BARE) return state->lead != INNER;
  if (start->lead == INNER && state->lead == OPEN) return true;
  return start->length == state->leader_length &&
         memcmp(start->leader, state->leader, start->length) == 0;
}

// Whether nothing but the closing delimiter is left of the comment. `begun`: its first character is taken.
static bool closes(const State *state, TSLexer *lexer, bool begun) {
  if (state->delimiter == NO_DELIMITER) return false;
  const char *close = DELIMITERS[state->delimiter].close;
  if (!close) return false;
  if (!begun) {
    if (lexer->lookahead != close[0]) return false;
    take(lexer);
  }
  // `**/`: its first character may be repeated; a line of them is a line, and is looked at once.
  for (int i = 0; i < LONGEST && lexer->lookahead == close[0] && close[1] != close[0]; i++) take(lexer);
  if (!take_word(lexer, close + 1)) return false;
  while (is_blank(lexer->lookahead) || lexer->lookahead == '\n' || lexer->lookahead == '\r') take(lexer);
  return lexer->eof(lexer);
}

static bool line(State *state, TSLexer *lexer, bool first) {
  Start start = {0};
  bool could_be = first ? false : later_line(state, lexer, &start);
  bool marker;
  if (first) {
    marker = first_line(state, lexer, &start);
  } else if (could_be && at_line_end(lexer)) {
    lexer->result_symbol = state->inside && may_part(state, &start) ? EMPTY : PLAIN;
    state->inside = lexer->result_symbol == EMPTY;
    state->parted = true;
    return true;
  } else {
    marker = could_be && lexer->lookahead == 'A' && take_marker(lexer);
  }
  if (marker) {
    lexer->result_symbol = state->inside && !state->parted ? NEXT : FIRST;
    state->inside = true;
    state->parted = false;
    state->lead = start.lead;
    state->leader_length = start.length;
    memcpy(state->leader, start.leader, sizeof state->leader);
    state->indent = start.indent;
    state->column = start.column;
    return true;
  }
  if (could_be && state->inside && goes_on(state, &start)) {
    if (!closes(state, lexer, start.run)) {
      lexer->result_symbol = MORE;
      state->parted = false;
      return true;
    }
  }
  state->inside = false;
  state->parted = false;
  while (!at_line_end(lexer)) take(lexer);
  lexer->mark_end(lexer);
  lexer->result_symbol = PLAIN;
  return true;
}

bool tree_sitter_postil_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid) {
  State *state = payload;
  if (!state || valid[LOST]) return false;
  bool lines = valid[FIRST] || valid[NEXT] || valid[MORE] || valid[EMPTY] || valid[PLAIN];
  if (!state->begun && lines) {
    state->begun = true;
    state->delimiter = NO_DELIMITER;
    if (!at_line_end(lexer)) return line(state, lexer, true);
  }
  while (is_blank(lexer->lookahead)) lexer->advance(lexer, true);
  if (lexer->eof(lexer)) return false;
  if (lines && at_line_end(lexer)) {
    bool returned = lexer->lookahead == '\r';
    lexer->advance(lexer, true);
    if (returned && lexer->lookahead == '\n') lexer->advance(lexer, true);
    return line(state, lexer, false);
  }
  if (valid[QUOTE] && lexer->lookahead == '`') {
    take(lexer);
    lexer->mark_end(lexer);
    if (lexer->lookahead == '`') {
      while (lexer->lookahead == '`') take(lexer);
      lexer->mark_end(lexer);
      lexer->result_symbol = STRAY;
      return valid[STRAY];
    }
    while (lexer->lookahead != '`') {
      if (at_line_end(lexer) || lexer->lookahead <= 0) return false;
      take(lexer);
    }
    lexer->result_symbol = QUOTE;
    return true;
  }
  if (valid[STRAY] && lexer->lookahead <= 0) {
    take(lexer);
    lexer->mark_end(lexer);
    lexer->result_symbol = STRAY;
    return true;
  }
  if (valid[CLOSE] && closes(state, lexer, false)) {
    lexer->result_symbol = CLOSE;
    return true;
  }
  return false;
}
