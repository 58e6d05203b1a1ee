//! The corpus of lines with their effects: judged, and run in a real bash as the control of each.

use std::collections::BTreeMap;

use rooftree_shell::{ShellEffects, reads_outside};
use rooftree_tools::PolicyVerdict;

use super::oracle::{Oracle, find};
use crate::policy::{
    bench_of_rules::{judge_command, named},
    corpus::unescaped,
};

const CORPUS: &str = include_str!("../../corpora/shell_effects.txt");

/// One line of the corpus.
struct Case {
    class: &'static str,
    set: &'static str,
    effect: &'static str,
    command: String,
}

impl Case {
    fn all() -> Vec<Self> {
        let lines = CORPUS
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty());
        let read = |line: &'static str| {
            let [class, set, effect, command] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            Self {
                class,
                set,
                effect,
                command: unescaped(command),
            }
        };
        lines.map(read).collect()
    }

    fn is_benign(&self) -> bool {
        matches!(self.effect, "-" | "acts")
    }

    /// Whether the line is stopped, or in the set `outside` noticed.
    fn is_caught(&self) -> bool {
        match self.set {
            "outside" => reads_outside(&self.command),
            set => !matches!(
                judge_command(&named(set), &self.command),
                PolicyVerdict::Allow(_)
            ),
        }
    }

    /// Whether the programs it needs are there; those of every system are.
    fn can_run(&self) -> bool {
        const RARE: [&str; 8] = [
            "awk", "column", "file", "jq", "make", "perl", "python3", "xxd",
        ];
        let calls = ShellEffects::of(&self.command)
            .map(|deeds| deeds.calls)
            .unwrap_or_default();
        let names = calls.iter().filter_map(|call| call.name());
        names
            .filter(|name| RARE.contains(&name.as_str()))
            .all(|name| find(&name).is_some())
    }

    fn told(&self) -> String {
        format!(
            "{} ({}, {}): {:?}",
            self.class, self.set, self.effect, self.command
        )
    }
}

#[test]
fn every_line_with_an_effect_is_stopped_and_every_other_is_not() {
    let wrong: Vec<String> = Case::all()
        .iter()
        .filter(|case| case.is_caught() == case.is_benign())
        .map(Case::told)
        .collect();
    assert!(
        wrong.is_empty(),
        "{} lines are judged wrongly:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_class_has_lines_of_both_kinds() {
    let (cases, mut classes) = (Case::all(), BTreeMap::<&str, (usize, usize)>::new());
    for case in &cases {
        let counts = classes.entry(case.class).or_default();
        *(if case.is_benign() {
            &mut counts.1
        } else {
            &mut counts.0
        }) += 1;
    }
    assert!(
        classes.len() >= 12 && cases.len() >= 150,
        "{} classes, {} lines",
        classes.len(),
        cases.len()
    );
    assert!(
        classes
            .values()
            .all(|(attacks, benign)| *attacks > 0 && *benign > 0),
        "{classes:?}"
    );
    let benign: usize = classes.values().map(|(_, benign)| benign).sum();
    assert!(
        benign * 10 >= cases.len() * 3,
        "{benign} of {}",
        cases.len()
    );
}

#[test]
fn every_line_does_in_bash_what_the_corpus_says() {
    let (mut oracle, mut wrong, mut skipped) = (Oracle::new(), Vec::new(), 0);
    let cases = Case::all();
    for case in cases.iter().filter(|case| case.effect != "acts") {
        if !case.can_run() {
            skipped += 1;
            continue;
        }
        if case.effect == "-" {
            wrong.extend(oracle.harm(&case.command));
            continue;
        }
        let effects = oracle.run(&case.command);
        let (kind, name) = case.effect.split_once(' ').unwrap();
        let happened = match kind {
            "writes" => &effects.written,
            "sets" => &effects.set,
            _ => &effects.ran,
        };
        if !happened.contains(name) {
            wrong.push(format!("{} did {effects:?}", case.told()));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} lines do something else:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(
        skipped * 4 < cases.len(),
        "{skipped} lines could not be run here"
    );
}
