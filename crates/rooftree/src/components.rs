//! Components of agents besides models: tools, verifiers, rules, and the environment their programs inherit.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use rooftree_process::EnvironmentFilter;
use rooftree_protocol::{AgentDefinition, ErrorCode, MemoryScope, Problem, Verifier};
use rooftree_providers::cassette::Placeholders;
use rooftree_runtime::{
    Definitions, ProjectContext, SecretRedactor, checks::VerifierFunction,
    definitions::verifiers_in,
};
use rooftree_tools::{HAS_MCP, PermissionRule, SearchService};

use crate::{
    endpoint::Endpoint,
    error::{Error, Result},
};

/// The library has no settings: what it knows is in variables named like secrets, or was given as a key.
pub(crate) fn known_secrets(endpoints: &BTreeMap<String, Endpoint>) -> SecretRedactor {
    let named = SecretRedactor::in_variables(variables()).into_iter();
    let named = named.map(|(name, value)| (format!("value of {name}"), value));
    let keys = endpoints
        .iter()
        .filter_map(|(name, given)| Some((format!("key of {name}"), given.secret()?)));
    SecretRedactor::knowing(named.chain(keys))
}

/// Placeholders for what differs between recordings, and the secrets to redact from them.
pub(crate) fn recording_names(cwd: &Path, secrets: &Arc<SecretRedactor>) -> Placeholders {
    let secrets = secrets.clone();
    let names = Placeholders::default().with_placeholder("cwd", cwd.to_string_lossy());
    names.with_redactor(Arc::new(move |text| secrets.clean(text)))
}

/// The environment variables that programs started for agents inherit: none that is a secret by its name, and
/// none that holds one.
pub(crate) fn inheritance(
    wished: EnvironmentFilter,
    secrets: &SecretRedactor,
) -> Arc<EnvironmentFilter> {
    Arc::new(EnvironmentFilter {
        withheld: secrets.withheld(variables()),
        ..wished
    })
}

fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// The web search service that the usual variables name.
pub(crate) fn search_service() -> Option<SearchService> {
    SearchService::from_variables(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

/// All verifiers: those given in code and those read from files. An invalid file is an error.
pub(crate) fn verifiers(
    given: BTreeMap<String, Verifier>,
    files: &[PathBuf],
) -> Result<BTreeMap<String, Verifier>> {
    let mut all = BTreeMap::new();
    for path in files {
        let read = verifiers_in(path).map_err(|why| {
            Error::new(
                ErrorCode::InvalidConfig,
                format!("{} is not used: {why}", path.display()),
            )
        })?;
        all.extend(read);
    }
    all.extend(given);
    Ok(all)
}

/// What agents may name. A name that is missing would be noticed late: a verifier that never runs, a memory
/// without a directory.
pub(crate) struct AvailableComponents<'a> {
    pub(crate) project_context: &'a ProjectContext,
    pub(crate) checkers: &'a BTreeMap<String, VerifierFunction>,
    pub(crate) memory: Option<&'a PathBuf>,
}

impl AvailableComponents<'_> {
    /// Validates that everything agents name exists.
    pub(crate) fn check(&self, definitions: &Definitions) -> Result<()> {
        definitions
            .iter()
            .try_for_each(|definition| self.check_one(&definition, definitions))
    }

    fn check_one(&self, definition: &AgentDefinition, definitions: &Definitions) -> Result<()> {
        let agent = &definition.name;
        if !definition.mcp_servers.is_empty() {
            require_mcp(&format!("agent `{agent}` brings servers of tools"))?;
        }
        let (_, unknown) = self.project_context.checking(definition, definitions);
        if let Some(missing) = unknown
            .iter()
            .find(|name| !self.checkers.contains_key(*name))
        {
            let message =
                format!("agent `{agent}` names the verifier `{missing}`, which there is not");
            let problem = Problem::new(ErrorCode::InvalidConfig, message);
            return Err(problem
                .fix("add it with verifier(), verify() or verifiers_file()")
                .into());
        }
        if definition.memory == Some(MemoryScope::User) && self.memory.is_none() {
            let message =
                format!("agent `{agent}` is to remember things, and there is no directory for it");
            let problem = Problem::new(ErrorCode::InvalidConfig, message);
            return Err(problem.fix("give one with memory(DIRECTORY)").into());
        }
        Ok(())
    }
}

/// Fails if this program was built without MCP.
pub(crate) fn require_mcp(wish: &str) -> Result<()> {
    if HAS_MCP {
        return Ok(());
    }
    let problem = Problem::new(
        ErrorCode::InvalidConfig,
        format!("{wish}, and this program was built without MCP"),
    );
    Err(problem
        .fix("build it with the feature `mcp` of rooftree")
        .into())
}

/// Parses permission rules.
pub(crate) fn rules(texts: &[String]) -> Result<Vec<PermissionRule>, Problem> {
    texts
        .iter()
        .map(|text| PermissionRule::parse(text))
        .collect()
}
