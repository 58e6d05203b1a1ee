//! Rows of schedules, with optimistic locking by revision, and the index by which due ones are found.

pub(crate) mod firing;
pub(crate) mod incidents;
pub(crate) mod occurrences;
pub(crate) mod triggers;

use rooftree_protocol::{Account, Session, Timestamp};
use rooftree_view::board::BoardScheduleOff;
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use super::{audit, column};
use crate::{
    Error, ScheduleFilter, ScheduleRow, ScheduleWrite, ScheduleWriteOutcome,
    schedules::ScheduleContent,
};

/// Adds, changes or removes a schedule, if it has the revision that is expected.
pub(crate) fn write(
    connection: &Connection,
    write: &ScheduleWrite,
) -> Result<ScheduleWriteOutcome, Error> {
    let known = one(connection, &write.id)?;
    let is_own = known
        .as_ref()
        .is_none_or(|known| known.account == write.account);
    if known.as_ref().map(|known| known.revision) != write.expected || !is_own {
        return Ok(ScheduleWriteOutcome::Differs(
            known.filter(|_| is_own).map(Box::new),
        ));
    }
    let written = write
        .content
        .as_ref()
        .map(|content| with_free_due(connection, changed(known, write, content), write.at));
    let written = written.transpose()?;
    match &written {
        Some(row) => put(connection, row)?,
        None => remove(connection, &write.id)?,
    }
    audit::add_some(connection, write.audit.as_ref())?;
    Ok(ScheduleWriteOutcome::Written(written.map(Box::new)))
}

/// The row after a change. Switching it on forgets its failures.
fn changed(
    known: Option<ScheduleRow>,
    write: &ScheduleWrite,
    content: &ScheduleContent,
) -> ScheduleRow {
    let is_switched_on = content.enabled && known.as_ref().is_none_or(|known| !known.enabled);
    let before = known.as_ref().filter(|_| !is_switched_on);
    ScheduleRow {
        id: write.id.clone(),
        account: write.account.clone(),
        revision: write.expected.unwrap_or(0) + 1,
        name: content.name.clone(),
        plan: content.plan.clone(),
        enabled: content.enabled,
        disabled_reason: content.disabled_reason.clone(),
        next_due: content.next_due,
        wake_at: content.next_due,
        streak: before.map_or(0, |known| known.streak),
        attempts: before.map_or(0, |known| known.attempts),
        gate_state: known.as_ref().and_then(|known| known.gate_state.clone()),
        by: write.by.clone(),
        created_at: known.map_or(write.at, |known| known.created_at),
        updated_at: write.at,
    }
}

/// The row that is due now, as by hand, with a due time of its own: one that has an occurrence would not be fired.
fn with_free_due(
    connection: &Connection,
    row: ScheduleRow,
    now: Timestamp,
) -> Result<ScheduleRow, Error> {
    if row.next_due != Some(now) {
        return Ok(row);
    }
    let sql = "SELECT coalesce(max(due) + 1, ?2) FROM occurrence WHERE schedule = ?1 AND due >= ?2";
    let free = connection
        .prepare_cached(sql)?
        .query_row(params![row.id, now.0], |row| row.get(0))?;
    let due = Some(Timestamp(free));
    Ok(ScheduleRow {
        next_due: due,
        wake_at: due,
        ..row
    })
}

/// Invariant: what is on the board about its failures stays there until a person switches it on or off.
fn put(connection: &Connection, row: &ScheduleRow) -> Result<(), Error> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO schedule (id, tenant, person, revision, name, kind, plan, enabled, disabled_reason,
                 next_due, wake_at, streak, attempts, gate_state, made_by, created_at, updated_at, off_session, off_at)
             VALUES (:id, :tenant, :person, :revision, :name, :kind, :plan, :enabled, :disabled_reason,
                 :next_due, :wake_at, :streak, :attempts, :gate_state, :made_by, :created_at, :updated_at,
                 (SELECT off_session FROM schedule
                     WHERE id = :id AND enabled = :enabled AND disabled_reason IS :disabled_reason),
                 (SELECT off_at FROM schedule
                     WHERE id = :id AND enabled = :enabled AND disabled_reason IS :disabled_reason))",
        )?
        .execute(named_params! {
            ":id": row.id,
            ":tenant": row.account.tenant,
            ":person": row.account.person,
            ":revision": column::signed(row.revision),
            ":name": row.name,
            ":kind": row.plan.kind.word(),
            ":plan": serde_json::to_string(&row.plan)?,
            ":enabled": row.enabled,
            ":disabled_reason": row.disabled_reason,
            ":next_due": row.next_due.map(|at| at.0),
            ":wake_at": row.wake_at.map(|at| at.0),
            ":streak": row.streak,
            ":attempts": row.attempts,
            ":gate_state": row.gate_state,
            ":made_by": serde_json::to_string(&row.by)?,
            ":created_at": row.created_at.0,
            ":updated_at": row.updated_at.0,
        })?;
    Ok(())
}

fn remove(connection: &Connection, id: &str) -> Result<(), Error> {
    for sql in [
        "DELETE FROM schedule WHERE id = ?1",
        "DELETE FROM occurrence WHERE schedule = ?1",
        "DELETE FROM incident WHERE schedule = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([id])?;
    }
    Ok(())
}

/// One schedule.
pub(crate) fn one(connection: &Connection, id: &str) -> Result<Option<ScheduleRow>, Error> {
    connection
        .prepare_cached("SELECT * FROM schedule WHERE id = ?1")?
        .query_row([id], |row| Ok(read(row)))
        .optional()?
        .transpose()
}

/// Schedules, by id.
pub(crate) fn list(
    connection: &Connection,
    filter: &ScheduleFilter,
) -> Result<Vec<ScheduleRow>, Error> {
    let agents = filter.agents.as_ref().map(serde_json::to_string);
    let mut statement = connection.prepare_cached(
        "SELECT * FROM schedule
         WHERE (:tenant IS NULL OR tenant = :tenant) AND (:person IS NULL OR person = :person)
             AND (:agents IS NULL OR EXISTS (SELECT 1 FROM json_each(:agents) bound
                 WHERE bound.value = plan ->> 'agent' COLLATE NOCASE))
             AND (:after IS NULL OR id > :after)
         ORDER BY id LIMIT :limit + 0",
    )?;
    let rows = statement.query(named_params! {
        ":tenant": filter.tenant,
        ":person": filter.person,
        ":agents": agents.transpose()?,
        ":after": filter.after,
        ":limit": if filter.limit == 0 { -1 } else { column::limit(filter.limit) },
    })?;
    all(rows)
}

/// Enabled schedules that are to be looked at by now.
pub(crate) fn due(
    connection: &Connection,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<ScheduleRow>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT * FROM schedule WHERE enabled = 1 AND wake_at <= ?1 ORDER BY wake_at LIMIT ?2 + 0",
    )?;
    all(statement.query(params![now.0, column::limit(limit)])?)
}

/// When the next schedule is to be looked at.
pub(crate) fn next_due(connection: &Connection) -> Result<Option<Timestamp>, Error> {
    let next: Option<i64> = connection
        .prepare_cached(
            "SELECT min(wake_at) FROM schedule WHERE enabled = 1 AND wake_at IS NOT NULL",
        )?
        .query_row([], |row| row.get(0))?;
    Ok(next.map(Timestamp))
}

/// A schedule whose failures are shown in this session, those that they switched off first.
pub(crate) fn shown_failure(
    connection: &Connection,
    session: &Session,
) -> Result<Option<BoardScheduleOff>, Error> {
    let found = connection
        .prepare_cached(
            "SELECT id, name, coalesce(disabled_reason, (SELECT i.words FROM incident i
                 WHERE i.schedule = schedule.id AND i.state = 'alerted' ORDER BY i.last_at DESC LIMIT 1), ''),
                 off_at, count(*) OVER (), enabled
             FROM schedule INDEXED BY schedule_off
             WHERE tenant = ?1 AND off_session = ?2 ORDER BY enabled, off_at, id LIMIT 1",
        )?
        .query_row(
            params![session.account.tenant, session.id.as_str()],
            |row| {
                Ok(BoardScheduleOff {
                    id: row.get(0)?,
                    name: row.get(1)?,
                    reason: row.get(2)?,
                    since: Timestamp(row.get(3)?),
                    count: column::unsigned(row.get(4)?),
                    is_on: row.get(5)?,
                })
            },
        );
    Ok(found.optional()?)
}

/// Looks at a schedule later than at its due time, if it is as it was read.
pub(crate) fn put_off(
    connection: &Connection,
    row: &ScheduleRow,
    until: Timestamp,
) -> Result<bool, Error> {
    let changed = connection
        .prepare_cached(
            "UPDATE schedule SET wake_at = ?4
             WHERE id = ?1 AND revision = ?2 AND enabled = 1 AND next_due IS ?3 AND wake_at IS ?5",
        )?
        .execute(params![
            row.id,
            column::signed(row.revision),
            row.next_due.map(|at| at.0),
            until.0,
            row.wake_at.map(|at| at.0)
        ])?;
    Ok(changed > 0)
}

fn all(mut rows: rusqlite::Rows<'_>) -> Result<Vec<ScheduleRow>, Error> {
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn read(row: &Row<'_>) -> Result<ScheduleRow, Error> {
    let time = |column: &str| {
        row.get::<_, Option<i64>>(column)
            .map(|at| at.map(Timestamp))
    };
    Ok(ScheduleRow {
        id: row.get("id")?,
        account: Account {
            tenant: row.get("tenant")?,
            person: row.get("person")?,
        },
        revision: column::count(row, "revision")?,
        name: row.get("name")?,
        plan: serde_json::from_str(row.get_ref("plan")?.as_str().unwrap_or_default())?,
        enabled: row.get("enabled")?,
        disabled_reason: row.get("disabled_reason")?,
        next_due: time("next_due")?,
        wake_at: time("wake_at")?,
        streak: row.get("streak")?,
        attempts: row.get("attempts")?,
        gate_state: row.get("gate_state")?,
        by: serde_json::from_str(row.get_ref("made_by")?.as_str().unwrap_or_default())?,
        created_at: Timestamp(row.get("created_at")?),
        updated_at: Timestamp(row.get("updated_at")?),
    })
}
