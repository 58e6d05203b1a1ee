//! Shows the board: what needs you, failed, works, waits and is done; and follows it.

mod draw;

use std::io::{self, IsTerminal};

use clap::{Args, ValueEnum};
use rooftree_client::{ConnectionState, RuntimeClient, Watch, WatchUpdate};
use rooftree_protocol::{ErrorCode, Problem, Timestamp};
use rooftree_runtime::{Clock, SystemClock};
use rooftree_view::{
    StreamFrame, StreamRequest,
    board::{BoardChange, BoardRow, BoardSnapshot, sort_board},
};

use self::draw::{BoardLook, lines};
use crate::{
    environment::Environment,
    exit::Exit,
    listing,
    output::{self, StdoutReader},
    terminal::{self, screen::TerminalScreen},
};

/// Options of `board`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Only sessions of this agent
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// Print the board and end, instead of following it
    #[arg(long)]
    once: bool,
    /// How to print it
    #[arg(
        short = 'o',
        long = "output-format",
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    format: BoardFormat,
}

/// How a board is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum BoardFormat {
    /// A table for people; on a terminal it follows what happens
    #[default]
    Table,
    /// One JSON value
    Json,
    /// The board, then one JSON object per change and line
    StreamJson,
}

/// Prints it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let Some(client) = environment.client()? else {
        return nothing(&arguments, environment);
    };
    let is_terminal = io::stdout().is_terminal();
    let is_table = arguments.format == BoardFormat::Table;
    if arguments.once || arguments.format == BoardFormat::Json || (is_table && !is_terminal) {
        let board = client.board(arguments.agent.as_deref()).await?;
        return print(&arguments, environment, board);
    }
    let watch = BoardChanges::open(&*client);
    if is_table {
        follow(watch, &arguments, environment).await
    } else {
        stream(watch, &arguments).await
    }
}

/// Changes of the board, as they happen.
struct BoardChanges(Watch);

impl BoardChanges {
    fn open(client: &dyn RuntimeClient) -> Self {
        let all = StreamRequest {
            board: Some(String::new()),
            ..StreamRequest::default()
        };
        Self(client.watch(all))
    }

    /// The next one, whatever the connection does meanwhile. Dropping the wait loses nothing.
    async fn next(&mut self) -> Result<BoardChange, Problem> {
        while let Some(update) = self.0.next().await {
            match update {
                WatchUpdate::Frame(frame) => {
                    if let StreamFrame::Topic(topic) = *frame
                        && let Some(change) = topic.board_change()
                    {
                        return Ok(change);
                    }
                }
                WatchUpdate::Connection(ConnectionState::Blocked(problem)) => return Err(problem),
                WatchUpdate::Connection(_) => {}
            }
        }
        Err(Problem::new(ErrorCode::Internal, "the board ended"))
    }
}

/// There is no database yet.
fn nothing(arguments: &Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let (rev, rows) = Default::default();
    print(arguments, environment, BoardSnapshot { rev, rows })
}

fn print(
    arguments: &Arguments,
    environment: &Environment,
    snapshot: BoardSnapshot,
) -> Result<Exit, Problem> {
    match arguments.format {
        BoardFormat::Json => output::print(&output::json_page(&snapshot)?)?,
        BoardFormat::StreamJson => {
            output::print(&output::json_line(&BoardChange::Snapshot(snapshot))?)?;
        }
        BoardFormat::Table if snapshot.rows.is_empty() => {
            output::print_note(environment, draw::EMPTY);
        }
        BoardFormat::Table => {
            let style = listing::look(environment);
            let look = BoardLook {
                now: SystemClock.now(),
                width: style.width,
                height: None,
            };
            for line in lines(&snapshot.rows, look) {
                output::print(&(line.paint(style.colours) + "\n"))?;
            }
        }
    }
    Ok(Exit::DONE)
}

/// Prints changes line by line, until the reader closes the pipe or Ctrl-C.
async fn stream(mut watch: BoardChanges, arguments: &Arguments) -> Result<Exit, Problem> {
    loop {
        let change = tokio::select! {
            change = watch.next() => only_of(change?, arguments.agent.as_deref()),
            _ = tokio::signal::ctrl_c() => return Ok(Exit::DONE),
        };
        if let Some(change) = change
            && output::write(&output::json_line(&change)?)? == StdoutReader::Gone
        {
            return Ok(Exit::DONE);
        }
    }
}

/// Draws the board in place whenever it changes, until Ctrl-C.
async fn follow(
    mut watch: BoardChanges,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let colours = listing::look(environment).colours;
    let mut screen = TerminalScreen::new(io::stdout(), colours);
    let mut rows: Vec<BoardRow> = Vec::new();
    // The time since something was asked goes on, and the window may have another size.
    let mut ticks = tokio::time::interval(std::time::Duration::from_secs(5));
    loop {
        let now: Timestamp = SystemClock.now();
        let look = BoardLook {
            now,
            width: Some(terminal::width()),
            height: Some(terminal::height()),
        };
        screen.draw(&[], &lines(&rows, look));
        tokio::select! {
            change = watch.next() => {
                if let Some(change) = only_of(change?, arguments.agent.as_deref()) {
                    apply(&mut rows, change);
                }
            }
            _ = ticks.tick() => {}
            _ = tokio::signal::ctrl_c() => {
                screen.draw(&lines(&rows, look), &[]);
                return Ok(Exit::DONE);
            }
        }
    }
}

/// A change without the rows of other agents; none if nothing is left of it.
fn only_of(change: BoardChange, agent: Option<&str>) -> Option<BoardChange> {
    let is_of =
        |row: &BoardRow| agent.is_none_or(|agent| row.agent.name.eq_ignore_ascii_case(agent));
    match change {
        BoardChange::Snapshot(mut snapshot) => {
            snapshot.rows.retain(is_of);
            Some(BoardChange::Snapshot(snapshot))
        }
        BoardChange::Row(row) if !is_of(&row) => None,
        other => Some(other),
    }
}

/// Takes a change into the rows that are shown.
fn apply(rows: &mut Vec<BoardRow>, change: BoardChange) {
    match change {
        BoardChange::Snapshot(snapshot) => *rows = snapshot.rows,
        BoardChange::Row(row) => {
            rows.retain(|known| known.session != row.session);
            rows.push(*row);
        }
        BoardChange::Gone(gone) => rows.retain(|known| known.session != gone.session),
    }
    sort_board(rows);
}
