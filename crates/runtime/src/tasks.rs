//! Records background processes and their output in the store, so that other processes can list and follow them and a
//! crash leaves none behind.
//!
//! Output goes into the store in pieces, a few times a second at most, with secrets redacted. So it can be followed
//! from any terminal, and remains after the end of the process and of the agent that started it.

mod notice;
mod orphaned;

use std::{collections::HashMap, sync::Arc, time::Duration};

use rooftree_process::{ExitReason, ProcessIdentity, kill_leftovers};
use rooftree_protocol::SessionId;
use rooftree_secrets::StreamRedactor;
use rooftree_store::{OutputPiece, TaskRow, TaskStatus};
use rooftree_tools::ProcessEvent;
use tokio::{
    sync::mpsc::UnboundedReceiver,
    time::{MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;

pub use self::orphaned::settle_orphaned_programs;
use crate::{
    Error,
    runtime_context::{RuntimeContext, SessionAction},
};

/// How often it is written down what processes wrote.
const PAUSE: Duration = Duration::from_millis(250);

/// A process at work, and how much of what it wrote is kept.
struct RunningProcess {
    task: TaskRow,
    held: StreamRedactor,
    kept: u64,
}

/// The list of tasks, kept in step with the processes.
pub(crate) struct ProcessTaskList {
    context: Arc<RuntimeContext>,
    running: HashMap<String, RunningProcess>,
}

impl ProcessTaskList {
    pub(crate) fn new(context: Arc<RuntimeContext>) -> Self {
        Self {
            context,
            running: HashMap::new(),
        }
    }

    /// Writes down what happens until it is told to stop, and then what has happened until then.
    pub(crate) async fn keep(
        mut self,
        mut events: UnboundedReceiver<ProcessEvent>,
        stop: CancellationToken,
    ) {
        let mut pause = interval(PAUSE);
        pause.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Some(event) => self.note(event).await,
                    None => return,
                },
                _ = pause.tick(), if !self.running.is_empty() => {
                    self.running.values_mut().for_each(|process| process.write_down(&self.context));
                }
                () = stop.cancelled() => break,
            }
        }
        while let Ok(event) = events.try_recv() {
            self.note(event).await;
        }
    }

    async fn note(&mut self, event: ProcessEvent) {
        let context = &self.context;
        match event {
            ProcessEvent::Started {
                id,
                session,
                command,
                identity,
                ..
            } => {
                let task = started(context, id.to_string(), session, command, &identity);
                context.store().put_task(task.clone()).detach();
                self.running.insert(
                    task.id.clone(),
                    RunningProcess {
                        task,
                        held: StreamRedactor::default(),
                        kept: 0,
                    },
                );
            }
            ProcessEvent::Ended {
                id,
                ending,
                is_told,
                ..
            } => {
                if let Some(mut process) = self.running.remove(id.as_str()) {
                    // Before its end, so that a reader who sees the end finds all it wrote.
                    process.write_down(context);
                    let rest = process.held.finish(context.secrets());
                    process.keep(context, rest);
                    let is_by_itself =
                        matches!(ending, ExitReason::Exited(_) | ExitReason::Signalled(_));
                    if is_by_itself && !is_told {
                        tell_agent(context, &process.task, &ending).await;
                    }
                    context
                        .store()
                        .put_task(ended(context, process.task, &ending))
                        .detach();
                }
            }
        }
    }
}

impl RunningProcess {
    /// Keeps what is new, as far as it is clear that no secret has only begun in it.
    fn write_down(&mut self, context: &RuntimeContext) {
        let news = context
            .options
            .tools
            .processes
            .take_unrecorded_output(&self.task.session, &self.task.id);
        if !news.is_empty() {
            let text = self.held.push(context.secrets(), &news);
            self.keep(context, text);
        }
    }

    fn keep(&mut self, context: &RuntimeContext, text: String) {
        if text.is_empty() {
            return;
        }
        let piece = OutputPiece {
            start: self.kept,
            text,
        };
        self.kept = piece.end();
        context.store().put_output(&self.task.id, piece).detach();
    }
}

/// Ends what a session's owner left running that did not give its claim back, in the foreground too, and says so in the
/// list and to the agent.
pub(crate) async fn clean_up(context: &RuntimeContext, session: &SessionId) -> Result<(), Error> {
    let _ = tokio::task::spawn_blocking(kill_leftovers).await;
    let tasks = context
        .store()
        .tasks(rooftree_store::TaskFilter::of(session))
        .await?;
    for task in tasks
        .into_iter()
        .filter(|task| task.status == TaskStatus::Running && task.kind == "process")
    {
        orphaned::settle(&**context.store(), task, context.now()).await?;
    }
    Ok(())
}

/// Settles the programs of a session whose process was killed after it had given the claim back.
pub(crate) async fn settle_left(
    context: &RuntimeContext,
    session: &SessionId,
) -> Result<(), Error> {
    settle_orphaned_programs(&**context.store(), Some(session), context.now()).await?;
    Ok(())
}

/// Tells the agent that its program has ended, once: the message has the same key as the one about a program whose
/// process was killed. A main agent that has nothing to do is woken. A sub-agent reads it before its next turn only: a
/// run that this message started would not have the narrowed rights of the run that its parent asked for.
async fn tell_agent(context: &Arc<RuntimeContext>, task: &TaskRow, ending: &ExitReason) {
    let session = context.store().session(&task.session).await;
    let is_main = matches!(session, Ok(Some(session)) if session.parent.is_none());
    let post = notice::ended(task, &words_for(ending), !is_main, context.now());
    let posted = context.store().post_to_living(post);
    let (context, session) = (context.clone(), task.session.clone());
    context.clone().task_tracker.spawn(async move {
        // A deleted session has no agent to tell, and nothing else refuses the message.
        if posted.await.is_ok() {
            let _ = context.session_actions.send(SessionAction::Wake(session));
        }
    });
}

fn started(
    context: &RuntimeContext,
    id: String,
    session: SessionId,
    title: String,
    identity: &ProcessIdentity,
) -> TaskRow {
    TaskRow {
        id,
        session,
        kind: "process".into(),
        title,
        status: TaskStatus::Running,
        process_group: Some((identity.group, identity.start)),
        detail: String::new(),
        started_at: context.now(),
        ended_at: None,
        child: None,
        data: serde_json::to_value(&context.owner)
            .map(|owner| serde_json::Map::from_iter([(orphaned::OWNER.to_owned(), owner)]))
            .unwrap_or_default(),
    }
}

fn ended(context: &RuntimeContext, task: TaskRow, ending: &ExitReason) -> TaskRow {
    let status = match ending {
        ExitReason::Exited(0) => TaskStatus::Completed,
        ExitReason::Exited(_) => TaskStatus::Failed,
        _ => TaskStatus::Cancelled,
    };
    TaskRow {
        status,
        detail: words_for(ending),
        ended_at: Some(context.now()),
        ..task
    }
}

fn words_for(ending: &ExitReason) -> String {
    match ending {
        ExitReason::Exited(code) => format!("exit code {code}"),
        ExitReason::Signalled(signal) => format!("ended by signal {signal}"),
        ExitReason::TimedOut => "its time was over".into(),
        ExitReason::Cancelled => "stopped".into(),
    }
}
