//! Sends one message of the outbox, part by part: `sending` is stored before the platform is called, the receipt after.

use std::sync::Arc;

use rooftree_connectors::{
    ChatPlace, FailureClass, OutboundPart, PartBody, Receipt, Reconciled, SendError,
    SharedConnector,
};
use rooftree_protocol::BlobId;
use rooftree_runtime::{Clock, ConnectorAccess};
use rooftree_store::{
    Error, OutboxBody, OutboxKind, OutboxPart, OutboxPost, OutboxRow, OutboxState, PartReceipt,
    Store, WorkerClaim, failpoint,
};

use super::{failure::FailedAttempt, labels, message_parts};
use crate::connectors::UnknownDeliveryPolicy;

/// One message on its way.
pub(super) struct MessageDelivery {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) access: ConnectorAccess,
    pub(super) connector: SharedConnector,
    pub(super) unknown: UnknownDeliveryPolicy,
    pub(super) claim: Arc<WorkerClaim>,
    pub(super) row: OutboxRow,
}

/// Whether the next part follows.
pub(super) enum PartOutcome {
    Sent,
    /// The message waits or is closed.
    Stopped,
}

impl MessageDelivery {
    /// Sends what is left of the message, until the platform or the store refuses.
    pub(super) async fn run(mut self) -> Result<(), Error> {
        failpoint::reach("outbox.taken");
        if matches!(self.row.post.body, OutboxBody::Outcome { .. }) {
            return self.send_outcome().await;
        }
        if self.row.post.kind == OutboxKind::Progress {
            return self.send_progress().await;
        }
        if !self.plan().await? {
            return self.supersede().await;
        }
        failpoint::reach("outbox.planned");
        self.end_status_line().await?;
        for part in self.row.parts.clone() {
            if part.state == OutboxState::Sent {
                continue;
            }
            if let PartOutcome::Stopped = self.deliver_part(&part, None).await? {
                break;
            }
        }
        Ok(())
    }

    /// Splits the message, unless that was done. Says whether there is anything to send.
    async fn plan(&mut self) -> Result<bool, Error> {
        let inquiry = match &self.row.post.body {
            OutboxBody::Inquiry { inquiry, .. } => {
                let found = self.store.inquiry(inquiry).await?;
                // What is settled is not asked any more.
                let Some(open) = found.filter(|found| !found.settled) else {
                    return Ok(false);
                };
                Some(open)
            }
            _ => None,
        };
        if self.row.parts.is_empty() {
            let mut parts = message_parts::plan(&*self.connector, &self.row.post, inquiry.as_ref());
            if self.row.is_restored() {
                labels::label_last(&mut parts, &self.connector.capabilities());
            }
            self.row.parts = self.store_parts(&parts).await?;
        }
        Ok(!self.row.parts.is_empty())
    }

    pub(super) async fn store_parts(
        &self,
        parts: &[OutboundPart],
    ) -> Result<Vec<OutboxPart>, Error> {
        let bodies = parts.iter().map(encode).collect::<Result<_, _>>()?;
        self.store
            .plan_outbox(&self.claim, &self.row.post.id, bodies)
            .await
    }

    /// Delivers a part as it is stored, or with a content that replaces it.
    pub(super) async fn deliver_part(
        &mut self,
        part: &OutboxPart,
        instead: Option<OutboundPart>,
    ) -> Result<PartOutcome, Error> {
        let planned = match instead {
            Some(instead) => instead,
            None => serde_json::from_str(&part.body)?,
        };
        match part.state {
            OutboxState::Sending => self.resume_part(part.n, planned).await,
            OutboxState::Unknown => self.send_labelled(part.n, planned).await,
            _ => self.send_part(part.n, planned).await,
        }
    }

    /// Goes on with a part that was being sent when a worker died.
    async fn resume_part(&mut self, n: u32, part: OutboundPart) -> Result<PartOutcome, Error> {
        let (place, key) = (self.place(n), self.send_key(n));
        match self.connector.reconcile_keyed(&place, &part, &key).await {
            Reconciled::Sent(receipt) => self.keep_receipt(n, receipt).await,
            Reconciled::NotSent => self.send_part(n, part).await,
            Reconciled::Unresolved if self.unknown == UnknownDeliveryPolicy::Resend => {
                self.send_labelled(n, part).await
            }
            Reconciled::Unresolved => {
                let message = "sending was interrupted; it may or may not have arrived";
                let error = SendError::new(FailureClass::Unknown, message);
                self.keep_failure(n, &error).await
            }
        }
    }

    async fn send_labelled(&mut self, n: u32, part: OutboundPart) -> Result<PartOutcome, Error> {
        match labels::labelled(part, &self.connector.capabilities()) {
            Some(part) => self.send_part(n, part).await,
            None => {
                let message = "it may have arrived, and is too long to be sent again with a label";
                let error = SendError::new(FailureClass::Unknown, message);
                let policy = std::mem::replace(&mut self.unknown, UnknownDeliveryPolicy::Ask);
                let kept = self.keep_failure(n, &error).await;
                self.unknown = policy;
                kept
            }
        }
    }

    /// Sends a part; one whose formatting is refused, once more as plain text.
    async fn send_part(&mut self, n: u32, part: OutboundPart) -> Result<PartOutcome, Error> {
        let Some(sent) = self.try_part(n, &part).await? else {
            return Ok(PartOutcome::Stopped);
        };
        match (sent, labels::without_format(&part)) {
            (Ok(receipt), _) => self.keep_receipt(n, receipt).await,
            (Err(error), Some(plain)) if error.class == FailureClass::InvalidPayload => {
                match self.try_part(n, &plain).await? {
                    None => Ok(PartOutcome::Stopped),
                    Some(Ok(receipt)) => self.keep_receipt(n, receipt).await,
                    Some(Err(error)) => self.keep_failure(n, &error).await,
                }
            }
            (Err(error), _) if error.class == FailureClass::Unknown => {
                self.ask_platform(n, &part, error).await
            }
            (Err(error), _) => self.keep_failure(n, &error).await,
        }
    }

    /// Calls the platform, after it is stored that it is called. None if the message is not wanted any more.
    async fn try_part(
        &self,
        n: u32,
        part: &OutboundPart,
    ) -> Result<Option<Result<Receipt, SendError>>, Error> {
        let (id, body) = (&self.row.post.id, encode(part)?);
        if !failpoint::is_without("sending")
            && !self.store.begin_part(&self.claim, id, n, body).await?
        {
            return Ok(None);
        }
        self.access.note_delivery();
        failpoint::reach("outbox.sending");
        let part = match self.with_bytes(part).await? {
            Ok(part) => part,
            Err(error) => return Ok(Some(Err(error))),
        };
        let (place, key) = (self.place(n), self.send_key(n));
        let sent = self.connector.send_keyed(&place, &part, &key).await;
        failpoint::reach("outbox.sent");
        Ok(Some(sent))
    }

    /// No answer came: the platform may know whether it has the part.
    async fn ask_platform(
        &mut self,
        n: u32,
        part: &OutboundPart,
        error: SendError,
    ) -> Result<PartOutcome, Error> {
        let (place, key) = (self.place(n), self.send_key(n));
        match self.connector.reconcile_keyed(&place, part, &key).await {
            Reconciled::Sent(receipt) => self.keep_receipt(n, receipt).await,
            Reconciled::NotSent => {
                let error = SendError {
                    class: FailureClass::Transient,
                    ..error
                };
                self.keep_failure(n, &error).await
            }
            Reconciled::Unresolved => self.keep_failure(n, &error).await,
        }
    }

    /// The part with the bytes of its file.
    async fn with_bytes(
        &self,
        part: &OutboundPart,
    ) -> Result<Result<OutboundPart, SendError>, Error> {
        let mut part = part.clone();
        let PartBody::File(file) = &mut part.body else {
            return Ok(Ok(part));
        };
        let refused = |words: String| Ok(Err(SendError::new(FailureClass::NotFound, words)));
        let Ok(blob) = BlobId::parse(&file.blob) else {
            return refused(format!("the file {} has no bytes", file.name));
        };
        let Some(bytes) = self.store.blob(&blob).await? else {
            return refused(format!("the bytes of the file {} are gone", file.name));
        };
        let most = self.connector.capabilities().upload;
        if bytes.len() as u64 > most {
            let words = format!(
                "the file {} has {} bytes; this chat takes {most}",
                file.name,
                bytes.len()
            );
            return refused(words);
        }
        file.bytes = bytes;
        Ok(Ok(part))
    }

    pub(super) async fn keep_receipt(
        &self,
        n: u32,
        receipt: Receipt,
    ) -> Result<PartOutcome, Error> {
        let receipt = PartReceipt {
            id: self.row.post.id.clone(),
            part: n,
            platform_id: receipt.message,
            at: self.clock.now(),
        };
        self.store.part_sent(&self.claim, receipt).await?;
        self.access.note_delivery();
        failpoint::reach("outbox.receipted");
        Ok(PartOutcome::Sent)
    }

    pub(super) async fn keep_failure(
        &self,
        n: u32,
        error: &SendError,
    ) -> Result<PartOutcome, Error> {
        let health = self.connector.health().borrow().clone();
        let attempt = FailedAttempt {
            row: &self.row,
            part: n,
            error,
            health: &health,
            now: self.clock.now(),
        };
        let failure = attempt.failure(self.unknown);
        self.store.part_failed(&self.claim, failure).await?;
        self.access.note_delivery();
        Ok(PartOutcome::Stopped)
    }

    /// Where a part goes; only the first one is a reply.
    pub(super) fn place(&self, n: u32) -> ChatPlace {
        let target = &self.row.post.target;
        ChatPlace {
            chat: target.chat.clone(),
            thread: target.thread.clone(),
            reply_to: target.reply_to.clone().filter(|_| n == 0),
            group: target.group,
        }
    }

    fn send_key(&self, n: u32) -> String {
        format!("{}:{n}", self.row.post.id)
    }

    /// The post on its way.
    pub(super) fn post(&self) -> &OutboxPost {
        &self.row.post
    }
}

/// A part as it is stored.
pub(super) fn encode(part: &OutboundPart) -> Result<String, Error> {
    Ok(serde_json::to_string(part)?)
}
