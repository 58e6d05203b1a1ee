//! Makes schedules due that wait for the end of a run, in the commit that ends it.

use rusqlite::{Connection, named_params};

use super::occurrences::OccurrenceStep;
use crate::Error;

/// Invariant: a run that a schedule of kind `event` began makes none due, so that they do not begin each other forever.
/// Invariant: a moment that has an occurrence is no due time again, so an event in the same millisecond is not lost.
const RUN_ENDED: &str = "UPDATE schedule SET (next_due, wake_at) =
         (SELECT free, free FROM (SELECT coalesce(max(o.due) + 1, :at) AS free FROM occurrence o
             WHERE o.schedule = schedule.id AND o.due >= :at))
     WHERE id IN (SELECT p.id FROM session s JOIN schedule p INDEXED BY schedule_event
             ON p.tenant = s.tenant AND p.person = s.person
         WHERE s.number = :session AND s.root_number IS NULL AND p.kind = 'event' AND p.enabled = 1
             AND p.plan ->> '$.kind.on.event' = 'run_ended'
             AND coalesce(p.plan ->> '$.kind.on.agent', s.agent) = s.agent COLLATE NOCASE
             AND coalesce(p.plan ->> '$.kind.on.status', :status) = :status
             AND NOT EXISTS (SELECT 1 FROM occurrence o JOIN schedule cause ON cause.id = o.schedule
                 WHERE o.run = :run AND cause.kind = 'event'))";

/// A run of this session may have ended.
pub(crate) fn run_ended(
    connection: &Connection,
    session: i64,
    step: &OccurrenceStep,
) -> Result<(), Error> {
    let Some(status) = step.ended() else {
        return Ok(());
    };
    connection
        .prepare_cached(RUN_ENDED)?
        .execute(named_params! {
            ":at": step.at.0,
            ":session": session,
            ":status": status.to_string(),
            ":run": step.run.as_str(),
        })?;
    Ok(())
}
