//! Attack 13, by TLS: a server whose certificate does not hold is asked nothing, by no tool and by no turn.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::web::{ALLOWED, serve};
use super::*;

/// A certificate that nobody signed but itself, for `names`. Where there is no `openssl`, none is made.
fn certificate(folder: &Path, name: &str, names: &str) -> bool {
    let path = |end: &str| folder.join(format!("{name}.{end}"));
    let settings = format!(
        "[req]\ndistinguished_name = who\nx509_extensions = more\nprompt = no\n[who]\nCN = {name} of postil's tests\n\
         [more]\nbasicConstraints = critical, CA:FALSE\nsubjectAltName = {names}\n"
    );
    std::fs::write(path("cnf"), settings).expect("written");
    let mut openssl = Command::new("openssl");
    openssl
        .args(["req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"])
        .args(["-pkeyopt", "ec_paramgen_curve:P-256", "-config"])
        .arg(path("cnf"))
        .arg("-keyout")
        .arg(path("key"))
        .arg("-out")
        .arg(path("pem"));
    match openssl.output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", all(&output));
            true
        }
        Err(_) => {
            crate::peers::note("openssl");
            false
        }
    }
}

/// The same, made to hold from one day to another only (`YYMMDD`), which are not today.
fn dated(folder: &Path, name: &str, names: &str, from: &str, to: &str) -> bool {
    if !certificate(folder, name, names) {
        return false;
    }
    let path = |end: &str| folder.join(format!("{name}.{end}"));
    let authority = format!(
        "[ca]\ndefault_ca = this\n[this]\ndatabase = {0}.db\nserial = {0}.serial\nnew_certs_dir = {1}\ndefault_md = sha256\n\
         policy = any\nunique_subject = no\n[any]\ncommonName = supplied\n",
        folder.join(name).display(),
        folder.display()
    );
    std::fs::write(path("ca"), authority).expect("written");
    std::fs::write(path("db"), "").expect("written");
    std::fs::write(path("serial"), "01\n").expect("written");
    let openssl = |args: &[&str], files: &[(&str, &str)]| {
        let mut openssl = Command::new("openssl");
        openssl.args(args);
        for (flag, end) in files {
            openssl.arg(flag).arg(path(end));
        }
        let output = openssl.output().expect("openssl runs");
        assert!(output.status.success(), "{}", all(&output));
    };
    let files = [("-key", "key"), ("-config", "cnf"), ("-out", "csr")];
    openssl(&["req", "-new"], &files);
    let (from, to) = (format!("{from}000000Z"), format!("{to}000000Z"));
    openssl(
        &[
            "ca",
            "-batch",
            "-selfsign",
            "-notext",
            "-extensions",
            "more",
            "-startdate",
            &from,
            "-enddate",
            &to,
        ],
        &[
            ("-config", "ca"),
            ("-keyfile", "key"),
            ("-in", "csr"),
            ("-extfile", "cnf"),
            ("-out", "pem"),
        ],
    );
    true
}

/// TLS before a server of plain HTTP; and how often somebody came.
fn front(folder: &Path, name: &str, to: SocketAddr) -> (SocketAddr, Arc<AtomicUsize>) {
    let certificate = CertificateDer::from_pem_file(folder.join(format!("{name}.pem")));
    let key = PrivateKeyDer::from_pem_file(folder.join(format!("{name}.key")));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.expect("a certificate")],
            key.expect("a key"),
        )
        .expect("they fit");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("bound");
    let came = Arc::new(AtomicUsize::new(0));
    let count = came.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::SeqCst);
            let _ = pass(config.clone(), stream, to);
        }
    });
    (at, came)
}

/// One request and its answer.
fn pass(
    config: Arc<rustls::ServerConfig>,
    mut stream: TcpStream,
    to: SocketAddr,
) -> std::io::Result<()> {
    let mut tls = rustls::ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut client = rustls::Stream::new(&mut tls, &mut stream);
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte)?;
        request.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&request).to_ascii_lowercase();
    let length = head
        .split_once("content-length: ")
        .and_then(|(_, rest)| rest.split("\r\n").next()?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    client.read_exact(&mut body)?;
    request.extend(body);
    let mut server = TcpStream::connect(to)?;
    server.write_all(&request)?;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while !answer.ends_with(b"\r\n0\r\n\r\n") {
        let read = server.read(&mut piece)?;
        if read == 0 {
            break;
        }
        answer.extend(&piece[..read]);
    }
    client.write_all(&answer)?;
    client.flush()?;
    client.conn.send_close_notify();
    client.flush()
}

#[test]
fn attack_13_a_server_whose_certificate_does_not_hold_is_asked_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for (name, names) in [
        ("right", "IP:127.0.0.1"),
        ("other", "DNS:other.example"),
        ("stranger", "IP:127.0.0.1"),
    ] {
        if !certificate(folder, name, names) {
            return;
        }
    }
    let days = [
        ("expired", "200101", "200201"),
        ("early", "490101", "491231"),
    ];
    for (name, from, to) in days {
        assert!(dated(folder, name, "IP:127.0.0.1", from, to));
    }
    let (plain, reached) = serve("127.0.0.1:0");
    let (right, _) = front(folder, "right", plain);
    let (other, _) = front(folder, "other", plain);
    let (expired, _) = front(folder, "expired", plain);
    let (early, _) = front(folder, "early", plain);
    let ground = Ground::new(vec![Step::text("Here.")]);
    ground.trust();
    ground.workspace.configure(&format!(
        "{ALLOWED}[web]\nallow = [\"{right}\", \"{other}\", \"{expired}\", \"{early}\", \"{plain}\"]\n"
    ));
    let run = |authority: Option<&str>, base: Option<&str>, args: &[&str]| {
        let mut command = ground.postil(args);
        if let Some(base) = base {
            command.env("ANTHROPIC_BASE_URL", base);
        }
        if let Some(authority) = authority {
            command.env("SSL_CERT_FILE", folder.join(authority));
        }
        command.output().expect("timeout of coreutils runs")
    };
    // In one sentence, without a line of a log beside it.
    let one_sentence = |output: &Output, words: &str| {
        assert_eq!(output.status.code(), Some(1), "{}", all(output));
        let said = all(output);
        assert!(said.contains(words), "{said}");
        for noise in [
            "ERROR",
            "invalid peer",
            "UnknownIssuer",
            "Expired",
            "NotValid",
        ] {
            assert!(!said.contains(noise), "{said}");
        }
    };
    let signed = "no authority that this system trusts has signed its certificate";
    let told = |output: &Output| {
        one_sentence(output, signed);
        assert!(all(output).contains("SSL_CERT_FILE"), "{}", all(output));
    };
    for tool in ["web_fetch", "http_request"] {
        let fetch = |authority, at: SocketAddr| {
            let input = json!({"url": format!("https://{at}/")}).to_string();
            run(authority, None, &["tools", "call", tool, &input])
        };
        // As the machine is: it trusts nobody who signs for this address.
        let output = fetch(None, right);
        assert_eq!(output.status.code(), Some(1), "{}", all(&output));
        told(&fetch(Some("stranger.pem"), right));
        one_sentence(
            &fetch(Some("other.pem"), other),
            "its certificate is for another name",
        );
        // Signed by one who is trusted, and out of its time.
        one_sentence(
            &fetch(Some("expired.pem"), expired),
            "its certificate has expired",
        );
        one_sentence(
            &fetch(Some("early.pem"), early),
            "its certificate is not valid yet by this machine's clock",
        );
        assert!(reached.lock().unwrap().is_empty());
        let output = fetch(Some("right.pem"), right);
        assert!(
            output.status.success() && all(&output).contains("the page"),
            "{}",
            all(&output)
        );
        assert_eq!(std::mem::take(&mut *reached.lock().unwrap()).len(), 1);
        // Without TLS a machine needs no authorities.
        let input = json!({"url": format!("http://{plain}/")}).to_string();
        let output = run(Some("gone.pem"), None, &["tools", "call", tool, &input]);
        assert!(output.status.success(), "{}", all(&output));
        reached.lock().unwrap().clear();
    }

    // A model: the key and the question go nowhere, and it is not tried again and again.
    let model = ground.model.url().trim_start_matches("http://");
    let model: SocketAddr = model.parse().expect("an address");
    let (late, came_late) = front(folder, "expired", model);
    let (front, came) = front(folder, "right", model);
    let base = format!("https://{front}");
    let id = ground.ask(&format!("{FILE}:1"), "what is this?");
    let output = run(Some("stranger.pem"), Some(&base), &["reply", &id]);
    told(&output);
    assert!(!all(&output).contains(KEY), "{}", all(&output));
    assert_eq!(came.load(Ordering::SeqCst), 1, "once is enough");
    let base_late = format!("https://{late}");
    let output = run(Some("expired.pem"), Some(&base_late), &["reply", &id]);
    one_sentence(&output, "its certificate has expired");
    assert!(!all(&output).contains(KEY), "{}", all(&output));
    assert_eq!(came_late.load(Ordering::SeqCst), 1, "once is enough");
    assert!(ground.model.requests().is_empty());
    let output = run(Some("right.pem"), Some(&base), &["reply", &id]);
    assert_eq!(output.status.code(), Some(0), "{}", all(&output));
    assert_eq!(ground.model.requests().len(), 1);
    assert!(ground.workspace.read(FILE).contains("AGENT: Here."));
}
