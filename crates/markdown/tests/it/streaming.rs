//! Streaming: lines do not depend on the pieces in which text arrives, and cost grows with the text.

use proptest::prelude::*;
use rooftree_markdown::{LineOptions, MarkdownLine, MarkdownStream, plain_text, to_lines};

/// Pieces of Markdown that make blocks begin, continue and end.
fn fragment() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "\n",
        "\n\n",
        "\n  ",
        "\n    ",
        "- ",
        "* ",
        "1. ",
        "23) ",
        "# ",
        "## ",
        "> ",
        "```",
        "```rust\n",
        "~~~",
        "---",
        "===",
        "***",
        "**",
        "*",
        "_",
        "`",
        "~~",
        "| a | b |\n",
        "|--|:-:|\n",
        "| 1 | 2 |",
        "[x](y)",
        "<b>",
        "[ ] ",
        "[r]: http://x\n",
        "![i](j)",
        "<!--",
        "&#27;",
        "\t",
        "\r\n",
        "\u{1b}[31m",
        "word ",
        "日本語",
        "👨\u{200d}👩",
        "❤\u{fe0f}",
        "a longer piece of text that is wrapped ",
        "\\",
        "http://a.example",
        "e\u{301}",
    ]);
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)]
}

fn document() -> impl Strategy<Value = String> {
    prop::collection::vec(fragment(), 0..60).prop_map(|parts| parts.concat())
}

fn in_pieces(text: &str, cuts: &[usize], columns: usize) -> Vec<MarkdownLine> {
    let mut stream = MarkdownStream::new(LineOptions::new(columns));
    let mut lines = Vec::new();
    let mut rest: Vec<char> = text.chars().collect();
    for cut in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let after = rest.split_off((*cut).clamp(1, rest.len()));
        lines.extend(stream.push(&rest.iter().collect::<String>()));
        // Looking at the open block changes nothing.
        let _ = stream.tail();
        rest = after;
    }
    lines.extend(stream.finish());
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_chunking_gives_the_same_lines(
        text in document(),
        cuts in prop::collection::vec(1usize..9, 1..8),
        columns in 1usize..90,
    ) {
        let whole = to_lines(&text, LineOptions::new(columns));
        prop_assert_eq!(in_pieces(&text, &cuts, columns), whole.clone());
        prop_assert_eq!(in_pieces(&text, &[1], columns), whole.clone());
        for line in whole {
            prop_assert!(!line.text().chars().any(char::is_control));
            let limit = columns.max(20);
            prop_assert!(line.verbatim || line.width() <= limit, "{} > {}: {:?}", line.width(), limit, line.text());
        }
    }

    #[test]
    fn html_of_any_text_has_only_known_tags(text in document()) {
        let html = rooftree_markdown::to_html(&text);
        for part in html.split('<').skip(1) {
            let name = part.trim_start_matches('/').split(['>', ' ']).next().unwrap_or_default();
            prop_assert!(super::html::KNOWN.contains(&name), "{name}: {html}");
        }
    }
}

#[test]
fn closed_blocks_are_returned_at_once_and_open_ones_are_shown_as_provisional() {
    let mut stream = MarkdownStream::new(LineOptions::new(40));
    let mut push = |piece: &str| {
        let lines = plain_text(&stream.push(piece));
        (lines, plain_text(&stream.tail()))
    };
    let pair = |lines: &str, tail: &str| (lines.to_owned(), tail.to_owned());
    assert_eq!(push("Some **bo"), pair("", "Some **bo\n"));
    assert_eq!(push("ld** text\n"), pair("", "Some bold text\n"));
    // One dash below a paragraph would make it a heading.
    assert_eq!(push("-"), pair("", "Some bold text\n"));
    assert_eq!(push(" one\n"), pair("Some bold text\n", "• one\n"));
    assert_eq!(push("- two\n\n"), pair("• one\n", "• two\n"));
    assert_eq!(push("```sh\nls"), pair("• two\n\n```sh\n", "ls\n"));
    assert_eq!(push(" -l\nrm"), pair("ls -l\n", "rm\n"));
    assert_eq!(
        push("\n```\n\n| a |\n|---|\n"),
        pair("rm\n```\n", "… table, 0 rows\n")
    );
    assert_eq!(push("| b |\n\n"), pair("\na\n─\nb\n", ""));
    assert_eq!(stream.finish(), []);
}

#[test]
fn the_work_grows_with_the_text_and_not_with_its_pieces() {
    let paragraph = "A sentence with *some* `words` in it, and a [link](https://a.example).\n";
    let texts = [
        paragraph.repeat(1_000),
        format!("{paragraph}\n").repeat(1_000),
        format!("- {paragraph}").repeat(1_000),
        "x".repeat(80_000),
        format!("```\n{}", paragraph.repeat(1_000)),
        "> ".repeat(40_000),
        "| a | b |\n|--|--|\n".to_owned() + &"| c | d |\n".repeat(5_000),
        "[".repeat(40_000),
        "*a ".repeat(20_000),
    ];
    for text in texts {
        let mut stream = MarkdownStream::new(LineOptions::new(80));
        for piece in text.as_bytes().chunks(7) {
            stream.push(std::str::from_utf8(piece).unwrap());
        }
        stream.finish();
        let most = 3 * text.len() as u64;
        assert!(
            stream.work() <= most,
            "{} for {}",
            stream.work(),
            text.len()
        );
    }
}
