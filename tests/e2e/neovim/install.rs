//! `postil editor neovim`: the plugin is put among the packages of a Neovim that has no configuration at all, renewed
//! and taken away again; what the user has there is left alone.

use std::path::PathBuf;
use std::process::Output;

use super::python_project;
use crate::harness::Workspace;
use crate::helix;
use crate::peers;

fn editor(workspace: &Workspace, more: &[&str]) -> (bool, String) {
    editor_with(workspace, &[], more)
}

fn editor_with(workspace: &Workspace, env: &[(&str, &str)], more: &[&str]) -> (bool, String) {
    let output = workspace
        .postil()
        .args(["editor", "neovim"])
        .args(more)
        .envs(env.iter().copied())
        .output();
    let Output {
        status,
        stdout,
        stderr,
    } = output.expect("it runs");
    let text = [stdout, stderr].concat();
    (
        status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// Where Neovim's packages lie in the user's data folder.
fn pack(workspace: &Workspace) -> PathBuf {
    workspace.data().with_file_name("nvim").join("site/pack")
}

#[test]
fn a_bare_neovim_has_postil_after_one_command() {
    let programs = ["nvim", "nvim-new"].into_iter();
    for program in programs.filter(|program| peers::have(&[program])) {
        let workspace = python_project();
        let (done, text) = editor(&workspace, &[]);
        assert!(done && text.contains("start Neovim anew"), "{text}");
        // By a timer: what waits in Lua has edits wait for it.
        let code = "local function asked() return vim.api.nvim_buf_get_lines(0, 3, 4, true)[1] end \
            local steps = { \
                { function() return #vim.lsp.get_clients({ name = 'postil' }) == 1 end, function() vim.cmd('4Postil new why so?') end }, \
                { function() return asked():find('AUTHOR') ~= nil end, function() \
                    local said = asked() vim.cmd('help :Postil') \
                    io.stdout:write(said .. '|' .. vim.fn.expand('%:p')) vim.cmd('qall!') end } } \
            vim.uv.new_timer():start(0, 20, vim.schedule_wrap(function() \
                if steps[1] and steps[1][1]() then table.remove(steps, 1)[2]() end end)) \
            vim.defer_fn(function() io.stdout:write(asked()) vim.cmd('qall!') end, 40000)";
        let seen = workspace
            .command(peers::find(program).expect(program))
            .env("PATH", helix::path())
            .args(["--headless", "-n", "-i", "NONE", "notes.py", "-c"])
            .arg(format!("lua {code}"))
            .output()
            .expect("Neovim runs");
        let seen = String::from_utf8_lossy(&[seen.stdout, seen.stderr].concat()).into_owned();
        assert!(seen.contains("# AUTHOR: why so?|"), "{seen}");
        assert!(seen.contains("start/postil/doc/postil.txt"), "{seen}");
    }
}

#[test]
fn the_plugin_is_renewed_and_taken_away_and_nothing_else_is() {
    let workspace = Workspace::new();
    let folder = pack(&workspace).join("postil/start/postil");
    let (done, text) = editor(&workspace, &["--remove"]);
    assert!(done && text.contains("has put no plugin there"), "{text}");
    assert!(editor(&workspace, &[]).0);
    let (done, text) = editor(&workspace, &[]);
    assert!(done && text.contains("is up to date"), "{text}");

    // As an older postil wrote it.
    let list = folder.join(".written-by-postil");
    let written = std::fs::read_to_string(&list).expect("the list");
    let older: String = written
        .lines()
        .filter(|line| !line.ends_with("doc/tags"))
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::remove_file(folder.join("doc/tags")).expect("it was there");
    std::fs::write(&list, older).expect("an older list");
    let (done, text) = editor(&workspace, &[]);
    assert!(done && text.contains("start Neovim anew"), "{text}");
    assert!(folder.join("doc/tags").exists());

    // A file of the user's own, and one that they have changed.
    let own = folder.join("plugin/mine.lua");
    std::fs::write(&own, "-- mine").expect("a file");
    for more in [&[][..], &["--remove"]] {
        let (done, text) = editor(&workspace, more);
        assert!(
            !done && text.contains("plugin/mine.lua in it is not as postil wrote it"),
            "{text}"
        );
        assert!(own.exists());
    }
    std::fs::remove_file(own).expect("it is there");
    let changed = folder.join("plugin/postil.lua");
    let before = std::fs::read(&changed).expect("a file");
    std::fs::write(&changed, "-- mine").expect("changed");
    let (done, text) = editor(&workspace, &[]);
    assert!(!done && text.contains("plugin/postil.lua in it"), "{text}");
    std::fs::write(&changed, before).expect("as it was");

    let (done, text) = editor(&workspace, &["--remove"]);
    assert!(done && text.contains("the plugin is gone"), "{text}");
    assert!(!pack(&workspace).join("postil").exists());
    assert!(pack(&workspace).exists(), "Neovim's own folders stay");
}

#[test]
fn a_plugin_that_is_there_otherwise_is_not_doubled() {
    let workspace = Workspace::new();
    let folder = pack(&workspace).join("postil/start/postil");
    std::fs::create_dir_all(folder.parent().expect("a folder")).expect("folders");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(workspace.root(), &folder).expect("a link");
        let (done, text) = editor(&workspace, &[]);
        assert!(!done && text.contains("a link or a file"), "{text}");
        std::fs::remove_file(&folder).expect("the link");
    }
    std::fs::create_dir(&folder).expect("a folder");
    let (done, text) = editor(&workspace, &["--remove"]);
    assert!(!done && text.contains("not one that postil made"), "{text}");
    std::fs::remove_dir(&folder).expect("an empty folder");

    let other = pack(&workspace).join("mine/opt/postil.nvim");
    std::fs::create_dir_all(other.join("plugin")).expect("folders");
    std::fs::write(other.join("plugin/postil.lua"), "").expect("a file");
    let (done, text) = editor(&workspace, &[]);
    assert!(
        !done && text.contains("mine/opt/postil.nvim already"),
        "{text}"
    );
    assert!(!folder.exists());
}

/// What a system's package brings is for the Neovim that has the usual name alone.
#[test]
fn a_neovim_of_another_name_has_its_own_copy_beside_that_of_a_system_s_package() {
    let workspace = Workspace::new();
    let shared = workspace.path("share");
    let dirs = shared.to_string_lossy().into_owned();
    let put = |name: &str| {
        let plugin = format!("share/{name}/site/pack/dist/start/postil/plugin/postil.lua");
        workspace.write(&plugin, "");
    };
    put("nvim");
    let (done, text) = editor_with(&workspace, &[("XDG_DATA_DIRS", &dirs)], &[]);
    assert!(
        !done && text.contains("dist/start/postil already"),
        "{text}"
    );
    let env = [("XDG_DATA_DIRS", dirs.as_str()), ("NVIM_APPNAME", "mine")];
    let (done, text) = editor_with(&workspace, &env, &[]);
    assert!(done && text.contains("start Neovim anew"), "{text}");
    assert!(editor_with(&workspace, &env, &["--remove"]).0);
    put("mine");
    let (done, text) = editor_with(&workspace, &env, &[]);
    assert!(
        !done && text.contains("dist/start/postil already"),
        "{text}"
    );
}

#[test]
fn who_has_lazy_is_told_the_line_that_names_the_plugin() {
    let workspace = Workspace::new();
    let folder = pack(&workspace).join("postil/start/postil");
    let line = format!("{{ dir = \"{}\", name = \"postil\"", folder.display());
    let (done, text) = editor(&workspace, &[]);
    assert!(done && !text.contains("lazy"), "{text}");
    let lazy = workspace
        .data()
        .with_file_name("nvim")
        .join("lazy/lazy.nvim");
    std::fs::create_dir_all(lazy).expect("folders");
    let (done, text) = editor(&workspace, &[]);
    assert!(done && text.contains(&line), "{text}");
}
