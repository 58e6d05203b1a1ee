//! Lists runs, the latest first.

use clap::Args;
use rooftree_protocol::Problem;
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::{RunFilter, Store};

use super::record::Record;
use crate::{
    commands::sessions::to_read,
    environment::Environment,
    exit::Exit,
    listing::{self, Listed, Output},
    output,
    table::{Give, Table},
    terminal::wording::{duration, ending, model, money, tokens},
    wording,
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
    output: Output,
}

impl Listed for Record {
    fn id(&self) -> String {
        self.run.to_string()
    }
}

/// Prints the list.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let records = match to_read(environment)? {
        Some(store) => records(store.as_ref(), arguments.all).await?,
        None => Vec::new(),
    };
    let shown = if arguments.all { records.as_slice() } else { records.get(..PAGE).unwrap_or(&records) };
    listing::print(shown, arguments.output.format, listing::look(environment), table)?;
    if records.is_empty() {
        output::mention(environment, "no runs yet: rooftree run \"…\" starts one, rooftree demo shows how");
    } else if shown.len() < records.len() {
        output::mention(environment, &format!("the latest {PAGE} are shown; --all shows all of them"));
    }
    Ok(Exit::DONE)
}

async fn records(store: &dyn Store, all: bool) -> Result<Vec<Record>, Problem> {
    let limit = if all { 0 } else { PAGE + 1 };
    let filter = RunFilter { roots: !all, limit, ..RunFilter::default() };
    let mut records = Vec::new();
    for row in store.runs(filter).await.map_err(|error| error.problem())? {
        records.extend(Record::of(store, &row).await?);
    }
    Ok(records)
}

fn table(records: &[Record]) -> Table {
    let now = SystemClock.now();
    let mut table = Table::new([
        ("ID", Give::Stiff),
        ("AGENT", Give::Stiff),
        ("STATUS", Give::Stiff),
        ("BEGAN", Give::Stiff),
        ("TOOK", Give::Stiff),
        ("TOKENS", Give::Spare),
        ("COST", Give::Spare),
        ("MODEL", Give::Spare),
        ("ASKED", Give::Soft),
    ]);
    for record in records {
        let total = record.total();
        let used = total.total() > 0;
        table.row([
            ending(record.run.as_str()).to_owned(),
            record.agent.clone(),
            format!("{} {}", record.status.sign(), record.status),
            wording::ago(now, record.started_at),
            record.duration_ms.map(duration).unwrap_or_default(),
            if used { tokens(total.total()) } else { String::new() },
            if total.cost_usd > 0.0 { money(&total) } else { String::new() },
            model(&record.model),
            record.title.clone(),
        ]);
    }
    table
}
