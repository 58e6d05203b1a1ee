//! Watches schedules: a snapshot, then each one that changed or is gone.

use std::collections::{BTreeMap, VecDeque};

use rooftree_protocol::{Principal, ScheduleInfo};
use tokio::sync::watch;

use super::Handle;
use crate::Error;

/// A change of what a principal sees of schedules.
#[derive(Clone, Debug, PartialEq)]
pub enum ScheduleNotice {
    /// All of them.
    Snapshot(Vec<ScheduleInfo>),
    /// One is new or changed.
    Row(Box<ScheduleInfo>),
    /// One is gone: its id.
    Gone(String),
}

/// What a principal sees of schedules, as it changes.
pub struct ScheduleWatch {
    handle: Handle,
    who: Principal,
    here: watch::Receiver<u64>,
    elsewhere: watch::Receiver<u64>,
    known: Option<BTreeMap<String, ScheduleInfo>>,
    pending: VecDeque<ScheduleNotice>,
}

impl Handle {
    /// What revisions of a new stream of rows begin with: no other stream has the same.
    pub fn stream_boot(&self) -> String {
        format!("boot_{:016x}", self.clock.entropy() & u128::from(u64::MAX))
    }

    /// Watches the schedules that a principal may see.
    pub fn watch_schedules(&self, who: &Principal) -> ScheduleWatch {
        ScheduleWatch {
            handle: self.clone(),
            who: who.clone(),
            here: self.schedule_news.watch(),
            elsewhere: self.store.changes(),
            known: None,
            pending: VecDeque::new(),
        }
    }
}

impl ScheduleWatch {
    /// The next change. Dropping the wait loses nothing.
    pub async fn next(&mut self) -> Result<ScheduleNotice, Error> {
        loop {
            if let Some(notice) = self.pending.pop_front() {
                return Ok(notice);
            }
            if self.known.is_some() {
                tokio::select! {
                    _ = self.here.changed() => {}
                    _ = self.elsewhere.changed() => {}
                }
            }
            self.here.mark_unchanged();
            self.elsewhere.mark_unchanged();
            let now = self.handle.schedules(&self.who).await;
            if now.is_err() {
                // What was missed is found by the next look.
                self.here.mark_changed();
            }
            self.compare(now?);
        }
    }

    fn compare(&mut self, now: Vec<ScheduleInfo>) {
        let keyed = |info: &ScheduleInfo| (info.id.clone(), info.clone());
        let next: BTreeMap<String, ScheduleInfo> = now.iter().map(keyed).collect();
        match &self.known {
            None => self.pending.push_back(ScheduleNotice::Snapshot(now)),
            Some(known) => {
                let changed = now
                    .into_iter()
                    .filter(|info| known.get(&info.id) != Some(info));
                let changed = changed.map(|info| ScheduleNotice::Row(Box::new(info)));
                let gone = known.keys().filter(|id| !next.contains_key(*id));
                let gone = gone.cloned().map(ScheduleNotice::Gone);
                self.pending.extend(changed.chain(gone));
            }
        }
        self.known = Some(next);
    }
}
