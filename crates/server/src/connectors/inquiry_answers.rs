//! Answers to permission requests and questions that people give in a chat, by button or by command.

use rooftree_connectors::ChatSender;
use rooftree_protocol::{
    Answer, EventBody, PermissionDecision, PermissionId, PermissionScope, Principal, Question,
    QuestionId, QuestionReply, command::Command,
};
use rooftree_runtime::Error;
use rooftree_store::{ChatIdentity, Inquiry};

use super::chat_inbox::{ChatInbox, is_final, shown_name};

/// What a person decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ChatDecision {
    /// Yes, for so long.
    Allow(PermissionScope),
    /// No, with words to the model.
    Deny(Option<String>),
    /// The choice at this place of the only question.
    Choose(usize),
    /// Words, or the label of a choice, for the only question.
    Say(String),
}

impl ChatInbox {
    /// The person as the one who decides: on his own authority, also in a group.
    pub(super) fn approver(&self, identity: &ChatIdentity, from: &ChatSender) -> Principal {
        Principal {
            person: identity.person.clone(),
            on_behalf_of: Some(shown_name(from)),
            ..self.us.clone()
        }
    }

    /// Gives an answer and says in words what came of it. The first answer counts; a later one learns who was first.
    pub(super) async fn decide(
        &self,
        who: &Principal,
        inquiry: &Inquiry,
        decision: ChatDecision,
    ) -> Result<String, Error> {
        let (command, words) = match answer_command(inquiry, decision) {
            Ok(answer) => answer,
            Err(words) => return Ok(words),
        };
        match self.handle.send(who, command).await {
            Ok(_) => Ok(words),
            Err(error) if is_final(&error) => {
                let problem = error.problem();
                let because = problem.cause.map(|cause| format!(": {cause}"));
                Ok(format!(
                    "Not counted{}.",
                    because.unwrap_or_else(|| format!(": {}", problem.message))
                ))
            }
            Err(error) => Err(error),
        }
    }
}

/// The command of an answer, and what to say of it; or why it is none.
fn answer_command(inquiry: &Inquiry, decision: ChatDecision) -> Result<(Command, String), String> {
    match &inquiry.asked {
        EventBody::PermissionRequested { id, scopes, .. } => {
            permit(inquiry, (id, scopes.as_slice()), decision)
        }
        EventBody::QuestionRequested { id, questions, .. } => {
            let (reply, words) = question_reply(questions, decision)?;
            let question: QuestionId = id.clone();
            Ok((Command::Reply { question, reply }, words))
        }
        _ => Err("This cannot be answered here.".into()),
    }
}

/// Invariant: the answer names the digest of what was shown, so that it never counts for another call.
fn permit(
    inquiry: &Inquiry,
    (id, scopes): (&PermissionId, &[PermissionScope]),
    decision: ChatDecision,
) -> Result<(Command, String), String> {
    let answer = match decision {
        ChatDecision::Allow(scope) if scope == PermissionScope::Once || scopes.contains(&scope) => {
            Answer::allow(scope)
        }
        ChatDecision::Allow(_) => return Err("This can only be allowed once.".into()),
        ChatDecision::Deny(because) => Answer::deny(because),
        ChatDecision::Choose(_) | ChatDecision::Say(_) => {
            return Err("This is answered with yes or no.".into());
        }
    };
    let words = match (answer.decision, answer.scope) {
        (PermissionDecision::Deny, _) => "Denied.",
        (_, PermissionScope::Once) => "Allowed.",
        (_, PermissionScope::Session) => "Allowed for this session.",
        (_, PermissionScope::Project) => "Allowed in this project.",
        (_, PermissionScope::Always) => "Always allowed.",
    };
    let command = Command::Permit {
        session: inquiry.session.clone(),
        permission: id.clone(),
        answer: Answer {
            digest: Some(inquiry.digest.clone()),
            ..answer
        },
    };
    Ok((command, words.to_owned()))
}

fn question_reply(
    questions: &[Question],
    decision: ChatDecision,
) -> Result<(QuestionReply, String), String> {
    if let ChatDecision::Deny(because) = decision {
        return Ok((QuestionReply::Declined { because }, "Declined.".into()));
    }
    let [question] = questions else {
        return Err("Several questions are asked together: answer them on the page.".into());
    };
    let chosen = match decision {
        ChatDecision::Choose(at) => question.choices.get(at).map(|choice| choice.label.clone()),
        ChatDecision::Say(words) => said(question, &words),
        ChatDecision::Allow(_) | ChatDecision::Deny(_) => None,
    };
    let chosen = chosen.ok_or_else(|| {
        let labels: Vec<&str> = question
            .choices
            .iter()
            .map(|choice| choice.label.as_str())
            .collect();
        match labels.as_slice() {
            [] => "Say what the answer is: /approve N WORDS".to_owned(),
            labels => format!("Choose one: {}", labels.join(", ")),
        }
    })?;
    let words = format!("Answered: {chosen}");
    let answers = [(question.name.clone(), vec![chosen])].into();
    Ok((QuestionReply::Answered { answers }, words))
}

/// A choice by its label or number, else words where they are welcome.
fn said(question: &Question, words: &str) -> Option<String> {
    let words = words.trim();
    let labels = || question.choices.iter().map(|choice| &choice.label);
    if let Some(label) = labels().find(|label| label.eq_ignore_ascii_case(words)) {
        return Some(label.clone());
    }
    let number = words.parse::<usize>().ok();
    if let Some(label) = number.and_then(|number| labels().nth(number.checked_sub(1)?)) {
        return Some(label.clone());
    }
    let is_free = question.free || question.choices.is_empty();
    (is_free && !words.is_empty()).then(|| words.to_owned())
}
