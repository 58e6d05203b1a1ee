//! Rows of inquiries (questions to people). The first answer is kept; each later one gets `Late`.

use rooftree_protocol::{InquiryResponse, RunId, SessionId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{column, sessions};
use crate::{AnswerOutcome, Error, Inquiry, InquiryAnswer, InquiryHistoryFilter};

const COLUMNS: &str =
    "SELECT i.*, s.id AS session_id FROM inquiry i JOIN session s ON s.number = i.session";

/// Keeps a question. One that is asked again after a crash is the one it was.
pub(crate) fn ask(connection: &Connection, inquiry: &Inquiry) -> Result<(), Error> {
    let (number, _) = sessions::place(connection, &inquiry.session)?;
    connection
        .prepare_cached(
            "INSERT INTO inquiry (id, session, root, run, agent, digest, asked, asked_at, until, tenant)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, (SELECT tenant FROM session WHERE number = ?2)) ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![
            inquiry.id,
            number,
            inquiry.root.as_str(),
            inquiry.run.as_ref().map(RunId::as_str),
            inquiry.agent,
            inquiry.digest,
            serde_json::to_string(&inquiry.asked)?,
            inquiry.asked_at.0,
            inquiry.until.0,
        ])?;
    Ok(())
}

/// Marks an inquiry as settled: the asking agent has continued.
pub(crate) fn settle(connection: &Connection, id: &str) -> Result<(), Error> {
    connection
        .prepare_cached("UPDATE inquiry SET settled = 1 WHERE id = ?1")?
        .execute([id])?;
    Ok(())
}

/// Keeps the first answer.
pub(crate) fn answer(
    connection: &Connection,
    id: &str,
    answered: &InquiryAnswer,
) -> Result<AnswerOutcome, Error> {
    let taken = connection
        .prepare_cached(
            "UPDATE inquiry SET answer = ?2, answered_by = ?3, answered_at = ?4, answered_who = ?5
             WHERE id = ?1 AND answer IS NULL AND settled = 0 AND until > ?4",
        )?
        .execute(params![
            id,
            serde_json::to_string(&answered.response)?,
            answered.by,
            answered.at.0,
            answered
                .who
                .as_ref()
                .map(serde_json::to_string)
                .transpose()?
        ])?;
    Ok(match one(connection, id)? {
        None => AnswerOutcome::Unknown,
        Some(inquiry) if taken == 1 => AnswerOutcome::Taken(Box::new(inquiry)),
        Some(inquiry) => AnswerOutcome::Late(Box::new(inquiry)),
    })
}

/// One inquiry, by its id or by a unique end of it.
pub(crate) fn one(connection: &Connection, id: &str) -> Result<Option<Inquiry>, Error> {
    let query = format!(
        "{COLUMNS} WHERE i.id = ?1 OR (length(?1) >= 4 AND substr(i.id, -length(?1)) = ?1)
         ORDER BY i.id = ?1 DESC LIMIT 2"
    );
    let mut statement = connection.prepare_cached(&query)?;
    let mut rows = statement.query([id])?;
    let Some(first) = rows.next()?.map(read).transpose()? else {
        return Ok(None);
    };
    let is_unique = first.id == id || rows.next()?.is_none();
    Ok(is_unique.then_some(first))
}

/// What is not settled, in the order it was asked.
pub(crate) fn open(
    connection: &Connection,
    root: Option<&SessionId>,
) -> Result<Vec<Inquiry>, Error> {
    let query =
        format!("{COLUMNS} WHERE i.settled = 0 AND (?1 IS NULL OR i.root = ?1) ORDER BY i.number");
    let mut statement = connection.prepare_cached(&query)?;
    let mut rows = statement.query([root.map(SessionId::as_str)])?;
    let mut open = Vec::new();
    while let Some(row) = rows.next()? {
        open.push(read(row)?);
    }
    Ok(open)
}

/// What was answered or settled, the one asked last first.
pub(crate) fn history(
    connection: &Connection,
    filter: &InquiryHistoryFilter,
) -> Result<Vec<Inquiry>, Error> {
    let query = format!(
        "{COLUMNS} WHERE i.tenant = ?1 AND i.asked_at >= ?2 AND (i.settled = 1 OR i.answer IS NOT NULL)
             AND (?3 IS NULL OR (i.asked_at, i.id) < (?3, ?4))
         ORDER BY i.asked_at DESC, i.id DESC LIMIT ?5 + 0"
    );
    let mut statement = connection.prepare_cached(&query)?;
    let after = filter.after.as_ref();
    let mut rows = statement.query(params![
        filter.tenant,
        filter.since.0,
        after.map(|(at, _)| at.0),
        after.map(|(_, id)| id.as_str()),
        column::limit(filter.limit),
    ])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// An exact look-up that takes no ends of ids: what a waiting agent asks.
pub(crate) fn answered(connection: &Connection, id: &str) -> Result<Option<InquiryAnswer>, Error> {
    let row = connection
        .prepare_cached(
            "SELECT answer, answered_by, answered_at, answered_who FROM inquiry WHERE id = ?1 AND answer IS NOT NULL",
        )?
        .query_row([id], |row| {
            let who: Option<String> = row.get(3)?;
            Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?, who))
        })
        .optional()?;
    row.map(|(response, by, at, who)| {
        Ok(InquiryAnswer {
            response: spelled(&response)?,
            by,
            who: who.map(|who| serde_json::from_str(&who)).transpose()?,
            at: Timestamp(at),
        })
    })
    .transpose()
}

fn spelled(response: &str) -> Result<InquiryResponse, Error> {
    Ok(serde_json::from_str(response)?)
}

fn read(row: &Row<'_>) -> Result<Inquiry, Error> {
    let answer = match row.get::<_, Option<String>>("answer")? {
        Some(response) => Some(InquiryAnswer {
            response: spelled(&response)?,
            by: row.get("answered_by")?,
            who: column::json(row, "answered_who")?,
            at: Timestamp(row.get("answered_at")?),
        }),
        None => None,
    };
    let damaged = |problem: rooftree_protocol::Problem| Error::Failed(problem.message);
    Ok(Inquiry {
        id: row.get("id")?,
        session: SessionId::parse(&row.get::<_, String>("session_id")?).map_err(damaged)?,
        root: SessionId::parse(&row.get::<_, String>("root")?).map_err(damaged)?,
        run: row
            .get::<_, Option<String>>("run")?
            .map(|run| RunId::parse(&run))
            .transpose()
            .map_err(damaged)?,
        agent: row.get("agent")?,
        digest: row.get("digest")?,
        asked: serde_json::from_str(&row.get::<_, String>("asked")?)?,
        asked_at: Timestamp(row.get("asked_at")?),
        until: Timestamp(row.get("until")?),
        answer,
        settled: row.get("settled")?,
    })
}
