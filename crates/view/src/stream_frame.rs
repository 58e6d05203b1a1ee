//! Frames of the event stream (server-sent events): what a server sends about sessions and topics, and how a client
//! parses it.
//!
//! A frame with an id moves a cursor: `ses_…:119` that of a session, `board:…` that of a topic. Frames without one
//! (deltas, beats) can be lost without harm.

use std::{collections::BTreeMap, sync::Arc};

use rooftree_protocol::{Event, EventBody, MessageId, RunId, Session, SessionId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{OpenInquiry, board::BoardChange};

/// Version of the frames.
pub const STREAM_VERSION: u32 = 1;

/// One frame.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamFrame {
    /// The first one: which stream it is, and its limits.
    Hello(StreamHello),
    /// A session as it is at this place of its journal.
    Snapshot(Box<SessionSnapshot>),
    /// An event; durable ones have an id.
    Event(Arc<Event>),
    /// A session below a watched one joins.
    Added(Box<AddedSession>),
    /// A session is no longer part of the stream.
    Removed(RemovedSession),
    /// The metadata of a session changed.
    Meta(Box<Session>),
    /// HTML of what was written of a running reply, if the stream asked for it.
    Block(Box<ReplyBlock>),
    /// HTML of a whole reply, if the stream asked for it.
    Html(Box<ReplyHtml>),
    /// Something else than a session: the board, and whatever has rows with a revision.
    Topic(TopicFrame),
    /// Every few seconds: the stream lives, and has sent so much of each session.
    Beat(StreamBeat),
    /// The last one.
    Bye(StreamBye),
}

/// The first frame of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamHello {
    /// Version of the frames.
    pub v: u32,
    /// Version of the server.
    pub server: String,
    /// The server's start: revisions of topics are good until the next one.
    pub boot: String,
    /// The name of this stream, to change it with.
    pub stream: String,
    /// The server's time.
    pub now: Timestamp,
    /// Seconds between two beats.
    pub beat: u64,
    /// What a stream may hold.
    pub limits: StreamLimits,
}

/// What a stream may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamLimits {
    /// Sessions; those below them do not count.
    pub sessions: usize,
    /// Streams of one token.
    pub streams: usize,
}

/// A session at one place of its journal: what the events before do not tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionSnapshot {
    /// Which one.
    pub session: SessionId,
    /// The last event of its journal that was sent or is left out.
    pub head: u64,
    /// Its metadata.
    pub meta: Session,
    /// Replies that models are writing.
    pub messages: Vec<DraftText>,
    /// `run.started` of the run it works on.
    pub run: Option<Event>,
    /// What it asks people.
    pub pending: Vec<OpenInquiry>,
}

/// What a model has written of a reply so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DraftText {
    /// The reply.
    pub id: MessageId,
    /// The run that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Its text.
    pub text: String,
    /// The thinking before it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thinking: String,
}

/// HTML of the blocks (paragraphs, tables, code) that a running reply has closed since the last such frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplyBlock {
    /// In which session.
    pub session: SessionId,
    /// The run that asked for the reply.
    pub run: Option<RunId>,
    /// The reply.
    pub message: MessageId,
    /// How many such frames of this reply came before; at zero, what was shown of it as HTML is replaced.
    pub index: u32,
    /// The HTML, which never changes and is appended to that of the frames before.
    pub html: String,
    /// The text after it: the block that is not closed. Deltas that follow are appended to it.
    pub open: String,
}

/// HTML of a whole reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplyHtml {
    /// In which session.
    pub session: SessionId,
    /// The number of its `message.completed`, which came before.
    pub event: u64,
    /// The HTML.
    pub html: String,
}

/// A session below a watched one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AddedSession {
    /// Which one.
    pub session: SessionId,
    /// The watched session above it.
    pub root: SessionId,
    /// After which of its events the stream begins.
    pub after: u64,
    /// Its metadata.
    pub meta: Session,
}

/// A session that is no longer part of the stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RemovedSession {
    /// Which one.
    pub session: SessionId,
    /// Why: `removed`, `not_found`.
    pub reason: String,
}

/// A frame of a topic, for instance `board.row`.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicFrame {
    /// `TOPIC.snapshot`, `TOPIC.row` or `TOPIC.gone`.
    pub name: String,
    /// The revision after it.
    pub rev: String,
    /// Its content.
    pub data: Value,
}

impl TopicFrame {
    /// The frame of a change of the board.
    pub fn of_board(change: &BoardChange) -> Result<Self, serde_json::Error> {
        let data = match change {
            BoardChange::Snapshot(snapshot) => serde_json::to_value(snapshot),
            BoardChange::Row(row) => serde_json::to_value(row),
            BoardChange::Gone(gone) => serde_json::to_value(gone),
        };
        Ok(Self {
            name: change.name().to_owned(),
            rev: change.rev().to_string(),
            data: data?,
        })
    }

    /// The change of the board that it tells; none if it is of another topic.
    pub fn board_change(&self) -> Option<BoardChange> {
        let read = json!({"event": self.name, "data": self.data});
        serde_json::from_value(read).ok()
    }

    /// The topic's name.
    pub fn topic(&self) -> &str {
        self.name
            .split_once('.')
            .map_or(self.name.as_str(), |(topic, _)| topic)
    }
}

/// `TOPIC.snapshot`: all rows of a topic other than the board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TopicSnapshot<T> {
    /// The revision after it.
    pub rev: String,
    /// The rows.
    pub items: Vec<T>,
}

/// `TOPIC.row`: a row of a topic other than the board is new or changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TopicRow<T> {
    /// The revision after it.
    pub rev: String,
    /// The row.
    pub row: T,
}

/// `TOPIC.gone`: a row of a topic other than the board is no longer there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TopicGone {
    /// The revision after it.
    pub rev: String,
    /// Which one.
    pub id: String,
}

/// A sign of life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamBeat {
    /// The server's time.
    pub now: Timestamp,
    /// The last event that was sent of each session. A client that has not received it missed frames, and reconnects.
    pub heads: BTreeMap<SessionId, u64>,
}

/// Why a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ByeReason {
    /// The server shuts down.
    Draining,
    /// The reader is too slow.
    Lagging,
    /// The access token is no longer valid.
    Token,
    /// A limit of the server.
    Limit,
    /// The server failed to read its store.
    Failed,
}

/// The last frame of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamBye {
    /// Why it ends.
    pub reason: ByeReason,
    /// When it is worth connecting again, in milliseconds.
    pub retry_ms: u64,
}

impl StreamFrame {
    /// The event's name on the wire.
    pub fn name(&self) -> &str {
        match self {
            Self::Hello(_) => "hello",
            Self::Snapshot(_) => "session.snapshot",
            Self::Event(event) => event.body.name(),
            Self::Added(_) => "session.added",
            Self::Removed(_) => "session.removed",
            Self::Meta(_) => "session.meta",
            Self::Block(_) => "message.block",
            Self::Html(_) => "message.html",
            Self::Topic(frame) => &frame.name,
            Self::Beat(_) => "beat",
            Self::Bye(_) => "bye",
        }
    }

    /// The id on the wire: the cursor after this frame.
    pub fn id(&self) -> Option<String> {
        match self {
            Self::Snapshot(snapshot) => Some(format!("{}:{}", snapshot.session, snapshot.head)),
            Self::Event(event) => event.id.map(|id| format!("{}:{id}", event.session)),
            Self::Topic(frame) => Some(format!("{}:{}", frame.topic(), frame.rev)),
            _ => None,
        }
    }

    /// Whether it can be left out without harm.
    pub fn is_delta(&self) -> bool {
        matches!(
            self,
            Self::Event(event)
                if matches!(event.body, EventBody::MessageDelta { .. } | EventBody::ThinkingDelta { .. })
        )
    }

    /// The frame as it is sent.
    pub fn encode(&self) -> Result<String, serde_json::Error> {
        let data = match self {
            Self::Hello(data) => serde_json::to_string(data),
            Self::Snapshot(data) => serde_json::to_string(data),
            Self::Event(data) => serde_json::to_string(data),
            Self::Added(data) => serde_json::to_string(data),
            Self::Removed(data) => serde_json::to_string(data),
            Self::Meta(data) => serde_json::to_string(data),
            Self::Block(data) => serde_json::to_string(data),
            Self::Html(data) => serde_json::to_string(data),
            Self::Topic(frame) => serde_json::to_string(&frame.data),
            Self::Beat(data) => serde_json::to_string(data),
            Self::Bye(data) => serde_json::to_string(data),
        }?;
        let mut text = format!("event: {}\n", self.name());
        if let Some(id) = self.id() {
            text.push_str("id: ");
            text.push_str(&id);
            text.push('\n');
        }
        text.push_str("data: ");
        text.push_str(&data);
        text.push_str("\n\n");
        Ok(text)
    }

    /// Parses a frame; none if it is of a kind this version does not know.
    pub fn parse(name: &str, id: &str, data: &str) -> Option<Self> {
        fn read<T: DeserializeOwned>(data: &str) -> Option<T> {
            serde_json::from_str(data).ok()
        }
        match name {
            "hello" => read(data).map(Self::Hello),
            "session.snapshot" => read(data).map(Self::Snapshot),
            "session.added" => read(data).map(Self::Added),
            "session.removed" => read(data).map(Self::Removed),
            "session.meta" => read(data).map(Self::Meta),
            "message.block" => read(data).map(Self::Block),
            "message.html" => read(data).map(Self::Html),
            "beat" => read(data).map(Self::Beat),
            "bye" => read(data).map(Self::Bye),
            _ => parse_event(data).or_else(|| parse_topic(name, id, data)),
        }
    }
}

fn parse_event(data: &str) -> Option<StreamFrame> {
    let event: Event = serde_json::from_str(data).ok()?;
    Some(StreamFrame::Event(Arc::new(event)))
}

fn parse_topic(name: &str, id: &str, data: &str) -> Option<StreamFrame> {
    let (topic, kind) = name.split_once('.')?;
    let rev = id.strip_prefix(topic)?.strip_prefix(':')?;
    matches!(kind, "snapshot" | "row" | "gone").then_some(())?;
    Some(StreamFrame::Topic(TopicFrame {
        name: name.to_owned(),
        rev: rev.to_owned(),
        data: serde_json::from_str(data).ok()?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{BoardGone, BoardRev};

    #[test]
    fn a_change_of_the_board_has_its_revision_as_the_id_and_is_read_back() {
        let session = SessionId::from_entropy(1);
        let gone = BoardChange::Gone(BoardGone {
            rev: BoardRev::parse("boot_a:7").unwrap(),
            session: session.clone(),
        });
        let frame = StreamFrame::Topic(TopicFrame::of_board(&gone).unwrap());
        let data = format!(r#"{{"rev":"boot_a:7","session":"{session}"}}"#);
        let text = format!("event: board.gone\nid: board:boot_a:7\ndata: {data}\n\n");
        assert_eq!(frame.encode().unwrap(), text);
        let read = StreamFrame::parse("board.gone", "board:boot_a:7", &data);
        let Some(StreamFrame::Topic(read)) = read else {
            panic!("{read:?}")
        };
        assert_eq!(read.board_change(), Some(gone));
    }
}
