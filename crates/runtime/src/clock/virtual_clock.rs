//! Virtual clock for tests: time moves only when advanced, and randomness is deterministic.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use futures::future::BoxFuture;
use rooftree_protocol::Timestamp;
use tokio::sync::oneshot;

use super::Clock;

/// Time that moves only by [`VirtualClock::advance`]. Sleeps count from the call, not from the first poll.
#[derive(Default)]
pub struct VirtualClock(Mutex<State>);

#[derive(Default)]
struct State {
    now: i64,
    drawn: u64,
    sleepers: Vec<(i64, oneshot::Sender<()>)>,
}

impl VirtualClock {
    /// A clock that starts at a fixed moment; the seed decides all ids.
    pub fn seeded(seed: u64) -> Self {
        Self(Mutex::new(State {
            now: 1_794_700_800_000,
            drawn: seed << 32,
            sleepers: Vec::new(),
        }))
    }

    /// Advances time and wakes the sleepers whose time has come.
    pub fn advance(&self, by: Duration) {
        let mut state = self.lock();
        state.now += i64::try_from(by.as_millis()).unwrap_or(0);
        let now = state.now;
        for (at, sleeper) in std::mem::take(&mut state.sleepers) {
            if at <= now {
                let _ = sleeper.send(());
            } else if !sleeper.is_closed() {
                state.sleepers.push((at, sleeper));
            }
        }
    }

    /// How many sleeps are waited for now.
    pub fn sleepers(&self) -> usize {
        let state = self.lock();
        let is_open = |(_, sleeper): &&(i64, oneshot::Sender<()>)| !sleeper.is_closed();
        state.sleepers.iter().filter(is_open).count()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.lock().now)
    }

    fn sleep(&self, while_: Duration) -> BoxFuture<'static, ()> {
        let mut state = self.lock();
        let at = state.now + i64::try_from(while_.as_millis()).unwrap_or(i64::MAX / 2);
        if at <= state.now {
            return Box::pin(std::future::ready(()));
        }
        let (wake, woken) = oneshot::channel();
        state.sleepers.push((at, wake));
        Box::pin(async move {
            if woken.await.is_err() {
                std::future::pending().await
            }
        })
    }

    fn entropy(&self) -> u128 {
        let mut state = self.lock();
        state.drawn += 1;
        (u128::from(mixed(state.drawn)) << 64) | u128::from(mixed(!state.drawn))
    }
}

/// Spreads a counter over all bits, the same way every time.
fn mixed(counter: u64) -> u64 {
    let mut bits = counter.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
