//! Notebooks that the editor shows as cells: it tells of no buffer then, and what is written on disk under a cell that is
//! not saved is lost when it is.

use std::path::Path;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::super::client::ClientError;
use super::super::{Server, to_proto};
use super::ANSWER;
use crate::host::NotApplied;

/// `postil/write`, of a client that shows notebooks (`initializationOptions.notebooks`).
pub(super) async fn write(
    server: &Server,
    path: &Path,
    before: &str,
    after: &str,
) -> Result<bool, NotApplied> {
    let is_notebook = path.extension().is_some_and(|end| end == "ipynb");
    if !is_notebook || !server.capabilities().notebooks {
        return Ok(false);
    }
    let params = json!({"uri": to_proto::uri(server, path), "before": before, "after": after});
    let asked = server.client.request("postil/write", params);
    let answer = match timeout(ANSWER, asked).await {
        Ok(Ok(answer)) => answer,
        // It goes, and takes what it has not saved along.
        Ok(Err(ClientError::Gone)) => return Ok(false),
        Ok(Err(ClientError::Answered(why) | ClientError::Unknown(why))) => {
            return Err(NotApplied::Refused(why));
        }
        Err(_) => {
            return Err(NotApplied::Unknown(format!(
                "it did not answer for {} s",
                ANSWER.as_secs()
            )));
        }
    };
    let is = |field: &str| answer.get(field).and_then(Value::as_bool) == Some(true);
    if let Some(why) = answer.get("refused").and_then(Value::as_str) {
        return Err(NotApplied::Refused(why.to_owned()));
    }
    match is("changed") {
        true => Err(NotApplied::Changed),
        false => Ok(is("written")),
    }
}
