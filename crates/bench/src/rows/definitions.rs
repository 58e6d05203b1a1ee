//! What many agent files cost whoever starts the program, beside only reading their bytes.

use std::{fs, path::Path};

use anyhow::{Result, ensure};
use rooftree_runtime::definitions::{Library, Places, Trust};
use tempfile::TempDir;

use crate::{
    contest::contest,
    machine,
    options::Options,
    place::Place,
    row::{Row, Target},
};

pub(super) fn measure(_: &Place, options: &Options) -> Result<Vec<Row>> {
    let count = options.amount(500, 100);
    let work = TempDir::new()?;
    let directory = work.path().join(".rooftree/agents");
    fs::create_dir_all(&directory)?;
    for number in 0..count {
        fs::write(directory.join(format!("agent-{number}.md")), text(number))?;
    }
    let places = Places::around(work.path(), None, None).trusted(Trust::Given);
    let library = Library { places, ..Library::default() };
    let pair = contest(
        options.rounds,
        || machine::seconds(|| read_all(&directory)),
        || {
            machine::seconds(|| {
                let loaded = library.load();
                ensure!(loaded.definitions.len() == count, "{:?}", loaded.diagnostics.first());
                Ok(())
            })
        },
    )?;
    Ok(vec![Row::time(
        format!("definitions: {count} files"),
        pair,
        Target::AtMost(0.1),
        "reading the bytes alone",
    )])
}

fn text(number: usize) -> String {
    format!(
        "---\ndescription: Agent {number} looks after part {number} of the system\ntools: ['*']\nmax_turns: 20\n\
         rules: [style, tests]\ncolor: blue\n---\nYou look after part {number}.\n\n{}\n\
         # Examples\n\n## Example 1\nUser: What is new?\nAgent: Nothing.\n",
        "- Read before you write, and say what you found.\n".repeat(20)
    )
}

fn read_all(directory: &Path) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        ensure!(!fs::read(entry?.path())?.is_empty(), "an empty file");
    }
    Ok(())
}
