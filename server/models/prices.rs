//! What models hold and cost: one table. Prices in US dollars a million tokens, from the providers' public
//! price lists (November 2026); a model that is not listed has no price, never a guess. What the user says
//! of a model (`[models."provider/name"]`) goes before the table.

use super::Usage;

/// What is known of one model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facts {
    /// Tokens that fit.
    pub window: u64,
    /// Most tokens of one answer.
    pub max_output: Option<u32>,
    pub images: bool,
    pub prices: Option<Prices>,
}

/// US dollars a million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    pub input: f64,
    pub output: f64,
    /// Into the cache, at the provider's shortest time.
    pub cache_write: f64,
    pub cache_read: f64,
    /// Prompts above so many tokens cost so many times as much for all that goes in, and comes out.
    pub long: Option<(u64, f64, f64)>,
}

/// What somebody says of a model; it goes before what the table says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Said {
    pub window: Option<u64>,
    pub max_output: Option<u32>,
    pub images: Option<bool>,
    pub input: Option<f64>,
    pub output: Option<f64>,
    pub cache_write: Option<f64>,
    pub cache_read: Option<f64>,
}

/// One family of models.
struct Row {
    provider: &'static str,
    model: &'static str,
    facts: Facts,
}

/// `prices`: in, out, into the cache, out of the cache. Every listed model takes images.
const fn row(
    provider: &'static str,
    model: &'static str,
    window: u64,
    max_output: u32,
    prices: [f64; 4],
) -> Row {
    let [input, output, cache_write, cache_read] = prices;
    Row {
        provider,
        model,
        facts: Facts {
            window,
            max_output: Some(max_output),
            images: true,
            prices: Some(Prices {
                input,
                output,
                cache_write,
                cache_read,
                long: None,
            }),
        },
    }
}

impl Row {
    const fn above(mut self, tokens: u64, input: f64, output: f64) -> Self {
        if let Some(mut prices) = self.facts.prices {
            prices.long = Some((tokens, input, output));
            self.facts.prices = Some(prices);
        }
        self
    }
}

/// Every known family. The windows are what a prompt may take where the provider counts the answer apart,
/// and the smallest where it offers several.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("anthropic", "claude-fable-5-1", 1_000_000, 128_000, [10.0, 50.0, 12.5, 0.25]),
    row("anthropic", "claude-fable-5", 1_000_000, 128_000, [10.0, 50.0, 12.5, 1.0]),
    row("anthropic", "claude-opus-5-5", 1_000_000, 128_000, [4.0, 20.0, 5.0, 0.2]),
    row("anthropic", "claude-opus-5", 1_000_000, 128_000, [5.0, 25.0, 6.25, 0.5]),
    row("anthropic", "claude-opus-4-8", 1_000_000, 128_000, [5.0, 25.0, 6.25, 0.5]),
    row("anthropic", "claude-opus-4-7", 1_000_000, 128_000, [5.0, 25.0, 6.25, 0.5]),
    row("anthropic", "claude-opus-4-6", 1_000_000, 128_000, [5.0, 25.0, 6.25, 0.5]),
    row("anthropic", "claude-opus-4-5", 200_000, 64_000, [5.0, 25.0, 6.25, 0.5]),
    row("anthropic", "claude-opus-4-1", 200_000, 32_000, [15.0, 75.0, 18.75, 1.5]),
    row("anthropic", "claude-sonnet-5-5", 1_000_000, 128_000, [2.0, 10.0, 2.5, 0.1]),
    row("anthropic", "claude-sonnet-5", 1_000_000, 128_000, [2.0, 10.0, 2.5, 0.2]),
    row("anthropic", "claude-sonnet-4-6", 1_000_000, 128_000, [3.0, 15.0, 3.75, 0.3]),
    row("anthropic", "claude-sonnet-4-5", 200_000, 64_000, [3.0, 15.0, 3.75, 0.3]),
    row("anthropic", "claude-haiku-5-5", 1_000_000, 128_000, [0.1, 0.5, 0.125, 0.01]).above(100_000, 5.0, 5.0),
    row("anthropic", "claude-haiku-4-5", 200_000, 64_000, [1.0, 5.0, 1.25, 0.1]),
    row("openai", "gpt-6.1-sol", 922_000, 128_000, [2.0, 10.0, 2.5, 0.1]).above(272_000, 2.0, 1.5),
    row("openai", "gpt-6.1-terra", 922_000, 128_000, [1.0, 5.0, 1.25, 0.05]).above(272_000, 2.0, 1.5),
    row("openai", "gpt-6-astra", 922_000, 128_000, [10.0, 50.0, 12.5, 1.0]).above(272_000, 2.0, 1.5),
    row("openai", "gpt-6-sol", 922_000, 128_000, [2.0, 10.0, 2.5, 0.2]).above(272_000, 2.0, 1.5),
    row("openai", "gpt-6-luna", 922_000, 128_000, [0.1, 0.5, 0.125, 0.01]).above(272_000, 2.0, 1.5),
    row("openai", "gpt-5.6", 922_000, 128_000, [4.0, 20.0, 5.0, 0.4]).above(272_000, 2.0, 1.5),
    row("openai", "gpt-5.6-sol", 922_000, 128_000, [4.0, 20.0, 5.0, 0.4]).above(272_000, 2.0, 1.5),
    row("openai", "gpt-5.6-terra", 922_000, 128_000, [2.0, 12.0, 2.5, 0.2]).above(272_000, 2.0, 1.5),
    row("openai", "gpt-5.5", 922_000, 128_000, [5.0, 30.0, 5.0, 0.5]).above(272_000, 2.0, 1.5),
    row("openai", "gpt-5.4", 922_000, 128_000, [2.5, 15.0, 2.5, 0.25]).above(272_000, 2.0, 1.5),
    row("openai", "gpt-5.4-mini", 272_000, 128_000, [0.75, 4.5, 0.75, 0.075]),
    row("openai", "gpt-5.4-nano", 272_000, 128_000, [0.2, 1.25, 0.2, 0.02]),
    row("openai", "gpt-5.3-codex", 272_000, 128_000, [1.75, 14.0, 1.75, 0.175]),
    row("openai", "gpt-5.2", 272_000, 128_000, [1.75, 14.0, 1.75, 0.175]),
    row("openai", "gpt-5.2-codex", 272_000, 128_000, [1.75, 14.0, 1.75, 0.175]),
    row("openai", "gpt-5.1", 272_000, 128_000, [1.25, 10.0, 1.25, 0.125]),
    row("openai", "gpt-5.1-codex", 272_000, 128_000, [1.25, 10.0, 1.25, 0.125]),
    row("openai", "gpt-5.1-codex-max", 272_000, 128_000, [1.25, 10.0, 1.25, 0.125]),
    row("openai", "gpt-5.1-codex-mini", 272_000, 128_000, [0.25, 2.0, 0.25, 0.025]),
    row("openai", "gpt-5", 272_000, 128_000, [1.25, 10.0, 1.25, 0.125]),
    row("openai", "gpt-5-codex", 272_000, 128_000, [1.25, 10.0, 1.25, 0.125]),
    row("openai", "gpt-5-mini", 272_000, 128_000, [0.25, 2.0, 0.25, 0.025]),
    row("openai", "gpt-5-nano", 272_000, 128_000, [0.05, 0.4, 0.05, 0.005]),
    row("openai", "gpt-4.1", 1_047_576, 32_768, [2.0, 8.0, 2.0, 0.5]),
    row("openai", "gpt-4.1-mini", 1_047_576, 32_768, [0.4, 1.6, 0.4, 0.1]),
    row("openai", "gpt-4.1-nano", 1_047_576, 32_768, [0.1, 0.4, 0.1, 0.025]),
    row("openai", "gpt-4o", 128_000, 16_384, [2.5, 10.0, 2.5, 1.25]),
    row("openai", "gpt-4o-mini", 128_000, 16_384, [0.15, 0.6, 0.15, 0.075]),
    row("openai", "o3", 200_000, 100_000, [2.0, 8.0, 2.0, 0.5]),
    row("openai", "o4-mini", 200_000, 100_000, [1.1, 4.4, 1.1, 0.275]),
];

/// For models that are not listed: what every one of the provider's holds, and no price.
fn unlisted(provider: &str) -> Facts {
    let (window, images) = match provider {
        "anthropic" => (200_000, true),
        "openai" => (128_000, true),
        // Somebody's own server: the least that a coding model is run with.
        _ => (32_768, false),
    };
    Facts {
        window,
        max_output: None,
        images,
        prices: None,
    }
}

/// What is known of a provider's model. A listed model holds as much wherever it is served, but has its
/// price at its own provider alone.
pub fn facts(provider: &str, model: &str) -> Facts {
    let name = model.rsplit('/').next().unwrap_or(model);
    match ROWS.iter().find(|row| is_of(name, row.model)) {
        Some(row) if row.provider == provider => row.facts,
        Some(row) => Facts {
            prices: None,
            ..row.facts
        },
        None => unlisted(provider),
    }
}

/// The models of a provider that are listed.
pub fn listed(provider: &str) -> impl Iterator<Item = &'static str> {
    let of_provider = ROWS.iter().filter(move |row| row.provider == provider);
    of_provider.map(|row| row.model)
}

/// A family's name, alone or with a date or `-latest` behind it.
fn is_of(model: &str, family: &str) -> bool {
    let Some(rest) = model.strip_prefix(family) else {
        return false;
    };
    let Some(rest) = rest.strip_prefix('-') else {
        return rest.is_empty();
    };
    let digits = rest.bytes().filter(u8::is_ascii_digit).count();
    let dashes = rest.bytes().filter(|b| *b == b'-').count();
    rest == "latest" || digits == 8 && matches!(dashes, 0 | 2) && rest.len() == digits + dashes
}

impl Facts {
    /// A price is known once both directions are; what goes through the cache costs no less than is said.
    pub fn with(self, said: &Said) -> Self {
        let known = self.prices;
        let price = |said: Option<f64>, known: Option<f64>| said.or(known);
        let input = price(said.input, known.map(|p| p.input));
        let output = price(said.output, known.map(|p| p.output));
        let prices = input.zip(output).map(|(input, output)| Prices {
            input,
            output,
            cache_write: said
                .cache_write
                .or(known
                    .filter(|_| said.input.is_none())
                    .map(|p| p.cache_write))
                .unwrap_or(input),
            cache_read: said
                .cache_read
                .or(known.filter(|_| said.input.is_none()).map(|p| p.cache_read))
                .unwrap_or(input),
            long: known.filter(|_| said.input.is_none()).and_then(|p| p.long),
        });
        Self {
            window: said.window.unwrap_or(self.window),
            max_output: said.max_output.or(self.max_output),
            images: said.images.unwrap_or(self.images),
            prices,
        }
    }
}

impl Prices {
    /// US dollars of one answer.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let prompt = usage
            .input
            .saturating_add(usage.cache_read)
            .saturating_add(usage.cache_write);
        let (more_in, more_out) = self
            .long
            .filter(|(above, ..)| prompt > *above)
            .map_or((1.0, 1.0), |(_, input, output)| (input, output));
        let read = usage.input as f64 * self.input
            + usage.cache_write as f64 * self.cache_write
            + usage.cache_read as f64 * self.cache_read;
        (more_in * read + more_out * usage.output as f64 * self.output) / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices(model: &str) -> Prices {
        facts(
            if model.starts_with("claude") {
                "anthropic"
            } else {
                "openai"
            },
            model,
        )
        .prices
        .expect("a listed model")
    }

    #[test]
    fn a_model_is_found_with_its_date_and_never_taken_for_another() {
        let sonnet = facts("anthropic", "claude-sonnet-4-5");
        assert_eq!(facts("anthropic", "claude-sonnet-4-5-20250929"), sonnet);
        assert_eq!(prices("claude-sonnet-5-5-latest").cache_read, 0.1);
        assert_eq!(prices("claude-opus-5").input, 5.0);
        assert_eq!(prices("gpt-5-mini-2025-08-07").input, 0.25);
        assert_eq!(prices("gpt-5.4-mini").output, 4.5);
        for unknown in [
            "claude-opus-5-9",
            "claude-opus-5x",
            "gpt-5-pro",
            "gpt-5-2025",
            "gpt",
        ] {
            assert_eq!(facts("openai", unknown).prices, None, "{unknown}");
        }
    }

    #[test]
    fn a_model_at_another_provider_has_its_size_and_no_price() {
        let there = facts("openrouter", "anthropic/claude-sonnet-4-5");
        assert_eq!(
            (there.window, there.images, there.prices),
            (200_000, true, None)
        );
        assert_eq!(facts("ollama", "qwen3:8b"), unlisted("ollama"));
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 2_000_000,
            cache_write: 10_000,
        };
        let cost = prices("claude-sonnet-4-5").cost(&usage);
        assert!((cost - (3.0 + 1.5 + 0.6 + 0.0375)).abs() < 1e-9, "{cost}");
    }

    #[test]
    fn a_long_prompt_costs_its_own_price() {
        let usage = |input| Usage {
            input,
            output: 1_000_000,
            ..Usage::default()
        };
        let haiku = prices("claude-haiku-5-5");
        assert!((haiku.cost(&usage(100_000)) - 0.51).abs() < 1e-9);
        assert!(haiku.cost(&usage(100_001)) > 2.55);
        let sol = prices("gpt-6.1-sol");
        assert!((sol.cost(&usage(1_000_000)) - (4.0 + 15.0)).abs() < 1e-9);
    }

    #[test]
    fn what_is_said_goes_before_the_table() {
        let said = Said {
            window: Some(8_192),
            input: Some(1.0),
            ..Said::default()
        };
        let own = unlisted("ollama").with(&said);
        assert_eq!(
            (own.window, own.prices),
            (8_192, None),
            "half a price is none"
        );
        let whole = unlisted("ollama").with(&Said {
            output: Some(2.0),
            ..said
        });
        let prices = whole.prices.expect("a price");
        assert_eq!(
            (prices.input, prices.output, prices.cache_read),
            (1.0, 2.0, 1.0)
        );
        let listed = facts("openai", "gpt-6.1-sol").with(&Said {
            output: Some(9.0),
            ..Said::default()
        });
        let prices = listed.prices.expect("a price");
        assert_eq!(
            (prices.output, prices.cache_read, prices.long.is_some()),
            (9.0, 0.1, true)
        );
    }
}
