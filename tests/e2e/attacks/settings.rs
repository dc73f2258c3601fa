//! Attacks 3, 4 and 16: git's settings in places that git alone takes for such, and programs that read them do not.

use super::configuration::make_executable;
use super::*;

const HOOKS: &str = "[core]\n\thooksPath = tools/h\n";
const BY_REMOTE: &str = "[includeIf \"hasconfig:remote.*.url:https://example.org/**\"]\n\tpath = ";

type Env = Vec<(&'static str, String)>;

/// Has git look for hooks in `tools/h`, by settings that stand somewhere.
struct Somewhere {
    name: &'static str,
    set: fn(&Ground) -> Env,
    /// Files that are asked about beside the hooks.
    guarded: &'static [&'static str],
}

const SOMEWHERE: &[Somewhere] = &[
    Somewhere {
        name: "a condition of the repository",
        set: |ground| {
            by_remote(ground);
            ground.workspace.write("team.gitconfig", HOOKS);
            Env::new()
        },
        guarded: &["team.gitconfig"],
    },
    Somewhere {
        name: "the same in another user's repository",
        set: |ground| {
            by_remote(ground);
            ground.workspace.write("team.gitconfig", HOOKS);
            vec![("GIT_TEST_ASSUME_DIFFERENT_OWNER", String::from("1"))]
        },
        guarded: &["team.gitconfig"],
    },
    Somewhere {
        name: "a condition of the user",
        set: |ground| {
            remote(ground);
            add(
                &ground.base().join("home/.gitconfig"),
                &format!("{BY_REMOTE}~/.gitconfig-work\n"),
            );
            add(&ground.base().join("home/.gitconfig-work"), HOOKS);
            Env::new()
        },
        guarded: &[],
    },
    Somewhere {
        name: "a file of the user that the environment names",
        set: |ground| {
            let file = ground.base().join("home/settings");
            add(&file, HOOKS);
            vec![("GIT_CONFIG_GLOBAL", file.display().to_string())]
        },
        guarded: &[],
    },
    Somewhere {
        name: "one in the work tree",
        set: |ground| {
            let file = ground.workspace.write("settings", HOOKS);
            vec![("GIT_CONFIG_GLOBAL", file.display().to_string())]
        },
        guarded: &["settings"],
    },
    Somewhere {
        name: "another file of the system",
        set: |ground| {
            let file = ground.base().join("home/settings");
            add(&file, HOOKS);
            vec![
                ("GIT_CONFIG_SYSTEM", file.display().to_string()),
                ("GIT_CONFIG_NOSYSTEM", String::from("0")),
            ]
        },
        guarded: &[],
    },
    Somewhere {
        name: "the environment",
        set: |_| {
            let pair = |name, value: &str| (name, value.to_owned());
            vec![
                pair("GIT_CONFIG_COUNT", "1"),
                pair("GIT_CONFIG_KEY_0", "core.hooksPath"),
                pair("GIT_CONFIG_VALUE_0", "tools/h"),
            ]
        },
        guarded: &[],
    },
];

fn add(file: &Path, text: &str) {
    let old = std::fs::read_to_string(file).unwrap_or_default();
    std::fs::write(file, old + text).expect("written");
}

fn remote(ground: &Ground) {
    let w = &ground.workspace;
    w.git(&["remote", "add", "origin", "https://example.org/x"]);
}

fn by_remote(ground: &Ground) {
    remote(ground);
    let config = ground.workspace.path(".git/config");
    add(&config, &format!("{BY_REMOTE}../team.gitconfig\n"));
}

/// A repository whose [`FILE`] has a thread that is not committed; nobody is asked but about what is guarded.
fn repository() -> Ground {
    let ground = Ground::new(Vec::new());
    let w = &ground.workspace;
    w.configure("[permissions]\ndefault = \"allow\"\n");
    w.git(&["init", "-q"]);
    w.git(&["add", "-A"]);
    w.git(&["commit", "-qm", "First"]);
    w.write(FILE, format!("// AUTHOR: why?\n{CODE}// more\n"));
    ground
}

impl Ground {
    fn hook(&self, path: &str, does: &str) {
        make_executable(&self.workspace.write(path, format!("#!/bin/sh\n{does}\n")));
    }

    /// What `postil ARGS` says with this environment.
    fn said(&self, args: &[&str], env: &Env) -> String {
        let out = self.postil(args).envs(env.iter().cloned()).output();
        all(&out.expect("timeout of coreutils runs"))
    }

    #[track_caller]
    fn is_asked_about(&self, path: &str, env: &Env, after: &str) {
        let patch = format!("--- a/{path}\n+++ b/{path}\n@@ -1,1 +1,2 @@\n+# more\n");
        let file = self.workspace.path(path);
        let before = std::fs::read_to_string(&file).ok();
        let (tool, input) = match &before {
            Some(text) => {
                let first = text.lines().next().unwrap_or_default();
                (
                    "patch_apply",
                    json!({"patch": format!("{patch} {first}\n")}),
                )
            }
            None => ("file_write", json!({"path": path, "content": "x"})),
        };
        let said = self.said(&["tools", "call", tool, &input.to_string()], env);
        assert!(
            said.contains("Nobody answered") && said.contains("belongs to version control"),
            "{after}, {path}: {said}"
        );
        assert_eq!(std::fs::read_to_string(&file).ok(), before, "{after}");
    }
}

#[test]
fn attack_03_hooks_are_part_of_what_is_trusted_wherever_git_has_its_settings_from() {
    for place in SOMEWHERE {
        let ground = repository();
        let env = (place.set)(&ground);
        ground.hook("tools/h/pre-commit", "exit 0");
        let said = ground.said(&["trust"], &env);
        assert!(said.contains("`pre-commit`"), "{}: {said}", place.name);
        ground.said(&["trust", "--yes"], &env);
        ground.hook("tools/h/pre-commit", "exit 1");
        let said = ground.said(&["doctor"], &env);
        assert!(
            said.contains("not trusted any more: `tools/h/pre-commit` is another"),
            "{}: {said}",
            place.name
        );
    }
}

#[test]
fn attack_04_hooks_are_asked_about_each_time_wherever_git_has_its_settings_from() {
    for place in SOMEWHERE {
        let ground = repository();
        let env = (place.set)(&ground);
        ground.hook("tools/h/pre-commit", "exit 0");
        ground.said(&["trust", "--yes"], &env);
        for path in ["tools/h/pre-commit", "tools/h/commit-msg"] {
            ground.is_asked_about(path, &env, place.name);
        }
        for path in place.guarded {
            ground.is_asked_about(path, &env, place.name);
        }
        let other = json!({"path": "tools/other", "content": "x"}).to_string();
        let said = ground.said(&["tools", "call", "file_write", &other], &env);
        assert!(said.starts_with("Made "), "{}: {said}", place.name);
    }
}

/// As a pull brings it, also where the file was not there before.
#[test]
fn attack_03_what_an_included_file_gains_is_asked_about_again() {
    for before in [Some("[user]\n\tname = Team\n"), None] {
        let ground = repository();
        let w = &ground.workspace;
        by_remote(&ground);
        if let Some(text) = before {
            w.write("team.gitconfig", text);
        }
        ground.trust();
        w.write("team.gitconfig", HOOKS);
        ground.hook("tools/h/pre-commit", "touch RAN");
        let said = all(&ground.run(&["clear", FILE]));
        assert!(!w.path("RAN").exists(), "{said}");
        assert!(
            said.contains("`git's setting core.hookspath` is new")
                && said.contains("`tools/h/pre-commit` is new"),
            "{said}"
        );
    }
}

/// Whoever includes a file of the work tree, what it says came with it.
#[test]
fn attack_03_settings_in_the_work_tree_are_the_repositorys_whoever_names_them() {
    let ground = repository();
    let w = &ground.workspace;
    let file = w.path("team.gitconfig");
    add(
        &ground.base().join("home/.gitconfig"),
        &format!("[include]\n\tpath = {}\n", file.display()),
    );
    ground.trust();
    ground.is_asked_about("team.gitconfig", &Env::new(), "not there yet");
    w.write("team.gitconfig", "[gpg]\n\tprogram = ./sign\n");
    let said = all(&ground.run(&["trust"]));
    assert!(
        said.contains("`git's setting gpg.program` is new"),
        "{said}"
    );
    ground.trust();
    ground.is_asked_about("team.gitconfig", &Env::new(), "there");
}

#[test]
fn attack_04_a_file_of_attributes_is_guarded_whatever_its_name() {
    let ground = repository();
    let w = &ground.workspace;
    w.git(&["config", "core.attributesFile", "tools/attributes"]);
    ground.trust();
    ground.is_asked_about("tools/attributes", &Env::new(), "an attributes file");
}

/// The way there goes through a folder that anybody may make.
#[test]
fn attack_04_hooks_that_are_not_reached_yet_are_guarded() {
    let ground = repository();
    let w = &ground.workspace;
    w.git(&["config", "core.hooksPath", "not/yet/../../tools/h"]);
    ground.hook("tools/h/pre-commit", "exit 0");
    ground.trust();
    ground.is_asked_about("tools/h/pre-commit", &Env::new(), "through no folder");
}

/// `git config` reads the file that it names, and nothing else of git does.
#[test]
fn attack_16_a_filter_runs_nothing_where_the_environment_hides_it_from_git_config() {
    let ground = repository();
    let w = &ground.workspace;
    let mark = ground.base().join("CANARY");
    let clean = format!("touch {}; cat", mark.display());
    w.git(&["config", "filter.f.clean", &clean]);
    w.write(".gitattributes", "*.rs filter=f\n");
    let env = vec![("GIT_CONFIG", String::from("/dev/null"))];
    let said = ground.said(&["clear", FILE], &env);
    assert!(!mark.exists(), "{said}");
    assert!(said.contains("needs the filter `f`"), "{said}");
}
