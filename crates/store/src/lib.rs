//! Remember: sessions, inboxes, journals, claims, tasks, blobs, behind one trait.
//!
//! [`Store`] says what any store must do; `conformance` is the suite that proves it;
//! `sqlite` is the default implementation. Only this crate knows SQL.

pub mod access;
pub mod audit;
pub mod board;
pub mod claim;
pub mod conformance;
pub mod connectors;
pub mod error;
mod hash_chain;
pub mod inquiries;
mod journal_pages;
pub mod outbox;
mod owner;
pub mod pending;
pub mod records;
pub mod schedules;
pub mod sqlite;
pub mod store;
pub mod verify;
pub mod worker_claim;

pub use access::{
    AccessLinkRow, AccessTokenRow, IdempotencyOutcome, IdempotentRequest, LinkPurpose, PersonRole,
    PersonRow, StoredAnswer, TokenHash,
};
pub use audit::{AuditEntry, AuditPhase, AuditRow};
pub use board::{BoardChild, BoardCursor, BoardQuery, BoardRecord, BoardRecords, ReadMark};
pub use claim::{Claim, ClaimOutcome, ClaimedSession, Owner};
pub use connectors::{
    ChatBinding, ChatBindingWrite, ChatIdentity, ConnectorFields, ConnectorHealth, ConnectorRow,
    ConnectorWrite, ConnectorWriteOutcome, InboundKey, PairingBounds, PairingOffer, PairingRow,
    PairingUse,
};
pub use error::Error;
pub use hash_chain::blob_id;
pub use inquiries::{
    AnswerOutcome, Inquiry, InquiryAnswer, InquiryHistoryFilter, RuleRow, RuleVersion,
};
pub use journal_pages::JournalPages;
pub use outbox::{
    OutboxBody, OutboxCounts, OutboxFailure, OutboxFilter, OutboxHeads, OutboxKind, OutboxPart,
    OutboxPost, OutboxRow, OutboxState, OutboxWish, PartReceipt,
};
pub use pending::Pending;
pub use records::{
    AgentRow, AgentWrite, AgentWriteOutcome, AppendBatch, CommandRow, InboxChange,
    InboxChangeOutcome, InboxItem, InboxPost, JournalSearch, KeyReuse, NewSessionRow, OutputPiece,
    PostReceipt, RunFilter, RunRow, SearchHit, SessionFilter, SessionListCursor, SessionPatch,
    TaskFilter, TaskRow, TaskStatus, UsageFilter, UsageGroup, UsageRow, VisibleSessions,
    batch_limit,
};
pub use rooftree_protocol::{RuleKind, RuleScope};
pub use rooftree_stdx::failpoint;
pub use schedules::{
    CatchUp, FiredSchedule, FiringOutcome, FiringWork, GateCommand, IncidentReport, IncidentRow,
    IncidentState, OccurrenceFilter, OccurrenceReview, OccurrenceRow, OccurrenceState,
    OccurrenceUpdate, Overlap, Pacing, ScheduleBudget, ScheduleContent, ScheduleEvent,
    ScheduleFilter, ScheduleFiring, ScheduleKind, SchedulePlan, ScheduleRow, ScheduleWrite,
    ScheduleWriteOutcome, ScheduledSession, ScheduledWork, SkippedOccurrence,
};
pub use sqlite::SqliteStore;
pub use store::{
    AccessStore, BoardStore, ConnectorStore, InboxStore, OutboxStore, QuestionStore, RowStore,
    ScheduleStore, SessionStore, Store, TaskStore, WorkerStore,
};
pub use worker_claim::{WorkerClaim, WorkerClaimOutcome};

/// All traits of a store, for callers that hold a store type instead of `dyn Store`.
pub mod prelude {
    pub use crate::store::{
        AccessStore, BoardStore, ConnectorStore, InboxStore, OutboxStore, QuestionStore, RowStore,
        ScheduleStore, SessionStore, Store, TaskStore, WorkerStore,
    };
}
