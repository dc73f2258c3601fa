//! What an answer took, where its server counts nothing: at about three bytes a token.

use super::{Answer, Block, Request, Turn, Usage};

/// An image counts as so many bytes.
pub const IMAGE: usize = 5_000;

/// About how much of a conversation there is, in bytes, without what was thought.
pub fn size(turns: &[Turn]) -> usize {
    let blocks = turns.iter().flat_map(|turn| &turn.blocks);
    blocks.map(said).sum()
}

fn said(block: &Block) -> usize {
    match block {
        Block::Text { text } => text.len(),
        Block::ToolUse { input, .. } => input.to_string().len(),
        Block::ToolResult { content, .. } => content.len(),
        Block::Image { .. } => IMAGE,
        Block::Thinking { .. } | Block::RedactedThinking { .. } | Block::Reasoning { .. } => 0,
    }
}

fn thought(block: &Block) -> usize {
    match block {
        Block::Thinking { thinking, .. } => thinking.len(),
        Block::RedactedThinking { data } => data.len(),
        Block::Reasoning { item, .. } => item.to_string().len(),
        _ => 0,
    }
}

fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(3)).unwrap_or(u64::MAX)
}

impl Answer {
    /// What it took, and whether that is an estimate: limits must hold with a server that counts nothing, too.
    pub fn taken(&self, request: &Request) -> (Usage, bool) {
        if self.usage.total() > 0 {
            return (self.usage, false);
        }
        let tools = request.tools.iter().map(|tool| {
            tool.name.len() + tool.description.len() + tool.parameters.to_string().len()
        });
        let whole = |blocks: &[Block]| -> usize {
            blocks
                .iter()
                .map(|block| said(block) + thought(block))
                .sum()
        };
        let turns = request.turns.iter().map(|turn| whole(&turn.blocks));
        let input = request.system.len() + tools.sum::<usize>() + turns.sum::<usize>();
        let usage = Usage {
            input: tokens(input),
            output: tokens(whole(&self.blocks)),
            ..Usage::default()
        };
        (usage, true)
    }
}
