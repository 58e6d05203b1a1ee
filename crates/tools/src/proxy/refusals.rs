//! Refusals of the proxy, reported to the model and the user: deduplicated, and limited in number.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::tool::ProgressCallback;

/// Maximum number of distinct refusals that are reported for one program.
const TOLD: usize = 20;

/// Log of refusals. Clones share it.
#[derive(Clone, Default)]
pub struct ProxyRefusals(Arc<Mutex<RefusalLog>>);

#[derive(Default)]
struct RefusalLog {
    known: BTreeSet<String>,
    untold: Vec<String>,
    watcher: Option<ProgressCallback>,
}

impl ProxyRefusals {
    /// Sets the callback that is told of each refusal from now on.
    pub(crate) fn watched(&self, watcher: ProgressCallback) {
        self.hold().watcher = Some(watcher);
    }

    /// Notes a refusal, in words.
    pub(crate) fn note(&self, words: String) {
        let mut noted = self.hold();
        if noted.known.len() >= TOLD || !noted.known.insert(words.clone()) {
            return;
        }
        let line = format!("[network: {words}]");
        noted.untold.push(line.clone());
        let watcher = noted.watcher.clone();
        // Unlock first: the callback may be slow.
        drop(noted);
        if let Some(watcher) = watcher {
            watcher(&format!("{line}\n"));
        }
    }

    /// Takes the refusals since the last call, a line each.
    pub fn news(&self) -> Vec<String> {
        std::mem::take(&mut self.hold().untold)
    }

    /// Nothing that is held here can be left half-done.
    fn hold(&self) -> MutexGuard<'_, RefusalLog> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_once_and_a_flood_of_them_is_cut() {
        let refused = ProxyRefusals::default();
        let heard = Arc::new(Mutex::new(String::new()));
        let hearing = heard.clone();
        refused.watched(Arc::new(move |words| {
            hearing.lock().unwrap().push_str(words)
        }));
        refused.note("a".into());
        refused.note("a".into());
        assert_eq!(refused.news(), ["[network: a]"]);
        assert_eq!(*heard.lock().unwrap(), "[network: a]\n");
        (0..1_000).for_each(|number| refused.note(number.to_string()));
        assert_eq!(refused.news().len(), TOLD - 1);
    }
}
