//! Selects the models of a run, and whether their replies are recorded to or replayed from a cassette.

use rooftree_protocol::{ErrorCode, ModelChoice, Problem};
use rooftree_providers::{
    Model,
    cassette::{CassettePlayer, CassetteRecorder},
    catalog::ResolvedModel,
};

use super::Arguments;
use crate::{
    configured_models::{self, ConfiguredModels, RecordingMode},
    demo_models,
    environment::Environment,
    local_models, output,
    settings::Settings,
    terminal::run_text::counted,
};

/// The models that were chosen, and what people should know about how.
#[derive(Debug, Default)]
pub struct SelectedModels {
    /// The one named on the command line.
    pub named: Option<ModelChoice>,
    /// The default model.
    pub default: Option<ModelChoice>,
    /// Fallback models.
    pub fallbacks: Vec<ModelChoice>,
    pub remarks: Vec<String>,
}

/// The recording that is asked for.
pub fn tape(
    arguments: &Arguments,
    environment: &Environment,
    settings: &Settings,
) -> Result<RecordingMode, Problem> {
    Ok(match (&arguments.record, &arguments.replay) {
        (Some(file), _) => {
            let names = configured_models::names(environment, settings)?;
            RecordingMode::Recording(CassetteRecorder::create(
                &environment.cwd.join(file),
                names,
            )?)
        }
        (None, Some(file)) => {
            let names = configured_models::names(environment, settings)?;
            RecordingMode::Playing(CassettePlayer::open(&environment.cwd.join(file), names)?)
        }
        (None, None) => RecordingMode::Off,
    })
}

/// Resolves the names of models. A recording knows which model it was made with.
pub async fn choose(
    arguments: &Arguments,
    settings: &Settings,
    models: &ConfiguredModels,
    tape: &RecordingMode,
) -> Result<SelectedModels, Problem> {
    let mut chosen = SelectedModels::default();
    let recorded = tape.models().into_iter().next();
    let mut typed = arguments.model.clone();
    if typed.is_some() && settings.is_pinned("model") {
        chosen
            .remarks
            .push("--model is ignored: model is pinned for this machine".into());
        typed = None;
    }
    let named = typed.or(recorded);
    chosen.named = named
        .map(|name| chosen.understood(models.resolve(&name)))
        .transpose()?;
    if let Some(choice) = &chosen.named {
        refuse_unknown_provider(choice, models)?;
    }
    if let Some(name) = configured_models::default_name(settings) {
        match models.resolve(&name) {
            // A default that is unavailable does not matter while another one is used.
            Err(_) if chosen.named.is_some() => {}
            resolved => chosen.default = Some(chosen.understood(resolved)?),
        }
    }
    if chosen.named.is_none() && chosen.default.is_none() {
        chosen.first_usable(models).await;
    }
    for name in &settings.models.fallbacks {
        let choice = chosen.understood(models.resolve(name))?;
        chosen.fallbacks.push(choice);
    }
    Ok(chosen)
}

/// A provider that was typed and does not exist is a wrong argument.
fn refuse_unknown_provider(choice: &ModelChoice, models: &ConfiguredModels) -> Result<(), Problem> {
    match models.catalog.unknown_provider(choice) {
        Some(problem) => Err(Problem {
            code: ErrorCode::InvalidArguments,
            ..problem
        }),
        None => Ok(()),
    }
}

impl SelectedModels {
    /// Where no model is named: the standard model of the first vendor with a key, as the library does; else the first
    /// model of a server on this machine.
    async fn first_usable(&mut self, models: &ConfiguredModels) {
        let found = match models.resolve("standard") {
            Ok(found) => Some(found),
            Err(_) => {
                let local = local_models::described_servers(models).await;
                let name = local_models::first_choice(models, &local);
                name.and_then(|name| models.resolve(&name).ok())
            }
        };
        if let Some(ResolvedModel { choice, .. }) = found {
            self.remarks.push(format!(
                "no model is set, so {choice} is used; rooftree config set model {choice}"
            ));
            self.default = Some(choice);
        }
    }

    fn understood(
        &mut self,
        resolved: Result<ResolvedModel, Problem>,
    ) -> Result<ModelChoice, Problem> {
        let ResolvedModel { choice, how } = resolved?;
        self.remarks
            .extend(how.filter(|how| !self.remarks.contains(how)));
        Ok(choice)
    }
}

/// A limit on money holds only as far as prices are known, and people should know.
pub fn unpriced(model: &Model, max_cost: Option<f64>) -> Option<String> {
    let provider = model.choice.provider.as_str();
    let is_paid = provider != "scripted" && !demo_models::PROVIDERS.contains(&provider);
    (max_cost.is_some() && model.price.is_none() && is_paid).then(|| {
        format!(
            "the price of {} is not known: a limit on money counts only what its provider reports; \
             write its price into models.toml",
            model.choice
        )
    })
}

/// A replay that ended before its recording did is not the same work.
pub fn warn_unplayed(tape: &RecordingMode, environment: &Environment) {
    if let RecordingMode::Playing(player) = tape
        && player.left() > 0
    {
        let left = counted(player.left() as u64, "answer");
        output::print_note(
            environment,
            &format!("! left over from the recording: {left}"),
        );
    }
}
