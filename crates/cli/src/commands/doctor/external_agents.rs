//! Checks external agents: whether requests to them can be signed, and whether they are reachable.

use std::time::Duration;

use futures::future::join_all;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_providers::{
    Error,
    external_agent::{AnswerMode, ExternalAgentOptions},
};

use super::{
    check::{DoctorCheck, DoctorGroup},
    models::failed,
};
use crate::{
    configured_models::ConfiguredModels,
    external_agents::PROVIDER,
    settings::{ProviderTimeouts, Settings},
};

/// Timeout of the reachability check.
const PATIENCE: Duration = Duration::from_secs(10);

/// One line for each agent in the settings. They are only called upon if `is_online`.
pub async fn checks(
    models: &ConfiguredModels,
    settings: &Settings,
    is_online: bool,
) -> Vec<DoctorCheck> {
    let agents = settings.external.iter().map(async |(name, options)| {
        let name = format!("{PROVIDER}/{name}");
        match set_up(&name, options) {
            Ok(words) if is_online => reached(models, name, options, &words).await,
            Ok(words) => DoctorGroup::Providers.good(name, words),
            Err(check) => check,
        }
    });
    join_all(agents).await
}

fn set_up(name: &str, options: &ExternalAgentOptions) -> Result<String, DoctorCheck> {
    let answers = match options.mode {
        AnswerMode::Sync => "answers at once",
        AnswerMode::Async => "answers by callback",
    };
    let (url, variable) = (&options.input_url, &options.variable);
    if options.secret.reveal().is_none() {
        let words = format!("{url} · {variable} is not set, and questions must be signed");
        let fix = format!("export {variable}=… with what the agent checks signatures with");
        return Err(DoctorGroup::Providers
            .warning(name.to_owned(), words)
            .fix(fix));
    }
    Ok(format!("{url} · {answers} · signed with {variable}"))
}

/// Connects without asking anything: a question would set the agent to work.
async fn reached(
    models: &ConfiguredModels,
    name: String,
    options: &ExternalAgentOptions,
    words: &str,
) -> DoctorCheck {
    let client = match models.connections.client(ProviderTimeouts::default()) {
        Ok(client) => client,
        Err(problem) => return failed(DoctorGroup::Providers, name, &problem),
    };
    match client.head_status(&options.input_url, PATIENCE).await {
        Ok(status @ 500..) => {
            DoctorGroup::Providers.warning(name, format!("{words} · there, with status {status}"))
        }
        Ok(_) => DoctorGroup::Providers.good(name, format!("{words} · there")),
        Err(error) => {
            let problem = Problem::new(ErrorCode::ProviderUnavailable, "cannot be reached")
                .cause(words_of(error))
                .fix(format!(
                    "check its input_url in config.toml: {}",
                    options.input_url
                ));
            failed(DoctorGroup::Providers, name, &problem)
        }
    }
}

fn words_of(error: Error) -> String {
    match error {
        Error::Broken(words) | Error::Refused(words) => words,
        Error::Unreachable(server) => server.reason,
        other => other.to_string(),
    }
}
