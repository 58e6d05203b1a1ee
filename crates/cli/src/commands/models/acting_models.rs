//! Models that act by themselves: other agents' programs, and agents elsewhere.

use rooftree_protocol::{ModelChoice, Problem};
use rooftree_providers::{
    Workplace,
    agent_program::PROGRAMS,
    external_agent::{AnswerMode, ExternalAgentOptions},
};
use serde::Serialize;

use super::Row;
use crate::{
    commands::doctor::on_path, configured_models::ConfiguredModels, external_agents::PROVIDER,
    output,
};

/// A row for each of them.
pub fn rows(models: &ConfiguredModels) -> Vec<Row> {
    let programs = PROGRAMS.iter().map(|program| {
        Row::acting(
            format!("{}/default", program.name),
            on_path(program.executable).is_some(),
        )
    });
    let agents = models.external.iter();
    let agents = agents.map(|(name, options)| {
        Row::acting(
            format!("{PROVIDER}/{name}"),
            options.secret.reveal().is_some(),
        )
    });
    programs.chain(agents).collect()
}

/// One of them, as it is told.
#[derive(Serialize)]
struct ActingModel {
    id: String,
    /// A program's path, or where an agent is asked.
    place: Option<String>,
    /// How it is reached, or what is missing, in words.
    words: String,
    usable: bool,
    /// What it may do whatever its scope is.
    unenforced: Vec<String>,
}

/// What is known about one; none if the name means another kind of model.
pub fn page(
    choice: &ModelChoice,
    models: &ConfiguredModels,
    as_json: bool,
) -> Option<Result<String, Problem>> {
    let acting = acting(choice, models)?;
    if as_json {
        return Some(output::json_page(&acting));
    }
    let place = acting.place.unwrap_or_else(|| "not found".to_owned());
    let mut text = format!(
        "{}\n  place        {place}\n  state        {}\n",
        acting.id, acting.words
    );
    text += "  price        what it tells; else only tokens, or nothing\n  can          acts by itself\n";
    for words in acting.unenforced {
        text += &format!("  beware       {words}\n");
    }
    Some(Ok(text))
}

fn acting(choice: &ModelChoice, models: &ConfiguredModels) -> Option<ActingModel> {
    let (place, words, usable) = if choice.provider == PROVIDER {
        let options = models.external.get(&choice.model)?;
        let usable = options.secret.reveal().is_some();
        (
            Some(options.input_url.clone()),
            agent_words(options, usable),
            usable,
        )
    } else {
        let program = PROGRAMS
            .iter()
            .find(|program| program.name == choice.provider)?;
        let path = on_path(program.executable).map(|path| path.display().to_string());
        let words = match &path {
            Some(_) => format!(
                "written for version {}; to log in: {}",
                program.version, program.login
            ),
            None => program.install.to_owned(),
        };
        let usable = path.is_some();
        (path, words, usable)
    };
    let model = models.catalog.open(choice).ok();
    let unenforced = model.map(|model| model.provider.unenforced(&["Read"], &Workplace::default()));
    Some(ActingModel {
        id: choice.to_string(),
        place,
        words,
        usable,
        unenforced: unenforced.unwrap_or_default(),
    })
}

fn agent_words(options: &ExternalAgentOptions, has_secret: bool) -> String {
    let answers = match options.mode {
        AnswerMode::Sync => "answers at once",
        AnswerMode::Async => "answers by callback",
    };
    let not = if has_secret { "" } else { "not " };
    format!("{answers}; {} is {not}set", options.variable)
}
