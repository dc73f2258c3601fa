//! L3. Requests that an agent's tools make: one hop at a time, to public addresses only.
//!
//! A name is resolved once, what came is judged, and the connection goes to just those addresses, so that a
//! name which changes its mind in between gains nothing. No redirect is followed here: who follows one
//! comes back with its target. Nothing of the user's is sent along: no key, no cookie, no proxy of the
//! environment.

mod address;
mod gateway;
mod hosts;
mod page;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, Url};

use address::Kind;
pub use gateway::{Gateway, Tell};
pub use hosts::Pattern;
pub use page::{PAGE, is_html, run_page, text_of};

/// An address to ask: http or https, with a host, nobody's name and password in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target(Url);

impl Target {
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        // The parser would leave these out in silence.
        if text.chars().any(|c| c.is_control()) {
            return Err(String::from("the address holds control characters"));
        }
        let url = Url::parse(text.trim()).map_err(|e| format!("it is no address ({e})"))?;
        Self::of(url)
    }

    /// Where a `Location` leads from here.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn join(&self, location: &str) -> Result<Self, String> {
        let url = self
            .0
            .join(location.trim())
            .map_err(|e| format!("it is no address ({e})"))?;
        Self::of(url)
    }

    fn of(mut url: Url) -> Result<Self, String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!(
                "only http and https are asked, not {}",
                url.scheme()
            ));
        }
        // A dot at its end makes no other host, and would be another address to a rule.
        let host = url.host_str().unwrap_or_default();
        let plain = host.trim_end_matches('.').to_owned();
        if plain.is_empty() || plain != host && url.set_host(Some(&plain)).is_err() {
            return Err(String::from("it names no host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(String::from("it holds a user name or a password"));
        }
        // It is never sent.
        url.set_fragment(None);
        Ok(Self(url))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or(80)
    }

    /// The same server, or the same by TLS.
    pub fn is_beside(&self, other: &Self) -> bool {
        let upgraded = other.0.scheme() == "http"
            && self.0.scheme() == "https"
            && self.0.port().is_none()
            && other.0.port().is_none();
        self.host() == other.host()
            && (upgraded || self.0.scheme() == other.0.scheme() && self.port() == other.port())
    }

    /// What follows the `?`, decoded: names and values, and the values alone.
    pub fn query(&self) -> Option<[String; 2]> {
        let query = self.0.query().filter(|query| !query.is_empty())?;
        let (mut all, mut values) = (String::new(), String::new());
        for (name, value) in self.0.query_pairs() {
            all.push_str(&format!("{name} {value} "));
            values.push_str(&format!("{value} "));
        }
        // Something stands there, even where it makes no pair.
        if all.trim().is_empty() {
            all = query.to_owned();
        }
        Some([all, values])
    }

    /// The address that stands in the place of a name, however it is written.
    fn literal(&self) -> Option<IpAddr> {
        let bare = self.host().trim_start_matches('[').trim_end_matches(']');
        bare.parse().ok()
    }
}

/// Finds a name's addresses. A test has one of its own.
#[async_trait]
trait Resolve: Send + Sync {
    async fn resolve(&self, host: &str) -> std::io::Result<Vec<IpAddr>>;
}

struct System;

#[async_trait]
impl Resolve for System {
    async fn resolve(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        if let Some(found) = of_test(host) {
            return Ok(found);
        }
        let found = tokio::net::lookup_host((host, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// A test has names of its own: `POSTIL_TEST_HOSTS=NAME=ADDRESS,…`.
fn of_test(host: &str) -> Option<Vec<IpAddr>> {
    std::env::var_os("POSTIL_TEST")?;
    let known = std::env::var("POSTIL_TEST_HOSTS").ok()?;
    let pairs = known.split(',').filter_map(|pair| pair.split_once('='));
    let found = pairs.filter(|(name, _)| *name == host);
    let found: Vec<IpAddr> = found.filter_map(|(_, at)| at.parse().ok()).collect();
    (!found.is_empty()).then_some(found)
}

/// The way to the web, as the user's settings have it.
#[derive(Clone)]
pub struct Web {
    opened: Vec<Pattern>,
    proxy: Option<String>,
    resolver: Arc<dyn Resolve>,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Ask {
    /// In capitals.
    pub method: &'static str,
    pub target: Target,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
    /// Bytes of the answer's body that are read, uncompressed.
    pub most: usize,
}

/// What came.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    /// Names in small letters; values that are no text are left out.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// There was more of it.
    pub is_cut: bool,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Where it sends who asked, if it does.
    pub fn location(&self) -> Option<&str> {
        matches!(self.status, 301 | 302 | 303 | 307 | 308)
            .then(|| self.header("location"))
            .flatten()
    }
}

/// Until a connection stands.
const CONNECT: Duration = Duration::from_secs(10);

impl Web {
    /// `opened`: hosts (`localhost:3000`) that may be asked though they are not public. `proxy`: its address.
    pub fn new(opened: &[String], proxy: Option<&str>) -> Self {
        Self {
            opened: hosts::read(opened),
            proxy: proxy.map(str::to_owned),
            resolver: Arc::new(System),
        }
    }

    fn is_opened(&self, host: &str, port: u16) -> bool {
        self.opened.iter().any(|opened| opened.opens(host, port))
    }

    /// Whether an address may be asked, as far as it shows by itself.
    ///
    /// # Errors
    /// A sentence that says why not.
    pub fn check(&self, target: &Target) -> Result<(), String> {
        let opened = self.is_opened(target.host(), target.port());
        if address::is_bad_port(target.port()) && !opened {
            return Err(refused(target, "its port is one of another protocol", true));
        }
        match target.literal() {
            Some(literal) => self
                .judge(target, literal)
                .map_err(|cannot| cannot.sentence(target)),
            None => Ok(()),
        }
    }

    fn judge(&self, target: &Target, address: IpAddr) -> Result<(), Cannot> {
        let kind = address::kind(address);
        let fits = match kind {
            Kind::Public => true,
            // A name stands for the user's own networks; the rest must be named itself.
            Kind::Loopback | Kind::Private => self.is_opened(target.host(), target.port()),
            Kind::Metadata | Kind::Special => {
                target.literal().is_some() && self.is_opened(target.host(), target.port())
            }
        };
        if fits {
            return Ok(());
        }
        let why = match target.literal() {
            Some(_) => format!("it is {}", kind.words()),
            None => format!("its name leads to {address}, {}", kind.words()),
        };
        let opens = target.literal().is_some() || matches!(kind, Kind::Loopback | Kind::Private);
        Err(Cannot::Refused { why, opens })
    }

    /// The addresses that a target has, each of them judged.
    async fn find(&self, target: &Target) -> Result<Vec<IpAddr>, Cannot> {
        if let Some(literal) = target.literal() {
            return Ok(vec![literal]);
        }
        let found = self.resolver.resolve(target.host()).await;
        let found = match found {
            Ok(found) if !found.is_empty() => found,
            // A proxy knows names that this machine does not.
            _ if self.proxy.is_some() => return Ok(Vec::new()),
            Ok(_) => {
                let why = format!("The host {} has no address.", target.host());
                return Err(Cannot::Failed(why));
            }
            Err(error) => {
                let why = format!("The host {} was not found ({error}).", target.host());
                return Err(Cannot::Failed(why));
            }
        };
        // One that may not be asked spoils the others: which is taken is not ours to say.
        for address in &found {
            self.judge(target, *address)?;
        }
        Ok(found)
    }

    /// Asks once. A redirect is an answer like any other. Dropping the future ends the request.
    ///
    /// # Errors
    /// A sentence that says what is in the way.
    pub async fn ask(&self, ask: &Ask) -> Result<Reply, String> {
        self.check(&ask.target)?;
        let found = self.find(&ask.target).await;
        let found = found.map_err(|cannot| cannot.sentence(&ask.target))?;
        let client = self.client(found, ask.target.0.scheme() == "https")?;
        let method = Method::from_bytes(ask.method.as_bytes()).map_err(|e| e.to_string())?;
        let mut request = client.request(method, ask.target.0.clone());
        for (name, value) in &ask.headers {
            let (name, value) = header(name, value)?;
            request = request.header(name, value);
        }
        if let Some(body) = &ask.body {
            request = request.body(body.clone());
        }
        let failed = |error: reqwest::Error| {
            let cause = root_cause(&error);
            let address = ask.target.as_str();
            match crate::present::certificate(&cause) {
                Some((why, what)) => {
                    format!("{address} was asked nothing, for {why}; the author can {what}.")
                }
                None => format!("{address} could not be asked ({cause})."),
            }
        };
        let response = request.send().await.map_err(failed)?;
        let status = response.status().as_u16();
        let headers = response.headers().iter().filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        });
        let headers = headers.collect();
        let mut body = Vec::new();
        let mut is_cut = false;
        let mut stream = response.bytes_stream();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(failed)?;
            let room = ask.most.saturating_sub(body.len());
            body.extend(chunk.iter().take(room));
            if chunk.len() > room {
                is_cut = true;
                break;
            }
        }
        Ok(Reply {
            status,
            headers,
            body,
            is_cut,
        })
    }

    /// For one hop: it knows no address but those that were judged.
    fn client(&self, found: Vec<IpAddr>, secure: bool) -> Result<reqwest::Client, String> {
        // Refused where one is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("postil/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .no_proxy();
        let proxied = self.proxy.as_deref();
        if !secure && proxied.is_none_or(|proxy| proxy.starts_with("http:")) {
            // Then no root certificates are needed, and a machine without them is no obstacle.
            builder = builder.tls_certs_only(std::iter::empty());
        }
        builder = match &self.proxy {
            // It resolves names itself; what it reaches is for those who run it.
            Some(proxy) => {
                let proxy = reqwest::Proxy::all(proxy)
                    .map_err(|_| String::from("The setting `web.proxy` is no proxy's address."))?;
                builder.proxy(proxy)
            }
            None => builder.dns_resolver(Arc::new(Judged(found))),
        };
        builder.build().map_err(|e| {
            format!(
                "No secure connection can be made ({}): the author has to install the system's root certificates (`ca-certificates`).",
                root_cause(&e)
            )
        })
    }
}

/// Whatever is asked for, only what was judged.
struct Judged(Vec<IpAddr>);

impl reqwest::dns::Resolve for Judged {
    fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let found: Vec<SocketAddr> = self.0.iter().map(|ip| SocketAddr::new(*ip, 0)).collect();
        Box::pin(std::future::ready(Ok(
            Box::new(found.into_iter()) as reqwest::dns::Addrs
        )))
    }
}

/// Why a target is not asked.
enum Cannot {
    /// It may not be; `opens`: unless the author says so.
    Refused { why: String, opens: bool },
    /// A sentence.
    Failed(String),
}

impl Cannot {
    fn sentence(self, target: &Target) -> String {
        match self {
            Self::Refused { why, opens } => refused(target, &why, opens),
            Self::Failed(why) => why,
        }
    }
}

fn refused(target: &Target, why: &str, opens: bool) -> String {
    let host = target.host();
    let port = target.port();
    let how = match opens {
        true => format!(
            "Only the author can open it, with `web.allow = [\"{host}:{port}\"]` in their own config.toml."
        ),
        false => String::from("No setting opens it by this name."),
    };
    format!("{} is not asked: {why}. {how}", target.as_str())
}

/// Headers between two neighbours on the way, which say how a message is framed: these are ours.
const HOP: &[&str] = &[
    "connection",
    "expect",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// So are those that say whom a request is for, and how long it is.
const OWN: &[&str] = &["host", "content-length"];

/// # Errors
/// Why it cannot be sent.
pub fn check_header(name: &str, value: &str) -> Result<(), String> {
    header(name, value).map(drop)
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let shown = crate::present::short(name, 60);
    let parsed = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| format!("`{shown}` is no name of a header"))?;
    if HOP.iter().chain(OWN).any(|own| *own == parsed.as_str()) {
        return Err(format!("the header `{shown}` cannot be chosen"));
    }
    let value = HeaderValue::from_str(value)
        .map_err(|_| format!("the value of the header `{shown}` cannot be sent"))?;
    Ok((parsed, value))
}

/// The innermost reason of an error: the one that tells something.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
