//! Removes from an archive what it says about rights: a file decides nothing about what may happen here. Pure.
//!
//! What stays is the conversation: messages, replies, calls and their results. The mode, rules, answers of people and
//! mandates are those of the machine the session is imported to.

use rooftree_protocol::{Event, EventBody};

/// The event without rights; none if it is about nothing else.
pub(super) fn strip_rights(mut event: Event) -> Option<Event> {
    // No person of this installation sent it.
    event.who = None;
    match &mut event.body {
        EventBody::ModeChanged { .. }
        | EventBody::PolicyChanged(_)
        | EventBody::PermissionRequested { .. }
        | EventBody::PermissionResolved { .. } => return None,
        EventBody::RunStarted {
            policy,
            bounds,
            parent,
            surroundings,
            ..
        } => {
            (*policy, *bounds, *parent) = (None, None, None);
            // It would be told as a message of the runtime.
            *surroundings = None;
        }
        EventBody::MessageUser { message, .. } => (message.mandate, message.who) = (None, None),
        // A task that has not ended would be this session's to stop, and there may be one of that name.
        EventBody::ToolCompleted(record)
            if record
                .task
                .as_ref()
                .is_some_and(|task| task.status.is_none()) =>
        {
            record.task = None;
        }
        _ => {}
    }
    event.parent_run = None;
    Some(event)
}
