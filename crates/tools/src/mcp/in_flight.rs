//! The calls in flight at a server: which call a question of the server belongs to, and call timeouts.

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use rmcp::{model::RequestId, service::InboundStreamOrigin};
use rooftree_protocol::{Question, QuestionReply};
use tokio::{sync::watch, time::Instant};

use crate::ToolContext;

tokio::task_local! {
    /// The call whose own work puts the question.
    static CURRENT: Arc<InFlightCall>;
}

/// One call that is being worked on.
pub(super) struct InFlightCall {
    context: ToolContext,
    /// Its request id, once it is sent.
    request: OnceLock<RequestId>,
    /// How many questions of it wait for people.
    asking: watch::Sender<usize>,
}

/// All calls of one connection.
#[derive(Default)]
pub(super) struct InFlightCalls(Mutex<Vec<Arc<InFlightCall>>>);

/// Keeps a call among those that are worked on.
pub(super) struct InFlightGuard<'a> {
    all: &'a InFlightCalls,
    pub(super) call: Arc<InFlightCall>,
}

impl InFlightCalls {
    /// A call begins.
    pub(super) fn begin(&self, context: &ToolContext) -> InFlightGuard<'_> {
        let call = Arc::new(InFlightCall {
            context: context.clone(),
            request: OnceLock::new(),
            asking: watch::Sender::new(0),
        });
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(call.clone());
        InFlightGuard { all: self, call }
    }

    /// The call that a question belongs to: the current one, the one on whose stream it came, or the only one in
    /// flight. None if several remain, so that the user of another call is never asked.
    pub(super) fn find_for_question(
        &self,
        origin: Option<&InboundStreamOrigin>,
    ) -> Option<Arc<InFlightCall>> {
        if let Ok(call) = CURRENT.try_with(Arc::clone) {
            return Some(call);
        }
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (origin, calls.as_slice()) {
            (Some(InboundStreamOrigin::OutboundRequest(id)), _) => calls
                .iter()
                .find(|call| call.request.get() == Some(id))
                .cloned(),
            (_, [only]) => Some(only.clone()),
            _ => None,
        }
    }

    /// Reports progress to every call in flight.
    pub(super) fn tell(&self, words: &str) {
        let calls = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        calls.iter().for_each(|call| (call.context.progress)(words));
    }
}

impl InFlightCall {
    /// Asks the user of the call.
    pub(super) async fn ask(&self, questions: Vec<Question>) -> QuestionReply {
        let _asking = QuestionGuard::new(&self.asking);
        (self.context.ask)(questions).await
    }

    /// Sets its request id.
    pub(super) fn set_request_id(&self, id: RequestId) {
        let _ = self.request.set(id);
    }

    /// Runs work in the task-local scope of this call.
    pub(super) async fn scope<T>(self: Arc<Self>, work: impl Future<Output = T>) -> T {
        CURRENT.scope(self, work).await
    }

    /// Resolves when the server has had so much time. While people are asked it does not pass.
    pub(super) async fn patience(&self, limit: Duration) {
        patience(self.asking.subscribe(), limit).await;
    }
}

async fn patience(mut asking: watch::Receiver<usize>, limit: Duration) {
    let mut left = limit;
    loop {
        if asking.wait_for(|open| *open == 0).await.is_err() {
            return;
        }
        let since = Instant::now();
        tokio::select! {
            () = tokio::time::sleep(left) => return,
            _ = asking.wait_for(|open| *open > 0) => left = left.saturating_sub(since.elapsed()),
        }
    }
}

/// Counts an open question until it is dropped.
struct QuestionGuard<'a>(&'a watch::Sender<usize>);

impl<'a> QuestionGuard<'a> {
    fn new(open: &'a watch::Sender<usize>) -> Self {
        open.send_modify(|open| *open += 1);
        Self(open)
    }
}

impl Drop for QuestionGuard<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        let mut calls = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.retain(|call| !Arc::ptr_eq(call, &self.call));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn time_does_not_pass_while_people_are_asked() {
        let asking = watch::Sender::new(0);
        let question = QuestionGuard::new(&asking);
        let patience = patience(asking.subscribe(), Duration::ZERO);
        tokio::pin!(patience);
        assert!(
            futures::poll!(patience.as_mut()).is_pending(),
            "no time at all, and still it waits"
        );
        drop(question);
        patience.await;
    }
}
