//! Cursors of a watch: what was received of each session and topic, so that a new connection continues there.

use std::collections::{BTreeMap, HashMap};

use rooftree_protocol::{SessionId, Timestamp};
use rooftree_view::{
    SessionStart, StreamBeat, StreamCursor, StreamFrame, StreamPatch, StreamRequest, StreamTopic,
};

/// What was received so far.
pub(crate) struct StreamCursors {
    request: StreamRequest,
    /// The last durable event that was received of each session, and the root it belongs to.
    sessions: HashMap<SessionId, ReceivedSession>,
    /// The server's time when the first connection was made.
    joined_at: Option<Timestamp>,
}

struct ReceivedSession {
    root: SessionId,
    position: u64,
}

/// What to do with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameCheck {
    /// Hand it to the reader.
    Deliver,
    /// It was received before.
    Repeated,
    /// Frames before it were lost: connect again from the cursors.
    Missed,
}

impl StreamCursors {
    pub(crate) fn new(request: StreamRequest) -> Self {
        Self {
            request,
            sessions: HashMap::new(),
            joined_at: None,
        }
    }

    /// The request that continues after what was received.
    pub(crate) fn request(&self) -> StreamRequest {
        let mut request = self.request.clone();
        for (root, start) in &mut request.sessions {
            let mut cursor = start.cursor();
            if let Some(received) = self.sessions.get(root) {
                cursor.after = Some(received.position);
            }
            if let (true, Some(joined_at)) = (cursor.tree, self.joined_at) {
                let is_whole = cursor.below.is_none() && start.cursor().after == Some(0);
                cursor.since = (!is_whole).then_some(joined_at).or(cursor.since);
                let known = cursor.below.take().unwrap_or_default();
                cursor.below = Some(known.into_iter().chain(self.below(root)).collect());
            }
            *start = SessionStart::Detailed(cursor);
        }
        request
    }

    fn below(&self, root: &SessionId) -> BTreeMap<SessionId, u64> {
        let below = self.sessions.iter();
        below
            .filter(|(session, received)| received.root == *root && *session != root)
            .map(|(session, received)| (session.clone(), received.position))
            .collect()
    }

    /// A topic of the request, by its name.
    fn topic(&mut self, name: &str) -> Option<(&StreamTopic, &mut String)> {
        let mut topics = self.request.topics.iter_mut();
        topics.find(|(topic, _)| topic.name() == name)
    }

    /// Sessions and topics are added and removed.
    pub(crate) fn change(&mut self, patch: &StreamPatch) {
        for (topic, after) in &patch.topics {
            match after {
                Some(after) => drop(self.request.topics.insert(*topic, after.clone())),
                None => drop(self.request.topics.remove(topic)),
            }
        }
        for session in &patch.remove {
            self.request.sessions.remove(session);
            self.sessions
                .retain(|_, received| received.root != *session);
        }
        let added = patch.add.iter();
        self.request
            .sessions
            .extend(added.map(|(session, start)| (session.clone(), start.clone())));
    }

    /// Takes a frame into account.
    pub(crate) fn take(&mut self, frame: &StreamFrame) -> FrameCheck {
        match frame {
            StreamFrame::Event(event) => match event.id {
                Some(id) => self.take_event(&event.session, id),
                None => FrameCheck::Deliver,
            },
            StreamFrame::Added(added) => {
                let after = added.after;
                self.join(&added.session, &added.root, after);
                FrameCheck::Deliver
            }
            StreamFrame::Snapshot(snapshot) => self.take_snapshot(&snapshot.session, snapshot.head),
            StreamFrame::Topic(topic) => {
                if topic.topic() == "board" {
                    self.request.board = Some(topic.rev.clone());
                } else if let Some((_, rev)) = self.topic(topic.topic()) {
                    rev.clone_from(&topic.rev);
                }
                FrameCheck::Deliver
            }
            StreamFrame::Hello(hello) => {
                self.joined_at.get_or_insert(hello.now);
                FrameCheck::Deliver
            }
            StreamFrame::Beat(beat) => self.take_beat(beat),
            _ => FrameCheck::Deliver,
        }
    }

    fn join(&mut self, session: &SessionId, root: &SessionId, after: u64) {
        let new = || ReceivedSession {
            root: root.clone(),
            position: after,
        };
        self.sessions.entry(session.clone()).or_insert_with(new);
    }

    fn take_event(&mut self, session: &SessionId, id: u64) -> FrameCheck {
        let start = self.request.sessions.get(session).map(SessionStart::cursor);
        let after = start.and_then(|StreamCursor { after, .. }| after);
        let expected = after.unwrap_or_else(|| id.saturating_sub(1));
        self.join(session, session, expected);
        let Some(received) = self.sessions.get_mut(session) else {
            return FrameCheck::Deliver;
        };
        if id <= received.position {
            return FrameCheck::Repeated;
        }
        // Where only some types are sent, numbers between them are missing on purpose.
        if id > received.position + 1 && self.request.types.is_empty() {
            return FrameCheck::Missed;
        }
        received.position = id;
        FrameCheck::Deliver
    }

    fn take_snapshot(&mut self, session: &SessionId, head: u64) -> FrameCheck {
        self.join(session, session, head);
        let position = self.sessions.get(session).map(|received| received.position);
        let is_behind = position.is_some_and(|position| position < head);
        if is_behind && self.request.types.is_empty() {
            return FrameCheck::Missed;
        }
        FrameCheck::Deliver
    }

    fn take_beat(&mut self, beat: &StreamBeat) -> FrameCheck {
        let is_behind = beat.heads.iter().any(|(session, head)| {
            let received = self.sessions.get(session);
            received.is_some_and(|received| received.position < *head)
        });
        if is_behind && self.request.types.is_empty() {
            FrameCheck::Missed
        } else {
            FrameCheck::Deliver
        }
    }

    /// An event of a kind that this version does not know: only its place counts.
    pub(crate) fn take_unknown(&mut self, id: &str) -> FrameCheck {
        let Some((session, number)) = id.rsplit_once(':') else {
            return FrameCheck::Repeated;
        };
        match (SessionId::parse(session), number.parse()) {
            (Ok(session), Ok(number)) => match self.take_event(&session, number) {
                FrameCheck::Missed => FrameCheck::Missed,
                _ => FrameCheck::Repeated,
            },
            _ => FrameCheck::Repeated,
        }
    }
}
