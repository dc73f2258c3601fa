//! The limits of requests to the web.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::super::web_fetch::WebFetch;
use super::*;
use crate::web::Web;

#[tokio::test]
async fn a_page_that_does_not_end_is_given_up() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap().to_string();
    // Half a page, and a line that stays open.
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).await.unwrap();
        let half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf";
        stream.write_all(half).await.unwrap();
        std::future::pending::<()>().await;
    });
    let bench = Bench::new();
    let input = json!({"url": format!("http://{at}/")});
    let tool = |limit| WebFetch::within(Web::new(std::slice::from_ref(&at), None), limit);
    let error = tool(Duration::from_millis(300))
        .call(&bench.cx, input.clone())
        .await;
    has(&error.unwrap_err(), "Nothing whole came within 0 s");
    // A cancel does not wait for the limit, whatever that is.
    bench.cx.cancel.cancel();
    let error = tool(Duration::MAX).call(&bench.cx, input).await;
    has(&error.unwrap_err(), "Cancelled by the author");
    server.abort();
}

#[test]
fn a_page_gets_thirty_seconds() {
    assert_eq!(
        WebFetch::new(&Default::default()).limit(),
        Duration::from_secs(30)
    );
}
