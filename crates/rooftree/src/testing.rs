//! Test support for programs that use agents: scripted and recorded models, a clock that stands still, and
//! assertions on events.
//!
//! ```
//! use rooftree::{query, testing::{ScriptedModel, call, say}};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> rooftree::Result<()> {
//! let model = ScriptedModel::from_replies([
//!     say("Let me look.").calls([call("Glob", json!({"pattern": "*.nothing"}))]),
//!     say("There is nothing here."),
//! ])?;
//! let answer = query("What is here?").provider("scripted", model.clone()).await?;
//! assert_eq!(answer.to_string(), "There is nothing here.");
//! assert_eq!(answer.tools, ["Glob"]);
//! assert_eq!(model.requests().len(), 2);
//! # Ok(()) }
//! ```
//!
//! [`assert_events!`] says what should have happened, [`Cassette`] records a real model once and replays it.
//! Scripts can be files too: see `docs/scripted-models.md`, and name them as `scripted/FILE.toml`.

mod cassette;
mod expected_events;

pub use cassette::Cassette;
#[doc(hidden)]
pub use expected_events::{ExpectedEvent, expect_events};
pub use rooftree_providers::scripted::{
    ScriptEntry, ScriptedCall, ScriptedFailureKind, ScriptedModel, call, fail, say,
};
pub use rooftree_runtime::clock::VirtualClock as FakeClock;

#[doc(inline)]
pub use crate::__assert_events as assert_events;
