//! Delivery of a response body: split into pieces, truncated, stalled or compressed.

use std::{
    io::{Error, ErrorKind, Write},
    time::Duration,
};

use axum::body::{Body, Bytes};
use flate2::{Compression, write::GzEncoder};
use futures::{Stream, StreamExt, stream};

/// How an answer's bytes are sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct BodyDelivery {
    /// How the body is split.
    pub pieces: BodyPieces,
    /// How the body ends.
    pub end: BodyEnd,
    /// Whether it is compressed with gzip.
    pub gzip: bool,
    /// Whether lines end with a carriage return and a line feed.
    pub crlf: bool,
}

/// How a body is split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyPieces {
    /// One piece.
    Whole,
    /// One piece per event.
    #[default]
    Events,
    /// One piece per byte.
    Bytes,
}

/// How a body ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyEnd {
    /// Normally.
    #[default]
    Whole,
    /// Truncated after so many bytes, as if it were complete.
    Short(usize),
    /// Connection lost after so many bytes.
    Cut(usize),
    /// Stalled after so many bytes.
    Stall(usize),
    /// Only pings after so many bytes.
    Ping(usize),
}

impl BodyDelivery {
    /// A body of these events; `ping` is the vendor's keep-alive event.
    /// The guard is dropped when the client has received all of it or has disconnected.
    pub fn body(self, frames: &[String], ping: &'static str, guard: impl Send + 'static) -> Body {
        let bytes = self.bytes(frames);
        let (kept, last) = match self.end {
            BodyEnd::Whole => (bytes.len(), None),
            BodyEnd::Short(kept) => (kept, None),
            BodyEnd::Cut(kept) => (kept, Some(BodyTail::Lost)),
            BodyEnd::Stall(kept) => (kept, Some(BodyTail::Silence)),
            BodyEnd::Ping(kept) => (kept, Some(BodyTail::Pings)),
        };
        let kept = bytes.get(..kept).unwrap_or(&bytes).to_vec();
        let pieces: Vec<Bytes> = match self.pieces {
            BodyPieces::Whole => vec![kept.into()],
            BodyPieces::Bytes => kept.chunks(1).map(Bytes::copy_from_slice).collect(),
            BodyPieces::Events if self.gzip => kept.chunks(7).map(Bytes::copy_from_slice).collect(),
            BodyPieces::Events => after_blank_lines(&kept),
        };
        let pieces = stream::iter(pieces).then(|piece| async {
            // Lets the piece before be sent on its own.
            tokio::task::yield_now().await;
            Ok::<_, Error>(piece)
        });
        let last = stream::iter(last).flat_map(move |last| match last {
            BodyTail::Lost => {
                stream::iter([Err(Error::from(ErrorKind::ConnectionAborted))]).boxed()
            }
            BodyTail::Silence => stream::pending().boxed(),
            BodyTail::Pings => pings(ping).boxed(),
        });
        Body::from_stream(pieces.chain(last).map(move |piece| {
            let _held = &guard;
            piece
        }))
    }

    /// The whole body as bytes.
    pub fn bytes(self, frames: &[String]) -> Vec<u8> {
        let mut text = frames.concat();
        if self.crlf {
            text = text.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        if !self.gzip {
            return text.into_bytes();
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder
            .write_all(text.as_bytes())
            .and_then(|()| encoder.finish())
            .expect("writing to memory")
    }
}

enum BodyTail {
    Lost,
    Silence,
    Pings,
}

fn pings(ping: &'static str) -> impl Stream<Item = Result<Bytes, Error>> {
    stream::repeat(ping).then(|ping| async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok(Bytes::from_static(ping.as_bytes()))
    })
}

fn after_blank_lines(bytes: &[u8]) -> Vec<Bytes> {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(2).position(|pair| pair == b"\n\n") {
        let (piece, tail) = rest.split_at(at + 2);
        pieces.push(Bytes::copy_from_slice(piece));
        rest = tail;
    }
    pieces.push(Bytes::copy_from_slice(rest));
    pieces
}
