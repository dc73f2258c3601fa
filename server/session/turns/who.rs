//! Who answers a turn, and whether they can be held to what it may cost.

use crate::config::Settings;
use crate::models::Usage;
use crate::session::{Error, Session, TurnOptions};
use crate::store::Run;
use crate::turn::{self, Answerer};

/// Who began what stopped goes on with it, as far as they still can, and as far as it is known how they are reached.
pub(in crate::session) async fn answerer(
    settings: &Settings,
    options: &TurnOptions,
    stopped: Option<&Run>,
) -> Result<Answerer, Error> {
    let is_open = options.model.is_none() && !options.another && settings.lost.who.is_none();
    let stopped = stopped.filter(|_| is_open);
    if let Some(run) = stopped
        && let Ok(choice) = turn::choose(settings, Some(&run.model)).await
    {
        return Ok(choice.answerer);
    }
    match turn::choose(settings, options.model.as_deref()).await {
        Ok(choice) => Ok(choice.answerer),
        Err(error) => Err(Error::Other(error.to_string())),
    }
}

impl Session {
    /// An error where no turn could begin, of whatever thread.
    pub async fn can_begin(&self, options: &TurnOptions) -> Result<(), Error> {
        for workspace in self.workspaces() {
            workspace.store()?;
            let answerer = answerer(&self.choosing(&workspace).0, options, None).await?;
            if options.budget.is_some() {
                may_be_held(&answerer)?;
            }
        }
        Ok(())
    }
}

/// A budget holds a model whose answers have a known price; who set one must not pay more without a word.
pub(super) fn may_be_held(answerer: &Answerer) -> Result<(), Error> {
    match answerer {
        Answerer::Model(model) if model.cost(&Usage::default()).is_none() => {
            let name = model.name();
            Err(Error::Other(format!(
                "a budget cannot hold {name}, for no price of it is known: set inputPrice and outputPrice in [models.\"{name}\"] of your config.toml, or leave out the budget and limit turns with turn.maxTokens there"
            )))
        }
        _ => Ok(()),
    }
}
