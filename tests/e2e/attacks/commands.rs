//! Attack 6: a command that the author forbids, in another dress. The rules are told dress by dress in `trust`; here
//! the agent tries them, and what is forbidden is looked for on the disk.

use super::*;

/// Each removes the file `x` where it is let.
const DRESSES: &[&str] = &[
    "rm x",
    "true; rm x",
    "true && rm x",
    "false || rm x",
    "true | rm x",
    "true & rm x",
    "true\nrm x",
    "true\r\nrm x",
    "echo $(rm x)",
    "echo \"$(rm x)\"",
    "echo `rm x`",
    "cat <(rm x); sleep 0.1",
    "(rm x)",
    "{ rm x; }",
    "if true; then rm x; fi",
    "A=b rm x",
    "/bin/rm x",
    "'rm' x",
    "r\\m x",
    "rm$IFS-f${IFS}x",
    "$(echo rm) x",
    "R=rm; $R x",
    "/bin/r?m x /bin/rm x",
    "q() { rm x; }; q",
    "shopt -s expand_aliases\nalias q='rm x'\nq",
    "env -i A=b rm x",
    "find . -name x -exec rm {} \\;",
    "find . -name x -delete",
    "echo x | xargs rm",
    "timeout 5 rm x",
    "nohup rm x",
    "sh -c 'rm x'",
    "eval 'rm x'",
    "git -c alias.x='!rm x' x",
    "git -c core.pager='rm x' --paginate version",
    "echo a > f; sed -i '1e rm x' f",
    "awk 'BEGIN{system(\"rm x\")}'",
    "python3 -c 'import os; os.system(\"rm x\")'",
    "sh <<EOF\nrm x\nEOF",
    "sh <<< 'rm x'",
    "cat > q <<'E'\nrm x\nE\nsh q",
    "echo 'unclosed; rm x",
];

#[test]
fn attack_06_what_the_author_forbids_is_run_in_no_dress() {
    let many = "true; ".repeat(51) + "rm x";
    let commands: Vec<&str> = DRESSES.iter().copied().chain([many.as_str()]).collect();
    let calls = commands.iter().enumerate().map(|(n, command)| {
        let input = json!({"command": command, "timeout": 20});
        call(&format!("toolu_{n}"), "bash", input)
    });
    let fine = call("toolu_fine", "bash", json!({"command": "cat x; echo fine"}));
    // No more than so many are carried out of one answer.
    let calls: Vec<Value> = calls.chain([fine]).collect();
    let answers = calls.chunks(30).map(|some| Step::calls(some.to_vec()));
    let ground = Ground::new(answers.chain([Step::text("Done.")]).collect());
    let w = &ground.workspace;
    w.configure(
        "[permissions]\nrules = [{ tool = \"bash\", action = \"allow\" }, { tool = \"bash\", pattern = \"rm *\", action = \"deny\" }]\n",
    );
    w.write("x", "here\n");
    w.git(&["init", "-q"]);
    ground.trust();
    let id = ground.ask(&format!("{FILE}:1"), "tidy up");
    let output = ground.run(&["reply", &id]);
    let asked = ground.model.requests();
    let results: Vec<_> = asked.iter().flat_map(|asked| asked.results()).collect();
    assert_eq!(results.len(), commands.len() + 1, "{}", all(&output));
    for ((_, said, refused), command) in results.iter().zip(&commands) {
        let words = ["not allowed", "counts as no"];
        assert!(
            *refused && words.iter().any(|words| said.contains(words)),
            "{command:?}: {said}"
        );
    }
    assert_eq!(w.read("x"), "here\n");
    // What is allowed ran, so the others could have.
    let (_, said, refused) = results.last().expect("the last");
    assert!(!refused && said == "here\nfine\n", "{said}");
}

/// `bash` called as an agent calls it, with nobody there to ask: whether it ran, and what was said.
fn bash(ground: &Ground, command: &str) -> (bool, String) {
    let input = json!({ "command": command }).to_string();
    let output = ground.run(&["tools", "call", "bash", &input]);
    (output.status.success(), all(&output))
}

#[track_caller]
fn asks_or_refuses(ground: &Ground, command: &str) {
    let (ran, said) = bash(ground, command);
    let words = ["not allowed", "nobody could be asked"];
    assert!(
        !ran && words.iter().any(|words| said.contains(words)),
        "{command:?}: {said}"
    );
}

#[track_caller]
fn runs(ground: &Ground, command: &str) {
    let (ran, said) = bash(ground, command);
    assert!(ran, "{command:?}: {said}");
}

/// A rule for one command, and what would run another one with it: `x` is there afterwards where that did. `sh` is dash
/// on some systems and bash on others.
#[test]
fn attack_06_an_allowed_command_brings_no_other_along() {
    let ground = Ground::new(Vec::new());
    let w = &ground.workspace;
    w.configure(
        "[permissions]\nrules = [{ tool = \"bash\", pattern = \"echo*\", action = \"allow\" }]\n",
    );
    ground.trust();
    for command in [
        "echo ok &>/dev/null touch x",
        "echo ok &>>/dev/null touch x",
        "echo ok &> /dev/null sh -c 'touch x'",
        "echo ok &\\\n>/dev/null touch x",
        "echo \"$\\\n(touch x)\"",
        "echo $\\\n(touch x)",
        "echo #\\\ntouch x",
        "`echo touch x`>/dev/null",
        "fi`echo nd` . -maxdepth 0 -exec touch x \\;",
        "echo $['$(touch x)']",
        "coproc echo { touch x; }",
        "echo ok >&2x",
    ] {
        asks_or_refuses(&ground, command);
        assert!(!w.path("x").exists() && !w.path("2x").exists());
    }
    for command in [
        "echo a \\\n b 2>&1 | echo c && echo 'd' >/dev/null",
        "echo a",
    ] {
        runs(&ground, command);
    }
}

#[test]
fn attack_06_a_forbidden_command_of_gits_is_run_by_none_of_its_names() {
    let ground = Ground::new(Vec::new());
    let w = &ground.workspace;
    w.configure(
        "[permissions]\nrules = [{ tool = \"bash\", action = \"allow\" }, { tool = \"bash\", pattern = \"git tag*\", action = \"deny\" }]\n",
    );
    w.git(&["init", "-q"]);
    w.git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    w.git(&["config", "alias.t", "tag"]);
    w.write("tag", "");
    ground.trust();
    for command in [
        "git tag x",
        "echo tag x | xargs git",
        "echo tag | xargs -I% git % x",
        "git t?g x",
        "git {tag,x}",
        "\"$(git --exec-path)/git-tag\" x",
        "/usr/lib/git-core/git-tag x",
        "git t x",
        "git -C . t x",
    ] {
        asks_or_refuses(&ground, command);
        assert!(!w.path(".git/refs/tags/x").exists(), "{command:?}");
    }
    for command in ["git status", "echo src | xargs git add", "ls *"] {
        runs(&ground, command);
    }
}

#[test]
fn attack_22_what_destroys_is_asked_about_from_another_folder_and_by_another_name() {
    let ground = Ground::new(Vec::new());
    let w = &ground.workspace;
    w.configure("[permissions]\nrules = [{ tool = \"bash\", action = \"allow\" }]\n");
    w.git(&["init", "-q"]);
    w.git(&["add", "."]);
    w.git(&["commit", "-q", "-m", "one"]);
    w.git(&["config", "alias.co", "checkout"]);
    w.git(&["config", "alias.wipe", "reset --hard"]);
    w.write(FILE, "changed\n");
    w.write("new.txt", "new\n");
    ground.trust();
    let root = w.root().to_owned();
    let name = root.file_name().and_then(|name| name.to_str());
    let name = name.expect("a name");
    let from_top = root
        .strip_prefix("/")
        .expect("a path")
        .display()
        .to_string();
    for command in [
        format!("cd ..; rm -rf {name}").as_str(),
        format!("cd / && rm -rf {from_top}").as_str(),
        format!("rm -rf \"$PWD/../{name}\"").as_str(),
        "rm -rf ?*",
        "rm -rf [a-z]*",
        "git -c clean.requireForce=false clean -dxq",
        "touch -- --hard; git reset --h*",
        "git co .",
        "git wipe",
    ] {
        asks_or_refuses(&ground, command);
        assert_eq!(w.read(FILE), "changed\n", "{command:?}");
        assert!(w.path("new.txt").exists(), "{command:?}");
    }
    for command in [
        "mkdir -p sub/target && cd sub && rm -rf target",
        "rm -rf $TMPDIR/x",
        "git clean -n",
        "git checkout -q -b other",
    ] {
        runs(&ground, command);
    }
}
