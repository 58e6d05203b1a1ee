//! Connectors as the owner sees them: adds, changes, lists and removes them, and says who their senders are.

mod chats;
mod infos;
mod pairing;

use rooftree_protocol::{
    ChatTarget, ErrorCode, LOCAL_OWNER, OutboxId, Principal, Problem, Surface,
};
use rooftree_store::{
    AuditEntry, ChatIdentity, ConnectorFields, ConnectorHealth, ConnectorRow, ConnectorWrite,
    ConnectorWriteOutcome, OutboxBody, OutboxKind, OutboxPost, SessionFilter, VisibleSessions,
};

pub use self::{
    chats::{ChatAddress, PromptCopy, ReceivedChatMessage},
    infos::paired_sender,
    pairing::{IssuedPairing, NewPairing, PAIRING_CODE_CHARS},
};
use super::Handle;
use crate::Error;

/// Sessions that are looked at to find a person's chat.
const RECENT: usize = 20;
/// Characters of a connector's name.
const NAME_CHARS: usize = 40;

/// A change of a connector.
#[derive(Clone, Debug)]
pub struct ConnectorChange {
    /// Its name.
    pub name: String,
    /// What it is set to from now on; none to remove it with all that belongs to it.
    pub fields: Option<ConnectorFields>,
    /// The revision it must have; none if there must be no such connector.
    pub expected: Option<u64>,
}

impl Handle {
    /// The connectors of the tenant, by name. Only for the owner.
    pub async fn connectors(&self, who: &Principal) -> Result<Vec<ConnectorRow>, Error> {
        require_owner(who)?;
        Ok(self.store.connectors(&who.tenant).await?)
    }

    /// The connector with this name.
    pub async fn connector(&self, who: &Principal, name: &str) -> Result<ConnectorRow, Error> {
        let rows = self.connectors(who).await?;
        let found = rows
            .into_iter()
            .find(|row| row.name.eq_ignore_ascii_case(name));
        Ok(found.ok_or_else(|| no_connector(name))?)
    }

    /// Adds, changes or removes a connector. Only the owner may. The row and the audit entry are one commit.
    pub async fn change_connector(
        &self,
        who: &Principal,
        change: ConnectorChange,
    ) -> Result<ConnectorWriteOutcome, Error> {
        require_owner(who)?;
        check_connector_name(&change.name)?;
        if let (Some(fields), Some(agents)) = (&change.fields, &self.agents) {
            agents.context.definitions().find(&fields.agent)?;
        }
        let (at, name) = (self.now(), change.name.to_lowercase());
        let action = match (&change.fields, change.expected) {
            (None, _) => "connector.remove",
            (Some(_), None) => "connector.add",
            (Some(_), Some(_)) => "connector.change",
        };
        let audit = AuditEntry::done(who, at, action, &name);
        let audit = match &change.fields {
            Some(fields) => audit.with("fields", serde_json::to_value(fields).unwrap_or_default()),
            None => audit,
        };
        let write = ConnectorWrite {
            tenant: who.tenant.clone(),
            name,
            fields: change.fields,
            expected: change.expected,
            by: who.clone(),
            at,
            audit: Some(audit),
        };
        let written = self.store.write_connector(write).await?;
        self.chats.note_change();
        Ok(written)
    }

    /// Keeps how a connector is, as its poller says. It records what happened, so it is not audited.
    pub async fn note_connector_health(
        &self,
        who: &Principal,
        name: &str,
        health: ConnectorHealth,
    ) -> Result<(), Error> {
        require_connector(who)?;
        let noted = self.store.note_connector_health(&who.tenant, name, health);
        noted.await?;
        self.chats.note_change();
        Ok(())
    }

    /// Keeps where receiving goes on after a restart. It records what happened, so it is not audited.
    pub async fn keep_connector_cursor(
        &self,
        who: &Principal,
        name: &str,
        cursor: String,
    ) -> Result<(), Error> {
        require_connector(who)?;
        let kept = self.store.keep_connector_cursor(&who.tenant, name, cursor);
        Ok(kept.await?)
    }

    /// The senders of a connector who are paired. Only for the owner.
    pub async fn chat_identities(
        &self,
        who: &Principal,
        connector: &str,
    ) -> Result<Vec<ChatIdentity>, Error> {
        require_owner(who)?;
        let found = self.store.chat_identities(&who.tenant, connector);
        Ok(found.await?)
    }

    /// Who a sender is; none if he is not paired or his person is disabled. For connectors.
    pub async fn chat_identity(
        &self,
        who: &Principal,
        connector: &str,
        sender: &str,
    ) -> Result<Option<ChatIdentity>, Error> {
        require_connector(who)?;
        let found = self.store.chat_identity(&who.tenant, connector, sender);
        Ok(found.await?)
    }

    /// One sender who is paired. Only for the owner.
    pub async fn paired_sender(
        &self,
        who: &Principal,
        connector: &str,
        sender: &str,
    ) -> Result<ChatIdentity, Error> {
        let known = self.chat_identities(who, connector).await?;
        let found = known.into_iter().find(|known| known.sender == sender);
        Ok(found.ok_or_else(|| no_sender(connector, sender))?)
    }

    /// Sends a test message to the chat of this person: the one he used last, else his direct chat. Only the owner may.
    pub async fn test_connector(&self, who: &Principal, name: &str) -> Result<ChatTarget, Error> {
        let row = self.connector(who, name).await?;
        let filter = SessionFilter {
            tenant: Some(who.tenant.clone()),
            visible: VisibleSessions {
                person: Some(who.person.clone()),
                ..VisibleSessions::default()
            },
            foreground: true,
            limit: RECENT,
            ..SessionFilter::default()
        };
        let recent = self.store.sessions(filter).await?.into_iter();
        let mut chats = recent.filter_map(|session| session.chat);
        let used = chats.find(|chat| chat.connector == row.name && !chat.group);
        let target = match used {
            Some(chat) => chat,
            None if row.fields.platform == pairing::WEBHOOK => {
                let message = format!("`{}` is a webhook, which has no chat to test", row.name);
                let problem = Problem::new(ErrorCode::InvalidArguments, message)
                    .cause("what it delivers goes to its `url`, in answer to a signed request")
                    .fix("send it a signed request: docs/connectors.md says how, under Webhooks");
                return Err(problem.into());
            }
            None => self.direct_chat(who, &row.name).await?,
        };
        let audit = AuditEntry::done(who, self.now(), "connector.test", &row.name);
        let id = OutboxId::from_entropy(self.clock.entropy()).to_string();
        let post = OutboxPost {
            key: format!("test:{id}"),
            id,
            account: who.account(),
            session: None,
            run: None,
            kind: OutboxKind::Notice,
            target: target.clone(),
            body: OutboxBody::Text {
                text: format!("This is a test message of the connector `{}`.", row.name),
            },
            at: self.now(),
        };
        self.connector_access().post(post, Some(audit)).await?;
        Ok(target)
    }

    /// The direct chat with a person who is paired: on most platforms it has the id of the person.
    async fn direct_chat(&self, who: &Principal, connector: &str) -> Result<ChatTarget, Error> {
        let mut paired = self.chat_identities(who, connector).await?.into_iter();
        let own = paired.find(|identity| identity.person == who.person);
        let own = own.ok_or_else(|| {
            let message = format!("nobody is paired with `{connector}` as you");
            Problem::new(ErrorCode::InvalidArguments, message)
                .fix(format!("rooftree connectors pair {connector}"))
        })?;
        Ok(ChatTarget {
            connector: connector.to_owned(),
            chat: own.sender,
            thread: None,
            reply_to: None,
            group: false,
        })
    }

    /// Changes what a paired sender may do, and which person he is. Only the owner may.
    pub async fn change_chat_identity(
        &self,
        who: &Principal,
        identity: ChatIdentity,
    ) -> Result<ChatIdentity, Error> {
        require_owner(who)?;
        let known = self.chat_identities(who, &identity.connector).await?;
        if !known.iter().any(|known| known.sender == identity.sender) {
            return Err(no_sender(&identity.connector, &identity.sender).into());
        }
        if identity.person != LOCAL_OWNER {
            self.enabled_person(who, &identity.person).await?;
        }
        let audit = identity_details(
            AuditEntry::done(who, self.now(), "connector.rights", subject(&identity)),
            &identity,
        );
        let put = self.store.put_chat_identity(identity.clone(), Some(audit));
        put.await?;
        self.chats.note_change();
        Ok(identity)
    }

    /// Unpairs a sender. Only the owner may.
    pub async fn unpair(
        &self,
        who: &Principal,
        connector: &str,
        sender: &str,
    ) -> Result<(), Error> {
        require_owner(who)?;
        let about = format!("{connector}:{sender}");
        let audit = AuditEntry::done(who, self.now(), "connector.unpair", about);
        let removed = self
            .store
            .remove_chat_identity(&who.tenant, connector, sender, Some(audit));
        if removed.await? {
            self.chats.note_change();
            return Ok(());
        }
        Err(no_sender(connector, sender).into())
    }
}

fn identity_details(audit: AuditEntry, identity: &ChatIdentity) -> AuditEntry {
    audit
        .with("person", identity.person.clone())
        .with("name", identity.name.clone())
        .with("may_send", identity.may_send)
        .with("may_approve", identity.may_approve)
}

fn subject(identity: &ChatIdentity) -> String {
    format!("{}:{}", identity.connector, identity.sender)
}

fn require_owner(who: &Principal) -> Result<(), Problem> {
    if who.is_unbound_owner() {
        return Ok(());
    }
    let message = "only the owner sees and changes connectors";
    Err(Problem::new(ErrorCode::ToolDenied, message))
}

/// Invariant: only a connector says who sent something. A client of the API could otherwise speak for others.
fn require_connector(who: &Principal) -> Result<(), Problem> {
    if who.surface == Surface::Connector && who.token.is_none() {
        return Ok(());
    }
    let message = "only a connector says what arrived from a chat";
    Err(Problem::new(ErrorCode::ToolDenied, message))
}

fn no_connector(name: &str) -> Problem {
    let message = format!("there is no connector `{name}`");
    Problem::new(ErrorCode::TaskNotFound, message).fix("rooftree connectors list")
}

fn no_sender(connector: &str, sender: &str) -> Problem {
    let message = format!("`{sender}` is not paired with `{connector}`");
    Problem::new(ErrorCode::TaskNotFound, message).fix("rooftree connectors status")
}

/// Names are parts of keys and targets, so they are plain words.
fn check_connector_name(name: &str) -> Result<(), Problem> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if !name.is_empty() && name.len() <= NAME_CHARS && name.chars().all(is_plain) {
        return Ok(());
    }
    let message = format!("`{name}` is not a name of a connector");
    let fix = format!("use at most {NAME_CHARS} letters, digits, `-` and `_`");
    Err(Problem::new(ErrorCode::InvalidArguments, message).fix(fix))
}
