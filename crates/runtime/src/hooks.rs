//! Where a program that embeds the runtime has its say: before a tool call, and whenever something happens.
//!
//! Invariant: a hook only narrows. It can refuse a call or have a person asked about it; what the
//! policy refuses stays refused. A hook that fails, or does not answer in time, refuses.

use std::{collections::HashMap, path::PathBuf, sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use rooftree_protocol::{CallId, Effect, Event, RunId, SessionId};
use serde_json::Value;

use crate::Clock;

/// How long a hook may think before its silence means no.
const PATIENCE: Duration = Duration::from_secs(30);

/// A tool call that is about to be made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolUse {
    /// Whose.
    pub session: SessionId,
    /// In which run.
    pub run: Option<RunId>,
    /// The definition at work.
    pub agent: String,
    /// How many delegations above it.
    pub depth: u32,
    /// Which call.
    pub call: CallId,
    /// Canonical tool name.
    pub tool: String,
    /// Its arguments after normalising.
    pub input: Value,
    /// In a few words, for people.
    pub title: String,
    /// What it does to the world.
    pub effect: Effect,
    /// Where relative paths start.
    pub cwd: PathBuf,
}

/// What a hook says about a call, from the mildest to the strictest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing against it; the policy decides.
    Allow,
    /// A person must say.
    Ask,
    /// No, and why, in words for the model.
    Deny(String),
}

impl Verdict {
    /// No, because …
    pub fn deny(because: impl Into<String>) -> Self {
        Self::Deny(because.into())
    }
}

/// Is asked about each call that is in scope, before the policy's word is final.
pub type BeforeTool = Arc<dyn Fn(ToolUse) -> BoxFuture<'static, Verdict> + Send + Sync>;

/// Is shown every event of every session that lives here, in order. Must not wait.
pub type Watcher = Arc<dyn Fn(&Arc<Event>) + Send + Sync>;

/// Everything the embedding program wants to be asked and told.
#[derive(Clone, Default)]
pub struct Hooks {
    /// Asked one after the other; the strictest word counts.
    pub before_tool: Vec<BeforeTool>,
    /// Told one after the other.
    pub watchers: Vec<Watcher>,
}

impl Hooks {
    /// Shows an event to whoever watches.
    pub(crate) fn tell(&self, event: &Arc<Event>) {
        self.watchers.iter().for_each(|watcher| watcher(event));
    }

    async fn judge(&self, clock: &dyn Clock, about: &ToolUse) -> Verdict {
        let mut verdict = Verdict::Allow;
        for hook in &self.before_tool {
            let asking = std::panic::AssertUnwindSafe(ask(hook.clone(), about.clone())).catch_unwind();
            let said = tokio::select! {
                biased;
                said = asking => said.unwrap_or_else(|_| Verdict::deny("a hook crashed while it looked at this call")),
                () = clock.sleep(PATIENCE) => Verdict::deny("a hook did not answer in time"),
            };
            verdict = verdict.max(said);
            if matches!(verdict, Verdict::Deny(_)) {
                break;
            }
        }
        verdict
    }
}

/// Calling the closure may panic as well as waiting for it.
async fn ask(hook: BeforeTool, about: ToolUse) -> Verdict {
    hook(about).await
}

/// What hooks have said about the calls of one reply: each is asked about once.
#[derive(Default)]
pub(crate) struct Said(HashMap<CallId, Verdict>);

impl Said {
    /// What the hooks say, asked now if they were not asked before.
    pub(crate) async fn about(&mut self, hooks: &Hooks, clock: &dyn Clock, about: ToolUse) -> Verdict {
        if let Some(said) = self.0.get(&about.call) {
            return said.clone();
        }
        let verdict = hooks.judge(clock, &about).await;
        self.0.insert(about.call, verdict.clone());
        verdict
    }
}
