//! What stands behind a Tab: asked as the shells ask, and in those shells that are here.

use crate::harness::Workspace;
use crate::peers;

const NOTES: &str = "// AUTHOR: why?\nfn a() {}\n// AUTHOR: and\n// AGENT: so\nfn b() {}\n";

/// What is offered for the last of `words`, each with what stands beside it.
fn offered(workspace: &Workspace, words: &[&str]) -> Vec<(String, String)> {
    let output = workspace
        .postil()
        .env("POSTIL_COMPLETE", "fish")
        .args(["--", "postil"])
        .args(words)
        .output()
        .expect("postil runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let told = String::from_utf8(output.stdout).expect("text");
    let pairs = told.lines().map(|line| {
        let (value, about) = line.split_once('\t').unwrap_or((line, ""));
        (value.to_owned(), about.to_owned())
    });
    pairs.filter(|(value, _)| !value.starts_with('-')).collect()
}

fn values(workspace: &Workspace, words: &[&str]) -> Vec<String> {
    let all = offered(workspace, words).into_iter();
    all.map(|(value, _)| value).collect()
}

#[test]
fn threads_runs_tools_and_files_are_offered_where_they_may_stand() {
    let workspace = Workspace::new();
    workspace.write("src/a.rs", NOTES);
    let threads = offered(&workspace, &["say", ""]);
    let about: Vec<&str> = threads.iter().map(|(_, about)| about.as_str()).collect();
    assert_eq!(about, ["src/a.rs:1 why?", "src/a.rs:3 so"]);
    let (first, _) = &threads[0];
    let only = std::slice::from_ref(first);
    assert_eq!(values(&workspace, &["dismiss", &first[..6]]), only);
    // An agent answers what waits for one, and with `--all` what is in a file or folder.
    assert_eq!(values(&workspace, &["reply", &first[..6]]), only);
    let all = values(&workspace, &["reply", ""]);
    assert!(
        all.starts_with(only) && all.ends_with(&["src/".to_owned()]),
        "{all:?}"
    );
    assert_eq!(
        values(&workspace, &["reply", "--all", "src/"]),
        ["src/a.rs"]
    );
    // Of another workspace, from anywhere.
    let other = Workspace::new();
    let root = workspace.root().to_str().expect("a path").to_owned();
    assert!(values(&other, &["say", ""]).is_empty());
    assert_eq!(values(&other, &["-C", &root, "say", ""]).len(), 2);
    for joined in [format!("-C{root}"), format!("--workspace={root}")] {
        assert_eq!(values(&other, &[&joined, "say", ""]).len(), 2, "{joined}");
    }
    other.write("../home/there/a.rs", NOTES);
    assert_eq!(values(&other, &["-C", "~/there", "say", ""]).len(), 2);

    let made = workspace.postil().args(["reply", first, "--yes"]).output();
    drop(made.expect("postil runs"));
    let runs = offered(&workspace, &["undo", ""]);
    assert!(
        runs.len() == 1 && runs[0].1.contains("src/a.rs"),
        "{runs:?}"
    );
    // A tool's call, the newest run, stands behind those of threads and says what it was.
    let trusted = workspace.postil().args(["trust", "--yes"]).output();
    drop(trusted.expect("postil runs"));
    let called = [
        "tools",
        "call",
        "file_write",
        r#"{"path":"n.rs","content":"x"}"#,
    ];
    let called = workspace.postil().args(called).output();
    drop(called.expect("postil runs"));
    let runs = offered(&workspace, &["undo", ""]);
    let about: Vec<&str> = runs.iter().map(|(_, about)| about.as_str()).collect();
    assert!(
        about.len() == 2 && about[0].contains("src/a.rs") && about[1].contains("postil tools call"),
        "{runs:?}"
    );
    let listed = workspace.postil().args(["workflow", "list"]).output();
    let listed = listed.expect("postil runs").stdout;
    let listed = String::from_utf8_lossy(&listed);
    assert!(
        listed.contains("  no thread  postil tools call  "),
        "{listed}"
    );
    assert_eq!(
        values(&workspace, &["workflow", "list", "--status", "c"]),
        ["completed", "cancelled"]
    );
    let tools = values(&workspace, &["tools", "call", "file_"]);
    assert!(tools.contains(&"file_edit".to_owned()), "{tools:?}");
    workspace.configure("[models.\"ollama/m:8b\"]\ncontextWindow = 8000\n");
    for words in [
        &["model", ""][..],
        &["reply", "--model", ""],
        &["reply", "--agent", ""],
    ] {
        let models = offered(&workspace, words);
        let (first, about) = models.first().expect("a model");
        assert_eq!(
            (&**first, &**about),
            ("ollama/m:8b", "your settings name it")
        );
        assert!(
            models.iter().any(|(name, _)| name == "offline"),
            "{models:?}"
        );
    }
    assert_eq!(values(&workspace, &["why", "sr"]), ["src/"]);
    assert!(values(&workspace, &["comp"]).contains(&"completions".to_owned()));
}

#[test]
fn the_shells_that_are_here_offer_what_postil_tells() {
    let workspace = Workspace::new();
    workspace.write("a.rs", NOTES);
    let first = &values(&workspace, &["say", ""])[0];
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_postil"));
    let folder = program.parent().expect("a folder").display();
    let bash =
        "eval \"$(postil completions bash)\"; COMP_WORDS=(postil say ''); COMP_CWORD=2; COMP_TYPE=9
_clap_complete_postil postil '' say 2>&1; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let fish = "postil completions fish | source; complete -C 'postil say '";
    // As `fpath` finds it: what zsh would show is taken from what it is given to show.
    let zsh = "function compdef { }; function _describe { print -l ${(P)3} }; mkdir -p f; postil completions zsh >f/_postil
fpath=($PWD/f $fpath); autoload -Uz _postil; words=(postil say ''); CURRENT=3; _postil";
    for (shell, script) in [("bash", bash), ("fish", fish), ("zsh", zsh)] {
        if !peers::on_path(shell) {
            continue;
        }
        let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
        let output = workspace
            .command(shell)
            .args(["-c", script])
            .env("PATH", path)
            .output()
            .expect("the shell runs");
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.lines().any(|line| line.starts_with(first.as_str())),
            "{shell}: {said}{errors}"
        );
    }
}

/// What stands on the line of a zsh on a terminal after a Tab.
fn completed_by_zsh(workspace: &Workspace, typed: &str) -> String {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_postil"));
    let folder = program.parent().expect("a folder").display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let script = r#"zmodload zsh/zpty
zpty -b z 'TERM=vt100 zsh -f -i'
zpty -w z 'autoload -Uz compinit; compinit -u -D; source <(postil completions zsh)'
zpty -w z 'shown() { zle complete-word; print -r -- "<[$BUFFER]>"; zle kill-buffer; }; zle -N shown; bindkey "^T" shown'
zpty -w z "print -r -- REA''DY"
zpty -r z out '*READY*'
zpty -n -w z "$TYPED"$'\x14'
zpty -r z out '*\]>*'
out=${out##*<\[}
print -r -- "${out%%\]>*}"
zpty -d z"#;
    let mut shell = workspace.command("timeout");
    shell.args(["30", "zsh", "-f", "-c", script]);
    let output = shell.env("PATH", path).env("TYPED", typed).output();
    let output = output.expect("zsh runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{typed}: {output:?}");
    said.trim_end_matches('\n').to_owned()
}

/// It alone knows what a home, a variable and an open quote stand for.
#[test]
fn zsh_completes_a_path_as_it_is_typed() {
    if !peers::on_path("zsh") || !peers::on_path("timeout") {
        return;
    }
    let workspace = Workspace::new();
    workspace.write("../home/pp/a.py", NOTES);
    workspace.write("sp ace/c.py", NOTES);
    workspace.write("sub/d.py", NOTES);
    for (typed, completed) in [
        ("postil check ~/pp/a", "postil check ~/pp/a.py "),
        ("postil -C ~/p", "postil -C ~/pp/"),
        ("postil check $HOME/pp/a", "postil check $HOME/pp/a.py "),
        ("postil check 'sp a", "postil check 'sp ace/"),
        ("postil check sp", r"postil check sp\ ace/"),
        ("postil check sub/", "postil check sub/d.py "),
        // What is no name of a file is postil's to know.
        ("postil che", "postil check "),
    ] {
        assert_eq!(completed_by_zsh(&workspace, typed), completed, "{typed}");
    }
}

/// What bash puts behind the words, the one at `at` as it is typed.
fn put_by_bash(workspace: &Workspace, words: &str, at: usize, typed: &str) -> String {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_postil"));
    let folder = program.parent().expect("a folder").display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let script = format!(
        "eval \"$(postil completions bash)\"; complete -p postil | grep -q ' -F _postil ' || exit 1
compopt() {{ if [[ $2 == filenames ]]; then echo names of files:; fi; }}
COMP_WORDS=({words}); COMP_CWORD={at}; COMP_TYPE=9; _postil postil '{typed}' ''; echo \"${{COMPREPLY[@]}}\""
    );
    let output = workspace
        .command("bash")
        .args(["-c", &script])
        .env("PATH", &path)
        .output()
        .expect("bash runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{words}: {output:?}");
    said.trim().replace('\n', " ")
}

/// bash has ended a word at the colon, and takes what is put behind it.
#[test]
fn bash_completes_a_name_with_a_colon_in_it() {
    if !peers::on_path("bash") {
        return;
    }
    let workspace = Workspace::new();
    workspace.configure(
        "[models.\"ollama/m:8b\"]\ncontextWindow = 8000\n[models.\"ollama/m:9b\"]\ncontextWindow = 8000\n",
    );
    for (words, at, typed, put) in [
        (
            "postil model ollama/",
            2,
            "ollama/",
            "ollama/m:8b ollama/m:9b",
        ),
        ("postil model ollama/m :", 3, "", "8b 9b"),
        ("postil model ollama/m : 9", 4, "9", "9b"),
        ("postil reply --model = ollama/m : 8", 6, "8", "8b"),
        // Of somebody who took the colon out of COMP_WORDBREAKS.
        ("postil model ollama/m:9", 2, "ollama/m:9", "ollama/m:9b"),
    ] {
        assert_eq!(put_by_bash(&workspace, words, at, typed), put, "{words}");
    }
}

/// It hands over what escapes a blank, and quotes what it puts where that is said to be the name of a file.
#[test]
fn bash_completes_a_name_that_needs_quotes() {
    if !peers::on_path("bash") {
        return;
    }
    let workspace = Workspace::new();
    workspace.write("sub dir/a b.rs", NOTES);
    workspace.write("it's.rs", NOTES);
    // No name of a file where a command stands.
    workspace.write("check/a.rs", NOTES);
    let id = &values(&workspace, &["-C", "sub dir", "say", ""])[0];
    let within = format!(r"postil -C 'sub\ dir' say {}", &id[..6]);
    for (words, at, typed, put) in [
        ("postil check it", 2, "it", "names of files: it's.rs"),
        (
            r"postil check 'sub\ '",
            2,
            r"sub\ ",
            // Ended with a slash by bash.
            "names of files: sub dir",
        ),
        (within.as_str(), 4, &id[..6], id.as_str()),
        ("postil che", 1, "che", "check"),
    ] {
        assert_eq!(put_by_bash(&workspace, words, at, typed), put, "{words}");
    }
}

/// It hands a word over as it is typed, with what it is quoted by.
#[test]
fn fish_completes_a_path_as_it_is_typed() {
    if !peers::on_path("fish") {
        return;
    }
    let workspace = Workspace::new();
    workspace.write("src dir/a b.rs", NOTES);
    workspace.write("w/it's.rs", NOTES);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_postil"));
    let folder = program.parent().expect("a folder").display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    for (typed, offered) in [
        ("postil threads sr", "src dir/"),
        (r"postil threads src\ d", "src dir/"),
        ("postil threads \"src d", "src dir/"),
        ("postil threads 'src d", "src dir/"),
        (r"postil threads src\ dir/a\ ", "src dir/a b.rs"),
        ("postil threads \"src dir/a b", "src dir/a b.rs"),
        (r"postil check w/it\'", "w/it's.rs"),
        (r"postil check 'w/it\'s", "w/it's.rs"),
    ] {
        let script = "postil completions fish | source; complete -C $argv[1]";
        let mut shell = workspace.command("fish");
        shell.args(["-c", script, typed]).env("PATH", &path);
        let output = shell.output().expect("fish runs");
        let said = String::from_utf8_lossy(&output.stdout);
        let first = said.lines().next().unwrap_or_default();
        assert_eq!(first, offered, "{typed}: {output:?}");
    }
}
