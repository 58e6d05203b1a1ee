//! Lines for terminals: each kind of Markdown block as a person reads it.

use rooftree_markdown::{LineOptions, ansi_text, plain_text, to_lines};

fn shown(text: &str, columns: usize) -> String {
    plain_text(&to_lines(text, LineOptions::new(columns)))
}

#[test]
fn blocks_are_shown_as_people_read_them() {
    let cases = [
        ("# Title\ntext", "Title\ntext\n"),
        ("a\n\n\n\nb", "a\n\nb\n"),
        ("a\nb", "a\nb\n"),
        (
            "- a\n- b\n  - c\n    d\n- e",
            "• a\n• b\n  • c\n    d\n• e\n",
        ),
        ("1. a\n1. b\n\n1. c", "1. a\n2. b\n\n3. c\n"),
        ("7) a\n8) b", "7. a\n8. b\n"),
        ("- [ ] a\n- [x] b", "• ☐ a\n• ☑ b\n"),
        ("- a\n\n  b\n- c", "• a\n\n  b\n• c\n"),
        ("> a\n> > b", "│ a\n│\n│ │ b\n"),
        ("> a\n>\n> b", "│ a\n│\n│ b\n"),
        (
            "a\n\n---\n\nb",
            "a\n\n────────────────────────────────────────\n\nb\n",
        ),
        (
            "```rust\nlet  a;\n\n  b\n```\nc",
            "```rust\nlet  a;\n\n  b\n```\nc\n",
        ),
        ("- a\n  ```\n  b\n  ```", "• a\n  ```\n  b\n  ```\n"),
        ("    code\n\n    more", "code\n\nmore\n"),
        ("Steps:\n- a\n- b", "Steps:\n• a\n• b\n"),
        ("-\n- a", "•\n• a\n"),
        ("a  \nb\\\nc", "a\nb\nc\n"),
        ("<b>bold</b>", "<b>bold</b>\n"),
        ("Title\n=====\nText", "Title\nText\n"),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(text, 40), expected, "{text:?}");
    }
}

#[test]
fn links_show_their_address_where_it_differs() {
    let cases = [
        (
            "[docs](https://a.example/x)",
            "docs (https://a.example/x)\n",
        ),
        ("<https://a.example>", "https://a.example\n"),
        (
            "[https://a.example](https://a.example)",
            "https://a.example\n",
        ),
        // The text says one address, the link goes to another one.
        (
            "[https://bank.example](https://evil.example)",
            "https://bank.example (https://evil.example)\n",
        ),
        ("<me@a.example>", "me@a.example\n"),
        ("![a cat](cat.png)", "[image: a cat] (cat.png)\n"),
        (
            "[a][r]\n\n[r]: https://a.example",
            "[a][r]\n\n[r]: https://a.example\n",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(text, 60), expected, "{text:?}");
    }
}

#[test]
fn text_is_wrapped_below_its_own_beginning() {
    assert_eq!(
        shown(
            "- one two three four five six\n10. **alpha beta** gamma delta",
            20
        ),
        "• one two three four\n  five six\n10. alpha beta gamma\n    delta\n"
    );
    assert_eq!(
        shown("> one two three four five six", 20),
        "│ one two three four\n│ five six\n"
    );
}

const TABLE: &str = "| name | what it does |\n|:--|--:|\n| a | reads the file and tells what is in it |\n| bb | `x` |\n";

#[test]
fn a_table_fits_the_width_or_is_stacked() {
    assert_eq!(
        shown(TABLE, 80),
        "name │                           what it does\n\
         ─────┼───────────────────────────────────────\n\
         a    │ reads the file and tells what is in it\n\
         bb   │                                      x\n"
    );
    assert_eq!(
        shown(TABLE, 30),
        "name │            what it does\n\
         ─────┼────────────────────────\n\
         a    │      reads the file and\n     \
         │     tells what is in it\n\
         bb   │                       x\n"
    );
    let wide = "| a1 | a2 | a3 |\n|--|--|--|\n| one two three | four five six | seven eight |";
    assert_eq!(
        shown(wide, 20),
        "a1: one two three\na2: four five six\na3: seven eight\n"
    );
}

#[test]
fn styles_are_escape_sequences_or_marks() {
    let text = "## T\n\n**a** *b* ~~c~~ `d`";
    assert_eq!(
        ansi_text(&to_lines(text, LineOptions::new(40))),
        "\u{1b}[1mT\u{1b}[0m\n\n\u{1b}[1ma\u{1b}[0m \u{1b}[3mb\u{1b}[0m \u{1b}[9mc\u{1b}[0m \u{1b}[36md\u{1b}[0m\n"
    );
    let marked = to_lines(text, LineOptions::new(40).without_colours());
    assert_eq!(plain_text(&marked), "## T\n\n**a** *b* ~~c~~ `d`\n");
}

#[test]
fn no_escape_sequence_passes_in_any_disguise() {
    let texts = [
        "\u{1b}[2J",
        "&#27;[2J",
        "&#x1b;]0;title&#7;",
        "[a](<x\u{1b}[2J>)",
        "[a](http://x/&#27;[2J)",
        "![\u{9b}2J](&#x9b;)",
        "```\u{1b}[2J\n\u{1b}[2J\n```",
        "| \u{1b} |\n|--|\n| &#27; |",
        "`\u{1b}[2J`",
        "<a\u{1b}>",
        "[r]: \u{7}x",
        "- ```&#27;\n  \u{8}\n  ```",
        "a\u{202e}b",
        "\u{0}\u{7f}\u{85}",
    ];
    for text in texts {
        for line in to_lines(text, LineOptions::new(40)) {
            let bad = line.text().chars().find(|letter| {
                letter.is_control()
                    || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            });
            assert_eq!(bad, None, "{text:?}");
        }
    }
}
