//! Runs, found by the events they begin and end with.

use rooftree_protocol::{Account, Event, RunId, SessionId, Timestamp, Usage, event::VERSION};
use rusqlite::{Connection, Row, named_params};

use super::{column, sessions::VISIBLE, shared_text};
use crate::{Error, RunFilter, RunRow};

/// Runs, the latest first.
pub(crate) fn list(connection: &Connection, filter: &RunFilter) -> Result<Vec<RunRow>, Error> {
    let by = match (&filter.run, &filter.parent) {
        (Some(_), _) => "j.run = :run",
        (None, Some(_)) => "j.parent_run = :parent",
        (None, None) => "j.run IS NOT NULL",
    };
    let sql = format!(
        "SELECT j.*, s.id AS session_id, s.agent AS agent FROM journal j JOIN session s ON s.number = j.session
         WHERE {by} AND j.type = 'run.started' AND (:run IS NULL OR j.run = :run)
             AND (:parent IS NULL OR j.parent_run = :parent) AND (:session IS NULL OR s.id = :session)
             AND (NOT :roots OR j.parent_run IS NULL)
             AND (:ending IS NULL OR substr(j.run, -length(:ending)) = :ending)
             AND (:before IS NULL OR j.id < (SELECT id FROM journal WHERE run = :before AND type = 'run.started'))
             AND (:tenant IS NULL OR s.tenant = :tenant) AND {VISIBLE}
         ORDER BY j.id DESC LIMIT :limit + 0"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(named_params! {
        ":run": filter.run.as_ref().map(RunId::as_str),
        ":parent": filter.parent.as_ref().map(RunId::as_str),
        ":session": filter.session.as_ref().map(SessionId::as_str),
        ":roots": filter.roots,
        ":ending": filter.ending,
        ":before": filter.before.as_ref().map(RunId::as_str),
        ":tenant": filter.tenant,
        ":person": filter.visible.person,
        ":agents": column::names(filter.visible.agents.as_deref())?,
        ":limit": if filter.limit == 0 { -1 } else { column::limit(filter.limit) },
    })?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next()? {
        let started = read(connection, row)?;
        let ended = end_of(connection, &started)?;
        runs.push(RunRow { started, ended });
    }
    Ok(runs)
}

/// What the last runs of an agent used, with all they delegated, the latest first.
pub(crate) fn past(
    connection: &Connection,
    account: &Account,
    agent: &str,
    limit: usize,
) -> Result<Vec<Usage>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT json_extract(j.data, '$.usage'), json_extract(j.data, '$.delegated')
         FROM (SELECT number FROM session INDEXED BY session_agent
                 WHERE tenant = :tenant AND person = :person AND agent = :agent ORDER BY rested_at DESC LIMIT :limit) s
             JOIN journal j ON j.id IN (SELECT id FROM journal INDEXED BY journal_end
                 WHERE session = s.number AND type = 'run.completed' ORDER BY seq DESC LIMIT :limit)
         ORDER BY j.id DESC LIMIT :limit",
    )?;
    let rows = statement.query_map(
        named_params! {
            ":tenant": account.tenant, ":person": account.person, ":agent": agent, ":limit": column::limit(limit),
        },
        |row| Ok([row.get::<_, Option<String>>(0)?, row.get(1)?]),
    )?;
    let mut past = Vec::new();
    for row in rows {
        let mut sum = Usage::none();
        for used in row?.iter().flatten() {
            sum += serde_json::from_str::<Usage>(used)?;
        }
        past.push(sum);
    }
    Ok(past)
}

fn end_of(connection: &Connection, started: &Event) -> Result<Option<Event>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT j.*, s.id AS session_id, s.agent AS agent FROM journal j JOIN session s ON s.number = j.session
         WHERE j.run = :run AND j.type = 'run.completed' AND s.id = :session",
    )?;
    let run = started.run.as_ref().map(RunId::as_str);
    let mut rows =
        statement.query(named_params! { ":run": run, ":session": started.session.as_str() })?;
    rows.next()?.map(|row| read(connection, row)).transpose()
}

fn read(connection: &Connection, row: &Row<'_>) -> Result<Event, Error> {
    let (name, data): (String, String) = (row.get("type")?, row.get("data")?);
    let copies: Option<String> = row.get("copies")?;
    let data = shared_text::whole_data(connection, row.get("session")?, &data, copies.as_deref())?;
    Ok(Event {
        v: VERSION,
        id: Some(column::count(row, "seq")?),
        ts: Timestamp(row.get("ts")?),
        session: column::needed(row, "session_id", SessionId::parse)?,
        run: column::id(row, "run", RunId::parse)?,
        parent_run: column::id(row, "parent_run", RunId::parse)?,
        agent: row.get("agent")?,
        who: column::json(row, "who")?,
        body: serde_json::from_str(&format!(r#"{{"type":"{name}","data":{data}}}"#))?,
    })
}
