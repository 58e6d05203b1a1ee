//! Answers inquiries in the store, where the first answer wins, whichever process it is given in.

use rooftree_protocol::{
    ErrorCode, EventBody, InquiryResponse, PermissionScope, Principal, Problem, Timestamp,
};
use rooftree_store::{AnswerOutcome, Inquiry, InquiryAnswer, Store};

use crate::Error;

/// Keeps an answer. Says what was asked, so that the one who waits can be hurried; or why the answer
/// does not count. `id` may be an end of an id that only one has.
pub async fn answer(
    store: &dyn Store,
    id: &str,
    answered: InquiryAnswer,
) -> Result<Inquiry, Error> {
    let (response, at) = (&answered.response, answered.at);
    let shown = if let InquiryResponse::Permission(answer) = response {
        answer.digest.clone()
    } else {
        None
    };
    let asked = store.inquiry(id).await?.ok_or_else(|| unknown(id))?;
    if shown.is_some_and(|shown| shown != asked.digest) {
        return Err(Problem::new(
            ErrorCode::InvalidArguments,
            format!("{id} asks something else now"),
        )
        .cause("the answer is for a call with other arguments")
        .fix("look at the question again: rooftree permissions list")
        .into());
    }
    let is_fitting = matches!(
        (response, asked.id.starts_with("per_")),
        (InquiryResponse::Permission(_), true) | (InquiryResponse::Question(_), false)
    );
    if !is_fitting {
        return Err(Problem::new(
            ErrorCode::InvalidArguments,
            format!("{id} is not asked that way"),
        )
        .cause("a permission is answered with yes or no, a question with what it asks for")
        .into());
    }
    if let (InquiryResponse::Permission(answer), EventBody::PermissionRequested { scopes, .. }) =
        (response, &asked.asked)
        && answer.scope != PermissionScope::Once
        && !scopes.contains(&answer.scope)
    {
        return Err(scope_not_offered(id, scopes).into());
    }
    match store.answer(&asked.id, answered).await? {
        AnswerOutcome::Taken(inquiry) => Ok(*inquiry),
        AnswerOutcome::Late(inquiry) => Err(late(&inquiry, at).into()),
        AnswerOutcome::Unknown => Err(unknown(id).into()),
    }
}

fn scope_not_offered(id: &str, scopes: &[PermissionScope]) -> Problem {
    let invalid = |words: String| Problem::new(ErrorCode::InvalidArguments, words);
    if scopes.contains(&PermissionScope::Session) {
        return invalid(format!(
            "{id} can be answered once or for this session, not for longer"
        ))
        .cause("it is about how many agents one reply starts")
        .fix("answer once or for the session; permission.spawn_agents in the settings holds for longer");
    }
    invalid(format!("{id} can only be answered once"))
        .cause("a rule requires that the user is asked about it every time")
        .fix("answer for this call alone")
}

/// The answer of a person.
pub fn by_person(response: InquiryResponse, who: &Principal, at: Timestamp) -> InquiryAnswer {
    InquiryAnswer {
        response,
        by: signature(who),
        who: Some(Box::new(who.clone())),
        at,
    }
}

/// Who answers or makes a rule, as others are told.
pub fn signature(who: &Principal) -> String {
    let named = who.on_behalf_of.clone();
    named.unwrap_or_else(|| "user".into())
}

pub(crate) fn unknown(id: &str) -> Problem {
    Problem::new(
        ErrorCode::TaskNotFound,
        format!("no open request matches `{id}`"),
    )
    .fix("rooftree permissions list shows what is asked")
}

fn late(inquiry: &Inquiry, at: Timestamp) -> Problem {
    let cause = match &inquiry.answer {
        Some(answered) => format!("{} was faster", answered.by),
        None if inquiry.until <= at => "its time was up".into(),
        None => "the asking agent has gone on".into(),
    };
    Problem::new(
        ErrorCode::InteractionUnavailable,
        format!("{} is settled already", inquiry.id),
    )
    .cause(cause)
}
