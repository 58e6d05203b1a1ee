//! Session keys and reply targets of chats: which conversation something belongs to, and where its answer goes.

use rooftree_connectors::{ChatPlace, ChatSender};
use rooftree_protocol::ChatTarget;

/// The key of the session of a chat: `connector/channel[/:thread]/user` of a direct chat, `connector/channel[/:thread]`
/// of a group. Invariant: two chats never have the same key, whatever their ids contain.
pub(super) fn session_key(
    connector: &str,
    place: &ChatPlace,
    from: &ChatSender,
    is_per_user: bool,
) -> String {
    let mut key = format!("{connector}/{}", escaped(&place.chat));
    if let Some(thread) = &place.thread {
        key.push_str("/:");
        key.push_str(&escaped(thread));
    }
    if !place.group || is_per_user {
        key.push('/');
        key.push_str(&escaped(&from.id));
    }
    key
}

/// Where an answer goes. In a group it is a reply to the message, so that all who read it see whom it answers.
pub(super) fn reply_target(
    connector: &str,
    place: &ChatPlace,
    message: Option<&str>,
) -> ChatTarget {
    ChatTarget {
        connector: connector.to_owned(),
        chat: place.chat.clone(),
        thread: place.thread.clone(),
        reply_to: message.filter(|_| place.group).map(str::to_owned),
        group: place.group,
    }
}

/// An id of a platform as a part of a key.
fn escaped(id: &str) -> String {
    let mut out = String::with_capacity(id.len());
    for letter in id.chars() {
        match letter {
            '/' | ':' | '#' | '%' => out.push_str(&format!("%{:02X}", u32::from(letter))),
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_different_chats_differ() {
        let place = |chat: &str, thread: Option<&str>, group: bool| ChatPlace {
            chat: chat.into(),
            thread: thread.map(str::to_owned),
            reply_to: None,
            group,
        };
        let sender = |id: &str| ChatSender {
            id: id.into(),
            name: "Ann".into(),
        };
        let table = [
            (place("7", None, false), "7", false, "home/7/7"),
            (place("-100", None, true), "7", false, "home/-100"),
            (place("-100", Some("45"), true), "7", false, "home/-100/:45"),
            (place("-100", None, true), "45", true, "home/-100/45"),
            (
                place("-100", Some("45"), true),
                "7",
                true,
                "home/-100/:45/7",
            ),
            (place("a/b", None, true), "7", false, "home/a%2Fb"),
            (place("a", None, false), ":b", false, "home/a/%3Ab"),
        ];
        for (place, from, per_user, wanted) in table {
            assert_eq!(session_key("home", &place, &sender(from), per_user), wanted);
        }
    }
}
