//! Builds and validates a definition from the fields of a file. Every field has an effect or gets a diagnostic.

mod chat_config;
mod model;
mod permission;
mod servers;
mod tools;
mod values;

use rooftree_protocol::{AgentDefinition, AgentDialect, Effort, Scope, definition::ToolExposure};
use rooftree_tools::toolset::is_named;
use serde_json::Value as Json;

pub use self::chat_config::compatible_provider;
use super::{
    LoaderContext,
    describe::described,
    diagnostic::{Diagnostic, FileDiagnostics},
    draft::DefinitionDraft,
    fields::{DefinitionField, field, likely},
    syntax_tree::{SourceSpan, SyntaxEntry},
};
use crate::hooks;

/// What a sub-agent of emdash has unless its file says otherwise. This is a fact about emdash: a new tool of ours that
/// reads does not belong to it by itself.
const EMDASH_TOOLS: [&str; 5] = ["Glob", "Grep", "Read", "List", "SemanticSearch"];

/// Result of building a draft.
pub(super) struct BuildOutcome {
    /// None if something in it is wrong, or if it says that it is not to be used.
    pub(super) definition: Option<AgentDefinition>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Fills a definition with what a draft says, on top of what it extends.
pub(super) fn fill(
    draft: &DefinitionDraft,
    base: Option<&AgentDefinition>,
    loader_context: &LoaderContext,
) -> BuildOutcome {
    let mut definition = base.cloned().unwrap_or_default();
    definition.name.clone_from(&draft.name);
    definition.source = draft.source.clone();
    // Who can be reached over HTTP says so itself.
    definition.api_exposed = false;
    let complaints = FileDiagnostics {
        list: draft.complaints.clone(),
        ..FileDiagnostics::about(&draft.path, &draft.text)
    };
    let mut filling = DefinitionBuilder {
        definition,
        complaints,
        loader_context,
        thinking: ModelFields::default(),
        has_own_server: false,
        place: draft.place.clone(),
        dialect: None,
        has_tools: false,
        exposure_at: None,
        is_disabled: false,
    };
    for entry in &draft.fields {
        filling.entry(entry);
    }
    filling.finish(draft, base.is_some())
}

/// Fields about the model, combined at the end.
#[derive(Default)]
struct ModelFields {
    model: Option<(String, SourceSpan)>,
    provider: Option<(String, SourceSpan)>,
    effort: Option<Effort>,
}

struct DefinitionBuilder<'a> {
    definition: AgentDefinition,
    complaints: FileDiagnostics<'a>,
    loader_context: &'a LoaderContext,
    thinking: ModelFields,
    /// Whether `chat.config` names a server.
    has_own_server: bool,
    /// What complaints begin with where a file holds many definitions.
    place: String,
    /// The dialect it says it has; else that of the place where it is written.
    dialect: Option<AgentDialect>,
    has_tools: bool,
    exposure_at: Option<SourceSpan>,
    is_disabled: bool,
}

/// Whether an unknown field sounds as if it restricted something. Without it the agent could do more than its author
/// meant, so the definition is not used.
fn sounds_like_a_restriction(key: &str) -> bool {
    const WORDS: [&str; 13] = [
        "allow",
        "deny",
        "denied",
        "disallow",
        "forbid",
        "block",
        "restrict",
        "permission",
        "permit",
        "tool",
        "sandbox",
        "network",
        "capabilit",
    ];
    let key = key.to_lowercase().replace(['_', '-'], "");
    WORDS.iter().any(|word| key.contains(word))
}

impl DefinitionBuilder<'_> {
    fn entry(&mut self, entry: &SyntaxEntry) {
        let Some(field) = field(&entry.key) else {
            return self.unknown(entry);
        };
        if entry.node.is_nothing()
            && !matches!(field, DefinitionField::Remark | DefinitionField::NotYet)
        {
            // `null` is the same as absent.
            return;
        }
        match field {
            DefinitionField::Name | DefinitionField::Extends | DefinitionField::Remark => {}
            DefinitionField::NotYet => self.not_yet(entry),
            DefinitionField::DisplayName => self.definition.display_name = self.text(entry),
            DefinitionField::Description => {
                self.definition.description = self.text(entry).unwrap_or_default()
            }
            DefinitionField::Prompt => {
                self.definition.prompt = self.text(entry).unwrap_or_default().trim().to_owned()
            }
            DefinitionField::InitialPrompt => self.definition.initial_prompt = self.text(entry),
            DefinitionField::Model
            | DefinitionField::Provider
            | DefinitionField::Effort
            | DefinitionField::Kind
            | DefinitionField::Chat
            | DefinitionField::External => {
                self.thinks(field, entry);
            }
            DefinitionField::Dialect => self.dialect = self.typed(entry),
            DefinitionField::Tools | DefinitionField::DeniedTools => self.tools(field, entry),
            DefinitionField::Permission => self.permission(entry),
            DefinitionField::Capabilities
            | DefinitionField::DeniedCapabilities
            | DefinitionField::Agents
            | DefinitionField::DeniedAgents
            | DefinitionField::AllowedSkills
            | DefinitionField::DeniedSkills
            | DefinitionField::Skills => self.scope(field, entry),
            DefinitionField::Rules => self.definition.rules = self.words(entry),
            DefinitionField::Hooks => self.hooks(entry),
            DefinitionField::Verifiers => {
                self.definition.verifiers = self.words(entry).unwrap_or_default()
            }
            DefinitionField::McpServers => self.servers(entry),
            DefinitionField::Own => self.own(entry),
            field => self.behaviour_fields(field, entry),
        }
    }

    /// Fields about behaviour and appearance, rather than permissions.
    fn behaviour_fields(&mut self, field: DefinitionField, entry: &SyntaxEntry) {
        match field {
            DefinitionField::Examples => {
                self.definition.examples = self.typed(entry).unwrap_or_default()
            }
            DefinitionField::MaxTurns => self.definition.max_turns = self.count(entry),
            DefinitionField::PermissionMode => self.permission_mode(entry),
            DefinitionField::Sandbox => self.sandbox(entry),
            DefinitionField::Network => self.definition.network = self.network(entry),
            DefinitionField::Background => {
                self.definition.background = self.flag(entry).unwrap_or_default()
            }
            DefinitionField::Isolation => {
                self.definition.isolation = self.typed(entry).unwrap_or_default()
            }
            DefinitionField::Memory => self.definition.memory = self.typed(entry),
            DefinitionField::Exposure => self.exposure(entry),
            DefinitionField::UseAs => self.use_as(entry),
            DefinitionField::Hidden => {
                self.definition.hidden = self.flag(entry).unwrap_or_default()
            }
            DefinitionField::Visible => self.definition.hidden = !self.flag(entry).unwrap_or(true),
            DefinitionField::ApiExposed => {
                self.definition.api_exposed = self.flag(entry).unwrap_or_default()
            }
            DefinitionField::Strict => {
                self.definition.strict = self.flag(entry).unwrap_or_default()
            }
            DefinitionField::Color | DefinitionField::Icon => self.look(field, entry),
            DefinitionField::Limits => self.limits(entry),
            DefinitionField::Disabled => self.is_disabled = self.flag(entry).unwrap_or_default(),
            _ => {}
        }
    }

    fn scope(&mut self, field: DefinitionField, entry: &SyntaxEntry) {
        if field == DefinitionField::Skills && entry.node.entries().is_none() {
            self.definition.preloaded_skills = self.words(entry).unwrap_or_default();
            return;
        }
        let whole: Option<Scope> = if entry.node.entries().is_some() {
            // What is misspelt allows nothing: an absent list of what is allowed would mean everything.
            self.known_keys(entry, &["allow", "deny"]);
            self.typed(entry)
        } else {
            None
        };
        let words = if whole.is_none() {
            self.words(entry)
        } else {
            None
        };
        let definition = &mut self.definition;
        let scope = match field {
            DefinitionField::Capabilities | DefinitionField::DeniedCapabilities => {
                &mut definition.capabilities
            }
            DefinitionField::Agents | DefinitionField::DeniedAgents => &mut definition.agents,
            _ => &mut definition.skills,
        };
        match (whole, field) {
            (Some(whole), _) => *scope = whole,
            (
                None,
                DefinitionField::DeniedCapabilities
                | DefinitionField::DeniedAgents
                | DefinitionField::DeniedSkills,
            ) => {
                scope.deny = words.unwrap_or_default();
            }
            (None, _) => scope.allow = words,
        }
    }

    /// An invalid hook in a file written for Rooftree is an error: a guard that never runs guards nothing.
    fn hooks(&mut self, entry: &SyntaxEntry) {
        let written = entry.node.json();
        let source = self.definition.source.clone();
        for why in hooks::read(&written, source.level, &source.path.unwrap_or_default()).complaints
        {
            let what = self.placed(format!("`{}`: {why}", entry.key));
            match source.dialect {
                AgentDialect::Rooftree => self.complaints.error("E0321", Some(entry.at), what, ""),
                _ => self
                    .complaints
                    .warning("W0113", Some(entry.at), what, "it is not asked"),
            }
        }
        self.definition.hooks = Some(written);
    }

    fn exposure(&mut self, entry: &SyntaxEntry) {
        self.definition.exposure = self.typed(entry).unwrap_or_default();
        self.exposure_at = Some(entry.at);
    }

    /// Without Bash an agent has no command line to use skills with.
    fn check_exposure(&mut self) {
        let AgentDefinition {
            exposure, tools, ..
        } = &self.definition;
        if *exposure != ToolExposure::Tools && !is_named(tools, "Bash") {
            let what = self.placed(
                "`exposure` has no effect: the agent has no Bash to use skills with".into(),
            );
            self.complaints.warning(
                "W0126",
                self.exposure_at,
                what,
                "give it Bash, or leave exposure out",
            );
        }
    }

    /// A memory needs the tools that read and write it.
    fn check_memory(&mut self) {
        let AgentDefinition { memory, tools, .. } = &self.definition;
        if memory.is_some() && !is_named(tools, "MemoryRead") && !is_named(tools, "MemoryWrite") {
            let what = self.placed("`memory` has no effect: `tools` gives no memory tools".into());
            let help =
                "add MemoryRead, MemoryWrite and MemorySearch to `tools`, or leave memory out";
            self.complaints.warning("W0127", None, what, help);
        }
    }

    /// Fields of ours under a key that other programs skip.
    fn own(&mut self, entry: &SyntaxEntry) {
        match entry.node.entries() {
            Some(entries) => entries.iter().for_each(|entry| self.entry(entry)),
            None => self.wrong(entry, "a map of fields"),
        }
    }

    fn look(&mut self, field: DefinitionField, entry: &SyntaxEntry) {
        let key = if field == DefinitionField::Color {
            "color"
        } else {
            "icon"
        };
        if let Some(text) = self.text(entry) {
            self.definition
                .look
                .insert(key.to_owned(), Json::String(text));
        }
    }

    fn unknown(&mut self, entry: &SyntaxEntry) {
        if entry.key.starts_with("x-") {
            return;
        }
        let what = self.placed(format!("unknown field `{}`", entry.key));
        match likely(&entry.key) {
            // A misspelt `tools` would otherwise give an agent every tool there is.
            Some(meant) => {
                self.complaints.error(
                    "E0318",
                    Some(entry.at),
                    what,
                    &format!("did you mean `{meant}`?"),
                );
            }
            None if sounds_like_a_restriction(&entry.key) => {
                let help = "it may be meant to restrict the agent; write `tools`, `disallowed_tools`, \
                            `permission_mode`, `sandbox` or `network`, or remove it";
                self.complaints.error("E0318", Some(entry.at), what, help);
            }
            None => self.complaints.warning(
                "W0101",
                Some(entry.at),
                what,
                "it has no effect; remove it, or begin it with x-",
            ),
        }
    }

    fn not_yet(&mut self, entry: &SyntaxEntry) {
        let what = self.placed(format!("`{}` has no effect yet", entry.key));
        self.complaints.warning(
            "W0102",
            Some(entry.at),
            what,
            "it is understood and left out",
        );
    }

    fn placed(&self, what: String) -> String {
        if self.place.is_empty() {
            what
        } else {
            format!("{}: {what}", self.place)
        }
    }

    fn finish(mut self, draft: &DefinitionDraft, extends: bool) -> BuildOutcome {
        self.choose_model();
        let definition = &mut self.definition;
        if !draft.prompt.is_empty() {
            definition.prompt.clone_from(&draft.prompt);
        }
        if !draft.examples.is_empty() {
            definition.examples.clone_from(&draft.examples);
        }
        if definition.description.is_empty() {
            definition.description = described(&definition.prompt);
        }
        if draft.source.dialect == AgentDialect::Emdash && !self.has_tools && !extends {
            // The servers it brings along are for it to use.
            let own = definition
                .mcp_servers
                .keys()
                .map(|name| format!("{}*", rooftree_tools::mcp::beginning(name)));
            definition.tools = Scope::only(EMDASH_TOOLS.map(str::to_owned).into_iter().chain(own));
        }
        if let Some(dialect) = self.dialect {
            definition.source.dialect = dialect;
        }
        self.check_exposure();
        self.check_memory();
        let definition = &self.definition;
        if definition.prompt.is_empty() && definition.description.is_empty() {
            let what = self.placed("it has neither a prompt nor a description".into());
            self.complaints.error(
                "E0316",
                None,
                what,
                "write what the agent is to do below the frontmatter",
            );
        }
        if self.definition.strict {
            self.complaints.escalate();
        }
        let is_used = !self.is_disabled && !self.complaints.has_errors();
        let definition = is_used.then_some(self.definition);
        BuildOutcome {
            definition,
            diagnostics: self.complaints.list,
        }
    }
}
