//! Record and replay of any provider: a file with every question and its answer.
//!
//! [`Recorder`] and [`Player`] wrap what the catalog opens, so neither a wire nor the runtime knows
//! about them. A replay needs no network and no key. It answers a question only if the very same
//! one was recorded; what differs between two runs of the same work (ids, times, the working
//! directory) is written down by its order or its name instead (`names.rs`).

mod answer;
mod difference;
mod line;
mod names;
mod question;
mod record;
mod replay;
mod tape;

pub use names::Names;
pub use record::{Recorder, Recording};
pub use replay::{Player, Replaying};
pub use tape::Tape;
