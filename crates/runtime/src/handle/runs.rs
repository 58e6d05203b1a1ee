//! Commands about work under way: resume, cancel, stop a program, answer a question.

use rooftree_protocol::{
    Command, InquiryResponse, Principal, ProcessId, RunId, SessionId, command::CommandReply,
};

use super::Handle;
use crate::{Error, inquiries, signals::AgentSignal};

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
        let sender = Some(Box::new(who.clone()));
        let signal = AgentSignal::Cancel(run.clone(), sender);
        let session = session.clone();
        let command = Command::Cancel { session, run };
        self.tell_owner(who, signal, command).await
    }

    /// Stops a background program. No journal tells who did, so the audit log does.
    pub(super) async fn stop_process(
        &self,
        who: &Principal,
        session: &SessionId,
        process: ProcessId,
    ) -> Result<CommandReply, Error> {
        self.session(who, session).await?;
        if let Some(entry) = self.audited(who, "process.stop", &process) {
            self.store.add_audit(*entry).await?;
        }
        let signal = AgentSignal::StopProcess(process.clone());
        let session = session.clone();
        let command = Command::StopProcess { session, process };
        self.tell_owner(who, signal, command).await
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
        let answered = inquiries::by_person(response, who, self.now());
        let asked = inquiries::answer(&*self.store, id, answered).await?;
        self.wake(&asked.session, AgentSignal::Mail);
        Ok(CommandReply::Done)
    }

    /// Tells the agent if it is awake here, else leaves the command for the process that owns the session. A process
    /// without agents leaves it also where no process does: the one that takes the session over obeys it.
    async fn tell_owner(
        &self,
        who: &Principal,
        signal: AgentSignal,
        command: Command,
    ) -> Result<CommandReply, Error> {
        let (Command::Cancel { session, .. } | Command::StopProcess { session, .. }) = &command
        else {
            return Ok(CommandReply::Done);
        };
        let session = session.clone();
        if self.agents.is_some() && self.tell(&session, signal) {
            return Ok(CommandReply::Done);
        }
        self.session(who, &session).await?;
        let is_owned = match self.store.owner(&session).await? {
            Some(owner) => !owner.is_dead_for(&self.owner),
            None => false,
        };
        if is_owned || self.agents.is_none() {
            self.leave(who, &session, command).await?;
        }
        Ok(if is_owned {
            CommandReply::Forwarded
        } else {
            CommandReply::Stopping { run: None }
        })
    }
}
