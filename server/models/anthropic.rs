//! Anthropic's Messages API: streamed, with tools, prompt caching and thinking kept across tool calls.
//! An answer counts once it is whole; a stream that breaks is asked for again, as nothing was done with
//! its part.

use std::fmt;

use async_trait::async_trait;
use futures::StreamExt;
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

pub use super::http::Limits;

use super::assembly::{Assembly, WireError, error_of, passes};
use super::http::{self, Fault, head_of, root_cause};
use super::prices::{self, Row};
use super::{Answer, Block, Event, Model, ModelError, Request, Speaker, Usage};

/// The version of the wire format.
const VERSION: &str = "2023-06-01";
/// For models that the price list does not know: what every one of them holds.
const WINDOW: u64 = 200_000;
/// Characters of a server's own words in a message.
const SAID: usize = 300;

/// A secret: never shown, never compared, never stored.
#[derive(Clone)]
pub struct Key(HeaderValue);

impl Key {
    /// Fails where no HTTP header can hold it. Blanks around it come from files and are left out.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let mut value = HeaderValue::from_str(text)
            .ok()
            .filter(|_| !text.is_empty())?;
        value.set_sensitive(true);
        Some(Self(value))
    }

    /// `text` without the key, should a server have repeated it.
    fn hide(&self, text: &str) -> String {
        match self.0.to_str() {
            Ok(key) if text.contains(key) => text.replace(key, "…"),
            _ => text.to_owned(),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// One model behind one endpoint.
#[derive(Debug)]
pub struct Anthropic {
    client: reqwest::Client,
    url: reqwest::Url,
    /// For messages: scheme, host, port and path, nothing secret.
    place: String,
    key: Key,
    /// The variable that the key came from, for messages.
    key_from: String,
    model: String,
    row: Option<&'static Row>,
    limits: Limits,
}

impl Anthropic {
    /// Requests go to `<base_url>/v1/messages`. Fails where the address is none.
    pub fn new(base_url: &str, key: Key, key_from: &str, model: &str) -> Result<Self, ModelError> {
        let wrong = || {
            ModelError::Refused(String::from(
                "the base URL of anthropic is no http or https address: correct ANTHROPIC_BASE_URL or providers.anthropic.baseUrl",
            ))
        };
        let mut url = reqwest::Url::parse(base_url.trim()).map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https")
            || url.host_str().is_none()
            || url.query().is_some()
            || url.fragment().is_some()
        {
            return Err(wrong());
        }
        let path = format!("{}/v1/messages", url.path().trim_end_matches('/'));
        url.set_path(&path);
        let mut shown = url.clone();
        // Fails for addresses without a host alone, which were refused above.
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        let place = shown.as_str().trim_end_matches("/v1/messages").to_owned();
        Ok(Self {
            client: http::client(&url)?,
            url,
            place,
            key,
            key_from: key_from.to_owned(),
            model: model.to_owned(),
            row: prices::find(model),
            limits: Limits::default(),
        })
    }

    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    async fn try_all(
        &self,
        request: &Request,
        hear: &(dyn Fn(Event) + Send + Sync),
    ) -> Result<Answer, ModelError> {
        let body = self.body(request).to_string();
        let mut attempt = 0;
        loop {
            let fault = match self.try_once(body.clone(), hear).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            if !fault.again || attempt >= self.limits.retries {
                return Err(fault.error);
            }
            attempt += 1;
            let wait = http::wait(&self.limits, attempt, fault.after);
            let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            hear(Event::Retry {
                attempt,
                why: fault.error.to_string(),
                wait_ms,
            });
            tokio::time::sleep(wait).await;
        }
    }

    async fn try_once(
        &self,
        body: String,
        hear: &(dyn Fn(Event) + Send + Sync),
    ) -> Result<Answer, Fault> {
        let send = self
            .client
            .post(self.url.clone())
            .header("x-api-key", self.key.0.clone())
            .header("anthropic-version", VERSION)
            .header(CONTENT_TYPE, "application/json")
            .header("accept", "text/event-stream")
            .body(body)
            .send();
        let response = match tokio::time::timeout(self.limits.idle, send).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                return Err(Fault::passing(ModelError::Unavailable(format!(
                    "{} cannot be reached ({}): check the network and ANTHROPIC_BASE_URL, or choose another model",
                    self.place,
                    self.clean(&root_cause(&error))
                ))));
            }
            Err(_) => {
                return Err(Fault::passing(ModelError::Unavailable(format!(
                    "{} did not answer within {} s: ask again, or choose another model",
                    self.place,
                    self.limits.idle.as_secs()
                ))));
            }
        };
        let status = response.status();
        let after = http::retry_after(response.headers());
        let kind = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|v| v.to_str().ok())
            .unwrap_or_default()
            .to_ascii_lowercase();
        if !status.is_success() {
            let body = head_of(response, 64 << 10, self.limits.idle).await;
            return Err(self.refused(status, &body, after));
        }
        if !kind.is_empty() && !kind.starts_with("text/event-stream") {
            let body = head_of(response, 64 << 10, self.limits.idle).await;
            return Err(match error_of(&body) {
                Some(error) => self.reported(&error),
                None => Fault::last(ModelError::Malformed(format!(
                    "{} answered with {} instead of a model's answer: check ANTHROPIC_BASE_URL, or a proxy or login page in between",
                    self.place,
                    if kind.starts_with("text/html") {
                        String::from("a web page")
                    } else {
                        self.clean(&kind)
                    }
                ))),
            });
        }
        let events = http::events(response, &self.limits);
        futures::pin_mut!(events);
        let mut assembly = Assembly::default();
        let mut heard = Instant::now();
        loop {
            let event = match timeout_at(heard + self.limits.quiet, events.next()).await {
                Ok(Some(event)) => event,
                Ok(None) => return Err(http::cut("it ended in the middle")),
                Err(_) => {
                    return Err(Fault::passing(ModelError::Unavailable(format!(
                        "{} sent nothing but keep-alives for {} s: ask again, or choose another model",
                        self.place,
                        self.limits.quiet.as_secs()
                    ))));
                }
            };
            let event = event.map_err(|fault| Fault {
                error: self.without_key(fault.error),
                ..fault
            })?;
            if event.event != "ping" {
                heard = Instant::now();
            }
            if assembly.take(&event.data, hear, |error| self.reported(error))? {
                return Ok(assembly.finish(&self.model));
            }
        }
    }

    /// A status that is no success.
    fn refused(&self, status: StatusCode, body: &str, after: Option<std::time::Duration>) -> Fault {
        let error = error_of(body);
        let said = match &error {
            Some(error) if !error.message.is_empty() => self.clean(&error.message),
            _ => status
                .canonical_reason()
                .unwrap_or("no reason given")
                .to_owned(),
        };
        let code = status.as_u16();
        let place = &self.place;
        let again = |text| Fault {
            error: ModelError::Unavailable(text),
            again: true,
            after,
        };
        match code {
            300..=399 => Fault::last(ModelError::Refused(format!(
                "{place} answered with a redirect, which is not followed with a key: correct ANTHROPIC_BASE_URL"
            ))),
            401 => Fault::last(ModelError::Refused(format!(
                "the key in {} was refused by {place} (401, {said}): set a valid key there and start postil again",
                self.key_from
            ))),
            403 => Fault::last(ModelError::Refused(format!(
                "the key in {} has no access to {} at {place} (403, {said}): choose another model or another key",
                self.key_from, self.model
            ))),
            404 => Fault::last(ModelError::Refused(format!(
                "{place} knows no model {} (404, {said}): choose another one with `model`, or correct ANTHROPIC_BASE_URL",
                self.model
            ))),
            413 => Fault::last(ModelError::TooLong(format!(
                "the request is too large for {} (413, {said}): ask for less at once",
                self.model
            ))),
            400 if is_too_long(&said) => Fault::last(ModelError::TooLong(format!(
                "the conversation does not fit into {} ({said}): ask for less at once",
                self.model
            ))),
            408 | 409 => again(format!(
                "{place} did not take the request ({code}, {said}): ask again"
            )),
            429 => again(format!(
                "{place} limits how much may be asked (429, {said}): wait a little, or choose another model"
            )),
            500..=599 => again(format!(
                "{place} cannot answer now ({code}, {said}): ask again later, or choose another model"
            )),
            _ => Fault::last(ModelError::Refused(format!(
                "{place} refused the request ({code}, {said}): check `model` and ANTHROPIC_BASE_URL"
            ))),
        }
    }

    /// An error inside a 200.
    fn reported(&self, error: &WireError) -> Fault {
        let status = match error.kind.as_str() {
            "authentication_error" => StatusCode::UNAUTHORIZED,
            "permission_error" => StatusCode::FORBIDDEN,
            "not_found_error" => StatusCode::NOT_FOUND,
            "request_too_large" => StatusCode::PAYLOAD_TOO_LARGE,
            "rate_limit_error" => StatusCode::TOO_MANY_REQUESTS,
            kind if passes(kind) => {
                let said = if error.message.is_empty() {
                    &error.kind
                } else {
                    &error.message
                };
                return Fault::passing(ModelError::Unavailable(format!(
                    "{} cannot answer now ({}): ask again later, or choose another model",
                    self.place,
                    self.clean(said)
                )));
            }
            _ => StatusCode::BAD_REQUEST,
        };
        let body = json!({"error": {"type": error.kind, "message": error.message}}).to_string();
        self.refused(status, &body, None)
    }

    /// A server's own words, fit for a sentence: one line, no controls, short, without the key.
    fn clean(&self, text: &str) -> String {
        let line = text
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|w| !w.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
        let line = self.key.hide(&line);
        match line.char_indices().nth(SAID) {
            Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
            None => line,
        }
    }

    fn without_key(&self, error: ModelError) -> ModelError {
        match error {
            ModelError::Unavailable(text) => ModelError::Unavailable(self.key.hide(&text)),
            ModelError::Malformed(text) => ModelError::Malformed(self.key.hide(&text)),
            other => other,
        }
    }

    /// The request as the API wants it: roles alternate, no empty text, three marks for the cache (tools,
    /// system, newest turn) so that each round pays for what is new alone.
    fn body(&self, request: &Request) -> Value {
        let mut messages: Vec<(Speaker, Vec<Value>)> = Vec::new();
        for turn in &request.turns {
            let mut blocks: Vec<Value> = turn.blocks.iter().filter_map(block).collect();
            // Results answer the calls before anything else is said.
            blocks.sort_by_key(|b| {
                b.get("type").and_then(Value::as_str) != Some("tool_result")
                    && turn.speaker == Speaker::User
            });
            if blocks.is_empty() {
                continue;
            }
            match messages.last_mut() {
                Some((speaker, last)) if *speaker == turn.speaker => last.append(&mut blocks),
                _ => messages.push((turn.speaker, blocks)),
            }
        }
        if let Some(last) = messages
            .last_mut()
            .and_then(|(_, blocks)| blocks.last_mut())
        {
            mark(last);
        }
        let messages: Vec<Value> = messages
            .into_iter()
            .map(|(speaker, content)| {
                let role = match speaker {
                    Speaker::User => "user",
                    Speaker::Assistant => "assistant",
                };
                json!({"role": role, "content": content})
            })
            .collect();
        let max_tokens = self.row.map_or(request.max_tokens, |row| {
            request.max_tokens.min(row.max_output)
        });
        let mut body = Map::new();
        body.insert(String::from("model"), json!(self.model));
        body.insert(String::from("max_tokens"), json!(max_tokens));
        body.insert(String::from("stream"), json!(true));
        if !request.system.trim().is_empty() {
            let mut system = json!({"type": "text", "text": request.system});
            mark(&mut system);
            body.insert(String::from("system"), json!([system]));
        }
        if !request.tools.is_empty() {
            let mut tools: Vec<Value> = request
                .tools
                .iter()
                .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters}))
                .collect();
            if let Some(last) = tools.last_mut() {
                mark(last);
            }
            body.insert(String::from("tools"), json!(tools));
        }
        body.insert(String::from("messages"), json!(messages));
        Value::Object(body)
    }
}

fn is_too_long(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    said.contains("prompt is too long")
        || said.contains("exceed context limit")
        || said.contains("context window")
}

fn mark(block: &mut Value) {
    let thinks = block
        .get("type")
        .and_then(Value::as_str)
        .is_some_and(|t| t.ends_with("thinking"));
    if let Value::Object(map) = block
        && !thinks
    {
        map.insert(String::from("cache_control"), json!({"type": "ephemeral"}));
    }
}

/// One block as the API takes it back.
fn block(block: &Block) -> Option<Value> {
    Some(match block {
        Block::Text { text } if text.trim().is_empty() => return None,
        Block::Text { text } => json!({"type": "text", "text": text}),
        Block::Thinking { signature, .. } if signature.is_empty() => return None,
        Block::Thinking {
            thinking,
            signature,
        } => json!({"type": "thinking", "thinking": thinking, "signature": signature}),
        Block::RedactedThinking { data } => json!({"type": "redacted_thinking", "data": data}),
        Block::ToolUse { id, name, input } => {
            // What the model made up as a name must still be a name to the API.
            let mut name: String = name
                .chars()
                .map(|c| {
                    if c.is_ascii_alphanumeric() || c == '-' {
                        c
                    } else {
                        '_'
                    }
                })
                .take(64)
                .collect();
            if name.is_empty() {
                name.push('_');
            }
            let input = if input.is_object() {
                input.clone()
            } else {
                json!({})
            };
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
        Block::Image { media_type, data } => {
            json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
        }
        Block::ToolResult {
            id,
            content,
            is_error,
        } => {
            let mut result = json!({"type": "tool_result", "tool_use_id": id});
            if let Value::Object(map) = &mut result {
                if !content.trim().is_empty() {
                    map.insert(String::from("content"), json!(content));
                }
                if *is_error {
                    // An error without a text is refused by the API.
                    map.entry("content").or_insert_with(|| json!("failed"));
                    map.insert(String::from("is_error"), json!(true));
                }
            }
            result
        }
    })
}

#[async_trait]
impl Model for Anthropic {
    fn name(&self) -> String {
        format!("anthropic/{}", self.model)
    }

    fn context_window(&self) -> u64 {
        self.row.map_or(WINDOW, |row| row.window)
    }

    fn cost(&self, usage: &Usage) -> Option<f64> {
        self.row.map(|row| row.cost(usage))
    }

    async fn stream(
        &self,
        request: &Request,
        events: &(dyn Fn(Event) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<Answer, ModelError> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ModelError::Cancelled),
            // Dropped on cancel: the connection closes with it.
            answer = self.try_all(request, events) => answer,
        }
    }
}
