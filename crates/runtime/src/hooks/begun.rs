//! Which sessions have begun in this process, so that each begins and ends once for its hooks.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use rooftree_protocol::SessionId;

use super::{Hook, Occasion};

/// The sessions that have begun, and those that begin anew.
#[derive(Default)]
pub(crate) struct Begun(Mutex<HashMap<SessionId, State>>);

enum State {
    /// It has begun on this occasion, and its agent has these hooks of its own.
    Begun(Box<Occasion>, Vec<Hook>),
    /// It was cleared and begins anew.
    Cleared,
}

/// How a session is to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// For the first time in this process.
    First,
    /// After it was cleared.
    Cleared,
    /// It has begun already.
    Done,
}

impl Begun {
    /// How a session is to begin.
    pub(crate) fn how(&self, session: &SessionId) -> Beginning {
        match self.lock().get(session) {
            None => Beginning::First,
            Some(State::Cleared) => Beginning::Cleared,
            Some(State::Begun(..)) => Beginning::Done,
        }
    }

    /// It has begun; its agent has these hooks of its own.
    pub(crate) fn begin(&self, occasion: Occasion, own: Vec<Hook>) {
        self.lock().insert(occasion.session.clone(), State::Begun(Box::new(occasion), own));
    }

    /// It was cleared.
    pub(crate) fn clear(&self, session: &SessionId) {
        self.lock().insert(session.clone(), State::Cleared);
    }

    /// All that have begun and not ended, in order; they end now.
    pub(crate) fn end_all(&self) -> Vec<(Occasion, Vec<Hook>)> {
        let all = std::mem::take(&mut *self.lock());
        let begun = all.into_values().filter_map(|state| match state {
            State::Begun(occasion, own) => Some((*occasion, own)),
            State::Cleared => None,
        });
        let mut begun: Vec<(Occasion, Vec<Hook>)> = begun.collect();
        begun.sort_by(|(one, _), (other, _)| one.session.cmp(&other.session));
        begun
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, State>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
