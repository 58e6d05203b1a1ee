//! What servers of tools ask people: hooks can answer in their place, decline, and hear the answer.

use std::sync::Arc;

use futures::future::BoxFuture;
use rooftree_protocol::{
    DefinitionLevel, Effect, PermissionMode, Question, QuestionReply, ToolKind, ToolSpec,
};
use rooftree_providers::scripted::{call, say};
use rooftree_runtime::hooks::{ConfiguredHook, HookPoint};
use rooftree_tools::{Tool, ToolContext, ToolInfo, ToolOutput, Toolset};
use serde_json::{Value, json};

use super::{asked, asked_about, keeps, kept, prints, told, with};

/// A tool that looks like one of a server and asks for a colour.
struct Asker(ToolSpec);

const INFO: ToolInfo = ToolInfo::at_run_time(ToolKind::Other, Effect::ReadOnly);

impl Tool for Asker {
    fn info(&self) -> &ToolInfo {
        &INFO
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, _: &str, input: Value) -> Result<Value, String> {
        Ok(input)
    }

    fn title(&self, _: &Value) -> String {
        "ask".into()
    }

    fn run(&self, _: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        let question: Question = serde_json::from_value(
            json!({"name": "colour", "text": "Which colour?", "free": true}),
        )
        .unwrap();
        Box::pin(async move {
            ToolOutput::done(match (context.ask)(vec![question]).await {
                QuestionReply::Answered { answers } => format!("answered {answers:?}"),
                QuestionReply::Declined { because } => {
                    format!("declined {}", because.unwrap_or_default())
                }
            })
        })
    }
}

pub(super) fn asker() -> Arc<dyn Tool> {
    let spec =
        json!({"name": "mcp__files__ask", "description": "", "input_schema": {"type": "object"}});
    Arc::new(Asker(serde_json::from_value(spec).unwrap()))
}

/// What the tool says when nobody but hooks can be asked, and what people are told.
async fn said(hooks: Vec<ConfiguredHook>) -> (String, String) {
    let entries = [
        say("").calls([call("mcp__files__ask", json!({}))]),
        say("{{ results[0].text }}"),
    ];
    let mut plan = with(entries, hooks).tools(Toolset::new([asker()]));
    plan.rights.policy.mode = PermissionMode::Bypass;
    let runtime = plan.build();
    let session = runtime.post("go").await;
    let text = runtime.wait_for_run(&session).await.text;
    let told = told(&runtime, &session).await;
    runtime.close().await;
    (text, told)
}

#[tokio::test]
async fn a_hook_answers_or_declines_and_a_projects_hook_only_declines() {
    let answer = prints(&json!({"hookSpecificOutput": {
        "hookEventName": "Elicitation", "action": "accept", "content": {"colour": "red", "sizes": [1, "x"]},
    }}));
    let decline = prints(&json!({"hookSpecificOutput": {"action": "decline"}}));
    let red = r#"answered {"colour": ["red"], "sizes": ["1", "x"]}"#;
    assert_eq!(
        said(vec![asked_about(HookPoint::Elicitation, "files", &answer)])
            .await
            .0,
        red
    );
    let (text, _) = said(vec![asked_about(HookPoint::Elicitation, "others", &answer)]).await;
    assert!(
        text.contains("no user can be asked"),
        "it is for another server: {text}"
    );
    assert_eq!(
        said(vec![asked(HookPoint::Elicitation, &decline)]).await.0,
        "declined a hook declines to answer"
    );
    assert_eq!(
        said(vec![asked(HookPoint::Elicitation, "echo no >&2; exit 2")])
            .await
            .0,
        "declined no"
    );
    let mut theirs = asked(HookPoint::Elicitation, &answer);
    theirs.level = DefinitionLevel::Project;
    let (text, told) = said(vec![theirs]).await;
    assert!(
        text.contains("no user can be asked") && told.contains("it is the project's"),
        "{text}: {told}"
    );
    // One that fails leaves it to people.
    let (text, told) = said(vec![asked(HookPoint::Elicitation, "kill -9 $$")]).await;
    assert!(
        text.contains("no user can be asked") && told.contains("it crashed"),
        "{text}: {told}"
    );
}

#[tokio::test]
async fn the_answer_is_told_with_who_asked() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let decline = prints(&json!({"hookSpecificOutput": {"action": "cancel"}}));
    said(vec![
        asked(HookPoint::Elicitation, &decline),
        asked(HookPoint::ElicitationResult, &keeps(&log)),
    ])
    .await;
    let told = &kept(&log)[0];
    assert_eq!(
        (&told["mcp_server_name"], &told["action"]),
        (&json!("files"), &json!("decline")),
        "{told}"
    );
}
