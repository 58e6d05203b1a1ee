//! Resolves a model name to a provider and model, and explains how.

use rooftree_protocol::{Effort, ErrorCode, ModelChoice, Problem};

use rooftree_stdx::edit_distance;

use super::{known_models::KnownModels, model_info::ModelTier};

/// A resolved name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedModel {
    /// The model it stands for.
    pub choice: ModelChoice,
    /// How a name without a provider was resolved; none for a full name.
    pub how: Option<String>,
}

/// Name prefixes of model families, and the provider of each.
const FAMILIES: &[(&str, &str)] = &[
    ("claude-", "anthropic"),
    ("gpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("codex-", "openai"),
    ("gemini-", "google"),
    ("grok-", "xai"),
    ("deepseek-", "deepseek"),
    ("kimi-", "moonshot"),
    ("glm-", "zai"),
    ("mistral-", "mistral"),
];

/// Resolves a name. `providers` are the names that may stand before the slash.
pub(super) fn resolve(
    text: &str,
    known: &KnownModels,
    providers: &[&str],
) -> Result<ResolvedModel, Problem> {
    let text = text.trim();
    if let Ok(choice) = text.parse::<ModelChoice>()
        && providers.contains(&choice.provider.as_str())
    {
        return Ok(ResolvedModel { choice, how: None });
    }
    let (name, effort) = with_effort(text);
    let (provider, model, how) =
        bare(name, known, providers).ok_or_else(|| unknown(text, known, providers))?;
    let choice = ModelChoice {
        provider,
        model,
        effort,
    };
    let how = Some(format!("`{text}` is {choice}: {how}"));
    Ok(ResolvedModel { choice, how })
}

/// Resolves a name without a provider.
fn bare(name: &str, known: &KnownModels, providers: &[&str]) -> Option<(String, String, String)> {
    if let Some(facts) = known.by_alias(name) {
        return Some((
            facts.provider().into(),
            facts.model().into(),
            "a short name".into(),
        ));
    }
    let served = known.by_name(name);
    let usable = served
        .iter()
        .find(|facts| providers.contains(&facts.provider()))
        .or(served.first());
    if let Some(facts) = usable {
        return Some((
            facts.provider().into(),
            name.into(),
            format!("{} serves it", facts.provider()),
        ));
    }
    let (beginning, provider) = FAMILIES
        .iter()
        .find(|(beginning, _)| name.starts_with(beginning))?;
    Some((
        (*provider).into(),
        name.into(),
        format!("names of {provider} begin with `{beginning}`"),
    ))
}

fn with_effort(text: &str) -> (&str, Option<Effort>) {
    match text.rsplit_once(':') {
        Some((name, "low")) => (name, Some(Effort::Low)),
        Some((name, "medium")) => (name, Some(Effort::Medium)),
        Some((name, "high")) => (name, Some(Effort::High)),
        _ => (text, None),
    }
}

fn unknown(text: &str, known: &KnownModels, providers: &[&str]) -> Problem {
    let problem = Problem::new(
        ErrorCode::InvalidArguments,
        format!("there is no model `{text}`"),
    );
    let shown = providers.iter().filter(|name| !name.starts_with("demo-"));
    let shown: Vec<&str> = shown.copied().collect();
    let problem = problem.cause(format!("known providers: {}", shown.join(", ")));
    match meant(text, known, providers) {
        Some(name) => problem.fix(format!("did you mean `{name}`?")),
        None => {
            problem.fix("write provider/model; `rooftree models list` shows those that are known")
        }
    }
}

/// The name that was probably meant: a provider's usual model, a name with few other letters, or one that contains the
/// text.
fn meant(text: &str, known: &KnownModels, providers: &[&str]) -> Option<String> {
    if text.is_empty() {
        return None;
    }
    if providers.contains(&text) {
        let usual = known.of_tier(text, ModelTier::Standard);
        return Some(usual.map_or_else(|| format!("{text}/MODEL"), |facts| facts.id.clone()));
    }
    let (name, _) = with_effort(text);
    let names = known.iter().flat_map(|facts| {
        let aliases = facts.aliases.iter().map(String::as_str);
        aliases.chain([facts.model()])
    });
    let most = if name.len() < 4 { 1 } else { 2 };
    edit_distance::nearest(name, names, most)
        .map(str::to_owned)
        .or_else(|| {
            let like = known.iter().find(|facts| facts.id.contains(text));
            like.map(|facts| facts.id.clone())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROVIDERS: &[&str] = &["anthropic", "openai", "google", "ollama", "groq"];

    fn read(text: &str) -> (String, Option<String>) {
        let resolved = resolve(text, &KnownModels::built_in(), PROVIDERS).unwrap();
        (resolved.choice.to_string(), resolved.how)
    }

    #[test]
    fn a_name_with_its_provider_is_taken_as_it_is() {
        for text in [
            "openai/gpt-x",
            "ollama/qwen3:8b",
            "groq/openai/gpt-oss-120b",
            "google/a:high",
        ] {
            assert_eq!(read(text), (text.to_owned(), None));
        }
        assert_eq!(read("ollama:qwen3:8b").0, "ollama/qwen3:8b");
    }

    #[test]
    fn a_bare_name_says_how_it_was_understood() {
        let (choice, how) = read("claude-sonnet-4-5");
        assert_eq!(choice, "anthropic/claude-sonnet-4-5");
        assert_eq!(
            how.unwrap(),
            "`claude-sonnet-4-5` is anthropic/claude-sonnet-4-5: anthropic serves it"
        );
        assert_eq!(
            read("claude-haiku-4-5-20251001").0,
            "anthropic/claude-haiku-4-5-20251001"
        );
        assert_eq!(read("opus:high").0, "anthropic/claude-opus-5-5:high");
        assert_eq!(
            read("openai/gpt-oss-20b:low").0,
            "openai/gpt-oss-20b:low",
            "openai is a provider"
        );
        let (choice, how) = read("gpt-99");
        assert_eq!(choice, "openai/gpt-99");
        assert!(how.unwrap().ends_with("names of openai begin with `gpt-`"));
    }

    #[test]
    fn a_name_nobody_knows_gets_a_hint() {
        let problem = |text: &str| resolve(text, &KnownModels::built_in(), PROVIDERS).unwrap_err();
        assert_eq!(
            problem("flash-lite").fix.unwrap(),
            "did you mean `google/gemini-3.5-flash-lite`?"
        );
        assert!(problem("").fix.unwrap().contains("models list"));
        assert!(problem("qwen3:8b").cause.unwrap().contains("ollama"));
    }
}
