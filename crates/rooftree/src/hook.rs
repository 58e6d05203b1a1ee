//! The `Hook` trait: asked before a tool call, notified of what happens; the closures of a builder as one trait.

use rooftree_runtime::hooks::{HookVerdict, ToolUse};

use crate::callbacks::{SubagentStart, SubagentStop, ToolUsed};

/// Is asked before each tool call and told of what happens, of sub-agents too. Every method may be left out.
///
/// Given to a query or a runtime with `hook`. The same rules hold as for closures: a hook narrows, and one
/// that crashes or does not answer within a minute refuses; notifications block no agent.
///
/// ```
/// use rooftree::{Hook, ToolUse, ToolUsed, HookVerdict, query, testing::{ScriptedModel, say}};
///
/// struct Audit;
///
/// impl Hook for Audit {
///     async fn before_tool(&self, about: ToolUse) -> HookVerdict {
///         if about.tool == "Bash" { HookVerdict::Ask } else { HookVerdict::Allow }
///     }
///
///     async fn after_tool(&self, news: ToolUsed) {
///         eprintln!("{} used {} in {:?}", news.agent, news.tool, news.duration);
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> rooftree::Result<()> {
/// # let model = ScriptedModel::from_replies([say("Done.")])?;
/// query("Tidy up").provider("scripted", model).hook(Audit).await?;
/// # Ok(()) }
/// ```
pub trait Hook: Send + Sync + 'static {
    /// A call is about to be made. The strictest of all answers counts.
    fn before_tool(&self, about: ToolUse) -> impl Future<Output = HookVerdict> + Send {
        let _ = about;
        std::future::ready(HookVerdict::Allow)
    }

    /// A call has ended.
    fn after_tool(&self, news: ToolUsed) -> impl Future<Output = ()> + Send {
        let _ = news;
        std::future::ready(())
    }

    /// A sub-agent begins to work.
    fn subagent_started(&self, news: SubagentStart) -> impl Future<Output = ()> + Send {
        let _ = news;
        std::future::ready(())
    }

    /// A sub-agent has ended its work, however it ended.
    fn subagent_stopped(&self, news: SubagentStop) -> impl Future<Output = ()> + Send {
        let _ = news;
        std::future::ready(())
    }
}
