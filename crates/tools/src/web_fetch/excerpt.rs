//! Selects the parts of a long text that are relevant to a question. Pure.
//!
//! Blocks (paragraphs, with the heading above them) are ordered by the rare words of the question
//! they contain; the best ones that fit are shown in the order of the text.

use std::collections::{HashMap, HashSet};

use rooftree_search::terms;

/// Marker for omitted text.
const GAP: &str = "[…]";

/// At most so many characters of a text, chosen by a question; the start of it if there is none.
pub(super) fn excerpt(text: &str, question: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let blocks = blocks(text);
    let wanted: HashSet<u32> = terms(question).into_iter().collect();
    let chosen = chosen(&blocks, &wanted, limit);
    if chosen.is_empty() {
        let start: String = text.chars().take(limit).collect();
        return format!("{start}\n{GAP}");
    }
    let mut out = String::new();
    let mut next = 0;
    for at in chosen {
        if at != next {
            out.push_str(GAP);
            out.push_str("\n\n");
        }
        out.push_str(blocks.get(at).copied().unwrap_or_default());
        out.push_str("\n\n");
        next = at + 1;
    }
    if next < blocks.len() {
        out.push_str(GAP);
    }
    out.trim_end().to_owned()
}

/// Paragraphs; a heading belongs to the one below it.
fn blocks(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = 0;
        loop {
            let paragraph = rest.get(end..).unwrap_or_default();
            end += paragraph.find("\n\n").map_or(paragraph.len(), |at| at + 2);
            let is_heading =
                paragraph.trim_start().starts_with('#') && !paragraph.trim().is_empty();
            if !is_heading || end >= rest.len() {
                break;
            }
        }
        let (block, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        if !block.trim().is_empty() {
            blocks.push(block.trim());
        }
        rest = after;
    }
    blocks
}

/// The places of the best blocks that fit, in order. Empty: the question helps with nothing.
fn chosen(blocks: &[&str], wanted: &HashSet<u32>, limit: usize) -> Vec<usize> {
    let found: Vec<HashSet<u32>> = blocks
        .iter()
        .map(|block| {
            terms(block)
                .into_iter()
                .filter(|term| wanted.contains(term))
                .collect()
        })
        .collect();
    let mut spread: HashMap<u32, f64> = HashMap::new();
    found
        .iter()
        .flatten()
        .for_each(|term| *spread.entry(*term).or_default() += 1.0);
    let weight = |term: &u32| 1.0 / spread.get(term).copied().unwrap_or(1.0).max(1.0);
    let mut ranked: Vec<(f64, usize)> = found
        .iter()
        .enumerate()
        .map(|(at, terms)| (terms.iter().map(weight).sum::<f64>(), at))
        .filter(|(score, _)| *score > 0.0)
        .collect();
    ranked.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    let mut left = limit;
    let mut chosen: Vec<usize> = ranked
        .into_iter()
        .filter(|(_, at)| {
            let length = blocks
                .get(*at)
                .map_or(0, |block| block.chars().count() + GAP.len());
            let fits = length <= left;
            left -= if fits { length } else { 0 };
            fits
        })
        .map(|(_, at)| at)
        .collect();
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Parser\n\nIt reads text and gives a tree.\n\n## Limits\n\nDepth is limited to 100.\n\n\
        ## Errors\n\nRetries are made three times, then it fails.\n\n## Authors\n\nMany people.";

    #[test]
    fn a_question_chooses_the_parts_of_a_long_text() {
        assert_eq!(excerpt(TEXT, "whatever", 10_000), TEXT);
        let about = excerpt(TEXT, "how often is a retry made?", 80);
        assert_eq!(
            about,
            "[…]\n\n## Errors\n\nRetries are made three times, then it fails.\n\n[…]"
        );
        let two = excerpt(TEXT, "depth limit, retries", 130);
        assert!(
            two.contains("limited to 100") && two.contains("three times") && !two.contains("Many"),
            "{two}"
        );
    }

    #[test]
    fn a_question_that_fits_nothing_gives_the_start() {
        assert_eq!(excerpt(TEXT, "zebra", 8), "# Parser\n[…]");
        assert_eq!(excerpt(TEXT, "", 8), "# Parser\n[…]");
        assert_eq!(excerpt("äöü", "", 2), "äö\n[…]");
    }
}
