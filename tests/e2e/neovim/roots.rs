//! Several projects at once, beside and within each other: which server has which file.

use serde_json::json;

use super::driver::Nvim;
use super::plugin::{NONE, in_both, open, question};
use super::python_project;
use super::unfit::said;
use crate::harness::Workspace;
use crate::peers;

in_both!(
    a_restart_keeps_all_buffers,
    what_a_name_has_in_back_quotes_is_not_run,
    several_roots_have_a_server_each,
    a_file_that_is_saved_in_another_project_goes_over_to_its_server,
    a_repository_in_another_has_the_server_that_runs,
    a_repository_in_another_may_have_its_own,
    a_project_beside_a_lone_file_has_its_own_server,
    a_project_is_asked_about_before_a_file_is_open,
    a_list_after_the_end_of_the_server_has_what_is_not_saved,
);

/// The buffers of every server, each with its root.
const ATTACHED: &str = "vim.iter(vim.lsp.get_clients()):map(function(c) local names = vim.tbl_map(function(b) return vim.fn.fnamemodify(vim.api.nvim_buf_get_name(b), ':t') end, vim.tbl_keys(c.attached_buffers)) table.sort(names) return vim.fs.basename(c.config.root_dir) .. ': ' .. table.concat(names, ' ') end):join('; ')";

fn a_restart_keeps_all_buffers(program: &str) {
    for way in ["setup", "enable"] {
        if way == "enable" && program == "nvim" {
            continue;
        }
        let workspace = nested();
        let mut nvim = Nvim::start_as(program, &workspace, &[("POSTIL_WAY", way)], json!({}));
        for file in ["notes.py", "count.py", "sub/inner.py"] {
            nvim.edit(&workspace.path(file));
            nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
        }
        let all = format!("{ATTACHED} == 'work: count.py inner.py notes.py'");
        assert_eq!(nvim.lua(&format!("return {all}")), true, "{way}");
        let id = nvim.lua("return vim.lsp.get_clients()[1].id");
        nvim.keys(":Postil restart<CR>");
        nvim.wait_note("started");
        nvim.wait(
            "all buffers",
            &format!("{all} and vim.lsp.get_clients()[1].id ~= {id}"),
        );
    }
}

fn several_roots_have_a_server_each(program: &str) {
    let one = python_project();
    let two = python_project();
    let mut nvim = Nvim::start_as(program, &one, &[], json!({}));
    nvim.edit(&one.path("notes.py"));
    nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    nvim.keys(":4Postil new in one<CR>");
    nvim.wait_codes("pending");
    nvim.edit(&two.path("notes.py"));
    nvim.wait(
        "the second server",
        "#vim.lsp.get_clients({ bufnr = 0 }) == 1 and #vim.lsp.get_clients() == 2",
    );
    nvim.keys(":4Postil new in two<CR>");
    nvim.wait_codes("pending");
    nvim.keys(":Postil! threads<CR>");
    nvim.wait("threads of both", "#vim.fn.getqflist() == 2");
    // A folder that holds both.
    let both = one.root().ancestors().find(|f| two.root().starts_with(f));
    let both = both.expect("the root of all");
    nvim.lua("vim.fn.setqflist({}, 'r')");
    nvim.ex(&format!("Postil! threads {}", both.display()));
    nvim.wait("threads of both again", "#vim.fn.getqflist() == 2");
    // Where nothing was looked for, nothing is said to be missing, and the list stays.
    let nowhere = one.data();
    nvim.ex(&format!("Postil! threads {}", nowhere.display()));
    let why = format!(
        "no server works in {}; open a file there",
        nowhere.display()
    );
    nvim.wait_note(&why);
    nvim.ex("copen | wincmd p");
    nvim.ex(&format!(
        "Postil threads {}",
        one.path("nosuch.py").display()
    ));
    nvim.wait_note("path not found");
    // An answer that comes after that one's.
    nvim.ex("Postil! threads %");
    nvim.wait("a shorter list", "#vim.fn.getqflist() == 1");
    assert_eq!(said(&mut nvim, "no threads"), Some(0));
    assert_eq!(nvim.lua("return #vim.fn.getqflist({ nr = '$' })"), 0);
    assert_eq!(nvim.lua("return #vim.api.nvim_list_wins()"), 2);
    nvim.ex("cclose");

    nvim.lua("pick = 'in one'");
    nvim.keys(":Postil pick<CR>");
    nvim.wait(
        "the first",
        &format!(
            "vim.api.nvim_buf_get_name(0) == {}",
            json!(one.path("notes.py"))
        ),
    );
    // Each by a name of its own.
    let offered = nvim.lua("return offered").to_string();
    let there = two.path("notes.py");
    for name in ["\"notes.py:4 ", &format!("\"{}:4 ", there.display())] {
        assert!(offered.contains(name), "{name} in {offered}");
    }
}

fn a_file_that_is_saved_in_another_project_goes_over_to_its_server(program: &str) {
    for way in ["setup", "enable"] {
        if way == "enable" && program == "nvim" {
            continue;
        }
        let one = python_project();
        let two = python_project();
        let env = [("POSTIL_WAY", way), ("POSTIL_MODEL", "offline")];
        let mut nvim = Nvim::start_as(program, &one, &env, json!({}));
        nvim.edit(&one.path("notes.py"));
        nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
        question(&mut nvim);
        // A command that follows at once waits for that server.
        let copy = two.path("copy.py");
        nvim.ex(&format!("saveas {} | 4Postil reply", copy.display()));
        nvim.wait_text("AGENT:");
        nvim.wait_codes("awaiting_user");
        let root = "vim.lsp.get_clients({ bufnr = 0 })[1].config.root_dir";
        assert_eq!(nvim.lua(&format!("return {root}")), json!(two.root()));
        let servers = nvim.lua("return #vim.lsp.get_clients({ bufnr = 0 })");
        assert_eq!(servers, 1, "{way}");
        // Given a name back in the first, whose server runs, and written later.
        let back = one.path("back.py");
        nvim.ex(&format!("file {}", back.display()));
        nvim.ex("write");
        nvim.wait(
            "the first server",
            &format!("{root} == {}", json!(one.root())),
        );
        nvim.wait_codes("awaiting_user");
        nvim.keys(":4<CR>:Postil resolve<CR>");
        // What was told under the old name goes before, too.
        nvim.wait("no thread", "not text():find('AUTHOR', 1, true)");
        nvim.wait_codes("");
        // In its own project it stays with its server.
        let id = nvim.lua("return vim.lsp.get_clients({ bufnr = 0 })[1].id");
        nvim.ex(&format!("saveas {}", one.path("more.py").display()));
        nvim.keys(":4Postil new and here?<CR>");
        nvim.wait_codes("pending");
        assert_eq!(
            nvim.lua("return vim.lsp.get_clients({ bufnr = 0 })[1].id"),
            id
        );
    }
}

/// A project with another in it, each with a thread that is saved.
fn nested() -> Workspace {
    let workspace = python_project();
    workspace.git(&["init", "-q", "sub"]);
    for file in ["outer.py", "sub/inner.py", "sub/other.py"] {
        workspace.write(file, "# AUTHOR: why?\nx = 1\n");
    }
    workspace
}

/// What is known of a file that was not opened here.
const KNOWN: &str = "#vim.tbl_filter(function(d) return vim.endswith(vim.api.nvim_buf_get_name(d.bufnr), NAME) end, vim.diagnostic.get())";

/// A second thread in this file; what its own server says of both is all that is said.
fn has_its_own_threads_alone(nvim: &mut Nvim) {
    nvim.keys(":2Postil new and this?<CR>");
    nvim.wait(
        "both of one server",
        "(function() local from = {} for _, d in ipairs(vim.diagnostic.get(0)) do from[d.namespace] = (from[d.namespace] or 0) + 1 end return vim.list_contains(vim.tbl_values(from), 2) end)()",
    );
    assert_eq!(nvim.lua("return codes()"), "pending pending");
}

fn a_repository_in_another_has_the_server_that_runs(program: &str) {
    for way in ["setup", "enable"] {
        if way == "enable" && program == "nvim" {
            continue;
        }
        let workspace = nested();
        let mut nvim = Nvim::start_as(program, &workspace, &[("POSTIL_WAY", way)], json!({}));
        nvim.edit(&workspace.path("outer.py"));
        nvim.wait_codes("pending");
        let known = KNOWN.replace("NAME", "'sub/inner.py'");
        nvim.wait("the inner thread", &format!("{known} == 1"));
        nvim.edit(&workspace.path("sub/inner.py"));
        nvim.wait("its server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
        assert_eq!(nvim.lua("return #vim.lsp.get_clients()"), 1, "{way}");
        has_its_own_threads_alone(&mut nvim);
    }
}

fn a_repository_in_another_may_have_its_own(program: &str) {
    let workspace = nested();
    let mut nvim = Nvim::start_as(program, &workspace, &[], json!({}));
    nvim.edit(&workspace.path("sub/inner.py"));
    nvim.wait_codes("pending");
    nvim.edit(&workspace.path("outer.py"));
    nvim.wait("both servers", "#vim.lsp.get_clients() == 2");
    nvim.wait_codes("pending");
    // Of what both look through, the inner one speaks.
    nvim.keys(":Postil! threads<CR>");
    nvim.wait("the threads of both", "#vim.fn.getqflist() > 0");
    assert_eq!(nvim.lua("return #vim.fn.getqflist()"), 3);
    for file in ["sub/inner.py", "sub/other.py"] {
        nvim.edit(&workspace.path(file));
        nvim.wait("its server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
        let root = nvim.lua("return vim.lsp.get_clients({ bufnr = 0 })[1].config.root_dir");
        assert_eq!(root, json!(workspace.path("sub")), "{file}");
        has_its_own_threads_alone(&mut nvim);
    }
    // Until it is started anew.
    nvim.keys(":Postil restart<CR>");
    nvim.wait_note("started");
    let all = format!("{ATTACHED} == 'work: inner.py other.py outer.py'");
    nvim.wait("one server", &all);
    nvim.wait_codes("pending pending");
}

/// What lies beside a file of no project is no more one with it for that.
fn a_project_beside_a_lone_file_has_its_own_server(program: &str) {
    let workspace = nested();
    // A home that lies beside them too would not be looked through.
    let elsewhere = Workspace::new();
    let home = elsewhere.root().to_string_lossy();
    let mut nvim = Nvim::start_as(program, &workspace, &[("HOME", &home)], json!({}));
    let lone = workspace.root().with_file_name("lone.py");
    std::fs::write(&lone, "# AUTHOR: why?\nx = 1\n").expect("a file");
    nvim.edit(&lone);
    nvim.wait_codes("pending");
    let known = KNOWN.replace("NAME", "'outer.py'");
    nvim.wait("what its server looked through", &format!("{known} == 1"));
    nvim.edit(&workspace.path("outer.py"));
    nvim.wait("its server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    assert_eq!(nvim.lua("return #vim.lsp.get_clients()"), 2);
    has_its_own_threads_alone(&mut nvim);
}

fn a_project_is_asked_about_before_a_file_is_open(program: &str) {
    for way in ["setup", "enable"] {
        if way == "enable" && program == "nvim" {
            continue;
        }
        let workspace = python_project();
        workspace.write("asked.py", "# AUTHOR: why?\nx = 1\n");
        let folder = workspace.path("below");
        std::fs::create_dir(&folder).expect("a folder");
        let mut nvim = Nvim::start_as(program, &workspace, &[("POSTIL_WAY", way)], json!({}));
        nvim.ex(&format!("cd {}", folder.display()));
        nvim.ex("Postil runs");
        nvim.wait_note("no agent has worked here yet");
        nvim.ex("Postil! threads");
        nvim.wait("the thread", "#vim.fn.getqflist() == 1");
        // The file joins that server.
        nvim.edit(&workspace.path("asked.py"));
        nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
        assert_eq!(nvim.lua("return #vim.lsp.get_clients()"), 1, "{way}");
        nvim.wait_codes("pending");
    }
}

fn what_a_name_has_in_back_quotes_is_not_run(program: &str) {
    let workspace = python_project();
    workspace.write("`touch ran`.py", "# AUTHOR: why?\n");
    let mut nvim = open(program, &workspace, NONE, "notes.py");
    nvim.keys(":Postil threads `touch ran`.py<CR>");
    nvim.wait("its thread", "#vim.fn.getqflist() == 1");
    let named = nvim.lua("return vim.fn.bufname(vim.fn.getqflist()[1].bufnr)");
    assert!(
        named
            .as_str()
            .is_some_and(|name| name.ends_with("`touch ran`.py")),
        "{named}"
    );
    assert!(!workspace.path("ran").exists());
}

fn a_list_after_the_end_of_the_server_has_what_is_not_saved(program: &str) {
    let lspconfig = peers::pointed_to("POSTIL_LSPCONFIG").unwrap_or_default();
    for way in ["setup", "enable", "lspconfig"] {
        if way == "enable" && program == "nvim" || way == "lspconfig" && lspconfig.is_empty() {
            continue;
        }
        let workspace = python_project();
        workspace.write("asked.py", "# AUTHOR: saved?\nx = 1\n");
        let env = [("POSTIL_WAY", way), ("POSTIL_LSPCONFIG", &lspconfig)];
        let mut nvim = Nvim::start_as(program, &workspace, &env, json!({}));
        nvim.edit(&workspace.path("asked.py"));
        nvim.wait_codes("pending");
        nvim.keys("ggO<CR><Esc>Go# AUTHOR: typed?<Esc>");
        nvim.wait_codes("pending pending");
        nvim.edit(&workspace.path("notes.py"));
        nvim.wait("the server", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
        // Killed, and stopped by the author.
        let ends = [
            "vim.iter(vim.api.nvim_get_proc_children(vim.fn.getpid())):each(function(child) vim.uv.kill(child, 'sigkill') end)",
            "require('postil.client').stop(vim.lsp.get_clients()[1])",
        ];
        for end in ends {
            nvim.lua(end);
            let none = "#vim.lsp.get_clients({ _uninitialized = true }) == 0";
            nvim.wait("its end", none);
            nvim.lua("vim.fn.setqflist({}, 'r')");
            nvim.keys(":Postil! threads<CR>");
            nvim.wait("the list", "#vim.fn.getqflist() > 0");
            let list = "vim.tbl_map(function(item) return item.lnum end, vim.fn.getqflist())";
            assert_eq!(nvim.lua(&format!("return {list}")), json!([3, 5]), "{way}");
            let all = format!("{ATTACHED} == 'work: asked.py notes.py'");
            nvim.wait("both buffers", &all);
        }
    }
}
