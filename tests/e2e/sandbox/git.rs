//! Git as it works in a command: it touches no other repository than it was told to, it knows the author's settings, and
//! what it cannot do is said.

use super::*;

const WHO: &str = "-c user.name=a -c user.email=b";

/// A repository with one commit of all that is in it.
fn committed(bench: &Bench) {
    let workspace = &bench.workspace;
    workspace.git(&["init", "-q", "-b", "main"]);
    workspace.git(&["add", "-A"]);
    let who = ["-c", "user.name=a", "-c", "user.email=b"];
    workspace.git(&[&who[..], &["commit", "-qm", "one"]].concat());
}

#[test]
fn git_finds_no_repository_above_one_that_was_set_aside() {
    let wait = |what: &str| format!("until [ {what} ]; do sleep 0.05; done");
    // As tests do it that a project has; nobody is asked about what a script holds.
    let scripts = [
        // It goes on in its own repository while that is set aside, and another look goes by before it ends.
        (
            "r.sh",
            format!(
                "git init -q tmp/r; cd tmp/r; touch x; git add x; git {WHO} commit -qm x\n{}\ngit reset --hard; git checkout -q -f main; cd ../..; touch .envrc\n{}\n",
                wait("-d tmp/r/.git.refused -o -d .git.refused"),
                wait("-e .envrc.refused")
            ),
        ),
        (
            "b.sh",
            format!(
                "git init -q --bare tmp/b.git\n{}\ngit -C tmp/b.git branch -D side; git -C tmp/b.git/refs branch -D side\n",
                wait("-e tmp/b.git/HEAD.refused")
            ),
        ),
        // Goes on beside a command that ends, which sets things aside too.
        (
            "s.sh",
            format!(
                "git init -q tmp/s; touch tmp/ready\n{}\ngit -C tmp/s reset --hard; touch tmp/over\n",
                wait("-e tmp/go")
            ),
        ),
    ];
    for kind in kinds() {
        let mut script = commands(&["sh r.sh 2>&1", "sh b.sh 2>&1; true"]);
        script.pop();
        let tool = |at: &str, name: &str, command: &str| {
            Step::calls(vec![call(at, name, json!({"command": command}))])
        };
        script.extend([
            tool("toolu_b", "bash_background", "sh s.sh"),
            tool("toolu_c", "bash", &wait("-e tmp/ready")),
            tool("toolu_d", "bash", "touch tmp/go"),
            tool("toolu_e", "bash", &wait("-e tmp/over")),
            Step::text("Done."),
        ]);
        let bench = Bench::new(kind, script);
        let workspace = &bench.workspace;
        workspace.write(".gitignore", "tmp\n");
        workspace.write("work.txt", "old\n");
        for (name, text) in &scripts {
            workspace.write(name, text);
        }
        committed(&bench);
        workspace.git(&["branch", "side"]);
        workspace.write("work.txt", "not committed\n");
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        let all = format!("{kind:?}: {told:#?}");
        assert_eq!(workspace.read("work.txt"), "not committed\n", "{all}");
        assert!(workspace.git(&["branch"]).contains("side"), "{all}");
        assert!(told[0].contains("invalid gitfile format"), "{all}");
        assert!(
            told[0].contains("`tmp/r/.git` may not be made by a command"),
            "{all}"
        );
        for gone in ["tmp/r/.git", "tmp/b.git/.git", "tmp/s/.git"] {
            let there = workspace.path(gone).symlink_metadata();
            assert!(there.is_err(), "{gone} {all}");
        }
        // What was set aside is left as it is.
        assert!(workspace.path(".envrc.refused").exists(), "{all}");
        for kept in ["HEAD", "logs/HEAD", "config"] {
            let kept = format!("tmp/r/.git.refused/{kept}");
            assert!(workspace.path(&kept).exists(), "{kept} {all}");
        }
    }
}

#[test]
fn git_works_with_the_settings_of_the_author_that_run_nothing() {
    let run = [
        "git add -A && git commit -qm two; git log -1 --format='%an <%ae>'",
        "git config init.defaultBranch; git config core.autocrlf; git config alias.x; git config http.extraHeader; git config core.fsmonitor; git x; git status --short; cat ~/.gitconfig ~/more 2>/dev/null",
        "echo y >> y; git commit -qam three && git -C . show --stat --format=%s | head -1",
    ];
    for kind in kinds() {
        let bench = Bench::new(kind, commands(&run));
        committed(&bench);
        let settings = format!(
            "[user]\n\tname = \"Ann \\\"the\\\" \\\\ Author\"\n\temail = ann@example.org\n[alias]\n\tx = !echo alias\n[core]\n\tfsmonitor = echo\n[http]\n\textraHeader = Authorization: {CANARY}\n[include]\n\tpath = .more\n"
        );
        write(&bench.home.path().join(".gitconfig"), &settings);
        write(
            &bench.home.path().join(".more"),
            "[init]\n\tdefaultBranch = trunk\n[core]\n\tautocrlf = input\n",
        );
        bench.workspace.write("y", "y\n");
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        let all = format!("{kind:?}: {told:#?}");
        assert_eq!(
            told[0], "Ann \"the\" \\ Author <ann@example.org>\n",
            "{all}"
        );
        assert!(
            told[1].starts_with("trunk\ninput\ngit: 'x' is not"),
            "{all}"
        );
        assert!(
            !told[1].contains("alias\n") && !told[1].contains("denied"),
            "{all}"
        );
        assert_eq!(told[2], "three\n", "{all}");
        bench.assert_no_canary(&editor);
    }
}

/// A setting that the author grants by name is theirs.
#[test]
fn the_file_of_gits_settings_that_is_granted_is_read_itself() {
    for kind in kinds() {
        let settings = |home: &Path| {
            format!(
                "[permissions]\ndefault = 'allow'\n[sandbox]\nread = ['{}']\n",
                home.join(".gitconfig").display()
            )
        };
        let bench = Bench::new(kind, commands(&["git x; echo ${GIT_CONFIG_GLOBAL:-none}"]));
        bench.workspace.configure(&settings(bench.home.path()));
        committed(&bench);
        write(
            &bench.home.path().join(".gitconfig"),
            "[alias]\n\tx = !echo alias\n",
        );
        let mut editor = bench.editor();
        assert_eq!(bench.run(&mut editor), ["alias\nnone\n"], "{kind:?}");
    }
}

#[test]
fn what_a_guard_keeps_git_from_is_said_once_with_what_helps() {
    if !kinds().contains(&Kind::Bubblewrap) {
        return;
    }
    let run = [
        "git checkout other 2>&1",
        "git remote add origin x; git remote add origin y",
        "echo 'Read-only file system'",
    ];
    let bench = Bench::new(Kind::Bubblewrap, commands(&run));
    let workspace = &bench.workspace;
    workspace.write(".github/workflows/ci.yml", "one\n");
    committed(&bench);
    workspace.git(&["checkout", "-q", "-b", "other"]);
    workspace.write(".github/workflows/ci.yml", "two\n");
    let who = ["-c", "user.name=a", "-c", "user.email=b"];
    workspace.git(&[&who[..], &["commit", "-qam", "two"]].concat());
    workspace.git(&["checkout", "-q", "main"]);
    let mut editor = bench.editor();
    let told = bench.run(&mut editor);
    let said = |file: &str| {
        format!(
            "(`{file}` is guarded, and no command can change it: ask the author to run this themselves. What else it changed stays, so that the files may belong to two states now.)\n"
        )
    };
    assert!(
        told[0].contains("Switched to branch 'other'")
            && told[0].ends_with(&said(".github/workflows")),
        "{told:#?}"
    );
    assert!(told[1].ends_with(&said(".git/config")), "{told:#?}");
    assert_eq!(told[1].matches("is guarded").count(), 1, "{told:#?}");
    assert_eq!(told[2], "Read-only file system\n");
}

#[test]
fn what_lies_outside_of_a_worktree_is_named_with_the_setting_that_opens_it() {
    if !kinds().contains(&Kind::Bubblewrap) {
        return;
    }
    let beside = folder("main-");
    let main = beside.path().canonicalize().unwrap();
    let bench = Bench::new(Kind::Bubblewrap, commands(&["git add src/a.rs"]));
    let git = |args: &[&str]| {
        let at = ["-C", main.to_str().unwrap()];
        let who = ["-c", "user.name=a", "-c", "user.email=b"];
        bench.workspace.git(&[&at[..], &who[..], args].concat())
    };
    git(&["init", "-q"]);
    git(&["commit", "-qm", "x", "--allow-empty"]);
    git(&["worktree", "add", "-q", main.join("w").to_str().unwrap()]);
    // The workspace takes the place of the one that git made.
    let file = std::fs::read(main.join("w/.git")).unwrap();
    bench.workspace.write(".git", file);
    let mut editor = bench.editor();
    let told = bench.run(&mut editor);
    let lock = main.join(".git/worktrees/w/index.lock");
    assert!(
        told[0].ends_with(&format!(
            "(`{}` is outside of the workspace, where no command can write: ask the author to run this themselves.)\n",
            lock.display()
        )),
        "{told:#?}"
    );
}
