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
