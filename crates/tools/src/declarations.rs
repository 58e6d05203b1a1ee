//! Table of all tools that come with Rooftree, and the look-up of a tool's declaration by name.
//!
//! A new tool gets one row here. Rules, journals and agent definitions name tools of which there may be no instance, so
//! what they are judged by comes from this table. Names that are not in it are judged by [`ToolInfo::UNDECLARED`].

use std::sync::Arc;

use crate::{
    BackgroundProcesses, SemanticSearchTool, Tool, WebConfig, session_tools, tool_info::ToolInfo,
    web::guard::NetworkGuard, web_search::SearchService,
};

/// What instances of the built-in tools are made of.
pub(crate) struct BuiltinParts<'a> {
    pub processes: Arc<BackgroundProcesses>,
    pub search: Arc<SemanticSearchTool>,
    pub web: &'a WebConfig,
    pub service: Option<SearchService>,
}

/// A declaration and what makes an instance; none if this build has no such tool.
type BuiltinRow = (
    &'static ToolInfo,
    fn(&BuiltinParts<'_>) -> Option<Arc<dyn Tool>>,
);

/// The tools that need nothing but a machine. Their order is part of a cached prompt: new ones go to the end.
const BUILTIN: &[BuiltinRow] = &[
    (&crate::read::INFO, |_| made(crate::read::ReadTool::new())),
    (
        &crate::write::INFO,
        |_| made(crate::write::WriteTool::new()),
    ),
    (&crate::edit::INFO, |_| made(crate::edit::EditTool::new())),
    (&crate::apply_diff::INFO, |_| {
        made(crate::apply_diff::ApplyDiffTool::new())
    }),
    (&crate::delete::INFO, |_| {
        made(crate::delete::DeleteTool::new())
    }),
    (&crate::notebook_edit::INFO, |_| {
        made(crate::notebook_edit::NotebookEditTool::new())
    }),
    (&crate::list::INFO, |_| made(crate::list::ListTool::new())),
    (&crate::glob::INFO, |_| made(crate::glob::GlobTool::new())),
    (&crate::grep::INFO, |_| made(crate::grep::GrepTool::new())),
    (&crate::bash::INFO, |parts| {
        let guard = NetworkGuard::new(parts.web);
        made(crate::bash::BashTool::new(parts.processes.clone(), guard))
    }),
    (&crate::bash_output::INFO, |parts| {
        made(crate::bash_output::BashOutputTool::new(
            parts.processes.clone(),
        ))
    }),
    (&crate::task_stop::INFO, |parts| {
        made(crate::task_stop::TaskStopTool::new(parts.processes.clone()))
    }),
    (&crate::todo_write::INFO, |_| {
        made(crate::todo_write::TodoWriteTool::new())
    }),
    (&crate::semantic_search::INFO, |parts| {
        Some(parts.search.clone())
    }),
    (&crate::web::WEB_FETCH, web_fetch),
    (&crate::web_search::INFO, |parts| {
        made(crate::web_search::WebSearchTool::new(
            parts.web,
            parts.service.clone(),
        ))
    }),
    (&crate::send_file::INFO, |_| {
        made(crate::send_file::SendFileTool::new())
    }),
];

fn made(tool: impl Tool + 'static) -> Option<Arc<dyn Tool>> {
    Some(Arc::new(tool))
}

#[cfg(feature = "web")]
fn web_fetch(parts: &BuiltinParts<'_>) -> Option<Arc<dyn Tool>> {
    made(crate::web_fetch::WebFetchTool::new(parts.web))
}

#[cfg(not(feature = "web"))]
fn web_fetch(_parts: &BuiltinParts<'_>) -> Option<Arc<dyn Tool>> {
    None
}

/// Instances of the built-in tools, in order.
pub(crate) fn instances(parts: &BuiltinParts<'_>) -> impl Iterator<Item = Arc<dyn Tool>> {
    BUILTIN.iter().filter_map(move |(_, make)| make(parts))
}

/// The declarations of all tools that come with Rooftree, whether this build has them or not.
pub fn declarations() -> impl Iterator<Item = &'static ToolInfo> {
    let builtin = BUILTIN.iter().map(|(info, _)| *info);
    builtin.chain(session_tools::ALL.iter().copied())
}

/// The facts about a tool of exactly this canonical name, as calls, mandates and journals have it.
///
/// Invariant: a name that is not declared, or is written in another case, gets the narrowest facts.
pub fn declared(name: &str) -> &'static ToolInfo {
    declarations()
        .find(|info| info.name == name)
        .unwrap_or(&ToolInfo::UNDECLARED)
}

/// The facts about the tool that a rule names, without case.
pub(crate) fn declared_for_rule(name: &str) -> &'static ToolInfo {
    declarations()
        .find(|info| info.name.eq_ignore_ascii_case(name))
        .unwrap_or(&ToolInfo::UNDECLARED)
}

/// The tool that an agent definition names by its canonical name or any other name, without case.
pub fn declared_for_definition(name: &str) -> Option<&'static ToolInfo> {
    let is_meant = |info: &&ToolInfo| {
        let mut others = info.definition_aliases.iter();
        info.answers_to(name) || others.any(|alias| alias.eq_ignore_ascii_case(name))
    };
    declarations().find(is_meant)
}
