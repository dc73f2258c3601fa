//! The language's own server on the same buffer: both are heard, and neither takes from the other.

use serde_json::json;

use super::driver::Nvim;
use super::plugin::in_both;
use super::{python_project, rust_project};
use crate::harness::Workspace;
use crate::peers;

in_both!(beside_pylsp, beside_rust_analyzer);

/// What differs between the two languages.
struct Pair<'a> {
    server: &'a str,
    /// The file that is edited, a use of `load` in it, and where `load` is defined.
    file: &'a str,
    a_use: &'a str,
    home: &'a str,
    comment: &'a str,
    /// A wrong line that the server complains of.
    wrong: &'a str,
    /// A part of an action that the server offers where `load` is used, if it offers any.
    action: Option<&'a str>,
}

fn beside_pylsp(program: &str) {
    if !peers::have(&["pylsp"]) {
        return;
    }
    both(
        program,
        &python_project(),
        &Pair {
            server: "pylsp",
            file: "count.py",
            a_use: "load(path",
            home: "notes.py",
            comment: "#",
            wrong: "import os",
            action: None,
        },
    );
}

fn beside_rust_analyzer(program: &str) {
    if !peers::have(&["rust-analyzer"]) {
        return;
    }
    both(
        program,
        &rust_project(),
        &Pair {
            server: "rust-analyzer",
            file: "src/main.rs",
            a_use: "load(\"notes",
            home: "src/lib.rs",
            comment: "//",
            wrong: "fn wrong( {}",
            action: Some("Inline `load`"),
        },
    );
}

/// Both servers on one buffer, in the order in which a user's configuration may start them.
fn both(program: &str, workspace: &Workspace, pair: &Pair) {
    let env = &[("POSTIL_MODEL", "offline")];
    let mut nvim = Nvim::start_as(program, workspace, env, json!({}));
    let theirs = json!({"name": "theirs", "cmd": [pair.server], "root_dir": workspace.root()});
    nvim.lua(&format!(
        "vim.api.nvim_create_autocmd('FileType', {{ pattern = {{ 'python', 'rust' }}, callback = function(event)
            local theirs = vim.json.decode({})
            -- 0.10 does not know that it is told to pull again.
            theirs.capabilities = vim.lsp.protocol.make_client_capabilities()
            theirs.capabilities.textDocument.diagnostic = nil
            vim.lsp.start(theirs, {{ bufnr = event.buf }})
        end }})
        function _G.from(source)
          return #vim.tbl_filter(function(d) return (d.source == 'postil') == (source == 'postil') end, vim.diagnostic.get(0))
        end",
        json!(theirs.to_string())
    ));
    nvim.ex("filetype on");
    nvim.edit(&workspace.path(pair.file));
    nvim.wait("both servers", "#vim.lsp.get_clients({ bufnr = 0 }) == 2");
    nvim.lua("vim.bo.formatoptions, vim.bo.indentexpr = '', ''");

    // Diagnostics of both, and each goes when its own reason does.
    nvim.keys(&format!("Go{}<Esc>", pair.wrong));
    nvim.wait("their diagnostics", "from('them') > 0");
    nvim.keys(&format!(
        "Go{} AUTHOR: where is `load` used?<Esc>",
        pair.comment
    ));
    nvim.wait(
        "ours beside them",
        "from('postil') == 1 and from('them') > 0",
    );
    nvim.keys(":$-1delete<CR>");
    nvim.wait("ours alone", "from('postil') == 1 and from('them') == 0");

    // The language's server leads from the code, ours from inside the thread; each once, without a menu.
    // A server that still loads the project says that there is none, or nothing: then it is asked again.
    nvim.lua(
        "function _G.go(arrived)
            if arrived then return true end
            for _, client in ipairs(vim.lsp.get_clients({ bufnr = 0 })) do
                for _, request in pairs(client.requests) do
                    if request.type == 'pending' and request.method == 'textDocument/definition' then return false end
                end
            end
            vim.lsp.buf.definition()
            return false
        end",
    );
    let arrived = format!(
        "vim.endswith(vim.api.nvim_buf_get_name(0), {}) and vim.fn.expand('<cword>') == 'load'",
        json!(pair.home)
    );
    for from in [pair.a_use, "`load`"] {
        let place = format!("vim.fn.search({}, 'cw')", json!(format!("\\V{from}")));
        nvim.lua(&place);
        nvim.lua("vim.fn.search('load', 'c')");
        nvim.wait("the definition", &format!("go({arrived})"));
        assert_eq!(nvim.lua("return vim.bo.buftype"), "", "a list was opened");
        nvim.edit(&workspace.path(pair.file));
    }

    // Actions of both in one menu.
    nvim.lua(&format!(
        "vim.fn.search({}, 'cw')",
        json!(format!("\\V{}", pair.a_use))
    ));
    for title in std::iter::once("New thread here").chain(pair.action) {
        nvim.lua("offered, pick = {}, nil; vim.lsp.buf.code_action()");
        let offered = nvim.wait("a menu", "#offered > 0 and offered").to_string();
        assert!(offered.contains(title), "no `{title}` in {offered}");
    }

    // Their rename changes the code; our texts follow, or the answer would meet another text.
    nvim.lua("vim.fn.search('load', 'cw', 0, 0, 'getline(\".\") =~ \"AUTHOR\"'); vim.lsp.buf.rename('load_text')");
    nvim.wait_text("load_text(");
    assert_eq!(nvim.lua("return #notes == 0 or notes"), true);
    nvim.keys("G:Postil resolve<CR>");
    nvim.wait("no thread", "from('postil') == 0");
    nvim.keys(":$Postil new where is `load_text` used?<CR>");
    nvim.wait("another", "from('postil') == 1");
    nvim.keys(":Postil reply<CR>");
    nvim.wait_text("AGENT:");
    nvim.wait_codes("awaiting_user");
    let text = nvim.text();
    assert!(text.contains("load_text("), "{text}");

    // The other goes; ours stays.
    nvim.lua("require('postil.client').stop(vim.lsp.get_clients({ name = 'theirs' })[1])");
    nvim.wait("ours alone", "#vim.lsp.get_clients({ bufnr = 0 }) == 1");
    nvim.keys(":Postil say thanks<CR>");
    nvim.wait_text("AUTHOR: thanks");
}
