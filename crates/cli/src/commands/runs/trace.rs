//! Draws a timeline of a run and the runs below it: work, waits, failures. From the journals alone.

mod text;

use std::{fs, path::PathBuf};

use clap::Args;
use rooftree_protocol::{ErrorCode, Problem};
use rooftree_view::trace;

use self::text::TraceSymbols;
use super::find;
use crate::{
    environment::Environment,
    exit::Exit,
    listing::{self, PageOutput},
    output,
};

/// Default width in columns if the terminal's is unknown.
const USUAL_WIDTH: usize = 100;

/// Options of `runs trace`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Which run: its id, or the last 4 or more characters of it
    #[arg(value_name = "ID")]
    run: String,
    /// Draw with plain letters only
    #[arg(long, conflicts_with = "svg")]
    ascii: bool,
    /// Write a picture to this file; `-` prints it
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    output: PageOutput,
}

/// Draws it.
pub async fn execute(arguments: Arguments, environment: &Environment) -> Result<Exit, Problem> {
    let client = find::reader(environment)?;
    let run = find::run(&*client, &arguments.run).await?.run;
    let spans = client.run_spans(&run).await?;
    if arguments.output.is_json() {
        output::print(&output::json_page(&spans)?)?;
        return Ok(Exit::DONE);
    }
    let picture = trace::lay_out(&spans);
    match &arguments.svg {
        Some(file) if file.as_os_str() == "-" => output::print(&trace::draw_svg(&picture))?,
        Some(file) => {
            let path = environment.cwd.join(file);
            fs::write(&path, trace::draw_svg(&picture)).map_err(|error| {
                Problem::new(
                    ErrorCode::InvalidArguments,
                    format!("cannot write {}", path.display()),
                )
                .cause(error.to_string())
            })?;
            output::print_note(environment, &format!("written to {}", file.display()));
        }
        None => {
            let look = listing::look(environment);
            let signs = if arguments.ascii {
                TraceSymbols::ASCII
            } else {
                TraceSymbols::BLOCKS
            };
            output::print(&text::draw(
                &picture,
                look.width.unwrap_or(USUAL_WIDTH),
                &signs,
            ))?;
        }
    }
    Ok(Exit::DONE)
}
