//! Commands about work under way: resume, cancel, stop a program, answer a question.

use rooftree_protocol::{
    Command, ErrorCode, InquiryResponse, Lane, PermissionScope, Principal, Problem, ProcessId,
    RunId, SessionId, command::CommandReply,
};
use rooftree_store::{AuditEntry, CommandRow, RunFilter, batch_limit};

use super::Handle;
use crate::{Error, inquiries, signals::AgentSignal, visibility};

impl Handle {
    pub(super) async fn resume(
        &self,
        who: &Principal,
        session: &SessionId,
    ) -> Result<CommandReply, Error> {
        let session = self.session(who, session).await?;
        if self.agents.is_none() {
            return Err(Self::needs_agents("resuming a session"));
        }
        self.wake(&session.id, AgentSignal::Mail);
        Ok(CommandReply::Session(Box::new(session)))
    }

    pub(super) async fn cancel(
        &self,
        who: &Principal,
        session: &SessionId,
        run: Option<RunId>,
    ) -> Result<CommandReply, Error> {
        self.owned_session(who, session).await?;
        let run = match run {
            Some(run) => Some(run),
            None => self.current_run(session).await?,
        };
        let signal = AgentSignal::Cancel(run.clone(), Some(Box::new(who.clone())));
        let command = Command::Cancel {
            session: session.clone(),
            run,
        };
        self.tell_owner(who, session, (signal, command), None).await
    }

    /// The open run, or the one that the first waiting message will start. Named here, a command to stop is neither lost
    /// before that run begins nor applied to a later one.
    pub(super) async fn current_run(&self, session: &SessionId) -> Result<Option<RunId>, Error> {
        // Before the runs: a message that is taken meanwhile is then an open run.
        let mail = self
            .store
            .waiting(session, Lane::Mail, batch_limit(Lane::Mail));
        let mail = mail.await?;
        let newest = RunFilter {
            session: Some(session.clone()),
            limit: 1,
            ..RunFilter::default()
        };
        let newest = self.store.runs(newest).await?.into_iter().next();
        if let Some(open) = newest.filter(|run| run.ended.is_none()) {
            return Ok(open.started.run);
        }
        let next = mail.iter().find(|item| item.withdrawn.is_none());
        Ok(next.map(|item| RunId::derived_from(item.message.id.as_str())))
    }

    /// Stops a background program. No journal tells who did, so the audit log does.
    pub(super) async fn stop_process(
        &self,
        who: &Principal,
        session: &SessionId,
        process: ProcessId,
    ) -> Result<CommandReply, Error> {
        let audit = self.audited(who, "process.stop", &process);
        let signal = AgentSignal::StopProcess(process.clone());
        let command = Command::StopProcess {
            session: session.clone(),
            process,
        };
        self.tell_owner(who, session, (signal, command), audit)
            .await
    }

    /// Lets the call that waits for a delegated run return, in whichever process it waits. Its result tells the agent,
    /// the audit log tells who did it.
    pub(super) async fn move_to_background(
        &self,
        who: &Principal,
        session: &SessionId,
        run: RunId,
    ) -> Result<CommandReply, Error> {
        let audit = self.audited(who, "run.background", &run);
        let signal = AgentSignal::MoveToBackground(run.clone());
        let command = Command::MoveToBackground {
            session: session.clone(),
            run,
        };
        self.tell_owner(who, session, (signal, command), audit)
            .await
    }

    /// Ends the tasks, of one session or of all, whose program belonged to a process that was killed. Says how many. It
    /// records what happened, so it needs no principal.
    pub async fn settle_programs(&self, session: Option<&SessionId>) -> Result<usize, Error> {
        let settled = crate::tasks::settle_orphaned_programs(&*self.store, session, self.now());
        Ok(settled.await?)
    }

    /// Keeps an answer, if it is the first one, and wakes the agent that waits for it.
    pub(super) async fn answer(
        &self,
        who: &Principal,
        id: &str,
        response: InquiryResponse,
    ) -> Result<CommandReply, Error> {
        if let Some(asked) = self.store.inquiry(id).await? {
            // One of a session that this principal may not see is not there.
            let session = visibility::find(&*self.store, who, &asked.session).await?;
            session.ok_or_else(|| inquiries::unknown(id))?;
        }
        refuse_wide_answer(who, &response)?;
        let answered = inquiries::by_person(response, who, self.now());
        let asked = inquiries::answer(&*self.store, id, answered).await?;
        self.bus.touch();
        self.wake(&asked.session, AgentSignal::Mail);
        Ok(CommandReply::Done)
    }

    /// Tells the agent if it is awake here, else leaves the command for the process that owns the session. A process
    /// without agents leaves it also where no process does: the one that takes the session over reads it. What is left
    /// in a deleted session can be stopped too.
    async fn tell_owner(
        &self,
        who: &Principal,
        session: &SessionId,
        (signal, command): (AgentSignal, Command),
        audit: Option<Box<AuditEntry>>,
    ) -> Result<CommandReply, Error> {
        self.owned_session(who, session).await?;
        if self.tell(session, signal) {
            if let Some(entry) = audit {
                self.store.add_audit(*entry).await?;
            }
            return Ok(CommandReply::Done);
        }
        let owner = self.store.owner(session).await?;
        let is_owned = owner.is_some_and(|owner| !owner.is_dead_for(&self.owner));
        if is_owned || self.agents.is_none() {
            let row = CommandRow {
                command,
                who: Some(Box::new(who.clone())),
                audit,
                at: self.now(),
            };
            self.store.put_command(session, row).await?;
        }
        Ok(if is_owned {
            CommandReply::Forwarded
        } else {
            CommandReply::Stopping { run: None }
        })
    }
}

/// An answer that holds for a project or for ever is a rule for the sessions of others: only the owner gives one.
fn refuse_wide_answer(who: &Principal, response: &InquiryResponse) -> Result<(), Problem> {
    let InquiryResponse::Permission(answer) = response else {
        return Ok(());
    };
    let is_own = matches!(
        answer.scope,
        PermissionScope::Once | PermissionScope::Session
    );
    if who.may_rule_all() || is_own {
        return Ok(());
    }
    let message = "only the owner answers for a project or for ever";
    Err(Problem::new(ErrorCode::ToolDenied, message).fix("answer once, or for this session"))
}
