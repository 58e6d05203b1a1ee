//! Principals: tenant, person, token and surface of the one who sends a command or reads (identity, access, audit).
//!
//! A [`Principal`] is a parameter of every command and query. The command line and the library are the local owner of
//! the tenant `default`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tenant of everything that names none.
pub const DEFAULT_TENANT: &str = "default";
/// The person who owns a local installation.
pub const LOCAL_OWNER: &str = "owner";

/// Who sends a command or reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Principal {
    /// The tenant whose data it reads and changes.
    pub tenant: String,
    /// The person.
    pub person: String,
    /// The id of the access token that was presented; none for the local owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Through which surface it came.
    pub surface: Surface,
    /// The person for whom a program or connector acts, as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
    /// The agents whose sessions its token is bound to; none for all. It bounds what this principal may see and is not
    /// stored.
    #[serde(skip)]
    pub agents: Option<Arc<[String]>>,
}

/// The way a command or query comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// The command line.
    Cli,
    /// A program that embeds the library.
    Library,
    /// The HTTP API.
    Http,
    /// A chat platform or webhook.
    Connector,
    /// A schedule that is due.
    Schedule,
}

impl Principal {
    /// The owner of a local installation, who needs no token.
    pub fn local_owner(surface: Surface) -> Self {
        Self {
            tenant: DEFAULT_TENANT.into(),
            person: LOCAL_OWNER.into(),
            token: None,
            surface,
            on_behalf_of: None,
            agents: None,
        }
    }

    /// Whether it is the owner of its tenant, who sees the sessions of every person.
    pub fn is_owner(&self) -> bool {
        self.person == LOCAL_OWNER
    }

    /// Whether it may do everything in its tenant: the owner, with a token that is bound to no agents or without one.
    pub fn is_unbound_owner(&self) -> bool {
        self.is_owner() && self.agents.is_none()
    }

    /// Whether it may see and make permission rules that hold for all sessions. They belong to the default tenant.
    pub fn may_rule_all(&self) -> bool {
        self.is_unbound_owner() && self.tenant == DEFAULT_TENANT
    }

    /// Whether what belongs to this account is its own, or it is the owner.
    pub fn may_see_account(&self, account: &Account) -> bool {
        account.tenant == self.tenant && (self.is_owner() || account.person == self.person)
    }

    /// Whether its token is for an agent.
    pub fn may_use(&self, agent: &str) -> bool {
        let bound = self.agents.as_ref();
        bound.is_none_or(|agents| agents.iter().any(|name| name.eq_ignore_ascii_case(agent)))
    }

    /// The tenant and person that a session opened by this principal belongs to.
    pub fn account(&self) -> Account {
        Account {
            tenant: self.tenant.clone(),
            person: self.person.clone(),
        }
    }
}

/// The tenant and person that a session belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Account {
    /// The tenant.
    #[serde(skip_serializing_if = "is_default_tenant")]
    pub tenant: String,
    /// The person.
    #[serde(skip_serializing_if = "is_local_owner")]
    pub person: String,
}

impl Default for Account {
    fn default() -> Self {
        Self {
            tenant: DEFAULT_TENANT.into(),
            person: LOCAL_OWNER.into(),
        }
    }
}

fn is_default_tenant(tenant: &str) -> bool {
    tenant == DEFAULT_TENANT
}

fn is_local_owner(person: &str) -> bool {
    person == LOCAL_OWNER
}
