//! In-memory cache of folded histories: what agents at rest knew of their sessions, so that the next message does not
//! read the whole journal again.
//!
//! Invariant: an entry is used only by the claim that follows the one it was made under, at the same head of the
//! journal. So nothing was appended in between, and it equals what folding the journal would give.

use std::{
    any::Any,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use rooftree_protocol::SessionId;

/// Maximum number of cached sessions.
const SESSIONS: usize = 64;

/// Maximum sum of the estimated tokens of all cached sessions (a token is about four bytes of text).
const TOKENS: u64 = 16_000_000;

/// Place of a cached session in its journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RestingPlace {
    /// The number of the last event.
    pub(crate) head: u64,
    /// The number of the claim it was made under.
    pub(crate) fence: u64,
}

/// The state of one session. Its type is known to agents only.
type RestingState = Arc<dyn Any + Send + Sync>;

struct RestingSession {
    session: SessionId,
    place: RestingPlace,
    tokens: u64,
    state: RestingState,
}

/// The sessions at rest that this process knows, the longest unused first.
#[derive(Default)]
pub(crate) struct RestingSessions {
    known: Mutex<Vec<RestingSession>>,
    /// How many events were read to fold journals since the runtime started.
    folded: AtomicU64,
}

impl RestingSessions {
    /// Keeps a state, instead of an older one of the same session.
    pub(crate) fn keep(
        &self,
        session: SessionId,
        place: RestingPlace,
        tokens: u64,
        state: RestingState,
    ) {
        let mut known = self.lock();
        known.retain(|known| known.session != session);
        known.push(RestingSession {
            session,
            place,
            tokens,
            state,
        });
        let is_too_much = |known: &[RestingSession]| {
            known.len() > SESSIONS || known.iter().map(|known| known.tokens).sum::<u64>() > TOKENS
        };
        while is_too_much(&known) {
            known.remove(0);
        }
    }

    /// Takes the state of a session that was claimed at this place; none if another process had it in between.
    pub(crate) fn take(&self, session: &SessionId, claimed: RestingPlace) -> Option<RestingState> {
        let mut known = self.lock();
        let at = known.iter().position(|known| known.session == *session)?;
        let found = known.remove(at);
        let is_next = found.place.head == claimed.head && found.place.fence + 1 == claimed.fence;
        is_next.then_some(found.state)
    }

    /// Counts events that were read to fold a journal.
    pub(crate) fn count_folded(&self, events: usize) {
        let events = u64::try_from(events).unwrap_or(u64::MAX);
        self.folded.fetch_add(events, Ordering::Relaxed);
    }

    /// How many events were read to fold journals.
    pub(crate) fn folded(&self) -> u64 {
        self.folded.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RestingSession>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_4c_a_state_is_used_only_by_the_next_claim_at_the_same_head() {
        let sessions = RestingSessions::default();
        let session = SessionId::derived_from("one");
        let place = |head, fence| RestingPlace { head, fence };
        for (claimed, is_used) in [
            (place(7, 4), true),
            (place(8, 4), false),
            (place(7, 5), false),
            (place(7, 3), false),
        ] {
            sessions.keep(session.clone(), place(7, 3), 1, Arc::new(()));
            assert_eq!(
                sessions.take(&session, claimed).is_some(),
                is_used,
                "{claimed:?}"
            );
            assert!(sessions.take(&session, claimed).is_none(), "taken once");
        }
    }

    #[test]
    fn p_4c_the_longest_unused_states_are_evicted() {
        let sessions = RestingSessions::default();
        let place = RestingPlace { head: 1, fence: 1 };
        let session = |number: usize| SessionId::derived_from(&number.to_string());
        for number in 0..=SESSIONS {
            sessions.keep(session(number), place, 1, Arc::new(()));
        }
        assert_eq!(sessions.lock().len(), SESSIONS);
        assert!(
            sessions
                .lock()
                .iter()
                .all(|known| known.session != session(0))
        );
        sessions.keep(session(0), place, TOKENS, Arc::new(()));
        assert_eq!(sessions.lock().len(), 1, "a large one takes all the room");
    }
}
