//! Where writes wait: many put in, and one at a time takes out all that is there at once.
//!
//! Several threads may wait for their turn; one of them is called when there is something to do and nobody at it. A
//! lock and a wake-up for each write would cost a crowd more than its writes. So whoever has the turn and waits for
//! more says how many are worth waking up for, and only the one who makes up that number wakes it.

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Wake, Waker},
    time::Duration,
};

/// The end where things are put in. When the last clone is gone, the other end learns of it.
pub(super) struct QueueSender<T>(Arc<SenderShared<T>>);

impl<T> Clone for QueueSender<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// What all clones of an entry share.
struct SenderShared<T>(Arc<WriteQueue<T>>);

/// The end where things are taken out. When it is gone, what is put in is dropped.
pub(super) struct QueueReceiver<T>(Arc<WriteQueue<T>>);

struct WriteQueue<T> {
    state: Mutex<WriteQueueState<T>>,
    /// For whoever has the turn.
    wake: Condvar,
    /// For those who wait for it.
    call: Condvar,
}

struct WriteQueueState<T> {
    waiting: VecDeque<T>,
    /// How many must wait for whoever has the turn to be woken; none while they are awake.
    worth: Option<usize>,
    /// Whether they are to be woken, or not to fall asleep, whatever the number.
    is_urgent: bool,
    /// Whether somebody has the turn.
    is_taken: bool,
    /// How many wait for it, whether one of them is on the way, and whether one will look up in time.
    idle: usize,
    is_called: bool,
    is_timed: bool,
    has_entry: bool,
    has_exit: bool,
}

/// Why nothing was taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueEmpty {
    /// Nothing came in time.
    Yet,
    /// Nothing will ever come.
    Ever,
}

/// A line and its two ends.
pub(super) fn write_queue<T>() -> (QueueSender<T>, QueueReceiver<T>) {
    let state = WriteQueueState {
        waiting: VecDeque::new(),
        worth: None,
        is_urgent: false,
        is_taken: false,
        idle: 0,
        is_called: false,
        is_timed: false,
        has_entry: true,
        has_exit: true,
    };
    let line = Arc::new(WriteQueue {
        state: Mutex::new(state),
        wake: Condvar::new(),
        call: Condvar::new(),
    });
    (
        QueueSender(Arc::new(SenderShared(Arc::clone(&line)))),
        QueueReceiver(line),
    )
}

impl<T> WriteQueue<T> {
    /// Adds something, if it is something, and wakes whoever has the turn if that is enough, or calls somebody who
    /// has not.
    fn add(&self, item: Option<T>, is_urgent: bool) {
        let mut state = self.state();
        if !state.has_exit {
            // What is dropped may want to know nothing of this lock.
            drop(state);
            return drop(item);
        }
        state.waiting.extend(item);
        state.is_urgent |= is_urgent;
        let is_enough = state
            .worth
            .is_some_and(|worth| is_urgent || state.waiting.len() >= worth);
        if is_enough {
            state.worth = None;
        }
        let is_call = state.calls();
        drop(state);
        if is_enough {
            self.wake.notify_one();
        }
        if is_call {
            self.call.notify_one();
        }
    }

    /// Waits for a call; says whether none came in time.
    fn called<'a>(
        &self,
        state: MutexGuard<'a, WriteQueueState<T>>,
        limit: Option<Duration>,
    ) -> (MutexGuard<'a, WriteQueueState<T>>, bool) {
        match limit {
            None => (
                self.call
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                false,
            ),
            Some(limit) => {
                let waited = self
                    .call
                    .wait_timeout(state, limit)
                    .unwrap_or_else(PoisonError::into_inner);
                (waited.0, waited.1.timed_out())
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, WriteQueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> WriteQueueState<T> {
    /// Whether there is something to do and nobody at it.
    fn is_needed(&self) -> bool {
        !self.is_taken && (!self.waiting.is_empty() || self.is_urgent)
    }

    /// Whether somebody is to be called, who is on the way then.
    fn calls(&mut self) -> bool {
        let calls = self.is_needed() && self.idle > 0 && !self.is_called;
        self.is_called |= calls;
        calls
    }
}

impl<T> QueueSender<T> {
    /// Puts something at the end of the line.
    pub(super) fn put(&self, item: T) {
        self.0.0.add(Some(item), false);
    }

    /// The same, and it is taken out at once.
    pub(super) fn put_urgent(&self, item: T) {
        self.0.0.add(Some(item), true);
    }

    /// The same without waking anybody for it: it goes with what is put in next, unless [`Entry::waker`] is used.
    pub(super) fn put_without_wake(&self, item: T) {
        let mut state = self.0.0.state();
        if state.has_exit {
            state.waiting.push_back(item);
        } else {
            drop(state);
            drop(item);
        }
    }
}

impl<T: Send + 'static> QueueSender<T> {
    /// Wakes whoever takes out, if something waits. It is no entry: nobody counts on whoever has it.
    pub(super) fn waker(&self) -> Waker {
        Arc::clone(&self.0.0).into()
    }

    /// Wakes whoever takes out, even for nothing. No entry either.
    pub(super) fn nudge(&self) -> impl Fn() + Send + Sync + use<T> {
        let line = Arc::clone(&self.0.0);
        move || line.add(None, true)
    }
}

impl<T: Send + 'static> Wake for WriteQueue<T> {
    fn wake(self: Arc<Self>) {
        self.add(None, false);
    }
}

impl<T> Drop for SenderShared<T> {
    fn drop(&mut self) {
        self.0.state().has_entry = false;
        self.0.wake.notify_all();
        self.0.call.notify_all();
    }
}

impl<T> QueueReceiver<T> {
    /// Waits until there is something to do and nobody at it: then it is the caller's turn, until [`Exit::end`].
    pub(super) fn begin(&self, limit: Option<Duration>) -> Result<(), QueueEmpty> {
        let mut state = self.0.state();
        loop {
            if state.is_needed() {
                state.is_taken = true;
                return Ok(());
            }
            // Whoever has the turn does what is left.
            if !state.has_entry {
                return Err(QueueEmpty::Ever);
            }
            state.idle += 1;
            let limit = limit.filter(|_| !state.is_timed);
            state.is_timed |= limit.is_some();
            let is_late;
            (state, is_late) = self.0.called(state, limit);
            state.idle -= 1;
            state.is_called = false;
            if limit.is_some() {
                state.is_timed = false;
            }
            if is_late && !state.is_needed() {
                return Err(QueueEmpty::Yet);
            }
        }
    }

    /// Ends the caller's turn, and calls the next one if there is something to do.
    pub(super) fn end(&self) {
        let mut state = self.0.state();
        state.is_taken = false;
        let is_call = state.calls();
        drop(state);
        if is_call {
            self.0.call.notify_one();
        }
    }

    /// Moves all that waits to the end of `into`, without waiting itself.
    pub(super) fn take_all(&self, into: &mut VecDeque<T>) {
        let mut state = self.0.state();
        state.is_urgent = false;
        if into.is_empty() {
            mem::swap(&mut state.waiting, into);
        } else {
            into.append(&mut state.waiting);
        }
    }

    /// Puts what was taken out, and not used, where it was.
    pub(super) fn put_back(&self, mut taken: VecDeque<T>) {
        if !taken.is_empty() {
            let mut state = self.0.state();
            taken.append(&mut state.waiting);
            state.waiting = taken;
        }
    }

    /// Waits, in one's turn, until so many are there, or something urgent is, or the time is up; then something may be there all
    /// the same.
    pub(super) fn wait_for(&self, worth: usize, limit: Option<Duration>) -> Result<(), QueueEmpty> {
        let mut state = self.0.state();
        while state.waiting.len() < worth && !state.is_urgent {
            if !state.has_entry {
                return if state.waiting.is_empty() {
                    Err(QueueEmpty::Ever)
                } else {
                    Ok(())
                };
            }
            state.worth = Some(worth);
            let Some(limit) = limit else {
                state = self
                    .0
                    .wake
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let (woken, timeout) = self
                .0
                .wake
                .wait_timeout(state, limit)
                .unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if timeout.timed_out() && state.waiting.len() < worth {
                state.worth = None;
                return if state.waiting.is_empty() {
                    Err(QueueEmpty::Yet)
                } else {
                    Ok(())
                };
            }
        }
        state.worth = None;
        Ok(())
    }
}

impl<T> Drop for QueueReceiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.has_exit = false;
        let left = mem::take(&mut state.waiting);
        drop(state);
        drop(left);
    }
}
