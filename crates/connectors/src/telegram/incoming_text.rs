//! Text of a Telegram message that arrived: its entities as Markdown, mentions of the bot, commands.

use serde_json::Value;

use super::bot_identity::{BotIdentity, text};

/// What was said.
pub(super) struct MessageText {
    /// As Markdown, a command without the name of the bot.
    pub(super) markdown: String,
}

impl MessageText {
    pub(super) fn of(message: &Value, bot: &BotIdentity) -> Self {
        let (said, entities) = said(message);
        let mut markdown = markdown(said, entities);
        if markdown.is_empty() {
            markdown = without_text(message);
        }
        if let Some((command, rest)) = command_for(&markdown, bot) {
            markdown = format!("{command}{rest}");
        }
        Self { markdown }
    }
}

/// Whether the bot is named in the text, or a command is for it.
pub(super) fn is_addressed(message: &Value, bot: &BotIdentity) -> bool {
    let (said, entities) = said(message);
    entities.iter().any(|entity| match text(entity, "type") {
        Some("mention") => {
            let name = part(said, entity).unwrap_or_default();
            is_name(name.strip_prefix('@').unwrap_or_default(), bot)
        }
        Some("text_mention") => {
            let user = entity.get("user").and_then(|user| user.get("id")?.as_i64());
            user == Some(bot.id)
        }
        Some("bot_command") => {
            let command = part(said, entity).unwrap_or_default();
            let name = command.split_once('@').map(|(_, name)| name);
            name.is_none_or(|name| is_name(name, bot))
        }
        _ => false,
    })
}

fn is_name(name: &str, bot: &BotIdentity) -> bool {
    !name.is_empty() && name.eq_ignore_ascii_case(&bot.username)
}

/// The text or caption with its entities.
fn said(message: &Value) -> (&str, &[Value]) {
    let fields = match text(message, "text") {
        Some(said) => (said, "entities"),
        None => (
            text(message, "caption").unwrap_or_default(),
            "caption_entities",
        ),
    };
    let entities = message.get(fields.1).and_then(Value::as_array);
    (fields.0, entities.map(Vec::as_slice).unwrap_or_default())
}

/// `/new@bot now` is `/new` and ` now`.
fn command_for<'text>(said: &'text str, bot: &BotIdentity) -> Option<(&'text str, &'text str)> {
    let end = said.find(char::is_whitespace).unwrap_or(said.len());
    let (command, rest) = said.split_at_checked(end)?;
    let (command, name) = command.split_once('@')?;
    (command.starts_with('/') && is_name(name, bot)).then_some((command, rest))
}

/// What is said by other means than text, in words.
fn without_text(message: &Value) -> String {
    let sticker = message
        .get("sticker")
        .and_then(|sticker| text(sticker, "emoji"));
    if let Some(emoji) = sticker {
        return emoji.to_owned();
    }
    let number = |name: &str| {
        message
            .get("location")
            .and_then(|place| place.get(name)?.as_f64())
    };
    if let (Some(latitude), Some(longitude)) = (number("latitude"), number("longitude")) {
        return format!("Location: {latitude}, {longitude}");
    }
    let contact = message.get("contact").and_then(|contact| {
        let name = text(contact, "first_name").unwrap_or_default();
        Some(format!(
            "Contact: {name} {}",
            text(contact, "phone_number")?
        ))
    });
    contact.unwrap_or_default()
}

/// The text with marks of Markdown for its entities.
fn markdown(said: &str, entities: &[Value]) -> String {
    let mut marks: Vec<(usize, bool, String)> = Vec::new();
    for entity in entities {
        let (Some((start, end)), Some((open, close))) = (range(said, entity), marks_of(entity))
        else {
            continue;
        };
        marks.push((start, true, open));
        // Marks close in the opposite order.
        marks.insert(0, (end, false, close));
    }
    marks.sort_by_key(|(at, is_open, _)| (*at, *is_open));
    let mut out = String::with_capacity(said.len());
    let mut done = 0;
    for (at, _, mark) in marks {
        out.push_str(said.get(done..at).unwrap_or_default());
        out.push_str(&mark);
        done = at;
    }
    out.push_str(said.get(done..).unwrap_or_default());
    out
}

fn marks_of(entity: &Value) -> Option<(String, String)> {
    let same = |mark: &str| Some((mark.to_owned(), mark.to_owned()));
    match text(entity, "type")? {
        "bold" => same("**"),
        "italic" => same("_"),
        "strikethrough" => same("~~"),
        "code" => same("`"),
        "pre" => {
            let language = text(entity, "language").unwrap_or_default();
            Some((format!("```{language}\n"), "\n```".to_owned()))
        }
        "text_link" => Some(("[".to_owned(), format!("]({})", text(entity, "url")?))),
        _ => None,
    }
}

fn part<'text>(said: &'text str, entity: &Value) -> Option<&'text str> {
    let (start, end) = range(said, entity)?;
    said.get(start..end)
}

/// The bytes of an entity, whose offset and length are in UTF-16 units.
fn range(said: &str, entity: &Value) -> Option<(usize, usize)> {
    let units = |name: &str| usize::try_from(entity.get(name)?.as_u64()?).ok();
    let (offset, length) = (units("offset")?, units("length")?);
    let byte = |units: usize| {
        let mut before = 0;
        let ends = said
            .char_indices()
            .map(|(at, letter)| (at, letter.len_utf16()));
        for (at, length) in ends.chain([(said.len(), 0)]) {
            if before >= units {
                return (before == units).then_some(at);
            }
            before += length;
        }
        None
    };
    Some((byte(offset)?, byte(offset.checked_add(length)?)?))
}
