//! The way out of a command's own network: an HTTP proxy, `CONNECT` for what is encrypted and requests for whole
//! addresses for plain HTTP. Each host is judged as every other request of ours, and by the author's list.
//!
//! What is judged is what is connected to, the host of the request's target. The head of a plain request is written
//! anew, on a connection of its own, so that neither another `Host` nor a second request in the body of the first
//! comes through. What a tunnel carries is not looked into.

mod counted;
mod upstream;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::{Authority, PathAndQuery};
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::hosts::{self, Pattern, entry};
use super::{CONNECT, Cannot, HOP, Target, Web, address};
use counted::counted;
use upstream::Upstream;

/// Connections at the same time, of all commands of a run together; more wait for one of them to end.
pub(super) const AT_ONCE: usize = 128;
/// Names that are looked up at the same time: a lookup holds a thread, and who answers it may take long.
const LOOKUPS: usize = 16;
/// Bytes of a request's head.
const HEAD: usize = 64 << 10;
/// Until a head is there.
const HEAD_WAIT: Duration = Duration::from_secs(30);
/// A connection that carries nothing either way is closed after so long, at the latest after twice that.
const IDLE: Duration = Duration::from_secs(300);

/// Hears of each request that was not let through, a sentence.
pub type Tell = Arc<dyn Fn(String) + Send + Sync>;

/// Who lets commands through, and where to.
#[derive(Clone)]
pub struct Gateway {
    pub(super) web: Web,
    /// `None`: every host.
    hosts: Option<Vec<Pattern>>,
    pub(super) room: Arc<Semaphore>,
    lookups: Arc<Semaphore>,
    pub(super) idle: Duration,
}

impl Gateway {
    /// `hosts`: those that may be asked alone, as [`Pattern`] reads them; what it cannot read opens nothing. `opened`:
    /// what need not be public, `proxy`: the next on the way, as for [`Web::new`]; a host that the list names whole need
    /// not be public either.
    pub fn new(hosts: Option<&[String]>, opened: &[String], proxy: Option<&str>) -> Self {
        let hosts = hosts.map(hosts::read);
        let mut web = Web::new(opened, proxy);
        web.opened.extend(hosts.iter().flatten().cloned());
        Self {
            web,
            hosts,
            room: Arc::new(Semaphore::new(AT_ONCE)),
            lookups: Arc::new(Semaphore::new(LOOKUPS)),
            idle: IDLE,
        }
    }

    /// Names of the machine itself that lead to none of ours, and so, past the proxy, to what a command itself
    /// serves in its own network.
    pub fn direct(&self) -> Vec<&'static str> {
        let opened = |host: &&str| {
            let is = |own: &Pattern| own.is_one() && own.host.trim_matches(['[', ']']) == *host;
            self.web.opened.iter().any(is)
        };
        let all = ["localhost", "127.0.0.1", "::1"].into_iter();
        all.filter(|host| !opened(host)).collect()
    }

    /// Serves what comes; ends never. When it is dropped, every connection is closed.
    pub async fn serve(self, listener: std::net::TcpListener, tell: Tell) {
        let listener = listener
            .set_nonblocking(true)
            .and_then(|()| TcpListener::from_std(listener));
        let listener = match listener {
            Ok(listener) => listener,
            Err(error) => return tracing::warn!(%error, "a command has no way to its network"),
        };
        let gateway = Arc::new(self);
        let mut open = JoinSet::new();
        loop {
            let Ok(room) = gateway.room.clone().acquire_owned().await else {
                return;
            };
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let (gateway, tell) = (gateway.clone(), tell.clone());
                        open.spawn(async move {
                            gateway.connection(stream, tell).await;
                            drop(room);
                        });
                    }
                    // No handle is free: some will be.
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                },
                Some(_) = open.join_next(), if !open.is_empty() => {}
            }
        }
    }

    /// One connection of a command, until either side ends it or nothing moves.
    pub(super) async fn connection<S>(&self, stream: S, tell: Tell)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (stream, still) = counted(stream, self.idle);
        tokio::select! {
            () = self.talk(stream, tell) => {}
            () = still => {}
        }
    }

    async fn talk<S>(&self, stream: S, tell: Tell)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let talk = Talk {
            tell,
            requests: Mutex::default(),
            tunnel: Mutex::default(),
        };
        let served = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WAIT)
            .max_buf_size(HEAD)
            // Whoever has asked and says so still waits for the answer.
            .half_close(true)
            .serve_connection(
                TokioIo::new(stream),
                hyper::service::service_fn(|request| self.answer(request, &talk)),
            )
            .with_upgrades()
            .await;
        if let Err(error) = served {
            tracing::debug!(%error, "a command's connection ended");
        }
        let tunnel = talk
            .tunnel
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some((ours, mut theirs)) = tunnel
            && let Ok(ours) = ours.await
        {
            let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(ours), &mut theirs).await;
        }
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        talk: &Talk,
    ) -> Result<Response<Body>, Infallible> {
        let answer = match *request.method() {
            Method::CONNECT => self.tunnel(request, talk).await,
            _ => self.forward(request, talk).await,
        };
        Ok(answer.unwrap_or_else(|no| {
            if let No::Refused(why) = &no {
                (talk.tell)(why.clone());
            }
            no.response()
        }))
    }

    async fn tunnel(
        &self,
        mut request: Request<Incoming>,
        talk: &Talk,
    ) -> Result<Response<Body>, No> {
        let bare = request.uri().scheme().is_none();
        let authority = request.uri().authority();
        let authority = authority.filter(|named| bare && named.port_u16().is_some());
        let Some(authority) = authority else {
            return Err(No::Wrong(String::from(
                "CONNECT needs a host and a port, as in `CONNECT example.org:443`.",
            )));
        };
        let target = target("https", authority)?;
        let theirs: Box<dyn Stream> = match self.reach(&target).await? {
            Way::Direct(stream) => Box::new(stream),
            Way::Through(upstream) => Box::new(TokioIo::new(upstream.tunnel(&target, talk).await?)),
        };
        let ours = hyper::upgrade::on(&mut request);
        *talk.tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some((ours, theirs));
        Ok(Response::new(Either::Right(Full::default())))
    }

    async fn forward(&self, request: Request<Incoming>, talk: &Talk) -> Result<Response<Body>, No> {
        let (mut parts, body) = request.into_parts();
        let authority = match (parts.uri.scheme_str(), parts.uri.authority()) {
            (Some("http"), Some(authority)) => authority,
            (Some("https"), _) => {
                return Err(No::Wrong(String::from(
                    "https goes through this proxy by CONNECT alone.",
                )));
            }
            _ => {
                return Err(No::Wrong(String::from(
                    "This is a proxy: it is asked for whole addresses that begin with http://, or by CONNECT.",
                )));
            }
        };
        let target = target("http", authority)?;
        let (theirs, whole) = match self.reach(&target).await? {
            Way::Direct(stream) => (stream, None),
            Way::Through(upstream) => (upstream.stream, Some(upstream.authorization)),
        };
        let failed = |error: hyper::Error| {
            No::Failed(format!("{} gave no answer ({error}).", entry(&target)))
        };
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake::<_, Incoming>(TokioIo::new(theirs))
                .await
                .map_err(failed)?;
        talk.drive(async move {
            let _ = connection.await;
        });
        let chunked = parts.headers.contains_key(header::TRANSFER_ENCODING);
        strip(&mut parts.headers);
        if chunked {
            let chunked = HeaderValue::from_static("chunked");
            parts.headers.insert(header::TRANSFER_ENCODING, chunked);
        }
        let host = match target.port() {
            80 => target.host().to_owned(),
            port => format!("{}:{port}", target.host()),
        };
        let named = HeaderValue::from_str(&host)
            .map_err(|_| No::Wrong(String::from("The address names no host.")))?;
        parts.headers.insert(header::HOST, named);
        let path = parts.uri.path_and_query().cloned();
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        parts.uri = match whole {
            None => Uri::from(path),
            Some(authorization) => {
                if let Some(authorization) = authorization {
                    let name = header::PROXY_AUTHORIZATION;
                    parts.headers.insert(name, authorization);
                }
                Uri::builder()
                    .scheme("http")
                    .authority(host.as_bytes())
                    .path_and_query(path)
                    .build()
                    .map_err(|error| No::Wrong(format!("The address cannot be asked: {error}.")))?
            }
        };
        parts.version = Version::HTTP_11;
        let asked = Request::from_parts(parts, body);
        let (mut parts, body) = sender
            .send_request(asked)
            .await
            .map_err(failed)?
            .into_parts();
        if parts.status.is_informational() {
            return Err(No::Failed(format!(
                "{} changed the protocol, which this proxy does by CONNECT alone.",
                entry(&target)
            )));
        }
        if parts.headers.contains_key(header::TRANSFER_ENCODING) {
            parts.headers.remove(header::CONTENT_LENGTH);
        }
        strip(&mut parts.headers);
        parts.version = Version::HTTP_11;
        Ok(Response::from_parts(parts, Either::Left(body)))
    }

    /// A connection to the target, at an address that was judged.
    async fn reach(&self, target: &Target) -> Result<Way, No> {
        if let Some(hosts) = &self.hosts {
            if !hosts.iter().any(|pattern| pattern.fits(target)) {
                let why = "it is not among the hosts of `sandbox.network`";
                return Err(self.refused(target, why, true));
            }
        } else if address::is_bad_port(target.port())
            && !self.web.is_opened(target.host(), target.port())
        {
            return Err(self.refused(target, "its port is one of another protocol", true));
        }
        let found = match self.find(target).await {
            Ok(found) => found,
            Err(Cannot::Refused { why, opens }) => {
                return Err(self.refused(target, &why, opens));
            }
            Err(Cannot::Failed(why)) => return Err(No::Failed(why)),
        };
        if let Some(proxy) = &self.web.proxy {
            return Ok(Way::Through(Upstream::reach(proxy).await?));
        }
        let port = target.port();
        let found = found.into_iter().map(|at| SocketAddr::new(at, port));
        let stream = connect(found).await.map_err(|why| {
            let host = target.host();
            No::Failed(format!("{host}:{port} could not be reached ({why})."))
        })?;
        Ok(Way::Direct(stream))
    }

    /// Its addresses, each of them judged.
    async fn find(&self, target: &Target) -> Result<Vec<IpAddr>, Cannot> {
        if let Some(literal) = target.literal() {
            self.web.judge(target, literal)?;
        }
        let (web, wanted, lookups) = (self.web.clone(), target.clone(), self.lookups.clone());
        // Who waits no longer leaves its place taken until the system has an answer.
        let looked = tokio::spawn(async move {
            let _place = lookups.acquire_owned().await;
            web.find(&wanted).await
        });
        match tokio::time::timeout(CONNECT, looked).await {
            Ok(Ok(found)) => found,
            _ => {
                let host = target.host();
                let why = format!("The host {host} was not found in time.");
                Err(Cannot::Failed(why))
            }
        }
    }

    fn refused(&self, target: &Target, why: &str, opens: bool) -> No {
        let (host, port) = (target.host(), target.port());
        let how = match (opens, &self.hosts) {
            (false, _) => String::from("No setting opens it by this name."),
            (true, Some(_)) => format!(
                "Only the author can open it, with \"{}\" in `sandbox.network` in their own config.toml.",
                entry(target)
            ),
            (true, None) => format!(
                "Only the author can open it, with \"{host}:{port}\" in `web.allow` in their own config.toml."
            ),
        };
        No::Refused(format!("{host}:{port} was not let through: {why}. {how}"))
    }
}

/// The first that answers.
async fn connect(found: impl IntoIterator<Item = SocketAddr>) -> Result<TcpStream, String> {
    let mut last = String::from("it has no address");
    for address in found {
        match tokio::time::timeout(CONNECT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => last = error.to_string(),
            Err(_) => last = String::from("no answer in time"),
        }
    }
    Err(last)
}

/// How a target is reached.
enum Way {
    Direct(TcpStream),
    Through(Upstream),
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

type Body = Either<Incoming, Full<Bytes>>;

/// What one connection of a command has.
struct Talk {
    tell: Tell,
    /// Connections to servers, each for one request.
    requests: Mutex<JoinSet<()>>,
    tunnel: Mutex<Option<(OnUpgrade, Box<dyn Stream>)>>,
}

impl Talk {
    /// Until the end, at the latest that of this connection.
    fn drive(&self, connection: impl Future<Output = ()> + Send + 'static) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        while requests.try_join_next().is_some() {}
        requests.spawn(connection);
    }
}

/// Why a request is not answered by whom it was for; a sentence each.
enum No {
    Wrong(String),
    Refused(String),
    Failed(String),
}

impl No {
    fn response(self) -> Response<Body> {
        let (status, text) = match self {
            Self::Wrong(text) => (StatusCode::BAD_REQUEST, text),
            Self::Refused(text) => (StatusCode::FORBIDDEN, text),
            Self::Failed(text) => (StatusCode::BAD_GATEWAY, text),
        };
        let body = Full::new(Bytes::from(format!("postil: {text}\n")));
        let mut response = Response::new(Either::Right(body));
        *response.status_mut() = status;
        let kind = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }
}

/// Whom a request is for: the host as addresses are compared.
fn target(scheme: &str, authority: &Authority) -> Result<Target, No> {
    Target::parse(&format!("{scheme}://{authority}/"))
        .map_err(|why| No::Wrong(format!("The address cannot be asked: {why}.")))
}

/// Takes out what is between two neighbours alone, and what they agree on between themselves.
fn strip(headers: &mut HeaderMap) {
    let agreed = headers.get_all(header::CONNECTION).iter();
    let agreed: Vec<HeaderName> = agreed
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok())
        // A length that is taken out would leave another.
        .filter(|name| *name != header::CONTENT_LENGTH)
        .collect();
    for name in agreed {
        headers.remove(name);
    }
    for name in HOP.iter().chain(&["http2-settings", "proxy-authenticate"]) {
        headers.remove(*name);
    }
}
