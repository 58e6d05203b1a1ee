//! Postings: the chunks of a file that contain a word, with its weight there, in two bytes each.

/// The pieces a word is in, with its units there.
#[derive(Clone)]
pub(super) struct Postings<'a> {
    bytes: &'a [u8],
    piece: u32,
}

impl<'a> Postings<'a> {
    /// Reads what `write` wrote; no bytes are a word that is nowhere.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, piece: 0 }
    }
}

impl Iterator for Postings<'_> {
    type Item = (u32, u8);

    fn next(&mut self) -> Option<(u32, u8)> {
        let mut step = 0;
        for shift in (0..32).step_by(7) {
            let (byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            step |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let (units, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        self.piece = self.piece.wrapping_add(step);
        Some((self.piece, *units))
    }
}

/// Writes pieces in rising order, each with its units.
pub(super) fn write(pieces: impl Iterator<Item = (u32, u8)>, bytes: &mut Vec<u8>) {
    let mut before = 0;
    for (piece, units) in pieces {
        push_number(bytes, piece - before);
        bytes.push(units);
        before = piece;
    }
}

/// A number in as few bytes as it needs, seven bits in each.
fn push_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_was_written() {
        let pieces = [
            (0, 1),
            (1, 255),
            (127, 2),
            (255, 0),
            (300, 9),
            (70_000, 3),
            (u32::MAX, 4),
        ];
        let mut bytes = Vec::new();
        write(pieces.into_iter(), &mut bytes);
        assert_eq!(Postings::new(&bytes).collect::<Vec<_>>(), pieces);
        assert_eq!(
            Postings::new(&[0x80, 0x80]).next(),
            None,
            "what is cut off ends"
        );
    }
}
