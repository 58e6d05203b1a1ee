//! Messages that notify an agent of the end of a background program it started.
//!
//! Both have the program as key, so an agent reads one of them, once.

use rooftree_protocol::{Lane, Message, MessageId, Origin, Part, Timestamp};
use rooftree_store::{InboxPost, TaskRow};

/// About a program that ended by itself. It wakes the session unless it is silent.
pub(super) fn ended(task: &TaskRow, how: &str, silent: bool, now: Timestamp) -> InboxPost {
    let text = format!(
        "[Background program {} (`{}`) ended: {how}]\nTaskOutput {{\"task_id\": \"{}\"}} shows what it wrote.",
        task.id, task.title, task.id
    );
    post(task, text, silent, now)
}

/// About a program whose process was killed. It is read before the next turn and does not wake the session.
pub(super) fn left(task: &TaskRow, now: Timestamp) -> InboxPost {
    let text = format!(
        "The background program {} (`{}`) was running when the process that had started it was killed. It is not running any more, and how it ended is not known.",
        task.id, task.title
    );
    post(task, text, true, now)
}

fn post(task: &TaskRow, text: String, silent: bool, now: Timestamp) -> InboxPost {
    let key = format!("program:{}", task.id);
    let entropy = key.bytes().fold(11_u128, |sum, byte| {
        sum.wrapping_mul(16_777_619).wrapping_add(u128::from(byte))
    });
    let message = Message {
        id: MessageId::from_entropy(entropy),
        parts: vec![Part::text(text)],
        origin: Origin::System {
            about: "task".into(),
        },
        outside: false,
        silent,
        context: None,
        mandate: None,
        call: None,
        restriction: None,
        revision: 0,
        who: None,
        at: now,
    };
    InboxPost {
        session: task.session.clone(),
        lane: Lane::Boundary,
        key,
        message,
        capacity: u64::MAX,
    }
}
