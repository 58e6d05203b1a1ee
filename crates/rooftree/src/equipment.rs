//! What agents work with besides models: tools, verifiers, rules, and what their programs may inherit.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use rooftree_process::Inheritance;
use rooftree_protocol::{AgentDefinition, ErrorCode, Memory, Problem, Verifier};
use rooftree_providers::cassette::Names;
use rooftree_runtime::{
    Definitions, Secrets, Surroundings, checks::Checker, definitions::verifiers_in, delegation, people_tools,
    remember,
};
use rooftree_tools::{
    HAS_MCP, Processes, Rule, SemanticSearch, Service, Tool, Toolset, Web, builtin_with, toolset::Found,
};

use crate::{
    endpoint::Endpoint,
    error::{Error, Result},
};

/// The library has no settings: what it knows is in variables named like secrets, or was given as a key.
pub(crate) fn known_secrets(endpoints: &BTreeMap<String, Endpoint>) -> Secrets {
    let named = Secrets::in_variables(variables()).into_iter();
    let named = named.map(|(name, value)| (format!("value of {name}"), value));
    let keys = endpoints.iter().filter_map(|(name, given)| Some((format!("key of {name}"), given.secret()?)));
    Secrets::knowing(named.chain(keys))
}

/// What a recording writes by name, and what it must not write at all.
pub(crate) fn names(cwd: &Path, secrets: &Arc<Secrets>) -> Names {
    let secrets = secrets.clone();
    let names = Names::default().naming("cwd", cwd.to_string_lossy());
    names.cleaned_by(Arc::new(move |text| secrets.clean(text)))
}

/// What programs started for agents find of our own variables: nothing that is a secret by its name, and nothing
/// that holds one.
pub(crate) fn inheritance(wished: Inheritance, secrets: &Secrets) -> Arc<Inheritance> {
    Arc::new(Inheritance { withheld: secrets.withheld(variables()), ..wished })
}

fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// All tools: ours, and the program's own, none of which may hide another.
pub(crate) fn with_tools(
    processes: &Arc<Processes>,
    own: Vec<Arc<dyn Tool>>,
    can_answer: bool,
) -> Result<Toolset> {
    let service = Service::from_variables(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let builtin = builtin_with(processes.clone(), SemanticSearch::new(None), &Web::default(), service);
    let mut tools = people_tools::added_to(&remember::added_to(&delegation::tools::added_to(&builtin)));
    if !can_answer {
        tools = people_tools::without_questions(&tools);
    }
    for tool in own {
        let name = tool.spec().name.as_str();
        if let Found::Tool(other) = tools.find(name) {
            let message =
                format!("there is a tool `{}` already, which `{name}` would hide", other.spec().name);
            return Err(Error::new(ErrorCode::InvalidConfig, message));
        }
        tools = Toolset::new(tools.iter().cloned().chain([tool]));
    }
    Ok(tools)
}

/// What can check work: what was given, and what files say. A file that is wrong is an error.
pub(crate) fn verifiers(
    given: BTreeMap<String, Verifier>,
    files: &[PathBuf],
) -> Result<BTreeMap<String, Verifier>> {
    let mut all = BTreeMap::new();
    for path in files {
        let read = verifiers_in(path).map_err(|why| {
            Error::new(ErrorCode::InvalidConfig, format!("{} is not used: {why}", path.display()))
        })?;
        all.extend(read);
    }
    all.extend(given);
    Ok(all)
}

/// What agents may name. What is named and not there would be missed late: a check that nobody makes, a memory
/// that is nowhere.
pub(crate) struct Needed<'a> {
    pub(crate) surroundings: &'a Surroundings,
    pub(crate) checkers: &'a BTreeMap<String, Checker>,
    pub(crate) memory: Option<&'a PathBuf>,
}

impl Needed<'_> {
    /// Whether all of it is there.
    pub(crate) fn check(&self, definitions: &Definitions) -> Result<()> {
        definitions.iter().try_for_each(|definition| self.check_one(&definition, definitions))
    }

    fn check_one(&self, definition: &AgentDefinition, definitions: &Definitions) -> Result<()> {
        let agent = &definition.name;
        if !definition.mcp_servers.is_empty() {
            has_mcp(&format!("agent `{agent}` brings servers of tools"))?;
        }
        let (_, unknown) = self.surroundings.checking(definition, definitions);
        if let Some(missing) = unknown.iter().find(|name| !self.checkers.contains_key(*name)) {
            let message = format!("agent `{agent}` names the verifier `{missing}`, which there is not");
            let problem = Problem::new(ErrorCode::InvalidConfig, message);
            return Err(problem.fix("add it with verifier(), verify() or verifiers_file()").into());
        }
        if definition.memory == Some(Memory::User) && self.memory.is_none() {
            let message = format!("agent `{agent}` is to remember things, and there is no directory for it");
            let problem = Problem::new(ErrorCode::InvalidConfig, message);
            return Err(problem.fix("give one with memory(DIRECTORY)").into());
        }
        Ok(())
    }
}

/// Whether servers of tools can be used, for somebody who wants to.
pub(crate) fn has_mcp(wish: &str) -> Result<()> {
    if HAS_MCP {
        return Ok(());
    }
    let problem =
        Problem::new(ErrorCode::InvalidConfig, format!("{wish}, and this program was built without MCP"));
    Err(problem.fix("build it with the feature `mcp` of rooftree").into())
}

/// Rules as they are written, understood.
pub(crate) fn rules(texts: &[String]) -> Result<Vec<Rule>, Problem> {
    texts.iter().map(|text| Rule::parse(text)).collect()
}
