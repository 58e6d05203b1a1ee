//! Looks at the agents there are here, and at the files that cannot be used.

use std::sync::Arc;

use rooftree_protocol::Level;
use rooftree_runtime::{Definitions, definitions::Severity};

use super::{
    check::{Check, Group},
    models::failed,
};
use crate::{environment::Environment, household::Household, minds::Minds, settings, wording::place};

/// All of it. Settings that cannot be read are told of elsewhere.
pub fn checks(environment: &Environment) -> Vec<Check> {
    let Ok(settings) = settings::load(environment) else { return Vec::new() };
    let Ok(minds) = Minds::of(environment, &settings) else { return Vec::new() };
    match Household::find(environment, &settings, &Arc::new(minds), None) {
        Err(problem) => vec![failed(Group::Agents, "agents", &problem)],
        Ok(household) => {
            let mut checks = vec![Group::Agents.good("agents", counted(&household.definitions))];
            checks.extend(wrong(&household.definitions));
            checks
        }
    }
}

/// How many there are, by who wrote them.
fn counted(definitions: &Definitions) -> String {
    let all = definitions.all();
    let of = |levels: &[Level]| all.iter().filter(|agent| levels.contains(&agent.source.level)).count();
    let (builtin, user, project) = (of(&[Level::Builtin]), of(&[Level::User]), of(&[Level::Project]));
    let settings = of(&[Level::Config, Level::Code]);
    let mut words = format!("{builtin} built-in, {user} user, {project} project");
    if settings > 0 {
        words = format!("{words}, {settings} in settings");
    }
    words
}

/// A line for each file that cannot be used as it is.
fn wrong(definitions: &Definitions) -> Vec<Check> {
    let complaint = |found: &rooftree_runtime::definitions::Diagnostic| {
        let words = format!("{}: {}", place(&found.path), found.message);
        let check = match found.severity {
            Severity::Error => Group::Agents.failure("definition", words),
            Severity::Warning => Group::Agents.warning("definition", words),
        };
        check.fix("rooftree agents validate shows the place")
    };
    definitions.diagnostics().iter().map(complaint).collect()
}
