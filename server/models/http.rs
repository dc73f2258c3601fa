//! What every wire format needs of HTTP: a client, streams that are watched and bounded, faults that know
//! whether trying again can help, and the wait before it.

use std::sync::OnceLock;
use std::time::Duration;

use eventsource_stream::{Event as SseEvent, EventStreamError, Eventsource};
use futures::{Stream, StreamExt};
use rand::Rng;
use reqwest::header::HeaderMap;

use super::ModelError;

/// How long and how much.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Tries after the first one.
    pub retries: u32,
    /// Before the first retry; doubles with each, with jitter.
    pub first_wait: Duration,
    /// No wait is longer, whatever `Retry-After` says.
    pub longest_wait: Duration,
    /// Without a byte for so long, a connection counts as dead. Not a limit of the whole answer.
    pub idle: Duration,
    /// Keep-alives and nothing else for so long count as dead, too; and so does a server on this machine that sends not
    /// one byte of an answer: it may read a long prompt for minutes before.
    pub quiet: Duration,
    /// Bytes of one answer on the wire, uncompressed.
    pub max_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            retries: 5,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(60),
            idle: Duration::from_secs(90),
            quiet: Duration::from_secs(600),
            max_bytes: 16 << 20,
        }
    }
}

/// What may stand before the first event (the standard's `bom`), and is none of it. The reader of events does not bear it.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// One line of a stream: what is larger is no answer of a model, and would be searched again and again.
const MAX_LINE: usize = 4 << 20;

/// One try that failed.
#[derive(Debug)]
pub(super) struct Fault {
    pub error: ModelError,
    /// Whether the same request may succeed later.
    pub again: bool,
    /// What the server asked to wait.
    pub after: Option<Duration>,
}

impl Fault {
    pub fn last(error: ModelError) -> Self {
        Self {
            error,
            again: false,
            after: None,
        }
    }
    pub fn passing(error: ModelError) -> Self {
        Self {
            error,
            again: true,
            after: None,
        }
    }
}

/// The client. One for all TLS connections; plain HTTP (a model on loopback, a test) needs no root
/// certificates and goes through no proxy.
pub(super) fn client(url: &reqwest::Url) -> Result<reqwest::Client, ModelError> {
    static TLS: OnceLock<reqwest::Client> = OnceLock::new();
    if url.scheme() == "https"
        && let Some(client) = TLS.get()
    {
        return Ok(client.clone());
    }
    // Refused where one is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("postil/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(15))
        // A redirect to another host would take the key along.
        .redirect(reqwest::redirect::Policy::none());
    if url.scheme() != "https" {
        builder = builder.tls_certs_only(std::iter::empty());
        if url.host_str().is_some_and(is_loopback) {
            builder = builder.no_proxy();
        }
    }
    let client = builder.build().map_err(|e| {
        ModelError::Unavailable(format!(
            "no secure connection can be made ({}): install the system's root certificates (`ca-certificates`)",
            root_cause(&e)
        ))
    })?;
    if url.scheme() == "https" {
        return Ok(TLS.get_or_init(|| client).clone());
    }
    Ok(client)
}

/// The ends of addresses that are pasted whole where their base is meant.
const ENDS: [&str; 3] = ["/chat/completions", "/responses", "/v1/messages"];

/// `<base><path>`, where `base` is an http or https address.
pub(super) fn address(base: &str, path: &str) -> Option<reqwest::Url> {
    let mut url = reqwest::Url::parse(base.trim()).ok()?;
    if !matches!(url.scheme(), "http" | "https")
        || url.host_str().is_none()
        || url.query().is_some()
        || url.fragment().is_some()
    {
        return None;
    }
    let base = url.path().trim_end_matches('/');
    let base = ENDS
        .iter()
        .find_map(|end| base.strip_suffix(end))
        .unwrap_or(base);
    // It is in the path of this interface already.
    let base = match path.starts_with("/v1/") {
        true => base.strip_suffix("/v1").unwrap_or(base),
        false => base,
    };
    let path = format!("{base}{path}");
    url.set_path(&path);
    Some(url)
}

/// The variable of the environment that names the proxy which requests to `url` go through, as the client reads them.
pub(super) fn proxy(
    url: &reqwest::Url,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Option<&'static str> {
    let host = url.host_str()?;
    let first = |names: [&'static str; 2]| {
        names
            .into_iter()
            .find_map(|name| Some((name, environment(name)?)))
    };
    let without = first(["NO_PROXY", "no_proxy"]).map_or(String::new(), |(_, hosts)| hosts);
    let is_without = without.split(',').map(str::trim).any(|name| {
        let name = name.trim_start_matches('.');
        let below = host
            .strip_suffix(name)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        name == "*" || !name.is_empty() && below
    });
    if is_without || url.scheme() != "https" && is_loopback(host) {
        return None;
    }
    let own = match url.scheme() {
        "https" => ["HTTPS_PROXY", "https_proxy"],
        _ => ["HTTP_PROXY", "http_proxy"],
    };
    [own, ["ALL_PROXY", "all_proxy"]]
        .into_iter()
        .filter_map(first)
        .find(|(_, address)| !address.is_empty())
        .map(|(name, _)| name)
}

/// For messages: scheme, host, port and path, nothing secret.
pub(super) fn shown(url: &reqwest::Url) -> String {
    without_password(url.clone()).into()
}

/// Without the name and the password in it, which a client sends in the header that a key goes into.
pub(super) fn without_password(mut url: reqwest::Url) -> reqwest::Url {
    // Fails for addresses without a host alone, which are refused above.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

pub(super) fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || bare
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

/// The innermost reason of an error: the one that tells something.
pub(super) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// The wait before try `attempt` (1 is the first retry): what the server asked for, else exponential,
/// with jitter so that many clients do not come back at once.
pub(super) fn wait(limits: &Limits, attempt: u32, after: Option<Duration>) -> Duration {
    let wait = after.unwrap_or_else(|| {
        let doubled = limits.first_wait.saturating_mul(
            1u32.checked_shl(attempt.saturating_sub(1))
                .unwrap_or(u32::MAX),
        );
        doubled.mul_f64(rand::rng().random_range(0.75..1.25))
    });
    wait.min(limits.longest_wait)
}

/// `Retry-After` in seconds or as a date (RFC 9110 §10.2.3), or `retry-after-ms`.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = |name: &str| {
        headers
            .get(name)
            .and_then(|v| v.to_str().ok())
            .map(str::trim)
    };
    let seconds = |text: &str, unit: f64| {
        let number: f64 = text.parse().ok()?;
        (number >= 0.0).then(|| Duration::try_from_secs_f64(number * unit).unwrap_or(Duration::MAX))
    };
    if let Some(wait) = value("retry-after-ms").and_then(|v| seconds(v, 0.001)) {
        return Some(wait);
    }
    let text = value("retry-after")?;
    seconds(text, 1.0).or_else(|| {
        let when = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
        let left = when
            .as_second()
            .saturating_sub(jiff::Timestamp::now().as_second());
        Some(Duration::from_secs(u64::try_from(left).unwrap_or(0)))
    })
}

/// At most `limit` bytes of a body that is not wanted for more than a message, and what came of it `within` that time.
pub(super) async fn head_of(response: reqwest::Response, limit: usize, within: Duration) -> String {
    let mut stream = response.bytes_stream();
    let mut body = Vec::new();
    let end = tokio::time::Instant::now() + within;
    while body.len() < limit {
        match tokio::time::timeout_at(end, stream.next()).await {
            Ok(Some(Ok(chunk))) => body.extend_from_slice(&chunk),
            _ => break,
        }
    }
    body.truncate(limit);
    String::from_utf8_lossy(&body).into_owned()
}

/// Nothing came for as long as was waited. After more than the usual silence nobody waits as long again.
pub(super) fn silent(what: &str, waited: Duration, limits: &Limits) -> Fault {
    let error = ModelError::Unavailable(format!(
        "{what} {} s: ask again, or choose another model",
        waited.as_secs()
    ));
    match waited > limits.idle {
        true => Fault::last(error),
        false => Fault::passing(error),
    }
}

/// The events of a stream: server-sent events by the standard's rules, watched for idleness and bounded. The first byte
/// is waited for with `patience`.
pub(super) fn events(
    response: reqwest::Response,
    limits: &Limits,
    patience: Duration,
) -> impl Stream<Item = Result<SseEvent, Fault>> + Send + use<> {
    struct Watch<S> {
        bytes: S,
        total: usize,
        line: usize,
        limits: Limits,
        over: bool,
        /// Bytes of the mark that have come; all of them: whatever comes now is the stream.
        mark: usize,
    }
    let watch = Watch {
        bytes: response.bytes_stream().boxed(),
        total: 0,
        line: 0,
        limits: limits.clone(),
        over: false,
        mark: 0,
    };
    let watched = futures::stream::unfold(watch, move |mut watch| async move {
        if watch.over {
            return None;
        }
        let patience = match watch.total {
            0 => patience,
            _ => watch.limits.idle,
        };
        let item = match tokio::time::timeout(patience, watch.bytes.next()).await {
            Err(_) => Err(silent(
                "the model sent nothing for",
                patience,
                &watch.limits,
            )),
            Ok(None) => return None,
            Ok(Some(Err(error))) => Err(cut(&root_cause(&error))),
            Ok(Some(Ok(chunk))) => {
                watch.total = watch.total.saturating_add(chunk.len());
                watch.line = match chunk.iter().rposition(|b| matches!(b, b'\n' | b'\r')) {
                    Some(at) => chunk.len() - at,
                    None => watch.line.saturating_add(chunk.len()),
                };
                if watch.total > watch.limits.max_bytes || watch.line > MAX_LINE {
                    Err(Fault::last(ModelError::Malformed(format!(
                        "the model's answer is larger than {} MB and was refused: ask for less at once",
                        watch.limits.max_bytes.min(if watch.line > MAX_LINE {
                            MAX_LINE
                        } else {
                            usize::MAX
                        }) >> 20
                    ))))
                } else {
                    let left = MARK.get(watch.mark..).unwrap_or_default();
                    let skipped = chunk.len().min(left.len());
                    if chunk.get(..skipped) == left.get(..skipped) {
                        watch.mark += skipped;
                        Ok(chunk.slice(skipped..))
                    } else {
                        watch.mark = MARK.len();
                        Ok(chunk)
                    }
                }
            }
        };
        watch.over = item.is_err();
        Some((item, watch))
    });
    watched.eventsource().map(|event| {
        event.map_err(|error| match error {
            EventStreamError::Transport(fault) => fault,
            EventStreamError::Utf8(_) | EventStreamError::Parser(_) => {
                broken("no server-sent events")
            }
        })
    })
}

/// The connection ended before the answer did.
pub(super) fn cut(why: &str) -> Fault {
    Fault::passing(ModelError::Unavailable(format!(
        "the model's answer was cut off ({why}): ask again; nothing was done with the part that came"
    )))
}

/// What came is not what the wire format allows.
pub(super) fn broken(why: &str) -> Fault {
    Fault::passing(ModelError::Malformed(format!(
        "the model's answer could not be read ({why}): ask again, or check the base URL"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        let mut map = HeaderMap::new();
        if let Ok(value) = value.parse() {
            map.insert(name, value);
        }
        map
    }

    #[test]
    fn an_address_that_was_pasted_whole_is_cut_to_its_base() {
        let path = |base: &str, path: &str| {
            address(base, path)
                .map(|url| shown(&url))
                .unwrap_or_default()
        };
        for base in [
            "http://a/v1",
            "http://a/v1/",
            "http://a/v1/responses",
            "http://a/v1/chat/completions/",
        ] {
            assert_eq!(path(base, "/responses"), "http://a/v1/responses");
        }
        assert_eq!(
            path("http://a/x/v1/messages", "/v1/messages"),
            "http://a/x/v1/messages"
        );
        assert_eq!(path("http://a/v1/", "/v1/messages"), "http://a/v1/messages");
        assert_eq!(path("http://a/v1?b=c", "/responses"), "");
    }

    #[test]
    fn the_variable_is_named_whose_proxy_counts() {
        let named = |url: &str, set: &[(&str, &str)]| {
            let value = |name: &str| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            proxy(&url.parse().expect("a URL"), &value)
        };
        let models = "https://models.example/v1";
        assert_eq!(named(models, &[]), None);
        assert_eq!(named(models, &[("HTTP_PROXY", "http://p")]), None);
        let both = [("ALL_PROXY", "socks5://p"), ("https_proxy", "http://p")];
        assert_eq!(named(models, &both), Some("https_proxy"));
        assert_eq!(named("http://models.example", &both), Some("ALL_PROXY"));
        let empty = [
            ("ALL_PROXY", "http://p"),
            ("HTTPS_PROXY", ""),
            ("https_proxy", "http://p"),
        ];
        assert_eq!(named(models, &empty), Some("ALL_PROXY"));
        for (without, is_direct) in [
            ("*", true),
            ("a, .example", true),
            ("models.example", true),
            ("odels.example", false),
            (" ,", false),
        ] {
            let set = [("HTTPS_PROXY", "http://p"), ("no_proxy", without)];
            assert_eq!(named(models, &set).is_none(), is_direct, "{without}");
        }
        assert_eq!(named("http://127.0.0.1:1", &both), None);
    }

    #[test]
    fn waits_grow_and_are_capped() {
        let limits = Limits::default();
        for attempt in 1..40 {
            let waited = wait(&limits, attempt, None);
            let expected = 0.5 * 2f64.powi(attempt as i32 - 1);
            assert!(
                waited.as_secs_f64() >= (expected * 0.75).min(60.0)
                    && waited <= limits.longest_wait,
                "{attempt}: {waited:?}"
            );
        }
        assert_eq!(
            wait(&limits, 1, Some(Duration::from_secs(1_000_000_000))),
            limits.longest_wait
        );
        assert_eq!(wait(&limits, 5, Some(Duration::ZERO)), Duration::ZERO);
    }

    #[test]
    fn retry_after_is_read_in_all_its_forms() {
        assert_eq!(
            retry_after(&headers("retry-after", "7")),
            Some(Duration::from_secs(7))
        );
        assert_eq!(
            retry_after(&headers("retry-after-ms", "250")),
            Some(Duration::from_millis(250))
        );
        assert_eq!(
            retry_after(&headers("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")),
            Some(Duration::ZERO)
        );
        assert_eq!(
            retry_after(&headers("retry-after", "1e300")),
            Some(Duration::MAX)
        );
        assert_eq!(retry_after(&headers("retry-after", "-1")), None);
        assert_eq!(retry_after(&headers("retry-after", "soon")), None);
        assert_eq!(retry_after(&headers("retry-after", "nan")), None);
    }
}
