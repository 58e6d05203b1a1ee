//! Hooks around questions to people: answering in their place, and telling that they are waited for.

use std::collections::BTreeMap;

use rooftree_protocol::{CallId, Question, QuestionReply, event::WaitReason};
use serde_json::{Value, json};

use super::{PreparedCall, ask_hooks, payload, tell, tools::about_call, wants};
use crate::{
    Error,
    agent::AgentActor,
    hooks::{HookAnswer, HookPoint},
};

/// What hooks answer in place of a person. If the run must end first, `agent.inbox.end_reason` says how.
pub(in crate::agent) async fn permission(
    agent: &mut AgentActor,
    one: &PreparedCall,
    reason: &str,
) -> Result<HookAnswer, Error> {
    if !wants(agent, HookPoint::PermissionRequest) {
        return Ok(HookAnswer::default());
    }
    let about = about_call(
        agent,
        HookPoint::PermissionRequest,
        one,
        json!({ "reason": reason }),
    );
    Ok(ask_hooks(agent, about).await?.unwrap_or_default())
}

/// A person is being waited for.
pub(in crate::agent) fn notify(agent: &AgentActor, reason: WaitReason, words: &str) {
    if !wants(agent, HookPoint::Notification) {
        return;
    }
    let kind = match reason {
        WaitReason::Permission => "permission_prompt",
        _ => "elicitation_dialog",
    };
    let message = format!("{} asks: {words}", agent.session.agent);
    let details = json!({"message": message, "title": "Rooftree", "notification_type": kind});
    tell(
        agent,
        payload(agent, HookPoint::Notification, details).named([kind.to_owned()]),
    );
}

/// The server whose tool a call is about; none if it is a tool of ours.
pub(in crate::agent) fn server_of(agent: &AgentActor, call: &CallId) -> Option<String> {
    let open = agent
        .history
        .open_calls()
        .find(|open| open.call.id == *call)?;
    let (server, _) = open.call.tool.strip_prefix("mcp__")?.split_once("__")?;
    Some(server.to_owned())
}

/// What hooks answer in place of a person to what a server asks; none if people are asked. If the run must
/// end first, `agent.inbox.end_reason` says how.
pub(in crate::agent) async fn elicitation(
    agent: &mut AgentActor,
    server: &str,
    questions: &[Question],
) -> Result<Option<QuestionReply>, Error> {
    if !wants(agent, HookPoint::Elicitation) {
        return Ok(None);
    }
    let message: Vec<&str> = questions
        .iter()
        .map(|question| question.text.as_str())
        .collect();
    let details = json!({
        "mcp_server_name": server, "message": message.join("\n"), "mode": "form", "questions": questions,
    });
    let about = payload(agent, HookPoint::Elicitation, details).named([server.to_owned()]);
    let Some(answer) = ask_hooks(agent, about).await? else {
        return Ok(None);
    };
    if let Some(why) = answer.refusal() {
        return Ok(Some(QuestionReply::Declined {
            because: Some(why.to_owned()),
        }));
    }
    let content = answer.input.filter(|_| answer.permits);
    Ok(content.map(|content| QuestionReply::Answered {
        answers: answers(&content),
    }))
}

/// Answers by the names of their questions. The asking tool validates them, as it validates a person's.
fn answers(content: &Value) -> BTreeMap<String, Vec<String>> {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let texts = |value: &Value| match value {
        Value::Array(values) => values.iter().map(text).collect(),
        value => vec![text(value)],
    };
    let given = content.as_object().into_iter().flatten();
    given
        .map(|(name, value)| (name.clone(), texts(value)))
        .collect()
}

/// What a server asked was answered, by a person or a hook.
pub(in crate::agent) fn elicited(agent: &AgentActor, server: &str, reply: &QuestionReply) {
    if !wants(agent, HookPoint::ElicitationResult) {
        return;
    }
    let (action, content) = match reply {
        QuestionReply::Answered { answers } => ("accept", json!(answers)),
        QuestionReply::Declined { .. } => ("decline", Value::Null),
    };
    let details =
        json!({"mcp_server_name": server, "action": action, "content": content, "mode": "form"});
    tell(
        agent,
        payload(agent, HookPoint::ElicitationResult, details).named([server.to_owned()]),
    );
}
