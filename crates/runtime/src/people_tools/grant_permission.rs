//! GrantPermission: an agent passes on what it may do itself to one that works for it.
//!
//! Invariant: an agent grants only what it may do itself without a question. It grants only to agents below it, so no
//! agent ends up with more rights than the one above has.

use futures::future::BoxFuture;
use rooftree_protocol::{
    Answer, ErrorCode, EventBody, InquiryResponse, PermissionScope, RunId, Session, SessionId,
    ToolSpec,
};
use rooftree_store::{InquiryAnswer, RuleKind, RuleRow, RuleScope};
use rooftree_tools::{
    PermissionRule, Tool, ToolContext, ToolInfo, ToolOutput,
    arguments::{self, ArgumentKind, ToolArgument, text},
    session_tools::GRANT_PERMISSION,
};
use serde_json::Value;

use crate::{caller::Caller, inquiries, runtime_context::SessionAction};

const DESCRIPTION: &str =
    "Permit something to an agent that works for you. You can only grant what you may do yourself.";

const ARGUMENTS: [ToolArgument; 2] = [
    ToolArgument::new("to", ArgumentKind::Text, "Its task or session id")
        .required()
        .with_aliases(&["agent", "agent_id", "task_id"]),
    ToolArgument::new(
        "permission",
        ArgumentKind::Text,
        "The rule, as it was asked for",
    )
    .required()
    .with_aliases(&["rule"]),
];

pub(super) struct GrantPermissionTool(ToolSpec);

impl GrantPermissionTool {
    pub(super) fn new() -> Self {
        Self(arguments::spec(
            GRANT_PERMISSION.name,
            DESCRIPTION,
            &ARGUMENTS,
        ))
    }
}

impl Tool for GrantPermissionTool {
    fn info(&self) -> &ToolInfo {
        &GRANT_PERMISSION
    }

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn normalise(&self, _called_as: &str, input: Value) -> Result<Value, String> {
        let mut canonical = arguments::normalise(GRANT_PERMISSION.name, &ARGUMENTS, input)?;
        let written = canonical.get("permission").and_then(Value::as_str);
        let rule = PermissionRule::parse(written.unwrap_or_default())
            .map_err(|problem| problem.to_string())?;
        canonical.insert("permission".into(), rule.to_string().into());
        Ok(Value::Object(canonical))
    }

    fn title(&self, input: &Value) -> String {
        format!("{} to {}", text(input, "permission"), text(input, "to"))
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            let Some(caller) = Caller::of(&context) else {
                return ToolOutput::failed(
                    ErrorCode::Internal,
                    "this tool only works within a run",
                );
            };
            match grant(&caller, &input).await {
                Ok(words) => ToolOutput::done(words),
                Err(words) => ToolOutput::failed(ErrorCode::ToolDenied, words),
            }
        })
    }
}

async fn grant(caller: &Caller, input: &Value) -> Result<String, String> {
    let written = text(input, "permission");
    let rule = PermissionRule::parse(written).map_err(|problem| problem.to_string())?;
    let rule = rule
        .resolved(&caller.context.options.tools.all)
        .map_err(|problem| problem.to_string())?;
    if !caller
        .rights
        .policy
        .grants(&rule, &caller.context.options.tools.all)
    {
        return Err(format!(
            "You cannot grant `{rule}`: you would be asked about it yourself."
        ));
    }
    let session = below(caller, text(input, "to")).await?;
    let store = caller.context.store();
    let failed = |error: rooftree_store::Error| error.problem().message;
    let (at, by) = (
        caller.context.now(),
        format!("agent {}", caller.session.agent),
    );
    let scope = RuleScope::Session(session.id.clone());
    let row = RuleRow {
        number: 0,
        kind: RuleKind::Allow,
        rule: rule.to_string(),
        scope,
        by: by.clone(),
        at,
    };
    store.put_rule(row, None).await.map_err(failed)?;
    caller.context.caches.saved_rules.forget();
    for inquiry in store.inquiries(None).await.map_err(failed)? {
        let is_it = matches!(&inquiry.asked, EventBody::PermissionRequested { rule: asked, .. } if *asked == rule.to_string());
        if is_it && inquiry.session == session.id && inquiry.answer.is_none() {
            let answered = InquiryAnswer {
                response: InquiryResponse::Permission(Answer::allow(PermissionScope::Once)),
                by: by.clone(),
                who: None,
                at,
            };
            inquiries::answer(&**store, &inquiry.id, answered)
                .await
                .map_err(|error| error.problem().message)?;
            let _ = caller
                .context
                .session_actions
                .send(SessionAction::Wake(session.id.clone()));
        }
    }
    Ok(format!("{} may: {rule}", session.agent))
}

/// A session that works for this one, however many are between.
async fn below(caller: &Caller, to: &str) -> Result<Session, String> {
    let store = caller.context.store();
    let failed = |error: rooftree_store::Error| error.problem().message;
    let none = || format!("`{to}` does not work for you.");
    let id = if to.starts_with(RunId::PREFIX) {
        store
            .task(to)
            .await
            .map_err(failed)?
            .and_then(|task| task.child)
            .ok_or_else(none)?
    } else {
        SessionId::parse(to).map_err(|_| none())?
    };
    let found = store.session(&id).await.map_err(failed)?.ok_or_else(none)?;
    let mut above = found.parent.clone();
    while let Some(parent) = above {
        if parent.session == caller.session.id {
            return Ok(found);
        }
        above = store
            .session(&parent.session)
            .await
            .map_err(failed)?
            .and_then(|session| session.parent);
    }
    Err(none())
}
