//! The attack corpus: nothing that must not be is allowed, and what must be is.

use std::collections::HashMap;

use rooftree_tools::Verdict;

use super::bench_of_rules::{judge_command, named};

const CORPUS: &str = include_str!("../../corpora/shell.txt");

fn unescaped(text: &str) -> String {
    let (mut plain, mut chars) = (String::new(), text.chars());
    while let Some(next) = chars.next() {
        if next != '\\' {
            plain.push(next);
            continue;
        }
        match chars.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some('\\') => plain.push('\\'),
            Some('u') => {
                let digits: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
                plain.push(char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).unwrap());
            }
            other => panic!("`\\{other:?}` is no escape of the corpus"),
        }
    }
    plain
}

#[test]
fn no_attack_is_allowed_and_no_honest_line_is_stopped() {
    let mut policies = HashMap::new();
    let (mut attacks, mut honest, mut wrong) = (0, 0, Vec::new());
    for line in CORPUS.lines().filter(|line| !line.starts_with('#')) {
        let [expected, set, command] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let policy = policies.entry(set).or_insert_with(|| named(set));
        let command = unescaped(command);
        // An empty line or a NUL is refused by the tool before anybody judges it.
        let is_allowed =
            !command.contains('\0') && matches!(judge_command(policy, &command), Verdict::Allow(_));
        let must_be = match expected {
            "allow" => true,
            "deny-or-ask" => false,
            other => panic!("{other}"),
        };
        *(if must_be { &mut honest } else { &mut attacks }) += 1;
        if is_allowed != must_be {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{} lines are judged wrongly:\n{}", wrong.len(), wrong.join("\n"));
    assert!(attacks >= 500 && honest * 4 >= attacks, "{attacks} attacks, {honest} honest lines");
}

#[test]
fn what_is_denied_is_denied_and_not_only_asked_about() {
    let policy = named("denied");
    let lines = CORPUS.lines().filter_map(|line| line.strip_prefix("deny-or-ask\tdenied\t"));
    let left: Vec<&str> =
        lines.filter(|line| !matches!(judge_command(&policy, &unescaped(line)), Verdict::Deny(_))).collect();
    assert!(left.is_empty(), "{left:#?}");
}
