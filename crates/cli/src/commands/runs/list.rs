//! Lists runs, the latest first.

use clap::Args;
use rooftree_client::{RunQuery, RuntimeClient};
use rooftree_protocol::Problem;
use rooftree_runtime::{Clock, SystemClock};

use super::run_summary::RunSummary;
use crate::{
    environment::Environment,
    exit::Exit,
    human_format,
    listing::{self, ListItem, ListOutput},
    output,
    table::{ColumnShrink, TextTable},
    terminal::run_text::{duration, ending, model, money, tokens},
};

/// How many are listed when not all are asked for.
const PAGE: usize = 50;

/// Options of `runs list`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// All of them, also those that agents delegated
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    output: ListOutput,
}

impl ListItem for RunSummary {
    fn id(&self) -> String {
        self.run.to_string()
    }
}

/// Prints the list.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let records = match environment.client()? {
        Some(client) => records(&*client, arguments.all).await?,
        None => Vec::new(),
    };
    let shown = if arguments.all {
        records.as_slice()
    } else {
        records.get(..PAGE).unwrap_or(&records)
    };
    listing::print(
        shown,
        arguments.output.format,
        listing::look(environment),
        table,
    )?;
    if records.is_empty() {
        output::print_note(
            environment,
            "no runs yet: rooftree run \"…\" starts one, rooftree demo shows how",
        );
    } else if shown.len() < records.len() {
        output::print_note(
            environment,
            &format!("the latest {PAGE} are shown; --all shows all of them"),
        );
    }
    Ok(Exit::DONE)
}

async fn records(client: &dyn RuntimeClient, all: bool) -> Result<Vec<RunSummary>, Problem> {
    let query = RunQuery {
        roots: !all,
        limit: (!all).then_some(PAGE + 1),
        ..RunQuery::default()
    };
    let found = client.runs(query).await?;
    Ok(found.into_iter().map(RunSummary::from).collect())
}

fn table(records: &[RunSummary]) -> TextTable {
    let now = SystemClock.now();
    let mut table = TextTable::new([
        ("ID", ColumnShrink::Stiff),
        ("AGENT", ColumnShrink::Stiff),
        ("STATUS", ColumnShrink::Stiff),
        ("BEGAN", ColumnShrink::Stiff),
        ("TOOK", ColumnShrink::Stiff),
        ("TOKENS", ColumnShrink::Spare),
        ("COST", ColumnShrink::Spare),
        ("MODEL", ColumnShrink::Spare),
        ("ASKED", ColumnShrink::Soft),
    ]);
    for record in records {
        let total = record.total();
        let used = total.total() > 0;
        table.row([
            ending(record.run.as_str()).to_owned(),
            record.agent.clone(),
            format!("{} {}", record.status.sign(), record.status),
            human_format::ago(now, record.started_at),
            record.duration_ms.map(duration).unwrap_or_default(),
            if used {
                tokens(total.total())
            } else {
                String::new()
            },
            if total.cost_usd > 0.0 {
                money(&total)
            } else {
                String::new()
            },
            model(&record.model),
            record.title.clone(),
        ]);
    }
    table
}
