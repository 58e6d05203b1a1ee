//! Exposure of the server: the checks before it listens beyond this machine, the local socket, and the login link.

use std::{io::IsTerminal, net::IpAddr, sync::Arc};

use rooftree_protocol::{AccessScope, AuthorizedCaller, ErrorCode, Problem, Surface};
use rooftree_runtime::{Clock, Definitions, Handle, NewAccessLink, SystemClock};
use rooftree_server::{HttpServer, LocalSocketOptions};
use rooftree_store::{AccessTokenRow, PersonRole};

use crate::{
    commands::person::login_url, control::owner, environment::Environment, output,
    server_connection::socket_path,
};

/// The longest path a socket can have.
const SOCKET_PATH_BYTES: usize = 107;

/// Refuses an address that other machines can reach, unless there is a public URL and a person or token that may come in.
pub(super) async fn require_access(
    bind: IpAddr,
    public_url: Option<&str>,
    (handle, has_chat_token): (&Handle, bool),
) -> Result<(), Problem> {
    if let Some(url) = public_url {
        check_url(url)?;
    }
    if bind.to_canonical().is_loopback() {
        return Ok(());
    }
    let refused = |cause: &str, fix: &str| {
        let message = format!("refusing to listen on {bind}, which other machines can reach");
        Err(Problem::new(ErrorCode::InvalidConfig, message)
            .cause(cause)
            .fix(fix))
    };
    if public_url.is_none() {
        let fix = "start it with --public-url https://NAME, the address of the proxy that speaks TLS; or leave --bind at 127.0.0.1";
        return refused("there is no public URL", fix);
    }
    let failed = |error: rooftree_runtime::Error| error.problem();
    let persons = handle.persons(&owner()).await.map_err(failed)?;
    let has_person = persons
        .iter()
        .any(|person| person.role == PersonRole::Member && person.disabled_at.is_none());
    if has_chat_token || has_person || has_token(handle, None).await? {
        return Ok(());
    }
    let fix = "rooftree token create NAME --scope chat, or rooftree person invite NAME";
    refused("there is no token and no person who could come in", fix)
}

/// Whether there is a token that is good now, with a scope if one is needed.
async fn has_token(handle: &Handle, needed: Option<AccessScope>) -> Result<bool, Problem> {
    let tokens = handle.tokens(&owner()).await;
    let tokens = tokens.map_err(|error| error.problem())?;
    let now = SystemClock.now();
    let is_good = |token: &AccessTokenRow| {
        token.is_valid_at(now) && needed.is_none_or(|needed| token.scopes.allow(needed))
    };
    Ok(tokens.iter().any(is_good))
}

/// Says which agents are exposed over HTTP but cannot be reached, because no token is good for asking them.
pub(super) async fn unreachable(
    definitions: &Definitions,
    (handle, has_chat_token): (&Handle, bool),
) -> Result<Option<String>, Problem> {
    let exposed = definitions.iter().filter(|agent| agent.api_exposed);
    let exposed: Vec<String> = exposed.map(|agent| agent.name.clone()).collect();
    if exposed.is_empty() || has_chat_token || has_token(handle, Some(AccessScope::Chat)).await? {
        return Ok(None);
    }
    Ok(Some(format!(
        "no client can ask {} here without a token: rooftree token create NAME --scope chat",
        exposed.join(", ")
    )))
}

fn check_url(url: &str) -> Result<(), Problem> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let host = rest.map(|rest| rest.split('/').next().unwrap_or_default());
    if host.is_some_and(|host| !host.is_empty() && !host.contains(['@', ' ', '?', '#'])) {
        return Ok(());
    }
    let message = format!("--public-url `{url}` is no http or https URL with a host");
    Err(Problem::new(ErrorCode::InvalidArguments, message)
        .fix("--public-url https://agents.example.org"))
}

/// Serves the API over a Unix socket too. Where that does not work, a note says why, and the server goes on without.
pub(super) fn bind_socket(server: &mut HttpServer, environment: &Environment) {
    if let Err(why) = try_bind(server, environment) {
        output::print_note(environment, &format!("no local socket: {why}"));
    }
}

fn try_bind(server: &mut HttpServer, environment: &Environment) -> Result<(), String> {
    // Orphans of programs stay below this process, so that the socket knows them.
    rooftree_process::adopt_orphans()
        .map_err(|error| format!("orphans cannot be adopted ({error})"))?;
    let path = socket_path(environment);
    if path.as_os_str().len() > SOCKET_PATH_BYTES {
        return Err(format!("{} is too long", path.display()));
    }
    let own = i32::try_from(std::process::id()).ok();
    let check = Arc::new(move |pid: i32| {
        rooftree_process::refuse_agent_descendant(pid, own).map_err(|why| why.to_string())
    });
    let bound = server.bind_local_socket(LocalSocketOptions { path, check });
    bound.map_err(|error| {
        let problem = error.problem();
        problem.cause.unwrap_or(problem.message)
    })
}

/// The line that tells where to log in; none without a terminal, unless it is asked for.
pub(super) async fn login_line(
    handle: &Handle,
    url: &str,
    is_asked_for: bool,
) -> Result<Option<String>, Problem> {
    if !is_asked_for && !std::io::stdout().is_terminal() {
        return Ok(None);
    }
    let owner = AuthorizedCaller::local_owner(Surface::Cli);
    let link = handle.create_link(&owner, NewAccessLink::default()).await;
    let link = link.map_err(|error| error.problem())?;
    Ok(Some(format!("open {}\n", login_url(url, &link))))
}
