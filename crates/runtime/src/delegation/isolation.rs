//! Who gets a working copy of its own: whoever can write while others work in the same place.

use rooftree_protocol::{Isolation, Mandate};
use serde_json::Value;

use super::{
    answer::Failure,
    inherit::Asking,
    request::{Request, Strategy},
    target::Target,
};
use crate::{
    caller::Caller,
    workspace::{self, Workspace},
};

/// Tools that change no files below the working directory.
const HARMLESS: [&str; 18] = [
    "Read",
    "Grep",
    "Glob",
    "List",
    "SemanticSearch",
    "TodoWrite",
    "BashOutput",
    "WebFetch",
    "WebSearch",
    "Skill",
    "ListSkills",
    "MemoryRead",
    "MemoryWrite",
    "MemorySearch",
    "SendMessage",
    "TaskStop",
    "AskUser",
    "Task",
];

/// Makes the copy, if there is to be one and the session is still to be opened.
pub(super) async fn provision(
    caller: &Caller,
    asking: &Asking<'_>,
    mandate: &Mandate,
) -> Result<Option<Workspace>, Failure> {
    let wanted = match asking.request.isolation.unwrap_or(asking.definition.isolation) {
        Isolation::None => false,
        Isolation::Worktree => true,
        Isolation::Auto => can_write(mandate) && has_company(caller, asking),
    };
    if !wanted || matches!(asking.target, Target::Known(_)) {
        return Ok(None);
    }
    let world = &caller.world;
    // The same call, made again after a crash: the copy is there, and so is the session in it.
    if let Ok(Some(_)) = world.store().session(asking.target.id()).await {
        return Ok(None);
    }
    let unique = asking.call.as_str();
    let place = &world.options.workspaces;
    let made = workspace::provision(&caller.session.cwd, &asking.definition.name, unique, place).await;
    made.map(Some).map_err(|problem| {
        let fix = problem.fix.map(|fix| format!(" ({fix})")).unwrap_or_default();
        Failure::NoWorkspace(format!(
            "{}{fix}. With isolation \"none\" it works in your directory",
            problem.message
        ))
    })
}

fn can_write(mandate: &Mandate) -> bool {
    mandate.tools.iter().any(|tool| !HARMLESS.contains(&tool.as_str()))
}

/// Whether somebody else works at the same time: another child, or the one who asks.
fn has_company(caller: &Caller, asking: &Asking<'_>) -> bool {
    asking.request.background || caller.delegations > 1
}

/// What the asked one reads: with a copy of its own, also where it works and that the original's paths do not
/// apply. A fork knows the directory of the one who asks, and must hear of its own.
pub(super) fn told(request: &Request, workspace: Option<&Workspace>) -> String {
    let Some(copy) = workspace else { return request.words() };
    let (words, cwd, origin) = (request.words(), copy.cwd.display(), copy.origin.display());
    let beginning = match request.strategy {
        Strategy::Fork => format!("From here on your working directory is {cwd}, a copy of your own."),
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
