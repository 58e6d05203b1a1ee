//! Looks at the settings, the providers and the model that is used when none is named.

use std::borrow::Cow;

use rooftree_protocol::{ModelChoice, Problem};

use super::check::{Check, Group};
use crate::{
    environment::Environment,
    minds::{self, Minds},
    settings::{self, Settings},
    terminal::clean::clean_line,
    wording,
};

/// All of it.
pub fn checks(environment: &Environment) -> Vec<Check> {
    let loaded = settings::load(environment);
    let mut checks = vec![match &loaded {
        Err(problem) => failed(Group::Environment, "settings", problem),
        Ok(_) if !environment.settings.exists() => {
            let words =
                format!("{} is not there; all have their defaults", wording::place(&environment.settings));
            Group::Environment.absent("settings", words)
        }
        Ok(_) => Group::Environment.good("settings", wording::place(&environment.settings)),
    }];
    for remark in loaded.iter().flat_map(|settings| settings.remarks.clone()) {
        checks.push(Group::Environment.warning("settings", remark));
    }
    let Ok(settings) = loaded else { return checks };
    match Minds::of(environment, &settings) {
        Ok(minds) => checks.extend(of_minds(&minds, &settings)),
        Err(problem) => checks.push(failed(Group::Models, "providers", &problem)),
    }
    checks
}

fn of_minds(minds: &Minds, settings: &Settings) -> Vec<Check> {
    let providers: Vec<&str> = minds.catalog.providers().collect();
    let mut checks = vec![Group::Models.good("providers", providers.join(", "))];
    checks.push(match minds::default_name(settings) {
        None => Group::Models
            .absent("default", "no model is used when none is named")
            .fix("set ROOFTREE_MODEL, or `model` in config.toml, to provider/model"),
        Some(name) => match opened(minds, &name) {
            Ok(choice) => Group::Models.good("default", choice.to_string()),
            Err(problem) => failed(Group::Models, "default", &problem),
        },
    });
    for (kind, name) in named(settings) {
        if let Err(problem) = minds.resolve(name) {
            checks.push(failed(Group::Models, kind, &problem));
        }
    }
    checks
}

/// The other names of models in the settings, with what they are.
fn named(settings: &Settings) -> impl Iterator<Item = (&'static str, &String)> {
    let fallbacks = settings.fallbacks.iter().map(|name| ("fallbacks", name));
    fallbacks.chain(settings.aliases.values().map(|name| ("aliases", name)))
}

fn opened(minds: &Minds, name: &str) -> Result<ModelChoice, Problem> {
    let choice = minds.resolve(name)?.choice;
    minds.catalog.open(&choice)?;
    Ok(choice)
}

/// A problem as a check.
pub fn failed(group: Group, name: impl Into<Cow<'static, str>>, problem: &Problem) -> Check {
    let cause = problem.cause.as_ref().map(|cause| format!(": {}", clean_line(cause))).unwrap_or_default();
    let check = group.failure(name, format!("{}{cause}", problem.message));
    Check { fix: problem.fix.clone(), ..check }
}
