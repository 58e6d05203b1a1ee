//! Checks the providers: which have a key, which servers run on this machine, which answer.

use std::{collections::BTreeSet, time::Duration};

use rooftree_protocol::Problem;
use rooftree_providers::{
    agent_program::PROGRAMS,
    openai_compatible::{LocalEndpoint, LocalServer, find_local},
};

use super::{
    check::{DoctorCheck, DoctorGroup},
    external_agents,
    machine::on_path,
    models::failed,
    online,
};
use crate::{
    configured_models::ConfiguredModels,
    credentials::KeySource,
    environment::Environment,
    providers::{KeyNeed, ProviderProfile, missing_key},
    settings::{self, ProviderTimeouts},
    terminal::run_text::counted,
};

/// Timeout for a server on this machine.
const PATIENCE: Duration = Duration::from_millis(500);

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
    let local = local_servers(&models).await.unwrap_or_default();
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

/// The servers on this machine that answer.
pub async fn local_servers(models: &ConfiguredModels) -> Result<Vec<LocalServer>, Problem> {
    let local = models
        .profiles
        .iter()
        .filter(|profile| profile.need == KeyNeed::Nothing);
    let place = |profile: &ProviderProfile| LocalEndpoint {
        vendor: profile.name.clone(),
        base_url: profile.base_url.clone(),
    };
    let places: Vec<LocalEndpoint> = local.map(place).collect();
    Ok(find_local(
        &models.connections.client(ProviderTimeouts::default())?,
        &places,
        PATIENCE,
    )
    .await)
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
