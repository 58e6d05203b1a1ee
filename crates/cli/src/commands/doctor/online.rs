//! Sends one short request to each provider, concurrently, and reports the results.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{StreamExt, future::join_all};
use rooftree_protocol::{ErrorCode, ModelChoice, Part, Problem, SessionId, Usage};
use rooftree_providers::{
    Error, MediaBytes, Model, ModelMessage, ModelRequest, ReplyChunk, ToolChoice,
    catalog::ModelTier, openai_compatible::LocalServer,
};
use rooftree_runtime::{Clock, SystemClock};

use super::{
    check::{DoctorCheck, DoctorGroup},
    models::failed,
};
use crate::{
    configured_models::{self, ConfiguredModels},
    settings::Settings,
    terminal::run_text::{duration, tokens},
};

/// Timeout of one request.
const PATIENCE: Duration = Duration::from_secs(60);
/// Tokens of the answer; some vendors refuse to be asked for fewer.
const ANSWER: u64 = 64;

/// One line for each provider that has a key, and for each server on this machine.
pub async fn checks(
    models: &ConfiguredModels,
    settings: &Settings,
    local: &[LocalServer],
) -> Vec<DoctorCheck> {
    let default = configured_models::default_name(settings)
        .and_then(|name| Some(models.resolve(&name).ok()?.choice));
    // Two wires of one vendor have one key: one question will do.
    let mut accounts = BTreeSet::new();
    let keyed = models
        .usable()
        .into_iter()
        .filter(|profile| accounts.insert(profile.account.clone()));
    let keyed: Vec<String> = keyed.map(|profile| profile.name.clone()).collect();
    let served = local.iter().filter_map(|found| {
        let model = found.models.first()?.name.clone();
        Some((
            found.vendor.clone(),
            Some(ModelChoice {
                provider: found.vendor.clone(),
                model,
                effort: None,
            }),
        ))
    });
    let all: Vec<_> = keyed
        .into_iter()
        .map(|name| (name, None))
        .chain(served)
        .collect();
    let asked = all.into_iter().map(|(provider, serves)| {
        let chosen = default.clone().filter(|choice| choice.provider == provider);
        let choice = chosen.or(serves).or_else(|| cheapest(models, &provider));
        check(models, provider, choice)
    });
    join_all(asked).await
}

/// A model of a provider that is not dear.
fn cheapest(models: &ConfiguredModels, provider: &str) -> Option<ModelChoice> {
    let known = models.catalog.known();
    let tiers = [ModelTier::Fast, ModelTier::Standard, ModelTier::Powerful];
    let of_tier = tiers
        .into_iter()
        .find_map(|tier| known.of_tier(provider, tier));
    let facts = of_tier.or_else(|| known.iter().find(|facts| facts.provider() == provider))?;
    Some(ModelChoice {
        provider: provider.into(),
        model: facts.model().into(),
        effort: None,
    })
}

async fn check(
    models: &ConfiguredModels,
    provider: String,
    choice: Option<ModelChoice>,
) -> DoctorCheck {
    let Some(choice) = choice else {
        return DoctorGroup::Providers
            .absent(provider.clone(), "not asked: no model of it is known")
            .fix(format!(
                "set ROOFTREE_MODEL to {provider}/MODEL to have it asked"
            ));
    };
    let since = Instant::now();
    let answered = match models.catalog.open(&choice) {
        Ok(model) => tokio::time::timeout(PATIENCE, ask(&model))
            .await
            .unwrap_or_else(|_| Err(too_slow())),
        Err(problem) => Err(problem),
    };
    let took = duration(u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX));
    match answered {
        Ok(usage) => DoctorGroup::Providers.good(
            provider,
            format!("{choice} answered in {took} · {}", tokens(usage.total())),
        ),
        Err(problem) if problem.code == ErrorCode::Unauthorized => {
            let fix = format!("rooftree auth login {provider}");
            failed(DoctorGroup::Providers, provider, &problem.fix(fix))
        }
        Err(problem) => failed(DoctorGroup::Providers, provider, &problem),
    }
}

fn too_slow() -> Problem {
    Problem::new(
        ErrorCode::ProviderUnavailable,
        format!("no answer within {} s", PATIENCE.as_secs()),
    )
}

async fn ask(model: &Model) -> Result<Usage, Problem> {
    let mut stream = model.provider.stream(question(&model.choice));
    while let Some(chunk) = stream.next().await {
        if let ReplyChunk::Reply(reply) = chunk.map_err(|error| error.problem())? {
            return Ok(reply.usage);
        }
    }
    Err(Error::Broken("the stream ended early".into()).problem())
}

fn question(choice: &ModelChoice) -> ModelRequest {
    ModelRequest {
        model: choice.model.clone(),
        effort: choice.effort,
        agent: "doctor".into(),
        system: "Answer with one word.".into(),
        messages: Arc::new(vec![Arc::new(ModelMessage::User(vec![Part::text(
            "Say OK.",
        )]))]),
        tools: Arc::new([]),
        tool_choice: ToolChoice::Auto,
        schema: None,
        max_output: Some(ANSWER),
        media: MediaBytes::default(),
        session: SessionId::from_entropy(SystemClock.entropy()),
        attempt: 0,
        workplace: Arc::default(),
    }
}
