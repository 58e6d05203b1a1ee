//! Imports a recipe of goose: instructions, a first prompt, extensions, a model, parameters.

use std::{fmt::Write, fs, path::Path};

use rooftree_protocol::AgentDialect;

use super::{field, left_out, list, map, named, renamed, source, text};
use crate::definitions::{
    diagnostic::FileDiagnostics,
    draft::{DefinitionDraft, FileDrafts},
    syntax_tree::{SourceSpan, SyntaxEntry, SyntaxNode, SyntaxValue, yaml},
};

/// Built-in extensions of goose, and our tools that do the same.
const BUILT_IN: [(&str, &[&str]); 4] = [
    (
        "developer",
        &[
            "Bash",
            "BashOutput",
            "TaskStop",
            "Read",
            "Write",
            "Edit",
            "List",
            "Glob",
            "Grep",
        ],
    ),
    ("todo", &["TodoWrite"]),
    ("skills", &["Skill", "ListSkills"]),
    ("summon", &["Task", "TaskOutput", "TaskList", "ListAgents"]),
];

/// Reads one recipe. A file that is none is passed over.
pub(super) fn recipe(path: &Path) -> FileDrafts {
    let read = match fs::read_to_string(path) {
        Ok(read) => read,
        Err(error) => {
            let mut complaints = FileDiagnostics::about(path, "");
            complaints.error("E0310", None, format!("cannot read it: {error}"), "");
            return FileDrafts::refused(complaints);
        }
    };
    let mut complaints = FileDiagnostics::about(path, &read);
    let node = match yaml::read(&read, 1) {
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
    let outer = node.entries().unwrap_or_default();
    // goose's desktop wraps a recipe into what it knows about it.
    let inner = outer
        .iter()
        .find(|entry| entry.key == "recipe")
        .and_then(|entry| entry.node.entries());
    let fields = inner.unwrap_or(outer);
    if text(fields, "instructions").is_none() && text(fields, "prompt").is_none() {
        return FileDrafts::default();
    }
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    let title = text(fields, "title").or_else(|| text(outer, "name"));
    let name = if stem == "recipe" {
        title.and_then(named)
    } else {
        named(&stem)
    };
    let Some(name) = name else {
        complaints.error(
            "E0315",
            None,
            format!("`{stem}` cannot be the name of an agent"),
            "rename the file",
        );
        return FileDrafts::refused(complaints);
    };
    let mut taking = RecipeImport {
        fields: Vec::new(),
        tools: None,
        servers: Vec::new(),
        more: String::new(),
        complaints,
    };
    fields.iter().for_each(|entry| taking.entry(entry, fields));
    let source = source(path, AgentDialect::Rooftree);
    let draft = DefinitionDraft {
        ..DefinitionDraft::bare(name, Vec::new(), &source, path, &read)
    };
    FileDrafts {
        drafts: vec![taking.draft(draft)],
        diagnostics: Vec::new(),
    }
}

struct RecipeImport<'a> {
    fields: Vec<SyntaxEntry>,
    /// Tools the extensions stand for; all if it names none.
    tools: Option<(Vec<String>, SourceSpan)>,
    servers: Vec<SyntaxEntry>,
    /// What is said below the instructions.
    more: String,
    complaints: FileDiagnostics<'a>,
}

impl RecipeImport<'_> {
    fn entry(&mut self, entry: &SyntaxEntry, all: &[SyntaxEntry]) {
        if entry.node.is_nothing() {
            return;
        }
        match entry.key.as_str() {
            "title" => self.fields.push(renamed("display_name", entry)),
            "instructions" => self.template("prompt", entry, all),
            "prompt" => self.template("initial_prompt", entry, all),
            "extensions" => self.extensions(entry),
            "settings" => self.settings(entry),
            "parameters" => self.parameters(entry),
            "response" => self.response(entry),
            "sub_recipes" => self.sub_recipes(entry),
            "retry" => {
                let help = "write its checks as verifiers: {\"name\": {\"command\": \"…\"}} in .rooftree/verifiers.json, \
                            and verifiers: [name] into the agent";
                left_out(&mut self.complaints, entry, help);
            }
            "context" => left_out(
                &mut self.complaints,
                entry,
                "write it into the instructions",
            ),
            // For the people who choose a recipe.
            "activities" | "version" | "author" => {}
            _ => self.fields.push(entry.clone()),
        }
    }

    /// A text with its parameters filled in, where they have defaults.
    fn template(&mut self, key: &str, entry: &SyntaxEntry, all: &[SyntaxEntry]) {
        let Some(written) = entry.node.text() else {
            return self.fields.push(renamed(key, entry));
        };
        let mut filled = written.to_owned();
        for parameter in parameters(all) {
            if let (Some(name), Some(default)) =
                (text(parameter, "key"), text(parameter, "default"))
            {
                for spelled in [format!("{{{{ {name} }}}}"), format!("{{{{{name}}}}}")] {
                    filled = filled.replace(&spelled, default);
                }
            }
        }
        if filled.contains("{%") || filled.contains("{{") {
            let what = format!("`{}` has places that are not filled in", entry.key);
            let help = "they stay as they are; say their values when you talk to the agent, or write them in";
            self.complaints.warning("W0120", Some(entry.at), what, help);
        }
        self.fields.push(field(key, filled, entry.node.at));
    }

    fn parameters(&mut self, entry: &SyntaxEntry) {
        let SyntaxValue::List(items) = &entry.node.value else {
            return left_out(&mut self.complaints, entry, "");
        };
        let mut told = String::new();
        for parameter in items.iter().filter_map(SyntaxNode::entries) {
            let name = text(parameter, "key").unwrap_or_default();
            let about = text(parameter, "description").unwrap_or_default();
            let _ = match text(parameter, "default") {
                Some(default) => write!(told, "\n- {name}: {about} Usually: {default}"),
                None => write!(told, "\n- {name}: {about} Ask for it if it is not said."),
            };
        }
        if !told.is_empty() {
            let _ = write!(self.more, "\n\nWhat you may be told with a task:\n{told}");
        }
    }

    fn extensions(&mut self, entry: &SyntaxEntry) {
        let SyntaxValue::List(items) = &entry.node.value else {
            return self.fields.push(entry.clone());
        };
        self.tools.get_or_insert_with(|| (Vec::new(), entry.at));
        for item in items {
            match (item.entries(), item.text()) {
                (Some(extension), _) => self.extension(extension, item.at),
                (None, Some(name)) => self.built_in(name, item.at),
                (None, None) => left_out(
                    &mut self.complaints,
                    entry,
                    "an extension is a name or a map",
                ),
            }
        }
    }

    fn extension(&mut self, extension: &[SyntaxEntry], at: SourceSpan) {
        let name = text(extension, "name").unwrap_or_default();
        match text(extension, "type").unwrap_or("builtin") {
            "builtin" | "platform" => self.built_in(name, at),
            "stdio" | "streamable_http" => self.server(name, extension, at),
            kind => {
                let what = format!("extension `{name}` of the kind `{kind}` is not taken over");
                let help = "a server over stdio or streamable HTTP with the same tools can be set up with rooftree mcp add";
                self.complaints.warning("W0120", Some(at), what, help);
            }
        }
    }

    fn built_in(&mut self, name: &str, at: SourceSpan) {
        if name == "memory" {
            return self.fields.push(field("memory", "user", at));
        }
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((_, tools)) => self.may_use(tools.iter().map(|tool| (*tool).to_owned())),
            None => {
                let what = format!("extension `{name}`, which comes with goose, is not taken over");
                let help =
                    "rooftree tools list shows what there is; rooftree mcp add sets up a server";
                self.complaints.warning("W0120", Some(at), what, help);
            }
        }
    }

    fn may_use(&mut self, names: impl IntoIterator<Item = String>) {
        if let Some((tools, _)) = &mut self.tools {
            tools.extend(names);
        }
    }

    fn server(&mut self, name: &str, extension: &[SyntaxEntry], at: SourceSpan) {
        let name = named(name).unwrap_or_else(|| "server".into());
        let (mut server, mut env) = (Vec::new(), Vec::new());
        let mut only = None;
        for entry in extension.iter().filter(|entry| !entry.node.is_nothing()) {
            match entry.key.as_str() {
                "cmd" => server.push(renamed("command", entry)),
                "uri" => server.push(renamed("url", entry)),
                "args" | "timeout" | "headers" => server.push(entry.clone()),
                "envs" => env.extend(entry.node.entries().unwrap_or_default().iter().cloned()),
                "env_keys" => env.extend(
                    words(&entry.node).map(|key| field(&key, format!("${{{key}}}"), entry.at)),
                ),
                "available_tools" => only = Some(words(&entry.node).collect::<Vec<_>>()),
                "type" | "name" | "display_name" | "description" | "bundled" => {}
                _ => left_out(
                    &mut self.complaints,
                    entry,
                    "the server is set up without it",
                ),
            }
        }
        if !env.is_empty() {
            server.push(map("env", env, at));
        }
        let beginning = rooftree_tools::mcp::beginning(&name);
        self.may_use(match only.filter(|only| !only.is_empty()) {
            Some(only) => only
                .iter()
                .map(|tool| format!("{beginning}{tool}"))
                .collect(),
            None => vec![format!("{beginning}*")],
        });
        self.servers.push(map(&name, server, at));
    }

    fn settings(&mut self, entry: &SyntaxEntry) {
        for setting in entry.node.entries().unwrap_or_default() {
            match setting.key.as_str() {
                "goose_provider" => self.fields.push(renamed("provider", setting)),
                "goose_model" => self.fields.push(renamed("model", setting)),
                "max_turns" => self.fields.push(setting.clone()),
                _ => left_out(&mut self.complaints, setting, "there is nothing like it"),
            }
        }
    }

    /// The schema of the answer is put into the prompt; it is not validated.
    fn response(&mut self, entry: &SyntaxEntry) {
        let schema = entry
            .node
            .entries()
            .and_then(|inner| inner.iter().find(|inner| inner.key == "json_schema"));
        let Some(schema) = schema else {
            return left_out(&mut self.complaints, entry, "it has no json_schema");
        };
        let _ = write!(
            self.more,
            "\n\nYour last answer is JSON and nothing else. It matches this schema:\n{}",
            schema.node.json()
        );
        let what = "`response` is asked for in the prompt".to_owned();
        self.complaints.warning(
            "W0120",
            Some(entry.at),
            what,
            "it is not checked that the answer matches",
        );
    }

    fn sub_recipes(&mut self, entry: &SyntaxEntry) {
        let SyntaxValue::List(items) = &entry.node.value else {
            return left_out(&mut self.complaints, entry, "");
        };
        let mut agents = Vec::new();
        for recipe in items.iter().filter_map(SyntaxNode::entries) {
            let path = text(recipe, "path").unwrap_or_default();
            let stem = Path::new(path)
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned());
            let Some(name) = stem
                .as_deref()
                .filter(|stem| *stem != "recipe")
                .or(text(recipe, "name"))
                .and_then(named)
            else {
                continue;
            };
            let what = format!("sub-recipe `{name}` is an agent that this one may ask");
            self.complaints
                .warning("W0120", Some(entry.at), what, &format!("import {path} too"));
            for inner in recipe
                .iter()
                .filter(|inner| matches!(inner.key.as_str(), "values" | "sequential_when_repeated"))
            {
                left_out(
                    &mut self.complaints,
                    inner,
                    "say it in the instructions, where they are asked",
                );
            }
            agents.push(name);
        }
        self.may_use(["Task".to_owned()]);
        self.fields.push(list("agents", agents, entry.at));
    }

    fn draft(mut self, draft: DefinitionDraft) -> DefinitionDraft {
        if let Some((tools, at)) = self.tools {
            self.fields.push(list("tools", tools, at));
        }
        if let Some(first) = self.servers.first() {
            let at = first.at;
            self.fields.push(map("mcp_servers", self.servers, at));
        }
        let prompt = self
            .fields
            .iter()
            .position(|entry| entry.key == "prompt")
            .map(|at| self.fields.remove(at));
        let said = prompt
            .as_ref()
            .and_then(|entry| entry.node.text())
            .unwrap_or_default();
        let prompt = format!("{}{}", said.trim(), self.more).trim().to_owned();
        DefinitionDraft {
            fields: self.fields,
            prompt,
            complaints: self.complaints.list,
            ..draft
        }
    }
}

/// The parameters a recipe declares.
fn parameters(all: &[SyntaxEntry]) -> impl Iterator<Item = &[SyntaxEntry]> {
    let items = all
        .iter()
        .find(|entry| entry.key == "parameters")
        .map(|entry| &entry.node.value);
    let items = if let Some(SyntaxValue::List(items)) = items {
        items.as_slice()
    } else {
        &[]
    };
    items.iter().filter_map(SyntaxNode::entries)
}

fn words(node: &SyntaxNode) -> impl Iterator<Item = String> {
    let items = if let SyntaxValue::List(items) = &node.value {
        items.as_slice()
    } else {
        &[]
    };
    items
        .iter()
        .filter_map(|item| item.text().map(str::to_owned))
}
