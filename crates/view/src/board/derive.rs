//! Derives a board row from what is stored, the claim, the clock and the read mark. Pure: the only place where a
//! state is decided.

use std::collections::BTreeMap;

use rooftree_protocol::{
    ErrorCode, EventBody, RunStatus, Session, SessionId, Timestamp, Usage, event::WaitReason,
};

use super::{
    BoardAgent, BoardOwner, BoardPlace, BoardProcess, BoardReason, BoardReasonKind, BoardRev,
    BoardRow, BoardState, BoardUsage, BoardWait, BoardWaitReason, ChildCounts, SessionActivity,
    SessionOutcome,
    headline::{plain_line, short},
};

/// All that is known about a root session and those below it.
#[derive(Clone, Debug)]
pub struct BoardFacts {
    /// Its row.
    pub session: Session,
    /// What it does and did.
    pub activity: SessionActivity,
    /// Its claim, if it has one.
    pub claim: Option<BoardClaim>,
    /// Whether a message waits that will start a run.
    pub mail_waits: bool,
    /// Permissions and questions that are not settled, of it and of those below it, in the order they were asked.
    pub inquiries: Vec<BoardInquiry>,
    /// The sessions below it with an open run.
    pub open_children: Vec<ChildFacts>,
    /// The sessions below it without one.
    pub ended_children: EndedChildren,
    /// What it and those below it used.
    pub usage: Usage,
    /// The last event of it that the person has seen.
    pub read_upto: u64,
    /// What of it could not be delivered to a chat.
    pub undelivered: Option<BoardDelivery>,
    /// A schedule that its failures switched off, if its last run was in it.
    pub schedule_off: Option<BoardScheduleOff>,
}

/// Messages of a session to a chat that were given up, or may or may not have arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardDelivery {
    /// The oldest of them.
    pub id: String,
    /// Where it was to be delivered.
    pub target: String,
    /// Why it was not.
    pub error: String,
    /// How many there are.
    pub count: u64,
    /// Since when it is given up.
    pub since: Timestamp,
}

/// Schedules that their failures switched off, whose last run was in one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardScheduleOff {
    /// The first of them.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Why it is off.
    pub reason: String,
    /// How many there are.
    pub count: u64,
    /// Since when it is off, or fails.
    pub since: Timestamp,
    /// Whether it is still on: it failed, and there was no chat to tell it.
    pub is_on: bool,
}

/// The claim of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardClaim {
    /// The machine of the process that has it.
    pub host: String,
    /// The process id there.
    pub pid: u32,
    /// Whether that is this machine.
    pub is_here: bool,
    /// Until when it holds without being renewed.
    pub lease: Timestamp,
    /// What is known about the process.
    pub process: ProcessEvidence,
}

/// What is known about a process that has a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEvidence {
    /// It is there.
    Running,
    /// It is gone.
    Dead,
    /// Only the lease tells.
    Unknown,
}

impl BoardClaim {
    /// Whether its process works on the session.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        match self.process {
            ProcessEvidence::Running => true,
            ProcessEvidence::Dead => false,
            ProcessEvidence::Unknown => self.lease > now,
        }
    }
}

/// Something that was asked and is not settled.
#[derive(Clone, Debug, PartialEq)]
pub struct BoardInquiry {
    /// `per_…` or `que_…`.
    pub id: String,
    /// The session that asks.
    pub session: SessionId,
    /// Its definition.
    pub agent: String,
    /// The question, as the journal has it.
    pub asked: EventBody,
    /// Since when.
    pub since: Timestamp,
    /// When it is answered by itself.
    pub until: Timestamp,
    /// Whether a person has answered it.
    pub is_answered: bool,
}

/// A session below a root session that has an open run.
#[derive(Clone, Debug)]
pub struct ChildFacts {
    /// Which one.
    pub session: SessionId,
    /// What it does and did.
    pub activity: SessionActivity,
    /// Its claim, if it has one.
    pub claim: Option<BoardClaim>,
}

/// Sessions below a root session without an open run, by their last outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndedChildren {
    /// Completed.
    pub done: u64,
    /// Failed.
    pub failed: u64,
}

/// When a board is looked at.
#[derive(Clone, Debug)]
pub struct BoardMoment {
    /// Now.
    pub now: Timestamp,
    /// The revision that the row gets.
    pub rev: BoardRev,
}

/// What is not stored: how the agent is drawn, and where the session works.
#[derive(Clone, Debug, Default)]
pub struct BoardSurroundings {
    /// The icon of the agent.
    pub icon: Option<String>,
    /// The colour of the agent.
    pub color: Option<String>,
    /// This machine.
    pub host: String,
    /// The git branch of the session's directory.
    pub branch: Option<String>,
}

/// The row of a session at a moment.
pub fn board_row(
    facts: &BoardFacts,
    moment: &BoardMoment,
    surroundings: BoardSurroundings,
) -> BoardRow {
    let (now, activity, session) = (moment.now, &facts.activity, &facts.session);
    let why = reasons(facts, now);
    let (state, waiting) = state(facts, &why, now);
    let owner = facts.claim.as_ref().filter(|claim| claim.is_alive(now));
    let title = session.name.as_deref().unwrap_or(&activity.title);
    // Nothing was asked in a session that only shows the failures of a schedule.
    let title = match (&facts.schedule_off, title) {
        (Some(schedule), "") => schedule.name.as_str(),
        (_, title) => title,
    };
    let headline = match why.first() {
        Some(first) if matches!(state, BoardState::NeedsYou) => short(&first.title),
        _ => match activity.headline.shown(now) {
            "" => title.to_owned(),
            shown => plain_line(shown),
        },
    };
    let open = activity.run.as_ref();
    let last = activity.last.as_ref();
    let host = owner.map_or(surroundings.host, |owner| owner.host.clone());
    BoardRow {
        session: session.id.clone(),
        root: session.id.clone(),
        rev: moment.rev.clone(),
        head: session.head,
        agent: BoardAgent {
            name: session.agent.clone(),
            icon: surroundings.icon,
            color: surroundings.color,
        },
        title: title.to_owned(),
        state,
        why,
        waiting,
        process: process(owner),
        owner: owner.map(|owner| BoardOwner {
            host: owner.host.clone(),
            pid: owner.pid,
        }),
        headline,
        started: open
            .map(|open| open.started)
            .or_else(|| last.and_then(|last| last.started)),
        ended: last.filter(|_| open.is_none()).map(|last| last.ended),
        children: children(facts, now),
        todo: activity.todo,
        usage: BoardUsage {
            tokens: facts.usage.total(),
            cost_usd: facts.usage.cost_usd,
            complete: facts.usage.cost_complete,
        },
        origin: activity.origin.clone().unwrap_or_else(|| "user".into()),
        place: BoardPlace {
            host,
            cwd: session.cwd.display().to_string(),
            branch: surroundings.branch,
        },
        unread: activity.news > facts.read_upto,
        pinned: session.pinned_at.is_some(),
    }
}

fn process(owner: Option<&BoardClaim>) -> BoardProcess {
    match owner {
        None => BoardProcess::Asleep,
        Some(owner) if owner.is_here => BoardProcess::Alive,
        Some(_) => BoardProcess::Elsewhere,
    }
}

/// Invariant: nothing else decides a state.
fn state(
    facts: &BoardFacts,
    why: &[BoardReason],
    now: Timestamp,
) -> (BoardState, Option<BoardWait>) {
    let activity = &facts.activity;
    let is_alive = |claim: &Option<BoardClaim>| {
        let claim = claim.as_ref();
        claim.is_some_and(|claim| claim.is_alive(now))
    };
    let waits = |reason, until| {
        let wait = BoardWait { reason, until };
        (BoardState::Waiting, Some(wait))
    };
    if why.iter().any(|why| why.kind != BoardReasonKind::FailedRun) {
        return (BoardState::NeedsYou, None);
    }
    if !why.is_empty() {
        return (BoardState::Failed, None);
    }
    if activity.run.is_some() && is_alive(&facts.claim) {
        let wait = activity.wait.map(|wait| (wait.reason, wait.until));
        return match wait {
            Some((WaitReason::RateLimit, until)) => waits(BoardWaitReason::RateLimit, until),
            Some((WaitReason::Retry, until)) => waits(BoardWaitReason::Retry, until),
            Some((WaitReason::Child, until)) => waits(BoardWaitReason::Child, until),
            _ if activity.waits_for_child() => waits(BoardWaitReason::Child, None),
            _ => (BoardState::Working, None),
        };
    }
    if activity.run.is_some() {
        return (BoardState::Idle, None);
    }
    if facts.mail_waits {
        let is_taken = is_alive(&facts.claim);
        let state = if is_taken {
            BoardState::Working
        } else {
            BoardState::Idle
        };
        return (state, None);
    }
    if facts
        .open_children
        .iter()
        .any(|child| is_alive(&child.claim))
    {
        return waits(BoardWaitReason::Child, None);
    }
    let state = match activity.last.as_ref().map(|last| last.outcome) {
        None => BoardState::Idle,
        Some(SessionOutcome::Done) => BoardState::Done,
        Some(SessionOutcome::Failed | SessionOutcome::Stopped) => BoardState::Stopped,
    };
    (state, None)
}

/// What a person should do or see, the oldest first.
fn reasons(facts: &BoardFacts, now: Timestamp) -> Vec<BoardReason> {
    let open = open_questions(facts, now);
    let asked = facts
        .inquiries
        .iter()
        .filter(|inquiry| open.contains_key(inquiry.id.as_str()))
        .filter_map(inquiry_reason);
    let mut why: Vec<BoardReason> = asked.collect();
    why.extend(failure(facts));
    why.extend(changed_tool(facts));
    why.extend(failed_delivery(facts));
    why.extend(schedule_off(facts));
    why.sort_by_key(|why| why.since);
    why
}

/// Questions that can be answered now, and the session that asks each.
fn open_questions(facts: &BoardFacts, now: Timestamp) -> BTreeMap<&str, &SessionId> {
    let own = (&facts.session.id, &facts.activity);
    let below = facts.open_children.iter();
    let asking: Vec<(&SessionId, &SessionActivity)> = std::iter::once(own)
        .chain(below.map(|child| (&child.session, &child.activity)))
        .collect();
    let is_open = |inquiry: &&BoardInquiry| {
        let is_asked = asking.iter().any(|(session, activity)| {
            **session == inquiry.session && activity.asked.contains(&inquiry.id)
        });
        is_asked && !inquiry.is_answered && inquiry.until > now
    };
    let open = facts.inquiries.iter().filter(is_open);
    open.map(|inquiry| (inquiry.id.as_str(), &inquiry.session))
        .collect()
}

fn inquiry_reason(inquiry: &BoardInquiry) -> Option<BoardReason> {
    let (kind, title) = match &inquiry.asked {
        EventBody::PermissionRequested { tool, title, .. } => {
            (BoardReasonKind::Permission, format!("{tool} {title}"))
        }
        EventBody::QuestionRequested { questions, .. } => {
            let texts: Vec<&str> = questions.iter().map(|one| one.text.as_str()).collect();
            (BoardReasonKind::Question, texts.join(" "))
        }
        _ => return None,
    };
    Some(BoardReason {
        kind,
        id: inquiry.id.clone(),
        title: short(&title),
        by: inquiry.agent.clone(),
        since: inquiry.since,
    })
}

fn failed_delivery(facts: &BoardFacts) -> Option<BoardReason> {
    let undelivered = facts.undelivered.as_ref()?;
    let (target, error) = (&undelivered.target, &undelivered.error);
    let title = format!("{target}: {error}{}", and_more(undelivered.count));
    Some(BoardReason {
        kind: BoardReasonKind::FailedDelivery,
        id: undelivered.id.clone(),
        title: short(&title),
        by: facts.session.agent.clone(),
        since: undelivered.since,
    })
}

fn schedule_off(facts: &BoardFacts) -> Option<BoardReason> {
    let off = facts.schedule_off.as_ref()?;
    let title = format!("{}: {}{}", off.name, off.reason, and_more(off.count));
    let kind = if off.is_on {
        BoardReasonKind::ScheduleFailed
    } else {
        BoardReasonKind::ScheduleOff
    };
    Some(BoardReason {
        kind,
        id: off.id.clone(),
        title: short(&title),
        by: facts.session.agent.clone(),
        since: off.since,
    })
}

fn and_more(count: u64) -> String {
    match count {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    }
}

/// The failure of the last run, as long as it was not seen and no other run has begun.
fn failure(facts: &BoardFacts) -> Option<BoardReason> {
    let last = facts.activity.last.as_ref()?;
    if !facts.activity.has_failed() || last.seq <= facts.read_upto {
        return None;
    }
    let kind = match (last.status, last.error) {
        (_, Some(ErrorCode::Unauthorized)) => BoardReasonKind::Credential,
        (RunStatus::Budget, _) => BoardReasonKind::Budget,
        _ => BoardReasonKind::FailedRun,
    };
    Some(BoardReason {
        kind,
        id: last.run.to_string(),
        title: last.words.clone(),
        by: facts.session.agent.clone(),
        since: last.ended,
    })
}

/// A tool that is not used any more, as long as that was not seen.
fn changed_tool(facts: &BoardFacts) -> Option<BoardReason> {
    let (words, since) = facts.activity.changed_tool.as_ref()?;
    let is_unseen = facts.activity.news > facts.read_upto;
    is_unseen.then(|| BoardReason {
        kind: BoardReasonKind::QuarantinedTool,
        id: facts.session.id.to_string(),
        title: words.clone(),
        by: facts.session.agent.clone(),
        since: *since,
    })
}

fn children(facts: &BoardFacts, now: Timestamp) -> ChildCounts {
    let open = open_questions(facts, now);
    let mut counts = ChildCounts {
        done: facts.ended_children.done,
        failed: facts.ended_children.failed,
        ..ChildCounts::default()
    };
    for child in &facts.open_children {
        let claim = child.claim.as_ref();
        if open.values().any(|session| **session == child.session) {
            counts.needs_you += 1;
        } else if claim.is_some_and(|claim| claim.is_alive(now)) {
            counts.working += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests;
