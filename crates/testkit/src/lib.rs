//! Test kit: a whole runtime in a temporary directory, a scripted model, a virtual clock.
//!
//! ```no_run
//! # async fn story() {
//! use rooftree_providers::scripted::say;
//! use rooftree_testkit::TestRuntimeBuilder;
//!
//! let house = TestRuntimeBuilder::new([say("Hello.")]).build();
//! let session = house.post("hi").await;
//! house.wait_for_run(&session).await;
//! assert!(house.transcript(&session).await.contains("Hello."));
//! # }
//! ```

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

pub mod dice;
pub mod fuzz;
pub mod model_server;
pub mod probe_tool;
pub mod process_marks;
pub mod recorded_story;
pub mod secret_canaries;
pub mod stories;
pub mod test_runtime;
pub mod transcript;

pub use dice::Dice;
pub use probe_tool::{ProbeGate, ProbeTool};
pub use rooftree_providers::scripted;
pub use rooftree_runtime::clock::VirtualClock;
pub use rooftree_tools::Toolset;
pub use test_runtime::{TestRuntime, TestRuntimeBuilder, owner};
