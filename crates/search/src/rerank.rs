//! Reranks the best chunks from their text: adjacent words, names, and the lines worth showing.
//!
//! The index does not store word positions. The best few dozen chunks are read again for that, so the lines shown are
//! those on disk now.

use std::collections::{BTreeMap, HashMap};

use rooftree_stdx::shorten::shorten;

use super::{
    definition::{ChunkKind, definition},
    index::SearchIndex,
    indexed_file::{IndexedChunk, shortened},
    query::SearchQuery,
    rank::{ChunkHit, RankedChunks},
    tokenizer::{Term, TokenShape, WordSplitter},
};

/// Words this far apart count as side by side.
const NEAR: usize = 3;

/// Bonus of a chunk whose words are all adjacent, or in its name.
const ADJACENT: f32 = 0.35;
const NAMED: f32 = 0.6;

/// What remains of the score of a chunk for each better chunk of the same file: the first results show several files.
const SAME_FILE: f32 = 0.85;

/// Lines shown of a piece, and characters of a line.
const SHOWN_LINES: usize = 5;
const SHOWN_CHARS: usize = 160;

/// A piece as it is shown.
#[derive(Clone, Debug)]
pub(super) struct SearchResult {
    /// Where it is in the index.
    pub hit: ChunkHit,
    pub piece: IndexedChunk,
    pub name: String,
    /// Line numbers and text.
    pub snippet: Vec<(u32, String)>,
}

/// Whether a closer look may change the order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RerankMode {
    /// By score, with what the look adds to it.
    ByLook,
    /// As it is.
    Kept,
}

/// Looks at hits and gives the best of them; of pieces that overlap, the better one.
pub(super) fn look(
    index: &SearchIndex,
    query: &SearchQuery,
    ranked: &RankedChunks,
    order: RerankMode,
    most: usize,
) -> Vec<SearchResult> {
    let mut files: BTreeMap<usize, String> = BTreeMap::new();
    let lens = QueryTermMap::new(query, &ranked.rarities);
    let mut found: Vec<SearchResult> = Vec::new();
    for hit in &ranked.hits {
        let Some(entry) = index.files.get(hit.file) else {
            continue;
        };
        let text = files.entry(hit.file).or_insert_with(|| index.text(entry));
        let Some((mut seen, bonus)) = entry
            .pieces
            .get(hit.piece)
            .and_then(|piece| lens.look(*hit, piece, text))
        else {
            continue;
        };
        seen.hit.score *= if order == RerankMode::ByLook {
            bonus
        } else {
            1.0
        };
        found.push(seen);
    }
    if order == RerankMode::ByLook {
        found.sort_by(|one, other| other.hit.score.total_cmp(&one.hit.score));
    }
    if order == RerankMode::ByLook {
        spread_over_files(&mut found);
    }
    let mut kept: Vec<SearchResult> = Vec::new();
    for candidate in found {
        let overlaps = |other: &SearchResult| {
            let (one, other_piece) = (candidate.piece, other.piece);
            other.hit.file == candidate.hit.file
                && one.first <= other_piece.last
                && other_piece.first <= one.last
        };
        if kept.len() < most && !kept.iter().any(overlaps) {
            kept.push(candidate);
        }
    }
    kept
}

/// Lowers the scores of further chunks of a file. The chunks come sorted, and are sorted again.
fn spread_over_files(found: &mut [SearchResult]) {
    let mut factors: HashMap<usize, f32> = HashMap::new();
    for result in found.iter_mut() {
        let factor = factors.entry(result.hit.file).or_insert(1.0);
        result.hit.score *= *factor;
        *factor *= SAME_FILE;
    }
    found.sort_by(|one, other| other.hit.score.total_cmp(&one.hit.score));
}

/// The words of a question, found by any of their names.
struct QueryTermMap {
    words: HashMap<Term, (usize, f32)>,
    rarities: Vec<f32>,
}

/// A word of the question in a line: which one, how well it fits, and how many words came before.
struct TermOccurrence {
    word: usize,
    weight: f32,
    place: usize,
}

impl QueryTermMap {
    fn new(query: &SearchQuery, rarities: &[f32]) -> Self {
        let mut words: HashMap<Term, (usize, f32)> = HashMap::new();
        for (at, word) in query.words.iter().enumerate() {
            for (term, weight) in &word.terms {
                let best = words.entry(*term).or_insert((at, 0.0));
                if *weight > best.1 {
                    *best = (at, *weight);
                }
            }
        }
        Self {
            words,
            rarities: rarities.to_vec(),
        }
    }

    /// A piece as it is shown, and how much better than its score it is.
    fn look(&self, hit: ChunkHit, piece: &IndexedChunk, text: &str) -> Option<(SearchResult, f32)> {
        let (first, last) = (piece.first as usize, piece.last as usize);
        let lines: Vec<(u32, &str)> = (piece.first..)
            .zip(text.lines().skip(first.checked_sub(1)?))
            .take(last + 1 - first)
            .collect();
        if lines.is_empty() {
            // The file has become shorter since it was looked at, a moment ago.
            return None;
        }
        let mut place = 0;
        let sightings: Vec<Vec<TermOccurrence>> = lines
            .iter()
            .map(|(_, line)| self.sightings(shortened(line), &mut place))
            .collect();
        let opening = opening(piece.kind, &lines);
        let name = opening.map_or("", |(_, name)| name);
        let all: Vec<&TermOccurrence> = sightings.iter().flatten().collect();
        let bonus = 1.0
            + ADJACENT * self.adjacency(&all)
            + NAMED * self.share(&self.sightings(name, &mut 0));
        let worths: Vec<f32> = sightings.iter().map(|line| self.worth(line)).collect();
        let snippet = snippet(&lines, &worths, opening.map_or(0, |(at, _)| at));
        Some((
            SearchResult {
                hit,
                piece: *piece,
                name: name.to_owned(),
                snippet,
            },
            bonus,
        ))
    }

    fn sightings(&self, line: &str, place: &mut usize) -> Vec<TermOccurrence> {
        let mut found = Vec::new();
        WordSplitter::default().each(line, |term, shape| {
            *place += usize::from(shape == TokenShape::Part);
            let seen = self.words.get(&term).map(|(word, weight)| TermOccurrence {
                word: *word,
                weight: *weight,
                place: *place,
            });
            found.extend(seen);
        });
        found
    }

    /// The share of neighbouring words of the question that are neighbours here, in any order.
    fn adjacency(&self, sightings: &[&TermOccurrence]) -> f32 {
        let pairs = self.rarities.len().saturating_sub(1);
        let mut near = vec![0f32; pairs];
        for (at, one) in sightings.iter().enumerate() {
            let next = sightings
                .iter()
                .skip(at + 1)
                .take_while(|other| other.place <= one.place + NEAR);
            for other in next.filter(|other| one.word.abs_diff(other.word) == 1) {
                if let Some(best) = near.get_mut(one.word.min(other.word)) {
                    *best = best.max(one.weight * other.weight);
                }
            }
        }
        if pairs == 0 {
            0.0
        } else {
            near.iter().sum::<f32>() / pairs as f32
        }
    }

    /// How much of the question these words are.
    fn share(&self, sightings: &[TermOccurrence]) -> f32 {
        let all: f32 = self.rarities.iter().sum();
        if all > 0.0 {
            self.worth(sightings) / all
        } else {
            0.0
        }
    }

    fn worth(&self, sightings: &[TermOccurrence]) -> f32 {
        let best = |at: usize| {
            sightings
                .iter()
                .filter(|seen| seen.word == at)
                .map(|seen| seen.weight)
                .fold(0.0, f32::max)
        };
        self.rarities
            .iter()
            .enumerate()
            .map(|(at, rarity)| rarity * best(at))
            .sum()
    }
}

/// The line that says what a piece is, and the name there.
fn opening<'a>(kind: ChunkKind, lines: &[(u32, &'a str)]) -> Option<(usize, &'a str)> {
    if kind == ChunkKind::Heading {
        return lines
            .first()
            .map(|(_, line)| (0, line.trim_matches(['#', ' '])));
    }
    let defined = lines
        .iter()
        .enumerate()
        .filter_map(|(at, (_, line))| Some((at, definition(line.trim())?)));
    let mut defined = defined.filter(|(_, found)| found.kind == kind);
    defined.next().map(|(at, found)| (at, found.name))
}

/// The opening line and those that have most of the question, in order.
fn snippet(lines: &[(u32, &str)], worths: &[f32], opening: usize) -> Vec<(u32, String)> {
    let mut order: Vec<usize> = (0..lines.len()).filter(|at| *at != opening).collect();
    let worth = |at: &usize| worths.get(*at).copied().unwrap_or_default();
    order.retain(|at| lines.len() <= SHOWN_LINES || worth(at) > 0.0);
    order.sort_by(|one, other| worth(other).total_cmp(&worth(one)).then(one.cmp(other)));
    let mut chosen: Vec<usize> = [opening]
        .into_iter()
        .chain(order)
        .take(SHOWN_LINES)
        .collect();
    chosen.sort_unstable();
    let line = |at: &usize| {
        lines
            .get(*at)
            .map(|(number, text)| (*number, shorten(text.trim_end(), SHOWN_CHARS)))
    };
    chosen
        .iter()
        .filter_map(line)
        .filter(|(_, text)| !text.trim().is_empty())
        .collect()
}
