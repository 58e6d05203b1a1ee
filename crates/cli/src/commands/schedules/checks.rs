//! Checks of a new schedule: its model, and whether a server runs that fires it.

use std::os::unix::net::UnixStream;

use rooftree_protocol::{ErrorCode, Problem};

use crate::{
    configured_models::ConfiguredModels, environment::Environment, server_connection::socket_path,
    settings,
};

/// The model that was named, whole: the server may be started in another directory, with other aliases.
pub fn known_model(
    named: Option<String>,
    environment: &Environment,
) -> Result<Option<String>, Problem> {
    let Some(named) = named else {
        return Ok(None);
    };
    let settings = settings::load(environment)?;
    let models = ConfiguredModels::of(environment, &settings)?;
    let choice = models.resolve(&named)?.choice;
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
    Ok(Some(choice.to_string()))
}

/// What to add for a person on whose machine no server runs now.
pub fn server_state(environment: &Environment) -> &'static str {
    match UnixStream::connect(socket_path(environment)) {
        Ok(_) => "",
        Err(_) => ", and none runs now",
    }
}
