//! Sessions, claims and journals. Part of [`Store`](crate::Store).

use std::sync::Arc;

use rooftree_protocol::{Account, Event, Session, SessionId, Timestamp, Usage};

use crate::{
    AppendBatch, Claim, ClaimOutcome, JournalSearch, NewSessionRow, Owner, Pending, RunFilter,
    RunRow, SearchHit, SessionFilter, SessionPatch, UsageFilter, UsageRow,
};

/// Sessions, claims and journals.
pub trait SessionStore: Send + Sync {
    /// Opens a session. If `connector_key` is taken, the session it belongs to is returned.
    /// A name that is taken (without case, among live sessions) is [`Error::NameTaken`](crate::Error).
    fn open(&self, new: NewSessionRow) -> Pending<Session>;

    /// Changes metadata. No claim needed: it is not history.
    fn update(&self, session: &SessionId, patch: SessionPatch) -> Pending<Session>;

    /// A session that refers to another's journal up to and including `at`; nothing is copied.
    /// Its own events continue the numbering at `at + 1`.
    fn fork(&self, from: &SessionId, at: u64, new: NewSessionRow) -> Pending<Session>;

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

    /// One session by id, deleted ones included.
    fn session(&self, id: &SessionId) -> Pending<Option<Session>>;

    /// Sessions, most recently updated first. Never reads journals.
    fn sessions(&self, filter: SessionFilter) -> Pending<Vec<Session>>;

    /// The session bound to a connector key.
    fn session_by_key(&self, key: &str) -> Pending<Option<Session>>;

    /// Sessions that have a run unfinished or mail waiting, oldest first, which a restart resumes.
    fn unfinished(&self) -> Pending<Vec<SessionId>>;

    /// The owner of a session now, whether alive or not; none if it has no claim.
    fn owner(&self, session: &SessionId) -> Pending<Option<Owner>>;

    /// Events with a number above `after`, in order, at most `limit`; inherited ones of a
    /// fork included, with the session they happened in.
    fn events(&self, session: &SessionId, after: u64, limit: usize) -> Pending<Vec<Event>>;

    /// Messages and replies that contain the words, best first.
    fn search(&self, search: JournalSearch) -> Pending<Vec<SearchHit>>;

    /// Runs by their begin and end, the latest first. Reads no other events.
    fn runs(&self, filter: RunFilter) -> Pending<Vec<RunRow>>;

    /// What the last runs of an agent used that worked for this account, with all they delegated, the latest first; of
    /// each of its sessions at most `limit`. Costs the same however many runs there are.
    fn past_runs(&self, account: &Account, agent: &str, limit: usize) -> Pending<Vec<Usage>>;

    /// What all sessions used, deleted ones included. Never reads journals. What a fork inherited counts in the
    /// session it happened in.
    fn usage(&self, filter: UsageFilter) -> Pending<Vec<UsageRow>>;
}
