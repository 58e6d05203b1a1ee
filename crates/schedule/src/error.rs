//! Why a schedule is refused, each time with what to write instead.

/// What was wrong with a schedule. The text is for the person or model who wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    #[error("the schedule is empty; write one of: {}", EXAMPLES)]
    Empty,
    #[error("`{word}` is not understood in a schedule; write one of: {}", EXAMPLES)]
    Word { word: String },
    #[error("{missing} is missing; write {fix}")]
    Incomplete { missing: String, fix: String },
    #[error("`{text}` can be read in two ways; write {fix}")]
    Ambiguous { text: String, fix: String },
    #[error("{time} is past; write {fix}")]
    Past { time: String, fix: String },
    #[error("{time} does not exist in {zone}, because the clock is put forward; write {fix}")]
    Skipped {
        time: String,
        zone: String,
        fix: String,
    },
    #[error("{time} occurs twice in {zone}, because the clock is put back; write {fix}")]
    Doubled {
        time: String,
        zone: String,
        fix: String,
    },
    #[error("{}", unknown_zone(name, near))]
    Zone { name: String, near: Vec<String> },
    #[error("cron expression: {field}: {problem}")]
    Cron {
        field: &'static str,
        problem: String,
    },
    #[error("every {seconds} s is too often; the minimum is {minimum} s")]
    TooOften { seconds: u64, minimum: u64 },
    #[error("{what} is out of range")]
    Range { what: String },
    #[error("`{expression}` is never due: no date matches it")]
    Never { expression: String },
}

/// One of each kind.
const EXAMPLES: &str = "`20m`, `in 2 hours`, `every 2h`, `every day at 8`, `weekdays at 9`, `mondays at 9:15`, \
    `every month on the 1st at 9`, `tomorrow 8:00`, `2026-12-24 18:00`, `0 9 * * 1-5`, each with a zone such as \
    `Europe/Berlin` after it if you like";

fn unknown_zone(name: &str, near: &[String]) -> String {
    if near.is_empty() {
        return format!(
            "there is no time zone `{name}`; write one such as `Europe/Berlin` or `UTC`"
        );
    }
    format!(
        "there is no time zone `{name}`; did you mean `{}`?",
        near.join("`, `")
    )
}
