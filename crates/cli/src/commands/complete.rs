//! Shell completion at run time: prints what could stand at the end of a command line, for the scripts of `completions`.

mod parse;
mod values;

use clap::{Args, Command};
use rooftree_protocol::Problem;

use self::parse::{CompletionTarget, Expected};
use crate::{environment::Environment, exit::Exit, output};

/// Options of `__complete`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The words after the name of the program; the last one is the one that is completed
    #[arg(
        value_name = "WORDS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<String>,
}

/// Something that can stand there, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub text: String,
    pub about: String,
}

impl Candidate {
    fn new(text: impl Into<String>, about: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            about: about.into(),
        }
    }
}

/// Prints one candidate per line: what to write, a tab, what it is. A single line `:files` or `:directories` leaves it
/// to the shell. What cannot be looked up gives no candidates: an error would disturb the line that is being typed.
pub async fn execute(
    arguments: Arguments,
    mut tree: Command,
    environment: &Environment,
) -> Result<Exit, Problem> {
    tree.build();
    let CompletionTarget {
        expected,
        prefix,
        current,
        directory,
    } = parse::target(&tree, &arguments.words);
    let environment = environment.moved(directory.as_deref());
    let candidates = match expected {
        Expected::Known(candidates) => candidates,
        Expected::Value(kind) => values::of(kind, &environment).await,
        Expected::Files => return ended(":files\n"),
        Expected::Directories => return ended(":directories\n"),
    };
    let fitting = candidates
        .iter()
        .filter(|candidate| candidate.text.starts_with(&current));
    let lines = fitting.map(|candidate| {
        let about: Vec<&str> = candidate.about.split_whitespace().collect();
        format!("{prefix}{}\t{}\n", candidate.text, about.join(" "))
    });
    ended(&lines.collect::<String>())
}

fn ended(text: &str) -> Result<Exit, Problem> {
    output::print(text)?;
    Ok(Exit::DONE)
}
