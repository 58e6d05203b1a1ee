//! Formats the results: a Markdown table for people, JSON for programs.

use anyhow::Result;
use serde_json::json;

use crate::{
    options::BenchOptions,
    row::{BenchRow, FigureTarget, FigureUnit},
};

const HEAD: [&str; 7] = ["", "ours", "bare", "ratio", "target", "", "beside"];

/// The rows as a table in Markdown, which also reads well on a terminal.
pub fn render(rows: &[BenchRow]) -> String {
    let cells: Vec<[String; 7]> = std::iter::once(HEAD.map(str::to_owned))
        .chain(rows.iter().map(cells))
        .collect();
    let widths: Vec<usize> = (0..HEAD.len())
        .map(|column| width(&cells, column))
        .collect();
    let mut text = String::new();
    for (index, line) in cells.iter().enumerate() {
        text.push_str(&joined(line, &widths));
        if index == 0 {
            let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            text.push_str(&joined(&rules, &widths));
        }
    }
    text
}

fn joined(cells: &[String], widths: &[usize]) -> String {
    let padded: Vec<String> = cells
        .iter()
        .zip(widths)
        .map(|(cell, width)| format!("{cell:<width$}"))
        .collect();
    format!("| {} |\n", padded.join(" | "))
}

fn width(cells: &[[String; 7]], column: usize) -> usize {
    cells
        .iter()
        .filter_map(|line| line.get(column))
        .map(|cell| cell.chars().count())
        .max()
        .unwrap_or(0)
}

fn cells(row: &BenchRow) -> [String; 7] {
    let figure =
        |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| shown(value, row.unit));
    let mark = match row.is_met() {
        Some(true) => "✓",
        Some(false) => "✗",
        None => "",
    };
    [
        row.name.clone(),
        figure(row.ours),
        figure(row.bare),
        row.ratio()
            .map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}")),
        wanted(row.target, row.unit),
        mark.to_owned(),
        row.note.clone(),
    ]
}

fn wanted(target: FigureTarget, unit: FigureUnit) -> String {
    match target {
        FigureTarget::Watched => String::new(),
        FigureTarget::Times(times) => format!("≤ {times} ×"),
        FigureTarget::Share(share) => format!("≥ {share} ×"),
        FigureTarget::AtMost(most) => format!("≤ {}", shown(most, unit)),
    }
}

/// A figure with three significant digits.
fn shown(value: f64, unit: FigureUnit) -> String {
    match unit {
        FigureUnit::Seconds if value < 1e-3 => format!("{} µs", digits(value * 1e6)),
        FigureUnit::Seconds if value < 1.0 => format!("{} ms", digits(value * 1e3)),
        FigureUnit::Seconds => format!("{} s", digits(value)),
        FigureUnit::Bytes if value < 1e6 => format!("{} KB", digits(value / 1e3)),
        FigureUnit::Bytes => format!("{} MB", digits(value / 1e6)),
        FigureUnit::PerSecond => format!("{value:.0} /s"),
        FigureUnit::Count => format!("{value:.0}"),
    }
}

fn digits(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// The rows as JSON, with ratio and verdict.
pub fn json(rows: &[BenchRow], options: &BenchOptions) -> Result<String> {
    let mut told = Vec::new();
    for row in rows {
        let mut value = serde_json::to_value(row)?;
        if let Some(fields) = value.as_object_mut() {
            fields.insert("ratio".into(), json!(row.ratio()));
            fields.insert("met".into(), json!(row.is_met()));
        }
        told.push(value);
    }
    Ok(serde_json::to_string_pretty(&json!({"rounds": options.rounds, "rows": told}))? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::MedianPair;

    #[test]
    fn figures_are_shown_in_the_unit_one_would_say() {
        for (value, unit, words) in [
            (0.000_012_3, FigureUnit::Seconds, "12.3 µs"),
            (0.0045, FigureUnit::Seconds, "4.50 ms"),
            (2.5, FigureUnit::Seconds, "2.50 s"),
            (66_000.0, FigureUnit::Bytes, "66.0 KB"),
            (15_000_000.0, FigureUnit::Bytes, "15.0 MB"),
            (4321.4, FigureUnit::PerSecond, "4321 /s"),
            (0.0, FigureUnit::Count, "0"),
        ] {
            assert_eq!(shown(value, unit), words);
        }
    }

    #[test]
    fn a_row_says_ratio_target_and_verdict() {
        let pair = MedianPair {
            ours: 0.003,
            bare: Some(0.002),
        };
        let table = render(&[BenchRow::time(
            "start",
            pair,
            FigureTarget::Times(1.2),
            "an empty program",
        )]);
        let line = table.lines().nth(2).unwrap();
        assert_eq!(
            line,
            "| start | 3.00 ms | 2.00 ms | 1.50  | ≤ 1.2 × | ✗ | an empty program |"
        );
    }

    #[test]
    fn what_was_left_out_says_why() {
        let table = render(&[BenchRow::skipped("Grep", "rg missing")]);
        assert!(
            table.contains("rg missing") && !table.contains('✗'),
            "{table}"
        );
    }
}
