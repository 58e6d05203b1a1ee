//! Records and replays the traffic of any provider: a file with every request and its answer.
//!
//! [`CassetteRecorder`] and [`CassettePlayer`] wrap what the catalog opens, so neither a provider nor the
//! runtime knows about them. A replay needs no network and no key. It answers only a request that is
//! identical to a recorded one; what differs between two runs of the same work (ids, times, the working
//! directory) is recorded as a placeholder instead (`placeholders.rs`).

mod diff;
mod file_format;
mod placeholders;
mod record;
mod recorded_answer;
mod recording_mode;
mod replay;
mod request;

pub use placeholders::Placeholders;
pub use record::{CassetteRecorder, RecordingProvider};
pub use recording_mode::RecordingMode;
pub use replay::{CassettePlayer, ReplayProvider};
