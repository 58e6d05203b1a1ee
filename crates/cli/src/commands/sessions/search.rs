//! Finds messages and replies that contain words, the best first.

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_store::SearchHit;
use serde::Serialize;

use super::in_words;
use crate::{
    control::owner,
    environment::Environment,
    exit::Exit,
    listing::{self, ListItem, ListOutput},
    output,
    table::{ColumnShrink, TextTable},
    terminal::run_text::short,
};

/// Options of `sessions search`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Words that must all be there
    #[arg(required = true, value_name = "WORDS")]
    words: Vec<String>,
    /// At most so many
    #[arg(short = 'n', long, default_value_t = 20, value_name = "COUNT")]
    limit: u16,
    #[command(flatten)]
    output: ListOutput,
}

/// A place where the words are.
#[derive(Serialize)]
struct SessionSearchHit {
    session: String,
    agent: String,
    name: Option<String>,
    event: u64,
    snippet: String,
    #[serde(skip)]
    short: String,
}

impl ListItem for SessionSearchHit {
    fn id(&self) -> String {
        self.session.clone()
    }
}

impl From<SearchHit> for SessionSearchHit {
    fn from(hit: SearchHit) -> Self {
        let (session, event, snippet) = (hit.session, hit.event, hit.snippet);
        let (agent, name) = (session.agent, session.name);
        Self {
            short: short(&session.id).to_owned(),
            session: session.id.to_string(),
            agent,
            name,
            event,
            snippet,
        }
    }
}

/// Prints the places. The search reads on in the journal first, so it opens the store to write.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let words = arguments.words.join(" ");
    if words.trim().is_empty() {
        return Err(Problem::new(
            ErrorCode::InvalidArguments,
            "there are no words to look for",
        )
        .fix("rooftree sessions search WORDS; rooftree sessions list shows all"));
    }
    let hits: Vec<SessionSearchHit> = if environment.database.exists() {
        // Searching brings the index up to date, which is writing.
        let queries = environment.control()?.queries(&owner());
        let found = queries.search(&words, arguments.limit.into()).await;
        let found = found.map_err(in_words)?;
        found.into_iter().map(SessionSearchHit::from).collect()
    } else {
        Vec::new()
    };
    listing::print(
        &hits,
        arguments.output.format,
        listing::look(environment),
        table,
    )?;
    if hits.is_empty() {
        output::print_note(environment, &format!("nothing found for: {words}"));
    }
    Ok(Exit::DONE)
}

fn table(hits: &[SessionSearchHit]) -> TextTable {
    let mut table = TextTable::new([
        ("SESSION", ColumnShrink::Stiff),
        ("EVENT", ColumnShrink::Stiff),
        ("AGENT", ColumnShrink::Spare),
        ("NAME", ColumnShrink::Soft),
        ("FOUND", ColumnShrink::Soft),
    ]);
    for hit in hits {
        let name = hit.name.clone().unwrap_or_default();
        table.row([
            hit.short.clone(),
            hit.event.to_string(),
            hit.agent.clone(),
            name,
            hit.snippet.clone(),
        ]);
    }
    table
}
