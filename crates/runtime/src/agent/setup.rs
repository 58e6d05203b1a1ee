//! Sets up an agent when it wakes and when a run begins: tools, policy, prompt.

use std::sync::Arc;

use rooftree_protocol::{Mandate, RunId, event::RunMode};
use rooftree_providers::MediaBytes;
use rooftree_store::ClaimedSession;
use rooftree_tools::tool::FileViews;

use super::{
    AgentActor, history::History, hook_points, journal::Journal, nested_calls, opening, prompt,
    rights, task, tool_questions, window::ContextWindow,
};
use crate::{
    Error, exposure::ExposedTools, inbox::InboxPrefetch, runtime_context::RuntimeContext,
    signals::SignalQueue,
};

impl AgentActor {
    pub(super) fn new(
        context: Arc<RuntimeContext>,
        claimed: ClaimedSession,
        signals: SignalQueue,
    ) -> Result<Self, Error> {
        let session = claimed.session;
        let resolved = context.resolved(&session.agent, None)?;
        let project_context = context.options.project_context.current();
        let prompt = prompt::system(&context, &resolved, &project_context, &session.cwd);
        let model = context.model(&session, &resolved.definition, None);
        let window = model
            .as_ref()
            .ok()
            .and_then(|model| model.window)
            .unwrap_or(resolved.limits.context_window);
        let journal = Journal::open(
            context.clone(),
            session.clone(),
            claimed.claim,
            signals.clone(),
        );
        let bounding = context.bounding(&resolved.definition);
        Ok(Self {
            opening: opening(&session),
            policy: rights::first(&context, &bounding, None),
            bounding,
            edition: 0,
            policy_of: None,
            home: session.cwd.clone(),
            mandate: None,
            leases: Vec::new(),
            notices: Vec::new(),
            sent_notices: Vec::new(),
            window: ContextWindow::new(window),
            history: History::marked(context.options.mark.clone()),
            views: FileViews::default(),
            media: MediaBytes::default(),
            dropped: Vec::new(),
            refusals: 0,
            awake_since: context.now(),
            at_hand: InboxPrefetch::new(claimed.waiting),
            has_news: true,
            clear_asked: false,
            ending: None,
            tool_questions: tool_questions::ToolQuestionQueue::default(),
            inner: nested_calls::NestedCalls::default(),
            unwanted: Vec::new(),
            hooked: hook_points::HookState::default(),
            verifiers: Arc::new([]),
            context,
            session,
            resolved,
            project_context,
            prompt,
            model,
            journal,
            signals,
        })
    }

    /// Takes up what this mandate allows; without one, what the definition does.
    pub(super) async fn set_up_run(
        &mut self,
        mandate: Option<Box<Mandate>>,
        run: &RunId,
    ) -> Result<(), Error> {
        self.edition = self.context.options.definitions.edition();
        let ceiling = self.ceiling();
        let offered = self.server_tools(mandate.as_deref(), run).await?;
        let around = self.context.options.project_context.now();
        let (place, notice) = self
            .context
            .exposing(&self.session.agent, mandate.as_deref())
            .await?;
        let resolved = {
            let bounds = (
                mandate.as_deref(),
                ceiling.as_ref().map(|ceiling| &ceiling.bounds),
            );
            self.context
                .resolved_with(&self.session.agent, bounds, &offered, (&around, place))?
        };
        (self.leases, self.notices) = (offered.leases, offered.notices);
        self.notices.extend(notice.or_else(|| resolved.unexposed()));
        self.notices
            .extend(resolved.exposed.as_ref().and_then(ExposedTools::described));
        self.set_up_verifiers(&around, &resolved, mandate.as_deref());
        let bounding = self.context.bounding(&resolved.definition);
        self.notices.extend(rights::hiding(&bounding));
        let is_bounded_alike = rights::are_same(&self.bounding, &bounding);
        self.bounding = bounding;
        let has_moved = self.change_directory(mandate.as_deref()).await;
        let is_same = !has_moved
            && Arc::ptr_eq(&self.resolved, &resolved)
            && Arc::ptr_eq(&self.project_context, &around);
        if is_same && is_bounded_alike && self.mandate == mandate {
            return Ok(());
        }
        let directory = task::told_directory(&self.session.cwd, mandate.as_deref());
        self.prompt = prompt::system(&self.context, &resolved, &around, &directory);
        self.policy = rights::first(&self.context, &self.bounding, mandate.as_deref());
        // Whatever people have said is added before the first call.
        self.policy_of = None;
        self.model = self
            .context
            .model(&self.session, &resolved.definition, mandate.as_deref());
        let window = self.model.as_ref().ok().and_then(|model| model.window);
        self.window = ContextWindow::new(window.unwrap_or(resolved.limits.context_window));
        self.journal.works_for(delegating_run(mandate.as_deref()));
        (self.resolved, self.mandate, self.project_context) = (resolved, mandate, around);
        Ok(())
    }
}

/// The run that a run belongs to in the tree of runs. One that was woken begins a tree of its own.
fn delegating_run(mandate: Option<&Mandate>) -> Option<RunId> {
    let mandate = mandate.filter(|mandate| mandate.mode != RunMode::Woken)?;
    Some(mandate.parent.run.clone())
}
