//! Returns from a session that was handed over: posts a summary of it to the first agent.

use clap::Args;
use rooftree_protocol::{
    ErrorCode, Event, EventBody, Lane, Message, MessageId, Origin, Part, Problem, Session,
};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_stdx::shorten::shorten;
use rooftree_store::InboxPost;

use super::{
    find::{self, LookupScope},
    in_words, journal, open_writable,
};
use crate::{environment::Environment, exit::Exit, output, terminal::run_text::how_to_continue};

/// Characters of one answer in the summary.
const ANSWER: usize = 1_500;
/// Characters of the summary.
const WHOLE: usize = 6_000;

/// Options of `sessions back`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The session that was handed over: its id, the last 4 or more characters of it, or its name
    #[arg(value_name = "ID")]
    session: String,
}

/// Leaves the summary in the first session, to be read when it goes on, and prints that one's id.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let store = open_writable(environment)?;
    let switched = find::session(store.as_ref(), &arguments.session, LookupScope::Live).await?;
    let Some(origin) = switched.forked_from.clone() else {
        let message = format!(
            "session {} was not handed over from another one",
            switched.id
        );
        return Err(Problem::new(ErrorCode::InvalidArguments, message)
            .fix("rooftree sessions switch ID AGENT hands a conversation over"));
    };
    let events = journal::whole(store.as_ref(), &switched).await?;
    let own: Vec<&Event> = events
        .iter()
        .filter(|event| event.session == switched.id)
        .collect();
    let Some(summary) = summary(&switched, &own) else {
        output::print_note(
            environment,
            "nothing was said there; there is nothing to tell",
        );
        output::print(&format!("{}\n", origin.session))?;
        return Ok(Exit::DONE);
    };
    let id = MessageId::from_entropy(SystemClock.entropy());
    let from = Origin::Agent {
        session: switched.id.clone(),
        agent: switched.agent.clone(),
        call: None,
    };
    let message = Message {
        silent: true,
        ..Message::new(id, vec![Part::text(summary)], from, SystemClock.now())
    };
    // What was told up to this event is not told again.
    let key = format!("back:{}:{}", switched.id, switched.head);
    let session = origin.session.clone();
    let post = InboxPost {
        session,
        lane: Lane::Boundary,
        key,
        message,
        capacity: u64::MAX,
    };
    store.post(post).await.map_err(in_words)?;
    output::print(&format!("{}\n", origin.session))?;
    let next = format!(
        "what {} did is told when you go on: {}",
        switched.agent,
        how_to_continue(&origin.session)
    );
    output::print_note(environment, &next);
    Ok(Exit::DONE)
}

/// What was asked and answered there, and which files changed; none if nothing was.
fn summary(session: &Session, own: &[&Event]) -> Option<String> {
    let mut lines = Vec::new();
    for event in own {
        match &event.body {
            EventBody::RunStarted { title, .. } => lines.push(format!("Asked: {title}")),
            EventBody::RunCompleted(end) => {
                lines.push(format!(
                    "{}, {}: {}",
                    session.agent,
                    end.status,
                    shorten(end.text.trim(), ANSWER)
                ));
                let files: Vec<String> = end
                    .files
                    .iter()
                    .map(|file| file.path.display().to_string())
                    .collect();
                if !files.is_empty() {
                    lines.push(format!("Files changed: {}", files.join(", ")));
                }
            }
            _ => {}
        }
    }
    let told = format!(
        "The conversation went on with agent {} and is back.\n{}",
        session.agent,
        lines.join("\n")
    );
    (!lines.is_empty()).then(|| shorten(&told, WHOLE))
}
