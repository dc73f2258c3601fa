//! The hosts that the user's list names: `crates.io`, `*.crates.io`, `registry.example.org:8443`, `[::1]:3000`.

use std::net::IpAddr;

use reqwest::Url;

use super::Target;

/// Ports of a host that is named without one.
const USUAL: [u16; 2] = [80, 443];

/// A host of the list, or all below one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// As addresses are compared: small letters, international names as `xn--…`, no dot at the end.
    pub(super) host: String,
    /// It stood behind `*.`: what lies below it, and not the host itself.
    below: bool,
    port: Option<u16>,
}

impl Pattern {
    /// # Errors
    /// What is wrong with it, to stand behind it.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.contains("://") {
            return Err(String::from("is an address: name the host alone"));
        }
        if text == "*" {
            return Err(String::from(
                "means every host: write `true` in the place of the list",
            ));
        }
        let (below, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if rest.contains('*') {
            return Err(String::from(
                "has a `*` that is not the first of its parts, as in `*.example.org`",
            ));
        }
        let no_host = || String::from("is no host, as `example.org` and `localhost:3000` are");
        if rest.contains(|c: char| c.is_whitespace() || c.is_control() || "/?#@\\%".contains(c)) {
            return Err(no_host());
        }
        // A port that is the scheme's own is left out by the parser, and yet it was named.
        let read = |scheme: &str| Url::parse(&format!("{scheme}://{rest}/")).ok();
        let (url, secure) = (read("http"), read("https"));
        let url = url.ok_or_else(no_host)?;
        let port = url.port().or_else(|| secure?.port());
        let host = url.host_str().unwrap_or_default();
        let host = host.strip_suffix('.').unwrap_or(host).to_owned();
        if host.is_empty() || host.starts_with('.') || port == Some(0) {
            return Err(no_host());
        }
        if below && literal(&host).is_some() {
            return Err(String::from("is an address, and nothing lies below one"));
        }
        Ok(Self { host, below, port })
    }

    /// Whether it stands for just this one host, and so for wherever that is.
    pub fn is_one(&self) -> bool {
        !self.below
    }

    /// Whether this host and port are named, public or not.
    pub(super) fn opens(&self, host: &str, port: u16) -> bool {
        self.is_one() && self.host == host && self.port.is_none_or(|own| own == port)
    }

    pub(super) fn fits(&self, target: &Target) -> bool {
        let host = target.host();
        let named = match self.below {
            false => host == self.host,
            true => host
                .strip_suffix(&self.host)
                .and_then(|rest| rest.strip_suffix('.'))
                .is_some_and(|rest| !rest.is_empty()),
        };
        let port = target.port();
        named && self.port.map_or(USUAL.contains(&port), |own| own == port)
    }
}

/// Those of a list; what cannot be read opens nothing.
pub(super) fn read(list: &[String]) -> Vec<Pattern> {
    let read = list.iter().map(|text| Pattern::read(text));
    read.filter_map(Result::ok).collect()
}

/// How the list would name it.
pub(super) fn entry(target: &Target) -> String {
    match target.port() {
        port if USUAL.contains(&port) => target.host().to_owned(),
        port => format!("{}:{port}", target.host()),
    }
}

fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fits(pattern: &str, address: &str) -> bool {
        let target = Target::parse(address).unwrap();
        Pattern::read(pattern).unwrap().fits(&target)
    }

    #[test]
    fn a_host_is_that_host_at_its_usual_ports() {
        for (pattern, address, expected) in [
            ("crates.io", "https://crates.io/", true),
            ("crates.io", "http://crates.io/", true),
            ("CRATES.io", "https://cRaTeS.IO/", true),
            ("crates.io.", "https://crates.io/", true),
            ("crates.io", "https://static.crates.io/", false),
            ("crates.io", "https://crates.io.evil.test/", false),
            ("crates.io", "https://evilcrates.io/", false),
            ("crates.io", "https://crates.io:8443/", false),
            ("crates.io", "https://crates.io:80/", true),
            ("crates.io:8443", "https://crates.io:8443/", true),
            ("crates.io:8443", "https://crates.io/", false),
            ("crates.io:443", "https://crates.io/", true),
            ("crates.io:443", "http://crates.io/", false),
            ("crates.io:80", "http://crates.io/", true),
            ("bücher.example", "https://xn--bcher-kva.example/", true),
            ("xn--bcher-kva.example", "https://BÜCHER.example/", true),
            // Letters of other alphabets that look alike are other letters.
            ("crates.io", "https://сrates.io/", false),
            ("127.0.0.1:3000", "http://127.1:3000/", true),
            ("127.0.0.1:3000", "http://2130706433:3000/", true),
            ("[::1]:3000", "http://[0:0::1]:3000/", true),
            ("[::1]", "http://[::1]:3000/", false),
            ("::1", "http://[::1]/", false),
        ] {
            if Pattern::read(pattern).is_err() {
                assert!(!expected, "{pattern}");
                continue;
            }
            assert_eq!(fits(pattern, address), expected, "{pattern} {address}");
        }
    }

    #[test]
    fn a_star_is_what_lies_below_and_not_the_host_itself() {
        for (pattern, address, expected) in [
            ("*.crates.io", "https://static.crates.io/", true),
            ("*.crates.io", "https://a.b.crates.io/", true),
            ("*.crates.io", "https://crates.io/", false),
            ("*.crates.io", "https://evilcrates.io/", false),
            ("*.crates.io", "https://static.crates.io.evil.test/", false),
            ("*.crates.io", "https://static.crates.io:8443/", false),
            ("*.crates.io:8443", "https://static.crates.io:8443/", true),
            ("*.Crates.IO.", "https://STATIC.crates.io/", true),
            ("*.bücher.example", "https://a.xn--bcher-kva.example/", true),
        ] {
            assert_eq!(fits(pattern, address), expected, "{pattern} {address}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused_with_what_to_write() {
        for (text, says) in [
            ("", "is no host"),
            ("*", "write `true`"),
            ("https://crates.io", "name the host alone"),
            ("crates.io/api", "is no host"),
            ("me@crates.io", "is no host"),
            ("crates.*", "the first of its parts"),
            ("*crates.io", "the first of its parts"),
            ("*.*.io", "the first of its parts"),
            ("*.", "is no host"),
            ("..", "is no host"),
            ("a b", "is no host"),
            ("crates.io:x", "is no host"),
            ("crates.io:0", "is no host"),
            ("crates.io:70000", "is no host"),
            ("*.10.0.0.1", "nothing lies below"),
            ("*.[::1]", "nothing lies below"),
            ("%31%32%37.0.0.1", "is no host"),
            ("crates.io\n", "is no host"),
        ] {
            let error = Pattern::read(text).unwrap_err();
            assert!(error.contains(says), "{text:?}: {error}");
        }
    }

    proptest! {
        /// Whatever stands in the list and whatever is asked for: what fits ends in the host that was named.
        #[test]
        fn nothing_fits_that_does_not_end_in_the_named_host(pattern in "(\\*\\.)?[a-c.:A-C1]{1,6}", host in "[a-c.A-C1]{1,8}") {
            let (Ok(read), Ok(target)) = (Pattern::read(&pattern), Target::parse(&format!("http://{host}/"))) else {
                return Ok(());
            };
            if read.fits(&target) {
                let below = format!(".{}", read.host);
                prop_assert!(target.host() == read.host || target.host().ends_with(&below));
                prop_assert_eq!(read.below, target.host() != read.host);
            }
        }
    }
}
