//! Makes a definition out of the fields of a file. Every field has an effect or gets a complaint.

mod model;
mod permission;
mod servers;
mod tools;
mod values;

use rooftree_protocol::{AgentDefinition, Dialect, Effort, Scope, definition::Exposure};
use rooftree_tools::toolset::is_named;
use serde_json::Value as Json;

use super::{
    Knowledge,
    describe::described,
    diagnostic::{Complaints, Diagnostic},
    draft::Draft,
    fields::{Field, field, likely},
    names::READ_ONLY,
    tree::{Entry, Place},
};
use crate::hooks;

/// What became of a draft.
pub(super) struct Filled {
    /// None if something in it is wrong, or if it says that it is not to be used.
    pub(super) definition: Option<AgentDefinition>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Fills a definition with what a draft says, on top of what it extends.
pub(super) fn fill(draft: &Draft, base: Option<&AgentDefinition>, knowledge: &Knowledge) -> Filled {
    let mut definition = base.cloned().unwrap_or_default();
    definition.name.clone_from(&draft.name);
    definition.source = draft.source.clone();
    // Who can be reached over HTTP says so itself.
    definition.api_exposed = false;
    let complaints =
        Complaints { list: draft.complaints.clone(), ..Complaints::about(&draft.path, &draft.text) };
    let mut filling = Filling {
        definition,
        complaints,
        knowledge,
        thinking: Thinking::default(),
        place: draft.place.clone(),
        has_tools: false,
        exposure_at: None,
        is_disabled: false,
    };
    for entry in &draft.fields {
        filling.entry(entry);
    }
    filling.finish(draft, base.is_some())
}

/// What a file says about the model, put together at the end.
#[derive(Default)]
struct Thinking {
    model: Option<(String, Place)>,
    provider: Option<(String, Place)>,
    effort: Option<(Effort, Place)>,
}

struct Filling<'a> {
    definition: AgentDefinition,
    complaints: Complaints<'a>,
    knowledge: &'a Knowledge,
    thinking: Thinking,
    /// What complaints begin with where a file holds many definitions.
    place: String,
    has_tools: bool,
    exposure_at: Option<Place>,
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

impl Filling<'_> {
    fn entry(&mut self, entry: &Entry) {
        let Some(field) = field(&entry.key) else { return self.unknown(entry) };
        if entry.node.is_nothing() && !matches!(field, Field::Remark | Field::NotYet) {
            // `null` is the same as absent.
            return;
        }
        match field {
            Field::Name | Field::Extends | Field::Remark => {}
            Field::NotYet => self.not_yet(entry),
            Field::DisplayName => self.definition.display_name = self.text(entry),
            Field::Description => self.definition.description = self.text(entry).unwrap_or_default(),
            Field::Prompt => self.definition.prompt = self.text(entry).unwrap_or_default().trim().to_owned(),
            Field::InitialPrompt => self.definition.initial_prompt = self.text(entry),
            Field::Model | Field::Provider | Field::Effort | Field::Kind | Field::Chat | Field::External => {
                self.thinks(field, entry);
            }
            Field::Tools | Field::DeniedTools => self.tools(field, entry),
            Field::Permission => self.permission(entry),
            Field::Capabilities
            | Field::DeniedCapabilities
            | Field::Agents
            | Field::DeniedAgents
            | Field::AllowedSkills
            | Field::DeniedSkills
            | Field::Skills => self.scope(field, entry),
            Field::Rules => self.definition.rules = self.words(entry),
            Field::Hooks => self.hooks(entry),
            Field::Verifiers => self.definition.verifiers = self.words(entry).unwrap_or_default(),
            Field::McpServers => self.servers(entry),
            Field::Own => self.own(entry),
            field => self.manner(field, entry),
        }
    }

    /// How it works and looks, rather than what it may do.
    fn manner(&mut self, field: Field, entry: &Entry) {
        match field {
            Field::Examples => self.definition.examples = self.typed(entry).unwrap_or_default(),
            Field::MaxTurns => self.definition.max_turns = self.count(entry),
            Field::PermissionMode => self.permission_mode(entry),
            Field::Sandbox => self.sandbox(entry),
            Field::Network => self.definition.network = self.network(entry),
            Field::Background => self.definition.background = self.flag(entry).unwrap_or_default(),
            Field::Isolation => self.definition.isolation = self.typed(entry).unwrap_or_default(),
            Field::Memory => self.definition.memory = self.typed(entry),
            Field::Exposure => self.exposure(entry),
            Field::UseAs => self.use_as(entry),
            Field::Hidden => self.definition.hidden = self.flag(entry).unwrap_or_default(),
            Field::Visible => self.definition.hidden = !self.flag(entry).unwrap_or(true),
            Field::ApiExposed => self.definition.api_exposed = self.flag(entry).unwrap_or_default(),
            Field::Strict => self.definition.strict = self.flag(entry).unwrap_or_default(),
            Field::Color | Field::Icon => self.look(field, entry),
            Field::Limits => self.limits(entry),
            Field::Disabled => self.is_disabled = self.flag(entry).unwrap_or_default(),
            _ => {}
        }
    }

    fn scope(&mut self, field: Field, entry: &Entry) {
        if field == Field::Skills && entry.node.entries().is_none() {
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
        let words = if whole.is_none() { self.words(entry) } else { None };
        let definition = &mut self.definition;
        let scope = match field {
            Field::Capabilities | Field::DeniedCapabilities => &mut definition.capabilities,
            Field::Agents | Field::DeniedAgents => &mut definition.agents,
            _ => &mut definition.skills,
        };
        match (whole, field) {
            (Some(whole), _) => *scope = whole,
            (None, Field::DeniedCapabilities | Field::DeniedAgents | Field::DeniedSkills) => {
                scope.deny = words.unwrap_or_default();
            }
            (None, _) => scope.allow = words,
        }
    }

    /// A hook that cannot be honoured is an error in a file that is written for us: a guard that
    /// nobody asks guards nothing.
    fn hooks(&mut self, entry: &Entry) {
        let written = entry.node.json();
        let source = self.definition.source.clone();
        for why in hooks::read(&written, source.level, &source.path.unwrap_or_default()).complaints {
            let what = self.placed(format!("`{}`: {why}", entry.key));
            match source.dialect {
                Dialect::Rooftree => self.complaints.error("E0321", Some(entry.at), what, ""),
                _ => self.complaints.warning("W0113", Some(entry.at), what, "it is not asked"),
            }
        }
        self.definition.hooks = Some(written);
    }

    fn exposure(&mut self, entry: &Entry) {
        self.definition.exposure = self.typed(entry).unwrap_or_default();
        self.exposure_at = Some(entry.at);
    }

    /// Whoever has no Bash has no command line to use skills with.
    fn check_exposure(&mut self) {
        let AgentDefinition { exposure, tools, .. } = &self.definition;
        if *exposure != Exposure::Tools && !is_named(tools, "Bash") {
            let what =
                self.placed("`exposure` has no effect: the agent has no Bash to use skills with".into());
            self.complaints.warning("W0126", self.exposure_at, what, "give it Bash, or leave exposure out");
        }
    }

    /// A memory needs the tools that read and write it.
    fn check_memory(&mut self) {
        let AgentDefinition { memory, tools, .. } = &self.definition;
        if memory.is_some() && !is_named(tools, "MemoryRead") && !is_named(tools, "MemoryWrite") {
            let what = self.placed("`memory` has no effect: `tools` gives no memory tools".into());
            let help = "add MemoryRead, MemoryWrite and MemorySearch to `tools`, or leave memory out";
            self.complaints.warning("W0127", None, what, help);
        }
    }

    /// Fields of ours under a key that other programs skip.
    fn own(&mut self, entry: &Entry) {
        match entry.node.entries() {
            Some(entries) => entries.iter().for_each(|entry| self.entry(entry)),
            None => self.wrong(entry, "a map of fields"),
        }
    }

    fn look(&mut self, field: Field, entry: &Entry) {
        let key = if field == Field::Color { "color" } else { "icon" };
        if let Some(text) = self.text(entry) {
            self.definition.look.insert(key.to_owned(), Json::String(text));
        }
    }

    fn unknown(&mut self, entry: &Entry) {
        if entry.key.starts_with("x-") {
            return;
        }
        let what = self.placed(format!("unknown field `{}`", entry.key));
        match likely(&entry.key) {
            // A misspelt `tools` would otherwise give an agent every tool there is.
            Some(meant) => {
                self.complaints.error("E0318", Some(entry.at), what, &format!("did you mean `{meant}`?"));
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

    fn not_yet(&mut self, entry: &Entry) {
        let what = self.placed(format!("`{}` has no effect yet", entry.key));
        self.complaints.warning("W0102", Some(entry.at), what, "it is understood and left out");
    }

    fn placed(&self, what: String) -> String {
        if self.place.is_empty() { what } else { format!("{}: {what}", self.place) }
    }

    fn finish(mut self, draft: &Draft, extends: bool) -> Filled {
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
        if draft.source.dialect == Dialect::Emdash && !self.has_tools && !extends {
            // The servers it brings along are for it to use.
            let own = definition
                .mcp_servers
                .keys()
                .map(|name| format!("{}*", rooftree_tools::mcp::beginning(name)));
            definition.tools = Scope::only(READ_ONLY.map(str::to_owned).into_iter().chain(own));
        }
        self.check_exposure();
        self.check_memory();
        let definition = &self.definition;
        if definition.prompt.is_empty() && definition.description.is_empty() {
            let what = self.placed("it has neither a prompt nor a description".into());
            self.complaints.error("E0316", None, what, "write what the agent is to do below the frontmatter");
        }
        if self.definition.strict {
            self.complaints.escalate();
        }
        let is_used = !self.is_disabled && !self.complaints.has_errors();
        let definition = is_used.then_some(self.definition);
        Filled { definition, diagnostics: self.complaints.list }
    }
}
