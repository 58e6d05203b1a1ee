//! Record and replay of any provider: a file with every question and its answer.
//!
//! [`Recorder`] and [`Player`] wrap what the catalog opens, so neither a wire nor the runtime knows
//! about them. A replay needs no network and no key. It answers a question only if the very same
//! one was recorded; what differs between two runs of the same work (ids, times, the working
//! directory) is written down by its order or its name instead (`names.rs`).

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
