//! Turns what a tool gave back into what the journal keeps: cut, spilled, noted.

use rooftree_protocol::{BlobId, EventBody, Outcome, Part, Timestamp, event::ToolRecord};
use rooftree_store::blob_id;
use rooftree_tools::{ToolOutput, output};

use super::{Agent, call::Prepared, journal::Commit};

/// Keeps the result of a call. `instead` replaces how it ended, for calls that were cut short.
pub(super) fn keep(
    agent: &mut Agent,
    one: &Prepared,
    output: ToolOutput,
    since: Timestamp,
    instead: Option<Outcome>,
) {
    rooftree_store::failpoint::reach("tool.returned");
    let outcome = instead.unwrap_or_else(|| output.failure.map_or(Outcome::Done, Outcome::Failed));
    let mut full = None;
    let mut content: Vec<Part> = output.content.into_iter().map(|part| cut(agent, part, &mut full)).collect();
    for media in output.media {
        let bytes = media.bytes.len() as u64;
        let blob = spill(agent, media.bytes);
        content.push(Part::Image { blob, media_type: media.media_type, bytes });
    }
    let record = ToolRecord {
        call: one.call.id.clone(),
        tool: one.tool.spec().name.clone(),
        title: one.title.clone(),
        outcome,
        content,
        duration_ms: u64::try_from(agent.world.now().since(since).as_millis()).unwrap_or(u64::MAX),
        full,
        files: output.files,
        diff: output.diff,
    };
    let mut bodies = vec![EventBody::ToolCompleted(record)];
    bodies.extend(output.todos.map(|items| EventBody::TodoUpdated { items }));
    agent.append(Commit { bodies, run: agent.run_id(), ..Commit::default() });
    rooftree_store::failpoint::reach("tool.answered");
}

/// A text a model should not read in one go: head and tail stay, the whole goes into a blob.
fn cut(agent: &Agent, part: Part, full: &mut Option<BlobId>) -> Part {
    let limit = agent.kit.limits.result_chars;
    match part {
        Part::Text { text } if output::is_long(&text, limit) => {
            let blob = blob_id(text.as_bytes());
            let cut = output::cut(&text, limit, Some(&blob));
            *full = Some(spill(agent, text.into_bytes()));
            Part::text(cut.text)
        }
        other => other,
    }
}

/// Stores bytes without waiting: the event that names them is queued behind them.
fn spill(agent: &Agent, bytes: Vec<u8>) -> BlobId {
    let blob = blob_id(&bytes);
    agent.world.store().put_blob(bytes).later();
    blob
}
