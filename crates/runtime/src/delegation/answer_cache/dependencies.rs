//! Reads a child's journal to find out what its answer depends on.
//!
//! Invariant: an answer counts as a function of the files below its directory only if every event says so. What is
//! not known here (a hook's words, a person's answer, a second message, a tool of another kind) makes it depend on
//! more, and then it is not cached.

use std::path::{Component, Path};

use rooftree_protocol::{
    EventBody, SessionId,
    event::{ToolRecord, WaitReason},
};
use rooftree_store::Store;
use rooftree_tools::{
    Toolset, declared,
    resolved_path::{LastLink, ResolvedPath},
    tool_info::ToolSubject,
    toolset::ToolLookup,
};
use serde_json::Value;

/// Events of one child that are looked at; one with more is not cached.
const MOST_EVENTS: usize = 5_000;

/// Whether what a child answered follows from its prompt and the files below a directory, `.git` excepted.
pub(super) async fn are_covered(
    store: &dyn Store,
    tools: &Toolset,
    child: &SessionId,
    directory: &Path,
) -> bool {
    let Ok(events) = store.events(child, 0, MOST_EVENTS).await else {
        return false;
    };
    let messages = events
        .iter()
        .filter(|event| matches!(event.body, EventBody::MessageUser { .. }))
        .count();
    let is_whole = matches!(
        events.last().map(|event| &event.body),
        Some(EventBody::RunCompleted(_))
    );
    is_whole
        && messages == 1
        && events
            .iter()
            .all(|event| is_covered(&event.body, tools, directory))
}

fn is_covered(body: &EventBody, tools: &Toolset, directory: &Path) -> bool {
    match body {
        EventBody::SessionOpened { forked_from, .. } => forked_from.is_none(),
        EventBody::RunStarted { .. }
        | EventBody::RunCompleted(_)
        | EventBody::MessageUser { .. }
        | EventBody::MessageCompleted(_)
        | EventBody::TodoUpdated { .. }
        | EventBody::ContextCompacted(_)
        | EventBody::Notice { .. } => true,
        EventBody::RunWaiting { reason, .. } | EventBody::RunResumed { reason } => {
            matches!(reason, WaitReason::RateLimit | WaitReason::Retry)
        }
        EventBody::ToolStarted {
            tool,
            input,
            inside,
            ..
        } => inside.is_none() && is_within(tools, tool, input, directory),
        EventBody::ToolCompleted(record) => is_plain(record),
        _ => false,
    }
}

/// Whether a call looks at nothing but files below the directory: the path is the one the policy judges it by.
fn is_within(tools: &Toolset, tool: &str, input: &Value, directory: &Path) -> bool {
    let info = declared(tool);
    if !info.is_cacheable {
        return false;
    }
    let ToolLookup::Tool(found) = tools.find(tool) else {
        return false;
    };
    let Some(subject) = found.subject(input) else {
        return info.subject == ToolSubject::None;
    };
    let ResolvedPath {
        written,
        real,
        home,
    } = ResolvedPath::of(Path::new(&subject), directory, LastLink::Followed);
    is_below(&written, directory) && is_below(&real, &home)
}

fn is_below(path: &Path, directory: &Path) -> bool {
    let is_git = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    path.strip_prefix(directory)
        .is_ok_and(|inside| !inside.components().any(is_git))
}

/// Whether a result comes from the tool alone: no other model was asked, and no agent.
fn is_plain(record: &ToolRecord) -> bool {
    record.usage.is_none()
        && record.task.is_none()
        && record.skill.is_none()
        && record.inside.is_none()
}
