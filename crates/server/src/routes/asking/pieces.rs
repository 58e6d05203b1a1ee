//! An answer in pieces, as server-sent events. While nothing happens a comment says that it lives.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use axum::response::sse::{Event, KeepAlive, Sse};
use futures::stream::{self, Stream};

use super::in_words;
use crate::{
    exchange::{Ended, Exchange, Step},
    openai::wire::{Ending, Frame, Pieces, Status},
    telling::Told,
};

/// The stream. Dropping it is the client going away.
pub(super) fn stream(
    exchange: Exchange,
    mut pieces: Box<dyn Pieces>,
    heartbeat: Duration,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let ready = pieces.begin().into();
    let streaming = Streaming { exchange: Some(exchange), pieces, ready, has_text: false };
    let events = stream::unfold(streaming, |mut streaming| async {
        let Frame { name, data } = streaming.next().await?;
        let event = name.map_or_else(Event::default, |name| Event::default().event(name));
        Some((Ok(event.data(data)), streaming))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(heartbeat).text("hb"))
}

struct Streaming {
    /// None once it has ended.
    exchange: Option<Exchange>,
    pieces: Box<dyn Pieces>,
    ready: VecDeque<Frame>,
    has_text: bool,
}

impl Streaming {
    async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            match self.exchange.as_mut()?.next().await {
                Step::Told(told) => self.tell(&told),
                Step::Ended(ended) => self.end(ended),
            }
        }
    }

    fn tell(&mut self, told: &Told) {
        self.has_text |= matches!(told, Told::Text(_));
        self.ready.extend(self.pieces.told(told));
    }

    fn end(&mut self, ended: Ended) {
        let Some(exchange) = self.exchange.take() else { return };
        let status = match ended {
            Ended::Answered(status, verified) => Status::Run(status, verified),
            Ended::Held(held) => {
                self.tell(&in_words(&held, exchange.session(), self.has_text));
                Status::Needs(held.kind, held.id)
            }
            Ended::Failed(failure) => return self.ready.extend(self.pieces.fail(&failure)),
        };
        self.ready.extend(self.pieces.end(&Ending { status, usage: exchange.usage() }));
    }
}
