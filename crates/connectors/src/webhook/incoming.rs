//! Verifies a webhook request and parses it: size, HMAC signature, replay window, JSON, form or text body, templates.
//!
//! Pure: it takes the time from the request. The replay key is the inbound key, which the server stores.

use serde_json::{Map, Value};

use super::options::{SignatureStyle, WebhookInbound, WebhookTemplates};
use crate::{
    ChatPlace, ChatSender, Inbound, InboundBody, PlatformAnswer, PlatformRequest,
    signature::{is_hmac_of_body, is_signed, short_digest},
    webhook::template::WebhookTemplate,
};

/// The largest body.
const LARGEST: usize = 1 << 20;
/// How far the clocks may be apart, and how long a request may be repeated.
const WINDOW_S: i64 = 300;

/// What a request holds, with notes on fields that its templates missed.
pub(super) struct WebhookMessage {
    pub(super) inbound: Inbound,
    pub(super) diagnostics: Vec<String>,
}

/// Verifies and parses.
pub(super) fn message(
    options: &WebhookInbound,
    request: PlatformRequest<'_>,
) -> Result<WebhookMessage, PlatformAnswer> {
    if request.body.len() > LARGEST {
        return Err(PlatformAnswer::refused(413, "the body is larger than 1 MB"));
    }
    let signed = verify(options, request)?;
    let body = parse(options.style, request)?;
    let mut diagnostics = Vec::new();
    let inbound = inbound(
        &options.templates,
        &body,
        signed,
        request.at_ms,
        &mut diagnostics,
    )?;
    Ok(WebhookMessage {
        inbound,
        diagnostics,
    })
}

/// Checks the signature; returns the replay key of what was signed. Headers that are not signed have no part in it.
fn verify(
    options: &WebhookInbound,
    request: PlatformRequest<'_>,
) -> Result<String, PlatformAnswer> {
    let refused = |why: &str| Err(PlatformAnswer::refused(401, why));
    let secret = options.secret.expose();
    match options.style {
        SignatureStyle::BodyOnly => {
            let header = request.header("x-hub-signature-256").unwrap_or_default();
            let digits = header.strip_prefix("sha256=").unwrap_or_default();
            if !is_hmac_of_body(secret, request.body, digits) {
                return refused("the header X-Hub-Signature-256 is missing or wrong");
            }
            Ok(format!("body:{}", short_digest(&[request.body])))
        }
        SignatureStyle::Timestamped => {
            let header = request.header("x-rooftree-signature").unwrap_or_default();
            let (time, signatures) = parts(header);
            let Some(time) = time.filter(|time| {
                let is_right = |signature: &&str| is_signed(secret, *time, request.body, signature);
                signatures.iter().any(is_right)
            }) else {
                return refused("the header X-Rooftree-Signature is missing or wrong");
            };
            if (request.at_ms / 1_000).abs_diff(time) > WINDOW_S.unsigned_abs() {
                return refused(
                    "the signature is older than five minutes; sign it again, and check the clock",
                );
            }
            Ok(format!("{time}:{}", short_digest(&[request.body])))
        }
    }
}

/// `t=1700000000,v1=…,v1=…`: two signatures while a secret is changed.
fn parts(header: &str) -> (Option<i64>, Vec<&str>) {
    let parts = || header.split(',').map(str::trim);
    let time = parts().find_map(|part| part.strip_prefix("t=")?.parse().ok());
    let signatures = parts().filter(|part| part.starts_with("v1=")).take(4);
    (time, signatures.collect())
}

fn parse(style: SignatureStyle, request: PlatformRequest<'_>) -> Result<Value, PlatformAnswer> {
    let kind = request.header("content-type").unwrap_or("application/json");
    let kind = kind
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    let text = std::str::from_utf8(request.body)
        .map_err(|_| PlatformAnswer::refused(400, "the body is not UTF-8"))?;
    let json = |text: &str| {
        serde_json::from_str::<Value>(text)
            .map_err(|_| PlatformAnswer::refused(400, "the body is not valid JSON"))
    };
    match kind.as_str() {
        "application/json" => json(text),
        kind if kind.ends_with("+json") => json(text),
        "application/x-www-form-urlencoded" => {
            let fields = form(text);
            // GitHub puts its JSON into a field.
            match (style, fields.get("payload").and_then(Value::as_str)) {
                (SignatureStyle::BodyOnly, Some(payload)) => json(payload),
                _ => Ok(Value::Object(fields)),
            }
        }
        kind if kind.starts_with("text/") => Ok(serde_json::json!({"text": text})),
        _ => Err(PlatformAnswer::refused(
            415,
            "the body must be JSON, a form or text",
        )),
    }
}

/// Fields of a form; the first of a name counts.
fn form(text: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    for (name, value) in form_pairs(text) {
        fields.entry(name).or_insert(Value::String(value));
    }
    fields
}

fn form_pairs(text: &str) -> Vec<(String, String)> {
    let base = reqwest::Url::parse("http://localhost/");
    let Ok(mut url) = base else { return Vec::new() };
    url.set_query(Some(text));
    url.query_pairs()
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

fn inbound(
    templates: &WebhookTemplates,
    body: &Value,
    signed: String,
    at_ms: i64,
    diagnostics: &mut Vec<String>,
) -> Result<Inbound, PlatformAnswer> {
    let text = templates.text.fill(body, diagnostics);
    if text.trim().is_empty() {
        let why = format!("the text is empty: {}", diagnostics.join("; "));
        return Err(PlatformAnswer::refused(422, &why));
    }
    let mut name = |template: &Option<WebhookTemplate>| {
        let filled = template
            .as_ref()
            .map(|template| template.fill(body, diagnostics));
        filled
            .map(|text| plain_name(&text))
            .filter(|text| !text.is_empty())
    };
    let key = name(&templates.key).map_or(signed, |key| format!("id:{key}"));
    let sender = name(&templates.sender).unwrap_or_else(|| "webhook".to_owned());
    Ok(Inbound {
        place: ChatPlace {
            chat: name(&templates.session).unwrap_or_else(|| "webhook".to_owned()),
            thread: None,
            reply_to: None,
            group: false,
        },
        // A client with the secret says it; a name in the body is only a name.
        from: ChatSender {
            id: "webhook".to_owned(),
            name: sender,
        },
        body: InboundBody::Message {
            text,
            files: Vec::new(),
            message: key.clone(),
            reply_to: None,
            addressed: true,
        },
        agent: name(&templates.agent),
        key,
        at_ms,
    })
}

/// One short line; a long one is replaced by its digest, so that different ones stay different.
fn plain_name(text: &str) -> String {
    let line: String = text.chars().filter(|letter| !letter.is_control()).collect();
    let line = line.trim();
    if line.len() <= 128 {
        return line.to_owned();
    }
    short_digest(&[line.as_bytes()])
}
