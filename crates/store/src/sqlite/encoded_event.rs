//! An event serialized as its row will hold it, on the thread that appends it.

use rooftree_protocol::{Event, EventBody, RunId, SessionId, Timestamp, message::Part};

use super::shared_text::{self, SharedText};
use crate::Error;

/// Bytes of an event besides the texts in it, roughly.
const FRAME: usize = 512;

/// An event's envelope, and its body as JSON.
pub(crate) struct EncodedEvent {
    pub(crate) id: Option<u64>,
    pub(crate) session: SessionId,
    pub(crate) ts: Timestamp,
    pub(crate) run: Option<RunId>,
    pub(crate) parent_run: Option<RunId>,
    pub(crate) name: &'static str,
    pub(crate) is_durable: bool,
    /// Who sent the command that led to it, as JSON.
    pub(crate) who: Option<String>,
    /// Its data without the text that it repeats, if it does.
    pub(crate) shared: Option<SharedText>,
    /// A text, as it stands in the data, that an earlier event has too.
    pub(crate) repeated: Option<String>,
    /// `{"type":NAME,"data":DATA}`, of which the row holds DATA.
    body: String,
}

impl EncodedEvent {
    pub(crate) fn new(event: &Event) -> Result<Self, Error> {
        let name = event.body.name();
        let mut body = Vec::with_capacity(estimated_size(&event.body));
        serde_json::to_writer(&mut body, &event.body)?;
        let body = String::from_utf8(body)
            .map_err(|error| Error::Failed(format!("spell {name}: {error}")))?;
        let Some(data) = inner(&body, name) else {
            return Err(Error::Failed(format!(
                "{name} is serialized in a way that cannot be read"
            )));
        };
        let (shared, repeated) = match &event.body {
            EventBody::MessageCompleted(reply) => (shared_text::share_reply(reply, data), None),
            EventBody::RunCompleted(end) => (None, shared_text::literal(&end.text)),
            _ => (None, None),
        };
        Ok(Self {
            id: event.id,
            session: event.session.clone(),
            ts: event.ts,
            run: event.run.clone(),
            parent_run: event.parent_run.clone(),
            name,
            is_durable: event.body.is_durable(),
            who: event.who.as_ref().map(serde_json::to_string).transpose()?,
            shared,
            repeated,
            body,
        })
    }

    /// Its data, whole.
    pub(crate) fn data(&self) -> &str {
        inner(&self.body, self.name).unwrap_or_default()
    }
}

/// The data within a body: cut out rather than read, because a body is never spelled otherwise.
fn inner<'a>(body: &'a str, name: &str) -> Option<&'a str> {
    let data = body
        .strip_prefix(r#"{"type":""#)?
        .strip_prefix(name)?
        .strip_prefix(r#"","data":"#)?;
    data.strip_suffix('}')
}

/// How long a body will be, so that its text does not move while it grows.
fn estimated_size(body: &EventBody) -> usize {
    let texts = match body {
        EventBody::ToolCompleted(record) => {
            let text = |part: &Part| {
                if let Part::Text { text } = part {
                    text.len()
                } else {
                    0
                }
            };
            record.content.iter().map(text).sum::<usize>()
                + record.diff.as_ref().map_or(0, String::len)
        }
        // Its text is in its parts once more.
        EventBody::MessageCompleted(reply) => reply.text.len() * 2,
        EventBody::RunCompleted(end) => end.text.len(),
        _ => 0,
    };
    // Line breaks and quotation marks take two bytes each.
    FRAME + texts + texts / 8
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::event::ClearReason;
    use serde_json::Value;

    use super::*;

    #[test]
    fn what_is_cut_out_is_the_data_of_the_body() {
        let bodies = [
            EventBody::SessionCleared {
                reason: ClearReason::Asked,
            },
            EventBody::TodoUpdated { items: Vec::new() },
            EventBody::MessageDelta {
                text: r#"","data":{}}"#.into(),
                place: None,
            },
        ];
        for body in bodies {
            let whole = serde_json::to_value(&body).unwrap();
            let text = serde_json::to_string(&body).unwrap();
            let data: Value = serde_json::from_str(inner(&text, body.name()).unwrap()).unwrap();
            assert_eq!(Some(&data), whole.get("data"));
        }
    }
}
