//! Reads server-sent events from the body of an answer.

use futures::{StreamExt, stream::BoxStream};
use reqwest::Response;
use sse_stream::{Sse, SseStream};

/// One event as it was sent.
pub(crate) struct ReceivedFrame {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) data: String,
}

/// The events of one answer.
pub(crate) struct FrameReader(BoxStream<'static, Result<Sse, sse_stream::Error>>);

impl FrameReader {
    pub(crate) fn new(response: Response) -> Self {
        Self(SseStream::from_bytes_stream(response.bytes_stream()).boxed())
    }

    /// The next event, or why there is none. Dropping the wait loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Result<ReceivedFrame, String>> {
        loop {
            let event = match self.0.next().await? {
                Ok(event) => event,
                Err(error) => return Some(Err(error.to_string())),
            };
            if let Some(data) = event.data {
                return Some(Ok(ReceivedFrame {
                    name: event.event.unwrap_or_default(),
                    id: event.id.unwrap_or_default(),
                    data,
                }));
            }
        }
    }
}
