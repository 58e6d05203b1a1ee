//! Parses a Telegram update: messages, topics, replies, files, pressed buttons. What is nothing for us is none.

use serde_json::Value;

use super::{
    bot_identity::{BotIdentity, text},
    incoming_text::{MessageText, is_addressed},
};
use crate::{ChatPlace, ChatSender, Inbound, InboundBody, InboundFile};

/// Kinds of files in a message, and how one without a name is called.
const FILES: [(&str, &str, Option<&str>); 6] = [
    ("document", "document", None),
    ("voice", "voice.ogg", Some("audio/ogg")),
    ("video", "video.mp4", Some("video/mp4")),
    ("audio", "audio.mp3", Some("audio/mpeg")),
    ("video_note", "video.mp4", Some("video/mp4")),
    ("photo", "photo.jpg", Some("image/jpeg")),
];

/// What an update holds.
pub(super) fn inbound(update: &Value, bot: &BotIdentity) -> Option<Inbound> {
    let key = update.get("update_id")?.as_i64()?.to_string();
    if let Some(message) = update.get("message") {
        return message_inbound(key, message, bot);
    }
    pressed(key, update.get("callback_query")?)
}

fn message_inbound(key: String, message: &Value, bot: &BotIdentity) -> Option<Inbound> {
    let from = sender(message)?;
    let chat = message.get("chat")?;
    if let Some(new) = message.get("migrate_to_chat_id").and_then(Value::as_i64) {
        let body = InboundBody::Moved {
            chat: new.to_string(),
        };
        return Some(Inbound {
            key,
            place: place(message)?,
            from,
            at_ms: at_ms(message),
            body,
            agent: None,
        });
    }
    let reply = replied(message);
    let said = MessageText::of(message, bot);
    let files = files(message);
    if said.markdown.is_empty() && files.is_empty() {
        return None;
    }
    let is_direct = text(chat, "type") == Some("private");
    let is_reply = reply.is_some_and(|reply| {
        let from = reply.get("from").and_then(|from| from.get("id")?.as_i64());
        from == Some(bot.id)
    });
    Some(Inbound {
        key,
        place: place(message)?,
        from,
        at_ms: at_ms(message),
        agent: None,
        body: InboundBody::Message {
            text: said.markdown,
            files,
            message: message.get("message_id")?.as_i64()?.to_string(),
            reply_to: reply.and_then(|reply| Some(reply.get("message_id")?.as_i64()?.to_string())),
            addressed: is_direct || is_reply || is_addressed(message, bot),
        },
    })
}

/// A pressed button. The message may be too old to be shown; its chat and number are there still.
fn pressed(key: String, query: &Value) -> Option<Inbound> {
    let message = query.get("message")?;
    Some(Inbound {
        key,
        place: place(message)?,
        from: person(query.get("from")?)?,
        // A press has no time of its own.
        at_ms: at_ms(message),
        agent: None,
        body: InboundBody::Button {
            data: text(query, "data")?.to_owned(),
            press: text(query, "id")?.to_owned(),
            message: message.get("message_id")?.as_i64()?.to_string(),
        },
    })
}

fn at_ms(message: &Value) -> i64 {
    let seconds = message.get("date").and_then(Value::as_i64);
    seconds.unwrap_or_default().saturating_mul(1_000)
}

/// Where a message stands. A thread counts only where it is a topic: replies in plain groups have one too. Messages of a
/// forum's general topic have none and belong to topic 1.
fn place(message: &Value) -> Option<ChatPlace> {
    let chat = message.get("chat")?;
    let is_forum = chat.get("is_forum") == Some(&Value::Bool(true));
    let is_topic = message.get("is_topic_message") == Some(&Value::Bool(true));
    let thread = message.get("message_thread_id").and_then(Value::as_i64);
    let thread = thread.filter(|_| is_topic || is_forum);
    Some(ChatPlace {
        chat: chat.get("id")?.as_i64()?.to_string(),
        thread: thread
            .or(is_forum.then_some(1))
            .map(|thread| thread.to_string()),
        reply_to: None,
        group: text(chat, "type") != Some("private"),
    })
}

/// Who sent a message. An anonymous administrator writes as the chat, whose number is no person's; other bots are not
/// listened to, so that two never answer each other.
fn sender(message: &Value) -> Option<ChatSender> {
    if let Some(chat) = message.get("sender_chat") {
        return Some(ChatSender {
            id: chat.get("id")?.as_i64()?.to_string(),
            name: text(chat, "title").unwrap_or_default().to_owned(),
        });
    }
    person(message.get("from")?)
}

fn person(from: &Value) -> Option<ChatSender> {
    if from.get("is_bot") == Some(&Value::Bool(true)) {
        return None;
    }
    let names = [text(from, "first_name"), text(from, "last_name")];
    let names: Vec<&str> = names.into_iter().flatten().collect();
    Some(ChatSender {
        id: from.get("id")?.as_i64()?.to_string(),
        name: names.join(" "),
    })
}

/// The message that is replied to. In a topic every message refers to the one that made the topic, which is no reply.
fn replied(message: &Value) -> Option<&Value> {
    let reply = message.get("reply_to_message")?;
    reply.get("forum_topic_created").is_none().then_some(reply)
}

fn files(message: &Value) -> Vec<InboundFile> {
    let found = FILES.iter().filter_map(|(kind, name, media_type)| {
        let value = message.get(kind)?;
        // Of a photo the largest size is the last.
        let file = value.as_array().map_or(Some(value), |sizes| sizes.last())?;
        let name = text(file, "file_name")
            .map(base_name)
            .filter(|name| !name.is_empty())
            .unwrap_or(name);
        Some(InboundFile {
            id: text(file, "file_id")?.to_owned(),
            name: name.to_owned(),
            media_type: text(file, "mime_type").or(*media_type).map(str::to_owned),
            size: file.get("file_size").and_then(Value::as_u64),
        })
    });
    found.collect()
}

/// A file name without folders; the sender chose it.
fn base_name(name: &str) -> &str {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    if name.starts_with('.') { "" } else { name }
}
