//! The text of a first `config.toml`: everything that can be set, with what was found set.

use rooftree_providers::{
    catalog::ModelTier,
    openai_compatible::{self, LocalServer},
};

use crate::configured_models::ConfiguredModels;

/// Spells it.
pub fn config(models: &ConfiguredModels, local: &[LocalServer], model: Option<&str>) -> String {
    let mut text = String::from(
        "# What Rooftree does when it is not told otherwise. `rooftree doctor` checks this file.\n\
         # Keys do not belong here: rooftree auth login PROVIDER stores them.\n\n\
         # The model for agents and sessions that name none. `rooftree models list` shows some.\n",
    );
    match model {
        Some(model) => text += &format!("model = {}\n", quoted(model)),
        None => text += "# model = \"anthropic/claude-sonnet-5-5\"\n",
    }
    text += "\n# Models to turn to, for one turn, when that one cannot be had: limits, server, network.\n\
             # fallbacks = [\"openai/gpt-6-sol\"]\n\n\
             # Names of your own. fast, standard and powerful are such names too; without a line here they\n\
             # mean the models of the first provider that has a key.\n\
             [aliases]\n";
    for (name, tier) in [
        ("fast", ModelTier::Fast),
        ("standard", ModelTier::Standard),
        ("powerful", ModelTier::Powerful),
    ] {
        let found = models
            .usable()
            .iter()
            .find_map(|profile| models.catalog.known().of_tier(&profile.name, tier));
        match found {
            Some(facts) => text += &format!("{name} = {}\n", quoted(&facts.id)),
            None => text += &format!("# {name} = \"provider/model\"\n"),
        }
    }
    text += "\n[permission]\n# plan, ask, accept-edits, auto or bypass\nmode = \"ask\"\n\
             # allow = [\"Bash(git log *)\"]\n# deny = [\"Bash(rm *)\"]\n\n\
             [limits]\n# max_turns = 200\n# timeout = \"30m\"\n# max_cost = 1.00      # US dollars per run\n# identical_calls = 5  # the same calls in a row\n";
    text += &servers(local);
    text
}

/// The servers that are not at their vendor's default address.
pub fn moved(local: &[LocalServer]) -> impl Iterator<Item = &LocalServer> {
    local.iter().filter(|found| {
        let usual = openai_compatible::vendor(&found.vendor).map(|vendor| vendor.base_url);
        usual != Some(found.base_url.as_str())
    })
}

/// Servers that are not where we would look for them ourselves, and an example of one's own.
fn servers(local: &[LocalServer]) -> String {
    let mut text = String::from(
        "\n# A provider that speaks one of our wires (chat, responses, anthropic, gemini):\n\
         # [providers.mine]\n# base_url = \"https://models.example.org/v1\"\n# wire = \"chat\"\n# key_env = \"MINE_API_KEY\"\n\
         # timeouts = { first_byte = \"2m\" }\n",
    );
    for found in moved(local) {
        text += &format!(
            "\n[providers.{}]\nbase_url = {}\n",
            found.vendor,
            quoted(&found.base_url)
        );
    }
    text
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
