//! Who answers: the model that is named, else the first that works, else the built-in answers.

use std::sync::Arc;

use crate::config::Settings;
use crate::models::ModelError;
use crate::models::anthropic::{Anthropic, Key};

use super::Answerer;

/// What is asked when there is a key and no model is named.
pub const DEFAULT_MODEL: &str = "claude-sonnet-5-5";

const BASE_URL: &str = "https://api.anthropic.com";
const KEY: &str = "ANTHROPIC_API_KEY";

/// The answerer that `name` (`provider/model`, or `offline`), else the settings name; nothing named:
/// Anthropic where a key is set, else offline. The key comes from the environment alone.
///
/// # Errors
/// `NoKey` and `Refused`, each with what to set.
pub fn choose(settings: &Settings, name: Option<&str>) -> Result<Answerer, ModelError> {
    choose_with(settings, name, &|variable| std::env::var(variable).ok())
}

/// [`choose`] with the environment given.
pub fn choose_with(
    settings: &Settings,
    name: Option<&str>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Answerer, ModelError> {
    let variable = |name: &str| {
        environment(name)
            .map(|v| v.trim().to_owned())
            .filter(|v| !v.is_empty())
    };
    let provider = settings.providers.get("anthropic");
    let key_from = provider
        .and_then(|p| p.api_key_env.as_deref())
        .map(str::trim)
        .filter(|v| !v.is_empty())
        .unwrap_or(KEY);

    let named = name.map(str::to_owned).or_else(|| settings.model.clone());
    let named = named
        .as_deref()
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let model = match named {
        Some("offline") => return Ok(Answerer::Offline),
        Some(name) => match name.split_once('/') {
            Some(("anthropic", model)) if !model.trim().is_empty() => model.trim(),
            None if name == "anthropic" => DEFAULT_MODEL,
            None if name.starts_with("claude-") => name,
            _ => {
                return Err(ModelError::Refused(format!(
                    "the model `{}` is of no provider that is known here: name `anthropic/{DEFAULT_MODEL}` or `offline` as `model`",
                    name.chars()
                        .filter(|c| !c.is_control())
                        .take(100)
                        .collect::<String>()
                )));
            }
        },
        None if variable(key_from).is_some() => DEFAULT_MODEL,
        None => return Ok(Answerer::Offline),
    };

    let Some(key) = variable(key_from) else {
        if provider.is_some_and(|p| p.api_key_command.is_some()) {
            return Err(ModelError::NoKey(format!(
                "keys from `apiKeyCommand` are not read by this version: set {key_from} in the environment and start postil again"
            )));
        }
        return Err(ModelError::NoKey(format!(
            "no key for anthropic/{model}: set {key_from} in the environment and start postil again, or set model = \"offline\""
        )));
    };
    let key = Key::new(&key).ok_or_else(|| {
        ModelError::NoKey(format!("the value of {key_from} holds characters that no key has: set it again and start postil again"))
    })?;
    let base = provider
        .map(|p| p.base_url.trim())
        .filter(|url| !url.is_empty())
        .unwrap_or(BASE_URL);
    Ok(Answerer::Model(Arc::new(Anthropic::new(
        base, key, key_from, model,
    )?)))
}
