//! Writes down which background processes there are and what they write, so that others can list and follow
//! them and a crash leaves none behind.
//!
//! What a process wrote goes into the store in pieces, a few times a second at most, without its secrets. So it
//! is followed from any terminal, and is there after the end of the process and of whoever started it.

mod left;
mod notice;

use std::{collections::HashMap, sync::Arc, time::Duration};

use rooftree_process::{Ending, Identity, sweep};
use rooftree_protocol::SessionId;
use rooftree_store::{OutputPiece, TaskRow, TaskStatus};
use rooftree_tools::ProcessEvent;
use tokio::{
    sync::mpsc::UnboundedReceiver,
    time::{MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;

pub use self::left::settle_left_programs;
use crate::{
    Error,
    secrets::Held,
    world::{Errand, World},
};

/// How often it is written down what processes wrote.
const PAUSE: Duration = Duration::from_millis(250);

/// A process at work, and how much of what it wrote is kept.
struct Running {
    task: TaskRow,
    held: Held,
    kept: u64,
}

/// The list of tasks, kept in step with the processes.
pub(crate) struct List {
    world: Arc<World>,
    running: HashMap<String, Running>,
}

impl List {
    pub(crate) fn new(world: Arc<World>) -> Self {
        Self { world, running: HashMap::new() }
    }

    /// Writes down what happens until it is told to stop, and then what has happened until then.
    pub(crate) async fn keep(mut self, mut events: UnboundedReceiver<ProcessEvent>, stop: CancellationToken) {
        let mut pause = interval(PAUSE);
        pause.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Some(event) => self.note(event),
                    None => return,
                },
                _ = pause.tick(), if !self.running.is_empty() => {
                    self.running.values_mut().for_each(|process| process.write_down(&self.world));
                }
                () = stop.cancelled() => break,
            }
        }
        while let Ok(event) = events.try_recv() {
            self.note(event);
        }
    }

    fn note(&mut self, event: ProcessEvent) {
        let world = &self.world;
        match event {
            ProcessEvent::Started { id, session, command, identity, .. } => {
                let task = started(world, id.to_string(), session, command, &identity);
                world.store().put_task(task.clone()).later();
                self.running.insert(task.id.clone(), Running { task, held: Held::default(), kept: 0 });
            }
            ProcessEvent::Ended { id, ending, is_told, .. } => {
                if let Some(mut process) = self.running.remove(id.as_str()) {
                    // Before its end, so that a reader who sees the end finds all it wrote.
                    process.write_down(world);
                    let rest = process.held.finish(world.secrets());
                    process.keep(world, rest);
                    let is_by_itself = matches!(ending, Ending::Exited(_) | Ending::Signalled(_));
                    if is_by_itself && !is_told {
                        tell_agent(world, &process.task, &ending);
                    }
                    world.store().put_task(ended(world, process.task, &ending)).later();
                }
            }
        }
    }
}

impl Running {
    /// Keeps what is new, as far as it is clear that no secret has only begun in it.
    fn write_down(&mut self, world: &World) {
        let news = world.options.processes.news(&self.task.session, &self.task.id);
        if !news.is_empty() {
            let text = self.held.push(world.secrets(), &news);
            self.keep(world, text);
        }
    }

    fn keep(&mut self, world: &World, text: String) {
        if text.is_empty() {
            return;
        }
        let piece = OutputPiece { start: self.kept, text };
        self.kept = piece.end();
        world.store().put_output(&self.task.id, piece).later();
    }
}

/// Ends what a session's owner left running that did not give its claim back, in the foreground too, and says so in the
/// list and to the agent.
pub(crate) async fn clean_up(world: &World, session: &SessionId) -> Result<(), Error> {
    let _ = tokio::task::spawn_blocking(sweep).await;
    let tasks = world.store().tasks(Some(session)).await?;
    for task in tasks.into_iter().filter(|task| task.status == TaskStatus::Running && task.kind == "process")
    {
        left::settle(&**world.store(), task, world.now()).await?;
    }
    Ok(())
}

/// Settles the programs of a session whose process was killed after it had given the claim back.
pub(crate) async fn settle_left(world: &World, session: &SessionId) -> Result<(), Error> {
    settle_left_programs(&**world.store(), Some(session), world.now()).await?;
    Ok(())
}

/// Tells the agent that its program has ended, once: the message has the same key as the one about a program whose
/// process was killed. An agent that has nothing to do is woken, as by a sub-agent in background that ends.
fn tell_agent(world: &Arc<World>, task: &TaskRow, ending: &Ending) {
    let post = notice::ended(task, &words_for(ending), world.now());
    let posted = world.store().post_to_living(post);
    let (world, session) = (world.clone(), task.session.clone());
    world.clone().crew.spawn(async move {
        // A deleted session has no agent to tell, and nothing else refuses the message.
        if posted.await.is_ok() {
            let _ = world.errands.send(Errand::Wake(session));
        }
    });
}

fn started(world: &World, id: String, session: SessionId, title: String, identity: &Identity) -> TaskRow {
    TaskRow {
        id,
        session,
        kind: "process".into(),
        title,
        status: TaskStatus::Running,
        process_group: Some((identity.group, identity.start)),
        detail: String::new(),
        started_at: world.now(),
        ended_at: None,
        child: None,
        data: serde_json::to_value(&world.owner)
            .map(|owner| serde_json::Map::from_iter([(left::OWNER.to_owned(), owner)]))
            .unwrap_or_default(),
    }
}

fn ended(world: &World, task: TaskRow, ending: &Ending) -> TaskRow {
    let status = match ending {
        Ending::Exited(0) => TaskStatus::Completed,
        Ending::Exited(_) => TaskStatus::Failed,
        _ => TaskStatus::Cancelled,
    };
    TaskRow { status, detail: words_for(ending), ended_at: Some(world.now()), ..task }
}

fn words_for(ending: &Ending) -> String {
    match ending {
        Ending::Exited(code) => format!("exit code {code}"),
        Ending::Signalled(signal) => format!("ended by signal {signal}"),
        Ending::TimedOut => "its time was over".into(),
        Ending::Cancelled => "stopped".into(),
    }
}
