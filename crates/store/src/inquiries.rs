//! Inquiries (questions to people) and saved permission rules: separate rows, because not only the session's owner
//! writes them.

use rooftree_protocol::{
    EventBody, InquiryResponse, Principal, RuleKind, RuleScope, RunId, SessionId, Timestamp,
};
use serde::{Deserialize, Serialize};

/// Something a person is asked, kept from the commit that asks until after it is settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inquiry {
    /// `per_…` or `que_…`.
    pub id: String,
    /// Who asks.
    pub session: SessionId,
    /// The first session above, which people watch.
    pub root: SessionId,
    /// In which run.
    pub run: Option<RunId>,
    /// The definition at work.
    pub agent: String,
    /// Names exactly what is asked.
    pub digest: String,
    /// The question, as the journal has it.
    pub asked: EventBody,
    /// Since when.
    pub asked_at: Timestamp,
    /// When it is answered by itself.
    pub until: Timestamp,
    /// The first answer.
    pub answer: Option<InquiryAnswer>,
    /// Whether the asking agent has continued, so the inquiry is closed.
    pub settled: bool,
}

/// The answer to an inquiry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InquiryAnswer {
    /// What was said.
    pub response: InquiryResponse,
    /// Who said it.
    pub by: String,
    /// The principal who said it; none for what an earlier version stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<Box<Principal>>,
    /// When.
    pub at: Timestamp,
}

/// Which answered or settled inquiries to list.
#[derive(Clone, Debug)]
pub struct InquiryHistoryFilter {
    /// Of which tenant.
    pub tenant: String,
    /// Only those asked at this time or later.
    pub since: Timestamp,
    /// Only those listed after this one: when it was asked, and its id.
    pub after: Option<(Timestamp, String)>,
    /// At most this many.
    pub limit: usize,
}

/// What came of answering.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerOutcome {
    /// It is the first answer, and it is kept.
    Taken(Box<Inquiry>),
    /// Another answer came first, or the inquiry is settled.
    Late(Box<Inquiry>),
    /// There is no inquiry with this id.
    Unknown,
}

/// A rule that a person made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRow {
    /// Its number, given by the store.
    pub number: i64,
    /// What it does.
    pub kind: RuleKind,
    /// The rule as it is written.
    pub rule: String,
    /// Where it holds.
    pub scope: RuleScope,
    /// Who made it.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// Tells whether rules have changed: how many there are, and the highest number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleVersion {
    /// How many.
    pub count: i64,
    /// The highest number.
    pub last: i64,
}
