//! Compacts the context of a session: its agent's model writes a summary that takes the place of older messages.

use std::ffi::OsString;

use clap::Args;
use rooftree_protocol::{Command, ErrorCode, EventBody, Problem, SessionId, command::CommandReply};
use rooftree_runtime::{EventFilter, Handle};
use tokio::signal::unix::{SignalKind, signal};

use super::{
    control,
    find::{self, LookupScope},
};
use crate::{
    commands::run::{self, PreparedRun},
    control::{owner, send},
    environment::Environment,
    exit::Exit,
    output,
    terminal::run_text,
};

/// Options of `sessions compact`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which session: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
    /// What the summary should keep above all
    #[arg(value_name = "FOCUS")]
    focus: Vec<String>,
    /// The model for the session from now on, which also writes the summary
    #[arg(short, long, value_name = "PROVIDER/MODEL")]
    model: Option<String>,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub enum CompactionOutcome {
    /// Estimated tokens before and after.
    Done { before: u64, after: u64 },
    /// Why it was not done.
    NotDone(String),
    /// Another process works on the session, and does it.
    Forwarded,
}

impl CompactionOutcome {
    /// In words for people.
    pub fn words(&self) -> String {
        match self {
            Self::Done { before, after } => format!(
                "compacted: about {} instead of {}; the journal keeps everything",
                run_text::tokens(*after),
                run_text::tokens(*before)
            ),
            Self::NotDone(why) => why.clone(),
            Self::Forwarded => {
                "another process works on the session; it compacts at its next turn".to_owned()
            }
        }
    }
}

/// Starts the session's agent for it, or leaves it to the process that works on the session.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let handle = control(environment)?;
    let queries = handle.queries(&owner());
    let session = find::session(&queries, &arguments.session, LookupScope::Live).await?;
    let focus = Some(arguments.focus.join(" ")).filter(|focus| !focus.trim().is_empty());
    let command = Command::Compact {
        session: session.id.clone(),
        focus: focus.clone(),
    };
    // A process without agents can only have another one do it.
    if let Ok(CommandReply::Forwarded) = send(&handle, command).await {
        output::print_note(environment, &CompactionOutcome::Forwarded.words());
        return Ok(Exit::DONE);
    }
    let mut line: Vec<OsString> = vec!["-s".into(), session.id.as_str().into()];
    if let Some(model) = &arguments.model {
        line.extend(["-m".into(), model.into()]);
    }
    let typed = run::typed(line)?;
    let prepared = PreparedRun::load(&typed, environment).await?;
    let control = prepared.control(environment)?;
    let target = run::SessionTarget::Known(Box::new(session.clone()));
    let chosen = prepared.choose(&typed).await?;
    let (_, model) = prepared.with_model(target, &chosen, &control).await?;
    let started = prepared.start(chosen, &model, environment)?;
    let done = compact(
        &started.runtime.handle(),
        (&session.id, session.head),
        focus,
    )
    .await;
    started.runtime.stop().await;
    let (outcome, _) = done?;
    output::print_note(environment, &outcome.words());
    Ok(match outcome {
        CompactionOutcome::NotDone(_) => Exit::FAILED,
        _ => Exit::DONE,
    })
}

/// Compacts a session and waits until that is done; Ctrl-C stops it. Also gives the number of the last event.
pub async fn compact(
    handle: &Handle,
    (session, after): (&SessionId, u64),
    focus: Option<String>,
) -> Result<(CompactionOutcome, u64), Problem> {
    let mut events = handle.subscribe(
        &owner(),
        EventFilter {
            session: session.clone(),
            after,
        },
    );
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| {
        Problem::new(ErrorCode::Internal, "cannot listen for signals").cause(error.to_string())
    })?;
    let command = Command::Compact {
        session: session.clone(),
        focus,
    };
    if send(handle, command).await? == CommandReply::Forwarded {
        return Ok((CompactionOutcome::Forwarded, after));
    }
    let mut seen = after;
    loop {
        let event = tokio::select! {
            event = events.next() => event.map_err(|error| error.problem())?,
            _ = interrupt.recv() => {
                let session = session.clone();
                send(handle, Command::Cancel { session, run: None }).await?;
                continue;
            }
        };
        seen = event.id.unwrap_or(seen);
        if let Some(outcome) = outcome(&event.body) {
            return Ok((outcome, seen));
        }
    }
}

/// What an event says about it, if it does.
fn outcome(body: &EventBody) -> Option<CompactionOutcome> {
    match body {
        EventBody::ContextCompacted(done) => Some(CompactionOutcome::Done {
            before: done.before,
            after: done.after,
        }),
        EventBody::SessionCleared { .. } => {
            let why = "the session was cleared, and nothing is left to summarise";
            Some(CompactionOutcome::NotDone(why.to_owned()))
        }
        EventBody::Notice { code, message, .. }
            if code == "not_compacted" || code == "agent_stopped" =>
        {
            Some(CompactionOutcome::NotDone(message.clone()))
        }
        _ => None,
    }
}
