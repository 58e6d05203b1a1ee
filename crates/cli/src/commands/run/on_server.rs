//! Sends a message to an agent of a server and follows it there.
//!
//! Settings, models, agents and rights are those of the server, so options about them are refused here.

use std::{path::PathBuf, sync::Arc};

use rooftree_client::{RuntimeClient, SessionQuery};
use rooftree_protocol::{ErrorCode, ModelChoice, Problem, Session, command::NewSession};

use super::{
    Arguments, BackgroundPolicy, BackgroundWait, CliRequest, FollowPlace, InputFormat, RunJob,
    SessionTarget, StdoutReport, UserInput, follow_to_fit, output_schema::OutputSchema,
    prompt_answerer, usage, user_input, view_for,
};
use crate::{
    environment::Environment,
    exit::Exit,
    server_connection::ServerConnection,
    session_lookup::{self, LookupScope},
};

pub(super) async fn attempt(
    arguments: &Arguments,
    environment: &Environment,
    server: &ServerConnection,
    report: &mut StdoutReport,
) -> Result<Exit, Problem> {
    refuse_local_options(arguments)?;
    let schema = OutputSchema::read(arguments, environment)?;
    let remarks = schema.as_ref().and_then(OutputSchema::remark);
    let said = user_input::read_user_input(arguments, environment, None)?;
    let client: Arc<dyn RuntimeClient> = Arc::new(server.client.clone());
    let target = target(arguments, environment, server).await?;
    let request = match said {
        UserInput::Nothing if arguments.input_format == InputFormat::StreamJson => {
            CliRequest::Lines
        }
        UserInput::Nothing => CliRequest::Resume,
        UserInput::Message(message) => {
            let said = message.post(&*client).await?;
            CliRequest::Post(said.with_instruction(schema.as_ref()))
        }
    };
    report.expect(schema);
    let policy = match arguments.wait {
        Some(most) => BackgroundPolicy::WaitForAll(most),
        // They go on at the server.
        None => BackgroundPolicy::Detach,
    };
    let answerer = prompt_answerer(arguments, environment);
    let job = RunJob {
        linger: BackgroundWait::new(policy),
        remarks: remarks.into_iter().collect(),
        input: arguments.input_format,
        place: FollowPlace::Server,
        server: environment.everywhere.server.clone(),
        ..RunJob::new(request, target, answerer)
    };
    let view = || view_for(arguments, environment);
    let left = follow_to_fit(&client, job, report, view).await?;
    Ok(left.exit)
}

/// What only a runtime of this process could take into account.
fn refuse_local_options(arguments: &Arguments) -> Result<(), Problem> {
    let given = [
        ("--agents", arguments.agents.is_some()),
        ("--mcp-config", !arguments.mcp_config.is_empty()),
        ("--max-turns", arguments.max_turns.is_some()),
        ("--timeout", arguments.timeout.is_some()),
        ("--max-cost", arguments.max_cost.is_some()),
        ("--record", arguments.record.is_some()),
        ("--replay", arguments.replay.is_some()),
        ("--permission-mode", arguments.permission_mode.is_some()),
        ("--allow", !arguments.allow.is_empty()),
        ("--deny", !arguments.deny.is_empty()),
        ("--sandbox", arguments.confined.sandbox.is_some()),
        ("--network", arguments.confined.network.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(usage(format!("{option} cannot be used with a server"))
            .cause("its settings decide about models, agents, limits and rights")
            .fix(format!(
                "leave out {option}, or leave out --server and ROOFTREE_SERVER"
            ))),
    }
}

async fn target(
    arguments: &Arguments,
    environment: &Environment,
    server: &ServerConnection,
) -> Result<SessionTarget, Problem> {
    let client: &dyn RuntimeClient = &server.client;
    let known = match &arguments.session {
        Some(typed) => Some(session_lookup::session(client, typed, LookupScope::Live).await?),
        None if arguments.latest => Some(latest(client, arguments.agent.clone()).await?),
        None => None,
    };
    if let Some(session) = known {
        if arguments.model.is_some() {
            return Err(usage("--model cannot be used with a session of a server")
                .fix("leave out --model, or leave out --session to open a new one"));
        }
        return Ok(SessionTarget::Known(Box::new(session)));
    }
    let model = arguments.model.as_deref().map(str::parse::<ModelChoice>);
    // A path means something only on the machine of the server; the server has a directory of its own.
    let is_named = environment.everywhere.cwd.is_some() || server.is_local;
    let cwd = is_named.then(|| environment.cwd.clone());
    Ok(SessionTarget::New(NewSession {
        agent: arguments.agent.clone().unwrap_or_else(|| "lead".into()),
        cwd: cwd.unwrap_or_else(PathBuf::new),
        name: None,
        model: model.transpose()?,
    }))
}

async fn latest(client: &dyn RuntimeClient, agent: Option<String>) -> Result<Session, Problem> {
    let query = SessionQuery {
        agent,
        limit: Some(1),
        ..SessionQuery::default()
    };
    client.sessions(query).await?.pop().ok_or_else(|| {
        Problem::new(
            ErrorCode::SessionNotFound,
            "the server has no session to continue",
        )
        .fix("leave out --continue to open one")
    })
}
