//! Attack 18: pages of the web that cost memory or stack without end.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use super::*;

/// Serves one page, once; its address.
fn serve(page: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("asked");
        let mut request = Vec::new();
        let mut byte = [0];
        while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
            request.push(byte[0]);
        }
        let length = page.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(page.as_bytes());
    });
    at.to_string()
}

/// Its text, made by a process that may have as much memory as a page deserves, several times over.
fn fetched(page: String) -> String {
    let ground = Ground::new(Vec::new());
    ground.trust();
    let at = serve(page);
    let allowed = format!("[web]\nallow = [\"{at}\"]\n{}", web::ALLOWED);
    ground.workspace.configure(&allowed);
    let input = json!({"url": format!("http://{at}/")}).to_string();
    let mut command = ground.workspace.command("sh");
    let output = command
        .args(["-c", "ulimit -v 4194304; exec timeout 60 \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_postil"))
        .args(["tools", "call", "web_fetch", &input])
        .stdin(Stdio::null())
        .output();
    let output = output.expect("sh runs");
    assert!(output.status.success(), "{}", all(&output));
    all(&output)
}

#[test]
fn attack_18_a_page_that_costs_without_end_costs_the_author_nothing() {
    let bold: String = (0..400).map(|n| format!("<b a={n}>")).collect();
    for page in [
        // As many columns as all rows have, in each row.
        format!(
            "<table><tr>{}{}",
            "<td>x".repeat(90_000),
            "<tr><td>x".repeat(50_000)
        ),
        // What was not closed is opened anew in each paragraph.
        format!("<p>{bold}</p>{}", "<p>x".repeat(200_000)),
        // Ends of what was never begun hide how deep it is.
        "<div></x>".repeat(100_000),
    ] {
        let page = format!("<html><body>{page}");
        let shown = fetched(page.clone());
        assert!(shown.contains(&page[..200]), "{}", &shown[..400]);
    }
    let text = fetched(String::from(
        "<html><body><p>One <b>two</b></p><table><tr><td>three<td>four</table>",
    ));
    assert!(
        text.contains("One **two**") && text.contains("three│four"),
        "{text}"
    );
}
