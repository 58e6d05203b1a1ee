//! Runs hooks for real with a sample payload, to test them.

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_runtime::{
    Hooks, SystemClock,
    assembly::known_tools,
    hooks::{HookAnswer, HookError, HookPayload, HookPoint, HookRunContext, HookVerdict},
};
use rooftree_tools::toolset::ToolLookup;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{environment::Environment, exit::Exit, listing::PageOutput, output};

/// Options of `hooks test`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The event, for example PreToolUse
    #[arg(value_name = "EVENT")]
    event: HookPoint,
    /// The tool the event is about
    #[arg(long, value_name = "NAME", default_value = "Bash")]
    tool: String,
    /// Its arguments
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    #[command(flatten)]
    output: PageOutput,
}

/// What one hook said.
#[derive(Serialize)]
struct HookTestResult<'a> {
    hook: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_input: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    context: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notices: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stops: Option<String>,
}

/// Asks every hook that is meant, one after the other.
pub async fn execute(
    arguments: &Arguments,
    environment: &Environment,
    hooks: &Hooks,
    run_context: &HookRunContext,
) -> Result<Exit, Problem> {
    hooks.pin(&[]);
    let payload = payload(arguments, environment)?;
    let meant: Vec<_> = hooks
        .hooks
        .iter()
        .filter(|hook| hook.is_for(&payload))
        .collect();
    if !arguments.output.is_json() {
        output::print(&format!("input\n{}", output::json_page(&payload.input())?))?;
    }
    if meant.is_empty() {
        output::print_note(
            environment,
            &format!("no hook is asked at {} about this", arguments.event),
        );
    }
    let mut exit = Exit::DONE;
    for hook in meant {
        let asked = hook.ask(&payload, run_context, &SystemClock).await;
        if asked.is_err() {
            exit = Exit::FAILED;
        }
        let said = said(hook.name(), asked);
        let text = if arguments.output.is_json() {
            output::json_line(&said)?
        } else {
            format!("\n{}", output::json_page(&said)?)
        };
        output::print(&text)?;
    }
    Ok(exit)
}

fn said(hook: &str, asked: Result<HookAnswer, HookError>) -> HookTestResult<'_> {
    let (answer, failed) = match asked {
        Ok(answer) => (answer, None),
        Err(failure) => (HookAnswer::default(), Some(failure.to_string())),
    };
    let (verdict, reason) = match answer.verdict {
        HookVerdict::Deny(why) => ("deny", Some(why)),
        HookVerdict::Ask => ("ask", answer.because),
        HookVerdict::Allow if answer.permits => ("allow", answer.because),
        HookVerdict::Allow => ("nothing", answer.because),
    };
    HookTestResult {
        hook,
        failed,
        verdict,
        reason,
        updated_input: answer.input,
        context: answer.context,
        notices: answer.notices,
        stops: answer.stops,
    }
}

fn payload(arguments: &Arguments, environment: &Environment) -> Result<HookPayload, Problem> {
    let point = arguments.event;
    let sample = |details: Value| HookPayload::sample(point, environment.cwd.clone(), map(details));
    if point.is_about_a_tool() {
        return about_a_tool(arguments, sample(json!({})));
    }
    let (details, name) = match point {
        HookPoint::UserPromptSubmit => (json!({"prompt": "Say hello."}), ""),
        HookPoint::SessionStart => (
            json!({"source": "startup", "agent_type": "lead"}),
            "startup",
        ),
        HookPoint::SessionEnd => (json!({"reason": "other"}), "other"),
        HookPoint::Stop => (
            json!({"stop_hook_active": false, "last_assistant_message": "Done."}),
            "",
        ),
        HookPoint::SubagentStop => (
            json!({"stop_hook_active": false, "last_assistant_message": "Done."}),
            "lead",
        ),
        HookPoint::SubagentStart => (json!({"description": "Look at it"}), "lead"),
        HookPoint::StopFailure => (
            json!({"error": "provider_unavailable", "error_details": "overloaded"}),
            "provider_unavailable",
        ),
        HookPoint::PreCompact => (
            json!({"trigger": "auto", "custom_instructions": ""}),
            "auto",
        ),
        HookPoint::PostCompact => (
            json!({"trigger": "auto", "compact_summary": "What was said."}),
            "auto",
        ),
        HookPoint::Notification => (
            json!({"message": "lead asks", "title": "Rooftree", "notification_type": "permission_prompt"}),
            "permission_prompt",
        ),
        HookPoint::Elicitation => (
            json!({"mcp_server_name": "files", "message": "Which one?", "mode": "form", "questions": []}),
            "files",
        ),
        HookPoint::ElicitationResult => (
            json!({"mcp_server_name": "files", "action": "accept", "content": {}, "mode": "form"}),
            "files",
        ),
        HookPoint::InstructionsLoaded => {
            let file = environment.cwd.join("AGENTS.md");
            let reason = "session_start";
            (
                json!({"file_path": file, "memory_type": "Project", "load_reason": reason}),
                reason,
            )
        }
        HookPoint::TaskCreated | HookPoint::TaskCompleted => {
            (json!({"task_id": "1", "task_subject": "Write it"}), "")
        }
        _ => (json!({ "tool_calls": [] }), ""),
    };
    let payload = sample(details);
    Ok(if name.is_empty() {
        payload
    } else {
        payload.named([name.to_owned()])
    })
}

fn about_a_tool(arguments: &Arguments, mut payload: HookPayload) -> Result<HookPayload, Problem> {
    let wrong = |message: String| Problem::new(ErrorCode::InvalidArguments, message);
    let tools = known_tools();
    let ToolLookup::Tool(tool) = tools.find(&arguments.tool) else {
        return Err(wrong(format!("there is no tool `{}`", arguments.tool))
            .fix(format!("tools there are: {}", tools.names().join(", "))));
    };
    let typed = arguments
        .input
        .as_deref()
        .unwrap_or(r#"{"command": "echo hello"}"#);
    let input: Value = serde_json::from_str(typed).map_err(|error| {
        wrong("--input is not JSON".into())
            .cause(error.to_string())
            .fix(r#"write --input '{"command": "ls"}'"#)
    })?;
    let input = tool.normalise(&arguments.tool, input).map_err(|words| {
        wrong(format!("these are no arguments of {}", tool.spec().name))
            .cause(words)
            .fix("use --input JSON")
    })?;
    payload = payload.calling(tool.as_ref(), &input);
    payload
        .details
        .insert("tool_use_id".into(), json!("call_sample"));
    if payload.point == HookPoint::PostToolUse {
        let response = json!({"success": true, "text": "", "files": []});
        payload.details.insert("tool_response".into(), response);
    }
    Ok(payload)
}

fn map(value: Value) -> Map<String, Value> {
    if let Value::Object(map) = value {
        map
    } else {
        Map::new()
    }
}
