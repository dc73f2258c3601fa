//! The proxy that commands go through: raw bytes in, real servers behind it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::net::{TcpListener, TcpStream};

use super::super::{Gateway, Tell, Web};
use super::{Names, Server, ok};

/// A proxy with names of its own; what it refused is kept.
struct Proxy {
    gateway: Gateway,
    told: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn new(names: &Arc<Names>, hosts: Option<&[&str]>, opened: &[&str]) -> Self {
        Self::through(names, hosts, opened, None)
    }

    fn through(
        names: &Arc<Names>,
        hosts: Option<&[&str]>,
        opened: &[&str],
        next: Option<&str>,
    ) -> Self {
        let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let mut gateway = Gateway::new(hosts.map(owned).as_deref(), &owned(opened), next);
        gateway.web = Web {
            resolver: names.clone(),
            ..gateway.web
        };
        Self {
            gateway,
            told: Arc::default(),
        }
    }

    fn tell(&self) -> Tell {
        let told = self.told.clone();
        Arc::new(move |sentence| told.lock().unwrap().push(sentence))
    }

    /// The other end of a connection to it.
    fn open(&self) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (gateway, tell) = (self.gateway.clone(), self.tell());
        tokio::spawn(async move { gateway.connection(theirs, tell).await });
        ours
    }

    /// Everything that it says to these bytes, which are the last.
    async fn answer(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.open();
        // It may have said no before it has heard all.
        let _ = stream.write_all(bytes.as_ref()).await;
        let _ = stream.shutdown().await;
        rest(&mut stream).await
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }
}

async fn rest(stream: &mut DuplexStream) -> String {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).await.unwrap();
    String::from_utf8(all).unwrap()
}

/// As much as ends in this.
async fn until(stream: &mut DuplexStream, end: &str) -> String {
    let mut all = Vec::new();
    while !all.ends_with(end.as_bytes()) {
        let mut byte = [0];
        let count = stream.read(&mut byte).await.unwrap();
        assert_eq!(
            count,
            1,
            "in vain for {end:?}: {}",
            String::from_utf8_lossy(&all)
        );
        all.extend(byte);
    }
    String::from_utf8(all).unwrap()
}

fn local() -> Arc<Names> {
    let names = Arc::<Names>::default();
    for (name, address) in [
        ("here.test", "127.0.0.1"),
        ("a.here.test", "127.0.0.1"),
        ("localhost", "127.0.0.1"),
        ("lan.test", "10.0.0.7"),
        ("meta.test", "169.254.169.254"),
        ("mixed.test", "93.184.216.34 127.0.0.1"),
        ("nothing.test", "0.0.0.0"),
        ("public.test", "93.184.216.34"),
    ] {
        names.set(name, &[address]);
    }
    names
}

#[tokio::test]
async fn attack_07_a_plain_request_goes_to_the_host_of_its_target_with_a_head_of_ours() {
    let server = Server::start("127.0.0.1", ok("an answer")).await;
    let at = format!("here.test:{}", server.port);
    let proxy = Proxy::new(&local(), Some(&[&at]), &[]);
    let answer = proxy
        .answer(format!(
            "GET http://HERE.test.:{}/a/b?c=%20d HTTP/1.1\r\nHost: evil.test\r\nHost: other.test\r\n\
             Accept: x/y\r\nProxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: keep-alive\r\n\
             Connection: close, X-Own\r\nX-Own: 1\r\nUpgrade: h2c\r\nTE: trailers\r\nCookie: mine\r\n\r\n",
            server.port
        ))
        .await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\nan answer"), "{answer}");
    let heard = server.heard().concat().to_lowercase();
    assert!(heard.starts_with("get /a/b?c=%20d http/1.1\r\n"), "{heard}");
    assert_eq!(heard.matches("host:").count(), 1, "{heard}");
    assert!(heard.contains(&format!("host: {at}\r\n")), "{heard}");
    assert!(
        heard.contains("accept: x/y") && heard.contains("cookie: mine"),
        "{heard}"
    );
    for word in [
        "proxy-", "x-own", "upgrade", "te:", "evil", "other", "c2vjcmv0",
    ] {
        assert!(!heard.contains(word), "{word}: {heard}");
    }
    assert!(proxy.told().is_empty());
}

#[tokio::test]
async fn a_tunnel_carries_bytes_both_ways() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut heard = [0; 5];
        stream.read_exact(&mut heard).await.unwrap();
        stream.write_all(b"\0\xff").await.unwrap();
        // It has no more to say, and hears the end all the same.
        stream.shutdown().await.unwrap();
        let mut more = Vec::new();
        stream.read_to_end(&mut more).await.unwrap();
        (heard, more)
    });
    let at = format!("here.test:{port}");
    let proxy = Proxy::new(&local(), Some(&[&at]), &[]);
    let mut stream = proxy.open();
    // What follows the head at once is the tunnel's already.
    let head = format!("CONNECT {at} HTTP/1.1\r\nHost: evil.test\r\n\r\nhe");
    stream.write_all(head.as_bytes()).await.unwrap();
    let head = until(&mut stream, "\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(!head.to_lowercase().contains("content-length"), "{head}");
    stream.write_all(b"llo").await.unwrap();
    let mut came = Vec::new();
    stream.read_to_end(&mut came).await.unwrap();
    assert_eq!(came, b"\0\xff");
    stream.write_all(b"bye").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(server.await.unwrap(), (*b"hello", b"bye".to_vec()));
}

#[tokio::test]
async fn it_makes_no_difference_where_a_request_is_cut() {
    let server = Server::start("127.0.0.1", ok("an answer")).await;
    let at = format!("here.test:{}", server.port);
    let proxy = Proxy::new(&local(), Some(&[&at]), &[]);
    for (request, says) in [
        (
            format!("GET http://{at}/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
            "an answer",
        ),
        (
            String::from("CONNECT evil.test:443 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
            "HTTP/1.1 403 Forbidden",
        ),
    ] {
        for at in 1..request.len() {
            let (first, second) = request.split_at(at);
            let mut stream = proxy.open();
            stream.write_all(first.as_bytes()).await.unwrap();
            // Whoever reads has read it before the rest comes.
            tokio::task::yield_now().await;
            stream.write_all(second.as_bytes()).await.unwrap();
            let answer = rest(&mut stream).await;
            assert!(answer.contains(says), "cut at {at}: {answer}");
        }
        // And byte by byte.
        let mut stream = proxy.open();
        for byte in request.bytes() {
            stream.write_all(&[byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        assert!(rest(&mut stream).await.contains(says));
    }
    // A head that never ends well is nobody's business but its sender's.
    let heard = server.heard().len();
    for cut in [
        "",
        "G",
        "CONNECT here.test",
        "GET http://here.test/ HTTP/1.1\r\nHost: a\r\n",
    ] {
        let answer = proxy.answer(cut).await;
        assert!(!answer.contains(" 200 "), "{cut}: {answer}");
    }
    assert_eq!(server.heard().len(), heard);
}

#[tokio::test]
async fn attack_07_what_is_no_request_to_a_proxy_is_refused() {
    let server = Server::start("127.0.0.1", ok("an answer")).await;
    let at = format!("here.test:{}", server.port);
    let proxy = Proxy::new(&local(), Some(&[&at]), &[]);
    let long = "x".repeat(512 << 10);
    for (request, status) in [
        (format!("GET / HTTP/1.1\r\nHost: {at}\r\n\r\n"), "400"),
        (
            format!("GET https://{at}/ HTTP/1.1\r\nHost: a\r\n\r\n"),
            "400",
        ),
        (
            format!("GET ftp://{at}/ HTTP/1.1\r\nHost: a\r\n\r\n"),
            "400",
        ),
        (
            format!("GET http://me:word@{at}/ HTTP/1.1\r\nHost: a\r\n\r\n"),
            "400",
        ),
        (
            String::from("CONNECT here.test HTTP/1.1\r\nHost: a\r\n\r\n"),
            "400",
        ),
        (
            format!("CONNECT http://{at}/ HTTP/1.1\r\nHost: a\r\n\r\n"),
            "400",
        ),
        (
            format!("CONNECT me@{at} HTTP/1.1\r\nHost: a\r\n\r\n"),
            "400",
        ),
        (String::from("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"), "400"),
        (
            format!("GET http://{at}/ HTTP/1.1\r\nX: {long}\r\n\r\n"),
            "431",
        ),
        (format!("GET http://{at}/{long} HTTP/1.1\r\n\r\n"), "4"),
        (
            format!(
                "GET http://{at}/ HTTP/1.1\r\n{}\r\n",
                "X: y\r\n".repeat(500)
            ),
            "431",
        ),
        // Two ways to say where it ends, spaces and lines where none belong.
        (
            format!(
                "POST http://{at}/ HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 30\r\n\r\nabc"
            ),
            "400",
        ),
        (
            format!("POST http://{at}/ HTTP/1.1\r\nContent-Length: +3\r\n\r\nabc"),
            "400",
        ),
        (
            format!("POST http://{at}/ HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
            "400",
        ),
        (
            format!("POST http://{at}/ HTTP/1.1\r\nTransfer-Encoding: x\r\n\r\nabc"),
            "400",
        ),
        (
            format!("GET http://{at}/ HTTP/1.1\r\nX: a\r\n b\r\n\r\n"),
            "400",
        ),
        (
            format!("GET http://{at}/ HTTP/1.1\r\nX: a\rb\r\n\r\n"),
            "400",
        ),
        (
            format!("GET http://{at}/ HTTP/1.1\r\nX: a\0b\r\n\r\n"),
            "400",
        ),
        (format!("GET http://{at}/ \r\nX: b\r\n\r\n"), "400"),
        (String::from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), ""),
        (String::from("\u{16}\u{3}\u{1}"), ""),
    ] {
        let answer = proxy.answer(&request).await;
        let shown: String = request.chars().take(200).collect();
        let good = answer.is_empty() || answer.starts_with(&format!("HTTP/1.1 {status}"));
        assert!(good, "{shown}\n{answer}");
    }
    assert!(server.heard().is_empty(), "{:?}", server.heard());
}

#[tokio::test]
async fn attack_07_a_request_in_the_body_of_another_is_its_body() {
    let server = Server::start("127.0.0.1", ok("an answer")).await;
    let at = format!("here.test:{}", server.port);
    let proxy = Proxy::new(&local(), Some(&[&at]), &[]);
    // The second is a request of its own to the proxy, and so is judged.
    let inner = "GET http://evil.test/ HTTP/1.1\r\nHost: here.test\r\n\r\n";
    let answer = proxy
        .answer(format!(
            "GET http://{at}/ HTTP/1.1\r\nHost: a\r\n\r\n{inner}"
        ))
        .await;
    assert!(
        answer.contains("an answer") && answer.contains("HTTP/1.1 403"),
        "{answer}"
    );
    assert_eq!(server.heard().len(), 1);
    assert_eq!(proxy.told().len(), 1);
    let body = format!(
        "POST http://{at}/ HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\nConnection: close, content-length\r\n\r\n{inner}",
        inner.len()
    );
    proxy.answer(body).await;
    let heard = server.heard().pop().unwrap().to_lowercase();
    assert!(
        heard.contains(&format!("content-length: {}\r\n", inner.len())),
        "{heard}"
    );
    assert_eq!(proxy.told().len(), 1, "nobody took it for a request");
    // Two lengths: one is sent on, the one that was followed, and nothing behind it counts.
    for lengths in [
        "Content-Length: 3\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 3",
    ] {
        let head = format!("POST http://{at}/ HTTP/1.1\r\nHost: a\r\n{lengths}\r\n\r\n0\r\n\r\n");
        proxy.answer(head + inner).await;
        let heard = server.heard().pop().unwrap().to_lowercase();
        assert!(
            heard.contains("transfer-encoding: chunked") && !heard.contains("content-length"),
            "{heard}"
        );
        assert_eq!(proxy.told().len(), 1);
    }
}

#[tokio::test]
async fn attack_07_a_host_that_is_not_in_the_list_is_refused_before_it_is_looked_up() {
    let names = local();
    let proxy = Proxy::new(&names, Some(&["crates.io", "*.here.test"]), &["lan.test"]);
    for (at, entry) in [
        ("evil.test:443", "evil.test"),
        ("crates.io.evil.test:443", "crates.io.evil.test"),
        ("crates.io:22", "crates.io:22"),
        ("static.crates.io:443", "static.crates.io"),
        // What is open to the tools is not in this list.
        ("lan.test:80", "lan.test"),
        ("127.0.0.1:443", "127.0.0.1"),
        ("[::1]:443", "[::1]"),
        ("2130706433:443", "127.0.0.1"),
    ] {
        let answer = proxy
            .answer(format!("CONNECT {at} HTTP/1.1\r\nHost: crates.io\r\n\r\n"))
            .await;
        assert!(
            answer.starts_with("HTTP/1.1 403 Forbidden\r\n"),
            "{at}: {answer}"
        );
        let says = format!(
            "it is not among the hosts of `sandbox.network`. Only the author can open it, with \"{entry}\" in `sandbox.network` in their own config.toml.\n"
        );
        assert!(answer.ends_with(&says), "{at}: {answer}");
    }
    assert_eq!(proxy.told().len(), 8);
    assert!(
        !proxy.told().concat().contains("HTTP"),
        "{:?}",
        proxy.told()
    );
    assert_eq!(names.asked(), 0);
    // Below a star, what is private stays closed: whoever has the domain says where its names lead.
    let answer = proxy
        .answer("GET http://a.here.test/secret?x=y HTTP/1.1\r\nHost: a\r\n\r\n")
        .await;
    assert!(
        answer.contains("its name leads to 127.0.0.1, this machine. Only the author"),
        "{answer}"
    );
    assert!(!proxy.told().concat().contains("secret"));
    let empty = Proxy::new(&names, Some(&[]), &[]);
    assert!(
        empty
            .answer("CONNECT crates.io:443 HTTP/1.1\r\n\r\n")
            .await
            .contains(" 403 ")
    );
}

#[tokio::test]
async fn attack_07_where_every_host_may_be_asked_only_public_addresses_are() {
    let server = Server::start("127.0.0.1", ok("secret")).await;
    let port = server.port;
    let names = local();
    let proxy = Proxy::new(&names, None, &[]);
    for host in [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "2130706433",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "0.0.0.0",
        "here.test",
        "here.test.",
        "localhost",
        "mixed.test",
        "nothing.test",
        "lan.test",
        "10.0.0.7",
        "meta.test",
        "169.254.169.254",
        "100.100.100.200",
        "192.0.2.1",
    ] {
        for request in [
            format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: public.test\r\n\r\n"),
            format!("GET http://{host}:{port}/ HTTP/1.1\r\nHost: public.test\r\n\r\n"),
        ] {
            let answer = proxy.answer(&request).await;
            assert!(answer.starts_with("HTTP/1.1 403 "), "{request}{answer}");
            let by_name = ["meta.test", "nothing.test"].contains(&host);
            assert_eq!(by_name, answer.contains("No setting opens it"), "{answer}");
            assert_ne!(
                by_name,
                answer.contains("in `web.allow` in their own"),
                "{answer}"
            );
        }
    }
    let answer = proxy
        .answer("CONNECT public.test:22 HTTP/1.1\r\n\r\n")
        .await;
    assert!(
        answer.contains("its port is one of another protocol"),
        "{answer}"
    );
    assert!(server.heard().is_empty());
    // What the author opened to the tools is open here too, and at that port alone.
    let opened = format!("here.test:{port}");
    let proxy = Proxy::new(&names, None, &[&opened]);
    let get = |host: &str| format!("GET http://{host}/ HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(proxy.answer(get(&opened)).await.contains("secret"));
    assert!(proxy.answer(get("here.test")).await.contains(" 403 "));
    // A name that changes its mind in between is resolved once.
    names.set("rebind.test", &["127.0.0.1", "93.184.216.34"]);
    assert!(proxy.answer(get("rebind.test")).await.contains(" 403 "));
}

#[tokio::test]
async fn what_cannot_be_found_or_reached_is_told_as_that() {
    let gone = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let at = format!("here.test:{}", gone.port());
    let proxy = Proxy::new(&local(), Some(&[&at, "unknown.test"]), &[]);
    for (request, says) in [
        (
            format!("CONNECT {at} HTTP/1.1\r\n\r\n"),
            "could not be reached",
        ),
        (
            format!("GET http://{at}/ HTTP/1.1\r\n\r\n"),
            "could not be reached",
        ),
        (
            String::from("CONNECT unknown.test:443 HTTP/1.1\r\n\r\n"),
            "was not found",
        ),
    ] {
        let answer = proxy.answer(&request).await;
        assert!(
            answer.starts_with("HTTP/1.1 502 ") && answer.contains(says),
            "{answer}"
        );
    }
    assert!(proxy.told().is_empty(), "nobody refused it");
    // Who answers nonsense, or nothing.
    for nonsense in [
        "",
        "nonsense\r\n\r\n",
        "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ] {
        let server = Server::start("127.0.0.1", nonsense).await;
        let at = format!("here.test:{}", server.port);
        let proxy = Proxy::new(&local(), Some(&[&at]), &[]);
        let answer = proxy
            .answer(format!("GET http://{at}/ HTTP/1.1\r\n\r\n"))
            .await;
        assert!(answer.starts_with("HTTP/1.1 502 "), "{nonsense}: {answer}");
    }
}

#[tokio::test]
async fn a_connection_on_which_nothing_moves_is_closed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = format!("here.test:{}", listener.local_addr().unwrap().port());
    let mut proxy = Proxy::new(&local(), Some(&[&at]), &[]);
    proxy.gateway.idle = Duration::from_millis(20);
    assert_eq!(rest(&mut proxy.open()).await, "", "one that asks nothing");
    // A machine may be too busy to open a tunnel so soon.
    loop {
        proxy.gateway.idle *= 2;
        let mut stream = proxy.open();
        let head = format!("CONNECT {at} HTTP/1.1\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let said = rest(&mut stream).await;
        if said.is_empty() {
            continue;
        }
        assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
        let mut heard = Vec::new();
        let (mut server, _) = listener.accept().await.unwrap();
        assert_eq!(server.read_to_end(&mut heard).await.unwrap(), 0);
        return;
    }
}

#[tokio::test]
async fn all_connections_end_with_the_proxy_and_more_than_there_is_room_for_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = format!("here.test:{}", listener.local_addr().unwrap().port());
    let proxy = Proxy::new(&local(), Some(&[&at]), &[]);
    let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = door.local_addr().unwrap().port();
    let served = tokio::spawn(proxy.gateway.clone().serve(door, proxy.tell()));
    let head = format!("CONNECT {at} HTTP/1.1\r\n\r\n");
    let mut open = Vec::new();
    for _ in 0..super::super::gateway::AT_ONCE {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        open.push((stream, server));
    }
    let mut waiting = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    waiting.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(proxy.gateway.room.available_permits(), 0);
    // One ends: the next has its turn.
    drop(open.pop());
    let (server, _) = listener.accept().await.unwrap();
    open.push((waiting, server));
    served.abort();
    for (mut stream, mut server) in open {
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all).await;
        let _ = server.read_to_end(&mut all).await;
    }
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
    assert_eq!(
        proxy.gateway.room.available_permits(),
        super::super::gateway::AT_ONCE
    );
}

#[tokio::test]
async fn the_users_own_proxy_is_the_next_on_the_way() {
    let next = Server::start("127.0.0.1", "HTTP/1.1 200 OK\r\n\r\nfrom afar").await;
    let setting = format!("http://me:w%6frd@127.0.0.1:{}", next.port);
    let hosts: &[&str] = &["public.test", "only-the-proxy-knows.test", "lan.test"];
    let proxy = Proxy::through(&local(), Some(hosts), &[], Some(&setting));
    let who = base64::engine::general_purpose::STANDARD.encode("me:word");
    for host in ["public.test", "only-the-proxy-knows.test"] {
        let answer = proxy
            .answer(format!(
                "GET http://{host}/a?b HTTP/1.1\r\nHost: evil.test\r\n\r\n"
            ))
            .await;
        assert!(answer.contains("from afar"), "{answer}");
        let heard = next.heard().pop().unwrap();
        assert!(
            heard.starts_with(&format!("GET http://{host}/a?b HTTP/1.1\r\n")),
            "{heard}"
        );
        assert!(heard.contains(&format!("Basic {who}")), "{heard}");
        assert!(!heard.contains("evil"), "{heard}");
        let answer = proxy
            .answer(format!("CONNECT {host}:443 HTTP/1.1\r\n\r\n"))
            .await;
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("from afar"),
            "{answer}"
        );
        let heard = next.heard().pop().unwrap();
        assert!(
            heard.starts_with(&format!("CONNECT {host}:443 HTTP/1.1\r\n")),
            "{heard}"
        );
        assert!(heard.contains(&format!("Basic {who}")), "{heard}");
    }
    let heard = next.heard().len();
    for refused in ["evil.test", "127.0.0.1", "meta.test"] {
        let answer = proxy
            .answer(format!("CONNECT {refused}:443 HTTP/1.1\r\n\r\n"))
            .await;
        assert!(answer.contains(" 403 "), "{answer}");
    }
    assert_eq!(next.heard().len(), heard);
    let no = Server::start("127.0.0.1", "HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n").await;
    for (setting, says) in [
        (
            format!("http://127.0.0.1:{}", no.port),
            "does not connect to public.test:443 (407",
        ),
        (
            String::from("https://127.0.0.1"),
            "has to begin with http://",
        ),
        (String::from("nonsense"), "has to begin with http://"),
        (String::from("http://127.0.0.1:1"), "could not be reached"),
    ] {
        let proxy = Proxy::through(&local(), Some(hosts), &[], Some(&setting));
        let answer = proxy
            .answer("CONNECT public.test:443 HTTP/1.1\r\n\r\n")
            .await;
        assert!(
            answer.starts_with("HTTP/1.1 502 ") && answer.contains(says),
            "{answer}"
        );
        assert!(!answer.contains("127.0.0.1"), "{answer}");
    }
}

#[test]
fn what_a_command_serves_itself_is_reached_past_the_proxy() {
    let direct = |hosts: Option<&[&str]>, opened: &[&str]| {
        Proxy::new(&Arc::default(), hosts, opened).gateway.direct()
    };
    assert_eq!(direct(None, &[]), ["localhost", "127.0.0.1", "::1"]);
    assert_eq!(direct(Some(&["localhost:3000"]), &[]), ["127.0.0.1", "::1"]);
    assert_eq!(
        direct(Some(&["*.localhost", "x.test"]), &[]),
        ["localhost", "127.0.0.1", "::1"]
    );
    assert_eq!(direct(None, &["127.0.0.1:5432", "[::1]"]), ["localhost"]);
}
