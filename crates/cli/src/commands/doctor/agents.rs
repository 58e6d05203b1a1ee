//! Checks the agent definitions, and lists files that cannot be used.

use std::sync::Arc;

use rooftree_protocol::DefinitionLevel;
use rooftree_runtime::{Definitions, definitions::Severity};

use super::{
    check::{DoctorCheck, DoctorGroup},
    models::failed,
};
use crate::{
    configured_models::ConfiguredModels, environment::Environment, human_format::place,
    project_agents::ProjectAgents, settings,
};

/// All of it. Settings that cannot be read are told of elsewhere.
pub fn checks(environment: &Environment) -> Vec<DoctorCheck> {
    let Ok(settings) = settings::load(environment) else {
        return Vec::new();
    };
    let Ok(models) = ConfiguredModels::of(environment, &settings) else {
        return Vec::new();
    };
    match ProjectAgents::find(environment, &settings, &Arc::new(models), None) {
        Err(problem) => vec![failed(DoctorGroup::Agents, "agents", &problem)],
        Ok(project) => {
            let mut checks =
                vec![DoctorGroup::Agents.good("agents", counted(&project.definitions))];
            checks.extend(wrong(&project.definitions));
            checks
        }
    }
}

/// How many there are, by who wrote them.
fn counted(definitions: &Definitions) -> String {
    let all = definitions.all();
    let of = |levels: &[DefinitionLevel]| {
        all.iter()
            .filter(|agent| levels.contains(&agent.source.level))
            .count()
    };
    let (builtin, user, project) = (
        of(&[DefinitionLevel::Builtin]),
        of(&[DefinitionLevel::User]),
        of(&[DefinitionLevel::Project]),
    );
    let settings = of(&[DefinitionLevel::Config, DefinitionLevel::Code]);
    let mut words = format!("{builtin} built-in, {user} user, {project} project");
    if settings > 0 {
        words = format!("{words}, {settings} in settings");
    }
    words
}

/// A line for each file that cannot be used as it is.
fn wrong(definitions: &Definitions) -> Vec<DoctorCheck> {
    let complaint = |found: &rooftree_runtime::definitions::Diagnostic| {
        let words = format!("{}: {}", place(&found.path), found.message);
        let check = match found.severity {
            Severity::Error => DoctorGroup::Agents.failure("definition", words),
            Severity::Warning => DoctorGroup::Agents.warning("definition", words),
        };
        check.fix("rooftree agents validate shows the place")
    };
    definitions.diagnostics().iter().map(complaint).collect()
}
