//! HTML for web pages: what Markdown becomes, and a table of attacks that must stay text.

use rooftree_markdown::to_html;

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

/// Ways to get a script, a remote request or a fake address into a page.
const ATTACKS: &[&str] = &[
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//x.example/x.js></SCRIPT>",
    "<scr<script>ipt>alert(1)</script>",
    "<<script>alert(1)//<</script>",
    "<img src=x onerror=alert(1)>",
    "<img src=\"javascript:alert(1)\">",
    "<svg onload=alert(1)>",
    "<svg><script>alert&#40;1&#41;</script>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<object data=x></object><embed src=x><base href=//x>",
    "<link rel=stylesheet href=//x.example/x.css>",
    "<style>@import '//x.example'</style>",
    "<meta http-equiv=refresh content=0;url=//x.example>",
    "<form action=//x.example><button>log in</button></form>",
    "<a href=\"javascript:alert(1)\">a</a>",
    "<div style=\"background:url(javascript:alert(1))\">",
    "<details open ontoggle=alert(1)>",
    "<!--><script>alert(1)</script>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?php echo 1 ?>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](java\tscript:alert(1))",
    "[a](<java\nscript:alert(1)>)",
    "[a](&#106;avascript:alert(1))",
    "[a](javascript&colon;alert(1))",
    "[a](&#x1;javascript:alert(1))",
    "[a](\u{1}javascript:alert(1))",
    "[a]( javascript:alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a](vbscript:msgbox)",
    "[a](file:///etc/passwd)",
    "[a](//x.example)",
    "[a](/relative)",
    "[a](#fragment)",
    "[a](http:javascript)",
    "[a](blob:https://x.example/1)",
    "<javascript:alert(1)>",
    "[a]: javascript:alert(1)\n\n[a]",
    "![a](javascript:alert(1))",
    "![a\" onerror=\"alert(1)](x)",
    "[a](https://x.example/\"onmouseover=\"alert(1))",
    "[a](https://x.example \"t\\\" onmouseover=alert(1) \\\"\")",
    "[a](<https://x.example/><script>alert(1)</script>>)",
    "[<img src=x onerror=alert(1)>](https://x.example)",
    "```\"><script>alert(1)</script>\nx\n```",
    "```a\" onmouseover=\"alert(1)\nx\n```",
    "`</code><script>alert(1)</script>`",
    "# <script>alert(1)</script> {#id onclick=alert(1)}",
    "| <script> |\n|--|\n| <img src=x> |",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "\\<script>alert(1)\\</script>",
    "<a href='https://x.example' onclick=alert(1)>a</a>",
    "\u{0}<script>\u{0}alert(1)</script>",
    "<x:script xmlns:x='http://www.w3.org/1999/xhtml'>alert(1)</x:script>",
    "<math><a xlink:href=javascript:alert(1)>a</a></math>",
];

#[test]
fn attacks_stay_text() {
    for attack in ATTACKS {
        let html = to_html(attack);
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
    for attack in ATTACKS
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
