//! Looks at the settings, the providers and the model that is used when none is named.

use rooftree_protocol::{ModelChoice, Problem};

use super::check::{Check, Group};
use crate::{
    assemble,
    environment::{Environment, variable},
    settings,
    terminal::clean::clean_line,
    wording,
};

/// All of it.
pub fn checks(environment: &Environment) -> Vec<Check> {
    let loaded = settings::load(environment);
    let chosen = loaded.as_ref().ok().and_then(|settings| settings.model.clone());
    let mut checks = vec![match &loaded {
        Err(problem) => failed(Group::Environment, "settings", problem),
        Ok(_) if !environment.settings.exists() => {
            let words =
                format!("{} is not there; all have their defaults", wording::place(&environment.settings));
            Group::Environment.absent("settings", words)
        }
        Ok(_) => Group::Environment.good("settings", wording::place(&environment.settings)),
    }];
    for remark in loaded.map(|settings| settings.remarks).unwrap_or_default() {
        checks.push(Group::Environment.warning("settings", remark));
    }
    let catalog = assemble::catalog(environment);
    let providers: Vec<&str> = catalog.providers().collect();
    checks.push(Group::Models.good("providers", providers.join(", ")));
    checks.push(match named(chosen) {
        Err(problem) => failed(Group::Models, "default", &problem),
        Ok(None) => Group::Models
            .absent("default", "no model is used when none is named")
            .fix("set ROOFTREE_MODEL, or `model` in config.toml, to provider/model"),
        Ok(Some(choice)) => match catalog.open(&choice) {
            Ok(_) => Group::Models.good("default", choice.to_string()),
            Err(problem) => failed(Group::Models, "default", &problem),
        },
    });
    checks
}

/// The model that is used when none is named: the environment's, else the settings'.
fn named(set: Option<ModelChoice>) -> Result<Option<ModelChoice>, Problem> {
    let text = variable("ROOFTREE_MODEL").or_else(|| variable("ROOFTREE_DEFAULT_MODEL"));
    Ok(text.map(|text| text.parse()).transpose()?.or(set))
}

fn failed(group: Group, name: &'static str, problem: &Problem) -> Check {
    let cause = problem.cause.as_ref().map(|cause| format!(": {}", clean_line(cause))).unwrap_or_default();
    let check = group.failure(name, format!("{}{cause}", problem.message));
    Check { fix: problem.fix.clone(), ..check }
}
