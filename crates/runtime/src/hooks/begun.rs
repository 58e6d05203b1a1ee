//! Which sessions have begun in this process, so that each begins and ends once for its hooks.
//!
//! So many are remembered, and no more: the one that was left alone for longest ends for its hooks, and
//! begins again when somebody comes back to it.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use rooftree_protocol::SessionId;

use super::{Hook, Occasion};

/// Sessions that are remembered.
const MOST: usize = 1_000;

/// The sessions that have begun, and those that begin anew.
pub(crate) struct Begun {
    most: usize,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    sessions: HashMap<SessionId, (u64, State)>,
    /// Counts whenever one is looked at, so that it is known which was looked at last.
    looks: u64,
}

enum State {
    /// It has begun on this occasion, and its agent has these hooks of its own.
    Begun(Box<Occasion>, Vec<Hook>),
    /// It was cleared and begins anew.
    Cleared,
}

/// A session that is left: the occasion of its end, and the hooks of its agent.
pub(crate) type Left = (Occasion, Vec<Hook>);

/// How a session is to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// For the first time in this process, as far as that is remembered.
    First,
    /// After it was cleared.
    Cleared,
    /// It has begun already.
    Done,
}

impl Default for Begun {
    fn default() -> Self {
        Self { most: MOST, known: Mutex::default() }
    }
}

impl Begun {
    /// How a session is to begin.
    pub(crate) fn how(&self, session: &SessionId) -> Beginning {
        let mut known = self.lock();
        let now = known.now();
        match known.sessions.get_mut(session) {
            None => Beginning::First,
            Some((_, State::Cleared)) => Beginning::Cleared,
            Some((looked_at, State::Begun(..))) => {
                *looked_at = now;
                Beginning::Done
            }
        }
    }

    /// It has begun; its agent has these hooks of its own. Gives the session that is left for it, if one is.
    #[must_use]
    pub(crate) fn begin(&self, occasion: Occasion, own: Vec<Hook>) -> Option<Left> {
        let session = occasion.session.clone();
        self.add(session, State::Begun(Box::new(occasion), own))
    }

    /// It was cleared. Gives the session that is left for it, if one is.
    #[must_use]
    pub(crate) fn clear(&self, session: &SessionId) -> Option<Left> {
        self.add(session.clone(), State::Cleared)
    }

    /// All that have begun and not ended, in order; they end now.
    pub(crate) fn end_all(&self) -> Vec<Left> {
        let all = std::mem::take(&mut self.lock().sessions);
        let mut begun: Vec<Left> = all.into_values().filter_map(|(_, state)| state.left()).collect();
        begun.sort_by(|(one, _), (other, _)| one.session.cmp(&other.session));
        begun
    }

    fn add(&self, session: SessionId, state: State) -> Option<Left> {
        let mut known = self.lock();
        let now = known.now();
        known.sessions.insert(session, (now, state));
        if known.sessions.len() <= self.most {
            return None;
        }
        let oldest = known.sessions.iter().min_by_key(|(_, (looked_at, _))| *looked_at);
        let oldest = oldest.map(|(session, _)| session.clone())?;
        known.sessions.remove(&oldest)?.1.left()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn now(&mut self) -> u64 {
        self.looks += 1;
        self.looks
    }
}

impl State {
    fn left(self) -> Option<Left> {
        match self {
            Self::Begun(occasion, own) => Some((*occasion, own)),
            Self::Cleared => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::Point;

    #[test]
    fn the_one_left_alone_for_longest_ends_when_there_are_too_many() {
        let begun = Begun { most: 2, known: Mutex::default() };
        let begin = |number: u128| {
            let session = SessionId::from_entropy(number);
            let mut occasion = Occasion::sample(Point::SessionEnd, "/".into(), serde_json::Map::new());
            occasion.session = session.clone();
            let left = begun.begin(occasion, Vec::new());
            (session, left.map(|(occasion, _)| occasion.session))
        };
        let ((first, none), (second, neither)) = (begin(1), begin(2));
        assert_eq!((none, neither), (None, None));
        assert_eq!(begun.how(&first), Beginning::Done);
        let (third, left) = begin(3);
        assert_eq!(left.as_ref(), Some(&second), "the first was looked at since");
        assert_eq!(begun.how(&second), Beginning::First, "it begins again when somebody comes back");
        assert!(begun.clear(&SessionId::from_entropy(4)).is_some());
        let ended: Vec<SessionId> =
            begun.end_all().into_iter().map(|(occasion, _)| occasion.session).collect();
        assert_eq!(ended, [third]);
    }
}
