//! From the protocol's types to ours.

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, PermissionOptionKind, PlanEntryStatus, RequestPermissionRequest,
    SessionUpdate, StopReason, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate,
    ToolKind,
};

use super::{Asked, Call, Choice, Diff, Kind, State, Step, StepState, Stop, Update};

/// Characters of a tool's output that are kept.
const OUTPUT: usize = 100_000;

/// `last`: the id of the message that the newest piece of text was of.
pub(super) fn update(update: SessionUpdate, last: &mut Option<String>) -> Update {
    match update {
        SessionUpdate::AgentMessageChunk(chunk) => text(chunk, last),
        SessionUpdate::AgentThoughtChunk(_) => Update::Thought,
        SessionUpdate::ToolCall(call) => {
            let content = content(&call.content);
            Update::Call(Call {
                id: call.tool_call_id.to_string(),
                title: Some(call.title),
                name: call.name,
                kind: Some(kind(call.kind)),
                state: Some(state(call.status)),
                input: call.raw_input,
                output: content.or_else(|| raw(call.raw_output)),
                paths: paths(call.locations),
                diffs: diffs(call.content),
            })
        }
        SessionUpdate::ToolCallUpdate(more) => Update::Call(call(more)),
        SessionUpdate::Plan(plan) => Update::Plan(
            plan.entries
                .into_iter()
                .map(|entry| Step {
                    text: entry.content,
                    state: match entry.status {
                        PlanEntryStatus::InProgress => StepState::Running,
                        PlanEntryStatus::Completed => StepState::Done,
                        _ => StepState::Pending,
                    },
                })
                .collect(),
        ),
        SessionUpdate::UsageUpdate(usage) => match usage.cost {
            Some(cost) if cost.currency == "USD" && cost.amount.is_finite() => {
                Update::Cost(cost.amount.max(0.0))
            }
            _ => Update::Other,
        },
        _ => Update::Other,
    }
}

fn text(chunk: ContentChunk, last: &mut Option<String>) -> Update {
    let ContentBlock::Text(text) = chunk.content else {
        return Update::Other;
    };
    let id = chunk.message_id.map(|id| id.to_string());
    let other = id.is_some() && last.is_some() && id != *last;
    if id.is_some() {
        *last = id;
    }
    Update::Text(text.text, other)
}

fn call(update: ToolCallUpdate) -> Call {
    let fields = update.fields;
    let content = fields.content.unwrap_or_default();
    Call {
        id: update.tool_call_id.to_string(),
        title: fields.title,
        name: fields.name,
        kind: fields.kind.map(kind),
        state: fields.status.map(state),
        input: fields.raw_input,
        output: self::content(&content).or_else(|| raw(fields.raw_output)),
        paths: paths(fields.locations.unwrap_or_default()),
        diffs: diffs(content),
    }
}

pub(super) fn asked(request: RequestPermissionRequest) -> Asked {
    Asked {
        call: call(request.tool_call),
        choices: request
            .options
            .into_iter()
            .map(|option| Choice {
                text: option.name,
                allows: matches!(
                    option.kind,
                    PermissionOptionKind::AllowOnce | PermissionOptionKind::AllowAlways
                ),
                always: matches!(
                    option.kind,
                    PermissionOptionKind::AllowAlways | PermissionOptionKind::RejectAlways
                ),
            })
            .collect(),
    }
}

pub(super) fn stop(reason: StopReason) -> Stop {
    match reason {
        StopReason::MaxTokens | StopReason::MaxTurnRequests => Stop::Limit,
        StopReason::Refusal => Stop::Refusal,
        StopReason::Cancelled => Stop::Cancelled,
        _ => Stop::End,
    }
}

fn kind(kind: ToolKind) -> Kind {
    match kind {
        ToolKind::Read => Kind::Read,
        ToolKind::Search => Kind::Search,
        ToolKind::Think => Kind::Think,
        ToolKind::Edit => Kind::Edit,
        ToolKind::Delete => Kind::Delete,
        ToolKind::Move => Kind::Move,
        ToolKind::Execute => Kind::Execute,
        ToolKind::Fetch => Kind::Fetch,
        _ => Kind::Other,
    }
}

fn state(status: ToolCallStatus) -> State {
    match status {
        ToolCallStatus::Completed => State::Done,
        ToolCallStatus::Failed => State::Failed,
        _ => State::Begun,
    }
}

fn paths(locations: Vec<ToolCallLocation>) -> Vec<std::path::PathBuf> {
    locations
        .into_iter()
        .map(|location| location.path)
        .collect()
}

fn content(content: &[ToolCallContent]) -> Option<String> {
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|block| match block {
            ToolCallContent::Content(inner) => match &inner.content {
                ContentBlock::Text(text) => Some(text.text.as_str()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    (!texts.is_empty()).then(|| bounded(&texts.join("\n")))
}

fn raw(output: Option<serde_json::Value>) -> Option<String> {
    match output? {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) => Some(bounded(&text)),
        other => Some(bounded(&other.to_string())),
    }
}

fn bounded(text: &str) -> String {
    text.chars().take(OUTPUT).collect()
}

fn diffs(content: Vec<ToolCallContent>) -> Vec<Diff> {
    let diffs = content.into_iter().filter_map(|block| match block {
        ToolCallContent::Diff(diff) => Some(Diff {
            path: diff.path,
            before: diff.old_text,
            after: diff.new_text,
        }),
        _ => None,
    });
    diffs.collect()
}
