use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use super::*;
use crate::config::Rule;

struct Place {
    folder: tempfile::TempDir,
    root: PathBuf,
    trust: Trust,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("proj");
    for folder in ["hooks", "objects", "refs"] {
        std::fs::create_dir_all(root.join(".git").join(folder)).unwrap();
    }
    write(root.join(".git/HEAD"), "ref: refs/heads/main\n");
    let trust = Trust::open(&folder.path().join("data/postil"));
    Place {
        folder,
        root,
        trust,
    }
}

fn write(path: PathBuf, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn trust_is_given_and_taken() {
    let p = place();
    assert!(!p.trust.is_trusted(&p.root));
    p.trust.grant(&p.root).unwrap();
    assert!(p.trust.is_trusted(&p.root));
    assert!(
        p.trust.is_trusted(&p.root.join("../proj")),
        "by canonical path"
    );
    assert!(!p.trust.is_trusted(p.folder.path()), "not what is above");
    std::fs::create_dir(p.root.join("sub")).unwrap();
    assert!(
        !p.trust.is_trusted(&p.root.join("sub")),
        "nor what is below"
    );
    assert!(
        Trust::open(&p.folder.path().join("data/postil")).is_trusted(&p.root),
        "it is kept"
    );
    assert!(p.trust.revoke(&p.root).unwrap());
    assert!(!p.trust.is_trusted(&p.root));
    assert!(!p.trust.revoke(&p.root).unwrap());
}

/// A repository can bring a link to what the system makes up, which says that it is empty and is read for as long as
/// there is memory.
#[cfg(target_os = "linux")]
#[test]
fn what_has_no_end_is_not_read_whole() {
    let p = place();
    std::os::unix::fs::symlink("/proc/self/pagemap", p.root.join(".mcp.json")).unwrap();
    let error = p.trust.grant(&p.root).unwrap_err().to_string();
    assert!(error.contains("cannot be read whole"), "{error}");
    assert!(!p.trust.is_trusted(&p.root));
    let said = p.trust.would_allow(&p.root).join("\n");
    assert!(said.contains("`.mcp.json` may name MCP servers"), "{said}");
    // What it took at most, in kilobytes.
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let most: u64 = most
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    assert!(most < 1 << 20, "{most} KB");
}

#[test]
fn attack_04_a_file_that_gits_configuration_goes_on_in_is_guarded() {
    let p = place();
    write(
        p.root.join(".git/config"),
        "[include]\n\tpath = ../tools/gitconfig\n[includeIf \"gitdir:/\"]\n\tpath = ../not/yet/there\n",
    );
    write(p.root.join("tools/gitconfig"), "[include]\n\tpath = more\n");
    for file in [
        "tools/gitconfig",
        "Tools/GitConfig",
        "not/yet/there",
        "tools/more",
    ] {
        assert!(guarded(&p.root, file).is_some(), "{file}");
    }
    for file in ["tools/other", "not/yet", "more.rs"] {
        assert_eq!(guarded(&p.root, file), None, "{file}");
    }
}

#[test]
fn attack_04_what_makes_a_folder_of_any_name_a_repository_is_guarded() {
    let p = place();
    write(p.root.join("old/HEAD"), "ref: refs/heads/main\n");
    write(p.root.join("old/worktrees/w/HEAD"), "ref: refs/heads/w\n");
    std::fs::create_dir_all(p.root.join("src/HEAD")).unwrap();
    let list = "old/worktrees/w/rebase-merge/git-rebase-todo";
    for file in [
        "docs/HEAD",
        "docs/head",
        "old/config",
        "old/gitdir",
        "old/hooks/x/y",
        list,
    ] {
        assert!(guarded(&p.root, file).is_some(), "{file}");
    }
    for file in ["docs/config", "hooks/x", "src/head/a.rs", "src/config"] {
        assert_eq!(guarded(&p.root, file), None, "{file}");
    }
}

#[test]
fn record_is_the_users_alone() {
    let p = place();
    p.trust.grant(&p.root).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&p.trust.kept.file), 0o600);
    assert_eq!(mode(p.trust.kept.file.parent().unwrap()), 0o700);
    let left: Vec<_> = std::fs::read_dir(p.trust.kept.file.parent().unwrap())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn what_would_run_is_part_of_it() {
    for (path, shown) in [
        ("postil.toml", "postil.toml"),
        (".mcp.json", "names the MCP server `evil`: `sh -c x`"),
        (".postil/tools/lint.json", ".postil/tools/lint.json"),
        (".git/hooks/pre-commit", "`pre-commit`"),
        (".husky/pre-push", ".husky/pre-push"),
    ] {
        let p = place();
        write(p.root.join(".git/hooks/pre-commit.sample"), "x");
        p.trust.grant(&p.root).unwrap();
        write(p.root.join("src/main.rs"), "fn main() {}");
        write(p.root.join(".git/hooks/pre-commit.sample"), "y");
        assert!(p.trust.is_trusted(&p.root), "code is not what we run");
        assert!(
            !p.trust
                .would_allow(&p.root)
                .iter()
                .any(|s| s.contains(shown)),
            "{path}"
        );

        let text = r#"{"mcpServers": {"evil": {"command": "sh", "args": ["-c", "x"]}}}"#;
        write(p.root.join(path), text);
        assert!(!p.trust.is_trusted(&p.root), "{path} is new");
        let sentences = p.trust.would_allow(&p.root);
        assert!(
            sentences.iter().any(|s| s.contains(shown)),
            "{path}: {sentences:?}"
        );
        p.trust.grant(&p.root).unwrap();
        assert!(p.trust.is_trusted(&p.root));
        write(p.root.join(path), &text.replace('x', "y"));
        assert!(!p.trust.is_trusted(&p.root), "{path} changed");
    }
}

#[test]
fn hooks_of_a_linked_worktree_are_the_repositorys() {
    let p = place();
    let linked = p.folder.path().join("linked");
    let own = p.root.join(".git/worktrees/linked");
    write(own.join("commondir"), "../..\n");
    write(own.join("HEAD"), "ref: refs/heads/linked\n");
    write(linked.join(".git"), &format!("gitdir: {}\n", own.display()));
    p.trust.grant(&linked).unwrap();
    write(p.root.join(".git/hooks/post-commit"), "x");
    assert!(!p.trust.is_trusted(&linked));
}

#[test]
fn sentences_do_not_steer_a_terminal() {
    let p = place();
    write(
        p.root.join(".mcp.json"),
        r#"{"mcpServers": {"a\u001b[2Jb\u202e": {"command": "x\u0007"}}}"#,
    );
    let all = p.trust.would_allow(&p.root).join("\n");
    assert!(all.contains("`a\u{fffd}[2Jb⟨U+202E⟩`"), "{all}");
    assert!(!all.contains(['\u{1b}', '\u{7}', '\u{202e}']));
}

#[test]
fn damaged_record_trusts_nobody_and_is_kept() {
    let p = place();
    p.trust.grant(&p.root).unwrap();
    for text in ["{", r#"{"version": 99, "workspaces": {}}"#] {
        std::fs::write(&p.trust.kept.file, text).unwrap();
        assert!(!p.trust.is_trusted(&p.root));
        assert!(p.trust.grant(&p.root).is_err());
        assert_eq!(std::fs::read_to_string(&p.trust.kept.file).unwrap(), text);
    }
}

#[test]
fn what_cannot_be_told_is_not_trusted() {
    let p = place();
    for n in 0..600 {
        write(p.root.join(format!(".postil/tools/{n}")), "x");
    }
    assert!(p.trust.grant(&p.root).is_err());
    assert!(p.trust.grant(&p.folder.path().join("none")).is_err());
}

#[test]
fn grants_at_the_same_time_are_all_kept() {
    let p = place();
    let roots: Vec<PathBuf> = (0..8)
        .map(|n| p.folder.path().join(format!("r{n}")))
        .collect();
    std::thread::scope(|scope| {
        for root in &roots {
            std::fs::create_dir(root).unwrap();
            let data = p.folder.path().join("data/postil");
            scope.spawn(move || Trust::open(&data).grant(root).unwrap());
        }
    });
    assert!(roots.iter().all(|r| p.trust.is_trusted(r)));
}

#[test]
fn record_in_an_unwritable_folder_is_an_error() {
    let p = place();
    std::fs::write(
        p.folder.path().join("data"),
        "a file where the folder should be",
    )
    .unwrap();
    let error = p.trust.grant(&p.root).unwrap_err();
    assert!(error.to_string().contains("cannot be written"), "{error}");
    std::fs::set_permissions(
        p.folder.path().join("data"),
        PermissionsExt::from_mode(0o600),
    )
    .unwrap();
}

#[test]
fn guard_files_are_protected_however_written() {
    for path in [
        ".git/config",
        ".GIT/hooks/pre-commit",
        "sub/.git",
        ".g\u{200c}it/config",
        ".git./config",
        ".git /config",
        ".git::$INDEX_ALLOCATION/config",
        "GIT~1/config",
        "sub\\.git\\config",
        ".postil/memory.json",
        "postil.toml",
        ".vscode/tasks.json",
        ".VsCode/settings.json",
        ".helix/languages.toml",
        ".nvim.lua",
        ".idea/x.xml",
        "a.code-workspace",
        ".mcp.json",
        ".claude/settings.json",
        "docs/AGENTS.md",
        "CLAUDE.md",
        ".bashrc",
        "home/.zshenv",
        ".envrc",
        ".github/workflows/ci.yml",
        ".GitHub/Workflows/new.yml",
        ".gitlab-ci.yml",
        "Jenkinsfile",
        ".cargo/config.toml",
        ".\u{ff47}it/config",
        // Editors.
        ".vim/coc-settings.json",
        ".lvimrc",
        ".dir-locals-2.el",
        ".gitpod.yml",
        ".replit",
        ".run/all.run.xml",
        ".luarc.json",
        // Agents.
        ".qwen/settings.json",
        "QWEN.md",
        ".vibe/x",
        "AGENTS.override.md",
        "deep/in/AGENT.md",
        ".junie/guidelines.md",
        ".github/instructions/a.instructions.md",
        ".github/prompts/a.prompt.md",
        ".roorules-code",
        // Shells.
        "mise.toml",
        "mise.local.toml",
        ".mise.toml",
        ".mise/config.toml",
        ".autoenv",
        ".env",
        ".envrc.local",
        // Build machines.
        ".builds/a.yml",
        ".build.yml",
        ".teamcity/settings.kts",
        ".semaphore/semaphore.yml",
        "codemagic.yaml",
        "bitrise.yml",
        "ci/Jenkinsfile.release",
        "azure-pipelines-nightly.yml",
        ".woodpecker.yaml",
        "rust-toolchain",
        "sub/Rust-Toolchain.toml",
        ".tool-versions",
        "flake.nix",
        "sub/shell.nix",
        ".pnpmfile.cjs",
    ] {
        assert!(protected(path).is_some(), "{path}");
    }
    for path in [
        "src/main.rs",
        ".github/dependabot.yml",
        "git/config",
        ".gitignore",
        "workflows/a.yml",
        "a.git/b",
        "git~x",
        "premise.toml",
        "src/mise.rs",
        "rust-toolchain.rs",
        "flake.lock",
        "agent.rs",
        ".env.example",
        ".github/ISSUE_TEMPLATE/a.md",
        "vim/a.vim",
    ] {
        assert_eq!(protected(path), None, "{path}");
    }
}

fn rule(tool: &str, pattern: Option<&str>, action: Action) -> Rule {
    Rule {
        tool: tool.to_owned(),
        pattern: pattern.map(str::to_owned),
        action,
    }
}

#[test]
fn permissions_without_rules_go_by_risk() {
    let mut settings = Settings::default();
    let all = |s: &Settings| {
        [Risk::Read, Risk::Write, Risk::Run, Risk::Send].map(|r| decide(s, "t", r, "x"))
    };
    use Action::{Allow, Ask, Deny};
    assert_eq!(all(&settings), [Allow, Allow, Ask, Ask]);
    settings.permission = Some(Action::Ask);
    assert_eq!(all(&settings), [Allow, Ask, Ask, Ask]);
    settings.permission = Some(Action::Deny);
    assert_eq!(all(&settings), [Allow, Deny, Deny, Deny]);
    settings.permission = Some(Action::Allow);
    assert_eq!(all(&settings), [Allow; 4]);
}

#[test]
fn last_rule_that_matches_holds() {
    let settings = Settings {
        rules: vec![
            rule("*", None, Action::Ask),
            rule("file_*", Some("src/*"), Action::Allow),
            rule("file_write", Some("src/*.lock"), Action::Deny),
        ],
        ..Settings::default()
    };
    let decide = |tool, path| decide(&settings, tool, Risk::Write, path);
    assert_eq!(decide("file_write", "src/a.rs"), Action::Allow);
    assert_eq!(decide("file_write", "src/a.lock"), Action::Deny);
    assert_eq!(decide("file_edit", "src/a.lock"), Action::Allow);
    assert_eq!(decide("file_write", "README.md"), Action::Ask);
}

#[test]
fn rule_for_a_command_does_not_cover_what_is_joined_to_it() {
    let settings = Settings {
        rules: vec![
            rule("bash", Some("cargo test*"), Action::Allow),
            rule("bash", Some("rm *"), Action::Deny),
        ],
        ..Settings::default()
    };
    let decide = |command: &str| decide(&settings, "bash", Risk::Run, command);
    assert_eq!(decide("cargo test --lib"), Action::Allow);
    for command in [
        "cargo test; ls",
        "cargo test && ls",
        "cargo test $(ls)",
        "cargo test `ls`",
        "cargo test\nls",
        "cargo test > x",
    ] {
        assert_eq!(decide(command), Action::Ask, "{command:?}");
    }
    for command in [
        "rm -rf x",
        "ls; rm -rf x",
        "cargo test && rm -rf x",
        "echo $(rm -rf x)",
        "ls\rrm x",
    ] {
        assert_eq!(decide(command), Action::Deny, "{command:?}");
    }
}

#[test]
fn wildcards() {
    for (pattern, text, fits) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("a*", "a", true),
        ("*b", "ab", true),
        ("a*c*e", "abcde", true),
        ("a*c*e", "abde", false),
        ("*", "", true),
        ("", "", true),
        ("a*a", "a", false),
        ("ä*ö", "äöö", true),
    ] {
        assert_eq!(wildcard(pattern, text), fits, "{pattern} {text}");
    }
}
