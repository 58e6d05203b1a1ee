//! Sandboxes that are attacked for real, with a control for each attack.

mod after_effects;
mod fixture;
mod forkers;
mod gates;
mod limits;
mod probes;
mod trees;

use rooftree_process::{
    sandbox::{self, SandboxBackend},
    sandbox_probe::sandbox_support,
};

/// The ways to confine that work here. What is missing is said, and is no failure.
pub async fn backends() -> Vec<SandboxBackend> {
    sandbox::use_helper(env!("CARGO_BIN_EXE_rooftree-confine"));
    let support = sandbox_support().await;
    let mut working = Vec::new();
    for (backend, result) in [
        (SandboxBackend::Bubblewrap, support.bubblewrap),
        (SandboxBackend::Landlock, support.landlock),
    ] {
        match result {
            Ok(()) => working.push(backend),
            Err(reason) => eprintln!("left out: {backend}: {reason}"),
        }
    }
    assert!(!working.is_empty(), "nothing here can confine a program");
    working
}
