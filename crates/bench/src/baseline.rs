//! The bare side: the least that could do the same work, without anything of ours.
//!
//! It reads the same files, keeps the same texts and asks the disk for the same promises, but
//! has no sessions, no inbox, no claims, no permissions and nobody watching.

pub mod baseline_client;
pub mod durable_table;
pub mod many_sessions;
pub mod source_files;

pub use durable_table::DurableTable;
pub use source_files::SourceFiles;
