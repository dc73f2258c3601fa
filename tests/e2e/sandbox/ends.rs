//! How commands end, and what they may use up. Faults 7, 8, 24, Attack 19.

use super::*;

/// A number of seconds that stands on the command line of all that a test starts, and nowhere else.
fn mark() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static LAST: AtomicU32 = AtomicU32::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    format!("98765.{:07}{number:03}", std::process::id())
}

/// A bomb leaves no time for a test that counts seconds: they are not run beside each other.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static BOMB: std::sync::Mutex<()> = std::sync::Mutex::new(());
    BOMB.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn one(command: &str, timeout: u64) -> Vec<Step> {
    let input = json!({"command": command, "timeout": timeout});
    vec![
        Step::calls(vec![call("toolu_1", "bash", input)]),
        Step::text("Done."),
    ]
}

#[test]
fn attack_19_a_command_that_sleeps_for_ever_is_ended_in_time_with_all_it_started() {
    for kind in kinds() {
        let mark = mark();
        let command = format!(
            "echo begun; setsid sleep {mark} & nohup sh -c 'sleep {mark}; true' & trap '' TERM; sleep {mark}"
        );
        let bench = Bench::new(kind, one(&command, 1));
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        assert_eq!(told, ["begun\n(command timed out after 1s)\n"], "{kind:?}");
        wait_until(&format!("all are gone: {kind:?}"), || {
            marked(&mark).is_empty()
        });
    }
}

#[test]
fn a_command_that_is_ended_is_asked_first_so_that_git_leaves_no_lock() {
    for kind in kinds() {
        let mark = mark();
        // The editor runs while git holds the lock; git is the shell's child, and the second time in its place.
        let commit = format!(
            "GIT_EDITOR='sleep {mark};:' git -c user.name=a -c user.email=b commit -qa --allow-empty"
        );
        let shell = format!("{commit}; touch after");
        let exec = format!("export A=1; exec env {commit}");
        let timed = |at: &str, command: &str| {
            let input = json!({"command": command, "timeout": 1});
            Step::calls(vec![call(at, "bash", input)])
        };
        let script = vec![
            timed("toolu_1", &shell),
            timed("toolu_2", "ls .git/index.lock; true"),
            timed("toolu_3", &exec),
            Step::text("Done."),
        ];
        let bench = Bench::new(kind, script);
        bench.workspace.git(&["init", "-q"]);
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        let all = format!("{kind:?}: {told:#?}");
        assert_eq!(told[0], "(command timed out after 1s)\n", "{all}");
        assert!(told[1].contains("No such file"), "{all}");
        assert_eq!(told[2], "(command timed out after 1s)\n", "{all}");
        assert!(!bench.workspace.path(".git/index.lock").exists(), "{all}");
        assert!(!bench.workspace.path("after").exists(), "{all}");
        wait_until("all are gone", || marked(&mark).is_empty());
    }
}

#[test]
fn attack_19_a_daemon_does_not_outlive_its_command() {
    let _alone = alone();
    for kind in kinds() {
        let mark = mark();
        let program = format!(
            "import os, sys\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.closerange(0, 100)\n        os.execvp('sleep', ['sleep', '{mark}'])\n"
        );
        let bench = Bench::new(kind, one("python3 daemon.py; echo left", 20));
        bench.workspace.write("daemon.py", program);
        let mut editor = bench.editor();
        assert_eq!(bench.run(&mut editor), ["left\n"], "{kind:?}");
        assert_eq!(marked(&mark), [""; 0], "{kind:?}");
    }
}

#[test]
fn attack_19_endless_output_is_cut_and_ended() {
    for kind in kinds() {
        let bench = Bench::new(kind, one("echo first; yes", 60));
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        assert!(told[0].starts_with("first\ny\n"), "{kind:?}");
        assert!(
            told[0].ends_with("y\n(ended: it wrote more than 256 MB)\n"),
            "{kind:?}"
        );
        assert!(
            told[0].contains(" bytes are left out here) …") && told[0].len() < 52 * 1024,
            "{}",
            told[0].len()
        );
    }
}

#[test]
fn attack_19_a_bomb_of_processes_is_ended() {
    let _alone = alone();
    for kind in kinds() {
        let mark = mark();
        // It stops by itself, should nobody stop it.
        let program = format!(
            "import os, time\nfor n in range(3000):\n    if os.fork() == 0:\n        os.execvp('sleep', ['sleep', '{mark}'])\ntime.sleep(30)\n"
        );
        let bench = Bench::new(kind, one("python3 bomb.py", 60));
        bench.workspace.write("bomb.py", program);
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        let ended = told[0].contains("(ended: more than 1024 processes)")
            || told[0].contains("Resource temporarily unavailable");
        assert!(ended, "{kind:?}: {}", told[0]);
        wait_until(&format!("all are gone: {kind:?}"), || {
            marked(&mark).is_empty()
        });
    }
}

#[test]
fn attack_19_one_file_does_not_fill_the_disk() {
    in_each(
        &["ulimit -f -c -n; python3 -c 'open(\"big\", \"w\").truncate(1 << 40)' 2>&1 | tail -1"],
        |bench, _, told| {
            assert!(!told[0].contains("unlimited"), "{}", told[0]);
            assert!(told[0].contains("File too large"), "{}", told[0]);
            let big = bench.workspace.path("big").metadata();
            assert!(big.is_ok_and(|big| big.len() == 0));
        },
    );
}

#[test]
fn fault_24_a_cancel_ends_the_command_at_once() {
    for kind in kinds() {
        let mark = mark();
        let script = one(&format!("setsid sleep {mark} & sleep {mark}"), 60);
        let bench = Bench::new(kind, script);
        let mut editor = bench.editor();
        bench.begin(&mut editor);
        wait_until("both run", || marked(&mark).len() >= 2);
        editor.take_action(FILE, 0, "Cancel").expect("cancelled");
        wait_until("all is gone", || marked(&mark).is_empty());
        editor.wait_codes(FILE, &["pending"]);
        // The next turn works.
        let offers = |editor: &mut Editor| {
            let actions = editor.code_actions(FILE, 0);
            actions
                .iter()
                .any(|action| action["title"] == "Reply as agent")
        };
        let began = Instant::now();
        while !offers(&mut editor) {
            assert!(began.elapsed() < DEADLINE, "the turn does not end");
        }
        let _ = bench.run(&mut editor);
    }
}

#[test]
fn fault_07_nothing_is_left_when_the_server_is_killed_or_its_editor_is() {
    for kind in kinds() {
        for ended in ["the server", "the pipe", "the editor's process"] {
            let mark = mark();
            let script = vec![
                Step::calls(vec![call(
                    "toolu_1",
                    "bash_background",
                    json!({"command": format!("setsid sleep {mark} & sleep {mark}")}),
                )]),
                Step::calls(vec![call(
                    "toolu_2",
                    "bash",
                    json!({"command": format!("sleep {mark}"), "timeout": 100}),
                )]),
            ];
            let bench = Bench::new(kind, script);
            let mut parent = std::process::Command::new("sleep")
                .arg("600")
                .spawn()
                .unwrap();
            let mut editor = bench.editor_of(parent.id());
            bench.begin(&mut editor);
            wait_until("all three run", || marked(&mark).len() >= 3);
            match ended {
                "the server" => editor.kill(),
                "the pipe" => editor.hang_up(),
                // Its end of the pipe stays open, as a child of its own may hold it.
                _ => parent.kill().unwrap(),
            }
            wait_until(&format!("all are gone, {kind:?}: {ended} ended"), || {
                marked(&mark).is_empty()
            });
            if ended != "the server" {
                editor.wait_exit();
            }
            let _ = parent.kill();
            let _ = parent.wait();
        }
    }
}

/// Ctrl-C in a terminal reaches all of the group, and whoever ends commands is not among them.
#[test]
fn attack_19_what_commands_started_does_not_outlive_an_interrupt_either() {
    use std::os::unix::process::CommandExt as _;
    use std::process::Stdio;
    for kind in kinds() {
        let mark = mark();
        let script = one(&format!("setsid sleep {mark} & sleep {mark}"), 100);
        let bench = Bench::new(kind, script);
        let trust = bench.workspace.postil().args(["trust", "--yes"]).status();
        assert!(trust.expect("it runs").success());
        let mut reply = bench.workspace.postil();
        reply.args(["reply", "--all", "--yes"]).envs(bench.env());
        reply.stdout(Stdio::null()).stderr(Stdio::null());
        let mut reply = reply.process_group(0).spawn().expect("it runs");
        wait_until("both run", || marked(&mark).len() >= 2);
        let group = rustix::process::Pid::from_child(&reply);
        rustix::process::kill_process_group(group, rustix::process::Signal::INT).unwrap();
        wait_until(&format!("all are gone: {kind:?}"), || {
            marked(&mark).is_empty()
        });
        assert!(!reply.wait().expect("it ends").success());
    }
}

#[test]
fn fault_08_a_polite_end_of_the_server_ends_commands_and_removes_their_folder() {
    for kind in kinds() {
        let mark = mark();
        let bench = Bench::new(
            kind,
            one(&format!("echo x > $TMPDIR/mark-{mark}; sleep {mark}"), 100),
        );
        let mut editor = bench.editor();
        bench.begin(&mut editor);
        wait_until("it runs", || !marked(&mark).is_empty());
        let id = rustix::process::Pid::from_raw(editor.process_id().cast_signed()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        wait_until("it is gone", || marked(&mark).is_empty());
        editor.wait_exit();
        let left = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        let left: Vec<PathBuf> = left
            .map(|e| e.path())
            .filter(|p| p.join("tmp").join(format!("mark-{mark}")).exists())
            .collect();
        assert!(left.is_empty(), "{kind:?}: {left:?}");
    }
}

#[test]
fn background_commands_are_read_listed_and_ended() {
    for kind in kinds() {
        let mark = mark();
        let tool = |at: u32, name: &str, input: Value| {
            Step::calls(vec![call(&format!("toolu_{at}"), name, input)])
        };
        let bench = Bench::new(
            kind,
            vec![
                tool(1, "bash_list", json!({})),
                tool(
                    2,
                    "bash_background",
                    json!({"command": format!("echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; touch told; sleep {mark}")}),
                ),
                tool(3, "bash_background", json!({"command": "exit 4"})),
                tool(4, "bash", json!({"command": "touch go"})),
                tool(
                    5,
                    "bash",
                    json!({"command": "until [ -e told ]; do sleep 0.05; done"}),
                ),
                tool(6, "bash_output", json!({"id": 1})),
                tool(7, "bash_output", json!({"id": 1})),
                tool(8, "bash_output", json!({"id": 2})),
                tool(9, "bash_list", json!({})),
                tool(10, "bash_kill", json!({"id": 1})),
                tool(11, "bash_output", json!({"id": 7})),
                tool(
                    12,
                    "bash_background",
                    json!({"command": format!("sleep {mark}")}),
                ),
                Step::text("Done."),
            ],
        );
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        assert_eq!(told[0], "No background commands.");
        assert_eq!(told[1], "Started, its id is 1.");
        assert_eq!(told[2], "Started, its id is 2.");
        assert_eq!(told[5], "one\ntwo\n(running)", "{kind:?}");
        assert!(
            told[6].starts_with("(running for ") && told[6].ends_with(" s, nothing new)"),
            "{}",
            told[6]
        );
        assert_eq!(told[7], "(exit code: 4)\n");
        assert!(
            told[8].starts_with("1  [running]  echo one;")
                && told[8].ends_with("\n2  [exit code: 4]  exit 4"),
            "{}",
            told[8]
        );
        assert_eq!(told[9], "1 is ended.");
        assert_eq!(
            told[10],
            "There is no background command 7; bash_list shows those there are."
        );
        // The turn is over, and with it what it started.
        wait_until("all are gone", || marked(&mark).is_empty());
    }
}

#[test]
fn a_command_can_be_looked_at_as_long_as_it_prints() {
    let _alone = alone();
    let Some(kind) = kinds().into_iter().next() else {
        return;
    };
    let command = "for i in $(seq 60); do echo line $i; sleep 0.2; done";
    let mut script = vec![Step::calls(vec![call(
        "toolu_0",
        "bash_background",
        json!({"command": command}),
    )])];
    script.extend((1..=6).map(|at| {
        let input = json!({"id": 1});
        Step::calls(vec![call(&format!("toolu_{at}"), "bash_output", input)])
    }));
    script.push(Step::text("Done."));
    let bench = Bench::new(kind, script);
    let mut editor = bench.editor();
    let told = bench.run(&mut editor);
    assert_eq!(told.len(), 7, "{told:?}");
    // Each look waits for the next line.
    for (at, told) in told[1..].iter().enumerate() {
        assert!(told.starts_with("line "), "{at}: {told}");
    }
}

#[test]
fn output_is_shown_while_the_command_runs() {
    let kind = kinds()[0];
    let bench = Bench::new(
        kind,
        one(
            "echo 'halfway \u{1b}[31mthere'; while [ ! -e go ]; do :; done",
            60,
        ),
    );
    let mut editor = bench.editor();
    bench.begin(&mut editor);
    let shown = editor.wait_message("$/progress", |p| {
        value_of(&p["value"], "message").starts_with("bash: halfway")
    });
    assert_eq!(shown["value"]["message"], "bash: halfway there");
    bench.workspace.write("go", "");
    editor.wait_text(FILE, |text| text.contains("// AGENT: Done."));
}

#[test]
fn wrong_parameters_and_modes_are_refused_before_anything_runs() {
    let input = |input: Value| Step::calls(vec![call("x", "bash", input)]);
    let bench = Bench::new(
        kinds()[0],
        vec![
            input(json!({"command": " "})),
            input(json!({"command": "ls", "timeout": 121})),
            input(json!({"command": "ls\u{0}"})),
            input(json!({"cmd": "ls"})),
            Step::text("Done."),
        ],
    );
    let mut editor = bench.editor();
    let told = bench.run(&mut editor);
    assert_eq!(told[0], "Wrong parameters for bash: `command` is empty.");
    assert!(
        told[1].starts_with("Wrong parameters for bash: `timeout` must be from 1 to 120, not 121"),
        "{}",
        told[1]
    );
    assert_eq!(told[2], "Wrong parameters for bash: `command` holds a NUL.");
    assert!(told[3].contains("command"), "{}", told[3]);
}

#[test]
fn without_leave_to_edit_no_command_runs() {
    let tool =
        |name: &str, input: Value| Step::calls(vec![call(&format!("toolu_{name}"), name, input)]);
    let bench = Bench::new(
        kinds()[0],
        vec![
            tool("bash", json!({"command": "touch ran"})),
            tool("bash_background", json!({"command": "touch ran"})),
            tool("bash_list", json!({})),
            tool("bash_output", json!({"id": 1})),
            tool("bash_kill", json!({"id": 1})),
            Step::text("Done."),
        ],
    );
    let mut editor = bench.editor();
    editor.state().choices = vec![String::from("Read-only")];
    editor
        .take_action(FILE, 0, "Reply as agent")
        .expect("the turn starts");
    editor.wait_text(FILE, |text| text.contains("// AGENT: Done."));
    for told in results(&bench.model.requests()) {
        assert!(
            told.contains("has not allowed edits in this turn"),
            "{told}"
        );
    }
    assert!(!bench.workspace.path("ran").exists());
}

#[test]
fn where_the_sandbox_could_not_be_set_up_it_is_said_that_nothing_was_run() {
    let programs = folder("bin-");
    let bwrap = programs.path().join("bwrap");
    // It works when it is tried, and never again.
    write(
        &bwrap,
        "#!/bin/sh\nfor word; do\n  [ \"$word\" = --chdir ] && { echo 'bwrap: no mounts left' >&2; exit 1; }\ndone\nexit 0\n",
    );
    std::fs::set_permissions(&bwrap, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut bench = Bench::new(Kind::Bubblewrap, commands(&["echo ran"]));
    let path = std::env::var("PATH").unwrap_or_default();
    bench.path = Some(format!("{}:{path}", programs.path().display()));
    let mut editor = bench.editor();
    let told = bench.run(&mut editor);
    assert_eq!(
        told[0],
        "The sandbox could not be set up, so nothing was run (bwrap: no mounts left); `postil doctor` tells the author more.\n"
    );
}

#[test]
fn what_goes_while_a_sandbox_is_set_up_fails_no_command() {
    if !peers::have(&["bwrap"]) {
        return;
    }
    let programs = folder("bin-");
    let failed = programs.path().join("failed");
    let bwrap = programs.path().join("bwrap");
    // The real one, but for the first of every two commands, as if it were to hide what is gone.
    let script = format!(
        "#!/bin/sh\nfor word; do\n  if [ \"$word\" = --chdir ] && ! rm '{failed}' 2>/dev/null; then\n    touch '{failed}'; echo 'bwrap: nothing there' >&2; exit 1\n  fi\ndone\nexec '{}' \"$@\"\n",
        peers::find("bwrap").expect("it is there").display(),
        failed = failed.display(),
    );
    write(&bwrap, &script);
    std::fs::set_permissions(&bwrap, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut script = commands(&["until [ -e begun ]; do sleep 0.05; done; echo ran"]);
    let tool = |name, input| Step::calls(vec![call(name, name, input)]);
    script.insert(
        0,
        tool("bash_background", json!({"command": "touch begun"})),
    );
    script.insert(1, tool("bash_list", json!({})));
    let mut bench = Bench::new(Kind::Bubblewrap, script);
    let path = std::env::var("PATH").unwrap_or_default();
    bench.path = Some(format!("{}:{path}", programs.path().display()));
    let mut editor = bench.editor();
    let told = bench.run(&mut editor);
    assert_eq!(told[0], "Started, its id is 1.");
    assert!(told[1].starts_with("1  ["), "{}", told[1]);
    assert_eq!(told[2], "ran\n");
    assert!(bench.workspace.path("begun").exists());
}
