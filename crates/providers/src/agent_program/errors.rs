//! Classifies why a program gave no answer, from its messages and exit code.

use rooftree_process::{ExitReason, FinishedProcess};
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_stdx::shorten::shorten;

use super::AgentProgram;
use crate::Error;

/// Characters of a program's error message that are passed on.
const COMPLAINT_CHARS: usize = 600;

/// Why a program gave no answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ProgramFailure {
    /// An ordinary provider error.
    Provider(Error),
    /// The program no longer knows its session: retry in a new one with the whole conversation.
    SessionGone,
    /// It does not accept our flags, or we cannot parse its records.
    UnknownVersion(String),
}

/// Classifies an error message, with the HTTP status of the request if the program reports it.
pub(super) fn classify_message(
    program: &AgentProgram,
    status: Option<u16>,
    message: &str,
) -> ProgramFailure {
    let low = message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| low.contains(word));
    if says(&[
        "no conversation found with session",
        "no rollout found for",
        "no session found matching",
    ]) {
        return ProgramFailure::SessionGone;
    }
    if says(&[
        "unknown option",
        "unexpected argument",
        "unrecognized option",
        "unknown flag",
    ]) {
        return ProgramFailure::UnknownVersion(shorten(message, COMPLAINT_CHARS));
    }
    let is_login = says(&[
        "not logged in",
        "/login",
        "codex login",
        "no api key",
        "invalid api key",
    ]);
    let is_too_long = says(&[
        "prompt is too long",
        "context_length_exceeded",
        "context window",
    ]);
    let text = format!(
        "{}: {}",
        program.executable,
        shorten(message, COMPLAINT_CHARS)
    );
    ProgramFailure::Provider(match status.or_else(|| status_in(message)) {
        Some(401 | 403) => logged_out(program, message),
        _ if is_login => logged_out(program, message),
        Some(413) => Error::TooLong { limit: None },
        _ if is_too_long => Error::TooLong { limit: None },
        Some(429) => Error::RateLimited { retry_after: None },
        Some(503 | 529) => Error::Overloaded { retry_after: None },
        Some(500..) => Error::Broken(text),
        _ => Error::Refused(text),
    })
}

/// Classifies a program that exited without reporting an error.
pub(super) fn classify_exit(
    program: &AgentProgram,
    finished: &FinishedProcess,
    understood: u64,
) -> ProgramFailure {
    let complaint = finished.output.text();
    match finished.ending {
        ExitReason::Exited(0) if understood == 0 => {
            ProgramFailure::UnknownVersion("it wrote nothing that is understood".to_owned())
        }
        ExitReason::Exited(code) if code != 0 && !complaint.trim().is_empty() => {
            classify_message(program, None, complaint.trim())
        }
        ending => ProgramFailure::Provider(Error::Broken(format!(
            "{} {} without its last record. {}",
            program.executable,
            words_for(ending),
            shorten(complaint.trim(), COMPLAINT_CHARS)
        ))),
    }
}

/// Describes how the process ended.
pub(super) fn words_for(ending: ExitReason) -> String {
    match ending {
        ExitReason::Exited(code) => format!("ended with code {code}"),
        ExitReason::Signalled(signal) => format!("was ended by signal {signal}"),
        ExitReason::TimedOut => "did not end by itself and was ended".to_owned(),
        ExitReason::Cancelled => "was stopped".to_owned(),
    }
}

/// Error for a program without a valid login.
pub(super) fn logged_out(program: &AgentProgram, message: &str) -> Error {
    Error::Unauthorized(format!(
        "{} says: {}; {}",
        program.executable,
        shorten(message, COMPLAINT_CHARS),
        program.login
    ))
}

/// Error for a program that is not installed.
pub(super) fn missing(program: &AgentProgram, executable: &str) -> Error {
    let problem = Problem::new(
        ErrorCode::InvalidConfig,
        format!("the program `{executable}` is not installed"),
    )
    .cause(format!(
        "models of {} are answered by it, and it is not in PATH",
        program.name
    ))
    .fix(program.install);
    Error::Unusable(Box::new(problem))
}

/// Error for a version of the program that is not supported.
pub(super) fn unknown_version(program: &AgentProgram, version: &str, why: &str) -> Error {
    let message = format!(
        "this version of `{}` is not understood: {version}",
        program.executable
    );
    let problem = Problem::new(ErrorCode::InvalidConfig, message)
        .cause(why)
        .fix(format!(
            "version {} is known to work: {}",
            program.version, program.install
        ));
    Error::Unusable(Box::new(problem))
}

/// Makes a retryable error final, for a program that has already used tools: a retry could act twice.
pub(super) fn no_retry_after_tools(program: &AgentProgram, error: Error) -> Error {
    if !error.is_retryable() {
        return error;
    }
    Error::Refused(format!(
        "{} failed after it had used its tools, so it is not asked again by itself: {error}",
        program.executable
    ))
}

/// Parses an HTTP status from a message that begins with it or says `status NNN`.
///
/// Other numbers are ignored: ports and token counts look like statuses too.
fn status_in(message: &str) -> Option<u16> {
    let after = message.find("status ").and_then(|at| message.get(at + 7..));
    let after = after
        .or_else(|| message.strip_prefix("API Error: "))
        .unwrap_or(message);
    let end = after
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(after.len());
    let number: u16 = after.get(..end)?.parse().ok()?;
    (400..600).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent_program::{CLAUDE, CODEX, PI};

    #[test]
    fn messages_of_the_programs_are_told_apart() {
        let broken = |error: &Error| matches!(error, Error::Broken(_));
        let unauthorized = |error: &Error| matches!(error, Error::Unauthorized(_));
        let refused = |error: &Error| matches!(error, Error::Refused(_));
        let limited = |error: &Error| matches!(error, Error::RateLimited { .. });
        let overloaded = |error: &Error| matches!(error, Error::Overloaded { .. });
        let too_long = |error: &Error| matches!(error, Error::TooLong { .. });
        type Check<'a> = &'a dyn Fn(&Error) -> bool;
        let table: [(&AgentProgram, Option<u16>, &str, Check<'_>); 11] = [
            (
                &CLAUDE,
                None,
                "Not logged in · Please run /login",
                &unauthorized,
            ),
            (&CLAUDE, Some(529), "Overloaded", &overloaded),
            (&CLAUDE, None, "API Error: 500 internal", &broken),
            (&CLAUDE, None, "Prompt is too long", &too_long),
            (
                &CODEX,
                None,
                "unexpected status 401 Unauthorized: no, url: http://127.0.0.1:4290/v1",
                &unauthorized,
            ),
            (
                &CODEX,
                None,
                "unexpected status 429 Too Many Requests: slow down",
                &limited,
            ),
            (&CODEX, None, "bind to port 4290 failed", &refused),
            (&PI, None, "529 {\"type\":\"error\"}", &overloaded),
            (&PI, None, "No API key found for anthropic.", &unauthorized),
            (&PI, None, "Error: Model \"x\" not found.", &refused),
            (&PI, None, "429000 tokens are a lot", &refused),
        ];
        for (program, status, message, is_right) in table {
            let ProgramFailure::Provider(error) = classify_message(program, status, message) else {
                panic!("{message}")
            };
            assert!(is_right(&error), "{message}: {error:?}");
        }
        assert_eq!(
            classify_message(&PI, None, "No session found matching 'x'"),
            ProgramFailure::SessionGone
        );
        assert!(matches!(
            classify_message(&CLAUDE, None, "error: unknown option '--tools'"),
            ProgramFailure::UnknownVersion(_)
        ));
    }
}
