//! Implements the store traits for [`SqliteStore`]: each method is one read or one queued write.

use std::sync::Arc;

use rooftree_protocol::{
    Account, BlobId, Event, Lane, MessageId, RunId, Session, SessionId, Timestamp, Usage,
};
use tokio::sync::watch;

use super::{
    SqliteStore,
    access::{self, idempotency, links, persons},
    agents,
    append::EncodedBatch,
    audit, blobs, board,
    claim_check::ClaimProof,
    claims,
    claims::ClaimRequest,
    commands, foreground, inbox, inbox_changes,
    inbox_counters::RecipientFilter,
    inquiries, journal, read_marks, rules, runs, schedules,
    schedules::{firing, incidents, occurrences},
    search, sessions, task_output, tasks, unfinished, usage, verify,
    writer::{Durability, Writer},
};
use crate::{
    AccessLinkRow, AccessStore, AccessTokenRow, AgentRow, AgentWrite, AgentWriteOutcome,
    AnswerOutcome, AppendBatch, AuditEntry, AuditRow, BoardQuery, BoardRecords, BoardStore, Claim,
    ClaimOutcome, CommandRow, FiringOutcome, IdempotencyOutcome, IdempotentRequest, InboxChange,
    InboxChangeOutcome, InboxItem, InboxPost, InboxStore, IncidentRow, Inquiry, InquiryAnswer,
    InquiryHistoryFilter, JournalSearch, NewSessionRow, OccurrenceFilter, OccurrenceReview,
    OccurrenceRow, OccurrenceUpdate, OutputPiece, Owner, Pending, PersonRow, PostReceipt,
    QuestionStore, ReadMark, RowStore, RuleRow, RuleVersion, RunFilter, RunRow, ScheduleFilter,
    ScheduleFiring, ScheduleRow, ScheduleStore, ScheduleWrite, ScheduleWriteOutcome, SearchHit,
    SessionFilter, SessionPatch, SessionStore, Store, StoredAnswer, TaskFilter, TaskRow, TaskStore,
    TokenHash, UsageFilter, UsageRow, hash_chain, verify::VerifyReport,
};

impl SessionStore for SqliteStore {
    fn open(&self, new: NewSessionRow) -> Pending<Session> {
        self.write(move |connection| sessions::open(connection, &new))
    }

    fn update(&self, session: &SessionId, patch: SessionPatch) -> Pending<Session> {
        let session = session.clone();
        self.write(move |connection| sessions::update(connection, &session, &patch))
    }

    fn fork(&self, from: &SessionId, at: u64, new: NewSessionRow) -> Pending<Session> {
        let from = from.clone();
        self.write(move |connection| sessions::fork(connection, &from, at, &new))
    }

    fn claim(
        &self,
        session: &SessionId,
        owner: &Owner,
        now: Timestamp,
        until: Timestamp,
    ) -> Pending<ClaimOutcome> {
        let (session, owner) = (session.clone(), owner.clone());
        self.write_for(Durability::Sight, move |connection| {
            claims::claim(
                connection,
                &session,
                &ClaimRequest {
                    owner: &owner,
                    now,
                    until,
                },
            )
        })
    }

    fn renew(&self, claim: &Claim, until: Timestamp) -> Pending<()> {
        let proof = ClaimProof::from(claim);
        self.write_for(Durability::Sight, move |connection| {
            claims::renew(connection, &proof, until)
        })
    }

    fn release(&self, claim: Claim) -> Pending<bool> {
        let proof = ClaimProof::from(&claim);
        self.write_for(Durability::Sight, move |connection| {
            claims::release(connection, &proof)
        })
    }

    fn append(&self, claim: &Claim, mut batch: AppendBatch) -> Pending<()> {
        let events = std::mem::take(&mut batch.events);
        self.append_encoded(claim, EncodedBatch::encode(&events, batch))
    }

    fn append_shared(
        &self,
        claim: &Claim,
        events: &[Arc<Event>],
        batch: AppendBatch,
    ) -> Pending<()> {
        self.append_encoded(claim, EncodedBatch::encode(events, batch))
    }

    fn session(&self, id: &SessionId) -> Pending<Option<Session>> {
        let id = id.clone();
        self.read(move |connection| sessions::by_id(connection, &id))
    }

    fn sessions(&self, filter: SessionFilter) -> Pending<Vec<Session>> {
        self.read(move |connection| foreground::list(connection, &filter))
    }

    fn session_by_key(&self, key: &str) -> Pending<Option<Session>> {
        let key = key.to_owned();
        self.read(move |connection| sessions::by_key(connection, &key))
    }

    fn unfinished(&self) -> Pending<Vec<SessionId>> {
        self.read(unfinished::unfinished)
    }

    fn owner(&self, session: &SessionId) -> Pending<Option<Owner>> {
        let session = session.clone();
        self.read(move |connection| claims::owner(connection, &session))
    }

    fn events(&self, session: &SessionId, after: u64, limit: usize) -> Pending<Vec<Event>> {
        let session = session.clone();
        self.read(move |connection| journal::events(connection, &session, after, limit))
    }

    fn search(&self, search: JournalSearch) -> Pending<Vec<SearchHit>> {
        let queue = self.queue().cloned();
        self.read(move |connection| {
            // The index is the writer's to write; this reader waits for it.
            if let Some(queue) = queue.filter(|_| search::is_behind(connection).unwrap_or(true)) {
                while !queue.write(search::index_more).wait()? {}
            }
            search::search(connection, &search)
        })
    }

    fn runs(&self, filter: RunFilter) -> Pending<Vec<RunRow>> {
        self.read(move |connection| runs::list(connection, &filter))
    }

    fn past_runs(&self, account: &Account, agent: &str, limit: usize) -> Pending<Vec<Usage>> {
        let (account, agent) = (account.clone(), agent.to_owned());
        self.read(move |connection| runs::past(connection, &account, &agent, limit))
    }

    fn usage(&self, filter: UsageFilter) -> Pending<Vec<UsageRow>> {
        self.read(move |connection| usage::sums(connection, &filter))
    }
}

impl InboxStore for SqliteStore {
    fn post(&self, post: InboxPost) -> Pending<PostReceipt> {
        self.post_to(RecipientFilter::Every, post)
    }

    fn post_to_living(&self, post: InboxPost) -> Pending<PostReceipt> {
        self.post_to(RecipientFilter::Living, post)
    }

    fn put_command(&self, session: &SessionId, row: CommandRow) -> Pending<()> {
        let session = session.clone();
        self.write(move |connection| commands::put(connection, &session, &row))
    }

    fn take_commands(&self, claim: &Claim) -> Pending<Vec<CommandRow>> {
        let (proof, queue) = (ClaimProof::from(claim), self.queue().cloned());
        self.read(move |connection| {
            // An owner asks after every commit. Taking nothing must not be a commit itself:
            // it would be news to the owner again, and so on for as long as it is awake.
            match queue.filter(|_| commands::are_waiting(connection, &proof).unwrap_or(true)) {
                Some(queue) => queue
                    .write(move |connection| commands::take(connection, &proof))
                    .wait(),
                None => Ok(Vec::new()),
            }
        })
    }

    fn change_waiting(
        &self,
        session: &SessionId,
        message: &MessageId,
        change: InboxChange,
    ) -> Pending<InboxChangeOutcome> {
        let (session, message) = (session.clone(), message.clone());
        self.write(move |connection| inbox_changes::change(connection, &session, &message, &change))
    }

    fn waiting(&self, session: &SessionId, lane: Lane, limit: usize) -> Pending<Vec<InboxItem>> {
        let session = session.clone();
        self.read(move |connection| inbox::waiting(connection, &session, lane, limit))
    }
}

impl QuestionStore for SqliteStore {
    fn answer(&self, id: &str, answered: InquiryAnswer) -> Pending<AnswerOutcome> {
        let id = id.to_owned();
        self.write(move |connection| {
            // An end of an id is for people; what is written is the whole one.
            let id = inquiries::one(connection, &id)?.map_or_else(|| id.clone(), |found| found.id);
            inquiries::answer(connection, &id, &answered)
        })
    }

    fn answered(&self, id: &str) -> Pending<Option<InquiryAnswer>> {
        let id = id.to_owned();
        self.read(move |connection| inquiries::answered(connection, &id))
    }

    fn inquiry(&self, id: &str) -> Pending<Option<Inquiry>> {
        let id = id.to_owned();
        self.read(move |connection| inquiries::one(connection, &id))
    }

    fn inquiries(&self, root: Option<&SessionId>) -> Pending<Vec<Inquiry>> {
        let root = root.cloned();
        self.read(move |connection| inquiries::open(connection, root.as_ref()))
    }

    fn inquiry_history(&self, filter: InquiryHistoryFilter) -> Pending<Vec<Inquiry>> {
        self.read(move |connection| inquiries::history(connection, &filter))
    }
}

impl TaskStore for SqliteStore {
    fn put_task(&self, task: TaskRow) -> Pending<()> {
        self.write(move |connection| tasks::put(connection, &task))
    }

    fn put_output(&self, task: &str, piece: OutputPiece) -> Pending<()> {
        let task = task.to_owned();
        self.write_for(Durability::Sight, move |connection| {
            task_output::put(connection, &task, &piece)
        })
    }

    fn put_blob(&self, bytes: Vec<u8>) -> Pending<BlobId> {
        // Hashed here: the writer has better things to do.
        let name = hash_chain::blob_id(&bytes);
        self.write(move |connection| blobs::put(connection, &name, &bytes))
    }

    fn put_upload(&self, bytes: Vec<u8>, by: Account, at: Timestamp) -> Pending<BlobId> {
        let name = hash_chain::blob_id(&bytes);
        self.write(move |connection| {
            blobs::put_upload(connection, &name, &by, at)?;
            blobs::put(connection, &name, &bytes)
        })
    }

    fn is_upload_of(&self, blob: &BlobId, by: &Account) -> Pending<bool> {
        let (blob, by) = (blob.clone(), by.clone());
        self.read(move |connection| blobs::is_upload_of(connection, &blob, &by))
    }

    fn names_blob(&self, session: &SessionId, blob: &BlobId) -> Pending<bool> {
        let (session, blob) = (session.clone(), blob.clone());
        self.read(move |connection| blobs::is_named_in(connection, &session, &blob))
    }

    fn task(&self, id: &str) -> Pending<Option<TaskRow>> {
        let id = id.to_owned();
        self.read(move |connection| tasks::one(connection, &id))
    }

    fn tasks(&self, filter: TaskFilter) -> Pending<Vec<TaskRow>> {
        self.read(move |connection| tasks::list(connection, &filter))
    }

    fn output(&self, task: &str, after: u64) -> Pending<Vec<OutputPiece>> {
        let task = task.to_owned();
        self.read(move |connection| task_output::after(connection, &task, after))
    }

    fn last_output(&self, task: &str) -> Pending<Option<OutputPiece>> {
        let task = task.to_owned();
        self.read(move |connection| task_output::last(connection, &task))
    }

    fn blob(&self, id: &BlobId) -> Pending<Option<Vec<u8>>> {
        let (id, queue) = (id.clone(), self.queue().cloned());
        self.read(
            move |connection| match (blobs::bytes(connection, &id)?, queue) {
                // What names it may be queued and not committed yet: the writer answers after everything before it.
                (None, Some(queue)) => queue
                    .write_for(Durability::Sight, move |connection| {
                        blobs::bytes(connection, &id)
                    })
                    .wait(),
                (found, _) => Ok(found),
            },
        )
    }
}

impl RowStore for SqliteStore {
    fn put_rule(&self, rule: RuleRow, audit: Option<AuditEntry>) -> Pending<i64> {
        self.write(move |connection| rules::put(connection, &rule, audit.as_ref()))
    }

    fn remove_rule(&self, number: i64, audit: Option<AuditEntry>) -> Pending<bool> {
        self.write(move |connection| rules::remove(connection, number, audit.as_ref()))
    }

    fn rules(&self) -> Pending<(RuleVersion, Vec<RuleRow>)> {
        self.read(rules::list)
    }

    fn write_agent(&self, write: AgentWrite) -> Pending<AgentWriteOutcome> {
        self.write(move |connection| agents::write(connection, &write))
    }

    fn agents(&self, tenant: &str) -> Pending<Vec<AgentRow>> {
        let tenant = tenant.to_owned();
        self.read(move |connection| agents::list(connection, &tenant))
    }

    fn add_audit(&self, entry: AuditEntry) -> Pending<i64> {
        self.write(move |connection| audit::add(connection, &entry))
    }

    fn audit(&self, tenant: &str, after: i64, limit: usize) -> Pending<Vec<AuditRow>> {
        let tenant = tenant.to_owned();
        self.read(move |connection| audit::list(connection, &tenant, after, limit))
    }
}

impl AccessStore for SqliteStore {
    fn put_access_token(&self, token: AccessTokenRow, audit: Option<AuditEntry>) -> Pending<()> {
        self.write(move |connection| access::put(connection, &token, audit.as_ref()))
    }

    fn access_token(&self, digest: TokenHash) -> Pending<Option<AccessTokenRow>> {
        self.read(move |connection| access::by_digest(connection, digest))
    }

    fn access_tokens(&self, tenant: &str) -> Pending<Vec<AccessTokenRow>> {
        let tenant = tenant.to_owned();
        self.read(move |connection| access::list(connection, &tenant))
    }

    fn revoke_access_token(
        &self,
        tenant: &str,
        id: &str,
        at: Timestamp,
        audit: Option<AuditEntry>,
    ) -> Pending<bool> {
        let (tenant, id) = (tenant.to_owned(), id.to_owned());
        self.write(move |connection| access::revoke(connection, &tenant, &id, at, audit.as_ref()))
    }

    fn touch_access_token(&self, id: &str, at: Timestamp, unless_after: Timestamp) -> Pending<()> {
        let id = id.to_owned();
        self.write_for(Durability::Sight, move |connection| {
            access::touch(connection, &id, at, unless_after)
        })
    }

    fn put_person(
        &self,
        person: PersonRow,
        link: Option<AccessLinkRow>,
        audit: Option<AuditEntry>,
    ) -> Pending<()> {
        self.write(move |connection| {
            persons::put(connection, &person, link.as_ref(), audit.as_ref())
        })
    }

    fn persons(&self, tenant: &str) -> Pending<Vec<PersonRow>> {
        let tenant = tenant.to_owned();
        self.read(move |connection| persons::list(connection, &tenant))
    }

    fn disable_person(
        &self,
        account: &Account,
        at: Timestamp,
        audit: Option<AuditEntry>,
    ) -> Pending<bool> {
        let account = account.clone();
        self.write(move |connection| persons::disable(connection, &account, at, audit.as_ref()))
    }

    fn put_access_link(&self, link: AccessLinkRow, audit: Option<AuditEntry>) -> Pending<()> {
        self.write(move |connection| links::put(connection, &link, audit.as_ref()))
    }

    fn access_link(&self, digest: TokenHash) -> Pending<Option<AccessLinkRow>> {
        self.read(move |connection| links::by_digest(connection, digest))
    }

    fn exchange_access_link(
        &self,
        digest: TokenHash,
        at: Timestamp,
        token: AccessTokenRow,
        audit: Option<AuditEntry>,
    ) -> Pending<bool> {
        self.write(move |connection| {
            links::exchange(connection, digest, at, &token, audit.as_ref())
        })
    }

    fn begin_idempotent(&self, request: IdempotentRequest) -> Pending<IdempotencyOutcome> {
        self.write(move |connection| idempotency::begin(connection, &request))
    }

    fn end_idempotent(
        &self,
        request: IdempotentRequest,
        answer: Option<StoredAnswer>,
    ) -> Pending<()> {
        self.write(move |connection| idempotency::end(connection, &request, answer.as_ref()))
    }
}

impl BoardStore for SqliteStore {
    fn board(&self, query: BoardQuery) -> Pending<BoardRecords> {
        self.read(move |connection| board::page(connection, &query))
    }

    fn mark_read(&self, mark: ReadMark) -> Pending<bool> {
        self.write_for(Durability::Sight, move |connection| {
            read_marks::put(connection, &mark)
        })
    }
}

impl ScheduleStore for SqliteStore {
    fn write_schedule(&self, write: ScheduleWrite) -> Pending<ScheduleWriteOutcome> {
        self.write(move |connection| schedules::write(connection, &write))
    }

    fn schedule(&self, id: &str) -> Pending<Option<ScheduleRow>> {
        let id = id.to_owned();
        self.read(move |connection| schedules::one(connection, &id))
    }

    fn schedules(&self, filter: ScheduleFilter) -> Pending<Vec<ScheduleRow>> {
        self.read(move |connection| schedules::list(connection, &filter))
    }

    fn due_schedules(&self, now: Timestamp, limit: usize) -> Pending<Vec<ScheduleRow>> {
        self.read(move |connection| schedules::due(connection, now, limit))
    }

    fn next_due(&self) -> Pending<Option<Timestamp>> {
        self.read(schedules::next_due)
    }

    fn put_off_schedule(&self, row: &ScheduleRow, until: Timestamp) -> Pending<bool> {
        let row = row.clone();
        self.write(move |connection| schedules::put_off(connection, &row, until))
    }

    fn fire(&self, firing: ScheduleFiring) -> Pending<FiringOutcome> {
        self.write(move |connection| firing::fire(connection, &firing))
    }

    fn settle_occurrence(&self, update: OccurrenceUpdate) -> Pending<bool> {
        self.write(move |connection| occurrences::settle(connection, &update))
    }

    fn set_next_check(&self, run: &RunId, at: Timestamp) -> Pending<bool> {
        let run = run.clone();
        self.write(move |connection| occurrences::set_next_check(connection, &run, at))
    }

    fn occurrences(&self, filter: OccurrenceFilter) -> Pending<Vec<OccurrenceRow>> {
        self.read(move |connection| occurrences::list(connection, &filter))
    }

    fn occurrences_of_run(&self, run: &RunId) -> Pending<Vec<OccurrenceRow>> {
        let run = run.clone();
        self.read(move |connection| occurrences::of_run(connection, &run))
    }

    fn unreviewed_occurrences(&self, limit: usize) -> Pending<Vec<OccurrenceRow>> {
        self.read(move |connection| occurrences::unreviewed(connection, limit))
    }

    fn open_occurrences(&self) -> Pending<Vec<OccurrenceRow>> {
        self.read(occurrences::open)
    }

    fn schedule_usage(&self, id: &str, since: Timestamp) -> Pending<(u64, f64)> {
        let id = id.to_owned();
        self.read(move |connection| occurrences::used(connection, &id, since))
    }

    fn review_occurrence(&self, review: OccurrenceReview) -> Pending<bool> {
        self.write(move |connection| occurrences::review(connection, &review))
    }

    fn incidents(&self, schedule: &str) -> Pending<Vec<IncidentRow>> {
        let schedule = schedule.to_owned();
        self.read(move |connection| incidents::list(connection, &schedule))
    }

    fn acknowledge_incident(
        &self,
        schedule: &str,
        signature: &str,
        audit: Option<AuditEntry>,
    ) -> Pending<bool> {
        let (schedule, signature) = (schedule.to_owned(), signature.to_owned());
        self.write(move |connection| {
            incidents::acknowledge(connection, &schedule, &signature, audit.as_ref())
        })
    }
}

impl Store for SqliteStore {
    fn verify(&self) -> Pending<VerifyReport> {
        let found = self.found.clone();
        self.read(move |connection| verify::verify(connection, found))
    }

    fn settled(&self) -> Pending<()> {
        self.writer
            .as_ref()
            .map_or_else(|| Pending::ready(Ok(())), Writer::settled)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        let watcher = self.changes.watch();
        if let Some(queue) = self.writer.as_ref().and_then(Writer::queue) {
            queue.watched();
        }
        watcher
    }
}
