//! Hooks before and after the context is made smaller.

use serde_json::json;

use super::{apply_hook_answer, ask_hooks, lifecycle, payload, record_hook_answer, wants};
use crate::{
    Error,
    agent::{AgentActor, decide::CompactionStep},
    hooks::{HookAnswer, HookPoint},
};

/// The context is only ever made smaller because it has to be.
const TRIGGER: &str = "auto";

/// Whether hooks want the context left alone until the next reply. Where there is no room left they
/// cannot: there is no other way to go on.
pub(in crate::agent) async fn puts_off(
    agent: &mut AgentActor,
    squeeze: CompactionStep,
) -> Result<bool, Error> {
    if !wants(agent, HookPoint::PreCompact) {
        return Ok(false);
    }
    let details = json!({"trigger": TRIGGER, "custom_instructions": ""});
    let about = payload(agent, HookPoint::PreCompact, details).named([TRIGGER.to_owned()]);
    let Some(answer) = ask_hooks(agent, about).await? else {
        return Ok(true);
    };
    let Some(why) = answer.refusal() else {
        record_hook_answer(agent, HookPoint::PreCompact, None, &answer);
        return Ok(agent.inbox.end_reason.is_some());
    };
    let is_possible = squeeze == CompactionStep::Summarise && agent.model.refusals == 0;
    let words = if is_possible {
        agent.hook_state.put_off = Some(agent.history.reply_at());
        format!("a hook puts off making the context smaller: {why}")
    } else {
        format!(
            "a hook wants to put off making the context smaller, but there is no room left: {why}"
        )
    };
    apply_hook_answer(
        agent,
        &HookAnswer {
            notices: vec![words],
            ..HookAnswer::default()
        },
    );
    Ok(is_possible)
}

/// The context was made smaller.
pub(in crate::agent) async fn compacted(
    agent: &mut AgentActor,
    summary: &str,
) -> Result<(), Error> {
    if wants(agent, HookPoint::PostCompact) {
        let details = json!({"trigger": TRIGGER, "compact_summary": summary});
        let about = payload(agent, HookPoint::PostCompact, details).named([TRIGGER.to_owned()]);
        let Some(answer) = ask_hooks(agent, about).await? else {
            return Ok(());
        };
        record_hook_answer(agent, HookPoint::PostCompact, None, &answer);
    }
    lifecycle::start_session(agent, "compact").await
}
