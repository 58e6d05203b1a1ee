//! Hooks: user programs and functions called before and after tool calls, prompts, run ends and the rest.
//!
//! A hook is a program that speaks the ecosystem's JSON, or a function of the program around the
//! runtime; both are asked the same way at the same points. The points are calls in the files of
//! `agent/`; this module knows nothing about agents.
//!
//! Invariant: a hook narrows. It can refuse a call, rewrite it (which is checked anew) or have a person
//! asked; the one thing it can grant is not to ask where only the mode wants to. A hook that fails, or
//! does not answer in time, refuses where something waits to pass.

mod answer;
mod errors;
mod hook;
mod http;
mod launch;
mod matcher;
mod parse;
mod payload;
mod pins;
mod point;
mod program;
mod run_context;
mod scripts;
mod session_tracking;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
};

use futures::{FutureExt, future::BoxFuture};
use rooftree_process::EnvironmentFilter;
use rooftree_protocol::{CallId, Effect, Event, RunId, SessionId};
use rooftree_tools::{SandboxConfig, WebConfig};
use serde_json::Value;

use crate::Clock;

pub use answer::HookAnswer;
pub use errors::HookError;
pub use hook::{
    AskedSessions, ConfiguredHook, HookAction, HookFailureMode, HookHandler, HookWait, PATIENCE,
};
pub use http::HookService;
pub use matcher::HookMatcher;
pub use parse::{ParsedHooks, read};
pub use payload::{HookCallFacts, HookPayload};
pub use pins::ScriptPins;
pub use point::{HookPoint, POINTS};
pub use program::HookProgram;
pub use run_context::{HookConfinement, HookRunContext};
pub use scripts::HookScript;
pub(crate) use session_tracking::{EndedSession, SessionBeginning, SessionTracker};

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

/// A hook's verdict on a call, from the mildest to the strictest.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookVerdict {
    /// Nothing against it; the policy decides.
    #[default]
    Allow,
    /// A person must say.
    Ask,
    /// No, and why, in words for the model.
    Deny(String),
}

impl HookVerdict {
    /// No, because …
    pub fn deny(because: impl Into<String>) -> Self {
        Self::Deny(because.into())
    }
}

/// Is asked about each call that is in scope, before the policy's word is final.
pub type BeforeToolHook = Arc<dyn Fn(ToolUse) -> BoxFuture<'static, HookVerdict> + Send + Sync>;

/// Is shown every event of every session that lives here, in order. Must not wait.
pub type EventWatcher = Arc<dyn Fn(&Arc<Event>) + Send + Sync>;

/// All registered hooks and event watchers.
#[derive(Clone, Default)]
pub struct Hooks {
    /// Called in order; the strictest verdict counts.
    pub before_tool: Vec<BeforeToolHook>,
    /// Called in order.
    pub watchers: Vec<EventWatcher>,
    /// Called in order at their points.
    pub hooks: Vec<ConfiguredHook>,
    /// The project's root, which programs are told; a session's directory if there is none.
    pub project: Option<PathBuf>,
    /// What programs may inherit of our variables.
    pub inheritance: Arc<EnvironmentFilter>,
    /// Where the program was started: names in commands may be meant from there.
    pub cwd: Option<PathBuf>,
    /// Whose programs run confined.
    pub confined: HookConfinement,
    /// How hooks reach the web.
    pub web: WebConfig,
    /// What the files that hooks name held at first.
    pub pins: Arc<ScriptPins>,
    /// Whether the user was warned that programs cannot be sandboxed here.
    is_told: Arc<AtomicBool>,
}

impl Hooks {
    /// The context that hooks run in, with this sandbox for those that are confined.
    pub fn run_context(&self, confining: SandboxConfig) -> HookRunContext {
        HookRunContext {
            project: self.project.clone(),
            inheritance: self.inheritance.clone(),
            confined: self.confined,
            confining,
            web: self.web.clone(),
            pins: self.pins.clone(),
            is_told: self.is_told.clone(),
        }
    }

    /// Looks at the files that these hooks and some others name: so they must be when a program is started.
    pub fn pin(&self, others: &[ConfiguredHook]) {
        let Some(project) = self.project.as_ref().or(self.cwd.as_ref()) else {
            return;
        };
        let cwd = self.cwd.as_ref().unwrap_or(project);
        self.pins.see(
            self.hooks
                .iter()
                .chain(others)
                .flat_map(|hook| hook.scripts(project, cwd)),
        );
    }

    /// Looks at the scripts that a verifier's command runs: so they must be when it is run.
    pub(crate) fn pin_verifier(&self, command: &str) {
        let Some(cwd) = self.cwd.as_ref().or(self.project.as_ref()) else {
            return;
        };
        self.pins.see(self.scripts_run_by(command, cwd));
    }

    /// Whether the scripts that a verifier's command runs are as they were; else which one is not.
    pub(crate) fn check_verifier(&self, command: &str, cwd: &Path) -> Result<(), HookError> {
        let is_pinned = self.cwd.is_some() || self.project.is_some();
        if is_pinned {
            self.pins.check(self.scripts_run_by(command, cwd))
        } else {
            Ok(())
        }
    }

    /// Only what is run: what a verifier looks at is the work it checks.
    fn scripts_run_by(&self, command: &str, cwd: &Path) -> Vec<HookScript> {
        let hook = ConfiguredHook::program(HookPoint::Notification, HookProgram::shell(command));
        hook.scripts(self.project.as_deref().unwrap_or(cwd), cwd)
    }

    /// Whether any hook is registered for this point.
    pub(crate) fn wants(&self, point: HookPoint) -> bool {
        self.hooks.iter().any(|hook| hook.point == point)
    }

    /// Passes an event to the watchers.
    pub(crate) fn tell(&self, event: &Arc<Event>) {
        self.watchers.iter().for_each(|watcher| watcher(event));
    }

    /// The verdict of hook functions on a call that is about to be made.
    pub(crate) async fn judge(&self, clock: &dyn Clock, about: &ToolUse) -> HookVerdict {
        let mut verdict = HookVerdict::Allow;
        for hook in &self.before_tool {
            let asking =
                std::panic::AssertUnwindSafe(judged(hook.clone(), about.clone())).catch_unwind();
            let said = tokio::select! {
                biased;
                said = asking => said.unwrap_or_else(|_| HookVerdict::deny("a hook crashed while it looked at this call")),
                () = clock.sleep(PATIENCE) => HookVerdict::deny("a hook did not answer in time"),
            };
            verdict = verdict.max(said);
            if matches!(verdict, HookVerdict::Deny(_)) {
                break;
            }
        }
        verdict
    }
}

/// Calling the closure may panic as well as waiting for it.
async fn judged(hook: BeforeToolHook, about: ToolUse) -> HookVerdict {
    hook(about).await
}

/// Those of some hooks that are to be asked on this occasion.
pub(crate) fn asked_on<'a>(
    hooks: impl Iterator<Item = &'a ConfiguredHook>,
    payload: &HookPayload,
) -> Vec<ConfiguredHook> {
    let wanted = hooks.filter(|hook| hook.is_for(payload) && hook.has_turn(&payload.session));
    wanted.cloned().collect()
}

/// Asks these hooks one after the other, each about the call as those before have left it.
pub(crate) async fn ask(
    hooks: Vec<ConfiguredHook>,
    mut payload: HookPayload,
    run_context: HookRunContext,
    clock: Arc<dyn Clock>,
) -> HookAnswer {
    let mut all = HookAnswer::default();
    for hook in hooks {
        let said = match hook.ask(&payload, &run_context, &*clock).await {
            Ok(answer) => hook.bounded(answer),
            Err(failure) => hook.failed(&failure),
        };
        if let Some(input) = said
            .input
            .as_ref()
            .filter(|_| payload.point == HookPoint::PreToolUse)
        {
            payload.details.insert("tool_input".into(), input.clone());
        }
        all.add(said);
        // After a refusal at a gate point the remaining hooks are not asked.
        if all.stops.is_some() || payload.point.is_gate() && all.refusal().is_some() {
            break;
        }
    }
    all
}

/// Notifies hooks that no agent works on a session any more. Their output is ignored.
pub(crate) async fn notify_session_end(
    (mut payload, own): EndedSession,
    hooks: &Hooks,
    run_context: HookRunContext,
    clock: Arc<dyn Clock>,
) {
    payload = payload.named(["other".to_owned()]);
    (payload.point, payload.run) = (HookPoint::SessionEnd, None);
    payload.details.insert("reason".into(), "other".into());
    let ending = asked_on(hooks.hooks.iter().chain(&own), &payload);
    ask(ending, payload, run_context, clock).await;
}
