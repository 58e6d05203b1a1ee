//! Prints errors: what failed, why, how to fix it.

use std::io::{IsTerminal, Write};

use rooftree_protocol::Problem;
use rooftree_runtime::SecretRedactor;

use crate::{
    exit::Exit,
    terminal::{sanitize::clean, width, wrap},
};

/// Columns before the words of a cause or a fix.
const LABEL: usize = 9;
/// On a terminal that is narrower nothing is wrapped: there would be a word per row.
const LEAST_COLUMNS: usize = 30;

/// A problem in the form people read, in rows of the terminal if standard error is one.
pub fn in_words(problem: &Problem) -> String {
    let columns = std::io::stderr()
        .is_terminal()
        .then(|| width().saturating_sub(1))
        .filter(|columns| *columns >= LEAST_COLUMNS);
    rendered(problem, columns)
}

fn rendered(problem: &Problem, columns: Option<usize>) -> String {
    let mut problem = problem.clone();
    // What a provider or a program said about its failure may repeat what it was given.
    SecretRedactor::default().clean_problem(&mut problem);
    let heading = format!("error[{}]: {}", problem.code.number(), problem.message);
    let mut text = labelled("", &heading, 2, columns);
    text += &labelled(
        "  cause: ",
        &problem.cause.unwrap_or_default(),
        LABEL,
        columns,
    );
    text += &labelled(
        "  fix:   ",
        &problem.fix.unwrap_or_default(),
        LABEL,
        columns,
    );
    text
}

/// Lines behind a label; all rows after the first are indented.
fn labelled(label: &str, lines: &str, indent: usize, columns: Option<usize>) -> String {
    let lines = clean(lines);
    let rows = lines.lines().flat_map(|line| match columns {
        Some(columns) => wrap::rows(line, columns.saturating_sub(indent)),
        None => vec![line.to_owned()],
    });
    rows.enumerate()
        .map(|(number, row)| match number {
            0 => format!("{label}{row}\n"),
            _ => format!("{:indent$}{row}\n", ""),
        })
        .collect()
}

/// Prints the error on standard error and returns the exit code.
pub fn tell(problem: &Problem) -> Exit {
    // A write fails only if standard error is closed; then the error cannot be reported.
    let _ = std::io::stderr().write_all(in_words(problem).as_bytes());
    Exit::for_error(problem.code)
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::ErrorCode;

    use super::*;

    #[test]
    fn an_error_is_wrapped_at_words_below_its_label() {
        let problem = Problem::new(
            ErrorCode::InvalidArguments,
            "there is no command or skill `/foo`",
        )
        .cause("one\ntwo")
        .fix("to say it to the agent, put a word before the slash; /help lists the commands");
        let expected = "error[E0201]: there is no command or\n  skill `/foo`\n  cause: one\n         two\n  \
                        fix:   to say it to the agent, put a\n         word before the slash; /help\n         \
                        lists the commands\n";
        assert_eq!(rendered(&problem, Some(40)), expected);
        assert!(
            rendered(&problem, Some(40))
                .lines()
                .all(|row| row.len() <= 40)
        );
        assert_eq!(rendered(&problem, None).lines().count(), 4);
    }
}
