//! Senders who are not known or not allowed: pairing codes, groups that are not set up, refusals, moved chats.

use rooftree_connectors::{Inbound, InboundBody};
use rooftree_runtime::{Error, PAIRING_CODE_CHARS};

use super::{
    address::{reply_target, session_key},
    chat_inbox::ChatInbox,
};

/// How often the same is told to a person who may not do something, in milliseconds.
const TOLD_EVERY: i64 = 60 * 60 * 1000;

impl ChatInbox {
    /// A sender who is not paired: a code pairs him, anything else gets him one. In a group he gets nothing, because a
    /// code must not be read by others.
    pub(super) async fn unknown_sender(&self, inbound: &Inbound) -> Result<(), Error> {
        let InboundBody::Message { text, .. } = &inbound.body else {
            return Ok(());
        };
        if inbound.place.group {
            return Ok(());
        }
        let from = (inbound.from.id.as_str(), inbound.from.name.as_str());
        if looks_like_code(text) {
            let paired = self
                .handle
                .redeem_pairing(&self.us, &self.name, from, text)
                .await?;
            if let Some(identity) = paired {
                let more = if identity.may_approve {
                    " You may answer permission requests here."
                } else {
                    ""
                };
                let words = format!(
                    "You are paired as `{}`.{more} Write to begin, or send /help.",
                    identity.person
                );
                return self.tell(inbound, &words).await;
            }
        }
        let asked = self.handle.ask_pairing(&self.us, &self.name, from).await?;
        let Some(issued) = asked else {
            return Ok(());
        };
        let words = format!(
            "This assistant knows only people it is paired with. Give its owner this code within an hour:\n\n`{}`\n\n\
             He confirms it with `rooftree connectors pair {} {}`. A code that he gave you: send it here.",
            issued.code, self.name, issued.code
        );
        self.tell(inbound, &words).await
    }

    /// Whether it answers in a group. A paired person is told how to set it up, at most once an hour.
    pub(super) async fn is_open_group(&self, inbound: &Inbound) -> Result<bool, Error> {
        let chat = &inbound.place.chat;
        if self.settings.groups.iter().any(|open| open == chat) {
            return Ok(true);
        }
        let words = format!(
            "I do not answer in this group. Its owner can change that: `rooftree connectors set {} --group {chat}`",
            self.name
        );
        self.tell_hourly(inbound, "group", &words).await?;
        Ok(false)
    }

    /// Tells a paired sender that he may not write, at most once an hour.
    pub(super) async fn refuse_sending(&self, inbound: &Inbound) -> Result<(), Error> {
        let words = "You may not write to agents here.";
        self.tell_hourly(inbound, "send", words).await
    }

    async fn tell_hourly(&self, inbound: &Inbound, about: &str, words: &str) -> Result<(), Error> {
        let hour = self.clock.now().0.div_euclid(TOLD_EVERY);
        let chat = session_key(&self.name, &inbound.place, &inbound.from, true);
        let key = format!("refused/{about}/{chat}/{hour}");
        let target = reply_target(&self.name, &inbound.place, None);
        self.tell_keyed(target, &key, words).await
    }
}

/// Whether a text can only be a pairing code. Words of eight letters are taken for one too; a wrong code is harmless.
fn looks_like_code(text: &str) -> bool {
    let letters = text
        .trim()
        .chars()
        .filter(|letter| !matches!(letter, '-' | ' ' | '`'));
    let mut count = 0;
    for letter in letters {
        if !letter.is_ascii_alphanumeric() {
            return false;
        }
        count += 1;
    }
    count == PAIRING_CODE_CHARS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_recognised_however_they_are_typed() {
        for code in [
            "ABCD2345",
            "abcd2345",
            " ABCD-2345 ",
            "ABCD 2345",
            "`ABCD2345`",
        ] {
            assert!(looks_like_code(code), "{code}");
        }
        for text in ["", "ABCD234", "ABCD23456", "ABCD_345", "/new", "ABCDÉ345"] {
            assert!(!looks_like_code(text), "{text}");
        }
    }
}
