//! Queue of writes: many senders, and one receiver at a time, which takes all that is queued at once.
//!
//! Several threads may wait for their turn to receive; one is notified when items are queued and no thread has the
//! turn. A wake-up for each write would cost more than the write when there are many. So the thread that has the turn
//! and waits for more sets how many items are worth a wake-up, and only the sender that reaches that number wakes it.

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Wake, Waker},
    time::Duration,
};

/// The sending end. When the last clone is dropped, the receiver learns of it.
pub(super) struct QueueSender<T>(Arc<SenderShared<T>>);

impl<T> Clone for QueueSender<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// State shared by all clones of a sender.
struct SenderShared<T>(Arc<WriteQueue<T>>);

/// The receiving end. When it is dropped, items that are sent are dropped too.
pub(super) struct QueueReceiver<T>(Arc<WriteQueue<T>>);

struct WriteQueue<T> {
    state: Mutex<WriteQueueState<T>>,
    /// Notifies the thread that has the turn.
    wake: Condvar,
    /// Notifies threads that wait for the turn.
    call: Condvar,
}

struct WriteQueueState<T> {
    waiting: VecDeque<T>,
    /// How many items must be queued to wake the thread that has the turn; none while it is awake.
    worth: Option<usize>,
    /// Whether to wake it, or keep it from sleeping, whatever the number.
    is_urgent: bool,
    /// Whether a thread has the turn.
    is_taken: bool,
    /// How many threads wait for the turn, whether one of them was notified, and whether one waits with a timeout.
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

/// Creates a queue and returns its two ends.
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
    /// Adds an item, if there is one, and wakes the thread that has the turn if enough are queued, or notifies a
    /// waiting thread if none has the turn.
    fn add(&self, item: Option<T>, is_urgent: bool) {
        let mut state = self.state();
        if !state.has_exit {
            // Dropping an item may run code that takes this lock.
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

    /// Waits for a notification; returns true on timeout.
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
    /// Whether there is work and no thread has the turn.
    fn is_needed(&self) -> bool {
        !self.is_taken && (!self.waiting.is_empty() || self.is_urgent)
    }

    /// Whether to notify a waiting thread; if so, marks one as notified.
    fn calls(&mut self) -> bool {
        let calls = self.is_needed() && self.idle > 0 && !self.is_called;
        self.is_called |= calls;
        calls
    }
}

impl<T> QueueSender<T> {
    /// Adds an item at the end of the queue.
    pub(super) fn put(&self, item: T) {
        self.0.0.add(Some(item), false);
    }

    /// The same, and wakes the receiver at once.
    pub(super) fn put_urgent(&self, item: T) {
        self.0.0.add(Some(item), true);
    }

    /// The same without a wake-up: the item is taken with the next one, unless [`QueueSender::waker`] is used.
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
    /// Wakes the receiver, if an item is queued. It is not a sender: it does not keep the queue open.
    pub(super) fn waker(&self) -> Waker {
        Arc::clone(&self.0.0).into()
    }

    /// Wakes the receiver, even without an item. It is not a sender either.
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
    /// Waits until there is work and no thread has the turn: then it is the caller's turn, until
    /// [`QueueReceiver::end`].
    pub(super) fn begin(&self, limit: Option<Duration>) -> Result<(), QueueEmpty> {
        let mut state = self.0.state();
        loop {
            if state.is_needed() {
                state.is_taken = true;
                return Ok(());
            }
            // The thread that has the turn handles what is left.
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

    /// Ends the caller's turn, and notifies a waiting thread if there is work.
    pub(super) fn end(&self) {
        let mut state = self.0.state();
        state.is_taken = false;
        let is_call = state.calls();
        drop(state);
        if is_call {
            self.0.call.notify_one();
        }
    }

    /// Moves all queued items to the end of `into`, without waiting.
    pub(super) fn take_all(&self, into: &mut VecDeque<T>) {
        let mut state = self.0.state();
        state.is_urgent = false;
        if into.is_empty() {
            mem::swap(&mut state.waiting, into);
        } else {
            into.append(&mut state.waiting);
        }
    }

    /// Puts items that were taken and not used back at the front.
    pub(super) fn put_back(&self, mut taken: VecDeque<T>) {
        if !taken.is_empty() {
            let mut state = self.0.state();
            taken.append(&mut state.waiting);
            state.waiting = taken;
        }
    }

    /// Waits, during the caller's turn, until `worth` items are queued, one is urgent, or the timeout is over. `Ok`
    /// after a timeout if at least one item is queued.
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
