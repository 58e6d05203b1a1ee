//! Health check of the installation: runs all checks and says how to fix what fails.

mod agents;
mod check;
mod database;
mod external_agents;
mod machine;
mod models;
mod online;
mod providers;
mod report;
mod salvage;
mod sandbox;
mod verify;

use clap::{Args, Subcommand};
use rooftree_protocol::Problem;

use self::check::DoctorVerdict;
pub use self::machine::on_path;
use crate::{
    environment::Environment,
    exit::Exit,
    listing::{self, PageOutput},
    output,
};

/// Options of `doctor`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    output: PageOutput,
    /// Also ask every provider that has a key one short question; costs next to nothing
    #[arg(long)]
    online: bool,
}

/// What else to check.
#[derive(Debug, Subcommand)]
enum Action {
    /// Read the whole database and check every promise it makes; changes nothing
    Verify,
    /// Save what can be read of a damaged database to a new file; changes nothing
    Salvage(salvage::Arguments),
}

/// Looks at everything. What is wrong makes the exit code 1; what is only odd does not.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    match arguments.action {
        Some(Action::Verify) => {
            return verify::execute(environment, arguments.output.is_json()).await;
        }
        Some(Action::Salvage(salvage)) => {
            return salvage::execute(salvage, environment, arguments.output.is_json());
        }
        None => {}
    }
    let mut checks = machine::checks();
    checks.push(sandbox::check().await);
    checks.extend(database::checks(environment).await);
    checks.extend(models::checks(environment));
    checks.extend(providers::checks(environment, arguments.online).await);
    checks.extend(agents::checks(environment));
    let text = if arguments.output.is_json() {
        output::json_page(&report::DoctorSummary::of(&checks))?
    } else {
        report::text(&checks, listing::look(environment))
    };
    output::print(&text)?;
    let is_well = checks
        .iter()
        .all(|check| check.verdict != DoctorVerdict::Failure);
    Ok(if is_well { Exit::DONE } else { Exit::FAILED })
}
