//! Checks the settings, the providers and the default model.

use std::borrow::Cow;

use rooftree_protocol::{ModelChoice, Problem};

use super::check::{DoctorCheck, DoctorGroup};
use crate::{
    configured_models::{self, ConfiguredModels},
    environment::Environment,
    human_format,
    settings::{self, Settings},
    terminal::sanitize::clean_line,
};

/// All of it.
pub fn checks(environment: &Environment) -> Vec<DoctorCheck> {
    let loaded = settings::load(environment);
    let mut checks = vec![match &loaded {
        Err(problem) => failed(DoctorGroup::Environment, "settings", problem),
        Ok(_) if !environment.settings.exists() => {
            let words = format!(
                "{} is not there; all have their defaults",
                human_format::place(&environment.settings)
            );
            DoctorGroup::Environment.absent("settings", words)
        }
        Ok(_) => {
            DoctorGroup::Environment.good("settings", human_format::place(&environment.settings))
        }
    }];
    for remark in loaded.iter().flat_map(|settings| settings.remarks.clone()) {
        checks.push(DoctorGroup::Environment.warning("settings", remark));
    }
    let Ok(settings) = loaded else { return checks };
    match ConfiguredModels::of(environment, &settings) {
        Ok(models) => checks.extend(of_minds(&models, &settings)),
        Err(problem) => checks.push(failed(DoctorGroup::Models, "providers", &problem)),
    }
    checks
}

fn of_minds(models: &ConfiguredModels, settings: &Settings) -> Vec<DoctorCheck> {
    // Those that stand in for vendors in the demo can be used for nothing else.
    let is_useful = |name: &&str| !name.starts_with("demo-");
    let providers: Vec<&str> = models.catalog.providers().filter(is_useful).collect();
    let mut checks = vec![DoctorGroup::Models.good("providers", providers.join(", "))];
    // What it means that none is set depends on keys and servers, which are looked at later.
    let default = configured_models::default_name(settings);
    checks.extend(default.map(|name| match opened(models, &name) {
        Ok(choice) => DoctorGroup::Models.good("default", choice.to_string()),
        Err(problem) => failed(DoctorGroup::Models, "default", &problem),
    }));
    for (kind, name) in named(settings) {
        if let Err(problem) = models.resolve(name) {
            checks.push(failed(DoctorGroup::Models, kind, &problem));
        }
    }
    checks
}

/// The other names of models in the settings, with what they are.
fn named(settings: &Settings) -> impl Iterator<Item = (&'static str, &String)> {
    let fallbacks = settings
        .models
        .fallbacks
        .iter()
        .map(|name| ("fallbacks", name));
    fallbacks.chain(
        settings
            .models
            .aliases
            .values()
            .map(|name| ("aliases", name)),
    )
}

fn opened(models: &ConfiguredModels, name: &str) -> Result<ModelChoice, Problem> {
    let choice = models.resolve(name)?.choice;
    models.catalog.open(&choice)?;
    Ok(choice)
}

/// A problem as a check.
pub fn failed(
    group: DoctorGroup,
    name: impl Into<Cow<'static, str>>,
    problem: &Problem,
) -> DoctorCheck {
    let cause = problem
        .cause
        .as_ref()
        .map(|cause| format!(": {}", clean_line(cause)))
        .unwrap_or_default();
    let check = group.failure(name, format!("{}{cause}", problem.message));
    DoctorCheck {
        fix: problem.fix.clone(),
        ..check
    }
}
