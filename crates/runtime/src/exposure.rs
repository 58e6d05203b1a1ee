//! Exposes tools to an agent as skills with a command line: which ones, in what groups, how described.
//!
//! A group has a `SKILL.md` that is made from what its tools say about themselves. The files lie in a directory that
//! is named by what is in them, so a prompt that names them stays the same for as long as they do.

mod flags;
mod skill_page;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rooftree_protocol::{AgentDefinition, AgentDialect, ToolSpec, definition::ToolExposure};
use rooftree_stdx::atomic_file;
use rooftree_tools::{
    Tool, Toolset, declared,
    mcp::{Notice, PREFIX},
    tool_info::ExposedAs,
    toolset::is_named,
};
use sha2::{Digest, Sha256};

pub use flags::CommandFlag;
pub(crate) use flags::input;

/// Directory of the call sockets and skill pages, and the program that commands run to call a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSocketConfig {
    /// Descriptions and sockets are below it.
    pub directory: PathBuf,
    /// The program whose `call` asks for a tool; `rooftree` of the PATH if absent.
    pub program: Option<PathBuf>,
}

/// Tools of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolGroup {
    /// The skill's name.
    pub name: String,
    /// What it is for.
    pub about: String,
    /// Its tools.
    pub tools: Vec<ToolSpec>,
}

/// The tools an agent has as skills.
#[derive(Clone, Debug, PartialEq)]
pub struct ExposedTools {
    groups: Vec<ToolGroup>,
    directory: PathBuf,
    /// Whether its tools are functions too.
    is_mixed: bool,
}

impl ExposedTools {
    /// Those of a toolset, if there are any; without Bash the agent could not call them.
    pub fn of(tools: &Toolset, exposure: ToolExposure, place: &CallSocketConfig) -> Option<Self> {
        if exposure == ToolExposure::Tools || !tools.names().contains(&"Bash") {
            return None;
        }
        let mut groups: Vec<ToolGroup> = Vec::new();
        for tool in tools.iter().filter(|tool| !is_function(tool.as_ref())) {
            let (name, about) = group_of(&tool.spec().name);
            let spec = tool.spec().clone();
            match groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.tools.push(spec),
                None => groups.push(ToolGroup {
                    name,
                    about,
                    tools: vec![spec],
                }),
            }
        }
        let mut digest = Sha256::new();
        groups
            .iter()
            .for_each(|group| digest.update(skill_page::written(group)));
        let name: String = digest
            .finalize()
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let directory = place.directory.join(format!("skills-{name}"));
        let is_mixed = exposure == ToolExposure::Mixed;
        (!groups.is_empty()).then_some(Self {
            groups,
            directory,
            is_mixed,
        })
    }

    /// Its groups.
    pub fn groups(&self) -> &[ToolGroup] {
        &self.groups
    }

    /// Directory of the generated skill pages.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The description of a group.
    pub fn page(&self, group: &ToolGroup) -> PathBuf {
        self.directory.join(&group.name).join("SKILL.md")
    }

    /// Whether a tool is one of them.
    pub fn has(&self, tool: &str) -> bool {
        self.groups
            .iter()
            .flat_map(|group| &group.tools)
            .any(|spec| spec.name == tool)
    }

    /// Writes what describes the tools; says so if it cannot.
    pub(crate) fn described(&self) -> Option<Notice> {
        let error = self.write().err()?;
        let message = format!("descriptions of tools cannot be written: {error}");
        Some(Notice {
            code: "exposure",
            message,
            hint: None,
        })
    }

    /// Writes the descriptions, unless they are there.
    fn write(&self) -> io::Result<()> {
        for group in &self.groups {
            let (file, text) = (self.page(group), skill_page::written(group));
            if fs::read_to_string(&file).is_ok_and(|there| there == text) {
                continue;
            }
            atomic_file::replace(&file, text.as_bytes())?;
        }
        Ok(())
    }
}

/// These tools without those of groups that the definition's lists of skills leave out, where tools are skills.
pub fn within(tools: &Toolset, definition: &AgentDefinition) -> Toolset {
    if definition.exposure == ToolExposure::Tools {
        return tools.clone();
    }
    let is_allowed = |tool: &&Arc<dyn Tool>| {
        is_function(tool.as_ref()) || is_named(&definition.skills, &group_of(&tool.spec().name).0)
    };
    Toolset::new(tools.iter().filter(is_allowed).cloned())
}

/// Tools that a model gets as functions: all but those exposed only as skills.
pub fn functions(
    tools: &Toolset,
    dialect: AgentDialect,
    exposed: Option<&ExposedTools>,
) -> Vec<ToolSpec> {
    let is_told = |tool: &dyn Tool| {
        exposed.is_none_or(|exposed| exposed.is_mixed || !exposed.has(&tool.spec().name))
    };
    let told = tools.iter().filter(|tool| is_told(tool.as_ref()));
    told.map(|tool| tool.spec_in(dialect).unwrap_or_else(|| tool.spec().clone()))
        .collect()
}

/// Whether it stays a function: to work on files, to run commands, to plan, to talk with people, to use skills.
fn is_function(tool: &dyn Tool) -> bool {
    declared(&tool.spec().name).exposed_as == ExposedAs::Function
}

/// The group of a tool: its server, its family, or that of the program around us.
fn group_of(tool: &str) -> (String, String) {
    if let Some((server, _)) = tool
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.split_once("__"))
    {
        return (
            format!("mcp-{}", plain(server)),
            format!("Tools of the server {server}."),
        );
    }
    let (name, about) = match declared(tool).exposed_as {
        ExposedAs::Web => ("web", "Fetch pages and search the web."),
        ExposedAs::Agents => (
            "agents",
            "Ask other agents, wait for them, send them messages, take over what they changed.",
        ),
        ExposedAs::Memory => ("memory", "Remember things from session to session."),
        ExposedAs::CodeSearch => ("code-search", "Find code by what it is about."),
        ExposedAs::Function | ExposedAs::Program => {
            ("program", "Tools of the program this agent works in.")
        }
    };
    (name.to_owned(), about.to_owned())
}

/// A name as skills and directories have them.
fn plain(name: &str) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    name.chars().map(letter).collect()
}
