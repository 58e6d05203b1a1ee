//! Parses a script's TOML into entries. `script.rs` validates the entries together.

use rooftree_protocol::event::StopReason;
use serde_json::Value;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    call_input::shape,
    entry::{
        EntryConditions, InputTemplate, ReplyPacing, ScriptEntry, ScriptHeader, ScriptedCall,
        ScriptedFailure, ScriptedFailureKind, ScriptedReply, ScriptedUsage,
    },
    script_position::{ScriptError, ScriptPosition},
    toml_fields::TomlFields,
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
/// Keys that only a reply can have.
const ONLY_REPLIES: &[&str] = &[
    "text",
    "thinking",
    "signature",
    "call",
    "stop",
    "chunk",
    "pace",
    "usage",
];
/// Keys that only a failure can have.
const ONLY_ERRORS: &[&str] = &["message", "retry_after", "limit", "cut_after"];
const CALL: &[&str] = &["tool", "input"];
const USAGE: &[&str] = &[
    "input",
    "output",
    "cache_read",
    "cache_write",
    "reasoning",
    "cost_usd",
];
const STOPS: [(&str, StopReason); 4] = [
    ("end", StopReason::End),
    ("calls", StopReason::Calls),
    ("max_output", StopReason::MaxOutput),
    ("refused", StopReason::Refused),
];

/// Parses a whole script.
pub(crate) fn read(source: &str) -> Result<(ScriptHeader, Vec<ScriptEntry>), ScriptError> {
    let document = DeTable::parse(source).map_err(|error| {
        let place = ScriptPosition::of(source, error.span().map_or(0, |span| span.start));
        ScriptError::new(place, format!("not valid TOML: {}", error.message()))
    })?;
    let top = TomlFields::of_document(source, document.get_ref(), &["script", "reply"])?;
    let header = top
        .value("script")
        .map_or(Ok(ScriptHeader::default()), |value| header(source, value))?;
    let entries = top.tables("reply")?;
    if entries.is_empty() {
        return Err(ScriptError::new(top.place(), "the script has no [[reply]]"));
    }
    Ok((
        header,
        entries
            .iter()
            .map(|value| entry(source, value))
            .collect::<Result<_, _>>()?,
    ))
}

fn header(source: &str, value: &Spanned<DeValue<'_>>) -> Result<ScriptHeader, ScriptError> {
    let fields = TomlFields::of(source, value, HEADER)?;
    Ok(ScriptHeader {
        window: fields.count("window")?,
        pacing: pacing(&fields)?,
        tokens: tokens(source, &fields)?,
    })
}

fn entry(source: &str, value: &Spanned<DeValue<'_>>) -> Result<ScriptEntry, ScriptError> {
    let fields = TomlFields::of(source, value, REPLY)?;
    let fault = fault(&fields)?;
    refuse_misplaced(&fields, fault.as_ref().map(|fault| fault.kind))?;
    Ok(ScriptEntry {
        place: fields.place(),
        when: when(&fields)?,
        words: words(source, &fields)?,
        fault,
        pacing: pacing(&fields)?,
        tokens: tokens(source, &fields)?,
    })
}

/// Rejects keys that would have no effect, because ignoring them would hide a mistake.
fn refuse_misplaced(
    fields: &TomlFields<'_>,
    kind: Option<ScriptedFailureKind>,
) -> Result<(), ScriptError> {
    let is_given = |key: &&&str| fields.value(key).is_some();
    let Some(kind) = kind else {
        if let Some(key) = ONLY_ERRORS.iter().find(is_given) {
            return Err(ScriptError::new(
                fields.place_of(key),
                format!("`{key}` needs an `error` beside it"),
            ));
        }
        if ["text", "thinking", "call"]
            .iter()
            .all(|key| fields.value(key).is_none())
        {
            return Err(ScriptError::new(fields.place(), "the reply says nothing")
                .fix("add text, thinking, a call or an error"));
        }
        return Ok(());
    };
    let allowed: &[&str] = match kind {
        ScriptedFailureKind::RateLimit | ScriptedFailureKind::Overloaded => &["retry_after"],
        ScriptedFailureKind::TooLong => &["limit"],
        ScriptedFailureKind::Unauthorized
        | ScriptedFailureKind::Refused
        | ScriptedFailureKind::Broken => &["message"],
        ScriptedFailureKind::Cut => &["cut_after", "text", "thinking", "chunk", "pace"],
    };
    let misplaced = |key: &&&str| is_given(key) && !allowed.contains(*key);
    match ONLY_REPLIES.iter().chain(ONLY_ERRORS).find(misplaced) {
        Some(key) => Err(ScriptError::new(
            fields.place_of(key),
            format!("`{key}` has no effect beside this `error`"),
        )
        .fix(format!("this error knows: {}", allowed.join(", ")))),
        None => Ok(()),
    }
}

fn when(fields: &TomlFields<'_>) -> Result<EntryConditions, ScriptError> {
    Ok(EntryConditions {
        agent: fields.text("agent")?,
        turn: fields.count("turn")?,
        on: fields.passage("on")?,
        matching: fields.passage("match")?,
        times: fields.count("times")?,
    })
}

fn words(source: &str, fields: &TomlFields<'_>) -> Result<ScriptedReply, ScriptError> {
    let calls = fields
        .tables("call")?
        .iter()
        .map(|value| tool_call(source, value))
        .collect::<Result<_, _>>()?;
    Ok(ScriptedReply {
        text: fields.passage("text")?,
        thinking: fields.passage("thinking")?,
        signature: fields.text("signature")?,
        calls,
        stop: fields.choice("stop", &STOPS)?,
    })
}

fn fault(fields: &TomlFields<'_>) -> Result<Option<ScriptedFailure>, ScriptError> {
    let Some(kind) = fields.choice("error", &ScriptedFailureKind::NAMES)? else {
        return Ok(None);
    };
    let (retry_after, limit) = (fields.duration("retry_after")?, fields.number("limit")?);
    Ok(Some(ScriptedFailure {
        kind,
        message: fields.text("message")?,
        retry_after,
        limit,
        cut_after: fields.number("cut_after")?,
    }))
}

fn pacing(fields: &TomlFields<'_>) -> Result<ReplyPacing, ScriptError> {
    let (delay, pace) = (fields.duration("delay")?, fields.duration("pace")?);
    Ok(ReplyPacing {
        chunk: fields.count("chunk")?,
        delay,
        pace,
    })
}

fn tokens(source: &str, fields: &TomlFields<'_>) -> Result<ScriptedUsage, ScriptError> {
    let Some(value) = fields.value("usage") else {
        return Ok(ScriptedUsage::default());
    };
    let fields = TomlFields::of(source, value, USAGE)?;
    Ok(ScriptedUsage {
        input: fields.number("input")?,
        output: fields.number("output")?,
        cache_read: fields.number("cache_read")?,
        cache_write: fields.number("cache_write")?,
        reasoning: fields.number("reasoning")?,
        cost_usd: fields.amount("cost_usd")?,
    })
}

fn tool_call(source: &str, value: &Spanned<DeValue<'_>>) -> Result<ScriptedCall, ScriptError> {
    let fields = TomlFields::of(source, value, CALL)?;
    let tool = fields.text("tool")?.ok_or_else(|| {
        ScriptError::new(fields.place(), "the call names no tool")
            .fix("add tool = \"Read\", for example")
    })?;
    let input = match fields.value("input") {
        Some(value) => shape(source, value)?,
        None => InputTemplate::Fixed(Value::Object(serde_json::Map::new())),
    };
    Ok(ScriptedCall { tool, input })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flaw_names_its_place_and_the_likely_remedy() {
        let table = [
            ("", 1, 1, "the script has no [[reply]]", ""),
            ("[[reply]]\ntext = ", 2, 8, "not valid TOML", ""),
            (
                "[[reply]]\ntextt = \"a\"",
                2,
                1,
                "unknown key `textt`",
                "did you mean `text`?",
            ),
            (
                "[[replies]]\ntext = \"a\"",
                1,
                3,
                "unknown key `replies`",
                "known keys here: script, reply",
            ),
            (
                "[reply]\ntext = \"a\"",
                1,
                1,
                "`reply` must be a list of tables",
                "write [[reply]]",
            ),
            (
                "[script]\nmodel = 1\n[[reply]]\ntext=\"\"",
                2,
                1,
                "unknown key `model`",
                "known keys here: window",
            ),
            (
                "[[reply]]\ntext = 5",
                2,
                8,
                "`text` must be a string, found an integer",
                "",
            ),
            (
                "[[reply]]\ntext = \"a\"\nturn = 0",
                3,
                8,
                "`turn` counts from 1",
                "",
            ),
            (
                "[[reply]]\ntext = \"a\"\ndelay = 5",
                3,
                9,
                "`delay` must be a duration",
                "\"15ms\"",
            ),
            (
                "[[reply]]\ntext = \"a\"\ndelay = \"soon\"",
                3,
                9,
                "`delay` is not a duration",
                "\"15ms\"",
            ),
            (
                "[[reply]]\nerror = \"ratelimit\"",
                2,
                9,
                "`error` cannot be `ratelimit`",
                "did you mean `rate_limit`?",
            ),
            (
                "[[reply]]\nagent = \"a\"",
                1,
                1,
                "the reply says nothing",
                "add text",
            ),
            (
                "[[reply]]\ntext = \"a\"\nretry_after = \"1s\"",
                3,
                15,
                "needs an `error`",
                "",
            ),
            (
                "[[reply]]\nerror = \"broken\"\ntext = \"a\"",
                3,
                8,
                "has no effect",
                "this error knows: message",
            ),
            (
                "[[reply]]\n[[reply.call]]\ninput = {}",
                2,
                1,
                "names no tool",
                "tool = ",
            ),
            (
                "[[reply]]\n[[reply.call]]\ntool = \"A\"\ninput = {a = 1979-05-27}",
                4,
                14,
                "no dates",
                "quotes",
            ),
        ];
        for (text, line, column, what, fix) in table {
            let flaw = read(text).unwrap_err();
            assert_eq!(
                flaw.place,
                ScriptPosition { line, column },
                "{text}\n{flaw:?}"
            );
            assert!(flaw.what.contains(what), "{text}\n{flaw:?}");
            assert!(flaw.fix.unwrap_or_default().contains(fix), "{text}");
        }
    }
}
