//! Snapshots of a session for those who join: metadata, the open run, text so far, open questions.

use rooftree_protocol::{Principal, SessionId};
use rooftree_runtime::{Error, Handle, Queries};
use rooftree_store::RunFilter;
use rooftree_view::{DraftText, OpenInquiry, SessionSnapshot};

use crate::session_source::visible;

/// The snapshot of a session whose journal was sent up to `head`; none if it may not be seen.
pub(crate) async fn snapshot(
    handle: &Handle,
    who: &Principal,
    id: &SessionId,
    head: u64,
) -> Result<Option<SessionSnapshot>, Error> {
    let Some(meta) = visible(handle, who, id).await? else {
        return Ok(None);
    };
    let queries = handle.queries(who);
    let latest = RunFilter {
        session: Some(id.clone()),
        limit: 1,
        ..RunFilter::default()
    };
    let latest = queries.runs(latest).await?.pop();
    let run = latest
        .filter(|row| row.ended.is_none())
        .map(|row| row.started)
        .filter(|started| started.id.is_some_and(|id| id <= head));
    let draft = handle.draft(id).map(|draft| DraftText {
        id: draft.message,
        run: draft.run,
        text: draft.text,
        thinking: draft.thinking,
    });
    Ok(Some(SessionSnapshot {
        session: id.clone(),
        head,
        messages: draft.into_iter().collect(),
        run,
        pending: pending(&queries, id).await?,
        meta,
    }))
}

/// What the session asks people now.
async fn pending(queries: &Queries, id: &SessionId) -> Result<Vec<OpenInquiry>, Error> {
    let open = queries.inquiries_of(id).await?;
    Ok(open
        .into_iter()
        .filter(|inquiry| inquiry.answer.is_none())
        .map(|inquiry| OpenInquiry {
            session: inquiry.session,
            run: inquiry.run,
            agent: inquiry.agent,
            asked_at: inquiry.asked_at,
            asked: inquiry.asked,
        })
        .collect())
}
