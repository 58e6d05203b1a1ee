//! One configured hook: when it is asked, its timeout, and how its failure is handled.

use std::{
    collections::VecDeque,
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use rooftree_protocol::{DefinitionLevel, SessionId};
use rooftree_tools::PermissionRule;

use super::{
    HookAnswer, HookError, HookMatcher, HookPayload, HookPoint, HookProgram, HookRunContext,
    HookService,
    scripts::{HookScript, scripts},
};
use crate::Clock;

/// Default timeout of a hook.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Is asked at one point by calling it.
pub type HookHandler = Arc<dyn Fn(HookPayload) -> BoxFuture<'static, HookAnswer> + Send + Sync>;

/// Something that is asked or told at one point.
#[derive(Clone)]
#[non_exhaustive]
pub struct ConfiguredHook {
    /// At which point.
    pub point: HookPoint,
    /// For which tools, agents or reasons.
    pub matcher: HookMatcher,
    /// Only for calls that this rule may mean.
    pub condition: Option<PermissionRule>,
    /// What is asked.
    pub action: HookAction,
    /// How long it may think.
    pub timeout: Duration,
    /// Whether its answer is waited for.
    pub wait: HookWait,
    /// What a failure means at a point where something waits to pass.
    pub on_failure: HookFailureMode,
    /// The sessions it was asked in, if it is asked only once in each.
    pub once: Option<AskedSessions>,
    /// What people read while it is asked.
    pub status: Option<String>,
    /// Who wrote it.
    pub level: DefinitionLevel,
    /// Where it is written.
    pub place: PathBuf,
}

/// The sessions in which a hook was asked, the last ones.
pub type AskedSessions = Arc<Mutex<VecDeque<SessionId>>>;

/// Sessions of which it is remembered that a hook was asked in them.
const MOST_ASKED: usize = 1_000;

/// The program, service or function that is called.
#[derive(Clone)]
pub enum HookAction {
    /// A program.
    Program(HookProgram),
    /// A service, over HTTP.
    Service(HookService),
    /// A function of the program around the runtime.
    Handler(HookHandler),
}

/// Whether an answer is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookWait {
    /// The work goes on when the hook has answered.
    Foreground,
    /// The work goes on at once, and what the hook says has no effect.
    Background,
}

/// Failure mode at a gate point: refuse (closed) or let pass (open).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookFailureMode {
    /// It does not pass.
    Closed,
    /// It passes.
    Open,
}

impl ConfiguredHook {
    /// A function that is asked at this point.
    pub fn handler(point: HookPoint, handler: HookHandler) -> Self {
        Self::new(point, HookAction::Handler(handler))
    }

    /// A program that is asked at this point.
    pub fn program(point: HookPoint, program: HookProgram) -> Self {
        Self::new(point, HookAction::Program(program))
    }

    /// A service that is asked at this point.
    pub fn service(point: HookPoint, service: HookService) -> Self {
        Self::new(point, HookAction::Service(service))
    }

    fn new(point: HookPoint, action: HookAction) -> Self {
        Self {
            point,
            matcher: HookMatcher::All,
            condition: None,
            action,
            timeout: PATIENCE,
            wait: HookWait::Foreground,
            on_failure: HookFailureMode::Closed,
            once: None,
            status: None,
            level: DefinitionLevel::Code,
            place: PathBuf::new(),
        }
    }

    /// Its display name.
    pub fn name(&self) -> &str {
        match &self.action {
            HookAction::Program(program) => &program.shown,
            HookAction::Service(service) => &service.url,
            HookAction::Handler(_) => "a function of the program",
        }
    }

    /// The files of a project, or of the directory it runs in, that its command may mean.
    pub fn scripts(&self, project: &Path, cwd: &Path) -> Vec<HookScript> {
        match &self.action {
            HookAction::Program(program) => {
                scripts(&program.names(project), self.point, project, cwd)
            }
            HookAction::Service(_) | HookAction::Handler(_) => Vec::new(),
        }
    }

    /// Whether it is to be asked on this occasion.
    pub fn is_for(&self, payload: &HookPayload) -> bool {
        self.point == payload.point
            && self.matcher.is_for(&payload.names)
            && self
                .condition
                .as_ref()
                .is_none_or(|rule| payload.is_meant_by(rule))
    }

    /// Whether it may be asked in this session; notes that it was.
    pub(super) fn has_turn(&self, session: &SessionId) -> bool {
        let Some(once) = &self.once else { return true };
        let mut asked = once.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.contains(session) {
            return false;
        }
        if asked.len() >= MOST_ASKED {
            asked.pop_front();
        }
        asked.push_back(session.clone());
        true
    }

    /// Asks it. It is ended when its time is over, and when the wait is dropped.
    pub async fn ask(
        &self,
        payload: &HookPayload,
        run_context: &HookRunContext,
        clock: &dyn Clock,
    ) -> Result<HookAnswer, HookError> {
        let asking = async {
            match &self.action {
                HookAction::Program(program) => {
                    let (hook, root, cwd) =
                        (self.clone(), run_context.root(payload), payload.cwd.clone());
                    run_context
                        .is_unchanged(move || hook.scripts(&root, &cwd))
                        .await?;
                    program.ask(payload, run_context, self.level).await
                }
                HookAction::Service(service) => service.ask(payload, run_context, self.level).await,
                HookAction::Handler(handler) => Ok(handler(payload.clone()).await),
            }
        };
        tokio::select! {
            biased;
            // Calling a function may panic as well as waiting for it.
            said = AssertUnwindSafe(asking).catch_unwind() => {
                said.unwrap_or_else(|_| Err(HookError::Crashed("it panicked".into())))
            }
            () = clock.sleep(self.timeout) => Err(HookError::OutOfTime),
        }
    }

    /// Converts a failure to an answer.
    pub(super) fn failed(&self, failure: &HookError) -> HookAnswer {
        let words = format!(
            "the {} hook `{}` failed: {failure}",
            self.point,
            self.name()
        );
        // A program that ends with an error of its own has looked and has not said no.
        let is_error = matches!(failure, HookError::Error { .. });
        // `on_failure: open` was not meant for a failure that an agent caused by changing the script.
        let is_closed =
            self.on_failure == HookFailureMode::Closed || matches!(failure, HookError::Changed(_));
        if self.point.is_gate() && !is_error && is_closed {
            return HookAnswer::deny(words);
        }
        HookAnswer {
            notices: vec![words],
            ..HookAnswer::default()
        }
    }

    /// What it may say, given who wrote it.
    ///
    /// Invariant: a project's hook never answers for a person. A folder that was merely downloaded
    /// must not decide what happens on this machine.
    pub(super) fn bounded(&self, mut answer: HookAnswer) -> HookAnswer {
        if answer.permits && self.level == DefinitionLevel::Project {
            answer.permits = false;
            let words = format!(
                "the hook `{}` cannot allow anything: it is the project's",
                self.name()
            );
            answer.notices.push(words);
        }
        answer
    }
}
