//! The board: finds the root sessions that ask for attention and the latest of the rest, without reading journals.
//!
//! Invariant: its cost follows from what is open, unseen, pinned and shown, not from how many sessions there are. Each
//! statement below reads one small index; a test looks at their plans.

use std::collections::{BTreeSet, HashMap};

use rooftree_protocol::{SessionId, Timestamp, Usage};
use rooftree_view::board::SessionActivity;
use rusqlite::{Connection, Row, named_params, params};

use super::{activity, claims, column, inquiries, outbox, read_marks, schedules, sessions};
use crate::{BoardChild, BoardCursor, BoardQuery, BoardRecord, BoardRecords, Error, Inquiry};

/// Root sessions that ask for attention, each by an index of its own.
const URGENT: [&str; 7] = [
    "SELECT coalesce(root_number, number) FROM session INDEXED BY session_run WHERE run IS NOT NULL AND tenant = :tenant",
    "SELECT coalesce(s.root_number, s.number) FROM mailbox m JOIN session s ON s.number = m.session
     WHERE m.waits = 1 AND s.tenant = :tenant",
    "SELECT coalesce(s.root_number, s.number) FROM inquiry i JOIN session s ON s.number = i.session
     WHERE i.settled = 0 AND s.tenant = :tenant",
    "SELECT number FROM session INDEXED BY session_failed WHERE unseen_failure = 1 AND tenant = :tenant",
    "SELECT coalesce(root_number, number) FROM session INDEXED BY session_pinned WHERE pinned_at IS NOT NULL AND tenant = :tenant",
    "SELECT coalesce(s.root_number, s.number) FROM outbox o INDEXED BY outbox_undelivered JOIN session s ON s.id = o.session
     WHERE o.state IN ('unknown', 'dead') AND o.tenant = :tenant",
    "SELECT s.number FROM schedule p INDEXED BY schedule_off JOIN session s ON s.id = p.off_session
     WHERE p.off_session IS NOT NULL AND p.tenant = :tenant",
];

/// The others, the latest first: of a whole tenant, or of one person.
const REST: [&str; 2] = [
    "SELECT number, id, rested_at, agent FROM session INDEXED BY session_rested
     WHERE root_number IS NULL AND deleted_at IS NULL AND tenant = :tenant
         AND rested_at <= :rested_at AND (rested_at, number) < (:rested_at, :number)
     ORDER BY rested_at DESC, number DESC",
    "SELECT number, id, rested_at, agent FROM session INDEXED BY session_rested_person
     WHERE root_number IS NULL AND deleted_at IS NULL AND tenant = :tenant AND person = :person
         AND rested_at <= :rested_at AND (rested_at, number) < (:rested_at, :number)
     ORDER BY rested_at DESC, number DESC",
];

/// A session with an open run, wherever it is in its tree.
const OPEN: &str = "SELECT number, id, root_number, activity, token, owner_host, owner_boot, owner_pid, owner_started, lease, outcome
     FROM session INDEXED BY session_run WHERE run IS NOT NULL AND root_number IS NOT NULL";

/// How the sessions below one ended last.
const CHILDREN: &str =
    "SELECT outcome, count(*) FROM session WHERE root_number = ?1 GROUP BY outcome";

/// What a session and those below it used.
const USED: &str =
    "SELECT sum(input), sum(output), total(cost_usd), coalesce(sum(unpriced), 0) = 0 FROM usage
     WHERE session IN (SELECT ?1 UNION ALL SELECT number FROM session WHERE root_number = ?1)";

/// What of a root session is not in its list entry.
const ROOT: &str =
    "SELECT s.activity, s.person, s.agent, s.deleted_at IS NULL AND s.root_number IS NULL,
         coalesce(m.mail_posted > s.mail_taken, 0),
         s.token, s.owner_host, s.owner_boot, s.owner_pid, s.owner_started, s.lease
     FROM session s LEFT JOIN mailbox m ON m.session = s.number WHERE s.number = ?1";

/// What is read once for all rows.
struct BoardReading<'a> {
    connection: &'a Connection,
    query: &'a BoardQuery,
    inquiries: HashMap<SessionId, Vec<Inquiry>>,
    children: HashMap<i64, Vec<OpenChild>>,
}

/// A session with an open run below another one, and how its run before that ended.
struct OpenChild {
    child: BoardChild,
    outcome: Option<String>,
}

/// One page of the board.
pub(crate) fn page(connection: &Connection, query: &BoardQuery) -> Result<BoardRecords, Error> {
    // All of it is seen at one moment.
    let moment = connection.unchecked_transaction()?;
    let urgent = urgent(&moment, query)?;
    let (rest, next) = rest(&moment, query, &urgent)?;
    let reading = BoardReading {
        connection: &moment,
        query,
        inquiries: open_inquiries(&moment)?,
        children: open_children(&moment)?,
    };
    let mut records = Vec::new();
    let shown = urgent.into_iter().filter(|_| query.after.is_none());
    for number in shown.chain(rest) {
        records.extend(reading.record(number)?);
    }
    Ok(BoardRecords { records, next })
}

fn urgent(connection: &Connection, query: &BoardQuery) -> Result<BTreeSet<i64>, Error> {
    let mut found = BTreeSet::new();
    for sql in URGENT {
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement
            .query_map(named_params! { ":tenant": query.reader.tenant }, |row| {
                row.get(0)
            })?;
        for number in rows {
            found.insert(number?);
        }
    }
    Ok(found)
}

/// The rest of the board after a place, and where it goes on.
fn rest(
    connection: &Connection,
    query: &BoardQuery,
    urgent: &BTreeSet<i64>,
) -> Result<(Vec<i64>, Option<BoardCursor>), Error> {
    let [of_tenant, of_person] = REST;
    let sql = query.person.as_ref().map_or(of_tenant, |_| of_person);
    let begin = match &query.after {
        Some(after) => (
            after.rested_at.0,
            sessions::place(connection, &after.session)?.0,
        ),
        None => (i64::MAX, i64::MAX),
    };
    let mut statement = connection.prepare_cached(sql)?;
    let mut values: Vec<(&str, &dyn rusqlite::ToSql)> = vec![
        (":tenant", &query.reader.tenant as &dyn rusqlite::ToSql),
        (":rested_at", &begin.0),
        (":number", &begin.1),
    ];
    if let Some(person) = &query.person {
        values.push((":person", person));
    }
    let mut rows = statement.query(values.as_slice())?;
    let (mut numbers, mut last) = (Vec::new(), None);
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        if urgent.contains(&number) || !is_of(query, row.get_ref(3)?.as_str().unwrap_or_default()) {
            continue;
        }
        if numbers.len() == query.rest {
            return Ok((numbers, last));
        }
        numbers.push(number);
        last = Some(BoardCursor {
            rested_at: Timestamp(row.get(2)?),
            session: column::needed(row, 1, SessionId::parse)?,
        });
    }
    Ok((numbers, None))
}

fn is_of(query: &BoardQuery, agent: &str) -> bool {
    let agents = query.agents.as_ref();
    agents.is_none_or(|agents| agents.iter().any(|name| name.eq_ignore_ascii_case(agent)))
}

fn open_inquiries(connection: &Connection) -> Result<HashMap<SessionId, Vec<Inquiry>>, Error> {
    let mut found: HashMap<SessionId, Vec<Inquiry>> = HashMap::new();
    for inquiry in inquiries::open(connection, None)? {
        found.entry(inquiry.root.clone()).or_default().push(inquiry);
    }
    Ok(found)
}

fn open_children(connection: &Connection) -> Result<HashMap<i64, Vec<OpenChild>>, Error> {
    let mut found: HashMap<i64, Vec<OpenChild>> = HashMap::new();
    let mut statement = connection.prepare_cached(OPEN)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let child = BoardChild {
            session: column::needed(row, 1, SessionId::parse)?,
            activity: read_activity(row, 3)?,
            claim: claims::read_holder(row, 4)?,
        };
        let outcome = row.get(10)?;
        let root = row.get(2)?;
        found
            .entry(root)
            .or_default()
            .push(OpenChild { child, outcome });
    }
    Ok(found)
}

fn read_activity(row: &Row<'_>, column: usize) -> Result<SessionActivity, Error> {
    let text = row.get_ref(column)?;
    Ok(activity::read(text.as_str().unwrap_or_default()))
}

impl BoardReading<'_> {
    /// The row of a root session; none if it is deleted or not the reader's.
    fn record(&self, number: i64) -> Result<Option<BoardRecord>, Error> {
        let mut statement = self.connection.prepare_cached(ROOT)?;
        let mut rows = statement.query([number])?;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        let (person, agent): (String, String) = (row.get(1)?, row.get(2)?);
        let is_shown: bool = row.get(3)?;
        let is_own = self.query.person.as_ref().is_none_or(|own| *own == person);
        if !is_shown || !is_own || !is_of(self.query, &agent) {
            return Ok(None);
        }
        let Some(session) = sessions::by_number(self.connection, number)? else {
            return Ok(None);
        };
        let open = self.children.get(&number).map_or(&[][..], Vec::as_slice);
        let (children_done, children_failed) = self.ended_children(number, open)?;
        let reader = &self.query.reader;
        let reader = (reader.tenant.as_str(), reader.person.as_str());
        Ok(Some(BoardRecord {
            activity: read_activity(row, 0)?,
            claim: claims::read_holder(row, 5)?,
            mail_waits: row.get(4)?,
            inquiries: self.inquiries.get(&session.id).cloned().unwrap_or_default(),
            open_children: open.iter().map(|open| open.child.clone()).collect(),
            children_done,
            children_failed,
            usage: self.used(number)?,
            undelivered: outbox::undelivered(self.connection, &session)?,
            schedule_off: schedules::shown_failure(self.connection, &session)?,
            read_upto: read_marks::upto(self.connection, reader, number)?,
            session,
        }))
    }

    fn ended_children(&self, root: i64, open: &[OpenChild]) -> Result<(u64, u64), Error> {
        let mut counts: HashMap<String, u64> = HashMap::new();
        let mut statement = self.connection.prepare_cached(CHILDREN)?;
        let mut rows = statement.query([root])?;
        while let Some(row) = rows.next()? {
            if let Some(outcome) = row.get::<_, Option<String>>(0)? {
                counts.insert(outcome, column::count(row, 1)?);
            }
        }
        for outcome in open.iter().filter_map(|open| open.outcome.as_ref()) {
            if let Some(count) = counts.get_mut(outcome) {
                *count = count.saturating_sub(1);
            }
        }
        let count = |name: &str| counts.get(name).copied().unwrap_or(0);
        Ok((count("done"), count("failed")))
    }

    fn used(&self, root: i64) -> Result<Usage, Error> {
        let mut statement = self.connection.prepare_cached(USED)?;
        Ok(statement.query_row(params![root], |row| {
            let count = |at: usize| {
                let sum: Option<i64> = row.get(at)?;
                Ok::<_, rusqlite::Error>(column::unsigned(sum.unwrap_or(0)))
            };
            Ok(Usage {
                input: count(0)?,
                output: count(1)?,
                cost_usd: row.get(2)?,
                cost_complete: row.get(3)?,
                ..Usage::none()
            })
        })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::connect;

    fn plan(connection: &Connection, sql: &str) -> String {
        let mut plan = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap();
        let count = plan.parameter_count();
        let values = vec![rusqlite::types::Value::Null; count];
        let steps = plan
            .query_map(rusqlite::params_from_iter(values), |row| {
                row.get::<_, String>("detail")
            })
            .unwrap();
        steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn no_statement_of_the_board_reads_all_sessions() {
        let directory = tempfile::TempDir::new().unwrap();
        let connection = connect::writer(&directory.path().join("rooftree.db")).unwrap();
        let [of_tenant, of_person] = REST;
        let [open, mail, asked, failed, pinned, undelivered, schedule_off] = URGENT;
        let table = [
            (open, "session_run"),
            (mail, "mailbox_waits"),
            (asked, "inquiry_open"),
            (failed, "session_failed"),
            (pinned, "session_pinned"),
            (undelivered, "outbox_undelivered"),
            (schedule_off, "schedule_off (tenant=? AND off_session>"),
            (of_tenant, "session_rested (tenant=? AND rested_at"),
            (
                of_person,
                "session_rested_person (tenant=? AND person=? AND rested_at",
            ),
            (OPEN, "session_run"),
            (CHILDREN, "session_root"),
            (USED, "session_root"),
            (ROOT, "SEARCH s USING INTEGER PRIMARY KEY"),
        ];
        for (sql, index) in table {
            let plan = plan(&connection, sql);
            assert!(plan.contains(index), "{sql}: {plan}");
            let is_bounded = !plan.contains("SCAN session ;")
                && !plan
                    .split("; ")
                    .any(|step| step.starts_with("SCAN s") && !step.contains("INDEX"))
                && !plan.contains("TEMP B-TREE FOR ORDER");
            assert!(is_bounded, "{sql}: {plan}");
        }
    }
}
