//! Shows the models that are known: what they read and write, what they can, what they cost.

mod acting_models;
mod list;
mod show;

use clap::{Args, Subcommand};
use rooftree_protocol::Problem;
use rooftree_providers::catalog::{ModelInfo, ModelPrice, ModelProfile, ModelTier};
use serde::Serialize;

use crate::{
    configured_models::ConfiguredModels, environment::Environment, exit::Exit, listing::ListItem,
    settings,
};

/// Options of `models`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// What to show.
#[derive(Debug, Subcommand)]
enum Action {
    /// List the models that are known, without network requests
    #[command(visible_alias = "ls")]
    List(list::Arguments),
    /// Show one model: provider/model, or a name that means one
    Show(show::Arguments),
}

/// Prints it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let models = ConfiguredModels::of(environment, &settings::load(environment)?)?;
    match arguments.action {
        Action::List(arguments) => list::execute(&arguments, &models, environment),
        Action::Show(arguments) => show::execute(&arguments, &models, environment).await,
    }
    .map(|()| Exit::DONE)
}

/// A model as it is told.
#[derive(Serialize)]
struct Row {
    id: String,
    aliases: Vec<String>,
    window: Option<u64>,
    output: Option<u64>,
    /// Dollars per million tokens.
    price: Option<ModelPrice>,
    tools: bool,
    images: bool,
    thinking: bool,
    tier: Option<ModelTier>,
    /// How it is asked.
    profile: ModelProfile,
    /// Whether it is an agent of its own, with tools of its own.
    acts: bool,
    /// Whether it can be asked: its provider has a key, or needs none.
    usable: bool,
}

impl ListItem for Row {
    fn id(&self) -> String {
        self.id.clone()
    }
}

impl Row {
    fn of(facts: &ModelInfo, usable: bool) -> Self {
        let profile = facts.effective_profile();
        let ModelInfo {
            id,
            aliases,
            window,
            output,
            price,
            tools,
            images,
            thinking,
            tier,
            ..
        } = facts.clone();
        Self {
            id,
            aliases,
            window,
            output,
            price,
            tools,
            images,
            thinking,
            tier,
            profile,
            acts: false,
            usable,
        }
    }

    /// A model that acts by itself. Its context window, output limit and price are unknown.
    fn acting(id: String, usable: bool) -> Self {
        Self {
            id,
            aliases: Vec::new(),
            window: None,
            output: None,
            price: None,
            tools: false,
            images: false,
            thinking: false,
            tier: None,
            profile: ModelProfile::Full,
            acts: true,
            usable,
        }
    }

    fn abilities(&self) -> String {
        let all = [
            ("tools", self.tools),
            ("images", self.images),
            ("thinking", self.thinking),
            ("acts by itself", self.acts),
        ];
        let able: Vec<&str> = all
            .into_iter()
            .filter(|(_, able)| *able)
            .map(|(word, _)| word)
            .collect();
        able.join(" ")
    }
}

/// A number of tokens in few characters: `200k`, `1M`, `1.05M`.
fn short(tokens: Option<u64>) -> String {
    match tokens {
        None => "–".into(),
        Some(count @ 0..1_000) => count.to_string(),
        Some(count @ 1_000..1_000_000) => format!("{}k", count / 1_000),
        Some(count) => format!("{}M", (count as f64 / 10_000.0).round() / 100.0),
    }
}

/// Dollars for a million tokens, without empty digits.
fn dollars(price: f64) -> String {
    format!("${price}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_and_prices_are_short() {
        let table = [
            (None, "–"),
            (Some(8_192), "8k"),
            (Some(200_000), "200k"),
            (Some(1_000_000), "1M"),
            (Some(1_048_576), "1.05M"),
        ];
        for (tokens, words) in table {
            assert_eq!(short(tokens), words);
        }
        assert_eq!(
            (dollars(3.0), dollars(0.125)),
            ("$3".into(), "$0.125".into())
        );
    }
}
