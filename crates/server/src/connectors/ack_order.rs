//! Order of acknowledgements: a key is acknowledged only when everything that arrived before it is stored too.

use std::collections::VecDeque;

/// What arrived and is not acknowledged, in order.
#[derive(Debug, Default)]
pub(super) struct AckOrder(VecDeque<(String, bool)>);

impl AckOrder {
    /// Something arrived.
    pub(super) fn arrived(&mut self, key: &str) {
        self.0.push_back((key.to_owned(), false));
    }

    /// It is stored. Gives the last key that may be acknowledged now, which acknowledges all before it.
    pub(super) fn stored(&mut self, key: &str) -> Option<String> {
        if let Some(entry) = self.0.iter_mut().find(|(known, _)| known == key) {
            entry.1 = true;
        }
        let mut last = None;
        while self.0.front().is_some_and(|(_, is_stored)| *is_stored) {
            last = self.0.pop_front().map(|(key, _)| key);
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_waits_for_everything_before_it() {
        let mut order = AckOrder::default();
        for key in ["1", "2", "3"] {
            order.arrived(key);
        }
        assert_eq!(order.stored("2"), None);
        assert_eq!(order.stored("1").as_deref(), Some("2"));
        assert_eq!(order.stored("3").as_deref(), Some("3"));
        assert_eq!(order.stored("9"), None);
    }
}
