//! Parses events of the Discord gateway: messages, replies, threads, files, pressed buttons. What is nothing for us is
//! none.

use serde_json::Value;

use super::channel_kind::ChannelKind;
use crate::{ChatPlace, ChatSender, Inbound, InboundBody, InboundFile};

/// Milliseconds of 2015, from which Discord counts.
const EPOCH_MS: i64 = 1_420_070_400_000;
/// A message as people write it, and a reply.
const SAID: [i64; 2] = [0, 19];

/// The channel of an event that may be something for us.
pub(super) fn channel<'event>(kind: &str, event: &'event Value) -> Option<&'event str> {
    let is_ours = matches!(kind, "MESSAGE_CREATE" | "INTERACTION_CREATE");
    event.get("channel_id")?.as_str().filter(|_| is_ours)
}

/// What an event holds, in a channel of this kind.
pub(super) fn inbound(kind: &str, event: &Value, at: &ChannelKind, bot: &str) -> Option<Inbound> {
    let channel = text(event, "channel_id")?;
    let parent = at.parent.as_deref();
    let place = ChatPlace {
        chat: parent.unwrap_or(channel).to_owned(),
        thread: parent.map(|_| channel.to_owned()),
        reply_to: None,
        group: at.is_group,
    };
    match kind {
        "MESSAGE_CREATE" => message(event, place, bot),
        "INTERACTION_CREATE" => pressed(event, place),
        _ => None,
    }
}

fn message(event: &Value, place: ChatPlace, bot: &str) -> Option<Inbound> {
    let id = text(event, "id")?;
    let is_said = event
        .get("type")
        .and_then(Value::as_i64)
        .is_none_or(|kind| SAID.contains(&kind));
    let from = person(event.get("author")?)?;
    let replied = event.get("referenced_message");
    let said = without_mention(text(event, "content").unwrap_or_default(), bot);
    let files = files(event);
    if !is_said || event.get("webhook_id").is_some() || said.is_empty() && files.is_empty() {
        return None;
    }
    let author = |message: &Value| {
        message
            .get("author")
            .and_then(|author| text(author, "id").map(str::to_owned))
    };
    let mentions = event.get("mentions").and_then(Value::as_array);
    let is_named =
        mentions.is_some_and(|list| list.iter().any(|user| text(user, "id") == Some(bot)));
    let is_reply = replied.and_then(author).as_deref() == Some(bot);
    Some(Inbound {
        key: id.to_owned(),
        body: InboundBody::Message {
            text: said,
            files,
            message: id.to_owned(),
            reply_to: event
                .get("message_reference")
                .and_then(|to| text(to, "message_id"))
                .map(str::to_owned),
            addressed: !place.group || is_named || is_reply,
        },
        place,
        from,
        at_ms: at_ms(id),
        agent: None,
    })
}

fn pressed(event: &Value, place: ChatPlace) -> Option<Inbound> {
    let id = text(event, "id")?;
    // 3 is a pressed button; commands and forms are not made.
    if event.get("type").and_then(Value::as_i64) != Some(3) {
        return None;
    }
    let member = event.get("member").and_then(|member| member.get("user"));
    Some(Inbound {
        key: id.to_owned(),
        place,
        from: person(member.or(event.get("user"))?)?,
        body: InboundBody::Button {
            data: text(event.get("data")?, "custom_id")?.to_owned(),
            press: id.to_owned(),
            message: text(event.get("message")?, "id")?.to_owned(),
        },
        at_ms: at_ms(id),
        agent: None,
    })
}

/// Other bots are not listened to, so that two never answer each other.
fn person(user: &Value) -> Option<ChatSender> {
    if user.get("bot") == Some(&Value::Bool(true)) {
        return None;
    }
    let name = text(user, "global_name").or(text(user, "username"));
    Some(ChatSender {
        id: text(user, "id")?.to_owned(),
        name: name.unwrap_or_default().to_owned(),
    })
}

fn files(event: &Value) -> Vec<InboundFile> {
    let list = event.get("attachments").and_then(Value::as_array);
    let files = list.into_iter().flatten().filter_map(|file| {
        let name = text(file, "filename")
            .unwrap_or_default()
            .rsplit(['/', '\\'])
            .next()?;
        let is_name = !name.is_empty() && !name.starts_with('.');
        Some(InboundFile {
            id: text(file, "url")?.to_owned(),
            name: if is_name { name } else { "file" }.to_owned(),
            media_type: text(file, "content_type").map(str::to_owned),
            size: file.get("size").and_then(Value::as_u64),
        })
    });
    files.collect()
}

fn without_mention(said: &str, bot: &str) -> String {
    let said = said
        .replace(&format!("<@{bot}>"), "")
        .replace(&format!("<@!{bot}>"), "");
    said.trim().to_owned()
}

/// An id holds the time at which it was made.
fn at_ms(id: &str) -> i64 {
    let id: u64 = id.parse().unwrap_or_default();
    i64::try_from(id >> 22)
        .unwrap_or_default()
        .saturating_add(EPOCH_MS)
}

pub(super) fn text<'value>(value: &'value Value, name: &str) -> Option<&'value str> {
    value.get(name)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(fields: Value) -> Option<Inbound> {
        let mut event = json!({"id": "1175928847299117063", "channel_id": "50", "guild_id": "9", "type": 0,
            "content": "hello", "author": {"id": "5", "username": "ada", "global_name": "Ada"}});
        for (name, value) in fields.as_object().unwrap() {
            event[name] = value.clone();
        }
        let is_group = event["guild_id"].is_string();
        let at = ChannelKind {
            parent: None,
            is_group,
        };
        inbound("MESSAGE_CREATE", &event, &at, "77")
    }

    #[test]
    fn a_message_is_addressed_directly_by_name_or_by_a_reply() {
        let cases = [
            (json!({}), false, "hello"),
            (json!({"guild_id": null}), true, "hello"),
            (
                json!({"content": "<@77> hi", "mentions": [{"id": "77"}]}),
                true,
                "hi",
            ),
            (
                json!({"content": "<@8> hi", "mentions": [{"id": "8"}]}),
                false,
                "<@8> hi",
            ),
            (
                json!({"type": 19, "referenced_message": {"author": {"id": "77"}}}),
                true,
                "hello",
            ),
            (
                json!({"referenced_message": {"author": {"id": "8"}}}),
                false,
                "hello",
            ),
        ];
        for (fields, is_addressed, said) in cases {
            let found = parsed(fields.clone()).unwrap();
            assert!((1_700_000_000_000..1_701_000_000_000).contains(&found.at_ms));
            let InboundBody::Message {
                text, addressed, ..
            } = found.body
            else {
                panic!("a message")
            };
            assert_eq!((addressed, text.as_str()), (is_addressed, said), "{fields}");
        }
    }

    #[test]
    fn bots_webhooks_and_notices_are_not_listened_to() {
        for fields in [
            json!({"author": {"id": "5", "bot": true}}),
            json!({"webhook_id": "4"}),
            json!({"type": 7}),
            json!({"content": ""}),
        ] {
            assert_eq!(parsed(fields.clone()), None, "{fields}");
        }
    }

    #[test]
    fn a_thread_is_a_thread_of_its_channel_and_a_name_decides_nothing() {
        let event = json!({"id": "1175928847299117063", "channel_id": "60", "guild_id": "9", "content": "a",
            "author": {"id": "5", "username": "admin"}, "attachments": [{"filename": "../a.txt", "url": "https://x", "size": 4}]});
        let at = ChannelKind {
            parent: Some("50".to_owned()),
            is_group: true,
        };
        let found = inbound("MESSAGE_CREATE", &event, &at, "77").unwrap();
        assert_eq!(
            (found.place.chat.as_str(), found.place.thread.as_deref()),
            ("50", Some("60"))
        );
        assert_eq!(found.from.id, "5");
        let InboundBody::Message { files, .. } = found.body else {
            panic!("a message")
        };
        assert_eq!(files[0].name, "a.txt");
    }
}
