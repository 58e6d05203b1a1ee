//! Questions of servers to the person: who can ask them is told when the servers are set up.

use std::sync::Arc;

use futures::future::BoxFuture;
use rooftree_protocol::SessionId;
use serde_json::Value;

/// What a server wants to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Elicitation {
    /// Which server, by its name.
    pub server: String,
    /// Whose calls it is working on: the question is for one of them.
    pub sessions: Vec<SessionId>,
    /// What it asks, cleaned.
    pub message: String,
    /// What the answer must look like: an object of plain values.
    pub schema: Value,
    /// The page where the answer is to be given instead, if it is not for us to know.
    pub url: Option<String>,
}

/// What the person said.
#[derive(Clone, Debug, PartialEq)]
pub enum Elicited {
    /// This.
    Accepted(Value),
    /// That it is none of the server's business.
    Declined,
    /// Nothing: the question went away.
    Cancelled,
}

/// Asks the person and waits for the answer.
pub type Elicit = Arc<dyn Fn(Elicitation) -> BoxFuture<'static, Elicited> + Send + Sync>;
