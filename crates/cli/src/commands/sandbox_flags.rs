//! Sandbox flags of every command that runs agents.

use clap::Args;
use rooftree_protocol::{Network, Problem, SandboxMode};

/// They go before what the settings say.
#[derive(Args, Clone, Debug)]
pub struct SandboxFlags {
    /// Whether commands are confined: auto (where it works), required, off
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub sandbox: Option<SandboxMode>,
    /// Hosts confined commands can reach: on (all), off (none), or hosts between commas
    #[arg(long, value_name = "ON|OFF|HOSTS", value_parser = network)]
    pub network: Option<Network>,
}

fn mode(text: &str) -> Result<SandboxMode, String> {
    serde_json::from_value(text.into()).map_err(|_| "choose one of auto, required, off".to_owned())
}

fn network(text: &str) -> Result<Network, String> {
    let list = |problem: Problem| {
        let cause = problem
            .cause
            .map(|cause| format!(": {cause}"))
            .unwrap_or_default();
        format!(
            "{}{cause}; choose on, off or hosts such as crates.io,*.github.com",
            problem.message
        )
    };
    text.parse().map_err(list)
}
