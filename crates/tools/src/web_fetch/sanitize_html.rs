//! Sanitizes hostile HTML, so that parsing it takes time linear in its length. Pure.
//!
//! Parsers of HTML are quadratic in nesting and attributes, and what walks their trees may recurse:
//! a few kilobytes of `<b>` end a process. What goes on from here has few tags inside each other,
//! few attributes, no scripts, no pictures drawn in it, and is spelled so that there is one way to
//! read it. Structure beyond that is dropped; its text stays.

use std::collections::HashMap;

/// Elements inside each other. Pages that people read have a few dozen.
const DEEPEST: usize = 100;

/// Attributes that say something about text, links or pictures.
const ATTRIBUTES: [&str; 17] = [
    "alt",
    "class",
    "colspan",
    "content",
    "data-lang",
    "dir",
    "href",
    "id",
    "itemprop",
    "lang",
    "name",
    "property",
    "rel",
    "role",
    "src",
    "start",
    "title",
];

/// Elements that are left out with all that is in them.
const LEFT_OUT: [&str; 8] = [
    "script", "style", "svg", "template", "iframe", "noscript", "canvas", "object",
];

/// Elements without an end.
const VOID: [&str; 13] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr",
];

/// The same page, harmless.
pub(super) fn clean(html: &str) -> String {
    let mut writer = HtmlCleaner {
        out: String::with_capacity(html.len()),
        ..HtmlCleaner::default()
    };
    let mut rest = html;
    while let Some((text, tag)) = rest.split_once('<') {
        writer.out.push_str(text);
        rest = writer.markup(tag);
    }
    writer.out.push_str(rest);
    writer.out
}

#[derive(Default)]
struct HtmlCleaner {
    out: String,
    /// How many elements of each name are open.
    open: HashMap<String, usize>,
    depth: usize,
}

impl HtmlCleaner {
    /// Takes what stands behind a `<`; gives what stands behind its end.
    fn markup<'a>(&mut self, text: &'a str) -> &'a str {
        match text.as_bytes() {
            [b'!', b'-', b'-', ..] => behind(text, "-->"),
            [b'!' | b'?', ..] => behind(text, ">"),
            [b'/', first, ..] if first.is_ascii_alphabetic() => {
                let (name, _, rest) = tag(text.get(1..).unwrap_or_default());
                self.close(&name);
                rest
            }
            [first, ..] if first.is_ascii_alphabetic() => {
                let (name, attributes, rest) = tag(text);
                if LEFT_OUT.contains(&name.as_str()) {
                    return behind_end_of(rest, &name);
                }
                self.open(&name, attributes);
                rest
            }
            _ => {
                self.out.push_str("&lt;");
                text
            }
        }
    }

    fn open(&mut self, name: &str, attributes: &str) {
        let is_void = VOID.contains(&name);
        let is_plain = name.len() <= 32
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !is_plain || (!is_void && self.depth >= DEEPEST) {
            return;
        }
        if !is_void {
            self.depth += 1;
            *self.open.entry(name.to_owned()).or_default() += 1;
        }
        self.out.push('<');
        self.out.push_str(name);
        self.attributes(attributes);
        self.out.push('>');
    }

    /// An end without a beginning is no end.
    fn close(&mut self, name: &str) {
        let Some(count) = self.open.get_mut(name).filter(|count| **count > 0) else {
            return;
        };
        *count -= 1;
        self.depth = self.depth.saturating_sub(1);
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
    }

    fn attributes(&mut self, text: &str) {
        let mut seen = Vec::new();
        let mut rest = text;
        while let Some((name, value, after)) = attribute(rest) {
            rest = after;
            let known = ATTRIBUTES
                .iter()
                .find(|known| known.eq_ignore_ascii_case(name));
            let Some(known) = known.filter(|known| !seen.contains(*known)) else {
                continue;
            };
            seen.push(known);
            self.out.push(' ');
            self.out.push_str(known);
            self.out.push_str("=\"");
            self.out.push_str(&value.replace('"', "&quot;"));
            self.out.push('"');
        }
    }
}

/// Name, attributes and what follows, of what stands behind a `<` or `</`.
fn tag(text: &str) -> (String, &str, &str) {
    let is_end = |letter: char| letter.is_ascii_whitespace() || matches!(letter, '/' | '>');
    let (name, inner) = text
        .split_at_checked(text.find(is_end).unwrap_or(text.len()))
        .unwrap_or_default();
    let mut rest = inner;
    while let Some((_, _, after)) = attribute(rest) {
        rest = after;
    }
    let attributes = inner.get(..inner.len() - rest.len()).unwrap_or_default();
    let rest = rest.trim_start_matches(is_between);
    (
        name.to_ascii_lowercase(),
        attributes,
        rest.strip_prefix('>').unwrap_or(rest),
    )
}

/// The next attribute of a tag, its value, and what follows; none at the end of the tag.
fn attribute(text: &str) -> Option<(&str, &str, &str)> {
    let text = text.trim_start_matches(is_between);
    if text.is_empty() || text.starts_with('>') {
        return None;
    }
    // A `=` where a name should begin is the name's first letter.
    let first = text.chars().next().map_or(0, char::len_utf8);
    let is_end = |letter: char| is_between(letter) || matches!(letter, '=' | '>');
    let length = text
        .get(first..)?
        .find(is_end)
        .map_or(text.len(), |at| at + first);
    let (name, after) = text.split_at_checked(length)?;
    let Some(value) = after.trim_start().strip_prefix('=') else {
        return Some((name, "", after));
    };
    let value = value.trim_start();
    for quote in ['"', '\''] {
        if let Some(value) = value.strip_prefix(quote) {
            let (value, after) = value.split_once(quote).unwrap_or((value, ""));
            return Some((name, value, after));
        }
    }
    let length = value.find(|letter: char| letter.is_ascii_whitespace() || letter == '>');
    let (value, after) = value.split_at_checked(length.unwrap_or(value.len()))?;
    Some((name, value, after))
}

fn is_between(letter: char) -> bool {
    letter.is_ascii_whitespace() || letter == '/'
}

fn behind<'a>(text: &'a str, end: &str) -> &'a str {
    text.split_once(end).map_or("", |(_, rest)| rest)
}

/// What follows the end of an element whose content is no markup to us.
fn behind_end_of<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("</") {
        let is_end = after
            .get(..name.len())
            .is_some_and(|end| end.eq_ignore_ascii_case(name));
        if is_end {
            return behind(after, ">");
        }
        rest = after;
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_read_stays() {
        let table = [
            ("<p>a &amp; b</p>", "<p>a &amp; b</p>"),
            (
                "<A HREF='/x?a=1&b=2' onclick=\"go()\" Title=T>y</A>",
                "<a href=\"/x?a=1&b=2\" title=\"T\">y</a>",
            ),
            (
                "<img src=a.png alt='say \"hi\"'/>",
                "<img src=\"a.png\" alt=\"say &quot;hi&quot;\">",
            ),
            ("1 < 2 <3 &lt; 4", "1 &lt; 2 &lt;3 &lt; 4"),
            ("a<!-- <b> -->b<!doctype html>c<?php x ?>d", "abcd"),
            (
                "a<script>if (a<b) '</div>'</script >b<style>p{}</style>c",
                "abc",
            ),
            ("<p>a</div></p>b", "<p>a</p>b"),
            ("<p ", "<p>"),
            ("<", "&lt;"),
            ("<a href=\"never ends", "<a href=\"never ends\">"),
        ];
        for (html, cleaned) in table {
            assert_eq!(clean(html), cleaned, "{html}");
        }
    }

    #[test]
    fn cleaning_twice_changes_nothing_and_depth_is_bounded() {
        let hostile = [
            "<b>".repeat(50_000),
            "<p a==\"><b><b>\">".repeat(10_000),
            "<div></x>".repeat(50_000),
            "<ul><li>".repeat(50_000),
            format!(
                "<p {}>",
                (0..50_000)
                    .map(|at| format!("a{at}=1 "))
                    .collect::<String>()
            ),
            "<".repeat(100_000),
        ];
        for html in hostile {
            let once = clean(&html);
            assert_eq!(clean(&once), once);
            assert!(
                once.matches("<b>").count() <= DEEPEST && once.matches("<div>").count() <= DEEPEST
            );
            assert!(once.matches("<ul>").count() <= DEEPEST && once.matches('=').count() < 40_000);
        }
    }
}
