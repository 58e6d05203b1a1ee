//! Posts a client's request to the inbox of an agent's session: resolves the session, builds the message.

use std::sync::Arc;

use rooftree_protocol::{
    AgentDefinition, Command, Origin, Part, Principal, RunId, SessionId,
    command::{Address, CommandReply, Delivery, NewSession},
};

use super::client_guard::SessionRetention;
use crate::{
    agents::ExposedAgents,
    openai::{
        content::{IncomingMedia, IncomingMessage, IncomingPart},
        earlier_messages,
        errors::ApiError,
    },
};

/// Who messages come from, as the journal says.
const CONNECTOR: &str = "api";

/// A request to an agent.
pub(crate) struct AgentRequest {
    /// Who asks.
    pub(crate) who: Principal,
    pub(crate) agent: Arc<AgentDefinition>,
    pub(crate) earlier: Vec<IncomingMessage>,
    pub(crate) last: IncomingMessage,
    pub(crate) place: RequestedSession,
    /// Idempotency key: a second request with the same key is posted once.
    pub(crate) key: Option<String>,
    pub(crate) user: Option<String>,
}

/// The session a request is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestedSession {
    /// Exactly this one.
    Session(String),
    /// The one of this user.
    User(String),
    /// A new one for this request alone.
    Anywhere,
}

/// A request that was posted.
pub(super) struct AcceptedRequest {
    pub(super) session: SessionId,
    pub(super) run: RunId,
    /// The run is told in the journal after this number.
    pub(super) after: u64,
    pub(super) stay: SessionRetention,
}

/// Where it goes, and how far its journal is.
struct Target {
    to: Address,
    head: u64,
    stay: SessionRetention,
}

impl AgentRequest {
    /// Puts the question into the inbox it is for.
    pub(super) async fn post(self, agents: &ExposedAgents) -> Result<AcceptedRequest, ApiError> {
        let target = self.target(agents).await?;
        let who = self.who.clone();
        let (key, origin) = (
            self.key.as_ref().map(|key| format!("{CONNECTOR}:{key}")),
            self.origin(),
        );
        let parts = self.parts(agents).await?;
        let post = Command::Post {
            to: target.to,
            parts,
            origin,
            key,
            delivery: Delivery::Queue,
            context: None,
        };
        match agents.handle.send(&who, post).await {
            Ok(CommandReply::Accepted {
                session,
                message,
                repeated,
                ..
            }) => Ok(AcceptedRequest {
                session,
                run: RunId::derived_from(message.as_str()),
                after: if repeated { 0 } else { target.head },
                stay: target.stay,
            }),
            Ok(_) => Err(ApiError::unexpected()),
            Err(error) => Err(ApiError::refused(&error.problem())),
        }
    }

    async fn target(&self, agents: &ExposedAgents) -> Result<Target, ApiError> {
        let name = &self.agent.name;
        match (&self.place, &self.key) {
            (RequestedSession::Session(id), _) => self.existing_session(agents, id).await,
            (RequestedSession::User(user), _) => {
                self.keyed_session(
                    agents,
                    format!("{CONNECTOR}/{name}{}/{user}", self.person_key()),
                )
                .await
            }
            (RequestedSession::Anywhere, Some(key)) => {
                self.keyed_session(
                    agents,
                    format!("{CONNECTOR}-key/{name}{}/{key}", self.person_key()),
                )
                .await
            }
            (RequestedSession::Anywhere, None) => Ok(Target {
                to: Address::Create(self.session(agents)),
                head: 0,
                stay: SessionRetention::ForThis,
            }),
        }
    }

    /// What sets the sessions of one person apart from those of another with the same key. No name of a person and no
    /// tenant has a `/`.
    fn person_key(&self) -> String {
        if self.who.is_owner() {
            return String::new();
        }
        format!("/@{}/{}", self.who.tenant, self.who.person)
    }

    /// Only sessions of this agent that were not delegated: another one would give access to another agent.
    async fn existing_session(&self, agents: &ExposedAgents, id: &str) -> Result<Target, ApiError> {
        let id = SessionId::parse(id)
            .map_err(|problem| ApiError::invalid("x-rooftree-session", problem.message.clone()))?;
        let found = agents.handle.queries(&self.who).session(&id).await;
        let found = found.map_err(|error| ApiError::refused(&error.problem()))?;
        let found = found.filter(|found| {
            found.agent == self.agent.name && found.deleted_at.is_none() && found.parent.is_none()
        });
        let found = found.ok_or_else(|| ApiError::no_session(id.as_str()))?;
        Ok(Target {
            to: Address::Id { id },
            head: found.head,
            stay: SessionRetention::Kept,
        })
    }

    async fn keyed_session(&self, agents: &ExposedAgents, key: String) -> Result<Target, ApiError> {
        let found = agents.handle.queries(&self.who).session_by_key(&key).await;
        let found = found.map_err(|error| ApiError::refused(&error.problem()))?;
        let to = Address::Connector {
            key,
            new: self.session(agents),
            chat: None,
        };
        Ok(Target {
            to,
            head: found.map_or(0, |found| found.head),
            stay: SessionRetention::Kept,
        })
    }

    fn session(&self, agents: &ExposedAgents) -> NewSession {
        NewSession {
            agent: self.agent.name.clone(),
            cwd: agents.cwd.clone(),
            name: None,
            model: None,
        }
    }

    fn origin(&self) -> Origin {
        let user = self.user.clone().unwrap_or_else(|| "client".into());
        Origin::Connector {
            connector: CONNECTOR.into(),
            channel: "chat".into(),
            user,
            reply: None,
        }
    }

    /// A session that remembers is told only what is new; one for this question, all that was said.
    async fn parts(self, agents: &ExposedAgents) -> Result<Vec<Part>, ApiError> {
        let (most, who) = (self.agent.limits.attachment_bytes, self.who.clone());
        let earlier = if self.place == RequestedSession::Anywhere {
            self.earlier
        } else {
            Vec::new()
        };
        let mut parts: Vec<Part> = earlier_messages::earlier_messages_text(&earlier)
            .map(Part::text)
            .into_iter()
            .collect();
        let before = earlier.into_iter().flat_map(|said| said.pieces);
        let before = before.filter(|piece| matches!(piece, IncomingPart::Media(_)));
        for piece in before.chain(self.last.pieces) {
            parts.push(match piece {
                IncomingPart::Text(text) => Part::text(text),
                IncomingPart::Media(media) => store_media(agents, &who, media, most).await?,
            });
        }
        Ok(parts)
    }
}

async fn store_media(
    agents: &ExposedAgents,
    who: &Principal,
    media: IncomingMedia,
    most: u64,
) -> Result<Part, ApiError> {
    let IncomingMedia {
        name,
        media_type,
        bytes,
        place,
    } = media;
    let length = bytes.len() as u64;
    if length > most {
        return Err(ApiError::invalid(
            place,
            format!("it has {length} bytes, and {most} are allowed"),
        ));
    }
    let blob = agents.handle.upload(who, bytes).await;
    let blob = blob.map_err(|error| ApiError::refused(&error.problem()))?;
    let media_type = media_type.into();
    Ok(match name {
        Some(name) => Part::File {
            blob,
            name,
            media_type,
            bytes: length,
        },
        None => Part::Image {
            blob,
            media_type,
            bytes: length,
        },
    })
}
