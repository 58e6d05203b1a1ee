//! Permission requests and questions as the API shows them: what is asked, in which state, who answered.

use rooftree_protocol::{
    CallId, Effect, EventBody, InquiryResponse, PermissionDecision, PermissionKind,
    PermissionScope, Question, QuestionReply, RunId, SessionId, SpawnGroup, Surface, Timestamp,
};
use rooftree_store::Inquiry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// In which state a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum InquiryState {
    /// It waits for an answer.
    Pending,
    /// It was answered.
    Answered,
    /// Its time was over before a person answered.
    Expired,
    /// Its agent does not need an answer any more.
    Withdrawn,
}

/// The answer to a request: the first one counts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct AnsweredInquiry {
    /// Yes or no, for a permission.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<PermissionDecision>,
    /// For how long, for a permission.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<PermissionScope>,
    /// What was answered, for a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<QuestionReply>,
    /// The person who answered.
    by: String,
    /// Through which surface; absent in answers of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<Surface>,
    /// When.
    at: Timestamp,
}

impl AnsweredInquiry {
    /// The answer of an inquiry, if it has one.
    pub(super) fn of(inquiry: &Inquiry) -> Option<Self> {
        let answer = inquiry.answer.as_ref()?;
        let (decision, scope, reply) = match &answer.response {
            InquiryResponse::Permission(given) => (Some(given.decision), Some(given.scope), None),
            InquiryResponse::Question(reply) => (None, None, Some(reply.clone())),
        };
        let person = answer.who.as_ref().map(|who| {
            let named = who.on_behalf_of.as_ref();
            named.unwrap_or(&who.person).clone()
        });
        Some(Self {
            decision,
            scope,
            reply,
            by: person.unwrap_or_else(|| answer.by.clone()),
            via: answer.who.as_ref().map(|who| who.surface),
            at: answer.at,
        })
    }
}

/// The state of a request at a time.
pub(super) fn state(inquiry: &Inquiry, now: Timestamp) -> InquiryState {
    match (&inquiry.answer, inquiry.settled) {
        (Some(_), _) => InquiryState::Answered,
        (None, _) if inquiry.until <= now => InquiryState::Expired,
        (None, true) => InquiryState::Withdrawn,
        (None, false) => InquiryState::Pending,
    }
}

/// A request to people: who asks, since when, in which state.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct InquiryFrame {
    /// Its id.
    pub(super) id: String,
    /// The session that asks.
    session: SessionId,
    /// The first session above it, which people watch.
    root: SessionId,
    /// The run that asks.
    run: Option<RunId>,
    /// The agent at work.
    agent: String,
    /// In which state it is.
    state: InquiryState,
    /// Since when.
    pub(super) asked_at: Timestamp,
    /// When it is answered by itself.
    until: Timestamp,
    /// Names exactly what is asked: an answer must show it.
    digest: String,
    /// The answer that counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered: Option<AnsweredInquiry>,
}

impl InquiryFrame {
    fn of(inquiry: &Inquiry, now: Timestamp) -> Self {
        Self {
            id: inquiry.id.clone(),
            session: inquiry.session.clone(),
            root: inquiry.root.clone(),
            run: inquiry.run.clone(),
            agent: inquiry.agent.clone(),
            state: state(inquiry, now),
            asked_at: inquiry.asked_at,
            until: inquiry.until,
            digest: inquiry.digest.clone(),
            answered: AnsweredInquiry::of(inquiry),
        }
    }
}

/// A permission request.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct PermissionItem {
    #[serde(flatten)]
    pub(super) frame: InquiryFrame,
    /// Whether it is about one call, or about all calls of a reply that start agents.
    kind: PermissionKind,
    /// Which call; the first one, for kind `spawn`.
    call: CallId,
    /// The tool.
    tool: String,
    /// What it would do.
    title: String,
    /// More about it: the diff of an edit, the list of agents.
    detail: String,
    /// What it does to the world.
    effect: Effect,
    /// The rule that a yes for longer than once would add.
    rule: String,
    /// Why a person is asked.
    reason: String,
    /// For how long a yes can hold.
    scopes: Vec<PermissionScope>,
    /// The agents that would be started, for kind `spawn`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    spawn: Vec<SpawnGroup>,
}

impl PermissionItem {
    /// None if the inquiry is a question.
    pub(super) fn of(inquiry: &Inquiry, now: Timestamp) -> Option<Self> {
        let EventBody::PermissionRequested {
            call,
            tool,
            title,
            detail,
            effect,
            rule,
            reason,
            scopes,
            kind,
            spawn,
            ..
        } = inquiry.asked.clone()
        else {
            return None;
        };
        Some(Self {
            frame: InquiryFrame::of(inquiry, now),
            kind,
            call,
            tool,
            title,
            detail,
            effect,
            rule,
            reason,
            scopes,
            spawn,
        })
    }
}

/// Questions that an agent asks together.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct QuestionItem {
    #[serde(flatten)]
    pub(super) frame: InquiryFrame,
    /// Which call.
    call: CallId,
    /// What it wants to know.
    questions: Vec<Question>,
}

impl QuestionItem {
    /// None if the inquiry is a permission request.
    pub(super) fn of(inquiry: &Inquiry, now: Timestamp) -> Option<Self> {
        let EventBody::QuestionRequested {
            call, questions, ..
        } = inquiry.asked.clone()
        else {
            return None;
        };
        Some(Self {
            frame: InquiryFrame::of(inquiry, now),
            call,
            questions,
        })
    }
}
