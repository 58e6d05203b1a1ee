//! Streams an answer as server-sent events, with heartbeat comments while nothing happens.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use axum::response::sse::{Event, KeepAlive, Sse};
use futures::stream::{self, Stream};

use super::pending_inquiry_text;
use crate::{
    answer_stream::AnswerPiece,
    exchange::{AgentExchange, ExchangeEnd, ExchangeStep},
    openai::api_format::{ResponseEnd, ResponseStatus, SseFrame, StreamEncoder},
};

/// The stream. Dropping it is the client going away.
pub(super) fn stream(
    exchange: AgentExchange,
    mut pieces: Box<dyn StreamEncoder>,
    heartbeat: Duration,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let ready = pieces.begin().into();
    let streaming = SseAnswer {
        exchange: Some(exchange),
        pieces,
        ready,
        has_text: false,
    };
    let events = stream::unfold(streaming, |mut streaming| async {
        let SseFrame { name, data } = streaming.next().await?;
        let event = name.map_or_else(Event::default, |name| Event::default().event(name));
        Some((Ok(event.data(data)), streaming))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(heartbeat).text("hb"))
}

struct SseAnswer {
    /// None once it has ended.
    exchange: Option<AgentExchange>,
    pieces: Box<dyn StreamEncoder>,
    ready: VecDeque<SseFrame>,
    has_text: bool,
}

impl SseAnswer {
    async fn next(&mut self) -> Option<SseFrame> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            match self.exchange.as_mut()?.next().await {
                ExchangeStep::Told(told) => self.tell(&told),
                ExchangeStep::Ended(ended) => self.end(ended),
            }
        }
    }

    fn tell(&mut self, told: &AnswerPiece) {
        self.has_text |= matches!(told, AnswerPiece::Text(_));
        self.ready.extend(self.pieces.told(told));
    }

    fn end(&mut self, ended: ExchangeEnd) {
        let Some(exchange) = self.exchange.take() else {
            return;
        };
        let status = match ended {
            ExchangeEnd::Answered(status, verified) => ResponseStatus::Run(status, verified),
            ExchangeEnd::Held(held) => {
                self.tell(&pending_inquiry_text(
                    &held,
                    exchange.session(),
                    self.has_text,
                ));
                ResponseStatus::Needs(held.kind(), held.id().to_owned())
            }
            ExchangeEnd::Failed(failure) => return self.ready.extend(self.pieces.fail(&failure)),
        };
        self.ready.extend(self.pieces.end(&ResponseEnd {
            status,
            usage: exchange.usage(),
        }));
    }
}
