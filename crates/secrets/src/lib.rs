//! Redacts secrets in text before it is stored or published: by value where they are known, by pattern where not.
//!
//! [`SecretRedactor`] cleans whole texts, events, messages and problems; [`StreamRedactor`] cleans text that comes in
//! pieces. A redacted secret leaves `[redacted: github token]` behind, which breaks no JSON and no line. A text
//! without secrets is only scanned: nothing is copied or allocated.
//!
//! ```
//! use rooftree_secrets::SecretRedactor;
//!
//! let secrets = SecretRedactor::knowing([("key of the shop".to_owned(), "4711-0815-xyz".to_owned())]);
//! let clean = secrets.clean("the key is 4711-0815-xyz");
//! assert_eq!(clean.as_deref(), Some("the key is [redacted: key of the shop]"));
//! assert_eq!(secrets.clean("nothing to hide"), None);
//! ```

mod assignment;
mod encodings;
mod entropy;
mod joined_text;
mod key_block;
mod known_values;
mod line_fields;
mod patterns;
mod scan;
mod stream_redactor;
mod token;
mod url_credentials;

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use rooftree_process::looks_secret;
use rooftree_protocol::{EventBody, Message, Principal, Problem, text_visitor};
use rooftree_stdx::failpoint;

pub use self::stream_redactor::StreamRedactor;
use self::{known_values::KnownValues, patterns::SHAPES};

/// A value shorter than this is in too many texts that have nothing to do with it.
const SHORTEST_VALUE: usize = 8;

/// A longer run of letters is no word of everyday.
const LONGEST_WORD: usize = 14;

/// Maximum number of rescans after a redaction.
const ROUNDS: usize = 8;

/// Redacts secrets: those that match known patterns, and values this process has.
#[derive(Clone, Default)]
pub struct SecretRedactor {
    known: Option<Arc<KnownValues>>,
}

/// Something found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SecretMatch {
    place: Range<usize>,
    name: Arc<str>,
    /// The name with the lowest rank says most.
    rank: usize,
}

impl SecretRedactor {
    /// Knows these values too, each under a name that says whose it is.
    /// Values shorter than eight bytes, and those that are plain words, are not looked for.
    pub fn knowing(values: impl IntoIterator<Item = (String, String)>) -> Self {
        Self {
            known: KnownValues::new(
                values
                    .into_iter()
                    .filter(|(_, value)| is_worth(value.trim())),
            )
            .map(Arc::new),
        }
    }

    /// The values of variables that hold secrets, going by their names.
    pub fn in_variables(
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Vec<(String, String)> {
        variables
            .into_iter()
            .filter(|(name, value)| looks_secret(name) && !is_a_place(value))
            .collect()
    }

    /// The names of variables that hold a secret, whatever they are called: programs started for agents do not
    /// get them.
    pub fn withheld(
        &self,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> BTreeSet<String> {
        let holds_secret = |(name, value): (String, String)| {
            // Nothing works behind a proxy without it, and what it says is taken out of output all the same.
            let is_proxy = name.to_ascii_lowercase().ends_with("_proxy");
            (!is_proxy && self.clean(&value).is_some()).then_some(name)
        };
        variables.into_iter().filter_map(holds_secret).collect()
    }

    /// The text without its secrets; none if there are none in it.
    pub fn clean(&self, text: &str) -> Option<String> {
        if failpoint::is_without("redaction") {
            return None;
        }
        let mut clean = self.cleaned(text)?;
        // What stood beside a secret may look like one now that it is gone.
        for _ in 0..ROUNDS {
            let Some(cleaner) = self.cleaned(&clean) else {
                break;
            };
            clean = cleaner;
        }
        Some(clean)
    }

    fn cleaned(&self, text: &str) -> Option<String> {
        let found = self.find(text);
        if found.is_empty() {
            return None;
        }
        let mut clean = String::with_capacity(text.len());
        let mut from = 0;
        for SecretMatch { place, name, .. } in found {
            clean.push_str(text.get(from..place.start).unwrap_or_default());
            mark(&mut clean, &name);
            from = place.end;
        }
        clean.push_str(text.get(from..).unwrap_or_default());
        Some(clean)
    }

    /// The same for bytes that are text; others stay as they are.
    pub fn clean_bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        std::str::from_utf8(bytes)
            .ok()
            .and_then(|text| self.clean(text))
            .map(String::into_bytes)
    }

    /// Takes the secrets out of everything an event says.
    pub fn clean_event(&self, body: &mut EventBody) {
        text_visitor::event(body, &|text| self.clean(text));
    }

    /// Takes the secrets out of everything a message says.
    pub fn clean_message(&self, message: &mut Message) {
        text_visitor::message(message, &|text| self.clean(text));
    }

    /// Takes the secrets out of the names of a principal: a client chooses them.
    pub fn clean_principal(&self, who: &mut Principal) {
        text_visitor::text(&mut who.person, &|text| self.clean(text));
        text_visitor::optional(&mut who.on_behalf_of, &|text| self.clean(text));
    }

    /// Takes the secrets out of what is said about a failure.
    pub fn clean_problem(&self, problem: &mut Problem) {
        text_visitor::problem(problem, &|text| self.clean(text));
    }

    /// Matches of secrets, in order and without overlap.
    fn find(&self, text: &str) -> Vec<SecretMatch> {
        let mut found = Vec::new();
        if let Some(known) = &self.known {
            known.find(text, &mut found);
        }
        scan::find(text, &mut found);
        if found.len() > 1 {
            settle(&mut found);
        }
        found
    }

    fn known(&self) -> Option<&KnownValues> {
        self.known.as_deref()
    }
}

/// Appends the replacement of a redacted secret.
fn mark(text: &mut String, name: &str) {
    text.push_str("[redacted: ");
    text.push_str(name);
    text.push(']');
}

/// Puts what was found in order. Of two that overlap both go, under the name that says most.
fn settle(found: &mut Vec<SecretMatch>) {
    found.sort_by_key(|one| (one.place.start, std::cmp::Reverse(one.place.end)));
    found.dedup_by(|next, kept| {
        let overlaps = next.place.start < kept.place.end;
        if overlaps {
            kept.place.end = kept.place.end.max(next.place.end);
            if next.rank < kept.rank {
                (kept.rank, kept.name) = (next.rank, next.name.clone());
            }
        }
        overlaps
    });
}

/// Whether a value can be looked for. `postgres` and `disabled` are values of secrets too, and are in
/// texts that have nothing to do with them.
fn is_worth(value: &str) -> bool {
    let is_word =
        value.len() < LONGEST_WORD && value.bytes().all(|byte| byte.is_ascii_alphabetic());
    value.len() >= SHORTEST_VALUE && !is_word
}

/// A file that holds a secret is no secret, nor is a switch.
fn is_a_place(value: &str) -> bool {
    value.starts_with(['/', '~']) || value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Names of the known patterns.
pub fn shape_names() -> impl Iterator<Item = &'static str> {
    SHAPES.iter().map(|shape| shape.name)
}

impl std::fmt::Debug for SecretRedactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets(…)")
    }
}
