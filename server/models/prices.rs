//! What Anthropic's models cost and how much they hold. Prices in US dollars a million tokens, from the
//! provider's public price list (November 2026); a model that is not listed has no price, never a guess.

use super::Usage;

/// One family of models.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    pub model: &'static str,
    /// Tokens that fit; where the provider offers several sizes, the smallest.
    pub window: u64,
    /// Most tokens of one answer.
    pub max_output: u32,
    pub input: f64,
    pub output: f64,
    /// Into the cache for five minutes.
    pub cache_write: f64,
    pub cache_read: f64,
    /// Prompts above so many tokens cost so many times as much, all their tokens included.
    pub long: Option<(u64, f64)>,
}

const fn row(model: &'static str, window: u64, max_output: u32, prices: [f64; 4]) -> Row {
    let [input, output, cache_write, cache_read] = prices;
    Row {
        model,
        window,
        max_output,
        input,
        output,
        cache_write,
        cache_read,
        long: None,
    }
}

/// Every known family.
pub const ROWS: &[Row] = &[
    row(
        "claude-fable-5-1",
        1_000_000,
        128_000,
        [10.0, 50.0, 12.5, 0.25],
    ),
    row(
        "claude-fable-5",
        1_000_000,
        128_000,
        [10.0, 50.0, 12.5, 1.0],
    ),
    row("claude-opus-5-5", 1_000_000, 128_000, [4.0, 20.0, 5.0, 0.2]),
    row("claude-opus-5", 1_000_000, 128_000, [5.0, 25.0, 6.25, 0.5]),
    row("claude-opus-4-8", 200_000, 64_000, [5.0, 25.0, 6.25, 0.5]),
    row("claude-opus-4-7", 200_000, 64_000, [5.0, 25.0, 6.25, 0.5]),
    row("claude-opus-4-6", 200_000, 64_000, [5.0, 25.0, 6.25, 0.5]),
    row("claude-opus-4-5", 200_000, 64_000, [5.0, 25.0, 6.25, 0.5]),
    row("claude-opus-4-1", 200_000, 32_000, [15.0, 75.0, 18.75, 1.5]),
    row(
        "claude-sonnet-5-5",
        1_000_000,
        128_000,
        [2.0, 10.0, 2.5, 0.1],
    ),
    row("claude-sonnet-5", 1_000_000, 128_000, [2.0, 10.0, 2.5, 0.2]),
    row("claude-sonnet-4-6", 200_000, 64_000, [3.0, 15.0, 3.75, 0.3]),
    row("claude-sonnet-4-5", 200_000, 64_000, [3.0, 15.0, 3.75, 0.3]),
    Row {
        long: Some((100_000, 5.0)),
        ..row(
            "claude-haiku-5-5",
            1_000_000,
            128_000,
            [0.1, 0.5, 0.125, 0.01],
        )
    },
    row("claude-haiku-4-5", 200_000, 64_000, [1.0, 5.0, 1.25, 0.1]),
];

/// The row of a model: its family's name, alone or with a date or `-latest` behind it.
pub fn find(model: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| {
        model
            .strip_prefix(row.model)
            .is_some_and(|rest| match rest.strip_prefix('-') {
                Some("latest") => true,
                Some(date) => date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()),
                None => rest.is_empty(),
            })
    })
}

impl Row {
    /// US dollars of one answer.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let prompt = usage
            .input
            .saturating_add(usage.cache_read)
            .saturating_add(usage.cache_write);
        let factor = self
            .long
            .filter(|(above, _)| prompt > *above)
            .map_or(1.0, |(_, factor)| factor);
        let sum = usage.input as f64 * self.input
            + usage.output as f64 * self.output
            + usage.cache_write as f64 * self.cache_write
            + usage.cache_read as f64 * self.cache_read;
        factor * sum / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_found_with_its_date_and_never_taken_for_another() {
        assert_eq!(
            find("claude-sonnet-4-5-20250929").map(|r| r.model),
            Some("claude-sonnet-4-5")
        );
        assert_eq!(
            find("claude-sonnet-5-5-latest").map(|r| r.model),
            Some("claude-sonnet-5-5")
        );
        assert_eq!(
            find("claude-opus-5").map(|r| r.model),
            Some("claude-opus-5")
        );
        assert_eq!(find("claude-opus-5-9"), None);
        assert_eq!(find("claude-opus-5x"), None);
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 2_000_000,
            cache_write: 10_000,
        };
        let cost = find("claude-sonnet-4-5")
            .map(|r| r.cost(&usage))
            .unwrap_or_default();
        assert!((cost - (3.0 + 1.5 + 0.6 + 0.0375)).abs() < 1e-9, "{cost}");
    }

    #[test]
    fn a_long_prompt_costs_its_own_price() {
        let row = find("claude-haiku-5-5").copied().unwrap_or(ROWS[0]);
        let short = row.cost(&Usage {
            input: 100_000,
            ..Usage::default()
        });
        let long = row.cost(&Usage {
            input: 100_001,
            ..Usage::default()
        });
        assert!((short - 0.01).abs() < 1e-9 && long > 0.05, "{short} {long}");
    }
}
