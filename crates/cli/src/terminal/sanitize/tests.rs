//! Tests of the sanitizer: control sequences are removed, ordinary text stays, by table, by corpus, at random.

use proptest::prelude::*;
use rooftree_testkit::fuzz;

use super::*;

/// A text of a corpus, in which control characters are written as escapes.
pub(in crate::terminal) fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('e') => out.push('\u{1b}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('x') => out.push(spelled_by(&letters.by_ref().take(2).collect::<String>())),
            Some('u') => {
                let number: String = letters
                    .by_ref()
                    .skip(1)
                    .take_while(|letter| *letter != '}')
                    .collect();
                out.push(spelled_by(&number));
            }
            Some(other) => out.push(other),
            None => panic!("nothing is escaped at the end of {text}"),
        }
    }
    out
}

fn spelled_by(number: &str) -> char {
    char::from_u32(u32::from_str_radix(number, 16).unwrap()).unwrap()
}

/// What a real terminal would do with bytes, as far as it is more than showing them.
#[derive(Default)]
struct TerminalCommands {
    colours: usize,
    others: Vec<String>,
}

impl vte::Perform for TerminalCommands {
    fn print(&mut self, _letter: char) {}

    fn execute(&mut self, byte: u8) {
        if byte != b'\n' {
            self.others.push(format!("control {byte:#x}"));
        }
    }

    fn csi_dispatch(
        &mut self,
        parameters: &vte::Params,
        intermediates: &[u8],
        ignore: bool,
        action: char,
    ) {
        if action == 'm' && intermediates.is_empty() && !ignore {
            self.colours += 1;
        } else {
            self.others.push(format!("sequence {parameters:?}{action}"));
        }
    }

    fn osc_dispatch(&mut self, parameters: &[&[u8]], _bell_terminated: bool) {
        self.others.push(format!("message {parameters:?}"));
    }

    fn hook(
        &mut self,
        _parameters: &vte::Params,
        _intermediates: &[u8],
        _ignore: bool,
        action: char,
    ) {
        self.others.push(format!("device {action}"));
    }

    fn esc_dispatch(&mut self, _intermediates: &[u8], _ignore: bool, byte: u8) {
        self.others.push(format!("escape {byte:#x}"));
    }
}

fn obeyed(text: &str) -> TerminalCommands {
    let mut obeyed = TerminalCommands::default();
    vte::Parser::new().advance(&mut obeyed, text.as_bytes());
    obeyed
}

/// Kind, what comes, what is shown.
fn corpus() -> Vec<(bool, String, String)> {
    let lines = include_str!("../../../tests/corpora/terminal.txt").lines();
    let entries = lines.filter(|line| !line.starts_with('#'));
    entries
        .map(|line| {
            let fields: Vec<String> = line.split(" ¦ ").map(unescaped).collect();
            let [kind, comes, shown] = fields.try_into().unwrap();
            (kind == "benign", comes, shown)
        })
        .collect()
}

#[test]
fn the_corpus_is_large_enough_and_a_fifth_of_it_is_benign() {
    let corpus = corpus();
    let benign = corpus.iter().filter(|(is_benign, ..)| *is_benign).count();
    assert!(
        corpus.len() >= 125 && benign * 5 >= corpus.len(),
        "{benign} of {}",
        corpus.len()
    );
}

#[test]
fn what_a_terminal_would_obey_is_gone_and_all_else_is_shown() {
    for (is_benign, comes, shown) in corpus() {
        assert_eq!(clean(&comes), shown, "{comes:?}");
        assert!(!is_benign || comes == shown, "{comes:?}");
        let obeyed = obeyed(&clean(&comes));
        assert!(
            obeyed.others.is_empty() && obeyed.colours == 0,
            "{comes:?}: {:?}",
            obeyed.others
        );
    }
}

#[test]
fn a_page_of_ours_keeps_its_colours_and_nothing_else_is_obeyed() {
    for (is_benign, comes, _) in corpus() {
        let page = format!("\u{1b}[1mtitle\u{1b}[0m {comes} end\n");
        let printed = with_colours(&page);
        let obeyed = obeyed(&printed);
        assert!(
            obeyed.others.is_empty() && obeyed.colours >= 2,
            "{comes:?} as {printed:?}: {:?}",
            obeyed.others
        );
        assert!(!is_benign || printed == page, "{comes:?}");
    }
}

#[test]
fn a_sequence_cut_into_pieces_is_still_a_sequence() {
    for (_, comes, shown) in corpus() {
        let mut cleaner = TextSanitizer::default();
        let letters = comes
            .chars()
            .map(|letter| cleaner.push(letter.encode_utf8(&mut [0; 4])));
        assert_eq!(letters.collect::<String>(), shown, "{comes:?}");
    }
}

#[test]
fn a_title_of_several_lines_becomes_one() {
    assert_eq!(clean_line("cargo test\n  -p x\n\n"), "cargo test -p x");
}

#[test]
fn where_a_person_decides_nothing_is_hidden() {
    let table = [
        ("ls\u{200b}", "ls\\u{200b}"),
        ("a\u{1b}[2Kb", "a\\u{1b}[2Kb"),
        ("c\u{443}rl", "c\\u{443}rl"),
        ("привет curl", "привет curl"),
        ("👩‍👩‍👧 ❤️", "👩‍👩‍👧 ❤️"),
        ("a\tb\nc", "a    b\nc"),
    ];
    for (text, shown) in table {
        assert_eq!(visible(text), shown, "{text:?}");
    }
    assert_eq!(
        visible(&format!("a{}b", " ".repeat(300))),
        "a ⟨300 spaces⟩ b"
    );
    assert_eq!(
        visible(&format!("a{}b", "\n".repeat(50))),
        "a\n⟨49 empty lines⟩\nb"
    );
}

/// Text made of what sequences are made of.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\u{1b}".to_owned()),
        Just("\u{1b}[".to_owned()),
        Just("\u{1b}]".to_owned()),
        Just("\u{9b}".to_owned()),
        Just("\u{7}".to_owned()),
        "[0-9;:?<=>$ !@-~]{0,6}",
        "\\PC{0,4}",
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn whatever_comes_only_text_is_shown(text in hostile()) {
        for shown in [clean(&text), visible(&text)] {
            let obeyed = obeyed(&shown);
            prop_assert!(obeyed.others.is_empty() && obeyed.colours == 0, "{shown:?}: {:?}", obeyed.others);
        }
        let printed = with_colours(&text);
        let obeyed = obeyed(&printed);
        prop_assert!(obeyed.others.is_empty(), "{printed:?}: {:?}", obeyed.others);
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        prop_assert_eq!(clean(&clean(&text)), clean(&text));
    }
}

#[test]
fn fuzz_the_cleaning_of_text() {
    let words = [
        "\u{1b}[", "\u{1b}]", "\u{9b}", "\u{1b}P", "\u{7}", "\u{1b}\\", "31m", "2J", "\u{202e}",
    ];
    let corpus = corpus();
    let seeds: Vec<&[u8]> = corpus
        .iter()
        .map(|(_, comes, _)| comes.as_bytes())
        .collect();
    fuzz::run(&seeds, &words, |input| {
        let text = String::from_utf8_lossy(input);
        for shown in [clean(&text), visible(&text), with_colours(&text)] {
            assert!(obeyed(&shown).others.is_empty(), "{shown:?}");
        }
    });
}
