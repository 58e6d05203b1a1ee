//! Parses a server's answers from JSON, for tests that are not written in Rust.

use rooftree_protocol::Usage;
use serde::Deserialize;

use super::{AnswerBlock, AnswerStop, ServerAnswer, fail, say};

/// One answer: parts of a stream, or an error response.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum JsonAnswer {
    Say {
        say: Vec<JsonAnswerPart>,
        #[serde(default)]
        usage: Usage,
        #[serde(default)]
        cut: bool,
    },
    Fail {
        status: u16,
        code: String,
        message: String,
        #[serde(default)]
        retry_after: Option<String>,
    },
}

/// A part of an answer; a streamed text is a list of deltas.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum JsonAnswerPart {
    Text {
        text: Vec<String>,
    },
    Thinking {
        thinking: Vec<String>,
        signature: String,
    },
    Call {
        call: String,
        id: String,
        json: Vec<String>,
    },
}

/// Parses the answers of a JSON text, in order.
///
/// ```
/// let text = r#"[{"say": [{"text": ["Hel", "lo."]}]}, {"status": 429, "code": "slow", "message": "Wait."}]"#;
/// assert_eq!(rooftree_testkit::model_server::parse_answers(text).unwrap().len(), 2);
/// ```
pub fn parse_answers(text: &str) -> Result<Vec<ServerAnswer>, serde_json::Error> {
    let entries: Vec<JsonAnswer> = serde_json::from_str(text)?;
    Ok(entries.into_iter().map(ServerAnswer::from).collect())
}

impl From<JsonAnswer> for ServerAnswer {
    fn from(entry: JsonAnswer) -> Self {
        match entry {
            JsonAnswer::Say {
                say: parts,
                usage,
                cut,
            } => {
                let stop = if cut {
                    AnswerStop::MaxOutput
                } else {
                    AnswerStop::End
                };
                let saying = say().usage(usage).stop(stop);
                parts
                    .into_iter()
                    .fold(saying, |saying, part| saying.block(part.into()))
                    .into()
            }
            JsonAnswer::Fail {
                status,
                code,
                message,
                retry_after,
            } => {
                let failure = fail(status, &code, &message);
                match retry_after {
                    Some(wait) => failure.header("retry-after", wait).into(),
                    None => failure.into(),
                }
            }
        }
    }
}

impl From<JsonAnswerPart> for AnswerBlock {
    fn from(spoken: JsonAnswerPart) -> Self {
        match spoken {
            JsonAnswerPart::Text { text } => Self::Text(text),
            JsonAnswerPart::Thinking {
                thinking,
                signature,
            } => Self::Thinking(thinking, signature),
            JsonAnswerPart::Call { call, id, json } => Self::Call {
                id,
                tool: call,
                json,
                signature: None,
            },
        }
    }
}
