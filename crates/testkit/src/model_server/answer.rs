//! Answers of a mock model server, in a form that is independent of the vendor's API.

use rooftree_protocol::Usage;
use serde_json::Value;

use super::delivery::{BodyDelivery, BodyEnd, BodyPieces};

/// An answer to one request.
#[derive(Clone, Debug)]
pub enum ServerAnswer {
    /// A stream.
    Say(StreamedAnswer),
    /// An error response in the vendor's format.
    Fail(ErrorAnswer),
    /// Any other response: what proxies and broken servers send.
    Raw {
        /// Its status.
        status: u16,
        /// Its content type.
        content_type: &'static str,
        /// Its body.
        body: String,
    },
    /// No response at all.
    Silence,
}

/// A streamed answer.
#[derive(Clone, Debug)]
pub struct StreamedAnswer {
    /// Its parts, in order.
    pub blocks: Vec<AnswerBlock>,
    /// Its stop reason.
    pub stop: AnswerStop,
    /// Its usage.
    pub usage: Usage,
    /// An error event instead of the end.
    pub failure: Option<ErrorAnswer>,
    /// Whether the final event is sent.
    pub ends: bool,
    /// How its bytes are sent.
    pub delivery: BodyDelivery,
}

/// A part of an answer. The pieces of a text are its deltas.
#[derive(Clone, Debug)]
pub enum AnswerBlock {
    /// Text.
    Text(Vec<String>),
    /// Thinking and its signature.
    Thinking(Vec<String>, String),
    /// A call: the vendor's id, the tool, its arguments as JSON text, and the vendor's signature if it has one.
    Call {
        /// The vendor's id.
        id: String,
        /// The tool.
        tool: String,
        /// Its arguments, in pieces.
        json: Vec<String>,
        /// The vendor's signature on it.
        signature: Option<String>,
    },
    /// An item in the vendor's format.
    Item(Value),
    /// A whole raw event, between the others.
    Frame(String),
}

/// The stop reason of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerStop {
    /// Finished, or for its calls.
    End,
    /// At the output limit.
    MaxOutput,
    /// A refusal.
    Refused,
}

/// An error response.
#[derive(Clone, Debug)]
pub struct ErrorAnswer {
    /// The status.
    pub status: u16,
    /// The vendor's code.
    pub code: String,
    /// The vendor's message.
    pub message: String,
    /// Additional headers.
    pub headers: Vec<(&'static str, String)>,
    /// The retry delay, for APIs that put it into the body: seconds with an `s` behind them.
    pub retry_delay: Option<String>,
}

/// An error response with this status, code and message.
pub fn fail(status: u16, code: &str, message: &str) -> ErrorAnswer {
    ErrorAnswer {
        status,
        code: code.into(),
        message: message.into(),
        headers: Vec::new(),
        retry_delay: None,
    }
}

impl ErrorAnswer {
    /// Adds a header.
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Sets the retry delay in the body.
    pub fn retry_delay(mut self, delay: &str) -> Self {
        self.retry_delay = Some(delay.into());
        self
    }
}

/// An empty answer to build on.
pub fn say() -> StreamedAnswer {
    let usage = Usage {
        input: 10,
        output: 5,
        ..Usage::default()
    };
    let (blocks, stop, delivery) = (Vec::new(), AnswerStop::End, BodyDelivery::default());
    StreamedAnswer {
        blocks,
        stop,
        usage,
        failure: None,
        ends: true,
        delivery,
    }
}

impl StreamedAnswer {
    /// Adds text in these pieces.
    pub fn text<const N: usize>(self, pieces: [&str; N]) -> Self {
        self.block(AnswerBlock::Text(owned(&pieces)))
    }

    /// Adds thinking in these pieces, with a signature.
    pub fn thinking<const N: usize>(self, pieces: [&str; N], signature: &str) -> Self {
        self.block(AnswerBlock::Thinking(owned(&pieces), signature.into()))
    }

    /// Adds a call whose arguments come in these pieces.
    pub fn call<const N: usize>(self, id: &str, tool: &str, json: [&str; N]) -> Self {
        self.block(AnswerBlock::Call {
            id: id.into(),
            tool: tool.into(),
            json: owned(&json),
            signature: None,
        })
    }

    /// Adds any block.
    pub fn block(mut self, block: AnswerBlock) -> Self {
        self.blocks.push(block);
        self
    }

    /// Sets the stop reason.
    pub fn stop(mut self, stop: AnswerStop) -> Self {
        self.stop = stop;
        self
    }

    /// Sets the usage.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Ends with an error event inside the stream.
    pub fn with_error(mut self, failure: ErrorAnswer) -> Self {
        self.failure = Some(failure);
        self
    }

    /// Leaves out the final event.
    pub fn without_end(mut self) -> Self {
        self.ends = false;
        self
    }

    /// Sends the bytes in these pieces.
    pub fn pieces(mut self, pieces: BodyPieces) -> Self {
        self.delivery.pieces = pieces;
        self
    }

    /// Sets how the body ends.
    pub fn with_body_end(mut self, end: BodyEnd) -> Self {
        self.delivery.end = end;
        self
    }

    /// Compresses the body.
    pub fn gzip(mut self) -> Self {
        self.delivery.gzip = true;
        self
    }

    /// Ends lines with a carriage return and a line feed.
    pub fn crlf(mut self) -> Self {
        self.delivery.crlf = true;
        self
    }
}

fn owned(pieces: &[&str]) -> Vec<String> {
    pieces.iter().map(ToString::to_string).collect()
}

impl From<StreamedAnswer> for ServerAnswer {
    fn from(saying: StreamedAnswer) -> Self {
        Self::Say(saying)
    }
}

impl From<ErrorAnswer> for ServerAnswer {
    fn from(failure: ErrorAnswer) -> Self {
        Self::Fail(failure)
    }
}
