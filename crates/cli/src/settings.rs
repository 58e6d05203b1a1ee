//! Settings and their layers, by precedence: system, user, project (which may only narrow permissions),
//! command line, pinned by the administrator.

mod chat_config;
mod cli_layer;
pub mod defaults;
pub mod edit;
mod external_agents;
pub mod flatten;
mod groups;
pub mod layer;
pub mod layers;
pub mod merge;
pub mod other_programs;
mod parse_file;
mod parse_value;
mod providers;
mod spawn;
mod web;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use rooftree_protocol::{DefinitionLevel, Problem};
use rooftree_providers::external_agent;
use rooftree_runtime::{definitions::DefinitionDocument, hooks::HookConfinement};

#[cfg(test)]
pub use self::parse_file::text;
pub use self::{
    groups::{LimitSettings, ModelSettings, PermissionSettings, SandboxSettings},
    parse_file::known_keys,
    providers::{ProviderSettings, ProviderTimeouts, WireName},
    spawn::SpawnSettings,
    web::WebSettings,
};
use crate::environment::Environment;

/// Default of `permission.wary`: whether an agent that has read untrusted input gets fewer permissions.
pub const WARY: bool = true;

/// The merged settings, with remarks on what had to be ignored.
#[derive(Debug, Default)]
pub struct Settings {
    /// Models and how they are reached.
    pub models: ModelSettings,
    /// What may happen without asking.
    pub permission: PermissionSettings,
    /// The sandbox of commands.
    pub sandbox: SandboxSettings,
    /// Limits per run.
    pub limits: LimitSettings,
    /// Agents elsewhere, by the names they have as models.
    pub external: BTreeMap<String, external_agent::ExternalAgentOptions>,
    /// Servers of tools, as they are written.
    pub servers: serde_json::Map<String, serde_json::Value>,
    /// Agents that are defined in these files, as they are written there.
    pub agents: Vec<DefinitionDocument>,
    /// Hooks in these files, as they are written there.
    pub hooks: Vec<HookTable>,
    /// Whose hooks run confined.
    pub confined: Option<HookConfinement>,
    /// The model that embeds texts for searches, as it was written; none: searches go by words alone.
    pub embeddings: Option<String>,
    /// How the web is reached, and who searches it.
    pub web: WebSettings,
    /// Which variables programs started for agents get.
    pub environment: EnvironmentSettings,
    /// Keys that were typed, and keys that are pinned.
    pub typed: Vec<String>,
    pub pinned: Vec<String>,
    /// What people should know about these settings.
    pub remarks: Vec<String>,
}

/// What a file says below `hooks`.
#[derive(Clone, Debug)]
pub struct HookTable {
    /// The file.
    pub path: PathBuf,
    /// Whose it is.
    pub level: DefinitionLevel,
    /// The table, as JSON has it.
    pub hooks: serde_json::Value,
}

/// Which of our own variables programs started for agents get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvironmentSettings {
    /// Names that are passed on although they look secret, or hold a secret.
    pub keep: Vec<String>,
    /// Whether nothing else is passed on but what programs commonly need.
    pub only_listed: bool,
}

/// Loads and merges all layers. A missing file has no settings.
pub fn load(environment: &Environment) -> Result<Settings, Problem> {
    let mut settings = layers::merged(&layers::all(environment)?)?;
    let documents = settings.agents.clone();
    settings.add_agent_providers(&documents);
    Ok(settings)
}

/// What each place says by itself, the weakest first; of a project what counts, which is what narrows.
pub fn sources(environment: &Environment) -> Result<Vec<(PathBuf, Settings)>, Problem> {
    let layers = layers::all(environment)?;
    layers
        .into_iter()
        .map(|layer| Ok((layer.path.clone(), Settings::default().with(&layer)?)))
        .collect()
}

impl Settings {
    /// Invariant: whatever a project says, no more is permitted with it than without it. A
    /// folder that was merely downloaded must not decide what happens on this machine.
    fn narrowed_by(mut self, project: Self, path: &Path) -> Self {
        let here = path.display();
        let own_mode = self.permission.mode.unwrap_or_default();
        match project.permission.mode {
            Some(mode) if mode > own_mode => self.remarks.push(format!(
                "permission.mode in {here} is ignored: a project cannot permit more than you do"
            )),
            Some(mode) => self.permission.mode = Some(mode),
            None => {}
        }
        if !project.permission.allow.is_empty() {
            self.remarks.push(format!(
                "permission.allow in {here} is ignored: a project cannot permit more than you do"
            ));
        }
        self.confine(&project, path);
        if !project.models.providers.is_empty() {
            // A base URL decides who gets to see the key.
            self.remarks.push(format!(
                "providers in {here} are ignored: a project cannot say where your keys are sent"
            ));
        }
        if !project.external.is_empty() {
            self.remarks.push(format!(
                "external in {here} is ignored: a project cannot decide who is told what you say"
            ));
        }
        if !project.servers.is_empty() {
            self.remarks.push(format!(
                "mcp in {here} is ignored: a project's servers belong into its .mcp.json"
            ));
        }
        // They are used only if the folder is trusted.
        self.agents.extend(
            project
                .agents
                .into_iter()
                .map(|document| DefinitionDocument {
                    level: DefinitionLevel::Project,
                    ..document
                }),
        );
        self.hooks
            .extend(project.hooks.into_iter().map(|table| HookTable {
                level: DefinitionLevel::Project,
                ..table
            }));
        if project.embeddings.is_some() {
            self.remarks.push(format!(
                "search.embeddings in {here} is ignored: a project cannot decide who reads your files"
            ));
        }
        match project.permission.wary {
            Some(false) => self.remarks.push(format!(
                "permission.wary in {here} is ignored: a project cannot permit more than you do"
            )),
            Some(true) => self.permission.wary = Some(true),
            None => {}
        }
        for key in self.permission.spawn.wider_in(project.permission.spawn) {
            self.remarks.push(format!(
                "{key} in {here} is ignored: a project cannot permit more than you do"
            ));
        }
        self.permission.spawn = self.permission.spawn.narrowed_by(project.permission.spawn);
        for place in project.web.said() {
            self.remarks.push(format!(
                "{place} in {here} is ignored: a project cannot decide what is reached and who is asked"
            ));
        }
        if !project.environment.keep.is_empty() {
            self.remarks.push(format!(
                "environment.keep in {here} is ignored: a project cannot decide who gets your secrets"
            ));
        }
        self.environment.only_listed |= project.environment.only_listed;
        self.permission.ask.extend(project.permission.ask);
        self.permission.deny.extend(project.permission.deny);
        let is_script = |name: &String| name.starts_with("scripted/");
        let named = project
            .models
            .default
            .iter()
            .chain(&project.models.fallbacks)
            .chain(project.models.aliases.values());
        if named.clone().any(is_script)
            || project.models.aliases.keys().any(|name| name.contains('/'))
        {
            // A script is a program in all but name, and a name with a provider in it means that provider.
            self.remarks.push(format!(
                "models in {here} that are scripts, or other names for real ones, are ignored: name them with -m"
            ));
        }
        self.models.default = project
            .models
            .default
            .filter(|name| !is_script(name))
            .or(self.models.default);
        let fallbacks: Vec<String> = project
            .models
            .fallbacks
            .into_iter()
            .filter(|name| !is_script(name))
            .collect();
        let aliases = project.models.aliases.into_iter();
        let aliases = aliases.filter(|(name, means)| !is_script(means) && !name.contains('/'));
        if !fallbacks.is_empty() {
            self.models.fallbacks = fallbacks;
        }
        self.models.aliases.extend(aliases);
        self.limits.max_turns = smaller(self.limits.max_turns, project.limits.max_turns);
        self.limits.timeout = smaller(self.limits.timeout, project.limits.timeout);
        self.narrow_delegation(&project.limits);
        self.limits.identical_calls =
            smaller(self.limits.identical_calls, project.limits.identical_calls);
        self.limits.max_cost = [self.limits.max_cost, project.limits.max_cost]
            .into_iter()
            .flatten()
            .reduce(f64::min);
        // Zero is no limit, which is more than any.
        let bounded =
            |limit: Option<u64>| limit.map(|tokens| if tokens == 0 { u64::MAX } else { tokens });
        self.limits.emergency_context = smaller(
            bounded(self.limits.emergency_context),
            bounded(project.limits.emergency_context),
        );
        self.remarks.extend(project.remarks);
        self
    }
}

impl Settings {
    /// What a project says about delegation only makes it smaller, also than the default.
    fn narrow_delegation(&mut self, project: &LimitSettings) {
        let usual = rooftree_protocol::Limits::default();
        let own = &mut self.limits;
        if let Some(depth) = project.depth {
            own.depth = Some(depth.min(own.depth.unwrap_or(usual.depth)));
        }
        if let Some(children) = project.children {
            own.children = Some(children.min(own.children.unwrap_or(usual.children)));
        }
        if let Some(below) = project.descendants {
            own.descendants = Some(below.min(own.descendants.unwrap_or(usual.descendants)));
        }
    }

    /// What a project says about the sandbox only makes it tighter.
    fn confine(&mut self, project: &Self, path: &Path) {
        let (mode, network) = (
            self.sandbox.mode.unwrap_or_default(),
            self.sandbox.network.clone().unwrap_or_default(),
        );
        let is_looser = project.sandbox.mode.is_some_and(|wanted| wanted < mode)
            || project
                .sandbox
                .network
                .as_ref()
                .is_some_and(|wanted| !wanted.is_within(&network))
            || !(project.sandbox.writable.is_empty() && project.sandbox.readable.is_empty());
        let here = path.display();
        match project.confined {
            Some(wanted) if wanted < self.confined.unwrap_or_default() => self.remarks.push(format!(
                "hooks.confined in {here} is ignored: a project cannot decide that its hooks run free"
            )),
            wanted => self.confined = wanted.or(self.confined),
        }
        if is_looser {
            self.remarks.push(format!(
                "sandbox in {here} is ignored where it is looser than yours"
            ));
        }
        self.sandbox.mode = project
            .sandbox
            .mode
            .map(|wanted| wanted.max(mode))
            .or(self.sandbox.mode);
        let wanted = project
            .sandbox
            .network
            .as_ref()
            .map(|wanted| wanted.narrowed(&network));
        self.sandbox.network = wanted.or_else(|| self.sandbox.network.take());
    }
}

fn smaller<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rooftree_protocol::{Network, PermissionMode, SandboxMode};
    use rooftree_tools::PermissionRule;

    use super::*;

    fn settings(text: &str) -> Settings {
        parse_file::text(text, Path::new("config.toml")).unwrap()
    }

    #[test]
    fn a_project_narrows_and_never_widens() {
        let user = settings(
            "[permission]\nmode = 'accept-edits'\nallow = ['Bash(ls)']\n[limits]\nmax_turns = 10",
        );
        let project = settings(
            "model = 'vendor/x'\nfallbacks = ['scripted/y']\n[aliases]\n'vendor/x' = 'scripted/z'\n\
             [permission]\nmode = 'bypass'\nallow = ['Bash']\ndeny = ['Write']\n\
             [limits]\nmax_turns = 99\ntimeout = '1m'\ndepth = 9\nchildren = 2\n\
             [search]\nembeddings = 'a/b'\nurl = 'http://x.test'\n\
             [web]\nallow_private = ['localhost']\n\
             [environment]\nkeep = ['A_TOKEN']\ninherit = 'listed'\n\
             [external.a]\ninput_url = 'http://a.test'\nsecret_env = 'S'",
        );
        let both = user.narrowed_by(project, Path::new("p"));
        assert_eq!(both.permission.mode, Some(PermissionMode::AcceptEdits));
        assert_eq!(
            both.permission.allow,
            [PermissionRule::parse("Bash(ls)").unwrap()]
        );
        assert_eq!(
            both.permission.deny,
            [PermissionRule::parse("Write").unwrap()]
        );
        assert_eq!(
            (both.limits.max_turns, both.limits.timeout),
            (Some(10), Some(Duration::from_secs(60)))
        );
        assert_eq!(
            (both.limits.depth, both.limits.children),
            (Some(1), Some(2)),
            "R1 D20: no deeper than the default"
        );
        assert_eq!(both.models.default.unwrap(), "vendor/x");
        assert!(
            both.models.fallbacks.is_empty() && both.models.aliases.is_empty(),
            "a script is a program"
        );
        assert!(both.external.is_empty());
        assert_eq!(both.embeddings, None);
        assert_eq!(both.web, WebSettings::default());
        assert_eq!(
            both.environment,
            EnvironmentSettings {
                keep: Vec::new(),
                only_listed: true
            }
        );
        assert_eq!(both.remarks.len(), 8);
    }

    #[test]
    fn a_project_cannot_say_where_keys_are_sent() {
        let user = settings(
            "[providers.mine]\nbase_url = 'http://127.0.0.1:1/v1'\n[limits]\nmax_cost = 2",
        );
        let project = settings(
            "fallbacks = ['a/b']\n[aliases]\nfast = 'a/c'\n[providers.openai]\nbase_url = 'http://x.test'\n\
             [limits]\nmax_cost = 0.5",
        );
        let both = user.narrowed_by(project, Path::new("p"));
        assert_eq!(both.models.providers.keys().collect::<Vec<_>>(), ["mine"]);
        assert_eq!(
            (both.models.fallbacks.as_slice(), both.models.aliases.len()),
            (&["a/b".to_owned()][..], 1)
        );
        assert_eq!(both.limits.max_cost, Some(0.5));
        assert!(
            both.remarks
                .iter()
                .any(|remark| remark.contains("where your keys are sent"))
        );
    }

    #[test]
    fn a_project_makes_the_sandbox_tighter_and_never_looser() {
        let user = || settings("sandbox.mode = 'auto'\nsandbox.writable = ['/srv/cache']");
        let tight = user().narrowed_by(
            settings("sandbox.mode = 'required'\nsandbox.network = 'off'"),
            Path::new("p"),
        );
        assert_eq!(
            (tight.sandbox.mode, tight.sandbox.network),
            (Some(SandboxMode::Required), Some(Network::Off))
        );
        assert_eq!((tight.sandbox.writable.len(), tight.remarks.len()), (1, 0));
        let loose = user().narrowed_by(
            settings(
                "sandbox.mode = 'off'\nsandbox.writable = ['/']\nsandbox.readable = ['/root']",
            ),
            Path::new("p"),
        );
        assert_eq!(
            (loose.sandbox.mode, loose.sandbox.network),
            (Some(SandboxMode::Auto), None)
        );
        assert_eq!(
            (
                loose.sandbox.writable.len(),
                loose.sandbox.readable.len(),
                loose.remarks.len()
            ),
            (1, 0, 1)
        );
    }

    #[test]
    fn a_project_may_ask_for_less_than_the_usual_mode() {
        let both =
            Settings::default().narrowed_by(settings("permission.mode = 'plan'"), Path::new("p"));
        assert_eq!(both.permission.mode, Some(PermissionMode::Plan));
        let both =
            Settings::default().narrowed_by(settings("permission.mode = 'auto'"), Path::new("p"));
        assert_eq!(both.permission.mode, None);
    }
}
