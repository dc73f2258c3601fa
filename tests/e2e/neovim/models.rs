//! `:Postil model`: who is found, and the author's choice.

use super::plugin::{in_both, open};
use super::python_project;

in_both!(who_answers_is_chosen_among_those_that_are_found,);

fn who_answers_is_chosen_among_those_that_are_found(program: &str) {
    let workspace = python_project();
    let mut nvim = open(program, &workspace, &[], "notes.py");
    let config = workspace.config_file();
    nvim.lua("pick = 'offline'");
    nvim.keys(":Postil model<CR>");
    nvim.wait_note("offline answers from now on");
    let written = std::fs::read_to_string(&config).expect("the settings");
    assert!(written.starts_with("model = \"offline\"\n"), "{written}");

    nvim.lua("pick = 'whoever is found'");
    nvim.keys(":Postil model<CR>");
    nvim.wait(
        "the choice taken out",
        &format!(
            "not table.concat(vim.fn.readfile('{}')):find('model')",
            config.display()
        ),
    );
    // By name; who cannot be asked is not taken.
    nvim.keys(":Postil model nobody/x<CR>");
    nvim.wait_note("the model `nobody/x` is of no provider");
    // From a window that is no file's, too.
    nvim.ex("help");
    nvim.keys(":Postil model offline<CR>");
    nvim.wait(
        "the choice",
        &format!(
            "table.concat(vim.fn.readfile('{}')):find('offline')",
            config.display()
        ),
    );
    nvim.ex("helpclose");
    let offered = nvim.lua("return vim.fn.getcompletion('Postil model off', 'cmdline')");
    assert_eq!(offered, serde_json::json!(["offline"]));
}
