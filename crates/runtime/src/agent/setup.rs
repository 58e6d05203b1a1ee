//! Sets up an agent when it wakes and when a run begins: tools, policy, prompt.

use std::sync::Arc;

use rooftree_protocol::{Mandate, PromptContext, RunId, event::RunMode};
use rooftree_store::ClaimedSession;

use super::{
    AgentActor,
    actor_state::{AgentInbox, AgentNotices, AgentRights, CallState, ModelState},
    history::History,
    hook_points,
    journal::Journal,
    opening, prompt, rights, task,
};
use crate::{
    Error, exposure::ExposedTools, inbox::InboxPrefetch, rights::AgentPlace,
    runtime_context::RuntimeContext, signals::SignalQueue,
};

impl AgentActor {
    pub(super) fn new(
        context: Arc<RuntimeContext>,
        claimed: ClaimedSession,
        signals: SignalQueue,
    ) -> Result<Self, Error> {
        let session = claimed.session;
        let resolved = context.resolved(&session.agent, None)?;
        let project_context = context.options.agents.project_context.current();
        let model = context.model(&session, &resolved.definition, None);
        let place = (session.cwd.as_path(), model.as_ref().ok());
        let read = (&project_context, PromptContext::Full);
        let prompt = prompt::system(&context, &resolved, read, place);
        let journal = Journal::open(
            context.clone(),
            session.clone(),
            claimed.claim,
            signals.clone(),
        );
        let definitions = context.bounding(&resolved.definition);
        let rights = AgentRights {
            policy: rights::first(&context, &definitions, None),
            basis: None,
            definitions,
            edition: 0,
            home: session.cwd.clone(),
        };
        let waiting = InboxPrefetch::new(claimed.waiting);
        Ok(Self {
            opening: opening(&session),
            rights,
            model: ModelState::new(model, prompt, resolved.limits.context_window),
            history: History::marked(context.options.mark.clone()),
            inbox: AgentInbox::new(signals, context.now(), waiting),
            notices: AgentNotices::default(),
            calls: CallState::default(),
            mandate: None,
            verifiers: Arc::new([]),
            hook_state: hook_points::HookState::default(),
            context,
            session,
            resolved,
            project_context,
            prompt_context: PromptContext::Full,
            journal,
        })
    }

    /// Takes up what this mandate allows; without one, what the definition does. Its model reads so much of what is
    /// around.
    pub(super) async fn set_up_run(
        &mut self,
        mandate: Option<Box<Mandate>>,
        run: &RunId,
        context: PromptContext,
    ) -> Result<(), Error> {
        self.rights.edition = self.context.options.agents.definitions.edition();
        let ceiling = self.ceiling();
        let offered = self.server_tools(mandate.as_deref(), run).await?;
        let around = self.context.options.agents.project_context.now();
        let (place, notice) = self
            .context
            .exposing(&self.session.agent, mandate.as_deref())
            .await?;
        let resolved = {
            let bounds = (
                mandate.as_deref(),
                ceiling.as_ref().map(|ceiling| &ceiling.bounds),
            );
            self.context.resolved_with(
                &self.session.agent,
                bounds,
                &offered,
                AgentPlace {
                    project_context: &around,
                    call_socket: place,
                    has_chat: self.session.chat.is_some(),
                },
            )?
        };
        (self.calls.leases, self.notices.pending) = (offered.leases, offered.notices);
        self.notices.pending.extend(resolved.unexposed().or(notice));
        self.notices
            .pending
            .extend(resolved.exposed.as_ref().and_then(ExposedTools::described));
        self.set_up_verifiers(&around, &resolved, mandate.as_deref());
        let bounding = self.context.bounding(&resolved.definition);
        self.notices.pending.extend(rights::hiding(&bounding));
        let is_bounded_alike = rights::are_same(&self.rights.definitions, &bounding);
        self.rights.definitions = bounding;
        let has_moved = self.change_directory(mandate.as_deref()).await;
        let is_same = !has_moved
            && self.prompt_context == context
            && Arc::ptr_eq(&self.resolved, &resolved)
            && Arc::ptr_eq(&self.project_context, &around);
        if is_same && is_bounded_alike && self.mandate == mandate {
            return Ok(());
        }
        let directory = task::told_directory(&self.session.cwd, mandate.as_deref());
        self.rights.policy =
            rights::first(&self.context, &self.rights.definitions, mandate.as_deref());
        // Whatever people have said is added before the first call.
        self.rights.basis = None;
        self.context
            .prepare_model(&self.session, &resolved.definition, mandate.as_deref())
            .await;
        let model = self
            .context
            .model(&self.session, &resolved.definition, mandate.as_deref());
        let place = (directory.as_ref(), model.as_ref().ok());
        let prompt = prompt::system(&self.context, &resolved, (&around, context), place);
        self.prompt_context = context;
        self.model
            .change(model, prompt, resolved.limits.context_window);
        self.journal.works_for(delegating_run(mandate.as_deref()));
        (self.resolved, self.mandate, self.project_context) = (resolved, mandate, around);
        Ok(())
    }
}

/// The run that a run belongs to in the tree of runs. One that was woken or scheduled begins a tree of its own.
fn delegating_run(mandate: Option<&Mandate>) -> Option<RunId> {
    let mandate =
        mandate.filter(|mandate| !matches!(mandate.mode, RunMode::Woken | RunMode::Scheduled))?;
    Some(mandate.parent.run.clone())
}
