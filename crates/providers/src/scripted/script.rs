//! A validated script: patterns and templates compiled, every entry with the turns it is used for.

use std::{collections::HashMap, ops::RangeInclusive, sync::Arc};

use regex::Regex;

use super::{
    entry::{ScriptEntry, ScriptHeader, ScriptedReply},
    script_position::{ScriptError, ScriptText},
    templates::ScriptTemplates,
};

/// A script ready to be used.
pub(crate) struct CompiledScript {
    pub(crate) name: Arc<str>,
    pub(crate) header: ScriptHeader,
    /// In the order in which they are tried; see [`rank`].
    pub(crate) rules: Vec<ScriptRule>,
    /// Patterns that begin an exchange: every distinct `on`.
    pub(crate) openings: Vec<ExchangeStart>,
    pub(crate) templates: ScriptTemplates,
}

/// An entry with everything precomputed that does not depend on a request.
pub(crate) struct ScriptRule {
    pub(crate) entry: ScriptEntry,
    pub(crate) on: Option<Regex>,
    pub(crate) matching: Option<Regex>,
    pub(crate) turns: RangeInclusive<u32>,
    /// For a `match` reply: how often earlier entries with the same conditions are used first.
    pub(crate) used_before: u32,
}

impl ScriptRule {
    /// For how many turns, messages or attempts it is used; none: no limit.
    pub(crate) fn times(&self) -> Option<u32> {
        self.entry.when.times
    }
}

/// A pattern that begins an exchange, for one agent or for all.
pub(crate) struct ExchangeStart {
    pub(crate) agent: Option<String>,
    pub(crate) pattern: Regex,
}

impl CompiledScript {
    /// Validates entries and sorts them into the order in which they are tried.
    pub(crate) fn compile(
        name: &str,
        header: ScriptHeader,
        entries: Vec<ScriptEntry>,
    ) -> Result<Self, ScriptError> {
        let mut templates = ScriptTemplates::default();
        let mut numbering = EntryNumbering::default();
        let mut openings: Vec<ExchangeStart> = Vec::new();
        let mut rules = Vec::with_capacity(entries.len());
        for entry in entries {
            learn(&mut templates, &entry.words)?;
            let rule = numbering.number(entry)?;
            if let Some(pattern) = &rule.on {
                let agent = &rule.entry.when.agent;
                let same = |known: &ExchangeStart| {
                    known.agent == *agent && known.pattern.as_str() == pattern.as_str()
                };
                if !openings.iter().any(same) {
                    openings.push(ExchangeStart {
                        agent: agent.clone(),
                        pattern: pattern.clone(),
                    });
                }
            }
            rules.push(rule);
        }
        rules.sort_by_key(rank);
        Ok(Self {
            name: name.into(),
            header,
            rules,
            openings,
            templates,
        })
    }
}

/// Precedence, more specific entries first: `match`, then `on`, then plain order; entries for one agent before
/// those for all; failures before the reply they delay. Otherwise the order of the file.
fn rank(rule: &ScriptRule) -> (u8, bool, bool) {
    let kind = match (&rule.matching, &rule.on) {
        (Some(_), _) => 0,
        (None, Some(_)) => 1,
        (None, None) => 2,
    };
    (
        kind,
        rule.entry.when.agent.is_none(),
        rule.entry.fault.is_none(),
    )
}

fn learn(templates: &mut ScriptTemplates, words: &ScriptedReply) -> Result<(), ScriptError> {
    for passage in words.text.iter().chain(&words.thinking) {
        templates.learn(passage)?;
    }
    words
        .calls
        .iter()
        .try_for_each(|call| templates.learn_shape(&call.input))
}

/// Entries of the same agent and the same `on` are counted together.
type EntrySequence = (Option<String>, Option<String>);

#[derive(Default)]
struct EntryNumbering {
    next: HashMap<EntrySequence, u32>,
    taken: HashMap<EntrySequence, Vec<(RangeInclusive<u32>, usize)>>,
    matched: HashMap<(EntrySequence, Option<u32>, String), u32>,
}

impl EntryNumbering {
    fn number(&mut self, entry: ScriptEntry) -> Result<ScriptRule, ScriptError> {
        let on = entry.when.on.as_ref().map(pattern).transpose()?;
        let matching = entry.when.matching.as_ref().map(pattern).transpose()?;
        let sequence = (
            entry
                .when
                .agent
                .as_ref()
                .map(|name| name.to_ascii_lowercase()),
            entry.when.on.as_ref().map(|passage| passage.text.clone()),
        );
        let mut rule = ScriptRule {
            turns: 1..=u32::MAX,
            used_before: 0,
            on,
            matching,
            entry,
        };
        match rule
            .matching
            .as_ref()
            .map(|pattern| pattern.as_str().to_owned())
        {
            Some(text) => {
                let key = (sequence, rule.entry.when.turn, text);
                self.number_match(&mut rule, key);
            }
            None => self.number_in_order(&mut rule, sequence)?,
        }
        Ok(rule)
    }

    /// Numbers a `match` entry, which is outside the order; `times` lets equal ones follow each other.
    fn number_match(&mut self, rule: &mut ScriptRule, key: (EntrySequence, Option<u32>, String)) {
        if let Some(turn) = rule.entry.when.turn {
            rule.turns = turn..=turn;
        }
        if rule.entry.fault.is_none() {
            let used = self.matched.entry(key).or_default();
            rule.used_before = *used;
            *used = used.saturating_add(rule.times().unwrap_or(u32::MAX));
        }
    }

    /// Numbers any other entry: it takes the next turns of its sequence; a failure shares the turn of the next reply.
    fn number_in_order(
        &mut self,
        rule: &mut ScriptRule,
        sequence: EntrySequence,
    ) -> Result<(), ScriptError> {
        let next = self.next.entry(sequence.clone()).or_insert(1);
        let first = rule.entry.when.turn.unwrap_or(*next);
        *next = first;
        rule.turns = first..=first;
        if rule.entry.fault.is_some() {
            return Ok(());
        }
        *next = first.saturating_add(rule.times().unwrap_or(1));
        rule.turns = first..=next.saturating_sub(1);
        let taken = self.taken.entry(sequence).or_default();
        let overlaps = |other: &RangeInclusive<u32>| {
            other.start() <= rule.turns.end() && rule.turns.start() <= other.end()
        };
        if let Some((_, line)) = taken.iter().find(|(turns, _)| overlaps(turns)) {
            let what = format!("turn {first} already has a reply, from line {line}");
            return Err(ScriptError::new(rule.entry.place, what)
                .fix("give it another `turn`, or a `match` to tell them apart"));
        }
        taken.push((rule.turns.clone(), rule.entry.place.line));
        Ok(())
    }
}

fn pattern(passage: &ScriptText) -> Result<Regex, ScriptError> {
    Regex::new(&passage.text).map_err(|error| {
        let reason = error.to_string();
        let reason = reason
            .lines()
            .last()
            .unwrap_or_default()
            .trim_start_matches("error: ");
        ScriptError::new(
            passage.place,
            format!("`{}` is not a regular expression: {reason}", passage.text),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::parse::read;

    fn compile(text: &str) -> Result<CompiledScript, ScriptError> {
        let (header, entries) = read(text)?;
        CompiledScript::compile("test.toml", header, entries)
    }

    #[test]
    fn entries_are_numbered_in_order_for_each_agent_and_each_opening() {
        let script = compile(
            r#"
            [[reply]]
            text = "1"
            [[reply]]
            agent = "a"
            text = "a1"
            times = 3
            [[reply]]
            error = "broken"
            [[reply]]
            text = "2"
            [[reply]]
            on = "x"
            text = "x1"
            [[reply]]
            agent = "A"
            text = "a4"
            [[reply]]
            turn = 7
            text = "7"
            [[reply]]
            text = "8"
            "#,
        )
        .unwrap();
        let turns: Vec<String> = script
            .rules
            .iter()
            .map(|rule| {
                let text = rule
                    .entry
                    .words
                    .text
                    .as_ref()
                    .map_or("error", |passage| passage.text.as_str());
                format!("{text} at {}-{}", rule.turns.start(), rule.turns.end())
            })
            .collect();
        let expected = [
            "x1 at 1-1",
            "a1 at 1-3",
            "a4 at 4-4",
            "error at 2-2",
            "1 at 1-1",
            "2 at 2-2",
            "7 at 7-7",
            "8 at 8-8",
        ];
        assert_eq!(turns, expected);
    }

    #[test]
    fn what_cannot_work_is_refused_when_the_script_is_read() {
        let table = [
            (
                "[[reply]]\ntext='a'\n[[reply]]\nturn=1\ntext='b'",
                3,
                "turn 1 already has a reply, from line 1",
            ),
            (
                "[[reply]]\ntimes=3\ntext='a'\n[[reply]]\nturn=2\ntext='b'",
                4,
                "turn 2 already has a reply",
            ),
            (
                "[[reply]]\nmatch='('\ntext='a'",
                2,
                "not a regular expression: unclosed group",
            ),
            ("[[reply]]\ntext='{{ a'", 2, "template `{{ a`"),
            (
                "[[reply]]\ntext=\"\"\"\nfine\n{{ resluts }}\"\"\"",
                4,
                "templates do not know `resluts`",
            ),
            (
                "[[reply]]\ntext='{% set a = 1 %}{{ a + b + range(2) }}'",
                2,
                "templates do not know `b`",
            ),
            (
                "[[reply]]\n[[reply.call]]\ntool='T'\ninput={a=['{% if %}']}",
                4,
                "template `{% if %}`",
            ),
        ];
        for (text, line, what) in table {
            let Err(flaw) = compile(text) else {
                panic!("{text} should be refused")
            };
            assert_eq!(flaw.place.line, line, "{text}\n{flaw:?}");
            assert!(flaw.what.contains(what), "{text}\n{flaw:?}");
        }
    }
}
