//! Threads in colour: by the grammar, built as the README says, in files of Neovim's own languages; and by the
//! server's semantic tokens.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::driver::Nvim;
use crate::harness::Workspace;
use crate::peers;

/// `parser/postil.so` below `folder`, by the one command of the README.
fn build_parser(folder: &Path) {
    let grammar = Path::new(env!("CARGO_MANIFEST_DIR")).join("grammars/tree-sitter-postil");
    std::fs::create_dir_all(folder.join("parser")).expect("a folder");
    let status = Command::new("cc")
        .args([
            "-shared",
            "-fPIC",
            "-O2",
            "-Isrc",
            "src/parser.c",
            "src/scanner.c",
            "-o",
        ])
        .arg(folder.join("parser/postil.so"))
        .current_dir(grammar)
        .status();
    assert!(status.expect("a C compiler").success());
}

/// Of every word, as `line:word`, the captures of tree-sitter-postil there.
const CAPTURES: &str = r#"
local found = {}
for row, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, true)) do
  for at, word in line:gmatch("()(%S+)") do
    local names = {}
    for _, capture in ipairs(vim.treesitter.get_captures_at_pos(0, row - 1, at - 1)) do
      if capture.lang == "postil" then
        table.insert(names, capture.capture)
      end
    end
    if #names > 0 then
      table.insert(found, row .. ":" .. word .. "=" .. table.concat(names, "+"))
    end
  end
end
return found"#;

/// The words of the buffer that tree-sitter-postil colours.
fn captures(nvim: &mut Nvim) -> Vec<String> {
    nvim.lua("vim.treesitter.start(); vim.treesitter.get_parser():parse(true)");
    let found = nvim.lua(CAPTURES);
    let found = found.as_array().cloned().unwrap_or_default();
    let text = |word: Value| word.as_str().unwrap_or_default().to_owned();
    found.into_iter().map(text).collect()
}

#[test]
fn the_grammar_colours_threads_in_neovims_own_languages() {
    if !peers::have(&["nvim"]) {
        return;
    }
    let workspace = Workspace::new();
    workspace.write(
        "a.c",
        "/* AUTHOR(jane): is `load` right?\n *   See @io.c\n * AGENT: no, a.c:3\n */\nint a; // AUTHOR: why\n// the AUTHOR\nchar *s = \"// AUTHOR: no\";\n",
    );
    workspace.write(
        "a.lua",
        "-- AUTHOR: why\nlocal a --[[ AGENT: so ]]\nlocal s = '-- AUTHOR: no'\n",
    );
    workspace.write("a.vim", "\" AUTHOR: why\nlet a = 1\n");
    workspace.write(
        "a.md",
        "Text\n\n<!-- AUTHOR: why -->\n\n    <!-- AUTHOR: no -->\n",
    );
    workspace.write("a.query", "; AUTHOR: why\n(a) @b\n");
    let site = workspace.path("site");
    build_parser(&site);
    let mut nvim = Nvim::start(&workspace, &[], json!({}));
    nvim.lua(&format!("vim.opt.runtimepath:append({})", json!(site)));
    let mut check = |file: &str, kind: &str, expected: &[&str]| {
        nvim.edit(&workspace.path(file));
        nvim.lua(&format!("vim.bo.filetype = '{kind}'"));
        assert_eq!(captures(&mut nvim), expected, "{file}");
    };
    check(
        "a.c",
        "c",
        &[
            "1:AUTHOR(jane):=keyword.author",
            "1:is=comment.documentation",
            "1:`load`=comment.documentation+markup.raw",
            "1:right?=comment.documentation",
            "2:See=comment.documentation",
            "2:@io.c=comment.documentation+string.special.path",
            "3:AGENT:=keyword.agent",
            "3:no,=comment.documentation",
            "3:a.c:3=comment.documentation+string.special.path",
            "5:AUTHOR:=keyword.author",
            "5:why=comment.documentation",
        ],
    );
    let why = ["1:AUTHOR:=keyword.author", "1:why=comment.documentation"];
    check(
        "a.lua",
        "lua",
        &[
            why[0],
            why[1],
            "2:AGENT:=keyword.agent",
            "2:so=comment.documentation",
        ],
    );
    check("a.vim", "vim", &why);
    check("a.query", "query", &why);
    check(
        "a.md",
        "markdown",
        &["3:AUTHOR:=keyword.author", "3:why=comment.documentation"],
    );
    // The code in the back quotes is C again.
    nvim.edit(&workspace.path("a.c"));
    nvim.lua("vim.treesitter.start(); vim.treesitter.get_parser():parse(true)");
    let langs = "vim.iter(vim.treesitter.get_captures_at_pos(0, 0, 22)):map(function(c) return c.lang .. '.' .. c.capture end):totable()";
    let inside = nvim.lua(&format!("return {langs}"));
    assert!(inside.to_string().contains("c.variable"), "{inside}");
}

#[test]
fn without_the_grammar_nothing_is_coloured_and_nothing_complains() {
    if !peers::have(&["nvim"]) {
        return;
    }
    let workspace = Workspace::new();
    workspace.write("a.c", "// AUTHOR: why\n");
    let mut nvim = Nvim::start(&workspace, &[], json!({}));
    nvim.edit(&workspace.path("a.c"));
    assert!(captures(&mut nvim).is_empty());
    assert_eq!(nvim.lua("return vim.v.errmsg"), "");
}

#[test]
fn semantic_tokens_arrive_and_follow_the_text() {
    if !peers::have(&["nvim"]) {
        return;
    }
    let workspace = Workspace::new();
    workspace.write(
        "a.rs",
        "// AUTHOR(jané): 𝄞 `load`?\n//   @b.rs\nfn a() {}\n",
    );
    let mut nvim = Nvim::start(&workspace, &[], json!({}));
    nvim.edit(&workspace.path("a.rs"));
    // What Neovim knows of the token at a byte of a line: `keyword.author`.
    nvim.lua(
        r#"function _G.token(row, column)
      local found = vim.lsp.semantic_tokens.get_at_pos(0, row, column) or {}
      local token = found[1] or { type = "none", modifiers = {} }
      local names = vim.tbl_keys(token.modifiers)
      table.sort(names)
      return token.type .. "." .. table.concat(names, "+")
    end"#,
    );
    let check = |nvim: &mut Nvim, row: usize, column: usize, expected: &str| {
        nvim.wait(
            &format!("{expected} at {row}:{column}"),
            &format!("token({row}, {column}) == {}", json!(expected)),
        );
    };
    check(&mut nvim, 0, 3, "keyword.author");
    check(&mut nvim, 0, 10, "parameter.author");
    // Behind a character of two UTF-16 units and four bytes.
    check(
        &mut nvim,
        0,
        "// AUTHOR(jané): 𝄞 `".len(),
        "variable.author",
    );
    check(&mut nvim, 1, 6, "namespace.author");
    check(&mut nvim, 2, 0, "none.");
    // Shown, by the groups that colour schemes know.
    nvim.wait(
        "the highlight",
        "vim.iter(vim.inspect_pos(0, 0, 3).semantic_tokens):any(function(t) return t.opts.hl_group == '@lsp.type.keyword.rust' end)",
    );
    // Typed on: Neovim asks for the difference.
    nvim.keys(":setlocal formatoptions-=cro<CR>2GA and<Esc>o// AGENT: so<Esc>");
    check(&mut nvim, 2, 4, "keyword.agent");
    check(&mut nvim, 2, 11, "comment.agent+documentation");
    check(&mut nvim, 1, 12, "comment.author+documentation");
}
