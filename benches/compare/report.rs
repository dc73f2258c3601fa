//! The report: a table in docs/performance.md between two marks, and a plot beside it.

use std::fmt::Write as _;
use std::path::Path;

use super::stats::round;

const BEGIN: &str = "<!-- made by `cargo bench --bench compare` -->";
const END: &str = "<!-- end -->";

/// One figure with its goal.
pub struct Row {
    pub work: String,
    pub ours: String,
    /// The peer or yardstick, measured in turns with ours.
    pub beside: String,
    pub result: f64,
    /// What `result` counts: `ms`, `MB`, `×`.
    pub unit: String,
    /// Infinite where nothing is asked.
    pub must: f64,
    pub aim: Option<f64>,
}

impl Row {
    fn verdict(&self) -> &'static str {
        match self.aim {
            _ if self.must.is_infinite() => "",
            _ if self.result > self.must => "**missed**",
            Some(aim) if self.result > aim => "met",
            _ => "met, aim too",
        }
    }
}

pub fn table(rows: &[Row]) -> String {
    let mut out = String::from(
        "| work | postil | beside it | figure | must | aim | |\n|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let aim = row
            .aim
            .map(|aim| format!("≤ {} {}", short(aim), row.unit))
            .unwrap_or_default();
        let must = match row.must.is_infinite() {
            true => String::new(),
            false => format!("≤ {} {}", short(row.must), row.unit),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} {} | {must} | {aim} | {} |",
            row.work,
            row.ours,
            row.beside,
            round(row.result),
            row.unit,
            row.verdict()
        );
    }
    out
}

fn short(value: f64) -> String {
    format!("{value}")
}

/// The rows of a table that [`table`] made.
fn rows_of(made: &str) -> Vec<Row> {
    let row = |line: &str| -> Option<Row> {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, work, ours, beside, figure, must, aim, ..] = cells[..] else {
            return None;
        };
        let (result, unit) = figure.split_once(' ')?;
        let goal = |cell: &str| {
            let value = cell.strip_prefix("≤ ")?.split(' ').next()?;
            value.parse::<f64>().ok()
        };
        Some(Row {
            work: work.to_owned(),
            ours: ours.to_owned(),
            beside: beside.to_owned(),
            result: result.parse().ok()?,
            unit: unit.to_owned(),
            must: goal(must).unwrap_or(f64::INFINITY),
            aim: goal(aim),
        })
    };
    made.lines().filter_map(row).collect()
}

/// The rows that stand in the page, each replaced by the one of `new` about the same work; those about work that
/// the page does not know go behind them.
pub fn renewed(docs: &Path, new: Vec<Row>) -> Vec<Row> {
    let page = std::fs::read_to_string(docs.join("performance.md")).unwrap_or_default();
    let made = page.split_once(BEGIN).map_or("", |(_, made)| made);
    let mut rows = rows_of(made.split_once(END).map_or(made, |(made, _)| made));
    for row in new {
        match rows.iter_mut().find(|old| old.work == row.work) {
            Some(old) => *old = row,
            None => rows.push(row),
        }
    }
    rows
}

/// Each figure as a bar, in shares of what it must reach, on a logarithmic scale; the line is the goal.
pub fn plot(rows: &[Row]) -> String {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.must.is_finite()).collect();
    const LEFT: f64 = 430.0;
    const WIDTH: f64 = 960.0;
    const STEP: f64 = 26.0;
    let (low, high) = (0.01f64, 10.0f64);
    let x = |share: f64| {
        let along = (share.clamp(low, high) / low).ln() / (high / low).ln();
        LEFT + along * (WIDTH - LEFT - 90.0)
    };
    let height = 60.0 + STEP * rows.len() as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"12\" y=\"22\" font-weight=\"bold\">Measured, in shares of the goal (left of the line is better)</text>\n"
    );
    for share in [0.01, 0.1, 1.0, 10.0] {
        let (colour, thick) = if share == 1.0 {
            ("#333", 2)
        } else {
            ("#ddd", 1)
        };
        let at = x(share);
        let bottom = height - 22.0;
        let _ = writeln!(
            out,
            "<line x1=\"{at:.1}\" y1=\"34\" x2=\"{at:.1}\" y2=\"{bottom:.1}\" stroke=\"{colour}\" stroke-width=\"{thick}\"/>"
        );
        let _ = writeln!(
            out,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555\">{share}</text>",
            height - 7.0
        );
    }
    for (n, row) in rows.iter().enumerate() {
        let y = 40.0 + STEP * n as f64;
        let share = row.result / row.must;
        let colour = if share <= 1.0 { "#2a7f62" } else { "#b5442e" };
        let work: String = row
            .work
            .replace(['*', '`'], "")
            .replace('&', "&amp;")
            .replace('<', "&lt;");
        let end = x(share);
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{work}</text>",
            LEFT - 8.0,
            y + 13.0
        );
        let _ = writeln!(
            out,
            "<rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"17\" fill=\"{colour}\"/>",
            (end - LEFT).max(1.0)
        );
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#333\">{} {}</text>",
            end + 5.0,
            y + 13.0,
            round(row.result),
            row.unit
        );
    }
    out.push_str("</svg>\n");
    out
}

/// Puts the table between the marks of `page`; what people wrote around it stays.
pub fn insert(page: &str, made: &str) -> String {
    let (before, rest) = page.split_once(BEGIN).unwrap_or((page, ""));
    let after = rest.split_once(END).map_or("\n", |(_, after)| after);
    format!("{before}{BEGIN}\n{made}{END}{after}")
}

pub fn write(docs: &Path, made: &str, rows: &[Row]) {
    let page = docs.join("performance.md");
    let old = std::fs::read_to_string(&page).unwrap_or_else(|_| String::from("# Performance\n\n"));
    std::fs::write(&page, insert(&old, made)).expect("docs/performance.md can be written");
    std::fs::write(docs.join("performance.svg"), plot(rows))
        .expect("docs/performance.svg can be written");
}
