//! Pressed buttons: who pressed, whether he may answer, and what the button means.

use rooftree_connectors::{Inbound, InboundBody};
use rooftree_protocol::PermissionScope;
use rooftree_runtime::Error;
use rooftree_store::ChatIdentity;

use super::{inbound::ChatInbox, inquiry_answers::ChatDecision};

impl ChatInbox {
    /// Answers a press. Only the one who pressed sees the words; the message itself is changed through the outbox.
    pub(super) async fn pressed(
        &self,
        inbound: &Inbound,
        identity: Option<ChatIdentity>,
    ) -> Result<(), Error> {
        let InboundBody::Button { data, press, .. } = &inbound.body else {
            return Ok(());
        };
        let words = self.press_words(inbound, identity, data).await?;
        // The answer to a press is a courtesy: what counts is stored.
        let _ = self.connector.answer_button(press, &words).await;
        Ok(())
    }

    async fn press_words(
        &self,
        inbound: &Inbound,
        identity: Option<ChatIdentity>,
        data: &str,
    ) -> Result<String, Error> {
        let Some(identity) = identity else {
            return Ok("You are not paired with this assistant.".into());
        };
        if !identity.may_approve {
            return Ok("You may not answer requests.".into());
        }
        let Some((id, decision)) = parse_button(data) else {
            return Ok("This button does not work any more.".into());
        };
        let who = self.approver(&identity, &inbound.from);
        let Some(inquiry) = self.handle.queries(&who).inquiry(id).await? else {
            return Ok("There is no such request, or it is not yours.".into());
        };
        self.decide(&who, &inquiry, decision).await
    }
}

/// The end of the id of what is asked, and the decision that a button stands for.
fn parse_button(data: &str) -> Option<(&str, ChatDecision)> {
    let rest = data.strip_prefix("p:")?;
    let (id, what) = rest.rsplit_once(':')?;
    let decision = match what {
        "y" => ChatDecision::Allow(PermissionScope::Once),
        "s" => ChatDecision::Allow(PermissionScope::Session),
        "n" => ChatDecision::Deny(None),
        number => ChatDecision::Choose(number.parse().ok()?),
    };
    (id.len() >= 8).then_some((id, decision))
}
