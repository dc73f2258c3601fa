//! A model behind an endpoint, whatever its wire format: asking, trying again, and saying what is wrong.
//! An answer counts once it is whole; a stream that breaks is asked for again, as nothing was done with
//! its part.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use reqwest::StatusCode;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::error::{Place, WireError, error_of};
use super::http::{self, Fault, Limits, head_of, root_cause};
use super::key::{Hider, Key, KeySource};
use super::prices::{self, Facts};
use super::{Answer, Event, Model, ModelError, Request, Usage, anthropic, chat, responses};

/// The wire formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Anthropic's Messages API: `<base>/v1/messages`.
    Messages,
    /// OpenAI's Responses API: `<base>/responses`.
    Responses,
    /// OpenAI's Chat Completions, which most others speak: `<base>/chat/completions`.
    Chat,
}

impl Wire {
    fn path(self) -> &'static str {
        match self {
            Self::Messages => "/v1/messages",
            Self::Responses => "/responses",
            Self::Chat => "/chat/completions",
        }
    }
}

/// Which model, and how it is reached.
#[derive(Clone, Debug)]
pub struct Setup {
    /// As the settings name it.
    pub provider: String,
    pub model: String,
    pub wire: Wire,
    pub base_url: String,
    /// What to correct where the address is wrong.
    pub base_from: String,
    pub key: KeySource,
    pub facts: Facts,
}

/// The pieces of one answer, put together. Pure: data in, answer out.
pub(super) trait Assembly: Send {
    /// Takes the data of one event; true once the answer is whole.
    fn take(&mut self, data: &str, hear: &(dyn Fn(Event) + Send + Sync)) -> Result<bool, Trouble>;
    /// Whether the answer is whole should the stream end here, without its closing event.
    fn is_whole(&self) -> bool {
        false
    }
    /// The answer. `asked` is the model that was asked, for a server that does not name itself.
    fn finish(self: Box<Self>, asked: &str) -> Answer;
}

/// What can be wrong with an event.
pub(super) enum Trouble {
    /// It is not what the wire format allows.
    Broken(String),
    /// The server tells of an error in mid-stream.
    Reported(WireError),
}

/// One model behind one endpoint.
#[derive(Debug)]
pub struct Remote {
    client: reqwest::Client,
    url: reqwest::Url,
    setup: Setup,
    place: Place,
    limits: Limits,
}

impl Remote {
    /// # Errors
    /// `Refused` where the address is none.
    pub fn new(setup: Setup) -> Result<Self, ModelError> {
        let url = http::address(&setup.base_url, setup.wire.path()).ok_or_else(|| {
            let what = match reqwest::Url::parse(setup.base_url.trim()) {
                Ok(url) if url.query().is_some() => {
                    "has a query, and none is sent: leave out all from `?` on in"
                }
                _ => "is no http or https address: correct",
            };
            ModelError::Refused(format!(
                "the base URL of {} {what} {}",
                setup.provider, setup.base_from
            ))
        })?;
        let place = Place {
            address: http::shown(&url)
                .trim_end_matches(setup.wire.path())
                .to_owned(),
            base_from: setup.base_from.clone(),
            url: http::shown(&url),
            key: setup.key.clone(),
            provider: setup.provider.clone(),
            model: setup.model.clone(),
            assumed: prices::facts(&setup.provider, &setup.model)
                .prices
                .is_none()
                .then_some(setup.facts.window),
            may_be_chat: setup.wire == Wire::Responses && url.host_str() != Some("api.openai.com"),
            proxy: http::proxy(&url, &|name| std::env::var(name).ok()),
        };
        Ok(Self {
            client: http::client(&url)?,
            url,
            setup,
            place,
            limits: Limits::default(),
        })
    }

    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Where requests go: scheme, host, port and path, nothing secret.
    pub fn address(&self) -> &str {
        &self.place.address
    }

    pub fn key(&self) -> &KeySource {
        &self.setup.key
    }

    pub fn facts(&self) -> &Facts {
        &self.setup.facts
    }

    fn body(&self, request: &Request, limit: &str) -> Value {
        match self.setup.wire {
            Wire::Messages => anthropic::body(&self.setup, request),
            Wire::Responses => responses::body(&self.setup, request),
            Wire::Chat => chat::body(&self.setup, request, limit),
        }
    }

    /// How this model wants the limit of its answers to be named, as far as that is known.
    fn limit(&self) -> &'static str {
        match self.setup.provider == "openai" || Self::with_new_limit().contains(&self.id()) {
            true => chat::NEW_LIMIT,
            false => chat::LIMIT,
        }
    }

    /// The models that have said in this process that they want the limit by its new name.
    fn with_new_limit() -> MutexGuard<'static, BTreeSet<(String, String)>> {
        static NEW: Mutex<BTreeSet<(String, String)>> = Mutex::new(BTreeSet::new());
        NEW.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn id(&self) -> (String, String) {
        (self.place.address.clone(), self.setup.model.clone())
    }

    /// The models whose answers have begun in this process with thoughts in a tag that was not opened.
    fn with_thoughts() -> MutexGuard<'static, BTreeSet<(String, String)>> {
        static THINK: Mutex<BTreeSet<(String, String)>> = Mutex::new(BTreeSet::new());
        THINK.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn assembly(&self) -> Box<dyn Assembly> {
        let by = self.name();
        match self.setup.wire {
            Wire::Messages => Box::new(anthropic::Assembly::default()),
            Wire::Responses => Box::new(responses::Assembly::new(by)),
            Wire::Chat => {
                let is_known = chat::thinks(&self.setup.model);
                let thinks = Self::with_thoughts().contains(&self.id());
                Box::new(chat::Assembly::new(by, is_known, thinks))
            }
        }
    }

    async fn try_all(
        &self,
        request: &Request,
        hear: &(dyn Fn(Event) + Send + Sync),
    ) -> Result<Answer, ModelError> {
        let mut key = self.setup.key.get().await?;
        let mut is_renewed = false;
        let mut attempt = 0;
        loop {
            let mut fault = match self.try_once(request, key.as_ref(), hear).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            if let Some(key) = &key {
                fault.error = fault.error.map(|text| key.hide(&text));
            }
            let is_refused = matches!(fault.error, ModelError::NoKey(_));
            // What a program prints may have had its time.
            if let Some(old) = key.as_ref().filter(|_| is_refused && !is_renewed)
                && let Some(new) = self.setup.key.renewed(old).await?
            {
                is_renewed = true;
                key = Some(new);
                continue;
            }
            if !fault.again || attempt >= self.limits.retries {
                if is_refused {
                    self.setup.key.forget();
                }
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
        request: &Request,
        key: Option<&Key>,
        hear: &(dyn Fn(Event) + Send + Sync),
    ) -> Result<Answer, Fault> {
        let address = &self.place.address;
        let limit = self.limit();
        // Before anything is cut: a part of a key is a part too many.
        let hide = |text: &str| key.map_or_else(|| text.to_owned(), |key| key.hide(text));
        let url = self.url.clone();
        let url = match key {
            Some(_) if self.setup.wire != Wire::Messages => http::without_password(url),
            _ => url,
        };
        let mut send = self
            .client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header("accept", "text/event-stream")
            .body(self.body(request, limit).to_string());
        if self.setup.wire == Wire::Messages {
            send = send.header("anthropic-version", anthropic::VERSION);
        }
        send = match key {
            None => send,
            Some(key) if self.setup.wire == Wire::Messages => send.header("x-api-key", key.bare()),
            Some(key) => send.header(AUTHORIZATION, key.bearer()),
        };
        let patience = match self.url.host_str().is_some_and(http::is_loopback) {
            true => self.limits.quiet,
            false => self.limits.idle,
        };
        let response = match tokio::time::timeout(patience, send.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.place.unreachable(&root_cause(&error))),
            Err(_) => {
                return Err(http::silent(
                    &format!("{address} did not answer within"),
                    patience,
                    &self.limits,
                ));
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
            let error = error_of(&hide(&body));
            if self.setup.wire == Wire::Chat
                && limit == chat::LIMIT
                && status == StatusCode::BAD_REQUEST
                && error.as_ref().is_some_and(WireError::wants_new_limit)
            {
                Self::with_new_limit().insert(self.id());
                return Box::pin(self.try_once(request, key, hear)).await;
            }
            return Err(self.place.refused(status, &error, after));
        }
        if !kind.is_empty() && !kind.starts_with("text/event-stream") {
            let body = head_of(response, 64 << 10, self.limits.idle).await;
            return Err(match error_of(&hide(&body)) {
                Some(error) => self.place.reported(&error),
                None => self.place.no_stream(&kind),
            });
        }
        let hider = Hider::new(key);
        let rest = || match hider.rest() {
            text if text.is_empty() => {}
            text => hear(Event::Text(text)),
        };
        let heard = |event: Event| match event {
            Event::Text(text) => match hider.piece(text) {
                text if text.is_empty() => {}
                text => hear(Event::Text(text)),
            },
            event @ Event::Taken(_) => hear(event),
            event => {
                if matches!(event, Event::Thoughts) {
                    Self::with_thoughts().insert(self.id());
                }
                rest();
                hear(event);
            }
        };
        let finish = |assembly: Box<dyn Assembly>| {
            rest();
            Ok(hider.whole(assembly.finish(&self.setup.model)))
        };
        let events = http::events(response, &self.limits, patience);
        futures::pin_mut!(events);
        let mut assembly = self.assembly();
        let mut last = Instant::now();
        loop {
            let event = match timeout_at(last + self.limits.quiet, events.next()).await {
                // Whatever breaks off once all is said takes nothing away.
                Ok(Some(Err(fault))) if fault.again && assembly.is_whole() => {
                    return finish(assembly);
                }
                Ok(Some(event)) => event?,
                Ok(None) if assembly.is_whole() => return finish(assembly),
                Ok(None) => return Err(http::cut("it ended in the middle")),
                Err(_) => {
                    return Err(Fault::passing(ModelError::Unavailable(format!(
                        "{address} sent nothing but keep-alives for {} s: ask again, or choose another model",
                        self.limits.quiet.as_secs()
                    ))));
                }
            };
            if event.event != "ping" {
                last = Instant::now();
            }
            match assembly.take(&event.data, &heard) {
                Ok(true) => return finish(assembly),
                Ok(false) => {}
                // Whatever goes wrong once all is said takes nothing away.
                Err(_) if assembly.is_whole() => return finish(assembly),
                Err(Trouble::Broken(why)) => return Err(http::broken(&why)),
                Err(Trouble::Reported(mut error)) => {
                    error.message = hide(&error.message);
                    return Err(self.place.reported(&error));
                }
            }
        }
    }

    /// One small request, for whoever wants to know whether all is well. No text is kept.
    ///
    /// # Errors
    /// What a turn would end with.
    pub async fn check(&self, within: Duration) -> Result<(), ModelError> {
        let request = Request {
            system: String::new(),
            turns: vec![super::Turn {
                speaker: super::Speaker::User,
                blocks: vec![super::Block::Text {
                    text: String::from("Say: ok"),
                }],
            }],
            tools: Vec::new(),
            max_tokens: 16,
        };
        let asked = async {
            let key = self.setup.key.get().await?;
            self.try_once(&request, key.as_ref(), &|_| {})
                .await
                .map_err(|fault| match &key {
                    Some(key) => fault.error.map(|text| key.hide(&text)),
                    None => fault.error,
                })
        };
        match tokio::time::timeout(within, asked).await {
            Ok(answer) => answer.map(|_| ()),
            Err(_) => Err(ModelError::Unavailable(format!(
                "{} did not answer within {} s: ask again, or choose another model",
                self.place.address,
                within.as_secs()
            ))),
        }
    }
}

/// A name that every API takes for a tool's: what the model made up must still be one.
pub(super) fn tool_name(name: &str) -> String {
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
    name
}

/// Arguments as they streamed: an object, or the text itself where they are none.
pub(super) fn arguments(text: String) -> Value {
    if text.trim().is_empty() {
        return json!({});
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(input) if input.is_object() => input,
        _ => Value::String(text),
    }
}

/// Most tokens of an answer to this request.
pub(super) fn max_tokens(setup: &Setup, request: &Request) -> u32 {
    setup
        .facts
        .max_output
        .map_or(request.max_tokens, |most| request.max_tokens.min(most))
}

#[async_trait]
impl Model for Remote {
    fn name(&self) -> String {
        format!("{}/{}", self.setup.provider, self.setup.model)
    }

    fn context_window(&self) -> u64 {
        self.setup.facts.window
    }

    fn cost(&self, usage: &Usage) -> Option<f64> {
        self.setup.facts.prices.map(|prices| prices.cost(usage))
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

// A status is all that the other parts need of it.
pub(super) fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_REQUEST)
}
