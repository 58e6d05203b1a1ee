//! Schedules: made, changed, run by hand, listed. Every change is one commit with its audit entry.

use futures::FutureExt;
use rooftree_protocol::{
    Account, ErrorCode, OccurrenceInfo, Principal, Problem, ScheduleDraft, ScheduleInfo,
    SchedulePreview, Timestamp,
};
use rooftree_store::{
    AuditEntry, IncidentRow, OccurrenceFilter, OccurrenceRow, OutboxState, ScheduleContent,
    ScheduleEvent, ScheduleFilter, ScheduleKind, ScheduleRow, ScheduleWrite, ScheduleWriteOutcome,
};

use super::{Handle, row_watch::RowWatch};
use crate::{
    Error, ModelOptions,
    schedules::{self, DraftDefaults, check_against_store, content_of},
};

/// Occurrences that a list of schedules has of each.
const HISTORY: usize = 20;

/// What came of changing a schedule.
#[derive(Clone, Debug, PartialEq)]
pub enum ScheduleChange {
    /// As it is now; none if it was removed.
    Changed(Option<Box<ScheduleInfo>>),
    /// Another client changed it: as it is.
    Differs(Box<ScheduleInfo>),
}

impl Handle {
    /// What a written form means, before it is saved.
    pub fn preview_schedule(&self, when: &str, zone: &str) -> Result<SchedulePreview, Problem> {
        schedules::preview(when, zone, self.now())
    }

    /// The schedules that a principal may see, by name.
    pub async fn schedules(&self, who: &Principal) -> Result<Vec<ScheduleInfo>, Error> {
        let filter = ScheduleFilter {
            tenant: Some(who.tenant.clone()),
            person: (!who.is_owner()).then(|| who.person.clone()),
            agents: who.agents.as_ref().map(|agents| agents.to_vec()),
            ..ScheduleFilter::default()
        };
        let mut listed = Vec::new();
        for row in self.store.schedules(filter).await? {
            listed.push(self.schedule_info(&row).await?);
        }
        listed.sort_by(|one, other| (&one.name, &one.id).cmp(&(&other.name, &other.id)));
        Ok(listed)
    }

    /// Watches the schedules that a principal may see, with the deliveries of their results.
    pub fn watch_schedules(&self, who: &Principal) -> RowWatch<ScheduleInfo> {
        let signals = vec![
            self.schedule_news.watch(),
            self.chats.changed(),
            self.store.changes(),
        ];
        let (handle, who) = (self.clone(), who.clone());
        RowWatch::new(signals, move || {
            let (handle, who) = (handle.clone(), who.clone());
            async move { handle.schedules(&who).await }.boxed()
        })
    }

    /// One schedule, by its id, an end of it, or its name.
    pub async fn schedule(&self, who: &Principal, id: &str) -> Result<ScheduleInfo, Error> {
        let row = self.schedule_row(who, id).await?;
        self.schedule_info(&row).await
    }

    /// What became of the due times of a schedule, the latest first.
    pub async fn schedule_history(
        &self,
        who: &Principal,
        id: &str,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<OccurrenceInfo>, Error> {
        let row = self.schedule_row(who, id).await?;
        self.history(&row.id, before, limit).await
    }

    /// The incidents of a schedule, the latest first.
    pub async fn schedule_incidents(
        &self,
        who: &Principal,
        id: &str,
    ) -> Result<Vec<IncidentRow>, Error> {
        let row = self.schedule_row(who, id).await?;
        Ok(self.store.incidents(&row.id).await?)
    }

    /// Silences the alerts of an incident. Refused if the schedule has no such incident.
    pub async fn acknowledge_incident(
        &self,
        who: &Principal,
        id: &str,
        signature: &str,
    ) -> Result<(), Error> {
        let row = self.schedule_row(who, id).await?;
        let entry = AuditEntry::done(who, self.now(), "schedule.acknowledge", &row.id);
        let entry = entry.with("signature", signature);
        let done = self
            .store
            .acknowledge_incident(&row.id, signature, Some(entry));
        if !done.await? {
            let message = format!("the schedule `{}` has no incident `{signature}`", row.name);
            let problem = Problem::new(ErrorCode::TaskNotFound, message);
            return Err(problem
                .fix("rooftree schedules incidents lists them")
                .into());
        }
        self.schedule_news.tell_watchers();
        Ok(())
    }

    /// Makes a schedule. `defaults` are what the draft does not say.
    pub async fn add_schedule(
        &self,
        who: &Principal,
        draft: &ScheduleDraft,
        defaults: ScheduleDefaults,
    ) -> Result<ScheduleInfo, Error> {
        refuse_commands(who, draft)?;
        let agent = draft
            .agent
            .clone()
            .unwrap_or_else(|| defaults.agent.clone());
        let agent = self.known_agent(who, &agent)?;
        let draft = ScheduleDraft {
            agent: Some(agent.clone()),
            ..draft.clone()
        };
        self.refuse_foreign_session(who, &draft).await?;
        check_against_store(&*self.store, &who.account(), &draft, None).await?;
        let defaults = DraftDefaults {
            model: match &draft.model {
                Some(model) => Some(model.clone()),
                None => self.usual_model(&agent, draft.kind.as_deref()),
            },
            agent,
            cwd: defaults.cwd,
            zone: draft.zone.clone().unwrap_or(defaults.zone),
            rights: None,
            now: self.now(),
        };
        let content = content_of(&draft, None, &defaults)?;
        let id = format!("sch_{:032x}", self.clock.entropy());
        let written = self
            .write_schedule(who, &who.account(), (&id, None), Some(content))
            .await?;
        match written {
            ScheduleChange::Changed(Some(info)) => Ok(*info),
            _ => Err(Problem::new(ErrorCode::Conflict, "the schedule is there already").into()),
        }
    }

    /// Changes a schedule, if it has the revision that the draft names.
    pub async fn change_schedule(
        &self,
        who: &Principal,
        id: &str,
        draft: &ScheduleDraft,
    ) -> Result<ScheduleChange, Error> {
        refuse_commands(who, draft)?;
        let row = self.schedule_row(who, id).await?;
        if let Some(agent) = &draft.agent {
            self.known_agent(who, agent)?;
        }
        self.refuse_foreign_session(who, draft).await?;
        check_against_store(&*self.store, &row.account, draft, Some(&row.id)).await?;
        let defaults = DraftDefaults {
            agent: row.plan.agent.clone(),
            cwd: row.plan.cwd.clone(),
            zone: row.plan.zone.clone(),
            model: row.plan.model.clone(),
            rights: row.plan.rights.clone(),
            now: self.now(),
        };
        let content = content_of(draft, Some(&row), &defaults)?;
        let revision = draft.rev.unwrap_or(row.revision);
        self.write_schedule(who, &row.account, (&row.id, Some(revision)), Some(content))
            .await
    }

    /// Removes a schedule with its history, if it has the expected revision; none: whichever it has.
    pub async fn remove_schedule(
        &self,
        who: &Principal,
        id: &str,
        expected: Option<u64>,
    ) -> Result<ScheduleChange, Error> {
        let row = self.schedule_row(who, id).await?;
        let revision = expected.unwrap_or(row.revision);
        self.write_schedule(who, &row.account, (&row.id, Some(revision)), None)
            .await
    }

    /// Has a schedule fire now, besides its due times. The scheduler of a server does it.
    pub async fn run_schedule(&self, who: &Principal, id: &str) -> Result<ScheduleInfo, Error> {
        let row = self.schedule_row(who, id).await?;
        if !row.enabled {
            let message = format!("the schedule `{}` is switched off", row.name);
            let problem = Problem::new(ErrorCode::Conflict, message);
            return Err(problem
                .fix("rooftree schedules resume switches it on")
                .into());
        }
        let content = ScheduleContent {
            name: row.name.clone(),
            plan: row.plan.clone(),
            enabled: true,
            disabled_reason: None,
            next_due: Some(self.now()),
        };
        let known = (row.id.as_str(), Some(row.revision));
        let who = (who, "schedule.run");
        let write = self.schedule_write(who, &row.account, known, Some(content));
        match self.written(write).await? {
            ScheduleChange::Changed(Some(info)) => Ok(*info),
            ScheduleChange::Differs(info) => Ok(*info),
            ScheduleChange::Changed(None) => Err(no_schedule(id)),
        }
    }

    /// Something happened that schedules wait for: those of this principal fire now. Says how many there are. Two events
    /// before the scheduler has looked are one.
    pub async fn trigger_schedules(
        &self,
        who: &Principal,
        event: &ScheduleEvent,
    ) -> Result<usize, Error> {
        let filter = ScheduleFilter {
            tenant: Some(who.tenant.clone()),
            person: (!who.is_owner()).then(|| who.person.clone()),
            ..ScheduleFilter::default()
        };
        let rows = self.store.schedules(filter).await?.into_iter();
        let waits = |row: &ScheduleRow| {
            row.enabled && matches!(&row.plan.kind, ScheduleKind::Event { on } if on == event)
        };
        let mut count = 0;
        for row in rows.filter(waits) {
            let content = ScheduleContent {
                name: row.name,
                plan: row.plan,
                enabled: true,
                disabled_reason: None,
                next_due: Some(self.now()),
            };
            let known = (row.id.as_str(), Some(row.revision));
            let who = (who, "schedule.trigger");
            let write = self.schedule_write(who, &row.account, known, Some(content));
            self.written(write).await?;
            count += 1;
        }
        Ok(count)
    }

    async fn write_schedule(
        &self,
        who: &Principal,
        account: &Account,
        known: (&str, Option<u64>),
        content: Option<ScheduleContent>,
    ) -> Result<ScheduleChange, Error> {
        let action = match (&content, known.1) {
            (None, _) => "schedule.remove",
            (Some(_), None) => "schedule.add",
            (Some(_), Some(_)) => "schedule.change",
        };
        let write = self.schedule_write((who, action), account, known, content);
        self.written(write).await
    }

    fn schedule_write(
        &self,
        (who, action): (&Principal, &str),
        account: &Account,
        (id, expected): (&str, Option<u64>),
        content: Option<ScheduleContent>,
    ) -> ScheduleWrite {
        let name = content.as_ref().map(|content| content.name.clone());
        let entry = AuditEntry::done(who, self.now(), action, id);
        ScheduleWrite {
            id: id.to_owned(),
            account: account.clone(),
            content,
            expected,
            by: who.clone(),
            at: self.now(),
            audit: Some(entry.with("name", name.unwrap_or_default())),
        }
    }

    async fn written(&self, write: ScheduleWrite) -> Result<ScheduleChange, Error> {
        let id = write.id.clone();
        let outcome = self.store.write_schedule(write).await?;
        self.schedule_news.tell();
        match outcome {
            ScheduleWriteOutcome::Written(None) => Ok(ScheduleChange::Changed(None)),
            ScheduleWriteOutcome::Written(Some(row)) => {
                let info = self.schedule_info(&row).await?;
                Ok(ScheduleChange::Changed(Some(Box::new(info))))
            }
            ScheduleWriteOutcome::Differs(Some(row)) => {
                let info = self.schedule_info(&row).await?;
                Ok(ScheduleChange::Differs(Box::new(info)))
            }
            ScheduleWriteOutcome::Differs(None) => Err(no_schedule(&id)),
        }
    }

    /// A schedule that this principal may see.
    async fn schedule_row(&self, who: &Principal, id: &str) -> Result<ScheduleRow, Error> {
        if let Some(row) = self.store.schedule(id).await? {
            let is_visible = who.may_see_account(&row.account) && who.may_use(&row.plan.agent);
            return is_visible.then_some(row).ok_or_else(|| no_schedule(id));
        }
        let filter = ScheduleFilter {
            tenant: Some(who.tenant.clone()),
            person: (!who.is_owner()).then(|| who.person.clone()),
            agents: who.agents.as_ref().map(|agents| agents.to_vec()),
            ..ScheduleFilter::default()
        };
        let rows = self.store.schedules(filter).await?;
        let is_meant = |row: &&ScheduleRow| {
            row.name.eq_ignore_ascii_case(id) || (id.len() >= 4 && row.id.ends_with(id))
        };
        let found: Vec<&ScheduleRow> = rows.iter().filter(is_meant).collect();
        match found.as_slice() {
            [] => Err(no_schedule(id)),
            [row] => Ok((*row).clone()),
            several => {
                let message = format!("several schedules are called `{id}`");
                let ids: Vec<&str> = several.iter().map(|row| row.id.as_str()).collect();
                Err(Problem::new(ErrorCode::InvalidArguments, message)
                    .fix(format!("name the id of one: {}", ids.join(", ")))
                    .into())
            }
        }
    }

    async fn schedule_info(&self, row: &ScheduleRow) -> Result<ScheduleInfo, Error> {
        let history = self.history(&row.id, None, HISTORY).await?;
        Ok(schedules::info(row, history))
    }

    async fn history(
        &self,
        id: &str,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<OccurrenceInfo>, Error> {
        let rows = self.store.occurrences(OccurrenceFilter {
            schedule: id.to_owned(),
            before,
            limit,
        });
        let mut told = Vec::new();
        for row in rows.await? {
            let delivery = self.delivery_of(&row).await?;
            told.push(schedules::occurrence_info(row, delivery));
        }
        Ok(told)
    }

    /// Whether the result of an occurrence reached its chat, as the outbox says. A command has no run; its result has a
    /// key of its own.
    async fn delivery_of(&self, row: &OccurrenceRow) -> Result<&'static str, Error> {
        let state = match &row.run {
            Some(run) => self.store.outbox_of_run(run).await?,
            None => {
                let key = schedules::result_key(&row.schedule, row.due);
                let found = self.store.outbox_by_key(&key).await?;
                found.map(|found| found.state)
            }
        };
        Ok(match state {
            None => "none",
            Some(OutboxState::Planned | OutboxState::Sending | OutboxState::Failed) => "queued",
            Some(OutboxState::Sent) => "sent",
            Some(OutboxState::Unknown) => "unknown",
            Some(OutboxState::Dead) => "failed",
            Some(OutboxState::Superseded) => "dropped",
        })
    }

    /// The canonical name of an agent that this principal may use.
    fn known_agent(&self, who: &Principal, agent: &str) -> Result<String, Error> {
        let name = match &self.agents {
            Some(agents) => agents.context.definitions().find(agent)?.name.clone(),
            None => agent.to_owned(),
        };
        if who.may_use(&name) {
            return Ok(name);
        }
        let message = format!("this token is not for agent `{name}`");
        Err(Problem::new(ErrorCode::ToolDenied, message).into())
    }

    /// The model an agent would use now, which a schedule keeps. A heartbeat has a cheap one, unless its agent names one.
    fn usual_model(&self, agent: &str, kind: Option<&str>) -> Option<String> {
        let context = &self.agents.as_ref()?.context;
        let models = &context.options.models;
        let definition = context.definitions().find(agent).ok()?;
        let choice = match (&definition.model, kind) {
            (Some(own), _) => own.clone(),
            (None, Some("heartbeat")) => {
                let resolve = |name: &str| (models.resolver)(name).ok();
                ModelOptions::fast_model(models.default_now()?, &models.catalog, resolve)
            }
            (None, _) => models.default_now()?,
        };
        Some(choice.to_string())
    }

    /// A schedule posts only to sessions that its maker may see.
    async fn refuse_foreign_session(
        &self,
        who: &Principal,
        draft: &ScheduleDraft,
    ) -> Result<(), Error> {
        let session = draft.session.as_deref();
        let Some(id) = session.filter(|session| !matches!(*session, "new" | "reuse")) else {
            return Ok(());
        };
        let id = rooftree_protocol::SessionId::parse(id)?;
        self.session(who, &id).await.map(drop)
    }
}

/// What a draft that says nothing about it means.
#[derive(Clone, Debug)]
pub struct ScheduleDefaults {
    /// The agent.
    pub agent: String,
    /// Where it works.
    pub cwd: std::path::PathBuf,
    /// The time zone.
    pub zone: String,
}

/// Commands of schedules run on this machine without an agent that could be asked: only the owner adds them, and only
/// he says to which chats results go.
fn refuse_commands(who: &Principal, draft: &ScheduleDraft) -> Result<(), Problem> {
    let runs = [&draft.command, &draft.gate];
    let has_command = runs
        .into_iter()
        .flatten()
        .any(|line| !line.trim().is_empty());
    let chats = [&draft.target, &draft.fail_target];
    let has_chat = chats
        .into_iter()
        .flatten()
        .any(|chat| !chat.trim().is_empty());
    if who.is_unbound_owner() || !(has_command || has_chat) {
        return Ok(());
    }
    let message = "only the owner gives a schedule a command, a gate or a chat";
    Err(Problem::new(ErrorCode::ToolDenied, message))
}

fn no_schedule(id: &str) -> Error {
    let problem = Problem::new(
        ErrorCode::TaskNotFound,
        format!("there is no schedule `{id}`"),
    );
    problem.fix("rooftree schedules list shows them").into()
}
