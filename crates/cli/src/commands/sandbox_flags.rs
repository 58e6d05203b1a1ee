//! Sandbox flags of every command that runs agents.

use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use rooftree_protocol::{Network, Problem, SandboxMode};

/// They take precedence over the settings.
#[derive(Args, Clone, Debug)]
pub struct SandboxFlags {
    /// Whether commands run in a sandbox
    #[arg(long, value_name = "MODE", help_heading = "Permissions and sandbox", value_parser = mode_parser())]
    pub sandbox: Option<SandboxMode>,
    /// Hosts confined commands can reach: on (all), off (none), or hosts between commas
    #[arg(long, value_name = "ON|OFF|HOSTS", help_heading = "Permissions and sandbox", value_parser = network)]
    pub network: Option<Network>,
}

fn mode_parser() -> impl TypedValueParser<Value = SandboxMode> {
    let modes = [
        ("auto", "where one works (default)"),
        ("required", "or not at all"),
        ("off", "commands run unconfined"),
    ];
    let values = modes.map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).try_map(|text| serde_json::from_value(text.into()))
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
