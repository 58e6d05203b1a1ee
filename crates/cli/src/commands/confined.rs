//! Options that say how what agents run is confined, for every command that runs agents.

use clap::Args;
use rooftree_protocol::{Network, SandboxMode};

/// They go before what the settings say.
#[derive(Args, Clone, Copy, Debug)]
pub struct Confined {
    /// Whether commands are confined: auto (where it works), required, off
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub sandbox: Option<SandboxMode>,
    /// Whom confined commands can reach: on (everybody) or off (nobody)
    #[arg(long, value_name = "ON|OFF", value_parser = network)]
    pub network: Option<Network>,
}

fn mode(text: &str) -> Result<SandboxMode, String> {
    serde_json::from_value(text.into()).map_err(|_| "choose one of auto, required, off".to_owned())
}

fn network(text: &str) -> Result<Network, String> {
    serde_json::from_value(text.into()).map_err(|_| "choose on or off".to_owned())
}
