//! Manual pages in roff: one page of all commands, or one file per command in a directory.

use std::{fs, path::PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;
use rooftree_protocol::{ErrorCode, Problem};

use crate::{
    environment::Environment, exit::Exit, human_format::place, output, terminal::run_text::counted,
};

/// Options of `man`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Write a page per command into this directory instead, for example ~/.local/share/man/man1
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Prints the page of the program, or writes all pages.
pub fn execute(
    arguments: &Arguments,
    mut tree: Command,
    environment: &Environment,
) -> Result<Exit, Problem> {
    tree.build();
    let Some(directory) = &arguments.dir else {
        output::print(&roff(tree)?)?;
        return Ok(Exit::DONE);
    };
    let directory = environment.cwd.join(directory);
    let mut pages = Vec::new();
    collect(tree, "", &mut pages);
    let failed = |error: std::io::Error| {
        Problem::new(
            ErrorCode::InvalidArguments,
            format!("cannot write manual pages to {}", place(&directory)),
        )
        .cause(error.to_string())
        .fix("name a directory that you may write to")
    };
    fs::create_dir_all(&directory).map_err(failed)?;
    let count = pages.len() as u64;
    for (name, command) in pages {
        let file = directory.join(format!("{name}.1"));
        fs::write(file, roff(command)?).map_err(failed)?;
    }
    let told = format!("{} in {}", counted(count, "page"), place(&directory));
    output::print_note(environment, &told);
    Ok(Exit::DONE)
}

/// The command and all below it that people type, each under its whole name: `rooftree-sessions-list`.
fn collect(command: Command, above: &str, pages: &mut Vec<(String, Command)>) {
    let name = match above {
        "" => command.get_name().to_owned(),
        above => format!("{above}-{}", command.get_name()),
    };
    let below: Vec<Command> = command.get_subcommands().cloned().collect();
    pages.push((name.clone(), command.name(name.clone())));
    for sub in below {
        if !sub.is_hide_set() && sub.get_name() != "help" {
            collect(sub, &name, pages);
        }
    }
}

fn roff(command: Command) -> Result<String, Problem> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page).map_err(|error| {
        Problem::new(ErrorCode::Internal, "cannot write a manual page").cause(error.to_string())
    })?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
