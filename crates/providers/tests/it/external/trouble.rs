//! Programs that are missing, logged out, too old or noisy.

use std::path::PathBuf;

use rooftree_protocol::ErrorCode;
use rooftree_providers::{
    Error,
    agent_program::{AgentProgram, CLAUDE, CODEX, PI},
};

use super::{
    fake::{Fake, text},
    recordings::{CLAUDE_RECORDING, CODEX_RECORDING, PI_RECORDING},
};

#[tokio::test]
async fn a_missing_program_says_how_to_get_it() {
    for program in [&CLAUDE, &CODEX, &PI] {
        let mut fake = Fake::replaying(program, "");
        fake.options.executable = Some("no-such-program-of-ours".into());
        let error = fake.ask("hi").await.reply.unwrap_err();
        let problem = error.problem();
        assert_eq!(problem.code, ErrorCode::InvalidConfig);
        assert!(
            problem.fix.unwrap().starts_with("npm install -g"),
            "{}",
            program.name
        );
        assert!(!error.is_retryable());
    }
}

#[tokio::test]
async fn a_missing_directory_is_not_taken_for_a_missing_program() {
    let fake = Fake::replaying(&CLAUDE, CLAUDE_RECORDING);
    let mut request = fake.request([super::fake::user("hi")]);
    let directory = PathBuf::from("/no/such/directory");
    request.workplace = rooftree_providers::Workplace {
        directory,
        ..Default::default()
    }
    .into();
    let error = fake.answer(request).await.reply.unwrap_err();
    assert!(
        matches!(&error, Error::Refused(why) if why.contains("/no/such/directory")),
        "{error}"
    );
}

#[tokio::test]
async fn failures_have_the_class_that_says_what_to_do() {
    let claude = |is_error: &str| {
        format!("echo '{{\"type\":\"system\",\"subtype\":\"init\"}}'; echo '{is_error}'; exit 1")
    };
    let pi = |message: &str| {
        format!(
            "echo '{{\"type\":\"message_end\",\"message\":{{\"role\":\"assistant\",\"stopReason\":\"error\",\"errorMessage\":\"{message}\"}}}}'"
        )
    };
    let unauthorized =
        |error: &Error| matches!(error, Error::Unauthorized(why) if why.contains("login"));
    let overloaded = |error: &Error| matches!(error, Error::Overloaded { .. });
    let limited = |error: &Error| matches!(error, Error::RateLimited { .. });
    let broken = |error: &Error| matches!(error, Error::Broken(_));
    let refused = |error: &Error| matches!(error, Error::Refused(_));
    type Check<'a> = &'a dyn Fn(&Error) -> bool;
    let not_logged_in = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":null,"result":"Not logged in · Please run /login"}"#;
    let limit = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"slow down"}"#;
    let turns = r#"{"type":"result","subtype":"error_max_turns","is_error":true}"#;
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":2,"error_status":401,"error":"authentication_failed"}"#;
    let table: [(&AgentProgram, String, Check<'_>); 10] = [
        (&CLAUDE, claude(not_logged_in), &unauthorized),
        (&CLAUDE, claude(limit), &limited),
        (&CLAUDE, claude(turns), &refused),
        // It would try for minutes; we do not wait for it.
        (&CLAUDE, format!("echo '{retry}'; sleep 600"), &unauthorized),
        (&CLAUDE, "echo '{\"type\":\"system\",\"subtype\":\"init\"}'; kill -9 $$".into(), &broken),
        (
            &CODEX,
            "echo '{\"type\":\"turn.failed\",\"error\":{\"message\":\"unexpected status 401 Unauthorized: no\"}}'; exit 1".into(),
            &unauthorized,
        ),
        (&CODEX, "echo '{\"type\":\"thread.started\",\"thread_id\":\"t\"}'".into(), &broken),
        (&PI, pi("529 overloaded"), &overloaded),
        (&PI, "echo 'No API key found for anthropic.' >&2; exit 1".into(), &unauthorized),
        (&PI, "echo 'Error: Model x not found' >&2; exit 1".into(), &refused),
    ];
    for (program, script, is_right) in table {
        let error = Fake::new(program, &script)
            .ask("hi")
            .await
            .reply
            .unwrap_err();
        assert!(is_right(&error), "{} {script}: {error:?}", program.name);
    }
}

#[tokio::test]
async fn an_unknown_version_is_named() {
    let scripts = [
        "echo \"error: unknown option '--tools'\" >&2; exit 1",
        "echo '{\"kind\":\"new\"}'",
    ];
    for script in scripts {
        let problem = Fake::new(&CLAUDE, script)
            .ask("hi")
            .await
            .reply
            .unwrap_err()
            .problem();
        assert!(problem.message.contains("fake 0.0.1"), "{problem:?}");
        assert!(problem.fix.unwrap().contains(CLAUDE.version));
    }
}

#[tokio::test]
async fn noise_and_a_bad_end_after_the_answer_are_warnings() {
    for (program, recording) in [
        (&CLAUDE, CLAUDE_RECORDING),
        (&CODEX, CODEX_RECORDING),
        (&PI, PI_RECORDING),
    ] {
        let script = "echo 'Update available!'; cat \"$here/recording\"; echo 'not { json'; echo oops >&2; exit 7";
        let heard = Fake::new(program, script)
            .with_recording(recording)
            .ask("hi")
            .await;
        assert!(text(&heard.reply.unwrap()).ends_with("hi ✓."));
        let warnings: Vec<&str> = heard
            .notes
            .iter()
            .filter(|(_, code, _)| *code == "program_warning")
            .map(|(_, _, message)| message.as_str())
            .collect();
        assert!(
            warnings
                .iter()
                .any(|line| line.contains("Update available!")),
            "{warnings:?}"
        );
        let is_end = |line: &&str| {
            line.contains("ended with code 7 after its answer") && line.contains("oops")
        };
        assert!(
            warnings.iter().any(is_end),
            "{}: {warnings:?}",
            program.name
        );
    }
}

#[tokio::test]
async fn a_program_that_has_acted_is_not_asked_again_by_itself() {
    let until_tool: String = CLAUDE_RECORDING
        .lines()
        .take_while(|line| !line.starts_with("{\"type\":\"user\""))
        .map(|line| format!("{line}\n"))
        .collect();
    let fake =
        Fake::new(&CLAUDE, "cat \"$here/recording\"; kill -9 $$").with_recording(&until_tool);
    let error = fake.ask("hi").await.reply.unwrap_err();
    assert!(!error.is_retryable(), "{error}");
    assert!(error.to_string().contains("had used its tools"), "{error}");
}
