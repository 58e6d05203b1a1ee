//! Pressed buttons: who pressed, whether he may answer, and what the button means.

use rooftree_connectors::{Inbound, InboundBody};
use rooftree_protocol::PermissionScope;
use rooftree_runtime::Error;
use rooftree_store::ChatIdentity;

use super::{
    button_data::{ButtonChoice, ButtonPress},
    chat_inbox::ChatInbox,
    inquiry_answers::ChatDecision,
};

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
        let Ok(button) = data.parse::<ButtonPress>() else {
            return Ok("This button does not work any more.".into());
        };
        let who = self.approver(&identity, &inbound.from);
        let Some(inquiry) = self.handle.queries(&who).inquiry(&button.inquiry).await? else {
            return Ok("There is no such request, or it is not yours.".into());
        };
        self.decide(&who, &inquiry, decision(button.choice)).await
    }
}

fn decision(choice: ButtonChoice) -> ChatDecision {
    match choice {
        ButtonChoice::Allow => ChatDecision::Allow(PermissionScope::Once),
        ButtonChoice::AllowSession => ChatDecision::Allow(PermissionScope::Session),
        ButtonChoice::Deny => ChatDecision::Deny(None),
        ButtonChoice::Option(number) => ChatDecision::Choose(number.into()),
    }
}
