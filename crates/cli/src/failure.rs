//! Prints errors: what failed, why, how to fix it.

use std::io::Write;

use rooftree_protocol::Problem;
use rooftree_runtime::SecretRedactor;

use crate::{exit::Exit, terminal::sanitize::clean};

/// A problem in the form people read.
pub fn in_words(problem: &Problem) -> String {
    let mut problem = problem.clone();
    // What a provider or a program said about its failure may repeat what it was given.
    SecretRedactor::default().clean_problem(&mut problem);
    let problem = &problem;
    let mut text = format!("error[{}]: {}\n", problem.code.number(), problem.message);
    let mut add = |label: &str, what: &Option<String>| {
        for (number, line) in what.iter().flat_map(|what| what.lines()).enumerate() {
            let label = if number == 0 { label } else { "" };
            text.push_str(&format!("  {label:<7}{line}\n"));
        }
    };
    add("cause:", &problem.cause);
    add("fix:", &problem.fix);
    clean(&text)
}

/// Prints the error on standard error and returns the exit code.
pub fn tell(problem: &Problem) -> Exit {
    // A write fails only if standard error is closed; then the error cannot be reported.
    let _ = std::io::stderr().write_all(in_words(problem).as_bytes());
    Exit::for_error(problem.code)
}
