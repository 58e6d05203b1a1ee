//! Writes down which background processes there are, so that others can list them and a crash
//! leaves none behind.

use std::{collections::HashMap, sync::Arc};

use rooftree_process::{Ending, Identity, kill_group, sweep};
use rooftree_protocol::SessionId;
use rooftree_store::{TaskRow, TaskStatus};
use rooftree_tools::ProcessEvent;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::{Error, world::World};

/// Keeps the list of tasks in step with the processes, until the runtime closes.
pub(crate) async fn keep_list(world: Arc<World>, mut events: UnboundedReceiver<ProcessEvent>) {
    let mut running: HashMap<String, TaskRow> = HashMap::new();
    while let Some(event) = events.recv().await {
        match event {
            ProcessEvent::Started { id, session, command, identity, .. } => {
                let task = started(&world, id.to_string(), session, command, &identity);
                running.insert(task.id.clone(), task.clone());
                world.store().put_task(task).later();
            }
            ProcessEvent::Ended { id, ending, .. } => {
                if let Some(task) = running.remove(id.as_str()) {
                    world.store().put_task(ended(&world, task, &ending)).later();
                }
            }
        }
    }
}

/// Ends what a session's dead owner left running, in the foreground too, and says so in the list.
pub(crate) async fn clean_up(world: &World, session: &SessionId) -> Result<(), Error> {
    let _ = tokio::task::spawn_blocking(sweep).await;
    let left = world.store().tasks(Some(session)).await?;
    for task in left.into_iter().filter(|task| task.status == TaskStatus::Running && task.kind == "process") {
        if let Some((group, start)) = task.process_group {
            let _ = tokio::task::spawn_blocking(move || kill_group(group, start)).await;
        }
        let detail = "ended because the program that had started it was gone".into();
        let ended_at = Some(world.now());
        world.store().put_task(TaskRow { status: TaskStatus::Failed, detail, ended_at, ..task }).later();
    }
    Ok(())
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
        data: serde_json::Map::new(),
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
