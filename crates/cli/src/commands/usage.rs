//! Sums up usage: tokens and cost, by agent, model, day or session.
//!
//! The store keeps the sums, so this costs the same however long the journals are. What a fork inherited was paid for in
//! the session it happened in, and counts there.

use clap::{Args, ValueEnum};
use rooftree_protocol::{Problem, Usage};
use rooftree_runtime::Queries;
use rooftree_store::{UsageFilter, UsageGroup, UsageRow};
use serde::Serialize;

use crate::{
    environment::Environment,
    exit::Exit,
    listing::{self, ListFormat, ListItem, ListOutput},
    output,
    table::{ColumnShrink, TextTable},
    terminal::run_text::{model, money},
};

/// Options of `usage`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// What to add up by
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    by: UsageGrouping,
    #[command(flatten)]
    output: ListOutput,
}

/// What to add up by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum UsageGrouping {
    Agent,
    #[default]
    Model,
    /// In UTC
    Day,
    Session,
}

/// What one agent, model, day or session used.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Row {
    name: String,
    replies: u64,
    #[serde(flatten)]
    usage: Usage,
}

impl From<UsageRow> for Row {
    fn from(found: UsageRow) -> Self {
        let UsageRow {
            name,
            replies,
            usage,
            ..
        } = found;
        Self {
            name,
            replies,
            usage,
        }
    }
}

impl From<UsageGrouping> for UsageGroup {
    fn from(by: UsageGrouping) -> Self {
        match by {
            UsageGrouping::Agent => Self::Agent,
            UsageGrouping::Model => Self::Model,
            UsageGrouping::Day => Self::Day,
            UsageGrouping::Session => Self::Session,
        }
    }
}

impl ListItem for Row {
    fn id(&self) -> String {
        self.name.clone()
    }
}

/// Prints it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let mut rows = match environment.queries()? {
        Some(store) => rows(&store, arguments.by).await?,
        None => Vec::new(),
    };
    if rows.len() > 1 && arguments.output.format == ListFormat::Table {
        rows.push(total(&rows));
    }
    listing::print(
        &rows,
        arguments.output.format,
        listing::look(environment),
        table,
    )?;
    if rows.is_empty() {
        output::print_note(environment, "nothing was used yet");
    }
    Ok(Exit::DONE)
}

/// The dearest first; days in their order.
async fn rows(store: &Queries, by: UsageGrouping) -> Result<Vec<Row>, Problem> {
    let found = store.usage(UsageFilter::by(by.into())).await;
    let mut rows: Vec<Row> = found
        .map_err(|error| error.problem())?
        .into_iter()
        .map(Row::from)
        .collect();
    rows.sort_by(|one, other| {
        let name = one.name.cmp(&other.name);
        if by == UsageGrouping::Day {
            return name;
        }
        let money = other.usage.cost_usd.total_cmp(&one.usage.cost_usd);
        money
            .then(other.usage.total().cmp(&one.usage.total()))
            .then(name)
    });
    Ok(rows)
}

fn total(rows: &[Row]) -> Row {
    rows.iter().fold(
        Row {
            name: "total".into(),
            replies: 0,
            usage: Usage::none(),
        },
        |mut sum, row| {
            sum.replies += row.replies;
            sum.usage += row.usage;
            sum
        },
    )
}

fn table(rows: &[Row]) -> TextTable {
    let mut table = TextTable::new([
        ("NAME", ColumnShrink::Soft),
        ("REPLIES", ColumnShrink::Spare),
        ("READ", ColumnShrink::Stiff),
        ("CACHED", ColumnShrink::Spare),
        ("WRITTEN", ColumnShrink::Stiff),
        ("COST", ColumnShrink::Stiff),
    ]);
    for Row {
        name,
        replies,
        usage,
    } in rows
    {
        // An agent elsewhere does not tell what its work takes; that is not nothing.
        let is_untold = usage.total() == 0 && *replies > 0;
        let count = |tokens: u64| {
            if is_untold {
                "–".to_owned()
            } else {
                tokens.to_string()
            }
        };
        table.row([
            model(name),
            replies.to_string(),
            count(usage.input),
            count(usage.cache_read),
            count(usage.output),
            money(usage),
        ]);
    }
    table
}
