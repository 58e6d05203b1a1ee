//! Returns from a session that was handed over: posts a summary of it to the first agent.

use clap::{Args, ValueEnum};
use rooftree_protocol::{
    Command, Problem,
    command::{CommandReply, HandBackSummary},
};

use super::{
    ContinuedSession, SessionsOutcome, changer,
    find::{self, LookupScope},
};
use crate::{environment::Environment, exit::Exit, output, terminal::run_text::how_to_continue};

/// Options of `sessions back`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The session that was handed over: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
    /// What the first session is told
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    summary: Summary,
    /// The model to write the summary with
    #[arg(short, long, value_name = "PROVIDER/MODEL")]
    model: Option<String>,
}

/// What the first session is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Summary {
    /// What was asked and answered, shortened
    #[default]
    Extract,
    /// What the agent that went on with it writes now
    Model,
}

/// Leaves the summary in the first session, to be read when it goes on, and prints that one's id. A model's summary is
/// printed as it is written.
pub async fn execute(
    arguments: Arguments,
    environment: &Environment,
) -> Result<SessionsOutcome, Problem> {
    let client = changer(environment)?;
    let switched = find::session(&*client, &arguments.session, LookupScope::Live).await?;
    let command = Command::HandBack {
        session: switched.id.clone(),
        summary: match arguments.summary {
            Summary::Extract => HandBackSummary::Extract,
            Summary::Model => HandBackSummary::Model,
        },
    };
    let reply = client.send(command).await?;
    let origin = switched.forked_from.map(|origin| origin.session);
    let Some(origin) = origin else {
        return Ok(SessionsOutcome::Done(Exit::DONE));
    };
    output::print(&format!("{origin}\n"))?;
    let is_told = matches!(reply, CommandReply::Accepted { .. });
    let said = match reply {
        CommandReply::Accepted { .. } => format!(
            "what {} did is told when you go on: {}",
            switched.agent,
            how_to_continue(&origin)
        ),
        _ => "nothing was said there; there is nothing to tell".to_owned(),
    };
    output::print_note(environment, &said);
    if arguments.summary == Summary::Model && is_told {
        return Ok(SessionsOutcome::GoOn(ContinuedSession {
            session: switched.id,
            words: Vec::new(),
            model: arguments.model,
        }));
    }
    Ok(SessionsOutcome::Done(Exit::DONE))
}
