//! Imports the scheduled tasks of daycare: each becomes a schedule of the agent that its import made.

use std::path::Path;

use rooftree_protocol::{Problem, ScheduleDraft};
use rooftree_runtime::{Handle, ScheduleDefaults, definitions::DefinitionLibrary};

use super::effective;
use crate::{
    commands::token::local_owner, environment::Environment, failure, output,
    system_zone::system_zone,
};

/// Adds them, unless there are some of their names; says how many could not be added.
pub(super) async fn execute(
    library: &DefinitionLibrary,
    path: &Path,
    environment: &Environment,
) -> Result<usize, Problem> {
    let drafts = library.import_daycare_schedules(path);
    if drafts.is_empty() {
        return Ok(0);
    }
    let handle = environment.control()?;
    let mut failed = 0;
    for draft in drafts {
        let name = draft.name.clone().unwrap_or_default();
        match add(&handle, draft, environment).await {
            Ok(told) => output::print(&format!("schedule {name}: {told}\n"))?,
            Err(problem) => {
                failed += 1;
                let message = format!("schedule {name}: {}", problem.message);
                let problem = Problem { message, ..problem };
                output::print_note(environment, &failure::in_words(&problem));
            }
        }
    }
    output::print_note(environment, "schedules fire while `rooftree serve` runs");
    Ok(failed)
}

/// Invariant: a command that came with files of another program is not run by itself before a person has said so.
async fn add(
    handle: &Handle,
    draft: ScheduleDraft,
    environment: &Environment,
) -> Result<String, Problem> {
    let who = local_owner()?.principal;
    let name = draft.name.clone().unwrap_or_default();
    if handle.schedule(&who, &name).await.is_ok() {
        return Ok("is there already".to_owned());
    }
    let defaults = ScheduleDefaults {
        agent: name.clone(),
        cwd: environment.cwd.clone(),
        zone: system_zone(),
    };
    let gate = draft.gate.clone();
    let agent = draft.agent.clone().unwrap_or_else(|| name.clone());
    let is_heartbeat = draft.kind.as_deref() == Some("heartbeat");
    let draft = ScheduleDraft {
        model: effective::usual_model(&agent, is_heartbeat, environment),
        enabled: if gate.is_some() {
            Some(false)
        } else {
            draft.enabled
        },
        ..draft
    };
    let added = handle.add_schedule(&who, &draft, defaults).await;
    let added = added.map_err(|error| error.problem())?;
    let paused = match gate {
        Some(gate) => format!(", off because it runs `{gate}`: rooftree schedules resume {name}"),
        None if !added.enabled => ", off".to_owned(),
        None => String::new(),
    };
    Ok(format!("{}{paused}", added.words))
}
