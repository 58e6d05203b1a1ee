//! Startup cost of many agent files, beside only reading their bytes.

use std::{fs, path::Path};

use anyhow::{Result, ensure};
use rooftree_runtime::definitions::{DefinitionLibrary, ProjectTrust, SearchDirs};
use tempfile::TempDir;

use crate::{
    compare::compare,
    machine,
    options::BenchOptions,
    program_dir::ProgramDir,
    row::{BenchRow, FigureTarget},
};

pub(super) fn measure(_: &ProgramDir, options: &BenchOptions) -> Result<Vec<BenchRow>> {
    let count = options.amount(500, 100);
    let work = TempDir::new()?;
    let directory = work.path().join(".rooftree/agents");
    fs::create_dir_all(&directory)?;
    for number in 0..count {
        fs::write(directory.join(format!("agent-{number}.md")), text(number))?;
    }
    let places = SearchDirs::around(work.path(), None, None).trusted(ProjectTrust::Given);
    let library = DefinitionLibrary {
        places,
        ..DefinitionLibrary::default()
    };
    let pair = compare(
        options.rounds,
        || machine::seconds(|| read_all(&directory)),
        || {
            machine::seconds(|| {
                let loaded = library.load();
                ensure!(
                    loaded.definitions.len() == count,
                    "{:?}",
                    loaded.diagnostics.first()
                );
                Ok(())
            })
        },
    )?;
    Ok(vec![BenchRow::time(
        format!("definitions: {count} files"),
        pair,
        FigureTarget::AtMost(0.1),
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
