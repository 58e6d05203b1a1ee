//! HTML of texts that were rendered lately. Bounded; the least recently used go first.
//!
//! The key is the digest of the text itself: a text that is redacted differently later is another one.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use ring::digest::{SHA256, digest};

/// Bytes of HTML that are kept.
const MOST: usize = 8 * 1024 * 1024;

type TextDigest = Vec<u8>;

/// HTML by text.
#[derive(Default)]
pub(crate) struct HtmlCache(Mutex<CachedTexts>);

#[derive(Default)]
struct CachedTexts {
    html: HashMap<TextDigest, (u64, Arc<str>)>,
    by_use: BTreeMap<u64, TextDigest>,
    uses: u64,
    bytes: usize,
    renders: u64,
}

impl HtmlCache {
    /// A text as sanitized HTML.
    pub(crate) fn html(&self, text: &str) -> Arc<str> {
        let key = digest(&SHA256, text.as_bytes()).as_ref().to_vec();
        if let Some(known) = self.texts().used(&key) {
            return known;
        }
        let html: Arc<str> = rooftree_markdown::to_html(text).into();
        self.texts().keep(key, html.clone());
        html
    }

    // A panic while it is held leaves at worst a text that is rendered again.
    fn texts(&self) -> std::sync::MutexGuard<'_, CachedTexts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedTexts {
    fn used(&mut self, key: &TextDigest) -> Option<Arc<str>> {
        let (at, html) = self.html.get_mut(key)?;
        self.uses += 1;
        self.by_use.remove(at);
        *at = self.uses;
        self.by_use.insert(self.uses, key.clone());
        Some(html.clone())
    }

    fn keep(&mut self, key: TextDigest, html: Arc<str>) {
        self.renders += 1;
        self.uses += 1;
        self.bytes += html.len();
        self.by_use.insert(self.uses, key.clone());
        if let Some((at, before)) = self.html.insert(key, (self.uses, html)) {
            self.by_use.remove(&at);
            self.bytes -= before.len();
        }
        while self.bytes > MOST {
            let Some((_, oldest)) = self.by_use.pop_first() else {
                return;
            };
            if let Some((_, html)) = self.html.remove(&oldest) {
                self.bytes -= html.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_rendered_once_and_the_oldest_makes_room() {
        let cache = HtmlCache::default();
        for _ in 0..3 {
            assert_eq!(&*cache.html("*a*"), "<p><em>a</em></p>\n");
        }
        assert_eq!(cache.texts().renders, 1);
        for number in 0..20 {
            cache.html(&format!("{number} {}", "x".repeat(1024 * 1024)));
            cache.html("*a*");
        }
        let texts = cache.texts();
        assert_eq!(texts.renders, 21, "what is used stays");
        assert!(texts.bytes <= MOST && texts.html.len() == texts.by_use.len());
    }
}
