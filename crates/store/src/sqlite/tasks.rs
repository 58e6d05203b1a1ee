//! Tasks: background processes and runs, as they are listed.

use rooftree_protocol::{SessionId, Timestamp};
use rusqlite::{Connection, Row, named_params, params};
use serde_json::Value;

use super::{
    column,
    sessions::{self, VISIBLE},
};
use crate::{Error, TaskFilter, TaskRow, TaskStatus};

/// Inserts or replaces a task. A task that has ended stays ended: a caller that delegates it again after a crash
/// reports it as running, because it does not know the outcome.
pub(crate) fn put(connection: &Connection, task: &TaskRow) -> Result<(), Error> {
    let (number, _) = sessions::place(connection, &task.session)?;
    connection
        .prepare_cached(
            "INSERT INTO task (id, session, kind, title, status, group_id, group_started, detail, started_at, ended_at,
                 child, data, tenant)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, (SELECT tenant FROM session WHERE number = ?2))
             ON CONFLICT (id) DO UPDATE SET session = excluded.session, kind = excluded.kind, title = excluded.title,
                 status = excluded.status, group_id = excluded.group_id, group_started = excluded.group_started,
                 detail = excluded.detail, started_at = excluded.started_at, ended_at = excluded.ended_at,
                 child = excluded.child, data = excluded.data
             WHERE task.ended_at IS NULL OR excluded.ended_at IS NOT NULL",
        )?
        .execute(params![
            task.id,
            number,
            task.kind,
            task.title,
            status_word(task.status)?,
            task.process_group.map(|(group, _)| group),
            task.process_group.map(|(_, started)| column::signed(started)),
            task.detail,
            task.started_at.0,
            task.ended_at.map(|at| at.0),
            task.child.as_ref().map(SessionId::as_str),
            serde_json::to_string(&task.data)?,
        ])?;
    Ok(())
}

/// Tasks, newest first.
pub(crate) fn list(connection: &Connection, filter: &TaskFilter) -> Result<Vec<TaskRow>, Error> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT t.*, s.id AS session_id FROM task t JOIN session s ON s.number = t.session
         WHERE (:session IS NULL OR s.id = :session) AND (:tenant IS NULL OR t.tenant = :tenant) AND {VISIBLE}
             AND (:ending IS NULL OR substr(t.id, -length(:ending)) = :ending)
             AND (:after IS NULL OR (t.started_at, t.number) < (SELECT started_at, number FROM task WHERE id = :after))
         ORDER BY t.started_at DESC, t.number DESC LIMIT :limit + 0",
    ))?;
    let mut rows = statement.query(named_params! {
        ":session": filter.session.as_ref().map(SessionId::as_str),
        ":tenant": filter.tenant,
        ":person": filter.visible.person,
        ":agents": column::names(filter.visible.agents.as_deref())?,
        ":ending": filter.ending,
        ":after": filter.after,
        ":limit": if filter.limit == 0 { -1 } else { column::limit(filter.limit) },
    })?;
    let mut tasks = Vec::new();
    while let Some(row) = rows.next()? {
        tasks.push(read(row)?);
    }
    Ok(tasks)
}

/// One task by its id, or by a unique end of it.
pub(crate) fn one(connection: &Connection, id: &str) -> Result<Option<TaskRow>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT t.*, s.id AS session_id FROM task t JOIN session s ON s.number = t.session
         WHERE t.id = ?1 OR (length(?1) >= 4 AND substr(t.id, -length(?1)) = ?1) ORDER BY t.id = ?1 DESC LIMIT 2",
    )?;
    let mut rows = statement.query([id])?;
    let Some(first) = rows.next()?.map(read).transpose()? else {
        return Ok(None);
    };
    let is_unique = first.id == id || rows.next()?.is_none();
    Ok(is_unique.then_some(first))
}

fn read(row: &Row<'_>) -> Result<TaskRow, Error> {
    let group: Option<i32> = row.get("group_id")?;
    let started = column::count(row, "group_started").unwrap_or(0);
    Ok(TaskRow {
        id: row.get("id")?,
        session: column::needed(row, "session_id", SessionId::parse)?,
        kind: row.get("kind")?,
        title: row.get("title")?,
        status: serde_json::from_value(Value::String(row.get("status")?))?,
        process_group: group.map(|group| (group, started)),
        detail: row.get("detail")?,
        started_at: Timestamp(row.get("started_at")?),
        ended_at: column::moment(row, "ended_at")?,
        child: column::id(row, "child", SessionId::parse)?,
        data: serde_json::from_str(row.get_ref("data")?.as_str().unwrap_or("{}"))?,
    })
}

/// The same word as in JSON.
fn status_word(status: TaskStatus) -> Result<Option<String>, Error> {
    Ok(serde_json::to_value(status)?.as_str().map(str::to_owned))
}
