//! All tools that come with Rooftree and need nothing but a machine.

use std::sync::Arc;

use crate::{
    BackgroundProcesses, Toolset,
    declarations::{BuiltinParts, instances},
    semantic_search::SemanticSearchTool,
    web::WebConfig,
    web_search::SearchService,
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

/// The built-in tools; `service` is who searches the web.
pub fn builtin_with(
    processes: Arc<BackgroundProcesses>,
    search: SemanticSearchTool,
    web: &WebConfig,
    service: Option<SearchService>,
) -> Toolset {
    let search = Arc::new(search);
    Toolset::new(instances(&BuiltinParts {
        processes,
        search,
        web,
        service,
    }))
}
