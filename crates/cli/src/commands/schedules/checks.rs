//! Checks of a new schedule: its name, chats and model, and whether a server runs that fires it.

use std::os::unix::net::UnixStream;

use rooftree_protocol::{ChatTarget, ErrorCode, Principal, Problem};
use rooftree_runtime::Handle;

use crate::{
    commands::agents::effective, configured_models::ConfiguredModels, environment::Environment,
    server_connection::socket_path, settings,
};

/// A name that a person gives names one schedule.
pub async fn refuse_taken_name(
    handle: &Handle,
    who: &Principal,
    name: Option<&str>,
) -> Result<(), Problem> {
    let known = handle.schedules(who).await;
    let known = known.map_err(|error| error.problem())?;
    let is_taken = |name: &&str| known.iter().any(|one| one.name.eq_ignore_ascii_case(name));
    let Some(name) = name.filter(|name| is_taken(name)) else {
        return Ok(());
    };
    let message = format!("there is a schedule `{name}` already");
    Err(
        Problem::new(ErrorCode::InvalidArguments, message).fix(format!(
            "choose another --name, or remove it: rooftree schedules rm {name}"
        )),
    )
}

/// A chat of a connector that is not there would get nothing.
pub async fn refuse_unknown_chat(
    handle: &Handle,
    who: &Principal,
    target: &str,
) -> Result<(), Problem> {
    let Ok(chat) = target.parse::<ChatTarget>() else {
        return Ok(());
    };
    let known = handle.connectors(who).await;
    let known = known.map_err(|error| error.problem())?;
    if known.iter().any(|row| row.name == chat.connector) {
        return Ok(());
    }
    let message = format!("there is no connector `{}`", chat.connector);
    Err(Problem::new(ErrorCode::TaskNotFound, message)
        .cause(format!("`{target}` is a chat of it"))
        .fix("rooftree connectors list shows them, rooftree connectors add adds one"))
}

/// The model that a schedule keeps. The one that was named is written whole: the server may be started in another
/// directory, with other aliases. Without a name it is the one that the agent would use now, and a later change of the
/// default does not change it.
pub fn kept_model(
    named: Option<String>,
    (agent, is_heartbeat): (&str, bool),
    environment: &Environment,
) -> Result<Option<String>, Problem> {
    match named {
        Some(named) => named_model(&named, environment).map(Some),
        None => Ok(effective::usual_model(agent, is_heartbeat, environment)),
    }
}

fn named_model(named: &str, environment: &Environment) -> Result<String, Problem> {
    let settings = settings::load(environment)?;
    let models = ConfiguredModels::of(environment, &settings)?;
    let choice = models.resolve(named)?.choice;
    if models
        .catalog
        .providers()
        .all(|name| name != choice.provider)
    {
        let message = format!("there is no provider `{}`", choice.provider);
        return Err(Problem::new(ErrorCode::InvalidArguments, message)
            .cause(format!("model `{named}` names it"))
            .fix("rooftree models list shows models that are known"));
    }
    Ok(choice.to_string())
}

/// What to add for a person on whose machine no server runs now.
pub fn server_state(environment: &Environment) -> &'static str {
    match UnixStream::connect(socket_path(environment)) {
        Ok(_) => "",
        Err(_) => ", and none runs now",
    }
}
