//! EnterPlanMode and ExitPlanMode: read-only until the user approves the plan.
//!
//! Invariant: a mode belongs to one session. An agent can always leave a mode it entered itself; a mode that people
//! chose only they can widen; no agent changes the mode of one above it.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use rooftree_protocol::{Choice, ErrorCode, PermissionMode, Question, QuestionReply, ToolSpec};
use rooftree_tools::{
    Tool, ToolContext, ToolInfo, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, text},
    session_tools::{ENTER_PLAN_MODE, EXIT_PLAN_MODE},
    tool::ModeChange,
};
use serde_json::Value;

use crate::caller::Caller;

const ENTER: &str = "Only look from now on, to make a plan before anything is changed.";
const LEAVE: &str = "Show your plan to the user and, if they agree, begin with it.";

const PLAN: [ToolArgument; 1] = [ToolArgument::new("plan", ArgumentKind::Text, "")
    .required()
    .with_aliases(&["summary", "text"])];

const ASK_FIRST: &str = "Yes, and ask before each change";
const ACCEPT: &str = "Yes, and change files without asking";
const NO: &str = "No, keep planning";
/// Under which name the one question is answered.
const NAME: &str = "plan";

pub(super) struct EnterPlanModeTool(ToolSpec);

impl EnterPlanModeTool {
    pub(super) fn new() -> Self {
        Self(arguments::spec(ENTER_PLAN_MODE.name, ENTER, &[]))
    }
}

impl Tool for EnterPlanModeTool {
    fn info(&self) -> &ToolInfo {
        &ENTER_PLAN_MODE
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise(ENTER_PLAN_MODE.name, &[], input).map(Value::Object)
    }

    fn run(&self, _input: Value, _context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async {
            let mode = Some(ModeChange {
                mode: Some(PermissionMode::Plan),
                by: "agent",
            });
            let words = "Plan mode: nothing can be changed until ExitPlanMode.";
            ToolOutput {
                mode,
                ..ToolOutput::done(words)
            }
        })
    }
}

pub(super) struct ExitPlanModeTool(ToolSpec);

impl ExitPlanModeTool {
    pub(super) fn new() -> Self {
        Self(arguments::spec(EXIT_PLAN_MODE.name, LEAVE, &PLAN))
    }
}

impl Tool for ExitPlanModeTool {
    fn info(&self) -> &ToolInfo {
        &EXIT_PLAN_MODE
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        arguments::normalise(EXIT_PLAN_MODE.name, &PLAN, input).map(Value::Object)
    }

    fn title(&self, input: &Value) -> String {
        text(input, "plan")
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            let Some(caller) = Caller::of(&context) else {
                return ToolOutput::failed(
                    ErrorCode::Internal,
                    "this tool only works within a run",
                );
            };
            if caller.rights.policy.mode != PermissionMode::Plan {
                return ToolOutput::done("You are not in plan mode: go ahead.");
            }
            // A delegated agent has no user to ask, and leaves only a mode it entered.
            if caller.mandate.is_some() {
                return left_alone(&caller);
            }
            let reply = tokio::select! {
                reply = (context.ask)(vec![question(text(&input, "plan"))]) => reply,
                () = context.cancel.cancelled() => return ToolOutput::failed(ErrorCode::ToolCancelled, "[cancelled]"),
            };
            match reply {
                QuestionReply::Answered { answers } => answered(&answers),
                QuestionReply::Declined {
                    because: Some(because),
                } if because.starts_with("no user can be asked") => left_alone(&caller),
                QuestionReply::Declined { .. } => kept("The user did not agree."),
            }
        })
    }
}

fn question(plan: &str) -> Question {
    let choice = |label: &str| Choice {
        label: label.into(),
        description: String::new(),
    };
    Question {
        name: NAME.into(),
        text: format!("Go ahead with this plan?\n\n{plan}"),
        choices: vec![choice(ASK_FIRST), choice(ACCEPT), choice(NO)],
        several: false,
        free: true,
    }
}

fn answered(answers: &BTreeMap<String, Vec<String>>) -> ToolOutput {
    let said = answers
        .get(NAME)
        .and_then(|said| said.first())
        .map(String::as_str);
    let go_on = |mode| {
        let mode = Some(ModeChange {
            mode: Some(mode),
            by: "user",
        });
        ToolOutput {
            mode,
            ..ToolOutput::done("The user agrees with the plan. Begin with it.")
        }
    };
    match said {
        Some(ASK_FIRST) => go_on(PermissionMode::Ask),
        Some(ACCEPT) => go_on(PermissionMode::AcceptEdits),
        Some(NO) | None => kept("The user wants you to keep planning."),
        // Words of their own are no agreement.
        Some(words) => kept(&format!("The user says: {words}")),
    }
}

/// Out of a mode the agent entered itself there is always a way.
fn left_alone(caller: &Caller) -> ToolOutput {
    if caller.rights.has_entered_plan {
        let mode = Some(ModeChange {
            mode: None,
            by: "agent",
        });
        return ToolOutput {
            mode,
            ..ToolOutput::done("You have left plan mode. Begin with the plan.")
        };
    }
    kept("Nobody can agree with it now.")
}

fn kept(why: &str) -> ToolOutput {
    let words =
        format!("{why} You are still in plan mode: change the plan, or give it as your answer.");
    ToolOutput::failed(ErrorCode::ToolDenied, words)
}
