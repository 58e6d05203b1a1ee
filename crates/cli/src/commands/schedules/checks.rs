//! Checks of a new schedule: its model, and whether a server runs that fires it.

use std::os::unix::net::UnixStream;

use rooftree_protocol::{ErrorCode, Principal, Problem};
use rooftree_runtime::Handle;

use crate::{
    commands::agents::{effective, note_unknown_agent},
    configured_models::ConfiguredModels,
    environment::Environment,
    output,
    server_connection::socket_path,
    settings,
};

/// Says that an event names a connector or an agent that is not known here: it may be added later.
pub async fn note_unknown_event(
    environment: &Environment,
    handle: &Handle,
    who: &Principal,
    on: &str,
) -> Result<(), Problem> {
    if let Some(name) = on.strip_prefix("webhook:") {
        let known = handle.connectors(who).await;
        let known = known.map_err(|error| error.problem())?;
        if !known.iter().any(|row| row.name == name) {
            let words =
                format!("there is no connector `{name}` yet; rooftree connectors list shows them");
            output::print_note(environment, &words);
        }
        return Ok(());
    }
    let agent = on.strip_prefix("run-ended:").unwrap_or_default();
    let agent = agent.split(':').next().unwrap_or_default();
    if !matches!(agent, "" | "*") {
        note_unknown_agent(environment, agent);
    }
    Ok(())
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
