//! Topics of a stream: rows with a revision that belong to no session, as the board, schedules, connectors, the outbox.

use std::collections::BTreeMap;

use futures::{
    FutureExt,
    future::{BoxFuture, select_all},
};
use rooftree_protocol::Principal;
use rooftree_runtime::{BoardWatch, Handle, RowNotice, RowWatch, WatchedRow};
use rooftree_view::{
    ByeReason, StreamRequest, StreamTopic, TopicFrame, TopicGone, TopicRow, TopicSnapshot,
    board::BoardRev,
};

/// A topic that is watched.
trait WatchedTopic: Send {
    /// The next change. Dropping the wait loses nothing.
    fn next(&mut self) -> BoxFuture<'_, Result<TopicFrame, ByeReason>>;
}

/// The topics that a stream watches.
pub(crate) struct TopicWatches {
    handle: Handle,
    who: Principal,
    watched: BTreeMap<StreamTopic, Box<dyn WatchedTopic>>,
}

impl TopicWatches {
    /// Watches what the request names. A revision of another process, or one that is none, means the whole board.
    pub(crate) fn open(handle: &Handle, who: &Principal, request: &StreamRequest) -> Self {
        let mut topics = Self {
            handle: handle.clone(),
            who: who.clone(),
            watched: BTreeMap::new(),
        };
        for (topic, after) in &request.topics {
            topics.change(*topic, Some(after.as_str()));
        }
        if let Some(after) = &request.board {
            topics.change(StreamTopic::Board, Some(after.as_str()));
        }
        topics
    }

    /// Watches a topic after a revision, or stops to watch it. All but the board begin with a snapshot, whatever revision
    /// the client has.
    pub(crate) fn change(&mut self, topic: StreamTopic, after: Option<&str>) {
        let Some(after) = after else {
            self.watched.remove(&topic);
            return;
        };
        let (handle, who) = (&self.handle, &self.who);
        let watch: Box<dyn WatchedTopic> = match topic {
            StreamTopic::Board => Box::new(BoardTopic {
                handle: handle.clone(),
                who: who.clone(),
                after: BoardRev::parse(after),
                watch: None,
            }),
            StreamTopic::Schedules => RowTopic::of(topic, handle, handle.watch_schedules(who)),
            StreamTopic::Connectors => RowTopic::of(topic, handle, handle.watch_connectors(who)),
            StreamTopic::Outbox => RowTopic::of(topic, handle, handle.watch_outbox(who)),
        };
        self.watched.insert(topic, watch);
    }

    /// The next change of any of them. Dropping the wait loses nothing.
    pub(crate) async fn next(&mut self) -> Result<TopicFrame, ByeReason> {
        if self.watched.is_empty() {
            return std::future::pending().await;
        }
        let waits = self.watched.values_mut().map(|topic| topic.next());
        select_all(waits).await.0
    }
}

/// Rows as a topic.
struct RowTopic<T> {
    topic: StreamTopic,
    watch: RowWatch<T>,
    /// What revisions of this stream begin with.
    boot: String,
    count: u64,
}

impl<T: WatchedRow + 'static> RowTopic<T> {
    fn of(topic: StreamTopic, handle: &Handle, watch: RowWatch<T>) -> Box<dyn WatchedTopic> {
        Box::new(Self {
            topic,
            watch,
            boot: handle.stream_boot(),
            count: 0,
        })
    }
}

impl<T: WatchedRow + 'static> WatchedTopic for RowTopic<T> {
    fn next(&mut self) -> BoxFuture<'_, Result<TopicFrame, ByeReason>> {
        async move {
            let notice = self.watch.next().await.map_err(|_| ByeReason::Failed)?;
            self.count += 1;
            let rev = format!("{}:{}", self.boot, self.count);
            let frame = rev.clone();
            let (name, data) = match notice {
                RowNotice::Snapshot(items) => (
                    "snapshot",
                    serde_json::to_value(TopicSnapshot { rev, items }),
                ),
                RowNotice::Row(row) => ("row", serde_json::to_value(TopicRow { rev, row })),
                RowNotice::Gone(id) => ("gone", serde_json::to_value(TopicGone { rev, id })),
            };
            Ok(TopicFrame {
                name: format!("{}.{name}", self.topic),
                rev: frame,
                data: data.map_err(|_| ByeReason::Failed)?,
            })
        }
        .boxed()
    }
}

/// The board as a topic.
struct BoardTopic {
    handle: Handle,
    who: Principal,
    /// After which revision; none for all of it.
    after: Option<BoardRev>,
    /// Made by the first wait.
    watch: Option<BoardWatch>,
}

impl WatchedTopic for BoardTopic {
    fn next(&mut self) -> BoxFuture<'_, Result<TopicFrame, ByeReason>> {
        async move {
            let Self {
                handle,
                who,
                after,
                watch,
            } = self;
            let watch = watch.get_or_insert_with(|| handle.watch_board(who, after.as_ref()));
            let change = watch.next().await;
            TopicFrame::of_board(&change).map_err(|_| ByeReason::Failed)
        }
        .boxed()
    }
}
