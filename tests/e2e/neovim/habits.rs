//! What Neovim does by itself in a file is as it was without this plugin, or fits what a thread is.

use super::plugin::{NONE, in_both, open};
use super::python_project;

in_both!(
    a_long_question_stays_in_one_line,
    threads_that_are_begun_at_once_go_each_to_its_line,
    a_file_that_is_read_anew_keeps_its_threads,
);

fn a_long_question_stays_in_one_line(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.lua("vim.bo.textwidth, vim.bo.formatoptions = 40, 'tcroqj'");
    nvim.keys(":4Postil new<CR>");
    nvim.wait("insert mode", "vim.api.nvim_get_mode().mode == 'i'");
    let asked = "why does it not read the file as UTF-8, which it is everywhere?";
    nvim.keys(asked);
    nvim.keys("<Esc>");
    nvim.wait("normal mode", "vim.api.nvim_get_mode().mode == 'n'");
    nvim.wait_text(&format!("# AUTHOR: {asked}\ndef load"));
    assert_eq!(nvim.lua("return vim.bo.formatoptions"), "tcroqj");
    // Any other comment is broken, also one that is gone on to without leaving Insert mode.
    nvim.keys("G:set noautoindent<CR>o# AUTHOR: as above, and is it read at once, as a whole?<CR>");
    nvim.keys("<C-u># a comment that is longer than the forty columns<Esc>");
    nvim.wait_text("\n# AUTHOR: as above, and is it read at once, as a whole?\n# a comment that is longer than the\n# forty columns");
    assert_eq!(nvim.lua("return vim.bo.formatoptions"), "tcroqj");
}

fn threads_that_are_begun_at_once_go_each_to_its_line(program: &str) {
    let workspace = python_project();
    workspace.write(
        "two.py",
        "def a():\n    pass\n\n\ndef b():\n    pass\n\n\ndef c():\n    pass\n",
    );
    let mut nvim = open(program, &workspace, NONE, "two.py");
    nvim.keys(":g/^def/Postil new why?<CR>");
    nvim.wait_codes("pending pending pending");
    assert_eq!(
        nvim.text(),
        "# AUTHOR: why?\ndef a():\n    pass\n\n\n# AUTHOR: why?\ndef b():\n    pass\n\n\n# AUTHOR: why?\ndef c():\n    pass"
    );
}

fn a_file_that_is_read_anew_keeps_its_threads(program: &str) {
    let workspace = python_project();
    workspace.write("asked.py", "# AUTHOR: why?\nx = 1\n");
    let mut nvim = open(program, &workspace, NONE, "asked.py");
    nvim.wait_codes("pending");
    for command in [
        "edit",
        "edit!",
        "edit",
        "bdelete | edit asked.py",
        "set nohidden | edit count.py | buffer asked.py",
    ] {
        nvim.ex(command);
        nvim.wait_codes("pending");
    }
}
