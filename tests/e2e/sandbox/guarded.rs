//! Files that decide what other programs do: a command changes none, and the author's own changes stay. Attack 4.

use std::os::unix::fs::symlink;

use super::*;

#[test]
fn attack_04_guarded_files_are_not_changed_by_a_command() {
    let run = [
        "echo evil >> .git/config; echo evil > .git/hooks/pre-commit; echo evil > .vscode/settings.json; rm -rf .vscode; mv .git/hooks .git/h; echo evil >> .githooks/pre-push; echo evil > .githooks/pre-commit; true",
        "mkdir -p .claude sub/.git/hooks .github/workflows && echo evil > .mcp.json; echo evil > .claude/settings.json; echo evil > sub/.git/hooks/x; echo evil > .github/workflows/x.yml; echo evil > .envrc; true",
        "git status --short >/dev/null; echo fine > fine.txt; git add fine.txt",
    ];
    for kind in kinds() {
        let bench = Bench::new(kind, commands(&run));
        bench.workspace.git(&["init", "-q"]);
        bench.workspace.write(".vscode/settings.json", "{}");
        bench
            .workspace
            .write(".git/hooks/post-commit", "#!/bin/sh\n");
        bench.workspace.write(".githooks/pre-push", "#!/bin/sh\n");
        bench
            .workspace
            .git(&["config", "core.hooksPath", ".githooks"]);
        let config = bench.workspace.read(".git/config");
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        assert_eq!(
            bench.workspace.read(".git/config"),
            config,
            "{kind:?}: {told:#?}"
        );
        assert_eq!(
            bench.workspace.read(".vscode/settings.json"),
            "{}",
            "{kind:?}: {told:#?}"
        );
        assert_eq!(
            bench.workspace.read(".git/hooks/post-commit"),
            "#!/bin/sh\n",
            "{kind:?}: {told:#?}"
        );
        assert_eq!(
            bench.workspace.read(".githooks/pre-push"),
            "#!/bin/sh\n",
            "{kind:?}: {told:#?}"
        );
        for made in [
            ".git/hooks/pre-commit",
            ".githooks/pre-commit",
            ".claude",
            ".mcp.json",
            "sub/.git",
            ".github/workflows",
            ".envrc",
        ] {
            assert!(
                !bench.workspace.path(made).exists(),
                "{kind:?} {made}: {told:#?}"
            );
        }
        assert!(
            told[1].contains("`.mcp.json` may not be made by a command"),
            "{}",
            told[1]
        );
        assert!(
            bench
                .workspace
                .git(&["diff", "--cached", "--name-only"])
                .contains("fine.txt")
        );
    }
}

#[test]
fn attack_04_what_is_above_guarded_files_and_links_to_them_are_held_too() {
    let run = [
        "mv .git g && mkdir .git && cp -r g/. .git/ && printf '[core]\\n\\tfsmonitor = touch pwned\\n' >> .git/config",
        "mv .github g2; mkdir -p .github/workflows; echo evil > .github/workflows/ci.yml; echo evil > .github/workflows/new.yml",
        "mv sub s2; mkdir sub; cp -r s2/.git sub/.git && echo evil >> sub/.git/config; true",
        "rm .vscode; mkdir .vscode; echo evil > .vscode/tasks.json; rm CLAUDE.md; echo evil > CLAUDE.md; true",
        "echo evil > docs/tasks.json; true",
        "git add -A src && git -c user.name=a -c user.email=b commit -qm y && git gc -q && git log --format=%s; git mv src/b.rs moved.rs && echo moved",
    ];
    for kind in kinds() {
        let bench = Bench::new(kind, commands(&run));
        let workspace = &bench.workspace;
        workspace.git(&["init", "-q"]);
        workspace.git(&["init", "-q", "sub"]);
        for (file, text) in [
            (".github/workflows/ci.yml", "good"),
            ("AGENTS.md", "good"),
            ("docs/a.md", "good"),
            ("src/b.rs", "fn b() {}\n"),
        ] {
            workspace.write(file, text);
        }
        symlink("docs", workspace.path(".vscode")).unwrap();
        symlink("AGENTS.md", workspace.path("CLAUDE.md")).unwrap();
        let configs = [".git/config", "sub/.git/config"];
        let before = configs.map(|file| workspace.read(file));
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        let all = format!("{kind:?}: {told:#?}");
        assert_eq!(configs.map(|file| workspace.read(file)), before, "{all}");
        if kind == Kind::Bubblewrap {
            assert!(told[0].contains("busy"), "{all}");
            assert!(told[2].contains("busy"), "{all}");
            // It is neither made from anew nor set aside.
            assert_eq!(told[5], "y\nmoved\n", "{all}");
        }
        assert_eq!(workspace.read(".github/workflows/ci.yml"), "good", "{all}");
        assert!(
            !workspace.path(".github/workflows/new.yml").exists(),
            "{all}"
        );
        for (link, target) in [(".vscode", "docs"), ("CLAUDE.md", "AGENTS.md")] {
            let leads = std::fs::read_link(workspace.path(link));
            assert_eq!(leads.unwrap_or_default(), Path::new(target), "{all}");
        }
        assert_eq!(workspace.read("AGENTS.md"), "good", "{all}");
        assert!(!workspace.path("docs/tasks.json").exists(), "{all}");
    }
}

#[test]
fn guarded_names_that_cannot_be_mounted_stop_no_command() {
    let last = "p199/.npmrc";
    let run = ["echo hi", &format!("echo evil > {last}; true")];
    for kind in kinds() {
        let bench = Bench::new(kind, commands(&run));
        let workspace = &bench.workspace;
        for (link, target) in [(".envrc", "nowhere"), (".idea", "/etc"), (".zed", ".zed")] {
            symlink(target, workspace.path(link)).unwrap();
        }
        // So many mounts would take their time, and more than bubblewrap lets.
        for number in 0..200 {
            workspace.write(&format!("p{number}/.npmrc"), "good");
        }
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        assert_eq!(told[0], "hi\n", "{kind:?}");
        assert_eq!(workspace.read(last), "good", "{kind:?}: {told:#?}");
    }
}

#[test]
fn what_the_author_does_while_a_command_runs_stays_or_is_told_of() {
    let beside = folder("beside-");
    let worktree = beside.path().join("w");
    for kind in kinds() {
        let wait = "touch began; while ! [ -e go ]; do sleep 0.05; done; cat AGENTS.md";
        let bench = Bench::new(kind, commands(&[wait]));
        let workspace = &bench.workspace;
        workspace.git(&["init", "-q"]);
        workspace.git(&[
            "-c",
            "user.name=a",
            "-c",
            "user.email=b",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
        ]);
        workspace.write("AGENTS.md", "old\n");
        workspace.write(".vscode/settings.json", "{}\n");
        let mut editor = bench.editor();
        editor.open("AGENTS.md");
        bench.begin(&mut editor);
        wait_until("the command runs", || workspace.path("began").exists());
        // Saved in the editor, one that was there and one that was not.
        editor.replace("AGENTS.md", "old\n", "the author's\n");
        editor.save("AGENTS.md");
        editor.open_text(".envrc", "shellscript", "export A=1\n");
        editor.save(".envrc");
        // By other programs.
        workspace.git(&["worktree", "add", "-q", worktree.to_str().unwrap()]);
        workspace.git(&["remote", "add", "origin", "https://example.org/x"]);
        workspace.write(".vscode/settings.json", "{\"a\": 1}\n");
        workspace.write(".cursorrules", "the author's\n");
        workspace.write("go", "");
        editor.wait_text(FILE, |text| text.contains("// AGENT: Done."));
        assert_eq!(workspace.read("AGENTS.md"), "the author's\n", "{kind:?}");
        assert_eq!(workspace.read(".envrc"), "export A=1\n", "{kind:?}");
        workspace.git(&["-C", worktree.to_str().unwrap(), "status"]);
        let changed = [".git/config", ".vscode/settings.json"];
        for file in changed {
            // Where a mount kept it from the command, it was the author.
            let aside = workspace.path(&format!("{file}.refused"));
            assert_eq!(aside.exists(), kind == Kind::Landlock, "{kind:?} {file}");
            if kind == Kind::Landlock {
                editor.wait_saying("window/showMessage", &format!("`{file}.refused`"));
            }
        }
        assert_eq!(workspace.read(".cursorrules.refused"), "the author's\n");
        editor.wait_saying("window/showMessage", "renamed to `.cursorrules.refused`");
        if kind == Kind::Bubblewrap {
            editor.wait_saying("window/showMessage", "`.git/config` was replaced");
        }
        std::fs::remove_dir_all(&worktree).unwrap();
    }
}

#[test]
fn attack_04_a_folder_of_another_name_is_made_no_repository_by_a_command() {
    let evil = "[core]\\n\\tfsmonitor = touch \"$0\"; false\\n";
    let run = [
        "mkdir -p docs && cd docs && git init -q --bare . && git config core.bare false && git config core.worktree . && git config core.fsmonitor \"touch $PWD/pwned; false\"; mkdir .vscode && touch .vscode/tasks.json",
        "mkdir to && cd to && echo 'ref: refs/heads/main' > HEAD && echo ../.git > commondir",
        &format!(
            "printf '{evil}' >> store.git/config; echo evil > store.git/hooks/post-update; mv store.git s2 && cp -r s2 store.git && printf '{evil}' >> store.git/config; true"
        ),
        "git -C store.git symbolic-ref HEAD refs/heads/next; cat store.git/HEAD",
    ];
    for kind in kinds() {
        let bench = Bench::new(kind, commands(&run));
        let workspace = &bench.workspace;
        workspace.git(&["init", "-q"]);
        workspace.git(&["init", "-q", "--bare", "store.git"]);
        let config = workspace.read("store.git/config");
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        let all = format!("{kind:?}: {told:#?}");
        workspace.git(&["-C", "docs", "status"]);
        assert!(!workspace.path("docs/pwned").exists(), "{all}");
        for made in [
            "docs/HEAD",
            "docs/.vscode",
            "to/HEAD",
            "store.git/hooks/post-update",
        ] {
            assert!(!workspace.path(made).exists(), "{made} {all}");
        }
        assert!(
            told[0].contains(
                "`docs/HEAD` may not be made by a command (it makes its folder a repository"
            ),
            "{all}"
        );
        assert!(!told[0].contains("docs/config"), "{all}");
        assert_eq!(workspace.read("store.git/config"), config, "{all}");
        // A repository's daily work goes on.
        assert!(told[3].starts_with("ref: refs/heads/next\n"), "{all}");
    }
}

#[test]
fn attack_04_what_a_nested_repositorys_configuration_names_is_guarded_too() {
    let run = [
        "echo evil > sub/tools/hooks/pre-commit; echo evil > sub/tools/hooks/post-commit; echo evil > sub/more; echo evil > sub/.git/other; true",
        "cd sub && echo fine > fine && git add fine && cat fine",
    ];
    for kind in kinds() {
        let bench = Bench::new(kind, commands(&run));
        let workspace = &bench.workspace;
        workspace.git(&["init", "-q"]);
        workspace.git(&["init", "-q", "sub"]);
        workspace.write("sub/tools/hooks/post-commit", "good");
        for (name, value) in [
            ("core.hooksPath", "tools/hooks"),
            ("include.path", "../more"),
            ("include.path", "other"),
        ] {
            workspace.git(&["-C", "sub", "config", "--add", name, value]);
        }
        workspace.write("sub/.git/other", "");
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        let all = format!("{kind:?}: {told:#?}");
        for made in ["sub/tools/hooks/pre-commit", "sub/more"] {
            assert!(!workspace.path(made).exists(), "{made} {all}");
        }
        assert_eq!(
            workspace.read("sub/tools/hooks/post-commit"),
            "good",
            "{all}"
        );
        assert_eq!(workspace.read("sub/.git/other"), "", "{all}");
        assert_eq!(told[1], "fine\n", "{all}");
    }
}

#[test]
fn attack_04_what_a_rebase_is_still_to_do_runs_nothing_of_a_commands() {
    let todo = ".git/rebase-merge/git-rebase-todo";
    let run: [&str; 5] = [
        &format!("echo 'exec touch pwned' >> {todo}"),
        &format!(
            "mkdir x && (cat {todo}; echo 'x touch pwned') > x/git-rebase-todo && mv .git/rebase-merge y && ln -s ../x .git/rebase-merge"
        ),
        "mv .git/rebase-merge z && mv y .git/rebase-merge; export EMAIL=b; git rebase --continue 2>&1; git rebase --continue 2>&1; git log --format=%s",
        &format!(
            "git -c user.name=a -c user.email=b rebase -q -x false HEAD~1; cat {todo}; git rebase --abort"
        ),
        &format!("mkdir .git/rebase-merge; printf '\\texec\\ttouch pwned' > {todo}"),
    ];
    for kind in kinds() {
        let bench = Bench::new(kind, commands(&run));
        let workspace = &bench.workspace;
        let git = |args: &[&str]| {
            let who = ["-c", "user.name=a", "-c", "user.email=b"];
            workspace.git(&[&who[..], args].concat())
        };
        git(&["init", "-q"]);
        for subject in ["one", "two", "three"] {
            workspace.write(subject, "");
            git(&["add", subject]);
            git(&["commit", "-q", "-m", subject]);
        }
        git(&[
            "-c",
            "sequence.editor=sed -i s/^pick/edit/",
            "rebase",
            "-q",
            "-i",
            "HEAD~2",
        ]);
        let before = workspace.read(todo);
        assert!(before.contains("edit"), "{before}");
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        let all = format!("{kind:?}: {told:#?}");
        for said in &told[..2] {
            assert!(
                said.contains(&format!("`{todo}` was put back as it was")),
                "{all}"
            );
        }
        // The author's own goes on, and so does what a command begins and ends.
        assert!(told[2].ends_with("three\ntwo\none\n"), "{all}");
        assert!(
            !told[3].contains("refused") && !told[3].contains("may not"),
            "{all}"
        );
        assert!(
            told[4].contains(&format!("`{todo}` may not be made")),
            "{all}"
        );
        assert!(!workspace.path(todo).exists(), "{all}");
        assert!(!workspace.path("pwned").exists(), "{all}");
    }
}
