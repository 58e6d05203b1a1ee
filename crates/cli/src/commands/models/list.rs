//! Lists models, those that can be asked first.

use clap::Args;
use rooftree_protocol::Problem;

use super::{Row, acting_models, dollars, short};
use crate::{
    configured_models::ConfiguredModels,
    environment::Environment,
    listing::{self, ListOutput},
    output,
    providers::KeyNeed,
    table::{ColumnShrink, TextTable},
};

/// Options of `models list`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Only those whose name or alias contains all these letters
    #[arg(value_name = "FILTER")]
    filter: Option<String>,
    /// Only those of this provider
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    #[command(flatten)]
    output: ListOutput,
}

/// Prints the list.
pub fn execute(
    arguments: &Arguments,
    models: &ConfiguredModels,
    environment: &Environment,
) -> Result<(), Problem> {
    let mut usable: Vec<&str> = models
        .usable()
        .iter()
        .map(|profile| profile.name.as_str())
        .collect();
    let keyless = models
        .profiles
        .iter()
        .filter(|profile| profile.need != KeyNeed::Key);
    usable.extend(keyless.map(|profile| profile.name.as_str()));
    let known = models.catalog.known().iter();
    let mut rows: Vec<Row> = known
        .map(|facts| Row::of(facts, usable.contains(&facts.provider())))
        .collect();
    rows.extend(acting_models::rows(models));
    rows.retain(|row| is_wanted(row, arguments));
    rows.sort_by_key(|row| !row.usable);
    listing::print(
        &rows,
        arguments.output.format,
        listing::look(environment),
        table,
    )?;
    if rows.is_empty() {
        output::print_note(
            environment,
            "no model that is known is called like that; any provider/model can be used",
        );
    } else if !rows.iter().any(|row| row.usable) {
        output::print_note(
            environment,
            "none of them has a key: rooftree auth login PROVIDER stores one",
        );
    }
    Ok(())
}

fn is_wanted(row: &Row, arguments: &Arguments) -> bool {
    let provider = row.id.split('/').next().unwrap_or_default();
    let is_of_provider = arguments
        .provider
        .as_ref()
        .is_none_or(|wanted| wanted.eq_ignore_ascii_case(provider));
    let has = |filter: &String| {
        let filter = filter.to_lowercase();
        row.id.to_lowercase().contains(&filter)
            || row.aliases.iter().any(|alias| alias.contains(&filter))
    };
    is_of_provider && arguments.filter.as_ref().is_none_or(has)
}

fn table(rows: &[Row]) -> TextTable {
    let mut table = TextTable::new([
        ("MODEL", ColumnShrink::Stiff),
        ("KEY", ColumnShrink::Stiff),
        ("WINDOW", ColumnShrink::Stiff),
        ("OUTPUT", ColumnShrink::Spare),
        ("IN/M", ColumnShrink::Stiff),
        ("OUT/M", ColumnShrink::Stiff),
        ("CAN", ColumnShrink::Soft),
        ("ALSO", ColumnShrink::Soft),
    ]);
    for row in rows {
        let price = |of: fn(&rooftree_providers::catalog::ModelPrice) -> f64| {
            row.price
                .as_ref()
                .map_or_else(|| "–".to_owned(), |price| dollars(of(price)))
        };
        let tier = row.tier.map(|tier| super::show::word(&tier));
        table.row([
            row.id.clone(),
            if row.usable {
                "✓".into()
            } else {
                "–".into()
            },
            short(row.window),
            short(row.output),
            price(|price| price.input),
            price(|price| price.output),
            row.abilities(),
            row.aliases
                .iter()
                .cloned()
                .chain(tier)
                .collect::<Vec<_>>()
                .join(" "),
        ]);
    }
    table
}
