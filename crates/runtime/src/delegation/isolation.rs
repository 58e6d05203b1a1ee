//! Workspace isolation: an agent that can write while others work in the same directory gets a copy of its own.

use rooftree_protocol::{Isolation, Mandate, RunId};
use rooftree_tools::declared;
use rooftree_workspace::{self as workspace, Workspace};
use serde_json::Value;

use super::{
    answer::DelegationError,
    inherit::DelegationInputs,
    request::{DelegationRequest, SessionStrategy},
    target::DelegationTarget,
};
use crate::{agent::working_directory, caller::Caller};

/// Makes the copy, if there is to be one and the session has no directory yet, or none any more.
pub(super) async fn provision(
    caller: &Caller,
    asking: &DelegationInputs<'_>,
    mandate: &Mandate,
) -> Result<Option<Workspace>, DelegationError> {
    let wanted = match asking
        .request
        .isolation
        .unwrap_or(asking.definition.isolation)
    {
        Isolation::None => false,
        Isolation::Worktree => true,
        Isolation::Auto => can_write(mandate) && has_company(caller, asking),
    };
    if !wanted || matches!(asking.target, DelegationTarget::Known(session) if session.cwd.is_dir())
    {
        return Ok(None);
    }
    let context = &caller.context;
    // The same call, made again after a crash: the copy is there, and so is the message about it.
    let task = RunId::derived_from(asking.call.as_str());
    let is_repeated = match asking.target {
        DelegationTarget::Known(_) => {
            matches!(context.store().task(task.as_str()).await, Ok(Some(_)))
        }
        _ => matches!(
            context.store().session(asking.target.id()).await,
            Ok(Some(_))
        ),
    };
    if is_repeated {
        return Ok(None);
    }
    let from = match asking.target {
        // Its own copy was removed; the next one is made from the same original.
        DelegationTarget::Known(session) => {
            match working_directory::original(context, session).await {
                Some(original) => original,
                None => return Ok(None),
            }
        }
        DelegationTarget::New(_) | DelegationTarget::Fork { .. } => caller.session.cwd.clone(),
    };
    let unique = asking.call.as_str();
    let place = &context.options.agents.workspaces;
    let made = workspace::provision(&from, &asking.definition.name, unique, place).await;
    made.map(Some).map_err(|problem| {
        let fix = problem
            .fix
            .map(|fix| format!(" ({fix})"))
            .unwrap_or_default();
        DelegationError::NoWorkspace(format!(
            "{}{fix}. With isolation \"none\" it works in your directory",
            problem.message
        ))
    })
}

fn can_write(mandate: &Mandate) -> bool {
    mandate
        .tools
        .iter()
        .any(|tool| declared(tool).needs_working_copy)
}

/// Whether another agent works concurrently: another child, or the caller.
fn has_company(caller: &Caller, asking: &DelegationInputs<'_>) -> bool {
    asking.request.is_background() || caller.delegations > 1
}

/// What the asked one reads: with a copy of its own, also where it works and that the original's paths do not
/// apply. A fork knows the directory of the one who asks, and must hear of its own.
pub(super) fn told(request: &DelegationRequest, workspace: Option<&Workspace>) -> String {
    let Some(copy) = workspace else {
        return request.words();
    };
    let (words, cwd, origin) = (request.words(), copy.cwd.display(), copy.origin.display());
    let beginning = match request.strategy {
        SessionStrategy::Fork => {
            format!("From here on your working directory is {cwd}, a copy of your own.")
        }
        _ => format!("You work in a copy of the project. Your working directory is {cwd}."),
    };
    format!(
        "{words}\n\n[{beginning} Paths below {origin} are in the original and do not apply here: use paths \
         relative to your working directory.]"
    )
}

/// The copy as it is kept with the message.
pub(super) fn written(workspace: &Workspace) -> Option<Value> {
    serde_json::to_value(workspace).ok()
}
