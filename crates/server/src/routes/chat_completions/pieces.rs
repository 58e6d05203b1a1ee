//! An answer in pieces, as server-sent events. While nothing happens a comment says that it lives.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use axum::response::sse::{Event, KeepAlive, Sse};
use futures::stream::{self, Stream};
use serde_json::Value;

use super::in_words;
use crate::{
    exchange::{Ended, Exchange, Step},
    openai::{
        asked::Manner,
        written::{Letterhead, Status},
    },
    telling::Told,
};

/// What every stream ends with.
const DONE: &str = "[DONE]";

/// The stream. Dropping it is the client going away.
pub(super) fn stream(
    exchange: Exchange,
    letterhead: Letterhead,
    manner: Manner,
    heartbeat: Duration,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let ready = VecDeque::from([letterhead.beginning().to_string()]);
    let pieces = Pieces { exchange: Some(exchange), letterhead, manner, ready, has_text: false };
    let events = stream::unfold(pieces, |mut pieces| async {
        let data = pieces.next().await?;
        Some((Ok(Event::default().data(data)), pieces))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(heartbeat).text("hb"))
}

struct Pieces {
    /// None once it has ended.
    exchange: Option<Exchange>,
    letterhead: Letterhead,
    manner: Manner,
    ready: VecDeque<String>,
    has_text: bool,
}

impl Pieces {
    async fn next(&mut self) -> Option<String> {
        if let Some(data) = self.ready.pop_front() {
            return Some(data);
        }
        let step = self.exchange.as_mut()?.next().await;
        match step {
            Step::Told(Told::Text(text)) => {
                self.has_text = true;
                self.put(self.letterhead.content(&text));
            }
            Step::Told(Told::Deed(deed)) => self.put(self.letterhead.reasoning(&deed)),
            Step::Ended(ended) => self.end(ended),
        }
        self.ready.pop_front()
    }

    fn end(&mut self, ended: Ended) {
        let usage = self.exchange.take().map(|exchange| exchange.usage()).unwrap_or_default();
        let status = match ended {
            Ended::Answered(status) => Status::Run(status),
            Ended::Held(held) => {
                let words = in_words(&held, &self.letterhead, self.has_text);
                self.put(self.letterhead.content(&words));
                Status::Needs(held.kind, held.id)
            }
            Ended::Failed(failure) => {
                self.put(failure.body_value());
                self.ready.push_back(DONE.into());
                return;
            }
        };
        self.put(self.letterhead.end(&status));
        if self.manner == Manner::PiecesAndUsage {
            self.put(self.letterhead.cost(&usage));
        }
        self.ready.push_back(DONE.into());
    }

    fn put(&mut self, piece: Value) {
        self.ready.push_back(piece.to_string());
    }
}
