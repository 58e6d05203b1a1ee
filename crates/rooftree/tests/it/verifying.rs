//! Work that is checked by what the program gives: functions, commands, judges, files of them.

use rooftree::{
    Agent, ErrorCode, EventBody, Verifier,
    testing::{ScriptEntry, call, say},
};
use serde_json::json;

use crate::fixture::{Notes, helper, scripted, task};

/// Says it is done before it is.
fn hasty() -> [ScriptEntry; 3] {
    let write = call("Write", json!({"file_path": "result.txt", "content": "42"}));
    [say("Done."), say("").calls([write]), say("Now it is done.")]
}

#[tokio::test]
async fn a_function_gives_work_back_until_it_is_good() {
    let place = tempfile::tempdir().unwrap();
    let notes = Notes::default();
    let seen = notes.clone();
    let mut run = scripted("Write the result", hasty())
        .cwd(place.path())
        .allow("Write")
        .verify("result", move |work| {
            seen.take(format!("{}: {}", work.agent, work.answer));
            async move {
                if work.cwd.join("result.txt").exists() {
                    Ok(())
                } else {
                    Err("there is no result".into())
                }
            }
        })
        .verified_by(["result"])
        .stream();
    let mut verdicts = Vec::new();
    while let Some(event) = run.next().await {
        if let EventBody::RunVerified(verdict) = event.unwrap().body {
            let said = verdict
                .reports
                .first()
                .map(|report| report.said.clone())
                .unwrap();
            verdicts.push((verdict.passed, said));
        }
    }
    assert_eq!(
        verdicts,
        [
            (false, "there is no result".to_owned()),
            (true, String::new())
        ]
    );
    assert_eq!(run.result().await.unwrap().text, "Now it is done.");
    assert_eq!(notes.read(), ["lead: Done.", "lead: Now it is done."]);
}

#[tokio::test]
async fn a_function_that_crashes_has_not_said_yes() {
    let asked = scripted("Go", [say("Done.").times(9)]).verified_by(["broken"]);
    let mut run = asked
        .verify("broken", |work| async move {
            if work.answer == "Done." {
                panic!("as it happens")
            } else {
                Ok(())
            }
        })
        .stream();
    let mut verdicts = Vec::new();
    while let Some(event) = run.next().await {
        if let EventBody::RunVerified(verdict) = event.unwrap().body {
            verdicts.push(verdict.passed);
        }
    }
    assert_eq!(verdicts, [false, false, false]);
}

#[tokio::test]
async fn a_sub_agent_is_checked_by_a_command_of_a_file() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("verifiers.json");
    std::fs::write(&file, r#"{"result": {"command": "test -f result.txt"}}"#).unwrap();
    let write = call("Write", json!({"file_path": "result.txt", "content": "42"}));
    let entries = [
        say("")
            .calls([task("helper", "Write the result")])
            .agent("lead"),
        say("All done.").agent("lead"),
        say("Done.").agent("helper"),
        say("").calls([write]).agent("helper"),
        say("Now it is done.").agent("helper"),
    ];
    let asked = scripted("Go", entries)
        .agent(helper().verified_by(["result"]))
        .verifiers_file(&file);
    let mut run = asked.cwd(place.path()).allow("Write").stream();
    let mut verdicts = Vec::new();
    while let Some(event) = run.next().await {
        let event = event.unwrap();
        if let EventBody::RunVerified(verdict) = event.body {
            verdicts.push((event.agent, verdict.passed));
        }
    }
    assert_eq!(
        verdicts,
        [("helper".to_owned(), false), ("helper".to_owned(), true)]
    );
}

#[tokio::test]
async fn a_judge_judges_and_a_name_that_is_not_there_is_a_mistake() {
    let judged = [
        say("Done.").agent("lead"),
        say(r#"{"passed": true, "reason": "fine"}"#).agent("judge"),
    ];
    let asked = scripted("Go", judged).verifier("style", Verifier::judge("Is it readable?"));
    assert_eq!(asked.verified_by(["style"]).await.unwrap().text, "Done.");
    let error = scripted("Go", [say("x")])
        .verified_by(["nothing"])
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidConfig);
    assert!(error.to_string().contains("`nothing`"), "{error}");
    let named = Agent::new("helper")
        .describe("Helps.")
        .verified_by(["nothing"]);
    assert!(scripted("Go", [say("x")]).agent(named).await.is_err());
    assert!(
        scripted("Go", [say("x")])
            .verifiers_file("no/such/file.json")
            .await
            .is_err()
    );
}
