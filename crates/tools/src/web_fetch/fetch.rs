//! Fetches a page: from the cache while it is fresh, else from its server, following redirects within one host.
//!
//! Permission was given for a host. A redirect to another one is therefore told and not followed:
//! asking for that URL is a call of its own, with a permission of its own.

use std::{sync::Arc, time::Instant};

use reqwest::{
    Response, StatusCode,
    header::{ACCEPT, HeaderMap, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LOCATION},
};

use super::{
    cache::PageCache,
    page::{ResponseHead, WebPage},
};
use crate::web::{
    WebBounds, WebConfig, body,
    exchange::{self, WebRequest},
    guard::{NetworkGuard, WebError},
    target::UrlTarget,
};

const ACCEPTED: &str = "text/markdown, text/html, application/xhtml+xml, text/plain;q=0.9, \
    application/json;q=0.9, */*;q=0.5";

/// Fetches pages.
pub(super) struct PageFetcher {
    pub guard: NetworkGuard,
    pub bounds: WebBounds,
    cache: PageCache,
}

/// Outcome of a fetch.
#[derive(Debug)]
pub(super) enum FetchOutcome {
    /// This page.
    Page(Arc<WebPage>),
    /// Another host has it.
    Elsewhere(String),
}

/// Result of one request: the page, or a redirect.
enum Step {
    Arrived(Arc<WebPage>),
    Moved(UrlTarget),
}

impl PageFetcher {
    pub fn new(web: &WebConfig) -> Self {
        Self {
            guard: NetworkGuard::new(web),
            bounds: web.bounds,
            cache: PageCache::new(web.bounds.kept_bytes),
        }
    }

    /// Fetches a page. How long that may take is for the caller to say.
    pub async fn fetch(&self, start: &UrlTarget) -> Result<FetchOutcome, WebError> {
        let kept = self.cache.find(start.url().as_str());
        if let Some(page) = kept
            .as_ref()
            .filter(|page| page.seen.elapsed() < self.bounds.fresh)
        {
            return Ok(FetchOutcome::Page(page.clone()));
        }
        let mut visited = vec![start.clone()];
        let mut here = start.clone();
        loop {
            match self.step(&here, kept.as_ref()).await? {
                Step::Arrived(page) => {
                    self.cache.keep(start.url().as_str(), &page);
                    return Ok(FetchOutcome::Page(page));
                }
                Step::Moved(next) if next.host() != here.host() => {
                    return Ok(FetchOutcome::Elsewhere(next.url().to_string()));
                }
                Step::Moved(next) => here = self.onward(&mut visited, next)?,
            }
        }
    }

    /// One question to one server.
    async fn step(&self, here: &UrlTarget, kept: Option<&Arc<WebPage>>) -> Result<Step, WebError> {
        let admitted = self.guard.admit_target(here.clone()).await?;
        let kept = kept.filter(|page| page.url == here.url().as_str());
        let question = WebRequest {
            headers: headers(kept),
            body: None,
        };
        let response = exchange::send(&admitted, question).await?;
        if let (StatusCode::NOT_MODIFIED, Some(page)) = (response.status(), kept) {
            let page = WebPage {
                seen: Instant::now(),
                ..WebPage::clone(page)
            };
            return Ok(Step::Arrived(Arc::new(page)));
        }
        if let Some(location) = location(&response) {
            return self.moved(here, &location).map(Step::Moved);
        }
        let head = ResponseHead::of(&response);
        let bytes = body::read(response, &self.bounds).await?;
        Ok(Step::Arrived(Arc::new(
            head.page(here.url().to_string(), bytes),
        )))
    }

    /// Target of a redirect, if it may be reached at all.
    fn moved(&self, here: &UrlTarget, location: &str) -> Result<UrlTarget, WebError> {
        let refused = |why: &dyn std::fmt::Display| {
            let shown: String = location
                .chars()
                .filter(|letter| !letter.is_control())
                .take(200)
                .collect();
            WebError::forbidden(format!(
                "{} redirects to {shown}, which is not followed: {why}",
                here.url()
            ))
        };
        let next = here.follow(location).map_err(|refusal| refused(&refusal))?;
        if here.is_encrypted() && !next.is_encrypted() {
            return Err(refused(&"it is not encrypted, and this page is."));
        }
        self.guard
            .read(next.url().as_str())
            .map_err(|refusal| refused(&refusal))
    }

    fn onward(&self, visited: &mut Vec<UrlTarget>, next: UrlTarget) -> Result<UrlTarget, WebError> {
        if visited.contains(&next) {
            return Err(WebError::failed(format!(
                "{} redirects in a circle.",
                next.url()
            )));
        }
        if visited.len() > self.bounds.redirects {
            let most = self.bounds.redirects;
            return Err(WebError::failed(format!(
                "There are more than {most} redirects; the last is to {}.",
                next.url()
            )));
        }
        visited.push(next.clone());
        Ok(next)
    }
}

fn headers(kept: Option<&Arc<WebPage>>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
    let Some(page) = kept else { return headers };
    let validators = [
        (IF_NONE_MATCH, &page.validators.etag),
        (IF_MODIFIED_SINCE, &page.validators.modified),
    ];
    for (name, value) in validators {
        if let Some(value) = value
            .as_deref()
            .and_then(|value| HeaderValue::from_str(value).ok())
        {
            headers.insert(name, value);
        }
    }
    headers
}

fn location(response: &Response) -> Option<String> {
    let moved = [301, 302, 303, 307, 308].contains(&response.status().as_u16());
    let location = response.headers().get(LOCATION).filter(|_| moved)?;
    Some(String::from_utf8_lossy(location.as_bytes()).into_owned())
}
