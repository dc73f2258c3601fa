//! What a turn would ask first, without asking it.

use serde::Serialize;

use super::{Answerer, Job, answer_loop, context};
use crate::models::{Block, Request, Speaker, Turn};
use crate::tools::{Context, Registry};

/// The first request of a turn. Tokens are estimated, three bytes each.
#[derive(Debug, Serialize)]
pub struct Preview {
    pub model: String,
    /// Tokens that fit into the model's window.
    pub window: u64,
    /// What each part takes.
    pub parts: Vec<Share>,
    pub system: String,
    pub messages: Vec<Turn>,
    /// JSON, as their schemas are.
    pub tools: Vec<serde_json::Value>,
}

#[derive(Debug, Serialize)]
pub struct Share {
    pub part: &'static str,
    pub tokens: usize,
}

/// For a provider without a model of its own (offline, an outside agent) the window of a usual one.
const WINDOW: u64 = 200_000;

/// Nothing is sent, and nothing is written.
pub async fn preview(cx: &Context, registry: &Registry, job: &Job) -> Preview {
    let window = match &job.answerer {
        Answerer::Model(model) => model.context_window(),
        _ => WINDOW,
    };
    let parts = context::parts(cx, job, context::budget(window)).await;
    let share = |part: &'static str, bytes: usize| Share {
        part,
        tokens: bytes.div_ceil(3),
    };
    let mut shares: Vec<Share> = parts
        .iter()
        .map(|part| Share {
            part: part.name,
            tokens: part.tokens(),
        })
        .collect();
    let first = Turn {
        speaker: Speaker::User,
        blocks: vec![Block::Text {
            text: context::joined(parts),
        }],
    };
    let Request {
        system,
        turns,
        tools,
        ..
    } = answer_loop::request(cx, registry, window, vec![first]);
    let tools: Vec<_> = tools
        .into_iter()
        .map(|tool| {
            serde_json::json!({
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            })
        })
        .collect();
    let schemas = tools.iter().map(|tool| tool.to_string().len()).sum();
    shares.insert(0, share("tools", schemas));
    shares.insert(0, share("system", system.len()));
    Preview {
        model: job.answerer.name(),
        window,
        parts: shares,
        system,
        messages: turns,
        tools,
    }
}
