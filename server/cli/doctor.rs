//! What `postil doctor` says of the model: which one and why, where its key comes from, what it holds and
//! costs, and whether it answers.

use std::path::Path;
use std::time::Duration;

use crate::acp;
use crate::children;
use crate::config::{Network, Settings};
use crate::models::KeySource;
use crate::sandbox::Found;
use crate::turn::{self, Answerer};

/// A model that has to be loaded first takes its time.
const WAIT: Duration = Duration::from_secs(60);

/// `Some(true)`: well; `Some(false)`: a fault, with its way out; `None`: worth knowing. With `online` the
/// model is asked one small question.
pub(super) async fn model(
    settings: &Settings,
    root: &Path,
    online: bool,
) -> Vec<(Option<bool>, String)> {
    let mut findings = chosen(settings, root, online).await;
    findings.extend(agents(settings, root));
    findings
}

/// What an agent's commands reach of the network.
pub(super) fn network(granted: &Network, found: &Found) -> (Option<bool>, String) {
    let proxied = matches!(granted, Network::Hosts(_) | Network::Public);
    if !found.confines() {
        return (
            None,
            String::from("of commands: this machine's own, for nothing keeps them from it"),
        );
    }
    if proxied && found.bubblewrap.is_none() {
        return (
            Some(false),
            String::from(
                "of commands: none, for what sandbox.network grants goes through a proxy, and that needs bubblewrap: install it, or set sandbox.network = \"whole\" for all of the network",
            ),
        );
    }
    (None, format!("of commands: {}", granted.describe()))
}

/// The agents on PATH that nobody chose, and how one is chosen.
fn agents(settings: &Settings, root: &Path) -> Option<(Option<bool>, String)> {
    let found = acp::found(&settings.agents, &[root.to_owned()]);
    let is_chosen = |name: &str| settings.model.as_deref() == Some(&format!("acp/{name}"));
    let others: Vec<_> = found
        .iter()
        .filter(|agent| !is_chosen(&agent.name))
        .collect();
    let first = others.first()?;
    let titles: Vec<&str> = others.iter().map(|agent| agent.title.as_str()).collect();
    let asked = match settings.model {
        None => {
            "; where nothing else is configured, the first turn asks whether the first of them shall answer"
        }
        Some(_) => "",
    };
    Some((
        None,
        format!(
            "found on PATH: {}; to have one answer, set model = \"acp/{name}\" in config.toml, or for one turn `postil reply --agent {name}`{asked}",
            titles.join(", "),
            name = first.name
        ),
    ))
}

async fn chosen(settings: &Settings, root: &Path, online: bool) -> Vec<(Option<bool>, String)> {
    let choice = match turn::choose(settings, None).await {
        Ok(choice) => choice,
        Err(error) => return vec![(Some(false), error.to_string())],
    };
    if let Answerer::Outside(agent) = &choice.answerer {
        let finding = match agent.program(&[root.to_owned()]) {
            Some(program) => (
                Some(true),
                format!(
                    "{}, because {}: {}",
                    agent.title,
                    choice.why,
                    program.display()
                ),
            ),
            None => (
                Some(false),
                format!("{} is not on PATH: {}", agent.title, agent.install),
            ),
        };
        return vec![finding];
    }
    let (Answerer::Model(model), Some(remote)) = (&choice.answerer, &choice.remote) else {
        return vec![(
            None,
            format!(
                "none, because {}: the built-in offline answers; set ANTHROPIC_API_KEY or OPENAI_API_KEY, start Ollama, or name a `model` in the settings, for more",
                choice.why
            ),
        )];
    };
    let mut findings = vec![(
        Some(true),
        format!(
            "{}, because {}; it is reached at {}",
            model.name(),
            choice.why,
            remote.address()
        ),
    )];
    findings.push(match remote.key() {
        KeySource::None => (None, String::from("no key is sent")),
        KeySource::Found { from, .. } => (Some(true), format!("the key comes from {from} (not shown)")),
        KeySource::Command { command, setting } => match command.first() {
            Some(program) if children::find_program(program, &[]).is_some() => (
                Some(true),
                format!("the key comes from {} when a turn begins", choice.key),
            ),
            program => (
                Some(false),
                format!(
                    "the program of {setting} (`{}`) is not on PATH: install it, or correct the setting in your config.toml",
                    program.map(String::as_str).unwrap_or_default()
                ),
            ),
        },
    });
    let facts = remote.facts();
    let images = if facts.images {
        "takes images"
    } else {
        "takes no images"
    };
    let price = match facts.prices {
        Some(prices) => format!(
            "costs ${} a million tokens in, ${} out",
            prices.input, prices.output
        ),
        None => format!(
            "has no known price, so that turn.maxCost cannot hold it: set inputPrice and outputPrice in [models.\"{}\"]",
            model.name()
        ),
    };
    findings.push((
        None,
        format!("holds {} tokens, {images}, {price}", facts.window),
    ));
    if online {
        findings.push(match remote.check(WAIT).await {
            Ok(()) => (
                Some(true),
                String::from("it was asked a small question and answered"),
            ),
            Err(error) => (Some(false), error.to_string()),
        });
    }
    findings
}
