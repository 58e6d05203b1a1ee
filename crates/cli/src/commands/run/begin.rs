//! Posts the message and subscribes to the session; from here on the message cannot be lost.

use rooftree_client::{EventFeed, RuntimeClient};
use rooftree_protocol::{
    Command, Event, EventBody, MessageId, Origin, Part, Problem, Session, SessionId, SkillNote,
    command::{Address, CommandReply, Delivery},
    event,
};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_store::TaskStatus;
use rooftree_view::RunTreeView;
use tokio::sync::mpsc;

use super::{
    follower_events::StopSignals,
    input_lines::{ALLOWED, InputCommand, InputLine},
    output_schema::OutputSchema,
    run_tracker::RunTracker,
    session_target::SessionTarget,
    usage,
};

/// Events of the past that are read at a time.
const PAST_PAGE: usize = 500;

/// What is to be done in a session.
#[derive(Debug)]
pub enum CliRequest {
    /// Say this.
    Post(UserPost),
    /// Go on with what is unfinished.
    Resume,
    /// Do what the lines of standard input say.
    Lines,
}

/// What is posted.
#[derive(Debug, Default)]
pub struct UserPost {
    pub parts: Vec<Part>,
    /// The tools that its run may use, if it is the text of a command file that says so.
    pub restriction: Option<SkillNote>,
}

impl UserPost {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            parts: vec![Part::text(text)],
            restriction: None,
        }
    }

    /// The same, with what the model is told about the form of the answer.
    pub fn with_instruction(mut self, schema: Option<&OutputSchema>) -> Self {
        let instruction = schema.map(|schema| Part::text(schema.instruction()));
        self.parts.extend(instruction);
        self
    }
}

/// A session that is being watched.
pub struct StartedRun {
    pub session: Session,
    pub subscription: EventFeed,
    pub signals: StopSignals,
    pub watch: RunTracker,
    /// Whether the journal will not tell that the session was opened.
    pub is_known: bool,
    /// What people should know before anything else.
    pub remarks: Vec<String>,
    /// Lines that came before the session was opened and were not understood.
    pub nonsense: Vec<String>,
}

/// Begins, with the events after this number. Lines of standard input are read until one says something, if nothing else does.
pub async fn begin(
    client: &dyn RuntimeClient,
    (target, after): (SessionTarget, Option<u64>),
    request: CliRequest,
    lines: Option<&mut mpsc::Receiver<InputLine>>,
) -> Result<StartedRun, Problem> {
    match (target, request, lines) {
        (SessionTarget::New(new), request, lines) => {
            let (said, key, nonsense) = match (request, lines) {
                (CliRequest::Post(said), _) => (said, None, Vec::new()),
                (_, Some(lines)) => {
                    let (parts, key, nonsense) = first_message(lines).await?;
                    let restriction = None;
                    (UserPost { parts, restriction }, key, nonsense)
                }
                (_, None) => return Err(usage("there is nothing to say")),
            };
            // Subscribe to signals before the message is posted: the user may stop the run as soon as it is visible.
            let signals = StopSignals::listen()?;
            let (id, message) = post_said(client, Address::Create(new), said, key).await?;
            // The agent cannot have said anything yet: its claim is still to be granted.
            let subscription = client.follow(&id, 0);
            let mut watch = RunTracker::default();
            watch.await_message(message);
            let (session, remarks) = (session(client, &id).await?, Vec::new());
            Ok(StartedRun {
                session,
                subscription,
                signals,
                watch,
                is_known: false,
                remarks,
                nonsense,
            })
        }
        (SessionTarget::Known(known), request, _) => {
            let remarks = held_elsewhere(client, &known.id)
                .await?
                .into_iter()
                .collect();
            let known = session(client, &known.id).await?;
            let after = after.unwrap_or(known.head);
            let subscription = client.follow(&known.id, after);
            let signals = StopSignals::listen()?;
            let mut watch = start_known(client, &known.id, request).await?;
            watch.seen = after;
            let nonsense = Vec::new();
            Ok(StartedRun {
                session: known,
                subscription,
                signals,
                watch,
                is_known: true,
                remarks,
                nonsense,
            })
        }
    }
}

async fn start_known(
    client: &dyn RuntimeClient,
    id: &SessionId,
    request: CliRequest,
) -> Result<RunTracker, Problem> {
    let mut watch = RunTracker::default();
    match request {
        CliRequest::Post(said) => {
            let to = Address::Id { id: id.clone() };
            let (_, message) = post_said(client, to, said, None).await?;
            watch.await_message(message);
            resume_children(client, id).await?;
        }
        CliRequest::Resume => {
            let is_left = resume_children(client, id).await?;
            if !is_left && !is_unfinished(client, id).await? {
                return Ok(watch);
            }
            watch = RunTracker::for_anything();
            let session = id.clone();
            client.send(Command::Resume { session }).await?;
        }
        CliRequest::Lines => {}
    }
    Ok(watch)
}

/// Lets the agents go on that a session had delegated to and that were left; says whether there were any.
async fn resume_children(client: &dyn RuntimeClient, id: &SessionId) -> Result<bool, Problem> {
    let tasks = client.tasks(Some(id)).await?;
    let left = tasks
        .into_iter()
        .filter(|task| task.status == TaskStatus::Running);
    let mut any = false;
    for session in left.filter_map(|task| task.child) {
        any = true;
        client.send(Command::Resume { session }).await?;
    }
    Ok(any)
}

/// Posts a message for a run of its own.
async fn post_said(
    client: &dyn RuntimeClient,
    to: Address,
    said: UserPost,
    key: Option<String>,
) -> Result<(SessionId, MessageId), Problem> {
    let UserPost { parts, restriction } = said;
    let Some(restriction) = restriction else {
        return post(client, to, parts, key, Delivery::Queue).await;
    };
    let command = Command::Prompt {
        to,
        parts,
        restriction,
    };
    accepted(client.send(command).await?)
}

/// Posts a message of the person or program that started us.
pub async fn post(
    client: &dyn RuntimeClient,
    to: Address,
    parts: Vec<Part>,
    key: Option<String>,
    delivery: Delivery,
) -> Result<(SessionId, MessageId), Problem> {
    let command = Command::Post {
        to,
        parts,
        origin: Origin::User,
        key,
        delivery,
        context: None,
    };
    accepted(client.send(command).await?)
}

fn accepted(reply: CommandReply) -> Result<(SessionId, MessageId), Problem> {
    match reply {
        CommandReply::Accepted {
            session, message, ..
        } => Ok((session, message)),
        other => Err(Problem::new(
            rooftree_protocol::ErrorCode::Internal,
            format!("a message was answered with {other:?}"),
        )),
    }
}

/// Waits for a message that was posted with a key. The same key may have been posted before: then the journal
/// up to what was heard tells which run took the message, and that run's result is the result.
pub async fn await_keyed(
    client: &dyn RuntimeClient,
    session: &SessionId,
    message: MessageId,
    watch: &mut RunTracker,
) -> Result<(), Problem> {
    watch.await_message(message);
    let mut past = RunTreeView::of(session.clone());
    let mut after = 0;
    while after < watch.seen {
        let events = client.events(session, after, PAST_PAGE).await?;
        let Some(last) = events.last().and_then(|event| event.id) else {
            break;
        };
        after = last;
        let seen = Some(watch.seen);
        for event in events.iter().filter(|event| event.id <= seen) {
            past.apply(event);
            watch.take_past(event);
        }
    }
    watch.adopt_past(&past);
    Ok(())
}

/// Whether a session has a run open or mail waiting.
pub async fn is_unfinished(client: &dyn RuntimeClient, id: &SessionId) -> Result<bool, Problem> {
    Ok(client.session_work(id).await?.is_unfinished)
}

/// Whether nothing is left to do in a session, and everything that happened up to this number is all.
pub async fn is_settled(
    client: &dyn RuntimeClient,
    id: &SessionId,
    seen: u64,
) -> Result<bool, Problem> {
    // The store may be ahead of what has been heard: then there is more to hear.
    Ok(!is_unfinished(client, id).await? && session(client, id).await?.head <= seen)
}

/// What `session.opened` says, for a session that was opened long ago.
pub fn opened(session: &Session) -> Event {
    Event {
        v: event::VERSION,
        id: None,
        ts: SystemClock.now(),
        session: session.id.clone(),
        run: None,
        parent_run: None,
        agent: session.agent.clone(),
        who: None,
        body: EventBody::SessionOpened {
            agent: session.agent.clone(),
            name: session.name.clone(),
            forked_from: session.forked_from.clone(),
        },
    }
}

async fn session(client: &dyn RuntimeClient, id: &SessionId) -> Result<Session, Problem> {
    let found = client.session(id).await?;
    found.ok_or_else(|| rooftree_store::Error::NoSession(id.clone()).problem())
}

async fn held_elsewhere(
    client: &dyn RuntimeClient,
    id: &SessionId,
) -> Result<Option<String>, Problem> {
    let elsewhere = client.session_work(id).await?.elsewhere;
    Ok(elsewhere.map(|process| {
        format!("{process} is at work on this session; what you say is queued and followed")
    }))
}

/// The first message among the lines; what cannot be used before there is a session is said.
async fn first_message(
    lines: &mut mpsc::Receiver<InputLine>,
) -> Result<(Vec<Part>, Option<String>, Vec<String>), Problem> {
    let mut nonsense: Vec<String> = Vec::new();
    while let Some(typed) = lines.recv().await {
        match typed {
            InputLine::Wish(InputCommand::User { text, key }) => {
                return Ok((vec![Part::text(text)], key, nonsense));
            }
            InputLine::Wish(InputCommand::Steer { text }) => {
                return Ok((vec![Part::text(text)], None, nonsense));
            }
            InputLine::Wish(_) => {
                nonsense.push("a line before the first message had nothing to act on".into())
            }
            InputLine::Nonsense(what) => nonsense.push(what),
            InputLine::End => break,
        }
    }
    let mut causes = vec!["standard input ended before any message".to_owned()];
    causes.extend(nonsense);
    Err(usage("there is nothing to say")
        .cause(causes.join("\n"))
        .fix(ALLOWED))
}
