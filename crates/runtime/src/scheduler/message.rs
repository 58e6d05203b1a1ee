//! The message that a schedule sends to its agent, and the session it sends it to.

use rooftree_protocol::{
    Lane, Mandate, Message, MessageId, Origin, Part, Principal, RunBudget, RunId, SessionId,
    Surface, event::RunMode,
};
use rooftree_store::{
    FiringWork, InboxPost, NewSessionRow, OccurrenceRow, Overlap, ScheduleKind, ScheduleRow,
    ScheduledSession, ScheduledWork,
};

use super::due_schedule::DueSchedule;
use crate::{Error, runtime_context::RuntimeContext};

/// The checklist of an agent's heartbeat, in the directory where it works.
const CHECKLIST: &str = "HEARTBEAT.md";
/// Bytes of it that are read.
const CHECKLIST_BYTES: usize = 8 * 1024;

/// The message of due schedules, to be posted. `before`: the occurrence of the first one that is not over.
pub(super) fn post(
    context: &RuntimeContext,
    due: &[DueSchedule],
    before: Option<&OccurrenceRow>,
) -> Result<Option<FiringWork>, Error> {
    let Some(first) = due.first() else {
        return Ok(None);
    };
    let row = &first.row;
    let definition = context.definitions().find(&row.plan.agent)?;
    let (at, id) = (context.now(), MessageId::from_entropy(context.entropy()));
    let run = RunId::derived_from(id.as_str());
    let (session, open) = place(context, row, before, &definition.name);
    let origin = Origin::Schedule {
        schedule: row.id.clone(),
        due: Some(first.time.due),
        target: row.plan.target.clone(),
        budget: budget(due),
        context: row.plan.context,
    };
    let message = Message {
        mandate: mandate(row),
        who: Some(Box::new(sender(row))),
        ..Message::new(id, vec![Part::text(text(due))], origin, at)
    };
    Ok(Some(FiringWork::Post {
        post: Box::new(InboxPost {
            session,
            lane: Lane::Mail,
            key: format!("cron:{}:{}", row.id, first.time.due.0),
            message,
            capacity: definition.limits.inbox,
        }),
        open: open.map(Box::new),
        run,
    }))
}

/// Who sends it: the schedule's owner, by way of the schedule.
fn sender(row: &ScheduleRow) -> Principal {
    Principal {
        tenant: row.account.tenant.clone(),
        person: row.account.person.clone(),
        ..Principal::local_owner(Surface::Schedule)
    }
}

/// Invariant: a schedule that an agent made has no more rights than that agent had.
fn mandate(row: &ScheduleRow) -> Option<Box<Mandate>> {
    let rights = row.plan.rights.as_deref()?;
    let model = row
        .plan
        .model
        .as_deref()
        .and_then(|model| model.parse().ok());
    Some(Box::new(Mandate {
        mode: RunMode::Scheduled,
        title: row.name.clone(),
        model: model.or_else(|| rights.model.clone()),
        ..rights.clone()
    }))
}

/// What the run may cost: of tasks that are one message, the sum.
fn budget(due: &[DueSchedule]) -> Option<RunBudget> {
    let budgets = || due.iter().map(|one| &one.row.plan.budget);
    let budget = RunBudget {
        tokens: budgets().map(|one| one.run_tokens).sum(),
        usd: budgets().map(|one| one.run_usd).sum(),
    };
    (budget != RunBudget::default()).then_some(budget)
}

/// The session, with its row if it is to be opened.
fn place(
    context: &RuntimeContext,
    row: &ScheduleRow,
    before: Option<&OccurrenceRow>,
    agent: &str,
) -> (SessionId, Option<NewSessionRow>) {
    let waits = before.filter(|_| row.plan.overlap == Overlap::Queue);
    if let Some(session) = waits.and_then(|before| before.session.clone()) {
        return (session, None);
    }
    let key = match &row.plan.session {
        ScheduledSession::Known { id } => return (id.clone(), None),
        ScheduledSession::Reuse => Some(format!("schedule:{}", row.id)),
        ScheduledSession::New => None,
    };
    let id = SessionId::from_entropy(context.entropy());
    let new = NewSessionRow {
        id: id.clone(),
        agent: agent.to_owned(),
        name: None,
        model: row.plan.model.clone(),
        cwd: row.plan.cwd.clone(),
        parent: None,
        connector_key: key,
        // What its agents ask and what they do in background after the first answer comes to the same chat.
        chat: row.plan.target.clone(),
        account: row.account.clone(),
        audit: None,
        at: context.now(),
    };
    (id, Some(new))
}

/// The session in which the board shows the failures of a schedule that never had one.
pub(super) fn failure_session(context: &RuntimeContext, row: &ScheduleRow) -> NewSessionRow {
    NewSessionRow {
        id: SessionId::from_entropy(context.entropy()),
        agent: row.plan.agent.clone(),
        name: None,
        model: None,
        cwd: row.plan.cwd.clone(),
        parent: None,
        connector_key: Some(format!("schedule-failures:{}", row.id)),
        chat: None,
        account: row.account.clone(),
        audit: None,
        at: context.now(),
    }
}

/// What the agent reads.
fn text(due: &[DueSchedule]) -> String {
    let mut text = match due {
        [only] if only.row.plan.kind != ScheduleKind::Heartbeat => task(only),
        several => heartbeat(several),
    };
    text.push_str(
        "\n\nNobody watches this run: your last reply is its result. If there is nothing to tell, reply NO_MESSAGE and \
         nothing else.",
    );
    text
}

fn task(one: &DueSchedule) -> String {
    let (ScheduledWork::Prompt { text } | ScheduledWork::Command { command: text }) =
        &one.row.plan.work;
    match &one.gate_message {
        Some(message) => format!("{text}\n\n[Gate output]\n{message}"),
        None => text.clone(),
    }
}

/// All due tasks of a heartbeat, and the checklist of the agent's directory.
fn heartbeat(due: &[DueSchedule]) -> String {
    let mut text = "Heartbeat. Do each of these tasks; if none needs anything, reply HEARTBEAT_OK and nothing else.\n"
        .to_owned();
    for one in due {
        text.push_str(&format!("\n## {}\n{}\n", one.row.name, task(one)));
    }
    if let Some(checklist) = due.first().and_then(checklist) {
        text.push_str(&format!("\n## {CHECKLIST}\n{checklist}\n"));
    }
    text
}

fn checklist(one: &DueSchedule) -> Option<String> {
    let text = std::fs::read_to_string(one.row.plan.cwd.join(CHECKLIST)).ok()?;
    let end = text.floor_char_boundary(CHECKLIST_BYTES.min(text.len()));
    let text = text.get(..end)?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
