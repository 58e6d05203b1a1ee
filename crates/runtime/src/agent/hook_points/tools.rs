//! Hooks before and after tools are used, and about what tools did to the todo list.

use std::{collections::HashMap, sync::Arc};

use rooftree_protocol::{
    CallId, EventBody, Outcome, Todo, TodoStatus, event::ToolRecord, message::text_of,
};
use rooftree_tools::ToolOutput;
use serde_json::{Value, json};

use super::{
    PreparedCall, ask_hooks, payload, record_hook_answer, stopped, tell, unless_interrupted, wants,
};
use crate::{
    Error,
    agent::AgentActor,
    hooks::{HookAnswer, HookPayload, HookPoint, HookVerdict, ToolUse},
};

/// Cached answers of hooks about the calls of one reply: each call is asked about once.
#[derive(Default)]
pub(in crate::agent) struct CallHookAnswers(HashMap<CallId, HookAnswer>);

impl CallHookAnswers {
    /// The hooks' answer, asked now if it is not cached. None if the run must end first.
    pub(in crate::agent) async fn about(
        &mut self,
        agent: &mut AgentActor,
        one: &PreparedCall,
    ) -> Result<Option<HookAnswer>, Error> {
        if let Some(said) = self.0.get(&one.call.id) {
            return Ok(Some(said.clone()));
        }
        let Some(answer) = before(agent, one).await? else {
            return Ok(None);
        };
        if answer.stops.is_some() {
            return Ok(None);
        }
        self.0.insert(one.call.id.clone(), answer.clone());
        Ok(Some(answer))
    }
}

/// Whether any hook is to be asked before a tool is used.
pub(in crate::agent) fn has_say(agent: &AgentActor) -> bool {
    !agent.context.options.agents.hooks.before_tool.is_empty()
        || wants(agent, HookPoint::PreToolUse)
}

async fn before(agent: &mut AgentActor, one: &PreparedCall) -> Result<Option<HookAnswer>, Error> {
    let (context, about) = (agent.context.clone(), tool_use(agent, one));
    let judging = context
        .options
        .agents
        .hooks
        .judge(&*context.options.clock, &about);
    let Some(verdict) = unless_interrupted(agent, judging).await? else {
        return Ok(None);
    };
    if matches!(verdict, HookVerdict::Deny(_)) || !wants(agent, HookPoint::PreToolUse) {
        return Ok(Some(HookAnswer {
            verdict,
            ..HookAnswer::default()
        }));
    }
    let payload = about_call(agent, HookPoint::PreToolUse, one, json!({}));
    let Some(mut answer) = ask_hooks(agent, payload).await? else {
        return Ok(None);
    };
    if answer.refusal().is_none() {
        // The refusal itself is the call's result.
        record_hook_answer(
            agent,
            HookPoint::PreToolUse,
            Some(one.call.id.to_string()),
            &answer,
        );
    }
    answer.verdict = answer.verdict.max(verdict);
    Ok(Some(answer))
}

fn tool_use(agent: &AgentActor, one: &PreparedCall) -> ToolUse {
    ToolUse {
        session: agent.session.id.clone(),
        run: agent.run_id(),
        agent: agent.session.agent.clone(),
        depth: agent.depth(),
        call: one.call.id.clone(),
        tool: one.tool.spec().name.clone(),
        input: one.input.clone(),
        title: one.title.clone(),
        effect: one.effect,
        cwd: agent.session.cwd.clone(),
    }
}

/// An occasion that is about one call.
pub(super) fn about_call(
    agent: &AgentActor,
    point: HookPoint,
    one: &PreparedCall,
    more: Value,
) -> HookPayload {
    let mut payload = payload(agent, point, json!({})).calling(one.tool.as_ref(), &one.input);
    payload
        .details
        .insert("tool_use_id".into(), json!(one.call.id));
    // A guard reads canonical names; what the model wrote under another name or in other words stands beside them.
    if one.call.tool != one.tool.spec().name || one.call.input != one.input {
        let written = json!({"tool_name": one.call.tool, "tool_input": one.call.input});
        payload.details.insert("as_written".into(), written);
    }
    if let Value::Object(more) = more {
        payload.details.extend(more);
    }
    payload
}

/// A call was refused.
pub(in crate::agent) fn refused(
    agent: &AgentActor,
    one: Option<&PreparedCall>,
    record: &ToolRecord,
) {
    if record.outcome != Outcome::Denied || !wants(agent, HookPoint::PermissionDenied) {
        return;
    }
    let reason = json!({ "reason": text_of(&record.content) });
    let about = match one {
        Some(one) => about_call(agent, HookPoint::PermissionDenied, one, reason),
        None => {
            let call = json!({
                "tool_name": record.tool,
                "tool_use_id": record.call,
                "reason": text_of(&record.content),
            });
            payload(agent, HookPoint::PermissionDenied, call).named([record.tool.clone()])
        }
    };
    tell(agent, about);
}

/// A call that was made, for the hooks that are asked afterwards.
pub(in crate::agent) struct CompletedToolUse {
    call: CallId,
    payload: HookPayload,
    /// The todo list before it and after it.
    todos: Option<(Arc<[Todo]>, Vec<Todo>)>,
}

/// The payload for hooks about a call that was made; none if no hook wants it.
pub(in crate::agent) fn used(
    agent: &AgentActor,
    one: &PreparedCall,
    output: &ToolOutput,
) -> Option<CompletedToolUse> {
    use HookPoint::{PostToolBatch, PostToolUse, PostToolUseFailure, TaskCompleted, TaskCreated};
    let points = [
        PostToolUse,
        PostToolUseFailure,
        PostToolBatch,
        TaskCreated,
        TaskCompleted,
    ];
    if !super::is_any(agent) || !points.into_iter().any(|point| wants(agent, point)) {
        return None;
    }
    let text = text_of(&output.content);
    let payload = match output.failure {
        None => {
            let response = json!({"success": true, "text": text, "files": output.files});
            about_call(
                agent,
                PostToolUse,
                one,
                json!({ "tool_response": response }),
            )
        }
        Some(code) => {
            let details = json!({"error": text, "error_code": code, "is_interrupt": false});
            about_call(agent, PostToolUseFailure, one, details)
        }
    };
    let todos = output
        .todos
        .clone()
        .map(|after| (agent.history.todos(), after));
    Some(CompletedToolUse {
        call: one.call.id.clone(),
        payload,
        todos,
    })
}

/// After calls were made: what hooks say goes to the model beside the results.
pub(in crate::agent) async fn after_tools(
    agent: &mut AgentActor,
    all: &[CompletedToolUse],
) -> Result<(), Error> {
    for used in all {
        let point = used.payload.point;
        let Some(answer) = ask_hooks(agent, used.payload.clone()).await? else {
            return Ok(());
        };
        record_hook_answer(agent, point, Some(used.call.to_string()), &answer);
        if let Some((before, after)) = &used.todos {
            todos(agent, before, after).await?;
        }
    }
    Ok(())
}

/// After all calls of a reply: a hook can end the run before the model is asked again.
pub(in crate::agent) async fn after_batch(
    agent: &mut AgentActor,
    all: Vec<CompletedToolUse>,
) -> Result<(), Error> {
    if all.is_empty() || agent.inbox.end_reason.is_some() || !wants(agent, HookPoint::PostToolBatch)
    {
        return Ok(());
    }
    let calls: Vec<Value> = all
        .into_iter()
        .map(|used| Value::Object(used.payload.details))
        .collect();
    let batch = payload(
        agent,
        HookPoint::PostToolBatch,
        json!({ "tool_calls": calls }),
    );
    let Some(answer) = ask_hooks(agent, batch).await? else {
        return Ok(());
    };
    record_hook_answer(agent, HookPoint::PostToolBatch, None, &answer);
    if let Some(why) = answer.refusal() {
        agent.inbox.end_reason = Some(stopped(why));
    }
    Ok(())
}

/// Asks hooks about todo items that were added or ticked off; a refused change is reverted.
async fn todos(agent: &mut AgentActor, before: &[Todo], after: &[Todo]) -> Result<(), Error> {
    let mut list = Vec::with_capacity(after.len());
    for (at, todo) in after.iter().enumerate() {
        let known = before.iter().find(|known| known.content == todo.content);
        let is_ticked = todo.status == TodoStatus::Completed
            && known.is_none_or(|known| known.status != TodoStatus::Completed);
        if known.is_none() && takes_back(agent, HookPoint::TaskCreated, at, todo).await? {
            continue;
        }
        let mut todo = todo.clone();
        if is_ticked && takes_back(agent, HookPoint::TaskCompleted, at, &todo).await? {
            todo.status = known.map_or(TodoStatus::InProgress, |known| known.status);
        }
        list.push(todo);
    }
    if list != after {
        agent.note(EventBody::TodoUpdated { items: list });
    }
    Ok(())
}

async fn takes_back(
    agent: &mut AgentActor,
    point: HookPoint,
    at: usize,
    todo: &Todo,
) -> Result<bool, Error> {
    if !wants(agent, point) {
        return Ok(false);
    }
    let task = json!({"task_id": (at + 1).to_string(), "task_subject": todo.content});
    let Some(answer) = ask_hooks(agent, payload(agent, point, task)).await? else {
        return Ok(false);
    };
    record_hook_answer(agent, point, None, &answer);
    Ok(answer.refusal().is_some())
}
