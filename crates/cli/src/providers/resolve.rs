//! Resolves a model name: the user's aliases first, then tiers, then the catalog.

use std::collections::BTreeMap;

use rooftree_protocol::{ErrorCode, ModelChoice, Problem};
use rooftree_providers::{
    ModelCatalog,
    catalog::{ModelTier, ResolvedModel},
};

/// Names that lead to names, at most.
const DEEPEST: usize = 8;

/// Understands a name. `usable` are the providers that can be asked, the preferred one first.
pub fn resolve(
    text: &str,
    catalog: &ModelCatalog,
    aliases: &BTreeMap<String, String>,
    usable: impl FnOnce() -> Vec<String>,
) -> Result<ResolvedModel, Problem> {
    let written = text.trim();
    let meant = through_aliases(written, aliases)?;
    let resolved = match tier(without_effort(&meant).0) {
        Some(tier) => of_tier(&meant, tier, catalog, &usable())?,
        None => match of_provider(&meant, catalog)? {
            Some(resolved) => resolved,
            None => plainly(&meant, catalog)?,
        },
    };
    if meant == written {
        return Ok(resolved);
    }
    let how = format!("`{written}` is {}: config.toml says so", resolved.choice);
    Ok(ResolvedModel {
        how: Some(how),
        ..resolved
    })
}

/// What a name stands for. An effort behind it is carried along, unless the alias has its own.
fn through_aliases(text: &str, aliases: &BTreeMap<String, String>) -> Result<String, Problem> {
    let mut meant = text.to_owned();
    for _ in 0..DEEPEST {
        let (name, effort) = without_effort(&meant);
        let found = aliases.get(&meant).cloned().or_else(|| {
            let target = aliases.get(name)?;
            Some(if without_effort(target).1.is_empty() {
                format!("{target}{effort}")
            } else {
                target.clone()
            })
        });
        match found {
            Some(target) if target != meant => meant = target,
            _ => return Ok(meant),
        }
    }
    Err(Problem::new(
        ErrorCode::InvalidConfig,
        format!("the alias `{text}` leads back to itself"),
    )
    .fix("let each name below [aliases] stand for provider/model"))
}

/// A name, and the effort at its end with its colon.
fn without_effort(text: &str) -> (&str, &str) {
    let ends = [":low", ":medium", ":high"];
    let end = ends
        .into_iter()
        .find(|end| text.ends_with(end))
        .unwrap_or_default();
    text.split_at_checked(text.len() - end.len())
        .unwrap_or((text, ""))
}

fn tier(name: &str) -> Option<ModelTier> {
    match name {
        "fast" | "small" => Some(ModelTier::Fast),
        "standard" => Some(ModelTier::Standard),
        "powerful" => Some(ModelTier::Powerful),
        _ => None,
    }
}

fn of_tier(
    text: &str,
    tier: ModelTier,
    catalog: &ModelCatalog,
    usable: &[String],
) -> Result<ResolvedModel, Problem> {
    let found = usable
        .iter()
        .find_map(|provider| catalog.known().of_tier(provider, tier));
    let (name, effort) = without_effort(text);
    let Some(facts) = found else {
        return Err(Problem::new(
            ErrorCode::Unauthorized,
            format!("no usable model is called `{name}`"),
        )
        .cause("no provider that has such a model has a key, and config.toml says nothing about it")
        .fix(format!(
            "write {name} = \"provider/model\" below [aliases], or store a key: rooftree auth"
        )));
    };
    let choice: ModelChoice = format!("{}{effort}", facts.id).parse()?;
    let how = format!(
        "`{text}` is {choice}: the model of {} for it, whose key is there",
        facts.provider()
    );
    Ok(ResolvedModel {
        choice,
        how: Some(how),
    })
}

/// The model of one provider for a tier: `openai/fast`. None if the text is no such name.
fn of_provider(text: &str, catalog: &ModelCatalog) -> Result<Option<ResolvedModel>, Problem> {
    let (name, effort) = without_effort(text);
    let facts = name
        .split_once('/')
        .and_then(|(provider, word)| catalog.known().of_tier(provider, tier(word)?));
    let Some(facts) = facts else { return Ok(None) };
    let choice: ModelChoice = format!("{}{effort}", facts.id).parse()?;
    let how = Some(format!("`{text}` is {choice}"));
    Ok(Some(ResolvedModel { choice, how }))
}

fn plainly(text: &str, catalog: &ModelCatalog) -> Result<ResolvedModel, Problem> {
    match (catalog.resolve(text), text.parse::<ModelChoice>()) {
        // An unknown provider is reported as such when it is opened.
        (Err(_), Ok(choice)) if text.contains('/') => Ok(ResolvedModel { choice, how: None }),
        (resolved, _) => resolved,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rooftree_providers::catalog::KnownModels;

    use super::*;

    fn read(text: &str, usable: &[&str]) -> Result<String, Problem> {
        let refuse: rooftree_providers::catalog::ModelOpener =
            Arc::new(|_| Err(Problem::new(ErrorCode::Internal, "not here")));
        let catalog = ["anthropic", "openai", "ollama"]
            .into_iter()
            .fold(ModelCatalog::default(), |catalog, name| {
                catalog.with(name, refuse.clone())
            })
            .with_known(KnownModels::built_in());
        let aliases = [
            ("cheap", "openai/mini:low"),
            ("mine", "cheap"),
            ("here", "ollama/qwen3:8b"),
            ("a", "b"),
            ("b", "a"),
        ];
        let aliases = aliases
            .map(|(name, target)| (name.to_owned(), target.to_owned()))
            .into();
        let usable = usable.iter().map(|name| (*name).to_owned()).collect();
        resolve(text, &catalog, &aliases, || usable).map(|resolved| resolved.choice.to_string())
    }

    #[test]
    fn names_of_ones_own_come_first_and_keep_an_effort() {
        assert_eq!(read("mine", &[]).unwrap(), "openai/mini:low");
        assert_eq!(read("here:high", &[]).unwrap(), "ollama/qwen3:8b:high");
        assert_eq!(read("nowhere/x", &[]).unwrap(), "nowhere/x");
        assert_eq!(read("a", &[]).unwrap_err().code, ErrorCode::InvalidConfig);
    }

    #[test]
    fn r1_d12_a_provider_with_a_tier_means_its_own_model() {
        let known = KnownModels::built_in();
        let fast = known.of_tier("openai", ModelTier::Fast).unwrap().id.clone();
        assert_eq!(read("openai/fast", &["anthropic"]).unwrap(), fast);
        assert_eq!(read("openai/fast:low", &[]).unwrap(), format!("{fast}:low"));
        assert_eq!(read("ollama/fast", &[]).unwrap(), "ollama/fast");
    }

    #[test]
    fn a_tier_is_a_model_of_a_provider_that_can_be_asked() {
        let known = KnownModels::built_in();
        let fast = known.of_tier("openai", ModelTier::Fast).unwrap().id.clone();
        assert_eq!(
            read("fast:high", &["ollama", "openai"]).unwrap(),
            format!("{fast}:high")
        );
        assert_eq!(
            read("fast", &["ollama"]).unwrap_err().code,
            ErrorCode::Unauthorized
        );
    }
}
