//! Clock and random numbers, behind a trait so that tests can simulate both.

mod virtual_clock;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::future::BoxFuture;
use rooftree_protocol::Timestamp;

pub use virtual_clock::VirtualClock;

/// Time and randomness of the runtime; it has no other source of either.
pub trait Clock: Send + Sync {
    /// This moment.
    fn now(&self) -> Timestamp;

    /// Resolves a while later.
    fn sleep(&self, while_: Duration) -> BoxFuture<'static, ()>;

    /// Fresh randomness, for ids and tokens.
    fn entropy(&self) -> u128;
}

/// The machine's own time and randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn sleep(&self, while_: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(while_))
    }

    fn entropy(&self) -> u128 {
        let mut bytes = [0; 16];
        if getrandom::fill(&mut bytes).is_err() {
            // Without a random source ids still differ: the clock moves and addresses vary.
            let since = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default()
                .as_nanos();
            return since.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
                ^ (bytes.as_ptr() as u128);
        }
        u128::from_le_bytes(bytes)
    }
}
