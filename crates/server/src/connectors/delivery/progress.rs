//! Status lines and typing signs of runs at work: after ten seconds a line that is edited in place, never a piece of
//! the answer.

use std::{collections::HashMap, sync::Arc};

use rooftree_connectors::ChatPlace;
use rooftree_protocol::{OutboxId, RunId};
use rooftree_runtime::{ChatWork, ConnectorAccess};
use rooftree_store::{OutboxBody, OutboxKind, OutboxPost};
use tokio_util::sync::CancellationToken;

use super::status_words::{BEGIN, INTERVAL, status};
use crate::connectors::ConnectorRegistry;

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

/// Shows the typing sign; gives the status line, if it is time for one.
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
