//! The suite that any [`Store`](crate::Store) must pass: small checks, each named by the sentence it proves.
//!
//! A check gets a fresh, empty store and panics if the store breaks its promise. Checks
//! know nothing about how a store keeps things.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a check says that it failed by panicking"
)]

mod access;
mod audit;
mod board;
mod changes;
mod claims;
mod connectors;
mod fixture;
mod forks;
mod inbox;
mod inquiries;
mod journal;
mod order;
mod outbox;
mod past_runs;
mod records;
mod schedules;
mod sessions;

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::Store;

/// A check: its sentence, and what to do with an empty store.
pub struct ConformanceCheck {
    /// The promise, as a sentence with underscores.
    pub name: &'static str,
    /// Panics if the promise is broken.
    pub run: fn(Arc<dyn Store>) -> BoxFuture<'static, ()>,
}

/// Makes the list of checks of a module out of their names.
macro_rules! list {
    ($($name:ident),+ $(,)?) => {
        pub(super) const CHECKS: &[crate::conformance::ConformanceCheck] = &[
            $(crate::conformance::ConformanceCheck { name: stringify!($name), run: |store| Box::pin($name(store)) },)+
        ];
    };
}
use list;

/// All checks there are.
pub fn checks() -> impl Iterator<Item = &'static ConformanceCheck> {
    let all = [
        sessions::CHECKS,
        access::CHECKS,
        audit::CHECKS,
        board::CHECKS,
        inbox::CHECKS,
        changes::CHECKS,
        claims::CHECKS,
        connectors::CHECKS,
        journal::CHECKS,
        forks::CHECKS,
        past_runs::CHECKS,
        records::CHECKS,
        schedules::CHECKS,
        inquiries::CHECKS,
        order::CHECKS,
        outbox::CHECKS,
    ];
    all.into_iter().flatten()
}

/// Runs every check, each on a store of its own, and says which one is at work. Needs a
/// tokio runtime around it.
pub async fn run(make: impl Fn() -> Arc<dyn Store>) {
    for check in checks() {
        eprintln!("check {}", check.name);
        (check.run)(make()).await;
    }
}
