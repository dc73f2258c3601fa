//! What a server says is wrong, read in the forms that servers say it in, and told to a person: the cause
//! and the way out, without the key.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::Value;

use super::ModelError;
use super::chat::NEW_LIMIT;
use super::http::Fault;
use super::key::KeySource;
use super::remote::status;

/// Characters of a server's own words in a message.
const SAID: usize = 300;

/// An error as a server words it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct WireError {
    /// `type` and `code`, where they are words.
    pub kinds: Vec<String>,
    /// A status that stands in the text itself.
    pub status: Option<u16>,
    pub message: String,
}

impl WireError {
    /// The value of `error`: an object, or a text alone.
    pub fn of(error: &Value) -> Self {
        let mut kinds = Vec::new();
        let mut status = None;
        for key in ["type", "code", "status"] {
            match error.get(key) {
                Some(Value::String(kind)) if !kind.is_empty() => {
                    status = status.or(kind.parse().ok());
                    kinds.push(kind.to_ascii_lowercase());
                }
                Some(Value::Number(number)) => {
                    status = status.or(number.as_u64().and_then(|n| u16::try_from(n).ok()));
                }
                _ => {}
            }
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let message = text(error)
            .or_else(|| error.get("message").and_then(text))
            .unwrap_or_default();
        Self {
            kinds,
            status: status.filter(|s| (400..600).contains(s)),
            message,
        }
    }

    fn is(&self, kinds: &[&str]) -> bool {
        self.kinds.iter().any(|kind| kinds.contains(&kind.as_str()))
    }

    fn is_too_long(&self) -> bool {
        let said = self.message.to_ascii_lowercase();
        self.is(&["context_length_exceeded", "exceed_context_size_error"])
            || [
                "prompt is too long",
                "input is too long",
                "exceed context limit",
                "context window",
                "maximum context length",
                "max_model_len",
                "available context size",
                "context length exceeded",
                "exceeds the context length",
                "exceeds the maximum number of tokens",
                // LM Studio, now and before.
                "loaded with context length of only",
                "greater than the context length",
                // xAI, Moonshot, GitHub Copilot.
                "maximum prompt length is",
                "exceeded model token limit",
                "prompt token count of",
            ]
            .iter()
            .any(|phrase| said.contains(phrase))
    }

    /// The answer may not be as long as the request would have it.
    fn wants_less(&self) -> bool {
        let limit = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
        let said = self.message.to_ascii_lowercase();
        limit.iter().any(|name| said.contains(name))
            && [
                "maximum allowed number of output tokens",
                "must be less than or equal to",
                "supports at most",
                "valid range of",
            ]
            .iter()
            .any(|phrase| said.contains(phrase))
    }

    /// There is nothing at the address: the words of whoever knows no such path, which name no model.
    fn is_no_path(&self) -> bool {
        let said = self.message.to_ascii_lowercase();
        matches!(said.trim(), "" | "not found" | "file not found")
    }

    /// The parameter of the request that says how long the answer may be is to have its other name.
    pub fn wants_new_limit(&self) -> bool {
        self.message.contains(NEW_LIMIT) && !self.is_too_long()
    }

    fn is_out_of_money(&self) -> bool {
        self.is(&[
            "insufficient_quota",
            "billing_error",
            "billing_hard_limit_reached",
        ])
    }

    /// The status that an error inside a 200 would have had.
    fn as_status(&self) -> StatusCode {
        let known = [
            (401, &["authentication_error", "invalid_api_key"][..]),
            (403, &["permission_error", "permission_denied"]),
            (404, &["not_found_error", "model_not_found"]),
            (413, &["request_too_large"]),
            (
                429,
                &[
                    "rate_limit_error",
                    "rate_limit_exceeded",
                    "too_many_requests",
                ],
            ),
            (
                503,
                &[
                    "overloaded_error",
                    "api_error",
                    "timeout_error",
                    "server_error",
                    "internal_server_error",
                    "internalservererror",
                    "server_is_overloaded",
                    "slow_down",
                    "service_unavailable",
                    "unavailable_error",
                    "upstream_error",
                    "vector_store_timeout",
                ],
            ),
        ];
        known
            .iter()
            .find(|(_, kinds)| self.is(kinds))
            .map(|(code, _)| status(*code))
            .or_else(|| self.status.map(status))
            .unwrap_or(StatusCode::BAD_REQUEST)
    }
}

/// The error in the body of a response that is no answer, where the body holds one. `{"error": …}`,
/// `{"object": "error", …}`, `{"detail": …}`, `{"message": …}`; some wrap all in a list.
pub(super) fn error_of(body: &str) -> Option<WireError> {
    let body: Value = serde_json::from_str(body).ok()?;
    let body = match &body {
        Value::Array(all) => all.first()?,
        body => body,
    };
    let error = match (body.get("error"), body.get("detail")) {
        (Some(error), _) if !error.is_null() => WireError::of(error),
        (_, Some(Value::String(detail))) => WireError {
            message: detail.clone(),
            ..WireError::default()
        },
        (_, Some(detail)) if !detail.is_null() => WireError {
            message: detail.to_string(),
            ..WireError::default()
        },
        _ if body["object"] == "error" || body.get("message").is_some_and(Value::is_string) => {
            WireError::of(body)
        }
        _ => return None,
    };
    Some(error)
}

/// Whom a message is about.
#[derive(Debug)]
pub(super) struct Place {
    /// Scheme, host, port and path, nothing secret.
    pub address: String,
    /// What to correct where the address is wrong.
    pub base_from: String,
    /// Where requests go, nothing secret.
    pub url: String,
    pub key: KeySource,
    pub provider: String,
    pub model: String,
    /// Tokens that the model is taken to hold, where the table does not have it.
    pub assumed: Option<u64>,
    /// Responses is spoken with a server that is not OpenAI's, which may know Chat Completions alone.
    pub may_be_chat: bool,
    /// The variable that names the proxy in between.
    pub proxy: Option<&'static str>,
}

impl Place {
    pub fn unreachable(&self, why: &str) -> Fault {
        if let Some((why, what)) = crate::present::certificate(why) {
            return Fault::last(ModelError::Unavailable(format!(
                "{} was asked nothing, for {why}: {what}, correct {}, or choose another model",
                self.address, self.base_from
            )));
        }
        if let Some(proxy) = self.proxy {
            if why.contains("unsupported scheme") {
                return Fault::last(ModelError::Unavailable(format!(
                    "{} was asked nothing, for the proxy in {proxy} is of a kind that is not spoken here ({}): name an HTTP proxy there, or unset it",
                    self.address,
                    clean(why)
                )));
            }
            return Fault::passing(ModelError::Unavailable(format!(
                "{} cannot be reached through the proxy in {proxy} ({}): correct {proxy}, or name the host in NO_PROXY to do without it",
                self.address,
                clean(why)
            )));
        }
        Fault::passing(ModelError::Unavailable(format!(
            "{} cannot be reached ({}): {}, or choose another model",
            self.address,
            clean(why),
            if http_is_local(&self.address) {
                format!("start the server there, or correct {}", self.base_from)
            } else {
                format!("check the network and {}", self.base_from)
            }
        )))
    }

    /// A body that is no stream and no error.
    pub fn no_stream(&self, kind: &str) -> Fault {
        Fault::last(ModelError::Malformed(format!(
            "{} answered with {} instead of a model's answer: check {}, or a proxy or login page in between",
            self.address,
            if kind.starts_with("text/html") {
                String::from("a web page")
            } else {
                clean(kind)
            },
            self.base_from
        )))
    }

    /// A status that is no success.
    pub fn refused(
        &self,
        status: StatusCode,
        error: &Option<WireError>,
        after: Option<Duration>,
    ) -> Fault {
        let said = match error {
            Some(error) if !error.message.is_empty() => clean(&error.message),
            _ => status
                .canonical_reason()
                .unwrap_or("no reason given")
                .to_owned(),
        };
        let code = status.as_u16();
        let Self {
            address,
            base_from,
            model,
            ..
        } = self;
        let again = |text| Fault {
            error: ModelError::Unavailable(text),
            again: true,
            after,
        };
        let last = |text| Fault::last(ModelError::Refused(text));
        let unavailable = |text| Fault::last(ModelError::Unavailable(text));
        let is = |test: fn(&WireError) -> bool| error.as_ref().is_some_and(test);
        if code != 401 && is(WireError::is_too_long) {
            let known = self.assumed.map_or(String::new(), |tokens| {
                format!(
                    ", or, where it holds less than {tokens} tokens, say how many as contextWindow in [models.\"{}/{model}\"] of your config.toml",
                    self.provider
                )
            });
            return Fault::last(ModelError::TooLong(format!(
                "the conversation does not fit into {model} ({said}): ask for less at once{known}"
            )));
        }
        // Whoever answers with a page and no error may stand in between.
        let between = self
            .proxy
            .filter(|_| code == 407 || code == 403 && error.is_none());
        if let Some(proxy) = between {
            return unavailable(format!(
                "the proxy in {proxy}{} ({code}, {said}): correct {proxy}, or name the host in NO_PROXY to do without it",
                match code {
                    407 =>
                        format!(" lets nobody through to {address} without a name and a password"),
                    _ => format!(", or {address} behind it, forbids the request"),
                }
            ));
        }
        let usual = self.usual_end();
        match code {
            300..=399 => unavailable(format!(
                "{address} answered with a redirect, which is not followed with a key: correct {base_from}"
            )),
            401 => Fault::last(
                self.key
                    .refused(&self.provider, address, &format!("401, {said}")),
            ),
            402 => unavailable(format!(
                "the account of the key has nothing left at {address} (402, {said}): add credit there, or choose another model"
            )),
            429 if is(WireError::is_out_of_money) => unavailable(format!(
                "the account of the key has nothing left at {address} (429, {said}): add credit there, or choose another model"
            )),
            403 => Fault::last(ModelError::NoKey(match &self.key {
                KeySource::None => format!(
                    "{address} forbids it (403, {said}): where it wants a key, name the variable that has it as providers.{}.apiKeyEnv in your config.toml",
                    self.provider
                ),
                key => format!(
                    "the key in {} has no access to {model} at {address} (403, {said}): choose another model or another key",
                    key.place()
                ),
            })),
            404 | 405 if self.may_be_chat => unavailable(format!(
                "{address} knows no model {model}, or speaks no Responses API ({code}, {said}): set providers.{}.api = \"chat\" in your config.toml where it speaks Chat Completions alone, else choose another `model`, or correct {base_from}{usual}",
                self.provider
            )),
            404 if error.as_ref().is_none_or(WireError::is_no_path) => unavailable(format!(
                "nothing is served at {} (404, {said}): correct {base_from}{usual}",
                self.url
            )),
            404 => unavailable(format!(
                "{address} knows no model {model} (404, {said}): choose another one with `model`, or correct {base_from}"
            )),
            400 if said.contains("does not support tools") => unavailable(format!(
                "{model} cannot call tools ({said}): choose a model that can with `model`"
            )),
            400 if is(WireError::wants_less) => last(format!(
                "{model} may not say so much at once (400, {said}): say how many tokens it may as maxOutput in [models.\"{}/{model}\"] of your config.toml",
                self.provider
            )),
            413 => Fault::last(ModelError::TooLong(format!(
                "the request is too large for {model} (413, {said}): ask for less at once"
            ))),
            408 | 409 => again(format!(
                "{address} did not take the request ({code}, {said}): ask again"
            )),
            429 => again(format!(
                "{address} limits how much may be asked (429, {said}): wait a little, or choose another model"
            )),
            500..=599 => again(format!(
                "{address} cannot answer now ({code}, {said}): ask again later, or choose another model"
            )),
            _ => last(format!(
                "{address} refused the request ({code}, {said}): check `model` and {base_from}"
            )),
        }
    }

    /// What is said of the base URL where it names no version of an interface.
    fn usual_end(&self) -> &'static str {
        let path = self.url.split('/').skip(3);
        let is_version =
            |part: &str| matches!(part.as_bytes(), [b'v', digit, ..] if digit.is_ascii_digit());
        match path.into_iter().any(is_version) {
            true => "",
            false => ", which usually ends in /v1",
        }
    }

    /// An error inside a 200.
    pub fn reported(&self, error: &WireError) -> Fault {
        let said = if error.message.is_empty() {
            error.kinds.join(", ")
        } else {
            error.message.clone()
        };
        let whole = WireError {
            kinds: error.kinds.clone(),
            status: error.status,
            message: said,
        };
        let status = whole.as_status();
        if status.is_server_error() {
            return Fault::passing(ModelError::Unavailable(format!(
                "{} cannot answer now ({}): ask again later, or choose another model",
                self.address,
                clean(&whole.message)
            )));
        }
        self.refused(status, &Some(whole), None)
    }
}

fn http_is_local(address: &str) -> bool {
    reqwest::Url::parse(address)
        .ok()
        .and_then(|url| url.host_str().map(super::http::is_loopback))
        .unwrap_or(false)
}

/// A server's own words, fit for a sentence: one line, no controls, short.
pub(super) fn clean(text: &str) -> String {
    let line = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    match line.char_indices().nth(SAID) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_read_in_the_forms_that_servers_use() {
        let message = |body: &str| error_of(body).map(|e| e.message);
        for (body, said) in [
            (
                r#"{"type":"error","error":{"type":"api_error","message":"a"}}"#,
                "a",
            ),
            (r#"{"error":{"message":"b","code":"invalid_api_key"}}"#, "b"),
            (r#"{"error":"c"}"#, "c"),
            (r#"{"object":"error","message":"d","code":400}"#, "d"),
            (r#"{"detail":"e"}"#, "e"),
            (r#"{"message":"f","request_id":"1"}"#, "f"),
            (
                r#"[{"error":{"message":"g","status":"INVALID_ARGUMENT"}}]"#,
                "g",
            ),
        ] {
            assert_eq!(message(body).as_deref(), Some(said), "{body}");
        }
        for none in [
            r#"{"choices":[]}"#,
            "<html>",
            "",
            "[]",
            "null",
            r#"{"error":null}"#,
        ] {
            assert_eq!(message(none), None, "{none}");
        }
        let numbered = WireError::of(&serde_json::json!({"code": 502, "message": "upstream"}));
        assert_eq!(numbered.as_status(), StatusCode::BAD_GATEWAY);
    }
}
