//! Tests of how files are split into chunks.

use super::*;

/// Each piece as `first-last kind names…`, with lines counted from 1 as people do.
fn cut(text: &str, manner: SourceFormat) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let shown = |chunk: SourceChunk<'_>| {
        let names = [chunk.within, vec![chunk.name]].concat().join("/");
        format!(
            "{}-{} {} {names}",
            chunk.lines.start + 1,
            chunk.lines.end,
            chunk.kind.word()
        )
    };
    chunks(&lines, manner).into_iter().map(shown).collect()
}

#[test]
fn a_definition_takes_its_comments_and_its_body() {
    let text = "use a;\nuse b;\n\n/// Says it.\n#[must_use]\npub fn one(\n    x: u8,\n) -> u8 {\n    x\n}\n\nfn two() {}\nfn three() {}\n";
    assert_eq!(
        cut(text, SourceFormat::Code),
        [
            "1-2 text ",
            "4-10 function one",
            "12-12 function two",
            "13-13 function three"
        ]
    );
}

#[test]
fn methods_of_a_long_class_are_pieces_and_of_a_short_one_are_not() {
    let method = |name: &str| format!("    def {name}(self):\n        a\n        b\n        c\n\n");
    let long = format!(
        "class Cart(Base):\n    \"\"\"Holds things.\"\"\"\n\n{}{}{}",
        method("one"),
        method("two"),
        method("three")
    );
    assert_eq!(
        cut(&long, SourceFormat::Code),
        [
            "1-2 type Cart",
            "4-7 function Cart/one",
            "9-12 function Cart/two",
            "14-17 function Cart/three"
        ]
    );
    let short = format!("class Cart:\n{}", method("one"));
    assert_eq!(cut(&short, SourceFormat::Code), ["1-5 type Cart"]);
}

#[test]
fn braces_on_their_own_lines_belong_to_what_they_close() {
    let text = "static int one(int x)\n{\n    return x;\n}\n\nint two(void)\n{\n    return 2;\n}\n";
    assert_eq!(
        cut(text, SourceFormat::Code),
        ["1-4 function one", "6-9 function two"]
    );
}

#[test]
fn sections_know_the_headings_above_them() {
    let text = "intro\n\n# A\n\ntext\n\n## B\n\n```sh\n# no heading\n```\n\n## C\nmore\n# D\nend\n";
    assert_eq!(
        cut(text, SourceFormat::Markdown),
        [
            "1-1 text ",
            "3-5 heading A",
            "7-11 heading A/B",
            "13-14 heading A/C",
            "15-16 heading D"
        ]
    );
}

#[test]
fn what_is_long_is_cut_into_windows_that_overlap() {
    let body: String = (0..150).map(|n| format!("    step({n});\n")).collect();
    assert_eq!(
        cut(&format!("fn long() {{\n{body}}}\n"), SourceFormat::Code),
        [
            "1-60 function long",
            "51-110 function long",
            "101-152 function long"
        ]
    );
}

#[test]
fn paragraphs_are_put_together_until_there_are_enough() {
    let text = "one\ntwo\n\n".repeat(20);
    assert_eq!(
        cut(&text, SourceFormat::Plain),
        ["1-23 text ", "25-47 text ", "49-59 text "]
    );
    assert_eq!(cut("\n\n", SourceFormat::Plain), Vec::<String>::new());
    assert_eq!(cut("{}\n---\n", SourceFormat::Plain), Vec::<String>::new());
}
