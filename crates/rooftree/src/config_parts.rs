//! Parts of the configuration: models, agents, rights.

use std::{collections::BTreeMap, path::PathBuf};

use rooftree_process::EnvironmentFilter;
use rooftree_protocol::{Confinement, PermissionMode, Scope, Verifier};
use rooftree_runtime::{ApprovalSource, checks::VerifierFunction};
use rooftree_tools::Policy;

use crate::{agent::Agent, components, error::Result, models::CustomProviders, testing::Cassette};

/// Models and providers as they were named.
#[derive(Default)]
pub(crate) struct ModelConfig {
    pub(crate) default: Option<String>,
    pub(crate) fallbacks: Vec<String>,
    pub(crate) added: CustomProviders,
    pub(crate) cassette: Option<Cassette>,
}

/// Agents, and what they find around them.
#[derive(Default)]
pub(crate) struct AgentConfig {
    pub(crate) given: Vec<Agent>,
    /// Files and directories to read agents from.
    pub(crate) files: Vec<PathBuf>,
    /// Which agent begins, if one does.
    pub(crate) main: Option<MainAgent>,
    pub(crate) memory: Option<PathBuf>,
    pub(crate) verifiers: BTreeMap<String, Verifier>,
    /// Functions that check work.
    pub(crate) checkers: BTreeMap<String, VerifierFunction>,
    pub(crate) verifier_files: Vec<PathBuf>,
}

/// What agents may do.
pub(crate) struct RightsConfig {
    pub(crate) mode: PermissionMode,
    pub(crate) allow: Vec<String>,
    pub(crate) ask: Vec<String>,
    pub(crate) deny: Vec<String>,
    pub(crate) confinement: Confinement,
    /// What programs may inherit, besides what holds no secret.
    pub(crate) inheritance: EnvironmentFilter,
    pub(crate) approvals: ApprovalSource,
}

impl Default for RightsConfig {
    fn default() -> Self {
        Self {
            mode: PermissionMode::default(),
            allow: Vec::new(),
            ask: Vec::new(),
            deny: Vec::new(),
            confinement: Confinement::default(),
            inheritance: EnvironmentFilter::default(),
            approvals: ApprovalSource::Nobody,
        }
    }
}

impl RightsConfig {
    pub(crate) fn policy(&self) -> Result<Policy> {
        Ok(Policy {
            mode: self.mode,
            allow: components::rules(&self.allow)?,
            ask: components::rules(&self.ask)?,
            deny: components::rules(&self.deny)?,
            followed: Vec::new(),
        })
    }
}

/// The agent that a query begins with, and what is said about it there.
pub(crate) struct MainAgent {
    pub(crate) name: String,
    pub(crate) tools: Scope,
    pub(crate) verifiers: Vec<String>,
    /// Its system prompt, instead of that of its definition.
    pub(crate) system: Option<String>,
}
