//! Locks an address out after too many wrong credentials, in bounded memory.
//!
//! A token that was right before is still looked up while its address is locked: several people may share an address, and none
//! of them can throw the others out by guessing.

use std::{
    collections::{HashMap, HashSet},
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rooftree_store::TokenHash;
use tokio::time::Instant;

/// Wrong credentials within [`WINDOW`] until an address is locked.
const TRIES: u32 = 20;
/// Wrong credentials further apart than this do not add up.
const WINDOW: Duration = Duration::from_secs(60);
/// How long the first lock lasts; each further one lasts twice as long.
const FIRST_LOCK: Duration = Duration::from_secs(60);
/// How long a lock lasts at most.
const LONGEST_LOCK: Duration = Duration::from_secs(15 * 60);
/// Addresses that are remembered; beyond that the one that was quiet longest is forgotten.
const ADDRESSES: usize = 4096;
/// Tokens that are remembered as right.
const TOKENS: usize = 1024;

/// Wrong credentials by address.
#[derive(Default)]
pub(super) struct Lockout(Mutex<LockoutTable>);

#[derive(Default)]
struct LockoutTable {
    addresses: HashMap<IpAddr, FailedTries>,
    right: HashSet<TokenHash>,
}

/// The wrong credentials of one address.
struct FailedTries {
    count: u32,
    last: Instant,
    locks: u32,
    until: Option<Instant>,
}

impl Lockout {
    fn table(&self) -> MutexGuard<'_, LockoutTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Seconds until a credential from this address is looked at again; none if it is now.
    pub(super) fn locked(&self, address: IpAddr, token: Option<TokenHash>) -> Option<u16> {
        let table = self.table();
        if token.is_some_and(|token| table.right.contains(&token)) {
            return None;
        }
        let until = table.addresses.get(&network(address))?.until?;
        let left = until.checked_duration_since(Instant::now())?;
        u16::try_from(left.as_secs().saturating_add(1)).ok()
    }

    /// Counts a wrong credential.
    pub(super) fn failed(&self, address: IpAddr) {
        let (now, address) = (Instant::now(), network(address));
        let mut table = self.table();
        if table.addresses.len() >= ADDRESSES && !table.addresses.contains_key(&address) {
            table.forget_oldest();
        }
        let tries = table.addresses.entry(address).or_insert(FailedTries {
            count: 0,
            last: now,
            locks: 0,
            until: None,
        });
        if now.duration_since(tries.last) > LONGEST_LOCK * 2 {
            tries.locks = 0;
        }
        if now.duration_since(tries.last) > WINDOW {
            tries.count = 0;
        }
        tries.count += 1;
        tries.last = now;
        if tries.count >= TRIES {
            let factor = 2_u32.saturating_pow(tries.locks.min(16));
            let lock = FIRST_LOCK.saturating_mul(factor).min(LONGEST_LOCK);
            (tries.count, tries.locks) = (0, tries.locks.saturating_add(1));
            tries.until = Some(now + lock);
        }
    }

    /// Remembers a token that was right.
    pub(super) fn succeeded(&self, token: TokenHash) {
        let mut table = self.table();
        if table.right.len() >= TOKENS && !table.right.contains(&token) {
            table.right.clear();
        }
        table.right.insert(token);
    }
}

impl LockoutTable {
    fn forget_oldest(&mut self) {
        let oldest = self.addresses.iter().min_by_key(|(_, tries)| tries.last);
        if let Some(address) = oldest.map(|(address, _)| *address) {
            self.addresses.remove(&address);
        }
    }
}

/// One household: an IPv4 address, or the first half of an IPv6 address.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn b10_wrong_credentials_lock_an_address_for_a_while_and_no_other() {
        let lockout = Lockout::default();
        let (bad, good): (IpAddr, IpAddr) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let token = TokenHash::of("right");
        lockout.succeeded(token);
        for _ in 1..TRIES {
            lockout.failed(bad);
            assert_eq!(lockout.locked(bad, None), None);
        }
        lockout.failed(bad);
        assert!(
            lockout
                .locked(bad, None)
                .is_some_and(|seconds| seconds <= 61)
        );
        assert!(lockout.locked(bad, Some(TokenHash::of("new"))).is_some());
        assert_eq!(
            lockout.locked(bad, Some(token)),
            None,
            "it was right before"
        );
        assert_eq!(lockout.locked(good, None), None);
        tokio::time::advance(FIRST_LOCK + Duration::from_secs(1)).await;
        assert_eq!(lockout.locked(bad, None), None);
        for _ in 0..TRIES {
            lockout.failed(bad);
        }
        let longer = lockout.locked(bad, None).unwrap();
        assert!(longer > 61, "the next one lasts longer: {longer}");
    }

    #[tokio::test(start_paused = true)]
    async fn b10_memory_is_bounded_and_an_ipv6_household_is_one_address() {
        let lockout = Lockout::default();
        for number in 0..(ADDRESSES as u32 * 2) {
            lockout.failed(IpAddr::from(number.to_be_bytes()));
            lockout.succeeded(TokenHash::of(&number.to_string()));
        }
        let table = lockout.table();
        assert_eq!(table.addresses.len(), ADDRESSES);
        assert!(table.right.len() <= TOKENS);
        drop(table);
        for number in 0..TRIES {
            lockout.failed(format!("2001:db8::{number}").parse().unwrap());
        }
        let other = "2001:db8::ffff".parse().unwrap();
        assert!(lockout.locked(other, None).is_some());
    }
}
