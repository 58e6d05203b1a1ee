//! Decodes a streamed answer of Gemini: joins its parts in order and turns them into chunks.
//!
//! The API has no final event. The answer is complete once it has a finish reason; more may follow,
//! above all the final token count, so the body is read to its end.

use std::sync::Arc;

use rooftree_protocol::{
    CallId, ToolCall,
    event::{ReplyPart, StopReason},
};
use serde_json::Value;

use super::{
    errors,
    events::{GeminiCandidate, GeminiEvent, GeminiPromptFeedback, GeminiUsage},
    signature,
};
use crate::{
    Error, ModelReply, ReplyChunk,
    http::{
        error_response::ErrorResponse,
        event_stream::{DecodeProgress, EventDecoder},
    },
    sse,
};

/// Decoder of one answer.
pub(super) struct GeminiStream {
    provider: Arc<str>,
    dropped: Vec<String>,
    id: Option<String>,
    parts: Vec<ReplyPart>,
    /// Whether more text may be joined to the last part; not if that one is signed.
    is_open: bool,
    calls: usize,
    tokens: GeminiUsage,
    stop: Option<StopReason>,
}

impl GeminiStream {
    pub(super) fn new(provider: Arc<str>, dropped: Vec<String>) -> Self {
        Self {
            provider,
            dropped,
            id: None,
            parts: Vec::new(),
            is_open: false,
            calls: 0,
            tokens: GeminiUsage::default(),
            stop: None,
        }
    }

    fn take_part(&mut self, part: Value) -> Option<ReplyChunk> {
        let signature = part
            .get("thoughtSignature")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let text = part.get("text").and_then(Value::as_str).map(str::to_owned);
        let is_thought = part
            .get("thought")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        match (text, is_thought, part.get("functionCall")) {
            (Some(text), true, _) => self.think(text, signature),
            (Some(text), false, _) => self.say(text, signature),
            (None, _, Some(call)) => {
                let call = call.clone();
                Some(self.call(&call, signature))
            }
            (None, _, None) => {
                // A value that is not an object could not be sent back as a part.
                part.as_object()?;
                self.is_open = false;
                self.parts.push(ReplyPart::Opaque {
                    provider: self.provider.to_string(),
                    item: part,
                });
                None
            }
        }
    }

    fn say(&mut self, text: String, signature: Option<String>) -> Option<ReplyChunk> {
        if let Some(signature) = signature {
            self.parts.push(signature::kept(&self.provider, signature));
            self.parts.push(ReplyPart::Text { text: text.clone() });
            self.is_open = false;
        } else if !text.is_empty() {
            match self.parts.last_mut() {
                Some(ReplyPart::Text { text: last }) if self.is_open => last.push_str(&text),
                _ => self.parts.push(ReplyPart::Text { text: text.clone() }),
            }
            self.is_open = true;
        }
        (!text.is_empty()).then_some(ReplyChunk::Text(text))
    }

    fn think(&mut self, text: String, signed: Option<String>) -> Option<ReplyChunk> {
        let ends = signed.is_some();
        match self.parts.last_mut() {
            Some(ReplyPart::Thinking {
                text: last,
                signature,
            }) if self.is_open => {
                last.push_str(&text);
                *signature = signed;
            }
            _ => self.parts.push(ReplyPart::Thinking {
                text: text.clone(),
                signature: signed,
            }),
        }
        self.is_open = !ends;
        (!text.is_empty()).then_some(ReplyChunk::Thinking(text))
    }

    fn call(&mut self, call: &Value, signature: Option<String>) -> ReplyChunk {
        let text = |name| call.get(name).and_then(Value::as_str).unwrap_or_default();
        let index = self.calls;
        let id = CallId::parse(text("id")).unwrap_or_else(|_| CallId::from_entropy(index as u128));
        let tool = text("name").to_owned();
        // A call without arguments may leave them out. Anything but an object is for the tool to refuse.
        let input = call
            .get("args")
            .cloned()
            .unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        let written = input.to_string();
        if let Some(signature) = signature {
            self.parts.push(signature::kept(&self.provider, signature));
        }
        self.parts.push(ReplyPart::Call(ToolCall {
            id,
            tool: tool.clone(),
            input,
        }));
        self.calls += 1;
        self.is_open = false;
        ReplyChunk::ToolInput {
            index,
            tool,
            text: written,
        }
    }

    /// Handles the finish reason. A refusal without content is an error: there is nothing to keep.
    fn close(&mut self, reason: &str, message: Option<String>) -> Result<(), Error> {
        let words = || {
            message
                .clone()
                .unwrap_or_else(|| format!("the model stopped: {reason}"))
        };
        self.stop = Some(match reason {
            "STOP" if self.calls > 0 => StopReason::Calls,
            "STOP" => StopReason::End,
            "MAX_TOKENS" | "CONTINUATION" => StopReason::MaxOutput,
            // The model wrote an invalid call; a retry may succeed.
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" => {
                return Err(Error::Broken(words()));
            }
            "OTHER" | "FINISH_REASON_UNSPECIFIED" if self.parts.is_empty() => {
                return Err(Error::Broken(words()));
            }
            "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION" => {
                if self.parts.is_empty() {
                    return Err(Error::Refused(words()));
                }
                StopReason::Refused
            }
            _ if self.calls > 0 => StopReason::Calls,
            _ => StopReason::End,
        });
        Ok(())
    }

    fn take_candidate(&mut self, candidate: GeminiCandidate) -> Result<Vec<ReplyChunk>, Error> {
        let parts = candidate.content.unwrap_or_default().parts;
        let chunks = parts
            .into_iter()
            .filter_map(|part| self.take_part(part))
            .collect();
        match candidate.finish_reason {
            Some(reason) => self.close(&reason, candidate.finish_message)?,
            // A call may come in an event after the finish reason.
            None if self.calls > 0 && self.stop == Some(StopReason::End) => {
                self.stop = Some(StopReason::Calls);
            }
            None => {}
        }
        Ok(chunks)
    }
}

impl EventDecoder for GeminiStream {
    fn take(&mut self, event: &sse::SseEvent) -> Result<DecodeProgress, Error> {
        let piece: GeminiEvent = serde_json::from_str(&event.data).map_err(|error| {
            Error::Broken(format!("an event of the answer cannot be read: {error}"))
        })?;
        if let Some(failure) = piece.error {
            return Err(errors::classify_in_stream(&failure));
        }
        if let Some(words) = piece
            .prompt_feedback
            .and_then(GeminiPromptFeedback::refusal)
        {
            return Err(Error::Refused(words));
        }
        self.id = piece.response_id.or(self.id.take());
        self.tokens = piece.usage_metadata.unwrap_or(self.tokens);
        // Only one candidate is asked for.
        let chunks = piece
            .candidates
            .into_iter()
            .next()
            .map(|candidate| self.take_candidate(candidate));
        Ok(DecodeProgress::Chunks(
            chunks.transpose()?.unwrap_or_default(),
        ))
    }

    fn finish(&mut self) -> Option<ModelReply> {
        Some(ModelReply {
            stop: self.stop?,
            parts: std::mem::take(&mut self.parts),
            usage: self.tokens.usage(),
            request: self.id.take(),
            dropped: std::mem::take(&mut self.dropped),
        })
    }

    fn classify_error(&self, refusal: &ErrorResponse) -> Error {
        errors::classify_response(refusal)
    }
}
