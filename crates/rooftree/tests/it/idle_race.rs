//! A message that another process posts in the moment a session goes to rest: it is not left lying.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use futures::StreamExt;
use rooftree::{
    EventBody, Runtime, SqliteStore, Store,
    protocol::{
        Account, BlobId, Event, Lane, Limits, Message, MessageId, Origin, Part, RunId, Session,
        SessionId, Timestamp, Usage,
    },
    testing::say,
};
use rooftree_store::{
    AccessLinkRow, AccessStore, AccessTokenRow, AgentRow, AgentWrite, AgentWriteOutcome,
    AnswerOutcome, AppendBatch, AuditEntry, AuditRow, BoardQuery, BoardRecords, BoardStore,
    ChatBinding, ChatBindingWrite, ChatIdentity, Claim, ClaimOutcome, CommandRow, ConnectorHealth,
    ConnectorRow, ConnectorStore, ConnectorWrite, ConnectorWriteOutcome, FiringOutcome,
    IdempotencyOutcome, IdempotentRequest, InboundKey, InboxChange, InboxChangeOutcome, InboxItem,
    InboxPost, InboxStore, IncidentRow, Inquiry, InquiryAnswer, InquiryHistoryFilter,
    JournalSearch, NewSessionRow, OccurrenceFilter, OccurrenceReview, OccurrenceRow,
    OccurrenceUpdate, OutboxCounts, OutboxFailure, OutboxFilter, OutboxHeads, OutboxPart,
    OutboxPost, OutboxRow, OutboxState, OutboxStore, OutboxWish, OutputPiece, Owner, PairingBounds,
    PairingOffer, PairingRow, PairingUse, PartReceipt, Pending, PersonRow, PostReceipt,
    QuestionStore, ReadMark, RowStore, RuleRow, RuleVersion, RunFilter, RunRow, ScheduleFilter,
    ScheduleFiring, ScheduleRow, ScheduleStore, ScheduleWrite, ScheduleWriteOutcome, SearchHit,
    SessionFilter, SessionPatch, SessionStore, StoredAnswer, TaskFilter, TaskRow, TaskStore,
    TokenHash, UsageFilter, UsageRow, WorkerClaim, WorkerClaimOutcome, WorkerStore,
    verify::VerifyReport,
};
use tokio::sync::watch;

use crate::fixture::script;

/// A store that, once, lets another process post after the last look and before the claim is given back.
struct Interrupted {
    inner: SqliteStore,
    other: Arc<SqliteStore>,
    is_over: AtomicBool,
}

impl Interrupted {
    fn interrupt(&self, session: &SessionId) {
        if self.is_over.swap(true, Ordering::SeqCst) {
            return;
        }
        let (id, parts) = (
            MessageId::from_entropy(7),
            vec![Part::text("One more thing")],
        );
        let message = Message::new(id, parts, Origin::User, Timestamp(1));
        let (lane, capacity) = (Lane::Boundary, Limits::default().inbox);
        let post = InboxPost {
            session: session.clone(),
            lane,
            key: "late".into(),
            message,
            capacity,
        };
        let other = self.other.clone();
        let posting = std::thread::spawn(move || {
            let waiting = tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap();
            waiting.block_on(other.post(post)).unwrap();
        });
        posting.join().unwrap();
    }
}

macro_rules! passed_on {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)+) => {
        $(fn $name(&self, $($argument: $kind),*) -> $answer {
            self.inner.$name($($argument),*)
        })+
    };
}

impl SessionStore for Interrupted {
    fn release(&self, claim: Claim) -> Pending<bool> {
        self.interrupt(&claim.session);
        self.inner.release(claim)
    }

    passed_on! {
        fn open(new: NewSessionRow) -> Pending<Session>;
        fn update(session: &SessionId, patch: SessionPatch) -> Pending<Session>;
        fn fork(from: &SessionId, at: u64, new: NewSessionRow) -> Pending<Session>;
        fn session(id: &SessionId) -> Pending<Option<Session>>;
        fn sessions(filter: SessionFilter) -> Pending<Vec<Session>>;
        fn session_by_key(key: &str) -> Pending<Option<Session>>;
        fn unfinished() -> Pending<Vec<SessionId>>;
        fn past_runs(account: &Account, agent: &str, limit: usize) -> Pending<Vec<Usage>>;
        fn owner(session: &SessionId) -> Pending<Option<Owner>>;
        fn claim(session: &SessionId, owner: &Owner, now: Timestamp, until: Timestamp) -> Pending<ClaimOutcome>;
        fn renew(claim: &Claim, until: Timestamp) -> Pending<()>;
        fn append(claim: &Claim, batch: AppendBatch) -> Pending<()>;
        fn append_shared(claim: &Claim, events: &[Arc<Event>], batch: AppendBatch) -> Pending<()>;
        fn events(session: &SessionId, after: u64, limit: usize) -> Pending<Vec<Event>>;
        fn search(search: JournalSearch) -> Pending<Vec<SearchHit>>;
        fn runs(filter: RunFilter) -> Pending<Vec<RunRow>>;
        fn usage(filter: UsageFilter) -> Pending<Vec<UsageRow>>;
    }
}

impl InboxStore for Interrupted {
    passed_on! {
        fn post(post: InboxPost) -> Pending<PostReceipt>;
        fn post_to_living(post: InboxPost) -> Pending<PostReceipt>;
        fn waiting(session: &SessionId, lane: Lane, limit: usize) -> Pending<Vec<InboxItem>>;
        fn change_waiting(session: &SessionId, message: &MessageId, change: InboxChange) -> Pending<InboxChangeOutcome>;
        fn put_command(session: &SessionId, row: CommandRow) -> Pending<()>;
        fn take_commands(claim: &Claim) -> Pending<Vec<CommandRow>>;
    }
}

impl QuestionStore for Interrupted {
    passed_on! {
        fn answer(id: &str, answered: InquiryAnswer) -> Pending<AnswerOutcome>;
        fn answered(id: &str) -> Pending<Option<InquiryAnswer>>;
        fn inquiry(id: &str) -> Pending<Option<Inquiry>>;
        fn inquiries(root: Option<&SessionId>) -> Pending<Vec<Inquiry>>;
        fn inquiry_history(filter: InquiryHistoryFilter) -> Pending<Vec<Inquiry>>;
    }
}

impl TaskStore for Interrupted {
    passed_on! {
        fn put_task(task: TaskRow) -> Pending<()>;
        fn put_output(task: &str, piece: OutputPiece) -> Pending<()>;
        fn task(id: &str) -> Pending<Option<TaskRow>>;
        fn tasks(filter: TaskFilter) -> Pending<Vec<TaskRow>>;
        fn output(task: &str, after: u64) -> Pending<Vec<OutputPiece>>;
        fn last_output(task: &str) -> Pending<Option<OutputPiece>>;
        fn put_blob(bytes: Vec<u8>) -> Pending<BlobId>;
        fn put_upload(bytes: Vec<u8>, by: Account, at: Timestamp) -> Pending<BlobId>;
        fn is_upload_of(blob: &BlobId, by: &Account) -> Pending<bool>;
        fn names_blob(session: &SessionId, blob: &BlobId) -> Pending<bool>;
        fn blob(id: &BlobId) -> Pending<Option<Vec<u8>>>;
    }
}

impl AccessStore for Interrupted {
    passed_on! {
        fn put_access_token(token: AccessTokenRow, audit: Option<AuditEntry>) -> Pending<()>;
        fn access_token(digest: TokenHash) -> Pending<Option<AccessTokenRow>>;
        fn access_tokens(tenant: &str) -> Pending<Vec<AccessTokenRow>>;
        fn revoke_access_token(tenant: &str, id: &str, at: Timestamp, audit: Option<AuditEntry>) -> Pending<bool>;
        fn touch_access_token(id: &str, at: Timestamp, unless_after: Timestamp) -> Pending<()>;
        fn put_person(person: PersonRow, link: Option<AccessLinkRow>, audit: Option<AuditEntry>) -> Pending<()>;
        fn persons(tenant: &str) -> Pending<Vec<PersonRow>>;
        fn disable_person(account: &Account, at: Timestamp, audit: Option<AuditEntry>) -> Pending<bool>;
        fn put_access_link(link: AccessLinkRow, audit: Option<AuditEntry>) -> Pending<()>;
        fn access_link(digest: TokenHash) -> Pending<Option<AccessLinkRow>>;
        fn exchange_access_link(digest: TokenHash, at: Timestamp, token: AccessTokenRow, audit: Option<AuditEntry>) -> Pending<bool>;
        fn begin_idempotent(request: IdempotentRequest) -> Pending<IdempotencyOutcome>;
        fn end_idempotent(request: IdempotentRequest, answer: Option<StoredAnswer>) -> Pending<()>;
    }
}

impl RowStore for Interrupted {
    passed_on! {
        fn put_rule(rule: RuleRow, audit: Option<AuditEntry>) -> Pending<i64>;
        fn remove_rule(number: i64, audit: Option<AuditEntry>) -> Pending<bool>;
        fn write_agent(write: AgentWrite) -> Pending<AgentWriteOutcome>;
        fn agents(tenant: &str) -> Pending<Vec<AgentRow>>;
        fn add_audit(entry: AuditEntry) -> Pending<i64>;
        fn audit(tenant: &str, after: i64, limit: usize) -> Pending<Vec<AuditRow>>;
        fn rules() -> Pending<(RuleVersion, Vec<RuleRow>)>;
    }
}

impl BoardStore for Interrupted {
    passed_on! {
        fn board(query: BoardQuery) -> Pending<BoardRecords>;
        fn mark_read(mark: ReadMark) -> Pending<bool>;
    }
}

impl OutboxStore for Interrupted {
    passed_on! {
        fn post_outbox(post: OutboxPost, audit: Option<AuditEntry>) -> Pending<bool>;
        fn outbox_heads(connector: &str, now: Timestamp, limit: usize) -> Pending<OutboxHeads>;
        fn plan_outbox(claim: &WorkerClaim, id: &str, parts: Vec<String>) -> Pending<Vec<OutboxPart>>;
        fn begin_part(claim: &WorkerClaim, id: &str, part: u32, body: String) -> Pending<bool>;
        fn part_sent(claim: &WorkerClaim, receipt: PartReceipt) -> Pending<()>;
        fn part_seen(receipt: PartReceipt) -> Pending<bool>;
        fn part_failed(claim: &WorkerClaim, failure: OutboxFailure) -> Pending<()>;
        fn supersede_outbox(claim: &WorkerClaim, id: &str, at: Timestamp) -> Pending<()>;
        fn change_outbox(id: &str, wish: OutboxWish, at: Timestamp, audit: Option<AuditEntry>) -> Pending<Option<OutboxRow>>;
        fn outbox_row(id: &str) -> Pending<Option<OutboxRow>>;
        fn outbox_by_key(key: &str) -> Pending<Option<OutboxRow>>;
        fn outbox(filter: OutboxFilter) -> Pending<Vec<OutboxRow>>;
        fn outbox_counts(tenant: &str) -> Pending<Vec<OutboxCounts>>;
        fn outbox_of_run(run: &RunId) -> Pending<Option<OutboxState>>;
        fn prune_outbox(before: Timestamp) -> Pending<u64>;
    }
}

impl WorkerStore for Interrupted {
    passed_on! {
        fn claim_worker(name: &str, owner: &Owner, now: Timestamp, until: Timestamp) -> Pending<WorkerClaimOutcome>;
        fn renew_worker(claim: &WorkerClaim, until: Timestamp) -> Pending<()>;
        fn release_worker(claim: WorkerClaim) -> Pending<()>;
    }
}

impl ScheduleStore for Interrupted {
    passed_on! {
        fn write_schedule(write: ScheduleWrite) -> Pending<ScheduleWriteOutcome>;
        fn schedule(id: &str) -> Pending<Option<ScheduleRow>>;
        fn schedules(filter: ScheduleFilter) -> Pending<Vec<ScheduleRow>>;
        fn due_schedules(now: Timestamp, limit: usize) -> Pending<Vec<ScheduleRow>>;
        fn next_due() -> Pending<Option<Timestamp>>;
        fn put_off_schedule(row: &ScheduleRow, until: Timestamp) -> Pending<bool>;
        fn fire(firing: ScheduleFiring) -> Pending<FiringOutcome>;
        fn settle_occurrence(update: OccurrenceUpdate) -> Pending<bool>;
        fn set_next_check(run: &RunId, at: Timestamp) -> Pending<bool>;
        fn occurrences(filter: OccurrenceFilter) -> Pending<Vec<OccurrenceRow>>;
        fn occurrences_of_run(run: &RunId) -> Pending<Vec<OccurrenceRow>>;
        fn unreviewed_occurrences(limit: usize) -> Pending<Vec<OccurrenceRow>>;
        fn open_occurrences() -> Pending<Vec<OccurrenceRow>>;
        fn schedule_usage(id: &str, since: Timestamp) -> Pending<(u64, f64)>;
        fn review_occurrence(review: OccurrenceReview) -> Pending<bool>;
        fn incidents(schedule: &str) -> Pending<Vec<IncidentRow>>;
        fn acknowledge_incident(schedule: &str, signature: &str, audit: Option<AuditEntry>) -> Pending<bool>;
    }
}

impl ConnectorStore for Interrupted {
    passed_on! {
        fn write_connector(write: ConnectorWrite) -> Pending<ConnectorWriteOutcome>;
        fn connectors(tenant: &str) -> Pending<Vec<ConnectorRow>>;
        fn keep_connector_cursor(tenant: &str, name: &str, cursor: String) -> Pending<()>;
        fn note_connector_health(tenant: &str, name: &str, health: ConnectorHealth) -> Pending<()>;
        fn put_chat_identity(identity: ChatIdentity, audit: Option<AuditEntry>) -> Pending<()>;
        fn remove_chat_identity(tenant: &str, connector: &str, sender: &str, audit: Option<AuditEntry>) -> Pending<bool>;
        fn chat_identities(tenant: &str, connector: &str) -> Pending<Vec<ChatIdentity>>;
        fn chat_identity(tenant: &str, connector: &str, sender: &str) -> Pending<Option<ChatIdentity>>;
        fn offer_pairing(offer: PairingRow, bounds: PairingBounds, audit: Option<AuditEntry>) -> Pending<PairingOffer>;
        fn pairings(tenant: &str, connector: &str, now: Timestamp) -> Pending<Vec<PairingRow>>;
        fn use_pairing(used: PairingUse, bounds: PairingBounds) -> Pending<bool>;
        fn bind_chat(write: ChatBindingWrite) -> Pending<ChatBinding>;
        fn chat_binding(tenant: &str, key: &str) -> Pending<Option<ChatBinding>>;
        fn post_inbound(post: InboxPost, keys: Vec<InboundKey>) -> Pending<PostReceipt>;
        fn note_inbound(keys: Vec<InboundKey>, now: Timestamp) -> Pending<()>;
        fn is_inbound_known(tenant: &str, connector: &str, key: &str) -> Pending<bool>;
    }
}

impl Store for Interrupted {
    passed_on! {
        fn verify() -> Pending<VerifyReport>;
        fn settled() -> Pending<()>;
        fn changes() -> watch::Receiver<u64>;
    }
}

#[tokio::test]
async fn a_message_posted_while_a_session_falls_asleep_wakes_it() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("agents.db");
    let inner = SqliteStore::open(&file).unwrap();
    let other = Arc::new(SqliteStore::open(&file).unwrap());
    let store = Arc::new(Interrupted {
        inner,
        other,
        is_over: false.into(),
    });
    let model = script([say("One."), say("Two: {{ user.text }}")]);
    let runtime = Runtime::builder()
        .provider("scripted", model)
        .store(store)
        .build()
        .await
        .unwrap();
    let session = runtime.session("lead").create().await.unwrap();
    let events = runtime.events().session(session.id()).subscribe();
    session.send("Go").await.unwrap();
    let ends = events.filter_map(|event| async {
        match event.unwrap().body {
            EventBody::RunCompleted(end) => Some(end.text),
            _ => None,
        }
    });
    let ends = ends.take(2).collect::<Vec<_>>();
    let ends = tokio::time::timeout(std::time::Duration::from_secs(60), ends).await;
    assert_eq!(
        ends.expect("nobody read it"),
        ["One.", "Two: One more thing"]
    );
    runtime.stop().await;
}
