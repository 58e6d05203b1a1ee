//! All tools that come with Rooftree and need nothing but a machine.

use std::sync::Arc;

#[cfg(feature = "web")]
use crate::web_fetch::WebFetchTool;
use crate::{
    BackgroundProcesses, Tool, Toolset,
    apply_diff::ApplyDiffTool,
    bash::BashTool,
    bash_output::BashOutputTool,
    delete::DeleteTool,
    edit::EditTool,
    glob::GlobTool,
    grep::GrepTool,
    list::ListTool,
    notebook_edit::NotebookEditTool,
    read::ReadTool,
    semantic_search::SemanticSearchTool,
    task_stop::TaskStopTool,
    todo_write::TodoWriteTool,
    web::{WebConfig, guard::NetworkGuard},
    web_search::{SearchService, WebSearchTool},
    write::WriteTool,
};

/// The built-in tools, with a search index that is not cached on disk and no private hosts allowed.
pub fn builtin(processes: Arc<BackgroundProcesses>) -> Toolset {
    builtin_with(
        processes,
        SemanticSearchTool::new(None),
        &WebConfig::default(),
        None,
    )
}

/// The built-in tools; `service` is who searches the web. Their order is part of a cached prompt: new ones go to the
/// end.
pub fn builtin_with(
    processes: Arc<BackgroundProcesses>,
    search: SemanticSearchTool,
    web: &WebConfig,
    service: Option<SearchService>,
) -> Toolset {
    let tools: &[Arc<dyn Tool>] = &[
        Arc::new(ReadTool::new()),
        Arc::new(WriteTool::new()),
        Arc::new(EditTool::new()),
        Arc::new(ApplyDiffTool::new()),
        Arc::new(DeleteTool::new()),
        Arc::new(NotebookEditTool::new()),
        Arc::new(ListTool::new()),
        Arc::new(GlobTool::new()),
        Arc::new(GrepTool::new()),
        Arc::new(BashTool::new(processes.clone(), NetworkGuard::new(web))),
        Arc::new(BashOutputTool::new(processes.clone())),
        Arc::new(TaskStopTool::new(processes)),
        Arc::new(TodoWriteTool::new()),
        Arc::new(search),
        #[cfg(feature = "web")]
        Arc::new(WebFetchTool::new(web)),
        Arc::new(WebSearchTool::new(web, service)),
    ];
    Toolset::new(tools.iter().cloned())
}
