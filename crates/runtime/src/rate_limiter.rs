//! Rate limiter per model, shared by all agents that use the same provider and key.
//!
//! After a 429 it blocks all requests to the model until the retry time and lowers the concurrency; each success
//! raises it by one. So fifty agents that hit one limit finish one after the other instead of failing one after the
//! other.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rooftree_protocol::Timestamp;
use tokio::sync::Notify;

use crate::Clock;

/// Maximum concurrent requests, as long as the provider has not throttled.
const AT_ONCE: usize = 256;

/// One limiter per model and credential.
#[derive(Default)]
pub(crate) struct RateLimiter(Mutex<HashMap<String, Arc<ModelLimiter>>>);

struct ModelLimiter {
    state: Mutex<LimiterState>,
    changed: Notify,
}

struct LimiterState {
    closed_until: Timestamp,
    allowed: usize,
    asking: usize,
}

/// The permit for one request. Dropping it lets the next one in.
pub(crate) struct RequestPermit(Arc<ModelLimiter>);

impl RateLimiter {
    /// Waits for a permit.
    pub(crate) async fn admit(&self, model: &str, clock: &dyn Clock) -> RequestPermit {
        let gate = self.gate(model);
        loop {
            // Listening before looking: a pass given back in between is not missed.
            let mut changed = std::pin::pin!(gate.changed.notified());
            changed.as_mut().enable();
            let closed_for = {
                let mut state = gate.lock();
                let closed_for = state.closed_until.since(clock.now());
                if closed_for.is_zero() && state.asking < state.allowed {
                    state.asking += 1;
                    drop(state);
                    return RequestPermit(gate.clone());
                }
                closed_for
            };
            if closed_for.is_zero() {
                changed.await;
            } else {
                clock.sleep(closed_for).await;
            }
        }
    }

    fn gate(&self, model: &str) -> Arc<ModelLimiter> {
        let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let state = LimiterState {
                closed_until: Timestamp(0),
                allowed: AT_ONCE,
                asking: 0,
            };
            Arc::new(ModelLimiter {
                state: Mutex::new(state),
                changed: Notify::new(),
            })
        };
        gates.entry(model.to_owned()).or_insert_with(new).clone()
    }
}

impl ModelLimiter {
    fn lock(&self) -> MutexGuard<'_, LimiterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestPermit {
    /// The provider throttled (429): all requests wait for `pause`, and the concurrency is lowered.
    pub(crate) fn refused(&self, now: Timestamp, pause: Duration) {
        let mut state = self.0.lock();
        // Concurrent requests are throttled together; that counts once.
        if state.closed_until <= now {
            state.allowed = (state.asking / 2).max(1);
        }
        state.closed_until = state.closed_until.max(now.after(pause));
    }

    /// The provider answered: raises the concurrency by one.
    pub(crate) fn answered(&self) {
        let mut state = self.0.lock();
        state.allowed = (state.allowed + 1).min(AT_ONCE);
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        self.0.lock().asking -= 1;
        self.0.changed.notify_waiters();
    }
}
