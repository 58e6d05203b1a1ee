//! Lists pending permission requests and questions, oldest first: agent, call, reason, timeout, waiting process.

use clap::Args;
use rooftree_client::{AnswerState, InquirySelection, ListedInquiry, RuntimeClient};
use rooftree_protocol::{EventBody, Problem, Question, SessionId, SpawnGroup, Timestamp};
use rooftree_runtime::{Clock, SystemClock};
use serde::Serialize;

use super::find;
use crate::{
    environment::Environment,
    exit::Exit,
    human_format::ago,
    listing::{self, ListFormat, ListItem, ListOutput, PageOutput},
    output,
    table::{ColumnShrink, TextTable},
    terminal::{
        line::StyledLine,
        permission_prompt::{PermissionPrompt, in_words},
        question_prompt::QuestionPrompt,
        run_text::{ending, short},
        sanitize::clean,
    },
};

/// Options of `permissions list`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Also what was answered, too late or withdrawn in the last 30 days
    #[arg(long)]
    all: bool,
    /// Print a JSON array; the same as -o json
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    output: ListOutput,
}

/// Options of `permissions show`.
#[derive(Args, Debug)]
pub struct PermissionShowArguments {
    /// Which question: its id, or the last 4 or more characters of it
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    output: PageOutput,
}

/// Something asked, for people and programs.
#[derive(Serialize)]
struct Row {
    id: String,
    kind: &'static str,
    agent: String,
    session: SessionId,
    root: SessionId,
    /// The tool of a call.
    tool: Option<String>,
    /// The call, or the question, in a line.
    title: String,
    reason: String,
    rule: Option<String>,
    scopes: Vec<rooftree_protocol::PermissionScope>,
    questions: Vec<Question>,
    /// The agents that would be started, if that is what is asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    spawn: Vec<SpawnGroup>,
    digest: String,
    asked_at: Timestamp,
    until: Timestamp,
    state: State,
    /// Who answered.
    by: Option<String>,
    /// Whether a living process waits for the answer.
    is_awaited: bool,
}

/// How a question is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Pending,
    Answered,
    Expired,
}

impl ListItem for Row {
    fn id(&self) -> String {
        self.id.clone()
    }
}

/// Prints the list.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let rows = match environment.client()? {
        Some(client) => rows(&*client, arguments.all).await?,
        None => Vec::new(),
    };
    let format = if arguments.json {
        ListFormat::Json
    } else {
        arguments.output.format
    };
    listing::print(&rows, format, listing::look(environment), table)?;
    if format == ListFormat::Table {
        output::print_note(environment, &what_to_do(&rows));
    }
    Ok(Exit::DONE)
}

/// Shows all of one question.
pub async fn show(
    arguments: PermissionShowArguments,
    environment: &Environment,
) -> Result<Exit, Problem> {
    let client = find::answering(environment)?;
    let inquiry = find::inquiry(&*client, &arguments.id).await?;
    let (session, asked) = (inquiry.session.clone(), inquiry.asked.clone());
    let row = row(&*client, inquiry).await?;
    if arguments.output.is_json() {
        output::print(&output::json_page(
            &serde_json::json!({ "question": row, "asked": asked }),
        )?)?;
        return Ok(Exit::DONE);
    }
    let event = rooftree_protocol::Event {
        v: rooftree_protocol::event::VERSION,
        id: None,
        ts: row.asked_at,
        session,
        run: None,
        parent_run: None,
        agent: row.agent.clone(),
        who: None,
        body: asked,
    };
    let columns = listing::look(environment).width.unwrap_or(100);
    let lines: Vec<StyledLine> = match PermissionPrompt::from_event(&row.agent, &event) {
        Some(mut card) => {
            card.show_all();
            card.facts(columns)
        }
        None => QuestionPrompt::from_event(&row.agent, &event)
            .map(|sheet| sheet.facts(columns))
            .unwrap_or_default(),
    };
    let colours = listing::look(environment).colours;
    let mut text: String = lines
        .iter()
        .map(|line| line.paint(colours) + "\n")
        .collect();
    text += &format!("  {}\n", clean(&standing(&row)));
    output::print(&text)?;
    output::print_note(environment, &what_to_do(std::slice::from_ref(&row)));
    Ok(Exit::DONE)
}

async fn rows(client: &dyn RuntimeClient, all: bool) -> Result<Vec<Row>, Problem> {
    let mut inquiries = client.inquiries(InquirySelection::Pending).await?;
    if all {
        inquiries.extend(client.inquiries(InquirySelection::Answered).await?);
    }
    let mut rows = Vec::with_capacity(inquiries.len());
    for inquiry in inquiries {
        rows.push(row(client, inquiry).await?);
    }
    Ok(rows)
}

async fn row(client: &dyn RuntimeClient, inquiry: ListedInquiry) -> Result<Row, Problem> {
    let is_pending = inquiry.state == AnswerState::Pending;
    let is_awaited = is_pending && find::is_awake(client, &inquiry.session).await?;
    let state = match inquiry.state {
        AnswerState::Pending => State::Pending,
        AnswerState::Answered => State::Answered,
        AnswerState::Expired | AnswerState::Withdrawn => State::Expired,
    };
    let by = inquiry.by;
    let mut row = Row {
        id: inquiry.id,
        kind: "question",
        agent: inquiry.agent,
        session: inquiry.session,
        root: inquiry.root,
        tool: None,
        title: String::new(),
        reason: String::new(),
        rule: None,
        scopes: Vec::new(),
        questions: Vec::new(),
        spawn: Vec::new(),
        digest: inquiry.digest,
        asked_at: inquiry.asked_at,
        until: inquiry.until,
        state,
        by,
        is_awaited,
    };
    match inquiry.asked {
        EventBody::PermissionRequested {
            tool,
            title,
            reason,
            rule,
            scopes,
            spawn,
            ..
        } => {
            (row.kind, row.tool, row.title, row.reason) = ("permission", Some(tool), title, reason);
            (row.rule, row.scopes, row.spawn) = (Some(rule), scopes, spawn);
        }
        EventBody::QuestionRequested { questions, .. } => {
            row.title = questions
                .iter()
                .map(|asked| asked.text.as_str())
                .collect::<Vec<_>>()
                .join(" / ");
            row.questions = questions;
        }
        _ => {}
    }
    Ok(row)
}

fn table(rows: &[Row]) -> TextTable {
    let now = SystemClock.now();
    let mut table = TextTable::new([
        ("ID", ColumnShrink::Stiff),
        ("ASKED", ColumnShrink::Stiff),
        ("AGENT", ColumnShrink::Stiff),
        ("SESSION", ColumnShrink::Stiff),
        ("WHAT", ColumnShrink::Soft),
        ("WHY", ColumnShrink::Soft),
        ("LEFT", ColumnShrink::Stiff),
        ("STATE", ColumnShrink::Stiff),
    ]);
    for row in rows {
        let what = row
            .tool
            .as_ref()
            .map_or_else(|| row.title.clone(), |tool| format!("{tool} {}", row.title));
        let why = row
            .reason
            .split_once("; --")
            .map_or(row.reason.as_str(), |(why, _)| why);
        table.row([
            ending(&row.id).to_owned(),
            ago(now, row.asked_at),
            row.agent.clone(),
            short(&row.root).to_owned(),
            what,
            why.to_owned(),
            match row.state {
                State::Pending => in_words(row.until.since(now)),
                State::Answered | State::Expired => "–".to_owned(),
            },
            state(row),
        ]);
    }
    table
}

fn state(row: &Row) -> String {
    match (row.state, row.is_awaited) {
        (State::Pending, true) => "◌ waits".into(),
        (State::Pending, false) => "! no process at work".into(),
        (State::Answered, _) => {
            format!("✓ answered by {}", row.by.as_deref().unwrap_or("a user"))
        }
        (State::Expired, _) => "✗ too late".into(),
    }
}

/// How a question is, in a sentence.
fn standing(row: &Row) -> String {
    let now = SystemClock.now();
    let (asked, session) = (ago(now, row.asked_at), short(&row.root));
    let how = match row.state {
        State::Pending => format!("no answer yet, {} left", in_words(row.until.since(now))),
        State::Answered => format!("answered by {}", row.by.as_deref().unwrap_or("a user")),
        State::Expired => "too late for an answer".into(),
    };
    format!("asked {asked} in session {session}; {how}")
}

fn what_to_do(rows: &[Row]) -> String {
    let pending: Vec<&Row> = rows
        .iter()
        .filter(|row| row.state == State::Pending)
        .collect();
    let Some(first) = pending.first() else {
        return "nothing waits for an answer".into();
    };
    let id = ending(&first.id);
    let mut text = if first.kind == "permission" {
        format!("answer with: rooftree permissions allow {id}, or deny {id}")
    } else {
        format!("answer with: rooftree permissions answer {id} …")
    };
    if let Some(left) = pending.iter().find(|row| !row.is_awaited) {
        text += &format!(
            "\nno process is at work on {0}: once it is answered, rooftree run -s {0} goes on",
            short(&left.root)
        );
    }
    text
}
