//! Flattens a table into single settings, each under its full key.

use toml::{Table, Value};

/// Tables that are read as a whole: what is in one entry of them belongs together.
const WHOLE: [&str; 4] = ["external", "hooks", "mcp.servers", "agents"];

/// Each setting with its value, by its whole name: `permission.mode`.
pub fn flatten(table: &Table) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    collect("", table, &mut found);
    found
}

fn collect(above: &str, table: &Table, found: &mut Vec<(String, Value)>) {
    for (key, value) in table {
        let name = if above.is_empty() {
            key.clone()
        } else {
            format!("{above}.{key}")
        };
        match value {
            Value::Table(inner) if !WHOLE.contains(&above) => collect(&name, inner, found),
            value => found.push((name, value.clone())),
        }
    }
}

/// A table in which only this is said.
pub fn alone(name: &str, value: Value) -> Table {
    let mut parts: Vec<&str> = name.split('.').collect();
    // The names of models may have dots in them; what is theirs has no more parts.
    if let Some(model) = name.strip_prefix("aliases.") {
        parts = vec!["aliases", model];
    }
    let whole = parts.into_iter().rev().fold(value, |value, part| {
        Value::Table(Table::from_iter([(part.to_owned(), value)]))
    });
    if let Value::Table(table) = whole {
        table
    } else {
        Table::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_name_and_stands_alone() {
        let text = "model = 'a/b'\n[aliases]\n'gpt-5.2' = 'a/b'\n[permission]\nmode = 'ask'\n[mcp.servers.x]\ncommand = 'y'";
        let table: Table = text.parse().unwrap();
        let names: Vec<String> = flatten(&table).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            [
                "aliases.gpt-5.2",
                "mcp.servers.x",
                "model",
                "permission.mode"
            ]
        );
        let mut again = Table::new();
        for (name, value) in flatten(&table) {
            again.extend(alone(&name, value));
        }
        assert_eq!(again, table);
    }
}
