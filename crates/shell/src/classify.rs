//! Classifies one simple command: read-only, acting by itself, or able to run anything.
//!
//! Known programs are read-only if nothing about the call says otherwise; unknown ones act. A call that may run
//! another program or write a file by an option is never covered by a rule for its first words.

mod builtins;
mod find;
mod git;
mod option_table;
mod options;
mod printf;
mod programs;
mod read_only;
mod read_only_forms;
mod runners;
mod sed;
mod tar;
mod wrappers;

use super::{ShellCall, ShellWord, variables};
use options::CallOptions;
use programs::ProgramClass;
pub use wrappers::unwrapped;

/// Class of a call: what it may do, as far as its text tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandClass {
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
const ACTS: CommandClass = CommandClass::Acts { least: 1 };

/// Classifies a call.
pub fn classify(call: &ShellCall) -> CommandClass {
    if call.words.is_empty() {
        let is_private = call
            .assignments
            .iter()
            .all(|set| variables::is_private(&set.name));
        let is_tame = is_private || call.assignments.iter().all(variables::is_harmless);
        return if is_tame {
            CommandClass::Looks
        } else {
            CommandClass::Runs("it sets a variable that programs heed")
        };
    }
    if !call.assignments.iter().all(variables::is_harmless) {
        return CommandClass::Runs("it sets a variable that programs heed");
    }
    let (Some(program), Some(name)) = (call.program(), call.name()) else {
        return CommandClass::Runs("the name of its program is computed when it runs");
    };
    if name.is_empty() || program.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return CommandClass::Runs("its program has no plain name");
    }
    let known = by_name(call, &name);
    let is_usual = !program.contains('/')
        || ["/bin/", "/usr/bin/"]
            .iter()
            .any(|place| program == format!("{place}{name}"));
    match known {
        // A program of this name in another place may be any program.
        CommandClass::Looks if !is_usual => ACTS,
        known => known,
    }
}

fn by_name(call: &ShellCall, name: &str) -> CommandClass {
    let (words, options) = (call.arguments(), CallOptions::of(call.arguments()));
    match programs::program_class(name) {
        ProgramClass::Looks => {
            let is_known = read_only::form(name).is_none_or(|form| form.operands(words).is_some());
            if is_known { CommandClass::Looks } else { ACTS }
        }
        ProgramClass::Careful => read_only_forms::classify(name, words).unwrap_or(ACTS),
        ProgramClass::Acts { not } if options.may_have(not) => {
            CommandClass::Runs("one of its options runs a program or writes a file")
        }
        ProgramClass::Acts { .. } | ProgramClass::Unknown => ACTS,
        ProgramClass::Runs => CommandClass::Runs("its program can run or write anything"),
        ProgramClass::Builtin => builtins::classify(call, name),
        ProgramClass::Find => find::classify(call),
        ProgramClass::Git => git::classify(call),
        ProgramClass::Sed => sed::classify(call),
        ProgramClass::Tar => tar::classify(words),
        ProgramClass::Runner(runner) => runners::classify(call, runner),
        // What it asks the agent to do is judged by itself when it asks.
        ProgramClass::Own
            if words.first().and_then(ShellWord::literal).as_deref() == Some("call") =>
        {
            CommandClass::Looks
        }
        ProgramClass::Own => ACTS,
    }
}
