//! Feeds of board changes: one per distinct visibility, shared by all who watch it.
//!
//! A feed computes its board when the bus, another process or a timer wakes it, at most once in 200 ms, and tells what
//! is different. It lives as long as it is watched.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rooftree_protocol::SessionId;
use rooftree_view::board::{BoardChange, BoardGone, BoardRev, BoardRow, BoardSnapshot};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use super::{BoardFilter, BoardReader, BoardVisibility};
use crate::{Clock, SystemClock};

/// The shortest time between two computations.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// A computation that takes long is done more rarely: it takes at most this part of the time.
const SHARE: u32 = 4;
/// How often claims of processes that died are looked for.
const COARSE: Duration = Duration::from_secs(1);
/// Changes that a watcher may be behind before it gets the whole board.
const BACKLOG: usize = 1024;

/// All feeds of a process.
pub(crate) struct BoardHub {
    boot: String,
    /// Counts changes over all feeds, so that a revision is never used again.
    counter: Arc<AtomicU64>,
    feeds: Mutex<HashMap<BoardVisibility, Weak<BoardFeed>>>,
}

impl BoardHub {
    /// A hub with a name that no other has. The name is no part of a journal, so it does not come from the runtime's clock,
    /// whose random numbers are the same in every test.
    pub(crate) fn new() -> Self {
        let name = SessionId::from_entropy(SystemClock.entropy());
        let tail = name.as_str().get(4..16).unwrap_or_default();
        Self {
            boot: format!("boot_{tail}"),
            counter: Arc::default(),
            feeds: Mutex::default(),
        }
    }

    /// The revision now, for a page that is not watched.
    pub(crate) fn rev(&self, who: &BoardVisibility) -> BoardRev {
        let number = self.feed(who).map_or(0, |feed| feed.lock().number);
        let boot = self.boot.clone();
        BoardRev { boot, number }
    }

    fn feed(&self, who: &BoardVisibility) -> Option<Arc<BoardFeed>> {
        let feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.get(who).and_then(Weak::upgrade)
    }

    /// How many feeds are computed.
    #[cfg(test)]
    fn feed_count(&self) -> usize {
        let feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        feeds
            .values()
            .filter(|feed| feed.strong_count() > 0)
            .count()
    }

    /// Watches a board: from a revision on, if it is known, else with the whole board first.
    pub(crate) fn watch(
        &self,
        who: BoardVisibility,
        after: Option<&BoardRev>,
        begin: impl FnOnce() -> (BoardReader, watch::Receiver<u64>),
    ) -> BoardWatch {
        let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.retain(|_, feed| feed.strong_count() > 0);
        let feed = feeds.get(&who).and_then(Weak::upgrade);
        let feed = feed.unwrap_or_else(|| {
            let (reader, touched) = begin();
            let (told, _) = watch::channel(0);
            let feed = Arc::new(BoardFeed {
                boot: self.boot.clone(),
                counter: self.counter.clone(),
                state: Mutex::default(),
                told,
            });
            feeds.insert(who.clone(), Arc::downgrade(&feed));
            tokio::spawn(compute(Arc::downgrade(&feed), who, reader, touched));
            feed
        });
        let after = after.filter(|rev| rev.boot == self.boot);
        let seen = after.map(|rev| rev.number);
        let news = feed.told.subscribe();
        BoardWatch { feed, seen, news }
    }
}

/// One board and its last changes.
struct BoardFeed {
    boot: String,
    counter: Arc<AtomicU64>,
    state: Mutex<FeedState>,
    told: watch::Sender<u64>,
}

#[derive(Default)]
struct FeedState {
    /// The revision; zero before the first computation.
    number: u64,
    /// The revision before the oldest change that is kept.
    base: u64,
    rows: Vec<BoardRow>,
    changes: VecDeque<(u64, BoardChange)>,
}

impl BoardFeed {
    fn lock(&self) -> MutexGuard<'_, FeedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_rev(&self) -> BoardRev {
        BoardRev {
            boot: self.boot.clone(),
            number: self.counter.fetch_add(1, Ordering::Relaxed) + 1,
        }
    }

    /// Tells what is different from the board before.
    fn update(&self, mut rows: Vec<BoardRow>) {
        let mut state = self.lock();
        let is_first = state.number == 0;
        let before: HashMap<SessionId, BoardRow> = state
            .rows
            .drain(..)
            .map(|row| (row.session.clone(), row))
            .collect();
        let shown: HashSet<SessionId> = rows.iter().map(|row| row.session.clone()).collect();
        if is_first {
            state.number = self.next_rev().number;
            state.base = state.number;
        }
        for row in &mut rows {
            match before.get(&row.session) {
                Some(known) if is_same(known, row) => row.rev = known.rev.clone(),
                _ if is_first => row.rev.number = state.number,
                _ => {
                    row.rev = self.next_rev();
                    let change = BoardChange::Row(Box::new(row.clone()));
                    state.push(change);
                }
            }
        }
        let mut gone: Vec<&SessionId> = before.keys().filter(|id| !shown.contains(*id)).collect();
        gone.sort();
        for session in gone {
            let (rev, session) = (self.next_rev(), session.clone());
            state.push(BoardChange::Gone(BoardGone { rev, session }));
        }
        state.rows = rows;
        let number = state.number;
        drop(state);
        self.told.send_if_modified(|told| {
            let is_new = *told != number;
            *told = number;
            is_new
        });
    }
}

/// Whether two rows differ in nothing but their revision.
fn is_same(one: &BoardRow, other: &BoardRow) -> bool {
    let mut copy = other.clone();
    copy.rev = one.rev.clone();
    *one == copy
}

impl FeedState {
    fn push(&mut self, change: BoardChange) {
        self.number = change.rev().number;
        self.changes.push_back((self.number, change));
        if self.changes.len() > BACKLOG
            && let Some((oldest, _)) = self.changes.pop_front()
        {
            self.base = oldest;
        }
    }

    /// The first change after a revision; none if there is a gap before it.
    fn after(&self, seen: u64) -> Option<Option<&BoardChange>> {
        if seen == self.number {
            return Some(None);
        }
        let mut known = self.changes.iter().map(|(number, _)| *number);
        let is_known = seen == self.base || known.any(|number| number == seen);
        let index = self.changes.partition_point(|(number, _)| *number <= seen);
        is_known.then(|| self.changes.get(index).map(|(_, change)| change))
    }
}

/// A place in the changes of a board that moves forward.
pub struct BoardWatch {
    feed: Arc<BoardFeed>,
    /// The revision that was told last; none if none was.
    seen: Option<u64>,
    news: watch::Receiver<u64>,
}

impl BoardWatch {
    /// The next change; the whole board first, and again after falling far behind. Dropping the future loses nothing.
    pub async fn next(&mut self) -> BoardChange {
        loop {
            if let Some(change) = self.told() {
                return change;
            }
            if self.news.changed().await.is_err() {
                // The feed lives as long as this watch does.
                std::future::pending::<()>().await;
            }
        }
    }

    fn told(&mut self) -> Option<BoardChange> {
        self.news.mark_unchanged();
        let state = self.feed.lock();
        if state.number == 0 {
            return None;
        }
        let change = match self.seen.map(|seen| state.after(seen)) {
            Some(Some(next)) => next?.clone(),
            // Nothing was told yet, or there is a gap.
            None | Some(None) => BoardChange::Snapshot(BoardSnapshot {
                rev: BoardRev {
                    boot: self.feed.boot.clone(),
                    number: state.number,
                },
                rows: state.rows.clone(),
            }),
        };
        self.seen = Some(change.rev().number);
        Some(change)
    }
}

/// Computes a board whenever something may have changed, until it is no longer watched.
async fn compute(
    feed: Weak<BoardFeed>,
    who: BoardVisibility,
    reader: BoardReader,
    mut touched: watch::Receiver<u64>,
) {
    let mut changes = reader.store.changes();
    loop {
        let begun = Instant::now();
        touched.mark_unchanged();
        changes.mark_unchanged();
        let Some(boot) = feed.upgrade().map(|feed| feed.boot.clone()) else {
            return;
        };
        let rev = BoardRev { boot, number: 0 };
        // A board that cannot be read now is read again.
        let page = reader.page(&who, BoardFilter::default(), rev).await;
        match (feed.upgrade(), page) {
            (None, _) => return,
            (Some(feed), Ok(page)) => feed.update(page.rows),
            (Some(_), Err(_)) => {}
        }
        sleep(DEBOUNCE.max(begun.elapsed() * SHARE)).await;
        let news = async {
            tokio::select! {
                heard = touched.changed() => if heard.is_err() { std::future::pending().await },
                heard = changes.changed() => if heard.is_err() { std::future::pending().await },
            }
        };
        let _ = timeout(COARSE, news).await;
    }
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::{Principal, Surface};
    use rooftree_store::{Owner, SqliteStore};

    use super::*;

    #[tokio::test]
    async fn watchers_who_see_the_same_share_a_feed_that_ends_with_the_last_of_them() {
        let place = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(place.path().join("rooftree.db")).unwrap();
        let reader = BoardReader {
            store: Arc::new(store),
            clock: Arc::new(SystemClock),
            owner: Owner::this_process(),
            look: Arc::new(|_| (None, None)),
            is_awake: Arc::new(|_| false),
        };
        let (_touch, touched) = watch::channel(0);
        let begin = || (reader.clone(), touched.clone());
        let hub = BoardHub::new();
        let all = BoardVisibility::of(&Principal::local_owner(Surface::Library));
        let mut some = all.clone();
        some.agents = Some(Arc::from(["lead".to_owned()]));
        let mut first = hub.watch(all.clone(), None, begin);
        let second = hub.watch(all.clone(), None, begin);
        assert_eq!(hub.feed_count(), 1);
        let other = hub.watch(some, None, begin);
        assert_eq!(hub.feed_count(), 2, "another visibility has its own");
        assert!(matches!(first.next().await, BoardChange::Snapshot(_)));
        drop((first, other));
        assert_eq!(hub.feed_count(), 1, "one is still watching");
        drop(second);
        assert_eq!(hub.feed_count(), 0);
    }
}
