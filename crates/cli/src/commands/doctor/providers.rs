//! Checks the providers: which have a key, which servers run on this machine, which answer.

use std::collections::BTreeSet;

use rooftree_providers::{
    agent_program::PROGRAMS,
    openai_compatible::{LocalServer, start_hint},
};

use super::{
    check::{DoctorCheck, DoctorGroup},
    external_agents,
    machine::on_path,
    models::failed,
    online,
};
use crate::{
    configured_models::{self, ConfiguredModels},
    credentials::KeySource,
    environment::Environment,
    local_models,
    providers::{KeyNeed, ProviderProfile, missing_key},
    settings::{self, Settings},
    terminal::run_text::counted,
};

/// All of it; nothing if the settings cannot be read, which is told elsewhere.
pub async fn checks(environment: &Environment, is_online: bool) -> Vec<DoctorCheck> {
    let models = settings::load(environment).and_then(|settings| {
        let models = ConfiguredModels::of(environment, &settings)?;
        Ok((settings, models))
    });
    let Ok((settings, models)) = models else {
        return Vec::new();
    };
    let mut checks = keys(&models);
    let local = local_models::servers(&models).await;
    checks.extend(default_model(&models, &settings, &local));
    checks.extend(local.iter().map(|found| {
        let words = format!(
            "{} · {}",
            found.base_url,
            counted(found.models.len() as u64, "model")
        );
        DoctorGroup::Providers.good(found.vendor.clone(), words)
    }));
    if local.is_empty() {
        checks.push(
            DoctorGroup::Providers.absent("local", "no model server answers on the usual ports"),
        );
    }
    checks.extend(PROGRAMS.iter().filter_map(|program| {
        let path = on_path(program.executable)?;
        let words = format!("{} · as a model: {}/default", path.display(), program.name);
        Some(DoctorGroup::Providers.good(program.name, words))
    }));
    checks.extend(external_agents::checks(&models, &settings, is_online).await);
    if is_online {
        checks.extend(online::checks(&models, &settings, &local).await);
    }
    checks
}

/// Whether there are agents elsewhere or programs that answer as models; both have to be named.
fn has_other_models(settings: &Settings) -> bool {
    let has_program = || {
        PROGRAMS
            .iter()
            .any(|program| on_path(program.executable).is_some())
    };
    !settings.external.is_empty() || has_program()
}

/// The model that is used if none is named. It is a failure if there is none, or if its server does not answer.
fn default_model(
    models: &ConfiguredModels,
    settings: &Settings,
    local: &[LocalServer],
) -> Option<DoctorCheck> {
    let group = DoctorGroup::Models;
    let Some(name) = configured_models::default_name(settings) else {
        return Some(match local_models::first_choice(models, local) {
            Some(name) => group
                .good("default", format!("{name}: none is set, and this one is found"))
                .fix(format!("rooftree config set model {name}")),
            None if has_other_models(settings) => group
                .absent("default", "no model is used when none is named")
                .fix("rooftree run -m PROVIDER/MODEL names one; rooftree config set model sets one"),
            None => group
                .failure(
                    "default",
                    "nothing can be run: no model is set, no provider has a key, no model server answers",
                )
                .fix(
                    "rooftree auth login PROVIDER stores a key; or start a model server; rooftree init then sets the \
                     model",
                ),
        });
    };
    let choice = models.resolve(&name).ok()?.choice;
    let profile = models
        .profiles
        .iter()
        .find(|profile| profile.name == choice.provider && profile.need == KeyNeed::Nothing)?;
    let answers = local.iter().any(|found| found.base_url == profile.base_url);
    let hint = start_hint(&profile.name).unwrap_or_default();
    (!answers).then(|| {
        let words = format!("{choice}: nothing answers at {}", profile.base_url);
        group
            .failure("default", words)
            .fix(hint.replace('\n', "; "))
    })
}

fn keys(models: &ConfiguredModels) -> Vec<DoctorCheck> {
    if let Err(problem) = models.credentials.stored() {
        return vec![failed(DoctorGroup::Providers, "keys", &problem)];
    }
    let mut accounts = BTreeSet::new();
    let wanting = models
        .profiles
        .iter()
        .filter(|profile| profile.need != KeyNeed::Nothing);
    let checks: Vec<DoctorCheck> = wanting
        .filter(|profile| accounts.insert(&profile.account))
        .filter_map(|profile| of_key(profile, models))
        .collect();
    if checks.is_empty() {
        let none = DoctorGroup::Providers.absent("keys", "no provider has a key");
        return vec![
            none.fix("rooftree auth login PROVIDER stores one; models on this machine need none"),
        ];
    }
    checks
}

/// A provider that has a key, or is meant to have one.
fn of_key(profile: &ProviderProfile, models: &ConfiguredModels) -> Option<DoctorCheck> {
    let place = profile
        .base_url_from
        .as_ref()
        .map(|from| format!(" · {} from {from}", profile.base_url));
    let place = place.unwrap_or_default();
    let name = profile.name.clone();
    match profile.key(&models.credentials) {
        Ok(Some(found)) => {
            let source = match found.source {
                KeySource::Variable(variable) => variable,
                KeySource::File => "credentials.toml".into(),
            };
            let models = models
                .catalog
                .known()
                .iter()
                .filter(|facts| facts.provider() == profile.name)
                .count();
            let models = if models > 0 {
                format!(" · {}", counted(models as u64, "known model"))
            } else {
                String::new()
            };
            let words = format!("key from {source} ({}){models}{place}", found.key.ending());
            Some(DoctorGroup::Providers.good(name, words))
        }
        Ok(None) if profile.base_url_from.is_none() => None,
        Ok(None) if profile.need == KeyNeed::Perhaps => {
            Some(DoctorGroup::Providers.good(name, format!("no key{place}")))
        }
        Ok(None) => {
            let problem = missing_key(profile, &models.credentials);
            let fix = format!("rooftree auth login {}", profile.account);
            Some(
                DoctorGroup::Providers
                    .warning(name, format!("{}{place}", problem.message))
                    .fix(fix),
            )
        }
        Err(problem) => Some(failed(DoctorGroup::Providers, name, &problem)),
    }
}
