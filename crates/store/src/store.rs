//! The [`Store`] trait: the contract of every store, tested by `conformance`.

use std::sync::Arc;

use rooftree_protocol::{BlobId, Command, Event, Lane, SessionId, Timestamp};
use tokio::sync::watch;

use crate::{
    AnswerOutcome, AppendBatch, Claim, ClaimOutcome, CommandRow, InboxItem, InboxPost, Inquiry,
    InquiryAnswer, NewSessionRow, OutputPiece, Owner, Pending, PostReceipt, RuleRow, RuleVersion,
    RunFilter, RunRow, SearchHit, SessionFilter, SessionPatch, TaskRow, verify::VerifyReport,
};
use rooftree_protocol::Session;

/// Durable storage of sessions, inboxes, journals, claims and tasks.
///
/// Contract. Writes are queued the moment the method is called, in call order, and each is
/// atomic: all of it or nothing. The returned [`Pending`] resolves when the write is on disk;
/// dropping it does not take the write back. So a caller that needs no promise goes on at
/// once, and awaiting any later write of the same store means all earlier ones are through.
/// Whatever is lost in a crash is a suffix of that order. Reads see all that was committed
/// when they run. A claim is about a living process, which a power failure ends too: `claim`,
/// `renew` and `release` resolve as soon as every other process sees them. A write whose claim was lost resolves to
/// [`Error::Fenced`](crate::Error) and changes nothing.
pub trait Store: Send + Sync {
    /// Opens a session. If `connector_key` is taken, the session it belongs to is returned.
    /// A name that is taken (without case, among live sessions) is [`Error::NameTaken`](crate::Error).
    fn open(&self, new: NewSessionRow) -> Pending<Session>;

    /// Changes metadata. No claim needed: it is not history.
    fn update(&self, session: &SessionId, patch: SessionPatch) -> Pending<Session>;

    /// A session that refers to another's journal up to and including `at`; nothing is copied.
    /// Its own events continue the numbering at `at + 1`.
    fn fork(&self, from: &SessionId, at: u64, new: NewSessionRow) -> Pending<Session>;

    /// Puts a message into an inbox. The same key in the same session returns the first item's place and stores
    /// nothing; a message without an explicit key uses its id as key and is not deduplicated. A full lane is
    /// [`Error::InboxFull`](crate::Error).
    fn post(&self, post: InboxPost) -> Pending<PostReceipt>;

    /// The same, but a deleted session counts as missing: for callers that have not just looked it up.
    fn post_to_living(&self, post: InboxPost) -> Pending<PostReceipt>;

    /// Takes the exclusive right to work on a session until `until`. Granted if no process holds it, if its holder is
    /// a dead process of this host, or if its lease is over at `now` and its holder is not a running process of this
    /// host: the clock may have jumped. Each grant has a higher fence and a new random token. It includes what the
    /// holder would query next: the commands left for it, and the first messages of each lane,
    /// [`batch_limit`](crate::batch_limit) at most.
    fn claim(
        &self,
        session: &SessionId,
        owner: &Owner,
        now: Timestamp,
        until: Timestamp,
    ) -> Pending<ClaimOutcome>;

    /// Keeps a claim alive.
    fn renew(&self, claim: &Claim, until: Timestamp) -> Pending<()>;

    /// Gives a claim back. Returns, atomically, whether a message waits that is not silent: a sender that posts after
    /// this finds the session without an owner, a message posted before is reported here.
    fn release(&self, claim: Claim) -> Pending<bool>;

    /// Appends to the journal, moves the inbox and posts to others, in one commit.
    /// Every append also keeps the claim alive until `batch.lease`.
    fn append(&self, claim: &Claim, batch: AppendBatch) -> Pending<()>;

    /// The same for events that others hold too; `batch` has none of its own.
    fn append_shared(
        &self,
        claim: &Claim,
        events: &[Arc<Event>],
        batch: AppendBatch,
    ) -> Pending<()>;

    /// Leaves a command for whichever process owns the session.
    fn put_command(&self, session: &SessionId, command: Command, at: Timestamp) -> Pending<()>;

    /// Takes the commands left for a session, oldest first; each is handed out once.
    fn take_commands(&self, claim: &Claim) -> Pending<Vec<CommandRow>>;

    /// Inserts or replaces a task by its id. One that has ended is not begun again.
    fn put_task(&self, task: TaskRow) -> Pending<()>;

    /// Keeps a piece of what a task's process wrote. Of one process the last half a MiB is kept, of one
    /// session the last 64 processes.
    fn put_output(&self, task: &str, piece: OutputPiece) -> Pending<()>;

    /// Keeps bytes under the name of their content.
    fn put_blob(&self, bytes: Vec<u8>) -> Pending<BlobId>;

    /// Answers an inquiry, named by its id or by a unique suffix of it. The first answer before its timeout is kept; a
    /// later caller learns what it was.
    fn answer(&self, id: &str, answered: InquiryAnswer) -> Pending<AnswerOutcome>;

    /// The answer to an inquiry, if there is one.
    fn answered(&self, id: &str) -> Pending<Option<InquiryAnswer>>;

    /// One inquiry, by its id or by a unique suffix of it.
    fn inquiry(&self, id: &str) -> Pending<Option<Inquiry>>;

    /// Inquiries that are not settled, in the order they were asked: all, or those below one session.
    fn inquiries(&self, root: Option<&SessionId>) -> Pending<Vec<Inquiry>>;

    /// Keeps a rule and gives it a number; one that is there already keeps its own.
    fn put_rule(&self, rule: RuleRow) -> Pending<i64>;

    /// Takes a rule away; says whether it was there.
    fn remove_rule(&self, number: i64) -> Pending<bool>;

    /// All rules people made, the oldest first.
    fn rules(&self) -> Pending<(RuleVersion, Vec<RuleRow>)>;

    /// One session by id, deleted ones included.
    fn session(&self, id: &SessionId) -> Pending<Option<Session>>;

    /// Sessions, most recently updated first. Never reads journals.
    fn sessions(&self, filter: SessionFilter) -> Pending<Vec<Session>>;

    /// The session bound to a connector key.
    fn session_by_key(&self, key: &str) -> Pending<Option<Session>>;

    /// Items of a lane not yet taken, in order.
    fn waiting(&self, session: &SessionId, lane: Lane, limit: usize) -> Pending<Vec<InboxItem>>;

    /// Sessions that have a run unfinished or mail waiting, oldest first, which a restart resumes.
    fn unfinished(&self) -> Pending<Vec<SessionId>>;

    /// The owner of a session now, whether alive or not; none if it has no claim.
    fn owner(&self, session: &SessionId) -> Pending<Option<Owner>>;

    /// Events with a number above `after`, in order, at most `limit`; inherited ones of a
    /// fork included, with the session they happened in.
    fn events(&self, session: &SessionId, after: u64, limit: usize) -> Pending<Vec<Event>>;

    /// Messages and replies that contain the words, best first.
    fn search(&self, words: &str, limit: usize) -> Pending<Vec<SearchHit>>;

    /// Runs by their begin and end, the latest first. Reads no other events.
    fn runs(&self, filter: RunFilter) -> Pending<Vec<RunRow>>;

    /// One task by its id, or by a unique suffix of it.
    fn task(&self, id: &str) -> Pending<Option<TaskRow>>;

    /// Tasks of a session, or all; newest first.
    fn tasks(&self, session: Option<&SessionId>) -> Pending<Vec<TaskRow>>;

    /// What a task's process wrote and is still kept: the pieces that end after so many bytes, in order.
    fn output(&self, task: &str, after: u64) -> Pending<Vec<OutputPiece>>;

    /// The last piece of what a task's process wrote.
    fn last_output(&self, task: &str) -> Pending<Option<OutputPiece>>;

    /// Stored bytes, those of writes that are queued included: an id that was told can be read at once.
    fn blob(&self, id: &BlobId) -> Pending<Option<Vec<u8>>>;

    /// Checks every invariant on what is stored. Read-only.
    fn verify(&self) -> Pending<VerifyReport>;

    /// Resolves once every commit visible now is fsynced. Await it before publishing what you read.
    fn settled(&self) -> Pending<()>;

    /// Fires after another process committed something. A hint: may fire for nothing and may
    /// fold several commits into one. What this process commits it knows without being told.
    fn changes(&self) -> watch::Receiver<u64>;
}
