//! Foreground session (the one a person talks to): the one at work, else the one spoken to last.

use rooftree_protocol::{Session, Timestamp};
use rusqlite::Connection;

use super::{
    claims,
    sessions::{self, SessionOrder},
};
use crate::{Error, Owner, SessionFilter};

/// Sessions as a filter wants them: the most recently updated first, or those a person talks to.
pub(crate) fn list(connection: &Connection, filter: &SessionFilter) -> Result<Vec<Session>, Error> {
    if !filter.foreground {
        return sessions::list(connection, filter, SessionOrder::Updated);
    }
    let mut found = Vec::new();
    for session in sessions::list(connection, filter, SessionOrder::Claimed)? {
        if is_at_work(connection, &session)? {
            found.push(session);
        }
    }
    for session in sessions::list(connection, filter, SessionOrder::Spoken)? {
        if found.iter().all(|known| known.id != session.id) {
            found.push(session);
        }
    }
    if filter.limit > 0 {
        found.truncate(filter.limit);
    }
    Ok(found)
}

/// A run that is open is at work only if the process that has claimed it lives: on this host that is known, on
/// another one its lease tells.
fn is_at_work(connection: &Connection, session: &Session) -> Result<bool, Error> {
    let us = Owner::this_process();
    let holder = claims::holder(connection, &session.id)?;
    Ok(holder.is_some_and(|(owner, lease)| {
        !owner.is_dead_for(&us) && (owner.host == us.host || lease > now())
    }))
}

/// The time by this machine's clock.
fn now() -> Timestamp {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
