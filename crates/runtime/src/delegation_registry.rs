//! Registry of delegated runs at work in this process and their subscribers. Only a shortcut: the answer is in the
//! store.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rooftree_protocol::{RunId, SessionId, event::RunEnd};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// The delegated runs of this process that are at work, and the subscribers to their ends.
#[derive(Default)]
pub(crate) struct DelegationRegistry(Mutex<RegistryState>);

#[derive(Default)]
struct RegistryState {
    waiting: HashMap<RunId, Vec<oneshot::Sender<Arc<RunEnd>>>>,
    /// Cancelled when the calls that wait for a run are to return before it ends.
    detached: HashMap<RunId, CancellationToken>,
    at_work: HashMap<RunId, (SessionId, RunId)>,
    by_session: HashMap<SessionId, usize>,
    by_root: HashMap<RunId, usize>,
}

impl DelegationRegistry {
    /// Will be told how the run ends, if it ends in this process.
    pub(crate) fn subscribe(&self, task: &RunId) -> oneshot::Receiver<Arc<RunEnd>> {
        let (told, wait) = oneshot::channel();
        let mut inner = self.lock();
        let waiting = inner.waiting.entry(task.clone()).or_default();
        waiting.retain(|told| !told.is_closed());
        waiting.push(told);
        wait
    }

    /// Cancelled when the call that waits for the run is to return before it ends.
    pub(crate) fn detachment(&self, task: &RunId) -> CancellationToken {
        let mut inner = self.lock();
        inner.detached.entry(task.clone()).or_default().clone()
    }

    /// Lets the call that waits for a run return. The run goes on. Without such a call nothing happens.
    pub(crate) fn detach(&self, task: &RunId) {
        // A later wait for the same run is another one.
        let waiting = self.lock().detached.remove(task);
        if let Some(token) = waiting {
            token.cancel();
        }
    }

    /// Notes that a run is at work for a session, below a root. Says what is full instead if it would
    /// be one too many.
    pub(crate) fn reserve(
        &self,
        task: &RunId,
        (session, root): (&SessionId, &RunId),
        (children, descendants): (usize, usize),
    ) -> Result<(), DelegationLimit> {
        let mut inner = self.lock();
        if inner.at_work.contains_key(task) {
            return Ok(());
        }
        let at_work = |count: Option<&usize>| count.copied().unwrap_or_default();
        if at_work(inner.by_session.get(session)) >= children {
            return Err(DelegationLimit::Children(children));
        }
        if at_work(inner.by_root.get(root)) >= descendants {
            return Err(DelegationLimit::Descendants(descendants));
        }
        inner
            .at_work
            .insert(task.clone(), (session.clone(), root.clone()));
        *inner.by_session.entry(session.clone()).or_default() += 1;
        *inner.by_root.entry(root.clone()).or_default() += 1;
        Ok(())
    }

    /// Notifies the subscribers that the run has ended and its end is stored.
    pub(crate) fn tell(&self, task: &RunId, end: &Arc<RunEnd>) {
        let mut inner = self.lock();
        let waiting = inner.waiting.remove(task).unwrap_or_default();
        inner.release(task);
        drop(inner);
        for told in waiting {
            let _ = told.send(end.clone());
        }
    }

    /// The run was not started after all.
    pub(crate) fn release(&self, task: &RunId) {
        self.lock().release(task);
    }

    fn lock(&self) -> MutexGuard<'_, RegistryState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RegistryState {
    fn release(&mut self, task: &RunId) {
        self.detached.remove(task);
        let Some((session, root)) = self.at_work.remove(task) else {
            return;
        };
        subtract(&mut self.by_session, &session);
        subtract(&mut self.by_root, &root);
    }
}

fn subtract<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(key);
        }
    }
}

/// The concurrency limit that would be exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DelegationLimit {
    /// So many of this session are at work.
    Children(usize),
    /// So many below this root are at work.
    Descendants(usize),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_per_session_and_per_root_and_given_back() {
        let registry = DelegationRegistry::default();
        let (one, two) = (SessionId::from_entropy(1), SessionId::from_entropy(2));
        let root = RunId::from_entropy(9);
        let run = RunId::from_entropy;
        assert_eq!(registry.reserve(&run(1), (&one, &root), (1, 2)), Ok(()));
        assert_eq!(
            registry.reserve(&run(1), (&one, &root), (1, 2)),
            Ok(()),
            "the same one again"
        );
        assert_eq!(
            registry.reserve(&run(2), (&one, &root), (1, 2)),
            Err(DelegationLimit::Children(1))
        );
        assert_eq!(registry.reserve(&run(3), (&two, &root), (5, 2)), Ok(()));
        assert_eq!(
            registry.reserve(&run(4), (&two, &root), (5, 2)),
            Err(DelegationLimit::Descendants(2))
        );
        registry.release(&run(1));
        assert_eq!(registry.reserve(&run(2), (&one, &root), (1, 2)), Ok(()));
    }
}
