//! Visibility of sessions: a principal sees his own, and with a bound token those below sessions of its agents.

use rooftree_protocol::{Principal, Session, SessionId};
use rooftree_store::{Error, Store};

/// Sessions above a delegated one at most. Beyond that it is not visible.
const MOST_ABOVE: usize = 64;

/// The session with this id, deleted ones included, if this principal may see it.
pub(crate) async fn find(
    store: &dyn Store,
    who: &Principal,
    id: &SessionId,
) -> Result<Option<Session>, Error> {
    match store.session(id).await? {
        Some(session) if may_see(store, who, &session).await? => Ok(Some(session)),
        _ => Ok(None),
    }
}

/// Whether this principal may see a session. Invariant: a delegated session is visible if the topmost one above it is,
/// so a token that is bound to agents sees what they delegate, and not what others delegate to them.
pub(crate) async fn may_see(
    store: &dyn Store,
    who: &Principal,
    session: &Session,
) -> Result<bool, Error> {
    if !who.may_see_account(&session.account) {
        return Ok(false);
    }
    if who.agents.is_none() {
        return Ok(true);
    }
    let mut parent = session.parent.as_ref().map(|parent| parent.session.clone());
    let mut agent = session.agent.clone();
    for _ in 0..MOST_ABOVE {
        let Some(id) = parent else {
            return Ok(who.may_use(&agent));
        };
        let Some(above) = store.session(&id).await? else {
            return Ok(false);
        };
        parent = above.parent.map(|parent| parent.session);
        agent = above.agent;
    }
    Ok(false)
}
