//! Hooks around questions to people: answering in their place, and telling that they are waited for.

use rooftree_protocol::event::WaitReason;
use serde_json::json;

use super::{Prepared, fire, occasion, tell, tools::about_call, wants};
use crate::{
    Error,
    agent::Agent,
    hooks::{Answer, Point},
};

/// What hooks answer in place of a person. If the run must end first, `agent.ending` says how.
pub(in crate::agent) async fn permission(
    agent: &mut Agent,
    one: &Prepared,
    reason: &str,
) -> Result<Answer, Error> {
    if !wants(agent, Point::PermissionRequest) {
        return Ok(Answer::default());
    }
    let about = about_call(agent, Point::PermissionRequest, one, json!({ "reason": reason }));
    Ok(fire(agent, about).await?.unwrap_or_default())
}

/// A person is being waited for.
pub(in crate::agent) fn notify(agent: &Agent, reason: WaitReason, words: &str) {
    if !wants(agent, Point::Notification) {
        return;
    }
    let kind = match reason {
        WaitReason::Permission => "permission_prompt",
        _ => "elicitation_dialog",
    };
    let message = format!("{} asks: {words}", agent.session.agent);
    let details = json!({"message": message, "title": "Rooftree", "notification_type": kind});
    tell(agent, occasion(agent, Point::Notification, details).named([kind.to_owned()]));
}
