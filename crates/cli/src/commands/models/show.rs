//! Shows everything that is known about one model.

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};
use serde::Serialize;

use super::{Row, acting_models, dollars, short};
use crate::{
    configured_models::ConfiguredModels, environment::Environment, listing::PageOutput, output,
};

/// Options of `models show`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// provider/model, or a name that means one
    #[arg(value_name = "MODEL")]
    name: String,
    #[command(flatten)]
    output: PageOutput,
}

/// Prints it.
pub async fn execute(
    arguments: &Arguments,
    models: &ConfiguredModels,
    environment: &Environment,
) -> Result<(), Problem> {
    let resolved = models.resolve(&arguments.name)?;
    let choice = resolved.choice;
    if !models
        .catalog
        .providers()
        .any(|name| name == choice.provider)
    {
        // Opening an unknown provider gives the best error message.
        models.catalog.open(&choice)?;
    }
    if let Some(page) = acting_models::page(&choice, models, arguments.output.is_json()) {
        return output::print(&page?);
    }
    models.catalog.prepare(&choice).await;
    let opened = models.catalog.open(&choice);
    let Some(facts) = models.catalog.facts(&choice) else {
        return Err(Problem::new(
            ErrorCode::InvalidArguments,
            format!("nothing is known about `{choice}`"),
        )
        .cause("it can be used all the same; its window and its price are not known")
        .fix("describe it in models.toml: docs/models.md says how"));
    };
    if let Some(how) = resolved.how {
        output::print_note(environment, &how);
    }
    let row = Row::of(&facts, opened.is_ok());
    let text = if arguments.output.is_json() {
        output::json_page(&row)?
    } else {
        page(&row, facts.profile_reason(), opened.err().as_ref())
    };
    output::print(&text)
}

fn page(row: &Row, reason: &str, missing: Option<&Problem>) -> String {
    let also = if row.aliases.is_empty() {
        "–".to_owned()
    } else {
        row.aliases.join(", ")
    };
    let price = match &row.price {
        None => "not known: only tokens are counted".to_owned(),
        Some(price) => {
            let cached = |label: &str, price: Option<f64>| {
                price.map_or_else(String::new, |price| {
                    format!(" · {label} {}", dollars(price))
                })
            };
            format!(
                "in {} · out {}{}{} per million tokens",
                dollars(price.input),
                dollars(price.output),
                cached("cache read", price.cache_read),
                cached("cache write", price.cache_write),
            )
        }
    };
    let long = row
        .price
        .as_ref()
        .and_then(|price| price.long.as_ref())
        .map_or_else(String::new, |long| {
            let (input, output) = (dollars(long.input), dollars(long.output));
            format!(
                "  long         in {input} · out {output} for requests over {} tokens\n",
                long.over
            )
        });
    let tier = row.tier.map_or_else(|| "–".to_owned(), |tier| word(&tier));
    let key = missing.map_or_else(
        || "ready to be used".to_owned(),
        |problem| problem.message.clone(),
    );
    format!(
        "{}\n  also called  {also}\n  tier         {tier}\n  window       {}\n  output       {}\n  price        {price}\n{long}  can          {}\n  profile      {}: {reason}\n  key          {key}\n",
        row.id,
        short(row.window),
        short(row.output),
        row.abilities(),
        word(&row.profile),
    )
}

/// A word of the catalogue, spelled as in JSON.
pub fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value)
        .unwrap_or_default()
        .as_str()
        .unwrap_or_default()
        .to_owned()
}
