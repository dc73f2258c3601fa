//! The user's own proxy (`web.proxy`) as the next on the way: what was let through is asked of it.

use base64::Engine as _;
use http_body_util::Empty;
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use reqwest::Url;
use tokio::net::TcpStream;

use super::{No, Talk, Target, connect};

/// A connection to it.
pub(super) struct Upstream {
    pub stream: TcpStream,
    /// Who the user is there.
    pub authorization: Option<HeaderValue>,
}

impl Upstream {
    /// `setting`: as `web.proxy` has it.
    pub async fn reach(setting: &str) -> Result<Self, No> {
        let wrong = || {
            No::Failed(String::from(
                "The setting `web.proxy` is no proxy that commands can use: its address has to begin with http://.",
            ))
        };
        let url = Url::parse(setting).map_err(|_| wrong())?;
        let host = url.host_str().filter(|_| url.scheme() == "http");
        let host = host.ok_or_else(wrong)?.trim_matches(['[', ']']);
        let port = url.port_or_known_default().unwrap_or(80);
        let found = tokio::net::lookup_host((host, port)).await;
        let found = found.map_err(|error| {
            No::Failed(format!("The proxy of `web.proxy` was not found ({error})."))
        })?;
        let stream = connect(found).await.map_err(|why| {
            No::Failed(format!(
                "The proxy of `web.proxy` could not be reached ({why})."
            ))
        })?;
        Ok(Self {
            stream,
            authorization: authorization(&url),
        })
    }

    /// What is encrypted, between the command and the target.
    pub async fn tunnel(self, target: &Target, talk: &Talk) -> Result<Upgraded, No> {
        let at = format!("{}:{}", target.host(), target.port());
        let failed = |why: &dyn std::fmt::Display| {
            No::Failed(format!(
                "The proxy of `web.proxy` does not connect to {at} ({why})."
            ))
        };
        let mut request = Request::connect(&at)
            .header(header::HOST, &at)
            .body(Empty::<Bytes>::new())
            .map_err(|e| failed(&e))?;
        if let Some(authorization) = self.authorization {
            let headers = request.headers_mut();
            headers.insert(header::PROXY_AUTHORIZATION, authorization);
        }
        let stream = TokioIo::new(self.stream);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream)
            .await
            .map_err(|e| failed(&e))?;
        talk.drive(async move {
            let _ = connection.with_upgrades().await;
        });
        let response = sender.send_request(request).await.map_err(|e| failed(&e))?;
        if !response.status().is_success() {
            return Err(failed(&response.status()));
        }
        hyper::upgrade::on(response).await.map_err(|e| failed(&e))
    }
}

fn authorization(url: &Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let name = decoded(url.username());
    let word = decoded(url.password().unwrap_or_default());
    let pair = [name.as_slice(), b":", word.as_slice()].concat();
    let pair = base64::engine::general_purpose::STANDARD.encode(pair);
    let mut value = HeaderValue::from_str(&format!("Basic {pair}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// `%41` is `A`.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let byte = after
            .get(..2)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(b'%');
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}
