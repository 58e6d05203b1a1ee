//! Tries hooks out: they really run, on an occasion that is made up.

use std::sync::Arc;

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_runtime::{
    Clock, Hooks, SystemClock,
    hooks::{Answer, Failure, Ground, Occasion, Point, Verdict},
};
use rooftree_tools::{Processes, SemanticSearch, toolset::Found};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{assemble, environment::Environment, exit::Exit, output, web::Online};

/// Options of `hooks test`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The event, for example PreToolUse
    #[arg(value_name = "EVENT")]
    event: Point,
    /// The tool the event is about
    #[arg(long, value_name = "NAME", default_value = "Bash")]
    tool: String,
    /// Its arguments
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Print a JSON object per hook
    #[arg(long)]
    json: bool,
}

/// What one hook said.
#[derive(Serialize)]
struct Said<'a> {
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
    ground: &Ground,
) -> Result<Exit, Problem> {
    hooks.pin(&[]);
    let occasion = occasion(arguments, environment)?;
    let meant: Vec<_> = hooks.hooks.iter().filter(|hook| hook.is_for(&occasion)).collect();
    if !arguments.json {
        output::print(&format!("input\n{}", output::json_page(&occasion.input())?))?;
    }
    if meant.is_empty() {
        output::mention(environment, &format!("no hook is asked at {} about this", arguments.event));
    }
    let mut exit = Exit::DONE;
    for hook in meant {
        let asked = hook.ask(&occasion, ground, &SystemClock).await;
        if asked.is_err() {
            exit = Exit::FAILED;
        }
        let said = said(hook.name(), asked);
        let text = if arguments.json {
            output::json_line(&said)?
        } else {
            format!("\n{}", output::json_page(&said)?)
        };
        output::print(&text)?;
    }
    Ok(exit)
}

fn said(hook: &str, asked: Result<Answer, Failure>) -> Said<'_> {
    let (answer, failed) = match asked {
        Ok(answer) => (answer, None),
        Err(failure) => (Answer::default(), Some(failure.to_string())),
    };
    let (verdict, reason) = match answer.verdict {
        Verdict::Deny(why) => ("deny", Some(why)),
        Verdict::Ask => ("ask", answer.because),
        Verdict::Allow if answer.permits => ("allow", answer.because),
        Verdict::Allow => ("nothing", answer.because),
    };
    Said {
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

fn occasion(arguments: &Arguments, environment: &Environment) -> Result<Occasion, Problem> {
    let point = arguments.event;
    let sample = |details: Value| Occasion::sample(point, environment.cwd.clone(), map(details));
    if point.is_about_a_tool() {
        return about_a_tool(arguments, sample(json!({})));
    }
    let (details, name) = match point {
        Point::UserPromptSubmit => (json!({"prompt": "Say hello."}), ""),
        Point::SessionStart => (json!({"source": "startup", "agent_type": "lead"}), "startup"),
        Point::SessionEnd => (json!({"reason": "other"}), "other"),
        Point::Stop => (json!({"stop_hook_active": false, "last_assistant_message": "Done."}), ""),
        Point::SubagentStop => {
            (json!({"stop_hook_active": false, "last_assistant_message": "Done."}), "lead")
        }
        Point::SubagentStart => (json!({"description": "Look at it"}), "lead"),
        Point::StopFailure => {
            (json!({"error": "provider_unavailable", "error_details": "overloaded"}), "provider_unavailable")
        }
        Point::PreCompact => (json!({"trigger": "auto", "custom_instructions": ""}), "auto"),
        Point::PostCompact => (json!({"trigger": "auto", "compact_summary": "What was said."}), "auto"),
        Point::Notification => (
            json!({"message": "lead asks", "title": "Rooftree", "notification_type": "permission_prompt"}),
            "permission_prompt",
        ),
        Point::Elicitation => (
            json!({"mcp_server_name": "files", "message": "Which one?", "mode": "form", "questions": []}),
            "files",
        ),
        Point::ElicitationResult => {
            (json!({"mcp_server_name": "files", "action": "accept", "content": {}, "mode": "form"}), "files")
        }
        Point::InstructionsLoaded => {
            let file = environment.cwd.join("AGENTS.md");
            let reason = "session_start";
            (json!({"file_path": file, "memory_type": "Project", "load_reason": reason}), reason)
        }
        Point::TaskCreated | Point::TaskCompleted => {
            (json!({"task_id": "1", "task_subject": "Write it"}), "")
        }
        _ => (json!({ "tool_calls": [] }), ""),
    };
    let occasion = sample(details);
    Ok(if name.is_empty() { occasion } else { occasion.named([name.to_owned()]) })
}

fn about_a_tool(arguments: &Arguments, mut occasion: Occasion) -> Result<Occasion, Problem> {
    let wrong = |message: String| Problem::new(ErrorCode::InvalidArguments, message);
    let processes = Arc::new(Processes::new(|| SystemClock.entropy()));
    let tools = assemble::tools(&processes, SemanticSearch::new(None), Online::default());
    let Found::Tool(tool) = tools.find(&arguments.tool) else {
        return Err(wrong(format!("there is no tool `{}`", arguments.tool))
            .fix(format!("tools there are: {}", tools.names().join(", "))));
    };
    let typed = arguments.input.as_deref().unwrap_or(r#"{"command": "echo hello"}"#);
    let input: Value = serde_json::from_str(typed).map_err(|error| {
        wrong("--input is not JSON".into())
            .cause(error.to_string())
            .fix(r#"write --input '{"command": "ls"}'"#)
    })?;
    let input = tool.normalise(&arguments.tool, input).map_err(|words| {
        wrong(format!("these are no arguments of {}", tool.spec().name)).cause(words).fix("use --input JSON")
    })?;
    occasion = occasion.calling(tool.as_ref(), &input);
    occasion.details.insert("tool_use_id".into(), json!("call_sample"));
    if occasion.point == Point::PostToolUse {
        let response = json!({"success": true, "text": "", "files": []});
        occasion.details.insert("tool_response".into(), response);
    }
    Ok(occasion)
}

fn map(value: Value) -> Map<String, Value> {
    if let Value::Object(map) = value { map } else { Map::new() }
}
