//! OpenAI's Chat Completions and Responses as a server speaks them: what is asked, what is answered, what goes wrong.
//! Nothing in here waits.

pub(crate) mod asked;
pub(crate) mod chat;
pub(crate) mod content;
pub(crate) mod conversation;
pub(crate) mod failure;
pub(crate) mod responses;
pub(crate) mod wire;
