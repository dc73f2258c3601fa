//! Who could answer: what the settings name, the models of providers that can be asked, agents whose programs are
//! here, and the built-in answers.

use std::path::PathBuf;

use serde::Serialize;

use super::choose::{Chooser, usual_of};
use crate::acp;
use crate::config::Settings;
use crate::models::{KeySource, local, prices};

/// Whom `model` may name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// As `model` names it.
    pub model: String,
    /// What it is, in a few words.
    pub about: String,
}

/// Everyone that could answer now, each once: the best known first, the built-in answers last. A provider is among
/// them where nothing is missing to ask it; a server on this machine is asked what it has, in at most 0.2 s.
pub async fn offers(settings: &Settings, workspaces: &[PathBuf]) -> Vec<Offer> {
    let environment = |variable: &str| std::env::var(variable).ok();
    let chooser = Chooser {
        settings,
        environment: &environment,
    };
    let mut all: Vec<Offer> = Vec::new();
    let mut asked = Vec::new();
    let mut add = |model: String, about: &str| {
        if all.iter().all(|known| known.model != model) {
            let about = about.to_owned();
            all.push(Offer { model, about });
        }
    };
    let named = settings.model.iter().chain(&settings.consult);
    for model in named.chain(settings.models.keys()) {
        if model != "offline" && !model.starts_with("acp/") {
            add(model.clone(), "your settings name it");
        }
    }
    for (name, provider) in &settings.providers {
        if let Some(usual) = usual_of(name) {
            let known = std::iter::once(usual).chain(prices::listed(name));
            for model in known.filter(|_| chooser.has_key(provider)) {
                let about = about(prices::facts(name, model));
                add(format!("{name}/{model}"), &about);
            }
            continue;
        }
        // One server may have two names.
        let place = provider.base_url.replace("localhost", "127.0.0.1");
        if asked.contains(&place) && !provider.configured {
            continue;
        }
        // For a list no program is run that may ask a person for something.
        let key = match chooser.key(name, provider, "…") {
            Ok(key @ KeySource::Found { .. }) => key,
            _ => KeySource::None,
        };
        let found = local::models(name, &provider.base_url, &key, local::QUICK).await;
        for model in found.unwrap_or_default() {
            add(format!("{name}/{model}"), "on this machine");
        }
        asked.push(place);
    }
    for agent in acp::found(&settings.agents, workspaces) {
        add(
            format!("acp/{}", agent.name),
            &format!("{}, a program of its own", agent.title),
        );
    }
    add(
        String::from("offline"),
        "no model: rename, where used, where defined, what is, who wrote",
    );
    all
}

/// What a model holds and costs.
fn about(facts: prices::Facts) -> String {
    let holds = match facts.window {
        window if window >= 1_000_000 => format!("{} million tokens", window as f64 / 1e6),
        window => format!("{} thousand tokens", window / 1000),
    };
    facts.prices.map_or_else(
        || holds.clone(),
        |prices| {
            format!(
                "{holds}; a million cost ${} in, ${} out",
                prices.input, prices.output
            )
        },
    )
}
