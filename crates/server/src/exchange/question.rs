//! Where a question goes and what it says.

use std::sync::Arc;

use rooftree_protocol::{
    AgentDefinition, Command, Origin, Part, RunId, SessionId,
    command::{Address, Delivery, NewSession, Reply},
};

use super::presence::Stay;
use crate::{
    agents::Agents,
    openai::{
        content::{Media, Piece, Said},
        conversation,
        failure::Failure,
    },
};

/// Who messages come from, as the journal says.
const CONNECTOR: &str = "api";

/// A question to an agent.
pub(crate) struct Question {
    pub(crate) agent: Arc<AgentDefinition>,
    pub(crate) earlier: Vec<Said>,
    pub(crate) last: Said,
    pub(crate) place: Place,
    /// Asking again with the same key is asking once.
    pub(crate) key: Option<String>,
    pub(crate) user: Option<String>,
}

/// The session a question is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Exactly this one.
    Session(String),
    /// The one of this user.
    User(String),
    /// One for this question alone.
    Anywhere,
}

/// A question that was accepted.
pub(super) struct Posted {
    pub(super) session: SessionId,
    pub(super) run: RunId,
    /// The run is told in the journal after this number.
    pub(super) after: u64,
    pub(super) stay: Stay,
}

/// Where it goes, and how far its journal is.
struct Target {
    to: Address,
    head: u64,
    stay: Stay,
}

impl Question {
    /// Puts the question into the inbox it is for.
    pub(super) async fn post(self, agents: &Agents) -> Result<Posted, Failure> {
        let target = self.target(agents).await?;
        let (key, origin) = (self.key.as_ref().map(|key| format!("{CONNECTOR}:{key}")), self.origin());
        let parts = self.parts(agents).await?;
        let post = Command::Post { to: target.to, parts, origin, key, delivery: Delivery::Queue };
        match agents.handle.send(post).await {
            Ok(Reply::Accepted { session, message, repeated, .. }) => Ok(Posted {
                session,
                run: RunId::akin_to(message.as_str()),
                after: if repeated { 0 } else { target.head },
                stay: target.stay,
            }),
            Ok(_) => Err(Failure::unexpected()),
            Err(error) => Err(Failure::refused(&error.problem())),
        }
    }

    async fn target(&self, agents: &Agents) -> Result<Target, Failure> {
        let name = &self.agent.name;
        match (&self.place, &self.key) {
            (Place::Session(id), _) => self.known(agents, id).await,
            (Place::User(user), _) => self.bound(agents, format!("{CONNECTOR}/{name}/{user}")).await,
            (Place::Anywhere, Some(key)) => self.bound(agents, format!("{CONNECTOR}-key/{name}/{key}")).await,
            (Place::Anywhere, None) => {
                Ok(Target { to: Address::Create(self.session(agents)), head: 0, stay: Stay::ForThis })
            }
        }
    }

    /// Only sessions of this agent that nobody delegated: another one would be a way to another agent.
    async fn known(&self, agents: &Agents, id: &str) -> Result<Target, Failure> {
        let id = SessionId::parse(id)
            .map_err(|problem| Failure::invalid("x-rooftree-session", problem.message.clone()))?;
        let found = agents.handle.store().session(&id).await;
        let found = found.map_err(|error| Failure::refused(&error.problem()))?;
        let found = found.filter(|found| {
            found.agent == self.agent.name && found.deleted_at.is_none() && found.parent.is_none()
        });
        let found = found.ok_or_else(|| Failure::no_session(id.as_str()))?;
        Ok(Target { to: Address::Id { id }, head: found.head, stay: Stay::Kept })
    }

    async fn bound(&self, agents: &Agents, key: String) -> Result<Target, Failure> {
        let found = agents.handle.store().session_by_key(&key).await;
        let found = found.map_err(|error| Failure::refused(&error.problem()))?;
        let to = Address::Connector { key, new: self.session(agents) };
        Ok(Target { to, head: found.map_or(0, |found| found.head), stay: Stay::Kept })
    }

    fn session(&self, agents: &Agents) -> NewSession {
        NewSession { agent: self.agent.name.clone(), cwd: agents.cwd.clone(), name: None, model: None }
    }

    fn origin(&self) -> Origin {
        let user = self.user.clone().unwrap_or_else(|| "client".into());
        Origin::Connector { connector: CONNECTOR.into(), channel: "chat".into(), user }
    }

    /// A session that remembers is told only what is new; one for this question, all that was said.
    async fn parts(self, agents: &Agents) -> Result<Vec<Part>, Failure> {
        let most = self.agent.limits.attachment_bytes;
        let earlier = if self.place == Place::Anywhere { self.earlier } else { Vec::new() };
        let mut parts: Vec<Part> = conversation::worded(&earlier).map(Part::text).into_iter().collect();
        let before = earlier.into_iter().flat_map(|said| said.pieces);
        let before = before.filter(|piece| matches!(piece, Piece::Media(_)));
        for piece in before.chain(self.last.pieces) {
            parts.push(match piece {
                Piece::Text(text) => Part::text(text),
                Piece::Media(media) => kept(agents, media, most).await?,
            });
        }
        Ok(parts)
    }
}

async fn kept(agents: &Agents, media: Media, most: u64) -> Result<Part, Failure> {
    let Media { name, media_type, bytes, place } = media;
    let length = bytes.len() as u64;
    if length > most {
        return Err(Failure::invalid(place, format!("it has {length} bytes, and {most} are allowed")));
    }
    let blob = agents.handle.store().put_blob(bytes).await;
    let blob = blob.map_err(|error| Failure::refused(&error.problem()))?;
    let media_type = media_type.into();
    Ok(match name {
        Some(name) => Part::File { blob, name, media_type, bytes: length },
        None => Part::Image { blob, media_type, bytes: length },
    })
}
