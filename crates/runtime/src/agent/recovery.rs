//! Finds out where a session was when nobody was working on it any more.

use rooftree_protocol::{
    Command, ErrorCode, EventBody, Outcome, Problem, Repeat, ToolCall, event::NoticeLevel,
};
use rooftree_store::CommandRow;

use super::{
    Agent,
    call::not_made,
    history::{INTERRUPTED, OpenCall},
    inner,
    limits::End,
    permission,
    run_view::Asked,
    settle::settle,
};
use crate::Error;

/// Claims in a row that may end without the run being settled, before the run is given up.
const ATTEMPTS: u32 = 5;
/// Events read at a time.
const PAGE: usize = 2_000;

/// Folds the journal, as far as it goes, into the agent.
pub(super) async fn load(agent: &mut Agent) -> Result<(), Error> {
    if agent.session.head == 0 {
        return Ok(());
    }
    let mut after = 0;
    loop {
        let page = agent.world.store().events(&agent.session.id, after, PAGE).await?;
        for event in &page {
            agent.observe(event);
            // Live, tools note by themselves what they saw of files; replayed, we do.
            if let EventBody::ToolCompleted(record) = &event.body {
                record.files.iter().for_each(|note| agent.views.note(note));
            }
        }
        match page.last().and_then(|event| event.id) {
            Some(last) if page.len() == PAGE => after = last,
            _ => return Ok(()),
        }
    }
}

/// Heeds commands for whoever had the session before and did not get to them. A wish to stop is
/// for the run it was meant for, never for a later one.
pub(super) fn heed_left(agent: &mut Agent, left: Vec<CommandRow>) {
    let began = agent.history.run().map(|run| run.started_at);
    for row in left {
        match row.command {
            Command::Clear { .. } => agent.clear_asked = true,
            Command::Cancel { run: Some(run), .. } if agent.run_id().as_ref() != Some(&run) => {
                agent.unwanted.push(run);
                continue;
            }
            Command::Cancel { .. } | Command::Delete { .. } => {}
            _ => continue,
        }
        if began.is_some_and(|began| row.at >= began) {
            agent.ending = Some(End::Cancelled);
        }
    }
}

/// Closes what a crash left open, so that the run can go on: calls that may not be made again
/// get a result that says nobody knows. A question nobody answered stands.
pub(super) async fn recover(agent: &mut Agent, attempts: u32) -> Result<(), Error> {
    forget_inner(agent).await?;
    let Some(run) = agent.history.run() else { return Ok(()) };
    // Waiting for a person is not what ends processes.
    let waits = run.asked.iter().any(|asked| !asked.settled);
    let attempts = if waits { 0 } else { attempts };
    let lost = |open: &&OpenCall| {
        open.intent == Some(Repeat::AtMostOnce) || (attempts > ATTEMPTS && open.intent.is_some())
    };
    let lost: Vec<ToolCall> = agent.history.open_calls().filter(lost).map(|open| open.call.clone()).collect();
    for call in lost {
        let record = not_made(&call, &call.tool, Outcome::Unknown, INTERRUPTED.into());
        agent.note(EventBody::ToolCompleted(record));
    }
    if attempts > ATTEMPTS {
        give_up(agent, attempts).await?;
    }
    Ok(())
}

/// Calls from inside others are made by commands, which are gone: nobody makes them again, and nobody waits
/// for what was asked about them.
async fn forget_inner(agent: &mut Agent) -> Result<(), Error> {
    inner::leave(agent, Outcome::Unknown, INTERRUPTED);
    let Some(run) = agent.history.run() else { return Ok(()) };
    let is_open = |asked: &&Asked| agent.history.open_calls().any(|open| open.call.id == asked.call);
    let stale = run.asked.iter().filter(|asked| !asked.settled && !is_open(asked));
    for asked in stale.cloned().collect::<Vec<_>>() {
        permission::forget(agent, &asked).await?;
    }
    Ok(())
}

/// A run that ends its process every time must not be tried for ever.
async fn give_up(agent: &mut Agent, attempts: u32) -> Result<(), Error> {
    let message = format!("this run was cut off {attempts} times and is given up");
    agent.note(EventBody::Notice {
        level: NoticeLevel::Error,
        code: "poison".into(),
        message: message.clone(),
        hint: Some("look at the last events of the session for what ends the program".into()),
    });
    settle(agent, End::Failed(Problem::new(ErrorCode::Internal, message))).await
}
