//! Transport wrapper that drops the late reply to an abandoned request.
//!
//! A server that starts slowly, because its package is being downloaded, may answer the discover request after the
//! client has fallen back to the handshake of earlier revisions. Taken as the reply to that handshake, it would end
//! the connection.

use rmcp::{
    RoleClient,
    model::{ClientRequest, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};

/// A transport without replies to a request that another one has replaced.
pub(super) struct LateReplyFilter<T> {
    inner: T,
    /// The discover request, while it is the last one sent.
    asked: Option<RequestId>,
    /// The same, once the client has fallen back to the handshake.
    given_up: Option<RequestId>,
}

impl<T> LateReplyFilter<T> {
    pub(super) fn new(inner: T) -> Self {
        Self {
            inner,
            asked: None,
            given_up: None,
        }
    }

    fn note(&mut self, sent: &TxJsonRpcMessage<RoleClient>) {
        let JsonRpcMessage::Request(sent) = sent else {
            return;
        };
        match &sent.request {
            ClientRequest::DiscoverRequest(_) => self.asked = Some(sent.id.clone()),
            ClientRequest::InitializeRequest(_) => self.given_up = self.asked.take(),
            _ => self.asked = None,
        }
    }

    /// Whether this is the reply to the abandoned request; if so, the request is forgotten.
    fn is_late(&mut self, message: &RxJsonRpcMessage<RoleClient>) -> bool {
        let answered = match message {
            JsonRpcMessage::Response(answer) => Some(&answer.id),
            JsonRpcMessage::Error(answer) => answer.id.as_ref(),
            _ => None,
        };
        let is_late = answered.is_some() && answered == self.given_up.as_ref();
        if is_late {
            self.given_up = None;
        }
        is_late
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for LateReplyFilter<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.note(&item);
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.inner.receive().await?;
            if !self.is_late(&message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, convert::Infallible};

    use serde_json::{Value, json};

    use super::*;

    /// A server that says this, whatever it is asked.
    struct Saying(VecDeque<Value>);

    impl Transport<RoleClient> for Saying {
        type Error = Infallible;

        fn send(
            &mut self,
            _item: TxJsonRpcMessage<RoleClient>,
        ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
            std::future::ready(Ok(()))
        }

        async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
            self.0
                .pop_front()
                .map(|said| serde_json::from_value(said).unwrap())
        }

        async fn close(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn an_answer_to_a_question_that_was_given_up_is_forgotten_and_no_other() {
        let unknown = |id: u32| json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "?"}});
        let asked = |id: u32, method: &str| {
            let own = json!({"name": "rooftree", "version": "1"});
            let hello =
                json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": own});
            let params = if method == "initialize" {
                hello
            } else {
                json!({})
            };
            let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            serde_json::from_value::<TxJsonRpcMessage<RoleClient>>(request).unwrap()
        };
        for (is_given_up, left) in [(true, vec![1]), (false, vec![0, 1])] {
            let mut way = LateReplyFilter::new(Saying([unknown(0), unknown(1)].into()));
            way.send(asked(0, "server/discover")).await.unwrap();
            if is_given_up {
                way.send(asked(1, "initialize")).await.unwrap();
            }
            let mut heard = Vec::new();
            while let Some(JsonRpcMessage::Error(answer)) = way.receive().await {
                heard.push(answer.id.unwrap());
            }
            let left: Vec<RequestId> = left.into_iter().map(RequestId::Number).collect();
            assert_eq!(heard, left);
        }
    }
}
