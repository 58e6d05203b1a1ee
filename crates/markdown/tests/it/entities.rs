//! Text with entities: what Markdown becomes, and what splitting into messages never does.

use proptest::prelude::*;
use rooftree_markdown::{EntityKind, EntityText, PartLimit, to_entities, to_parts};

use crate::texts;

const LIMIT: PartLimit = PartLimit {
    units: 4_000,
    entities: 100,
};

fn slice(part: &EntityText, offset: usize, length: usize) -> Option<String> {
    let units: Vec<u16> = part.text.encode_utf16().collect();
    String::from_utf16(units.get(offset..offset + length)?).ok()
}

/// The text with each entity named behind it: `a` in bold is `a{bold}`.
fn shown(markdown: &str) -> (String, Vec<String>) {
    let whole = to_entities(markdown);
    let entities = whole.entities.iter().map(|entity| {
        let kind = match &entity.kind {
            EntityKind::Bold => "bold".to_owned(),
            EntityKind::Italic => "italic".to_owned(),
            EntityKind::Strikethrough => "strike".to_owned(),
            EntityKind::Code => "code".to_owned(),
            EntityKind::Pre { language } => format!("pre {}", language.as_deref().unwrap_or("-")),
            EntityKind::Link { url } => format!("link {url}"),
            EntityKind::Quote => "quote".to_owned(),
        };
        let text = slice(&whole, entity.offset, entity.length).unwrap();
        format!("{kind}: {text}")
    });
    let entities = entities.collect();
    (whole.text, entities)
}

#[test]
fn markdown_becomes_text_and_entities() {
    let cases: &[(&str, &str, &[&str])] = &[
        (
            "a **b** *c* ~~d~~ `e`",
            "a b c d e",
            &["bold: b", "italic: c", "strike: d", "code: e"],
        ),
        ("# T\n\ntext", "T\n\ntext", &["bold: T"]),
        ("# a **b**", "a b", &["bold: a b"]),
        ("- a\n- b\n  - c\n\nd", "• a\n• b\n  • c\n\nd", &[]),
        ("3. a\n4. b", "3. a\n4. b", &[]),
        ("- [x] a\n- [ ] b", "☑ a\n☐ b", &[]),
        (
            "- a\n\n  b\n- ```sh\n  ls\n  ```",
            "• a\n  b\n• ls",
            &["pre sh: ls"],
        ),
        ("> a\n> b\n\nc", "a\nb\n\nc", &["quote: a\nb"]),
        (
            "```rust\n  x\n\ny\n```",
            "  x\n\ny",
            &["pre rust:   x\n\ny"],
        ),
        ("👍 **b**", "👍 b", &["bold: b"]),
        (
            "[a `b`](https://x.example)",
            "a b",
            &["link https://x.example: a b"],
        ),
        ("[a](javascript:x) [m](mailto:a@b)", "a m", &[]),
        ("**a `b` c**", "a b c", &["bold: a", "code: b", "bold: c"]),
        (
            "|a|b|\n|-|-|\n|**c**|d|",
            "a │ b\n──┼──\nc │ d",
            &["pre -: a │ b\n──┼──\nc │ d"],
        ),
        ("<script>x</script>", "<script>x</script>", &[]),
        ("a\n\n---\n\nb", "a\n\n———\n\nb", &[]),
        ("", "", &[]),
    ];
    for (markdown, text, entities) in cases {
        let (found_text, found) = shown(markdown);
        assert_eq!(found_text, *text, "{markdown:?}");
        assert_eq!(found, *entities, "{markdown:?}");
    }
}

/// Everything that is promised of parts.
fn check(markdown: &str, limit: PartLimit) {
    let whole = to_entities(markdown);
    let parts = to_parts(markdown, limit);
    let mut rest = whole.text.as_str();
    for part in &parts {
        let gap = rest
            .find(part.text.as_str())
            .expect("each part stands in the text");
        let (left_out, behind) = rest.split_at(gap);
        assert!(
            left_out.chars().all(char::is_whitespace),
            "lost {left_out:?}"
        );
        rest = &behind[part.text.len()..];
        check_part(part, limit);
    }
    assert!(rest.chars().all(char::is_whitespace), "lost {rest:?}");
}

fn check_part(part: &EntityText, limit: PartLimit) {
    let length = part.text.encode_utf16().count();
    assert!(length > 0 && length <= limit.units, "{length} units");
    assert!(part.entities.len() <= limit.entities);
    assert!(!part.text.trim().is_empty());
    let mut open: Vec<(usize, &EntityKind)> = Vec::new();
    for entity in &part.entities {
        let text = slice(part, entity.offset, entity.length);
        let text = text.expect("an entity is in bounds and divides no surrogate pair");
        assert!(!text.trim().is_empty());
        let end = entity.offset + entity.length;
        open.retain(|(outer, _)| *outer > entity.offset);
        for (outer, kind) in &open {
            assert!(*outer >= end, "entities are nested or apart");
            assert!(
                !matches!(kind, EntityKind::Code | EntityKind::Pre { .. }),
                "in code is no entity"
            );
        }
        open.push((end, &entity.kind));
    }
}

#[test]
fn three_hundred_texts_lose_nothing_in_parts_of_any_size() {
    for seed in 0..300 {
        let text = texts::markdown(seed);
        check(&text, LIMIT);
        check(
            &text,
            PartLimit {
                units: 64 + seed as usize,
                entities: 5,
            },
        );
    }
}

#[test]
fn a_code_fence_is_closed_and_opened_again_with_its_language() {
    let code = "    let x = 1;\n".repeat(1_500);
    let parts = to_parts(&format!("before\n\n```rust\n{code}```\n\nafter"), LIMIT);
    assert!(parts.len() > 5);
    let rust = EntityKind::Pre {
        language: Some("rust".to_owned()),
    };
    assert!(
        parts
            .iter()
            .all(|part| part.entities.iter().any(|entity| entity.kind == rust))
    );
    let lines: usize = parts
        .iter()
        .map(|part| part.text.matches("    let x = 1;").count())
        .sum();
    assert_eq!(lines, 1_500, "indentation stays at the begin of a part");
}

#[test]
fn a_part_ends_at_the_end_of_a_block_and_not_in_a_link() {
    let paragraph = "word ".repeat(300);
    let parts = to_parts(&format!("{paragraph}\n\n{paragraph}\n\n{paragraph}"), LIMIT);
    assert_eq!(parts.len(), 2);
    assert_eq!(parts[1].text, paragraph.trim_end());
    let link = format!("{} [one two three](https://x.example)", "x".repeat(90));
    let parts = to_parts(
        &link,
        PartLimit {
            units: 100,
            entities: 9,
        },
    );
    assert_eq!(parts[1].text, "one two three");
    let url = "https://x.example".to_owned();
    assert_eq!(parts[1].entities[0].kind, EntityKind::Link { url });
}

proptest! {
    #[test]
    fn any_text_loses_nothing(text in "[a-c \n`*_~>#\\-\\[\\]()|0-9👍ש\u{301}\u{200d}.:/]{0,300}", units in 2_usize..80) {
        check(&text, PartLimit { units, entities: 100 });
    }
}
