//! Task: asks another agent, waiting for it or not.

use futures::future::BoxFuture;
use rooftree_protocol::{AgentDialect, ToolSpec};
use rooftree_tools::{
    Tool, ToolContext, ToolInfo, ToolOutput, arguments, session_tools::TASK, tool::PlannedAgent,
};
use serde_json::Value;

use super::caller;
use crate::delegation::{
    delegate, dialect, plan,
    request::{ARGUMENTS, DelegationRequest, DelegationSurface, SessionStrategy},
};

const DESCRIPTION: &str = "Give a task to another agent, which has its own context and tools and answers with a text. \
It sees only your prompt: say everything it needs, and what to answer. Several calls in one reply run at the same time. \
With run_in_background you go on at once and are told when it ends: do not poll.";

/// The Task tool.
pub(super) struct TaskTool {
    spec: ToolSpec,
}

impl TaskTool {
    pub(super) fn new() -> Self {
        Self {
            spec: arguments::spec(TASK.name, DESCRIPTION, &ARGUMENTS),
        }
    }
}

impl Tool for TaskTool {
    fn info(&self) -> &ToolInfo {
        &TASK
    }

    fn is_ordered(&self, input: &Value) -> bool {
        DelegationRequest::canonical(input).is_ok_and(|request| {
            let is_own = matches!(
                request.strategy,
                SessionStrategy::New | SessionStrategy::Fork
            );
            // A peer's new session is its latest one from then on.
            !is_own || request.surface == DelegationSurface::AgentsMessage
        })
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn spec_in(&self, dialect: AgentDialect) -> Option<ToolSpec> {
        dialect::spec(&self.spec, dialect)
    }

    fn normalise(&self, called_as: &str, input: Value) -> Result<Value, String> {
        DelegationRequest::read(called_as, input).map(|request| request.to_value())
    }

    fn title(&self, input: &Value) -> String {
        match DelegationRequest::canonical(input) {
            Ok(request) => format!("{}: {}", request.agent, request.title()),
            Err(_) => String::new(),
        }
    }

    fn starts(
        &self,
        input: &Value,
        context: ToolContext,
    ) -> BoxFuture<'static, Option<PlannedAgent>> {
        let request = DelegationRequest::canonical(input);
        Box::pin(async move {
            let (request, caller) = (request.ok()?, caller(&context).ok()?);
            plan::plan(&caller, &request, &context.call).await.ok()
        })
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(async move {
            let request = match DelegationRequest::canonical(&input) {
                Ok(request) => request,
                Err(error) => {
                    let code = rooftree_protocol::ErrorCode::InvalidArguments;
                    return ToolOutput::failed(code, error);
                }
            };
            match caller(&context) {
                Ok(caller) => delegate(caller, request, context).await,
                Err(output) => *output,
            }
        })
    }
}
