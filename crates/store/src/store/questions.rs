//! Permission requests and questions that people answer. Part of [`Store`](crate::Store).

use rooftree_protocol::SessionId;

use crate::{AnswerOutcome, Inquiry, InquiryAnswer, InquiryHistoryFilter, Pending};

/// Permission requests and questions that people answer.
pub trait QuestionStore: Send + Sync {
    /// Answers an inquiry, named by its id or by a unique suffix of it. The first answer before its timeout is kept; a
    /// later caller learns what it was.
    fn answer(&self, id: &str, answered: InquiryAnswer) -> Pending<AnswerOutcome>;

    /// The answer to an inquiry, if there is one.
    fn answered(&self, id: &str) -> Pending<Option<InquiryAnswer>>;

    /// One inquiry, by its id or by a unique suffix of it.
    fn inquiry(&self, id: &str) -> Pending<Option<Inquiry>>;

    /// Inquiries that are not settled, in the order they were asked: all, or those below one session.
    fn inquiries(&self, root: Option<&SessionId>) -> Pending<Vec<Inquiry>>;

    /// Inquiries that were answered or settled, the one asked last first.
    fn inquiry_history(&self, filter: InquiryHistoryFilter) -> Pending<Vec<Inquiry>>;
}
