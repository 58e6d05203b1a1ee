//! Parses what an external connector posts: a message or a pressed button as JSON, with files inside or by URL.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;

use super::LARGEST_FILE;
use crate::{
    ChatPlace, ChatSender, Inbound, InboundBody, InboundFile, PlatformAnswer, PlatformRequest,
};

/// The largest request: files are inside it as Base64.
const LARGEST: usize = 28 << 20;
const LONGEST_KEY: usize = 128;

/// The body of `POST`, as docs/connector-contract.md has it.
#[derive(Debug, Deserialize)]
struct PostedMessage {
    key: String,
    chat: String,
    thread: Option<String>,
    #[serde(default)]
    group: bool,
    from: PostedSender,
    #[serde(default)]
    text: String,
    message: Option<String>,
    reply_to: Option<String>,
    addressed: Option<bool>,
    at_ms: Option<i64>,
    #[serde(default)]
    files: Vec<PostedFile>,
    callback: Option<PostedPress>,
}

#[derive(Debug, Deserialize)]
struct PostedSender {
    id: String,
    #[serde(default)]
    name: String,
}

#[derive(Debug, Deserialize)]
struct PostedFile {
    name: String,
    media_type: Option<String>,
    base64: Option<String>,
    url: Option<String>,
    size: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct PostedPress {
    data: String,
    press: String,
    message: String,
}

/// What was posted, with the bytes of files that were inside it.
pub(super) struct PostedInbound {
    pub(super) inbound: Inbound,
    pub(super) files: Vec<(String, Vec<u8>)>,
}

pub(super) fn message(request: PlatformRequest<'_>) -> Result<PostedInbound, PlatformAnswer> {
    if request.body.len() > LARGEST {
        return Err(PlatformAnswer::refused(
            413,
            "the body is larger than 28 MB",
        ));
    }
    let mut posted: PostedMessage = serde_json::from_slice(request.body).map_err(|error| {
        // Only where it is wrong: the text of the error may hold what was said.
        let why = format!(
            "the body is not a message: line {} column {}",
            error.line(),
            error.column()
        );
        PlatformAnswer::refused(400, &why)
    })?;
    let is_name =
        |text: &str| (1..=LONGEST_KEY).contains(&text.len()) && !text.chars().any(char::is_control);
    if ![&posted.key, &posted.chat, &posted.from.id]
        .into_iter()
        .all(|text| is_name(text))
    {
        return Err(PlatformAnswer::refused(
            422,
            "key, chat and from.id must have 1 to 128 characters",
        ));
    }
    let key = posted.key.clone();
    let mut inside = Vec::new();
    let files = std::mem::take(&mut posted.files).into_iter().enumerate();
    let files = files.map(|(at, file)| inbound_file(&format!("{key}#{at}"), file, &mut inside));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    if posted.callback.is_none() && posted.text.trim().is_empty() && files.is_empty() {
        return Err(PlatformAnswer::refused(
            422,
            "there is no text, file or callback",
        ));
    }
    let inbound = inbound(posted, files, request.at_ms);
    Ok(PostedInbound {
        inbound,
        files: inside,
    })
}

fn inbound(posted: PostedMessage, files: Vec<InboundFile>, at_ms: i64) -> Inbound {
    let body = match posted.callback {
        Some(callback) => InboundBody::Button {
            data: callback.data,
            press: callback.press,
            message: callback.message,
        },
        None => InboundBody::Message {
            text: posted.text,
            files,
            message: posted.message.unwrap_or_else(|| posted.key.clone()),
            reply_to: posted.reply_to,
            addressed: posted.addressed.unwrap_or(!posted.group),
        },
    };
    Inbound {
        key: posted.key,
        place: ChatPlace {
            chat: posted.chat,
            thread: posted.thread,
            reply_to: None,
            group: posted.group,
        },
        from: ChatSender {
            id: posted.from.id,
            name: posted.from.name,
        },
        body,
        at_ms: posted.at_ms.unwrap_or(at_ms),
        agent: None,
    }
}

fn inbound_file(
    id: &str,
    file: PostedFile,
    inside: &mut Vec<(String, Vec<u8>)>,
) -> Result<InboundFile, PlatformAnswer> {
    let wrong = |why: &str| PlatformAnswer::refused(422, why);
    let name = file.name.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = if name.is_empty() || name.starts_with('.') {
        "file"
    } else {
        name
    };
    let (id, size) = match (file.base64, file.url) {
        (Some(text), None) => {
            let bytes = STANDARD
                .decode(text)
                .map_err(|_| wrong("a file is not valid Base64"))?;
            if bytes.len() as u64 > LARGEST_FILE {
                return Err(PlatformAnswer::refused(413, "a file is larger than 20 MB"));
            }
            let size = bytes.len() as u64;
            inside.push((id.to_owned(), bytes));
            (id.to_owned(), Some(size))
        }
        (None, Some(url)) => (url, file.size),
        _ => return Err(wrong("a file has either base64 or url")),
    };
    Ok(InboundFile {
        id,
        name: name.to_owned(),
        media_type: file.media_type,
        size,
    })
}
