//! All events that wake the follower of a run, merged into one stream: journal events, signals, keys, input lines.

use std::{sync::Arc, time::Duration};

use rooftree_client::{ConnectionState, EventFeed, FeedUpdate};
use rooftree_protocol::{ErrorCode, Event, Problem};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
    time::{Interval, MissedTickBehavior, interval},
};

use super::input_lines::InputLine;
use crate::terminal::keys::KeyboardInput;

/// How often a live view is redrawn while nothing happens.
const TICK: Duration = Duration::from_millis(100);
/// Events that may wait for a slow terminal; then the subscription re-reads the journal.
const BACKLOG: usize = 256;

/// Something to react to.
#[derive(Debug)]
pub enum FollowerEvent {
    Event(Arc<Event>),
    /// The connection to the server changed.
    Connection(ConnectionState),
    /// The events cannot be read any more.
    Broken(Problem),
    Key(char),
    Typed(InputLine),
    Interrupt,
    Terminate,
    HangUp,
    Tick,
}

/// The sources of these events.
pub struct FollowerEvents {
    events: mpsc::Receiver<Result<FeedUpdate, Problem>>,
    pub keys: KeyboardInput,
    input: Option<mpsc::Receiver<InputLine>>,
    signals: StopSignals,
    tick: Interval,
}

/// Signals that end a run gracefully. Once this exists, they do not end the program by themselves.
pub struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl StopSignals {
    /// Begins to listen.
    pub fn listen() -> Result<Self, Problem> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Problem::new(ErrorCode::Internal, "cannot listen for signals")
                    .cause(error.to_string())
            })
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> FollowerEvent {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => FollowerEvent::Interrupt,
            _ = self.terminate.recv() => FollowerEvent::Terminate,
            _ = self.hang_up.recv() => FollowerEvent::HangUp,
        }
    }
}

impl FollowerEvents {
    /// Subscribes to events, to signals, to keys while a prompt is open, and to input lines if there are any.
    pub fn open(
        subscription: EventFeed,
        signals: StopSignals,
        input: Option<mpsc::Receiver<InputLine>>,
    ) -> Self {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Self {
            events: forward(subscription),
            keys: KeyboardInput::new(),
            input,
            signals,
            tick,
        }
    }

    /// Waits for the next one. Signals come first: a stop request must not wait behind events.
    pub async fn next(&mut self) -> FollowerEvent {
        tokio::select! {
            biased;
            signal = self.signals.next() => signal,
            event = self.events.recv() => match event {
                Some(Ok(FeedUpdate::Event(event))) => FollowerEvent::Event(event),
                Some(Ok(FeedUpdate::Connection(state))) => FollowerEvent::Connection(state),
                Some(Err(problem)) => FollowerEvent::Broken(problem),
                None => FollowerEvent::Broken(Problem::new(ErrorCode::Internal, "the events ended")),
            },
            key = self.keys.next() => FollowerEvent::Key(key),
            typed = hear(&mut self.input) => FollowerEvent::Typed(typed),
            _ = self.tick.tick() => FollowerEvent::Tick,
        }
    }
}

async fn hear(input: &mut Option<mpsc::Receiver<InputLine>>) -> InputLine {
    let Some(lines) = input else {
        return std::future::pending().await;
    };
    match lines.recv().await {
        Some(typed) => typed,
        None => {
            *input = None;
            std::future::pending().await
        }
    }
}

/// A task of its own: the subscription's patience must not be cut short by every tick.
fn forward(mut subscription: EventFeed) -> mpsc::Receiver<Result<FeedUpdate, Problem>> {
    let (tx, rx) = mpsc::channel(BACKLOG);
    tokio::spawn(async move {
        loop {
            let event = subscription.next().await;
            let is_broken = event.is_err();
            if tx.send(event).await.is_err() || is_broken {
                return;
            }
        }
    });
    rx
}
