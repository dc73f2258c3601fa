//! Who answers, who could, and the author's choice.

use super::out::{BOLD, DIM, GREEN};
use super::{Cx, Outcome};
use crate::present::one_line;
use crate::session::Answers;

pub(super) async fn run(cx: &Cx, model: Option<&str>, unset: bool) -> Outcome {
    let session = cx.session()?;
    if model.is_some() || unset {
        let selected = session.select_model(None, model).await?;
        if cx.out.json {
            cx.out.data(&selected);
            return Ok(true);
        }
        cx.out.note(sentence(&selected.answers));
        cx.out.note(match unset {
            true => format!("{} names no model now", selected.file),
            false => format!("{} has it", selected.file),
        });
        if let Some(note) = &selected.note {
            cx.out.warn(&one_line(note));
        }
        return Ok(true);
    }
    let models = session.models(None).await;
    if cx.out.json {
        cx.out.data(&models);
        return Ok(true);
    }
    let names = models.models.iter().map(|offer| offer.model.len());
    let width = names.max().unwrap_or_default();
    for offer in &models.models {
        let is_it = models.answers.model.as_ref() == Some(&offer.model);
        let (mark, style) = if is_it { ("*", GREEN) } else { (" ", BOLD) };
        cx.out.line(format!(
            "{mark} {style}{:width$}{style:#}  {DIM}{}{DIM:#}",
            one_line(&offer.model),
            one_line(&offer.about)
        ));
    }
    cx.out.note(sentence(&models.answers));
    if models.models.len() == 1 {
        cx.out.note("others are found with ANTHROPIC_API_KEY or OPENAI_API_KEY in the environment, with Ollama running, or with an agent on PATH (docs/agents.md)");
    }
    Ok(true)
}

fn sentence(answers: &Answers) -> String {
    match &answers.model {
        Some(model) => format!("{} answers, because {}", one_line(model), answers.why),
        None => format!("nobody can be asked: {}", one_line(&answers.why)),
    }
}
