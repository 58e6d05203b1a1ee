//! Sums up usage: tokens and cost, by agent, model, day or session.
//!
//! A fold over the journals, like everything else that is told about the past. What a fork inherited
//! was paid for in the session it happened in, and counts there.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use rooftree_protocol::{Event, EventBody, Problem, Session, Usage};
use rooftree_runtime::Queries;
use rooftree_store::SessionFilter;
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

impl ListItem for Row {
    fn id(&self) -> String {
        self.name.clone()
    }
}

/// Prints it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let mut tally = UsageTotals::default();
    if let Some(store) = environment.queries()? {
        for deleted in [false, true] {
            let filter = SessionFilter {
                deleted,
                ..SessionFilter::default()
            };
            for session in store
                .sessions(filter)
                .await
                .map_err(|error| error.problem())?
            {
                add(&mut tally, arguments.by, &session, &store).await?;
            }
        }
    }
    let mut rows = tally.rows(arguments.by);
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

async fn add(
    tally: &mut UsageTotals,
    by: UsageGrouping,
    session: &Session,
    store: &Queries,
) -> Result<(), Problem> {
    let mut pages = store.journal_pages(session);
    while let Some(page) = pages.next().await.map_err(|error| error.problem())? {
        page.iter()
            .filter(|event| event.session == session.id)
            .for_each(|event| tally.take(by, session, event));
    }
    Ok(())
}

/// The sums so far, by name.
#[derive(Default)]
struct UsageTotals(BTreeMap<String, Row>);

impl UsageTotals {
    fn take(&mut self, by: UsageGrouping, session: &Session, event: &Event) {
        let (thinker, usage, replies) = match &event.body {
            EventBody::MessageCompleted(reply) => (reply.model.as_str(), reply.usage, 1),
            EventBody::ContextCompacted(compaction) if compaction.usage.total() > 0 => (
                session.model.as_deref().unwrap_or("summaries"),
                compaction.usage,
                0,
            ),
            EventBody::ToolCompleted(record) => match record.usage {
                Some(usage) => (record.tool.as_str(), usage, 0),
                None => return,
            },
            _ => return,
        };
        let name = match by {
            UsageGrouping::Agent => event.agent.clone(),
            UsageGrouping::Model => thinker.to_owned(),
            UsageGrouping::Day => event.ts.to_string().chars().take(10).collect(),
            UsageGrouping::Session => session
                .name
                .clone()
                .unwrap_or_else(|| session.id.to_string()),
        };
        let empty = Row {
            name: name.clone(),
            replies: 0,
            usage: Usage::none(),
        };
        let row = self.0.entry(name).or_insert(empty);
        row.replies += replies;
        row.usage += usage;
    }

    /// The dearest first; days in their order.
    fn rows(self, by: UsageGrouping) -> Vec<Row> {
        let mut rows: Vec<Row> = self.0.into_values().collect();
        if by != UsageGrouping::Day {
            rows.sort_by(|one, other| {
                let money = other.usage.cost_usd.total_cmp(&one.usage.cost_usd);
                money.then(other.usage.total().cmp(&one.usage.total()))
            });
        }
        rows
    }
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
