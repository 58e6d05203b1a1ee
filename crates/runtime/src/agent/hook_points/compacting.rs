//! Hooks before and after the context is made smaller.

use serde_json::json;

use super::{fire, heed, keep, life, occasion, wants};
use crate::{
    Error,
    agent::{Agent, decide::Squeeze},
    hooks::{Answer, Point},
};

/// The context is only ever made smaller because it has to be.
const TRIGGER: &str = "auto";

/// Whether hooks want the context left alone until the next reply. Where there is no room left they
/// cannot: there is no other way to go on.
pub(in crate::agent) async fn puts_off(agent: &mut Agent, squeeze: Squeeze) -> Result<bool, Error> {
    if !wants(agent, Point::PreCompact) {
        return Ok(false);
    }
    let details = json!({"trigger": TRIGGER, "custom_instructions": ""});
    let about = occasion(agent, Point::PreCompact, details).named([TRIGGER.to_owned()]);
    let Some(answer) = fire(agent, about).await? else { return Ok(true) };
    let Some(why) = answer.refusal() else {
        keep(agent, Point::PreCompact, None, &answer);
        return Ok(agent.ending.is_some());
    };
    let is_possible = squeeze == Squeeze::Summarise && agent.refusals == 0;
    let words = if is_possible {
        agent.hooked.put_off = Some(agent.history.reply_at());
        format!("a hook puts off making the context smaller: {why}")
    } else {
        format!("a hook wants to put off making the context smaller, but there is no room left: {why}")
    };
    heed(agent, &Answer { notices: vec![words], ..Answer::default() });
    Ok(is_possible)
}

/// The context was made smaller.
pub(in crate::agent) async fn compacted(agent: &mut Agent, summary: &str) -> Result<(), Error> {
    if wants(agent, Point::PostCompact) {
        let details = json!({"trigger": TRIGGER, "compact_summary": summary});
        let about = occasion(agent, Point::PostCompact, details).named([TRIGGER.to_owned()]);
        let Some(answer) = fire(agent, about).await? else { return Ok(()) };
        keep(agent, Point::PostCompact, None, &answer);
    }
    life::start_session(agent, "compact").await
}
