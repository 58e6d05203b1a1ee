//! Caches the answers of read-only sub-agents: the same question about the same files has the same answer.
//!
//! Invariant: an answer is given again only if everything it follows from is what it was: the definition, prompt,
//! rules and model, and every file and directory below the working directory, by number, size and times. Whatever
//! else a child looked at or was told (`dependencies.rs`) keeps its answer out of the cache.

mod dependencies;
mod file_state;

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use rooftree_protocol::{
    Mandate, PromptContext,
    event::{RunEnd, RunMode, TaskNote},
};
use rooftree_tools::declared;

use super::{
    ActiveDelegation,
    inherit::DelegationInputs,
    request::{DelegationSurface, SessionStrategy},
};
use crate::{ProjectContext, cached_answers::CachedAnswer, caller::Caller};

/// Granularity of file times.
const COARSE: Duration = Duration::from_millis(20);

/// A question whose answer may be kept.
pub(super) struct CacheableQuestion {
    text: String,
    directory: PathBuf,
    since: SystemTime,
    /// Instructions and rules the prompt was made of, which may lie outside of the directory.
    project_context: Arc<ProjectContext>,
}

impl CacheableQuestion {
    /// The question, if nothing but files decides what its answer is.
    pub(super) fn of(
        caller: &Caller,
        asking: &DelegationInputs<'_>,
        mandate: &Mandate,
    ) -> Option<Self> {
        let request = asking.request;
        let is_plain = request.strategy == SessionStrategy::New
            && !request.is_background()
            && !matches!(
                request.surface,
                DelegationSurface::AgentsMessage | DelegationSurface::Verifier
            )
            && mandate.mode != RunMode::Fork;
        let only_looks = mandate.tools.iter().all(|tool| declared(tool).is_cacheable);
        if !is_plain || !only_looks || mandate.tools.is_empty() {
            return None;
        }
        let resolved = caller
            .context
            .resolved(&asking.definition.name, Some(mandate))
            .ok()?;
        // As the child would find them now, not as they were when the caller's run began.
        let project_context = caller.context.options.agents.project_context.now();
        let prompt = crate::agent::prompt::system(
            &caller.context,
            &resolved,
            (&project_context, PromptContext::Full),
            (&caller.session.cwd, None),
        );
        let Mandate {
            model,
            tools,
            permission_mode,
            allow,
            ask,
            deny,
            skills,
            max_turns,
            ..
        } = mandate;
        let told = caller.context.options.agents.surroundings.as_ref();
        let told = told.map(|read| read(&caller.session.cwd, caller.context.now()));
        // An answer names the session it was given in, which is its person's.
        let account = &caller.session.account;
        let text = format!(
            "{account:?}\0{told:?}\0{}\0{}\0{model:?}\0{tools:?}\0{permission_mode:?}\0{allow:?}\0{ask:?}\0{deny:?}\0{skills:?}\0{max_turns:?}\0{:?}",
            prompt.text,
            request.words(),
            asking.definition,
        );
        let directory = caller.session.cwd.clone();
        Some(Self {
            text,
            directory,
            since: SystemTime::now(),
            project_context,
        })
    }

    /// The answer, if it is known and still holds.
    pub(super) async fn known(&self, caller: &Caller) -> Option<(TaskNote, Arc<RunEnd>)> {
        let kept = caller.context.caches.answers.find(&self.text)?;
        if !Arc::ptr_eq(
            &self.project_context,
            &caller.context.options.agents.project_context.afresh(),
        ) {
            return None;
        }
        let files = file_state::of(self.directory.clone()).await?.name;
        (files == kept.files).then_some((
            TaskNote {
                cached: true,
                share: None,
                ..kept.note
            },
            kept.end,
        ))
    }

    /// Keeps an answer for the next time. Costs the caller no time.
    pub(super) fn keep(self, caller: &Caller, asked: &ActiveDelegation, end: &Arc<RunEnd>) {
        if !end.is_success() || end.outside {
            return;
        }
        let (context, note, end) = (caller.context.clone(), asked.note(), end.clone());
        context.task_tracker.clone().spawn(async move {
            let (store, tools) = (&**context.store(), &context.options.tools.all);
            if !dependencies::are_covered(store, tools, &note.session, &self.directory).await {
                return;
            }
            let Some(state) = file_state::of(self.directory).await else {
                return;
            };
            // What changed while it looked may have been seen in either state.
            let is_settled = state.latest + COARSE < self.since;
            if is_settled
                && Arc::ptr_eq(
                    &self.project_context,
                    &context.options.agents.project_context.afresh(),
                )
            {
                context.caches.answers.keep(
                    self.text,
                    CachedAnswer {
                        files: state.name,
                        note,
                        end,
                    },
                );
            }
        });
    }
}
