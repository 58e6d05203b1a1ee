//! What is known about one simple command: whether it only looks, acts by itself, or may run anything.
//!
//! Known programs only look if nothing about the call says otherwise; unknown ones act. What may run
//! another program or write a file by an option is never covered by a rule for its first words.

mod builtins;
mod careful;
mod find;
mod form;
mod git;
mod looking;
mod options;
mod printf;
mod programs;
mod runners;
mod sed;
mod tar;
mod wrappers;

use super::{Call, Word, variables};
use options::Options;
use programs::Knowledge;
pub use wrappers::unwrapped;

/// What a call may do, as far as its text tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It changes nothing and runs nothing else.
    Looks,
    /// It does what its program does. A rule must name at least so many words of it.
    Acts {
        /// How many words tell what it does: two for `cargo test`.
        least: usize,
    },
    /// It may run or write anything, because …
    Runs(&'static str),
}

/// A program that does its own work.
const ACTS: Standing = Standing::Acts { least: 1 };

/// What is known about a call.
pub fn standing(call: &Call) -> Standing {
    if call.words.is_empty() {
        let is_private = call.assignments.iter().all(|set| variables::is_private(&set.name));
        let is_tame = is_private || call.assignments.iter().all(variables::is_harmless);
        return if is_tame {
            Standing::Looks
        } else {
            Standing::Runs("it sets a variable that programs heed")
        };
    }
    if !call.assignments.iter().all(variables::is_harmless) {
        return Standing::Runs("it sets a variable that programs heed");
    }
    let (Some(program), Some(name)) = (call.program(), call.name()) else {
        return Standing::Runs("the name of its program is computed when it runs");
    };
    if name.is_empty() || program.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Standing::Runs("its program has no plain name");
    }
    let known = by_name(call, &name);
    let is_usual = !program.contains('/')
        || ["/bin/", "/usr/bin/"].iter().any(|place| program == format!("{place}{name}"));
    match known {
        // A program of this name in another place may be any program.
        Standing::Looks if !is_usual => ACTS,
        known => known,
    }
}

fn by_name(call: &Call, name: &str) -> Standing {
    let (words, options) = (call.arguments(), Options::of(call.arguments()));
    match programs::knowledge(name) {
        Knowledge::Looks => {
            let is_known = looking::form(name).is_none_or(|form| form.operands(words).is_some());
            if is_known { Standing::Looks } else { ACTS }
        }
        Knowledge::Careful => careful::standing(name, words).unwrap_or(ACTS),
        Knowledge::Acts { not } if options.may_have(not) => {
            Standing::Runs("one of its options runs a program or writes a file")
        }
        Knowledge::Acts { .. } | Knowledge::Unknown => ACTS,
        Knowledge::Runs => Standing::Runs("its program can run or write anything"),
        Knowledge::Builtin => builtins::standing(call, name),
        Knowledge::Find => find::standing(call),
        Knowledge::Git => git::standing(call),
        Knowledge::Sed => sed::standing(call),
        Knowledge::Tar => tar::standing(words),
        Knowledge::Runner(runner) => runners::standing(call, runner),
        // What it asks the agent to do is judged by itself when it asks.
        Knowledge::Own if words.first().and_then(Word::literal).as_deref() == Some("call") => Standing::Looks,
        Knowledge::Own => ACTS,
    }
}
