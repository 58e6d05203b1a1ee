//! Fake secrets in the formats of real ones, generated from a seed so that none is stored in a file.

/// A fake secret with its usual surroundings.
#[derive(Clone, Debug)]
pub struct SecretCanary {
    /// The name left in its place by the redaction.
    pub name: String,
    /// The text that contains it.
    pub text: String,
    /// The pieces that must be redacted.
    pub secret: Vec<String>,
}

impl SecretCanary {
    /// The secret as one value.
    pub fn value(&self) -> String {
        self.secret.join("\n")
    }

    /// What of it can be read in a text.
    pub fn read_in(&self, text: &str) -> Option<&str> {
        // A few letters of a long secret say nothing; half of it does.
        let telling = |piece: &&str| piece.len() >= 10 && text.contains(*piece);
        let pieces = self.secret.iter().filter(|piece| piece.len() >= 10);
        pieces
            .flat_map(|piece| [piece.as_str(), &piece[piece.len() - 10..]])
            .find(telling)
    }
}

/// One canary for every line of a corpus; another seed gives other secrets.
pub fn generate_canaries(corpus: &str, seed: u64) -> Vec<SecretCanary> {
    let mut dice = CanaryRng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let lines = corpus
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines
        .map(|line| {
            let (name, template) = line.split_once(" | ").expect("a name, a bar, a template");
            let drawn = draw(&template.replace("\\n", "\n"), &mut dice);
            let secret = match (drawn.split_once('«'), drawn.split_once('»')) {
                (Some((_, rest)), Some(_)) => {
                    rest.split_once('»').expect("a closing mark").0.to_owned()
                }
                _ => drawn.clone(),
            };
            let secret = secret.lines().map(str::to_owned).collect();
            SecretCanary {
                name: name.trim().to_owned(),
                text: drawn.replace(['«', '»'], ""),
                secret,
            }
        })
        .collect()
}

fn draw(template: &str, dice: &mut CanaryRng) -> String {
    let mut drawn = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (what, after) = after.split_once('}').expect("a closing brace");
        let (count, alphabet) = what.split_once(':').expect("a number and an alphabet");
        drawn.push_str(before);
        let letters: Vec<char> = alphabet_of(alphabet).collect();
        let count: usize = count.parse().expect("a number");
        drawn.extend((0..count).map(|_| letters[dice.below(letters.len())]));
        rest = after;
    }
    drawn.push_str(rest);
    drawn
}

fn alphabet_of(name: &str) -> Box<dyn Iterator<Item = char>> {
    let alnum = || ('a'..='z').chain('A'..='Z').chain('0'..='9');
    match name {
        "digit" => Box::new('1'..='9'),
        "hex" => Box::new(('0'..='9').chain('a'..='f')),
        "upper" => Box::new(('A'..='Z').chain('2'..='7')),
        "alnum" => Box::new(alnum()),
        "dashed" => Box::new(alnum().chain(['-', '_'])),
        "base64" => Box::new(alnum().chain(['+', '/'])),
        other => panic!("no alphabet is called {other}"),
    }
}

/// Pseudo-random numbers, the same from the same seed.
struct CanaryRng(u64);

impl CanaryRng {
    fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or_default() % sides
    }
}
