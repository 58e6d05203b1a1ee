//! Watches rows that belong to no session (schedules, connectors, the outbox): a snapshot, then each row that changed or
//! is gone.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use futures::future::{BoxFuture, select_all};
use rooftree_protocol::{ConnectorInfo, OutboxInfo, ScheduleInfo};
use serde::Serialize;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::Error;

/// The shortest time between two reads of the rows, and how many times longer than a read it is.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSES_PER_READ: u32 = 10;

/// A row that can be watched.
pub trait WatchedRow: Clone + PartialEq + Serialize + Send {
    /// What it is known by.
    fn id(&self) -> &str;
}

impl WatchedRow for ScheduleInfo {
    fn id(&self) -> &str {
        &self.id
    }
}

impl WatchedRow for ConnectorInfo {
    fn id(&self) -> &str {
        &self.id
    }
}

impl WatchedRow for OutboxInfo {
    fn id(&self) -> &str {
        &self.id
    }
}

/// A change of the rows that a principal sees.
#[derive(Clone, Debug, PartialEq)]
pub enum RowNotice<T> {
    /// All of them.
    Snapshot(Vec<T>),
    /// One is new or changed.
    Row(Box<T>),
    /// One is gone: its id.
    Gone(String),
}

type ReadRows<T> = Box<dyn Fn() -> BoxFuture<'static, Result<Vec<T>, Error>> + Send + Sync>;

/// The rows that a principal sees, as they change.
pub struct RowWatch<T> {
    read: ReadRows<T>,
    /// Each fires when the rows may have changed.
    signals: Vec<watch::Receiver<u64>>,
    known: Option<BTreeMap<String, T>>,
    pending: VecDeque<RowNotice<T>>,
    /// Whether the rows are to be read. It outlives a wait that is dropped.
    is_due: bool,
    /// Not to be read before.
    not_before: Option<Instant>,
}

impl<T: WatchedRow> RowWatch<T> {
    /// Watches what `read` gives, which may be other rows after one of the signals.
    pub(super) fn new(
        signals: Vec<watch::Receiver<u64>>,
        read: impl Fn() -> BoxFuture<'static, Result<Vec<T>, Error>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            read: Box::new(read),
            signals,
            known: None,
            pending: VecDeque::new(),
            is_due: true,
            not_before: None,
        }
    }

    /// The next change. Dropping the wait loses nothing.
    pub async fn next(&mut self) -> Result<RowNotice<T>, Error> {
        loop {
            if let Some(notice) = self.pending.pop_front() {
                return Ok(notice);
            }
            if !self.is_due {
                let signals = self.signals.iter_mut();
                drop(select_all(signals.map(|signal| Box::pin(signal.changed()))).await);
                self.is_due = true;
            }
            if let Some(at) = self.not_before {
                sleep_until(at).await;
            }
            for signal in &mut self.signals {
                signal.mark_unchanged();
            }
            let began = Instant::now();
            let now = (self.read)().await?;
            self.is_due = false;
            let pause = PAUSE.max(began.elapsed() * PAUSES_PER_READ);
            self.not_before = Some(Instant::now() + pause);
            self.compare(now);
        }
    }

    fn compare(&mut self, now: Vec<T>) {
        let keyed = |row: &T| (row.id().to_owned(), row.clone());
        let next: BTreeMap<String, T> = now.iter().map(keyed).collect();
        match &self.known {
            None => self.pending.push_back(RowNotice::Snapshot(now)),
            Some(known) => {
                let changed = now
                    .into_iter()
                    .filter(|row| known.get(row.id()) != Some(row));
                let changed = changed.map(|row| RowNotice::Row(Box::new(row)));
                let gone = known.keys().filter(|id| !next.contains_key(*id));
                let gone = gone.cloned().map(RowNotice::Gone);
                self.pending.extend(changed.chain(gone));
            }
        }
        self.known = Some(next);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    };

    use futures::{FutureExt, poll};
    use rooftree_protocol::OutboxState;

    use super::*;

    fn row(id: &str) -> OutboxInfo {
        OutboxInfo {
            id: id.into(),
            state: OutboxState::Planned,
            kind: "notice".into(),
            target: "home:1".into(),
            text: String::new(),
            session: None,
            run: None,
            attempts: 0,
            next_attempt: None,
            class: None,
            error: None,
            parts: 0,
            parts_sent: 0,
            created: Default::default(),
            closed: None,
        }
    }

    #[tokio::test]
    async fn a_wait_that_is_dropped_while_rows_are_read_loses_no_change() {
        let (changed, signal) = watch::channel(0);
        let rows = Arc::new(Mutex::new(vec![row("a")]));
        let reads = Arc::new(AtomicUsize::new(0));
        let (shared, counted) = (rows.clone(), reads.clone());
        let mut watch = RowWatch::new(vec![signal], move || {
            let is_slow = counted.fetch_add(1, Relaxed) == 1;
            let rows = shared.lock().unwrap().clone();
            async move {
                if is_slow {
                    std::future::pending::<()>().await;
                }
                Ok(rows)
            }
            .boxed()
        });
        let first = watch.next().await.unwrap();
        assert_eq!(first, RowNotice::Snapshot(vec![row("a")]));
        *rows.lock().unwrap() = vec![row("b")];
        changed.send_replace(1);
        {
            // It reads, and is dropped in the middle.
            let mut wait = std::pin::pin!(watch.next());
            while reads.load(Relaxed) < 2 {
                assert!(poll!(&mut wait).is_pending());
                tokio::task::yield_now().await;
            }
        }
        let told = watch.next().await.unwrap();
        assert_eq!(told, RowNotice::Row(Box::new(row("b"))));
        let told = watch.next().await.unwrap();
        assert_eq!(told, RowNotice::Gone("a".into()));
    }
}
