//! One settings layer: the parsed content of one file or of the command line, and its origin.

use std::path::PathBuf;

use rooftree_protocol::{ErrorCode, Problem};
use toml::Table;

use super::{Settings, parse_file};

/// The origin of a layer, which decides its precedence and what it may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerOrigin {
    /// For all users of this machine.
    System,
    User,
    /// It may only narrow permissions.
    Project,
    /// On the command line.
    Typed,
    /// Pinned by the administrator: nothing overrides it.
    Managed,
}

/// One layer of settings.
#[derive(Clone, Debug)]
pub struct SettingsLayer {
    pub origin: LayerOrigin,
    /// The file, or what stands for one.
    pub path: PathBuf,
    pub table: Table,
    /// As it is written.
    pub text: String,
}

impl SettingsLayer {
    /// Reads a file; none if there is none.
    pub(super) fn read(origin: LayerOrigin, path: PathBuf) -> Result<Option<Self>, Problem> {
        let file = parse_file::file(&path)?;
        Ok(file.map(|(text, table)| Self {
            origin,
            path,
            table,
            text,
        }))
    }

    /// Parses and validates it.
    pub fn settings(&self) -> Result<Settings, Problem> {
        let read = parse_file::table(&self.table, &self.text, &self.path);
        match self.origin {
            // A wrong setting that was typed is a wrong argument.
            LayerOrigin::Typed => read.map_err(|wrong| Problem {
                code: ErrorCode::InvalidArguments,
                ..wrong
            }),
            _ => read,
        }
    }
}

impl LayerOrigin {
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
