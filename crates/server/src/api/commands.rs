//! Commands of every kind: carries one out, if the caller's scopes allow it. The way of remote clients.
//!
//! Invariant: what a command says about its sender counts for nothing here. The sender is the caller.

use std::{path::Path, sync::Arc};

use axum::{Json, extract::State, http::StatusCode};
use rooftree_protocol::{
    AccessScope, Address, AuthorizedCaller, Command, ErrorCode, Origin, Problem,
    api_paths::COMMANDS,
    command::{CommandReply, NewSession},
};

use super::{
    ApiProblem, ApiState, access::RequestCaller, extract::JsonBody, route_table::ApiRoute,
};

pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        ApiRoute::post(COMMANDS, carry_out)
            .needs(
                AccessScope::Read,
                "Carries out a command; each kind needs a scope of its own",
            )
            .body::<Command>()
            .answers::<CommandReply>(200),
    ]
}

async fn carry_out(
    State(state): State<Arc<ApiState>>,
    RequestCaller(caller): RequestCaller,
    JsonBody(command): JsonBody<Command>,
) -> Result<Json<CommandReply>, ApiProblem> {
    let scope = needed_scope(&command);
    if !caller.scopes.allow(scope) {
        return Err(ApiProblem::missing_scope(scope));
    }
    let command = as_sent_by(&state, &caller, command)?;
    let reply = state
        .options
        .handle
        .send(&caller.principal, command)
        .await?;
    Ok(Json(reply))
}

/// What a token needs for a command.
pub(super) fn needed_scope(command: &Command) -> AccessScope {
    match command {
        Command::Permit { .. }
        | Command::Reply { .. }
        | Command::AddRule { .. }
        | Command::RemoveRule { .. }
        | Command::SetMode { .. } => AccessScope::Approve,
        Command::MarkRead { .. } => AccessScope::Read,
        // An archive brings a journal that no agent here has written.
        Command::Import { .. } => AccessScope::Admin,
        Command::Post { .. }
        | Command::Prompt { .. }
        | Command::Withdraw { .. }
        | Command::Replace { .. }
        | Command::MoveToBackground { .. }
        | Command::Call { .. }
        | Command::Resume { .. }
        | Command::Cancel { .. }
        | Command::Clear { .. }
        | Command::Compact { .. }
        | Command::Open(_)
        | Command::Rename { .. }
        | Command::Pin { .. }
        | Command::SetAttributes { .. }
        | Command::SetModel { .. }
        | Command::Delete { .. }
        | Command::Restore { .. }
        | Command::Undo { .. }
        | Command::Fork { .. }
        | Command::StopProcess { .. }
        | Command::HandBack { .. } => AccessScope::Chat,
    }
}

/// The command with the caller as its sender, in a directory that the caller may choose.
fn as_sent_by(
    state: &ApiState,
    caller: &AuthorizedCaller,
    mut command: Command,
) -> Result<Command, ApiProblem> {
    match &mut command {
        Command::Post { to, origin, .. } => {
            *origin = Origin::User;
            check_address(state, caller, to)?;
        }
        Command::Prompt { to, .. } => check_address(state, caller, to)?,
        Command::Open(new) => check_new(state, caller, new)?,
        Command::Fork {
            agent: Some(agent), ..
        } => check_agent(caller, agent)?,
        _ => {}
    }
    Ok(command)
}

fn check_address(
    state: &ApiState,
    caller: &AuthorizedCaller,
    to: &mut Address,
) -> Result<(), ApiProblem> {
    match to {
        Address::Create(new) | Address::LatestOrCreate(new) | Address::Connector { new, .. } => {
            check_new(state, caller, new)
        }
        Address::Latest { agent } => check_agent(caller, agent),
        Address::Id { .. } => Ok(()),
    }
}

/// Agents read and write below a session's directory, so only those who may do everything choose another one.
pub(super) fn check_new(
    state: &ApiState,
    caller: &AuthorizedCaller,
    new: &mut NewSession,
) -> Result<(), ApiProblem> {
    check_agent(caller, &new.agent)?;
    if new.cwd == Path::new("") {
        new.cwd.clone_from(&state.options.cwd);
    }
    if new.cwd != state.options.cwd && !caller.scopes.allow(AccessScope::Admin) {
        return Err(ApiProblem::missing_scope(AccessScope::Admin).at("/cwd"));
    }
    Ok(())
}

fn check_agent(caller: &AuthorizedCaller, agent: &str) -> Result<(), ApiProblem> {
    if caller.principal.may_use(agent) {
        return Ok(());
    }
    let problem = Problem::new(
        ErrorCode::AgentNotFound,
        format!("there is no agent `{agent}` for this token"),
    );
    Err(ApiProblem::new(StatusCode::NOT_FOUND, problem))
}
