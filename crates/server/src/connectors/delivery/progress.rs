//! Status lines and typing signs of runs at work: after ten seconds a line that is edited in place, never a piece of
//! the answer.

use std::{collections::HashMap, sync::Arc, time::Duration};

use rooftree_connectors::ChatPlace;
use rooftree_protocol::{OutboxId, RunId};
use rooftree_runtime::{ChatWork, ConnectorAccess};
use rooftree_store::{OutboxBody, OutboxKind, OutboxPost};
use tokio_util::sync::CancellationToken;

use super::edits::words;
use crate::connectors::ConnectorRegistry;

/// How long a run works before a chat gets a status line.
pub(super) const BEGIN: Duration = Duration::from_secs(10);

/// How often a line changes at most, and how often the typing sign is shown.
const INTERVAL: Duration = Duration::from_secs(5);

/// How often a line changes at most once a run takes long.
const LONG_INTERVAL: Duration = Duration::from_secs(60);

/// Keeps chats informed about the runs of this process, until it is stopped.
pub(super) async fn keep_status_lines(
    access: ConnectorAccess,
    registry: Arc<ConnectorRegistry>,
    stop: CancellationToken,
) {
    let mut shown: HashMap<RunId, String> = HashMap::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = access.clock.sleep(INTERVAL) => {}
        }
        let working = access.working();
        shown.retain(|run, _| working.iter().any(|work| work.run == *run));
        for work in working {
            if let Some(text) = show(&access, &registry, &work).await
                && shown.get(&work.run) != Some(&text)
            {
                // A line that cannot be stored is left out; the next one is tried again.
                let _ = access.post(line(&access, &work, &text), None).await;
                shown.insert(work.run, text);
            }
        }
    }
}

/// Shows that somebody writes; gives the status line, if it is time for one.
async fn show(
    access: &ConnectorAccess,
    registry: &ConnectorRegistry,
    work: &ChatWork,
) -> Option<String> {
    let connector = registry.find(&work.target.connector)?.connector;
    if work.waits_for_person {
        return None;
    }
    let capabilities = connector.capabilities();
    if capabilities.typing {
        let place = ChatPlace {
            chat: work.target.chat.clone(),
            thread: work.target.thread.clone(),
            reply_to: None,
            group: work.target.group,
        };
        let _ = connector.typing(&place).await;
    }
    let lasted = access.clock.now().since(work.since);
    (capabilities.edit && lasted >= BEGIN).then(|| status(lasted, work.calls))
}

/// The line, which changes only as often as it may.
fn status(lasted: Duration, calls: u32) -> String {
    let is_long = lasted >= LONG_INTERVAL * 2;
    let step = if is_long { LONG_INTERVAL } else { INTERVAL };
    let shown = Duration::from_secs(lasted.as_secs() / step.as_secs() * step.as_secs());
    match calls {
        _ if is_long => format!("Working… {}", words(shown)),
        0 => format!("Working… {}", words(shown)),
        1 => format!("Working… {}, 1 step", words(shown)),
        calls => format!("Working… {}, {calls} steps", words(shown)),
    }
}

fn line(access: &ConnectorAccess, work: &ChatWork, text: &str) -> OutboxPost {
    OutboxPost {
        id: OutboxId::from_entropy(access.clock.entropy()).to_string(),
        key: OutboxPost::progress_key(&work.run),
        account: work.account.clone(),
        session: Some(work.session.clone()),
        run: Some(work.run.clone()),
        kind: OutboxKind::Progress,
        target: work.target.without_reply(),
        body: OutboxBody::Text { text: text.into() },
        at: access.clock.now(),
    }
}
