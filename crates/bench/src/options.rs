//! Command-line options: rounds, extent, row filter and output file.

use std::path::PathBuf;

use anyhow::{Result, bail};

/// Options of the benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchOptions {
    /// How often each side is measured.
    pub rounds: usize,
    /// Whether the amounts of work are reduced too.
    pub extent: BenchExtent,
    /// The file for the figures.
    pub json: PathBuf,
    /// Only rows whose name contains this.
    pub only: Option<String>,
}

/// How much work a row does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchExtent {
    /// The full amount, used for the figures in the documentation.
    Whole,
    /// A reduced amount, enough to see whether something broke.
    Quick,
}

impl BenchOptions {
    /// Parses the command line.
    pub fn parse(arguments: &[String]) -> Result<Self> {
        let json = PathBuf::from("target/bench.json");
        let mut options = Self {
            rounds: 7,
            extent: BenchExtent::Whole,
            json,
            only: None,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match (argument.as_str(), rest.len()) {
                ("--quick", _) => (options.rounds, options.extent) = (3, BenchExtent::Quick),
                ("--json", 1..) => {
                    options.json = rest.next().map(PathBuf::from).unwrap_or_default()
                }
                ("--only", 1..) => options.only = rest.next().cloned(),
                (other, _) => {
                    bail!("cannot make sense of `{other}`: [--quick] [--json FILE] [--only WORDS]")
                }
            }
        }
        Ok(options)
    }

    /// Whether a row is selected.
    pub fn wants(&self, name: &str) -> bool {
        self.only
            .as_ref()
            .is_none_or(|only| name.contains(only.as_str()))
    }

    /// The amount of work: full or reduced.
    pub fn amount(&self, whole: usize, quick: usize) -> usize {
        if self.extent == BenchExtent::Quick {
            quick
        } else {
            whole
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<BenchOptions> {
        BenchOptions::parse(
            &line
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn quick_measures_less_often_and_less() {
        let quick = parsed("--quick --json x.json").unwrap();
        assert_eq!((quick.rounds, quick.amount(100, 10)), (3, 10));
        assert_eq!(quick.json, PathBuf::from("x.json"));
        let whole = parsed("").unwrap();
        assert_eq!((whole.rounds, whole.amount(100, 10)), (7, 100));
    }

    #[test]
    fn rows_are_chosen_by_a_part_of_their_name() {
        let some = parsed("--only turn").unwrap();
        assert!(some.wants("one Read turn") && !some.wants("posts"));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(parsed("--fast").is_err());
        assert!(parsed("--json").is_err());
    }
}
