//! Stores the embedding vectors of chunks, one byte per component, keyed by the hash of the chunk's text.
//!
//! Vectors belong to texts and not to files: code that is moved, renamed or checked out again is not embedded twice.

use std::{collections::HashMap, io, path::Path};

use super::{
    index::SearchIndex,
    index_file,
    rank::{ChunkHit, SearchFilter},
};

const FORMAT: &[u8] = b"rooftree search vectors 1\n";

/// Bytes of all vectors of one root together.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Numbers of one vector; no model has more.
const MOST_NUMBERS: usize = 8192;

/// The vectors of one root, made by one embedder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ChunkVectors {
    by_key: HashMap<u64, Box<[i8]>>,
    /// Numbers of each, once there is one.
    length: usize,
}

impl ChunkVectors {
    pub fn contains(&self, key: u64) -> bool {
        self.by_key.contains_key(&key)
    }

    pub fn is_full(&self) -> bool {
        self.by_key.len() * self.length >= MOST_BYTES
    }

    /// Takes one in. One of another length is of no use and left out.
    pub fn insert(&mut self, key: u64, vector: &[f32]) {
        if self.by_key.is_empty() {
            self.length = vector.len();
        }
        if vector.len() == self.length
            && (1..=MOST_NUMBERS).contains(&vector.len())
            && !self.is_full()
        {
            self.by_key.insert(key, quantised(vector));
        }
    }

    /// How many pieces of an index have one.
    pub fn covered(&self, index: &SearchIndex) -> (usize, usize) {
        let pieces = index.files.iter().flat_map(|entry| &entry.pieces);
        pieces.fold((0, 0), |(some, all), piece| {
            (some + usize::from(self.contains(piece.key)), all + 1)
        })
    }

    /// Forgets texts an index does not have, when there is no room for new ones.
    pub fn make_room(&mut self, index: &SearchIndex) {
        if self.is_full() {
            let pieces = index.files.iter().flat_map(|entry| &entry.pieces);
            let wanted: std::collections::HashSet<u64> = pieces.map(|piece| piece.key).collect();
            self.by_key.retain(|key, _| wanted.contains(key));
        }
    }

    /// The pieces closest to a vector.
    pub fn closest(
        &self,
        index: &SearchIndex,
        to: &[f32],
        wanted: &SearchFilter<'_>,
        most: usize,
    ) -> Vec<ChunkHit> {
        let to = quantised(to);
        let mut hits = Vec::new();
        for (file, entry) in index
            .files
            .iter()
            .enumerate()
            .filter(|(_, entry)| wanted.is_file(entry))
        {
            for (at, piece) in entry
                .pieces
                .iter()
                .enumerate()
                .filter(|(_, piece)| wanted.is_kind(piece.kind))
            {
                let score = self
                    .by_key
                    .get(&piece.key)
                    .map(|vector| closeness(vector, &to));
                hits.extend(score.map(|score| ChunkHit {
                    file,
                    piece: at,
                    score,
                }));
            }
        }
        hits.sort_unstable_by(|one, other| {
            other
                .score
                .total_cmp(&one.score)
                .then((one.file, one.piece).cmp(&(other.file, other.piece)))
        });
        hits.truncate(most);
        hits
    }

    /// Reads what was kept; nothing if it is broken or by another embedder.
    pub fn load(place: &Path, embedder: &str) -> Self {
        let read = || {
            let bytes = std::fs::read(place).ok()?;
            let rest = index_file::checked(&bytes)?.strip_prefix(FORMAT)?;
            let rest = rest
                .strip_prefix(embedder.as_bytes())?
                .strip_prefix(b"\n")?;
            let (length, rest) = rest.split_at_checked(8)?;
            let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
            let size = 8 + Some(length).filter(|length| (1..=MOST_NUMBERS).contains(length))?;
            let vector = |bytes: &[u8]| {
                let (key, numbers) = bytes.split_at_checked(8)?;
                let numbers = numbers.iter().map(|number| number.cast_signed()).collect();
                Some((u64::from_le_bytes(key.try_into().ok()?), numbers))
            };
            Some(Self {
                by_key: rest.chunks_exact(size).filter_map(vector).collect(),
                length,
            })
        };
        read().unwrap_or_default()
    }

    /// Keeps them.
    pub fn save(&self, place: &Path, embedder: &str) -> io::Result<()> {
        let mut bytes = [FORMAT, embedder.as_bytes(), b"\n"].concat();
        bytes.extend_from_slice(&(self.length as u64).to_le_bytes());
        for (key, vector) in &self.by_key {
            bytes.extend_from_slice(&key.to_le_bytes());
            bytes.extend(vector.iter().map(|number| number.cast_unsigned()));
        }
        index_file::replace(place, bytes)
    }
}

/// Of length one, and then each number in a byte: far finer than what separates two meanings.
fn quantised(vector: &[f32]) -> Box<[i8]> {
    let length = vector
        .iter()
        .map(|number| number * number)
        .sum::<f32>()
        .sqrt();
    let scale = if length > 0.0 && length.is_finite() {
        127.0 / length
    } else {
        0.0
    };
    vector
        .iter()
        .map(|number| (number * scale).round() as i8)
        .collect()
}

fn closeness(one: &[i8], other: &[i8]) -> f32 {
    let products = one
        .iter()
        .zip(other)
        .map(|(one, other)| i32::from(*one) * i32::from(*other));
    products.sum::<i32>() as f32 / (127.0 * 127.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_fine_enough() {
        let one: Vec<f32> = (0..64).map(|n| (n as f32).sin()).collect();
        let other: Vec<f32> = (0..64).map(|n| (n as f32 * 1.1).sin()).collect();
        let exact = one.iter().zip(&other).map(|(a, b)| a * b).sum::<f32>()
            / (one.iter().map(|a| a * a).sum::<f32>() * other.iter().map(|a| a * a).sum::<f32>())
                .sqrt();
        assert!((closeness(&quantised(&one), &quantised(&other)) - exact).abs() < 0.01);
        assert_eq!(quantised(&[0.0, f32::NAN]).as_ref(), [0, 0]);
    }

    #[test]
    fn they_are_kept_for_one_embedder() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("x.vectors");
        let mut vectors = ChunkVectors::default();
        vectors.insert(7, &[1.0, 0.0]);
        vectors.insert(8, &[1.0, 0.0, 3.0]);
        assert!(!vectors.contains(8), "of another length");
        vectors.save(&place, "a/b").unwrap();
        assert_eq!(ChunkVectors::load(&place, "a/b"), vectors);
        assert_eq!(ChunkVectors::load(&place, "a/c"), ChunkVectors::default());
        std::fs::write(&place, "junk").unwrap();
        assert_eq!(ChunkVectors::load(&place, "a/b"), ChunkVectors::default());
    }
}
