//! Says what a delegation would start, without starting it: people are asked about it before.

use rooftree_protocol::CallId;
use rooftree_tools::tool::PlannedAgent;

use super::{
    answer::DelegationError,
    bounds,
    inherit::{self, DelegationInputs},
    mode,
    request::DelegationRequest,
    target,
};
use crate::caller::Caller;

/// The agent that a request would start: the same steps as those that start it, up to the mandate.
pub(super) async fn plan(
    caller: &Caller,
    request: &DelegationRequest,
    call: &CallId,
) -> Result<PlannedAgent, DelegationError> {
    let definition = target::definition(caller, request).await?;
    bounds::check(caller, &definition, request)?;
    let target = target::find(caller, request, &definition, call).await?;
    bounds::refuse_cycle(caller, &definition, target.id())?;
    let asking = DelegationInputs {
        definition: &definition,
        request,
        target: &target,
        call,
        mode: mode(caller, request),
    };
    let mandate = inherit::mandate(caller, &asking)?;
    let resolved = caller.context.resolved(&definition.name, Some(&mandate));
    let resolved = resolved.map_err(|problem| DelegationError::NotStarted(problem.message))?;
    // Tools of servers are known by the mandate: the servers are asked when the run begins.
    let own = resolved.toolset.names().into_iter().map(str::to_owned);
    let remote = mandate
        .tools
        .iter()
        .filter(|name| name.starts_with("mcp__"));
    let mut tools: Vec<String> = own.chain(remote.cloned()).collect();
    tools.sort();
    tools.dedup();
    Ok(PlannedAgent {
        agent: definition.name.clone(),
        model: mandate.model.map(|model| model.to_string()),
        tools,
        title: request.title(),
    })
}
