//! Where writes wait: many put in, and one takes out all that is there at once.
//!
//! A lock and a wake-up for each write would cost a crowd more than its writes. So whoever takes says how
//! many are worth waking up for, and only the one who makes up that number wakes it.

use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Wake, Waker},
    time::Duration,
};

/// The end where things are put in. When the last clone is gone, the other end learns of it.
pub(super) struct Entry<T>(Arc<Door<T>>);

impl<T> Clone for Entry<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// What all clones of an entry share.
struct Door<T>(Arc<Line<T>>);

/// The end where things are taken out. When it is gone, what is put in is dropped.
pub(super) struct Exit<T>(Arc<Line<T>>);

struct Line<T> {
    state: Mutex<State<T>>,
    wake: Condvar,
}

struct State<T> {
    waiting: VecDeque<T>,
    /// How many must wait for the exit to be woken; none while it is awake.
    worth: Option<usize>,
    has_entry: bool,
    has_exit: bool,
}

/// Why nothing was taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nothing {
    /// Nothing came in time.
    Yet,
    /// Nothing will ever come.
    Ever,
}

/// A line and its two ends.
pub(super) fn line<T>() -> (Entry<T>, Exit<T>) {
    let state = State { waiting: VecDeque::new(), worth: None, has_entry: true, has_exit: true };
    let line = Arc::new(Line { state: Mutex::new(state), wake: Condvar::new() });
    (Entry(Arc::new(Door(Arc::clone(&line)))), Exit(line))
}

impl<T> Line<T> {
    /// Adds something, if it is something, and wakes the exit if enough is there.
    fn add(&self, item: Option<T>) {
        let mut state = self.state();
        if !state.has_exit {
            // What is dropped may want to know nothing of this lock.
            drop(state);
            return drop(item);
        }
        state.waiting.extend(item);
        let is_enough = state.worth.is_some_and(|worth| state.waiting.len() >= worth);
        if is_enough {
            state.worth = None;
        }
        drop(state);
        if is_enough {
            self.wake.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Entry<T> {
    /// Puts something at the end of the line.
    pub(super) fn put(&self, item: T) {
        self.0.0.add(Some(item));
    }

    /// The same without waking anybody for it: it goes with what is put in next, unless [`Entry::waker`] is used.
    pub(super) fn lay(&self, item: T) {
        let mut state = self.0.0.state();
        if state.has_exit {
            state.waiting.push_back(item);
        } else {
            drop(state);
            drop(item);
        }
    }
}

impl<T: Send + 'static> Entry<T> {
    /// Wakes whoever takes out, if something waits. It is no entry: nobody counts on whoever has it.
    pub(super) fn waker(&self) -> Waker {
        Arc::clone(&self.0.0).into()
    }
}

impl<T: Send + 'static> Wake for Line<T> {
    fn wake(self: Arc<Self>) {
        self.add(None);
    }
}

impl<T> Drop for Door<T> {
    fn drop(&mut self) {
        self.0.state().has_entry = false;
        self.0.wake.notify_one();
    }
}

impl<T> Exit<T> {
    /// Moves all that waits to the end of `into`, without waiting itself.
    pub(super) fn take_all(&self, into: &mut VecDeque<T>) {
        let mut state = self.0.state();
        if into.is_empty() {
            mem::swap(&mut state.waiting, into);
        } else {
            into.append(&mut state.waiting);
        }
    }

    /// Waits until so many are there, or until nobody has come for as long as the limit says; then
    /// something may be there all the same.
    pub(super) fn wait_for(&self, worth: usize, limit: Option<Duration>) -> Result<(), Nothing> {
        let mut state = self.0.state();
        let mut seen = state.waiting.len();
        while state.waiting.len() < worth {
            if !state.has_entry {
                return if state.waiting.is_empty() { Err(Nothing::Ever) } else { Ok(()) };
            }
            state.worth = Some(worth);
            let Some(limit) = limit else {
                state = self.0.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let (woken, timeout) =
                self.0.wake.wait_timeout(state, limit).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            // Nobody is woken for those who are too few, but they came: others may follow.
            let is_silent = state.waiting.len() == mem::replace(&mut seen, state.waiting.len());
            if timeout.timed_out() && is_silent {
                state.worth = None;
                return if state.waiting.is_empty() { Err(Nothing::Yet) } else { Ok(()) };
            }
        }
        state.worth = None;
        Ok(())
    }
}

impl<T> Drop for Exit<T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.has_exit = false;
        let left = mem::take(&mut state.waiting);
        drop(state);
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn everyones_things_come_out_in_the_order_they_were_put_in() {
        let (entry, exit) = line();
        let putters: Vec<_> = (0..4)
            .map(|putter| {
                let entry = entry.clone();
                thread::spawn(move || (0..1_000).for_each(|number| entry.put((putter, number))))
            })
            .collect();
        drop(entry);
        let mut taken = VecDeque::new();
        let mut worth = (1..40).cycle();
        while exit.wait_for(worth.next().unwrap(), None) != Err(Nothing::Ever) {
            exit.take_all(&mut taken);
        }
        putters.into_iter().for_each(|putter| putter.join().unwrap());
        for putter in 0..4 {
            assert!(taken.iter().filter(|(by, _)| *by == putter).map(|(_, number)| *number).eq(0..1_000));
        }
    }

    #[test]
    fn whoever_waits_for_more_than_come_gets_those_who_came() {
        let (entry, exit) = line();
        let soon = Some(Duration::from_micros(1));
        assert_eq!(exit.wait_for(2, soon), Err(Nothing::Yet));
        entry.put(1);
        assert_eq!(exit.wait_for(2, soon), Ok(()));
        drop(entry);
        assert_eq!(exit.wait_for(2, None), Ok(()));
        let mut taken = VecDeque::from([0]);
        exit.take_all(&mut taken);
        assert_eq!(taken, [0, 1]);
        assert_eq!(exit.wait_for(1, None), Err(Nothing::Ever));
    }

    #[test]
    fn what_is_laid_down_waits_for_the_next_one_or_for_a_call() {
        let (entry, exit) = line();
        let taker = thread::spawn(move || {
            let mut taken = VecDeque::new();
            let mut sizes = Vec::new();
            while exit.wait_for(1, None) != Err(Nothing::Ever) {
                exit.take_all(&mut taken);
                sizes.push(mem::take(&mut taken).len());
            }
            sizes
        });
        while entry.0.0.state().worth.is_none() {
            thread::yield_now();
        }
        entry.lay(1);
        entry.lay(2);
        assert!(entry.0.0.state().worth.is_some(), "nobody is woken for these");
        entry.waker().wake();
        while entry.0.0.state().worth.is_none() {
            thread::yield_now();
        }
        entry.waker().wake();
        entry.lay(3);
        entry.put(4);
        drop(entry);
        assert_eq!(taker.join().unwrap(), [2, 2]);
    }

    #[test]
    fn what_is_put_in_when_nobody_takes_any_more_is_dropped() {
        let (entry, exit) = line();
        let (before, after) = (Arc::new(()), Arc::new(()));
        entry.put(Arc::clone(&before));
        drop(exit);
        entry.put(Arc::clone(&after));
        assert_eq!((Arc::strong_count(&before), Arc::strong_count(&after)), (1, 1));
    }
}
