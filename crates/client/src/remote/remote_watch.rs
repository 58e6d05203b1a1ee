//! A watch over HTTP: reads frames, connects again after a break, and continues at its cursors.

use std::{collections::VecDeque, time::Duration};

use async_trait::async_trait;
use rooftree_protocol::Problem;
use rooftree_view::{StreamFrame, StreamPatch};
use tokio::time::{Instant, sleep, timeout_at};

use super::{FrameReader, RemoteClient};
use crate::{
    ConnectionState, WatchUpdate,
    stream_cursors::{FrameCheck, StreamCursors},
    watch::WatchSource,
};

/// A connection that lasted so long counts as stable: pauses begin anew.
const STABLE: Duration = Duration::from_secs(30);
/// Beats that may be missed before the connection is made again.
const MISSED_BEATS: u32 = 3;
/// Time between beats until the server has said it.
const USUAL_BEAT: Duration = Duration::from_secs(15);
/// How long the head of an answer may take.
const CONNECT: Duration = Duration::from_secs(20);

/// A watch over HTTP, which reconnects by itself.
pub(super) struct RemoteWatch {
    client: RemoteClient,
    cursors: StreamCursors,
    reader: Option<FrameReader>,
    /// The name of the stream on the server.
    name: Option<String>,
    beat: Duration,
    connected_at: Option<Instant>,
    attempt: u32,
    ready: VecDeque<WatchUpdate>,
    state: ConnectionState,
}

impl RemoteWatch {
    pub(super) fn new(client: RemoteClient, cursors: StreamCursors) -> Self {
        let state = ConnectionState::Connecting;
        Self {
            client,
            cursors,
            reader: None,
            name: None,
            beat: USUAL_BEAT,
            connected_at: None,
            attempt: 0,
            ready: VecDeque::from([WatchUpdate::Connection(state.clone())]),
            state,
        }
    }

    /// Makes the connection, after a pause if it broke.
    async fn connect(&mut self) {
        if self.attempt > 0 {
            sleep(self.pause()).await;
        }
        let request = self.cursors.request();
        let deadline = Instant::now() + CONNECT;
        let opened = timeout_at(deadline, self.client.open_stream(&request)).await;
        match opened {
            Ok(Ok(reader)) => self.reader = Some(reader),
            Ok(Err(refused)) if !refused.is_passing => {
                self.set_state(ConnectionState::Blocked(refused.problem));
            }
            Ok(Err(broken)) => self.broke(broken.problem.message),
            Err(_) => self.broke("the server did not answer in time".into()),
        }
    }

    fn pause(&self) -> Duration {
        let pause = self.client.pauses.before(self.attempt);
        // Clients that broke together do not come back together.
        pause.mul_f64(0.75 + self.client.jitter() / 2.0)
    }

    async fn read(&mut self) {
        let Some(reader) = &mut self.reader else {
            return;
        };
        let deadline = Instant::now() + self.beat * MISSED_BEATS;
        let frame = match timeout_at(deadline, reader.next()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(reason))) => return self.broke(reason),
            Ok(None) => return self.broke("the stream ended".into()),
            Err(_) => return self.broke("nothing was heard of the server".into()),
        };
        let Some(parsed) = StreamFrame::parse(&frame.name, &frame.id, &frame.data) else {
            if self.cursors.take_unknown(&frame.id) == FrameCheck::Missed {
                self.broke("frames were missed".into());
            }
            return;
        };
        match self.cursors.take(&parsed) {
            FrameCheck::Deliver => self.deliver(parsed),
            FrameCheck::Repeated => {}
            FrameCheck::Missed => self.broke("frames were missed".into()),
        }
    }

    fn deliver(&mut self, frame: StreamFrame) {
        match &frame {
            StreamFrame::Hello(hello) => {
                self.name = Some(hello.stream.clone());
                self.beat = Duration::from_secs(hello.beat.max(1));
                self.connected_at = Some(Instant::now());
                self.set_state(ConnectionState::Connected);
            }
            StreamFrame::Bye(_) => {
                self.ready.push_back(WatchUpdate::Frame(Box::new(frame)));
                return self.broke("the server ended the stream".into());
            }
            _ => {}
        }
        self.ready.push_back(WatchUpdate::Frame(Box::new(frame)));
    }

    fn broke(&mut self, reason: String) {
        let was_stable = self
            .connected_at
            .take()
            .is_some_and(|at| at.elapsed() >= STABLE);
        self.attempt = if was_stable { 1 } else { self.attempt + 1 };
        (self.reader, self.name) = (None, None);
        let attempt = self.attempt;
        self.set_state(ConnectionState::Reconnecting { attempt, reason });
    }

    fn set_state(&mut self, state: ConnectionState) {
        if self.state != state {
            self.state = state.clone();
            self.ready.push_back(WatchUpdate::Connection(state));
        }
    }
}

#[async_trait]
impl WatchSource for RemoteWatch {
    async fn next(&mut self) -> Option<WatchUpdate> {
        loop {
            if let Some(update) = self.ready.pop_front() {
                return Some(update);
            }
            if matches!(self.state, ConnectionState::Blocked(_)) {
                return None;
            }
            match &mut self.reader {
                None => self.connect().await,
                Some(_) => self.read().await,
            }
        }
    }

    async fn change(&mut self, patch: StreamPatch) -> Result<(), Problem> {
        self.cursors.change(&patch);
        let Some(name) = self.name.clone() else {
            // The next connection asks for it.
            return Ok(());
        };
        let changed = self.client.change_stream(&name, &patch).await;
        match changed {
            Err(problem) if problem.is_passing => {
                self.broke(problem.problem.message);
                Ok(())
            }
            other => other.map_err(|refused| refused.problem),
        }
    }
}
