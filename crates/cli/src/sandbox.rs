//! Sandbox settings for the commands of agents and for MCP servers.

use rooftree_protocol::{Confinement, Network, SandboxMode};
use rooftree_tools::SandboxConfig;

use crate::{environment::PrivateDirs, settings::Settings};

/// Precedence: command line, then settings, then the default.
pub fn confining(
    mode: Option<SandboxMode>,
    network: Option<Network>,
    settings: &Settings,
    private: PrivateDirs,
) -> SandboxConfig {
    let confinement = Confinement {
        mode: mode.or(settings.sandbox.mode).unwrap_or_default(),
        network: network
            .or_else(|| settings.sandbox.network.clone())
            .unwrap_or_default(),
        writable: settings.sandbox.writable.clone(),
        readable: settings.sandbox.readable.clone(),
        ..Confinement::default()
    };
    let (private, scratch) = (private.directories.into(), private.scratch);
    SandboxConfig {
        confinement,
        private,
        scratch,
        ..SandboxConfig::default()
    }
}
