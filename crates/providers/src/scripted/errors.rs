//! Error of a script that has no answer, with a suggestion for the missing entry.

use rooftree_stdx::shorten::shorten;

use crate::{Error, ModelMessage, ModelRequest};

use super::{
    conversation::{last_text, replies},
    script::CompiledScript,
};

/// The error for a request that no entry matches.
pub(crate) fn exhausted(script: &CompiledScript, request: &ModelRequest) -> Error {
    let agent = &request.agent;
    let turn = replies(request).saturating_add(1);
    let kind = match request.messages.last().map(|message| &**message) {
        Some(ModelMessage::Results(_)) => "tool results",
        Some(ModelMessage::User(_)) => "user message",
        Some(ModelMessage::Assistant { .. }) => "its own reply",
        None => "there is none",
    };
    let last = quote(&shorten(&last_text(request), 160));
    let attempt = match request.attempt {
        0 => String::new(),
        failed => format!(", after {failed} failed attempts"),
    };
    Error::Exhausted(format!(
        "script {name} has no reply for agent `{agent}` at turn {turn}{attempt}\n\
         last message ({kind}): {last}\n\
         {known}\n\
         this entry would answer:\n\n\
         [[reply]]\nagent = {quoted}\nturn = {turn}\ntext = \"…\"",
        name = script.name,
        known = known(script, request),
        quoted = quote(agent),
    ))
}

/// The entries the script does have for the agent.
fn known(script: &CompiledScript, request: &ModelRequest) -> String {
    let mine = |agent: &Option<String>| {
        agent
            .as_ref()
            .is_none_or(|name| name.eq_ignore_ascii_case(&request.agent))
    };
    let fitting: Vec<_> = script
        .rules
        .iter()
        .filter(|rule| rule.entry.fault.is_none() && mine(&rule.entry.when.agent))
        .collect();
    if fitting.is_empty() {
        let mut agents: Vec<&str> = script
            .rules
            .iter()
            .filter_map(|rule| rule.entry.when.agent.as_deref())
            .collect();
        agents.sort_unstable();
        agents.dedup();
        return match agents.as_slice() {
            [] => "the script has no replies".to_owned(),
            some => format!("the script has replies only for: {}", some.join(", ")),
        };
    }
    let in_order = fitting
        .iter()
        .filter(|rule| rule.matching.is_none() && rule.on.is_none());
    let end = in_order.clone().map(|rule| *rule.turns.end()).max();
    let conditional = fitting.len() - in_order.count();
    match (end, conditional) {
        (Some(end), 0) => format!("its replies end at turn {end}"),
        (None, some) => format!("none of its {some} replies with `on` or `match` fits"),
        (Some(end), some) => {
            format!("its replies end at turn {end}; none of {some} with `on` or `match` fits")
        }
    }
}

fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
