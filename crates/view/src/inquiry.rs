//! Permission requests and questions of agents that are not answered yet.

use rooftree_protocol::{Event, EventBody, RunId, SessionId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A permission request or a question that waits for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenInquiry {
    /// The session that asks.
    pub session: SessionId,
    /// Its run.
    pub run: Option<RunId>,
    /// Its definition.
    pub agent: String,
    /// Since when.
    pub asked_at: Timestamp,
    /// What is asked: `permission.requested` or `question.requested`.
    #[serde(flatten)]
    pub asked: EventBody,
}

impl OpenInquiry {
    /// The inquiry that an event opens.
    pub(crate) fn opened_by(event: &Event) -> Option<Self> {
        inquiry_id(&event.body)?;
        Some(Self {
            session: event.session.clone(),
            run: event.run.clone(),
            agent: event.agent.clone(),
            asked_at: event.ts,
            asked: event.body.clone(),
        })
    }

    /// The name of the permission or question.
    pub fn id(&self) -> &str {
        inquiry_id(&self.asked).unwrap_or_default()
    }

    /// `permission` or `question`.
    pub fn kind(&self) -> &'static str {
        match &self.asked {
            EventBody::PermissionRequested { .. } => "permission",
            _ => "question",
        }
    }

    /// What is asked, in words: the call, or the questions.
    pub fn about(&self) -> String {
        match &self.asked {
            EventBody::PermissionRequested { tool, title, .. } => format!("{tool} {title}"),
            EventBody::QuestionRequested { questions, .. } => {
                let texts: Vec<&str> = questions
                    .iter()
                    .map(|question| question.text.as_str())
                    .collect();
                texts.join(" ")
            }
            _ => String::new(),
        }
    }
}

fn inquiry_id(body: &EventBody) -> Option<&str> {
    match body {
        EventBody::PermissionRequested { id, .. } => Some(id.as_str()),
        EventBody::QuestionRequested { id, .. } => Some(id.as_str()),
        _ => None,
    }
}

/// The inquiry that an event settles.
pub(crate) fn settled_by(body: &EventBody) -> Option<&str> {
    match body {
        EventBody::PermissionResolved { id, .. } => Some(id.as_str()),
        EventBody::QuestionAnswered { id, .. } => Some(id.as_str()),
        _ => None,
    }
}
