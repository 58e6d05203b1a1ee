//! Finds what was typed: a whole id, or a unique suffix of one. One look-up for sessions, runs, tasks and requests.

use rooftree_protocol::{ErrorCode, Problem};

/// Fewer characters than this are no suffix of an id: too many could be meant.
pub const SHORTEST_SUFFIX: usize = 4;
/// More candidates than this are not listed.
pub const MOST_CANDIDATES: usize = 10;

/// What is looked up, in words for error messages.
#[derive(Clone, Copy, Debug)]
pub struct IdKind {
    /// What one is called.
    pub singular: &'static str,
    /// What several are called.
    pub plural: &'static str,
    /// The code of the error if there is none.
    pub missing: ErrorCode,
    /// How to list what there is.
    pub list: &'static str,
}

pub const RUN: IdKind = IdKind {
    singular: "run",
    plural: "runs",
    missing: ErrorCode::TaskNotFound,
    list: "rooftree runs list --all shows what there is",
};

pub const TASK: IdKind = IdKind {
    singular: "task",
    plural: "tasks",
    missing: ErrorCode::TaskNotFound,
    list: "rooftree tasks list --all shows what there is",
};

pub const REQUEST: IdKind = IdKind {
    singular: "open request",
    plural: "open requests",
    missing: ErrorCode::TaskNotFound,
    list: "rooftree permissions list shows what is asked",
};

/// A candidate that a typed text may mean.
pub struct IdCandidate<T> {
    /// What it is.
    pub value: T,
    /// Its whole id.
    pub id: String,
    /// One line about it, to tell it from others.
    pub description: String,
}

/// The one that is meant: the one whose whole id was typed, else the only one whose id ends so.
pub fn one<T>(kind: IdKind, typed: &str, found: Vec<IdCandidate<T>>) -> Result<T, Problem> {
    let mut whole = Vec::new();
    let mut ending = Vec::new();
    for candidate in found {
        if candidate.id == typed {
            whole.push(candidate);
        } else if is_long_enough(typed) && candidate.id.ends_with(typed) {
            ending.push(candidate);
        }
    }
    let mut meant = if whole.is_empty() { ending } else { whole };
    match (meant.pop(), meant.is_empty()) {
        (Some(only), true) => Ok(only.value),
        (Some(last), false) => {
            meant.push(last);
            let lines: Vec<String> = meant.into_iter().map(|one| one.description).collect();
            Err(ambiguous(kind, typed, &lines))
        }
        (None, _) => Err(missing(kind, typed)),
    }
}

/// Whether enough was typed to be the end of an id.
pub fn is_long_enough(typed: &str) -> bool {
    typed.len() >= SHORTEST_SUFFIX
}

/// The error if several could be meant.
pub fn ambiguous(kind: IdKind, typed: &str, descriptions: &[String]) -> Problem {
    let mut lines: Vec<String> = descriptions.iter().take(MOST_CANDIDATES).cloned().collect();
    if descriptions.len() > MOST_CANDIDATES {
        lines.push(format!("and {} more", descriptions.len() - MOST_CANDIDATES));
    }
    let count = match descriptions.len() {
        count if count > MOST_CANDIDATES => "several".to_owned(),
        count => count.to_string(),
    };
    Problem::new(
        ErrorCode::InvalidArguments,
        format!("`{typed}` could be any of {count} {}", kind.plural),
    )
    .cause(lines.join("\n"))
    .fix("type more of the id")
}

/// The error if there is none.
pub fn missing(kind: IdKind, typed: &str) -> Problem {
    let problem = Problem::new(
        kind.missing,
        format!("there is no {} `{typed}`", kind.singular),
    );
    if is_long_enough(typed) {
        problem.fix(kind.list)
    } else {
        problem.fix(format!(
            "type at least {SHORTEST_SUFFIX} characters of an id"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ids: &[&str]) -> Vec<IdCandidate<usize>> {
        let candidate = |(value, id): (usize, &&str)| IdCandidate {
            value,
            id: (*id).to_owned(),
            description: (*id).to_owned(),
        };
        ids.iter().enumerate().map(candidate).collect()
    }

    #[test]
    fn none_one_and_several_are_told_apart() {
        let ids = ["run_aaaa1234", "run_bbbb1234", "run_cccc9999", "run_9999"];
        for (typed, wanted) in [
            ("run_aaaa1234", Ok(0)),
            ("b1234", Ok(1)),
            ("run_9999", Ok(3)),
            ("1234", Err("`1234` could be any of 2 runs")),
            ("9999", Err("`9999` could be any of 2 runs")),
            ("zzzz", Err("there is no run `zzzz`")),
            ("34", Err("there is no run `34`")),
        ] {
            let one = one(RUN, typed, found(&ids)).map_err(|problem| problem.message);
            assert_eq!(one, wanted.map_err(str::to_owned), "{typed}");
        }
    }
}
