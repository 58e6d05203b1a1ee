//! Slash commands about permission requests and questions: `/approve` and `/deny`.

use rooftree_connectors::Inbound;
use rooftree_protocol::{EventBody, PermissionScope, Principal};
use rooftree_runtime::Error;
use rooftree_store::Inquiry;

use super::super::{
    chat_inbox::{ChatInbox, KnownSender},
    inquiry_answers::ChatDecision,
};

impl ChatInbox {
    pub(super) async fn approve(
        &self,
        inbound: &Inbound,
        sender: &KnownSender,
        words: &str,
    ) -> Result<String, Error> {
        let (which, said) = split(words);
        self.answer_request(inbound, sender, which, |inquiry| match &inquiry.asked {
            EventBody::QuestionRequested { .. } => ChatDecision::Say(said.to_owned()),
            _ if said.eq_ignore_ascii_case("session") => {
                ChatDecision::Allow(PermissionScope::Session)
            }
            _ => ChatDecision::Allow(PermissionScope::Once),
        })
        .await
    }

    pub(super) async fn deny(
        &self,
        inbound: &Inbound,
        sender: &KnownSender,
        words: &str,
    ) -> Result<String, Error> {
        let (which, why) = split(words);
        let because = Some(why.to_owned()).filter(|why| !why.is_empty());
        self.answer_request(inbound, sender, which, |_| ChatDecision::Deny(because))
            .await
    }

    /// Answers one of the requests that were listed to this sender last, so that a number never means another one than he
    /// saw. Without a number, or without a list, lists them.
    async fn answer_request(
        &self,
        inbound: &Inbound,
        sender: &KnownSender,
        which: &str,
        decide: impl FnOnce(&Inquiry) -> ChatDecision,
    ) -> Result<String, Error> {
        if !sender.identity.may_approve {
            return Ok("You may not answer requests.".into());
        }
        let who = self.approver(&sender.identity, &inbound.from);
        if which.is_empty() {
            return self.list_requests(&who, inbound).await;
        }
        let named = match which.parse::<usize>() {
            Ok(number) => self.listed.find(&inbound.from.id, number),
            Err(_) if which.len() >= 6 => Some(which.to_owned()),
            Err(_) => None,
        };
        let Some(named) = named else {
            let list = self.list_requests(&who, inbound).await?;
            return Ok(format!("Which one?\n\n{list}"));
        };
        match self.handle.queries(&who).inquiry(&named).await? {
            Some(inquiry) => {
                let decision = decide(&inquiry);
                self.decide(&who, &inquiry, decision).await
            }
            None => Ok("There is no such request, or it is not yours.".into()),
        }
    }

    async fn list_requests(&self, who: &Principal, inbound: &Inbound) -> Result<String, Error> {
        let mut open = self.handle.queries(who).inquiries(None).await?;
        open.retain(|inquiry| inquiry.answer.is_none() && inquiry.until > self.clock.now());
        let ids = open.iter().map(|inquiry| inquiry.id.clone()).collect();
        self.listed.keep(&inbound.from.id, ids);
        if open.is_empty() {
            return Ok("Nothing is asked.".into());
        }
        let lines = open
            .iter()
            .enumerate()
            .map(|(at, inquiry)| format!("{}. {}", at + 1, described(inquiry)));
        let lines: Vec<String> = lines.collect();
        let how =
            "/approve N allows, /approve N session allows it for the session, /deny N refuses";
        Ok(format!("{}\n\n{how}", lines.join("\n")))
    }
}

fn described(inquiry: &Inquiry) -> String {
    let what = match &inquiry.asked {
        EventBody::PermissionRequested { tool, title, .. } => format!("{tool}: {title}"),
        EventBody::QuestionRequested { questions, .. } => {
            let texts: Vec<&str> = questions.iter().map(|one| one.text.as_str()).collect();
            texts.join(" / ")
        }
        _ => String::new(),
    };
    let what: String = what.chars().take(200).collect();
    format!("{} · {}", inquiry.agent, what.replace('\n', " "))
}

fn split(words: &str) -> (&str, &str) {
    match words.split_once(char::is_whitespace) {
        Some((which, rest)) => (which, rest.trim()),
        None => (words, ""),
    }
}
