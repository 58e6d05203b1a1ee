//! Lists API keys: provider, source, and last four characters.

use std::collections::BTreeSet;

use rooftree_protocol::Problem;
use serde::Serialize;

use super::key_account;
use crate::{
    configured_models::ConfiguredModels,
    credentials::KeySource,
    environment::Environment,
    listing::{self, ListFormat, ListItem},
    output,
    providers::KeyNeed,
    table::{ColumnShrink, TextTable},
};

/// A provider and its key.
#[derive(Serialize)]
struct Row {
    provider: String,
    /// The variable it is in, or the file.
    source: Option<String>,
    /// Its last four characters.
    key: Option<String>,
    /// Where one is looked for.
    variables: Vec<String>,
}

impl ListItem for Row {
    fn id(&self) -> String {
        self.provider.clone()
    }
}

/// Prints the list.
pub fn execute(
    models: &ConfiguredModels,
    all: bool,
    format: ListFormat,
    environment: &Environment,
) -> Result<(), Problem> {
    let mut seen = BTreeSet::new();
    let mut rows = Vec::new();
    for account in key_account::all(models)
        .into_iter()
        .filter(|account| seen.insert(account.stored_as.clone()))
    {
        let found = account.key(&models.credentials)?;
        if found.is_some() || (all && account.need != KeyNeed::Nothing) {
            let source = found.as_ref().map(|found| match &found.source {
                KeySource::Variable(variable) => variable.clone(),
                KeySource::File => "credentials.toml".into(),
            });
            let key = found.map(|found| found.key.ending());
            rows.push(Row {
                provider: account.stored_as.clone(),
                source,
                key,
                variables: account.variables.clone(),
            });
        }
    }
    listing::print(&rows, format, listing::look(environment), table)?;
    if rows.is_empty() {
        output::print_note(
            environment,
            "no keys yet: rooftree auth login PROVIDER stores one",
        );
    }
    Ok(())
}

fn table(rows: &[Row]) -> TextTable {
    let mut table = TextTable::new([
        ("PROVIDER", ColumnShrink::Stiff),
        ("SOURCE", ColumnShrink::Soft),
        ("KEY", ColumnShrink::Stiff),
    ]);
    for row in rows {
        let source = row
            .source
            .clone()
            .unwrap_or_else(|| format!("– ({})", row.variables.join(", ")));
        table.row([
            row.provider.clone(),
            source,
            row.key.clone().unwrap_or_default(),
        ]);
    }
    table
}
