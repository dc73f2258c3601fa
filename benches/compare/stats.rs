//! Series of measurements. Machines are noisy, so ours and a peer's are taken in turns, A B A B, and told
//! as the median with the range.

use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub struct Series(Vec<f64>);

impl Series {
    pub fn add(&mut self, time: Duration) {
        self.push(time.as_secs_f64());
    }

    pub fn push(&mut self, value: f64) {
        let at = self.0.partition_point(|v| *v < value);
        self.0.insert(at, value);
    }

    /// The value that the share `q` of all is below; 0 where there is none.
    pub fn at(&self, q: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        self.0
            .get((last as f64 * q).round() as usize)
            .copied()
            .unwrap_or_default()
    }

    pub fn median(&self) -> f64 {
        self.at(0.5)
    }

    /// `0.53 s (0.51–0.60)`, of seconds.
    pub fn seconds(&self) -> String {
        let (unit, factor) = if self.median() < 0.1 {
            ("ms", 1e3)
        } else {
            ("s", 1.0)
        };
        let shown = |v: f64| round(v * factor);
        format!(
            "{} {unit} ({}–{})",
            shown(self.median()),
            shown(self.at(0.0)),
            shown(self.at(1.0))
        )
    }

    /// `p50 0.41 ms, p99 0.92 ms`, of seconds.
    pub fn percentiles(&self) -> String {
        format!(
            "p50 {} ms, p99 {} ms",
            round(self.median() * 1e3),
            round(self.at(0.99) * 1e3)
        )
    }
}

/// Three digits that mean something.
pub fn round(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}
