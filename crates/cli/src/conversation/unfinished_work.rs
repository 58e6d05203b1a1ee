//! Background work of a conversation: follows it on demand, and asks what becomes of it when the person leaves.

use std::time::Duration;

use rooftree_protocol::{Command, Event, Problem, event::VERSION};
use rooftree_store::{TaskFilter, TaskRow, TaskStatus};

use super::line_mode::{ConversationStep, LineMode, WAIT};
use crate::{
    commands::run::{BackgroundPolicy, CliRequest},
    control::{owner, send},
    exit::Exit,
    terminal::{self, confirm, wrap},
};

/// How often, and after what pause, agents that were stopped are looked at.
const SETTLING: u32 = 120;
const PAUSE: Duration = Duration::from_millis(25);

impl LineMode<'_> {
    /// Follows what works in background until it ends, and asks what is open there.
    pub(super) async fn watch_background(&mut self) -> Result<ConversationStep, Problem> {
        let Some(session) = self.state.session.clone() else {
            return Ok(ConversationStep::Ask);
        };
        let queries = self.handle.queries(&owner());
        let is_unfinished = queries.is_unfinished(&session.id).await;
        let is_unfinished = is_unfinished.map_err(|error| error.problem())?;
        if !is_unfinished && !self.tasks().await?.iter().any(|task| task.child.is_some()) {
            return Ok(ConversationStep::Ask);
        }
        let inquiries = queries.inquiries(Some(&session.id)).await;
        let inquiries = inquiries.map_err(|error| error.problem())?.into_iter();
        let open = inquiries.filter(|asked| asked.answer.is_none() && !asked.settled);
        let open_prompts = open.map(|asked| Event {
            v: VERSION,
            id: None,
            ts: asked.asked_at,
            session: asked.session,
            run: asked.run,
            parent_run: None,
            agent: asked.agent,
            who: None,
            body: asked.asked,
        });
        let open_prompts = open_prompts.collect();
        let policy = BackgroundPolicy::Wait(WAIT);
        self.follow(CliRequest::Resume, policy, open_prompts).await
    }

    /// Agents and programs that work in background.
    pub(super) async fn tasks(&self) -> Result<Vec<TaskRow>, Problem> {
        let Some(session) = &self.state.session else {
            return Ok(Vec::new());
        };
        let queries = self.handle.queries(&owner());
        let tasks = queries.tasks(TaskFilter::of(&session.id)).await;
        let mut tasks = tasks.map_err(|error| error.problem())?;
        tasks.retain(|task| task.status == TaskStatus::Running);
        Ok(tasks)
    }

    /// Stops the agents in background, and waits a moment until they have ended.
    async fn stop_agents(&self) -> Result<(), Problem> {
        for _ in 0..SETTLING {
            let agents = self.tasks().await?.into_iter();
            let mut is_done = true;
            for session in agents.filter_map(|task| task.child) {
                is_done = false;
                send(&self.handle, Command::Cancel { session, run: None }).await?;
            }
            if is_done {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Leaves; asks first what is to become of what works in background.
    pub(super) async fn quit(&mut self) -> ConversationStep {
        let tasks = self.tasks().await.unwrap_or_default();
        if tasks.is_empty() {
            return ConversationStep::Leave(Exit::DONE);
        }
        let titles: Vec<&str> = tasks.iter().map(|task| task.title.as_str()).collect();
        self.remark(&format!("still at work: {}", titles.join(", ")));
        let asked = "  w waits   s stops them   Enter leaves: agents go on when the session does, programs end › ";
        let rows = wrap::rows(asked.trim_end(), terminal::width()).join("\n");
        match confirm::line(&format!("{rows} "))
            .await
            .as_deref()
            .map(str::trim)
        {
            Ok("w") => {
                let policy = BackgroundPolicy::WaitForAll(WAIT);
                let waited = self.follow(CliRequest::Resume, policy, Vec::new()).await;
                waited.unwrap_or_else(|problem| self.report(&problem))
            }
            Ok("s") => {
                if let Err(problem) = self.stop_agents().await {
                    self.report(&problem);
                }
                ConversationStep::Leave(Exit::DONE)
            }
            Ok(_) => ConversationStep::Leave(Exit::DONE),
            Err(_) => ConversationStep::Ask,
        }
    }
}
