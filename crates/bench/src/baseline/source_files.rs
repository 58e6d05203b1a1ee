//! Small source files for Read, and the minimal code that makes a tool result from one.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;

/// Number of files, more than any run reads: reading one again brings nothing new, and a run that gets nothing new is
/// ended.
pub const COUNT: usize = 128;

/// A directory with files of some forty lines.
#[derive(Clone)]
pub struct SourceFiles(PathBuf);

impl SourceFiles {
    /// Writes the files.
    pub fn create(directory: &Path) -> Result<Self> {
        for index in 0..COUNT {
            let lines = (0..40)
                .map(|line| format!("let value_{index}_{line} = compute({line}, \"{index}\");\n"));
            fs::write(directory.join(Self::name(index)), lines.collect::<String>())?;
        }
        Ok(Self::in_directory(directory))
    }

    /// Files that were written there before.
    pub fn in_directory(directory: &Path) -> Self {
        Self(directory.to_owned())
    }

    /// The name of a file.
    pub fn name(index: usize) -> String {
        format!("file{}.rs", index % COUNT)
    }

    /// One file with its lines numbered, as a model reads it.
    pub fn numbered(&self, index: usize) -> Result<String> {
        let text = fs::read_to_string(self.0.join(Self::name(index)))?;
        let mut numbered = String::with_capacity(text.len() * 2);
        for (number, line) in text.lines().enumerate() {
            writeln!(numbered, "{:>6}→{line}", number + 1)?;
        }
        Ok(numbered)
    }
}

/// The conversation of the baseline loop: calls and results.
#[derive(Default)]
pub struct BaselineConversation(Vec<String>);

impl BaselineConversation {
    /// One turn: a reply that calls Read, and the file.
    pub fn turn(&mut self, files: &SourceFiles, index: usize) -> Result<&str> {
        self.0.push(format!(
            r#"{{"tool":"Read","input":{{"file_path":"{}"}}}}"#,
            SourceFiles::name(index)
        ));
        self.0.push(files.numbered(index)?);
        Ok(self.0.last().map_or("", String::as_str))
    }
}
