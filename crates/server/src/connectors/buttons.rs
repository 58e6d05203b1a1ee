//! Pressed buttons: who pressed, whether he may answer, and what the button means.

use rooftree_connectors::{Inbound, InboundBody};
use rooftree_protocol::{ChatTarget, PermissionScope};
use rooftree_runtime::{Error, PromptCopy};
use rooftree_store::ChatIdentity;

use super::{
    address::reply_target,
    button_data::{ButtonChoice, ButtonPress},
    chat_inbox::{ChatInbox, message_id},
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
        let pressed = reply_target(&self.name, &inbound.place, None);
        let pressed = ChatTarget {
            reply_to: message_id(inbound).map(str::to_owned),
            ..pressed
        };
        let noted = self.handle.note_pressed(&self.us, &inquiry.id, &pressed);
        let copy = noted.await?;
        let words = self.decide(&who, &inquiry, decision(button.choice)).await?;
        // No later message of the outbox changes it.
        if let Some(copy) = copy.filter(|copy| !copy.is_changed_later || inquiry.answer.is_some()) {
            self.change_copy(inbound, &copy, &words).await;
        }
        Ok(words)
    }

    /// Changes a message that asks what is answered: one that was sent twice, because its receipt was lost. What fails
    /// here is made good by the next press.
    async fn change_copy(&self, inbound: &Inbound, copy: &PromptCopy, words: &str) {
        let text = format!("{}\n\n{words}", copy.text.trim_end());
        let parts = self.connector.split(&text);
        if let (true, Some(last), Some(message)) = (
            self.connector.capabilities().edit,
            parts.last(),
            message_id(inbound),
        ) {
            let _ = self.connector.edit(&inbound.place, message, last).await;
        }
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
