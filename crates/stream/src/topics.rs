//! Topics of a stream: rows with a revision that belong to no session, as the board.

use rooftree_protocol::Principal;
use rooftree_runtime::{BoardWatch, Handle, ScheduleNotice, ScheduleWatch};
use rooftree_view::{ByeReason, StreamRequest, TopicFrame, board::BoardRev};
use serde_json::{Value, json};

/// The topic of schedules.
const SCHEDULES: &str = "schedules";

/// The topics that a stream watches.
pub(crate) struct TopicWatches {
    handle: Handle,
    who: Principal,
    board: BoardTopic,
    schedules: Option<ScheduleTopic>,
}

/// Schedules as a topic. It begins with a snapshot, whatever the client has.
struct ScheduleTopic {
    watch: ScheduleWatch,
    /// What revisions of this stream begin with.
    boot: String,
    count: u64,
}

impl ScheduleTopic {
    /// The next change. Dropping the wait loses nothing.
    async fn next(&mut self) -> Result<TopicFrame, ByeReason> {
        let notice = self.watch.next().await.map_err(|_| ByeReason::Failed)?;
        self.count += 1;
        let rev = format!("{}:{}", self.boot, self.count);
        let (name, mut data) = match notice {
            ScheduleNotice::Snapshot(rows) => ("snapshot", json!({ "items": rows })),
            ScheduleNotice::Row(row) => ("row", json!({ "row": row })),
            ScheduleNotice::Gone(id) => ("gone", json!({ "id": id })),
        };
        if let Value::Object(data) = &mut data {
            data.insert("rev".to_owned(), json!(rev));
        }
        Ok(TopicFrame {
            name: format!("{SCHEDULES}.{name}"),
            rev,
            data,
        })
    }
}

/// The board as a topic.
enum BoardTopic {
    /// It is not asked for.
    Absent,
    /// It is asked for, after a revision or from the beginning.
    Asked(Option<BoardRev>),
    /// It is watched.
    Watched(BoardWatch),
}

impl TopicWatches {
    /// Watches what the request names, from the first call of `next` on. A revision of another process, or one that is
    /// none, means the whole board.
    pub(crate) fn open(handle: &Handle, who: &Principal, request: &StreamRequest) -> Self {
        let board = match &request.board {
            None => BoardTopic::Absent,
            Some(after) => BoardTopic::Asked(BoardRev::parse(after)),
        };
        Self {
            handle: handle.clone(),
            who: who.clone(),
            board,
            schedules: request.topics.get(SCHEDULES).map(|_| ScheduleTopic {
                watch: handle.watch_schedules(who),
                boot: handle.stream_boot(),
                count: 0,
            }),
        }
    }

    /// The next change of any of them. Dropping the wait loses nothing.
    pub(crate) async fn next(&mut self) -> Result<TopicFrame, ByeReason> {
        if let BoardTopic::Asked(after) = &self.board {
            let watch = self.handle.watch_board(&self.who, after.as_ref());
            self.board = BoardTopic::Watched(watch);
        }
        let Self {
            board, schedules, ..
        } = self;
        let board = async {
            match board {
                BoardTopic::Watched(watch) => {
                    let change = watch.next().await;
                    TopicFrame::of_board(&change).map_err(|_| ByeReason::Failed)
                }
                BoardTopic::Absent | BoardTopic::Asked(_) => std::future::pending().await,
            }
        };
        let schedules = async {
            match schedules {
                Some(topic) => topic.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            change = board => change,
            change = schedules => change,
        }
    }
}
