//! Selects the entry that answers a request. Pure: the same request gets the same entry, in any process.
//!
//! There is no state between requests, because a run may be killed and resumed
//! elsewhere at any moment. Everything is derived from the conversation in the request.

use std::{borrow::Cow, cell::OnceCell};

use crate::ModelRequest;

use super::{
    conversation::{exchange, last_text, replies, replies_to},
    script::{CompiledScript, ScriptRule},
};

/// The selected entry with its turn.
pub(crate) struct EntryChoice<'s> {
    pub(crate) rule: &'s ScriptRule,
    /// The turn it was selected for.
    pub(crate) turn: u32,
    /// The reply after a failure: the text of a cut stream.
    pub(crate) behind: Option<&'s ScriptRule>,
}

/// Selects the entry for a request, if there is one.
pub(crate) fn select_entry<'s>(
    script: &'s CompiledScript,
    request: &ModelRequest,
) -> Option<EntryChoice<'s>> {
    let moment = ConditionContext::of(script, request);
    let mut fitting = script.rules.iter().filter(|rule| moment.fits(rule));
    let mut attempt = request.attempt;
    while let Some(rule) = fitting.next() {
        let turn = moment.turn(rule);
        if rule.entry.fault.is_none() {
            return Some(EntryChoice {
                rule,
                turn,
                behind: None,
            });
        }
        match attempt.checked_sub(rule.times().unwrap_or(1)) {
            Some(left) => attempt = left,
            None => {
                let behind = fitting.find(|rule| rule.entry.fault.is_none());
                return Some(EntryChoice { rule, turn, behind });
            }
        }
    }
    None
}

/// A request as the conditions of an entry see it.
struct ConditionContext<'r> {
    request: &'r ModelRequest,
    /// Number of the requested reply in the whole conversation.
    turn: u32,
    /// The message that began the exchange, and the number of the requested reply in it.
    exchange: Option<(Cow<'r, str>, u32)>,
    /// The text of the last message, computed on first use.
    last: OnceCell<Cow<'r, str>>,
}

impl<'r> ConditionContext<'r> {
    fn of(script: &CompiledScript, request: &'r ModelRequest) -> Self {
        let turn = replies(request).saturating_add(1);
        let mine = |agent: &Option<String>| is_for(agent.as_deref(), request);
        let begins = |text: &str| {
            script
                .openings
                .iter()
                .any(|opening| mine(&opening.agent) && opening.pattern.is_match(text))
        };
        let exchange = if script.openings.is_empty() {
            None
        } else {
            exchange(request, begins)
        };
        Self {
            request,
            turn,
            exchange,
            last: OnceCell::new(),
        }
    }

    /// The turn an entry counts: that of the exchange if it has `on`.
    fn turn(&self, rule: &ScriptRule) -> u32 {
        match (&rule.on, &self.exchange) {
            (Some(_), Some((_, turn))) => *turn,
            _ => self.turn,
        }
    }

    /// Whether all conditions hold; the cheap ones are checked first.
    fn fits(&self, rule: &ScriptRule) -> bool {
        is_for(rule.entry.when.agent.as_deref(), self.request)
            && rule.turns.contains(&self.turn(rule))
            && self.is_in_exchange(rule)
            && self.matches(rule)
    }

    fn is_in_exchange(&self, rule: &ScriptRule) -> bool {
        match (&rule.on, &self.exchange) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(pattern), Some((text, _))) => pattern.is_match(text),
        }
    }

    fn matches(&self, rule: &ScriptRule) -> bool {
        let Some(pattern) = &rule.matching else {
            return true;
        };
        if !pattern.is_match(self.last.get_or_init(|| last_text(self.request))) {
            return false;
        }
        let limited =
            rule.entry.fault.is_none() && (rule.times().is_some() || rule.used_before > 0);
        if !limited {
            return true;
        }
        let used = replies_to(self.request, |text| pattern.is_match(text));
        used.checked_sub(rule.used_before)
            .is_some_and(|used| rule.times().is_none_or(|times| used < times))
    }
}

/// Agent names are compared without case.
fn is_for(agent: Option<&str>, request: &ModelRequest) -> bool {
    agent.is_none_or(|name| name.eq_ignore_ascii_case(&request.agent))
}
