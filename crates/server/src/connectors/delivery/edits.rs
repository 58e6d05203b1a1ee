//! Messages that change one that was sent: the outcome of an inquiry, and a run's status line.
//!
//! An edit that is made twice does no harm, so one that was interrupted is made again.

use rooftree_connectors::{FailureClass, OutboundPart, Receipt};
use rooftree_store::{Error, OutboxBody, OutboxKind, OutboxPart, OutboxPost, OutboxState};

use super::{
    send::{MessageDelivery, PartOutcome, encode},
    status_words,
};

impl MessageDelivery {
    /// Changes the message that asked to what came of it; where that cannot be, says it in a message of its own.
    pub(super) async fn send_outcome(&mut self) -> Result<(), Error> {
        let (inquiry, text) = match &self.post().body {
            OutboxBody::Outcome { inquiry, text } => (inquiry.clone(), text.clone()),
            _ => return Ok(()),
        };
        let asked = self
            .store
            .outbox_by_key(&OutboxPost::ask_key(&inquiry))
            .await?;
        let parts = self.connector.split(&text);
        let Some(last) = parts.last().cloned() else {
            return self.supersede().await;
        };
        let message = asked
            .filter(|asked| asked.parts.len() == parts.len())
            .and_then(|asked| asked.parts.last().and_then(|part| part.platform_id.clone()));
        match message.filter(|_| self.connector.capabilities().edit) {
            Some(message) => self.edit(&message, &last).await.map(drop),
            None => self.send_whole(last).await,
        }
    }

    /// Sends the status line of a run, or changes the one that is there.
    pub(super) async fn send_progress(&mut self) -> Result<(), Error> {
        let OutboxBody::Text { text } = &self.post().body else {
            return Ok(());
        };
        let parts = self.connector.split(text);
        let Some(mut line) = parts.into_iter().next() else {
            return self.supersede().await;
        };
        line.silent = true;
        let first = self.row.parts.first();
        match first.and_then(|part| part.platform_id.clone()) {
            Some(message) => self.edit(&message, &line).await.map(drop),
            // It may be there, and a second line would only confuse.
            None if first.is_some_and(is_uncertain) => self.supersede().await,
            None => self.send_whole(line).await,
        }
    }

    /// Says in the status line of this run, if it has one, that the answer follows.
    pub(super) async fn end_status_line(&self) -> Result<(), Error> {
        let post = self.post();
        let is_begun = self.row.attempts > 0 || self.row.parts.first().is_some_and(is_begun);
        let Some(run) = post.run.as_ref().filter(|_| post.kind == OutboxKind::Final) else {
            return Ok(());
        };
        if is_begun || !self.connector.capabilities().edit {
            return Ok(());
        }
        let line = self
            .store
            .outbox_by_key(&OutboxPost::progress_key(run))
            .await?;
        let Some(line) = line else {
            return Ok(());
        };
        let message = line.parts.first().and_then(|part| part.platform_id.clone());
        if let Some(message) = message {
            let lasted = post.at.since(line.post.at) + status_words::BEGIN;
            let text = OutboundPart::text(status_words::ended(lasted));
            // The answer does not wait for it: what fails here stays as it is.
            let _ = self.connector.edit(&self.place(1), &message, &text).await;
        }
        Ok(())
    }

    async fn send_whole(&mut self, part: OutboundPart) -> Result<(), Error> {
        self.row.parts = self.store_parts(std::slice::from_ref(&part)).await?;
        let Some(planned) = self.row.parts.first().cloned() else {
            return Ok(());
        };
        self.deliver_part(&planned, Some(part)).await.map(drop)
    }

    async fn edit(&mut self, message: &str, part: &OutboundPart) -> Result<PartOutcome, Error> {
        self.row.parts = self.store_parts(std::slice::from_ref(part)).await?;
        let id = &self.post().id;
        let begun = self.store.begin_part(&self.claim, id, 0, encode(part)?);
        if !begun.await? {
            return Ok(PartOutcome::Stopped);
        }
        let edited = self.connector.edit(&self.place(1), message, part).await;
        match edited {
            Ok(()) => {
                let message = message.to_owned();
                self.keep_receipt(0, Receipt { message }).await
            }
            // The message is gone, or says this already.
            Err(error)
                if matches!(
                    error.class,
                    FailureClass::NotFound | FailureClass::InvalidPayload
                ) =>
            {
                self.supersede().await?;
                Ok(PartOutcome::Stopped)
            }
            Err(error) => {
                let class = match error.class {
                    FailureClass::Unknown => FailureClass::Transient,
                    class => class,
                };
                let error = rooftree_connectors::SendError { class, ..error };
                self.keep_failure(0, &error).await
            }
        }
    }

    /// Closes the message without sending it.
    pub(super) async fn supersede(&self) -> Result<(), Error> {
        let (id, now) = (&self.post().id, self.clock.now());
        self.store.supersede_outbox(&self.claim, id, now).await?;
        self.access.note_delivery();
        Ok(())
    }
}

fn is_uncertain(part: &OutboxPart) -> bool {
    matches!(part.state, OutboxState::Sending | OutboxState::Unknown)
}

fn is_begun(part: &OutboxPart) -> bool {
    part.state != OutboxState::Planned
}
