//! Hooks before and after the context is made smaller.

use rooftree_protocol::{EventBody, event::NoticeLevel};
use serde_json::json;

use super::{apply_hook_answer, ask_hooks, lifecycle, payload, record_hook_answer, wants};
use crate::{
    Error,
    agent::{AgentActor, decide::CompactionStep},
    hooks::{HookAnswer, HookPoint},
    signals::CompactionRequest,
};

/// Code of the notice that a person's request to compact was not done.
const NOT_COMPACTED: &str = "not_compacted";

/// Says that a person's request to make the context smaller was not done, and why.
pub(in crate::agent) fn not_compacted(why: &str) -> EventBody {
    EventBody::Notice {
        level: NoticeLevel::Warning,
        code: NOT_COMPACTED.into(),
        message: format!("The context was not compacted: {why}."),
        hint: None,
    }
}

/// Why the context is made smaller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::agent) enum CompactionTrigger {
    /// It has to be.
    #[default]
    Auto,
    /// A person wants it, and may have said what the summary should keep.
    Manual(String),
}

impl CompactionTrigger {
    pub(in crate::agent) fn of(request: Option<&CompactionRequest>) -> Self {
        let focus = |request: &CompactionRequest| request.focus.clone().unwrap_or_default();
        request.map_or(Self::Auto, |request| Self::Manual(focus(request)))
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Manual(_) => "manual",
        }
    }
}

/// Whether hooks want the context left alone until the next reply. Where there is no room left they
/// cannot: there is no other way to go on.
pub(in crate::agent) async fn puts_off(
    agent: &mut AgentActor,
    squeeze: CompactionStep,
) -> Result<bool, Error> {
    if !wants(agent, HookPoint::PreCompact) {
        return Ok(false);
    }
    let trigger = CompactionTrigger::of(agent.inbox.compact.as_ref());
    let focus = match &trigger {
        CompactionTrigger::Manual(focus) => focus.as_str(),
        CompactionTrigger::Auto => "",
    };
    let details = json!({"trigger": trigger.name(), "custom_instructions": focus});
    let about = payload(agent, HookPoint::PreCompact, details).named([trigger.name().to_owned()]);
    let Some(answer) = ask_hooks(agent, about).await? else {
        return Ok(true);
    };
    let Some(why) = answer.refusal() else {
        record_hook_answer(agent, HookPoint::PreCompact, None, &answer);
        return Ok(agent.inbox.end_reason.is_some());
    };
    let is_possible = squeeze == CompactionStep::Summarise && agent.model.refusals == 0;
    let words = if trigger != CompactionTrigger::Auto {
        agent.inbox.compact = None;
        agent.note(not_compacted(&format!("a hook refuses it: {why}")));
        return Ok(true);
    } else if is_possible {
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
    trigger: &CompactionTrigger,
    summary: &str,
) -> Result<(), Error> {
    if wants(agent, HookPoint::PostCompact) {
        let trigger = trigger.name();
        let details = json!({"trigger": trigger, "compact_summary": summary});
        let about = payload(agent, HookPoint::PostCompact, details).named([trigger.to_owned()]);
        let Some(answer) = ask_hooks(agent, about).await? else {
            return Ok(());
        };
        record_hook_answer(agent, HookPoint::PostCompact, None, &answer);
    }
    lifecycle::start_session(agent, "compact").await
}
