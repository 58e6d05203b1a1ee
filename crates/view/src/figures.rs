//! Formats durations, tokens, costs and model names for people.

use rooftree_protocol::Usage;

/// `3 ms`, `1.2 s`, `6m12s`.
pub fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        // Rounding must not give `60.0 s`.
        1_000..59_950 => format!("{:.1} s", milliseconds as f64 / 1_000.0),
        _ => {
            let seconds = milliseconds.div_ceil(1_000);
            match seconds / 60 {
                minutes @ 0..60 => format!("{minutes}m{:02}s", seconds % 60),
                minutes => format!("{}h{:02}m", minutes / 60, minutes % 60),
            }
        }
    }
}

/// `950 tok`, `4.1k tok`, `1.2M tok`.
pub fn tokens(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} tok"),
        1_000..999_950 => format!("{:.1}k tok", count as f64 / 1_000.0),
        _ => format!("{:.1}M tok", count as f64 / 1_000_000.0),
    }
}

/// What something cost: `≈$0.19`; `≥$0.19` if some prices are not known, `–` if none is. Few digits,
/// but never so few that something looks like nothing.
pub fn money(usage: &Usage) -> String {
    let sign = if usage.cost_complete { "≈" } else { "≥" };
    match usage.cost_usd {
        cost if cost >= 0.01 => format!("{sign}${cost:.2}"),
        cost if cost > 0.0 => format!("{sign}${cost:.5}"),
        _ if usage.cost_complete => "free".into(),
        _ => "–".into(),
    }
}

/// A model without its directories: `scripted//long/path/x.toml` is `scripted/x.toml`.
pub fn model(name: &str) -> String {
    match (name.split_once('/'), name.rsplit_once('/')) {
        (Some(("scripted", _)), Some((_, file))) => format!("scripted/{file}"),
        _ => name.to_owned(),
    }
}
