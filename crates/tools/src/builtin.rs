//! All tools that come with Rooftree and need nothing but a machine.

use std::sync::Arc;

#[cfg(feature = "web")]
use crate::web_fetch::WebFetch;
use crate::{
    Processes, Tool, Toolset,
    apply_diff::ApplyDiff,
    bash::Bash,
    bash_output::BashOutput,
    delete::Delete,
    edit::Edit,
    glob::Glob,
    grep::Grep,
    list::List,
    notebook_edit::NotebookEdit,
    read::Read,
    semantic_search::SemanticSearch,
    task_stop::TaskStop,
    todo_write::TodoWrite,
    web::{Web, guard::Guard},
    web_search::{Service, WebSearch},
    write::Write,
};

/// The built-in tools, with a search that keeps nothing on disk and a web without anybody's own hosts.
pub fn builtin(processes: Arc<Processes>) -> Toolset {
    builtin_with(processes, SemanticSearch::new(None), &Web::default(), None)
}

/// The built-in tools; `service` is who searches the web. Their order is part of a cached prompt: new ones go to the end.
pub fn builtin_with(
    processes: Arc<Processes>,
    search: SemanticSearch,
    web: &Web,
    service: Option<Service>,
) -> Toolset {
    let tools: &[Arc<dyn Tool>] = &[
        Arc::new(Read::new()),
        Arc::new(Write::new()),
        Arc::new(Edit::new()),
        Arc::new(ApplyDiff::new()),
        Arc::new(Delete::new()),
        Arc::new(NotebookEdit::new()),
        Arc::new(List::new()),
        Arc::new(Glob::new()),
        Arc::new(Grep::new()),
        Arc::new(Bash::new(processes.clone(), Guard::new(web))),
        Arc::new(BashOutput::new(processes.clone())),
        Arc::new(TaskStop::new(processes)),
        Arc::new(TodoWrite::new()),
        Arc::new(search),
        #[cfg(feature = "web")]
        Arc::new(WebFetch::new(web)),
        Arc::new(WebSearch::new(web, service)),
    ];
    Toolset::new(tools.iter().cloned())
}
