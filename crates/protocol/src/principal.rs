//! Principals: tenant, person, token and surface of the one who sends a command or reads (identity, access, audit).
//!
//! A [`Principal`] is a parameter of every command and query. The command line and the library are the local owner of
//! the tenant `default`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Session;

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

    /// Whether a session is one that it may see.
    pub fn may_see(&self, session: &Session) -> bool {
        let account = &session.account;
        let is_own = self.is_owner() || account.person == self.person;
        account.tenant == self.tenant && is_own && self.may_use(&session.agent)
    }

    /// Whether its token is for an agent.
    pub fn may_use(&self, agent: &str) -> bool {
        let bound = self.agents.as_ref();
        bound.is_none_or(|agents| agents.iter().any(|name| name.eq_ignore_ascii_case(agent)))
    }

    /// Whether it may change what agents of all sessions may do: the owner, with a token that is bound to no agents.
    pub fn may_change_rights_of_all(&self) -> bool {
        self.is_owner() && self.agents.is_none()
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
