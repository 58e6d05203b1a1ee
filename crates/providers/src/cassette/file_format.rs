//! File format of a recording, one JSON object per line. A request is stored as its difference to the one it
//! builds on, so that a long conversation does not fill the file with copies of its beginning.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::catalog::ModelPrice;

/// The version of the file format.
pub(super) const VERSION: u32 = 1;

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(super) enum CassetteLine {
    /// The header.
    Cassette { v: u32 },
    /// A model that was opened.
    Model(RecordedModel),
    /// A request and its answer.
    Exchange {
        /// Index of the exchange it builds on, counted from zero.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<usize>,
        /// How many of that one's messages it shares.
        #[serde(default)]
        kept: usize,
        /// Fields that differ from that one's, and the messages after the shared ones.
        request: Map<String, Value>,
        answer: Value,
    },
}

/// Catalog data of a recorded model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RecordedModel {
    pub(super) model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) window: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) price: Option<ModelPrice>,
    /// Whether it acts with tools of its own: its system prompt is another one then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) own_tools: bool,
}

/// The difference of a request to the one it builds on: how many messages it shares, and what is new.
pub(super) fn added(base: &Value, question: &Value) -> (usize, Map<String, Value>) {
    let kept = messages(base)
        .iter()
        .zip(messages(question))
        .take_while(|(old, new)| old == new)
        .count();
    let fields = question.as_object().into_iter().flatten();
    let new = fields.filter_map(|(name, value)| match name.as_str() {
        "messages" => Some((
            name.clone(),
            messages(question).iter().skip(kept).cloned().collect(),
        )),
        _ => (base.get(name) != Some(value)).then(|| (name.clone(), value.clone())),
    });
    (kept, new.collect())
}

/// Restores the whole request.
pub(super) fn whole(base: &Value, kept: usize, new: Map<String, Value>) -> Value {
    let mut fields = base.as_object().cloned().unwrap_or_default();
    for (name, value) in new {
        match (name.as_str(), value) {
            ("messages", Value::Array(tail)) => {
                let all = messages(base)
                    .iter()
                    .take(kept)
                    .cloned()
                    .chain(tail)
                    .collect();
                fields.insert(name, all);
            }
            (_, value) => {
                fields.insert(name, value);
            }
        }
    }
    Value::Object(fields)
}

/// The messages of a request.
pub(super) fn messages(question: &Value) -> &[Value] {
    question
        .get("messages")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_is_whole_again_whatever_it_builds_on() {
        let first = json!({ "system": "s", "max_output": null, "messages": [1, 2] });
        let table = [
            (
                json!({ "system": "s", "max_output": null, "messages": [1, 2, 3] }),
                2,
                1,
            ),
            (
                json!({ "system": "t", "max_output": 9, "messages": [1, 4, 5] }),
                1,
                3,
            ),
            (
                json!({ "system": "s", "max_output": null, "messages": [] }),
                0,
                1,
            ),
        ];
        for (question, kept_messages, fields) in table {
            let (kept, new) = added(&first, &question);
            assert_eq!((kept, new.len()), (kept_messages, fields), "{question}");
            assert_eq!(whole(&first, kept, new), question);
        }
        let (kept, new) = added(&Value::Null, &first);
        assert_eq!(whole(&Value::Null, kept, new), first);
    }
}
