//! Remember: sessions, inboxes, journals, claims, tasks, blobs, behind one trait.
//!
//! [`Store`] says what any store must do; `conformance` is the suite that proves it;
//! `sqlite` is the one everybody starts with. Only this crate knows SQL.

mod chain;
pub mod claim;
pub mod conformance;
pub mod error;
pub mod failpoint;
pub mod inquiries;
mod owner;
pub mod pending;
pub mod records;
pub mod sqlite;
pub mod store;
pub mod verify;

pub use chain::blob_id;
pub use claim::{Claim, ClaimOutcome, Claimed, Owner};
pub use error::Error;
pub use inquiries::{Answered, Answering, Inquiry, RuleKind, RuleRow, RuleScope, RuleVersion};
pub use pending::Pending;
pub use records::{
    Batch, CommandRow, InboxItem, NewSessionRow, OutputPiece, Post, Posted, Repeated, RunFilter, RunRow,
    SearchHit, SessionFilter, SessionPatch, TaskRow, TaskStatus, looked_at,
};
pub use sqlite::SqliteStore;
pub use store::Store;
