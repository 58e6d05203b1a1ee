//! A store wrapper that redacts secrets in everything that is written through it.
//!
//! Reads pass as they are. Events that others hold too (`append_shared`) are redacted by their creator, because what
//! an agent remembers must be what is stored; see `RuntimeContext::event`.

mod connectors;
mod outbox;

use std::sync::Arc;

use rooftree_protocol::{
    Account, BlobId, Command, Event, Lane, MessageId, Principal, RunId, Session, SessionId,
    Timestamp, Usage, text_visitor,
};
use rooftree_store::{
    AccessLinkRow, AccessStore, AccessTokenRow, AgentRow, AgentWrite, AgentWriteOutcome,
    AnswerOutcome, AppendBatch, AuditEntry, AuditRow, BoardQuery, BoardRecords, BoardStore, Claim,
    ClaimOutcome, CommandRow, FiringOutcome, FiringWork, IdempotencyOutcome, IdempotentRequest,
    InboxChange, InboxChangeOutcome, InboxItem, InboxPost, InboxStore, IncidentRow, Inquiry,
    InquiryAnswer, InquiryHistoryFilter, JournalSearch, NewSessionRow, OccurrenceFilter,
    OccurrenceReview, OccurrenceRow, OccurrenceUpdate, OutboxBody, OutputPiece, Owner, Pending,
    PersonRow, PostReceipt, QuestionStore, ReadMark, RowStore, RuleRow, RuleVersion, RunFilter,
    RunRow, ScheduleFilter, ScheduleFiring, SchedulePlan, ScheduleRow, ScheduleStore,
    ScheduleWrite, ScheduleWriteOutcome, ScheduledWork, SearchHit, SessionFilter, SessionPatch,
    SessionStore, Store, StoredAnswer, TaskFilter, TaskRow, TaskStore, TokenHash, UsageFilter,
    UsageRow, verify::VerifyReport,
};
use tokio::sync::watch;

use crate::SecretRedactor;

/// Any store, and what must not get into it.
pub struct RedactingStore {
    store: Arc<dyn Store>,
    secrets: Arc<SecretRedactor>,
}

impl RedactingStore {
    /// Stands before a store.
    pub fn new(store: Arc<dyn Store>, secrets: Arc<SecretRedactor>) -> Self {
        Self { store, secrets }
    }

    fn text(&self, text: &mut String) {
        text_visitor::text(text, &|text| self.secrets.clean(text));
    }

    fn post_cleaned(&self, mut post: InboxPost) -> InboxPost {
        self.secrets.clean_message(&mut post.message);
        self.sender_cleaned(&mut post.message.who);
        post
    }

    fn task_cleaned(&self, mut task: TaskRow) -> TaskRow {
        self.text(&mut task.title);
        self.text(&mut task.detail);
        text_visitor::map(&mut task.data, &|text| self.secrets.clean(text));
        task
    }

    fn sender_cleaned(&self, who: &mut Option<Box<Principal>>) {
        if let Some(who) = who {
            self.secrets.clean_principal(who);
        }
    }

    fn rule_cleaned(&self, mut rule: RuleRow) -> RuleRow {
        self.text(&mut rule.rule);
        self.text(&mut rule.by);
        rule
    }

    fn answer_cleaned(&self, mut answered: InquiryAnswer) -> InquiryAnswer {
        text_visitor::response(&mut answered.response, &|text| self.secrets.clean(text));
        self.text(&mut answered.by);
        self.sender_cleaned(&mut answered.who);
        answered
    }

    fn ask_cleaned(&self, mut inquiry: Inquiry) -> Inquiry {
        self.secrets.clean_event(&mut inquiry.asked);
        Inquiry {
            answer: inquiry
                .answer
                .take()
                .map(|answer| self.answer_cleaned(answer)),
            ..inquiry
        }
    }

    fn session_cleaned(&self, mut new: NewSessionRow) -> NewSessionRow {
        text_visitor::optional(&mut new.name, &|text| self.secrets.clean(text));
        new.audit = new.audit.map(|entry| Box::new(self.audit_cleaned(*entry)));
        new
    }

    fn audit_cleaned(&self, mut entry: AuditEntry) -> AuditEntry {
        self.secrets.clean_principal(&mut entry.who);
        self.text(&mut entry.subject);
        text_visitor::map(&mut entry.detail, &|text| self.secrets.clean(text));
        entry
    }

    fn some_audit_cleaned(&self, entry: Option<AuditEntry>) -> Option<AuditEntry> {
        entry.map(|entry| self.audit_cleaned(entry))
    }

    fn plan_cleaned(&self, plan: &mut SchedulePlan) {
        match &mut plan.work {
            ScheduledWork::Prompt { text } => self.text(text),
            ScheduledWork::Command { command } => self.text(command),
        }
        if let Some(gate) = &mut plan.gate {
            self.text(&mut gate.command);
        }
    }

    fn request_cleaned(&self, mut request: IdempotentRequest) -> IdempotentRequest {
        self.text(&mut request.key);
        request
    }

    /// Blobs stay as they are: `events` name them by what is in them, so they were cleaned before.
    fn batch_cleaned(&self, mut batch: AppendBatch) -> AppendBatch {
        batch.events.iter_mut().for_each(|event| {
            self.secrets.clean_event(&mut event.body);
            self.sender_cleaned(&mut event.who);
        });
        text_visitor::optional(&mut batch.snippet, &|text| self.secrets.clean(text));
        AppendBatch {
            posts: batch
                .posts
                .into_iter()
                .map(|post| self.post_cleaned(post))
                .collect(),
            tasks: batch
                .tasks
                .into_iter()
                .map(|task| self.task_cleaned(task))
                .collect(),
            asks: batch
                .asks
                .into_iter()
                .map(|ask| self.ask_cleaned(ask))
                .collect(),
            rules: batch
                .rules
                .into_iter()
                .map(|rule| self.rule_cleaned(rule))
                .collect(),
            outbox: batch
                .outbox
                .into_iter()
                .map(|post| self.message_cleaned(post))
                .collect(),
            ..batch
        }
    }
}

impl SessionStore for RedactingStore {
    fn open(&self, new: NewSessionRow) -> Pending<Session> {
        self.store.open(self.session_cleaned(new))
    }

    fn update(&self, session: &SessionId, mut patch: SessionPatch) -> Pending<Session> {
        if let Some(name) = &mut patch.name {
            text_visitor::optional(name, &|text| self.secrets.clean(text));
        }
        text_visitor::map(&mut patch.attributes, &|text| self.secrets.clean(text));
        patch.audit = patch
            .audit
            .map(|entry| Box::new(self.audit_cleaned(*entry)));
        self.store.update(session, patch)
    }

    fn fork(&self, from: &SessionId, at: u64, new: NewSessionRow) -> Pending<Session> {
        self.store.fork(from, at, self.session_cleaned(new))
    }

    fn append(&self, claim: &Claim, batch: AppendBatch) -> Pending<()> {
        self.store.append(claim, self.batch_cleaned(batch))
    }

    fn append_shared(
        &self,
        claim: &Claim,
        events: &[Arc<Event>],
        batch: AppendBatch,
    ) -> Pending<()> {
        self.store
            .append_shared(claim, events, self.batch_cleaned(batch))
    }

    fn claim(
        &self,
        session: &SessionId,
        owner: &Owner,
        now: Timestamp,
        until: Timestamp,
    ) -> Pending<ClaimOutcome> {
        self.store.claim(session, owner, now, until)
    }

    fn renew(&self, claim: &Claim, until: Timestamp) -> Pending<()> {
        self.store.renew(claim, until)
    }

    fn release(&self, claim: Claim) -> Pending<bool> {
        self.store.release(claim)
    }

    fn session(&self, id: &SessionId) -> Pending<Option<Session>> {
        self.store.session(id)
    }

    fn sessions(&self, filter: SessionFilter) -> Pending<Vec<Session>> {
        self.store.sessions(filter)
    }

    fn session_by_key(&self, key: &str) -> Pending<Option<Session>> {
        self.store.session_by_key(key)
    }

    fn unfinished(&self) -> Pending<Vec<SessionId>> {
        self.store.unfinished()
    }

    fn owner(&self, session: &SessionId) -> Pending<Option<Owner>> {
        self.store.owner(session)
    }

    fn events(&self, session: &SessionId, after: u64, limit: usize) -> Pending<Vec<Event>> {
        self.store.events(session, after, limit)
    }

    fn search(&self, search: JournalSearch) -> Pending<Vec<SearchHit>> {
        self.store.search(search)
    }

    fn runs(&self, filter: RunFilter) -> Pending<Vec<RunRow>> {
        self.store.runs(filter)
    }

    fn past_runs(&self, account: &Account, agent: &str, limit: usize) -> Pending<Vec<Usage>> {
        self.store.past_runs(account, agent, limit)
    }

    fn usage(&self, filter: UsageFilter) -> Pending<Vec<UsageRow>> {
        self.store.usage(filter)
    }
}

impl InboxStore for RedactingStore {
    fn post(&self, post: InboxPost) -> Pending<PostReceipt> {
        self.store.post(self.post_cleaned(post))
    }

    fn post_to_living(&self, post: InboxPost) -> Pending<PostReceipt> {
        self.store.post_to_living(self.post_cleaned(post))
    }

    fn put_command(&self, session: &SessionId, mut row: CommandRow) -> Pending<()> {
        match &mut row.command {
            Command::Post { parts, context, .. } => {
                text_visitor::parts(parts, &|text| self.secrets.clean(text));
                text_visitor::optional(context, &|text| self.secrets.clean(text));
            }
            Command::Prompt { parts, .. } => {
                text_visitor::parts(parts, &|text| self.secrets.clean(text))
            }
            Command::Compact { focus, .. } => {
                text_visitor::optional(focus, &|text| self.secrets.clean(text));
            }
            Command::Permit { answer, .. } => {
                text_visitor::optional(&mut answer.because, &|text| self.secrets.clean(text));
            }
            _ => {}
        }
        self.sender_cleaned(&mut row.who);
        row.audit = row.audit.map(|entry| Box::new(self.audit_cleaned(*entry)));
        self.store.put_command(session, row)
    }

    fn take_commands(&self, claim: &Claim) -> Pending<Vec<CommandRow>> {
        self.store.take_commands(claim)
    }

    fn change_waiting(
        &self,
        session: &SessionId,
        message: &MessageId,
        change: InboxChange,
    ) -> Pending<InboxChangeOutcome> {
        let clean = |mut who: Box<Principal>| {
            self.secrets.clean_principal(&mut who);
            who
        };
        let change = match change {
            InboxChange::Withdraw { who } => InboxChange::Withdraw { who: clean(who) },
            InboxChange::Replace {
                mut parts,
                who,
                audit,
            } => {
                text_visitor::parts(&mut parts, &|text| self.secrets.clean(text));
                InboxChange::Replace {
                    parts,
                    who: clean(who),
                    audit: audit.map(|entry| Box::new(self.audit_cleaned(*entry))),
                }
            }
        };
        self.store.change_waiting(session, message, change)
    }

    fn waiting(&self, session: &SessionId, lane: Lane, limit: usize) -> Pending<Vec<InboxItem>> {
        self.store.waiting(session, lane, limit)
    }
}

impl QuestionStore for RedactingStore {
    fn answer(&self, id: &str, answered: InquiryAnswer) -> Pending<AnswerOutcome> {
        self.store.answer(id, self.answer_cleaned(answered))
    }

    fn answered(&self, id: &str) -> Pending<Option<InquiryAnswer>> {
        self.store.answered(id)
    }

    fn inquiry(&self, id: &str) -> Pending<Option<Inquiry>> {
        self.store.inquiry(id)
    }

    fn inquiries(&self, root: Option<&SessionId>) -> Pending<Vec<Inquiry>> {
        self.store.inquiries(root)
    }

    fn inquiry_history(&self, filter: InquiryHistoryFilter) -> Pending<Vec<Inquiry>> {
        self.store.inquiry_history(filter)
    }
}

impl TaskStore for RedactingStore {
    fn put_task(&self, task: TaskRow) -> Pending<()> {
        self.store.put_task(self.task_cleaned(task))
    }

    fn put_output(&self, task: &str, mut piece: OutputPiece) -> Pending<()> {
        self.text(&mut piece.text);
        self.store.put_output(task, piece)
    }

    fn put_blob(&self, bytes: Vec<u8>) -> Pending<BlobId> {
        self.store
            .put_blob(self.secrets.clean_bytes(&bytes).unwrap_or(bytes))
    }

    fn put_upload(&self, bytes: Vec<u8>, by: Account, at: Timestamp) -> Pending<BlobId> {
        let bytes = self.secrets.clean_bytes(&bytes).unwrap_or(bytes);
        self.store.put_upload(bytes, by, at)
    }

    fn is_upload_of(&self, blob: &BlobId, by: &Account) -> Pending<bool> {
        self.store.is_upload_of(blob, by)
    }

    fn names_blob(&self, session: &SessionId, blob: &BlobId) -> Pending<bool> {
        self.store.names_blob(session, blob)
    }

    fn task(&self, id: &str) -> Pending<Option<TaskRow>> {
        self.store.task(id)
    }

    fn tasks(&self, filter: TaskFilter) -> Pending<Vec<TaskRow>> {
        self.store.tasks(filter)
    }

    fn output(&self, task: &str, after: u64) -> Pending<Vec<OutputPiece>> {
        self.store.output(task, after)
    }

    fn last_output(&self, task: &str) -> Pending<Option<OutputPiece>> {
        self.store.last_output(task)
    }

    fn blob(&self, id: &BlobId) -> Pending<Option<Vec<u8>>> {
        self.store.blob(id)
    }
}

impl RowStore for RedactingStore {
    fn put_rule(&self, rule: RuleRow, audit: Option<AuditEntry>) -> Pending<i64> {
        let audit = audit.map(|entry| self.audit_cleaned(entry));
        self.store.put_rule(self.rule_cleaned(rule), audit)
    }

    fn remove_rule(&self, number: i64, audit: Option<AuditEntry>) -> Pending<bool> {
        let audit = audit.map(|entry| self.audit_cleaned(entry));
        self.store.remove_rule(number, audit)
    }

    fn write_agent(&self, mut write: AgentWrite) -> Pending<AgentWriteOutcome> {
        text_visitor::optional(&mut write.text, &|text| self.secrets.clean(text));
        self.secrets.clean_principal(&mut write.by);
        write.audit = write.audit.map(|entry| self.audit_cleaned(entry));
        self.store.write_agent(write)
    }

    fn agents(&self, tenant: &str) -> Pending<Vec<AgentRow>> {
        self.store.agents(tenant)
    }

    fn add_audit(&self, entry: AuditEntry) -> Pending<i64> {
        self.store.add_audit(self.audit_cleaned(entry))
    }

    fn audit(&self, tenant: &str, after: i64, limit: usize) -> Pending<Vec<AuditRow>> {
        self.store.audit(tenant, after, limit)
    }

    fn rules(&self) -> Pending<(RuleVersion, Vec<RuleRow>)> {
        self.store.rules()
    }
}

impl AccessStore for RedactingStore {
    fn put_access_token(
        &self,
        mut token: AccessTokenRow,
        audit: Option<AuditEntry>,
    ) -> Pending<()> {
        self.text(&mut token.name);
        self.store
            .put_access_token(token, self.some_audit_cleaned(audit))
    }

    fn access_token(&self, digest: TokenHash) -> Pending<Option<AccessTokenRow>> {
        self.store.access_token(digest)
    }

    fn access_tokens(&self, tenant: &str) -> Pending<Vec<AccessTokenRow>> {
        self.store.access_tokens(tenant)
    }

    fn revoke_access_token(
        &self,
        tenant: &str,
        id: &str,
        at: Timestamp,
        audit: Option<AuditEntry>,
    ) -> Pending<bool> {
        let audit = self.some_audit_cleaned(audit);
        self.store.revoke_access_token(tenant, id, at, audit)
    }

    fn touch_access_token(&self, id: &str, at: Timestamp, unless_after: Timestamp) -> Pending<()> {
        self.store.touch_access_token(id, at, unless_after)
    }

    fn put_person(
        &self,
        mut person: PersonRow,
        link: Option<AccessLinkRow>,
        audit: Option<AuditEntry>,
    ) -> Pending<()> {
        self.text(&mut person.name);
        let audit = self.some_audit_cleaned(audit);
        self.store.put_person(person, link, audit)
    }

    fn persons(&self, tenant: &str) -> Pending<Vec<PersonRow>> {
        self.store.persons(tenant)
    }

    fn disable_person(
        &self,
        account: &Account,
        at: Timestamp,
        audit: Option<AuditEntry>,
    ) -> Pending<bool> {
        let audit = self.some_audit_cleaned(audit);
        self.store.disable_person(account, at, audit)
    }

    fn put_access_link(&self, link: AccessLinkRow, audit: Option<AuditEntry>) -> Pending<()> {
        self.store
            .put_access_link(link, self.some_audit_cleaned(audit))
    }

    fn access_link(&self, digest: TokenHash) -> Pending<Option<AccessLinkRow>> {
        self.store.access_link(digest)
    }

    fn exchange_access_link(
        &self,
        digest: TokenHash,
        at: Timestamp,
        mut token: AccessTokenRow,
        audit: Option<AuditEntry>,
    ) -> Pending<bool> {
        self.text(&mut token.name);
        let audit = self.some_audit_cleaned(audit);
        self.store.exchange_access_link(digest, at, token, audit)
    }

    fn begin_idempotent(&self, request: IdempotentRequest) -> Pending<IdempotencyOutcome> {
        self.store.begin_idempotent(self.request_cleaned(request))
    }

    fn end_idempotent(
        &self,
        request: IdempotentRequest,
        mut answer: Option<StoredAnswer>,
    ) -> Pending<()> {
        if let Some(answer) = &mut answer {
            self.text(&mut answer.body);
        }
        let request = self.request_cleaned(request);
        self.store.end_idempotent(request, answer)
    }
}

impl BoardStore for RedactingStore {
    fn board(&self, query: BoardQuery) -> Pending<BoardRecords> {
        self.store.board(query)
    }

    fn mark_read(&self, mark: ReadMark) -> Pending<bool> {
        self.store.mark_read(mark)
    }
}

impl ScheduleStore for RedactingStore {
    fn write_schedule(&self, mut write: ScheduleWrite) -> Pending<ScheduleWriteOutcome> {
        if let Some(content) = &mut write.content {
            self.text(&mut content.name);
            text_visitor::optional(&mut content.disabled_reason, &|text| {
                self.secrets.clean(text)
            });
            self.plan_cleaned(&mut content.plan);
        }
        self.secrets.clean_principal(&mut write.by);
        write.audit = self.some_audit_cleaned(write.audit);
        self.store.write_schedule(write)
    }

    fn schedule(&self, id: &str) -> Pending<Option<ScheduleRow>> {
        self.store.schedule(id)
    }

    fn schedules(&self, filter: ScheduleFilter) -> Pending<Vec<ScheduleRow>> {
        self.store.schedules(filter)
    }

    fn due_schedules(&self, now: Timestamp, limit: usize) -> Pending<Vec<ScheduleRow>> {
        self.store.due_schedules(now, limit)
    }

    fn next_due(&self) -> Pending<Option<Timestamp>> {
        self.store.next_due()
    }

    fn put_off_schedule(&self, row: &ScheduleRow, until: Timestamp) -> Pending<bool> {
        self.store.put_off_schedule(row, until)
    }

    fn fire(&self, mut firing: ScheduleFiring) -> Pending<FiringOutcome> {
        for fired in &mut firing.schedules {
            text_visitor::optional(&mut fired.gate_state, &|text| self.secrets.clean(text));
        }
        firing.work = match firing.work {
            FiringWork::Post { open, post, run } => FiringWork::Post {
                open: open.map(|new| Box::new(self.session_cleaned(*new))),
                post: Box::new(self.post_cleaned(*post)),
                run,
            },
            FiringWork::Skip {
                reason,
                mut detail,
                state,
                needs_review,
            } => {
                text_visitor::optional(&mut detail, &|text| self.secrets.clean(text));
                FiringWork::Skip {
                    reason,
                    detail,
                    state,
                    needs_review,
                }
            }
            FiringWork::Command => FiringWork::Command,
        };
        self.store.fire(firing)
    }

    fn settle_occurrence(&self, mut update: OccurrenceUpdate) -> Pending<bool> {
        for text in [&mut update.reason, &mut update.detail, &mut update.answer] {
            text_visitor::optional(text, &|text| self.secrets.clean(text));
        }
        self.store.settle_occurrence(update)
    }

    fn set_next_check(&self, run: &RunId, at: Timestamp) -> Pending<bool> {
        self.store.set_next_check(run, at)
    }

    fn occurrences(&self, filter: OccurrenceFilter) -> Pending<Vec<OccurrenceRow>> {
        self.store.occurrences(filter)
    }

    fn occurrences_of_run(&self, run: &RunId) -> Pending<Vec<OccurrenceRow>> {
        self.store.occurrences_of_run(run)
    }

    fn unreviewed_occurrences(&self, limit: usize) -> Pending<Vec<OccurrenceRow>> {
        self.store.unreviewed_occurrences(limit)
    }

    fn open_occurrences(&self) -> Pending<Vec<OccurrenceRow>> {
        self.store.open_occurrences()
    }

    fn schedule_usage(&self, id: &str, since: Timestamp) -> Pending<(u64, f64)> {
        self.store.schedule_usage(id, since)
    }

    fn review_occurrence(&self, mut review: OccurrenceReview) -> Pending<bool> {
        for text in [&mut review.gate_state, &mut review.disable] {
            text_visitor::optional(text, &|text| self.secrets.clean(text));
        }
        if let Some(incident) = &mut review.incident {
            self.text(&mut incident.signature);
            self.text(&mut incident.words);
        }
        for post in &mut review.outbox {
            if let OutboxBody::Text { text } = &mut post.body {
                self.text(text);
            }
        }
        self.store.review_occurrence(review)
    }

    fn incidents(&self, schedule: &str) -> Pending<Vec<IncidentRow>> {
        self.store.incidents(schedule)
    }

    fn acknowledge_incident(
        &self,
        schedule: &str,
        signature: &str,
        audit: Option<AuditEntry>,
    ) -> Pending<bool> {
        let audit = self.some_audit_cleaned(audit);
        self.store.acknowledge_incident(schedule, signature, audit)
    }
}

impl Store for RedactingStore {
    fn verify(&self) -> Pending<VerifyReport> {
        self.store.verify()
    }

    fn settled(&self) -> Pending<()> {
        self.store.settled()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.store.changes()
    }
}
