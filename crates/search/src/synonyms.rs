//! Synonyms among programming terms.

use super::tokenizer::{Term, term};

/// Each line is one thing under its names. A word may be on several lines.
const SAME: [&str; 59] = [
    "delete remove erase drop purge unlink",
    "create new make build construct",
    "add insert append push register",
    "config configuration configure settings setting option preference cfg conf",
    "error failure fault exception problem fail",
    "fetch load retrieve download pull",
    "read load get",
    "send post dispatch emit publish transmit",
    "start begin launch spawn boot init initialize setup",
    "stop cancel abort kill terminate shutdown",
    "end finish complete close",
    "retry backoff attempt again repeat",
    "auth authentication authenticate login signin credential",
    "permission authorization authorize access grant allow",
    "deny refuse reject forbid",
    "parse decode deserialize unmarshal",
    "encode serialize marshal dump",
    "write save store persist",
    "cache memo memoize",
    "directory folder dir",
    "limit max maximum bound cap quota",
    "minimum min least",
    "throttle rate limit",
    "timeout deadline expire expiry ttl",
    "response reply answer",
    "message msg mail",
    "database db sql storage",
    "log trace record journal",
    "hash digest checksum fingerprint",
    "render draw display show paint print",
    "update change modify edit patch mutate",
    "check validate verify ensure assert",
    "find search lookup locate query",
    "schedule cron timer",
    "queue inbox backlog",
    "thread concurrent parallel worker",
    "lock mutex semaphore",
    "split divide separate",
    "join merge combine concat concatenate",
    "convert transform translate map",
    "environment env",
    "argument arg parameter param",
    "image picture photo",
    "secret key token password",
    "encrypt cipher crypt",
    "compress gzip zip deflate",
    "copy clone duplicate",
    "compare diff difference",
    "count number total sum",
    "price cost charge",
    "invoice bill",
    "listen subscribe watch observe",
    "shorten truncate trim cut abbreviate",
    "email mail",
    "resume recover recovery continue restart",
    "crash kill die panic",
    "shrink compact compaction reduce smaller summarize",
    "redact mask censor remove hide scrub sanitize",
    "translate convert encode format",
];

/// The other names of a word, as terms.
pub(super) fn of(word: Term) -> Vec<Term> {
    let names = |line: &str| line.split(' ').map(term).collect::<Vec<Term>>();
    let mut found: Vec<Term> = SAME
        .iter()
        .map(|line| names(line))
        .filter(|names| names.contains(&word))
        .flatten()
        .collect();
    found.sort_unstable();
    found.dedup();
    found.retain(|other| *other != word);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_the_names_of_all_its_lines_but_not_itself() {
        let limits = of(term("limits"));
        assert!(limits.contains(&term("quota")) && limits.contains(&term("throttling")));
        assert!(!limits.contains(&term("limit")));
        assert!(of(term("giraffe")).is_empty());
    }
}
