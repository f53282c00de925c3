//! One measured figure, its bar, and the table they are printed in.

use std::fmt::Write;

pub struct Figure {
    /// What was measured.
    pub name: &'static str,
    /// The value, and its unit.
    pub measured: Amount,
    /// The same for the floor, where there is one.
    pub floor: Option<Amount>,
    /// What it must not exceed.
    pub bar: Bar,
}

/// A value with its unit.
#[derive(Clone, Copy)]
pub struct Amount {
    pub value: f64,
    /// `ms`, `µs`, `MB`, `bytes`, `instructions`, `times`.
    pub unit: &'static str,
}

/// What a figure must not exceed.
pub enum Bar {
    /// A value in the figure's unit.
    Under(f64),
    /// So many times the floor.
    Ratio(f64),
    /// Nothing: it is there for comparison.
    None,
}

impl Figure {
    /// Returns the ratio to the floor.
    pub fn ratio(&self) -> Option<f64> {
        self.floor.map(|floor| self.measured.value / floor.value)
    }

    /// Returns whether the bar was missed.
    pub fn missed(&self) -> bool {
        match self.bar {
            Bar::Under(limit) => self.measured.value >= limit,
            Bar::Ratio(limit) => self.ratio().is_none_or(|ratio| ratio > limit),
            Bar::None => false,
        }
    }
}

/// Returns a time in milliseconds.
pub fn ms(value: f64) -> Amount {
    Amount { value, unit: "ms" }
}

/// Returns a size in megabytes of a million bytes.
pub fn megabytes(bytes: f64) -> Amount {
    Amount { value: bytes / 1e6, unit: "MB" }
}

/// Returns the figures as a Markdown table.
pub fn table(figures: &[Figure]) -> String {
    let mut out =
        String::from("| figure | measured | floor | ratio | bar | verdict |\n|---|---:|---:|---:|---|---|\n");
    for figure in figures {
        let bar = match figure.bar {
            Bar::Under(limit) => format!("under {limit} {}", figure.measured.unit),
            Bar::Ratio(limit) => format!("at most {limit} times the floor"),
            Bar::None => String::new(),
        };
        let verdict = match figure.bar {
            Bar::None => "",
            _ if figure.missed() => "MISSED",
            _ => "ok",
        };
        let floor = figure.floor.map(shown).unwrap_or_default();
        let ratio = figure.ratio().map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        writeln!(
            out,
            "| {} | {} | {floor} | {ratio} | {bar} | {verdict} |",
            figure.name,
            shown(figure.measured)
        )
        .expect("writing to a string cannot fail");
    }
    out
}

fn shown(amount: Amount) -> String {
    match amount.unit {
        unit @ ("bytes" | "instructions") => format!("{:.0} {unit}", amount.value),
        unit => format!("{:.2} {unit}", amount.value),
    }
}

/// Returns the middle value; the mean of the two middle ones where there are two.
///
/// # Panics
///
/// When there is none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0])), (2.0, 2.5));
    }

    #[test]
    fn a_table_with_verdicts() {
        let figure = |bar, floor| Figure { name: "x", measured: ms(3.0), floor, bar };
        let figures =
            [figure(Bar::Ratio(2.0), Some(ms(1.0))), figure(Bar::Under(3.5), None), figure(Bar::None, None)];
        assert_eq!(
            table(&figures),
            "| figure | measured | floor | ratio | bar | verdict |\n|---|---:|---:|---:|---|---|\n\
             | x | 3.00 ms | 1.00 ms | 3.00 | at most 2 times the floor | MISSED |\n\
             | x | 3.00 ms |  |  | under 3.5 ms | ok |\n\
             | x | 3.00 ms |  |  |  |  |\n"
        );
    }
}
