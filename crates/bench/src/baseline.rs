//! Baseline of the benchmark: the minimal code that does the same work, without any of ours.
//!
//! It reads the same files, stores the same texts with the same durability (fsync), but has no
//! sessions, no inbox, no claims, no permissions and no subscribers.

pub mod baseline_client;
pub mod durable_table;
pub mod many_sessions;
pub mod post_server;
pub mod source_files;

pub use durable_table::DurableTable;
pub use source_files::SourceFiles;
