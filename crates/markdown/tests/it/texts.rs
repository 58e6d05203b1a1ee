//! Generated Markdown texts for tests of splitting: emoji, right-to-left script, links, lists, tables, long code.

/// Numbers that are the same in every run.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((word ^ (word >> 31)) % end.max(1) as u64).unwrap_or_default()
    }

    fn choose<'list>(&mut self, list: &[&'list str]) -> &'list str {
        list[self.below(list.len())]
    }
}

const WORDS: &[&str] = &[
    "deploy",
    "the",
    "server",
    "über",
    "Größe",
    "日本語",
    "中文字",
    "שלום",
    "مرحبا",
    "بالعالم",
    "👍",
    "👨‍👩‍👧‍👦",
    "🇩🇪",
    "e\u{301}",
    "𝒳",
    "🏳️‍🌈",
    "a_b",
    "5 > 3",
    "<b>",
    "&amp;",
    "x*y",
    "#1",
    "naïve",
    "1️⃣",
    "\\*",
    "[",
    "]",
    "`",
    "~",
    "C:\\dir",
];

const STYLED: &[&str] = &[
    "**bold**",
    "*italic*",
    "~~gone~~",
    "`code 👍`",
    "**bold *both* `x`**",
    "[link](https://a.example/x?y=1&z=2)",
    "[**bold link** שלום](https://b.example)",
    "[`code`](https://c.example)",
    "![cat 🐈](https://d.example/c.png)",
    "<https://e.example>",
    "[bad](javascript:alert(1))",
    "***x***",
];

/// The `seed`th text. Every tenth is long, every hundredth has 20 kB of code.
pub fn markdown(seed: u64) -> String {
    let mut random = SplitMix(seed);
    let blocks = if seed.is_multiple_of(10) {
        120
    } else {
        1 + random.below(14)
    };
    let mut text: String = (0..blocks).map(|_| block(&mut random)).collect();
    if seed % 100 == 7 {
        text.push_str(&format!(
            "```rust\n{}```\n\nafter\n",
            code(&mut random, 20_000)
        ));
    }
    if seed % 100 == 8 {
        text.push_str(&"語👍".repeat(5_000));
    }
    text
}

fn block(random: &mut SplitMix) -> String {
    match random.below(10) {
        0 => format!("# {}\n\n", sentence(random, 6)),
        1 => format!("> {}\n> {}\n\n", sentence(random, 12), sentence(random, 9)),
        2 => {
            let items = 1 + random.below(9);
            let items = (0..items)
                .map(|_| format!("- {}\n  1. {}\n", sentence(random, 8), sentence(random, 4)));
            items.collect::<String>() + "\n"
        }
        3 => format!(
            "1. {}\n2. [x] {}\n\n   {}\n\n",
            sentence(random, 5),
            sentence(random, 5),
            sentence(random, 30)
        ),
        4 => format!(
            "| a | {} |\n|---|--:|\n| {} | b |\n\n",
            random.choose(WORDS),
            random.choose(STYLED)
        ),
        5 => {
            let length = random.below(900);
            format!(
                "```{}\n{}```\n\n",
                random.choose(&["", "python", "c++ x"]),
                code(random, length)
            )
        }
        6 => format!("> - {}\n>\n> ```sh\n> ls\n> ```\n\n", sentence(random, 5)),
        7 => "---\n\n".to_owned(),
        _ => {
            let words = 3 + random.below(160);
            sentence(random, words) + "\n\n"
        }
    }
}

fn sentence(random: &mut SplitMix, words: usize) -> String {
    let words = (0..words).map(|_| {
        let list = if random.below(6) == 0 { STYLED } else { WORDS };
        random.choose(list)
    });
    let words: Vec<&str> = words.collect();
    words.join(if random.below(20) == 0 { "\n" } else { " " })
}

fn code(random: &mut SplitMix, length: usize) -> String {
    let mut text = String::new();
    while text.len() < length {
        let depth = random.below(4);
        text.push_str(&"    ".repeat(depth));
        text.push_str(&format!(
            "let {} = \"{}\";\n",
            random.choose(&["x", "y"]),
            random.choose(&["👍", "שלום", "a"])
        ));
        if random.below(9) == 0 {
            text.push('\n');
        }
    }
    text
}
