//! A definition as it stands in its file: fields with their places, not understood yet.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rooftree_protocol::{Dialect, Example, Source};

use super::{
    diagnostic::{Complaints, Diagnostic},
    fields::{Field, field},
    markdown,
    names::is_name,
    tree::{Broken, Entry, Node, Place, Value, table, yaml},
};

/// A definition that was read and not yet understood.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) fields: Vec<Entry>,
    /// What stands below the frontmatter.
    pub(super) prompt: String,
    pub(super) examples: Vec<Example>,
    pub(super) source: Source,
    pub(super) path: PathBuf,
    pub(super) text: Arc<str>,
    /// What complaints about it begin with: `agents[2]`.
    pub(super) place: String,
    pub(super) complaints: Vec<Diagnostic>,
}

/// How a document with one or more definitions is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// JSON; YAML is understood as well.
    Json,
    /// TOML.
    Toml,
}

/// What was read from one file.
#[derive(Debug, Default)]
pub(super) struct Drafts {
    pub(super) drafts: Vec<Draft>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Drafts {
    pub(super) fn add(&mut self, more: Self) {
        self.drafts.extend(more.drafts);
        self.diagnostics.extend(more.diagnostics);
    }

    pub(super) fn refused(complaints: Complaints<'_>) -> Self {
        Self { drafts: Vec::new(), diagnostics: complaints.list }
    }
}

/// Reads a Markdown file.
pub(super) fn markdown(text: &str, path: &Path, source: &Source) -> Drafts {
    let mut complaints = Complaints::about(path, text);
    let parts = markdown::split(text);
    if parts.is_open {
        let at = Some(Place { line: 1, column: 1, length: 3 });
        complaints.error("E0311", at, "the frontmatter is not closed".into(), "end it with a line `---`");
        return Drafts::refused(complaints);
    }
    let front = match front(parts.front.unwrap_or_default(), source.dialect, &mut complaints) {
        Ok(front) => front,
        Err(broken) => {
            complaints.error(
                "E0311",
                Some(broken.at),
                format!("cannot read the frontmatter: {}", broken.what),
                "",
            );
            return Drafts::refused(complaints);
        }
    };
    let Value::Map(fields) = front.value else {
        complaints.error(
            "E0311",
            Some(front.at),
            "the frontmatter is not a map of fields".into(),
            "write `field: value`",
        );
        return Drafts::refused(complaints);
    };
    let (prompt, examples) = markdown::examples(parts.body);
    let Some(name) = file_name(path, &fields, source.dialect, &mut complaints) else {
        return Drafts::refused(complaints);
    };
    let draft = Draft {
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
    Drafts { drafts: vec![draft], diagnostics: Vec::new() }
}

/// Files for other programs often hold values with colons in them that those forgive.
fn front(text: &str, dialect: Dialect, complaints: &mut Complaints<'_>) -> Result<Node, Broken> {
    let broken = match yaml::read(text, 2) {
        Ok(node) => return Ok(node),
        Err(broken) if dialect == Dialect::Rooftree => return Err(broken),
        Err(broken) => broken,
    };
    let node = yaml::read(&quoted(text), 2).map_err(|_| broken.clone())?;
    let what = format!("the frontmatter is not quite YAML: {}", broken.what);
    complaints.warning("W0116", Some(broken.at), what, "it was understood; put such values into quotes");
    Ok(node)
}

/// The same with every plain value on a line of its own in quotes.
fn quoted(text: &str) -> String {
    let quote = |line: &str| {
        let (key, value) = line.split_once(": ")?;
        let is_key = !key.is_empty()
            && key.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'));
        let is_plain = !value.trim_start().starts_with(['"', '\'', '[', '{', '|', '>', '&', '*']);
        let value = value.trim().replace('\\', "\\\\").replace('"', "\\\"").replace("\\\\n", "\\n");
        (is_key && is_plain && value.contains([':', '#'])).then(|| format!("{key}: \"{value}\""))
    };
    text.lines().map(|line| quote(line).unwrap_or_else(|| line.to_owned()) + "\n").collect()
}

/// The file's stem is the name; those in the manner of Claude say it themselves.
fn file_name(
    path: &Path,
    fields: &[Entry],
    dialect: Dialect,
    complaints: &mut Complaints<'_>,
) -> Option<String> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = stem.strip_suffix(".agent").unwrap_or(&stem).to_owned();
    let said = fields.iter().find(|entry| field(&entry.key) == Some(Field::Name));
    let (name, at) = match said.and_then(|entry| Some((entry.node.text()?.to_owned(), entry.node.at))) {
        Some((name, at)) if dialect == Dialect::Fourmis => (name, Some(at)),
        Some((name, at)) if !name.eq_ignore_ascii_case(&stem) => {
            let what = format!("the file is called `{stem}`, so the agent is, too, and not `{name}`");
            complaints.warning("W0106", Some(at), what, "rename the file, or remove `name`");
            (stem, None)
        }
        _ => (stem, None),
    };
    checked(name, at, complaints)
}

fn checked(name: String, at: Option<Place>, complaints: &mut Complaints<'_>) -> Option<String> {
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
        complaints.error("E0315", at, format!("`{name}` cannot be the name of an agent"), help);
        return None;
    }
    Some(name)
}

/// Reads one definition from a JSON file. What has no prompt is something else and is passed over.
pub(super) fn json_file(text: &str, path: &Path, source: &Source) -> Drafts {
    let mut complaints = Complaints::about(path, text);
    let node = match yaml::read(text, 1) {
        Ok(node) => node,
        Err(broken) => {
            complaints.error("E0311", Some(broken.at), format!("cannot read it: {}", broken.what), "");
            return Drafts::refused(complaints);
        }
    };
    let Value::Map(fields) = node.value else { return Drafts::default() };
    let has_prompt = fields.iter().any(|entry| field(&entry.key) == Some(Field::Prompt));
    let is_default = path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case("default"));
    if !has_prompt || is_default {
        return Drafts::default();
    }
    let Some(name) = file_name(path, &fields, source.dialect, &mut complaints) else {
        return Drafts::refused(complaints);
    };
    let draft = Draft { complaints: complaints.list, ..Draft::bare(name, fields, source, path, text) };
    Drafts { drafts: vec![draft], diagnostics: Vec::new() }
}

/// Reads a document with many definitions: a list, a map of them by name, or either below `agents`.
pub(super) fn document(text: &str, syntax: Syntax, path: &Path, source: &Source) -> Drafts {
    let mut complaints = Complaints::about(path, text);
    let read = match syntax {
        Syntax::Json => yaml::read(text, 1),
        Syntax::Toml => table::read(text),
    };
    let node = match read {
        Ok(node) => node,
        Err(broken) => {
            complaints.error("E0311", Some(broken.at), format!("cannot read it: {}", broken.what), "");
            return Drafts::refused(complaints);
        }
    };
    // opencode.json holds them below `agent`, beside much that is not about agents.
    let is_opencode = path.file_stem().is_some_and(|stem| stem == "opencode");
    let key = if is_opencode { "agent" } else { "agents" };
    let inner = node.entries().and_then(|entries| entries.iter().find(|entry| entry.key == key));
    if is_opencode && inner.is_none() {
        return Drafts::default();
    }
    let node = inner.map_or(&node, |entry| &entry.node);
    let mut drafts = Vec::new();
    match &node.value {
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                drafts.extend(listed(index, item, &mut complaints).map(|(name, fields)| {
                    let place = format!("agents[{index}] ({name})");
                    Draft { place, ..Draft::bare(name, fields, source, path, text) }
                }));
            }
        }
        Value::Map(entries) => {
            for entry in entries {
                drafts.extend(mapped(entry, &mut complaints).map(|(name, fields)| {
                    let place = format!("agents.{name}");
                    Draft { place, ..Draft::bare(name, fields, source, path, text) }
                }));
            }
        }
        Value::Text { .. } => {
            complaints.error("E0314", Some(node.at), "`agents` must be a list or a map".into(), "");
        }
    }
    Drafts { drafts, diagnostics: complaints.list }
}

fn listed(index: usize, item: &Node, complaints: &mut Complaints<'_>) -> Option<(String, Vec<Entry>)> {
    let said = item
        .entries()
        .and_then(|entries| entries.iter().find(|entry| field(&entry.key) == Some(Field::Name)));
    let Some((name, at)) = said.and_then(|entry| Some((entry.node.text()?.to_owned(), entry.node.at))) else {
        let help = "write agentId, or name";
        complaints.error("E0316", Some(item.at), format!("agents[{index}] has no name"), help);
        return None;
    };
    Some((checked(name, Some(at), complaints)?, item.entries()?.to_vec()))
}

fn mapped(entry: &Entry, complaints: &mut Complaints<'_>) -> Option<(String, Vec<Entry>)> {
    let Some(fields) = entry.node.entries() else {
        complaints.error(
            "E0314",
            Some(entry.node.at),
            format!("agents.{} must be a map of fields", entry.key),
            "",
        );
        return None;
    };
    Some((checked(entry.key.clone(), Some(entry.at), complaints)?, fields.to_vec()))
}

impl Draft {
    pub(super) fn bare(name: String, fields: Vec<Entry>, source: &Source, path: &Path, text: &str) -> Self {
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

    /// What it is built on, and where that is said.
    pub(super) fn extends(&self) -> Option<(&str, Place)> {
        let entry = self.fields.iter().find(|entry| field(&entry.key) == Some(Field::Extends))?;
        Some((entry.node.text()?, entry.node.at))
    }
}
