//! Fires schedules: the occurrence, its session and message, and the next due time are one transaction.

use rooftree_protocol::{RunId, SessionId, Timestamp};
use rusqlite::{Connection, params};

use crate::{
    Error, FiredSchedule, FiringOutcome, FiringWork, InboxPost, NewSessionRow, OccurrenceState,
    ScheduleFiring, SkippedOccurrence, failpoint,
    sqlite::{
        column,
        inbox::{self, EncodedPost},
        inbox_counters::RecipientFilter,
        sessions,
    },
};

/// What an occurrence begins with.
struct NewOccurrence<'a> {
    state: OccurrenceState,
    reason: Option<&'a str>,
    detail: Option<&'a str>,
    session: Option<&'a SessionId>,
    run: Option<&'a RunId>,
    /// Whether the scheduler has nothing to conclude from it.
    reviewed: bool,
}

/// Fires all of these schedules or none.
///
/// Invariant: a due time has one occurrence. The primary key decides between processes; the loser changes nothing.
pub(crate) fn fire(
    connection: &Connection,
    firing: &ScheduleFiring,
) -> Result<FiringOutcome, Error> {
    for fired in &firing.schedules {
        if !failpoint::is_without("occurrence") && !is_current(connection, fired)? {
            return Ok(FiringOutcome::Lost);
        }
    }
    if !failpoint::is_without("occurrence") && has_passed(connection, firing)? {
        return Ok(FiringOutcome::Lost);
    }
    let session = match &firing.work {
        FiringWork::Post { open, post, .. } => Some(posted(connection, open.as_deref(), post)?),
        FiringWork::Command | FiringWork::Skip { .. } => None,
    };
    let new = begun(&firing.work, session.as_ref());
    for fired in &firing.schedules {
        for missed in &fired.missed {
            insert(connection, fired, (missed.due, firing.at), &skipped(missed))?;
        }
        insert(connection, fired, (fired.due, firing.at), &new)?;
        advance(connection, fired)?;
    }
    Ok(FiringOutcome::Fired(session))
}

/// Whether a schedule is as it was read.
fn is_current(connection: &Connection, fired: &FiredSchedule) -> Result<bool, Error> {
    let sql = "SELECT 1 FROM schedule
         WHERE id = ?1 AND revision = ?2 AND (?3 IS NULL OR (enabled = 1 AND next_due = ?3))";
    let values = params![
        fired.id,
        column::signed(fired.revision),
        fired.at_due.map(|at| at.0)
    ];
    Ok(connection.prepare_cached(sql)?.exists(values)?)
}

/// Whether one of the due times has an occurrence already, as after the clock was set back.
///
/// Invariant: such a schedule is due at its next time then. Otherwise it would be due for ever and never fire.
fn has_passed(connection: &Connection, firing: &ScheduleFiring) -> Result<bool, Error> {
    let mut statement =
        connection.prepare_cached("SELECT 1 FROM occurrence WHERE schedule = ?1 AND due = ?2")?;
    let mut has_any = false;
    for fired in &firing.schedules {
        if statement.exists(params![fired.id, fired.due.0])? {
            advance(connection, fired)?;
            has_any = true;
        }
    }
    Ok(has_any)
}

/// Opens the session if it is new and posts the message.
fn posted(
    connection: &Connection,
    open: Option<&NewSessionRow>,
    post: &InboxPost,
) -> Result<SessionId, Error> {
    let session = match open {
        Some(new) => {
            let opened = sessions::open(connection, new)?;
            if opened.chat != new.chat {
                // Only a schedule's own session has its key, so its chat is the one that the schedule has now.
                sessions::move_chat(connection, &opened.id, new.chat.as_ref())?;
            }
            opened.id
        }
        None => post.session.clone(),
    };
    let post = InboxPost {
        session: session.clone(),
        ..post.clone()
    };
    let reach = RecipientFilter::Living;
    inbox::post(connection, &EncodedPost::encode(post)?, reach)?;
    Ok(session)
}

fn begun<'a>(work: &'a FiringWork, session: Option<&'a SessionId>) -> NewOccurrence<'a> {
    let (state, reason, detail, run) = match work {
        FiringWork::Post { run, .. } => (OccurrenceState::Claimed, None, None, Some(run)),
        FiringWork::Command => (OccurrenceState::Running, None, None, None),
        FiringWork::Skip {
            reason,
            detail,
            state,
            ..
        } => (*state, Some(reason.as_str()), detail.as_deref(), None),
    };
    NewOccurrence {
        state,
        reason,
        detail,
        session,
        run,
        reviewed: matches!(
            work,
            FiringWork::Skip {
                needs_review: false,
                ..
            }
        ),
    }
}

fn skipped(missed: &SkippedOccurrence) -> NewOccurrence<'_> {
    NewOccurrence {
        state: OccurrenceState::Skipped,
        reason: Some(&missed.reason),
        detail: missed.detail.as_deref(),
        session: None,
        run: None,
        reviewed: true,
    }
}

fn insert(
    connection: &Connection,
    fired: &FiredSchedule,
    (due, at): (Timestamp, Timestamp),
    new: &NewOccurrence<'_>,
) -> Result<(), Error> {
    let ended = (!new.state.is_open()).then_some(at.0);
    connection
        .prepare_cached(
            "INSERT INTO occurrence (schedule, due, state, reason, detail, session, run, gate_state, started_at, ended_at, reviewed)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (schedule, due) DO NOTHING",
        )?
        .execute(params![
            fired.id,
            due.0,
            new.state.word(),
            new.reason,
            new.detail,
            new.session.map(SessionId::as_str),
            new.run.map(RunId::as_str),
            fired.gate_state.as_deref().filter(|_| new.run.is_some() || ended.is_none()),
            at.0,
            ended,
            new.reviewed,
        ])?;
    Ok(())
}

fn advance(connection: &Connection, fired: &FiredSchedule) -> Result<(), Error> {
    if fired.at_due.is_none() {
        return Ok(());
    }
    connection
        .prepare_cached("UPDATE schedule SET next_due = ?2, wake_at = ?2 WHERE id = ?1")?
        .execute(params![fired.id, fired.next_due.map(|at| at.0)])?;
    Ok(())
}
