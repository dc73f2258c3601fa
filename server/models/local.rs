//! Models on this machine: whether a server runs there, and which of its models can call tools.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::header::AUTHORIZATION;
use serde_json::{Value, json};

use super::{Key, KeySource, ModelError, http};

/// Where nobody named the server it is answered at once, or not.
pub const QUICK: Duration = Duration::from_millis(200);
/// Whoever wrote it down waits for one that has much to do.
pub const PATIENT: Duration = Duration::from_secs(2);
/// A model that was found counts for so long, and that there is none: whoever starts a server does not want
/// to wait for it to be seen.
const KEEP: Duration = Duration::from_secs(30);
const KEEP_NONE: Duration = Duration::from_secs(3);
/// Bytes of a list of models.
const LIST: usize = 4 << 20;
/// Models that are asked what they can do.
const MODELS: usize = 16;

/// Whether `base_url` is on this machine.
pub fn is_local(base_url: &str) -> bool {
    http::address(base_url, "").is_some_and(|url| url.host_str().is_some_and(http::is_loopback))
}

/// The address for messages: nothing secret.
pub fn shown(base_url: &str) -> String {
    http::address(base_url, "").map_or_else(String::new, |url| http::shown(&url))
}

/// The first of [`models`].
///
/// # Errors
/// As there.
pub async fn model(
    provider: &str,
    base_url: &str,
    key: &KeySource,
    wait: Duration,
) -> Result<Option<String>, ModelError> {
    let models = models(provider, base_url, key, wait).await?;
    Ok(models.into_iter().next())
}

/// The models of the server at `base_url`, which is asked only where it is on this machine: those that can call
/// tools where the server tells (Ollama), else all in its order. The answer, that there is none too, is kept for a
/// while. The key is looked for where the server wants one.
///
/// # Errors
/// `NoKey`, where it wants another.
pub async fn models(
    provider: &str,
    base_url: &str,
    key: &KeySource,
    wait: Duration,
) -> Result<Vec<String>, ModelError> {
    type Known = Mutex<BTreeMap<String, (Instant, Vec<String>)>>;
    static KNOWN: OnceLock<Known> = OnceLock::new();
    if !is_local(base_url) {
        return Ok(Vec::new());
    }
    let known = || {
        KNOWN
            .get_or_init(Mutex::default)
            .lock()
            .unwrap_or_else(|e| e.into_inner())
    };
    if let Some((at, models)) = known().get(base_url)
        && at.elapsed() < if models.is_empty() { KEEP_NONE } else { KEEP }
    {
        return Ok(models.clone());
    }
    let within = async |key: Option<&Key>| {
        let answer = tokio::time::timeout(wait, ask(base_url, key)).await;
        answer.unwrap_or(Ok(None))
    };
    let found = match within(None).await {
        Err(Locked(status)) => match key.get().await? {
            Some(key) => within(Some(&key)).await,
            None => Err(Locked(status)),
        },
        found => found,
    };
    let found = found.map_err(|Locked(status)| {
        key.forget();
        key.refused(provider, &shown(base_url), status.as_str())
    })?;
    let found = found.unwrap_or_default();
    known().insert(base_url.to_owned(), (Instant::now(), found.clone()));
    Ok(found)
}

/// The server wants another key, or any.
struct Locked(StatusCode);

async fn ask(base_url: &str, key: Option<&Key>) -> Result<Option<Vec<String>>, Locked> {
    // Ollama's own interface stands beside the one that is spoken with it.
    let bare = base_url
        .trim()
        .trim_end_matches('/')
        .trim_end_matches("/v1");
    let tags = send(bare, "/api/tags", key, None).await;
    if let Ok(Some(tags)) = &tags {
        let newest = newest(tags);
        let told = newest.iter().map(async |name| {
            let told = send(bare, "/api/show", key, Some(json!({"model": name}))).await;
            let told = told.ok().flatten();
            told.and_then(|told| told["capabilities"].as_array().cloned())
        });
        let told = futures::future::join_all(told).await;
        return Ok(Some(usable(newest.iter().zip(told))));
    }
    let models = send(base_url, "/models", key, None).await?;
    let all = models.as_ref().and_then(|models| models["data"].as_array());
    let Some(all) = all else {
        // A gateway may refuse whatever it does not know: that counts where it has nothing else.
        return tags.map(|_| None);
    };
    let ids = all.iter().filter_map(|model| model["id"].as_str());
    Ok(Some(ids.take(MODELS).map(str::to_owned).collect()))
}

async fn send(
    base: &str,
    path: &str,
    key: Option<&Key>,
    body: Option<Value>,
) -> Result<Option<Value>, Locked> {
    let Some(url) = http::address(base, path) else {
        return Ok(None);
    };
    let Ok(client) = http::client(&url) else {
        return Ok(None);
    };
    let url = match key {
        Some(_) => http::without_password(url),
        None => url,
    };
    let request = match body {
        Some(body) => client.post(url).json(&body),
        None => client.get(url),
    };
    let request = match key {
        Some(key) => request.header(AUTHORIZATION, key.bearer()),
        None => request,
    };
    let Ok(response) = request.send().await else {
        return Ok(None);
    };
    let status = response.status();
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return Err(Locked(status));
    }
    if !status.is_success() {
        return Ok(None);
    }
    let body = http::head_of(response, LIST, PATIENT).await;
    Ok(serde_json::from_str(&body).ok())
}

/// The names of Ollama's list, newest first.
fn newest(tags: &Value) -> Vec<String> {
    let mut models: Vec<(&str, &str)> = tags["models"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|model| {
            let name = model["name"].as_str().filter(|n| !n.is_empty())?;
            Some((model["modified_at"].as_str().unwrap_or_default(), name))
        })
        .collect();
    models.sort_by(|a, b| b.cmp(a));
    models
        .into_iter()
        .take(MODELS)
        .map(|(_, name)| name.to_owned())
        .collect()
}

/// Those that say they can call tools; where none says anything (an Ollama of before 2025), those that make no
/// embeddings.
fn usable<'a>(
    models: impl Iterator<Item = (&'a String, Option<Vec<Value>>)> + Clone,
) -> Vec<String> {
    let names = |is_usable: &dyn Fn(&str, Option<&[Value]>) -> bool| -> Vec<String> {
        let usable = (models.clone()).filter(|(name, told)| is_usable(name, told.as_deref()));
        usable.map(|(name, _)| name.clone()).collect()
    };
    let able = names(&|_, told| told.is_some_and(|all| all.iter().any(|c| c == "tools")));
    if !able.is_empty() {
        return able;
    }
    let is_embedding = |name: &str| ["embed", "minilm", "bge-"].iter().any(|w| name.contains(w));
    names(&|name, told| told.is_none() && !is_embedding(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_calls_tools_is_taken() {
        let model = |name: &str, at: &str| json!({"name": name, "modified_at": at});
        let tags = json!({"models": [model("qwen3:8b", "2026-09-01"), model("gemma:2b", "2026-09-02"),
            model("nomic-embed-text", "2026-09-03"), {"name": 7}]});
        let names = newest(&tags);
        assert_eq!(names, ["nomic-embed-text", "gemma:2b", "qwen3:8b"]);
        let told = |all: &[&str]| Some(all.iter().map(|c| json!(c)).collect::<Vec<_>>());
        let able = [
            told(&["embedding"]),
            told(&["completion"]),
            told(&["completion", "tools"]),
        ];
        assert_eq!(usable(names.iter().zip(able)), ["qwen3:8b"]);
        let none = [
            told(&["embedding"]),
            told(&["completion"]),
            told(&["completion"]),
        ];
        assert!(usable(names.iter().zip(none)).is_empty());
        let silent = [None, None, None];
        assert_eq!(usable(names.iter().zip(silent)), ["gemma:2b", "qwen3:8b"]);
        for none in [
            json!({"models": []}),
            json!({}),
            json!([]),
            json!({"models": 7}),
        ] {
            assert!(newest(&none).is_empty());
        }
    }

    #[tokio::test]
    async fn nobody_is_asked_elsewhere() {
        let found = models("mine", "https://models.example/v1", &KeySource::None, QUICK);
        assert!(found.await.unwrap().is_empty());
        assert!(is_local("http://localhost:1234/v1") && is_local("http://[::1]:8/"));
        assert!(!is_local("http://127.0.0.1.example/") && !is_local("no address"));
    }
}
