//! Parses a search query: its words, each with its synonyms.

use super::{
    synonyms,
    tokenizer::{Term, is_stop_word, parts, term, whole_term},
};

/// Maximum number of words of a query; the rest is ignored.
const MOST_WORDS: usize = 24;

/// Weight of a synonym, relative to the word itself.
const SYNONYM: f32 = 0.55;

/// Weight of words that occur in most questions about code.
const USUAL: f32 = 0.2;

const USUAL_WORDS: [&str; 21] = [
    "code",
    "function",
    "functions",
    "method",
    "methods",
    "class",
    "file",
    "files",
    "implement",
    "implemented",
    "implementation",
    "logic",
    "defined",
    "definition",
    "find",
    "show",
    "who",
    "why",
    "happen",
    "happens",
    "used",
];

/// Weight of an identifier that was typed as one word.
const TYPED: f32 = 1.5;

/// A question.
pub(super) struct SearchQuery {
    pub words: Vec<QueryWord>,
}

/// One word of a question.
pub(super) struct QueryWord {
    /// As it was typed.
    pub shown: String,
    /// Its weight among the words.
    pub importance: f32,
    /// Its search terms, each with its weight.
    pub terms: Vec<(Term, f32)>,
}

impl SearchQuery {
    /// Reads a question.
    pub fn new(text: &str) -> Self {
        let mut query = Self { words: Vec::new() };
        for token in text.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
            let all: Vec<&str> = parts(token).collect();
            for part in &all {
                query.add_part(part);
            }
            if all.len() > 1 {
                let whole = token.replace('_', "").to_lowercase();
                query.add(QueryWord {
                    shown: token.into(),
                    importance: TYPED,
                    terms: vec![(whole_term(&whole), 1.0)],
                });
            }
        }
        query
    }

    /// Whether a question is about a word.
    pub fn mentions(&self, word: &str) -> bool {
        let wanted = term(word);
        self.words
            .iter()
            .any(|word| word.terms.first().is_some_and(|(term, _)| *term == wanted))
    }

    fn add_part(&mut self, part: &str) {
        let word = part.to_lowercase();
        if word.len() < 2 || is_stop_word(&word) {
            return;
        }
        let own = term(&word);
        let others = synonyms::of(own).into_iter().map(|other| (other, SYNONYM));
        let terms = [(own, 1.0), (whole_term(&word), 1.0)]
            .into_iter()
            .chain(others)
            .collect();
        let importance = if USUAL_WORDS.contains(&word.as_str()) {
            USUAL
        } else {
            1.0
        };
        self.add(QueryWord {
            shown: part.to_owned(),
            importance,
            terms,
        });
    }

    fn add(&mut self, word: QueryWord) {
        let is_new = self
            .words
            .iter()
            .all(|known| known.terms.first() != word.terms.first());
        if is_new && self.words.len() < MOST_WORDS {
            self.words.push(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        let shown: Vec<String> = SearchQuery::new(text)
            .words
            .into_iter()
            .map(|word| word.shown)
            .collect();
        shown.join(" ")
    }

    #[test]
    fn a_question_is_its_words_that_say_something() {
        let table = [
            ("Where are retries handled?", "retries handled"),
            ("HTTPServer.accept()", "HTTP Server HTTPServer accept"),
            ("retry, retries and RETRY", "retry"),
            ("what is it?", ""),
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(words(text), expected, "{text}");
        }
        assert!(SearchQuery::new("the tests of the parser").mentions("test"));
        assert_eq!(
            SearchQuery::new(&"many different ".repeat(9)).words.len(),
            2
        );
    }
}
