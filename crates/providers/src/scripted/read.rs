//! Reads a script's TOML into entries. What the entries mean together is checked in `script.rs`.

use rooftree_protocol::event::StopReason;
use serde_json::Value;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    entry::{Call, Entry, Fault, FaultKind, Header, Pacing, Shape, Tokens, When, Words},
    fields::{Fields, passage, whole},
    place::{Flaw, Place},
};

const HEADER: &[&str] = &["window", "chunk", "delay", "pace", "usage"];
const REPLY: &[&str] = &[
    "agent",
    "turn",
    "on",
    "match",
    "times",
    "text",
    "thinking",
    "signature",
    "call",
    "stop",
    "chunk",
    "delay",
    "pace",
    "usage",
    "error",
    "message",
    "retry_after",
    "limit",
    "cut_after",
];
/// Keys that only make sense beside `error`.
const ONLY_ERRORS: &[&str] = &["message", "retry_after", "limit", "cut_after"];
/// Keys that make no sense beside `error`; a cut stream may carry text and thinking.
const ONLY_REPLIES: &[&str] = &["call", "stop", "signature", "usage"];
const CALL: &[&str] = &["tool", "input"];
const USAGE: &[&str] = &["input", "output", "cache_read", "cache_write", "reasoning", "cost_usd"];
const STOPS: [(&str, StopReason); 4] = [
    ("end", StopReason::End),
    ("calls", StopReason::Calls),
    ("max_output", StopReason::MaxOutput),
    ("refused", StopReason::Refused),
];

/// Reads a whole script.
pub(crate) fn read(source: &str) -> Result<(Header, Vec<Entry>), Flaw> {
    let document = DeTable::parse(source).map_err(|error| {
        let place = Place::of(source, error.span().map_or(0, |span| span.start));
        Flaw::new(place, format!("not valid TOML: {}", error.message()))
    })?;
    let top = Fields::of_document(source, document.get_ref(), &["script", "reply"])?;
    let header = top.value("script").map_or(Ok(Header::default()), |value| header(source, value))?;
    let entries = top.tables("reply")?.iter().map(|value| entry(source, value)).collect::<Result<_, _>>()?;
    Ok((header, entries))
}

fn header(source: &str, value: &Spanned<DeValue<'_>>) -> Result<Header, Flaw> {
    let fields = Fields::of(source, value, HEADER)?;
    Ok(Header { window: fields.count("window")?, pacing: pacing(&fields)?, tokens: tokens(source, &fields)? })
}

fn entry(source: &str, value: &Spanned<DeValue<'_>>) -> Result<Entry, Flaw> {
    let fields = Fields::of(source, value, REPLY)?;
    let fault = fault(&fields)?;
    let misplaced = if fault.is_some() { ONLY_REPLIES } else { ONLY_ERRORS };
    if let Some(key) = misplaced.iter().find(|key| fields.value(key).is_some()) {
        let beside = if fault.is_some() { "cannot stand beside" } else { "needs" };
        return Err(Flaw::new(fields.place_of(key), format!("`{key}` {beside} `error`")));
    }
    Ok(Entry {
        place: fields.place(),
        when: when(&fields)?,
        words: words(source, &fields)?,
        fault,
        pacing: pacing(&fields)?,
        tokens: tokens(source, &fields)?,
    })
}

fn when(fields: &Fields<'_>) -> Result<When, Flaw> {
    Ok(When {
        agent: fields.text("agent")?,
        turn: fields.count("turn")?,
        on: fields.passage("on")?,
        matching: fields.passage("match")?,
        times: fields.count("times")?,
    })
}

fn words(source: &str, fields: &Fields<'_>) -> Result<Words, Flaw> {
    let calls =
        fields.tables("call")?.iter().map(|value| tool_call(source, value)).collect::<Result<_, _>>()?;
    Ok(Words {
        text: fields.passage("text")?,
        thinking: fields.passage("thinking")?,
        signature: fields.text("signature")?,
        calls,
        stop: fields.choice("stop", &STOPS)?,
    })
}

fn fault(fields: &Fields<'_>) -> Result<Option<Fault>, Flaw> {
    let Some(kind) = fields.choice("error", &FaultKind::NAMES)? else { return Ok(None) };
    let (retry_after, limit) = (fields.duration("retry_after")?, fields.number("limit")?);
    Ok(Some(Fault {
        kind,
        message: fields.text("message")?,
        retry_after,
        limit,
        cut_after: fields.number("cut_after")?,
    }))
}

fn pacing(fields: &Fields<'_>) -> Result<Pacing, Flaw> {
    let (delay, pace) = (fields.duration("delay")?, fields.duration("pace")?);
    Ok(Pacing { chunk: fields.count("chunk")?, delay, pace })
}

fn tokens(source: &str, fields: &Fields<'_>) -> Result<Tokens, Flaw> {
    let Some(value) = fields.value("usage") else { return Ok(Tokens::default()) };
    let fields = Fields::of(source, value, USAGE)?;
    Ok(Tokens {
        input: fields.number("input")?,
        output: fields.number("output")?,
        cache_read: fields.number("cache_read")?,
        cache_write: fields.number("cache_write")?,
        reasoning: fields.number("reasoning")?,
        cost_usd: fields.amount("cost_usd")?,
    })
}

fn tool_call(source: &str, value: &Spanned<DeValue<'_>>) -> Result<Call, Flaw> {
    let fields = Fields::of(source, value, CALL)?;
    let tool = fields.text("tool")?.ok_or_else(|| {
        Flaw::new(fields.place(), "the call names no tool").fix("add tool = \"Read\", for example")
    })?;
    let input = match fields.value("input") {
        Some(value) => shape(source, value)?,
        None => Shape::Fixed(Value::Object(serde_json::Map::new())),
    };
    Ok(Call { tool, input })
}

fn shape(source: &str, value: &Spanned<DeValue<'_>>) -> Result<Shape, Flaw> {
    let refused = |what: &str| Flaw::new(Place::of(source, value.span().start), what);
    Ok(match value.get_ref() {
        DeValue::String(_) => Shape::Text(passage(source, value).unwrap_or_default()),
        DeValue::Boolean(flag) => Shape::Fixed(Value::Bool(*flag)),
        DeValue::Integer(_) => match whole(value.get_ref()) {
            Some(number) => Shape::Fixed(number.into()),
            None => return Err(refused("the number is too large")),
        },
        DeValue::Float(number) => {
            match number.as_str().parse::<f64>().ok().and_then(serde_json::Number::from_f64) {
                Some(number) => Shape::Fixed(Value::Number(number)),
                None => return Err(refused("JSON has no such number")),
            }
        }
        DeValue::Datetime(_) => return Err(refused("JSON has no dates").fix("put it in quotes")),
        DeValue::Array(items) => {
            Shape::List(items.iter().map(|item| shape(source, item)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => {
            // The parser sorts keys by name; what a model writes has the order it was written in.
            let mut fields: Vec<_> = table.iter().collect();
            fields.sort_by_key(|(key, _)| key.span().start);
            let read = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
                let key: &std::borrow::Cow<'_, str> = key.get_ref();
                Ok((key.to_string(), shape(source, value)?))
            };
            Shape::Table(fields.into_iter().map(read).collect::<Result<_, Flaw>>()?)
        }
    })
}
