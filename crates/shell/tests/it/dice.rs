//! Random shell text: mostly valid, then broken a little. The same seed gives the same text.

/// A small generator of numbers; what it lacks in quality the number of cases makes up for.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    pub fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

/// Pieces of which shell text is made.
pub const PIECES: [&str; 62] = [
    "aa",
    "bb",
    "cc",
    " ",
    "  ",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "(",
    ")",
    "{",
    "}",
    "'",
    "\"",
    "\\",
    "$(",
    "`",
    "$x",
    "${x:-",
    "${x}",
    "$((",
    "))",
    "1",
    "<(",
    ">(",
    "<<E",
    "<<'E'",
    "<<-E",
    "\nE\n",
    "E",
    "#",
    " #",
    "if ",
    "then ",
    "fi",
    "else ",
    "for i in ",
    "do ",
    "done",
    "case a in ",
    "esac",
    ";;",
    "=",
    "x=",
    "y=(",
    "[[ ",
    " ]]",
    "((",
    "!",
    "*",
    "~",
    "{a,b}",
    "$'",
    "\\n",
    "\\\n",
    "<n",
    ">n",
    "2>&1",
    "<<<",
];

/// A script that bash mostly understands.
pub fn script(dice: &mut Dice, depth: usize) -> String {
    let mut text = command(dice, depth);
    for _ in 0..dice.roll(3) {
        text += dice.pick(&[
            " ; ", " && ", " || ", " | ", "\n", " & ", ";", "|", " |& ", " # no\n",
        ]);
        text += &command(dice, depth);
    }
    text
}

fn command(dice: &mut Dice, depth: usize) -> String {
    let inner = |dice: &mut Dice| script(dice, depth - 1);
    match dice.roll(if depth == 0 { 5 } else { 14 }) {
        0..5 => simple(dice, depth),
        5 => format!("( {} )", inner(dice)),
        6 => format!("{{ {}\n}}", inner(dice)),
        7 => format!(
            "if {}\nthen {}\nelse {}\nfi",
            inner(dice),
            inner(dice),
            inner(dice)
        ),
        8 => format!(
            "for i in {} {}\ndo {}\ndone",
            word(dice, depth),
            word(dice, depth),
            inner(dice)
        ),
        9 => format!(
            "case {} in a|{}) {} ;; (*) {}\n;; esac",
            word(dice, depth),
            word(dice, depth),
            inner(dice),
            inner(dice)
        ),
        10 => format!("[[ {} == {} ]]", word(dice, depth), word(dice, depth)),
        11 => format!(
            "cat <<E; {}\n{}\nE\n",
            simple(dice, 0),
            word(dice, depth - 1)
        ),
        12 => format!("! {}", inner(dice)),
        _ => format!("until {}\ndo break\ndone > n", inner(dice)),
    }
}

fn simple(dice: &mut Dice, depth: usize) -> String {
    let mut text = dice
        .pick(&[
            "aa",
            "bb",
            "cc",
            "x=1 aa",
            "a'a'",
            "\"bb\"",
            "c\\c",
            "y=(a b) ; cc",
        ])
        .to_owned();
    for _ in 0..dice.roll(4) {
        text += " ";
        text += &word(dice, depth);
    }
    text + dice.pick(&[
        "",
        "",
        "",
        " > n",
        " 2>&1",
        " < /dev/null",
        " &> n",
        " >| n",
        " <<< x",
    ])
}

fn word(dice: &mut Dice, depth: usize) -> String {
    let plain = [
        "d", "'d e'", "\"d\"", "$x", "\"$x\"", "${x:-d}", "d\\ e", "*", "~", "{d,e}", "$'d\\te'",
        "-d", "$((1+1))", "é",
    ];
    match dice.roll(if depth == 0 { 4 } else { 8 }) {
        0..4 => dice.pick(&plain).to_owned(),
        4 => format!("$({})", script(dice, depth - 1)),
        5 => format!("\"d $({}) e\"", script(dice, depth - 1)),
        6 => format!("`{}`", simple(dice, 0)),
        _ => format!("<({})", simple(dice, depth - 1)),
    }
}

/// The same text with a few pieces put in or taken out.
pub fn broken(dice: &mut Dice, text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(chars.len() + 1);
        if dice.roll(3) == 0 {
            let end = (at + 1 + dice.roll(4)).min(chars.len());
            chars.drain(at.min(end)..end);
        } else {
            let piece = dice.pick(&PIECES);
            chars.splice(at..at, piece.chars());
        }
    }
    chars.into_iter().collect()
}
