//! Renders a page for the model: Markdown, text, an image, or the reason why not.

use std::borrow::Cow;

use rooftree_protocol::ErrorCode;

use super::{charset, page::WebPage, readable::readable};
use crate::{resolved_path, tool::ToolMedia};

/// Models take pictures up to this size.
const PICTURE_BYTES: usize = 5_000_000;

const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// What is text although its type does not begin with `text/`.
const TEXTS: [&str; 9] = [
    "json",
    "xml",
    "javascript",
    "ecmascript",
    "yaml",
    "x-yaml",
    "toml",
    "x-sh",
    "x-www-form-urlencoded",
];

/// Requested form of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageFormat {
    /// As something to read.
    Readable,
    /// As it was sent.
    Raw,
}

/// A rendered page.
#[derive(Debug, Default)]
pub(super) struct RenderedPage {
    pub title: String,
    pub text: String,
    pub picture: Option<ToolMedia>,
    pub failure: Option<ErrorCode>,
}

/// Renders a page. Takes time, so not where others wait.
pub(super) fn render(page: &WebPage, form: PageFormat) -> RenderedPage {
    match (kind(page), form) {
        (Kind::Html, PageFormat::Readable) => {
            let read = readable(
                &charset::text(&page.bytes, page.charset.as_deref()),
                &page.url,
            );
            RenderedPage {
                title: read.title,
                text: read.text,
                ..RenderedPage::default()
            }
        }
        (Kind::Json, PageFormat::Readable) => RenderedPage {
            text: pretty(&text_of(page)),
            ..RenderedPage::default()
        },
        (Kind::Html | Kind::Json | Kind::Text, _) => RenderedPage {
            text: text_of(page),
            ..RenderedPage::default()
        },
        (Kind::Picture(media_type), _) => picture(page, media_type),
        (Kind::Binary(media_type), _) => binary(page, &media_type),
    }
}

enum Kind {
    Html,
    Json,
    Text,
    Picture(&'static str),
    Binary(String),
}

/// Detects the media type. The server's header decides for text; other types are detected from the bytes.
fn kind(page: &WebPage) -> Kind {
    let bytes: &[u8] = &page.bytes;
    let found = infer::get(bytes).map(|found| found.mime_type());
    if let Some(picture) = PICTURES.into_iter().find(|picture| found == Some(*picture)) {
        return Kind::Picture(picture);
    }
    let named = page.media_type.as_str();
    let is_text = named.starts_with("text/") || TEXTS.iter().any(|text| ends_in(named, text));
    let is_unnamed = matches!(
        named,
        "" | "application/octet-stream" | "binary/octet-stream"
    );
    let holds_nul = bytes.iter().take(8_192).any(|byte| *byte == 0)
        && page.charset.is_none()
        && !has_mark(bytes);
    if holds_nul || !(is_text || is_unnamed || named == "application/xhtml+xml") {
        let name = if is_unnamed {
            found.unwrap_or("application/octet-stream")
        } else {
            named
        };
        return Kind::Binary(name.to_owned());
    }
    match found {
        Some(other) if !other.starts_with("text/") => return Kind::Binary(other.to_owned()),
        _ => {}
    }
    if matches!(named, "text/html" | "application/xhtml+xml")
        || (is_unnamed && looks_like_html(bytes))
    {
        Kind::Html
    } else if ends_in(named, "json") {
        Kind::Json
    } else {
        Kind::Text
    }
}

/// `application/json` and `application/geo+json` alike.
fn ends_in(named: &str, end: &str) -> bool {
    named
        .strip_suffix(end)
        .is_some_and(|before| before.ends_with(['/', '+']))
}

/// UTF-16 is text and full of zeros.
fn has_mark(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff])
}

fn looks_like_html(bytes: &[u8]) -> bool {
    let start = bytes
        .get(..bytes.len().min(256))
        .unwrap_or_default()
        .trim_ascii_start()
        .to_ascii_lowercase();
    start.starts_with(b"<!doctype html") || start.starts_with(b"<html")
}

fn text_of(page: &WebPage) -> String {
    charset::text(&page.bytes, page.charset.as_deref())
}

/// Pretty-prints JSON on one line; JSON that is already formatted stays as it is.
fn pretty(text: &str) -> String {
    let is_laid_out = text.trim().lines().nth(1).is_some();
    let value = serde_json::from_str::<serde_json::Value>(text)
        .ok()
        .filter(|_| !is_laid_out);
    let pretty = value.and_then(|value| serde_json::to_string_pretty(&value).ok());
    pretty.map_or(Cow::Borrowed(text), Cow::Owned).into_owned()
}

fn picture(page: &WebPage, media_type: &'static str) -> RenderedPage {
    if page.bytes.len() > PICTURE_BYTES {
        return binary(page, media_type);
    }
    let picture = ToolMedia {
        media_type: media_type.to_owned(),
        bytes: page.bytes.to_vec(),
    };
    RenderedPage {
        text: "[a picture]".to_owned(),
        picture: Some(picture),
        ..RenderedPage::default()
    }
}

fn binary(page: &WebPage, media_type: &str) -> RenderedPage {
    let size = resolved_path::size(page.bytes.len() as u64);
    let hint = if media_type == "application/pdf" {
        "WebFetch does not read PDF; look for the same as a web page"
    } else {
        "WebFetch reads web pages, text, JSON and pictures"
    };
    let shown: String = media_type.chars().take(80).collect();
    let text = format!("This is {shown} ({size}), not text. {hint}.");
    RenderedPage {
        text,
        failure: Some(ErrorCode::ToolFailed),
        ..RenderedPage::default()
    }
}
