//! Unfinished sessions, which a restart resumes.

use rooftree_protocol::SessionId;
use rusqlite::Connection;

use super::column;
use crate::Error;

/// The list in brackets is read from two small indexes, so that a million idle sessions cost nothing;
/// what follows leaves out those that only have silent messages, and those that are done after all.
const UNFINISHED: &str = "SELECT id FROM session s
    WHERE number IN (SELECT number FROM session WHERE run IS NOT NULL UNION ALL SELECT session FROM mailbox WHERE waits = 1)
        AND (run IS NOT NULL
            OR EXISTS (SELECT 1 FROM mailbox m WHERE m.session = s.number AND s.mail_done < m.mail_posted)
            OR EXISTS (
                SELECT 1 FROM inbox i WHERE i.session = s.number AND i.lane = 'boundary'
                    AND i.position > s.boundary_taken AND i.silent = 0))
        AND deleted_at IS NULL
    ORDER BY number";

/// Their ids, oldest first.
pub(crate) fn unfinished(connection: &Connection) -> Result<Vec<SessionId>, Error> {
    let mut statement = connection.prepare_cached(UNFINISHED)?;
    let mut rows = statement.query([])?;
    let mut ids = Vec::new();
    while let Some(row) = rows.next()? {
        ids.push(column::needed(row, "id", SessionId::parse)?);
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::connect;

    #[test]
    fn idle_sessions_are_not_even_looked_at() {
        let directory = tempfile::TempDir::new().unwrap();
        let connection = connect::writer(&directory.path().join("rooftree.db")).unwrap();
        let mut plan = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {UNFINISHED}"))
            .unwrap();
        let steps = plan
            .query_map([], |row| row.get::<_, String>("detail"))
            .unwrap();
        let steps: Vec<_> = steps.map(Result::unwrap).collect();
        for index in ["session_run", "mailbox_waits"] {
            assert!(
                steps.iter().any(|step| step.contains(index)),
                "{index}: {steps:?}"
            );
        }
        assert!(
            steps.iter().any(|step| step.starts_with("SEARCH s ")),
            "{steps:?}"
        );
    }
}
