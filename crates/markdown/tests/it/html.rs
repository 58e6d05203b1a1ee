//! HTML for web pages: what Markdown becomes, and a table of attacks that must stay text.

use rooftree_markdown::{HtmlStream, to_html};

/// Every tag that may occur.
pub const KNOWN: &[&str] = &[
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "blockquote",
    "pre",
    "code",
    "ul",
    "ol",
    "li",
    "table",
    "tr",
    "th",
    "td",
    "em",
    "strong",
    "del",
    "a",
    "br",
    "hr",
];

#[test]
fn markdown_becomes_html() {
    let cases = [
        ("# a", "<h1>a</h1>\n"),
        (
            "a **b** *c* ~~d~~ `e<`",
            "<p>a <strong>b</strong> <em>c</em> <del>d</del> <code>e&lt;</code></p>\n",
        ),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"),
        ("3. a", "<ol start=\"3\">\n<li>a</li>\n</ol>\n"),
        ("> a", "<blockquote>\n<p>a</p>\n</blockquote>\n"),
        (
            "```rust\na & b\n```",
            "<pre><code class=\"language-rust\">a &amp; b\n</code></pre>\n",
        ),
        (
            "|a|\n|-:|\n|b|",
            "<table>\n<tr><th class=\"right\">a</th></tr>\n<tr><td class=\"right\">b</td></tr>\n</table>\n",
        ),
        (
            "[a](https://x.example/?a=1&b='2')",
            "<p><a href=\"https://x.example/?a=1&amp;b=%272%27\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">a</a></p>\n",
        ),
        (
            "![cat](https://x.example/c.png)",
            "<p><a href=\"https://x.example/c.png\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">image: cat</a></p>\n",
        ),
        ("- [x] a", "<ul>\n<li>☑ a</li>\n</ul>\n"),
        ("a\n\n---", "<p>a</p>\n<hr>\n"),
    ];
    for (text, html) in cases {
        assert_eq!(to_html(text), html, "{text:?}");
    }
}

/// Ways to get a script, a remote request or a fake address into a page. The server's tests read them too.
#[allow(clippy::expect_used, reason = "a test fails by panicking")]
fn attacks() -> Vec<String> {
    serde_json::from_str(include_str!("../attacks.json")).expect("a list of texts")
}

#[test]
fn attacks_stay_text() {
    for attack in &attacks() {
        check(attack, &to_html(attack));
        // Letter by letter, closed by what follows.
        let mut stream = HtmlStream::default();
        let text = format!("{attack}\n\nend\n\n");
        let letters = text.chars().map(|letter| stream.push(&letter.to_string()));
        let html: String = letters.collect();
        check(attack, &html);
    }
}

#[allow(clippy::expect_used, reason = "a test fails by panicking")]
fn check(attack: &str, html: &str) {
    for part in html.split('<').skip(1) {
        let (tag, _) = part.split_once('>').expect(attack);
        let name = tag
            .trim_start_matches('/')
            .split(' ')
            .next()
            .unwrap_or_default();
        assert!(KNOWN.contains(&name), "{attack}: {html}");
        check_attributes(tag, attack);
    }
    assert!(
        !html
            .chars()
            .any(|letter| letter.is_control() && letter != '\n'),
        "{attack}: {html}"
    );
}

/// Only these attributes, and only addresses with a known scheme.
fn check_attributes(tag: &str, attack: &str) {
    let mut rest = tag.split_once(' ').map_or("", |(_, rest)| rest);
    while let Some((name, after)) = rest.split_once("=\"") {
        let (value, after) = after.split_once('"').unwrap_or_default();
        let is_safe = match name.trim() {
            "href" => ["http://", "https://", "mailto:"]
                .iter()
                .any(|scheme| value.to_lowercase().starts_with(scheme)),
            "rel" => value == "noopener noreferrer nofollow",
            "target" => value == "_blank",
            "class" => value
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || "-+#_".contains(letter)),
            "start" => value.bytes().all(|byte| byte.is_ascii_digit()),
            _ => false,
        };
        assert!(is_safe, "{attack}: {tag}");
        rest = after;
    }
    assert_eq!(rest.trim(), "", "{attack}: {tag}");
}

#[test]
fn only_known_schemes_are_linked() {
    for linked in [
        "http://x.example",
        "HTTPS://x.example",
        "mailto:a@x.example",
    ] {
        assert!(
            to_html(&format!("[a]({linked})")).contains("<a href"),
            "{linked}"
        );
    }
    for attack in attacks()
        .iter()
        .filter(|attack| attack.to_lowercase().contains("script:") || attack.contains("data:"))
    {
        assert!(!to_html(attack).contains("<a "), "{attack}");
    }
}

#[test]
fn deep_nesting_is_bounded() {
    let html = to_html(&"> ".repeat(5_000));
    assert!(html.matches("<blockquote>").count() <= 32);
    assert_eq!(
        html.matches("<blockquote>").count(),
        html.matches("</blockquote>").count()
    );
}

#[test]
fn blocks_of_a_text_are_the_same_however_it_arrives_and_each_byte_is_parsed_once() {
    let text = "# Plan\n\nOne *two*\nthree\n\n```sh\nls <x>\n\nls\n```\n- a\n- b\n\n| a |\n|---|\n| b |\n\nopen";
    let whole = HtmlStream::default().push(text);
    for size in 1..20 {
        let mut stream = HtmlStream::default();
        let letters: Vec<char> = text.chars().collect();
        let pieces = letters
            .chunks(size)
            .map(|piece| piece.iter().collect::<String>());
        let html: String = pieces.map(|piece| stream.push(&piece)).collect();
        assert_eq!(html, whole, "in pieces of {size}");
        assert_eq!(stream.open_text(), "open");
        assert!(
            stream.work() <= 2 * text.len() as u64,
            "{} bytes",
            stream.work()
        );
    }
    assert!(
        whole.contains("<pre><code class=\"language-sh\">ls &lt;x&gt;\n\nls\n</code></pre>"),
        "{whole}"
    );
    assert_eq!(whole.matches("<pre>").count(), 1, "a fence is one block");
}

#[test]
fn a_fence_that_does_not_end_is_held_back_up_to_a_limit() {
    let mut stream = HtmlStream::default();
    let line = "x".repeat(99) + "\n";
    let mut longest = stream.push("```rust\n").len();
    let mut html = String::new();
    for _ in 0..2_000 {
        html.push_str(&stream.push(&line));
        longest = longest.max(stream.open_text().len());
    }
    assert!(longest < 40_000, "{longest} bytes are held back");
    assert!(html.matches("<pre><code class=\"language-rust\">").count() > 3);
    assert!(
        stream.work() < 500_000,
        "{} bytes for 200,000",
        stream.work()
    );
}
