//! What commands can reach: nothing but the workspace. Attacks 7, 8, 22.

use super::*;

/// Python that says of a socket whether it was reached.
const TELL: &str = r#"
import socket
def tell(name, make):
    try:
        make()
        print(name, "reached")
    except OSError as e:
        print(name, "refused")
"#;

#[test]
fn a_command_works_in_the_workspace() {
    let run = [
        "pwd; echo one >&2; echo two; echo three > new.txt; cat new.txt; exit 3",
        r"printf 'a\377\033[31mb\n'; cat; echo x > $TMPDIR/x; cat $TMPDIR/x",
        "git init -q . && git add -A && git -c user.name=a -c user.email=b commit -qm x && git log --format=%s",
        "true",
    ];
    in_each(&run, |bench, _, told| {
        let root = bench.workspace.root().display().to_string();
        assert_eq!(
            told[0],
            format!("{root}\none\ntwo\nthree\n(exit code: 3)\n")
        );
        assert_eq!(bench.workspace.read("new.txt"), "three\n");
        assert_eq!(told[1], "a\u{fffd}b\nx\n");
        // A repository that a command makes is set aside: what stands in it makes git run something.
        assert!(
            told[2].starts_with("x\n`.git` may not be made by a command"),
            "{}",
            told[2]
        );
        assert_eq!(told[3], "(no output)\n");
    });
}

#[test]
fn attack_07_a_command_cannot_write_outside() {
    let outside = folder("outside-");
    let victim = outside.path().join("victim.txt");
    write(&victim, "mine");
    let file = victim.display();
    let run = [
        &format!("echo x > {file}"),
        &format!("rm -f {file}"),
        &format!("ln -s {file} link && echo x >> link; ln {file} hard && echo x >> hard"),
        &format!("mv {file} ./moved"),
        &format!("truncate -s 0 {file}; chmod 777 {file}; touch -d 2001-01-01 {file}"),
        &python(&format!("import os; os.truncate(\"{file}\", 0)")),
        &format!(
            "mkdir {}/made; echo x > ~/made; echo x > ~/.bashrc; echo x > /etc/postil-was-here",
            outside.path().display()
        ),
        &format!(
            "cd /proc/self/root/{}; echo x > victim.txt",
            outside.path().display()
        ),
        "mount -t tmpfs none /mnt; unshare -Ur true; chroot / true; exit 0",
        // As root a command is the owner of what the kernel is told by. The same again does no harm.
        "cd /proc/sys/kernel; for f in core_pattern panic printk; do v=$(cat $f); echo \"$v\" > $f && echo written; done; true",
    ];
    let run: Vec<&str> = run.iter().map(|c| c.as_ref()).collect();
    in_each(&run, |bench, _, told| {
        assert_eq!(
            std::fs::read_to_string(&victim).unwrap(),
            "mine",
            "{told:#?}"
        );
        // Landlock knows no right for a file's times and mode; docs/sandbox.md says so.
        if bench.kind == Kind::Bubblewrap {
            let modified = std::fs::metadata(&victim).unwrap().modified().unwrap();
            assert!(
                modified.elapsed().unwrap() < Duration::from_secs(3600),
                "{told:#?}"
            );
        }
        assert_eq!(
            std::fs::read_dir(outside.path()).unwrap().count(),
            1,
            "{told:#?}"
        );
        for made in [".bashrc", "made"] {
            assert!(!bench.home.path().join(made).exists(), "{made}: {told:#?}");
        }
        assert!(!Path::new("/etc/postil-was-here").exists());
        assert!(!told[9].contains("written"), "{}", told[9]);
    });
}

#[test]
fn what_a_command_may_not_write_is_named_and_not_its_shell() {
    let run = ["ls; echo x > /etc/postil-was-here"];
    in_each(&run, |bench, _, told| {
        // Landlock's refusal is that of any file's mode.
        if bench.kind == Kind::Bubblewrap {
            let named = "(`/etc/postil-was-here` is outside of the workspace";
            assert!(told[0].contains(named), "{told:#?}");
        }
        assert!(
            !told.iter().any(|told| told.contains("(`/bin")),
            "{told:#?}"
        );
    });
}

#[test]
fn attack_07_a_command_reads_no_keys_and_nothing_of_ours() {
    let run = [
        "cat ~/.ssh/id_ed25519; cat ~/.aws/credentials; cat ~/.gnupg/private; cat ~/.netrc; cat ~/.config/gh/hosts.yml; cat ~/.cargo/credentials.toml",
        "cp -r ~/.ssh . ; tar cf - ~ 2>/dev/null | strings | grep canary; ln -s ~/.ssh keys; cat keys/*; cat /proc/self/root$HOME/.ssh/id_ed25519",
        // Where it could be: how long all of a machine's disk takes is its owner's business.
        "(find / -xdev -maxdepth 2; find ~ $XDG_DATA_HOME $XDG_CONFIG_HOME /tmp /run) 2>/dev/null | grep -E '(\\.db|/trust\\.json|/permissions\\.json)$' | grep postil | while read f; do head -c 20 \"$f\" 2>/dev/null && echo read; done; true",
        "ls -a $XDG_DATA_HOME/postil $XDG_CONFIG_HOME/postil; echo",
        "cat ~/notes.txt; ~/.cargo/bin/tool; grep -c token ~/.cargo/config",
        "cd; cat .cargo/config.toml .dotnet/corefx/cryptography/x509stores/my/a.pfx .local/share/uv/credentials/credentials.toml .opam/plugins/opam-publish/me.token .stack/upload/credentials.json",
    ];
    in_each(&run, |bench, _, told| {
        let data = bench.workspace.data();
        assert!(
            files(&data)
                .iter()
                .any(|f| f.extension().is_some_and(|e| e == "db")),
            "there is a database"
        );
        assert!(
            !told[2].contains("SQLite") && !told[2].contains("read"),
            "{}",
            told[2]
        );
        assert_eq!(told[4], "notes\na tool\n1\n", "what is no key can be read");
    });
}

/// Programs are told by variables where their keys lie; some of these variables are handed on, and all are the author's.
#[test]
fn attack_07_a_command_reads_no_keys_where_variables_say_that_they_lie() {
    let elsewhere = folder("elsewhere-");
    let at = |name: &str| elsewhere.path().join(name).to_string_lossy().into_owned();
    let files = [
        ("CARGO_HOME", "cargo", "cargo/credentials.toml"),
        ("KUBECONFIG", "kube/config:kube/more", "kube/config"),
        ("AWS_SHARED_CREDENTIALS_FILE", "aws", "aws"),
        ("AWS_CONFIG_FILE", "aws-config", "aws-config"),
        ("DOCKER_CONFIG", "docker", "docker/config.json"),
        ("NETRC", "netrc", "netrc"),
        ("NPM_CONFIG_USERCONFIG", "npmrc", "npmrc"),
        ("GNUPGHOME", "gnupg", "gnupg/private"),
    ];
    for (_, _, file) in files {
        let path = elsewhere.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write(&path, CANARY);
    }
    write(&elsewhere.path().join("kube/more"), CANARY);
    write(&elsewhere.path().join("cargo/tool"), "a tool\n");
    let mut run = format!("cat {} {}", at("kube/more"), at("cargo/tool"));
    for (_, _, file) in files {
        run.push_str(&format!(" {}", at(file)));
    }
    for kind in kinds() {
        let mut bench = Bench::new(kind, commands(&[&run, "cat $CARGO_HOME/tool 2> /dev/null"]));
        bench.more = files
            .iter()
            .map(|(name, value, _)| {
                let places: Vec<String> = value.split(':').map(at).collect();
                (*name, places.join(":"))
            })
            .collect();
        // Which switches a file off.
        bench
            .more
            .push(("GOOGLE_APPLICATION_CREDENTIALS", String::from("/dev/null")));
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        assert!(told[0].contains("a tool"), "{kind:?}: {told:#?}");
        assert_eq!(told[1], "a tool\n", "{kind:?}");
        bench.assert_no_canary(&editor);
    }
}

#[test]
fn a_folder_of_caches_that_the_author_names_is_where_it_was() {
    for kind in kinds() {
        for named in [true, false] {
            let names = if named { "['XDG_CACHE_HOME']" } else { "[]" };
            let settings =
                format!("[permissions]\ndefault = 'allow'\n[sandbox]\nenvironment = {names}\n");
            let run = ["echo $XDG_CACHE_HOME", "echo ${XDG_CACHE_HOME#$TMPDIR}"];
            let mut bench = Bench::with(kind, commands(&run), &settings);
            bench.more = vec![("XDG_CACHE_HOME", String::from("/the/authors"))];
            let mut editor = bench.editor();
            let told = bench.run(&mut editor);
            match named {
                true => assert_eq!(told[0], "/the/authors\n", "{kind:?}"),
                false => assert_eq!(told[1], "/cache\n", "{kind:?}"),
            }
        }
    }
}

/// Root reads them all the same; anybody else cannot, with a sandbox or without.
#[test]
fn attack_07_a_command_reads_no_passwords_and_keys_of_the_system() {
    let run = [
        "cat /etc/shadow /etc/shadow- /etc/gshadow | wc -c",
        "find /etc/ssl/private /etc/ssh -name '*key' -exec cat {} + | wc -c",
        "head -c 4 /etc/passwd; cat /etc/hosts > /dev/null && echo hosts; ls /etc/ssl/certs > /dev/null && echo certs",
    ];
    in_each(&run, |_, _, told| {
        let count = |said: &str| said.lines().filter(|l| *l == "0").count();
        assert_eq!((count(&told[0]), count(&told[1])), (1, 1), "{told:#?}");
        assert!(
            told[2].contains("root") && told[2].contains("hosts"),
            "{told:#?}"
        );
        assert!(told[2].contains("certs"), "{told:#?}");
    });
}

#[test]
fn attack_07_no_address_and_no_socket_can_be_reached() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let abstract_name = format!("postil-test-{}", std::process::id());
    let address = {
        use std::os::linux::net::SocketAddrExt as _;
        std::os::unix::net::SocketAddr::from_abstract_name(&abstract_name).unwrap()
    };
    let by_name = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    by_name.set_nonblocking(true).unwrap();
    let try_all = format!(
        r#"{TELL}tell("tcp", lambda: socket.create_connection(("127.0.0.1", {port}), 3))
tell("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("192.0.2.1", 53)))
tell("abstract", lambda: socket.socket(socket.AF_UNIX).connect("\0{abstract_name}"))
tell("vsock", lambda: socket.socket(40, 1).connect((2, 5000)))
tell("packet", lambda: socket.socket(17, 3, 0))
"#
    );
    for kind in kinds() {
        let run = [
            "python3 try.py",
            "(find / -xdev -maxdepth 2 -type s; find ~ $XDG_DATA_HOME $XDG_CONFIG_HOME /tmp /run -type s) 2>/dev/null | grep -i postil; true",
            "python3 ours.py",
        ];
        let bench = Bench::new(kind, commands(&run));
        bench.workspace.write("try.py", &try_all);
        let mut editor = bench.editor();
        // Our own socket, by its name, as a file that says where it is would give it away.
        let sockets: Vec<PathBuf> = std::fs::read_dir(bench.workspace.data())
            .into_iter()
            .flatten()
            .flatten()
            .flat_map(|e| files(&e.path()))
            .filter(|f| f.extension().is_some_and(|e| e == "sock"))
            .collect();
        let name = sockets
            .first()
            .cloned()
            .unwrap_or_else(|| bench.workspace.data().join("x.sock"));
        bench.workspace.write(
            "ours.py",
            format!("import socket\ntry:\n    socket.socket(socket.AF_UNIX).connect({:?})\n    print('reached')\nexcept OSError as e:\n    print('refused')\n", name.display().to_string()),
        );
        let told = bench.run(&mut editor);
        assert_eq!(
            told[0], "tcp refused\nudp refused\nabstract refused\nvsock refused\npacket refused\n",
            "{kind:?}"
        );
        assert_eq!(told[1], "(no output)\n", "{kind:?}");
        assert_eq!(told[2], "refused\n", "{kind:?}");
        assert!(
            listener.accept().is_err() && by_name.accept().is_err(),
            "nobody came"
        );
    }
}

#[test]
fn attack_07_no_socket_of_another_program_is_reached_by_its_path() {
    let outside = folder("outside-");
    let path = outside.path().join("a b.sock");
    let by_path = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let mail = outside.path().join("mail.sock");
    let letters = std::os::unix::net::UnixDatagram::bind(&mail).unwrap();
    let granted = outside.path().join("granted/it.sock");
    std::fs::create_dir(granted.parent().unwrap()).unwrap();
    let known = std::os::unix::net::UnixListener::bind(&granted).unwrap();
    by_path.set_nonblocking(true).unwrap();
    letters.set_nonblocking(true).unwrap();
    known.set_nonblocking(true).unwrap();
    let settings = format!(
        "[permissions]\ndefault = 'allow'\n[sandbox]\nread = [{:?}]\n",
        granted.parent().unwrap().display().to_string()
    );
    for kind in kinds() {
        let (path, mail, granted) = (path.display(), mail.display(), granted.display());
        let program = format!(
            r#"{TELL}tell("path", lambda: socket.socket(socket.AF_UNIX).connect("{path}"))
tell("mail", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "{mail}"))
tell("here", lambda: socket.socket(socket.AF_UNIX).connect("here.sock"))
tell("granted", lambda: socket.socket(socket.AF_UNIX).connect("{granted}"))
def own():
    one = socket.socket(socket.AF_UNIX)
    one.bind("own.sock")
    one.listen()
    socket.socket(socket.AF_UNIX).connect("own.sock")
tell("own", own)
"#
        );
        let bench = Bench::with(
            kind,
            commands(&["python3 try.py; rm -f own.sock"]),
            &settings,
        );
        bench.workspace.write("try.py", &program);
        // By a name that says nothing to anybody who stands elsewhere, as an editor in that folder gives it.
        let listen = "import socket; s = socket.socket(socket.AF_UNIX); s.bind(\"./here.sock\"); s.listen(); print(1, flush=True); s.accept(); print(2, flush=True); input()";
        let mut here = std::process::Command::new("python3")
            .args(["-c", listen])
            .current_dir(bench.workspace.root())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = here.stdout.take().unwrap();
        std::io::Read::read_exact(&mut said, &mut [0; 2]).unwrap();
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        here.kill().unwrap();
        here.wait().unwrap();
        let reached = match kind {
            Kind::Bubblewrap => "reached",
            _ => "refused",
        };
        assert_eq!(
            told[0],
            format!("path refused\nmail refused\nhere refused\ngranted {reached}\nown {reached}\n"),
            "{kind:?}"
        );
        let mut more = String::new();
        std::io::Read::read_to_string(&mut said, &mut more).unwrap();
        assert_eq!(more, "", "nobody came");
        assert!(by_path.accept().is_err() && letters.recv(&mut [0; 1]).is_err());
        assert_eq!(known.accept().is_ok(), kind == Kind::Bubblewrap);
    }
}

#[test]
fn attack_07_no_memory_that_others_share_is_reached() {
    let key = i64::from(std::process::id()) + 0x5000_0000;
    let share = format!(
        "import ctypes\nl = ctypes.CDLL(None)\nl.shmat.restype = ctypes.c_void_p\n\
         i = l.shmget({key}, 4096, 0o1600)\na = l.shmat(i, None, 0)\n\
         ctypes.memmove(a, b\"{CANARY}\", {})\nprint(1, flush=True)\ninput()\nl.shmctl(i, 0, None)\n",
        CANARY.len()
    );
    let mut other = std::process::Command::new("python3")
        .args(["-c", &share])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = other.stdout.take().unwrap();
    std::io::Read::read_exact(&mut said, &mut [0; 2]).unwrap();
    let look = python(&format!(
        "import ctypes; l = ctypes.CDLL(None); l.shmat.restype = ctypes.c_void_p; i = l.shmget({key}, 4096, 0); a = l.shmat(i, None, 0) if i >= 0 else 0; print(ctypes.string_at(a, {}) if a else \"none\")",
        CANARY.len()
    ));
    in_each(&[&look], |_, _, told| assert_eq!(told[0], "none\n"));
    writeln!(other.stdin.take().unwrap()).unwrap();
    other.wait().unwrap();
}

#[test]
fn attack_07_no_open_file_of_others_is_handed_to_a_command() {
    // As an editor might leave one open for us, and so for what we start.
    let (_reader, writer) = std::io::pipe().unwrap();
    rustix::io::fcntl_setfd(&writer, rustix::io::FdFlags::empty()).unwrap();
    in_each(&["ls /proc/$$/fd"], |_, _, told| {
        assert_eq!(told[0], "0\n1\n2\n");
    });
}

#[test]
fn attack_07_other_processes_are_out_of_reach() {
    for kind in kinds() {
        let server = std::process::id();
        let run = [
            format!("cat /proc/{server}/environ /proc/$PPID/environ /proc/1/environ | strings"),
            format!(
                "kill -9 {server}; kill -STOP {server}; kill -0 {server} && echo reached; true"
            ),
            python(&format!(
                "import ctypes; l=ctypes.CDLL(None); print(\"ptrace\", l.ptrace(16, {server}, 0, 0)); b=ctypes.create_string_buffer(8)"
            )),
            format!(
                "grep -l postil /proc/[0-9]*/environ /proc/[0-9]*/mem 2>/dev/null; cat /proc/{server}/mem | head -c 1; ls /proc/{server}/root/ /proc/{server}/fd/; true"
            ),
        ];
        let run: Vec<&str> = run.iter().map(String::as_str).collect();
        let bench = Bench::new(kind, commands(&run));
        let mut editor = bench.editor();
        // The server itself, by its real number.
        let pid = editor.process_id();
        bench.workspace.write("server", pid.to_string());
        let told = bench.run(&mut editor);
        assert!(!told[1].contains("reached"), "{kind:?}: {}", told[1]);
        assert!(told[2].contains("ptrace -1"), "{kind:?}: {}", told[2]);
        bench.assert_no_canary(&editor);
        // And for the user's other programs: nothing of it can be read, for it made itself private.
        let environ = std::fs::metadata(format!("/proc/{pid}/environ")).expect("it runs");
        use std::os::unix::fs::MetadataExt as _;
        assert_eq!(environ.uid(), 0, "what is private belongs to root");
    }
}

#[test]
fn attack_07_nothing_can_be_typed_into_a_terminal() {
    let program = "import fcntl, termios, pty, os\nm, s = pty.openpty()\ntry:\n    fcntl.ioctl(s, termios.TIOCSTI, b\"x\")\n    print(\"typed\")\nexcept OSError as e:\n    print(e.strerror)\ntry:\n    open(\"/dev/tty\")\n    print(\"a terminal\")\nexcept OSError:\n    print(\"no terminal\")\n";
    for kind in kinds() {
        let bench = Bench::new(
            kind,
            commands(&[
                "python3 type.py 2>&1 | tail -2; grep -E 'NoNewPrivs|Seccomp:' /proc/self/status",
            ]),
        );
        bench.workspace.write("type.py", program);
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        assert!(
            !told[0].contains("typed") && !told[0].contains("a terminal"),
            "{kind:?}: {}",
            told[0]
        );
        assert!(
            told[0].contains("NoNewPrivs:\t1\nSeccomp:\t2"),
            "{kind:?}: {}",
            told[0]
        );
    }
}

#[test]
fn attack_08_no_secret_of_the_environment_comes_through() {
    let run = [
        "env",
        "cat /proc/self/environ /proc/*/environ 2>/dev/null | tr '\\0' '\\n'",
        "echo $SOMETHING_ELSE$GITHUB_TOKEN.",
        "ls",
    ];
    in_each(&run, |_, _, told| {
        assert!(
            told[0].contains("HOME=") && told[0].contains("PATH="),
            "{}",
            told[0]
        );
        assert_eq!(told[2], ".\n");
    });
}

#[test]
fn attack_07_without_a_sandbox_every_command_is_asked_about() {
    let command = "echo ran > ran.txt; echo \u{1b}[31m\u{202e}hidden";
    let bench = Bench::new(Kind::None, commands(&[command, command]));
    let mut editor = bench.editor();
    editor.state().choices = vec![
        String::from("Allow edits"),
        String::from("Allow once"),
        String::from("Refuse"),
    ];
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text(FILE, |text| text.contains("// AGENT: Done."));
    let told = results(&bench.model.requests());
    assert!(
        told[0].starts_with("hidden") || told[0].contains("hidden"),
        "{told:?}"
    );
    assert!(told[1].starts_with("The author refused"), "{told:?}");
    let state = editor.state();
    let asked: Vec<&Value> = state
        .received
        .iter()
        .filter(|m| m["method"] == "window/showMessageRequest")
        .map(|m| &m["params"])
        .filter(|p| value_of(p, "message").contains("ran.txt"))
        .collect();
    assert_eq!(asked.len(), 2, "{asked:?}");
    for question in asked {
        let text = value_of(question, "message");
        assert!(
            text.contains("There is no sandbox on this machine"),
            "{text}"
        );
        assert!(
            text.contains(&bench.workspace.root().display().to_string()),
            "{text}"
        );
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\n']), "{text:?}");
        assert_eq!(
            question["actions"].as_array().unwrap().len(),
            2,
            "{question}"
        );
    }
    drop(state);
    // Nobody there to ask: it is a no.
    let mut doctor = bench.workspace.postil();
    let doctor = doctor.arg("doctor").envs(bench.env()).output().unwrap();
    let text = String::from_utf8_lossy(&doctor.stdout);
    assert!(text.contains("none: each command is asked about"), "{text}");
}

#[test]
fn attack_22_what_destroys_is_asked_about_whatever_was_granted() {
    let run = [
        "rm -rf ~",
        "git push --force",
        "git clean -fdx",
        "sh -c 'git stash drop'",
        "rm -rf \"$PWD\"",
        "ROOT",
        "git checkout src",
        "git reset --har",
        "echo fine",
    ];
    for kind in kinds() {
        let mut bench = Bench::new(kind, Vec::new());
        // The root by its own name, however deep it lies.
        let by_name = format!("rm -rf {}", bench.workspace.root().display());
        let run = run.map(|command| if command == "ROOT" { &by_name } else { command });
        bench.model = Model::start(commands(&run));
        let mut editor = bench.editor();
        // Nobody answers: the question is closed.
        let told = bench.run(&mut editor);
        for (command, told) in run.iter().zip(&told).take(8) {
            assert!(
                told.starts_with("Nobody answered the question"),
                "{command}: {told}"
            );
        }
        assert_eq!(told[8], "fine\n");
        assert!(bench.home.path().join("notes.txt").exists());
    }
}

#[test]
fn a_command_changes_nothing_behind_the_review() {
    let steps = |bench: &Bench| bench.workspace.read(FILE);
    let edit = call(
        "toolu_e",
        "file_edit",
        json!({"path": FILE, "old_string": "fn a()", "new_string": "fn planned()"}),
    );
    let read = call("toolu_r", "file_read", json!({"path": FILE}));
    for kind in kinds() {
        let mut script = vec![
            Step::calls(vec![read.clone()]),
            Step::calls(vec![edit.clone()]),
        ];
        script.extend(commands(&[
            "echo x > new.txt; echo x >> src/a.rs; rm -f src/a.rs; mv src moved; echo x > out/y; ls",
            "cp -r . $TMPDIR/copy && cd $TMPDIR/copy && echo x > new.txt && cat new.txt src/a.rs",
        ]));
        script.push(Step::text("Done."));
        let settings = "[permissions]\ndefault = 'allow'\n[turn]\nreview = 'ask'\n";
        let bench = Bench::with(kind, script, settings);
        bench.workspace.write("out/x", "x");
        let out = bench.workspace.path("out");
        bench.workspace.configure(&format!(
            "{settings}[sandbox]\nwrite = ['{}']\n",
            out.display()
        ));
        let before = steps(&bench);
        let mut editor = bench.editor();
        editor.state().choices = vec![String::from("Allow edits"), String::from("Reject")];
        editor
            .take_action(FILE, 0, "Reply as agent")
            .expect("the turn starts");
        let asked = bench.model.wait_for_requests(5);
        let told = results(&asked);
        assert!(
            told[2].ends_with("before: src/a.rs)\n"),
            "{kind:?} {}",
            told[2]
        );
        assert!(told[2].contains("out\nsrc\n"), "{kind:?} {}", told[2]);
        assert!(
            told[3].starts_with(&format!("x\n{before}(Your edits wait")),
            "{kind:?} {}",
            told[3]
        );
        editor.wait_text(FILE, |text| text.contains("// AGENT: Done."));
        assert_eq!(steps(&bench), before, "{kind:?}");
        assert!(!bench.workspace.path("new.txt").exists());
        assert!(!bench.workspace.path("out/y").exists());
        assert!(!bench.workspace.path("moved").exists());
    }
}
