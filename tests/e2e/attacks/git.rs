//! Attack 16: git runs what a repository's configuration names. No call of ours may, in a workspace that is not trusted.

use super::*;

/// Every place in git's configuration and attributes that names a program; `@` stands for it.
const CONFIG: &str = r#"
[core]
	repositoryformatversion = 0
	bare = false
	fsmonitor = @ fsmonitor
	hooksPath = .hooks
	sshCommand = @ ssh
	editor = @ editor
	pager = @ pager
	askPass = @
	gitProxy = @
	alternateRefsCommand = @ alternates
	untrackedCache = true
	attributesFile = .attributes
[sequence]
	editor = @ sequence
[pager]
	log = @ pager-log
	diff = @ pager-diff
	show = @ pager-show
	status = @ pager-status
	blame = @ pager-blame
[credential]
	helper = !@ credential
[credential "https://example.invalid"]
	helper = !@ credential-url
[gpg]
	program = @
	format = openpgp
[gpg "ssh"]
	program = @
	defaultKeyCommand = @ key
[gpg "x509"]
	program = @
[user]
	signingKey = ABCD
[commit]
	gpgSign = true
	verbose = true
[tag]
	gpgSign = true
[log]
	showSignature = true
[diff]
	external = @ diff-external
	renames = true
[diff "canary"]
	textconv = @ textconv
	command = @ diff-command
	cachetextconv = true
[diff "text.conv"]
	textconv = @ textconv-dotted
[merge]
	tool = canary
[merge "canary"]
	driver = @ merge-driver
	name = canary
[mergetool "canary"]
	cmd = @ mergetool
[difftool "canary"]
	cmd = @ difftool
[filter "canary"]
	clean = @ clean
	smudge = @ smudge
	required = true
[filter "canary.process"]
	process = @ process
	required = true
[filter "canary=b"]
	clean = @ clean-equals
[hook "canary"]
	event = pre-commit
	event = commit-msg
	event = post-commit
	event = post-index-change
	event = reference-transaction
	command = @ hook
[interactive]
	diffFilter = @ diffFilter
[alias]
	hook = !@ alias
	status = !@ alias
	st = !@ alias
	rev-parse = !@ alias
	commit = !@ alias
	diff = !@ alias
	log = !@ alias
[submodule "sub"]
	path = sub
	url = ext::@ ext
	update = !@ submodule
	active = true
[submodule]
	recurse = true
[status]
	submoduleSummary = true
[protocol]
	allow = always
[protocol "ext"]
	allow = always
[remote "origin"]
	url = ext::@ promisor
	uploadpack = @ uploadpack
	promisor = true
	partialclonefilter = blob:none
	vcs = canary
[extensions]
	worktreeConfig = true
[gc]
	auto = 1
	autoDetach = false
[maintenance]
	auto = true
[trailer "canary"]
	command = @ trailer
	cmd = @ trailer
	ifmissing = add
[uploadpack]
	packObjectsHook = @ pack
[receive]
	procReceiveRefs = refs
[sendemail]
	smtpServer = @
[browser "canary"]
	cmd = @ browser
[web]
	browser = canary
[guitool "canary"]
	cmd = @ gui
[man]
	viewer = canary
[man "canary"]
	cmd = @ man
[instaweb]
	httpd = @
[trace2]
	eventTarget = af_unix:/nowhere
[include]
	path = more.config
"#;
const HOOKS: &[&str] = &[
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-checkout",
    "post-merge",
    "post-rewrite",
    "pre-auto-gc",
    "post-index-change",
    "reference-transaction",
    "fsmonitor-watchman",
    "pre-push",
    "pre-rebase",
    "applypatch-msg",
    "post-applypatch",
    "update",
    "pre-receive",
    "proc-receive",
    "push-to-checkout",
];
const ATTRIBUTES: &str = "*.rs filter=canary diff=canary merge=canary\n*.py diff=canary merge=canary\n*.md filter=canary.process diff=text.conv\n*.eq filter=canary=b\n";
/// Names of settings are bytes, those of filters too.
const NO_UTF_8: (&[u8], &[u8]) = (
    b"[filter \"\xff\"]\n\tclean = @ clean-bytes\n",
    b"*.ff filter=\xff\n",
);

/// A clone that would run a program wherever git can be made to, and the program's mark.
struct Hostile {
    ground: Ground,
    mark: PathBuf,
}

impl Hostile {
    fn new(script: Vec<Step>) -> Self {
        let ground = Ground::new(script);
        let w = &ground.workspace;
        let mark = ground.base().join("CANARY");
        let canary = ground.base().join("canary");
        let body = format!(
            "#!/bin/sh\necho \"$0 $*\" >> '{}'\nexit 1\n",
            mark.display()
        );
        executable(&canary, &body);
        w.write("README.md", "# A project\n\n<!-- AUTHOR: and this? -->\n");
        w.write("src/b.rs", "// AUTHOR: who wrote this?\nfn b() {}\n");
        w.write("c.py", "# AUTHOR: and who this?\nc = 1\n");
        w.write("a.eq", "e\n");
        w.write("a.ff", "f\n");
        w.git(&["init", "-q"]);
        w.git(&["add", "-A"]);
        w.git(&["commit", "-qm", "First"]);
        w.write(FILE, format!("{CODE}// more\n"));
        w.git(&["commit", "-qam", "Second"]);
        // A gitlink, and a bare repository among the files, with a configuration of its own.
        let commit = w.git(&["rev-parse", "HEAD"]);
        let link = format!("160000,{},sub", commit.trim());
        w.git(&["update-index", "--add", "--cacheinfo", &link]);
        w.git(&["commit", "-qm", "Third"]);
        w.write(
            ".gitmodules",
            "[submodule \"sub\"]\n\tpath = sub\n\turl = ext::sh -c canary\n\tupdate = !canary\n",
        );
        // As many loose objects in the folder that git counts as have a commit clear up.
        for n in [11, 258, 558] {
            w.write("loose", format!("loose {n}\n"));
            let name = w.git(&["hash-object", "-w", "loose"]);
            assert!(name.starts_with("17"), "{name}");
        }
        std::fs::remove_file(w.path("loose")).expect("removed");
        w.git(&["init", "-q", "--bare", "embedded"]);
        let at = canary.display().to_string();
        let config = CONFIG.replace('@', &at);
        let (named, attributes) = NO_UTF_8;
        let (head, tail) = named.split_at(named.iter().position(|b| *b == b'@').expect("a mark"));
        let no_utf_8 = [head, at.as_bytes(), &tail[1..]].concat();
        let bytes = [config.as_bytes(), &no_utf_8].concat();
        let bare = config.replace("bare = false", "bare = true\n\tworktree = .");
        w.write("embedded/config", bare);
        w.write("embedded/src.rs", "// AUTHOR: why?\nfn e() {}\n");
        w.write(".git/config", &bytes);
        w.write(".git/config.worktree", &bytes);
        w.write(
            ".git/more.config",
            format!("[core]\n\tfsmonitor = {at} included\n"),
        );
        let attributes = [ATTRIBUTES.as_bytes(), attributes].concat();
        for file in [".gitattributes", ".attributes", ".git/info/attributes"] {
            w.write(file, &attributes);
        }
        // Not as git saw it, so that whatever looks whether it is another reads it by its filter.
        for file in ["a.eq", "a.ff"] {
            let file = std::fs::File::options().write(true).open(w.path(file));
            let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1);
            file.and_then(|file| file.set_modified(then)).expect("set");
        }
        for hook in HOOKS {
            for folder in [".hooks", ".git/hooks", "embedded/hooks"] {
                executable(&w.path(&format!("{folder}/{hook}")), &body);
            }
        }
        for name in [
            "git",
            "git-remote-canary",
            "git-remote-ext",
            "ssh",
            "clangd",
        ] {
            executable(&w.path(name), &body);
        }
        let hostile = Self { ground, mark };
        hostile.unmarked("making it");
        hostile
    }

    /// Every blob of the history is gone, as in a partial clone.
    fn lose_objects(&self) {
        let w = &self.ground.workspace;
        let list = w
            .command("git")
            .args([
                "-c",
                "core.fsmonitor=false",
                "rev-list",
                "--objects",
                "HEAD",
            ])
            .output();
        let list = String::from_utf8(list.expect("git runs").stdout).expect("text");
        for line in list.lines().filter(|line| line.contains('.')) {
            let (a, b) = line[..40].split_at(2);
            std::fs::remove_file(w.path(&format!(".git/objects/{a}/{b}"))).expect("a loose object");
        }
    }

    #[track_caller]
    fn unmarked(&self, after: &str) {
        let ran = std::fs::read_to_string(&self.mark).unwrap_or_default();
        assert!(ran.is_empty(), "{after} ran:\n{ran}");
    }

    /// Whatever its exit status: nothing of the repository runs.
    #[track_caller]
    fn runs_nothing(&self, args: &[&str]) -> Output {
        let output = self.ground.run(args);
        self.unmarked(&format!("{args:?}"));
        output
    }
}

fn executable(path: &Path, body: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    std::fs::write(path, body).expect("written");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("executable");
}

fn thread_of(hostile: &Hostile, file: &str) -> String {
    let list: Value =
        serde_json::from_str(&hostile.ground.well(&["threads", "--json", file])).expect("JSON");
    list["threads"][0]["id"]
        .as_str()
        .expect("a thread")
        .to_owned()
}

#[test]
fn attack_16_the_canary_sings_where_git_is_let() {
    // Else the other tests of this attack would show nothing.
    let hostile = Hostile::new(vec![]);
    let git = |args: &[&str]| {
        let mut command = hostile.ground.workspace.command("git");
        let _ = command.args(args).stdin(Stdio::null()).output();
        std::fs::read_to_string(&hostile.mark).unwrap_or_default()
    };
    let ran = git(&["status"]);
    assert!(ran.contains("included"), "{ran}");
    hostile.ground.workspace.write("README.md", "# Another\n");
    // The monitor says that nothing changed, and is believed where the file is older than the last look; a filter that
    // fails for another file ends it.
    let ran = git(&["-c", "core.fsmonitor=false", "diff", "--", "README.md"]);
    assert!(ran.contains("process"), "{ran}");
    for (file, filter) in [("a.eq", "clean-equals"), ("a.ff", "clean-bytes")] {
        hostile.ground.workspace.write(file, "another\n");
        let ran = git(&["-c", "core.fsmonitor=false", "diff", "--", file]);
        assert!(ran.contains(filter), "{ran}");
    }
    let ran = git(&["gc", "--auto"]);
    assert!(ran.contains("pre-auto-gc"), "{ran}");
    let ran = git(&["blame", FILE]);
    assert!(ran.contains("textconv"), "{ran}");
    // What a partial clone has not is fetched when somebody looks at it, by a program that the clone names.
    hostile.lose_objects();
    let ran = git(&["cat-file", "-p", "HEAD:src/net.rs"]);
    assert!(ran.contains("promisor"), "{ran}");
}

#[test]
fn attack_16_nothing_is_fetched_for_what_a_partial_clone_has_not() {
    let hostile = Hostile::new(vec![Step::text("Seen.")]);
    let id = thread_of(&hostile, "src/b.rs");
    hostile.lose_objects();
    for args in [
        &["threads"][..],
        &["doctor"],
        &["reply", &id, "--model", "offline"],
        &["why", "src/net.rs:2"],
        &["clear", "c.py", "-m", "Cleared"],
        &["tools", "call", "git_status", "{}"],
    ] {
        hostile.runs_nothing(args);
    }
}

#[test]
fn attack_16_no_command_runs_what_a_repository_names_to_git() {
    let hostile = Hostile::new(vec![
        tool("git_status", json!({})),
        Step::text("Seen."),
        Step::text("Again."),
    ]);
    for args in [
        &["threads", "--json"][..],
        &["check"],
        &["doctor"],
        &["servers"],
        &["config", "show"],
        &["permissions"],
        &["trust"],
        &["process"],
        &["workflow", "list"],
        &["tools", "list"],
        &["tools", "call", "git_status", "{}"],
        &["tools", "call", "grep", r#"{"pattern":"fn"}"#],
        &["tools", "call", "glob", r#"{"pattern":"**/*"}"#],
        &["-C", "embedded", "threads", "--json"],
        &["-C", "embedded", "doctor"],
        &["-C", "src", "threads"],
    ] {
        hostile.runs_nothing(args);
    }
    let id = thread_of(&hostile, "src/b.rs");
    hostile.runs_nothing(&["reply", &id, "--model", "offline"]);
    hostile.runs_nothing(&["say", &id, "and why?"]);
    let output = hostile.runs_nothing(&["reply", &id]);
    assert_eq!(output.status.code(), Some(0), "{}", all(&output));
    hostile.runs_nothing(&["undo", &id]);
    hostile.runs_nothing(&["respond", &id, "So."]);
    let new = hostile.ground.ask("src/net.rs:1", "who wrote this?");
    hostile.runs_nothing(&["reply", &new, "--model", "offline"]);
    hostile.runs_nothing(&["dismiss", &new]);
    // By blame, which would show a file as its driver converts it.
    let output = hostile.runs_nothing(&["why", "src/net.rs:2"]);
    assert_eq!(output.status.code(), Some(0), "{}", all(&output));
    // Not committed: two files, each with a filter of its kind, without which they would not be what they are to be.
    for (file, filter) in [("src/b.rs", "`canary`"), ("README.md", "`canary.process`")] {
        let output = hostile.runs_nothing(&["clear", file, "-m", "Cleared"]);
        assert_eq!(output.status.code(), Some(1), "{}", all(&output));
        assert!(all(&output).contains(filter), "{}", all(&output));
    }
    // Committed: one that git knows, and one that it does not.
    let output = hostile.runs_nothing(&["clear", "c.py", "-m", "Cleared"]);
    assert_eq!(output.status.code(), Some(0), "{}", all(&output));
    // Nor is anything cleared up, which runs a program too.
    let packs = hostile.ground.workspace.path(".git/objects/pack");
    let packs = std::fs::read_dir(packs).map_or(0, Iterator::count);
    assert_eq!(packs, 0, "the repository was packed");
    hostile.ground.workspace.write("new.py", "n = 1\n");
    hostile.runs_nothing(&["new", "new.py:1", "commit file"]);
    hostile.runs_nothing(&["process"]);
    hostile.runs_nothing(&["-C", "embedded", "clear", "src.rs"]);
}

#[test]
fn attack_16_nor_does_an_editors_server() {
    let hostile = Hostile::new(vec![tool("git_status", json!({})), Step::text("Seen.")]);
    let mut editor = hostile.ground.editor(false);
    editor.open(FILE);
    editor.open("src/b.rs");
    editor.wait_codes("src/b.rs", &["pending"]);
    hostile.unmarked("opening");
    let position = json!({"line": 1, "character": 4});
    let params = json!({"textDocument": {"uri": editor.uri("src/b.rs")}, "position": position});
    for method in ["hover", "definition", "references", "completion"] {
        let _ = editor.request(&format!("textDocument/{method}"), params.clone());
        hostile.unmarked(method);
    }
    editor.state().choices = vec![String::from("Read-only this time")];
    editor
        .take_action("src/b.rs", 0, "Reply as agent")
        .expect("starts");
    editor.wait_text("src/b.rs", |text| text.contains("AGENT: Seen."));
    hostile.unmarked("a turn");
    let argument = json!({"uri": editor.uri("src/b.rs")});
    let refused = editor.command("postil.clearAndCommit", argument);
    assert!(
        format!("{refused:?}").contains("the filter `canary`"),
        "{refused:?}"
    );
    assert!(editor.text("src/b.rs").contains("AUTHOR"));
    editor.open("c.py");
    editor.wait_codes("c.py", &["pending"]);
    let argument = json!({"uri": editor.uri("c.py")});
    editor
        .command("postil.clearAndCommit", argument)
        .expect("cleared");
    editor.save("c.py");
    editor.wait_for("the commit", |_| {
        let head = std::fs::read(hostile.ground.workspace.path(".git/logs/HEAD")).ok()?;
        (head.iter().filter(|b| **b == b'\n').count() > 3).then_some(())
    });
    hostile.unmarked("a commit");
}

/// The repository's own word for where its work tree is.
#[test]
fn attack_16_a_repository_does_not_move_the_workspace() {
    let ground = Ground::new(vec![]);
    let w = &ground.workspace;
    w.git(&["init", "-q"]);
    w.write("a.txt", "own\n");
    let elsewhere = tempfile::tempdir().expect("a folder");
    std::fs::write(elsewhere.path().join("key"), "secret\n").expect("written");
    let name = elsewhere.path().to_str().expect("a name");
    w.git(&["config", "core.worktree", name]);
    let call =
        |tool: &str, input: Value| all(&ground.run(&["tools", "call", tool, &input.to_string()]));
    let read = call("file_read", json!({"path": "a.txt"}));
    assert!(read.contains("own"), "{read}");
    let read = call("file_read", json!({"path": "key"}));
    assert!(!read.contains("secret"), "{read}");
    let listed = call("list_files", json!({}));
    assert!(
        listed.contains("a.txt") && !listed.contains("key"),
        "{listed}"
    );
    let status = call("git_status", json!({}));
    assert!(
        status.contains("core.worktree") && !status.contains("key"),
        "{status}"
    );
}
