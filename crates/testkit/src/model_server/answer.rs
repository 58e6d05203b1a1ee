//! What a model server answers, in words all wires share.

use rooftree_protocol::Usage;
use serde_json::Value;

use super::delivery::{BodyDelivery, BodyEnd, BodyPieces};

/// An answer to one request.
#[derive(Clone, Debug)]
pub enum ServerAnswer {
    /// A stream.
    Say(StreamedAnswer),
    /// A refusal in the vendor's format.
    Fail(ErrorAnswer),
    /// Anything: what proxies and broken servers send.
    Raw {
        /// Its status.
        status: u16,
        /// Its content type.
        content_type: &'static str,
        /// Its body.
        body: String,
    },
    /// Nothing, ever.
    Silence,
}

/// A streamed answer.
#[derive(Clone, Debug)]
pub struct StreamedAnswer {
    /// Its parts, in order.
    pub blocks: Vec<AnswerBlock>,
    /// Why it ends.
    pub stop: AnswerStop,
    /// What it cost.
    pub usage: Usage,
    /// An error that comes instead of the end.
    pub failure: Option<ErrorAnswer>,
    /// Whether the vendor's last word comes.
    pub ends: bool,
    /// How its bytes travel.
    pub delivery: BodyDelivery,
}

/// A part of an answer. The pieces of a text are the deltas it comes in.
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
    /// An item as the vendor spells it.
    Item(Value),
    /// A whole event as it goes over the wire, between the others.
    Frame(String),
}

/// Why an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerStop {
    /// By itself, or for its calls.
    End,
    /// At the output limit.
    MaxOutput,
    /// It refuses.
    Refused,
}

/// A refusal.
#[derive(Clone, Debug)]
pub struct ErrorAnswer {
    /// The status.
    pub status: u16,
    /// The vendor's code.
    pub code: String,
    /// The vendor's sentence.
    pub message: String,
    /// Headers that come with it.
    pub headers: Vec<(&'static str, String)>,
    /// How long to wait, for wires whose body says so: seconds with an `s` behind them.
    pub retry_delay: Option<String>,
}

/// A refusal with this status, code and sentence.
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

    /// Says in the body how long to wait.
    pub fn retry_delay(mut self, delay: &str) -> Self {
        self.retry_delay = Some(delay.into());
        self
    }
}

/// An answer that says nothing yet.
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

    /// Ends for this reason.
    pub fn stop(mut self, stop: AnswerStop) -> Self {
        self.stop = stop;
        self
    }

    /// Costs this.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Breaks off with an error inside the stream.
    pub fn with_error(mut self, failure: ErrorAnswer) -> Self {
        self.failure = Some(failure);
        self
    }

    /// Leaves the vendor's last word out.
    pub fn without_end(mut self) -> Self {
        self.ends = false;
        self
    }

    /// Sends the bytes in these pieces.
    pub fn pieces(mut self, pieces: BodyPieces) -> Self {
        self.delivery.pieces = pieces;
        self
    }

    /// Lets the body end this way.
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
