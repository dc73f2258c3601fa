use std::path::Path;

use super::*;
use proptest::prelude::*;

fn rule(pattern: &str, action: Action) -> Rule {
    Rule {
        tool: String::from("bash"),
        pattern: Some(pattern.to_owned()),
        action,
    }
}

/// Everything is allowed but `rm`.
fn forbidden(command: &str) -> Action {
    let rules = [rule("*", Action::Allow), rule("rm *", Action::Deny)];
    decide(&rules.iter().collect::<Vec<_>>(), command, Action::Ask)
}

/// Nothing is allowed but `cargo test`.
fn allowed(command: &str) -> Action {
    let rules = [rule("cargo test*", Action::Allow)];
    decide(&rules.iter().collect::<Vec<_>>(), command, Action::Ask)
}

/// Everything is allowed but `git push`.
fn no_push(command: &str) -> Action {
    let rules = [rule("git push*", Action::Deny)];
    decide(&rules.iter().collect::<Vec<_>>(), command, Action::Allow)
}

#[test]
fn attack_06_options_of_git_before_its_verb_are_passed_over() {
    for command in [
        "git -c a.b=c push",
        "git -C . push",
        "git -C . -C . push origin",
        "/usr/bin/git --no-pager push",
        "git --git-dir=.git push",
        "git --git-dir .git --work-tree . push",
        "git --namespace x push",
        "git -c a.b=c -c d.e=f push",
        "git -c alias.x=push x",
        "git -c ALIAS.x='push origin' x",
        "git -c alias.x='!git push' x",
        "git config alias.x push",
        "git config --global alias.x 'push origin'",
        "sudo git -C . push",
        "sh -c 'git -C . push'",
    ] {
        assert_eq!(no_push(command), Action::Deny, "{command:?}");
    }
    for command in [
        "sh -c 'sudo git -C . push'",
        "git -c include.path=x y",
        "git --config-env=alias.x=HOME x",
        "git --exec-path=. x",
        "env GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=push git x",
        "export GIT_CONFIG_PARAMETERS=\"'alias.x'='push'\"; git x",
        "env XDG_CONFIG_HOME=. git x",
        "HOME=. git x",
        "git -c alias.x='!git -C . push' x",
        "sed '1e git -C . push' x",
    ] {
        assert_ne!(no_push(command), Action::Allow, "{command:?}");
    }
    for command in [
        "git -C . status",
        "git -c a.b=c log",
        "git commit -m 'a=push this'",
        "git config user.name Ada",
        "git log --format=push",
    ] {
        assert_eq!(no_push(command), Action::Allow, "{command:?}");
    }
    let root = Path::new("/work");
    assert!(destroys("git -c alias.x='push --force' x", root).is_some());
    assert!(destroys("git --attr-source HEAD reset --hard", root).is_some());
}

#[test]
fn attack_06_what_is_forbidden_is_known_by_the_names_and_patterns_that_stand_for_it() {
    for command in [
        "/usr/lib/git-core/git-push r main",
        "git-push r main",
        "env git-push r",
    ] {
        assert_eq!(no_push(command), Action::Deny, "{command:?}");
    }
    for command in [
        "echo push r main | xargs git",
        "echo push | xargs -n 3 git -C .",
        "echo push | xargs -I% git %",
        "echo push | xargs -I % git -C . % r",
        "echo git push | xargs env",
        "echo git push | xargs -I% sh -c %",
        "echo git push | xargs -0 sh -c",
        "find push -exec git {} r main ;",
        "find push -exec git '{}' +",
        "parallel git ::: push",
        "touch push; git p?sh r main",
        "git pus[h] r",
        "git * r main",
        "git {push,r} main",
        "env git p?sh r",
        "sh -c 'git p?sh r'",
        "/usr/bin/git p*",
        "git p r main",
        "git -C . p r main",
        "command . ./p.sh",
        "env g?t push",
        "touch git push; env *",
    ] {
        assert_eq!(no_push(command), Action::Ask, "{command:?}");
    }
    for command in [
        "git ls-files | xargs git add",
        "git ls-files | xargs -I{} git add {}",
        "find . -name '*.rs' | xargs grep -l 'git p?sh'",
        "find . -name git",
        "command -v git",
        "git add *.rs p?sh",
        "git log --format='%h [%an] {x}'",
        "git status; git diff -- src/*",
        "git",
        "git --version",
        "time ls *.rs *",
        "find . -name '*.c' -exec wc -l {} +",
        "ls *",
    ] {
        assert_eq!(no_push(command), Action::Allow, "{command:?}");
    }
}

#[test]
fn attack_06_what_a_script_does_is_asked_about_where_something_is_forbidden() {
    for command in [
        "bash p.sh",
        "sh ./p",
        "bash -e -o pipefail p",
        "bash --norc p",
        "./p.sh",
        "p.bash x",
        "env bash p",
        "timeout 5 ./p.sh",
        "find . -exec sh p {} ;",
        "cat p | sh",
        "sh -s",
    ] {
        assert_eq!(no_push(command), Action::Ask, "{command:?}");
        assert_eq!(decide(&[], command, Action::Allow), Action::Allow);
        let rules = [
            rule("git push*", Action::Deny),
            rule(command, Action::Allow),
        ];
        let allowed = decide(&rules.iter().collect::<Vec<_>>(), command, Action::Allow);
        assert_eq!(allowed, Action::Allow, "{command:?}");
    }
    for command in [
        "sh -c 'ls'",
        "bash -lc ls",
        "bash --version",
        "find . -name p.sh",
        "cat p.sh",
        "shellcheck p.sh",
    ] {
        assert_eq!(no_push(command), Action::Allow, "{command:?}");
    }
}

#[test]
fn attack_06_what_is_forbidden_is_never_allowed_in_another_dress() {
    for command in [
        "rm x",
        "ls; rm x",
        "ls && rm x",
        "ls || rm x",
        "ls | rm x",
        "ls & rm x",
        "ls\nrm x",
        "ls\rrm x",
        "echo $(rm x)",
        "echo \"$(rm x)\"",
        "echo `rm x`",
        "cat <(rm x)",
        "tee >(rm x)",
        "(rm x)",
        "{ rm x; }",
        "if true; then rm x; fi",
        "! rm x",
        "A=b rm x",
        "/bin/rm x",
        "'rm' x",
        "r\\m x",
        "\"r\"m x",
        "rm$IFS-rf$IFS.",
        "$(echo rm) x",
        "R=rm; $R x",
        "r? x",
        "/bin/r* x",
        "alias q=rm; q x",
        "q() { rm x; }; q",
        "env rm x",
        "env -i A=b rm x",
        "find . -exec rm {} \\;",
        "find . -name x -execdir /bin/rm {} +",
        "ls | xargs rm",
        "ls | xargs -n 1 rm -f",
        "sudo -u me rm x",
        "timeout 5 rm x",
        "nohup rm x",
        "sh -c 'rm x'",
        "bash -lc \"rm x\"",
        "eval rm x",
        "eval 'rm' 'x'",
        "git -c alias.x='!rm x' x",
        "git -c core.pager='rm x' log",
        "sed -i 's/a/b/;e rm x' f",
        "sed '1e rm x' f",
        "awk 'BEGIN{system(\"rm x\")}'",
        "python3 -c 'import os; os.system(\"rm x\")'",
        "sh <<EOF\nrm x\nEOF",
        "sh <<< 'rm x'",
        "cat > q <<'E'\nrm x\nE\nsh q",
        "echo 'unclosed; rm x",
        "echo \"unclosed $(rm x",
        "((((((((((rm x))))))))))",
        "ls # nothing\nrm x",
        ". ./rm.sh; rm x",
        "ls\u{2028}rm x",
        "ls\u{b}rm x",
    ] {
        assert_ne!(forbidden(command), Action::Allow, "{command:?}");
    }
    let many = "true; ".repeat(50) + "rm x";
    assert_eq!(forbidden(&many), Action::Deny);
    assert_eq!(
        forbidden(&"true; ".repeat(60)),
        Action::Ask,
        "nobody reads so many"
    );
    for command in [
        "ls; rm x",
        "sh -c 'rm x'",
        "/bin/rm x",
        "env rm x",
        "echo $(rm x)",
    ] {
        assert_eq!(forbidden(command), Action::Deny, "{command:?}");
    }
    for command in [
        "ls -la",
        "cargo test 2>&1 | tail -20",
        "echo 'it is warm x'",
        "cat Cargo.toml > /dev/null",
    ] {
        assert_eq!(forbidden(command), Action::Allow, "{command:?}");
    }
}

#[test]
fn attack_06_one_allowed_command_says_nothing_of_another() {
    for command in [
        "cargo test",
        "cargo test --lib 'a b'",
        "cargo   test 2>&1",
        "cargo test >/dev/null 2>&1 && cargo test --doc",
    ] {
        assert_eq!(allowed(command), Action::Allow, "{command:?}");
    }
    for command in [
        "cargo test; rm x",
        "cargo test && curl x",
        "cargo test $(curl x)",
        "cargo test `curl x`",
        "cargo test <(curl x)",
        "cargo test > .bashrc",
        "cargo test < x",
        "cargo test\ncurl x",
        "cargo test\rcurl x",
        "cargo test$IFS",
        "RUSTC_WRAPPER=./evil cargo test",
        "cargo test 'unclosed",
        "cargo test & curl x",
        "./cargo test",
        "'cargo test'",
        "cargo() { curl x; }; cargo test",
        "",
        "cargo testify=$(x)",
    ] {
        assert_eq!(allowed(command), Action::Ask, "{command:?}");
    }
    assert_eq!(allowed(&["cargo test"; 51].join("; ")), Action::Ask);
}

#[test]
fn attack_06_what_shells_read_in_two_ways_is_allowed_by_no_rule() {
    for command in [
        // dash ends a command there, bash does not.
        "cargo test &>/dev/null touch x",
        "cargo test &>> /dev/null touch x",
        "cargo test &\\\n>/dev/null touch x",
        // A backslash and a line's end are taken out before anything else is read.
        "cargo test \"$\\\n(touch x)\"",
        "cargo test $\\\n(touch x)",
        "cargo test $\\\n{x}",
        "cargo test <\\\n(touch x)",
        "cargo test \\\n`touch x`",
        "cargo test #\\\ntouch x",
        "cargo test '\\\n' \"$\\\n(touch x)\" '",
        "cargo test \\\\\ntouch x",
        // What an expansion leaves is no number, and no word of the shell's own.
        "`cargo test`>/dev/null",
        "cargo test `cargo test x`>/dev/null",
        "fi`cargo test`cargo test",
        // Expressions and words of bash alone.
        "cargo test $['$(touch x)']",
        "coproc cargo test { touch x; }",
        "((cargo test))",
        "[[ cargo test ]]",
        "function cargo test { touch x; }",
        "cargo test <<< x",
        "cargo test >&2x",
        "cargo test 10>/dev/null",
        "cargo test $'a\\'; touch x; '",
    ] {
        assert_eq!(allowed(command), Action::Ask, "{command:?}");
    }
    let rules = [rule("printf *", Action::Allow), rule("[*", Action::Allow)];
    let rules: Vec<&Rule> = rules.iter().collect();
    for (command, action) in [
        ("printf -v 'a[$(touch x)]' y", Action::Ask),
        ("[ -v 'a[`touch x`]' ]", Action::Ask),
        ("printf '%s, `%s`' y z", Action::Allow),
        ("[ -d target ]", Action::Allow),
    ] {
        assert_eq!(decide(&rules, command, Action::Ask), action, "{command:?}");
    }
    for command in [
        "cargo test \\\n  --lib \\\n  a",
        "cargo test 2>&1 | cargo test >& 2",
        "car\\\ngo test &\\\n& cargo test 2>/dev/null",
        "cargo test 2>&1>/dev/null",
        "cargo test a#b 'x y' \"\\`\"",
        "cargo test # nothing more \\",
    ] {
        assert_eq!(allowed(command), Action::Allow, "{command:?}");
    }
    // Either way it is read.
    let root = Path::new("/home/me/work/proj");
    for command in [
        "git stash &>/dev/null drop",
        "git stash\\\n drop",
        "git status &>/dev/null git stash drop",
        "echo `git stash \\\n drop`",
    ] {
        assert!(destroys(command, root).is_some(), "{command:?}");
    }
}

#[test]
fn attack_22_what_destroys_is_known() {
    let root = std::path::Path::new("/home/me/work/proj");
    for command in [
        "rm -rf /",
        "rm -rf / --no-preserve-root",
        "rm -fr ~",
        "rm -r $HOME",
        "rm -rf \"$HOME/\"",
        "rm -rf .",
        "rm -rf ./*",
        "rm -rf /home/me",
        "rm -rf .git",
        "rm -rf /home/me/work/proj",
        "rm -rf /home/me/work/./proj/",
        "rm -rf /home/me/work",
        "rm -rf ../proj",
        "rm -rf src/..",
        "rm -rf src .",
        "rm -rf $PWD",
        "rm -rf \"${PWD}\"/*",
        "rm -rf $(pwd)",
        "rm -rf `pwd`",
        "ls -A | xargs rm -rf",
        "find . -maxdepth 1 -exec rm -rf {} +",
        "cd x && sudo rm -rf ../..",
        "git push --force",
        "git push -f origin main",
        "git push origin +main",
        "git push --force-with-lease",
        "git -C sub push --delete origin x",
        "git clean -fdx",
        "git clean -d --force",
        "git stash drop",
        "git stash clear",
        "git reset --hard HEAD~3",
        "git reset --har",
        "git checkout -- .",
        "git checkout .",
        "git checkout ./",
        "git checkout HEAD src",
        "git checkout ':/'",
        "git checkout '*.rs'",
        "git checkout --forc x",
        "git checkout --pathspec-from-file=x",
        "git checkout-index -fa",
        "git read-tree -u --reset HEAD",
        "git restore src",
        "git restore --staged -W c.txt",
        "git restore --staged --work c.txt",
        "git push --mir x",
        "git clean --forc",
        "rm -rf .git/refs",
        "rm -rf ./sub/.git/objects",
        "rm --recurs .git",
        "git branch -D x",
        "sh -c 'git clean -fdx'",
        "find . -name '*.rs' -delete",
        "ls; $(git stash drop)",
        "mkfs.ext4 /dev/sda1",
        "terraform destroy -auto-approve",
    ] {
        assert!(destroys(command, root).is_some(), "{command}");
    }
    for command in [
        "rm -rf target/debug",
        "rm -rf ../other",
        "rm -rf /home/me/work/proj/target",
        "rm -rf $TMPDIR/x",
        "rm x",
        "git push",
        "git clean -n",
        "git stash",
        "git stash pop",
        "git reset HEAD x",
        "git restore --staged x",
        "git checkout main",
        "git checkout -b x origin/main",
        "git checkout -",
        "git reset --soft HEAD",
        "git read-tree HEAD",
        "rm -rf gitignore",
        "cargo clean",
        "ls /",
    ] {
        assert_eq!(destroys(command, root), None, "{command}");
    }
}

#[test]
fn attack_22_the_root_is_known_by_any_of_its_names() {
    let root = Path::new("/home/me/work/proj");
    for command in [
        "cd ..; rm -rf proj",
        "cd / && rm -rf home/me/work/proj",
        "cd /home && rm -rf me/work",
        "cd; rm -rf work/proj/",
        "(cd sub; rm -rf ../../proj)",
        "cd -- .. && rm -rf -- p*",
        "cd .. && rm -rf ./pro?",
        "cd .. && rm -rf {x,proj}",
        "c\\d ..; rm -rf proj/.",
        "pushd .. && rm -rf proj/*",
        "env -C .. rm -rf proj",
        "env --chdir=.. rm -rf proj",
        "sh -c 'cd ..; rm -rf proj'",
        "D=cd; $D ..; rm -rf proj",
        "rm -rf \"$PWD/../proj\"",
        "rm -rf src/$X",
        "rm -rf `pwd`/",
        "rm -rf ../$(basename x)",
        "rm -rf ?*",
        "rm -rf [a-z]*",
        "rm -rf ./?*/",
        "rm -rf .[!.]*",
        "rm -rf {*,.*}",
        "rm -rf ../pr*",
        "rm -rf ../[p]roj",
        "rm -rf ../{a,pro}*",
        "rm -rf ~/work/proj",
        "rm -rf .g?t",
        "rm -rf {}/*",
        "rm -rf {1..3}",
        "TMPDIR=..; rm -rf $TMPDIR/proj",
        "rm -rf $TMPDIR/../proj",
        "rm -rf $TMPDIR/$X",
        "echo \u{a0}; git stash drop",
    ] {
        assert!(destroys(command, root).is_some(), "{command}");
    }
    for command in [
        "cd sub && rm -rf target",
        "cd sub && rm -rf ./build ../dist",
        "rm -rf build/*",
        "rm -rf src/[a-z]*.o",
        "rm -rf *.o",
        "rm -rf proj",
        "rm -rf {build,dist}",
        "rm -rf build/{a,b}/*",
        "rm -rf ~/.cache/thing",
        "rm -rf ${TMPDIR}/x $TMPDIR/y/*",
        "rm -rf .gitx a.git",
        "cd sub && make",
        "rm *.o",
        "rm -f \"$x\"",
    ] {
        assert_eq!(destroys(command, root), None, "{command}");
    }
}

#[test]
fn attack_22_what_git_is_told_by_settings_patterns_and_aliases_destroys_too() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    std::fs::create_dir_all(root.join(".git/refs")).unwrap();
    std::fs::create_dir_all(root.join(".git/objects")).unwrap();
    std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let settings = "[alias]\n\tco = checkout\n\twipe = reset --hard\n\tst = status -s\n\tsh = !git stash drop\n\tagain = wipe\n\tfine = !echo\n\tround = round\n";
    std::fs::write(root.join(".git/config"), settings).unwrap();
    for command in [
        "git -c clean.requireForce=false clean -dxq",
        "git clean -dx",
        "git clean -d -e -n",
        "git clean -dxe -n",
        "git clean -n --no-dry-run",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.zz GIT_CONFIG_VALUE_0='reset --hard' git zz",
        "git -c include.path=x zz",
        "git clean -denode_modules",
        "git clean -- -n",
        "touch -- --hard; git reset --h*",
        "git reset ?-hard",
        "git stash dr?p",
        "git st?sh drop",
        "git $V drop",
        "git co .",
        "git CO -- x",
        "git wipe",
        "git -C . wipe",
        "git sh",
        "git again HEAD",
        "git round",
        "sh -c 'git wipe'",
        "cd sub && git other",
        "git branch -f main x",
        "/usr/lib/git-core/git-reset --hard",
    ] {
        assert!(destroys(command, root).is_some(), "{command}");
    }
    for command in [
        "git clean -n",
        "git clean -dxn",
        "git clean --dry-run -x",
        "git st",
        "git fine",
        "git co main",
        "git other",
        "git lfs pull",
        "cd sub && git status && git commit -m 'git is good'",
        "git branch --list feat/*",
        "git add *.rs",
        "git diff -- *.rs",
        "git stash list",
        "git checkout -b x",
        "git log --grep '[a-z]*'",
        "git status",
    ] {
        assert_eq!(destroys(command, root), None, "{command}");
    }
}

#[test]
fn attack_22_a_checkout_of_a_file_that_is_there_destroys() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("sub")).unwrap();
    std::fs::write(root.path().join("sub/b.txt"), "").unwrap();
    for command in [
        "git checkout sub",
        "git checkout sub/b.txt",
        "git -C sub checkout b.txt",
        "git checkout --ours sub/b.txt",
    ] {
        assert!(destroys(command, root.path()).is_some(), "{command}");
    }
    for command in ["git checkout b.txt", "git checkout -b sub"] {
        assert_eq!(destroys(command, root.path()), None, "{command}");
    }
}

#[test]
fn attack_06_a_command_that_is_too_long_to_be_looked_through_is_asked_about() {
    let root = std::path::Path::new("/home/me/work/proj");
    let words = "a ".repeat(30_000);
    let begun = std::time::Instant::now();
    for command in [
        format!("env {words}"),
        format!("env {words} rm x"),
        format!("xargs {words}; ls"),
        format!("echo {}", "a ".repeat(5_000_000)),
    ] {
        assert_ne!(forbidden(&command), Action::Allow);
        assert_eq!(allowed(&command), Action::Ask);
        assert!(destroys(&command, root).is_some());
    }
    let inside = format!("python3 -c '{words}'");
    assert_eq!(forbidden(&inside), Action::Ask);
    assert_eq!(destroys(&inside, root), None);
    // Each of these is short enough.
    let (few, quoted) = ("a ".repeat(990), "'a '".repeat(990));
    let rules: Vec<Rule> = (0..9)
        .map(|at| rule(&format!("c{at} *"), Action::Ask))
        .collect();
    for one in [
        format!("xargs {few}; "),
        format!("xargs '{few}'; "),
        format!("a {quoted}; "),
    ] {
        for count in [2, 30, 60] {
            let all = one.repeat(count);
            assert_ne!(forbidden(&all), Action::Allow);
            let asked = decide(&rules.iter().collect::<Vec<_>>(), &all, Action::Allow);
            assert_eq!(asked, Action::Ask);
            let _ = destroys(&all, root);
        }
    }
    let braces = "rm -rf {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}c ".repeat(330);
    assert_eq!(destroys(&braces, root), None);
    let many = "env a b c d;".repeat(10_000);
    assert_ne!(forbidden(&many), Action::Allow);
    assert_eq!(destroys(&many, root), None);
    // Each place once more for each place takes minutes, and all of a machine's memory.
    assert!(begun.elapsed() < std::time::Duration::from_secs(20));
}

proptest! {
    #[test]
    fn anything_can_be_read(command in r#"[ a-c;|&$(){}<>`'"\\\n\r#=*!-]{0,60}"#) {
        let _ = (forbidden(&command), allowed(&command), destroys(&command, std::path::Path::new("/home/me/work/proj")));
    }

    #[test]
    fn what_is_joined_to_an_allowed_command_is_asked_about(joint in prop::sample::select(vec![";", "&&", "||", "|", "&", "\n"]), other in "x[b-z]{1,8}( [a-z-]{1,6}){0,3}") {
        prop_assert_eq!(allowed(&format!("cargo test {joint} {other}")), Action::Ask);
        prop_assert_eq!(allowed(&format!("{other} {joint} cargo test")), Action::Ask);
    }
}
