//! The bare side: the least that could do the same work, without anything of ours.
//!
//! It reads the same files, keeps the same texts and asks the disk for the same promises, but
//! has no sessions, no inbox, no claims, no permissions and nobody watching.

pub mod crowd;
pub mod files;
pub mod ledger;
pub mod loopback;

pub use files::Files;
pub use ledger::Ledger;
