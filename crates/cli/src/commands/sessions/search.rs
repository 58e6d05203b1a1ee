//! Finds messages and replies that contain words, the best first.

use clap::Args;
use rooftree_client::FoundWords;
use rooftree_protocol::{ErrorCode, Problem};
use serde::Serialize;

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

impl From<FoundWords> for SessionSearchHit {
    fn from(hit: FoundWords) -> Self {
        Self {
            short: short(&hit.session).to_owned(),
            session: hit.session.to_string(),
            agent: hit.agent,
            name: hit.name,
            event: hit.event,
            snippet: hit.snippet,
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
    // Searching brings the index up to date, which is writing.
    let found = match environment.changing_client(owner())? {
        Some(client) => client.search(&words, arguments.limit.into()).await?,
        None => Vec::new(),
    };
    let hits: Vec<SessionSearchHit> = found.into_iter().map(SessionSearchHit::from).collect();
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
