//! WebFetch: fetches a web page as readable text, from checked addresses only.
//!
//! `fetch` gets it, `render` makes it readable, and what comes out is marked as coming from
//! outside. A GET can carry something out as well as in, so it counts as an action elsewhere, and
//! a rule or a person has to allow its host.

mod cache;
mod charset;
mod excerpt;
mod fetch;
mod page;
mod readable;
mod render;
mod sanitize_html;

use std::{fmt::Write, sync::Arc};

use futures::future::BoxFuture;
use rooftree_protocol::{CallId, ErrorCode, ToolSpec};
use serde_json::Value;

use crate::{
    Tool, ToolContext, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, flag, number, text},
    resolved_path,
    tool_info::ToolInfo,
    web::{
        WEB_FETCH, WebConfig,
        guard::WebError,
        target::UrlTarget,
        untrusted_text::{line, marked},
    },
};
use excerpt::excerpt;
use fetch::{FetchOutcome, PageFetcher};
use page::WebPage;
use render::{PageFormat, RenderedPage, render};

const DESCRIPTION: &str =
    "Read a public web page as Markdown. Says where a redirect to another host leads.";

const ARGUMENTS: [ToolArgument; 4] = [
    ToolArgument::new("url", ArgumentKind::Text, "")
        .required()
        .with_aliases(&["uri", "link"]),
    ToolArgument::new("prompt", ArgumentKind::Text, "What to look for").with_aliases(&["question"]),
    ToolArgument::accepted("max_chars", ArgumentKind::Number)
        .with_aliases(&["max_length", "limit"]),
    ToolArgument::accepted("raw", ArgumentKind::Flag),
];

/// Characters shown of a long page if the call asks a question about it.
const LOOKED_FOR: usize = 20_000;

/// Characters shown of a page that says that something went wrong.
const COMPLAINT: usize = 2_000;

/// The WebFetch tool.
pub(crate) struct WebFetchTool {
    spec: ToolSpec,
    fetcher: Arc<PageFetcher>,
}

impl WebFetchTool {
    pub fn new(web: &WebConfig) -> Self {
        let spec = arguments::spec(WEB_FETCH.name, DESCRIPTION, &ARGUMENTS);
        Self {
            spec,
            fetcher: Arc::new(PageFetcher::new(web)),
        }
    }
}

impl Tool for WebFetchTool {
    fn info(&self) -> &ToolInfo {
        &WEB_FETCH
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// The URL is normalized, so that the user who is asked for permission sees where it leads; a URL that is never
    /// allowed is refused before the user is asked.
    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        let mut input = arguments::normalise(WEB_FETCH.name, &ARGUMENTS, input)?;
        let written = input.get("url").and_then(Value::as_str).unwrap_or_default();
        let target = self
            .fetcher
            .guard
            .read(written)
            .map_err(|refusal| format!("WebFetch: {refusal}"))?;
        input.insert("url".to_owned(), Value::String(target.url().to_string()));
        Ok(Value::Object(input))
    }

    /// `domain:host`, in the one spelling that a host has.
    fn subject(&self, input: &Value) -> Option<String> {
        let target = UrlTarget::parse(text(input, "url")).ok()?;
        Some(format!("domain:{}", target.host()))
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let fetcher = self.fetcher.clone();
        Box::pin(async move {
            let limit = fetcher.bounds.time;
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => ToolOutput::failed(ErrorCode::ToolCancelled, "[cancelled]"),
                done = tokio::time::timeout(limit, fetched(&fetcher, &input, &context.call)) => match done {
                    Ok(done) => done.unwrap_or_else(|refusal| refusal.output()),
                    Err(_) => WebError::failed(format!(
                        "{} was not there within {} seconds.", text(&input, "url"), limit.as_secs_f32()
                    )).output(),
                },
            }
        })
    }
}

async fn fetched(
    fetcher: &PageFetcher,
    input: &Value,
    call: &CallId,
) -> Result<ToolOutput, WebError> {
    let target = fetcher.guard.read(text(input, "url"))?;
    let page = match fetcher.fetch(&target).await? {
        FetchOutcome::Page(page) => page,
        FetchOutcome::Elsewhere(url) => {
            let words = format!(
                "{} redirects to another host. If that is where you want to go, call WebFetch again with {url}",
                target.url()
            );
            return Ok(ToolOutput::done(words));
        }
    };
    let form = if flag(input, "raw") {
        PageFormat::Raw
    } else {
        PageFormat::Readable
    };
    let rendering = page.clone();
    let rendered = tokio::task::spawn_blocking(move || render(&rendering, form)).await;
    let rendered =
        rendered.map_err(|_| WebError::failed("The page could not be made readable; try raw."))?;
    Ok(answer(&page, rendered, input, call))
}

fn answer(page: &WebPage, rendered: RenderedPage, input: &Value, call: &CallId) -> ToolOutput {
    let question = text(input, "prompt");
    let limit = number(input, "max_chars").and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.unwrap_or(if question.is_empty() {
        usize::MAX
    } else {
        LOOKED_FOR
    });
    let is_complaint = !page.status.is_success();
    let shown = excerpt(
        &rendered.text,
        question,
        if is_complaint {
            limit.min(COMPLAINT)
        } else {
            limit
        },
    );
    let failed = rendered
        .failure
        .or(is_complaint.then_some(ErrorCode::ToolFailed));
    let shown = if shown.trim().is_empty() {
        "[nothing to read; perhaps it is made by a script]".to_owned()
    } else {
        shown
    };
    let mut output = ToolOutput::done(marked(call, &about(page, &rendered, input), &shown));
    output.failure = failed;
    output.media.extend(rendered.picture);
    output
}

/// What is known about a page, in a few lines.
fn about(page: &WebPage, rendered: &RenderedPage, input: &Value) -> String {
    let asked = text(input, "url");
    let mut about = format!("URL: {asked}\n");
    if page.url != asked {
        let _ = writeln!(about, "Redirected to: {}", page.url);
    }
    if !page.status.is_success() {
        let _ = writeln!(about, "Status: {}", page.status);
    }
    if !rendered.title.is_empty() {
        let _ = writeln!(about, "Title: {}", line(&rendered.title));
    }
    let media_type = if page.media_type.is_empty() {
        "unnamed"
    } else {
        &page.media_type
    };
    let _ = writeln!(
        about,
        "Type: {}, {}",
        line(media_type),
        resolved_path::size(page.bytes.len() as u64)
    );
    let age = page.seen.elapsed().as_secs();
    if age >= 60 {
        let _ = writeln!(about, "Seen: {} minutes ago", age / 60);
    }
    about
}
