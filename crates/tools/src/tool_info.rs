//! Declaration of a tool as plain data: its names, what a call does, which argument rules match, and what follows from
//! having it.
//!
//! A tool declares this once, in a constant beside its code. The policy, the loader of agent definitions and delegation
//! look facts up by name in `crates/tools/src/declarations.rs`, because they also judge tools of which there is no
//! instance: rules in settings, calls in journals.

use rooftree_protocol::{Effect, Repeat, ToolKind};

/// Facts about one tool.
///
/// Invariant: what a declaration leaves out is [`ToolInfo::UNDECLARED`], the narrowest reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolInfo {
    /// Canonical name; empty if the tool gets its name at run time, as a tool of an MCP server does.
    pub name: &'static str,
    /// Other names that models and rules may use, compared without case.
    pub aliases: &'static [&'static str],
    /// Names that only agent definitions of other programs use; a model cannot call it by them.
    pub definition_aliases: &'static [&'static str],
    /// Its family.
    pub kind: ToolKind,
    /// Effect of a call; the worst one if it depends on the arguments.
    pub effect: Effect,
    /// What may be done if a result is lost; none: [`Repeat::Pure`] if the call is read-only, else at most once.
    pub repeat: Option<Repeat>,
    /// Whether calls of one reply run at the same time.
    pub concurrency: CallConcurrency,
    /// Whether it must know the calling agent; only tools of the runtime can use that.
    pub needs_caller: bool,
    /// The argument that rules `Tool(…)` match.
    pub subject: ToolSubject,
    /// Capabilities that agent definitions allow or deny; an empty list counts as `unknown`.
    pub capabilities: &'static [&'static str],
    /// What it does with the file that its subject names. Rules for `Read` and `Edit` are about all tools that do it.
    pub file_use: FileUse,
    /// Whether its results follow from its arguments and the files at its subject, so that answers may be cached.
    pub is_cacheable: bool,
    /// Whether it may change files, so that a sub-agent that has it works in a copy under isolation `auto`.
    pub needs_working_copy: bool,
    /// Whether a skill that is followed can take it away.
    pub skill_exemption: SkillExemption,
    /// How agents whose tools are exposed as skills get it.
    pub exposed_as: ExposedAs,
    /// Which agents have it.
    pub offer: ToolOffer,
}

/// The argument of a call that rules match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolSubject {
    /// None: only a rule without a subject matches.
    None,
    /// The path of a file.
    Path(&'static str),
    /// The path of a file or directory; the working directory if it is absent.
    SearchPath(&'static str),
    /// A shell command.
    Command(&'static str),
    /// A URL; rules name its domain.
    Url(&'static str),
    /// The agent that is asked; without one there is no subject.
    Agent(&'static str),
    /// A name or an id.
    Name(&'static str),
}

/// How the subject of a tool is compared with that of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubjectKind {
    Command,
    Path,
    Address,
    Name,
}

/// What a tool does with the file that its subject names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    /// Its subject is no file.
    None,
    /// It reads the file, or what is below the directory.
    Reads,
    /// It creates or changes the file.
    Changes,
    /// It deletes the file.
    Deletes,
}

/// Whether calls of one reply run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallConcurrency {
    /// Those that are read-only do.
    ReadOnlyCalls,
    /// All do.
    Always,
    /// Each waits for the one before it.
    Never,
}

/// Whether a skill that is followed can take a tool away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillExemption {
    /// Its list of allowed tools and its deny rules can.
    None,
    /// Its deny rules can, its list of allowed tools cannot: reading, planning, stopping what runs.
    AllowList,
    /// It cannot: the way out of a skill.
    All,
}

/// How agents whose tools are exposed as skills get a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExposedAs {
    /// As a function of the model, in any case.
    Function,
    /// As a command line in the skill `web`.
    Web,
    /// As a command line in the skill `agents`.
    Agents,
    /// As a command line in the skill `memory`.
    Memory,
    /// As a command line in the skill `code-search`.
    CodeSearch,
    /// As a command line in the skill of the program that brought the tool.
    Program,
}

/// Which agents have a tool, if their scope lets it through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolOffer {
    /// All.
    Everyone,
    /// Those that may still delegate: not the last of a chain.
    AboveDepthLimit,
    /// The first of a chain, which talks to a person.
    FirstAgent,
    /// Those with a memory.
    WithMemory,
    /// Those that have a skill to load.
    WithSkills,
    /// Those whose definition names it.
    WhenNamed,
    /// Those in a conversation with a chat, and those whose definition names it.
    InChats,
}

impl ToolInfo {
    /// Facts about a tool that declares nothing: it may destroy anything, and no list that gives names it.
    pub const UNDECLARED: Self = Self {
        name: "",
        aliases: &[],
        definition_aliases: &[],
        kind: ToolKind::Other,
        effect: Effect::Destructive,
        repeat: None,
        concurrency: CallConcurrency::ReadOnlyCalls,
        needs_caller: false,
        subject: ToolSubject::None,
        capabilities: &[],
        file_use: FileUse::None,
        is_cacheable: false,
        needs_working_copy: true,
        skill_exemption: SkillExemption::None,
        exposed_as: ExposedAs::Program,
        offer: ToolOffer::Everyone,
    };

    /// A tool that is named at run time.
    pub const fn at_run_time(kind: ToolKind, effect: Effect) -> Self {
        Self {
            kind,
            effect,
            ..Self::UNDECLARED
        }
    }

    /// A tool that reads files and does nothing else.
    pub const fn reads_files(name: &'static str, subject: ToolSubject) -> Self {
        Self {
            name,
            kind: ToolKind::Search,
            effect: Effect::ReadOnly,
            subject,
            capabilities: &["file.read"],
            file_use: FileUse::Reads,
            is_cacheable: true,
            needs_working_copy: false,
            skill_exemption: SkillExemption::AllowList,
            exposed_as: ExposedAs::Function,
            ..Self::UNDECLARED
        }
    }

    /// A tool that changes the file at `file_path`.
    pub const fn changes_files(name: &'static str) -> Self {
        Self {
            name,
            kind: ToolKind::Edit,
            effect: Effect::LocalMutation,
            subject: ToolSubject::Path("file_path"),
            capabilities: &["file.read", "file.write"],
            file_use: FileUse::Changes,
            exposed_as: ExposedAs::Function,
            ..Self::UNDECLARED
        }
    }

    /// Whether all it does is to read files.
    pub fn only_reads_files(&self) -> bool {
        self.file_use == FileUse::Reads
            && self.effect == Effect::ReadOnly
            && matches!(self.capabilities, ["file.read"])
    }

    /// Whether this is its name or one of the names that models and rules may use.
    pub fn answers_to(&self, name: &str) -> bool {
        let is_it = |own: &&str| own.eq_ignore_ascii_case(name);
        is_it(&self.name) || self.aliases.iter().any(is_it)
    }
}

impl ToolSubject {
    /// How it is compared with the subject of a rule.
    pub(crate) fn kind(self) -> SubjectKind {
        match self {
            Self::Command(_) => SubjectKind::Command,
            Self::Path(_) | Self::SearchPath(_) => SubjectKind::Path,
            Self::Url(_) => SubjectKind::Address,
            Self::None | Self::Agent(_) | Self::Name(_) => SubjectKind::Name,
        }
    }

    /// What a call names: the text of the argument.
    pub(crate) fn of(self, input: &serde_json::Value) -> Option<String> {
        let text = |argument| input.get(argument).and_then(serde_json::Value::as_str);
        match self {
            Self::None => None,
            Self::Agent(argument) => text(argument).map(str::to_owned),
            Self::SearchPath(argument) => {
                let path = text(argument).filter(|path| !path.is_empty());
                Some(path.unwrap_or(".").to_owned())
            }
            Self::Path(argument)
            | Self::Command(argument)
            | Self::Url(argument)
            | Self::Name(argument) => Some(text(argument).unwrap_or_default().to_owned()),
        }
    }
}
