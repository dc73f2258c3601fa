//! Who answers, and the author's choice.

use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use super::call::{Call, answer};
use crate::lsp::lifecycle;

impl Call {
    pub(super) async fn models(&self) -> Result<Value> {
        answer(&self.session.models(self.path()?.as_deref()).await)
    }

    pub(super) async fn select_model(&self) -> Result<Value> {
        let path = self.path()?;
        let selected = self
            .session
            .select_model(path.as_deref(), self.text("model")?)
            .await?;
        lifecycle::settings_changed(&self.server, &self.session);
        answer(&selected)
    }
}
