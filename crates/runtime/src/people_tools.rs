//! Tools that ask the user: questions, plans to approve, permissions to request and to grant.
//!
//! They live here because they need the runtime; to an agent they are tools like any other.

mod ask_user;
mod grant_permission;
mod plan_mode;
mod request_permission;

use std::sync::Arc;

use rooftree_protocol::Scope;
use rooftree_tools::{Tool, Toolset};

/// These tools, with those that turn to people.
pub fn with_tools(tools: &Toolset) -> Toolset {
    Toolset::new(tools.iter().cloned().chain(all()))
}

/// These tools, without the one that only asks, if there is no client to ask: its description would cost tokens for
/// nothing.
pub fn without_questions(tools: &Toolset) -> Toolset {
    tools.scoped(&Scope {
        allow: None,
        deny: vec!["AskUser".into()],
    })
}

/// Their order is part of a cached prompt: new ones go to the end.
fn all() -> [Arc<dyn Tool>; 5] {
    [
        Arc::new(ask_user::AskUserTool::new()),
        Arc::new(plan_mode::EnterPlanModeTool::new()),
        Arc::new(plan_mode::ExitPlanModeTool::new()),
        Arc::new(request_permission::RequestPermissionTool::new()),
        Arc::new(grant_permission::GrantPermissionTool::new()),
    ]
}
