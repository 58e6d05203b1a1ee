//! Ranks chunks by how well they match a query, from the index alone (BM25).
//!
//! BM25 with a few heuristics for code: a word in a name or a path counts more, a chunk that has many of the words
//! beats one that has one of them often, and tests come after the code they test. Document frequencies are counted
//! during look-up, so no statistics are stored.

use std::path::Path;

use super::{
    definition::ChunkKind,
    index::SearchIndex,
    indexed_file::IndexedFile,
    postings::Postings,
    prior::ChunkPrior,
    query::SearchQuery,
    tokenizer::{Term, WordSplitter},
};

/// The usual constants of BM25: how soon repetition stops to count, how much length matters.
const REPETITION: f32 = 1.2;
const LENGTH: f32 = 0.5;

/// No piece counts as shorter than this share of the usual one: a line is no better than a function.
const SHORTEST: f32 = 0.5;

/// Weight of a word in a path, relative to one in the text.
const PATH: f32 = 0.5;

/// How much more a word counts that is in the name of the file itself, not of a directory above it.
const FILE_NAME: f32 = 2.5;

/// Share of the score that remains for a chunk with hardly any of the words.
const UNCOVERED: f32 = 0.35;

/// A piece that may be shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ChunkHit {
    /// Its file's place in the index, and its own in the file.
    pub file: usize,
    pub piece: usize,
    pub score: f32,
}

/// Filter of search results.
pub(super) struct SearchFilter<'a> {
    /// Only files here, from the root on.
    pub inside: &'a Path,
    pub kind: Option<ChunkKind>,
}

impl SearchFilter<'_> {
    pub fn is_file(&self, entry: &IndexedFile) -> bool {
        entry.path.starts_with(self.inside)
    }

    pub fn is_kind(&self, kind: ChunkKind) -> bool {
        self.kind.is_none_or(|wanted| wanted == kind)
    }
}

/// The best pieces.
pub(super) struct RankedChunks {
    pub hits: Vec<ChunkHit>,
    /// How rare each word of the question is.
    pub rarities: Vec<f32>,
    /// Words of the question that are in no file, by no name.
    pub unknown: Vec<usize>,
}

/// One word found in one file.
struct TermMatch<'a> {
    file: usize,
    word: usize,
    /// Which of the names of the word.
    name: usize,
    postings: Postings<'a>,
}

/// Orders the pieces of an index; the best `most` are kept.
pub(super) fn rank(
    index: &SearchIndex,
    query: &SearchQuery,
    wanted: &SearchFilter<'_>,
    most: usize,
) -> RankedChunks {
    let matches = matches(index, query);
    let scale = Bm25Weights::new(index, query, &matches);
    let mut hits = Vec::new();
    for of_file in matches.chunk_by(|one, other| one.file == other.file) {
        let file = of_file.first().map_or(0, |first| first.file);
        if let Some(entry) = index.files.get(file).filter(|entry| wanted.is_file(entry)) {
            let is_wanted = |hit: &ChunkHit| {
                entry
                    .pieces
                    .get(hit.piece)
                    .is_some_and(|piece| wanted.is_kind(piece.kind))
            };
            hits.extend(
                scale
                    .weigh(file, entry, query, of_file)
                    .into_iter()
                    .filter(is_wanted),
            );
        }
    }
    hits.sort_unstable_by(|one, other| {
        other
            .score
            .total_cmp(&one.score)
            .then((one.file, one.piece).cmp(&(other.file, other.piece)))
    });
    hits.truncate(most);
    let unknown = (0..query.words.len())
        .filter(|word| !scale.known.contains(word))
        .collect();
    RankedChunks {
        hits,
        rarities: scale.words,
        unknown,
    }
}

fn matches<'a>(index: &'a SearchIndex, query: &SearchQuery) -> Vec<TermMatch<'a>> {
    let mut found = Vec::new();
    for (file, entry) in index.files.iter().enumerate() {
        let before = found.len();
        for (word, names) in query.words.iter().enumerate() {
            for (name, (term, _)) in names.terms.iter().enumerate() {
                if let Some(postings) = entry.find(*term) {
                    found.push(TermMatch {
                        file,
                        word,
                        name,
                        postings,
                    });
                }
            }
        }
        if found.len() == before && on_path(entry, query).next().is_some() {
            found.push(TermMatch {
                file,
                word: usize::MAX,
                name: 0,
                postings: Postings::new(&[]),
            });
        }
    }
    found
}

/// The words of a question that are in a file's path, with how much the name counts that is there.
fn on_path(entry: &IndexedFile, query: &SearchQuery) -> impl Iterator<Item = (usize, f32)> {
    query.words.iter().enumerate().filter_map(|(at, word)| {
        let found: Vec<&(Term, f32)> = word
            .terms
            .iter()
            .filter(|(term, _)| entry.path_terms.binary_search(term).is_ok())
            .collect();
        let weight = found.iter().map(|(_, weight)| *weight).reduce(f32::max)?;
        let name = file_name_terms(entry);
        let is_in_name = found.iter().any(|(term, _)| name.contains(term));
        let factor = if is_in_name { FILE_NAME } else { 1.0 };
        Some((at, weight * factor))
    })
}

fn file_name_terms(entry: &IndexedFile) -> Vec<Term> {
    let mut terms = Vec::new();
    let name = entry.path.file_stem().unwrap_or_default().to_string_lossy();
    WordSplitter::default().each(&name, |term, _| terms.push(term));
    terms
}

fn is_on_any_path(index: &SearchIndex, query: &SearchQuery, word: usize) -> bool {
    let is_there = |entry: &IndexedFile| on_path(entry, query).any(|(found, _)| found == word);
    index.files.iter().any(|entry| is_there(entry))
}

/// Rarity of words (inverse document frequency), and length of chunks.
struct Bm25Weights {
    /// Per word and name.
    names: Vec<Vec<f32>>,
    /// Per word, with its importance.
    words: Vec<f32>,
    /// Words that are anywhere.
    known: Vec<usize>,
    usual_length: f32,
    bearing: ChunkPrior,
}

impl Bm25Weights {
    fn new(index: &SearchIndex, query: &SearchQuery, matches: &[TermMatch<'_>]) -> Self {
        let mut counts: Vec<Vec<usize>> = query
            .words
            .iter()
            .map(|word| vec![0; word.terms.len()])
            .collect();
        for found in matches {
            if let Some(count) = counts
                .get_mut(found.word)
                .and_then(|names| names.get_mut(found.name))
            {
                *count += found.postings.clone().count();
            }
        }
        let pieces: usize = index.files.iter().map(|entry| entry.pieces.len()).sum();
        let length = |entry: &IndexedFile| {
            entry
                .pieces
                .iter()
                .map(|piece| f64::from(piece.words))
                .sum::<f64>()
        };
        let total: f64 = index.files.iter().map(|entry| length(entry)).sum();
        let rarity = |count: usize| {
            let (pieces, count) = (pieces as f32, count as f32);
            (1.0 + (pieces - count + 0.5).max(0.0) / (count + 0.5)).ln()
        };
        let names: Vec<Vec<f32>> = counts
            .iter()
            .map(|names| names.iter().map(|count| rarity(*count)).collect())
            .collect();
        let importance = query.words.iter().map(|word| word.importance);
        // A word that no chunk contains gets the rarity of its synonyms; on its own it would outweigh the rest.
        let commonest = |counts: &Vec<usize>| match counts.iter().take(2).max() {
            Some(count) if *count > 0 => rarity(*count),
            _ => rarity(counts.iter().copied().max().unwrap_or_default()),
        };
        let words = counts
            .iter()
            .map(commonest)
            .zip(importance)
            .map(|(rarity, weight)| rarity * weight)
            .collect();
        let is_in_text = |at: usize| {
            counts
                .get(at)
                .is_some_and(|names| names.iter().any(|count| *count > 0))
        };
        let known = (0..query.words.len())
            .filter(|at| is_in_text(*at) || is_on_any_path(index, query, *at));
        let known = known.collect();
        let usual_length = (total / pieces.max(1) as f64) as f32;
        Self {
            names,
            words,
            known,
            usual_length,
            bearing: ChunkPrior::new(query),
        }
    }

    /// The scores of one file's pieces that have any of the words.
    fn weigh(
        &self,
        file: usize,
        entry: &IndexedFile,
        query: &SearchQuery,
        matches: &[TermMatch<'_>],
    ) -> Vec<ChunkHit> {
        let count = query.words.len();
        let mut scores = vec![0f32; entry.pieces.len() * count];
        for found in matches {
            let Some(rarity) = self
                .names
                .get(found.word)
                .and_then(|names| names.get(found.name))
            else {
                continue;
            };
            let Some((_, weight)) = query
                .words
                .get(found.word)
                .and_then(|word| word.terms.get(found.name))
            else {
                continue;
            };
            for (piece, units) in found.postings.clone() {
                let length = entry
                    .pieces
                    .get(piece as usize)
                    .map_or(0.0, |piece| f32::from(piece.words));
                let score = weight * rarity * self.repetition(units, length);
                if let Some(best) = scores.get_mut(piece as usize * count + found.word) {
                    *best = best.max(score);
                }
            }
        }
        let path: Vec<(usize, f32)> = on_path(entry, query).collect();
        let of_file = self.bearing.of_file(entry);
        let pieces = scores
            .chunks_exact(count.max(1))
            .zip(&entry.pieces)
            .enumerate();
        let total = pieces.filter_map(|(at, (scores, piece))| {
            // A file that is only called like the question is shown by its beginning.
            let is_hit = at == 0 && !path.is_empty() || scores.iter().any(|score| *score > 0.0);
            let score =
                || self.total(query, scores, &path) * self.bearing.of_piece(&of_file, piece);
            is_hit.then(|| ChunkHit {
                file,
                piece: at,
                score: score(),
            })
        });
        total.collect()
    }

    fn repetition(&self, units: u8, length: f32) -> f32 {
        let often = f32::from(units) / 2.0;
        let length = length.max(self.usual_length * SHORTEST) / self.usual_length.max(1.0);
        often * (REPETITION + 1.0) / (often + REPETITION * (1.0 - LENGTH + LENGTH * length))
    }

    fn total(&self, query: &SearchQuery, scores: &[f32], path: &[(usize, f32)]) -> f32 {
        let (mut sum, mut covered, mut possible) = (0.0, 0.0, 0.0);
        for (at, (score, word)) in scores.iter().zip(&query.words).enumerate() {
            let rarity = self.words.get(at).copied().unwrap_or_default();
            let on_path = path
                .iter()
                .find(|(word, _)| *word == at)
                .map_or(0.0, |(_, weight)| *weight);
            sum += score * word.importance + rarity * on_path * PATH;
            covered += rarity * if *score > 0.0 { 1.0 } else { on_path * PATH };
            possible += if self.known.contains(&at) {
                rarity
            } else {
                0.0
            };
        }
        let coverage: f32 = if possible > 0.0 {
            covered / possible
        } else {
            0.0
        };
        sum * (UNCOVERED + (1.0 - UNCOVERED) * coverage.min(1.0))
    }
}
