//! Who answers: the model that is named, else the first that works, else the built-in answers.

use std::sync::Arc;

use crate::acp;
use crate::config::{Api, Provider, Settings};
use crate::models::prices;
use crate::models::{Key, KeySource, ModelError, Remote, Setup, Wire, local};

use super::Answerer;

/// What is asked at a provider when no model is named.
pub const DEFAULT_MODEL: &str = "claude-sonnet-5-5";
pub const DEFAULT_OPENAI: &str = "gpt-6.1-sol";

/// Who was chosen.
#[derive(Debug)]
pub struct Choice {
    pub answerer: Answerer,
    /// Why this one: the second half of a sentence.
    pub why: String,
    /// Where its key comes from. Never the key.
    pub key: String,
    /// The model itself, for whoever wants to ask it whether all is well.
    pub remote: Option<Arc<Remote>>,
}

/// The answerer that `name` (`provider/model`, or `offline`), else the settings name; nothing named: the
/// first of a configured provider, a key in the environment, an Ollama on this machine, else offline. An empty name is
/// none.
///
/// # Errors
/// `NoKey` and `Refused`, each with what to set.
pub async fn choose(settings: &Settings, name: Option<&str>) -> Result<Choice, ModelError> {
    let environment = |variable: &str| std::env::var(variable).ok();
    choose_with(settings, name, &environment).await
}

/// [`choose`] with the environment given.
pub async fn choose_with(
    settings: &Settings,
    name: Option<&str>,
    environment: &(dyn Fn(&str) -> Option<String> + Sync),
) -> Result<Choice, ModelError> {
    let chooser = Chooser {
        settings,
        environment,
    };
    let is_one = |name: &&str| !name.is_empty();
    let asked = name.map(str::trim).filter(is_one);
    let set = settings.model.as_deref().map(str::trim).filter(is_one);
    let named = asked
        .map(|name| (name, "it was asked for"))
        .or_else(|| set.map(|name| (name, "`model` names it")));
    match (named, &settings.lost.who) {
        (Some((name, why)), _) => chooser.named(name, why).await,
        // Who is merely found may be whom the user did not want.
        (None, Some(place)) => Err(ModelError::Refused(format!(
            "{place} cannot be used, so it is not known who shall answer, and nobody was asked: correct it, or name one with `--model`"
        ))),
        (None, None) => chooser.first().await,
    }
}

pub(super) struct Chooser<'a> {
    pub(super) settings: &'a Settings,
    pub(super) environment: &'a (dyn Fn(&str) -> Option<String> + Sync),
}

impl Chooser<'_> {
    async fn named(&self, name: &str, why: &str) -> Result<Choice, ModelError> {
        if name == "offline" {
            return Ok(offline(why));
        }
        let providers = &self.settings.providers;
        let (provider, model) = match name.split_once('/') {
            Some(("acp", agent)) => return outside(self.settings, agent.trim(), why),
            Some((provider, model)) if providers.contains_key(provider) => (provider, model.trim()),
            None if providers.contains_key(name) => (name, ""),
            None if name.starts_with("claude-") => ("anthropic", name),
            None if name.starts_with("gpt-") => ("openai", name),
            None if acp::agent(name, &self.settings.agents).is_some() => {
                return outside(self.settings, name, why);
            }
            _ => return Err(self.unknown(name)),
        };
        // It might be reached elsewhere, or with another key, than the user says.
        if let Some(place) = self.settings.lost.providers.get(provider) {
            return Err(ModelError::Refused(format!(
                "{place} cannot be used, so it is not known how {provider} is reached, and nobody was asked: correct it"
            )));
        }
        let Some(settings) = providers.get(provider) else {
            return Err(self.unknown(name));
        };
        if !model.is_empty() {
            return self.model(provider, settings, model, why);
        }
        match self.usual(provider, settings).await? {
            Some(model) => self.model(provider, settings, &model, why),
            None if local::is_local(&settings.base_url) => Err(ModelError::Unavailable(format!(
                "{provider} has no model that can call tools, or does not run at {}: start it with one, or name another `model`",
                local::shown(&settings.base_url)
            ))),
            None => Err(ModelError::Refused(format!(
                "no model of {provider} is named: write `{provider}/…` as `model`"
            ))),
        }
    }

    /// Nothing is named: the first that works.
    async fn first(&self) -> Result<Choice, ModelError> {
        let providers = &self.settings.providers;
        // What the user wrote down goes before what is merely there, and nothing else is asked where it does not work:
        // who set up a server of their own may not want their code elsewhere. Ollama is looked for in any case.
        let mut silent = None;
        for (name, provider) in providers.iter().filter(|(_, p)| p.configured) {
            if !self.has_key(provider) {
                continue;
            }
            match self.usual(name, provider).await {
                Ok(Some(model)) => {
                    return self.model(name, provider, &model, "it is configured");
                }
                Ok(None) if name == "ollama" => {}
                _ => silent = silent.or(Some(name)),
            }
        }
        if let Some(name) = silent {
            return self.named(name, "it is configured").await;
        }
        for name in ["anthropic", "openai"] {
            if let Some(provider) = providers.get(name)
                && self.has_key(provider)
                && let Some(model) = usual_of(name)
            {
                return self.model(name, provider, model, "its key is in the environment");
            }
        }
        if let Some(ollama) = providers.get("ollama")
            && let found = local::model("ollama", &ollama.base_url, &KeySource::None, local::QUICK)
            && let Ok(Some(model)) = found.await
        {
            return self.model("ollama", ollama, &model, "Ollama runs on this machine");
        }
        // An agent on PATH comes here.
        Ok(offline("nothing else is configured"))
    }

    /// What a provider is asked for when nothing is said.
    async fn usual(&self, name: &str, provider: &Provider) -> Result<Option<String>, ModelError> {
        if let Some(model) = usual_of(name) {
            return Ok(Some(model.to_owned()));
        }
        if !local::is_local(&provider.base_url) {
            return Ok(None);
        }
        let key = self.key(name, provider, "…")?;
        local::model(name, &provider.base_url, &key, local::PATIENT).await
    }

    /// Whether nothing is missing to ask this provider, as far as can be told without running a program.
    pub(super) fn has_key(&self, provider: &Provider) -> bool {
        if provider.keyring {
            return true;
        }
        match (&provider.api_key_command, &provider.api_key_env) {
            (Some(command), _) if !command.is_empty() => true,
            (_, Some(name)) => self.variable(name).is_some(),
            _ => true,
        }
    }

    pub(super) fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name.trim())
            .map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty())
    }

    /// Where the key of a provider comes from: the variable goes before the program, as it costs nothing.
    pub(super) fn key(
        &self,
        name: &str,
        provider: &Provider,
        model: &str,
    ) -> Result<KeySource, ModelError> {
        let variable = provider
            .api_key_env
            .as_deref()
            .filter(|v| !v.trim().is_empty());
        if let Some((variable, text)) = variable.and_then(|v| Some((v, self.variable(v)?))) {
            let key = Key::new(&text).ok_or_else(|| {
                ModelError::NoKey(format!(
                    "the value of {variable} holds characters that no key has: set it anew and start your editor (or the command) again with it"
                ))
            })?;
            return Ok(KeySource::Found {
                key,
                from: variable.to_owned(),
            });
        }
        match (&provider.api_key_command, variable) {
            (Some(command), _) => Ok(KeySource::Command {
                command: command.clone(),
                setting: "apiKeyCommand",
            }),
            _ if provider.keyring => KeySource::keyring(name).ok_or_else(|| {
                ModelError::NoKey(format!(
                    "the keyring of this system cannot be read: set providers.{name}.apiKeyCommand in your config.toml"
                ))
            }),
            (None, None) => Ok(KeySource::None),
            (None, Some(variable)) => Err(ModelError::NoKey(format!(
                "no key for {name}/{model}: set {variable} in the environment and start your editor (or the command) again with it, or set model = \"offline\""
            ))),
        }
    }

    fn model(
        &self,
        name: &str,
        provider: &Provider,
        model: &str,
        why: &str,
    ) -> Result<Choice, ModelError> {
        let base_from = match name {
            "anthropic" => String::from("ANTHROPIC_BASE_URL or providers.anthropic.baseUrl"),
            "openai" => String::from("OPENAI_BASE_URL or providers.openai.baseUrl"),
            name => format!("providers.{name}.baseUrl"),
        };
        let said = self.settings.models.get(&format!("{name}/{model}"));
        let facts = prices::facts(name, model);
        let key = self.key(name, provider, model)?;
        let place = key.place();
        let remote = Arc::new(Remote::new(Setup {
            provider: name.to_owned(),
            model: model.to_owned(),
            wire: match provider.api {
                Api::Messages => Wire::Messages,
                Api::Responses => Wire::Responses,
                Api::Chat => Wire::Chat,
            },
            base_url: provider.base_url.clone(),
            base_from,
            key,
            facts: said.map_or(facts, |said| facts.with(said)),
        })?);
        Ok(Choice {
            answerer: Answerer::Model(remote.clone()),
            why: why.to_owned(),
            key: place,
            remote: Some(remote),
        })
    }

    fn unknown(&self, name: &str) -> ModelError {
        let shown: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
        let known: Vec<&str> = self.settings.providers.keys().map(String::as_str).collect();
        let no_agent = match name.contains('/') {
            true => String::new(),
            false => format!(
                ", and no agent is called so ({})",
                acp::names(&self.settings.agents).join(", ")
            ),
        };
        ModelError::Refused(format!(
            "the model `{shown}` is of no provider that is known here ({}){no_agent}: name one as `anthropic/{DEFAULT_MODEL}`, an agent as `acp/codex`, or `offline`, as `model`",
            known.join(", ")
        ))
    }
}

/// What a provider whose models are known is asked for when nothing is said.
pub(super) fn usual_of(provider: &str) -> Option<&'static str> {
    match provider {
        "anthropic" => Some(DEFAULT_MODEL),
        "openai" => Some(DEFAULT_OPENAI),
        _ => None,
    }
}

fn offline(why: &str) -> Choice {
    Choice {
        answerer: Answerer::Offline,
        why: why.to_owned(),
        key: String::from("no key"),
        remote: None,
    }
}

/// The outside agent of this name. Whether its program is there is seen when it is started.
fn outside(settings: &Settings, name: &str, why: &str) -> Result<Choice, ModelError> {
    let agent = acp::agent(name, &settings.agents).ok_or_else(|| {
        ModelError::Refused(format!(
            "no agent is called `{}`: name one of {} as `acp/NAME`, or add it as `[agents.NAME]` to config.toml",
            name.chars()
                .filter(|c| !c.is_control())
                .take(60)
                .collect::<String>(),
            acp::names(&settings.agents).join(", ")
        ))
    })?;
    Ok(Choice {
        answerer: Answerer::Outside(Arc::new(agent)),
        why: why.to_owned(),
        key: String::from("no key of ours"),
        remote: None,
    })
}
