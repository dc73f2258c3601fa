//! A whole run as a document.

use serde_json::json;

use super::super::args::Document;
use super::super::{Cx, Outcome};
use super::{facts, whole_seconds};
use crate::store::Round;

/// Written as it is read, but for JSON, which is one value.
pub(super) fn export(cx: &Cx, id: &str, format: Document) -> Outcome {
    let (workspace, run) = cx.session()?.run_of(id)?;
    let store = workspace.store()?;
    let title = format!("Run {} ({}, {})", run.id, run.file, run.status.name());
    match format {
        Document::Markdown => cx.out.raw(&format!("# {title}\n")),
        Document::Html => cx.out.raw(&format!(
            "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{0}</title>\n<h1>{0}</h1>\n",
            to_html(&title)
        )),
        Document::Json => {}
    }
    let mut rounds = Vec::new();
    let mut after = 0;
    while !cx.out.is_gone() {
        let batch = store.rounds_from(&run.id, after, 100)?;
        let Some(last) = batch.last() else { break };
        after = last.seq;
        for round in batch {
            match format {
                Document::Markdown => cx.out.raw(&to_markdown(&round)),
                Document::Html => cx.out.raw(&to_section(&round)),
                Document::Json => rounds.push(json!({
                    "round": round.seq,
                    "role": role_of(&round),
                    "time": whole_seconds(round.time),
                    "metadata": round.metadata,
                    "content": round.content,
                })),
            }
        }
    }
    if format == Document::Json {
        cx.out.data(&json!({"run": facts(&run), "rounds": rounds}));
    }
    Ok(true)
}

fn role_of(round: &Round) -> &str {
    round.role.as_deref().unwrap_or("unknown")
}

fn to_markdown(round: &Round) -> String {
    let mut out = format!(
        "\n## {}. {} · {}\n",
        round.seq,
        role_of(round),
        whole_seconds(round.time)
    );
    if !round.metadata.is_empty() {
        let facts = serde_json::to_string_pretty(&round.metadata).unwrap_or_default();
        out.push_str(&fenced("json", &facts));
    }
    if !round.content.is_empty() {
        out.push_str(&fenced("text", &round.content));
    }
    out
}

/// A fence longer than any in the text, so that nothing in it ends the block (CommonMark §4.5).
fn fenced(language: &str, text: &str) -> String {
    let longest = text
        .split(['\n', '\r'])
        .map(|line| line.trim_start().chars().take_while(|c| *c == '`').count())
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("\n{fence}{language}\n{text}\n{fence}\n")
}

fn to_section(round: &Round) -> String {
    let facts = if round.metadata.is_empty() {
        String::new()
    } else {
        let facts = serde_json::to_string_pretty(&round.metadata).unwrap_or_default();
        format!(
            "<details><summary>metadata</summary><pre>{}</pre></details>\n",
            to_html(&facts)
        )
    };
    format!(
        "<section id=\"round-{0}\">\n<h2>{0}. {1}</h2>\n<time>{2}</time>\n{facts}<pre>{3}</pre>\n</section>\n",
        round.seq,
        to_html(role_of(round)),
        whole_seconds(round.time),
        to_html(&round.content),
    )
}

fn to_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
