//! One row of the table: our figure, the baseline, their ratio, and the target.

use serde::Serialize;

use crate::compare::MedianPair;

/// How the note of a group that ended with an error begins.
const FAILED: &str = "failed";

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureUnit {
    Seconds,
    Bytes,
    PerSecond,
    Count,
}

/// The target in PERFORMANCE.md.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureTarget {
    /// No target; the figure is only watched.
    Watched,
    /// At most so many times the baseline figure.
    Times(f64),
    /// At least this share of the baseline figure.
    Share(f64),
    /// At most this, whatever the baseline figure.
    AtMost(f64),
}

/// A figure and its baseline.
#[derive(Clone, Debug, Serialize)]
pub struct BenchRow {
    pub name: String,
    pub unit: FigureUnit,
    pub ours: Option<f64>,
    pub bare: Option<f64>,
    pub target: FigureTarget,
    /// What the baseline is, or why there is no figure.
    pub note: String,
}

impl BenchRow {
    /// A row of durations.
    pub fn time(
        name: impl Into<String>,
        pair: MedianPair,
        target: FigureTarget,
        note: impl Into<String>,
    ) -> Self {
        Self::of(name, FigureUnit::Seconds, pair, target, note)
    }

    /// A row of rates: more is better.
    pub fn rate(
        name: impl Into<String>,
        pair: MedianPair,
        target: FigureTarget,
        note: impl Into<String>,
    ) -> Self {
        Self::of(name, FigureUnit::PerSecond, pair, target, note)
    }

    /// A row of sizes.
    pub fn size(
        name: impl Into<String>,
        pair: MedianPair,
        target: FigureTarget,
        note: impl Into<String>,
    ) -> Self {
        Self::of(name, FigureUnit::Bytes, pair, target, note)
    }

    /// A row of counted things.
    pub fn count(
        name: impl Into<String>,
        pair: MedianPair,
        target: FigureTarget,
        note: impl Into<String>,
    ) -> Self {
        Self::of(name, FigureUnit::Count, pair, target, note)
    }

    fn of(
        name: impl Into<String>,
        unit: FigureUnit,
        pair: MedianPair,
        target: FigureTarget,
        note: impl Into<String>,
    ) -> Self {
        let (ours, bare) = (Some(pair.ours), pair.bare);
        Self {
            name: name.into(),
            unit,
            ours,
            bare,
            target,
            note: note.into(),
        }
    }

    /// A row that could not be measured, and why.
    pub fn skipped(name: impl Into<String>, why: impl Into<String>) -> Self {
        let (ours, bare) = (None, None);
        Self {
            name: name.into(),
            unit: FigureUnit::Seconds,
            ours,
            bare,
            target: FigureTarget::Watched,
            note: why.into(),
        }
    }

    /// A group that ended with an error.
    pub fn failed(name: impl Into<String>, error: &anyhow::Error) -> Self {
        let why = format!("{FAILED}: {error:#}");
        Self::skipped(name, why)
    }

    /// Whether it stands for a group that ended with an error.
    pub fn is_failed(&self) -> bool {
        self.note.starts_with(FAILED)
    }

    /// Our figure divided by the baseline.
    pub fn ratio(&self) -> Option<f64> {
        let (ours, bare) = (self.ours?, self.bare?);
        (bare > 0.0).then(|| ours / bare)
    }

    /// Whether the target is met; none if there is no target or its figures are missing.
    pub fn is_met(&self) -> Option<bool> {
        match self.target {
            FigureTarget::Watched => None,
            FigureTarget::Times(times) => self.ratio().map(|ratio| ratio <= times),
            FigureTarget::Share(share) => self.ratio().map(|ratio| ratio >= share),
            FigureTarget::AtMost(most) => self.ours.map(|ours| ours <= most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_met_by_ratio_by_share_or_by_the_figure_itself() {
        let pair = MedianPair {
            ours: 3.0,
            bare: Some(2.0),
        };
        for (target, met) in [
            (FigureTarget::Watched, None),
            (FigureTarget::Times(1.5), Some(true)),
            (FigureTarget::Times(1.4), Some(false)),
            (FigureTarget::Share(1.5), Some(true)),
            (FigureTarget::Share(1.6), Some(false)),
            (FigureTarget::AtMost(3.0), Some(true)),
            (FigureTarget::AtMost(2.9), Some(false)),
        ] {
            assert_eq!(
                BenchRow::time("x", pair, target, "").is_met(),
                met,
                "{target:?}"
            );
        }
    }

    #[test]
    fn without_a_bare_figure_there_is_no_ratio_to_judge() {
        let row = BenchRow::time(
            "x",
            MedianPair {
                ours: 3.0,
                bare: None,
            },
            FigureTarget::Times(1.0),
            "",
        );
        assert_eq!((row.ratio(), row.is_met()), (None, None));
        assert_eq!(BenchRow::skipped("x", "why").is_met(), None);
    }
}
