//! Converts a tool's output to the record the journal keeps: truncated, spilled to a blob, noted.

use rooftree_protocol::{
    EventBody, Outcome, Part, Timestamp, ToolKind,
    event::{NoticeLevel, ToolRecord},
};
use rooftree_store::blob_id;
use rooftree_tools::{ToolOutput, mcp::Notice, truncate};

use super::{AgentActor, call::PreparedCall, chat_posts, journal::JournalCommit};
use crate::SecretRedactor;

/// Keeps the result of a call. `instead` replaces how it ended, for calls that were cut short.
pub(super) fn record_result(
    agent: &mut AgentActor,
    one: &PreparedCall,
    output: ToolOutput,
    since: Timestamp,
    instead: Option<Outcome>,
) {
    rooftree_store::failpoint::reach_at("tool.returned", agent.depth());
    let outcome = instead.unwrap_or_else(|| output.failure.map_or(Outcome::Done, Outcome::Failed));
    let mut blobs = Vec::new();
    let mut full = None;
    let limits = &agent.resolved.limits;
    let is_answer = one.tool.kind() == ToolKind::Delegate;
    let limit = if is_answer {
        limits.answer_chars
    } else {
        limits.result_chars
    };
    let mut content = Vec::with_capacity(output.content.len());
    for part in output.content {
        let (part, whole) = cut(part, limit, agent.context.secrets());
        full = whole.as_ref().map(|whole| blob_id(whole)).or(full);
        blobs.extend(whole);
        content.push(part);
    }
    for media in output.media {
        let (blob, bytes) = (blob_id(&media.bytes), media.bytes.len() as u64);
        content.push(Part::Image {
            blob,
            media_type: media.media_type,
            bytes,
        });
        blobs.push(media.bytes);
    }
    let outbox = output.send.map(|file| {
        let (post, bytes, words) = chat_posts::file(agent, &one.call.id, file);
        content = vec![Part::text(words)];
        blobs.extend(bytes);
        post
    });
    let told = output
        .task
        .as_ref()
        .is_some_and(|task| task.status.is_some());
    let record = ToolRecord {
        call: one.call.id.clone(),
        tool: one.tool.spec().name.clone(),
        title: one.title.clone(),
        outcome,
        content,
        duration_ms: u64::try_from(agent.context.now().since(since).as_millis())
            .unwrap_or(u64::MAX),
        full,
        files: output.files,
        diff: output.diff,
        task: output.task,
        inside: one.inside.clone(),
        input: None,
        skill: output.skill,
        usage: output.usage,
    };
    let mut bodies = vec![EventBody::ToolCompleted(record)];
    bodies.extend(output.todos.map(|items| EventBody::TodoUpdated { items }));
    bodies.extend(output.mode.map(|change| EventBody::ModeChanged {
        mode: change.mode,
        by: change.by.to_owned(),
    }));
    let level = NoticeLevel::Warning;
    bodies.extend(output.notices.into_iter().map(
        |Notice {
             code,
             message,
             hint,
         }| EventBody::Notice {
            level,
            code: code.into(),
            message,
            hint,
        },
    ));
    agent.append(JournalCommit {
        bodies,
        blobs,
        run: agent.run_id(),
        outbox: outbox.flatten().into_iter().collect(),
        ..JournalCommit::default()
    });
    // Its answer is in the inbox too, and is to be taken from there.
    agent.inbox.has_boundary_mail |= told;
    rooftree_store::failpoint::reach_at("tool.answered", agent.depth());
}

/// A text a model should not read in one go: head and tail stay, the whole goes into a blob. Secrets go
/// first: a blob is named by what is in it, and half a secret has no shape any more.
fn cut(part: Part, limit: usize, secrets: &SecretRedactor) -> (Part, Option<Vec<u8>>) {
    match part {
        Part::Text { text } if truncate::is_long(&text, limit) => {
            let text = secrets.clean(&text).unwrap_or(text);
            let cut = truncate::truncate(&text, limit, Some(&blob_id(text.as_bytes())));
            (Part::text(cut.text), Some(text.into_bytes()))
        }
        other => (other, None),
    }
}
