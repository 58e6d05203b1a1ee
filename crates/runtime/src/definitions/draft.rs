//! Parsed but not yet validated definition: the fields of its file with their locations.

mod document;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rooftree_protocol::{AgentDialect, DefinitionSource, Example};

use super::{
    diagnostic::{Diagnostic, FileDiagnostics},
    fields::{DefinitionField, field},
    markdown,
    names::is_name,
    syntax_tree::{SourceSpan, SyntaxEntry, SyntaxError, SyntaxNode, SyntaxValue, yaml},
};
pub(super) use document::document;

/// A definition that was read and not yet understood.
#[derive(Clone, Debug)]
pub(super) struct DefinitionDraft {
    pub(super) name: String,
    pub(super) fields: Vec<SyntaxEntry>,
    /// What stands below the frontmatter.
    pub(super) prompt: String,
    pub(super) examples: Vec<Example>,
    pub(super) source: DefinitionSource,
    pub(super) path: PathBuf,
    pub(super) text: Arc<str>,
    /// What complaints about it begin with: `agents[2]`.
    pub(super) place: String,
    pub(super) complaints: Vec<Diagnostic>,
}

/// Syntax of a document with one or more definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentSyntax {
    /// JSON; YAML is understood as well.
    Json,
    /// TOML.
    Toml,
}

/// Drafts and diagnostics of one file.
#[derive(Debug, Default)]
pub(super) struct FileDrafts {
    pub(super) drafts: Vec<DefinitionDraft>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl FileDrafts {
    pub(super) fn add(&mut self, more: Self) {
        self.drafts.extend(more.drafts);
        self.diagnostics.extend(more.diagnostics);
    }

    pub(super) fn refused(complaints: FileDiagnostics<'_>) -> Self {
        Self {
            drafts: Vec::new(),
            diagnostics: complaints.list,
        }
    }
}

/// Reads a Markdown file.
pub(super) fn markdown(text: &str, path: &Path, source: &DefinitionSource) -> FileDrafts {
    let mut complaints = FileDiagnostics::about(path, text);
    let parts = markdown::split(text);
    if parts.is_open {
        let at = Some(SourceSpan {
            line: 1,
            column: 1,
            length: 3,
        });
        complaints.error(
            "E0311",
            at,
            "the frontmatter is not closed".into(),
            "end it with a line `---`",
        );
        return FileDrafts::refused(complaints);
    }
    let front = match front(
        parts.front.unwrap_or_default(),
        source.dialect,
        &mut complaints,
    ) {
        Ok(front) => front,
        Err(broken) => {
            complaints.error(
                "E0311",
                Some(broken.at),
                format!("cannot read the frontmatter: {}", broken.what),
                "",
            );
            return FileDrafts::refused(complaints);
        }
    };
    let SyntaxValue::Map(fields) = front.value else {
        complaints.error(
            "E0311",
            Some(front.at),
            "the frontmatter is not a map of fields".into(),
            "write `field: value`",
        );
        return FileDrafts::refused(complaints);
    };
    let (prompt, examples) = markdown::examples(parts.body);
    let unanswered = markdown::unanswered(parts.body);
    if unanswered > 0 {
        let what = format!("{unanswered} `User:` below `# Examples` without an `Agent:`");
        let help = "write how the agent should answer, or remove it; it is no example";
        complaints.warning("W0129", None, what, help);
    }
    let Some(name) = file_name(path, &fields, source.dialect, &mut complaints) else {
        return FileDrafts::refused(complaints);
    };
    let draft = DefinitionDraft {
        name,
        fields,
        prompt,
        examples,
        source: source.clone(),
        path: path.to_owned(),
        text: text.into(),
        place: String::new(),
        complaints: complaints.list,
    };
    FileDrafts {
        drafts: vec![draft],
        diagnostics: Vec::new(),
    }
}

/// Files for other programs often hold values with colons in them that those forgive.
fn front(
    text: &str,
    dialect: AgentDialect,
    complaints: &mut FileDiagnostics<'_>,
) -> Result<SyntaxNode, SyntaxError> {
    let broken = match yaml::read(text, 2) {
        Ok(node) => return Ok(node),
        Err(broken) if dialect == AgentDialect::Rooftree => return Err(broken),
        Err(broken) => broken,
    };
    let node = yaml::read(&quoted(text), 2).map_err(|_| broken.clone())?;
    let what = format!("the frontmatter is not quite YAML: {}", broken.what);
    complaints.warning(
        "W0116",
        Some(broken.at),
        what,
        "it was understood; put such values into quotes",
    );
    Ok(node)
}

/// The same with every plain value on a line of its own in quotes.
fn quoted(text: &str) -> String {
    let quote = |line: &str| {
        let (key, value) = line.split_once(": ")?;
        let is_key = !key.is_empty()
            && key
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'));
        let is_plain = !value
            .trim_start()
            .starts_with(['"', '\'', '[', '{', '|', '>', '&', '*']);
        let value = value
            .trim()
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace("\\\\n", "\\n");
        (is_key && is_plain && value.contains([':', '#'])).then(|| format!("{key}: \"{value}\""))
    };
    text.lines()
        .map(|line| quote(line).unwrap_or_else(|| line.to_owned()) + "\n")
        .collect()
}

/// The file's stem is the name; those in the manner of Claude say it themselves.
fn file_name(
    path: &Path,
    fields: &[SyntaxEntry],
    dialect: AgentDialect,
    complaints: &mut FileDiagnostics<'_>,
) -> Option<String> {
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    let stem = stem.strip_suffix(".agent").unwrap_or(&stem).to_owned();
    let said = fields
        .iter()
        .find(|entry| field(&entry.key) == Some(DefinitionField::Name));
    let (name, at) =
        match said.and_then(|entry| Some((entry.node.text()?.to_owned(), entry.node.at))) {
            Some((name, at)) if dialect == AgentDialect::Fourmis => (name, Some(at)),
            Some((name, at)) if !name.eq_ignore_ascii_case(&stem) => {
                let what =
                    format!("the file is called `{stem}`, so the agent is, too, and not `{name}`");
                complaints.warning("W0106", Some(at), what, "rename the file, or remove `name`");
                (stem, None)
            }
            _ => (stem, None),
        };
    checked(name, at, complaints)
}

fn checked(
    name: String,
    at: Option<SourceSpan>,
    complaints: &mut FileDiagnostics<'_>,
) -> Option<String> {
    if name.eq_ignore_ascii_case("default") {
        complaints.error(
            "E0315",
            at,
            "`default` always means `lead`".into(),
            "call it otherwise, or `lead` to replace that one",
        );
        return None;
    }
    if !is_name(&name) {
        let help = "letters, digits, `-` and `_`, beginning with a letter or digit, 64 at most";
        complaints.error(
            "E0315",
            at,
            format!("`{name}` cannot be the name of an agent"),
            help,
        );
        return None;
    }
    Some(name)
}

/// Reads one definition from a JSON file. What has no prompt is something else and is passed over.
pub(super) fn json_file(text: &str, path: &Path, source: &DefinitionSource) -> FileDrafts {
    let mut complaints = FileDiagnostics::about(path, text);
    let node = match yaml::read(text, 1) {
        Ok(node) => node,
        Err(broken) => {
            complaints.error(
                "E0311",
                Some(broken.at),
                format!("cannot read it: {}", broken.what),
                "",
            );
            return FileDrafts::refused(complaints);
        }
    };
    let SyntaxValue::Map(fields) = node.value else {
        return FileDrafts::default();
    };
    let has_prompt = fields
        .iter()
        .any(|entry| field(&entry.key) == Some(DefinitionField::Prompt));
    let is_default = path
        .file_stem()
        .is_some_and(|stem| stem.eq_ignore_ascii_case("default"));
    if !has_prompt || is_default {
        return FileDrafts::default();
    }
    let Some(name) = file_name(path, &fields, source.dialect, &mut complaints) else {
        return FileDrafts::refused(complaints);
    };
    let draft = DefinitionDraft {
        complaints: complaints.list,
        ..DefinitionDraft::bare(name, fields, source, path, text)
    };
    FileDrafts {
        drafts: vec![draft],
        diagnostics: Vec::new(),
    }
}

impl DefinitionDraft {
    pub(super) fn bare(
        name: String,
        fields: Vec<SyntaxEntry>,
        source: &DefinitionSource,
        path: &Path,
        text: &str,
    ) -> Self {
        Self {
            name,
            fields,
            prompt: String::new(),
            examples: Vec::new(),
            source: source.clone(),
            path: path.to_owned(),
            text: text.into(),
            place: String::new(),
            complaints: Vec::new(),
        }
    }

    /// The name of the definition it extends, with its location.
    pub(super) fn extends(&self) -> Option<(&str, SourceSpan)> {
        let entry = self
            .fields
            .iter()
            .find(|entry| field(&entry.key) == Some(DefinitionField::Extends))?;
        Some((entry.node.text()?, entry.node.at))
    }
}
