//! Tracks the sessions that have begun in this process, so that each begins and ends once for its hooks.
//!
//! A bounded number is tracked: the least recently used one ends for its hooks, and begins again when a client returns
//! to it.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use rooftree_protocol::SessionId;

use super::{ConfiguredHook, HookPayload};

/// Sessions that are remembered.
const MOST: usize = 1_000;

/// The sessions that have begun, and those that begin anew.
pub(crate) struct SessionTracker {
    most: usize,
    known: Mutex<TrackedSessions>,
}

#[derive(Default)]
struct TrackedSessions {
    sessions: HashMap<SessionId, (u64, TrackedState)>,
    /// Counts whenever one is looked at, so that it is known which was looked at last.
    looks: u64,
}

enum TrackedState {
    /// It has begun on this occasion, and its agent has these hooks of its own.
    Begun(Box<HookPayload>, Vec<ConfiguredHook>),
    /// It was cleared and begins anew.
    Cleared,
}

/// A session that is left: the occasion of its end, and the hooks of its agent.
pub(crate) type EndedSession = (HookPayload, Vec<ConfiguredHook>);

/// How a session is to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionBeginning {
    /// For the first time in this process, as far as that is remembered.
    First,
    /// After it was cleared.
    Cleared,
    /// It has begun already.
    Done,
}

impl Default for SessionTracker {
    fn default() -> Self {
        Self {
            most: MOST,
            known: Mutex::default(),
        }
    }
}

impl SessionTracker {
    /// How a session is to begin.
    pub(crate) fn how(&self, session: &SessionId) -> SessionBeginning {
        let mut known = self.lock();
        let now = known.now();
        match known.sessions.get_mut(session) {
            None => SessionBeginning::First,
            Some((_, TrackedState::Cleared)) => SessionBeginning::Cleared,
            Some((looked_at, TrackedState::Begun(..))) => {
                *looked_at = now;
                SessionBeginning::Done
            }
        }
    }

    /// It has begun; its agent has these hooks of its own. Gives the session that is left for it, if one is.
    #[must_use]
    pub(crate) fn begin(
        &self,
        payload: HookPayload,
        own: Vec<ConfiguredHook>,
    ) -> Option<EndedSession> {
        let session = payload.session.clone();
        self.add(session, TrackedState::Begun(Box::new(payload), own))
    }

    /// It was cleared. Gives the session that is left for it, if one is.
    #[must_use]
    pub(crate) fn clear(&self, session: &SessionId) -> Option<EndedSession> {
        self.add(session.clone(), TrackedState::Cleared)
    }

    /// All that have begun and not ended, in order; they end now.
    pub(crate) fn end_all(&self) -> Vec<EndedSession> {
        let all = std::mem::take(&mut self.lock().sessions);
        let mut tracker: Vec<EndedSession> = all
            .into_values()
            .filter_map(|(_, state)| state.left())
            .collect();
        tracker.sort_by(|(one, _), (other, _)| one.session.cmp(&other.session));
        tracker
    }

    fn add(&self, session: SessionId, state: TrackedState) -> Option<EndedSession> {
        let mut known = self.lock();
        let now = known.now();
        known.sessions.insert(session, (now, state));
        if known.sessions.len() <= self.most {
            return None;
        }
        let oldest = known
            .sessions
            .iter()
            .min_by_key(|(_, (looked_at, _))| *looked_at);
        let oldest = oldest.map(|(session, _)| session.clone())?;
        known.sessions.remove(&oldest)?.1.left()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, TrackedSessions> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TrackedSessions {
    fn now(&mut self) -> u64 {
        self.looks += 1;
        self.looks
    }
}

impl TrackedState {
    fn left(self) -> Option<EndedSession> {
        match self {
            Self::Begun(payload, own) => Some((*payload, own)),
            Self::Cleared => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::HookPoint;

    #[test]
    fn the_one_left_alone_for_longest_ends_when_there_are_too_many() {
        let tracker = SessionTracker {
            most: 2,
            known: Mutex::default(),
        };
        let begin = |number: u128| {
            let session = SessionId::from_entropy(number);
            let mut payload =
                HookPayload::sample(HookPoint::SessionEnd, "/".into(), serde_json::Map::new());
            payload.session = session.clone();
            let left = tracker.begin(payload, Vec::new());
            (session, left.map(|(payload, _)| payload.session))
        };
        let ((first, none), (second, neither)) = (begin(1), begin(2));
        assert_eq!((none, neither), (None, None));
        assert_eq!(tracker.how(&first), SessionBeginning::Done);
        let (third, left) = begin(3);
        assert_eq!(
            left.as_ref(),
            Some(&second),
            "the first was looked at since"
        );
        assert_eq!(
            tracker.how(&second),
            SessionBeginning::First,
            "it begins again when somebody comes back"
        );
        assert!(tracker.clear(&SessionId::from_entropy(4)).is_some());
        let ended: Vec<SessionId> = tracker
            .end_all()
            .into_iter()
            .map(|(payload, _)| payload.session)
            .collect();
        assert_eq!(ended, [third]);
    }
}
