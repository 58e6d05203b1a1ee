//! Converts HTML to Markdown: the article of a page if it has one, else all of it.

use dom_smoothie::{Config, Readability, ReadabilityError, TextMode};

use super::sanitize_html::clean;

/// Pages of more elements are lists and tables rather than articles.
const ELEMENTS: usize = 50_000;

/// An article that is a smaller part of its page than this was guessed wrong.
const SMALLEST_SHARE: usize = 5;

/// A page in words.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ReadablePage {
    pub title: String,
    pub text: String,
}

/// Reads a page that was at this URL.
pub(super) fn readable(html: &str, url: &str) -> ReadablePage {
    let html = clean(html);
    let whole = parsed(&html, url)
        .map(|page| whole(&page))
        .unwrap_or_default();
    let Ok(article) = parsed(&html, url).and_then(|mut page| page.parse()) else {
        return whole;
    };
    let text = tidy(&article.text_content);
    if text.len() * SMALLEST_SHARE < whole.text.len() {
        return ReadablePage {
            title: article.title,
            ..whole
        };
    }
    ReadablePage {
        title: article.title,
        text,
    }
}

fn parsed(html: &str, url: &str) -> Result<Readability, ReadabilityError> {
    let config = Config {
        max_elements_to_parse: ELEMENTS,
        disable_json_ld: true,
        text_mode: TextMode::Markdown,
        ..Config::default()
    };
    Readability::new(html, Some(url), Some(config))
}

fn whole(page: &Readability) -> ReadablePage {
    ReadablePage {
        title: page.get_article_title().to_string(),
        text: tidy(&page.doc.md(None)),
    }
}

/// Without the blank lines that empty elements leave behind.
fn tidy(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    let mut blank = 0;
    for line in markdown.trim().lines() {
        blank = if line.trim().is_empty() { blank + 1 } else { 0 };
        if blank <= 1 {
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    out.truncate(out.trim_end().len());
    out
}
