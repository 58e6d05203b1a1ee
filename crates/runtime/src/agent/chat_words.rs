//! Texts of chat messages: the end of a run, a permission request and its outcome, in words. Pure.
//!
//! Messages of providers are left out: a chat may have several readers, and raw error bodies help none of them.

use rooftree_protocol::{
    Answer, ErrorCode, EventBody, PermissionDecision, PermissionKind, PermissionScope, Question,
    QuestionReply, RunStatus, event::RunEnd,
};
use rooftree_stdx::shorten::shorten_first_line;

use crate::schedules;

/// Characters of a diff or command that a chat is shown with a permission request.
const DETAIL_CHARS: usize = 1_500;

/// Whether an answer is nothing but the sign that there is nothing to say.
pub(super) fn is_silent(end: &RunEnd) -> bool {
    end.status == RunStatus::Completed && schedules::is_silent(&end.text)
}

/// The answer of a run, or how it ended without one.
pub(super) fn answer(end: &RunEnd) -> String {
    let text = end.text.trim();
    let note = match end.status {
        RunStatus::Completed if text.is_empty() => "Done.",
        RunStatus::Completed => "",
        RunStatus::Cancelled => return "Stopped.".into(),
        RunStatus::MaxTurns => {
            "I stopped here: the limit of steps is reached. Send a message and I go on."
        }
        RunStatus::Budget => {
            "I stopped here: the budget is spent. Raise it, then send a message and I go on."
        }
        RunStatus::TimedOut => "I stopped here: the time is up. Send a message and I go on.",
        RunStatus::Truncated => {
            "The answer is cut: it is longer than the model writes. Send a message and I go on."
        }
        RunStatus::Interrupted => "I was interrupted. Send the message again.",
        RunStatus::Failed => failure(end.error.as_ref().map(|problem| problem.code)),
    };
    match (text, note) {
        (text, "") => text.to_owned(),
        ("", note) => note.to_owned(),
        (text, note) => format!("{text}\n\n{note}"),
    }
}

/// Cause and what to do, in one plain sentence or two.
fn failure(code: Option<ErrorCode>) -> &'static str {
    match code {
        Some(ErrorCode::Unauthorized) => {
            "I could not answer: the model's key is missing or was refused. Store another one with `rooftree auth login`."
        }
        Some(ErrorCode::ProviderUnavailable) => {
            "I could not answer: the model cannot be reached now. Send the message again later."
        }
        Some(ErrorCode::ProviderRefused) => {
            "I could not answer: the model refused this request. Ask in other words, or choose another model."
        }
        Some(ErrorCode::ContextTooLong) => {
            "I could not answer: the conversation is too long for the model. Begin a new one."
        }
        Some(ErrorCode::NotVerified) => {
            "The work was done, and checking it found mistakes. The session has the details."
        }
        Some(ErrorCode::InvalidConfig | ErrorCode::AgentNotFound) => {
            "I could not answer: something in the settings is wrong. `rooftree doctor` says what."
        }
        Some(ErrorCode::StoreFailed) => {
            "I could not answer: the database cannot be written. `rooftree doctor` says what to do."
        }
        _ => {
            "I could not finish this. The session has the details; send the message again to retry."
        }
    }
}

/// The reason without the command-line flags that would allow the call: a person in a chat types none.
fn without_flags(reason: &str) -> &str {
    reason.split_once("; --").map_or(reason, |(why, _)| why)
}

/// What is asked, as Markdown; none for what is no question.
pub(super) fn asked(agent: &str, body: &EventBody) -> Option<String> {
    match body {
        EventBody::PermissionRequested {
            tool,
            title,
            detail,
            reason,
            kind,
            ..
        } => {
            let wish = match kind {
                PermissionKind::Call => format!("wants to use **{tool}**"),
                _ => "wants to start agents".to_owned(),
            };
            let mut text = format!("**{agent}** {wish}:\n{}", fenced(title));
            if !detail.trim().is_empty() && detail.trim() != title.trim() {
                text.push_str(&fenced(detail));
            }
            let reason = without_flags(reason).trim();
            if !reason.is_empty() {
                text.push_str(&format!("\n{}", shorten_first_line(reason, 300)));
            }
            Some(text)
        }
        EventBody::QuestionRequested { questions, .. } => {
            let texts: Vec<String> = questions.iter().map(question).collect();
            Some(format!("**{agent}** asks:\n\n{}", texts.join("\n\n")))
        }
        _ => None,
    }
}

fn question(question: &Question) -> String {
    let mut text = question.text.clone();
    for choice in &question.choices {
        text.push_str(&format!("\n- **{}**", choice.label));
        if !choice.description.is_empty() {
            text.push_str(&format!(": {}", choice.description));
        }
    }
    text
}

/// A code block that its content cannot close.
fn fenced(text: &str) -> String {
    let cut: String = text.chars().take(DETAIL_CHARS).collect();
    let more = if cut.len() < text.len() { "\n…" } else { "" };
    let longest = cut.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}{more}\n{fence}\n", cut.trim_end())
}

/// How something that was asked ended, after what was asked.
pub(super) fn outcome(asked: &str, outcome: &EventBody) -> Option<String> {
    let words = match outcome {
        EventBody::PermissionResolved { answer, by, .. } => decided(answer, by),
        EventBody::QuestionAnswered { reply, by, .. } => replied(reply, by),
        _ => return None,
    };
    Some(format!("{}\n\n{words}", asked.trim_end()))
}

fn decided(answer: &Answer, by: &str) -> String {
    let decision = match (answer.decision, answer.scope) {
        (PermissionDecision::Allow, PermissionScope::Once) => "✅ Allowed",
        (PermissionDecision::Allow, PermissionScope::Session) => "✅ Allowed for this session",
        (PermissionDecision::Allow, PermissionScope::Project) => "✅ Allowed in this project",
        (PermissionDecision::Allow, PermissionScope::Always) => "✅ Always allowed",
        (PermissionDecision::Deny, _) => "❌ Denied",
    };
    match by {
        "expired" => "⌛ Not answered in time: denied.".into(),
        "cancelled" => "The run was stopped.".into(),
        by => format!("{decision} by {by}."),
    }
}

fn replied(reply: &QuestionReply, by: &str) -> String {
    match (by, reply) {
        ("expired", _) => "⌛ Not answered in time.".into(),
        ("cancelled", _) => "The run was stopped.".into(),
        (by, QuestionReply::Declined { .. }) => format!("Declined by {by}."),
        (by, QuestionReply::Answered { answers }) => {
            let said: Vec<String> = answers.values().map(|said| said.join(", ")).collect();
            format!("Answered by {by}: {}", said.join("; "))
        }
    }
}

#[cfg(test)]
mod tests {
    use rooftree_protocol::Problem;

    use super::*;

    fn end(status: RunStatus, text: &str) -> RunEnd {
        RunEnd {
            text: text.into(),
            ..RunEnd::new(status)
        }
    }

    #[test]
    fn each_end_of_a_run_is_a_text_without_the_providers_words() {
        assert_eq!(answer(&end(RunStatus::Completed, " Hello. ")), "Hello.");
        assert_eq!(answer(&end(RunStatus::Completed, "")), "Done.");
        assert_eq!(answer(&end(RunStatus::Cancelled, "half")), "Stopped.");
        assert!(answer(&end(RunStatus::Budget, "half")).starts_with("half\n\nI stopped here"));
        for code in [
            ErrorCode::ProviderUnavailable,
            ErrorCode::Unauthorized,
            ErrorCode::Internal,
        ] {
            let failed = RunEnd {
                error: Some(Problem::new(code, "{\"error\": \"raw body\"}")),
                ..end(RunStatus::Failed, "")
            };
            let text = answer(&failed);
            assert!(
                text.starts_with("I could not") && !text.contains("raw body"),
                "{text}"
            );
        }
    }

    #[test]
    fn only_a_whole_answer_is_silent() {
        for (text, silent) in [
            ("NO_MESSAGE", true),
            (" HEARTBEAT_OK\n", true),
            ("All is well. HEARTBEAT_OK", false),
            ("", false),
        ] {
            assert_eq!(
                is_silent(&end(RunStatus::Completed, text)),
                silent,
                "{text}"
            );
        }
        assert!(!is_silent(&end(RunStatus::Failed, "NO_MESSAGE")));
    }

    #[test]
    fn a_reason_in_a_chat_names_no_command_line_flags() {
        let reason = "Bash may run anything and mode `ask` asks about that; --allow 'Bash(ls)' would allow it";
        let shown = "Bash may run anything and mode `ask` asks about that";
        assert_eq!(without_flags(reason), shown);
        assert_eq!(without_flags(shown), shown);
    }

    #[test]
    fn a_command_cannot_close_its_code_block() {
        let text = fenced("echo ```` hi");
        assert!(
            text.starts_with("`````\n") && text.ends_with("`````\n"),
            "{text}"
        );
    }
}
