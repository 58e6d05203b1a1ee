//! Locks an address out after too many wrong credentials, in bounded memory.
//!
//! A token that was right before is still looked up while its address is locked: several people may share an address, and none
//! of them can throw the others out by guessing.

use std::{
    collections::{HashMap, HashSet},
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rooftree_store::TokenHash;

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
        self.locked_at(Instant::now(), address, token)
    }

    fn locked_at(&self, now: Instant, address: IpAddr, token: Option<TokenHash>) -> Option<u16> {
        let table = self.table();
        if token.is_some_and(|token| table.right.contains(&token)) {
            return None;
        }
        let until = table.addresses.get(&network(address))?.until?;
        let left = until.checked_duration_since(now)?;
        u16::try_from(left.as_secs().saturating_add(1)).ok()
    }

    /// Counts a wrong credential.
    pub(super) fn failed(&self, address: IpAddr) {
        self.failed_at(Instant::now(), address);
    }

    fn failed_at(&self, now: Instant, address: IpAddr) {
        let address = network(address);
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

    #[test]
    fn b10_wrong_credentials_lock_an_address_for_a_while_and_no_other() {
        let lockout = Lockout::default();
        let (bad, good): (IpAddr, IpAddr) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let token = TokenHash::of("right");
        lockout.succeeded(token);
        let now = Instant::now();
        let locked = |now, address| lockout.locked_at(now, address, None);
        for _ in 1..TRIES {
            lockout.failed_at(now, bad);
            assert_eq!(locked(now, bad), None);
        }
        lockout.failed_at(now, bad);
        assert_eq!(locked(now, bad), Some(61));
        let new = Some(TokenHash::of("new"));
        assert!(lockout.locked_at(now, bad, new).is_some());
        let known = lockout.locked_at(now, bad, Some(token));
        assert_eq!(known, None, "it was right before");
        assert_eq!(locked(now, good), None);
        let later = now + FIRST_LOCK + Duration::from_secs(1);
        assert_eq!(locked(later, bad), None);
        for _ in 0..TRIES {
            lockout.failed_at(later, bad);
        }
        assert_eq!(locked(later, bad), Some(121), "the next one lasts longer");
    }

    #[test]
    fn b10_tries_that_are_far_apart_do_not_add_up() {
        let lockout = Lockout::default();
        let mut now = Instant::now();
        for _ in 0..TRIES * 2 {
            lockout.failed_at(now, [10, 0, 0, 1].into());
            now += WINDOW + Duration::from_secs(1);
        }
        assert_eq!(lockout.locked_at(now, [10, 0, 0, 1].into(), None), None);
    }

    #[test]
    fn b10_memory_is_bounded_and_an_ipv6_household_is_one_address() {
        let lockout = Lockout::default();
        let now = Instant::now();
        for number in 0..(ADDRESSES as u32 * 2) {
            lockout.failed_at(now, IpAddr::from(number.to_be_bytes()));
            lockout.succeeded(TokenHash::of(&number.to_string()));
        }
        let table = lockout.table();
        assert_eq!(table.addresses.len(), ADDRESSES);
        assert!(table.right.len() <= TOKENS);
        drop(table);
        for number in 0..TRIES {
            let address = format!("2001:db8::{number}").parse();
            lockout.failed_at(now, address.unwrap());
        }
        let other = "2001:db8::ffff".parse().unwrap();
        assert!(lockout.locked_at(now, other, None).is_some());
    }
}
