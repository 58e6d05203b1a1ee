//! Lists sessions, the latest first.

use clap::Args;
use futures::{StreamExt, TryStreamExt, stream};
use rooftree_client::{ListedSession, RuntimeClient, SessionQuery};
use rooftree_protocol::{EventBody, Problem, Session, message::text_of};
use rooftree_runtime::{Clock, SystemClock};
use serde::Serialize;

use crate::{
    environment::Environment,
    exit::Exit,
    human_format,
    listing::{self, ListItem, ListOutput},
    output,
    table::{ColumnShrink, TextTable},
    terminal::run_text::short,
};

/// How many are listed when not all are asked for.
const PAGE: usize = 50;
/// The first message is among so many events of a journal.
const FIRST_EVENTS: usize = 16;
/// Sessions whose first message is read at a time.
const AT_ONCE: usize = 8;
/// Columns of a first message that are kept.
const MOST_COLUMNS: usize = 200;

/// Options of `sessions list`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Only sessions of this agent
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// All of them, also those that agents opened for others
    #[arg(long)]
    all: bool,
    /// Only sessions of this directory, or of the one that -C names
    #[arg(long)]
    here: bool,
    /// The deleted ones, which can be restored
    #[arg(long)]
    deleted: bool,
    #[command(flatten)]
    output: ListOutput,
}

/// How a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Nothing is left to do.
    Resting,
    /// A process works on it.
    Working,
    /// It has unfinished work and no process works on it.
    Unfinished,
    Deleted,
}

/// A session and how it is.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    session: Session,
    state: SessionState,
    /// The first paragraph of the first message, on one line.
    asked: String,
}

impl ListItem for Row {
    fn id(&self) -> String {
        self.session.id.to_string()
    }
}

/// Prints the list.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let rows = match environment.client()? {
        Some(client) => rows(&*client, &arguments, environment).await?,
        None => Vec::new(),
    };
    let shown = if arguments.all {
        rows.as_slice()
    } else {
        rows.get(..PAGE).unwrap_or(&rows)
    };
    let look = listing::look(environment);
    // A directory that all of them share says nothing and costs columns.
    let is_here = is_of_one_directory(&arguments, environment);
    listing::print(shown, arguments.output.format, look, |rows| {
        table(rows, is_here)
    })?;
    if rows.is_empty() {
        output::print_note(environment, nothing(&arguments));
    } else if shown.len() < rows.len() {
        output::print_note(
            environment,
            &format!("the latest {PAGE} are shown; --all shows all of them"),
        );
    }
    Ok(Exit::DONE)
}

fn nothing(arguments: &Arguments) -> &'static str {
    match (arguments.deleted, arguments.agent.is_some()) {
        _ if arguments.here => {
            "no sessions in this directory; without --here (/sessions all in a conversation) all are listed"
        }
        (true, _) => "no deleted sessions",
        (false, true) => "no sessions of this agent",
        (false, false) => "no sessions yet: rooftree run \"…\" opens one, rooftree demo shows how",
    }
}

/// Whether only the sessions of one directory are listed. One that was named has no other meaning here.
fn is_of_one_directory(arguments: &Arguments, environment: &Environment) -> bool {
    arguments.here || environment.everywhere.cwd.is_some()
}

async fn rows(
    client: &dyn RuntimeClient,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<Vec<Row>, Problem> {
    let is_here = is_of_one_directory(arguments, environment);
    let query = SessionQuery {
        cwd: is_here.then(|| environment.cwd.clone()),
        agent: arguments.agent.clone(),
        delegated: arguments.all,
        deleted: arguments.deleted,
        limit: Some(if arguments.all { usize::MAX } else { PAGE + 1 }),
        ..SessionQuery::default()
    };
    let listed = client.listed_sessions(query).await?;
    let rows = listed.into_iter().map(|listed| row(client, listed));
    stream::iter(rows).buffered(AT_ONCE).try_collect().await
}

async fn row(client: &dyn RuntimeClient, listed: ListedSession) -> Result<Row, Problem> {
    let ListedSession { session, state } = listed;
    let asked = first_message(client, &session).await?;
    let state = match (session.deleted_at, state) {
        (Some(_), _) => SessionState::Deleted,
        (None, rooftree_client::SessionStanding::Resting) => SessionState::Resting,
        (None, rooftree_client::SessionStanding::Working) => SessionState::Working,
        (None, rooftree_client::SessionStanding::Unfinished) => SessionState::Unfinished,
    };
    Ok(Row {
        session,
        state,
        asked,
    })
}

/// What the session was first asked: the first paragraph, on one line and in short.
async fn first_message(client: &dyn RuntimeClient, session: &Session) -> Result<String, Problem> {
    let events = client.events(&session.id, 0, FIRST_EVENTS).await?;
    let asked = events.into_iter().find_map(|event| match event.body {
        EventBody::MessageUser { message, .. } => Some(text_of(&message.parts)),
        _ => None,
    });
    // What follows the first paragraph was often not typed: the text of a command, piped input, a schema.
    let asked = asked.unwrap_or_default();
    let is_blank = |line: &&str| line.trim().is_empty();
    let paragraph = asked.lines().skip_while(is_blank);
    let paragraph = paragraph.take_while(|line| !is_blank(line));
    let words: Vec<&str> = paragraph.flat_map(str::split_whitespace).collect();
    Ok(human_format::cut(&words.join(" "), MOST_COLUMNS))
}

fn table(rows: &[Row], is_here: bool) -> TextTable {
    let now = SystemClock.now();
    let mut table = TextTable::new([
        ("ID", ColumnShrink::Stiff),
        ("AGENT", ColumnShrink::Stiff),
        ("NAME", ColumnShrink::Soft),
        ("STATE", ColumnShrink::Stiff),
        ("UPDATED", ColumnShrink::Stiff),
        ("WHERE", ColumnShrink::Soft),
        ("ASKED", ColumnShrink::Soft),
        ("LAST", ColumnShrink::Soft),
        ("EVENTS", ColumnShrink::Spare),
    ]);
    for Row {
        session,
        state,
        asked,
    } in rows
    {
        let state = match state {
            SessionState::Resting if session.pinned_at.is_some() => "pinned",
            SessionState::Resting => "",
            SessionState::Working => "◌ working",
            SessionState::Unfinished => "! unfinished",
            SessionState::Deleted => "deleted",
        };
        table.row([
            short(&session.id).to_owned(),
            session.agent.clone(),
            session.name.clone().unwrap_or_default(),
            state.to_owned(),
            human_format::ago(now, session.updated_at),
            match is_here {
                true => String::new(),
                false => human_format::place(&session.cwd),
            },
            asked.clone(),
            rooftree_view::board::plain_line(&session.last_snippet),
            session.head.to_string(),
        ]);
    }
    table
}
