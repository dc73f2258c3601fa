//! What Neovim does by itself in a file is as it was without this plugin, or fits what a thread is.

use super::plugin::{NONE, in_both, open};
use super::python_project;

in_both!(
    a_file_that_is_read_anew_keeps_its_threads,
);

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
