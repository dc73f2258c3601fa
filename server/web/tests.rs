//! Real HTTP on loopback, names from a resolver of our own.

mod gateway;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{Ask, Reply, Resolve, Target, Web};

/// Names, each with the answers that it gives one after the other; the last stays.
#[derive(Default)]
struct Names {
    answers: Mutex<HashMap<&'static str, Vec<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    fn set(&self, name: &'static str, answers: &[&str]) {
        let read = |list: &&str| {
            list.split_whitespace()
                .map(|a| a.parse().unwrap())
                .collect()
        };
        let answers = answers.iter().map(read).collect();
        self.answers.lock().unwrap().insert(name, answers);
    }
    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        self.asked.lock().unwrap().push(host.to_owned());
        let mut all = self.answers.lock().unwrap();
        let answers = all.get_mut(host).ok_or(std::io::ErrorKind::NotFound)?;
        if answers.len() > 1 {
            return Ok(answers.remove(0));
        }
        Ok(answers[0].clone())
    }
}

/// Answers every request with the same bytes, and keeps what it was asked.
struct Server {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(host: &str, answer: impl Into<Vec<u8>>) -> Self {
        let listener = TcpListener::bind((host, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let (kept, answer) = (heard.clone(), answer.into());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    match stream.read(&mut byte).await {
                        Ok(1) => request.extend(byte),
                        _ => break,
                    }
                }
                kept.lock()
                    .unwrap()
                    .push(String::from_utf8(request).unwrap());
                let _ = stream.write_all(&answer).await;
                let _ = stream.shutdown().await;
            }
        });
        Self { port, heard }
    }
    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

fn ok(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn web(names: &Arc<Names>, opened: &[String]) -> Web {
    Web {
        resolver: names.clone(),
        ..Web::new(opened, None)
    }
}

async fn get(web: &Web, address: &str) -> Result<Reply, String> {
    let ask = Ask {
        method: "GET",
        target: Target::parse(address)?,
        headers: Vec::new(),
        body: None,
        most: 1 << 20,
    };
    web.ask(&ask).await
}

#[tokio::test]
async fn nothing_but_public_addresses_is_asked_however_they_are_written() {
    let server = Server::start("127.0.0.1", ok("secret")).await;
    let port = server.port;
    let names = Arc::<Names>::default();
    for (name, addresses) in [
        ("local.test", "127.0.0.1"),
        ("six.test", "::1"),
        ("mapped.test", "::ffff:127.0.0.1"),
        ("meta.test", "169.254.169.254"),
        ("lan.test", "10.0.0.7"),
        ("cgnat.test", "100.64.1.1"),
        ("nothing.test", "0.0.0.0"),
        // One bad address among good ones.
        ("mixed.test", "93.184.216.34 127.0.0.1"),
        ("mixed6.test", "2606:2800:220:1::1 fe80::1"),
        ("localhost", "127.0.0.1"),
    ] {
        names.set(name, &[addresses]);
    }
    let web = web(&names, &[]);
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "①②⑦.⓪.⓪.①",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[fc00::1]",
        "[::]",
        "0.0.0.0",
        "0",
        "169.254.169.254",
        "0xa9fea9fe",
        "[::ffff:a9fe:a9fe]",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "local.test",
        "LOCAL.test",
        "six.test",
        "mapped.test",
        "meta.test",
        "lan.test",
        "cgnat.test",
        "nothing.test",
        "mixed.test",
        "mixed6.test",
        "localhost",
        "LOCALHOST",
    ] {
        let error = get(&web, &format!("http://{host}:{port}/"))
            .await
            .unwrap_err();
        assert!(error.contains("is not asked: "), "{host}: {error}");
    }
    for (address, why) in [
        ("file:///etc/passwd", "only http and https"),
        ("gopher://example.com/", "only http and https"),
        ("ftp://example.com/", "only http and https"),
        ("data:text/plain,x", "only http and https"),
        ("javascript:1", "only http and https"),
        ("http://", "no address"),
        ("http:///", "no address"),
        ("/etc/passwd", "no address"),
        ("http://me@example.com/", "a user name"),
        ("http://:p@example.com/", "a user name"),
        ("http://127.0.0.1#@example.com/", "is not asked"),
        ("http://127.0.0.1\\@example.com/", "is not asked"),
        ("http://exam\nple.com/", "control characters"),
        ("http://[fe80::1%25eth0]/", "no address"),
        ("http://256.256.256.256/", "no address"),
        ("http://example.com:99999/", "no address"),
        ("http://93.184.216.34:22/", "another protocol"),
        ("http://93.184.216.34:25/", "another protocol"),
        ("http://unknown.test/", "was not found"),
    ] {
        let error = get(&web, address).await.unwrap_err();
        assert!(error.contains(why), "{address}: {error}");
    }
    assert_eq!(server.heard(), Vec::<String>::new());
}

#[tokio::test]
async fn a_name_is_resolved_once_and_the_connection_goes_there() {
    // Two machines on one port: the name means the first when it is judged, and the second from then on.
    let first = Server::start("127.0.0.2", ok("first")).await;
    let second = TcpListener::bind(("127.0.0.1", first.port)).await.unwrap();
    let names = Arc::<Names>::default();
    names.set("rebind.test", &["127.0.0.2", "127.0.0.1"]);
    let web = web(&names, &[format!("rebind.test:{}", first.port)]);
    let reply = get(&web, &format!("http://rebind.test:{}/", first.port))
        .await
        .unwrap();
    assert_eq!((reply.body.as_slice(), names.asked()), (&b"first"[..], 1));
    let came = tokio::time::timeout(std::time::Duration::ZERO, second.accept()).await;
    assert!(came.is_err(), "the second was asked");
    // Judged anew each time.
    names.set("turns.test", &["127.0.0.1"]);
    assert!(
        get(&web, &format!("http://turns.test:{}/", first.port))
            .await
            .is_err()
    );
    assert_eq!(names.asked(), 2);
}

#[tokio::test]
async fn what_the_user_opened_is_asked_and_nothing_beside_it() {
    let server = Server::start("127.0.0.1", ok("hello")).await;
    let port = server.port;
    let names = Arc::<Names>::default();
    names.set("dev.test", &["127.0.0.1"]);
    names.set("meta.test", &["169.254.169.254"]);
    let opened = [
        format!("127.0.0.1:{port}"),
        String::from("dev.test"),
        String::from("meta.test"),
    ];
    let web = web(&names, &opened);
    for host in ["127.0.0.1", "0x7f.1", "dev.test"] {
        let reply = get(&web, &format!("http://{host}:{port}/a?b#c"))
            .await
            .unwrap();
        assert_eq!(reply.body, b"hello");
    }
    let heard = server.heard();
    assert!(
        heard[0].starts_with("GET /a?b HTTP/1.1\r\n"),
        "{}",
        heard[0]
    );
    for secret in ["authorization", "cookie", "referer"] {
        assert!(!heard[0].to_lowercase().contains(secret), "{}", heard[0]);
    }
    for address in [
        String::from("http://127.0.0.1:1234/"),
        format!("http://127.0.0.2:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://localhost.evil.test:{port}/"),
        // A name never stands for a cloud's keys.
        String::from("http://meta.test/"),
    ] {
        assert!(get(&web, &address).await.is_err(), "{address}");
    }
    assert_eq!(server.heard().len(), 3);
}

/// `letter` so many times over in gzip (RFC 1951, one block of fixed codes: the letter, then "the last byte 258 times").
fn packed(letter: u8, matches: usize) -> Vec<u8> {
    let (mut bits, mut bytes) = (Vec::new(), vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
    let mut put = |value: u32, count: u32| bits.extend((0..count).rev().map(|n| value >> n & 1));
    put(0b1_10, 3); // the last block; fixed codes, whose number has its low bit first
    put(0x30 + u32::from(letter), 8);
    for _ in 0..matches {
        put(0xC5, 8); // 258 bytes
        put(0, 5); // from one byte before
    }
    put(0, 7);
    let octets = bits.chunks(8).map(|octet| {
        let set = octet.iter().enumerate();
        set.fold(0, |byte, (at, bit)| {
            byte | u8::try_from(*bit).unwrap() << at
        })
    });
    bytes.extend(octets);
    bytes
}

#[tokio::test]
async fn no_more_is_read_than_is_wanted_packed_or_not() {
    let plain = [
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 3 << 20).into_bytes(),
        vec![b'x'; 3 << 20],
    ];
    // 40 KB that become six million.
    let body = packed(b'x', 24_000);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    assert!(body.len() < 50_000);
    for answer in [plain.concat(), [head.into_bytes(), body].concat()] {
        let server = Server::start("127.0.0.1", answer).await;
        let opened = [format!("127.0.0.1:{}", server.port)];
        let reply = get(&Web::new(&opened, None), &format!("http://{}/", opened[0]))
            .await
            .unwrap();
        assert_eq!((reply.body.len(), reply.is_cut), (1 << 20, true));
        assert!(reply.body.iter().all(|byte| *byte == b'x'));
    }
}

#[tokio::test]
async fn a_proxy_of_the_user_is_asked_for_what_is_not_refused() {
    let proxy = Server::start("127.0.0.1", ok("by proxy")).await;
    let names = Arc::<Names>::default();
    names.set("public.test", &["93.184.216.34"]);
    names.set("lan.test", &["10.0.0.7"]);
    let web = Web {
        resolver: names.clone(),
        ..Web::new(&[], Some(&format!("http://127.0.0.1:{}", proxy.port)))
    };
    // Names that this machine knows, that it does not, and an address.
    for host in ["public.test", "only-the-proxy-knows.test", "93.184.216.34"] {
        let reply = get(&web, &format!("http://{host}/a?b")).await.unwrap();
        assert_eq!(reply.body, b"by proxy");
        let heard = proxy.heard().pop().unwrap();
        let line = format!("GET http://{host}/a?b HTTP/1.1\r\n");
        assert!(heard.starts_with(&line), "{heard}");
        assert!(!heard.to_lowercase().contains("authorization"), "{heard}");
    }
    // It is no way around the rule, as far as this machine can tell; the proxy itself is no page either.
    for host in [
        "lan.test",
        "127.0.0.1",
        "169.254.169.254",
        "[::ffff:10.0.0.7]",
        "public.test:25",
        &format!("127.0.0.1:{}", proxy.port),
    ] {
        let error = get(&web, &format!("http://{host}/")).await.unwrap_err();
        assert!(error.contains("is not asked: "), "{host}: {error}");
    }
    assert_eq!(proxy.heard().len(), 3);
    let error = get(&Web::new(&[], Some("not a proxy")), "http://93.184.216.34/").await;
    assert!(error.unwrap_err().contains("`web.proxy`"));
}

#[test]
fn headers_that_frame_a_message_are_ours() {
    for (name, value) in [
        ("Host", "evil"),
        ("content-length", "1"),
        ("Transfer-Encoding", "chunked"),
        ("Proxy-Authorization", "x"),
        ("a b", "x"),
        ("", "x"),
        ("X", "a\r\nHost: evil"),
        ("X", "a\0"),
    ] {
        assert!(super::check_header(name, value).is_err(), "{name}: {value}");
    }
    assert!(super::check_header("Accept", "text/html").is_ok());
}

#[test]
fn beside_is_the_same_server_or_its_tls() {
    let at = |text| Target::parse(text).unwrap();
    let here = at("http://a.test/x");
    for (there, beside) in [
        ("http://a.test/y", true),
        ("https://a.test/y", true),
        ("http://a.test:80/", true),
        ("http://a.test:8080/", false),
        ("https://a.test:8443/", false),
        ("http://b.test/", false),
        ("http://a.test.evil/", false),
    ] {
        assert_eq!(at(there).is_beside(&here), beside, "{there}");
    }
    assert!(
        !at("http://a.test/").is_beside(&at("https://a.test/")),
        "no way back to plain text"
    );
}
