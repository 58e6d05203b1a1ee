//! What one place says about settings, and whose word it is.

use std::path::PathBuf;

use rooftree_protocol::{ErrorCode, Problem};
use toml::Table;

use super::{Settings, read};

/// Whose word it is, which decides what it can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// For everybody on this machine.
    System,
    User,
    /// It may only narrow.
    Project,
    /// On the command line.
    Typed,
    /// Nothing goes before it.
    Managed,
}

/// What one place says.
#[derive(Clone, Debug)]
pub struct Layer {
    pub standing: Standing,
    /// The file, or what stands for one.
    pub path: PathBuf,
    pub table: Table,
    /// As it is written.
    pub text: String,
}

impl Layer {
    /// Reads a file; none if there is none.
    pub(super) fn read(standing: Standing, path: PathBuf) -> Result<Option<Self>, Problem> {
        let file = read::file(&path)?;
        Ok(file.map(|(text, table)| Self { standing, path, table, text }))
    }

    /// What it says, understood.
    pub fn settings(&self) -> Result<Settings, Problem> {
        let read = read::table(&self.table, &self.text, &self.path);
        match self.standing {
            // A wrong setting that was typed is a wrong argument.
            Standing::Typed => read.map_err(|wrong| Problem { code: ErrorCode::InvalidArguments, ..wrong }),
            _ => read,
        }
    }
}

impl Standing {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::System => "machine",
            Self::User => "user",
            Self::Project => "project",
            Self::Typed => "typed",
            Self::Managed => "pinned",
        }
    }
}
