//! Output formats: a list as table, JSON, JSON lines or ids; one thing as text or JSON.

use std::io::{self, IsTerminal};

use clap::{Args, ValueEnum};
use rooftree_protocol::Problem;
use serde::Serialize;

use crate::{
    environment::Environment,
    output,
    table::{TableStyle, TextTable},
};

/// How a list is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// Columns for people
    #[default]
    Table,
    /// One JSON array
    Json,
    /// One JSON object per line
    Jsonl,
    /// Only the ids, one per line
    Ids,
}

/// The option every list takes.
#[derive(Args, Clone, Copy, Debug)]
pub struct ListOutput {
    /// How to print the list
    #[arg(
        short = 'o',
        long = "output-format",
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    pub format: ListFormat,
}

/// How one thing is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TextOrJson {
    /// For people
    #[default]
    Text,
    /// One JSON value
    Json,
}

/// The option of every command that prints one thing.
#[derive(Args, Clone, Copy, Debug)]
pub struct PageOutput {
    /// How to print it
    #[arg(
        short = 'o',
        long = "output-format",
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        global = true
    )]
    format: TextOrJson,
    /// The same as -o json
    #[arg(long, global = true)]
    json: bool,
}

impl PageOutput {
    /// Whether JSON is wanted.
    pub fn is_json(self) -> bool {
        self.json || self.format == TextOrJson::Json
    }
}

/// Something that can be listed.
pub trait ListItem: Serialize {
    /// What it is asked for by.
    fn id(&self) -> String;
}

/// Prints a list; `table` is only made when people read it.
pub fn print<T: ListItem>(
    items: &[T],
    format: ListFormat,
    look: TableStyle,
    table: impl FnOnce(&[T]) -> TextTable,
) -> Result<(), Problem> {
    let text = match format {
        ListFormat::Table if items.is_empty() => String::new(),
        ListFormat::Table => table(items).text(look),
        ListFormat::Json => output::json_page(&items)?,
        ListFormat::Jsonl => items
            .iter()
            .map(output::json_line)
            .collect::<Result<String, Problem>>()?,
        ListFormat::Ids => items.iter().map(|item| item.id() + "\n").collect(),
    };
    output::print(&text)
}

/// How tables look on the standard output there is.
pub fn look(environment: &Environment) -> TableStyle {
    let is_terminal = io::stdout().is_terminal();
    let size = rustix::termios::tcgetwinsize(io::stdout())
        .ok()
        .filter(|_| is_terminal);
    let width = size
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0);
    TableStyle {
        width,
        colours: environment.colours(is_terminal),
    }
}
