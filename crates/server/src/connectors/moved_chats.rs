//! Chats that go on under another id: what was kept for the old id belongs to the new one.

use rooftree_connectors::{ChatPlace, Inbound};
use rooftree_runtime::{ChatAddress, ConnectorChange, Error};
use rooftree_store::ConnectorFields;

use super::{
    address::{reply_target, session_key},
    chat_inbox::ChatInbox,
};

impl ChatInbox {
    /// Binds the new chat to the session of the old one, and lets it be answered where the old one was.
    pub(super) async fn moved(&mut self, inbound: &Inbound, chat: &str) -> Result<(), Error> {
        let groups = &mut self.settings.groups;
        if !groups.contains(&inbound.place.chat) {
            return Ok(());
        }
        if !groups.iter().any(|known| known == chat) {
            groups.push(chat.to_owned());
            self.keep_groups().await?;
        }
        let key = |place: &ChatPlace| session_key(&self.name, place, &inbound.from, false);
        let old = self
            .handle
            .chat_session(&self.us, &key(&inbound.place))
            .await?;
        let Some(session) = old else { return Ok(()) };
        let place = ChatPlace {
            chat: chat.to_owned(),
            ..inbound.place.clone()
        };
        let address = ChatAddress {
            connector: self.name.clone(),
            key: key(&place),
            new: self.new_session(None),
            chat: reply_target(&self.name, &place, None),
            mode: self.settings.mode,
        };
        let arrived = self.arrived_key(&inbound.key);
        let bound = self
            .handle
            .bind_chat(&self.us, &address, (&session.id, None), &arrived);
        bound.await.map(drop)
    }

    async fn keep_groups(&self) -> Result<(), Error> {
        let row = self.handle.connector(&self.us, &self.name).await?;
        let mut settings = row.fields.settings.clone();
        settings.insert("groups".into(), self.settings.groups.clone().into());
        let change = ConnectorChange {
            name: self.name.clone(),
            fields: Some(ConnectorFields {
                settings,
                ..row.fields
            }),
            expected: Some(row.revision),
        };
        let changed = self.handle.change_connector(&self.us, change);
        changed.await.map(drop)
    }
}
