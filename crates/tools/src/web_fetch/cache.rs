//! Cache of fetched pages, with an expiry and a size limit. In memory only.
//!
//! No page is fetched with credentials, so sessions may share pages. Whether a session may fetch a page is decided
//! before the cache is consulted.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::page::WebPage;

/// Overhead of a cached page besides its bytes.
const OVERHEAD: usize = 1_000;

/// The pages that are kept, by the URL that was asked for.
pub(super) struct PageCache {
    pages: Mutex<HashMap<String, Arc<WebPage>>>,
    limit: usize,
}

impl PageCache {
    pub fn new(limit: usize) -> Self {
        Self {
            pages: Mutex::default(),
            limit,
        }
    }

    /// The page of a URL, however old.
    pub fn find(&self, url: &str) -> Option<Arc<WebPage>> {
        self.pages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(url)
            .cloned()
    }

    /// Keeps a page, in place of those that were seen longest ago.
    pub fn keep(&self, url: &str, page: &Arc<WebPage>) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.remove(url);
        if !page.may_be_kept || cost(page) > self.limit {
            return;
        }
        pages.insert(url.to_owned(), page.clone());
        while pages.values().map(|page| cost(page)).sum::<usize>() > self.limit {
            let oldest = pages
                .iter()
                .min_by_key(|(_, page)| page.seen)
                .map(|(url, _)| url.clone());
            let Some(oldest) = oldest else { return };
            pages.remove(&oldest);
        }
    }
}

fn cost(page: &WebPage) -> usize {
    page.bytes.len() + page.url.len() + OVERHEAD
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use reqwest::StatusCode;

    use super::*;
    use crate::web_fetch::page::CacheValidators;

    fn page(length: usize, age: u64) -> Arc<WebPage> {
        let seen = Instant::now()
            .checked_sub(Duration::from_secs(age))
            .unwrap();
        Arc::new(WebPage {
            url: String::new(),
            status: StatusCode::OK,
            media_type: String::new(),
            charset: None,
            bytes: vec![0; length].into(),
            seen,
            validators: CacheValidators::default(),
            may_be_kept: true,
        })
    }

    #[test]
    fn what_was_seen_longest_ago_makes_room() {
        let cache = PageCache::new(10_000);
        cache.keep("a", &page(3_000, 3));
        cache.keep("b", &page(3_000, 9));
        cache.keep("c", &page(3_000, 1));
        assert!(
            cache.find("a").is_some() && cache.find("b").is_none() && cache.find("c").is_some()
        );
        cache.keep("d", &page(20_000, 0));
        assert!(
            cache.find("d").is_none() && cache.find("a").is_some(),
            "too long for all of it"
        );
    }
}
