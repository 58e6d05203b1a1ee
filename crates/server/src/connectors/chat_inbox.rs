//! A connector's inbox: keeps what arrives until it is posted to the session of its chat, and acknowledges what is stored.

use std::{path::PathBuf, sync::Arc, time::Duration};

use rooftree_connectors::{ChatSender, Inbound, InboundBody, SharedConnector};
use rooftree_protocol::{
    ChatTarget, LOCAL_OWNER, Origin, Principal, Surface, Timestamp, command::NewSession,
};
use rooftree_runtime::{ChatAddress, Clock, Error, Handle, ReceivedChatMessage};
use rooftree_store::{ChatIdentity, InboundKey};

use super::{
    ack_order::AckOrder,
    address::{reply_target, session_key},
    chat_settings::ChatSettings,
    debounce::{Debouncer, MessageBatch},
    listed_requests::ListedRequests,
};

/// How long keys of what arrived are kept: longer than any platform delivers again.
const KEPT: Duration = Duration::from_secs(3 * 24 * 60 * 60);
/// The same for requests whose signature has no time: they could be replayed at any time.
const KEPT_UNTIMED: Duration = Duration::from_secs(20 * 365 * 24 * 60 * 60);

/// The inbound side of one connector.
pub(super) struct ChatInbox {
    pub(super) handle: Handle,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) connector: SharedConnector,
    /// The connector's name.
    pub(super) name: String,
    pub(super) agent: String,
    pub(super) settings: ChatSettings,
    /// Where tools of its sessions work, unless the settings say so.
    pub(super) cwd: PathBuf,
    /// The connector itself, as a principal.
    pub(super) us: Principal,
    pub(super) debouncer: Debouncer,
    pub(super) acks: AckOrder,
    pub(super) listed: ListedRequests,
}

/// A sender who is known, where he speaks.
pub(super) struct KnownSender {
    pub(super) identity: ChatIdentity,
    /// On whose authority his words are posted: his own in a direct chat; in a group that of the connector's owner,
    /// because all who are there share the session.
    pub(super) who: Principal,
    pub(super) address: ChatAddress,
}

impl ChatInbox {
    /// Who a sender is. Invariant: only the platform's own id counts; names are chosen freely.
    pub(super) async fn identity(&self, from: &ChatSender) -> Result<Option<ChatIdentity>, Error> {
        if self.connector.platform() == "webhook" {
            // Its secret proves that the owner, who set it up, sends it.
            return Ok(Some(ChatIdentity {
                tenant: self.us.tenant.clone(),
                connector: self.name.clone(),
                sender: from.id.clone(),
                name: from.name.clone(),
                person: self.us.person.clone(),
                may_send: true,
                may_approve: false,
                paired_at: Timestamp::default(),
            }));
        }
        let found = self.handle.chat_identity(&self.us, &self.name, &from.id);
        found.await
    }

    /// The chat of something that arrived from a known sender.
    pub(super) fn known(&self, inbound: &Inbound, identity: ChatIdentity) -> KnownSender {
        let is_shared = inbound.place.group && !self.settings.per_user;
        let person = if is_shared {
            self.us.person.clone()
        } else {
            identity.person.clone()
        };
        let who = Principal {
            person,
            on_behalf_of: Some(shown_name(&inbound.from)),
            ..self.us.clone()
        };
        let key = session_key(
            &self.name,
            &inbound.place,
            &inbound.from,
            self.settings.per_user,
        );
        let address = ChatAddress {
            connector: self.name.clone(),
            key,
            new: self.new_session(inbound.agent.as_deref()),
            chat: reply_target(&self.name, &inbound.place, None),
            mode: self.settings.mode,
        };
        KnownSender {
            identity,
            who,
            address,
        }
    }

    pub(super) fn new_session(&self, agent: Option<&str>) -> NewSession {
        NewSession {
            agent: agent.unwrap_or(&self.agent).to_owned(),
            cwd: self
                .settings
                .cwd
                .clone()
                .unwrap_or_else(|| self.cwd.clone()),
            name: None,
            model: None,
        }
    }

    /// Posts all that is due; gives the keys of what is stored now.
    pub(super) async fn flush_due(&mut self) -> Result<(), Error> {
        while let Some(batch) = self.debouncer.take_due(self.clock.now()) {
            self.post(batch).await?;
        }
        Ok(())
    }

    /// Posts what waits of a session, so that what follows does not overtake it.
    pub(super) async fn flush_chat(&mut self, key: &str) -> Result<(), Error> {
        while let Some(batch) = self.debouncer.take_of(key) {
            self.post(batch).await?;
        }
        Ok(())
    }

    /// Posts a batch as one message. A refusal is told in the chat; a failure leaves the batch where it was.
    async fn post(&mut self, batch: MessageBatch) -> Result<(), Error> {
        let posted = self.post_batch(&batch).await;
        match posted {
            Ok(()) => {}
            Err(error) if is_final(&error) => self.tell_refusal(&batch, &error).await?,
            Err(error) => {
                self.debouncer.put_back(batch);
                return Err(error);
            }
        }
        for message in &batch.messages {
            self.acknowledge(&message.inbound.key).await;
        }
        Ok(())
    }

    async fn post_batch(&self, batch: &MessageBatch) -> Result<(), Error> {
        let (Some(first), Some(last)) = (batch.messages.first(), batch.messages.last()) else {
            return Ok(());
        };
        let inbound = &last.inbound;
        // Looked up again: he may have been unpaired while his words waited.
        let identity = self.identity(&inbound.from).await?;
        let Some(identity) = identity.filter(|identity| identity.may_send) else {
            return self.note(batch).await;
        };
        let sender = self.known(inbound, identity);
        let reply = reply_target(&self.name, &inbound.place, message_id(inbound));
        let parts = batch.messages.iter().flat_map(|message| &message.parts);
        let message = ReceivedChatMessage {
            parts: parts.cloned().collect(),
            origin: Origin::Connector {
                connector: self.name.clone(),
                channel: inbound.place.chat.clone(),
                user: inbound.from.id.clone(),
                reply: Some(reply),
            },
            key: self.key_of(&first.inbound.key),
            context: inbound.place.group.then(|| group_context(&inbound.from)),
            inbound: self.keys_of(batch),
        };
        let posted = self
            .handle
            .post_from_chat(&sender.who, &sender.address, message);
        posted.await.map(drop)
    }

    async fn note(&self, batch: &MessageBatch) -> Result<(), Error> {
        let noted = self.handle.note_inbound(&self.us, self.keys_of(batch));
        noted.await
    }

    async fn tell_refusal(&self, batch: &MessageBatch, error: &Error) -> Result<(), Error> {
        let Some(last) = batch.messages.last() else {
            return Ok(());
        };
        let problem = error.problem();
        let text = match &problem.fix {
            Some(fix) => format!("This was not taken: {}. {fix}.", problem.message),
            None => format!("This was not taken: {}.", problem.message),
        };
        self.tell(&last.inbound, &text).await?;
        self.note(batch).await
    }

    /// Keeps the key of something that needs nothing more.
    pub(super) async fn finish(&self, inbound: &Inbound) -> Result<(), Error> {
        let keys = vec![self.arrived_key(&inbound.key)];
        self.handle.note_inbound(&self.us, keys).await
    }

    /// Acknowledges to the platform what is stored. A failure is harmless: it comes again and its key is known.
    pub(super) async fn acknowledge(&mut self, key: &str) {
        if let Some(last) = self.acks.stored(key) {
            let _ = self.connector.acknowledge(&last).await;
            self.keep_cursor().await;
        }
    }

    /// A cursor that cannot be stored now is stored with the next one; what it repeats until then is known by its key.
    async fn keep_cursor(&self) {
        if let Some(cursor) = self.connector.cursor() {
            let kept = self
                .handle
                .keep_connector_cursor(&self.us, &self.name, cursor);
            let _ = kept.await;
        }
    }

    /// Sends a short text to the chat, through the outbox; once, however often the same arrives.
    pub(super) async fn tell(&self, inbound: &Inbound, text: &str) -> Result<(), Error> {
        let target = reply_target(&self.name, &inbound.place, message_id(inbound));
        self.tell_keyed(target, &self.key_of(&inbound.key), text)
            .await
    }

    pub(super) async fn tell_keyed(
        &self,
        target: ChatTarget,
        key: &str,
        text: &str,
    ) -> Result<(), Error> {
        let told = self.handle.tell_chat(&self.us, target, (key, text));
        told.await
    }

    /// The idempotency key of something that arrived.
    pub(super) fn key_of(&self, key: &str) -> String {
        format!("connector/{}/{key}", self.name)
    }

    pub(super) fn arrived_key(&self, key: &str) -> InboundKey {
        let signature = self.settings.platform.get("signature");
        let kept = match signature.and_then(|signature| signature.as_str()) {
            Some("body_only") => KEPT_UNTIMED,
            _ => KEPT,
        };
        InboundKey {
            tenant: self.us.tenant.clone(),
            connector: self.name.clone(),
            key: key.to_owned(),
            expires_at: self.clock.now().after(kept),
        }
    }

    fn keys_of(&self, batch: &MessageBatch) -> Vec<InboundKey> {
        let messages = batch.messages.iter();
        messages
            .map(|message| self.arrived_key(&message.inbound.key))
            .collect()
    }
}

/// The connector as a principal: the owner of its tenant, through its surface.
pub(super) fn connector_principal(tenant: &str) -> Principal {
    Principal {
        tenant: tenant.to_owned(),
        person: LOCAL_OWNER.to_owned(),
        ..Principal::local_owner(Surface::Connector)
    }
}

/// Whether repeating what failed cannot help.
pub(super) fn is_final(error: &Error) -> bool {
    match error {
        Error::Refused(_) => true,
        Error::Store(error) => matches!(
            error,
            rooftree_store::Error::InboxFull(_) | rooftree_store::Error::NoSession(_)
        ),
        Error::Closed => false,
    }
}

pub(super) fn message_id(inbound: &Inbound) -> Option<&str> {
    match &inbound.body {
        InboundBody::Message { message, .. } | InboundBody::Button { message, .. } => Some(message),
        InboundBody::Moved { .. } => None,
    }
}

/// What is shown of a sender: his name, which he chose, and his id, which he did not.
pub(super) fn shown_name(from: &ChatSender) -> String {
    let name = plain(&from.name);
    if name.is_empty() {
        return from.id.clone();
    }
    format!("{name} ({})", from.id)
}

/// Says to the agent who speaks in a group.
fn group_context(from: &ChatSender) -> String {
    let (name, id) = (plain(&from.name), plain(&from.id));
    format!("<context chat=\"group\" from=\"{name}\" sender=\"{id}\" />")
}

/// A name on one line, without what would end an attribute.
fn plain(name: &str) -> String {
    let letters = name
        .chars()
        .filter(|letter| !letter.is_control() && !matches!(letter, '"' | '<' | '>'));
    let plain: String = letters.take(64).collect();
    plain.trim().to_owned()
}
