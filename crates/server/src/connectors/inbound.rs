//! Inbound dispatch of a connector: identifies the sender of what arrives and decides what becomes of it.

use rooftree_connectors::{Inbound, InboundBody, InboundFile};
use rooftree_protocol::Part;
use rooftree_runtime::Error;
use rooftree_store::{ChatIdentity, ScheduleEvent};

use super::{
    chat_inbox::ChatInbox, debounce::DebouncedMessage, inbound_files, slash_commands::SlashCommand,
};

/// What became of something that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It is stored, or there is nothing to store: it may be acknowledged.
    Stored,
    /// It waits to be joined with what follows.
    Waits,
}

impl ChatInbox {
    /// Takes something that arrived. Repeating it after a failure changes nothing.
    pub(super) async fn take(&mut self, inbound: &Inbound) -> Result<Arrival, Error> {
        let known = self
            .handle
            .is_inbound_known(&self.us, &self.name, &inbound.key);
        if known.await? {
            return Ok(Arrival::Stored);
        }
        let identity = self.identity(&inbound.from).await?;
        match (&inbound.body, identity) {
            (InboundBody::Button { .. }, identity) => self.pressed(inbound, identity).await?,
            (InboundBody::Moved { chat }, _) => self.moved(inbound, chat).await?,
            (InboundBody::Message { .. }, None) => self.unknown_sender(inbound).await?,
            (InboundBody::Message { text, files, .. }, Some(identity)) => {
                return self.said(inbound, identity, (text, files)).await;
            }
        }
        self.finish(inbound).await?;
        Ok(Arrival::Stored)
    }

    /// What a known sender said.
    async fn said(
        &mut self,
        inbound: &Inbound,
        identity: ChatIdentity,
        (text, files): (&str, &[InboundFile]),
    ) -> Result<Arrival, Error> {
        let is_addressed = matches!(
            inbound.body,
            InboundBody::Message {
                addressed: true,
                ..
            }
        );
        if inbound.place.group && (!is_addressed || !self.is_open_group(inbound).await?) {
            self.finish(inbound).await?;
            return Ok(Arrival::Stored);
        }
        if !identity.may_send {
            self.refuse_sending(inbound).await?;
            self.finish(inbound).await?;
            return Ok(Arrival::Stored);
        }
        let sender = self.known(inbound, identity);
        if let Some(command) = SlashCommand::parse(text).filter(|_| files.is_empty()) {
            self.flush_chat(&sender.address.key).await?;
            self.command(inbound, &sender, command).await?;
            self.finish(inbound).await?;
            return Ok(Arrival::Stored);
        }
        let mut parts = Vec::new();
        if !text.is_empty() {
            parts.push(Part::text(text));
        }
        let connector = &*self.connector;
        parts.extend(inbound_files::parts(&self.handle, &sender.who, connector, files).await?);
        if self.connector.platform() == "webhook" {
            // Before the message is stored: a request that arrives again after a crash makes them due again, and none is
            // missed.
            let name = self.name.clone();
            let event = ScheduleEvent::Webhook { name };
            self.handle.trigger_schedules(&self.us, &event).await?;
        }
        let message = DebouncedMessage {
            inbound: inbound.clone(),
            parts,
        };
        let now = self.clock.now();
        self.debouncer.add(&sender.address.key, message, now);
        Ok(Arrival::Waits)
    }
}
