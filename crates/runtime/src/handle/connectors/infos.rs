//! Connectors as clients read them: rows with their people, pairing codes and undelivered messages; and watching them.

use futures::FutureExt;
use rooftree_protocol::{
    ConnectorInfo, HealthInfo, PairedSender, PendingPairing, Principal, UndeliveredCounts,
};
use rooftree_store::{ChatIdentity, ConnectorRow, OutboxCounts, PairingRow};

use super::{Handle, require_owner};
use crate::{Error, handle::row_watch::RowWatch};

impl Handle {
    /// The connectors of the tenant as clients read them, by name. Only for the owner.
    pub async fn connector_infos(&self, who: &Principal) -> Result<Vec<ConnectorInfo>, Error> {
        let mut infos = Vec::new();
        for row in self.connectors(who).await? {
            infos.push(self.connector_info(who, row).await?);
        }
        Ok(infos)
    }

    /// A connector as clients read it. Only for the owner.
    pub async fn connector_info(
        &self,
        who: &Principal,
        row: ConnectorRow,
    ) -> Result<ConnectorInfo, Error> {
        let people = self.chat_identities(who, &row.name).await?;
        let pending = self.pairings(who, &row.name).await?;
        let mut counts = self.outbox_counts(who).await?.into_iter();
        let counts = counts.find(|counts| counts.connector == row.name);
        let health = row.health;
        Ok(ConnectorInfo {
            id: row.name,
            platform: row.fields.platform,
            agent: row.fields.agent,
            enabled: row.fields.enabled,
            settings: row.fields.settings,
            last_error: health.as_ref().and_then(|health| health.last_error.clone()),
            health: match health {
                Some(health) => HealthInfo {
                    state: health.state,
                    reason: health.reason,
                    at: Some(health.at),
                },
                None => HealthInfo {
                    state: "off".to_owned(),
                    reason: None,
                    at: Some(row.created_at),
                },
            },
            people: people.into_iter().map(paired_sender).collect(),
            pending_pairing: pending.into_iter().map(pending_pairing).collect(),
            outbox: counts.map(undelivered).unwrap_or_default(),
            rev: row.revision,
        })
    }

    /// Watches the connectors. Who is not the owner sees none.
    pub fn watch_connectors(&self, who: &Principal) -> RowWatch<ConnectorInfo> {
        let signals = vec![self.chats.changed(), self.store.changes()];
        let (handle, who) = (self.clone(), who.clone());
        RowWatch::new(signals, move || {
            let (handle, who) = (handle.clone(), who.clone());
            async move {
                match require_owner(&who) {
                    Ok(()) => handle.connector_infos(&who).await,
                    Err(_) => Ok(Vec::new()),
                }
            }
            .boxed()
        })
    }
}

/// A paired sender as clients read him.
pub fn paired_sender(identity: ChatIdentity) -> PairedSender {
    PairedSender {
        sender: identity.sender,
        name: identity.name,
        person: identity.person,
        may_send: identity.may_send,
        may_approve: identity.may_approve,
        paired_at: identity.paired_at,
    }
}

fn pending_pairing(row: PairingRow) -> PendingPairing {
    PendingPairing {
        sender: row.sender,
        name: row.name,
        expires: row.expires_at,
    }
}

fn undelivered(counts: OutboxCounts) -> UndeliveredCounts {
    UndeliveredCounts {
        queued: counts.queued,
        failed: counts.failed,
        dead: counts.dead,
    }
}
