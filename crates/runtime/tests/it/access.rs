//! Access: tokens, persons, one-time links, and what each principal sees and changes.

mod tokens;
mod visibility;

use std::sync::Arc;

use rooftree_protocol::{AccessScope, AccessScopes, AuthorizedCaller, Principal, Surface};

fn scopes(scopes: &[AccessScope]) -> AccessScopes {
    scopes.iter().copied().collect()
}

/// The owner with all scopes.
fn admin() -> AuthorizedCaller {
    AuthorizedCaller::local_owner(Surface::Cli)
}

/// A person who was invited.
fn person(name: &str) -> Principal {
    Principal {
        person: name.into(),
        token: Some(format!("tok_{name}")),
        ..Principal::local_owner(Surface::Http)
    }
}

/// The owner with a token for some agents.
fn bound(agents: &[&str]) -> Principal {
    let agents: Vec<String> = agents.iter().map(|name| (*name).to_owned()).collect();
    Principal {
        token: Some("tok_bound".into()),
        agents: Some(Arc::from(agents)),
        ..Principal::local_owner(Surface::Http)
    }
}
