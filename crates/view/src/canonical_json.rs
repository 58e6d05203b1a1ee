//! Canonical JSON of a run tree, which is what snapshots hold, and events read from JSON.

use rooftree_protocol::{Event, RunId, Usage};
use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::RunTreeView;

/// What a run and all below it used.
#[derive(Serialize)]
struct RunTotal<'a> {
    run: &'a RunId,
    usage: Usage,
}

/// Fields stand in the order of their declaration. `totals` is computed and not read back.
impl Serialize for RunTreeView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let totals: Vec<RunTotal<'_>> = self
            .runs
            .iter()
            .map(|run| RunTotal {
                run: &run.run,
                usage: self.total_usage(&run.run),
            })
            .collect();
        let mut tree = serializer.serialize_struct("RunTreeView", 5)?;
        tree.serialize_field("root", &self.root)?;
        tree.serialize_field("sessions", &self.sessions)?;
        tree.serialize_field("runs", &self.runs)?;
        tree.serialize_field("inquiries", &self.inquiries)?;
        tree.serialize_field("totals", &totals)?;
        tree.end()
    }
}

impl RunTreeView {
    /// The whole state as JSON with a stable order of fields: the same events give the same bytes.
    pub fn to_canonical_json(&self) -> String {
        // Nothing in it can fail to serialize: maps have text keys, and no number is unusual.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Continues from a snapshot; none if the text is none.
    pub fn from_canonical_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// Reads an event. None if it is of a type that this version does not know, or no event: clients ignore both.
pub fn event_from_json(line: &str) -> Option<Event> {
    serde_json::from_str(line).ok()
}
